/*
 * Remote procedure calls that become calls: a task that shares its process with others registers, for a port of its
 * own, the routines behind the messages that it answers there. Who calls such a routine from a task of the same
 * process runs it on his own thread; in every other case the stub sends a message, and the outcome is the same.
 *
 * Programs call mach_port_register_traps(); the rest is for stubs that mig generates with --trap.
 */
#ifndef MACH_TRAP_H
#define MACH_TRAP_H

#include <mach/boolean.h>
#include <mach/kern_return.h>
#include <mach/message.h>
#include <mach/port.h>
#include <stddef.h>
#include <stdint.h>

/* 1 had no context, neither in the table nor for its routines. A table of another version is refused: it is to be compiled anew. */
#define MACH_TRAP_VERSION 2

/*
 * One call at a time, as a message server with one thread takes them: a call is made only while a thread of the server
 * waits in a receive on the port, or on the set that the port is in, with no message waiting there. The call takes
 * that thread's place: it gets no message before the call is over. While the server is busy, calls go by message
 * and wait their turn.
 */
#define MACH_TRAP_SERIAL 0
/* Any number of threads at once, from the registration on, while no message waits at the port. */
#define MACH_TRAP_CONCURRENT 1

/* The call would wait for itself: its server is at work on a call that this one is part of. */
#define MACH_TRAP_DEADLOCK ((kern_return_t) 0x10000100)

/*
 * A routine: the name of the port that was called, in the server's space, the arguments as the stub laid them out, and
 * what the table has for its routines. The calling thread works for the server's task meanwhile. A C++ exception or a Rust panic that leaves the
 * routine ends the call with MIG_SERVER_DIED; pthread_exit and cancellation end the thread, as anywhere.
 */
typedef kern_return_t (*mach_trap_t)(mach_port_t request, void *arguments, void *context);

struct mach_trap_entry {
    mach_trap_t entry;  /* null: by message only */
    uint64_t signature; /* of the arguments: a stub made from another definition doesn't meet it */
};

/* The routines for the message identifiers from base on. */
typedef struct {
    uint32_t version; /* MACH_TRAP_VERSION */
    mach_msg_id_t base;
    uint32_t count; /* of routines, at most 65536 */
    const struct mach_trap_entry *trap;
    void *context; /* handed to every routine; those of mig's C stubs don't look at it */
} mach_trap_table_t;

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Registers routines for a port of the task, whose receive right it has. The table is copied. A further table adds to
 * the ones before, or replaces the one with the same base; the flags, one of the two above, are the last call's.
 * They hold until the right is given away or destroyed. With a null table all are withdrawn, and no call is in them any
 * more when this returns, but for those that the calling thread is itself in.
 *
 * KERN_INVALID_ARGUMENT: the version, the count or the flags are none that are known; KERN_INVALID_TASK,
 * KERN_INVALID_NAME, KERN_INVALID_RIGHT: no such receive right.
 */
extern kern_return_t mach_port_register_traps(mach_port_t task, mach_port_t receive, const mach_trap_table_t *table, int flags);

/*
 * For stubs. TRUE: the routine for the identifier was called, and *code is what it returned, MIG_SERVER_DIED or
 * MACH_TRAP_DEADLOCK. FALSE: nothing has happened, and a message is to be sent.
 */
extern boolean_t mach_trap(mach_port_t destination, mach_msg_id_t id, uint64_t signature, void *arguments, kern_return_t *code);

/*
 * For trap functions: memory, aligned to 16 bytes, for the call that the thread is in. An exception that leaves the routine
 * gives back what mig_trap_free() has not. NULL if there is none.
 */
extern void *mig_trap_allocate(size_t size);
extern void mig_trap_free(void *memory);

#ifdef __cplusplus
}
#endif

#endif
