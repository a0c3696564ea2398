/* A task's first ports. */
#ifndef MACH_MACH_INIT_H
#define MACH_MACH_INIT_H

#include <mach/mach_traps.h>
#include <mach/mach_types.h>
#include <mach/task_special_ports.h>
#include <mach/vm_param.h>

#define current_task() mach_task_self()

#endif
