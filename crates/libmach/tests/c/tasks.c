/*
 * Several tasks: what fork and exec leave, messages, rights and memory between processes, and what the death of
 * one tells the others. A child finds its parent by the bootstrap port, which it inherits.
 */
#include "check.h"

#include <mach/mach.h>
#include <mach/slipway.h>
#include <mach/vm_param.h>

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define self mach_task_self()
#define S KERN_SUCCESS
#define COPY MACH_MSG_TYPE_COPY_SEND
#define MAKE MACH_MSG_TYPE_MAKE_SEND
#define MAKE_ONCE MACH_MSG_TYPE_MAKE_SEND_ONCE

/* Milliseconds after which something hangs. */
enum { PATIENCE = 30000 };

typedef union {
    mach_msg_header_t header;
    mach_dead_name_notification_t dead_name;
    struct {
        mach_msg_header_t header;
        mach_msg_type_t type;
        mach_port_name_inlined_t port;
    } port;
    struct {
        mach_msg_header_t header;
        mach_msg_type_t type;
        void *address;
    } region;
    char bytes[256];
} any_message;

static const char *own_path;
static int first_descriptors;

static mach_port_t make_port(void) {
    mach_port_t port;
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, &port) == S);
    MUST(mach_port_insert_right(self, port, port, MAKE) == S);
    return port;
}

static mach_port_type_t type_of(mach_port_t name) {
    mach_port_type_t type;
    return mach_port_type(self, name, &type) == S ? type : 0;
}

static mach_msg_return_t receive(mach_port_t from, any_message *message) {
    memset(message, 0, sizeof *message);
    return mach_msg(&message->header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof *message, from, PATIENCE, 0);
}

/* Receives what must come, and this first. */
static int expect_at(int line, mach_port_t from, mach_msg_id_t id, any_message *message) {
    mach_msg_return_t code = receive(from, message);
    if (!check_code_at(__FILE__, line, code, MACH_MSG_SUCCESS, "receive")) return 0;
    if (message->header.msgh_id != id) fprintf(stderr, "    message %d came, not %d:\n", message->header.msgh_id, id);
    return check_at(__FILE__, line, message->header.msgh_id == id, "the message that is awaited");
}

#define expect(from, id, message) expect_at(__LINE__, from, id, message)

static mach_msg_return_t send(mach_port_t to, mach_msg_type_name_t disposition, mach_port_t reply, mach_msg_id_t id) {
    mach_msg_header_t header;
    memset(&header, 0, sizeof header);
    header.msgh_bits = MACH_MSGH_BITS(disposition, reply ? MAKE_ONCE : 0);
    header.msgh_remote_port = to;
    header.msgh_local_port = reply;
    header.msgh_id = id;
    return mach_msg(&header, MACH_SEND_MSG | MACH_SEND_TIMEOUT, sizeof header, 0, 0, PATIENCE, 0);
}

static mach_msg_return_t send_port(mach_port_t to, mach_port_t port, mach_msg_type_name_t disposition, mach_msg_id_t id) {
    any_message message;
    memset(&message, 0, sizeof message);
    message.header.msgh_bits = MACH_MSGH_BITS(COPY, 0) | MACH_MSGH_BITS_COMPLEX;
    message.header.msgh_remote_port = to;
    message.header.msgh_id = id;
    message.port.type.msgt_name = disposition & 0xff;
    message.port.type.msgt_size = 64;
    message.port.type.msgt_inline = 1;
    message.port.type.msgt_number = 1;
    message.port.port.name = port;
    return mach_msg(&message.header, MACH_SEND_MSG | MACH_SEND_TIMEOUT, sizeof message.port, 0, 0, PATIENCE, 0);
}

/* ---- Children ---- */

/* What a child does; its checks decide its exit status. */
typedef void (*child_fn)(mach_port_t parent);

static pid_t start(child_fn run, mach_port_t parent_port) {
    MUST(task_set_bootstrap_port(self, parent_port) == S);
    fflush(stderr);
    pid_t child = fork();
    MUST(child >= 0);
    if (child) return child;
    watchdog(60);
    checks_made = checks_failed = 0;
    mach_port_t parent = MACH_PORT_NULL;
    CHECK_CODE(task_get_bootstrap_port(self, &parent), S);
    CHECK(type_of(parent) == MACH_PORT_TYPE_SEND);
    run(parent);
    exit(checks_done("child"));
}

static void finish(pid_t child) {
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void kill_child(pid_t child) {
    int status = -1;
    CHECK(kill(child, SIGKILL) == 0);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
}

static mach_msg_type_number_t count_names(void) {
    mach_port_name_array_t names;
    mach_port_type_array_t types;
    mach_msg_type_number_t count, more;
    if (!CHECK_CODE(mach_port_names(self, &names, &count, &types, &more), S)) return 0;
    vm_deallocate(self, (vm_address_t) names, count * sizeof *names);
    vm_deallocate(self, (vm_address_t) types, count * sizeof *types);
    return count;
}

static int count_descriptors(void) {
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (!directory) return -1;
    while (readdir(directory)) count++;
    closedir(directory);
    return count;
}

static void child_space(mach_port_t parent) {
    /* Nothing of the parent's hundred ports is here: the task, and what was asked for. */
    CHECK(count_names() <= 4);
    CHECK(type_of(mach_task_self()) & MACH_PORT_TYPE_SEND);
    mach_port_t port = make_port();
    any_message message;
    CHECK_CODE(send(port, COPY, 0, 3), MACH_MSG_SUCCESS);
    expect(port, 3, &message);
    CHECK_CODE(send(parent, COPY, 0, 1), MACH_MSG_SUCCESS);
}

static void test_fork(void) {
    mach_port_t ports[100], port = make_port();
    any_message message;
    for (int i = 0; i < 100; i++) ports[i] = make_port();
    CHECK_CODE(send(ports[0], COPY, 0, 77), MACH_MSG_SUCCESS);
    finish(start(child_space, port));
    expect(port, 1, &message);
    /* And nothing has happened to them. */
    for (int i = 0; i < 100; i++) CHECK(type_of(ports[i]) == MACH_PORT_TYPE_SEND_RECEIVE);
    expect(ports[0], 77, &message);
    for (int i = 0; i < 100; i++) CHECK_CODE(mach_port_destroy(self, ports[i]), S);
    CHECK_CODE(mach_port_destroy(self, port), S);
}

static void child_exec(mach_port_t parent) {
    char before[16];
    mach_port_t port = make_port();
    CHECK_CODE(send(parent, COPY, port, 2), MACH_MSG_SUCCESS);
    snprintf(before, sizeof before, "%d", first_descriptors);
    execl(own_path, own_path, "after-exec", before, (char *) NULL);
    CHECK(!"exec");
}

/* What is here after exec: as many descriptors as there were before the first call, and a space that works. */
static int after_exec(int wanted) {
    watchdog(60);
    CHECK(count_descriptors() <= wanted);
    mach_port_t port = make_port();
    any_message message;
    CHECK_CODE(send(port, COPY, 0, 3), MACH_MSG_SUCCESS);
    expect(port, 3, &message);
    return checks_done("after exec");
}

static void test_exec(void) {
    mach_port_t port = make_port();
    any_message message;
    pid_t child = start(child_exec, port);
    expect(port, 2, &message);
    /* The port that this would be a reply to goes with the space that exec ends: before or after it came here. */
    mach_port_t notify = make_port(), reply = message.header.msgh_remote_port, previous;
    if (reply != MACH_PORT_DEAD) {
        CHECK_CODE(mach_port_request_notification(self, reply, MACH_NOTIFY_DEAD_NAME, 1, notify, MAKE_ONCE, &previous), S);
        expect(notify, MACH_NOTIFY_DEAD_NAME, &message);
        CHECK(type_of(reply) == MACH_PORT_TYPE_DEAD_NAME);
    }
    finish(child);
    CHECK_CODE(mach_port_destroy(self, notify), S);
    CHECK_CODE(mach_port_destroy(self, port), S);
}

/* ---- Messages both ways ---- */

static void child_calls(mach_port_t parent) {
    mach_port_t reply = mach_reply_port();
    any_message message;
    for (int i = 0; i < 1000; i++) {
        CHECK_CODE(send(parent, COPY, reply, 1000 + i), MACH_MSG_SUCCESS);
        if (!expect(reply, 3000 + i, &message)) return;
    }
}

static void test_calls(void) {
    mach_port_t port = make_port();
    any_message message;
    pid_t child = start(child_calls, port);
    for (int i = 0; i < 1000; i++) {
        if (!expect(port, 1000 + i, &message)) break;
        CHECK(message.header.msgh_seqno == (mach_port_seqno_t) i);
        CHECK_CODE(send(message.header.msgh_remote_port, MACH_MSG_TYPE_MOVE_SEND_ONCE, 0, 3000 + i), MACH_MSG_SUCCESS);
        CHECK(type_of(message.header.msgh_remote_port) == 0);
    }
    finish(child);
    CHECK_CODE(mach_port_destroy(self, port), S);
}

enum { REGION = (3 << 20) + 17 };

static void fill_region(any_message *message, mach_port_t to, vm_address_t address) {
    memset(message, 0, sizeof *message);
    message->header.msgh_bits = MACH_MSGH_BITS(COPY, 0) | MACH_MSGH_BITS_COMPLEX;
    message->header.msgh_remote_port = to;
    message->region.type.msgt_name = MACH_MSG_TYPE_BYTE;
    message->region.type.msgt_size = 8;
    message->region.type.msgt_number = REGION;
    message->region.address = (void *) address;
}

static void child_region(mach_port_t parent) {
    vm_address_t address = 0;
    any_message message;
    MUST(vm_allocate(self, &address, REGION, TRUE) == S);
    for (int i = 0; i < REGION; i++) ((unsigned char *) address)[i] = (unsigned char) (i * 31 + i / 1000);
    fill_region(&message, parent, address);
    CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG, sizeof message.region, 0, 0, 0, 0), MACH_MSG_SUCCESS);
    /* What is written after the send is not in the message. */
    memset((void *) address, 0xee, REGION);
    message.region.type.msgt_deallocate = 1;
    message.header.msgh_remote_port = parent;
    message.header.msgh_bits = MACH_MSGH_BITS(COPY, 0) | MACH_MSGH_BITS_COMPLEX;
    CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG, sizeof message.region, 0, 0, 0, 0), MACH_MSG_SUCCESS);
}

static void test_region(void) {
    mach_port_t port = make_port();
    any_message message;
    pid_t child = start(child_region, port);
    for (int turn = 0; turn < 2; turn++) {
        if (!CHECK_CODE(receive(port, &message), MACH_MSG_SUCCESS)) break;
        unsigned char *data = message.region.address;
        int good = message.region.type.msgt_number == REGION;
        for (int i = 0; good && i < REGION; i++) good = data[i] == (turn ? 0xee : (unsigned char) (i * 31 + i / 1000));
        CHECK(good);
        if (!turn) finish(child);
        memset(data, 1, REGION);
        CHECK_CODE(vm_deallocate(self, (vm_address_t) data, REGION), S);
    }
    CHECK_CODE(mach_port_destroy(self, port), S);
}

/* ---- Rights ---- */

/* Gets a receive right with messages in its queue, takes one, and gives it back with the others. */
static void child_moves(mach_port_t parent) {
    mach_port_t port = mach_reply_port();
    any_message message;
    MUST(mach_port_insert_right(self, port, port, MAKE) == S);
    CHECK_CODE(send_port(parent, port, COPY, 10), MACH_MSG_SUCCESS);
    expect(port, 11, &message);
    mach_port_t moved = message.port.port.name;
    CHECK(type_of(moved) & MACH_PORT_TYPE_RECEIVE);
    expect(moved, 20, &message);
    CHECK_CODE(send_port(parent, moved, MACH_MSG_TYPE_MOVE_RECEIVE, 12), MACH_MSG_SUCCESS);
    expect(port, 13, &message);
}

static void test_moves(void) {
    mach_port_t port = make_port(), moving = make_port();
    any_message message;
    pid_t child = start(child_moves, port);
    expect(port, 10, &message);
    mach_port_t to_child = message.port.port.name;
    CHECK(type_of(to_child) == MACH_PORT_TYPE_SEND);
    for (int i = 0; i < 3; i++) CHECK_CODE(send(moving, COPY, 0, 20 + i), MACH_MSG_SUCCESS);
    CHECK_CODE(send_port(to_child, moving, MACH_MSG_TYPE_MOVE_RECEIVE, 11), MACH_MSG_SUCCESS);
    CHECK(type_of(moving) == MACH_PORT_TYPE_SEND);
    /* A sender's messages stay in order over both moves. */
    CHECK_CODE(send(moving, COPY, 0, 23), MACH_MSG_SUCCESS);
    expect(port, 12, &message);
    CHECK(message.port.port.name == moving && type_of(moving) == MACH_PORT_TYPE_SEND_RECEIVE);
    CHECK_CODE(send(moving, COPY, 0, 24), MACH_MSG_SUCCESS);
    for (int i = 1; i < 5; i++) expect(moving, 20 + i, &message);
    CHECK_CODE(send(to_child, COPY, 0, 13), MACH_MSG_SUCCESS);
    finish(child);
    CHECK_CODE(mach_port_destroy(self, moving), S);
    CHECK_CODE(mach_port_destroy(self, to_child), S);
    CHECK_CODE(mach_port_destroy(self, port), S);
}

/* ---- Deaths ---- */

static void child_waits(mach_port_t parent) {
    mach_port_t port = make_port();
    any_message message;
    CHECK_CODE(send_port(parent, port, COPY, 1), MACH_MSG_SUCCESS);
    /* A send right, and the right to reply; then it is killed. */
    expect(port, 2, &message);
    CHECK_CODE(send(parent, COPY, 0, 3), MACH_MSG_SUCCESS);
    receive(port, &message);
}

static void test_death(void) {
    mach_port_t port = make_port(), watched = make_port(), reply = make_port(), notify = make_port(), previous;
    any_message message;
    for (int turn = 0; turn < 10; turn++) {
        pid_t child = start(child_waits, port);
        expect(port, 1, &message);
        mach_port_t to_child = message.port.port.name;
        CHECK_CODE(mach_port_request_notification(self, to_child, MACH_NOTIFY_DEAD_NAME, 1, notify, MAKE_ONCE, &previous), S);
        /* The child gets a send right to one port, and a send-once right to another. */
        memset(&message, 0, sizeof message);
        message.header.msgh_bits = MACH_MSGH_BITS(COPY, MAKE_ONCE) | MACH_MSGH_BITS_COMPLEX;
        message.header.msgh_remote_port = to_child;
        message.header.msgh_local_port = reply;
        message.header.msgh_id = 2;
        message.port.type.msgt_name = MACH_MSG_TYPE_MOVE_SEND;
        message.port.type.msgt_size = 64;
        message.port.type.msgt_inline = 1;
        message.port.type.msgt_number = 1;
        message.port.port.name = watched;
        CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG, sizeof message.port, 0, 0, 0, 0), MACH_MSG_SUCCESS);
        mach_port_t none = make_port();
        CHECK_CODE(mach_port_request_notification(self, watched, MACH_NOTIFY_NO_SENDERS, 0, none, MAKE_ONCE, &previous), S);
        expect(port, 3, &message);
        kill_child(child);
        if (expect(notify, MACH_NOTIFY_DEAD_NAME, &message)) CHECK(message.dead_name.not_port == to_child);
        CHECK(type_of(to_child) == MACH_PORT_TYPE_DEAD_NAME);
        expect(none, MACH_NOTIFY_NO_SENDERS, &message);
        expect(reply, MACH_NOTIFY_SEND_ONCE, &message);
        CHECK_CODE(send(to_child, COPY, 0, 4), MACH_SEND_INVALID_DEST);
        CHECK_CODE(mach_port_destroy(self, to_child), S);
        CHECK_CODE(mach_port_destroy(self, none), S);
        CHECK_CODE(mach_port_insert_right(self, watched, watched, MAKE), S);
    }
    CHECK_CODE(mach_port_destroy(self, watched), S);
    CHECK_CODE(mach_port_destroy(self, reply), S);
    CHECK_CODE(mach_port_destroy(self, notify), S);
    CHECK_CODE(mach_port_destroy(self, port), S);
}

/* ---- Threads of one task ---- */

enum { SENDERS = 4, RECEIVERS = 3, EACH = 2000, LAST = 999999 };

static mach_port_t shared;
static unsigned char seen[SENDERS * EACH];
static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER;

static void *send_many(void *which) {
    int first = (int) (intptr_t) which * EACH, bad = 0;
    for (int i = 0; i < EACH; i++) bad += send(shared, COPY, 0, first + i) != MACH_MSG_SUCCESS;
    return (void *) (intptr_t) bad;
}

static void *receive_many(void *unused) {
    intptr_t bad = 0;
    any_message message;
    (void) unused;
    for (;;) {
        if (receive(shared, &message) != MACH_MSG_SUCCESS) return (void *) (bad + 1);
        if (message.header.msgh_id == LAST) return (void *) bad;
        pthread_mutex_lock(&seen_lock);
        seen[message.header.msgh_id]++;
        pthread_mutex_unlock(&seen_lock);
    }
}

static void test_threads(void) {
    pthread_t senders[SENDERS], receivers[RECEIVERS];
    void *bad;
    int wrong = 0;
    shared = make_port();
    for (int i = 0; i < RECEIVERS; i++) MUST(pthread_create(&receivers[i], NULL, receive_many, NULL) == 0);
    for (int i = 0; i < SENDERS; i++) MUST(pthread_create(&senders[i], NULL, send_many, (void *) (intptr_t) i) == 0);
    for (int i = 0; i < SENDERS; i++) CHECK(pthread_join(senders[i], &bad) == 0 && bad == NULL);
    for (int i = 0; i < RECEIVERS; i++) CHECK_CODE(send(shared, COPY, 0, LAST), MACH_MSG_SUCCESS);
    for (int i = 0; i < RECEIVERS; i++) CHECK(pthread_join(receivers[i], &bad) == 0 && bad == NULL);
    for (int i = 0; i < SENDERS * EACH; i++) wrong += seen[i] != 1;
    CHECK(wrong == 0);
    CHECK_CODE(mach_port_destroy(self, shared), S);
}

/* ---- Cancellation ---- */

static void child_cancels(mach_port_t parent) {
    mach_port_t port = make_port();
    any_message message;
    CHECK_CODE(send_port(parent, port, MAKE, 40), MACH_MSG_SUCCESS);
    if (CHECK_CODE(receive(port, &message), MACH_MSG_SUCCESS)) CHECK(((char *) message.region.address)[REGION - 1] == 7);
    CHECK_CODE(send(parent, COPY, 0, 41), MACH_MSG_SUCCESS);
}

static int came_through, polled = -1;

/* A thread that is cancelled already: the first function that ends such threads does so. The library calls some, as descriptors come and go. */
static void *cancelled(void *argument) {
    mach_port_t port = *(mach_port_t *) argument, right = MACH_PORT_NULL;
    any_message message;
    vm_address_t address = 0;
    pthread_cancel(pthread_self());
    expect(port, 40, &message);
    right = message.port.port.name;
    MUST(vm_allocate(self, &address, REGION, TRUE) == S);
    memset((void *) address, 7, REGION);
    fill_region(&message, right, address);
    CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG, sizeof message.region, 0, 0, 0, 0), MACH_MSG_SUCCESS);
    expect(port, 41, &message);
    CHECK_CODE(mach_port_deallocate(self, right), S);
    CHECK_CODE(vm_deallocate(self, address, REGION), S);
    CHECK_CODE(slipway_port_descriptor(port, &polled), S);
    CHECK_CODE(mach_port_destroy(self, port), S);
    came_through = 1;
    pthread_testcancel();
    return NULL;
}

/* It is cancelled when it is in the library no more. */
static void test_cancellation(void) {
    mach_port_t port = make_port();
    pid_t child = start(child_cancels, port);
    pthread_t thread;
    void *result = NULL;
    MUST(pthread_create(&thread, NULL, cancelled, &port) == 0);
    CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED && came_through);
    CHECK(type_of(port) == 0 && close(polled) == 0);
    finish(child);
}

int main(int argc, char **argv) {
    own_path = argv[0];
    if (argc == 3 && strcmp(argv[1], "after-exec") == 0) return after_exec(atoi(argv[2]));
    watchdog(120);
    first_descriptors = count_descriptors();
    MUST(first_descriptors > 0);
    mach_port_t bootstrap = MACH_PORT_NULL;
    CHECK_CODE(task_get_bootstrap_port(self, &bootstrap), S);
    test_fork();
    test_exec();
    test_calls();
    test_region();
    test_moves();
    test_death();
    test_threads();
    test_cancellation();
    return checks_done("tasks");
}
