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

/* The same for stubs generated with -subrprefix __. */
extern void __mig_init(void *first);
extern mach_port_t __mig_get_reply_port(void);
extern void __mig_put_reply_port(mach_port_t reply_port);
extern void __mig_dealloc_reply_port(mach_port_t reply_port);
extern void __mig_allocate(vm_address_t *address, vm_size_t size);
extern void __mig_deallocate(vm_address_t address, vm_size_t size);
extern vm_size_t __mig_strncpy(char *destination, const char *source, vm_size_t size);
extern vm_size_t __mig_strncpy_zerofill(char *destination, const char *source, vm_size_t size);
extern mach_msg_return_t __mach_msg(mach_msg_header_t *msg, mach_msg_option_t option, mach_msg_size_t send_size,
                                    mach_msg_size_t rcv_size, mach_port_name_t rcv_name, mach_msg_timeout_t timeout,
                                    mach_port_name_t notify);

#ifdef __cplusplus
}
#endif

#endif
