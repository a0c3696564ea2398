/* The registers of a thread, as thread_get_state() gives and thread_set_state() takes them. Segments are not set. */
#ifndef MACH_THREAD_STATUS_H
#define MACH_THREAD_STATUS_H

#include <mach/mach_types.h>

typedef int thread_state_flavor_t;
typedef natural_t thread_state_data_t[1296];

#define THREAD_STATE_MAX 1296

#if defined(__x86_64__)

#define x86_THREAD_STATE64 4
#define x86_EXCEPTION_STATE64 6 /* to be read only */
#define x86_THREAD_STATE 7
#define THREAD_STATE_NONE 13

typedef struct {
    uint64_t __rax, __rbx, __rcx, __rdx, __rdi, __rsi, __rbp, __rsp;
    uint64_t __r8, __r9, __r10, __r11, __r12, __r13, __r14, __r15;
    uint64_t __rip, __rflags, __cs, __fs, __gs;
} x86_thread_state64_t;

typedef struct {
    uint16_t __trapno;
    uint16_t __cpu; /* 0: the system does not tell */
    uint32_t __err;
    uint64_t __faultvaddr;
} x86_exception_state64_t;

typedef struct {
    int flavor; /* x86_THREAD_STATE64 */
    int count;
} x86_state_hdr_t;

typedef struct {
    x86_state_hdr_t tsh;
    union {
        x86_thread_state64_t ts64;
    } uts;
} x86_thread_state_t;

#define x86_THREAD_STATE64_COUNT ((mach_msg_type_number_t) (sizeof(x86_thread_state64_t) / sizeof(int)))
#define x86_EXCEPTION_STATE64_COUNT ((mach_msg_type_number_t) (sizeof(x86_exception_state64_t) / sizeof(int)))
#define x86_THREAD_STATE_COUNT ((mach_msg_type_number_t) (sizeof(x86_thread_state_t) / sizeof(int)))
#define MACHINE_THREAD_STATE x86_THREAD_STATE
#define MACHINE_THREAD_STATE_COUNT x86_THREAD_STATE_COUNT
MACH_LAYOUT(sizeof(x86_thread_state64_t) == 168, "x86_thread_state64_t has 168 bytes");

#elif defined(__aarch64__)

#define ARM_THREAD_STATE64 6
#define ARM_EXCEPTION_STATE64 7 /* to be read only */
#define THREAD_STATE_NONE 5

typedef struct {
    uint64_t __x[29];
    uint64_t __fp;
    uint64_t __lr;
    uint64_t __sp;
    uint64_t __pc;
    uint32_t __cpsr;
    uint32_t __pad;
} arm_thread_state64_t;

typedef struct {
    uint64_t __far;
    uint32_t __esr;       /* 0: the system does not tell */
    uint32_t __exception; /* 0 */
} arm_exception_state64_t;

#define ARM_THREAD_STATE64_COUNT ((mach_msg_type_number_t) (sizeof(arm_thread_state64_t) / sizeof(int)))
#define ARM_EXCEPTION_STATE64_COUNT ((mach_msg_type_number_t) (sizeof(arm_exception_state64_t) / sizeof(int)))
#define MACHINE_THREAD_STATE ARM_THREAD_STATE64
#define MACHINE_THREAD_STATE_COUNT ARM_THREAD_STATE64_COUNT
MACH_LAYOUT(sizeof(arm_thread_state64_t) == 272, "arm_thread_state64_t has 272 bytes");

#endif

#endif
