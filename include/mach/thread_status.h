/* The registers of a thread, as thread_get_state() gives and thread_set_state() takes them. Segments are not set. */
#ifndef MACH_THREAD_STATUS_H
#define MACH_THREAD_STATUS_H

#include <mach/mach_types.h>

typedef int thread_state_flavor_t;
typedef natural_t thread_state_data_t[1024];

#define THREAD_STATE_MAX 1024

#if defined(__x86_64__)

#define i386_THREAD_STATE 1

struct i386_thread_state {
    unsigned int gs;
    unsigned int fs;
    unsigned int es;
    unsigned int ds;
    uint64_t r8;
    uint64_t r9;
    uint64_t r10;
    uint64_t r11;
    uint64_t r12;
    uint64_t r13;
    uint64_t r14;
    uint64_t r15;
    uint64_t rdi;
    uint64_t rsi;
    uint64_t rbp;
    uint64_t rsp; /* as ursp; not looked at when it is set */
    uint64_t rbx;
    uint64_t rdx;
    uint64_t rcx;
    uint64_t rax;
    uint64_t rip;
    unsigned int cs;
    uint64_t rfl;
    uint64_t ursp; /* the stack pointer */
    unsigned int ss;
};

#define i386_THREAD_STATE_COUNT ((mach_msg_type_number_t) (sizeof(struct i386_thread_state) / sizeof(unsigned int)))
#define MACHINE_THREAD_STATE i386_THREAD_STATE
#define MACHINE_THREAD_STATE_COUNT i386_THREAD_STATE_COUNT
MACH_LAYOUT(sizeof(struct i386_thread_state) == 184, "i386_thread_state has 184 bytes");

#elif defined(__aarch64__)

#define AARCH64_THREAD_STATE 1

struct aarch64_thread_state {
    uint64_t x[31];
    uint64_t sp;
    uint64_t pc;
    uint64_t tpidr_el0; /* 0, and not set */
    uint64_t cpsr;
};

#define AARCH64_THREAD_STATE_COUNT \
    ((mach_msg_type_number_t) (sizeof(struct aarch64_thread_state) / sizeof(unsigned int)))
#define MACHINE_THREAD_STATE AARCH64_THREAD_STATE
#define MACHINE_THREAD_STATE_COUNT AARCH64_THREAD_STATE_COUNT
MACH_LAYOUT(sizeof(struct aarch64_thread_state) == 280, "aarch64_thread_state has 280 bytes");

#endif

#endif
