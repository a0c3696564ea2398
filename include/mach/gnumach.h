/* Sleeping on a word of memory, as GNU Mach has it. KERN_INVALID_ADDRESS: no aligned word that can be written is there. */
#ifndef MACH_GNUMACH_H
#define MACH_GNUMACH_H

#include <mach/mach_types.h>

#define GSYNC_SHARED 0x01    /* with threads of other tasks that share the memory */
#define GSYNC_QUAD 0x02      /* two words: not here, KERN_INVALID_ARGUMENT */
#define GSYNC_TIMED 0x04     /* for so many milliseconds */
#define GSYNC_BROADCAST 0x08 /* all that sleep */
#define GSYNC_MUTATE 0x10    /* sets the word first */

#ifdef __cplusplus
extern "C" {
#endif

/* Sleeps while the word is val1. KERN_INVALID_ARGUMENT: it is not; KERN_TIMEDOUT; KERN_INTERRUPTED: a signal was handled. */
extern kern_return_t gsync_wait(task_t task, vm_offset_t addr, unsigned int val1, unsigned int val2, natural_t msec,
                                int flags);
extern kern_return_t gsync_wake(task_t task, vm_offset_t addr, unsigned int val, int flags);
/* Has all that sleep on a word sleep on another, but for one if wake_one. */
extern kern_return_t gsync_requeue(task_t task, vm_offset_t src, vm_offset_t dst, boolean_t wake_one, int flags);

#ifdef __cplusplus
}
#endif

#endif
