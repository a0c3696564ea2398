/* mach_port_insert_right and mach_port_extract_right: every way to pass a right, on every kind of name. */
#include "fixtures.h"

#define S KERN_SUCCESS
#define N KERN_INVALID_NAME
#define R KERN_INVALID_RIGHT
#define V KERN_INVALID_VALUE
#define C KERN_INVALID_CAPABILITY
#define E KERN_NAME_EXISTS
#define X KERN_RIGHT_EXISTS

#define RECV MACH_MSG_TYPE_MOVE_RECEIVE
#define MOVE MACH_MSG_TYPE_MOVE_SEND
#define ONCE MACH_MSG_TYPE_MOVE_SEND_ONCE
#define COPY MACH_MSG_TYPE_COPY_SEND
#define MAKE MACH_MSG_TYPE_MAKE_SEND
#define MAKE_ONCE MACH_MSG_TYPE_MAKE_SEND_ONCE

#define SAME (~(mach_port_type_t) 0)
#define RCV MACH_PORT_TYPE_RECEIVE
#define SND MACH_PORT_TYPE_SEND

struct row {
    const char *name;
    mach_msg_type_name_t disposition;
    int code[KINDS];
    mach_port_type_t after[KINDS];
};

#define ALL_SAME {SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME}
#define NO_VALUE {SKIP, SKIP, SKIP, V, V, V, V, V, V, V, V}

/*
 * The right that comes back is the caller's too. So what was moved is there again: a send right under the name that
 * the receive right has, everything else under any name.
 */
static const struct row extract[] = {
    /*                          none null dead rcv s+r send once set deadn member died */
    {"mach_port_extract_right(MOVE_RECEIVE)", RECV, {N, N, N, S, S, R, R, R, R, S, R}, ALL_SAME},
    {"mach_port_extract_right(MOVE_SEND)", MOVE, {N, N, N, R, S, S, R, R, S, R, S}, ALL_SAME},
    {"mach_port_extract_right(MOVE_SEND_ONCE)", ONCE, {N, N, N, R, R, R, S, R, S, R, S}, ALL_SAME},
    {"mach_port_extract_right(COPY_SEND)", COPY, {N, N, N, R, S, S, R, R, S, R, S}, ALL_SAME},
    {"mach_port_extract_right(MAKE_SEND)", MAKE, {N, N, N, S, S, R, R, R, R, S, R}, ALL_SAME},
    {"mach_port_extract_right(MAKE_SEND_ONCE)", MAKE_ONCE, {N, N, N, S, S, R, R, R, R, S, R}, ALL_SAME},
    {"mach_port_extract_right(0)", 0, NO_VALUE, ALL_SAME},
    {"mach_port_extract_right(15)", MACH_MSG_TYPE_PORT_NAME, NO_VALUE, ALL_SAME},
    {"mach_port_extract_right(22)", 22, NO_VALUE, ALL_SAME},
    {"mach_port_extract_right(-1)", MACH_MSG_TYPE_POLYMORPHIC, NO_VALUE, ALL_SAME},
};

static mach_port_type_t received_type(mach_msg_type_name_t disposition) {
    switch (disposition) {
    case RECV: return MACH_MSG_TYPE_PORT_RECEIVE;
    case ONCE:
    case MAKE_ONCE: return MACH_MSG_TYPE_PORT_SEND_ONCE;
    default: return MACH_MSG_TYPE_PORT_SEND;
    }
}

static void test_extract(void) {
    for (size_t i = 0; i < sizeof extract / sizeof *extract; i++) {
        const struct row *row = &extract[i];
        for (int kind = 0; kind < KINDS; kind++) {
            if (row->code[kind] == SKIP) continue;
            mach_port_t name = make(kind), right = 12345;
            mach_msg_type_name_t type = 0;
            kern_return_t code = mach_port_extract_right(self, name, row->disposition, &right, &type);
            cell(row->name, kind, code, row->code[kind]);
            if (code != S) {
                cell_type(row->name, kind, type_of(name), kind_types[kind]);
            } else if (kind == DEAD_NAME || kind == DIED) {
                CHECK(right == MACH_PORT_DEAD);
                cell_type(row->name, kind, type_of(name), row->disposition == COPY ? kind_types[kind] : 0);
            } else {
                CHECK(type == received_type(row->disposition));
                switch (row->disposition) {
                case RECV: CHECK(type_of(right) & RCV); break;
                case ONCE: CHECK(type_of(right) == MACH_PORT_TYPE_SEND_ONCE); break;
                case MAKE_ONCE:
                    CHECK(type_of(right) == MACH_PORT_TYPE_SEND_ONCE);
                    cell_type(row->name, kind, type_of(name), kind_types[kind]);
                    break;
                default:
                    /* Send rights for a port have one name. */
                    CHECK(type_of(right) & SND);
                    if (row->disposition != MOVE) CHECK(right == name);
                    CHECK(refs_of(right, MACH_PORT_RIGHT_SEND) ==
                          (row->disposition != MOVE && (kind_types[kind] & SND) ? 2u : 1u));
                }
            }
            sweep();
        }
    }
}

/* The right to insert: which kind it is taken from, and how. It goes to a name that denotes nothing. */
static const struct row insert[] = {
    /*                          none null dead rcv s+r send once set deadn member died */
    {"mach_port_insert_right(MOVE_RECEIVE)", RECV, {N, C, C, S, X, R, R, R, R, S, R}, ALL_SAME},
    {"mach_port_insert_right(MOVE_SEND)", MOVE, {N, C, C, R, X, S, R, R, C, R, C}, ALL_SAME},
    {"mach_port_insert_right(MOVE_SEND_ONCE)", ONCE, {N, C, C, R, R, R, S, R, C, R, C}, ALL_SAME},
    {"mach_port_insert_right(COPY_SEND)", COPY, {N, C, C, R, X, X, R, R, C, R, C}, ALL_SAME},
    {"mach_port_insert_right(MAKE_SEND)", MAKE, {N, C, C, X, X, R, R, R, R, X, R}, ALL_SAME},
    {"mach_port_insert_right(MAKE_SEND_ONCE)", MAKE_ONCE, {N, C, C, S, S, R, R, R, R, S, R}, ALL_SAME},
    {"mach_port_insert_right(0)", 0, NO_VALUE, ALL_SAME},
    {"mach_port_insert_right(15)", MACH_MSG_TYPE_PORT_NAME, NO_VALUE, ALL_SAME},
    {"mach_port_insert_right(22)", 22, NO_VALUE, ALL_SAME},
    {"mach_port_insert_right(-1)", MACH_MSG_TYPE_POLYMORPHIC, NO_VALUE, ALL_SAME},
};

static void test_insert(void) {
    for (size_t i = 0; i < sizeof insert / sizeof *insert; i++) {
        const struct row *row = &insert[i];
        for (int kind = 0; kind < KINDS; kind++) {
            if (row->code[kind] == SKIP) continue;
            mach_port_t right = make(kind), to = unused_name();
            kern_return_t code = mach_port_insert_right(self, to, right, row->disposition);
            cell(row->name, kind, code, row->code[kind]);
            if (code != S) {
                CHECK(type_of(to) == 0);
            } else {
                mach_port_type_t type = row->disposition == RECV ? RCV
                    : received_type(row->disposition) == MACH_MSG_TYPE_PORT_SEND ? SND
                                                                                  : MACH_PORT_TYPE_SEND_ONCE;
                cell_type(row->name, kind, type_of(to), type);
                if (row->disposition <= ONCE) CHECK(type_of(right) == 0);
            }
            sweep();
        }
    }
}

/* Where to insert it: a name of every kind takes a right of another port. */
static void test_insert_at(void) {
    static const int code[KINDS] = {S, V, V, E, E, E, E, E, E, E, E};
    for (int kind = 0; kind < KINDS; kind++) {
        mach_port_t name = make(kind);
        cell("mach_port_insert_right, name", kind, mach_port_insert_right(self, name, make_receive(), MAKE_ONCE), code[kind]);
        cell_type("mach_port_insert_right, name", kind, type_of(name), kind == NONE ? MACH_PORT_TYPE_SEND_ONCE : kind_types[kind]);
        sweep();
    }
    /* A send right goes to the name that the port has already, and counts there. */
    mach_port_t port = make_port();
    CHECK_CODE(mach_port_insert_right(self, port, port, COPY), S);
    CHECK_CODE(mach_port_insert_right(self, port, port, MAKE), S);
    CHECK(refs_of(port, MACH_PORT_RIGHT_SEND) == 3);
    CHECK_CODE(mach_port_insert_right(self, port, port, MOVE), S);
    CHECK(refs_of(port, MACH_PORT_RIGHT_SEND) == 3);
    /* A send-once right always has a name of its own. */
    CHECK_CODE(mach_port_insert_right(self, port, port, MAKE_ONCE), E);
    mach_port_t first = unused_name(), second = unused_name();
    CHECK_CODE(mach_port_insert_right(self, first, port, MAKE_ONCE), S);
    CHECK_CODE(mach_port_insert_right(self, second, port, MAKE_ONCE), S);
    CHECK(type_of(first) == MACH_PORT_TYPE_SEND_ONCE && type_of(second) == MACH_PORT_TYPE_SEND_ONCE);
    sweep();
}

void test_rights(void) {
    test_extract();
    test_insert();
    test_insert_at();
}
