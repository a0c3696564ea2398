/* Receiving: names of every kind, sizes, sequence numbers, sets, combined calls, payloads. */
#include "fixtures.h"

#include <mach/mach_time.h>
#include <mach/slipway.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define S MACH_MSG_SUCCESS
#define N MACH_RCV_INVALID_NAME
#define TO MACH_RCV_TIMED_OUT
#define COPY MACH_MSG_TYPE_COPY_SEND

static void test_kinds(void) {
    static const int code[KINDS] = {N, N, N, TO, TO, N, N, TO, N, MACH_RCV_IN_SET, N};
    static const int descriptor[KINDS] = {
        KERN_INVALID_NAME,  KERN_INVALID_NAME,  KERN_INVALID_NAME, KERN_SUCCESS,       KERN_SUCCESS, KERN_INVALID_RIGHT,
        KERN_INVALID_RIGHT, KERN_SUCCESS,       KERN_INVALID_RIGHT, KERN_SUCCESS, KERN_INVALID_RIGHT,
    };
    for (int kind = 0; kind < KINDS; kind++) {
        mach_port_t name = make(kind);
        any_message message;
        int fd = -1;
        cell("receive from", kind, receive(name, &message), code[kind]);
        cell_type("receive from", kind, type_of(name), kind_types[kind]);
        cell("slipway_port_descriptor", kind, slipway_port_descriptor(name, &fd), descriptor[kind]);
        if (descriptor[kind] == KERN_SUCCESS) {
            CHECK(fd > 2 && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
            CHECK(close(fd) == 0);
        }
        sweep();
    }
    CHECK_CODE(slipway_port_descriptor(make_receive(), NULL), KERN_INVALID_ARGUMENT);
    sweep();
}

static void test_header(void) {
    mach_port_t port = make_port();
    any_message message;
    for (unsigned i = 0; i < 3; i++) {
        CHECK_CODE(send_empty(port, COPY, 100 + (int) i), S);
        CHECK_CODE(receive(port, &message), S);
        CHECK(message.header.msgh_bits == MACH_MSGH_BITS(0, MACH_MSG_TYPE_PORT_SEND));
        CHECK(message.header.msgh_size == 32 && message.header.msgh_id == 100 + (int) i);
        CHECK(message.header.msgh_remote_slot == MACH_PORT_NULL && message.header.msgh_protected_payload == port);
        CHECK(message.header.msgh_seqno == i);
        /* Nothing behind the message is written. */
        CHECK((unsigned char) message.bytes[32] == 0xa5);
    }
    CHECK_CODE(mach_port_set_seqno(self, port, 1000), KERN_SUCCESS);
    CHECK_CODE(send_empty(port, MACH_MSG_TYPE_MAKE_SEND_ONCE, 1), S);
    CHECK_CODE(receive(port, &message), S);
    CHECK(message.header.msgh_seqno == 1000);
    CHECK(message.header.msgh_bits == MACH_MSGH_BITS(0, MACH_MSG_TYPE_PORT_SEND_ONCE));
    /* Messages come in the order in which they were sent. */
    for (int i = 0; i < 5; i++) CHECK_CODE(send_empty(port, COPY, i), S);
    for (int i = 0; i < 5; i++) {
        mach_msg_id_t id = -1;
        CHECK(waits(port, &id) && id == i);
    }
    sweep();
}

static void test_sizes(void) {
    mach_port_t port = make_port();
    any_message message;
    mach_msg_id_t id;
    for (mach_msg_size_t room = 0; room <= 40; room += 8) {
        memset(&message, 0, sizeof message);
        message.header.msgh_bits = MACH_MSGH_BITS(COPY, 0);
        message.header.msgh_remote_port = port;
        message.header.msgh_id = 3;
        CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG, 48, 0, 0, 0, 0), S);
        /* It stays, and says how large it is, if there is room for that. */
        memset(&message, 0xa5, sizeof message);
        CHECK_CODE(mach_msg(&message.header, MACH_RCV_MSG | MACH_RCV_LARGE | MACH_RCV_TIMEOUT, 0, room, port, 0, 0),
                   MACH_RCV_TOO_LARGE);
        if (room >= 32) CHECK(message.header.msgh_size == 48);
        CHECK((unsigned char) message.bytes[room] == 0xa5);
        /* Or it goes. */
        CHECK_CODE(mach_msg(&message.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, room, port, 0, 0), MACH_RCV_TOO_LARGE);
        CHECK_CODE(receive(port, &message), TO);
    }
    CHECK_CODE(send_empty(port, COPY, 4), S);
    CHECK_CODE(mach_msg(&message.header, MACH_RCV_MSG | MACH_RCV_LARGE | MACH_RCV_TIMEOUT, 0, 24, port, 0, 0), MACH_RCV_TOO_LARGE);
    CHECK_CODE(mach_msg(&message.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, 32, port, 0, 0), S);
    CHECK(message.header.msgh_id == 4);
    /* A message that is lost takes its rights along. */
    mach_port_t reply = make_receive();
    memset(&message, 0, sizeof message);
    message.header.msgh_bits = MACH_MSGH_BITS(COPY, 0) | MACH_MSGH_BITS_COMPLEX;
    message.header.msgh_remote_port = port;
    message.ports.type = port_type(MACH_MSG_TYPE_MAKE_SEND_ONCE, 1);
    message.ports.port[0].name = reply;
    CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG, 48, 0, 0, 0, 0), S);
    CHECK_CODE(mach_msg(&message.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, 40, port, 0, 0), MACH_RCV_TOO_LARGE);
    CHECK(waits(reply, &id) && id == MACH_NOTIFY_SEND_ONCE);
    CHECK_CODE(send_empty(port, COPY, 5), S);
    /* No buffer. */
    CHECK_CODE(mach_msg(NULL, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, 32, port, 0, 0), MACH_RCV_INVALID_DATA);
    /* Nor one that can't be written. */
    CHECK_CODE(send_empty(port, COPY, 5), S);
    void *wall = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(wall != MAP_FAILED);
    CHECK_CODE(mach_msg((mach_msg_header_t *) wall, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, 4096, port, 0, 0),
               MACH_RCV_INVALID_DATA);
    munmap(wall, 4096);
    sweep();
}

static void test_sets(void) {
    mach_port_t set = make(PORT_SET), ports[3];
    any_message message;
    unsigned seen = 0;
    for (int i = 0; i < 3; i++) {
        ports[i] = make_port();
        CHECK_CODE(mach_port_move_member(self, ports[i], set), KERN_SUCCESS);
        CHECK_CODE(send_empty(ports[i], COPY, i), S);
    }
    for (int i = 0; i < 3; i++) {
        CHECK_CODE(receive(set, &message), S);
        CHECK(message.header.msgh_local_port == ports[message.header.msgh_id]);
        CHECK(message.header.msgh_seqno == 0);
        seen |= 1u << message.header.msgh_id;
    }
    CHECK(seen == 7);
    CHECK_CODE(receive(set, &message), TO);
    /* What waits comes along into a set, and out of it. */
    mach_port_t port = make_port();
    CHECK_CODE(send_empty(port, COPY, 8), S);
    CHECK_CODE(mach_port_move_member(self, port, set), KERN_SUCCESS);
    CHECK_CODE(receive(set, &message), S);
    CHECK_CODE(send_empty(port, COPY, 9), S);
    CHECK_CODE(mach_port_move_member(self, port, MACH_PORT_NULL), KERN_SUCCESS);
    CHECK_CODE(receive(set, &message), TO);
    CHECK_CODE(receive(port, &message), S);
    CHECK(message.header.msgh_seqno == 1);
    sweep();
}

static void test_combined(void) {
    mach_port_t port = make_port(), empty = make_receive();
    any_message message;
    memset(&message, 0, sizeof message);
    message.header.msgh_bits = MACH_MSGH_BITS(COPY, 0);
    message.header.msgh_remote_port = port;
    message.header.msgh_id = 6;
    CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG | MACH_RCV_MSG, 40, sizeof message, port, 0, 0), S);
    CHECK(message.header.msgh_id == 6 && message.header.msgh_size == 40);
    /* A send that fails receives nothing. */
    CHECK_CODE(send_empty(port, COPY, 7), S);
    memset(&message, 0, sizeof message);
    message.header.msgh_bits = MACH_MSGH_BITS(COPY, 0);
    message.header.msgh_remote_port = unused_name();
    CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG | MACH_RCV_MSG | MACH_RCV_TIMEOUT, 32, sizeof message, port, 0, 0),
               MACH_SEND_INVALID_DEST);
    /* A receive that fails has sent. */
    message.header.msgh_remote_port = port;
    message.header.msgh_id = 8;
    CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG | MACH_RCV_MSG | MACH_RCV_TIMEOUT, 32, sizeof message, empty, 0, 0), TO);
    mach_msg_id_t id;
    CHECK(waits(port, &id) && id == 7);
    CHECK(waits(port, &id) && id == 8);
    /* The reply to oneself, as a stub makes it. */
    mach_port_t reply = mach_reply_port();
    memset(&message, 0, sizeof message);
    message.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MAKE_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
    message.header.msgh_remote_port = port;
    message.header.msgh_local_port = reply;
    CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG, 32, 0, 0, 0, 0), S);
    CHECK_CODE(receive(port, &message), S);
    CHECK(type_of(message.header.msgh_remote_port) == MACH_PORT_TYPE_SEND_ONCE);
    message.header.msgh_bits = MACH_MSGH_BITS(MACH_MSGH_BITS_REMOTE(message.header.msgh_bits), 0);
    message.header.msgh_local_port = MACH_PORT_NULL;
    CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG, 32, 0, 0, 0, 0), S);
    CHECK_CODE(receive(reply, &message), S);
    sweep();
}

static void test_payload(void) {
    mach_port_t port = make_port();
    any_message message;
    CHECK_CODE(mach_port_set_protected_payload(self, port, 0x1122334455667788u), KERN_SUCCESS);
    CHECK_CODE(send_empty(port, COPY, 1), S);
    CHECK_CODE(receive(port, &message), S);
    CHECK(MACH_MSGH_BITS_LOCAL(message.header.msgh_bits) == MACH_MSG_TYPE_PROTECTED_PAYLOAD);
    CHECK(message.header.msgh_protected_payload == 0x1122334455667788u);
    CHECK_CODE(mach_port_clear_protected_payload(self, port), KERN_SUCCESS);
    CHECK_CODE(send_empty(port, COPY, 1), S);
    CHECK_CODE(receive(port, &message), S);
    CHECK(MACH_MSGH_BITS_LOCAL(message.header.msgh_bits) == MACH_MSG_TYPE_PORT_SEND && message.header.msgh_local_port == port);
    sweep();
}

/* ---- What happens to a receive that waits ---- */

struct waiter {
    pthread_t thread;
    mach_port_t name;
    mach_msg_option_t options;
    mach_msg_return_t code;
    any_message message;
    int started;
    pthread_mutex_t lock;
    pthread_cond_t change;
};

static void *wait_for_message(void *argument) {
    struct waiter *w = argument;
    pthread_mutex_lock(&w->lock);
    w->started = 1;
    pthread_cond_signal(&w->change);
    pthread_mutex_unlock(&w->lock);
    w->code = mach_msg(&w->message.header, MACH_RCV_MSG | w->options, 0, sizeof w->message, w->name, 0, 0);
    return NULL;
}

static void start_waiter(struct waiter *w, mach_port_t name, mach_msg_option_t options) {
    memset(w, 0, sizeof *w);
    w->name = name;
    w->options = options;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->change, NULL);
    MUST(pthread_create(&w->thread, NULL, wait_for_message, w) == 0);
    pthread_mutex_lock(&w->lock);
    while (!w->started) pthread_cond_wait(&w->change, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

static mach_msg_return_t end_waiter(struct waiter *w) {
    pthread_join(w->thread, NULL);
    return w->code;
}

/* Either of two codes. */
#define CHECK_ENDED(w, one, other) \
    do { \
        mach_msg_return_t code = end_waiter(w); \
        CHECK_CODE(code == (other) ? (one) : code, one); \
    } while (0)

/*
 * The thread may not wait yet when its port goes: then the receive finds no such name, or the set. Both codes
 * are Mach's, so each case runs several times and takes either.
 */
static void test_changes(void) {
    struct waiter w;
    for (int turn = 0; turn < 20; turn++) {
        mach_port_t port = make_port(), set = make(PORT_SET), member = make_port();
        start_waiter(&w, port, 0);
        CHECK_CODE(mach_port_mod_refs(self, port, MACH_PORT_RIGHT_RECEIVE, -1), KERN_SUCCESS);
        CHECK_ENDED(&w, MACH_RCV_PORT_DIED, N);

        port = make_port();
        start_waiter(&w, port, 0);
        CHECK_CODE(mach_port_move_member(self, port, set), KERN_SUCCESS);
        CHECK_ENDED(&w, MACH_RCV_PORT_CHANGED, MACH_RCV_IN_SET);

        start_waiter(&w, set, 0);
        CHECK_CODE(mach_port_destroy(self, set), KERN_SUCCESS);
        CHECK_ENDED(&w, MACH_RCV_PORT_DIED, N);

        start_waiter(&w, member, 0);
        CHECK_CODE(send_empty(member, COPY, 12), S);
        CHECK(end_waiter(&w) == S && w.message.header.msgh_id == 12);
        sweep();
    }
    /* Sent away while somebody waits. */
    mach_port_t port = make_port(), carrier = make_receive();
    any_message message;
    start_waiter(&w, port, 0);
    memset(&message, 0, sizeof message);
    message.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MAKE_SEND, 0) | MACH_MSGH_BITS_COMPLEX;
    message.header.msgh_remote_port = carrier;
    message.ports.type = port_type(MACH_MSG_TYPE_MOVE_RECEIVE, 1);
    message.ports.port[0].name = port;
    CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG, 48, 0, 0, 0, 0), S);
    CHECK_ENDED(&w, MACH_RCV_PORT_DIED, N);
    sweep();
}

static void on_signal(int number) {
    (void) number;
}

/* A signal ends the wait where that was asked for. */
static void test_signals(void) {
    struct sigaction action;
    struct waiter w;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    mach_port_t port = make_port();
    start_waiter(&w, port, MACH_RCV_INTERRUPT);
    struct timespec soon = {0, 1000000};
    for (;;) {
        /* The thread may not wait yet: the signal is repeated until the wait ends. */
        if (pthread_tryjoin_np(w.thread, NULL) == 0) break;
        pthread_kill(w.thread, SIGUSR1);
        pselect(0, NULL, NULL, NULL, &soon, NULL);
    }
    CHECK_CODE(w.code, MACH_RCV_INTERRUPTED);
    start_waiter(&w, port, 0);
    for (int i = 0; i < 10; i++) pthread_kill(w.thread, SIGUSR1);
    CHECK_CODE(send_empty(port, COPY, 13), S);
    CHECK(end_waiter(&w) == S && w.message.header.msgh_id == 13);
    sweep();
}

/* Signals at any moment of a wait: one is enough. */
static atomic_int handled;

static void count_signal(int number) {
    (void) number;
    atomic_fetch_add(&handled, 1);
}

/* Whether a thread's status has all of these. */
static int thread_is(pid_t thread, const char *one, const char *other) {
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int) thread);
    int fd = open(path, O_RDONLY);
    ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[size > 0 ? size : 0] = 0;
    return strstr(text, one) || strstr(text, other);
}

struct target {
    mach_port_t port;
    mach_msg_option_t options;
    _Atomic pid_t thread;
    atomic_int begun, ended, wrong;
};

/* At most so many signals, in about so many nanoseconds: beside busy processes each takes long. A message of this number is the last. */
enum { SIGNALS = 2000, LAST = -1 };
static const uint64_t ENOUGH = 10000000000;

/* Every other wait is ended by a message: a thread whose waits end soon looks before it sleeps. */
static int is_signal(int turn) {
    return turn % 2;
}

static void *be_interrupted(void *argument) {
    struct target *t = argument;
    any_message message;
    t->thread = gettid();
    for (int turn = 1; turn <= 2 * SIGNALS; turn++) {
        t->begun = turn;
        mach_msg_return_t code =
            mach_msg(&message.header, MACH_RCV_MSG | t->options, 0, sizeof message, t->port, 60000, 0);
        if (code != (is_signal(turn) ? MACH_RCV_INTERRUPTED : S)) t->wrong++;
        t->ended = turn;
        if (code == S && message.header.msgh_id == LAST) break;
    }
    return NULL;
}

static void test_signals_at_any_moment(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = count_signal;
    action.sa_flags = SA_RESTART;
    MUST(sigaction(SIGUSR2, &action, NULL) == 0);
    for (int timed = 0; timed < 2; timed++) {
        struct target t = {make_port(), MACH_RCV_INTERRUPT | (timed ? MACH_RCV_TIMEOUT : 0), 0, 0, 0, 0};
        pthread_t thread;
        unsigned random = 1;
        int sent = 0;
        const uint64_t start = mach_absolute_time();
        handled = 0;
        MUST(pthread_create(&thread, NULL, be_interrupted, &t) == 0);
        for (int turn = 1; turn <= 2 * SIGNALS; turn++) {
            while (t.begun < turn) sched_yield();
            if (!is_signal(turn)) {
                const int last = turn == 2 * SIGNALS || mach_absolute_time() - start > ENOUGH;
                CHECK_CODE(send_empty(t.port, COPY, last ? LAST : turn), S);
                while (t.ended < turn) sched_yield();
                if (last) break;
                continue;
            }
            /* A signal before the call is none of its: the thread looks, with signals blocked, or sleeps. */
            while (!thread_is(t.thread, "State:\tS", "SigBlk:\tf")) {
            }
            random = random * 1664525 + 1013904223;
            for (volatile unsigned i = random >> 20; i > 0; i--) {
            }
            pthread_kill(thread, SIGUSR2);
            sent++;
            while (t.ended < turn) sched_yield();
        }
        pthread_join(thread, NULL);
        CHECK(t.wrong == 0 && sent > 0 && handled == sent);
        sweep();
    }
}

static int readable(int fd, int milliseconds) {
    struct pollfd entry = {fd, POLLIN, 0};
    return poll(&entry, 1, milliseconds) == 1;
}

static void test_descriptor(void) {
    mach_port_t port = make_port(), set = make(PORT_SET), member = make_port();
    any_message message;
    int of_port, of_set;
    CHECK_CODE(mach_port_move_member(self, member, set), KERN_SUCCESS);
    MUST(slipway_port_descriptor(port, &of_port) == KERN_SUCCESS);
    MUST(slipway_port_descriptor(set, &of_set) == KERN_SUCCESS);
    for (int turn = 0; turn < 3; turn++) {
        CHECK_CODE(send_empty(port, COPY, 1), S);
        CHECK(readable(of_port, 10000));
        CHECK_CODE(receive(port, &message), S);
        CHECK_CODE(receive(port, &message), TO);
        CHECK(!readable(of_port, 0));
        CHECK_CODE(send_empty(member, COPY, 1), S);
        CHECK(readable(of_set, 10000));
        CHECK_CODE(receive(set, &message), S);
        CHECK_CODE(receive(set, &message), TO);
        CHECK(!readable(of_set, 0));
    }
    /* Nobody polls: the descriptor stays as it is. Polled again, it tells of the next message. */
    CHECK_CODE(slipway_port_poll(set, 0), KERN_SUCCESS);
    CHECK_CODE(send_empty(member, COPY, 1), S);
    CHECK(!readable(of_set, 0));
    CHECK_CODE(slipway_port_poll(set, 1), KERN_SUCCESS);
    CHECK_CODE(receive(set, &message), S);
    CHECK_CODE(receive(set, &message), TO);
    CHECK_CODE(send_empty(member, COPY, 1), S);
    CHECK(readable(of_set, 10000));
    CHECK_CODE(receive(set, &message), S);
    CHECK_CODE(slipway_port_poll(member, 0), KERN_INVALID_NAME);
    CHECK_CODE(mach_port_mod_refs(self, port, MACH_PORT_RIGHT_RECEIVE, -1), KERN_SUCCESS);
    CHECK(readable(of_port, 10000));
    /* The messages of a port in a set are the set's. A descriptor of its own is quiet until the port is in none again. */
    int of_member;
    MUST(slipway_port_descriptor(member, &of_member) == KERN_SUCCESS);
    CHECK_CODE(send_empty(member, COPY, 1), S);
    CHECK(readable(of_set, 10000));
    CHECK(!readable(of_member, 0));
    CHECK_CODE(mach_port_move_member(self, member, MACH_PORT_NULL), KERN_SUCCESS);
    CHECK(readable(of_member, 10000));
    CHECK_CODE(mach_port_move_member(self, member, set), KERN_SUCCESS);
    CHECK(!readable(of_member, 0));
    CHECK_CODE(receive(set, &message), S);
    CHECK_CODE(receive(set, &message), TO);
    CHECK(!readable(of_set, 0));
    CHECK_CODE(mach_port_destroy(self, set), KERN_SUCCESS);
    CHECK(readable(of_set, 10000));
    CHECK(readable(of_member, 10000));
    CHECK_CODE(receive(set, &message), MACH_RCV_INVALID_NAME);
    CHECK_CODE(receive(member, &message), TO);
    CHECK(!readable(of_member, 0));
    close(of_member);
    close(of_port);
    close(of_set);
    sweep();
}

static void test_notify_argument(void) {
    mach_port_t port = make_port();
    any_message message;
    CHECK_CODE(send_empty(port, COPY, 1), S);
    CHECK_CODE(mach_msg(&message.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT | MACH_RCV_NOTIFY, 0, sizeof message, port, 0,
                        unused_name()),
               MACH_RCV_INVALID_NOTIFY);
    sweep();
}

void test_receive(void) {
    test_kinds();
    test_header();
    test_sizes();
    test_sets();
    test_combined();
    test_payload();
    test_changes();
    test_signals();
    test_signals_at_any_moment();
    test_descriptor();
    test_notify_argument();
}
