/* The C types behind <mach/mach_types.defs>. */
#ifndef MACH_MACH_TYPES_H
#define MACH_MACH_TYPES_H

#include <mach/port.h>
#include <mach/std_types.h>
#include <mach/task_special_ports.h>
#include <mach/time_value.h>
#include <mach/vm_inherit.h>
#include <mach/vm_prot.h>
#include <mach/vm_statistics.h>
#include <mach/vm_types.h>

/* Rights to the objects of a kernel. libmach has tasks, threads and hosts. */
typedef mach_port_t task_t;
typedef task_t *task_array_t;
typedef task_t vm_task_t;
typedef task_t ipc_space_t;
typedef mach_port_t thread_t;
typedef thread_t *thread_array_t;
typedef mach_port_t host_t;
typedef mach_port_t host_priv_t;
typedef mach_port_t processor_t;
typedef mach_port_t *processor_array_t;
typedef mach_port_t processor_set_t;
typedef mach_port_t *processor_set_array_t;
typedef mach_port_t processor_set_name_t;
typedef mach_port_t *processor_set_name_array_t;
typedef mach_port_t memory_object_t;
typedef mach_port_t memory_object_control_t;
typedef mach_port_t memory_object_name_t;
typedef mach_port_t *memory_object_array_t;
typedef vm_offset_t *emulation_vector_t;

#define TASK_NULL MACH_PORT_NULL
#define THREAD_NULL MACH_PORT_NULL
#define HOST_NULL MACH_PORT_NULL
#define MEMORY_OBJECT_NULL MACH_PORT_NULL

/* Types that interface files of a kernel name, so that stubs for them compile. */
typedef int memory_object_copy_strategy_t;
typedef int memory_object_return_t;
typedef int vm_machine_attribute_t;
typedef int vm_machine_attribute_val_t;
typedef int vm_sync_t;
typedef int vm_wire_t;
typedef struct {
    integer_t cache_object_count; /* all are counts: of objects, and of pages and what is done with them */
    integer_t cache_count;
    integer_t active_tmp_count;
    integer_t inactive_tmp_count;
    integer_t active_perm_count;
    integer_t inactive_perm_count;
    integer_t dirty_count;
    integer_t laundry_count;
    integer_t writeback_count;
    integer_t slab_count;
    integer_t slab_reclaim_count;
} vm_cache_statistics_data_t;
typedef natural_t *thread_state_t;
typedef integer_t *thread_info_t;
typedef integer_t *task_info_t;
typedef integer_t *host_info_t;
typedef integer_t *processor_info_t;
typedef integer_t *processor_set_info_t;

#define KERNEL_VERSION_MAX 512
#define KERNEL_BOOT_INFO_MAX 4096

#ifndef MACH_DARWIN
/* What trailers of Darwin's dialect say of a sender; in that dialect <mach/message.h> has them. */
typedef struct {
    unsigned int val[2];
} security_token_t;

typedef struct {
    unsigned int val[8];
} audit_token_t;
#endif

typedef char kernel_version_t[KERNEL_VERSION_MAX];
typedef char kernel_boot_info_t[KERNEL_BOOT_INFO_MAX];

#endif
