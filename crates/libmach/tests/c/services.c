/* Services by name: bootstrap_* and netname_*, against a name server of this test's own. */
#include "check.h"

#include <mach/bootstrap.h>
#include <mach/mach.h>
#include <servers/netname.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define self mach_task_self()
#define S KERN_SUCCESS

enum { PATIENCE = 30000 };

typedef union {
    mach_msg_header_t header;
    mach_no_senders_notification_t no_senders;
    char bytes[256];
} any_message;

static mach_port_t bp;

static mach_port_t make_port(void) {
    mach_port_t port;
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, &port) == S);
    MUST(mach_port_insert_right(self, port, port, MACH_MSG_TYPE_MAKE_SEND) == S);
    return port;
}

static mach_port_type_t type_of(mach_port_t name) {
    mach_port_type_t type;
    return mach_port_type(self, name, &type) == S ? type : 0;
}

static mach_msg_return_t send(mach_port_t to, mach_msg_id_t id) {
    mach_msg_header_t header;
    memset(&header, 0, sizeof header);
    header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, 0);
    header.msgh_remote_port = to;
    header.msgh_id = id;
    return mach_msg(&header, MACH_SEND_MSG | MACH_SEND_TIMEOUT, sizeof header, 0, 0, PATIENCE, 0);
}

static int expect(mach_port_t from, mach_msg_id_t id) {
    any_message message;
    memset(&message, 0, sizeof message);
    return CHECK_CODE(mach_msg(&message.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof message, from, PATIENCE, 0), S) &&
           CHECK(message.header.msgh_id == id);
}

static void test_register(void) {
    mach_port_t port = make_port(), found = MACH_PORT_NULL;
    CHECK_CODE(bootstrap_look_up(bp, "test.nobody", &found), BOOTSTRAP_UNKNOWN_SERVICE);
    CHECK_CODE(bootstrap_register(bp, "test.registered", port), S);
    CHECK_CODE(bootstrap_look_up(bp, "test.registered", &found), S);
    CHECK(found == port);
    CHECK_CODE(send(found, 5), S);
    expect(port, 5);
    bootstrap_status_t status = -1;
    CHECK_CODE(bootstrap_status(bp, "test.registered", &status), S);
    CHECK(status == BOOTSTRAP_STATUS_ACTIVE);
    CHECK_CODE(bootstrap_status(bp, "test.nobody", &status), BOOTSTRAP_UNKNOWN_SERVICE);
    /* Registered by somebody is not checked in by another. */
    CHECK(bootstrap_check_in(bp, "test.registered", &found) != S);
    CHECK_CODE(bootstrap_register(bp, "test.registered", MACH_PORT_NULL), S);
    CHECK_CODE(bootstrap_look_up(bp, "test.registered", &found), BOOTSTRAP_UNKNOWN_SERVICE);
    CHECK_CODE(mach_port_destroy(self, port), S);
}

static void test_create(void) {
    mach_port_t client = MACH_PORT_NULL, other = MACH_PORT_NULL, server = MACH_PORT_NULL;
    bootstrap_status_t status = -1;
    CHECK_CODE(bootstrap_check_in(bp, "test.created", &server), BOOTSTRAP_UNKNOWN_SERVICE);
    CHECK_CODE(bootstrap_create_service(bp, "test.created", &client), S);
    CHECK(type_of(client) == MACH_PORT_TYPE_SEND);
    CHECK_CODE(bootstrap_create_service(bp, "test.created", &other), BOOTSTRAP_NAME_IN_USE);
    CHECK_CODE(bootstrap_status(bp, "test.created", &status), S);
    CHECK(status == BOOTSTRAP_STATUS_INACTIVE);
    CHECK_CODE(bootstrap_look_up(bp, "test.created", &other), S);
    CHECK(other == client);
    /* What is sent before anybody serves it waits. */
    CHECK_CODE(send(client, 8), S);
    CHECK_CODE(bootstrap_check_in(bp, "test.created", &server), S);
    CHECK(type_of(server) & MACH_PORT_TYPE_RECEIVE);
    CHECK_CODE(send(client, 9), S);
    expect(server, 8);
    expect(server, 9);
    CHECK_CODE(bootstrap_status(bp, "test.created", &status), S);
    CHECK(status == BOOTSTRAP_STATUS_ACTIVE);
    CHECK_CODE(bootstrap_check_in(bp, "test.created", &other), BOOTSTRAP_SERVICE_ACTIVE);
    CHECK_CODE(mach_port_destroy(self, server), S);
}

/* A server that dies is known no more, as soon as the name server has learnt of it. */
static void test_death(void) {
    int ready[2];
    char byte;
    mach_port_t found = MACH_PORT_NULL;
    MUST(pipe(ready) == 0);
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        watchdog(60);
        mach_port_t parent;
        if (task_get_bootstrap_port(self, &parent) != S) _exit(3);
        if (bootstrap_register(parent, "test.mortal", make_port()) != S) _exit(4);
        if (write(ready[1], "r", 1) != 1) _exit(5);
        for (;;) pause();
    }
    close(ready[1]);
    CHECK(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    CHECK_CODE(bootstrap_look_up(bp, "test.mortal", &found), S);
    mach_port_t notify = make_port(), previous;
    CHECK_CODE(mach_port_request_notification(self, found, MACH_NOTIFY_DEAD_NAME, 1, notify, MACH_MSG_TYPE_MAKE_SEND_ONCE, &previous), S);
    int status;
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
    expect(notify, MACH_NOTIFY_DEAD_NAME);
    while (bootstrap_look_up(bp, "test.mortal", &found) == S) mach_port_deallocate(self, found);
    CHECK_CODE(bootstrap_look_up(bp, "test.mortal", &found), BOOTSTRAP_UNKNOWN_SERVICE);
}

static void test_arguments(void) {
    char longest[300];
    mach_port_t found, port = make_port();
    CHECK_CODE(bootstrap_look_up(MACH_PORT_DEAD, "test.any", &found), MACH_SEND_INVALID_DEST);
    memset(longest, 'n', sizeof longest);
    longest[BOOTSTRAP_MAX_NAME_LEN - 1] = 0;
    CHECK_CODE(bootstrap_register(bp, longest, port), S);
    CHECK_CODE(bootstrap_look_up(bp, longest, &found), S);
    CHECK_CODE(bootstrap_register(bp, longest, MACH_PORT_NULL), S);
    /* A name that is too long is refused, and not cut off. */
    longest[BOOTSTRAP_MAX_NAME_LEN - 1] = 'n';
    longest[sizeof longest - 1] = 0;
    CHECK(bootstrap_register(bp, longest, port) != S);
    CHECK(bootstrap_look_up(bp, longest, &found) != S);
    CHECK_CODE(mach_port_destroy(self, port), S);
    CHECK(strlen(bootstrap_strerror(BOOTSTRAP_UNKNOWN_SERVICE)) > 3);
    CHECK(strcmp(bootstrap_strerror(BOOTSTRAP_UNKNOWN_SERVICE), bootstrap_strerror(BOOTSTRAP_NAME_IN_USE)) != 0);
}

static void test_netname(void) {
    mach_port_t port = make_port(), signature = make_port(), found = MACH_PORT_NULL;
    CHECK_CODE(netname_look_up(name_server_port, "", "test.netname", &found), NETNAME_NOT_CHECKED_IN);
    CHECK_CODE(netname_check_in(name_server_port, "test.netname", signature, port), NETNAME_SUCCESS);
    CHECK_CODE(netname_look_up(name_server_port, "", "test.netname", &found), NETNAME_SUCCESS);
    CHECK(found == port);
    CHECK_CODE(bootstrap_look_up(bp, "test.netname", &found), S);
    CHECK(found == port);
    CHECK_CODE(netname_check_out(name_server_port, "test.netname", port), NETNAME_NOT_YOURS);
    CHECK_CODE(netname_check_out(name_server_port, "test.nobody", signature), NETNAME_NOT_CHECKED_IN);
    CHECK_CODE(netname_check_out(name_server_port, "test.netname", signature), NETNAME_SUCCESS);
    CHECK_CODE(netname_look_up(name_server_port, "", "test.netname", &found), NETNAME_NOT_CHECKED_IN);
    CHECK_CODE(mach_port_destroy(self, port), S);
    CHECK_CODE(mach_port_destroy(self, signature), S);
}

int main(void) {
    watchdog(120);
    MUST(task_get_bootstrap_port(self, &bp) == S);
    MUST(MACH_PORT_VALID(bp));
    test_register();
    test_create();
    test_death();
    test_arguments();
    test_netname();
    return checks_done("services");
}
