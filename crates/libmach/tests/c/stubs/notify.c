/*
 * Notifications: those of this library are served by what mig makes of <mach/notify.defs>, and are the same to the byte as
 * those that its stubs send.
 */
#include "stubs.h"

#include <mach/notify.h>

#include "notifyServer.h"
#include "notifyUser.h"

#define S KERN_SUCCESS

/* What the server's routines were told last. */
static struct {
    int id;
    unsigned value;
    int count;
} told;

static kern_return_t tell(int id, unsigned value) {
    told.id = id;
    told.value = value;
    told.count++;
    return S;
}

kern_return_t do_mach_notify_port_deleted(mach_port_t notify, mach_port_name_t name) {
    (void) notify;
    return tell(MACH_NOTIFY_PORT_DELETED, name);
}

kern_return_t do_mach_notify_msg_accepted(mach_port_t notify, mach_port_name_t name) {
    (void) notify;
    return tell(MACH_NOTIFY_MSG_ACCEPTED, name);
}

kern_return_t do_mach_notify_port_destroyed(mach_port_t notify, mach_port_t rights) {
    (void) notify;
    return tell(MACH_NOTIFY_PORT_DESTROYED, rights);
}

kern_return_t do_mach_notify_no_senders(mach_port_t notify, mach_port_mscount_t count) {
    (void) notify;
    return tell(MACH_NOTIFY_NO_SENDERS, count);
}

kern_return_t do_mach_notify_send_once(mach_port_t notify) {
    (void) notify;
    return tell(MACH_NOTIFY_SEND_ONCE, 0);
}

kern_return_t do_mach_notify_dead_name(mach_port_t notify, mach_port_name_t name) {
    (void) notify;
    return tell(MACH_NOTIFY_DEAD_NAME, name);
}

static mach_port_t to;

static mach_port_t once(void) {
    mach_port_t right;
    mach_msg_type_name_t type;
    MUST(mach_port_extract_right(self, to, MACH_MSG_TYPE_MAKE_SEND_ONCE, &right, &type) == S);
    return right;
}

static void request(mach_port_t name, mach_msg_id_t what) {
    mach_port_t before;
    MUST(mach_port_request_notification(self, name, what, 0, to, MACH_MSG_TYPE_MAKE_SEND_ONCE, &before) == S);
}

/* The next notification, which the demultiplexer must take; `wanted` is what its routine is to be told. */
static void take(any_message *message, int id, unsigned wanted) {
    any_message reply;
    int before = told.count;
    MUST(mach_msg(&message->header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof *message, to, 10000, 0) == S);
    CHECK(message->header.msgh_id == id);
    CHECK(notify_server(&message->header, &reply.header));
    CHECK_CODE(reply.reply.RetCode, S);
    CHECK(told.count == before + 1 && told.id == id && told.value == wanted);
}

static mach_port_t receive_right(void) {
    mach_port_t port;
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, &port) == S);
    return port;
}

int main(void) {
    static any_message real, made;
    mach_port_t port, backup;
    watchdog(60);
    self = mach_task_self();
    to = receive_right();

    port = make_port();
    request(port, MACH_NOTIFY_DEAD_NAME);
    MUST(mach_port_mod_refs(self, port, MACH_PORT_RIGHT_RECEIVE, -1) == S);
    take(&real, MACH_NOTIFY_DEAD_NAME, port);
    CHECK_CODE(stub_mach_notify_dead_name(once(), port), S);
    take(&made, MACH_NOTIFY_DEAD_NAME, port);
    same(&real, &made);

    port = make_port();
    request(port, MACH_NOTIFY_DEAD_NAME);
    MUST(mach_port_destroy(self, port) == S);
    take(&real, MACH_NOTIFY_PORT_DELETED, port);
    CHECK_CODE(stub_mach_notify_port_deleted(once(), port), S);
    take(&made, MACH_NOTIFY_PORT_DELETED, port);
    same(&real, &made);

    port = make_port();
    request(port, MACH_NOTIFY_NO_SENDERS);
    MUST(mach_port_deallocate(self, port) == S);
    take(&real, MACH_NOTIFY_NO_SENDERS, 1);
    CHECK_CODE(stub_mach_notify_no_senders(once(), 1), S);
    take(&made, MACH_NOTIFY_NO_SENDERS, 1);
    same(&real, &made);

    MUST(mach_port_deallocate(self, once()) == S);
    take(&real, MACH_NOTIFY_SEND_ONCE, 0);
    CHECK_CODE(stub_mach_notify_send_once(once()), S);
    take(&made, MACH_NOTIFY_SEND_ONCE, 0);
    same(&real, &made);

    /* The right comes back under another name: each is checked against its own. */
    port = receive_right();
    MUST(mach_port_request_notification(self, port, MACH_NOTIFY_PORT_DESTROYED, 0, to, MACH_MSG_TYPE_MAKE_SEND_ONCE, &backup) == S);
    MUST(mach_port_mod_refs(self, port, MACH_PORT_RIGHT_RECEIVE, -1) == S);
    MUST(mach_msg(&real.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof real, to, 10000, 0) == S);
    CHECK(real.header.msgh_id == MACH_NOTIFY_PORT_DESTROYED);
    CHECK(notify_server(&real.header, &made.header));
    CHECK(told.id == MACH_NOTIFY_PORT_DESTROYED && (type_of(told.value) & MACH_PORT_TYPE_RECEIVE));
    port = told.value;
    CHECK_CODE(stub_mach_notify_port_destroyed(once(), port, MACH_MSG_TYPE_MOVE_RECEIVE), S);
    MUST(mach_msg(&made.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof made, to, 10000, 0) == S);
    memcpy(made.room + 40, real.room + 40, 4);
    same(&real, &made);
    return checks_done("notify");
}
