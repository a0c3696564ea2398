/* A task's first ports. */
#ifndef MACH_MACH_INIT_H
#define MACH_MACH_INIT_H

#include <mach/mach_traps.h>
#include <mach/mach_types.h>
#include <mach/task_special_ports.h>
#include <mach/vm_param.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The first argument of the name server's calls; MACH_PORT_NULL, for the task's own, until the program sets it. */
extern mach_port_t bootstrap_port;

#ifdef __cplusplus
}
#endif

#define current_task() mach_task_self()

#endif
