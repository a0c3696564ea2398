/* A task's special ports. */
#ifndef MACH_TASK_SPECIAL_PORTS_H
#define MACH_TASK_SPECIAL_PORTS_H

#include <mach/kern_return.h>
#include <mach/port.h>

#define TASK_KERNEL_PORT 1    /* the task itself */
#define TASK_EXCEPTION_PORT 3 /* where its exceptions are told last: <mach/exception.h> */
#define TASK_BOOTSTRAP_PORT 4 /* where it looks up services */

#ifdef __cplusplus
extern "C" {
#endif

/* A send right of the caller's own, to be deallocated; MACH_PORT_NULL when none is set. */
extern kern_return_t task_get_special_port(mach_port_t task, int which_port, mach_port_t *special_port);
/* Gives the task a copy of the send right. A child made by fork inherits it. */
extern kern_return_t task_set_special_port(mach_port_t task, int which_port, mach_port_t special_port);

#ifdef __cplusplus
}
#endif

#define task_get_kernel_port(task, port) task_get_special_port((task), TASK_KERNEL_PORT, (port))
#define task_set_kernel_port(task, port) task_set_special_port((task), TASK_KERNEL_PORT, (port))
#define task_get_exception_port(task, port) task_get_special_port((task), TASK_EXCEPTION_PORT, (port))
#define task_set_exception_port(task, port) task_set_special_port((task), TASK_EXCEPTION_PORT, (port))
#define task_get_bootstrap_port(task, port) task_get_special_port((task), TASK_BOOTSTRAP_PORT, (port))
#define task_set_bootstrap_port(task, port) task_set_special_port((task), TASK_BOOTSTRAP_PORT, (port))

#endif
