/* How thread_switch() gives the processor away. */
#ifndef MACH_THREAD_SWITCH_H
#define MACH_THREAD_SWITCH_H

#include <mach/kern_return.h>
#include <mach/message.h>

#define SWITCH_OPTION_NONE 0    /* to any thread */
#define SWITCH_OPTION_DEPRESS 1 /* the same: priorities are the system's */
#define SWITCH_OPTION_WAIT 2    /* for so many milliseconds */

#define valid_switch_option(option) (0 <= (option) && (option) <= 2)

#ifdef __cplusplus
extern "C" {
#endif

/* Which thread runs next is the system's choice. KERN_INVALID_ARGUMENT: no such option. */
extern kern_return_t thread_switch(mach_port_name_t new_thread, int option, mach_msg_timeout_t time);

#ifdef __cplusplus
}
#endif

#endif
