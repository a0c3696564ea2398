/* cthreads.h, function by function. */
#include "check.h"

#include <cthreads.h>

#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 10000 };

static struct mutex count_lock = MUTEX_INITIALIZER;
static struct condition changed = CONDITION_INITIALIZER;
static long total;
static int gate;

static void open_gate(void) {
    mutex_lock(&count_lock);
    gate = 1;
    condition_broadcast(&changed);
    mutex_unlock(&count_lock);
}

static void wait_for_gate(void) {
    mutex_lock(&count_lock);
    while (!gate) condition_wait(&changed, &count_lock);
    mutex_unlock(&count_lock);
}

static void close_gate(void) {
    mutex_lock(&count_lock);
    gate = 0;
    mutex_unlock(&count_lock);
}

static any_t add(any_t rounds) {
    for (intptr_t i = 0; i < (intptr_t) rounds; i++) {
        mutex_lock(&count_lock);
        total++;
        mutex_unlock(&count_lock);
        if (i % 1000 == 0) cthread_yield();
    }
    return rounds;
}

static void test_mutex(void) {
    cthread_t threads[THREADS];
    total = 0;
    for (int i = 0; i < THREADS; i++) {
        threads[i] = cthread_fork(add, (any_t) (intptr_t) (ROUNDS + i));
        MUST(threads[i] != NO_CTHREAD);
    }
    long wanted = 0;
    for (int i = 0; i < THREADS; i++) {
        CHECK(cthread_join(threads[i]) == (any_t) (intptr_t) (ROUNDS + i));
        wanted += ROUNDS + i;
    }
    CHECK(total == wanted);

    mutex_t m = mutex_alloc();
    MUST(m != MUTEX_NULL);
    CHECK(strcmp(mutex_name(m), "") == 0);
    mutex_set_name(m, "table");
    CHECK(strcmp(mutex_name(m), "table") == 0);
    CHECK(mutex_try_lock(m));
    CHECK(!mutex_try_lock(m));
    mutex_unlock(m);
    CHECK(mutex_try_lock(m));
    mutex_unlock(m);
    mutex_free(m);
    mutex_free(MUTEX_NULL);
}

static spin_lock_t spin = SPIN_LOCK_INITIALIZER;

static any_t spin_add(any_t unused) {
    for (int i = 0; i < ROUNDS; i++) {
        spin_lock(&spin);
        total++;
        spin_unlock(&spin);
    }
    return unused;
}

static void test_spin(void) {
    cthread_t threads[THREADS];
    total = 0;
    for (int i = 0; i < THREADS; i++) MUST((threads[i] = cthread_fork(spin_add, 0)) != NO_CTHREAD);
    for (int i = 0; i < THREADS; i++) cthread_join(threads[i]);
    CHECK(total == (long) THREADS * ROUNDS);
    CHECK(!spin_lock_locked(&spin));
    CHECK(spin_try_lock(&spin));
    CHECK(spin_lock_locked(&spin));
    CHECK(!spin_try_lock(&spin));
    spin_unlock(&spin);
    spin_lock_init(&spin);
    CHECK(!spin_lock_locked(&spin));
}

/* One place for a number that passes from one thread to another. */
static struct {
    struct mutex lock;
    struct condition filled, emptied;
    int full;
    long value;
} place;

static any_t produce(any_t unused) {
    for (long i = 1; i <= 1000; i++) {
        mutex_lock(&place.lock);
        while (place.full) condition_wait(&place.emptied, &place.lock);
        place.value = i;
        place.full = 1;
        condition_signal(&place.filled);
        mutex_unlock(&place.lock);
    }
    return unused;
}

static void test_condition(void) {
    mutex_init(&place.lock);
    condition_init(&place.filled);
    condition_init(&place.emptied);
    cthread_t producer = cthread_fork(produce, 0);
    MUST(producer != NO_CTHREAD);
    for (long i = 1; i <= 1000; i++) {
        mutex_lock(&place.lock);
        while (!place.full) condition_wait(&place.filled, &place.lock);
        if (place.value != i) CHECK(!"numbers come in order");
        place.full = 0;
        condition_signal(&place.emptied);
        mutex_unlock(&place.lock);
    }
    cthread_join(producer);
    CHECK(!place.full);
    condition_clear(&place.filled);
    condition_clear(&place.emptied);
    mutex_clear(&place.lock);

    condition_t c = condition_alloc();
    MUST(c != CONDITION_NULL);
    condition_set_name(c, "filled");
    CHECK(strcmp(condition_name(c), "filled") == 0);
    condition_free(c);
    condition_free(CONDITION_NULL);
}

static any_t own_data(any_t data) {
    cthread_t self = cthread_self();
    int ok = cthread_data(self) == 0 && cthread_self() == self;
    cthread_set_data(self, data);
    cthread_set_name(self, "a name of more than fifteen bytes");
    ok = ok && strcmp(cthread_name(self), "a name of more than fifteen bytes") == 0;
    char shown[32] = "";
    FILE *comm = fopen("/proc/thread-self/comm", "r");
    ok = ok && comm && fgets(shown, sizeof shown, comm) && strcmp(shown, "a name of more \n") == 0;
    if (comm) fclose(comm);
    wait_for_gate();
    return (any_t) (intptr_t) (ok && cthread_data(self) == data);
}

static void test_self(void) {
    static int words[THREADS];
    cthread_t threads[THREADS];
    cthread_t self = cthread_self();
    MUST(self != NO_CTHREAD);
    CHECK(cthread_self() == self);
    CHECK(strcmp(cthread_name(self), "") == 0);
    cthread_set_data(self, words);
    int before = cthread_count();
    for (int i = 0; i < THREADS; i++) {
        threads[i] = cthread_fork(own_data, &words[i]);
        MUST(threads[i] != NO_CTHREAD);
        CHECK(threads[i] != self);
    }
    CHECK(cthread_count() == before + THREADS);
    open_gate();
    for (int i = 0; i < THREADS; i++) CHECK(cthread_join(threads[i]) == (any_t) 1);
    close_gate();
    CHECK(cthread_count() == before);
    CHECK(cthread_data(self) == words);

    CHECK(cthread_limit() == 0);
    cthread_set_limit(3);
    CHECK(cthread_limit() == 3 && cthread_kernel_limit() == 3);
    cthread_set_kernel_limit(0);
    CHECK(cthread_init() == 0);
}

static any_t leave(any_t result) {
    cthread_exit(result);
}

static int detached_done;

static any_t detached(any_t unused) {
    wait_for_gate();
    mutex_lock(&count_lock);
    detached_done++;
    condition_broadcast(&changed);
    mutex_unlock(&count_lock);
    return unused;
}

static any_t soon_over(any_t unused) {
    return unused;
}

static void test_ends(void) {
    cthread_t thread = cthread_fork(leave, &total);
    MUST(thread != NO_CTHREAD);
    CHECK(cthread_join(thread) == &total);

    for (int i = 0; i < THREADS; i++) {
        MUST((thread = cthread_fork(detached, 0)) != NO_CTHREAD);
        cthread_detach(thread);
    }
    open_gate();
    mutex_lock(&count_lock);
    while (detached_done < THREADS) condition_wait(&changed, &count_lock);
    mutex_unlock(&count_lock);
    close_gate();

    /* Detached before, while, or after it ends. */
    for (int i = 0; i < 200; i++) {
        MUST((thread = cthread_fork(soon_over, 0)) != NO_CTHREAD);
        if (i % 2) cthread_yield();
        cthread_detach(thread);
    }
    /* One that is being counted out has a lock, which a child of this process would find taken. */
    while (cthread_count() > 1) cthread_yield();
}

/* A thread that was made by other means has a record too. */
static void *foreign(void *data) {
    cthread_t self = cthread_self();
    cthread_set_data(self, data);
    return cthread_data(cthread_self()) == data ? data : NULL;
}

static void test_foreign(void) {
    pthread_t thread;
    void *result = NULL;
    MUST(pthread_create(&thread, NULL, foreign, &total) == 0);
    pthread_join(thread, &result);
    CHECK(result == &total);
}

static any_t outlast(any_t out) {
    wait_for_gate();
    if (write((int) (intptr_t) out, "x", 1) != 1) _exit(9);
    return 0;
}

/* In the first thread, cthread_exit waits for the others and gives the process its exit status. */
static void test_first_thread(void) {
    int pipe_ends[2];
    MUST(pipe(pipe_ends) == 0);
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        watchdog(60);
        if (cthread_count() != 1) _exit(8);
        cthread_detach(cthread_fork(outlast, (any_t) (intptr_t) pipe_ends[1]));
        open_gate();
        cthread_exit((any_t) 7);
    }
    close(pipe_ends[1]);
    char byte = 0;
    CHECK(read(pipe_ends[0], &byte, 1) == 1 && byte == 'x');
    close(pipe_ends[0]);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(void) {
    watchdog(60);
    test_mutex();
    test_spin();
    test_condition();
    test_self();
    test_ends();
    test_foreign();
    test_first_thread();
    return checks_done("cthreads");
}
