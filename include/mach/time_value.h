/* Times in interface files. */
#ifndef MACH_TIME_VALUE_H
#define MACH_TIME_VALUE_H

#include <mach/machine/vm_types.h>

struct time_value {
    long_integer_t seconds;
    integer_t microseconds;
};

typedef struct time_value time_value_t;
typedef struct time_value rpc_time_value_t;

struct time_value64 {
    int64_t seconds;
    int64_t nanoseconds;
};

typedef struct time_value64 time_value64_t;

#define TIME_MICROS_MAX 1000000

#endif
