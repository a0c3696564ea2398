/* Threads and tasks that are suspended: of this task, and of a child, whose library serves its ports meanwhile. */
#include "ports.h"

#include <mach/mach_time.h>
#include <mach/thread_status.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TASK = 40, PORT = 41, THREAD = 42, ECHO = 50, RESUMED = 60, LOOKS = 2000, FORKS = 50 };

/* How long one looks on a machine where each look takes long, in nanoseconds. */
enum { ENOUGH = 100000000 };

#if defined(__x86_64__)
typedef struct i386_thread_state registers;
#define FLAVOR i386_THREAD_STATE
#define FIRST(state) (state)->rdi
#define PC(state) (state)->rip
#else
typedef struct aarch64_thread_state registers;
#define FLAVOR AARCH64_THREAD_STATE
#define FIRST(state) (state)->x[0]
#define PC(state) (state)->pc
#endif
#define COUNT ((mach_msg_type_number_t) (sizeof(registers) / sizeof(natural_t)))

/* What threads count and say; shared with the child. */
static struct {
    atomic_uint turns;
    atomic_int ends, ready, interrupted, passed;
    _Atomic mach_port_t thread;
} *shared;

/* Goes round until it is told to end. */
static void *turn(void *argument) {
    shared->thread = mach_thread_self();
    while (!shared->ends) shared->turns++;
    return argument;
}

static void await_turn(void) {
    const unsigned before = shared->turns;
    while (shared->turns == before) sched_yield();
}

static int stands_still(void) {
    const unsigned before = shared->turns;
    const uint64_t start = mach_absolute_time();
    for (int i = 0; i < LOOKS && mach_absolute_time() - start < ENOUGH; i++) sched_yield();
    return shared->turns == before;
}

static thread_basic_info_data_t info_of(mach_port_t thread) {
    thread_basic_info_data_t info;
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    memset(&info, 0, sizeof info);
    CHECK_CODE(thread_info(thread, THREAD_BASIC_INFO, (thread_info_t) &info, &count), S);
    return info;
}

static mach_port_t begin(pthread_t *thread, void *(*run)(void *)) {
    shared->thread = MACH_PORT_NULL;
    MUST(pthread_create(thread, NULL, run, NULL) == 0);
    while (shared->thread == MACH_PORT_NULL) sched_yield();
    return shared->thread;
}

static void test_thread(void) {
    pthread_t thread;
    registers state;
    mach_msg_type_number_t count = COUNT;
    const mach_port_t port = begin(&thread, turn);
    await_turn();
    CHECK_CODE(thread_resume(port), KERN_FAILURE);
    CHECK_CODE(thread_get_state(port, FLAVOR, (thread_state_t) &state, &count), KERN_FAILURE);
    CHECK_CODE(thread_suspend(port), S);
    CHECK(stands_still());
    CHECK(info_of(port).suspend_count == 1 && info_of(port).run_state == TH_STATE_STOPPED);
    CHECK_CODE(thread_get_state(port, FLAVOR, (thread_state_t) &state, &count), S);
    CHECK_CODE(thread_suspend(port), S);
    CHECK_CODE(thread_resume(port), S);
    CHECK(stands_still());
    CHECK_CODE(thread_resume(port), S);
    await_turn();
    CHECK(info_of(port).suspend_count == 0);
    CHECK_CODE(thread_resume(port), KERN_FAILURE);
    shared->ends = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    shared->ends = 0;
    CHECK_CODE(thread_suspend(port), KERN_INVALID_ARGUMENT);
    CHECK_CODE(thread_suspend(self), KERN_INVALID_ARGUMENT);
}

/* The loop of `spin`: its first instruction, and what follows it. */
extern const char loop_begins[], loop_ends[];

/* Waits for a register that nothing in the program changes. */
static __attribute__((noinline, noclone)) void *spin(void *argument) {
    shared->thread = mach_thread_self();
#if defined(__x86_64__)
    __asm__ volatile("xor %%edi, %%edi\nloop_begins: test %%rdi, %%rdi\njz loop_begins\nloop_ends:" ::: "rdi", "cc");
#else
    __asm__ volatile("mov x0, 0\nloop_begins: cbz x0, loop_begins\nloop_ends:" ::: "x0");
#endif
    return argument;
}

static void test_state(void) {
    pthread_t thread;
    registers state;
    mach_msg_type_number_t count = COUNT;
    const mach_port_t port = begin(&thread, spin);
    int in_loop = 0;
    while (!in_loop) {
        CHECK_CODE(thread_suspend(port), S);
        CHECK_CODE(thread_get_state(port, FLAVOR, (thread_state_t) &state, &count), S);
        /* Elsewhere the register is another's. */
        in_loop = PC(&state) >= (uintptr_t) loop_begins && PC(&state) < (uintptr_t) loop_ends;
        if (in_loop) {
            FIRST(&state) = 1;
            CHECK_CODE(thread_set_state(port, FLAVOR, (thread_state_t) &state, count), S);
        }
        CHECK_CODE(thread_resume(port), S);
        sched_yield();
    }
    CHECK(pthread_join(thread, NULL) == 0);
}

/* Suspends itself, and waits for a message until somebody ends that. */
static void *sleeper(void *argument) {
    mach_msg_header_t message;
    const mach_port_t own = mach_thread_self(), port = make_port();
    shared->thread = own;
    CHECK_CODE(thread_suspend(own), S);
    shared->ready = 1;
    CHECK_CODE(mach_msg(&message, MACH_RCV_MSG | MACH_RCV_INTERRUPT, 0, sizeof message, port, 0, 0), MACH_RCV_INTERRUPTED);
    shared->interrupted = 1;
    /* Its port is its name as long as it lives. */
    while (!shared->ends) sched_yield();
    return argument;
}

/* Takes no signals. */
static void *deaf(void *argument) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    CHECK_CODE(thread_suspend(mach_thread_self()), KERN_FAILURE);
    CHECK(info_of(mach_thread_self()).suspend_count == 0);
    return turn(argument);
}

static void test_others(void) {
    pthread_t thread;
    mach_port_t port = begin(&thread, sleeper);
    while (thread_resume(port) != S) sched_yield();
    while (!shared->ready) sched_yield();
    while (!shared->interrupted) {
        CHECK_CODE(thread_abort(port), S);
        sched_yield();
    }
    shared->ends = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    shared->ends = 0;
    port = begin(&thread, deaf);
    CHECK_CODE(thread_suspend(port), KERN_FAILURE);
    CHECK_CODE(task_suspend(self), KERN_FAILURE);
    CHECK_CODE(task_resume(self), KERN_FAILURE);
    await_turn();
    shared->ends = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    shared->ends = 0;
}

/* Suspends a thread and has it go on, all the time. */
static void *interrupts(void *port) {
    while (!shared->passed) {
        CHECK_CODE(thread_suspend((mach_port_t) (uintptr_t) port), S);
        CHECK_CODE(thread_resume((mach_port_t) (uintptr_t) port), S);
    }
    return port;
}

/* What another thread did at the time of a fork is nothing to the child. */
static void test_forks(void) {
    pthread_t thread, other;
    const mach_port_t port = begin(&thread, turn);
    MUST(pthread_create(&other, NULL, interrupts, (void *) (uintptr_t) port) == 0);
    for (int i = 0; i < FORKS; i++) {
        int status = -1;
        const pid_t pid = fork();
        if (pid == 0) {
            watchdog(60);
            const mach_port_t own = mach_thread_self();
            _exit(thread_resume(own) != KERN_FAILURE || thread_abort(own) != S);
        }
        MUST(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    shared->passed = 1;
    CHECK(pthread_join(other, NULL) == 0);
    shared->ends = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    shared->ends = 0;
}

/* Answers messages in one thread, and counts in another; in the end it suspends itself. */
static void child(void) {
    pthread_t thread;
    mach_port_t parent = MACH_PORT_NULL;
    MUST(task_get_bootstrap_port(self, &parent) == S);
    const mach_port_t port = make_port(), counting = begin(&thread, turn);
    send(parent, TASK, self);
    send(parent, PORT, port);
    send(parent, THREAD, counting);
    for (int i = 0; i < 12; i++) {
        receive(port, ECHO);
        send(parent, ECHO, port);
    }
    CHECK_CODE(task_suspend(self), S);
    send(parent, RESUMED, port);
    receive(port, ECHO);
}

static void test_task(void) {
    int status = -1;
    registers state;
    mach_msg_type_number_t count = COUNT;
    task_basic_info_data_t info;
    thread_array_t threads;
    vm_offset_t data;
    const mach_port_t port = make_port();
    MUST(task_set_bootstrap_port(self, port) == S);
    const pid_t pid = fork();
    if (pid == 0) {
        /* No other signal ends one that stays suspended. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        watchdog(60);
        child();
        _exit(checks_failed > 0);
    }
    const mach_port_t task = receive(port, TASK), there = receive(port, PORT), thread = receive(port, THREAD);
    /* So that a thread of the child's looks at the line itself. */
    for (int i = 0; i < 10; i++) {
        send(there, ECHO, port);
        receive(port, ECHO);
    }
    CHECK_CODE(task_resume(task), KERN_FAILURE);
    CHECK_CODE(task_suspend(task), S);
    CHECK(stands_still());
    CHECK_CODE(task_suspend(task), S);
    CHECK_CODE(task_resume(task), S);
    CHECK(stands_still());
    /* It answers all the same. */
    count = TASK_BASIC_INFO_COUNT;
    CHECK_CODE(task_info(task, TASK_BASIC_INFO, (task_info_t) &info, &count), S);
    CHECK(info.suspend_count == 1);
    CHECK_CODE(vm_read(task, (vm_address_t) shared, sizeof *shared, &data, &count), S);
    CHECK_CODE(vm_deallocate(self, data, count), S);
    CHECK_CODE(task_threads(task, &threads, &count), S);
    CHECK(count >= 3);
    CHECK_CODE(vm_deallocate(self, (vm_address_t) threads, count * sizeof *threads), S);
    count = COUNT;
    CHECK_CODE(thread_get_state(thread, FLAVOR, (thread_state_t) &state, &count), S);
    CHECK(count == COUNT);
    count = COUNT - 1;
    CHECK_CODE(thread_get_state(thread, FLAVOR, (thread_state_t) &state, &count), KERN_INVALID_ARGUMENT);
    CHECK_CODE(thread_suspend(thread), S);
    CHECK(info_of(thread).suspend_count == 1);
    send(there, ECHO, port);
    CHECK_CODE(task_resume(task), S);
    receive(port, ECHO);
    CHECK(stands_still());
    CHECK_CODE(thread_resume(thread), S);
    await_turn();
    CHECK_CODE(thread_resume(thread), KERN_FAILURE);
    CHECK_CODE(thread_terminate(thread), KERN_FAILURE);
    CHECK_CODE(thread_abort(thread), S);
    send(there, ECHO, port);
    receive(port, ECHO);
    while (task_resume(task) != S) sched_yield();
    receive(port, RESUMED);
    send(there, ECHO, port);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
    watchdog(300);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(shared != MAP_FAILED);
    test_thread();
    test_state();
    test_others();
    test_forks();
    test_task();
    return checks_done("suspend");
}
