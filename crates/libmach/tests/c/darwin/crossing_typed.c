/* The half with the typed dialect. */
#include "crossing.h"

#include "../check.h"

#include <mach/bootstrap.h>
#include <mach/mach.h>

#include <stdlib.h>
#include <string.h>

#define self mach_task_self()
#define S KERN_SUCCESS

enum { PATIENCE = 30000 };

/* What Darwin's message is here: each descriptor an item, and the data behind them one of bytes. */
typedef struct {
    mach_msg_header_t header;
    mach_msg_type_t port_type;
    mach_port_name_inlined_t port;
    mach_msg_type_t memory_type;
    char *memory;
    mach_msg_type_t ports_type;
    mach_port_t *ports;
    mach_msg_type_t numbers_type;
    int numbers[3];
    int filling;
} carried_t;

/* The same with the numbers in front, as a typed program may say it. */
typedef struct {
    mach_msg_header_t header;
    mach_msg_type_t numbers_type;
    int numbers[3];
    int filling;
    mach_msg_type_t port_type;
    mach_port_name_inlined_t port;
    mach_msg_type_t memory_type;
    char *memory;
    mach_msg_type_t ports_type;
    mach_port_t *ports;
} carrying_t;

typedef union {
    mach_msg_header_t header;
    carried_t carried;
    char bytes[512];
} message_t;

static mach_msg_type_t type(unsigned name, unsigned size, unsigned number, unsigned in_line) {
    mach_msg_type_t type;
    memset(&type, 0, sizeof type);
    type.msgt_name = name;
    type.msgt_size = (unsigned short) size;
    type.msgt_inline = in_line & 1;
    type.msgt_number = number;
    return type;
}

static void receive(mach_port_t from, message_t *message) {
    memset(message, 0xee, sizeof *message);
    CHECK_CODE(mach_msg(&message->header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof *message, from, PATIENCE, 0), S);
}

int main(void) {
    watchdog(60);
    mach_port_t other, port;
    MUST(CHECK_CODE(bootstrap_look_up(MACH_PORT_NULL, SERVICE, &other), S));
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, &port) == S);
    struct {
        mach_msg_header_t header;
        mach_msg_type_t type;
        int number;
        int filling;
    } hello;
    memset(&hello, 0, sizeof hello);
    hello.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND);
    hello.header.msgh_remote_port = other;
    hello.header.msgh_local_port = port;
    hello.header.msgh_id = PLAIN;
    hello.type = type(MACH_MSG_TYPE_INTEGER_32, 32, 1, 1);
    hello.number = 4711;
    CHECK_CODE(mach_msg(&hello.header, MACH_SEND_MSG, sizeof hello, 0, 0, 0, 0), S);

    /* Twelve bytes are filled up to sixteen. */
    message_t got;
    receive(port, &got);
    CHECK(got.header.msgh_id == PLAIN && got.header.msgh_size == 32 + 16);
    CHECK(memcmp(got.bytes + 32, "twelve bytes\0\0\0", 16) == 0);
    CHECK(MACH_MSGH_BITS_REMOTE(got.header.msgh_bits) == MACH_MSG_TYPE_PORT_SEND_ONCE);
    mach_msg_header_t answer;
    memset(&answer, 0, sizeof answer);
    answer.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0);
    answer.msgh_remote_port = got.header.msgh_remote_port;
    answer.msgh_id = PLAIN + 100;
    CHECK_CODE(mach_msg(&answer, MACH_SEND_MSG, sizeof answer, 0, 0, 0, 0), S);

    receive(port, &got);
    const carried_t *it = &got.carried;
    CHECK(got.header.msgh_id == CARRYING && got.header.msgh_size == sizeof *it && got.header.msgh_bits & MACH_MSGH_BITS_COMPLEX);
    CHECK(it->port_type.msgt_name == MACH_MSG_TYPE_PORT_SEND && it->port_type.msgt_number == 1 && it->port_type.msgt_inline);
    CHECK(it->memory_type.msgt_name == MACH_MSG_TYPE_BYTE && it->memory_type.msgt_number == LENGTH && it->memory_type.msgt_deallocate);
    CHECK(it->memory[0] == 'm' && it->memory[LENGTH - 1] == 'm');
    CHECK(it->ports_type.msgt_name == MACH_MSG_TYPE_PORT_SEND && it->ports_type.msgt_number == 2 && !it->ports_type.msgt_inline);
    CHECK(it->ports[0] == it->port.name && it->ports[1] == other);
    CHECK(it->numbers_type.msgt_name == MACH_MSG_TYPE_BYTE && it->numbers_type.msgt_number == 12);
    carrying_t back;
    memset(&back, 0, sizeof back);
    back.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, 0) | MACH_MSGH_BITS_COMPLEX;
    back.header.msgh_remote_port = other;
    back.header.msgh_id = CARRYING;
    back.numbers_type = type(MACH_MSG_TYPE_INTEGER_32, 32, 3, 1);
    memcpy(back.numbers, it->numbers, sizeof back.numbers);
    back.port_type = type(MACH_MSG_TYPE_MOVE_SEND, 64, 1, 1);
    back.port.name = it->port.name;
    back.memory_type = type(MACH_MSG_TYPE_CHAR, 8, LENGTH, 0);
    back.memory_type.msgt_deallocate = 1;
    back.memory = it->memory;
    back.ports_type = type(MACH_MSG_TYPE_COPY_SEND, 32, 2, 0);
    back.ports = it->ports;
    CHECK_CODE(mach_msg(&back.header, MACH_SEND_MSG, sizeof back, 0, 0, 0, 0), S);

    receive(port, &got);
    CHECK(got.header.msgh_id == GUARD && got.header.msgh_size == 32);
    mach_port_t guarded, previous;
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, &guarded) == S);
    MUST(mach_port_insert_right(self, guarded, guarded, MACH_MSG_TYPE_MAKE_SEND) == S);
    /* The notification goes where the program has but a send right: by way of a port here, which passes it on. */
    CHECK_CODE(mach_port_request_notification(self, guarded, MACH_NOTIFY_NO_SENDERS, 1, port, MACH_MSG_TYPE_MAKE_SEND_ONCE,
                                              &previous),
               S);
    CHECK_CODE(mach_port_deallocate(self, guarded), S);
    receive(port, &got);
    CHECK(got.header.msgh_id == MACH_NOTIFY_NO_SENDERS && got.header.msgh_size == 48);
    got.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, 0);
    got.header.msgh_remote_port = other;
    got.header.msgh_local_port = MACH_PORT_NULL;
    CHECK_CODE(mach_msg(&got.header, MACH_SEND_MSG, 48, 0, 0, 0, 0), S);
    receive(port, &got);
    CHECK(got.header.msgh_id == LAST);
    return checks_done("crossing, typed");
}
