/* Memory of a task: the calling one, or one that it has the port of. */
#ifndef MACH_VM_MAP_H
#define MACH_VM_MAP_H

#include <mach/mach_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* New memory, filled with zeros: anywhere, or at *address, which must be free. */
extern kern_return_t vm_allocate(vm_task_t target_task, vm_address_t *address, vm_size_t size, boolean_t anywhere);
/* Takes pages away. Out-of-line data that was received is given back so. */
extern kern_return_t vm_deallocate(vm_task_t target_task, vm_address_t address, vm_size_t size);
/* Copies memory into new memory of the caller's, to be deallocated. */
extern kern_return_t vm_read(vm_task_t target_task, vm_address_t address, vm_size_t size, vm_offset_t *data,
                             mach_msg_type_number_t *data_count);
extern kern_return_t vm_write(vm_task_t target_task, vm_address_t address, vm_offset_t data,
                              mach_msg_type_number_t data_count);
extern kern_return_t vm_copy(vm_task_t target_task, vm_address_t source_address, vm_size_t size,
                             vm_address_t dest_address);
/* Linux keeps no highest protection: set_maximum is refused with KERN_INVALID_ARGUMENT. */
extern kern_return_t vm_protect(vm_task_t target_task, vm_address_t address, vm_size_t size, boolean_t set_maximum,
                                vm_prot_t new_protection);
/*
 * With MACH_PORT_NULL maps memory filled with zeros, at an address that has no bit of mask. There are no memory
 * objects to map: KERN_INVALID_ARGUMENT.
 */
extern kern_return_t vm_map(vm_task_t target_task, vm_address_t *address, vm_size_t size, vm_address_t mask,
                            boolean_t anywhere, memory_object_t memory_object, vm_offset_t offset, boolean_t copy,
                            vm_prot_t cur_protection, vm_prot_t max_protection, vm_inherit_t inheritance);

/*
 * Maps memory of the task a second time, or with copy a copy of it as it is now, and tells the source's protection. Memory
 * that can be shared is shared memory only (vm_map() with VM_INHERIT_SHARE, a file): KERN_INVALID_ARGUMENT for other, and between
 * tasks of two processes.
 */
extern kern_return_t vm_remap(vm_task_t target_task, vm_address_t *address, vm_size_t size, vm_address_t mask,
                              boolean_t anywhere, vm_task_t source_task, vm_address_t source_address, boolean_t copy,
                              vm_prot_t *cur_protection, vm_prot_t *max_protection, vm_inherit_t inheritance);

#ifdef __cplusplus
}
#endif

#endif
