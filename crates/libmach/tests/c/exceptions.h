/* What a test of exceptions does with those that it is told, in either dialect. For one file. */
#ifndef EXCEPTIONS_H
#define EXCEPTIONS_H

#include "check.h"

#include <mach/exception.h>
#include <mach/mach.h>
#ifdef MACH_DARWIN
#include "mach_excServer.h"
#endif
#include "excServer.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define self mach_task_self()
#define S KERN_SUCCESS

enum { LARGEST = 8192, PATIENCE = 30000 };

#if defined(MACH_DARWIN)
#define FORM ((exception_behavior_t) MACH_EXCEPTION_CODES)
#define SERVER both_servers

static boolean_t both_servers(mach_msg_header_t *request, mach_msg_header_t *reply) {
    return mach_exc_server(request, reply) || exc_server(request, reply);
}
#else
#define FORM 0
#define SERVER exc_server
#endif

#if defined(MACH_DARWIN) && defined(__x86_64__)
typedef x86_thread_state64_t registers;
#define FLAVOR x86_THREAD_STATE64
#define PC(state) (state)->__rip
#elif defined(MACH_DARWIN)
typedef arm_thread_state64_t registers;
#define FLAVOR ARM_THREAD_STATE64
#define PC(state) (state)->__pc
#elif defined(__x86_64__)
typedef struct i386_thread_state registers;
#define FLAVOR i386_THREAD_STATE
#define PC(state) (state)->rip
#else
typedef struct aarch64_thread_state registers;
#define FLAVOR AARCH64_THREAD_STATE
#define PC(state) (state)->pc
#endif
#define COUNT ((mach_msg_type_number_t) (sizeof(registers) / sizeof(natural_t)))

#if defined(__x86_64__)
#define BAD_INSTRUCTION "ud2"
#define BREAKPOINT "int3"
enum { BAD_LENGTH = 2, BREAK_LENGTH = 0, BAD_CODE = EXC_I386_INVOP, BREAK_CODE = EXC_I386_BPT };
#else
#define BAD_INSTRUCTION "udf 0"
#define BREAKPOINT "brk 0"
enum { BAD_LENGTH = 4, BREAK_LENGTH = 4, BAD_CODE = EXC_ARM_UNDEFINED, BREAK_CODE = EXC_ARM_BREAKPOINT };
#endif

/* What a handler does with what it is told. */
enum { REFUSE, UNPROTECT, GROW, SKIP_BAD, SKIP_BREAK, SKIP_BAD_ONCE };

static struct {
    atomic_int does, told, refused;
    exception_type_t kind;
    int code;
    int64_t subcode;
    int with_state, with_identity, narrow;
    mach_port_t port, thread, task;
} seen;

static char *page;
static int file = -1;
static mach_port_t port, other;

static void note(mach_port_t at, exception_type_t kind, int64_t code, int64_t subcode) {
    seen.port = at;
    seen.kind = kind;
    seen.code = (int) code;
    seen.subcode = subcode;
    seen.told++;
}

static void step(registers *state) {
    PC(state) += seen.does == SKIP_BREAK ? (uint64_t) BREAK_LENGTH : (uint64_t) BAD_LENGTH;
}

/* Has the rest of the exceptions of another process's task told here, too. */
static void adopt(mach_port_t thread, mach_port_t task) {
    exception_mask_t masks[EXC_TYPES_COUNT];
    mach_port_t ports[EXC_TYPES_COUNT];
    exception_behavior_t behaviors[EXC_TYPES_COUNT];
    thread_state_flavor_t flavors[EXC_TYPES_COUNT];
    mach_msg_type_number_t count = EXC_TYPES_COUNT;
    exception_mask_t found = 0;
    CHECK_CODE(task_set_exception_ports(task, EXC_MASK_BREAKPOINT, other, EXCEPTION_DEFAULT | FORM, 0), S);
    CHECK_CODE(task_set_exception_ports(task, EXC_MASK_BREAKPOINT, 0x123400, EXCEPTION_DEFAULT | FORM, 0), MACH_SEND_INVALID_RIGHT);
    CHECK_CODE(thread_set_exception_ports(thread, EXC_MASK_BAD_ACCESS, other, EXCEPTION_DEFAULT | FORM, 0), S);
    CHECK_CODE(task_get_exception_ports(task, EXC_MASK_ALL, masks, &count, ports, behaviors, flavors), S);
    for (mach_msg_type_number_t i = 0; i < count; i++) {
        if (ports[i] == other) found |= masks[i];
        if (ports[i] == port) CHECK(masks[i] == EXC_MASK_BAD_INSTRUCTION && behaviors[i] == (EXCEPTION_DEFAULT | FORM));
    }
    CHECK(count == 3 && found == EXC_MASK_BREAKPOINT);
    count = EXC_TYPES_COUNT;
    CHECK_CODE(thread_swap_exception_ports(thread, EXC_MASK_BAD_ACCESS, other, EXCEPTION_DEFAULT | FORM, 0, masks, &count, ports,
                                           behaviors, flavors), S);
    CHECK(count == 1 && masks[0] == EXC_MASK_BAD_ACCESS && ports[0] == other);
}

/* What says itself which state it has is the same, and can be set, too; what is not about registers can only be read. */
static void check_other_flavors(mach_port_t thread, const registers *now) {
#ifdef x86_THREAD_STATE
    x86_thread_state_t any;
    x86_exception_state64_t fault;
    mach_msg_type_number_t count = x86_THREAD_STATE_COUNT, fault_count = x86_EXCEPTION_STATE64_COUNT,
                           state_count = COUNT;
    CHECK_CODE(thread_get_state(thread, x86_THREAD_STATE, (thread_state_t) &any, &count), S);
    CHECK(count == x86_THREAD_STATE_COUNT && any.tsh.flavor == x86_THREAD_STATE64 && any.tsh.count == (int) COUNT);
    CHECK(memcmp(&any.uts.ts64, now, sizeof *now) == 0);
    any.uts.ts64.__r15 ^= 1;
    CHECK_CODE(thread_set_state(thread, x86_THREAD_STATE, (thread_state_t) &any, count - 1), KERN_INVALID_ARGUMENT);
    CHECK_CODE(thread_set_state(thread, x86_THREAD_STATE, (thread_state_t) &any, count), S);
    CHECK_CODE(thread_get_state(thread, FLAVOR, (thread_state_t) &any.uts.ts64, &state_count), S);
    CHECK(any.uts.ts64.__r15 == (now->__r15 ^ 1));
    any.uts.ts64.__r15 ^= 1;
    CHECK_CODE(thread_set_state(thread, x86_THREAD_STATE, (thread_state_t) &any, count), S);
    any.tsh.flavor = x86_EXCEPTION_STATE64;
    CHECK_CODE(thread_set_state(thread, x86_THREAD_STATE, (thread_state_t) &any, count), KERN_INVALID_ARGUMENT);
    CHECK_CODE(thread_get_state(thread, x86_EXCEPTION_STATE64, (thread_state_t) &fault, &fault_count), S);
    CHECK_CODE(thread_set_state(thread, x86_EXCEPTION_STATE64, (thread_state_t) &fault, fault_count), KERN_INVALID_ARGUMENT);
#else
    (void) thread;
    (void) now;
#endif
}

/* Mends what is to be mended without the thread's state in the message. */
static kern_return_t mend(mach_port_t thread, mach_port_t task, int64_t address) {
    registers state;
    mach_msg_type_number_t count = COUNT, less = COUNT - 1;
    seen.thread = thread;
    seen.task = task;
    switch (seen.does) {
    case UNPROTECT:
        CHECK_CODE(vm_protect(task, (vm_address_t) address, vm_page_size, FALSE, VM_PROT_READ | VM_PROT_WRITE), S);
        return S;
    case GROW:
        CHECK(ftruncate(file, getpagesize()) == 0);
        return S;
    case SKIP_BAD:
    case SKIP_BAD_ONCE:
    case SKIP_BREAK:
        CHECK_CODE(thread_get_state(thread, FLAVOR, (thread_state_t) &state, &less), KERN_INVALID_ARGUMENT);
        CHECK_CODE(thread_get_state(thread, 99, (thread_state_t) &state, &count), KERN_INVALID_ARGUMENT);
        count = COUNT;
        CHECK_CODE(thread_get_state(thread, FLAVOR, (thread_state_t) &state, &count), S);
        CHECK(count == COUNT);
        step(&state);
        CHECK_CODE(thread_set_state(thread, FLAVOR, (thread_state_t) &state, COUNT - 1), KERN_INVALID_ARGUMENT);
        CHECK_CODE(thread_set_state(thread, FLAVOR, (thread_state_t) &state, COUNT), S);
        check_other_flavors(thread, &state);
        if (seen.does == SKIP_BAD_ONCE) {
            adopt(thread, task);
            seen.does = REFUSE;
        }
        return S;
    default:
        seen.refused++;
        return KERN_FAILURE;
    }
}

static kern_return_t mend_state(int *flavor, thread_state_t old, mach_msg_type_number_t old_count, thread_state_t new,
                                mach_msg_type_number_t *new_count) {
    seen.with_state = 1;
    CHECK(*flavor == FLAVOR && old_count == COUNT);
    memcpy(new, old, sizeof(registers));
    *new_count = COUNT;
    step((registers *) (void *) new);
    return S;
}

#ifdef MACH_DARWIN
kern_return_t catch_mach_exception_raise(mach_port_t at, mach_port_t thread, mach_port_t task, exception_type_t kind,
                                         mach_exception_data_t code, mach_msg_type_number_t count) {
    CHECK(count == 2);
    note(at, kind, code[0], code[1]);
    return mend(thread, task, code[1]);
}

kern_return_t catch_mach_exception_raise_state(mach_port_t at, exception_type_t kind, const mach_exception_data_t code,
                                               mach_msg_type_number_t count, int *flavor, const thread_state_t old,
                                               mach_msg_type_number_t old_count, thread_state_t new,
                                               mach_msg_type_number_t *new_count) {
    CHECK(count == 2);
    note(at, kind, code[0], code[1]);
    return mend_state(flavor, old, old_count, new, new_count);
}

kern_return_t catch_mach_exception_raise_state_identity(mach_port_t at, mach_port_t thread, mach_port_t task,
                                                        exception_type_t kind, mach_exception_data_t code,
                                                        mach_msg_type_number_t count, int *flavor, thread_state_t old,
                                                        mach_msg_type_number_t old_count, thread_state_t new,
                                                        mach_msg_type_number_t *new_count) {
    CHECK(count == 2 && thread != MACH_PORT_NULL && task == self);
    seen.with_identity = 1;
    note(at, kind, code[0], code[1]);
    return mend_state(flavor, old, old_count, new, new_count);
}

/* With codes of 32 bits, which hold no address. */
static kern_return_t note_narrow(mach_port_t at, exception_type_t kind, const integer_t *code, mach_msg_type_number_t count) {
    CHECK(count == 2);
    note(at, kind, code[0], code[1]);
    seen.narrow++;
    return S;
}

kern_return_t catch_exception_raise(mach_port_t at, mach_port_t thread, mach_port_t task, exception_type_t kind,
                                    exception_data_t code, mach_msg_type_number_t count) {
    note_narrow(at, kind, code, count);
    return mend(thread, task, (int64_t) (uintptr_t) page);
}

kern_return_t catch_exception_raise_state(mach_port_t at, exception_type_t kind, const exception_data_t code,
                                          mach_msg_type_number_t count, int *flavor, const thread_state_t old,
                                          mach_msg_type_number_t old_count, thread_state_t new,
                                          mach_msg_type_number_t *new_count) {
    note_narrow(at, kind, code, count);
    return mend_state(flavor, old, old_count, new, new_count);
}

kern_return_t catch_exception_raise_state_identity(mach_port_t at, mach_port_t thread, mach_port_t task,
                                                   exception_type_t kind, exception_data_t code, mach_msg_type_number_t count,
                                                   int *flavor, thread_state_t old, mach_msg_type_number_t old_count,
                                                   thread_state_t new, mach_msg_type_number_t *new_count) {
    CHECK(thread != MACH_PORT_NULL && task == self);
    seen.with_identity = 1;
    note_narrow(at, kind, code, count);
    return mend_state(flavor, old, old_count, new, new_count);
}
#else
kern_return_t catch_exception_raise(mach_port_t at, mach_port_t thread, mach_port_t task, integer_t kind, integer_t code,
                                    int64_t subcode) {
    note(at, kind, code, subcode);
    return mend(thread, task, subcode);
}

kern_return_t catch_exception_raise_state(mach_port_t at, integer_t kind, integer_t code, int64_t subcode, int *flavor,
                                          thread_state_t old, mach_msg_type_number_t old_count, thread_state_t new,
                                          mach_msg_type_number_t *new_count) {
    note(at, kind, code, subcode);
    return mend_state(flavor, old, old_count, new, new_count);
}

kern_return_t catch_exception_raise_state_identity(mach_port_t at, mach_port_t thread, mach_port_t task, integer_t kind,
                                                   integer_t code, int64_t subcode, int *flavor, thread_state_t old,
                                                   mach_msg_type_number_t old_count, thread_state_t new,
                                                   mach_msg_type_number_t *new_count) {
    CHECK(thread != MACH_PORT_NULL && task == self);
    seen.with_identity = 1;
    note(at, kind, code, subcode);
    return mend_state(flavor, old, old_count, new, new_count);
}
#endif

#endif
