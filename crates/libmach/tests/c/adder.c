/* See adder.h. */
#include "adder.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

extern kern_return_t throws(mach_port_t request, void *arguments, void *context);

static atomic_int inside;
atomic_int most, by_message, by_trap, served_by_self, last[8], out_of_order;
_Thread_local int is_client;

int enter(void) {
    int now = atomic_fetch_add(&inside, 1) + 1, seen = atomic_load(&most);
    while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now)) {}
    return now;
}

void leave(void) { atomic_fetch_sub(&inside, 1); }

void in_order(int value) {
    atomic_int *of = &last[value >> 24 & 7];
    if (atomic_exchange(of, value & 0xffffff) >= (value & 0xffffff)) atomic_fetch_add(&out_of_order, 1);
}

static kern_return_t add(mach_port_t request, void *arguments, void *context) {
    add_arguments *a = arguments;
    enter();
    if (a->first >> 24) in_order(a->first);
    atomic_fetch_add((atomic_int *) context, 1);
    *a->sum = a->first + a->second;
    if (is_client) atomic_fetch_add(&served_by_self, 1);
    leave();
    return request == MACH_PORT_NULL ? KERN_FAILURE : S;
}

/* Calls a port from within a call; the port is in the arguments. */
static kern_return_t nest(mach_port_t request, void *arguments, void *context) {
    add_arguments *a = arguments, inner = {20, 22, a->sum};
    kern_return_t code = KERN_ABORTED;
    (void) request;
    (void) context;
    if (!mach_trap((mach_port_t) a->first, ADD, SIGNATURE, &inner, &code)) return KERN_NOT_RECEIVER;
    return code;
}

static kern_return_t fail(mach_port_t request, void *arguments, void *context) {
    (void) request;
    (void) arguments;
    (void) context;
    return 4711;
}

static kern_return_t ends_thread(mach_port_t request, void *arguments, void *context) {
    (void) request;
    (void) arguments;
    (void) context;
    MUST(mig_trap_allocate(1 << 20) != NULL);
    pthread_exit((void *) 99);
}

static const struct mach_trap_entry entries[] = {
    {add, SIGNATURE}, {nest, SIGNATURE}, {fail, SIGNATURE}, {ends_thread, SIGNATURE}, {NULL, 0},
};
const mach_trap_table_t table = {MACH_TRAP_VERSION, BASE, 5, entries, &by_trap};
static const struct mach_trap_entry throwing[] = {{throws, SIGNATURE}};
const mach_trap_table_t other_table = {MACH_TRAP_VERSION, 6000, 1, throwing, NULL};

mach_port_t make_port(void) {
    mach_port_t port;
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, &port) == S);
    MUST(mach_port_insert_right(self, port, port, MACH_MSG_TYPE_MAKE_SEND) == S);
    return port;
}

kern_return_t call(mach_port_t port, int id, int first, int second, int *sum) {
    add_arguments arguments = {first, second, sum};
    kern_return_t code;
    if (mach_trap(port, id, SIGNATURE, &arguments, &code)) return code;
    add_message message;
    memset(&message, 0, sizeof message);
    message.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
    message.header.msgh_remote_port = port;
    message.header.msgh_local_port = mig_get_reply_port();
    message.header.msgh_id = id;
    message.value[0] = first;
    message.value[1] = second;
    code = mach_msg(&message.header, MACH_SEND_MSG | MACH_RCV_MSG | MACH_RCV_TIMEOUT, sizeof message, sizeof message,
                    message.header.msgh_local_port, PATIENCE, 0);
    if (code != S) return code;
    *sum = message.value[0];
    return S;
}

kern_return_t cast(mach_port_t port, int id, int value) {
    add_message message;
    memset(&message, 0, sizeof message);
    message.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, 0);
    message.header.msgh_remote_port = port;
    message.header.msgh_id = id;
    message.value[0] = value;
    return mach_msg(&message.header, MACH_SEND_MSG, sizeof message, 0, 0, 0, 0);
}

void *serve(void *of) {
    mach_port_t port = (mach_port_t) (uintptr_t) of;
    add_message message;
    memset(&message, 0, sizeof message);
    for (;;) {
        if (mach_msg(&message.header, MACH_RCV_MSG, 0, sizeof message, port, 0, 0) != S) return NULL;
        if (message.header.msgh_id == BYE) return (void *) 1;
        enter();
        atomic_fetch_add(&by_message, 1);
        if (message.value[0] >> 24) in_order(message.value[0]);
        int sum = message.value[0] + message.value[1];
        leave();
        if (!message.header.msgh_remote_port) continue;
        message.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0);
        message.header.msgh_local_port = 0;
        message.header.msgh_id += 100;
        message.value[0] = sum;
        if (mach_msg(&message.header, MACH_SEND_MSG, sizeof message, 0, 0, 0, 0) != S) return NULL;
    }
}

pthread_t start(void *(*run)(void *), mach_port_t port) {
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, run, (void *) (uintptr_t) port) == 0);
    return thread;
}

void await_server(mach_port_t port) {
    int before = atomic_load(&by_trap), sum;
    while (atomic_load(&by_trap) == before) MUST(call(port, ADD, 1, 1, &sum) == S && sum == 2);
}
