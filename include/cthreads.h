/*
 * C Threads, the threads of Mach programs, over POSIX threads: every C thread is a POSIX thread, and the calls of
 * both may be mixed. Link with libmach.
 */
#ifndef CTHREADS_H
#define CTHREADS_H

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef void *any_t;

/* ---- Threads ---- */

typedef struct cthread *cthread_t;
typedef any_t (*cthread_fn_t)(any_t);

#define NO_CTHREAD ((cthread_t) 0)

/* Not needed: the first call of any other function does the same. Returns 0. */
extern int cthread_init(void);

/*
 * A new thread that calls the function. It must be joined or detached, once. NO_CTHREAD when the system
 * allows no more threads.
 */
extern cthread_t cthread_fork(cthread_fn_t function, any_t argument);

/* Waits for the end of a thread and gives its result. The thread is then no more. */
extern any_t cthread_join(cthread_t thread);

/* Nobody will join the thread: what it holds goes when it ends. */
extern void cthread_detach(cthread_t thread);

/*
 * Ends the calling thread. The first thread waits for all others that were forked, and then ends the
 * process with the result as exit status.
 */
extern void cthread_exit(any_t result) __attribute__((noreturn));

/* The calling thread; also for threads that were not made here. */
extern cthread_t cthread_self(void);

extern void cthread_yield(void);

/* A word of the program's own for each thread, at first 0. */
extern void cthread_set_data(cthread_t thread, any_t data);
extern any_t cthread_data(cthread_t thread);

/*
 * A name for each thread, at first "". The string stays the caller's and must last as long as the thread. Its
 * first 15 bytes are also the name that ps and top show.
 */
extern void cthread_set_name(cthread_t thread, const char *name);
extern const char *cthread_name(cthread_t thread);

/* Threads that run: the first one, and those forked here that have not ended. */
extern int cthread_count(void);

/*
 * How many kernel threads the program would like to be used; 0 is no limit. It is only kept: a thread that
 * waits must not keep others from running, and each has a kernel thread of its own.
 */
extern void cthread_set_limit(int limit);
extern int cthread_limit(void);

#define cthread_set_kernel_limit(limit) cthread_set_limit(limit)
#define cthread_kernel_limit() cthread_limit()

/* Every C thread has a kernel thread of its own already. */
#define cthread_wire() ((void) 0)
#define cthread_unwire() ((void) 0)

/* ---- Mutual exclusion ---- */

/* Not recursive: a thread that locks twice waits for itself. */
struct mutex {
    pthread_mutex_t lock;
    const char *name;
};

typedef struct mutex *mutex_t;

#define MUTEX_NULL ((mutex_t) 0)
#define MUTEX_INITIALIZER {PTHREAD_MUTEX_INITIALIZER, 0}
#define MUTEX_NAMED_INITIALIZER(name) {PTHREAD_MUTEX_INITIALIZER, (name)}

static inline void mutex_init(mutex_t m) {
    pthread_mutex_init(&m->lock, 0);
    m->name = 0;
}

/* Ends the use of a mutex that nobody holds. */
static inline void mutex_clear(mutex_t m) {
    pthread_mutex_destroy(&m->lock);
}

/* A new mutex; MUTEX_NULL when there is no memory. */
static inline mutex_t mutex_alloc(void) {
    mutex_t m = (mutex_t) malloc(sizeof(struct mutex));
    if (m) mutex_init(m);
    return m;
}

static inline void mutex_free(mutex_t m) {
    if (!m) return;
    mutex_clear(m);
    free(m);
}

static inline void mutex_lock(mutex_t m) {
    pthread_mutex_lock(&m->lock);
}

/* Locks if that needs no waiting. Returns whether it did. */
static inline int mutex_try_lock(mutex_t m) {
    return pthread_mutex_trylock(&m->lock) == 0;
}

static inline void mutex_unlock(mutex_t m) {
    pthread_mutex_unlock(&m->lock);
}

static inline void mutex_set_name(mutex_t m, const char *name) {
    m->name = name;
}

static inline const char *mutex_name(mutex_t m) {
    return m->name ? m->name : "";
}

/* ---- Conditions ---- */

struct condition {
    pthread_cond_t waiters;
    const char *name;
};

typedef struct condition *condition_t;

#define CONDITION_NULL ((condition_t) 0)
#define CONDITION_INITIALIZER {PTHREAD_COND_INITIALIZER, 0}
#define CONDITION_NAMED_INITIALIZER(name) {PTHREAD_COND_INITIALIZER, (name)}

static inline void condition_init(condition_t c) {
    pthread_cond_init(&c->waiters, 0);
    c->name = 0;
}

/* Ends the use of a condition that nobody waits for. */
static inline void condition_clear(condition_t c) {
    pthread_cond_destroy(&c->waiters);
}

/* A new condition; CONDITION_NULL when there is no memory. */
static inline condition_t condition_alloc(void) {
    condition_t c = (condition_t) malloc(sizeof(struct condition));
    if (c) condition_init(c);
    return c;
}

static inline void condition_free(condition_t c) {
    if (!c) return;
    condition_clear(c);
    free(c);
}

/* Unlocks the mutex, waits, and locks it again. It may return early: test the condition in a loop. */
static inline void condition_wait(condition_t c, mutex_t m) {
    pthread_cond_wait(&c->waiters, &m->lock);
}

static inline void condition_signal(condition_t c) {
    pthread_cond_signal(&c->waiters);
}

static inline void condition_broadcast(condition_t c) {
    pthread_cond_broadcast(&c->waiters);
}

static inline void condition_set_name(condition_t c, const char *name) {
    c->name = name;
}

static inline const char *condition_name(condition_t c) {
    return c->name ? c->name : "";
}

/* ---- Spin locks: for a few instructions, and never held over anything that waits ---- */

typedef volatile int spin_lock_t;

#define SPIN_LOCK_INITIALIZER 0

static inline void spin_lock_init(spin_lock_t *lock) {
    *lock = SPIN_LOCK_INITIALIZER;
}

static inline int spin_lock_locked(spin_lock_t *lock) {
    return __atomic_load_n(lock, __ATOMIC_RELAXED) != 0;
}

/* Locks if that needs no waiting. Returns whether it did. */
static inline int spin_try_lock(spin_lock_t *lock) {
    return __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE) == 0;
}

static inline void spin_lock(spin_lock_t *lock) {
    int tries = 0;
    while (!spin_try_lock(lock)) {
        /* The holder may have lost its processor to this thread. */
        while (spin_lock_locked(lock)) {
            if (++tries % 128 == 0) sched_yield();
        }
    }
}

static inline void spin_unlock(spin_lock_t *lock) {
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

#ifdef __cplusplus
}
#endif

#endif
