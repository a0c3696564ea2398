/*
 * Semaphores for the threads of one process, with Darwin's calls. Each is behind a port: KERN_INVALID_ARGUMENT for any other,
 * and for the semaphore of another process.
 */
#ifndef MACH_SEMAPHORE_H
#define MACH_SEMAPHORE_H

#include <mach/mach_types.h>

typedef mach_port_t semaphore_t;

#define SEMAPHORE_NULL MACH_PORT_NULL

/* How waiters are served: whatever it is, in the order in which they came. */
#define SYNC_POLICY_FIFO 0x0
#define SYNC_POLICY_FIXED_PRIORITY 0x1
#define SYNC_POLICY_REVERSED 0x2

typedef struct mach_timespec {
    unsigned int tv_sec;
    int tv_nsec; /* less than 1,000,000,000: else KERN_INVALID_VALUE */
} mach_timespec_t;

#ifdef __cplusplus
extern "C" {
#endif

/* One user reference of a new semaphore, through which so many threads pass before one waits. */
extern kern_return_t semaphore_create(task_t task, semaphore_t *semaphore, int policy, int value);
/* Ends a semaphore of the task, as the task's end does: names for it become dead names, and waiters get KERN_TERMINATED. */
extern kern_return_t semaphore_destroy(task_t task, semaphore_t semaphore);
/* Lets a waiter go, or the next thread that would wait; all waiters, and none that comes later. */
extern kern_return_t semaphore_signal(semaphore_t semaphore);
extern kern_return_t semaphore_signal_all(semaphore_t semaphore);
/* Waits for a signal. KERN_OPERATION_TIMED_OUT; a signal of the system's does not end the wait. */
extern kern_return_t semaphore_wait(semaphore_t semaphore);
extern kern_return_t semaphore_timedwait(semaphore_t semaphore, mach_timespec_t wait_time);
/* The same after a signal to the second one. */
extern kern_return_t semaphore_wait_signal(semaphore_t wait_semaphore, semaphore_t signal_semaphore);
extern kern_return_t semaphore_timedwait_signal(semaphore_t wait_semaphore, semaphore_t signal_semaphore,
                                                mach_timespec_t wait_time);

#ifdef __cplusplus
}
#endif

#endif
