/* Calls that need no port. */
#ifndef MACH_MACH_TRAPS_H
#define MACH_MACH_TRAPS_H

#include <mach/mach_types.h>
#include <mach/port.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A new port with a receive right for the caller; MACH_PORT_NULL when none can be made. */
extern mach_port_t mach_reply_port(void);
/* The calling task. The right is the library's: it need not be deallocated. */
extern mach_port_t mach_task_self(void);
/* The same as a variable, for a task that has not renamed or given up its name for itself. */
extern mach_port_t mach_task_self_;
/* The calling thread. Each call gives one user reference, to be deallocated. */
extern mach_port_t mach_thread_self(void);
/* This host. Each call gives one user reference, to be deallocated. */
extern mach_port_t mach_host_self(void);

/* Writes a text to standard error. */
extern void mach_print(const char *text);

#ifdef __cplusplus
}
#endif

#endif
