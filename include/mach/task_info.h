/* What task_info() tells, and a task's threads. */
#ifndef MACH_TASK_INFO_H
#define MACH_TASK_INFO_H

#include <mach/kern_return.h>
#include <mach/mach_types.h>
#include <mach/message.h>

#define TASK_INFO_MAX 1024
typedef integer_t task_info_data_t[TASK_INFO_MAX];

/* Flavors. libmach answers to the first and the third. */
#define TASK_BASIC_INFO 1
#define TASK_EVENTS_INFO 2
#define TASK_THREAD_TIMES_INFO 3

struct task_basic_info {
    integer_t suspend_count; /* by task_suspend() */
    integer_t base_priority; /* the system's */
    rpc_vm_size_t virtual_size;
    rpc_vm_size_t resident_size; /* bytes */
    time_value_t user_time;      /* of threads that have ended */
    time_value_t system_time;
    time_value_t creation_time; /* time of day */
};

typedef struct task_basic_info task_basic_info_data_t;
typedef struct task_basic_info *task_basic_info_t;
#define TASK_BASIC_INFO_COUNT ((mach_msg_type_number_t) (sizeof(task_basic_info_data_t) / sizeof(integer_t)))

struct task_events_info {
    rpc_long_natural_t faults;
    rpc_long_natural_t zero_fills;
    rpc_long_natural_t reactivations;
    rpc_long_natural_t pageins;
    rpc_long_natural_t cow_faults;
    rpc_long_natural_t messages_sent;
    rpc_long_natural_t messages_received;
};

typedef struct task_events_info task_events_info_data_t;
typedef struct task_events_info *task_events_info_t;
#define TASK_EVENTS_INFO_COUNT ((mach_msg_type_number_t) (sizeof(task_events_info_data_t) / sizeof(integer_t)))

struct task_thread_times_info {
    time_value_t user_time; /* of threads that live */
    time_value_t system_time;
};

typedef struct task_thread_times_info task_thread_times_info_data_t;
typedef struct task_thread_times_info *task_thread_times_info_t;
#define TASK_THREAD_TIMES_INFO_COUNT \
    ((mach_msg_type_number_t) (sizeof(task_thread_times_info_data_t) / sizeof(integer_t)))

MACH_LAYOUT(sizeof(task_basic_info_data_t) == 72, "task_basic_info has 72 bytes");

#ifdef __cplusplus
extern "C" {
#endif

/* *count is the room in words, then what was written. KERN_INVALID_ARGUMENT: too few words, or another flavor. */
extern kern_return_t task_info(task_t task, int flavor, task_info_t info, mach_msg_type_number_t *count);

/*
 * The process's threads, those of the library among them: one user reference of each, in an array that is to be given to
 * vm_deallocate(). The port of a thread that never asked for it dies with the next call after the thread's end.
 */
extern kern_return_t task_threads(task_t task, thread_array_t *threads, mach_msg_type_number_t *count);
extern kern_return_t task_terminate(task_t task);
/*
 * No thread of the task runs until it is resumed as often; the library's own do, so that its ports are served. KERN_FAILURE, and
 * all run: a thread takes no signals. task_resume(): the task is not suspended.
 */
extern kern_return_t task_suspend(task_t task);
extern kern_return_t task_resume(task_t task);

#ifdef __cplusplus
}
#endif

#endif
