/* Rights and data in the body of a message: every way to pass a right, and type words that are wrong. */
#include "fixtures.h"

#include <sys/mman.h>

#define S MACH_MSG_SUCCESS
#define I MACH_SEND_INVALID_RIGHT
#define T MACH_SEND_INVALID_TYPE

#define RECV MACH_MSG_TYPE_MOVE_RECEIVE
#define MOVE MACH_MSG_TYPE_MOVE_SEND
#define ONCE MACH_MSG_TYPE_MOVE_SEND_ONCE
#define COPY MACH_MSG_TYPE_COPY_SEND
#define MAKE MACH_MSG_TYPE_MAKE_SEND
#define MAKE_ONCE MACH_MSG_TYPE_MAKE_SEND_ONCE

struct row {
    const char *name;
    mach_msg_type_name_t disposition;
    int code[KINDS];
};

static const struct row rows[] = {
    /*                  none null dead rcv s+r send once set deadn member died */
    {"body MOVE_RECEIVE", RECV, {I, S, S, S, S, I, I, I, I, S, I}},
    {"body MOVE_SEND", MOVE, {I, S, S, I, S, S, I, I, S, I, S}},
    {"body MOVE_SEND_ONCE", ONCE, {I, S, S, I, I, I, S, I, S, I, S}},
    {"body COPY_SEND", COPY, {I, S, S, I, S, S, I, I, S, I, S}},
    {"body MAKE_SEND", MAKE, {I, S, S, S, S, I, I, I, I, S, I}},
    {"body MAKE_SEND_ONCE", MAKE_ONCE, {I, S, S, S, S, I, I, I, I, S, I}},
};

static mach_msg_type_name_t received_type(mach_msg_type_name_t disposition) {
    switch (disposition) {
    case RECV: return MACH_MSG_TYPE_PORT_RECEIVE;
    case ONCE:
    case MAKE_ONCE: return MACH_MSG_TYPE_PORT_SEND_ONCE;
    default: return MACH_MSG_TYPE_PORT_SEND;
    }
}

/* What arrived as a right that came from such a name, and under which name. */
static void check_received(const struct row *row, enum kind kind, const mach_msg_type_t *type, mach_port_t right) {
    CHECK(type->msgt_name == received_type(row->disposition));
    if (kind == NULL_NAME) CHECK(right == MACH_PORT_NULL);
    else if (kind == DEAD_VALUE || kind == DEAD_NAME || kind == DIED) CHECK(right == MACH_PORT_DEAD);
    else if (row->disposition == RECV) CHECK(type_of(right) & MACH_PORT_TYPE_RECEIVE);
    else if (received_type(row->disposition) == MACH_MSG_TYPE_PORT_SEND_ONCE)
        CHECK(type_of(right) == MACH_PORT_TYPE_SEND_ONCE);
    else CHECK(type_of(right) & MACH_PORT_TYPE_SEND);
}

static void start(any_message *message, mach_port_t to) {
    memset(message, 0, sizeof *message);
    message->header.msgh_bits = MACH_MSGH_BITS(COPY, 0) | MACH_MSGH_BITS_COMPLEX;
    message->header.msgh_remote_port = to;
}

static mach_msg_return_t send(any_message *message, mach_msg_size_t size) {
    return mach_msg(&message->header, MACH_SEND_MSG | MACH_SEND_TIMEOUT, size, 0, 0, 0, 0);
}

static void test_inline(const struct row *row, enum kind kind) {
    mach_port_t to = make_port(), name = make(kind);
    any_message message;
    start(&message, to);
    message.ports.type = port_type(row->disposition, 1);
    message.ports.port[0].name = name;
    mach_msg_return_t code = send(&message, 48);
    cell(row->name, kind, code, row->code[kind]);
    CHECK(refs_of(to, MACH_PORT_RIGHT_SEND) == 1);
    if (code != S) {
        cell_type(row->name, kind, type_of(name), kind_types[kind]);
        CHECK(!waits(to, NULL));
    } else if (CHECK_CODE(receive(to, &message), S)) {
        CHECK(message.header.msgh_bits & MACH_MSGH_BITS_COMPLEX);
        CHECK(message.header.msgh_size == 48 && message.ports.type.msgt_size == 64 && message.ports.type.msgt_inline);
        check_received(row, kind, &message.ports.type, message.ports.port[0].name);
    }
    sweep();
}

static void test_out_of_line(const struct row *row, enum kind kind) {
    mach_port_t to = make_port();
    mach_port_name_t names[3] = {MACH_PORT_NULL, MACH_PORT_NULL, make(kind)};
    any_message message;
    start(&message, to);
    message.region.type = port_type(row->disposition, 3);
    message.region.type.msgt_inline = 0;
    message.region.type.msgt_size = 32;
    message.region.address = names;
    mach_msg_return_t code = send(&message, 48);
    cell(row->name, kind, code, row->code[kind]);
    if (code != S) {
        cell_type(row->name, kind, type_of(names[2]), kind_types[kind]);
    } else if (CHECK_CODE(receive(to, &message), S)) {
        const mach_port_name_t *got = message.region.address;
        const mach_msg_type_t *type = &message.region.type;
        CHECK(!type->msgt_inline && type->msgt_deallocate && type->msgt_size == 32 && type->msgt_number == 3);
        CHECK(got != names && got[0] == MACH_PORT_NULL && got[1] == MACH_PORT_NULL);
        check_received(row, kind, type, got[2]);
        CHECK_CODE(vm_deallocate(self, (vm_address_t) got, 12), KERN_SUCCESS);
    }
    sweep();
}

/* Type words that are refused, and some that look odd and are not. */
static void test_types(void) {
    static int word;
    static const struct {
        const char *name;
        unsigned type, size, inlined, deallocate, unused, number;
        mach_msg_size_t bytes;
        int code;
    } words[] = {
        {"a port of 32 bits inline", COPY, 32, 1, 0, 0, 1, 48, T},
        {"a port of 8 bits inline", COPY, 8, 1, 0, 0, 1, 48, T},
        {"no ports of 32 bits inline", COPY, 32, 1, 0, 0, 0, 40, T},
        {"no ports inline", COPY, 64, 1, 0, 0, 0, 40, S},
        {"a port inline, deallocate", COPY, 64, 1, 1, 0, 1, 48, T},
        {"a port inline, unused bits", COPY, 64, 1, 0, 1, 1, 48, T},
        {"data inline, deallocate", MACH_MSG_TYPE_BYTE, 8, 1, 1, 0, 8, 48, T},
        {"data inline, unused bits", MACH_MSG_TYPE_BYTE, 8, 1, 0, 16, 8, 48, T},
        {"a port of 64 bits out of line", COPY, 64, 0, 0, 0, 1, 48, T},
        {"data inline", MACH_MSG_TYPE_BYTE, 8, 1, 0, 0, 8, 48, S},
        {"data inline, padded", MACH_MSG_TYPE_BYTE, 8, 1, 0, 0, 3, 48, S},
        {"bits inline", MACH_MSG_TYPE_BIT, 1, 1, 0, 0, 9, 48, S},
        {"data inline, past the end", MACH_MSG_TYPE_BYTE, 8, 1, 0, 0, 9, 48, MACH_SEND_MSG_TOO_SMALL},
        {"data inline, far past the end", MACH_MSG_TYPE_BYTE, 65535, 1, 0, 0, 0xffffffffu, 48, MACH_SEND_MSG_TOO_SMALL},
        {"ports inline, past the end", COPY, 64, 1, 0, 0, 3, 48, MACH_SEND_MSG_TOO_SMALL},
        {"ports inline, far past the end", COPY, 64, 1, 0, 0, 0x20000000u, 48, MACH_SEND_MSG_TOO_SMALL},
        {"out of line, no room for the pointer", MACH_MSG_TYPE_BYTE, 8, 0, 0, 0, 8, 40, MACH_SEND_MSG_TOO_SMALL},
        {"a type word of its own kind", 63, 8, 1, 0, 0, 8, 48, S},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        mach_port_t to = make_port();
        any_message message;
        start(&message, to);
        message.region.type.msgt_name = words[i].type & 0xff;
        message.region.type.msgt_size = words[i].size & 0xffff;
        message.region.type.msgt_inline = words[i].inlined & 1;
        message.region.type.msgt_deallocate = words[i].deallocate & 1;
        message.region.type.msgt_unused = words[i].unused & 31;
        message.region.type.msgt_number = words[i].number;
        message.region.address = words[i].inlined ? NULL : &word;
        mach_msg_return_t code = send(&message, words[i].bytes);
        if (!CHECK_CODE(code, words[i].code)) fprintf(stderr, "    for %s\n", words[i].name);
        CHECK(refs_of(to, MACH_PORT_RIGHT_SEND) == 1);
        sweep();
    }
    /* The long form is the same word here. */
    mach_port_t to = make_port();
    any_message message;
    start(&message, to);
    message.ports.type = port_type(COPY, 1);
    message.ports.type.msgt_longform = 1;
    message.ports.port[0].name = to;
    CHECK_CODE(send(&message, 48), S);
    CHECK_CODE(receive(to, &message), S);
    CHECK(message.ports.port[0].name == to && refs_of(to, MACH_PORT_RIGHT_SEND) == 2);
    /* Without the bit nothing in the body is looked at. */
    start(&message, to);
    message.header.msgh_bits = MACH_MSGH_BITS(COPY, 0);
    message.ports.type = port_type(RECV, 77);
    message.ports.type.msgt_unused = 31;
    message.ports.port[0].name = 4711;
    CHECK_CODE(send(&message, 48), S);
    CHECK_CODE(receive(to, &message), S);
    CHECK(message.ports.port[0].name == 4711 && !(message.header.msgh_bits & MACH_MSGH_BITS_COMPLEX));
    sweep();
}

/* A message that fails in its body takes with it what was read before, and the header's rights. */
static void test_partial(void) {
    mach_port_t to = make_port(), reply = make_receive(), good = make(SEND), kept = make(SEND);
    mach_msg_id_t id;
    any_message message;
    start(&message, to);
    message.header.msgh_bits = MACH_MSGH_BITS(COPY, MAKE_ONCE) | MACH_MSGH_BITS_COMPLEX;
    message.header.msgh_local_port = reply;
    message.ports.type = port_type(MOVE, 3);
    message.ports.port[0].name = good;
    message.ports.port[1].name = unused_name();
    message.ports.port[2].name = kept;
    CHECK_CODE(send(&message, 64), I);
    CHECK(type_of(good) == 0);
    CHECK(type_of(kept) == MACH_PORT_TYPE_SEND);
    CHECK(refs_of(to, MACH_PORT_RIGHT_SEND) == 1);
    CHECK(waits(reply, &id) && id == MACH_NOTIFY_SEND_ONCE);
    CHECK(!waits(to, NULL));
    sweep();

    /* One that fails in its header takes nothing. */
    to = make_port();
    good = make(SEND);
    start(&message, to);
    message.header.msgh_bits = MACH_MSGH_BITS(COPY, MOVE) | MACH_MSGH_BITS_COMPLEX;
    message.header.msgh_local_port = unused_name();
    message.ports.type = port_type(MOVE, 1);
    message.ports.port[0].name = good;
    CHECK_CODE(send(&message, 48), MACH_SEND_INVALID_REPLY);
    CHECK(type_of(good) == MACH_PORT_TYPE_SEND);
    sweep();
}

/* Several items of all sorts in one message. */
static void test_mixed(void) {
    struct {
        mach_msg_header_t header;
        mach_msg_type_t ports_type;
        mach_port_name_inlined_t ports[2];
        mach_msg_type_t text_type;
        char text[8];
        mach_msg_type_t region_type;
        void *region;
        mach_msg_type_t once_type;
        mach_port_name_inlined_t once;
    } out;
    struct {
        char bytes[sizeof out];
    } in;
    static char data[5000];
    mach_port_t to = make_port(), first = make_receive(), second = make_receive();
    memset(data, 'd', sizeof data);
    memset(&out, 0, sizeof out);
    out.header.msgh_bits = MACH_MSGH_BITS(COPY, 0) | MACH_MSGH_BITS_COMPLEX;
    out.header.msgh_remote_port = to;
    out.header.msgh_id = 42;
    out.ports_type = port_type(MAKE, 2);
    out.ports[0].name = first;
    out.ports[1].name = second;
    out.text_type = port_type(MACH_MSG_TYPE_CHAR, 5);
    out.text_type.msgt_size = 8;
    memcpy(out.text, "hello", 5);
    out.region_type = region_type(sizeof data);
    out.region = data;
    out.once_type = port_type(MAKE_ONCE, 1);
    out.once.name = first;
    CHECK_CODE(mach_msg(&out.header, MACH_SEND_MSG, sizeof out, 0, 0, 0, 0), S);
    memset(data, 'x', sizeof data);
    memset(&in, 0xa5, sizeof in);
    CHECK_CODE(mach_msg((mach_msg_header_t *) &in, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof in, to, 0, 0), S);
    memcpy(&out, &in, sizeof out);
    CHECK(out.header.msgh_id == 42 && out.header.msgh_size == sizeof out);
    CHECK(out.ports[0].slot == first && out.ports[1].slot == second);
    CHECK(out.ports_type.msgt_name == MACH_MSG_TYPE_PORT_SEND);
    CHECK(memcmp(out.text, "hello", 5) == 0);
    CHECK(out.region_type.msgt_deallocate && out.region_type.msgt_number == sizeof data);
    /* The bytes are those at the time of the send. */
    CHECK(memchr(out.region, 'x', sizeof data) == NULL);
    CHECK(type_of(out.once.name) == MACH_PORT_TYPE_SEND_ONCE);
    CHECK(type_of(first) == MACH_PORT_TYPE_SEND_RECEIVE);
    mach_msg_destroy(&out.header);
    CHECK(type_of(first) == MACH_PORT_TYPE_RECEIVE && type_of(second) == MACH_PORT_TYPE_RECEIVE);
    CHECK(type_of(out.once.name) == 0);
    sweep();
}

void test_bodies(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int kind = 0; kind < KINDS; kind++) {
            test_inline(&rows[i], kind);
            test_out_of_line(&rows[i], kind);
        }
    }
    test_types();
    test_partial();
    test_mixed();
}
