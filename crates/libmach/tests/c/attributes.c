/* What OSF and Darwin have for receive rights beyond Mach 3.0, and the short forms of mach_msg(). */
#include "check.h"

#include <mach/bootstrap.h>
#include <mach/mach.h>
#include <mach/slipway.h>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define self mach_task_self()
#define S KERN_SUCCESS

static mach_port_t make_port(void) {
    mach_port_t port;
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, &port) == S);
    MUST(mach_port_insert_right(self, port, port, MACH_MSG_TYPE_MAKE_SEND) == S);
    return port;
}

static void fill(mach_msg_header_t *header, mach_port_t to, mach_msg_id_t id) {
    memset(header, 0, sizeof *header);
    header->msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, 0);
    header->msgh_size = sizeof *header;
    header->msgh_remote_port = to;
    header->msgh_id = id;
}

static void test_self(void) {
    CHECK(mach_task_self_ == mach_task_self());
    pid_t child = fork();
    if (child == 0) _exit(mach_task_self_ == mach_task_self() ? 0 : 1);
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void test_attributes(void) {
    mach_port_t port = make_port();
    mach_port_limits_t limits = {0};
    mach_port_status_t status, plain;
    mach_msg_type_number_t count = MACH_PORT_LIMITS_INFO_COUNT;
    mach_port_info_t info = (mach_port_info_t) &limits;
    CHECK_CODE(mach_port_get_attributes(self, port, MACH_PORT_LIMITS_INFO, info, &count), S);
    CHECK(count == 1 && limits.mpl_qlimit == MACH_PORT_QLIMIT_DEFAULT);
    limits.mpl_qlimit = 1024;
    CHECK_CODE(mach_port_set_attributes(self, port, MACH_PORT_LIMITS_INFO, info, 1), S);
    count = MACH_PORT_RECEIVE_STATUS_COUNT + 3;
    CHECK_CODE(mach_port_get_attributes(self, port, MACH_PORT_RECEIVE_STATUS, (mach_port_info_t) &status, &count), S);
    CHECK_CODE(mach_port_get_receive_status(self, port, &plain), S);
    CHECK(count == 9 && memcmp(&status, &plain, sizeof status) == 0 && status.mps_qlimit == 1024);
    limits.mpl_qlimit = 1025;
    CHECK_CODE(mach_port_set_attributes(self, port, MACH_PORT_LIMITS_INFO, info, 1), KERN_INVALID_VALUE);
    CHECK_CODE(mach_port_set_attributes(self, port, MACH_PORT_LIMITS_INFO, info, 0), KERN_FAILURE);
    CHECK_CODE(mach_port_set_attributes(self, port, MACH_PORT_RECEIVE_STATUS, info, 9), KERN_INVALID_ARGUMENT);
    count = 8;
    CHECK_CODE(mach_port_get_attributes(self, port, MACH_PORT_RECEIVE_STATUS, (mach_port_info_t) &status, &count), KERN_FAILURE);
    CHECK_CODE(mach_port_get_attributes(self, port, 77, (mach_port_info_t) &status, &count), KERN_INVALID_ARGUMENT);
    CHECK_CODE(mach_port_get_attributes(self, port, MACH_PORT_LIMITS_INFO, NULL, &count), KERN_INVALID_ARGUMENT);
    CHECK_CODE(mach_port_get_attributes(port, port, MACH_PORT_LIMITS_INFO, info, &count), KERN_INVALID_TASK);
    CHECK_CODE(mach_port_destroy(self, port), S);
}

static kern_return_t move_receive(mach_port_t port, mach_port_t to) {
    struct {
        mach_msg_header_t header;
        mach_msg_type_t type;
        mach_port_name_inlined_t port;
    } message;
    fill(&message.header, to, 1);
    message.header.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
    message.header.msgh_size = sizeof message;
    memset(&message.type, 0, sizeof message.type);
    message.type.msgt_name = MACH_MSG_TYPE_MOVE_RECEIVE;
    message.type.msgt_size = 64;
    message.type.msgt_inline = TRUE;
    message.type.msgt_number = 1;
    message.port.slot = port;
    return mach_msg_send(&message.header);
}

/* A receive right that went to a port and came from there: it has no context. */
static mach_port_t moved(mach_port_t port, mach_port_t by) {
    struct {
        mach_msg_header_t header;
        mach_msg_type_t type;
        mach_port_name_inlined_t port;
    } got;
    mach_port_context_t context = 1;
    CHECK_CODE(move_receive(port, by), S);
    memset(&got, 0, sizeof got);
    got.header.msgh_size = sizeof got;
    got.header.msgh_local_port = by;
    CHECK_CODE(mach_msg_receive(&got.header), S);
    CHECK_CODE(mach_port_get_context(self, got.port.name, &context), S);
    CHECK(context == 0);
    return got.port.name;
}

static void test_guards(void) {
    mach_port_t port, other = make_port();
    mach_port_options_t options = {.flags = MPO_CONTEXT_AS_GUARD | MPO_STRICT | MPO_INSERT_SEND_RIGHT | MPO_QLIMIT, .mpl = {7}};
    mach_port_context_t context = 1;
    mach_port_status_t status;
    mach_port_type_t type;
    const kern_return_t bad = KERN_INVALID_ARGUMENT;
    CHECK_CODE(mach_port_construct(self, &options, 0x1234, &port), S);
    CHECK_CODE(mach_port_get_receive_status(self, port, &status), S);
    CHECK(status.mps_qlimit == 7 && status.mps_srights);
    CHECK_CODE(mach_port_get_context(self, port, &context), S);
    CHECK(context == 0);
    CHECK_CODE(mach_port_set_context(self, port, 5), bad);
    CHECK_CODE(mach_port_guard(self, port, 5, FALSE), bad);
    /* Nothing but its guard ends it. */
    CHECK_CODE(mach_port_destroy(self, port), KERN_INVALID_RIGHT);
    CHECK_CODE(mach_port_mod_refs(self, port, MACH_PORT_RIGHT_RECEIVE, -1), KERN_INVALID_RIGHT);
    CHECK_CODE(mach_port_destruct(self, port, 0, 5), bad);
    CHECK_CODE(mach_port_unguard(self, port, 5), bad);
    CHECK_CODE(mach_port_destruct(self, port, -2, 0x1234), KERN_INVALID_VALUE);
    CHECK_CODE(mach_port_destruct(self, port, 1, 0x1234), KERN_INVALID_VALUE);
    CHECK_CODE(mach_port_type(self, port, &type), S);
    CHECK(type == MACH_PORT_TYPE_SEND_RECEIVE);
    CHECK_CODE(mach_port_destruct(self, port, -1, 0x1234), S);
    CHECK_CODE(mach_port_type(self, port, &type), KERN_INVALID_NAME);
    /* A loose guard goes with the move. */
    options.flags = 0;
    CHECK_CODE(mach_port_construct(self, &options, 9, &port), S);
    CHECK_CODE(mach_port_get_context(self, port, &context), S);
    CHECK(context == 9);
    CHECK_CODE(mach_port_guard(self, port, 10, FALSE), bad);
    CHECK_CODE(mach_port_set_context(self, port, 0), S);
    CHECK_CODE(mach_port_guard(self, port, 10, FALSE), S);
    CHECK_CODE(mach_port_destroy(self, port), KERN_INVALID_RIGHT);
    CHECK_CODE(mach_port_get_context(self, port, &context), S);
    CHECK(context == 10);
    CHECK_CODE(mach_port_set_context(self, port, 11), S);
    CHECK_CODE(mach_port_unguard(self, port, 10), bad);
    port = moved(port, other);
    CHECK_CODE(mach_port_destroy(self, port), S);
    /* So does a strict one, and a context that is no guard. */
    CHECK_CODE(mach_port_construct(self, &options, 0, &port), S);
    CHECK_CODE(mach_port_guard(self, port, 10, TRUE), S);
    port = moved(port, other);
    CHECK_CODE(mach_port_set_context(self, port, 12), S);
    port = moved(port, other);
    CHECK_CODE(mach_port_destroy(self, port), S);
    /* Unguarded it is a port like any other. */
    port = make_port();
    CHECK_CODE(mach_port_guard(self, port, 10, TRUE), S);
    CHECK_CODE(mach_port_unguard(self, port, 10), S);
    CHECK_CODE(mach_port_unguard(self, port, 10), bad);
    CHECK_CODE(mach_port_destroy(self, port), S);
    options.flags = 0x4;
    CHECK_CODE(mach_port_construct(self, &options, 0, &port), bad);
    options.flags = MPO_QLIMIT;
    options.mpl.mpl_qlimit = 5000;
    mach_port_name_array_t names, types;
    mach_msg_type_number_t before, after, count;
    CHECK_CODE(mach_port_names(self, &names, &before, &types, &count), S);
    CHECK_CODE(mach_port_construct(self, &options, 0, &port), KERN_INVALID_VALUE);
    CHECK_CODE(mach_port_names(self, &names, &after, &types, &count), S);
    CHECK(before == after);
    CHECK_CODE(mach_port_construct(self, NULL, 0, &port), bad);
    CHECK_CODE(mach_port_guard(self, 0x999900, 1, FALSE), KERN_INVALID_NAME);
    CHECK_CODE(mach_port_destroy(self, other), S);
}

static void test_members(void) {
    mach_port_t port = make_port(), set, second;
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_PORT_SET, &set) == S);
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_PORT_SET, &second) == S);
    CHECK_CODE(mach_port_extract_member(self, port, set), KERN_NOT_IN_SET);
    CHECK_CODE(mach_port_insert_member(self, port, set), S);
    CHECK_CODE(mach_port_insert_member(self, port, set), KERN_ALREADY_IN_SET);
    CHECK_CODE(mach_port_extract_member(self, port, second), KERN_NOT_IN_SET);
    CHECK_CODE(mach_port_insert_member(self, port, MACH_PORT_NULL), KERN_INVALID_NAME);
    CHECK_CODE(mach_port_insert_member(self, port, port), KERN_INVALID_RIGHT);
    CHECK_CODE(mach_port_insert_member(self, set, set), KERN_INVALID_RIGHT);
    mach_msg_header_t message;
    fill(&message, port, 3);
    CHECK_CODE(mach_msg_send(&message), S);
    CHECK_CODE(mach_msg(&message, MACH_RCV_MSG, 0, sizeof message, set, 0, 0), S);
    CHECK(message.msgh_id == 3);
    CHECK_CODE(mach_port_extract_member(self, port, set), S);
    CHECK_CODE(mach_port_insert_member(self, port, second), S);
    CHECK_CODE(mach_port_destroy(self, set), S);
    CHECK_CODE(mach_port_destroy(self, second), S);
    CHECK_CODE(mach_port_destroy(self, port), S);
}

enum { EACH = 2000 };

/* A child that sends to a port of this process. */
static pid_t far_sender(mach_port_t to) {
    MUST(task_set_bootstrap_port(self, to) == S);
    const pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        mach_port_t port = MACH_PORT_NULL;
        mach_msg_header_t message;
        watchdog(60);
        MUST(task_get_bootstrap_port(self, &port) == S);
        for (int i = 1; i <= EACH; i++) {
            fill(&message, port, i);
            MUST(mach_msg_send(&message) == S);
        }
        _exit(0);
    }
    MUST(task_set_bootstrap_port(self, MACH_PORT_NULL) == S);
    return child;
}

/* A port in two sets: each message comes once, whichever set it is received from; the sets' other members stay their own. */
static mach_port_t sets[2];
static atomic_int taken[2], sum;

static void *take(void *set) {
    const int which = (int) (intptr_t) set;
    for (;;) {
        mach_msg_header_t got;
        MUST(mach_msg(&got, MACH_RCV_MSG, 0, sizeof got, sets[which], 0, 0) == S);
        if (got.msgh_id == 0) return NULL;
        atomic_fetch_add(&taken[which], 1);
        atomic_fetch_add(&sum, got.msgh_id);
    }
}

static void test_several_sets(void) {
    mach_port_t shared = make_port(), own[2];
    mach_msg_header_t message;
    pthread_t threads[2];
    struct pollfd polled[2];
    CHECK_CODE(mach_port_set_qlimit(self, shared, MACH_PORT_QLIMIT_MAX), S);
    for (int i = 0; i < 2; i++) {
        own[i] = make_port();
        MUST(mach_port_allocate(self, MACH_PORT_RIGHT_PORT_SET, &sets[i]) == S);
        CHECK_CODE(mach_port_insert_member(self, shared, sets[i]), S);
        CHECK_CODE(mach_port_insert_member(self, own[i], sets[i]), S);
        polled[i] = (struct pollfd){-1, POLLIN, 0};
        CHECK_CODE(slipway_port_descriptor(sets[i], &polled[i].fd), S);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_CODE(mach_msg(&message, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof message, sets[i], 0, 0), MACH_RCV_TIMED_OUT);
    }
    CHECK_CODE(mach_msg(&message, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof message, shared, 0, 0), MACH_RCV_IN_SET);
    /* Both sets tell of it, and it comes once. */
    fill(&message, shared, 5);
    CHECK_CODE(mach_msg_send(&message), S);
    CHECK(poll(polled, 2, 30000) == 2);
    CHECK_CODE(mach_msg(&message, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof message, sets[1], 0, 0), S);
    CHECK(message.msgh_id == 5 && message.msgh_local_port == shared);
    CHECK_CODE(mach_msg(&message, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof message, sets[0], 0, 0), MACH_RCV_TIMED_OUT);
    for (int i = 0; i < 2; i++) MUST(pthread_create(&threads[i], NULL, take, (void *) (intptr_t) i) == 0);
    /* From here, and from another process. */
    fflush(NULL);
    const pid_t child = far_sender(shared);
    for (int i = 1; i <= EACH; i++) {
        fill(&message, shared, i);
        CHECK_CODE(mach_msg_send(&message), S);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    while (atomic_load(&sum) < EACH * (EACH + 1)) sched_yield();
    for (int i = 0; i < 2; i++) {
        fill(&message, own[i], 0);
        CHECK_CODE(mach_msg_send(&message), S);
    }
    for (int i = 0; i < 2; i++) MUST(pthread_join(threads[i], NULL) == 0);
    CHECK(sum == EACH * (EACH + 1) && taken[0] + taken[1] == 2 * EACH);
    for (int i = 0; i < 2; i++) {
        CHECK_CODE(mach_port_destroy(self, own[i]), S);
        CHECK_CODE(mach_port_destroy(self, sets[i]), S);
        close(polled[i].fd);
    }
    CHECK_CODE(mach_port_destroy(self, shared), S);
}

/* What is looked at stays, with its number. */
static void test_peek(void) {
    mach_port_t port = make_port(), set;
    mach_port_seqno_t seqno = 0;
    mach_msg_size_t size = 0;
    mach_msg_id_t id = 0;
    mach_msg_type_number_t count = 8;
    CHECK_CODE(mach_port_peek(self, port, 0, &seqno, &size, &id, NULL, &count), KERN_FAILURE);
    mach_msg_header_t message;
    for (int i = 0; i < 3; i++) {
        fill(&message, port, 40 + i);
        CHECK_CODE(mach_msg_send(&message), S);
    }
    CHECK_CODE(mach_port_set_seqno(self, port, 100), S);
    CHECK_CODE(mach_port_peek(self, port, 0, &seqno, &size, &id, NULL, &count), S);
    CHECK(seqno == 100 && size == sizeof message && id == 40 && count == 0);
    seqno = 102;
    CHECK_CODE(mach_port_peek(self, port, 0, &seqno, &size, &id, NULL, NULL), S);
    CHECK(seqno == 102 && id == 42);
    seqno = 103;
    CHECK_CODE(mach_port_peek(self, port, 0, &seqno, NULL, NULL, NULL, NULL), KERN_FAILURE);
    CHECK_CODE(mach_port_peek(self, port, 0, NULL, NULL, NULL, NULL, NULL), S);
    CHECK_CODE(mach_port_peek(self, port, 7, NULL, NULL, NULL, NULL, NULL), KERN_INVALID_VALUE);
    /* It took nothing away, nor from a set. */
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_PORT_SET, &set) == S);
    CHECK_CODE(mach_port_insert_member(self, port, set), S);
    CHECK_CODE(mach_port_peek(self, port, 0, NULL, NULL, &id, NULL, NULL), S);
    CHECK(id == 40);
    for (int i = 0; i < 3; i++) {
        CHECK_CODE(mach_msg(&message, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof message, set, 0, 0), S);
        CHECK(message.msgh_id == 40 + i && message.msgh_seqno == 100 + (mach_port_seqno_t) i);
    }
    CHECK_CODE(mach_port_peek(self, set, 0, NULL, NULL, NULL, NULL, NULL), KERN_INVALID_RIGHT);
    CHECK_CODE(mach_port_destroy(self, set), S);
    CHECK_CODE(mach_port_destroy(self, port), S);
}

static int served;

static boolean_t serve(mach_msg_header_t *request, mach_msg_header_t *reply) {
    served += request->msgh_id;
    memset(reply, 0, sizeof(mig_reply_header_t));
    ((mig_reply_header_t *) reply)->RetCode = MIG_NO_REPLY;
    return TRUE;
}

static void test_server(void) {
    mach_port_t port = make_port();
    mach_msg_header_t message;
    for (int i = 1; i < 4; i++) {
        fill(&message, port, i);
        CHECK_CODE(mach_msg_send(&message), S);
    }
    CHECK_CODE(mach_msg_server_timeout(serve, 1024, port, MACH_RCV_TIMEOUT, 1), MACH_RCV_TIMED_OUT);
    CHECK(served == 6);
    /* A request that is larger than the buffer: the buffer grows, or the request goes. */
    struct {
        mach_msg_header_t header;
        char more[512];
    } large;
    memset(&large, 0, sizeof large);
    fill(&large.header, port, 10);
    large.header.msgh_size = sizeof large;
    CHECK_CODE(mach_msg_send(&large.header), S);
    CHECK_CODE(mach_msg_server_timeout(serve, 64, port, MACH_RCV_TIMEOUT | MACH_RCV_LARGE, 1), MACH_RCV_TIMED_OUT);
    CHECK(served == 16);
    fill(&large.header, port, 10);
    large.header.msgh_size = sizeof large;
    CHECK_CODE(mach_msg_send(&large.header), S);
    CHECK_CODE(mach_msg_server_timeout(serve, 64, port, MACH_RCV_TIMEOUT, 1), MACH_RCV_TIMED_OUT);
    CHECK(served == 16);
    CHECK_CODE(mach_msg_server_timeout(NULL, 1024, port, MACH_RCV_TIMEOUT, 1), KERN_INVALID_ARGUMENT);
    CHECK_CODE(bootstrap_register2(MACH_PORT_NULL, "x", port, 1), KERN_INVALID_ARGUMENT);
    /* The test names a socket where nobody is. */
    CHECK_CODE(bootstrap_register2(MACH_PORT_NULL, "x", port, 0), MACH_SEND_INVALID_DEST);
    CHECK_CODE(mach_port_destroy(self, port), S);
    CHECK_CODE(mach_msg_send(&message), MACH_SEND_INVALID_DEST);
}

static boolean_t answer(mach_msg_header_t *request, mach_msg_header_t *reply) {
    memset(reply, 0, sizeof(mig_reply_header_t));
    reply->msgh_bits = MACH_MSGH_BITS(MACH_MSGH_BITS_REMOTE(request->msgh_bits), 0);
    reply->msgh_size = sizeof(mig_reply_header_t);
    reply->msgh_remote_port = request->msgh_remote_port;
    reply->msgh_id = request->msgh_id + 100;
    return TRUE;
}

static void *serve_there(void *port) {
    const mach_msg_return_t end = mach_msg_server_timeout(answer, 1024, (mach_port_t) (uintptr_t) port, MACH_RCV_TIMEOUT, 3600000);
    /* The port ends while it waits there, or before it does. */
    CHECK(end == MACH_RCV_PORT_DIED || end == MACH_RCV_INVALID_NAME);
    return NULL;
}

/* A client that does not take its answers keeps the server from nobody, whatever the server's time-out. */
static void test_full_client(void) {
    mach_port_t port = make_port(), full = make_port(), other = make_port();
    mach_msg_header_t message;
    pthread_t server;
    fill(&message, full, 1);
    MUST(mach_port_set_qlimit(self, full, 1) == S && mach_msg_send(&message) == S);
    MUST(pthread_create(&server, NULL, serve_there, (void *) (uintptr_t) port) == 0);
    for (int i = 0; i < 2; i++) {
        fill(&message, port, 10 + i);
        message.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND);
        message.msgh_local_port = i == 0 ? full : other;
        CHECK_CODE(mach_msg_send(&message), S);
    }
    mig_reply_header_t reply;
    CHECK_CODE(mach_msg(&reply.Head, MACH_RCV_MSG, 0, sizeof reply, other, 0, 0), S);
    CHECK(reply.Head.msgh_id == 111);
    CHECK_CODE(mach_port_destroy(self, port), S);
    MUST(pthread_join(server, NULL) == 0);
    CHECK_CODE(mach_port_destroy(self, full), S);
    CHECK_CODE(mach_port_destroy(self, other), S);
}

int main(void) {
    watchdog(60);
    test_self();
    test_attributes();
    test_guards();
    test_members();
    test_several_sets();
    test_peek();
    test_server();
    test_full_client();
    return checks_done("attributes");
}
