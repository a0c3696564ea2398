/* mach_port_request_notification: every variant on every kind of name, and what is asked for before. */
#include "fixtures.h"

#include <mach/mach_param.h>

#define S KERN_SUCCESS
#define N KERN_INVALID_NAME
#define R KERN_INVALID_RIGHT
#define V KERN_INVALID_VALUE
#define A KERN_INVALID_ARGUMENT
#define C KERN_INVALID_CAPABILITY

#define MAKE_ONCE MACH_MSG_TYPE_MAKE_SEND_ONCE
#define MOVE_ONCE MACH_MSG_TYPE_MOVE_SEND_ONCE

struct row {
    const char *name;
    mach_msg_id_t variant;
    mach_port_mscount_t sync;
    int cancels; /* the notify argument is MACH_PORT_NULL */
    int code[KINDS];
};

#define RECEIVE_ONLY {N, N, N, S, S, R, R, R, R, S, R}
#define LIVE_ONLY {N, N, N, S, S, S, S, R, A, S, A}
#define LIVE_OR_DEAD {N, N, N, S, S, S, S, R, S, S, S}
#define NO_VALUE {SKIP, SKIP, SKIP, V, V, V, V, V, V, V, V}

static const struct row rows[] = {
    {"DEAD_NAME", MACH_NOTIFY_DEAD_NAME, 0, 0, LIVE_ONLY},
    {"DEAD_NAME, sync", MACH_NOTIFY_DEAD_NAME, 1, 0, LIVE_OR_DEAD},
    {"DEAD_NAME, cancel", MACH_NOTIFY_DEAD_NAME, 0, 1, LIVE_ONLY},
    {"DEAD_NAME, sync, cancel", MACH_NOTIFY_DEAD_NAME, 1, 1, LIVE_ONLY},
    {"PORT_DESTROYED", MACH_NOTIFY_PORT_DESTROYED, 0, 0, RECEIVE_ONLY},
    {"PORT_DESTROYED, cancel", MACH_NOTIFY_PORT_DESTROYED, 0, 1, RECEIVE_ONLY},
    {"PORT_DESTROYED, sync", MACH_NOTIFY_PORT_DESTROYED, 1, 0, NO_VALUE},
    {"NO_SENDERS", MACH_NOTIFY_NO_SENDERS, 0, 0, RECEIVE_ONLY},
    {"NO_SENDERS, sync", MACH_NOTIFY_NO_SENDERS, 5, 0, RECEIVE_ONLY},
    {"NO_SENDERS, cancel", MACH_NOTIFY_NO_SENDERS, 0, 1, RECEIVE_ONLY},
    {"PORT_DELETED", MACH_NOTIFY_PORT_DELETED, 0, 0, NO_VALUE},
    {"MSG_ACCEPTED", MACH_NOTIFY_MSG_ACCEPTED, 0, 0, NO_VALUE},
    {"SEND_ONCE", MACH_NOTIFY_SEND_ONCE, 0, 0, NO_VALUE},
    {"0", 0, 0, 0, NO_VALUE},
    {"-1", -1, 0, 0, NO_VALUE},
};

static void test_variants(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        char text[80];
        snprintf(text, sizeof text, "mach_port_request_notification(%s)", row->name);
        for (int kind = 0; kind < KINDS; kind++) {
            if (row->code[kind] == SKIP) continue;
            mach_port_t name = make(kind), port = make_receive(), previous = 12345;
            mach_port_t notify = row->cancels ? MACH_PORT_NULL : port;
            kern_return_t code =
                mach_port_request_notification(self, name, row->variant, row->sync, notify, MAKE_ONCE, &previous);
            cell(text, kind, code, row->code[kind]);
            if (code == S) {
                CHECK(previous == MACH_PORT_NULL);
                mach_port_type_t type = kind_types[kind];
                /* A dead name gets its notification at once, and there is no request then. */
                int dead = type & MACH_PORT_TYPE_DEAD_NAME;
                if (row->variant == MACH_NOTIFY_DEAD_NAME && !row->cancels && !dead) type |= MACH_PORT_TYPE_DNREQUEST;
                cell_type(text, kind, type_of(name), type);
            } else {
                cell_type(text, kind, type_of(name), kind_types[kind]);
            }
            sweep();
        }
    }
}

/* Who is to be told: a right of every kind, passed as a send-once right. */
static void test_notify_argument(void) {
    static const int moved[KINDS] = {SKIP, S, C, SKIP, SKIP, SKIP, S, SKIP, C, SKIP, C};
    for (int kind = 0; kind < KINDS; kind++) {
        if (moved[kind] == SKIP) continue;
        mach_port_t name = make_receive(), notify = make(kind), previous = 12345;
        kern_return_t code =
            mach_port_request_notification(self, name, MACH_NOTIFY_PORT_DESTROYED, 0, notify, MOVE_ONCE, &previous);
        cell("mach_port_request_notification, notify", kind, code, moved[kind]);
        if (kind == SEND_ONCE) CHECK(type_of(notify) == 0);
        sweep();
    }
    /* Rights that are not there, or are no send-once rights: refused, and nothing changes. */
    static const enum kind bad[] = {NONE, RECEIVE, SEND_RECEIVE, SEND, PORT_SET, MEMBER};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        mach_port_t name = make_receive(), notify = make(bad[i]), previous = 12345;
        mach_port_status_t status;
        checks_made++;
        if (mach_port_request_notification(self, name, MACH_NOTIFY_PORT_DESTROYED, 0, notify, MOVE_ONCE, &previous) == S)
            cell("mach_port_request_notification, notify", bad[i], S, KERN_INVALID_RIGHT);
        cell_type("mach_port_request_notification, notify", bad[i], type_of(notify), kind_types[bad[i]]);
        CHECK_CODE(mach_port_get_receive_status(self, name, &status), S);
        CHECK(!status.mps_pdrequest);
        sweep();
    }
}

/* A second request gives the first one's right back. */
static void test_previous(void) {
    static const mach_msg_id_t variants[] = {MACH_NOTIFY_DEAD_NAME, MACH_NOTIFY_PORT_DESTROYED, MACH_NOTIFY_NO_SENDERS};
    for (int i = 0; i < 3; i++) {
        mach_port_t name = make_port(), first = make_receive(), second = make_receive(), previous = 12345;
        mach_msg_id_t id;
        CHECK_CODE(mach_port_request_notification(self, name, variants[i], 0, first, MAKE_ONCE, &previous), S);
        CHECK(previous == MACH_PORT_NULL);
        CHECK_CODE(mach_port_request_notification(self, name, variants[i], 0, second, MAKE_ONCE, &previous), S);
        CHECK(type_of(previous) == MACH_PORT_TYPE_SEND_ONCE);
        CHECK_CODE(send_empty(previous, MOVE_ONCE, 1234), MACH_MSG_SUCCESS);
        CHECK(waits(first, &id) && id == 1234);
        CHECK_CODE(mach_port_request_notification(self, name, variants[i], 0, MACH_PORT_NULL, MAKE_ONCE, &previous), S);
        CHECK(type_of(previous) == MACH_PORT_TYPE_SEND_ONCE);
        CHECK_CODE(mach_port_deallocate(self, previous), S);
        CHECK(waits(second, &id) && id == MACH_NOTIFY_SEND_ONCE);
        CHECK_CODE(mach_port_request_notification(self, name, variants[i], 0, MACH_PORT_NULL, MAKE_ONCE, &previous), S);
        CHECK(previous == MACH_PORT_NULL);
        CHECK(type_of(name) == MACH_PORT_TYPE_SEND_RECEIVE);
        sweep();
    }
    /* A dead name at its limit has no room for the reference that a notification brings. */
    mach_port_t dead = make(DEAD_NAME), port = make_receive(), previous;
    CHECK_CODE(mach_port_mod_refs(self, dead, MACH_PORT_RIGHT_DEAD_NAME, MACH_PORT_UREFS_MAX - 1), S);
    CHECK_CODE(mach_port_request_notification(self, dead, MACH_NOTIFY_DEAD_NAME, 1, port, MAKE_ONCE, &previous),
               KERN_UREFS_OVERFLOW);
    CHECK(refs_of(dead, MACH_PORT_RIGHT_DEAD_NAME) == MACH_PORT_UREFS_MAX);
    sweep();
}

void test_requests(void) {
    test_variants();
    test_notify_argument();
    test_previous();
}
