/* Pages. */
#ifndef MACH_VM_PARAM_H
#define MACH_VM_PARAM_H

#include <mach/vm_types.h>

#include <unistd.h>

#define BYTE_SIZE 8

/* The size of a page in bytes, asked of the system. */
#define vm_page_size ((vm_size_t) sysconf(_SC_PAGESIZE))

#define trunc_page(x) ((vm_offset_t) (x) & ~(vm_page_size - 1))
#define round_page(x) trunc_page((vm_offset_t) (x) + (vm_page_size - 1))
#define page_aligned(x) (((vm_offset_t) (x) & (vm_page_size - 1)) == 0)

#endif
