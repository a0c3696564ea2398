/*
 * Exceptions: signals that a thread's own instructions raise, told as messages to the thread's port for that kind, its special port, its task's
 * port, and its task's special port, one after the other until one answers KERN_SUCCESS. Then the thread goes on; else the signal takes its course.
 */
#ifndef MACH_EXCEPTION_H
#define MACH_EXCEPTION_H

#include <mach/mach_types.h>
#include <mach/thread_status.h>

#include <stdint.h>

#define EXC_BAD_ACCESS 1      /* memory that is not there, or may not be used so: SIGSEGV, SIGBUS */
#define EXC_BAD_INSTRUCTION 2 /* not an instruction, or a privileged one: SIGILL */
#define EXC_ARITHMETIC 3      /* SIGFPE */
#define EXC_EMULATION 4       /* this and the others but the next are never told */
#define EXC_SOFTWARE 5
#define EXC_BREAKPOINT 6 /* SIGTRAP */
#define EXC_SYSCALL 7
#define EXC_MACH_SYSCALL 8
#define EXC_RPC_ALERT 9
#define EXC_CRASH 10
#define EXC_RESOURCE 11
#define EXC_GUARD 12
#define EXC_CORPSE_NOTIFY 13
#define EXC_TYPES_COUNT 14

#define EXC_MASK_BAD_ACCESS (1 << EXC_BAD_ACCESS)
#define EXC_MASK_BAD_INSTRUCTION (1 << EXC_BAD_INSTRUCTION)
#define EXC_MASK_ARITHMETIC (1 << EXC_ARITHMETIC)
#define EXC_MASK_EMULATION (1 << EXC_EMULATION)
#define EXC_MASK_SOFTWARE (1 << EXC_SOFTWARE)
#define EXC_MASK_BREAKPOINT (1 << EXC_BREAKPOINT)
#define EXC_MASK_SYSCALL (1 << EXC_SYSCALL)
#define EXC_MASK_MACH_SYSCALL (1 << EXC_MACH_SYSCALL)
#define EXC_MASK_RPC_ALERT (1 << EXC_RPC_ALERT)
#define EXC_MASK_CRASH (1 << EXC_CRASH)
#define EXC_MASK_RESOURCE (1 << EXC_RESOURCE)
#define EXC_MASK_GUARD (1 << EXC_GUARD)
#define EXC_MASK_CORPSE_NOTIFY (1 << EXC_CORPSE_NOTIFY)
#define EXC_MASK_ALL \
    (EXC_MASK_BAD_ACCESS | EXC_MASK_BAD_INSTRUCTION | EXC_MASK_ARITHMETIC | EXC_MASK_EMULATION | EXC_MASK_SOFTWARE | \
     EXC_MASK_BREAKPOINT | EXC_MASK_SYSCALL | EXC_MASK_MACH_SYSCALL | EXC_MASK_RPC_ALERT | EXC_MASK_RESOURCE | EXC_MASK_GUARD)

/* What the message tells: the thread and its task, the thread's state, which is set to the answer's, or both. */
#define EXCEPTION_DEFAULT 1
#define EXCEPTION_STATE 2
#define EXCEPTION_STATE_IDENTITY 3
#define MACH_EXCEPTION_CODES 0x80000000u /* Darwin's messages with codes of 64 bits */

/* Codes of EXC_BAD_ACCESS are KERN_*, with the address as the second; of the others these. */
#if defined(__x86_64__)
#define EXC_I386_DIV 1       /* EXC_ARITHMETIC: by zero */
#define EXC_I386_INTO 2      /* overflow */
#define EXC_I386_EXTERR 5    /* floating point */
#define EXC_I386_INVOP 1     /* EXC_BAD_INSTRUCTION */
#define EXC_I386_SGL 1       /* EXC_BREAKPOINT: a single step */
#define EXC_I386_BPT 2       /* a breakpoint */
#define EXC_I386_GPFLT 13    /* EXC_BAD_ACCESS: an address that can't be one; the second code is 0 */
#define EXC_I386_ALIGNFLT 17 /* EXC_BAD_ACCESS */
#elif defined(__aarch64__)
#define EXC_ARM_UNDEFINED 1      /* EXC_BAD_INSTRUCTION */
#define EXC_ARM_BREAKPOINT 1     /* EXC_BREAKPOINT */
#define EXC_ARM_DA_ALIGN 0x101   /* EXC_BAD_ACCESS */
#endif

typedef int exception_type_t;
typedef integer_t exception_data_type_t;
typedef integer_t *exception_data_t;
typedef int64_t mach_exception_data_type_t;
typedef int64_t *mach_exception_data_t;
typedef int exception_behavior_t;
typedef unsigned int exception_mask_t;
typedef mach_port_t exception_handler_t;
typedef exception_mask_t *exception_mask_array_t;
typedef exception_behavior_t *exception_behavior_array_t;
typedef thread_state_flavor_t *exception_flavor_array_t;
typedef mach_port_t *exception_port_array_t;
typedef exception_handler_t *exception_handler_array_t;

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The exceptions in the mask are told to the port, to which the caller keeps its send right; MACH_PORT_NULL: to none. The messages are of the
 * dialect that the caller is compiled for: <mach/exc.defs>, Darwin's also <mach/mach_exc.defs>. KERN_INVALID_ARGUMENT: a kind, behavior or
 * flavor that there is not.
 */
extern kern_return_t task_set_exception_ports(task_t task, exception_mask_t mask, mach_port_t port,
                                              exception_behavior_t behavior, thread_state_flavor_t flavor);
/* Which exceptions are told where: those of one port and one form together. *count is the room in each array, EXC_TYPES_COUNT at most. */
extern kern_return_t task_get_exception_ports(task_t task, exception_mask_t mask, exception_mask_array_t masks,
                                              mach_msg_type_number_t *count, exception_handler_array_t ports,
                                              exception_behavior_array_t behaviors, exception_flavor_array_t flavors);
extern kern_return_t task_swap_exception_ports(task_t task, exception_mask_t mask, mach_port_t port,
                                               exception_behavior_t behavior, thread_state_flavor_t flavor,
                                               exception_mask_array_t masks, mach_msg_type_number_t *count,
                                               exception_handler_array_t ports, exception_behavior_array_t behaviors,
                                               exception_flavor_array_t flavors);
/* The same of a thread, whose ports are told before its task's. */
extern kern_return_t thread_set_exception_ports(thread_t thread, exception_mask_t mask, mach_port_t port,
                                                exception_behavior_t behavior, thread_state_flavor_t flavor);
extern kern_return_t thread_get_exception_ports(thread_t thread, exception_mask_t mask, exception_mask_array_t masks,
                                                mach_msg_type_number_t *count, exception_handler_array_t ports,
                                                exception_behavior_array_t behaviors, exception_flavor_array_t flavors);
extern kern_return_t thread_swap_exception_ports(thread_t thread, exception_mask_t mask, mach_port_t port,
                                                 exception_behavior_t behavior, thread_state_flavor_t flavor,
                                                 exception_mask_array_t masks, mach_msg_type_number_t *count,
                                                 exception_handler_array_t ports, exception_behavior_array_t behaviors,
                                                 exception_flavor_array_t flavors);

#ifdef __cplusplus
}
#endif

#endif
