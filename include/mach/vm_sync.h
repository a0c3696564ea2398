/* How memory is written back, for interface files. */
#ifndef MACH_VM_SYNC_H
#define MACH_VM_SYNC_H

#include <mach/mach_types.h>

#define VM_SYNC_ASYNCHRONOUS ((vm_sync_t) 0x01)
#define VM_SYNC_SYNCHRONOUS ((vm_sync_t) 0x02)
#define VM_SYNC_INVALIDATE ((vm_sync_t) 0x04)

#endif
