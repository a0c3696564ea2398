/*
 * What is done to a thread. One of another process is named by a right to its port, as task_threads() or an exception gives it.
 * KERN_INVALID_ARGUMENT: no thread.
 */
#ifndef MACH_THREAD_ACT_H
#define MACH_THREAD_ACT_H

#include <mach/mach_types.h>
#include <mach/thread_info.h>
#include <mach/thread_status.h>

#define THREAD_KERNEL_PORT 1    /* the thread itself */
#define THREAD_EXCEPTION_PORT 3 /* where its exceptions are told, before its task's */

#ifdef __cplusplus
extern "C" {
#endif

/* The thread runs no more until it is resumed as often. KERN_FAILURE: it takes no signals, or is the library's own. */
extern kern_return_t thread_suspend(thread_t thread);
/* KERN_FAILURE: it is not suspended. */
extern kern_return_t thread_resume(thread_t thread);
/*
 * The registers of a thread that is suspended, or whose exception is being handled: KERN_FAILURE for another. *count is the
 * room in words, then what was written. KERN_INVALID_ARGUMENT: too few words, or another flavor.
 */
extern kern_return_t thread_get_state(thread_t thread, thread_state_flavor_t flavor, thread_state_t state,
                                      mach_msg_type_number_t *count);
extern kern_return_t thread_set_state(thread_t thread, thread_state_flavor_t flavor, thread_state_t state,
                                      mach_msg_type_number_t count);
/* As task_get_special_port(). */
extern kern_return_t thread_get_special_port(thread_t thread, int which_port, mach_port_t *special_port);
extern kern_return_t thread_set_special_port(thread_t thread, int which_port, mach_port_t special_port);

#ifdef __cplusplus
}
#endif

#define thread_get_kernel_port(thread, port) thread_get_special_port((thread), THREAD_KERNEL_PORT, (port))
#define thread_get_exception_port(thread, port) thread_get_special_port((thread), THREAD_EXCEPTION_PORT, (port))
#define thread_set_exception_port(thread, port) thread_set_special_port((thread), THREAD_EXCEPTION_PORT, (port))

#endif
