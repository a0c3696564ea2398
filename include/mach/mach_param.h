/* Limits. */
#ifndef MACH_MACH_PARAM_H
#define MACH_MACH_PARAM_H

#define TASK_PORT_REGISTER_MAX 4
/* User references of one right. */
#define MACH_PORT_UREFS_MAX 65535

#endif
