/* Threads that wait for each other: semaphores, and words of memory. */
#include "check.h"

#include <mach/gnumach.h>
#include <mach/mach.h>
#include <mach/mach_time.h>
#include <mach/semaphore.h>
#include <mach/vm_param.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define self mach_task_self()
#define S KERN_SUCCESS

static semaphore_t make(int value) {
    semaphore_t semaphore;
    MUST(semaphore_create(self, &semaphore, SYNC_POLICY_FIFO, value) == S);
    return semaphore;
}

struct waiter {
    semaphore_t ready, on;
    kern_return_t code;
};

static void *wait_on(void *argument) {
    struct waiter *waiter = argument;
    waiter->code = semaphore_wait_signal(waiter->on, waiter->ready);
    return NULL;
}

/* Threads that wait, or are about to: they have found their semaphore, so they get what it is told from now on. */
static void settle(pthread_t *threads, struct waiter *waiters, int n, semaphore_t on) {
    const semaphore_t ready = make(0);
    for (int i = 0; i < n; i++) {
        waiters[i] = (struct waiter) {ready, on, -1};
        MUST(pthread_create(&threads[i], NULL, wait_on, &waiters[i]) == 0);
        CHECK_CODE(semaphore_wait(ready), S);
    }
    CHECK_CODE(semaphore_destroy(self, ready), S);
}

static void test_counts(void) {
    const mach_timespec_t none = {0, 0}, little = {0, 20000000}, wrong = {0, 1000000000};
    semaphore_t semaphore = make(2), other = make(0);
    CHECK_CODE(semaphore_wait(semaphore), S);
    CHECK_CODE(semaphore_wait(semaphore), S);
    CHECK_CODE(semaphore_timedwait(semaphore, none), KERN_OPERATION_TIMED_OUT);
    const uint64_t start = mach_absolute_time();
    CHECK_CODE(semaphore_timedwait(semaphore, little), KERN_OPERATION_TIMED_OUT);
    CHECK(mach_absolute_time() - start >= 20000000);
    CHECK_CODE(semaphore_timedwait(semaphore, wrong), KERN_INVALID_VALUE);
    CHECK_CODE(semaphore_signal_all(semaphore), S);
    CHECK_CODE(semaphore_timedwait(semaphore, none), KERN_OPERATION_TIMED_OUT);
    CHECK_CODE(semaphore_signal(semaphore), S);
    CHECK_CODE(semaphore_timedwait_signal(semaphore, other, none), S);
    CHECK_CODE(semaphore_wait(other), S);
    CHECK_CODE(semaphore_signal(self), KERN_INVALID_ARGUMENT);
    CHECK_CODE(semaphore_create(self, &semaphore, 9, 0), KERN_INVALID_ARGUMENT);
    CHECK_CODE(semaphore_create(self, &semaphore, SYNC_POLICY_FIFO, -1), KERN_INVALID_ARGUMENT);
    CHECK_CODE(semaphore_create(self, NULL, SYNC_POLICY_FIFO, 0), KERN_INVALID_ARGUMENT);
    CHECK_CODE(semaphore_destroy(self, semaphore), S);
    CHECK_CODE(semaphore_destroy(self, semaphore), KERN_INVALID_ARGUMENT);
    CHECK_CODE(semaphore_wait(semaphore), KERN_INVALID_ARGUMENT);
    mach_port_type_t type;
    CHECK_CODE(mach_port_type(self, semaphore, &type), S);
    CHECK(type == MACH_PORT_TYPE_DEAD_NAME);
    CHECK_CODE(semaphore_destroy(self, other), S);
}

enum { THREADS = 4 };

static void test_waiters(void) {
    pthread_t threads[THREADS];
    struct waiter waiters[THREADS];
    semaphore_t semaphore = make(0);
    settle(threads, waiters, THREADS, semaphore);
    for (int i = 0; i < THREADS; i++) CHECK_CODE(semaphore_signal(semaphore), S);
    for (int i = 0; i < THREADS; i++) {
        MUST(pthread_join(threads[i], NULL) == 0);
        CHECK_CODE(waiters[i].code, S);
    }
    settle(threads, waiters, THREADS, semaphore);
    CHECK_CODE(semaphore_destroy(self, semaphore), S);
    for (int i = 0; i < THREADS; i++) {
        MUST(pthread_join(threads[i], NULL) == 0);
        CHECK_CODE(waiters[i].code, KERN_TERMINATED);
    }
}

static unsigned word;
static kern_return_t woken;

static void *sleep_there(void *argument) {
    woken = gsync_wait(self, (vm_offset_t) argument, 5, 0, 0, 0);
    return NULL;
}

/* What is only looked at need not be writable. */
static void test_read_only(void) {
    vm_address_t page = 0;
    MUST(vm_allocate(self, &page, vm_page_size, TRUE) == S);
    MUST(vm_protect(self, page, vm_page_size, FALSE, VM_PROT_READ) == S);
    CHECK_CODE(gsync_wait(self, page, 5, 0, 0, 0), KERN_INVALID_ARGUMENT);
    CHECK_CODE(gsync_wait(self, page, 0, 0, 1, GSYNC_TIMED), KERN_TIMEDOUT);
    CHECK_CODE(gsync_wake(self, page, 0, 0), KERN_INVALID_ARGUMENT);
    CHECK_CODE(gsync_requeue(self, page, page, FALSE, 0), KERN_INVALID_ARGUMENT);
    CHECK_CODE(gsync_wake(self, page, 1, GSYNC_MUTATE), KERN_INVALID_ADDRESS);
    CHECK_CODE(vm_deallocate(self, page, vm_page_size), S);
    CHECK_CODE(gsync_wake(self, page, 0, 0), KERN_INVALID_ADDRESS);
}

/* Requeued sleepers are woken at the other word: one at a time, or all. */
static void test_requeue(void) {
    enum { SLEEPERS = 4 };
    static unsigned other;
    const vm_offset_t at = (vm_offset_t) &word, to = (vm_offset_t) &other;
    pthread_t threads[SLEEPERS];
    for (int broadcast = 0; broadcast < 2; broadcast++) {
        word = 5;
        for (int i = 0; i < SLEEPERS; i++) MUST(pthread_create(&threads[i], NULL, sleep_there, &word) == 0);
        int moved = 0, moves = 0;
        while (moved < SLEEPERS) {
            if (gsync_requeue(self, at, to, FALSE, broadcast ? GSYNC_BROADCAST : 0) != S) {
                sched_yield();
                continue;
            }
            moves++;
            while (gsync_wake(self, to, 0, 0) == S) moved++;
        }
        CHECK(broadcast ? moves <= SLEEPERS : moves == SLEEPERS);
        for (int i = 0; i < SLEEPERS; i++) MUST(pthread_join(threads[i], NULL) == 0);
        CHECK(woken == S);
    }
    /* One is woken, and one moved. */
    for (int i = 0; i < 2; i++) MUST(pthread_create(&threads[i], NULL, sleep_there, &word) == 0);
    int gone = 0;
    while (gone < 2) {
        if (gsync_requeue(self, at, to, TRUE, 0) != S) {
            sched_yield();
            continue;
        }
        gone++;
        if (gsync_wake(self, to, 0, 0) == S) gone++;
    }
    for (int i = 0; i < 2; i++) MUST(pthread_join(threads[i], NULL) == 0);
}

static void test_words(void) {
    const vm_offset_t at = (vm_offset_t) &word;
    pthread_t thread;
    word = 5;
    CHECK_CODE(gsync_wait(self, at, 6, 0, 0, 0), KERN_INVALID_ARGUMENT);
    CHECK_CODE(gsync_wait(self, at, 5, 0, 20, GSYNC_TIMED), KERN_TIMEDOUT);
    CHECK_CODE(gsync_wait(self, at + 1, 5, 0, 0, 0), KERN_INVALID_ADDRESS);
    CHECK_CODE(gsync_wait(self, 16, 5, 0, 0, 0), KERN_INVALID_ADDRESS);
    CHECK_CODE(gsync_wait(self, at, 5, 0, 0, GSYNC_QUAD), KERN_INVALID_ARGUMENT);
    CHECK_CODE(gsync_wait(MACH_PORT_NULL, at, 5, 0, 0, 0), KERN_INVALID_TASK);
    CHECK_CODE(gsync_wake(self, at, 0, GSYNC_BROADCAST), KERN_INVALID_ARGUMENT);
    CHECK_CODE(gsync_requeue(self, at, at, TRUE, GSYNC_BROADCAST), KERN_INVALID_ARGUMENT);
    MUST(pthread_create(&thread, NULL, sleep_there, &word) == 0);
    while (gsync_wake(self, at, 0, 0) == KERN_INVALID_ARGUMENT) sched_yield();
    MUST(pthread_join(thread, NULL) == 0);
    CHECK(word == 5 && woken == S);
    /* It sleeps, or comes when the word has changed. */
    MUST(pthread_create(&thread, NULL, sleep_there, &word) == 0);
    const kern_return_t code = gsync_wake(self, at, 7, GSYNC_MUTATE);
    MUST(pthread_join(thread, NULL) == 0);
    CHECK(word == 7 && (code == S || code == KERN_INVALID_ARGUMENT) && woken == code);
    test_read_only();
    CHECK_CODE(gsync_requeue(self, at, at + 2, TRUE, 0), KERN_INVALID_ADDRESS);
    /* Between processes, in both directions. */
    vm_address_t memory = 0;
    MUST(vm_map(self, &memory, vm_page_size, 0, TRUE, 0, 0, FALSE, VM_PROT_DEFAULT, VM_PROT_DEFAULT, VM_INHERIT_SHARE) == S);
    volatile unsigned *turn = (volatile unsigned *) memory;
    pid_t child = fork();
    const unsigned mine = child == 0 ? 1 : 0;
    for (int i = 0; i < 200; i++) {
        while (*turn != mine) gsync_wait(mach_task_self(), memory, 1 - mine, 0, 0, GSYNC_SHARED);
        gsync_wake(mach_task_self(), memory, 1 - mine, GSYNC_SHARED | GSYNC_MUTATE);
    }
    if (child == 0) _exit(0);
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    test_requeue();
    CHECK_CODE(vm_deallocate(self, memory, vm_page_size), S);
}

int main(void) {
    watchdog(60);
    test_counts();
    test_waiters();
    test_words();
    return checks_done("sync");
}
