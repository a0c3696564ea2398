/* Types of GNU Mach's later interface, for programs that include it. libmach samples no programs. */
#ifndef MACH_MACH4_H
#define MACH_MACH4_H

#include <mach/mach_types.h>

typedef unsigned int sampled_pc_flavor_t;
typedef natural_t sampled_pc_seqno_t;

typedef struct sampled_pc {
    rpc_vm_offset_t id;
    rpc_vm_offset_t pc;
    sampled_pc_flavor_t sampletype;
} sampled_pc_t;

typedef sampled_pc_t *sampled_pc_array_t;

#endif
