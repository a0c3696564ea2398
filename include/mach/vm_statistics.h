/* The structure behind vm_statistics_data_t in interface files. libmach fills in none. */
#ifndef MACH_VM_STATISTICS_H
#define MACH_VM_STATISTICS_H

#include <mach/machine/vm_types.h>

struct vm_statistics {
    integer_t pagesize; /* bytes; all others are counts */
    integer_t free_count;
    integer_t active_count;
    integer_t inactive_count;
    integer_t wire_count;
    integer_t zero_fill_count;
    integer_t reactivations;
    integer_t pageins;
    integer_t pageouts;
    integer_t faults;
    integer_t cow_faults;
    integer_t lookups;
    integer_t hits;
};

typedef struct vm_statistics *vm_statistics_t;
typedef struct vm_statistics vm_statistics_data_t;

#endif
