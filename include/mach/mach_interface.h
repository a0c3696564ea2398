/* Every call to a task, a port or memory. */
#ifndef MACH_MACH_INTERFACE_H
#define MACH_MACH_INTERFACE_H

#include <mach/mach_port.h>
#include <mach/task_special_ports.h>
#include <mach/vm_map.h>

#endif
