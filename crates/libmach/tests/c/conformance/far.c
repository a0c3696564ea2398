/*
 * Rights to ports of another process, for the same tables: main PART far. A child makes the ports; each tells the
 * child by itself when nobody has rights to it any more.
 */
#include "fixtures.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WANT_SEND = 9000, WANT_ONCE, WANT_DEATH, REPLY, HELLO };

static pid_t child;
static mach_port_t control;

int far_mode(void) {
    return child != 0;
}

static void send_port(mach_port_t to, mach_msg_type_name_t how, mach_msg_id_t id, mach_port_t port,
                      mach_msg_type_name_t disposition) {
    any_message message;
    memset(&message, 0, sizeof message);
    message.header.msgh_bits = MACH_MSGH_BITS(how, 0) | MACH_MSGH_BITS_COMPLEX;
    message.header.msgh_remote_port = to;
    message.header.msgh_id = id;
    message.ports.type = port_type(disposition, 1);
    message.ports.port[0].name = port;
    MUST(mach_msg(&message.header, MACH_SEND_MSG, 48, 0, 0, 0, 0) == MACH_MSG_SUCCESS);
}

/* A port in the set that hears of its own last sender. */
static mach_port_t new_port(mach_port_t set) {
    mach_port_t port = make_receive(), previous;
    MUST(mach_port_move_member(self, port, set) == KERN_SUCCESS);
    MUST(mach_port_set_mscount(self, port, 0) == KERN_SUCCESS);
    MUST(mach_port_request_notification(self, port, MACH_NOTIFY_NO_SENDERS, 1, port, MACH_MSG_TYPE_MAKE_SEND_ONCE, &previous) ==
         KERN_SUCCESS);
    return port;
}

static void serve(mach_port_t parent) {
    mach_port_t set, service;
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_PORT_SET, &set) == KERN_SUCCESS);
    service = new_port(set);
    send_port(parent, MACH_MSG_TYPE_COPY_SEND, HELLO, service, MACH_MSG_TYPE_MAKE_SEND);
    for (;;) {
        any_message message;
        MUST(mach_msg(&message.header, MACH_RCV_MSG, 0, sizeof message, set, 0, 0) == MACH_MSG_SUCCESS);
        mach_port_t at = message.header.msgh_local_port, reply = message.header.msgh_remote_port;
        mach_msg_id_t id = message.header.msgh_id;
        if (at != service) {
            /* A port with senders keeps what they send it: some tables fill its queue. */
            if (id == MACH_NOTIFY_NO_SENDERS || id == MACH_NOTIFY_SEND_ONCE ||
                MACH_MSGH_BITS_LOCAL(message.header.msgh_bits) == MACH_MSG_TYPE_PORT_SEND_ONCE)
                mach_port_destroy(self, at);
            mach_msg_destroy(&message.header);
            continue;
        }
        switch (id) {
        case WANT_SEND:
            send_port(reply, MACH_MSG_TYPE_MOVE_SEND_ONCE, REPLY, new_port(set), MACH_MSG_TYPE_MAKE_SEND);
            break;
        case WANT_ONCE: {
            mach_port_t port = make_receive();
            MUST(mach_port_move_member(self, port, set) == KERN_SUCCESS);
            send_port(reply, MACH_MSG_TYPE_MOVE_SEND_ONCE, REPLY, port, MACH_MSG_TYPE_MAKE_SEND_ONCE);
            break;
        }
        case WANT_DEATH: mach_port_destroy(self, message.ports.port[0].name); break;
        default: _exit(0); /* the parent has ended */
        }
    }
}

void far_start(void) {
    mach_port_t port = make_port(), before;
    any_message message;
    MUST(task_get_bootstrap_port(self, &before) == KERN_SUCCESS);
    MUST(task_set_bootstrap_port(self, port) == KERN_SUCCESS);
    child = fork();
    MUST(child >= 0);
    if (child == 0) {
        mach_port_t parent;
        MUST(task_get_bootstrap_port(self, &parent) == KERN_SUCCESS);
        serve(parent);
    }
    MUST(task_set_bootstrap_port(self, before) == KERN_SUCCESS);
    if (MACH_PORT_VALID(before)) mach_port_deallocate(self, before);
    MUST(mach_msg(&message.header, MACH_RCV_MSG, 0, sizeof message, port, 0, 0) == MACH_MSG_SUCCESS);
    MUST(message.header.msgh_id == HELLO);
    control = message.ports.port[0].name;
    mach_port_destroy(self, port);
}

void far_end(void) {
    if (!child) return;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* A right that the child makes. */
static mach_port_t ask(mach_msg_id_t id) {
    mach_port_t reply = make_receive();
    any_message message;
    memset(&message, 0, sizeof message);
    message.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
    message.header.msgh_remote_port = control;
    message.header.msgh_local_port = reply;
    message.header.msgh_id = id;
    MUST(mach_msg(&message.header, MACH_SEND_MSG | MACH_RCV_MSG, 32, sizeof message, reply, 0, 0) == MACH_MSG_SUCCESS);
    MUST(message.header.msgh_id == REPLY);
    mach_port_destroy(self, reply);
    return message.ports.port[0].name;
}

mach_port_t far_send(void) {
    return ask(WANT_SEND);
}

mach_port_t far_once(void) {
    return ask(WANT_ONCE);
}

/* A send right whose port the child has destroyed, with one user reference. */
mach_port_t far_died(void) {
    mach_port_t port = ask(WANT_SEND), notify = make_receive(), previous;
    any_message message;
    MUST(mach_port_request_notification(self, port, MACH_NOTIFY_DEAD_NAME, 1, notify, MACH_MSG_TYPE_MAKE_SEND_ONCE, &previous) ==
         KERN_SUCCESS);
    send_port(control, MACH_MSG_TYPE_COPY_SEND, WANT_DEATH, port, MACH_MSG_TYPE_COPY_SEND);
    MUST(mach_msg(&message.header, MACH_RCV_MSG, 0, sizeof message, notify, 0, 0) == MACH_MSG_SUCCESS);
    MUST(message.header.msgh_id == MACH_NOTIFY_DEAD_NAME && message.dead_name.not_port == port);
    /* The notification's reference. */
    MUST(mach_port_deallocate(self, port) == KERN_SUCCESS);
    mach_port_destroy(self, notify);
    return port;
}
