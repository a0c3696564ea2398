/* What generated stubs call. */
#ifndef MACH_MIG_SUPPORT_H
#define MACH_MIG_SUPPORT_H

#include <mach/mach_types.h>
#include <mach/message.h>
#include <mach/mig_errors.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Gets ready for the calls below. Not needed any more: they do it themselves. */
extern void mig_init(void *first);

/* The calling thread's reply port. The thread keeps it, and it goes when the thread ends. */
extern mach_port_t mig_get_reply_port(void);
/* Gives back a reply port after use; the thread's next call will use it again. */
extern void mig_put_reply_port(mach_port_t reply_port);
/* Destroys a reply port to which a late reply may come; the thread's next call makes another. */
extern void mig_dealloc_reply_port(mach_port_t reply_port);

/* Memory for out-of-line data. Sets *address to 0 when there is none. */
extern void mig_allocate(vm_address_t *address, vm_size_t size);
extern void mig_deallocate(vm_address_t address, vm_size_t size);

/*
 * Copies a string of at most size - 1 bytes and ends it with a NUL. Returns the length without the NUL.
 * With zerofill the rest of the destination is cleared.
 */
extern vm_size_t mig_strncpy(char *destination, const char *source, vm_size_t size);
extern vm_size_t mig_strncpy_zerofill(char *destination, const char *source, vm_size_t size);

/* Names that stubs generated with -subrprefix __ use. */
#define __mach_msg mach_msg
#define __mig_init mig_init
#define __mig_get_reply_port mig_get_reply_port
#define __mig_put_reply_port mig_put_reply_port
#define __mig_dealloc_reply_port mig_dealloc_reply_port
#define __mig_allocate mig_allocate
#define __mig_deallocate mig_deallocate
#define __mig_strncpy mig_strncpy
#define __mig_strncpy_zerofill mig_strncpy_zerofill

#ifdef __cplusplus
}
#endif

#endif
