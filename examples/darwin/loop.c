/*
 * An event loop with Mach ports among its sources, as kqueue's EVFILT_MACHPORT has them: each port or port set has a descriptor
 * (slipway_port_descriptor) in an epoll set, and a handler for its messages. A thread answers questions of the main one; a timer
 * is a source, too.
 *
 *     cc loop.c $(pkg-config --cflags --libs mach-darwin) -lpthread -o loop
 */
#include <mach/mach.h>
#include <mach/slipway.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { QUESTIONS = 5 };

/* A message of this program: a number behind the header, and room for a trailer. */
typedef struct {
    mach_msg_header_t header;
    int number;
    mach_msg_trailer_t trailer;
} message_t;

/* What a loop waits for: a port with a handler of its messages, or a descriptor. */
typedef struct source {
    mach_port_t port;
    int fd;
    void (*message)(struct source *source, message_t *message);
    void (*readable)(struct source *source);
} source_t;

static int set = -1, answers, ticks;

static void check(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "loop: %s failed\n", what);
        exit(1);
    }
}

static void add(source_t *source) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = source}};
    if (source->message) check(slipway_port_descriptor(source->port, &source->fd) == KERN_SUCCESS, "slipway_port_descriptor");
    check(epoll_ctl(set, EPOLL_CTL_ADD, source->fd, &event) == 0, "epoll_ctl");
}

/* The descriptor says that there may be messages: they are received until there is none, and then the kernel is asked again. */
static void drain(source_t *source) {
    for (;;) {
        message_t message;
        mach_msg_return_t code = mach_msg(&message.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof message, source->port, 0, MACH_PORT_NULL);
        if (code == MACH_RCV_TIMED_OUT) return;
        check(code == MACH_MSG_SUCCESS, "mach_msg");
        source->message(source, &message);
    }
}

static void run(int (*goes_on)(void)) {
    while (goes_on()) {
        struct epoll_event events[8];
        int count = epoll_wait(set, events, 8, -1);
        check(count > 0, "epoll_wait");
        for (int i = 0; i < count; i++) {
            source_t *source = events[i].data.ptr;
            if (source->message)
                drain(source);
            else
                source->readable(source);
        }
    }
}

static void send(mach_port_t to, mach_msg_type_name_t how, mach_port_t reply, int number) {
    message_t message = {.header = {.msgh_size = sizeof message - sizeof message.trailer}, .number = number};
    message.header.msgh_bits = MACH_MSGH_BITS_SET(how, reply ? MACH_MSG_TYPE_MAKE_SEND_ONCE : 0, 0, 0);
    message.header.msgh_remote_port = to;
    message.header.msgh_local_port = reply;
    check(mach_msg_send(&message.header) == MACH_MSG_SUCCESS, "mach_msg_send");
}

/* The other thread: it is asked for squares. */
static void *serve(void *port) {
    for (int i = 0; i < QUESTIONS; i++) {
        message_t message = {.header = {.msgh_size = sizeof message, .msgh_local_port = *(mach_port_t *) port}};
        check(mach_msg_receive(&message.header) == MACH_MSG_SUCCESS, "mach_msg_receive");
        send(message.header.msgh_remote_port, MACH_MSG_TYPE_MOVE_SEND_ONCE, MACH_PORT_NULL, message.number * message.number);
    }
    return NULL;
}

static void answered(source_t *source, message_t *message) {
    (void) source;
    printf("answer: %d\n", message->number);
    answers++;
}

static void ticked(source_t *source) {
    unsigned long long times;
    if (read(source->fd, &times, sizeof times) == sizeof times) ticks++;
}

static int goes_on(void) {
    return answers < QUESTIONS || ticks == 0;
}

int main(void) {
    mach_port_t service;
    source_t port = {.message = answered}, timer = {.readable = ticked};
    struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
    pthread_t thread;
    set = epoll_create1(EPOLL_CLOEXEC);
    check(mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port.port) == KERN_SUCCESS, "mach_port_allocate");
    check(mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &service) == KERN_SUCCESS, "mach_port_allocate");
    check(mach_port_insert_right(mach_task_self(), service, service, MACH_MSG_TYPE_MAKE_SEND) == KERN_SUCCESS, "mach_port_insert_right");
    timer.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    check(timerfd_settime(timer.fd, 0, &soon, NULL) == 0, "timerfd_settime");
    add(&port);
    add(&timer);
    check(pthread_create(&thread, NULL, serve, &service) == 0, "pthread_create");
    for (int i = 1; i <= QUESTIONS; i++) send(service, MACH_MSG_TYPE_COPY_SEND, port.port, i);
    run(goes_on);
    check(pthread_join(thread, NULL) == 0, "pthread_join");
    return 0;
}
