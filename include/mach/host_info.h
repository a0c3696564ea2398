/* What host_info() tells. */
#ifndef MACH_HOST_INFO_H
#define MACH_HOST_INFO_H

#include <mach/mach_types.h>
#include <mach/machine.h>

#define HOST_INFO_MAX 1024
typedef integer_t host_info_data_t[HOST_INFO_MAX];

/* Flavors. libmach answers to the first. */
#define HOST_BASIC_INFO 1
#define HOST_PROCESSOR_SLOTS 2
#define HOST_SCHED_INFO 3
#define HOST_LOAD_INFO 4

struct host_basic_info {
    integer_t max_cpus;        /* processors that the machine has */
    integer_t avail_cpus;      /* processors that run */
    rpc_vm_size_t memory_size; /* bytes of memory */
    cpu_type_t cpu_type;
    cpu_subtype_t cpu_subtype;
};

typedef struct host_basic_info host_basic_info_data_t;
typedef struct host_basic_info *host_basic_info_t;
#define HOST_BASIC_INFO_COUNT ((mach_msg_type_number_t) (sizeof(host_basic_info_data_t) / sizeof(integer_t)))

MACH_LAYOUT(sizeof(host_basic_info_data_t) == 24, "host_basic_info has 24 bytes");

#endif
