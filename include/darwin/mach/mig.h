/* What generated stubs are made of, and what they call. */
#ifndef MACH_MIG_H
#define MACH_MIG_H

#include <mach/mach_types.h>
#include <mach/message.h>
#include <mach/mig_errors.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A routine of a generated server; what finds one for a request; a routine of the program's. */
typedef void (*mig_stub_routine_t)(mach_msg_header_t *request, mach_msg_header_t *reply);
typedef mig_stub_routine_t mig_routine_t;
typedef mig_routine_t (*mig_server_routine_t)(mach_msg_header_t *request);
typedef kern_return_t (*mig_impl_routine_t)(void);

typedef struct routine_arg_descriptor *routine_arg_descriptor_t;
typedef routine_arg_descriptor_t mig_routine_arg_descriptor_t;

struct routine_descriptor {
    mig_impl_routine_t impl_routine;    /* null */
    mig_stub_routine_t stub_routine;    /* null where the interface skips a number */
    unsigned int argc;                  /* arguments of the program's routine, in words */
    unsigned int descr_count;           /* 0 */
    routine_arg_descriptor_t arg_descr; /* null */
    unsigned int max_reply_msg;         /* the size of the largest reply in bytes, with a trailer */
};
typedef struct routine_descriptor *routine_descriptor_t;
typedef struct routine_descriptor mig_routine_descriptor;

/* A generated server: its routines for the identifiers from start up to, and without, end. */
typedef struct mig_subsystem {
    mig_server_routine_t server;
    mach_msg_id_t start;
    mach_msg_id_t end;
    mach_msg_size_t maxsize;
    vm_address_t reserved;
    mig_routine_descriptor routine[1];
} *mig_subsystem_t;

/* A generated table of names. */
typedef struct mig_symtab {
    char *ms_routine_name;
    int ms_routine_number;
    void (*ms_routine)(void);
} mig_symtab_t;

/* The calling thread's reply port. The thread keeps it, and it goes when the thread ends. */
extern mach_port_t mig_get_reply_port(void);
extern void mig_put_reply_port(mach_port_t reply_port);
/* Destroys a reply port to which a late reply may come; the thread's next call makes another. */
extern void mig_dealloc_reply_port(mach_port_t reply_port);

/* Memory for out-of-line data. Sets *address to 0 when there is none. */
extern void mig_allocate(vm_address_t *address, vm_size_t size);
extern void mig_deallocate(vm_address_t address, vm_size_t size);

/*
 * Copies a string of at most len - 1 bytes and ends it with a NUL. Returns the length with the NUL. With zerofill the rest of the destination is
 * cleared.
 */
extern int mig_strncpy(char *destination, const char *source, int len);
extern int mig_strncpy_zerofill(char *destination, const char *source, int len);

#ifdef __cplusplus
}
#endif

#endif
