/* What thread_info() tells of a thread, and how threads end. */
#ifndef MACH_THREAD_INFO_H
#define MACH_THREAD_INFO_H

#include <mach/kern_return.h>
#include <mach/mach_types.h>
#include <mach/message.h>

#define THREAD_INFO_MAX 1024
typedef integer_t thread_info_data_t[THREAD_INFO_MAX];

/* Flavors. libmach answers to the first. */
#define THREAD_BASIC_INFO 1
#define THREAD_SCHED_INFO 2

struct thread_basic_info {
    time_value_t user_time;
    time_value_t system_time;
    integer_t cpu_usage;     /* of TH_USAGE_SCALE, over the thread's life */
    integer_t base_priority; /* the system's, as cur_priority */
    integer_t cur_priority;
    integer_t run_state;
    integer_t flags;
    integer_t suspend_count; /* by thread_suspend() */
    integer_t sleep_time;    /* 0: the system does not tell */
    time_value_t creation_time; /* time of day */
};

typedef struct thread_basic_info thread_basic_info_data_t;
typedef struct thread_basic_info *thread_basic_info_t;
#define THREAD_BASIC_INFO_COUNT ((mach_msg_type_number_t) (sizeof(thread_basic_info_data_t) / sizeof(natural_t)))

#define TH_USAGE_SCALE 1000

#define TH_STATE_RUNNING 1
#define TH_STATE_STOPPED 2
#define TH_STATE_WAITING 3
#define TH_STATE_UNINTERRUPTIBLE 4
#define TH_STATE_HALTED 5

#define TH_FLAGS_SWAPPED 0x1
#define TH_FLAGS_IDLE 0x2

struct thread_sched_info {
    integer_t policy;
    integer_t data;
    integer_t base_priority;
    integer_t max_priority;
    integer_t cur_priority;
    integer_t depress_priority;
    integer_t last_processor;
};

typedef struct thread_sched_info thread_sched_info_data_t;
typedef struct thread_sched_info *thread_sched_info_t;
#define THREAD_SCHED_INFO_COUNT ((mach_msg_type_number_t) (sizeof(thread_sched_info_data_t) / sizeof(natural_t)))

MACH_LAYOUT(sizeof(thread_basic_info_data_t) == 80, "thread_basic_info has 80 bytes");

#ifdef __cplusplus
extern "C" {
#endif

/* *count is the room in words, then what was written. KERN_INVALID_ARGUMENT: too few words, or another flavor. */
extern kern_return_t thread_info(thread_t thread, int flavor, thread_info_t info, mach_msg_type_number_t *count);
/* Ends a call of the thread with MACH_SEND_INTERRUPT or MACH_RCV_INTERRUPT, as a signal does. */
extern kern_return_t thread_abort(thread_t thread);
/* Ends the calling thread, as pthread_exit() does. KERN_FAILURE for another. */
extern kern_return_t thread_terminate(thread_t thread);

#ifdef __cplusplus
}
#endif

#endif
