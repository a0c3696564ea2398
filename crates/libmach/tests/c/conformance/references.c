/* User references: mach_port_get_refs and mach_port_mod_refs, for every right of every kind of name. */
#include "fixtures.h"

#include <mach/mach_param.h>

#define S KERN_SUCCESS
#define N KERN_INVALID_NAME
#define R KERN_INVALID_RIGHT
#define V KERN_INVALID_VALUE

#define RIGHT_SEND MACH_PORT_RIGHT_SEND
#define RIGHT_RECEIVE MACH_PORT_RIGHT_RECEIVE
#define RIGHT_ONCE MACH_PORT_RIGHT_SEND_ONCE
#define RIGHT_SET MACH_PORT_RIGHT_PORT_SET
#define RIGHT_DEAD MACH_PORT_RIGHT_DEAD_NAME
#define RIGHT_BAD MACH_PORT_RIGHT_NUMBER

#define SAME (~(mach_port_type_t) 0)
#define RCV MACH_PORT_TYPE_RECEIVE
#define DNM MACH_PORT_TYPE_DEAD_NAME

/* Which rights each kind of name has, each with one reference. */
static const mach_port_urefs_t held[5][KINDS] = {
    /*               none null dead rcv s+r send once set deadn member died */
    /* send */ {0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0},
    /* receive */ {0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0},
    /* send-once */ {0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0},
    /* port set */ {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0},
    /* dead name */ {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1},
};

struct row {
    mach_port_right_t right;
    mach_port_delta_t delta;
    int code[KINDS];
    mach_port_type_t after[KINDS];
};

#define ALL_SAME {SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME}
#define NO_VALUE {V, V, V, V, V, V, V, V, V, V, V}
#define OF_SEND(c) {N, N, N, R, c, c, R, R, R, R, R}
#define OF_RECEIVE(c) {N, N, N, c, c, R, R, R, R, c, R}
#define OF_ONCE(c) {N, N, N, R, R, R, c, R, R, R, R}
#define OF_SET(c) {N, N, N, R, R, R, R, c, R, R, R}
#define OF_DEAD(c) {N, N, N, R, R, R, R, R, c, R, c}

static const struct row rows[] = {
    {RIGHT_SEND, 0, OF_SEND(S), ALL_SAME},
    {RIGHT_SEND, 1, OF_SEND(S), ALL_SAME},
    {RIGHT_SEND, -1, OF_SEND(S), {0, 0, 0, SAME, RCV, 0, SAME, SAME, SAME, SAME, SAME}},
    {RIGHT_SEND, -2, {N, N, N, R, V, V, R, R, R, R, SKIP}, ALL_SAME},
    {RIGHT_SEND, INT32_MIN, {N, N, N, R, V, V, R, R, R, R, SKIP}, ALL_SAME},
    {RIGHT_SEND, INT32_MAX, {N, N, N, R, KERN_UREFS_OVERFLOW, KERN_UREFS_OVERFLOW, R, R, R, R, SKIP}, ALL_SAME},
    {RIGHT_RECEIVE, 0, OF_RECEIVE(S), ALL_SAME},
    {RIGHT_RECEIVE, 1, OF_RECEIVE(V), ALL_SAME},
    {RIGHT_RECEIVE, -1, OF_RECEIVE(S), {0, 0, 0, 0, DNM, SAME, SAME, SAME, SAME, 0, SAME}},
    {RIGHT_RECEIVE, -2, OF_RECEIVE(V), ALL_SAME},
    {RIGHT_ONCE, 0, OF_ONCE(S), ALL_SAME},
    {RIGHT_ONCE, 1, OF_ONCE(V), ALL_SAME},
    {RIGHT_ONCE, -1, OF_ONCE(S), {0, 0, 0, SAME, SAME, SAME, 0, SAME, SAME, SAME, SAME}},
    {RIGHT_ONCE, -2, OF_ONCE(V), ALL_SAME},
    {RIGHT_SET, 0, OF_SET(S), ALL_SAME},
    {RIGHT_SET, 1, OF_SET(V), ALL_SAME},
    {RIGHT_SET, -1, OF_SET(S), {0, 0, 0, SAME, SAME, SAME, SAME, 0, SAME, SAME, SAME}},
    {RIGHT_SET, -2, OF_SET(V), ALL_SAME},
    {RIGHT_DEAD, 0, OF_DEAD(S), ALL_SAME},
    {RIGHT_DEAD, 1, OF_DEAD(S), ALL_SAME},
    {RIGHT_DEAD, -1, OF_DEAD(S), {0, 0, 0, SAME, SAME, SAME, SAME, SAME, 0, SAME, 0}},
    {RIGHT_DEAD, -2, OF_DEAD(V), ALL_SAME},
    {RIGHT_DEAD, INT32_MIN, OF_DEAD(V), ALL_SAME},
    {RIGHT_DEAD, INT32_MAX, OF_DEAD(KERN_UREFS_OVERFLOW), ALL_SAME},
    {RIGHT_BAD, 0, NO_VALUE, ALL_SAME},
    {RIGHT_BAD, -1, NO_VALUE, ALL_SAME},
    {~(mach_port_right_t) 0, -1, NO_VALUE, ALL_SAME},
};

static const char *const right_names[] = {"SEND", "RECEIVE", "SEND_ONCE", "PORT_SET", "DEAD_NAME"};

static void test_mod_refs(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        char text[80];
        snprintf(text, sizeof text, "mach_port_mod_refs(%s, %d)", row->right < RIGHT_BAD ? right_names[row->right] : "none",
                 row->delta);
        for (int kind = 0; kind < KINDS; kind++) {
            if (row->code[kind] == SKIP) continue;
            mach_port_t name = make(kind);
            kern_return_t code = mach_port_mod_refs(self, name, row->right, row->delta);
            mach_port_type_t after = row->after[kind] == SAME ? kind_types[kind] : row->after[kind];
            cell(text, kind, code, row->code[kind]);
            cell_type(text, kind, type_of(name), after);
            if (code == S && row->delta == 1) CHECK(refs_of(name, row->right) == 2);
            sweep();
        }
    }
}

static void test_get_refs(void) {
    for (mach_port_right_t right = 0; right <= RIGHT_BAD; right++) {
        for (int kind = 0; kind < KINDS; kind++) {
            mach_port_t name = make(kind);
            mach_port_urefs_t refs = 99;
            int wanted = right == RIGHT_BAD ? V : kind_types[kind] ? S : N;
            cell("mach_port_get_refs", kind, mach_port_get_refs(self, name, right, &refs), wanted);
            if (wanted == S && refs != held[right][kind]) {
                fprintf(stderr, "%s, right %u: ", kind_names[kind], right);
                CHECK(refs == held[right][kind]);
            }
            sweep();
        }
    }
}

/* A send right counts to one less than a dead name, which a dead-name notification may add one to. */
static void test_limits(void) {
    const mach_port_delta_t limit = MACH_PORT_UREFS_MAX;
    mach_port_t port = make_port();
    CHECK_CODE(mach_port_mod_refs(self, port, RIGHT_SEND, limit - 1), KERN_UREFS_OVERFLOW);
    CHECK(refs_of(port, RIGHT_SEND) == 1);
    CHECK_CODE(mach_port_mod_refs(self, port, RIGHT_SEND, limit - 2), S);
    CHECK(refs_of(port, RIGHT_SEND) == (mach_port_urefs_t) limit - 1);
    CHECK_CODE(mach_port_mod_refs(self, port, RIGHT_SEND, 1), KERN_UREFS_OVERFLOW);
    CHECK_CODE(mach_port_insert_right(self, port, port, MACH_MSG_TYPE_MAKE_SEND), KERN_UREFS_OVERFLOW);
    CHECK_CODE(mach_port_mod_refs(self, port, RIGHT_SEND, -(limit - 1)), S);
    CHECK(type_of(port) == MACH_PORT_TYPE_RECEIVE);

    mach_port_t dead = make(DEAD_NAME);
    CHECK_CODE(mach_port_mod_refs(self, dead, RIGHT_DEAD, limit), KERN_UREFS_OVERFLOW);
    CHECK_CODE(mach_port_mod_refs(self, dead, RIGHT_DEAD, limit - 1), S);
    CHECK(refs_of(dead, RIGHT_DEAD) == (mach_port_urefs_t) limit);
    CHECK_CODE(mach_port_mod_refs(self, dead, RIGHT_DEAD, 1), KERN_UREFS_OVERFLOW);
    CHECK_CODE(mach_port_mod_refs(self, dead, RIGHT_DEAD, -limit), S);
    CHECK(type_of(dead) == 0);
    sweep();
}

/* References that come in messages stop at the limit, and none is lost below it. */
static void test_received(void) {
    mach_port_t port = make_port(), carrier = make_port();
    any_message message;
    CHECK_CODE(mach_port_mod_refs(self, port, RIGHT_SEND, MACH_PORT_UREFS_MAX - 3), S);
    for (int i = 0; i < 3; i++) {
        memset(&message, 0, sizeof message);
        message.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, 0) | MACH_MSGH_BITS_COMPLEX;
        message.header.msgh_remote_port = carrier;
        message.ports.type = port_type(MACH_MSG_TYPE_COPY_SEND, 1);
        message.ports.port[0].name = port;
        CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG, 48, 0, 0, 0, 0), MACH_MSG_SUCCESS);
        CHECK_CODE(receive(carrier, &message), MACH_MSG_SUCCESS);
        CHECK(message.ports.port[0].name == port);
        CHECK(refs_of(port, RIGHT_SEND) == MACH_PORT_UREFS_MAX - 1);
    }
    sweep();
}

void test_references(void) {
    test_get_refs();
    test_mod_refs();
    test_limits();
    test_received();
}
