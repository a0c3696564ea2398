/* Mach's integer types on 64-bit machines. */
#ifndef MACH_MACHINE_VM_TYPES_H
#define MACH_MACHINE_VM_TYPES_H

#include <stdint.h>

#if UINTPTR_MAX != 0xffffffffffffffffu
#error "libmach has the 64-bit layouts only: compile for a 64-bit machine"
#endif

/* Integers that have 32 bits on every machine: counts, flags, identifiers. */
typedef unsigned int natural_t;
typedef int integer_t;

/* Integers as wide as an address. */
typedef uintptr_t long_natural_t;
typedef intptr_t long_integer_t;

typedef uintptr_t vm_offset_t;
typedef vm_offset_t vm_address_t;
typedef vm_offset_t vm_size_t;
typedef vm_offset_t *vm_offset_array_t;
typedef vm_size_t *vm_size_array_t;

/* What the same values are called in interface definitions. */
typedef uintptr_t rpc_uintptr_t;
typedef vm_offset_t rpc_vm_address_t;
typedef vm_offset_t rpc_vm_offset_t;
typedef vm_size_t rpc_vm_size_t;
typedef long_natural_t rpc_long_natural_t;
typedef long_integer_t rpc_long_integer_t;
typedef uint64_t rpc_phys_addr_t;

#define MACH_MSG_TYPE_INTEGER_T MACH_MSG_TYPE_INTEGER_32

/*
 * MACH_LAYOUT(condition, text) refuses to compile when a layout is not the one that libmach.so was
 * built with. It is for these headers; C99 has nothing to say it with, so it says nothing there.
 */
#if defined(__cplusplus)
#define MACH_LAYOUT(condition, text) static_assert(condition, text)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define MACH_LAYOUT(condition, text) _Static_assert(condition, text)
#else
#define MACH_LAYOUT(condition, text) struct mach_layout_is_checked_from_c11_on
#endif

MACH_LAYOUT(sizeof(natural_t) == 4 && sizeof(integer_t) == 4, "natural_t and integer_t have 4 bytes");
MACH_LAYOUT(sizeof(vm_offset_t) == 8, "vm_offset_t has 8 bytes");

#endif
