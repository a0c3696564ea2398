/* Ports that the library serves, as another process finds them, and the library's loop of a server. */
#include "ports.h"

#include <mach/mach.h>
#include <mach/mig_errors.h>
#include <mach/notify.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child's messages, and what it is told. */
enum { HOST = 40, PORT = 41, TASK = 42, CALL = 50, GO_ON = 51, ANSWER = 150, REQUEST = 500 };

/* Sends a header that asks for an answer by a right to `reply`. */
static void ask_by(mach_msg_type_name_t how, mach_port_t to, mach_port_t reply, mach_msg_id_t id) {
    mach_msg_header_t header;
    fill(&header, to, id, sizeof header);
    header.msgh_bits = MACH_MSGH_BITS(COPY, how);
    header.msgh_local_port = reply;
    CHECK_CODE(mach_msg_send(&header), S);
}

static void ask(mach_port_t to, mach_port_t reply, mach_msg_id_t id) {
    ask_by(MACH_MSG_TYPE_MAKE_SEND_ONCE, to, reply, id);
}

/* Gives its ports away, and receives nothing. */
static void sleeper(mach_port_t parent) {
    send(parent, TASK, self);
    send(parent, HOST, mach_host_self());
    for (;;) pause();
}

/* Answers a call when it is told to. */
static void child(mach_port_t parent) {
    port_message call;
    mach_msg_header_t answer;
    const mach_port_t port = make_port();
    send(parent, TASK, self);
    send(parent, HOST, mach_host_self());
    send(parent, PORT, port);
    MUST(mach_msg(&call.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof call, port, PATIENCE, 0) == S);
    receive(port, GO_ON);
    fill(&answer, call.header.msgh_remote_port, ANSWER, sizeof answer);
    answer.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0);
    CHECK_CODE(mach_msg_send(&answer), S);
    while (checks_failed == 0) pause();
}

static pid_t start(void (*run)(mach_port_t)) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    watchdog(60);
    mach_port_t parent = MACH_PORT_NULL;
    MUST(task_get_bootstrap_port(self, &parent) == S);
    run(parent);
    _exit(1);
}

static void end(pid_t pid) {
    int status = -1;
    CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

/* Calls on a task none of whose threads receives, and on its host. */
static void call(mach_port_t task, mach_port_t host, mach_port_t reply) {
    for (int i = 0; i < 4; i++) {
        mach_port_t made = MACH_PORT_NULL;
        CHECK_CODE(mach_port_allocate(task, MACH_PORT_RIGHT_RECEIVE, &made), S);
        ask(host, reply, REQUEST);
        receive(reply, REQUEST + 100);
    }
}

/* The host's answers to a port whose queue is full are lost, and its rights to the port are given up. */
static void test_full(mach_port_t host, mach_port_t reply) {
    mach_port_t port = MACH_PORT_NULL, previous;
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, &port) == S);
    for (unsigned i = 0; i <= MACH_PORT_QLIMIT_DEFAULT; i++) ask_by(MACH_MSG_TYPE_MAKE_SEND, host, port, REQUEST);
    ask(host, reply, REQUEST);
    receive(reply, REQUEST + 100);
    for (unsigned i = 0; i < MACH_PORT_QLIMIT_DEFAULT; i++) receive(port, REQUEST + 100);
    CHECK_CODE(mach_port_request_notification(self, port, MACH_NOTIFY_NO_SENDERS, 0, reply, MACH_MSG_TYPE_MAKE_SEND_ONCE, &previous), S);
    receive(reply, MACH_NOTIFY_NO_SENDERS);
}

/* Answers each request with its number. */
static boolean_t demux(mach_msg_header_t *request, mach_msg_header_t *reply) {
    fill(reply, request->msgh_remote_port, request->msgh_id + 100, sizeof(mig_reply_header_t));
    reply->msgh_bits = MACH_MSGH_BITS(MACH_MSGH_BITS_REMOTE(request->msgh_bits), 0);
    return TRUE;
}

/* With fewer descriptors than the client's message takes. */
static void server(mach_port_t parent) {
    struct rlimit few = {256, 256};
    const mach_port_t port = make_port();
    MUST(setrlimit(RLIMIT_NOFILE, &few) == 0);
    send(parent, PORT, port);
    CHECK_CODE(mach_msg_server(demux, 8192, port), S);
}

/* A message of which part finds no place at the server: it ends neither the server nor the wait for an answer. */
static void test_server(mach_port_t port) {
    enum { ITEMS = 250 };
    static char memory[40000];
    static struct {
        mach_msg_header_t header;
        struct {
            mach_msg_type_t type;
            vm_offset_t data;
        } items[ITEMS];
    } large;
    const mach_port_t reply = make_port();
    const pid_t pid = start(server);
    const mach_port_t other = receive(port, PORT);
    ask(other, reply, REQUEST);
    receive(reply, REQUEST + 100);
    fill(&large.header, other, REQUEST, sizeof large);
    large.header.msgh_bits = MACH_MSGH_BITS(COPY, MACH_MSG_TYPE_MAKE_SEND_ONCE) | MACH_MSGH_BITS_COMPLEX;
    large.header.msgh_local_port = reply;
    for (int i = 0; i < ITEMS; i++) {
        large.items[i].type.msgt_name = MACH_MSG_TYPE_BYTE;
        large.items[i].type.msgt_size = 8;
        large.items[i].type.msgt_number = sizeof memory;
        large.items[i].data = (vm_offset_t) memory;
    }
    CHECK_CODE(mach_msg_send(&large.header), S);
    receive(reply, MACH_NOTIFY_SEND_ONCE);
    ask(other, reply, REQUEST);
    receive(reply, REQUEST + 100);
    end(pid);
}

int main(void) {
    watchdog(60);
    const mach_port_t port = make_port(), pending = make_port(), reply = make_port();
    MUST(task_set_bootstrap_port(self, port) == S);
    pid_t pid = start(child);
    mach_port_t task = receive(port, TASK), host = receive(port, HOST);
    const mach_port_t other = receive(port, PORT);
    /* What is sent to the host's port does nothing to a call that waits beside it. */
    ask(other, pending, CALL);
    for (int i = 0; i < 4; i++) {
        ask(host, reply, REQUEST);
        receive(reply, REQUEST + 100);
    }
    send(other, GO_ON, port);
    receive(pending, ANSWER);
    call(task, host, reply);
    test_full(host, reply);
    end(pid);
    pid = start(sleeper);
    task = receive(port, TASK);
    host = receive(port, HOST);
    call(task, host, reply);
    end(pid);
    test_server(port);
    return checks_done("served");
}
