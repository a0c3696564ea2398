/* Darwin's names for the calls of <mach/vm_map.h>, where addresses have 64 bits in any case. */
#ifndef MACH_MACH_VM_H
#define MACH_MACH_VM_H

#include <mach/vm_map.h>

typedef vm_address_t mach_vm_address_t;
typedef vm_offset_t mach_vm_offset_t;
typedef vm_size_t mach_vm_size_t;

/* Another flag is KERN_INVALID_ARGUMENT. */
#define VM_FLAGS_FIXED 0x0
#define VM_FLAGS_ANYWHERE 0x1

#ifdef __cplusplus
extern "C" {
#endif

extern kern_return_t mach_vm_allocate(vm_task_t target, mach_vm_address_t *address, mach_vm_size_t size, int flags);
extern kern_return_t mach_vm_deallocate(vm_task_t target, mach_vm_address_t address, mach_vm_size_t size);
extern kern_return_t mach_vm_read(vm_task_t target, mach_vm_address_t address, mach_vm_size_t size, vm_offset_t *data,
                                  mach_msg_type_number_t *data_count);
extern kern_return_t mach_vm_write(vm_task_t target, mach_vm_address_t address, vm_offset_t data,
                                   mach_msg_type_number_t data_count);
extern kern_return_t mach_vm_copy(vm_task_t target, mach_vm_address_t source, mach_vm_size_t size,
                                  mach_vm_address_t destination);
extern kern_return_t mach_vm_protect(vm_task_t target, mach_vm_address_t address, mach_vm_size_t size,
                                     boolean_t set_maximum, vm_prot_t new_protection);
extern kern_return_t mach_vm_map(vm_task_t target, mach_vm_address_t *address, mach_vm_size_t size,
                                 mach_vm_offset_t mask, int flags, memory_object_t object, mach_vm_offset_t offset,
                                 boolean_t copy, vm_prot_t cur_protection, vm_prot_t max_protection,
                                 vm_inherit_t inheritance);
extern kern_return_t mach_vm_remap(vm_task_t target, mach_vm_address_t *address, mach_vm_size_t size,
                                   mach_vm_offset_t mask, int flags, vm_task_t source_task, mach_vm_address_t source,
                                   boolean_t copy, vm_prot_t *cur_protection, vm_prot_t *max_protection,
                                   vm_inherit_t inheritance);

#ifdef __cplusplus
}
#endif

#endif
