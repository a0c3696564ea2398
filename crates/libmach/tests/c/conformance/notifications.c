/* When notifications come, and what is in them. */
#include "fixtures.h"

#define S KERN_SUCCESS
#define MAKE_ONCE MACH_MSG_TYPE_MAKE_SEND_ONCE

/* Asks, for a notification to a new port. */
static mach_port_t ask(mach_port_t name, mach_msg_id_t variant, mach_port_mscount_t sync) {
    mach_port_t port = make_receive(), previous;
    CHECK_CODE(mach_port_request_notification(self, name, variant, sync, port, MAKE_ONCE, &previous), S);
    return port;
}

/* One notification waits, of this identifier and size; then none. */
static int told(mach_port_t port, mach_msg_id_t id, mach_msg_size_t size, any_message *message) {
    any_message more;
    if (!CHECK_CODE(receive(port, message), MACH_MSG_SUCCESS)) return 0;
    int ok = CHECK(message->header.msgh_id == id);
    ok &= CHECK(message->header.msgh_size == size);
    ok &= CHECK(message->header.msgh_local_port == port);
    ok &= CHECK(message->header.msgh_remote_port == MACH_PORT_NULL);
    ok &= CHECK(MACH_MSGH_BITS_LOCAL(message->header.msgh_bits) == MACH_MSG_TYPE_PORT_SEND_ONCE);
    ok &= CHECK_CODE(receive(port, &more), MACH_RCV_TIMED_OUT);
    return ok;
}

static int told_port(mach_port_t port, mach_msg_id_t id, mach_msg_type_name_t type, any_message *message) {
    if (!told(port, id, 48, message)) return 0;
    const mach_msg_type_t *word = &message->dead_name.not_type;
    int ok = CHECK(word->msgt_name == type && word->msgt_number == 1 && word->msgt_inline && !word->msgt_deallocate);
    ok &= CHECK(word->msgt_size == (type == MACH_MSG_TYPE_PORT_RECEIVE ? 64 : 32) || word->msgt_size == 64);
    return ok;
}

static void test_dead_name(void) {
    any_message message;
    /* A send right: the notification brings a reference of its own. */
    mach_port_t port = make_port(), to = ask(port, MACH_NOTIFY_DEAD_NAME, 0);
    CHECK(!waits(to, NULL));
    CHECK_CODE(mach_port_mod_refs(self, port, MACH_PORT_RIGHT_RECEIVE, -1), S);
    CHECK(type_of(port) == MACH_PORT_TYPE_DEAD_NAME);
    CHECK(refs_of(port, MACH_PORT_RIGHT_DEAD_NAME) == 2);
    if (told_port(to, MACH_NOTIFY_DEAD_NAME, MACH_MSG_TYPE_PORT_NAME, &message)) CHECK(message.dead_name.not_port == port);
    sweep();

    /* A send-once right. */
    port = make_receive();
    mach_port_t once = make_once(port);
    to = ask(once, MACH_NOTIFY_DEAD_NAME, 0);
    CHECK_CODE(mach_port_destroy(self, port), S);
    CHECK(refs_of(once, MACH_PORT_RIGHT_DEAD_NAME) == 2);
    if (told_port(to, MACH_NOTIFY_DEAD_NAME, MACH_MSG_TYPE_PORT_NAME, &message)) CHECK(message.dead_name.not_port == once);
    sweep();

    /* A name that is dead already, with sync. */
    mach_port_t dead = make(DEAD_NAME);
    to = ask(dead, MACH_NOTIFY_DEAD_NAME, 1);
    CHECK(refs_of(dead, MACH_PORT_RIGHT_DEAD_NAME) == 2);
    if (told_port(to, MACH_NOTIFY_DEAD_NAME, MACH_MSG_TYPE_PORT_NAME, &message)) CHECK(message.dead_name.not_port == dead);
    sweep();
}

static void test_port_deleted(void) {
    any_message message;
    /* The name goes while the port lives. */
    static const enum kind kinds[] = {SEND, SEND_ONCE, RECEIVE};
    for (int i = 0; i < 3; i++) {
        mach_port_t name = make(kinds[i]), to = ask(name, MACH_NOTIFY_DEAD_NAME, 0);
        CHECK_CODE(mach_port_destroy(self, name), S);
        if (told_port(to, MACH_NOTIFY_PORT_DELETED, MACH_MSG_TYPE_PORT_NAME, &message))
            CHECK(message.dead_name.not_port == name);
        CHECK(type_of(name) == 0);
        sweep();
    }
    /* By the last reference, and by being used. */
    mach_port_t name = make(SEND), to = ask(name, MACH_NOTIFY_DEAD_NAME, 0);
    CHECK_CODE(mach_port_deallocate(self, name), S);
    told_port(to, MACH_NOTIFY_PORT_DELETED, MACH_MSG_TYPE_PORT_NAME, &message);
    name = make(SEND_ONCE);
    to = ask(name, MACH_NOTIFY_DEAD_NAME, 0);
    CHECK_CODE(send_empty(name, MACH_MSG_TYPE_MOVE_SEND_ONCE, 0), MACH_MSG_SUCCESS);
    told_port(to, MACH_NOTIFY_PORT_DELETED, MACH_MSG_TYPE_PORT_NAME, &message);
    sweep();
}

static void test_no_senders(void) {
    any_message message;
    mach_port_t port = make_port(), to = ask(port, MACH_NOTIFY_NO_SENDERS, 0);
    CHECK(!waits(to, NULL));
    CHECK_CODE(mach_port_insert_right(self, port, port, MACH_MSG_TYPE_MAKE_SEND), S);
    CHECK_CODE(mach_port_deallocate(self, port), S);
    CHECK(!waits(to, NULL));
    CHECK_CODE(mach_port_deallocate(self, port), S);
    if (told(to, MACH_NOTIFY_NO_SENDERS, 48, &message)) {
        CHECK(message.no_senders.not_count == 2);
        CHECK(message.no_senders.not_type.msgt_name == MACH_MSG_TYPE_INTEGER_32);
        CHECK(message.no_senders.not_type.msgt_size == 32 && message.no_senders.not_type.msgt_number == 1);
        CHECK(!(message.header.msgh_bits & MACH_MSGH_BITS_COMPLEX));
    }
    /* It is told once. */
    CHECK_CODE(mach_port_insert_right(self, port, port, MACH_MSG_TYPE_MAKE_SEND), S);
    CHECK_CODE(mach_port_deallocate(self, port), S);
    CHECK(!waits(to, NULL));
    sweep();

    /* At once when there are none, if as many were made as sync says. */
    port = make_receive();
    CHECK(waits(ask(port, MACH_NOTIFY_NO_SENDERS, 0), NULL));
    CHECK(!waits(ask(port, MACH_NOTIFY_NO_SENDERS, 1), NULL));
    CHECK_CODE(mach_port_set_mscount(self, port, 5), S);
    CHECK(!waits(ask(port, MACH_NOTIFY_NO_SENDERS, 6), NULL));
    CHECK(waits(ask(port, MACH_NOTIFY_NO_SENDERS, 5), NULL));
    sweep();

    /* A send right in a message counts until the message goes. */
    port = make_receive();
    mach_port_t carrier = make_receive();
    memset(&message, 0, sizeof message);
    message.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MAKE_SEND, 0) | MACH_MSGH_BITS_COMPLEX;
    message.header.msgh_remote_port = carrier;
    message.ports.type = port_type(MACH_MSG_TYPE_MAKE_SEND, 1);
    message.ports.port[0].name = port;
    CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG, 48, 0, 0, 0, 0), MACH_MSG_SUCCESS);
    to = ask(port, MACH_NOTIFY_NO_SENDERS, 0);
    CHECK(!waits(to, NULL));
    CHECK_CODE(mach_port_destroy(self, carrier), S);
    CHECK(waits(to, NULL));
    sweep();

    /* The port's end: the request's right comes back unused. */
    port = make_port();
    to = ask(port, MACH_NOTIFY_NO_SENDERS, 0);
    CHECK_CODE(mach_port_mod_refs(self, port, MACH_PORT_RIGHT_RECEIVE, -1), S);
    told(to, MACH_NOTIFY_SEND_ONCE, 32, &message);
    sweep();
}

static void test_port_destroyed(void) {
    any_message message;
    mach_port_t port = make_port(), to = ask(port, MACH_NOTIFY_PORT_DESTROYED, 0);
    CHECK_CODE(send_empty(port, MACH_MSG_TYPE_COPY_SEND, 77), MACH_MSG_SUCCESS);
    CHECK_CODE(mach_port_mod_refs(self, port, MACH_PORT_RIGHT_RECEIVE, -1), S);
    /* The port lives in the notification, with its queue. */
    CHECK(type_of(port) == MACH_PORT_TYPE_DEAD_NAME || type_of(port) == MACH_PORT_TYPE_SEND);
    if (told_port(to, MACH_NOTIFY_PORT_DESTROYED, MACH_MSG_TYPE_PORT_RECEIVE, &message)) {
        mach_msg_id_t id;
        mach_port_t back = message.port_destroyed.not_port;
        CHECK(message.header.msgh_bits & MACH_MSGH_BITS_COMPLEX);
        CHECK(type_of(back) & MACH_PORT_TYPE_RECEIVE);
        CHECK(waits(back, &id) && id == 77);
    }
    sweep();
}

static void test_send_once(void) {
    any_message message;
    mach_port_t port = make_receive();
    CHECK_CODE(mach_port_deallocate(self, make_once(port)), S);
    told(port, MACH_NOTIFY_SEND_ONCE, 32, &message);
    CHECK_CODE(mach_port_destroy(self, make_once(port)), S);
    told(port, MACH_NOTIFY_SEND_ONCE, 32, &message);
    CHECK_CODE(mach_port_mod_refs(self, make_once(port), MACH_PORT_RIGHT_SEND_ONCE, -1), S);
    told(port, MACH_NOTIFY_SEND_ONCE, 32, &message);
    /* Used: no notification, only the message. */
    CHECK_CODE(send_empty(make_once(port), MACH_MSG_TYPE_MOVE_SEND_ONCE, 55), MACH_MSG_SUCCESS);
    told(port, 55, 32, &message);
    /* In a message that nobody receives. */
    mach_port_t carrier = make_receive();
    memset(&message, 0, sizeof message);
    message.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MAKE_SEND, MAKE_ONCE);
    message.header.msgh_remote_port = carrier;
    message.header.msgh_local_port = port;
    CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG, 32, 0, 0, 0, 0), MACH_MSG_SUCCESS);
    CHECK_CODE(mach_port_destroy(self, carrier), S);
    told(port, MACH_NOTIFY_SEND_ONCE, 32, &message);
    /* The queue limit does not stop it. */
    CHECK_CODE(mach_port_set_qlimit(self, port, 0), S);
    for (int i = 0; i < 20; i++) CHECK_CODE(mach_port_deallocate(self, make_once(port)), S);
    int count = 0;
    while (waits(port, NULL)) count++;
    CHECK(count == 20);
    sweep();
}

void test_notifications(void) {
    test_dead_name();
    test_port_deleted();
    test_no_senders();
    test_port_destroyed();
    test_send_once();
}
