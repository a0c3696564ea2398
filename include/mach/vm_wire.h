/* What vm_wire_all wires, for interface files. */
#ifndef MACH_VM_WIRE_H
#define MACH_VM_WIRE_H

#include <mach/mach_types.h>

#define VM_WIRE_NONE 0
#define VM_WIRE_CURRENT 1
#define VM_WIRE_FUTURE 2
#define VM_WIRE_ALL (VM_WIRE_CURRENT | VM_WIRE_FUTURE)

#endif
