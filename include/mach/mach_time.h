/* A clock that only goes forward. */
#ifndef MACH_MACH_TIME_H
#define MACH_MACH_TIME_H

#include <mach/kern_return.h>

#include <stdint.h>

struct mach_timebase {
    uint32_t numer; /* a unit of the clock is numer / denom nanoseconds */
    uint32_t denom;
};

typedef struct mach_timebase mach_timebase_info_data_t;
typedef struct mach_timebase *mach_timebase_info_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Nanoseconds, as CLOCK_MONOTONIC has them. */
extern uint64_t mach_absolute_time(void);
extern kern_return_t mach_timebase_info(mach_timebase_info_t info);

#ifdef __cplusplus
}
#endif

#endif
