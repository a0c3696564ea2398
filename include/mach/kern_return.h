/* What Mach's routines return. See mach_error_string() in <mach/mach_error.h> for the texts. */
#ifndef MACH_KERN_RETURN_H
#define MACH_KERN_RETURN_H

#include <mach/dialect.h>

typedef int kern_return_t;

#define KERN_SUCCESS 0

/* The address is in no region of the task. */
#define KERN_INVALID_ADDRESS 1
/* The memory is there but may not be used so. */
#define KERN_PROTECTION_FAILURE 2
/* The range is taken, or no range or name of this size is free. */
#define KERN_NO_SPACE 3
/* An argument makes no sense, or not for this object. */
#define KERN_INVALID_ARGUMENT 4
/* Any other failure. */
#define KERN_FAILURE 5
/* Out of memory or descriptors; it may work later. */
#define KERN_RESOURCE_SHORTAGE 6
/* The task holds no receive right for the port. */
#define KERN_NOT_RECEIVER 7
/* Access is restricted. */
#define KERN_NO_ACCESS 8
/* The memory object behind the address was destroyed. */
#define KERN_MEMORY_FAILURE 9
/* The memory object behind the address gave no data. */
#define KERN_MEMORY_ERROR 10
/* The port is in the set already. */
#define KERN_ALREADY_IN_SET 11
/* The port is in no port set. */
#define KERN_NOT_IN_SET 12
/* The name denotes a right already. */
#define KERN_NAME_EXISTS 13
/* The operation was aborted. */
#define KERN_ABORTED 14
/* The name denotes no right. */
#define KERN_INVALID_NAME 15
/* The first argument is no task that this one may act on, or the task is gone. */
#define KERN_INVALID_TASK 16
/* The name denotes a right, but not one that this can be done to. */
#define KERN_INVALID_RIGHT 17
/* A value is out of range. */
#define KERN_INVALID_VALUE 18
/* The user references would go above their limit. */
#define KERN_UREFS_OVERFLOW 19
/* The right that was passed is no right, or a dead one. */
#define KERN_INVALID_CAPABILITY 20
/* The task has rights for the port under another name. */
#define KERN_RIGHT_EXISTS 21
/* The first argument is no host. */
#define KERN_INVALID_HOST 22
/* Memory was supplied where there is memory. */
#define KERN_MEMORY_PRESENT 23
/* Memory that its pager watches was written. */
#define KERN_WRITE_PROTECTION_FAILURE 24
#ifdef MACH_DARWIN
/* The object has ended. */
#define KERN_TERMINATED 37
#else
/* The object has ended. */
#define KERN_TERMINATED 26
/* The time ran out. */
#define KERN_TIMEDOUT 27
/* A signal came first. */
#define KERN_INTERRUPTED 28
#endif
/* The time of a semaphore's wait ran out, as Darwin tells it. */
#define KERN_OPERATION_TIMED_OUT 49

#endif
