/* What the tests of Darwin's dialect share. */
#ifndef DARWIN_H
#define DARWIN_H

#include "../check.h"

#include <mach/mach.h>
#include <servers/bootstrap.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define self mach_task_self()
#define S KERN_SUCCESS

enum { PATIENCE = 30000 };

/* A message of any kind, with room for any trailer. */
typedef union {
    mach_msg_header_t header;
    struct {
        mach_msg_header_t header;
        mach_msg_body_t body;
        char rest[400];
    } complex;
    mach_no_senders_notification_t no_senders;
    mach_port_destroyed_notification_t destroyed;
    unsigned char bytes[512];
} message_t;

/* Rights, memory, rights out of line, and data. */
typedef struct {
    mach_msg_header_t header;
    mach_msg_body_t body;
    mach_msg_port_descriptor_t port;
    mach_msg_ool_descriptor_t memory;
    mach_msg_ool_ports_descriptor_t ports;
    int numbers[3];
} carrying_t;

typedef struct {
    carrying_t it;
    mach_msg_max_trailer_t trailer;
} carried_t;

static inline mach_port_t make_port(void) {
    mach_port_t port;
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, &port) == S);
    MUST(mach_port_insert_right(self, port, port, MACH_MSG_TYPE_MAKE_SEND) == S);
    return port;
}

static inline mach_port_type_t type_of(mach_port_t name) {
    mach_port_type_t type;
    return mach_port_type(self, name, &type) == S ? type : 0;
}

static inline mach_msg_return_t send(mach_port_t to, mach_port_t reply, mach_msg_id_t id, const void *data, mach_msg_size_t size) {
    message_t message;
    memset(&message, 0, sizeof message);
    message.header.msgh_bits =
        MACH_MSGH_BITS_SET(MACH_MSG_TYPE_COPY_SEND, reply ? MACH_MSG_TYPE_MAKE_SEND_ONCE : 0, 0, 0);
    message.header.msgh_remote_port = to;
    message.header.msgh_local_port = reply;
    message.header.msgh_id = id;
    if (size) memcpy(message.bytes + sizeof message.header, data, size);
    size += (mach_msg_size_t) sizeof message.header;
    return mach_msg(&message.header, MACH_SEND_MSG | MACH_SEND_TIMEOUT, size, 0, 0, PATIENCE, 0);
}

static inline mach_msg_return_t receive_with(mach_port_t from, message_t *message, mach_msg_option_t options, mach_msg_size_t room) {
    memset(message, 0xee, sizeof *message);
    return mach_msg(&message->header, MACH_RCV_MSG | MACH_RCV_TIMEOUT | options, 0, room, from, PATIENCE, 0);
}

static inline mach_msg_return_t receive(mach_port_t from, message_t *message) {
    return receive_with(from, message, 0, sizeof *message);
}

static inline const void *trailer_of(const mach_msg_header_t *header) {
    return (const char *) header + round_msg(header->msgh_size);
}

/* Fills a message with one of each; the memory and the names live as long as the process. */
static inline void carry(carrying_t *it, mach_port_t to, mach_port_t right, void *memory, mach_msg_size_t size, mach_port_t *names) {
    memset(it, 0, sizeof *it);
    it->header.msgh_bits = MACH_MSGH_BITS_SET(MACH_MSG_TYPE_COPY_SEND, 0, 0, MACH_MSGH_BITS_COMPLEX);
    it->header.msgh_remote_port = to;
    it->header.msgh_id = 700;
    it->body.msgh_descriptor_count = 3;
    it->port.name = right;
    it->port.disposition = MACH_MSG_TYPE_COPY_SEND;
    it->port.type = MACH_MSG_PORT_DESCRIPTOR;
    it->memory.address = memory;
    it->memory.size = size;
    it->memory.copy = MACH_MSG_VIRTUAL_COPY;
    it->memory.type = MACH_MSG_OOL_DESCRIPTOR;
    it->ports.address = names;
    it->ports.count = 2;
    it->ports.disposition = MACH_MSG_TYPE_MAKE_SEND;
    it->ports.type = MACH_MSG_OOL_PORTS_DESCRIPTOR;
    for (int i = 0; i < 3; i++) it->numbers[i] = 11 * (i + 1);
}

/* The same, as it was received: `right` is null if the right is a new one. */
static inline void check_carried(const carrying_t *it, mach_port_t right, const void *memory, mach_msg_size_t size) {
    CHECK(it->header.msgh_bits & MACH_MSGH_BITS_COMPLEX);
    CHECK(it->header.msgh_size == sizeof *it);
    CHECK(it->body.msgh_descriptor_count == 3);
    CHECK(it->port.type == MACH_MSG_PORT_DESCRIPTOR && it->port.disposition == MACH_MSG_TYPE_PORT_SEND);
    CHECK(right ? it->port.name == right : type_of(it->port.name) == MACH_PORT_TYPE_SEND);
    CHECK(it->memory.type == MACH_MSG_OOL_DESCRIPTOR && it->memory.size == size && it->memory.deallocate);
    CHECK(memcmp(it->memory.address, memory, size) == 0);
    CHECK(it->ports.type == MACH_MSG_OOL_PORTS_DESCRIPTOR && it->ports.count == 2 && it->ports.deallocate);
    CHECK(it->ports.disposition == MACH_MSG_TYPE_PORT_SEND);
    const mach_port_t *names = (const mach_port_t *) it->ports.address;
    CHECK(type_of(names[0]) & MACH_PORT_TYPE_SEND && type_of(names[1]) & MACH_PORT_TYPE_SEND);
    CHECK(it->numbers[0] == 11 && it->numbers[1] == 22 && it->numbers[2] == 33);
}

#endif
