/*
 * Calls in place of messages within one task: when a call is made and when a message is sent, order, turns, re-entry,
 * exceptions, withdrawal. Client and server are threads of this program.
 */
#include "adder.h"
#include "check.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A table as programs had it that were compiled before there was a context, with nothing behind it to read. */
static void old_tables(mach_port_t port) {
    const struct {
        uint32_t version;
        mach_msg_id_t base;
        uint32_t count;
        const struct mach_trap_entry *trap;
    } old = {1, BASE, 5, table.trap};
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    void *last = memcpy(pages + page - sizeof old, &old, sizeof old);
    CHECK_CODE(mach_port_register_traps(self, port, last, 0), KERN_INVALID_ARGUMENT);
    int sum;
    add_arguments arguments = {1, 2, &sum};
    kern_return_t code;
    CHECK(!mach_trap(port, ADD, SIGNATURE, &arguments, &code));
    munmap(pages, 2 * page);
}

static void registration(void) {
    mach_port_t port = make_port(), set;
    mach_trap_table_t wrong = table;
    CHECK_CODE(mach_port_register_traps(MACH_PORT_NULL, port, &table, MACH_TRAP_SERIAL), KERN_INVALID_TASK);
    CHECK_CODE(mach_port_register_traps(self, 12345678, &table, MACH_TRAP_SERIAL), KERN_INVALID_NAME);
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_PORT_SET, &set) == S);
    CHECK_CODE(mach_port_register_traps(self, set, &table, MACH_TRAP_SERIAL), KERN_INVALID_RIGHT);
    CHECK_CODE(mach_port_register_traps(self, port, &table, 2), KERN_INVALID_ARGUMENT);
    wrong.version = MACH_TRAP_VERSION + 1;
    CHECK_CODE(mach_port_register_traps(self, port, &wrong, 0), KERN_INVALID_ARGUMENT);
    wrong = table;
    wrong.trap = NULL;
    CHECK_CODE(mach_port_register_traps(self, port, &wrong, 0), KERN_INVALID_ARGUMENT);
    old_tables(port);
    CHECK_CODE(mach_port_register_traps(self, port, NULL, 0), KERN_SUCCESS);
    mach_port_destroy(self, port);
}

static void when_a_call_is_made(void) {
    mach_port_t port = make_port();
    int sum = 0;
    add_arguments arguments = {1, 2, &sum};
    kern_return_t code = -1;
    CHECK(!mach_trap(port, ADD, SIGNATURE, &arguments, &code));
    MUST(mach_port_register_traps(self, port, &table, MACH_TRAP_CONCURRENT) == S);
    CHECK(mach_trap(port, ADD, SIGNATURE, &arguments, &code) && code == S && sum == 3);
    CHECK(mach_trap(port, FAIL, SIGNATURE, &arguments, &code) && code == 4711);
    CHECK(!mach_trap(port, ADD, SIGNATURE + 1, &arguments, &code));
    CHECK(!mach_trap(port, BYE, SIGNATURE, &arguments, &code));
    CHECK(!mach_trap(port, BASE - 1, SIGNATURE, &arguments, &code));
    CHECK(!mach_trap(port, BASE + 5, SIGNATURE, &arguments, &code));
    /* A second table beside the first. */
    MUST(mach_port_register_traps(self, port, &other_table, MACH_TRAP_CONCURRENT) == S);
    CHECK(mach_trap(port, 6000, SIGNATURE, &arguments, &code) && code == MIG_SERVER_DIED);
    CHECK(mach_trap(port, ADD, SIGNATURE, &arguments, &code) && code == S);
    CHECK(mach_trap(port, 6000, SIGNATURE, &arguments, &code) && code == MIG_SERVER_DIED);
    /* A message that waits goes first. */
    MUST(cast(port, ADD, 0) == S);
    CHECK(!mach_trap(port, ADD, SIGNATURE, &arguments, &code));
    add_message message;
    MUST(mach_msg(&message.header, MACH_RCV_MSG, 0, sizeof message, port, 0, 0) == S);
    CHECK(mach_trap(port, ADD, SIGNATURE, &arguments, &code));
    /* The name is not a send right any more. */
    MUST(mach_port_mod_refs(self, port, MACH_PORT_RIGHT_SEND, -1) == S);
    CHECK(!mach_trap(port, ADD, SIGNATURE, &arguments, &code));
    MUST(mach_port_insert_right(self, port, port, MACH_MSG_TYPE_MAKE_SEND) == S);
    CHECK(mach_trap(port, ADD, SIGNATURE, &arguments, &code));
    MUST(mach_port_rename(self, port, 0x7654321) == S);
    CHECK(!mach_trap(port, ADD, SIGNATURE, &arguments, &code));
    CHECK(mach_trap(0x7654321, ADD, SIGNATURE, &arguments, &code));
    MUST(mach_port_register_traps(self, 0x7654321, NULL, 0) == S);
    CHECK(!mach_trap(0x7654321, ADD, SIGNATURE, &arguments, &code));
    MUST(mach_port_register_traps(self, 0x7654321, &table, MACH_TRAP_CONCURRENT) == S);
    CHECK(mach_trap(0x7654321, ADD, SIGNATURE, &arguments, &code));
    MUST(mach_port_mod_refs(self, 0x7654321, MACH_PORT_RIGHT_RECEIVE, -1) == S);
    CHECK(!mach_trap(0x7654321, ADD, SIGNATURE, &arguments, &code));
    CHECK_CODE(call(0x7654321, ADD, 1, 1, &sum), MACH_SEND_INVALID_DEST);
}

static void one_at_a_time(void) {
    mach_port_t port = make_port();
    int sum = 0;
    add_arguments arguments = {1, 2, &sum};
    kern_return_t code;
    MUST(mach_port_register_traps(self, port, &table, MACH_TRAP_SERIAL) == S);
    CHECK(!mach_trap(port, ADD, SIGNATURE, &arguments, &code));
    pthread_t server = start(serve, port);
    is_client = 1;
    await_server(port);
    CHECK(atomic_load(&served_by_self) > 0);
    /* Through a port set, with a port that has no routines. */
    MUST(cast(port, BYE, 0) == S && pthread_join(server, NULL) == 0);
    CHECK(!mach_trap(port, ADD, SIGNATURE, &arguments, &code));
    mach_port_t set, plain = make_port();
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_PORT_SET, &set) == S);
    MUST(mach_port_move_member(self, port, set) == S && mach_port_move_member(self, plain, set) == S);
    server = start(serve, set);
    await_server(port);
    MUST(cast(plain, ADD, 1) == S);
    await_server(port);
    MUST(cast(plain, BYE, 0) == S && pthread_join(server, NULL) == 0);
    CHECK(!mach_trap(port, ADD, SIGNATURE, &arguments, &code));
    mach_port_destroy(self, set);
    server = start(serve, port);
    await_server(port);
    MUST(cast(port, BYE, 0) == S && pthread_join(server, NULL) == 0);
    is_client = 0;
    mach_port_destroy(self, port);
    mach_port_destroy(self, plain);
}

static atomic_int clients_begun;

static void *load(void *of) {
    mach_port_t port = (mach_port_t) (uintptr_t) of;
    int sum, wrong = 0, next = (atomic_fetch_add(&clients_begun, 1) % 7 + 1) << 24;
    for (int i = 0; i < 20000; i++) {
        if (i % 7 == 0 && cast(port, ADD, ++next) != S) wrong++;
        if (call(port, ADD, ++next, 1, &sum) != S || sum != next + 1) wrong++;
    }
    return (void *) (intptr_t) wrong;
}

/* A server whose waits end by themselves, and which then does something of its own: never while a call is made. */
static void *serve_and_tick(void *of) {
    mach_port_t port = (mach_port_t) (uintptr_t) of;
    add_message message;
    for (;;) {
        mach_msg_return_t code = mach_msg(&message.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof message, port, 1, 0);
        enter();
        if (code == S && message.header.msgh_id == BYE) return leave(), (void *) 1;
        if (code == S) {
            atomic_fetch_add(&by_message, 1);
            if (message.value[0] >> 24) in_order(message.value[0]);
            message.value[0] += message.value[1];
        }
        leave();
        if (code == MACH_RCV_TIMED_OUT || (code == S && !message.header.msgh_remote_port)) continue;
        if (code != S) return NULL;
        message.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0);
        message.header.msgh_local_port = 0;
        message.header.msgh_id += 100;
        if (mach_msg(&message.header, MACH_SEND_MSG, sizeof message, 0, 0, 0, 0) != S) return NULL;
    }
}

static void under_load(void *(*server_loop)(void *)) {
    mach_port_t port = make_port();
    MUST(mach_port_register_traps(self, port, &table, MACH_TRAP_SERIAL) == S);
    pthread_t server = start(server_loop, port), clients[3];
    atomic_store(&most, 0);
    atomic_store(&clients_begun, 0);
    for (int i = 0; i < 8; i++) atomic_store(&last[i], 0);
    atomic_store(&by_trap, 0);
    atomic_store(&by_message, 0);
    for (int i = 0; i < 3; i++) clients[i] = start(load, port);
    for (int i = 0; i < 3; i++) {
        void *wrong;
        MUST(pthread_join(clients[i], &wrong) == 0);
        CHECK(wrong == NULL);
    }
    await_server(port);
    CHECK(atomic_load(&most) == 1);
    CHECK(atomic_load(&out_of_order) == 0);
    CHECK(atomic_load(&by_message) > 0 && atomic_load(&by_trap) > 0);
    CHECK(atomic_load(&by_message) + atomic_load(&by_trap) >= 3 * 20000);
    fprintf(stderr, "    under load: %d by message, %d by call\n", atomic_load(&by_message), atomic_load(&by_trap));
    MUST(cast(port, BYE, 0) == S && pthread_join(server, NULL) == 0);
    mach_port_destroy(self, port);
}

static atomic_int stop;

/* Registers and withdraws the routines, renames the port, and puts it into a set and takes it out. */
static void *changes(void *of) {
    mach_port_t port = (mach_port_t) (uintptr_t) of, set;
    int wrong = mach_port_allocate(self, MACH_PORT_RIGHT_PORT_SET, &set) != S;
    for (int i = 0; !atomic_load(&stop); i++) {
        wrong += mach_port_register_traps(self, port, &table, i % 2 ? MACH_TRAP_SERIAL : MACH_TRAP_CONCURRENT) != S;
        wrong += mach_port_move_member(self, port, set) != S;
        for (int j = 0; j < 200; j++) sched_yield();
        wrong += mach_port_move_member(self, port, MACH_PORT_NULL) != S;
        for (int j = 0; j < 200; j++) sched_yield();
        if (i % 3 == 0) wrong += mach_port_register_traps(self, port, NULL, 0) != S;
    }
    return (void *) (intptr_t) wrong;
}

/* Receives from the port, whether it is in a set or not. */
static void *serve_through_changes(void *of) {
    mach_port_t port = (mach_port_t) (uintptr_t) of;
    add_message message;
    for (;;) {
        mach_msg_return_t code = mach_msg(&message.header, MACH_RCV_MSG, 0, sizeof message, port, 0, 0);
        if (code == MACH_RCV_IN_SET || code == MACH_RCV_PORT_CHANGED) {
            sched_yield();
            continue;
        }
        if (code != S || message.header.msgh_id == BYE) return (void *) (intptr_t) (code == S);
        message.value[0] += message.value[1];
        message.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0);
        message.header.msgh_local_port = 0;
        message.header.msgh_id += 100;
        if (mach_msg(&message.header, MACH_SEND_MSG, sizeof message, 0, 0, 0, 0) != S) return NULL;
    }
}

static void *calls_often(void *of) {
    int sum, wrong = 0;
    for (int i = 0; i < 20000; i++) {
        if (call((mach_port_t) (uintptr_t) of, ADD, i, 1, &sum) != S || sum != i + 1) wrong++;
    }
    return (void *) (intptr_t) wrong;
}

static void while_all_changes(void) {
    mach_port_t port = make_port();
    pthread_t changer = start(changes, port), server = start(serve_through_changes, port), clients[2];
    void *wrong;
    for (int i = 0; i < 2; i++) clients[i] = start(calls_often, port);
    for (int i = 0; i < 2; i++) {
        MUST(pthread_join(clients[i], &wrong) == 0);
        CHECK(wrong == NULL);
    }
    atomic_store(&stop, 1);
    MUST(pthread_join(changer, &wrong) == 0);
    CHECK(wrong == NULL);
    MUST(cast(port, BYE, 0) == S && pthread_join(server, &wrong) == 0);
    CHECK(wrong == (void *) 1);
    mach_port_destroy(self, port);
}

/* A child that is made within a call comes back from it into a task of its own. */
static kern_return_t forks(mach_port_t request, void *arguments, void *context) {
    (void) request;
    (void) context;
    *((add_arguments *) arguments)->sum = (int) fork();
    return S;
}

static void forks_within(void) {
    const struct mach_trap_entry entry = {forks, SIGNATURE};
    const mach_trap_table_t forking = {MACH_TRAP_VERSION, BASE, 1, &entry, NULL};
    mach_port_t port = make_port(), own;
    int child = -1, status = -1;
    add_arguments arguments = {0, 0, &child};
    kern_return_t code;
    MUST(mach_port_register_traps(self, port, &forking, MACH_TRAP_CONCURRENT) == S);
    MUST(mach_trap(port, BASE, SIGNATURE, &arguments, &code) && code == S);
    if (child == 0) {
        if (mach_trap(port, BASE, SIGNATURE, &arguments, &code)) _exit(1);
        if (mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, &own) != S) _exit(2);
        if (mach_port_insert_right(self, own, own, MACH_MSG_TYPE_MAKE_SEND) != S) _exit(3);
        if (mach_port_register_traps(self, own, &table, MACH_TRAP_CONCURRENT) != S) _exit(4);
        if (call(own, ADD, 1, 2, &status) != S || status != 3) _exit(5);
        _exit(0);
    }
    MUST(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(mach_trap(port, BASE + 1, SIGNATURE, &arguments, &code) == 0);
    mach_port_destroy(self, port);
}

static void nested_and_circular(void) {
    mach_port_t outer = make_port(), inner = make_port();
    int sum = 0;
    MUST(mach_port_register_traps(self, outer, &table, MACH_TRAP_SERIAL) == S);
    MUST(mach_port_register_traps(self, inner, &table, MACH_TRAP_SERIAL) == S);
    pthread_t servers[2] = {start(serve, outer), start(serve, inner)};
    await_server(outer);
    await_server(inner);
    add_arguments to_inner = {(int) inner, 0, &sum}, to_outer = {(int) outer, 0, &sum};
    kern_return_t code = -1;
    CHECK(mach_trap(outer, NEST, SIGNATURE, &to_inner, &code));
    CHECK_CODE(code, S);
    CHECK(sum == 42);
    CHECK(mach_trap(outer, NEST, SIGNATURE, &to_outer, &code));
    CHECK_CODE(code, MACH_TRAP_DEADLOCK);
    CHECK(mach_trap(inner, NEST, SIGNATURE, &to_outer, &code));
    CHECK_CODE(code, S);
    MUST(cast(outer, BYE, 0) == S && cast(inner, BYE, 0) == S);
    MUST(pthread_join(servers[0], NULL) == 0 && pthread_join(servers[1], NULL) == 0);
    /* A server that calls itself, while it is at work on a message. */
    add_arguments arguments = {1, 2, &sum};
    add_message message;
    MUST(cast(outer, ADD, 1) == S);
    MUST(mach_msg(&message.header, MACH_RCV_MSG, 0, sizeof message, outer, 0, 0) == S);
    CHECK(mach_trap(outer, ADD, SIGNATURE, &arguments, &code));
    CHECK_CODE(code, MACH_TRAP_DEADLOCK);
    CHECK_CODE(mach_msg(&message.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof message, outer, 0, 0), MACH_RCV_TIMED_OUT);
    CHECK(!mach_trap(outer, ADD, SIGNATURE, &arguments, &code));
    mach_port_destroy(self, outer);
    mach_port_destroy(self, inner);
}

static void *exits(void *of) {
    int sum;
    call((mach_port_t) (uintptr_t) of, LEAVE, 1, 2, &sum);
    return NULL;
}

static void ends_of_threads(void) {
    mach_port_t port = make_port();
    void *result = NULL;
    MUST(mach_port_register_traps(self, port, &table, MACH_TRAP_SERIAL) == S);
    pthread_t server = start(serve, port);
    await_server(port);
    MUST(pthread_join(start(exits, port), &result) == 0);
    CHECK(result == (void *) 99);
    await_server(port);
    MUST(cast(port, BYE, 0) == S && pthread_join(server, NULL) == 0);
    mach_port_destroy(self, port);
}

static size_t in_use(void) {
    struct mallinfo2 of = mallinfo2();
    return of.uordblks + of.hblkhd;
}

/* What a routine that does not return had taken is given back: by an exception, and by the end of a thread. */
static void memory_of_calls(void) {
    mach_port_t port = make_port();
    kern_return_t code;
    void *rooms[3];
    MUST(mach_port_register_traps(self, port, &other_table, MACH_TRAP_CONCURRENT) == S);
    MUST(mach_port_register_traps(self, port, &table, MACH_TRAP_CONCURRENT) == S);
    CHECK(mach_trap(port, 6000, SIGNATURE, NULL, &code) && code == MIG_SERVER_DIED);
    size_t before = in_use();
    for (int i = 0; i < 100; i++) CHECK(mach_trap(port, 6000, SIGNATURE, NULL, &code) && code == MIG_SERVER_DIED);
    for (int i = 0; i < 100; i++) MUST(pthread_join(start(exits, port), NULL) == 0);
    size_t after = in_use();
    CHECK(after < before + (50 << 20));
    /* Outside of a call, in any order. */
    for (int i = 0; i < 3; i++) MUST((rooms[i] = mig_trap_allocate(100 + (size_t) i)) != NULL && (uintptr_t) rooms[i] % 16 == 0);
    mig_trap_free(rooms[1]);
    mig_trap_free(rooms[0]);
    mig_trap_free(rooms[2]);
    CHECK(mig_trap_allocate(SIZE_MAX) == NULL && mig_trap_allocate(SIZE_MAX / 2) == NULL);
    mach_port_destroy(self, port);
}

static atomic_int held, may_go;

static kern_return_t waits(mach_port_t request, void *arguments, void *context) {
    (void) request;
    (void) arguments;
    (void) context;
    atomic_store(&held, 1);
    while (!atomic_load(&may_go)) sched_yield();
    atomic_store(&held, 2);
    return S;
}

static void *calls_once(void *of) {
    int sum;
    return (void *) (intptr_t) call((mach_port_t) (uintptr_t) of, BASE, 1, 2, &sum);
}

static void *withdraws(void *of) {
    int code = mach_port_register_traps(self, (mach_port_t) (uintptr_t) of, NULL, 0);
    return (void *) (intptr_t) (code != S ? -1 : atomic_load(&held));
}

static void withdrawal_waits(void) {
    const struct mach_trap_entry entry = {waits, SIGNATURE};
    const mach_trap_table_t slow = {MACH_TRAP_VERSION, BASE, 1, &entry, NULL};
    mach_port_t port = make_port();
    void *result;
    MUST(mach_port_register_traps(self, port, &slow, MACH_TRAP_CONCURRENT) == S);
    pthread_t caller = start(calls_once, port);
    while (atomic_load(&held) != 1) sched_yield();
    pthread_t other = start(withdraws, port);
    add_arguments arguments = {0, 0, NULL};
    kern_return_t code;
    while (mach_trap(port, BASE + 1, SIGNATURE, &arguments, &code)) sched_yield();
    atomic_store(&may_go, 1);
    MUST(pthread_join(other, &result) == 0);
    CHECK(result == (void *) 2);
    MUST(pthread_join(caller, &result) == 0);
    CHECK(result == NULL);
    mach_port_destroy(self, port);
}

int main(void) {
    watchdog(300);
    registration();
    when_a_call_is_made();
    one_at_a_time();
    under_load(serve);
    under_load(serve_and_tick);
    while_all_changes();
    forks_within();
    nested_and_circular();
    ends_of_threads();
    memory_of_calls();
    withdrawal_waits();
    return checks_done("traps");
}
