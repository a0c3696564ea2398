/* Mach's integer types. */
#ifndef MACH_VM_TYPES_H
#define MACH_VM_TYPES_H

#include <mach/boolean.h>
#include <mach/machine/vm_types.h>

typedef vm_offset_t pointer_t;

#endif
