/* Sending: the header's rights, in every way, of every kind of name; sizes; full queues. */
#include "fixtures.h"

#include <sys/mman.h>

#define S MACH_MSG_SUCCESS
#define D MACH_SEND_INVALID_DEST
#define P MACH_SEND_INVALID_REPLY
#define H MACH_SEND_INVALID_HEADER

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

#define BAD_HEADER {SKIP, SKIP, SKIP, H, H, H, H, H, H, H, H}

static const struct row destinations[] = {
    /*                  none null dead rcv s+r send once set deadn member died */
    {"send to COPY_SEND", COPY, {D, D, D, D, S, S, D, D, D, D, D}},
    {"send to MOVE_SEND", MOVE, {D, D, D, D, S, S, D, D, D, D, D}},
    {"send to MOVE_SEND_ONCE", ONCE, {D, D, D, D, D, D, S, D, D, D, D}},
    {"send to MAKE_SEND", MAKE, {D, D, D, S, S, D, D, D, D, S, D}},
    {"send to MAKE_SEND_ONCE", MAKE_ONCE, {D, D, D, S, S, D, D, D, D, S, D}},
    {"send to MOVE_RECEIVE", RECV, BAD_HEADER},
    {"send to 0", 0, BAD_HEADER},
    {"send to 15", MACH_MSG_TYPE_PORT_NAME, BAD_HEADER},
    {"send to 22", 22, BAD_HEADER},
    {"send to 255", 255, BAD_HEADER},
};

static const struct row replies[] = {
    {"reply COPY_SEND", COPY, {P, S, S, P, S, S, P, P, S, P, S}},
    {"reply MOVE_SEND", MOVE, {P, S, S, P, S, S, P, P, S, P, S}},
    {"reply MOVE_SEND_ONCE", ONCE, {P, S, S, P, P, P, S, P, S, P, S}},
    {"reply MAKE_SEND", MAKE, {P, S, S, S, S, P, P, P, P, S, P}},
    {"reply MAKE_SEND_ONCE", MAKE_ONCE, {P, S, S, S, S, P, P, P, P, S, P}},
    {"reply MOVE_RECEIVE", RECV, BAD_HEADER},
    {"reply 0", 0, {SKIP, S, SKIP, H, H, H, H, H, H, H, H}},
    {"reply 15", MACH_MSG_TYPE_PORT_NAME, BAD_HEADER},
    {"reply 22", 22, BAD_HEADER},
    {"reply 255", 255, BAD_HEADER},
};

/* The type of a name that had one of each right, after this was taken from it. */
static mach_port_type_t left(mach_port_type_t type, mach_msg_type_name_t disposition) {
    switch (disposition) {
    case MOVE: return type & ~(MACH_PORT_TYPE_SEND | MACH_PORT_TYPE_DEAD_NAME);
    case ONCE: return type & ~(MACH_PORT_TYPE_SEND_ONCE | MACH_PORT_TYPE_DEAD_NAME);
    default: return type;
    }
}

static void test_destinations(void) {
    for (size_t i = 0; i < sizeof destinations / sizeof *destinations; i++) {
        const struct row *row = &destinations[i];
        for (int kind = 0; kind < KINDS; kind++) {
            if (row->code[kind] == SKIP) continue;
            mach_port_t name = make(kind);
            mach_msg_return_t code = send_empty(name, row->disposition, 1);
            cell(row->name, kind, code, row->code[kind]);
            cell_type(row->name, kind, type_of(name), code == S ? left(kind_types[kind], row->disposition) : kind_types[kind]);
            sweep();
        }
    }
}

static void test_replies(void) {
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        const struct row *row = &replies[i];
        for (int kind = 0; kind < KINDS; kind++) {
            if (row->code[kind] == SKIP) continue;
            mach_port_t to = make_port(), name = make(kind);
            any_message message;
            memset(&message, 0, sizeof message);
            message.header.msgh_bits = MACH_MSGH_BITS(COPY, row->disposition);
            message.header.msgh_remote_port = to;
            message.header.msgh_local_port = name;
            mach_msg_return_t code = mach_msg(&message.header, MACH_SEND_MSG | MACH_SEND_TIMEOUT, 32, 0, 0, 0, 0);
            cell(row->name, kind, code, row->code[kind]);
            CHECK(refs_of(to, MACH_PORT_RIGHT_SEND) == 1);
            cell_type(row->name, kind, type_of(name), code == S ? left(kind_types[kind], row->disposition) : kind_types[kind]);
            if (code == S && CHECK_CODE(receive(to, &message), S)) {
                mach_port_t reply = message.header.msgh_remote_port;
                CHECK(message.header.msgh_local_port == to);
                CHECK(MACH_MSGH_BITS_LOCAL(message.header.msgh_bits) == MACH_MSG_TYPE_PORT_SEND);
                if (kind == NULL_NAME) CHECK(reply == MACH_PORT_NULL);
                else if (kind == DEAD_VALUE || kind == DEAD_NAME || kind == DIED) CHECK(reply == MACH_PORT_DEAD);
                else {
                    int once = row->disposition == ONCE || row->disposition == MAKE_ONCE;
                    CHECK(MACH_MSGH_BITS_REMOTE(message.header.msgh_bits) ==
                          (once ? (unsigned) MACH_MSG_TYPE_PORT_SEND_ONCE : (unsigned) MACH_MSG_TYPE_PORT_SEND));
                    CHECK(type_of(reply) & (once ? MACH_PORT_TYPE_SEND_ONCE : MACH_PORT_TYPE_SEND));
                }
            } else if (code != S) {
                CHECK(!waits(to, NULL));
            }
            sweep();
        }
    }
}

/* One name as destination and as reply port. */
static void test_same_name(void) {
    static const struct {
        enum kind kind;
        mach_port_delta_t more;
        mach_msg_type_name_t to, reply;
        int code;
    } rows[] = {
        {SEND_RECEIVE, 0, COPY, COPY, S},      {SEND_RECEIVE, 0, COPY, MAKE, S},  {SEND_RECEIVE, 0, MAKE, MAKE_ONCE, S},
        {SEND_RECEIVE, 0, COPY, MAKE_ONCE, S}, {SEND_RECEIVE, 0, MOVE, MAKE, S},  {SEND_RECEIVE, 1, MOVE, MOVE, S},
        {SEND_RECEIVE, 0, MAKE, MOVE, S},      {SEND, 0, COPY, COPY, S},          {SEND, 1, MOVE, MOVE, S},
        {SEND, 1, COPY, MOVE, S},              {SEND, 0, COPY, MAKE, P},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mach_port_t name = make(rows[i].kind);
        mach_msg_header_t header;
        if (rows[i].more) CHECK_CODE(mach_port_mod_refs(self, name, MACH_PORT_RIGHT_SEND, rows[i].more), KERN_SUCCESS);
        memset(&header, 0, sizeof header);
        header.msgh_bits = MACH_MSGH_BITS(rows[i].to, rows[i].reply);
        header.msgh_remote_port = header.msgh_local_port = name;
        mach_msg_return_t code = mach_msg(&header, MACH_SEND_MSG | MACH_SEND_TIMEOUT, sizeof header, 0, 0, 0, 0);
        if (!CHECK_CODE(code, rows[i].code)) fprintf(stderr, "    in row %zu\n", i);
        sweep();
    }
}

static void test_sizes(void) {
    static const mach_msg_size_t bad[] = {0, 1, 8, 24, 31, 33, 36, 44, 47};
    mach_port_t port = make_port();
    any_message message;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memset(&message, 0, sizeof message);
        message.header.msgh_bits = MACH_MSGH_BITS(COPY, 0);
        message.header.msgh_remote_port = port;
        CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG, bad[i], 0, 0, 0, 0), MACH_SEND_MSG_TOO_SMALL);
    }
    /* The size is the argument's, not the field's. */
    memset(&message, 0, sizeof message);
    message.header.msgh_bits = MACH_MSGH_BITS(COPY, 0);
    message.header.msgh_remote_port = port;
    message.header.msgh_size = 4;
    CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG, 40, 0, 0, 0, 0), S);
    CHECK_CODE(receive(port, &message), S);
    CHECK(message.header.msgh_size == 40);
    CHECK_CODE(mach_msg(NULL, MACH_SEND_MSG, 32, 0, 0, 0, 0), MACH_SEND_INVALID_DATA);
    void *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(nothing != MAP_FAILED);
    CHECK_CODE(mach_msg((mach_msg_header_t *) nothing, MACH_SEND_MSG, 32, 0, 0, 0, 0), MACH_SEND_INVALID_DATA);
    munmap(nothing, 4096);
    /* Neither to send nor to receive is nothing to do. */
    CHECK_CODE(mach_msg(&message.header, MACH_MSG_OPTION_NONE, 32, 0, 0, 0, 0), S);
    CHECK_CODE(mach_msg(NULL, MACH_MSG_OPTION_NONE, 0, 0, 0, 0, 0), S);
    CHECK(!waits(port, NULL));
    sweep();
}

/* A queue holds as many messages as it may; a message that was not sent is back with its rights. */
static void test_full(void) {
    mach_port_t port = make_port(), reply = make_receive();
    mach_msg_header_t header;
    for (unsigned i = 0; i < MACH_PORT_QLIMIT_DEFAULT; i++) CHECK_CODE(send_empty(port, COPY, 1), S);
    CHECK_CODE(send_empty(port, COPY, 1), MACH_SEND_TIMED_OUT);
    /* That left a reference, as if the message had been received. */
    CHECK(refs_of(port, MACH_PORT_RIGHT_SEND) == 2);
    CHECK_CODE(send_empty(port, MOVE, 1), MACH_SEND_TIMED_OUT);
    CHECK(refs_of(port, MACH_PORT_RIGHT_SEND) == 2);

    memset(&header, 0, sizeof header);
    header.msgh_bits = MACH_MSGH_BITS(MAKE, MAKE_ONCE);
    header.msgh_remote_port = port;
    header.msgh_local_port = reply;
    CHECK_CODE(mach_msg(&header, MACH_SEND_MSG | MACH_SEND_TIMEOUT, sizeof header, 0, 0, 1, 0), MACH_SEND_TIMED_OUT);
    CHECK(header.msgh_bits == MACH_MSGH_BITS(MACH_MSG_TYPE_PORT_SEND, MACH_MSG_TYPE_PORT_SEND_ONCE));
    CHECK(header.msgh_remote_port == port && refs_of(port, MACH_PORT_RIGHT_SEND) == 3);
    CHECK(type_of(header.msgh_local_port) == MACH_PORT_TYPE_SEND_ONCE);
    /* And so it can be sent again as it is. */
    CHECK(waits(port, NULL));
    CHECK_CODE(mach_msg(&header, MACH_SEND_MSG | MACH_SEND_TIMEOUT, sizeof header, 0, 0, 0, 0), S);
    CHECK(refs_of(port, MACH_PORT_RIGHT_SEND) == 2 && type_of(header.msgh_local_port) == 0);

    /* Send-once rights go into a full queue. */
    CHECK_CODE(send_empty(port, MAKE_ONCE, 9), S);
    /* A higher limit makes room, a lower one takes nothing away. */
    CHECK_CODE(send_empty(port, COPY, 1), MACH_SEND_TIMED_OUT);
    CHECK_CODE(mach_port_set_qlimit(self, port, MACH_PORT_QLIMIT_MAX), KERN_SUCCESS);
    CHECK_CODE(send_empty(port, COPY, 1), S);
    CHECK_CODE(mach_port_set_qlimit(self, port, 1), KERN_SUCCESS);
    CHECK_CODE(send_empty(port, COPY, 1), MACH_SEND_TIMED_OUT);
    int count = 0;
    while (waits(port, NULL)) count++;
    CHECK(count == 7);
    sweep();
}

/* Notifications that a queue has room: the argument must be a receive right. */
static void test_notify_argument(void) {
    mach_port_t port = make_port();
    mach_msg_header_t header;
    memset(&header, 0, sizeof header);
    header.msgh_bits = MACH_MSGH_BITS(COPY, 0);
    header.msgh_remote_port = port;
    CHECK_CODE(mach_msg(&header, MACH_SEND_MSG | MACH_SEND_CANCEL, sizeof header, 0, 0, 0, MACH_PORT_NULL),
               MACH_SEND_INVALID_NOTIFY);
    CHECK_CODE(mach_msg(&header, MACH_SEND_MSG | MACH_SEND_CANCEL, sizeof header, 0, 0, 0, unused_name()),
               MACH_SEND_INVALID_NOTIFY);
    CHECK(!waits(port, NULL));
    sweep();
}

void test_send(void) {
    test_destinations();
    test_replies();
    test_same_name();
    test_sizes();
    test_full();
    test_notify_argument();
}
