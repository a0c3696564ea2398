/* Exceptions of this task and of a child, in either dialect: what handlers are told, what they mend, and what becomes of those that nobody handles. */
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

/* Serves both ports. */
static void *serve(void *set) {
    for (;;) CHECK_CODE(mach_msg_server_once((boolean_t(*)(mach_msg_header_t *, mach_msg_header_t *)) SERVER, LARGEST,
                                             (mach_port_t) (uintptr_t) set, 0), S);
    return set;
}

static mach_port_t make_port(void) {
    mach_port_t made;
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, &made) == S);
    MUST(mach_port_insert_right(self, made, made, MACH_MSG_TYPE_MAKE_SEND) == S);
    return made;
}

static void bad_instruction(void) { __asm__ volatile(BAD_INSTRUCTION ::: "memory"); }
static void breakpoint(void) { __asm__ volatile(BREAKPOINT ::: "memory"); }

static void touch(void) { *(volatile char *) page = 7; }

static void protect(void) { MUST(mprotect(page, (size_t) getpagesize(), PROT_NONE) == 0); }

static void does(int what) {
    memset(&seen, 0, sizeof seen);
    seen.does = what;
}

static void test_default(void) {
    CHECK_CODE(task_set_exception_ports(self, EXC_MASK_ALL, port, EXCEPTION_DEFAULT | FORM, 0), S);
    does(UNPROTECT);
    protect();
    touch();
    CHECK(page[0] == 7 && seen.told == 1 && seen.kind == EXC_BAD_ACCESS && seen.code == KERN_PROTECTION_FAILURE);
    CHECK(seen.subcode == (int64_t) (uintptr_t) page && seen.task == self && seen.port == port);
    const mach_port_t own = mach_thread_self();
    CHECK(seen.thread == own);
    does(SKIP_BAD);
    bad_instruction();
    CHECK(seen.told == 1 && seen.kind == EXC_BAD_INSTRUCTION && seen.code == BAD_CODE && seen.thread == own);
    does(SKIP_BREAK);
    breakpoint();
    CHECK(seen.told == 1 && seen.kind == EXC_BREAKPOINT && seen.code == BREAK_CODE);
    /* Nobody has the state of a thread that runs. */
    registers state;
    mach_msg_type_number_t count = COUNT;
    CHECK_CODE(thread_get_state(own, FLAVOR, (thread_state_t) &state, &count), KERN_FAILURE);
}

static void test_state(void) {
    does(SKIP_BAD);
    CHECK_CODE(task_set_exception_ports(self, EXC_MASK_BAD_INSTRUCTION, port, EXCEPTION_STATE | FORM, FLAVOR), S);
    bad_instruction();
    CHECK(seen.told == 1 && seen.with_state && !seen.with_identity && seen.kind == EXC_BAD_INSTRUCTION && seen.code == BAD_CODE);
    does(SKIP_BREAK);
    CHECK_CODE(task_set_exception_ports(self, EXC_MASK_BREAKPOINT, port, EXCEPTION_STATE_IDENTITY | FORM, FLAVOR), S);
    breakpoint();
    CHECK(seen.told == 1 && seen.with_state && seen.with_identity && seen.kind == EXC_BREAKPOINT);
}

/* Signals that the other tests have not. */
static void test_kinds(void) {
#if defined(__x86_64__)
    does(SKIP_BAD);
    __asm__ volatile("xor %%ecx, %%ecx\n\txor %%edx, %%edx\n\tidivl %%ecx" ::: "eax", "ecx", "edx", "cc");
    CHECK(seen.told == 1 && seen.kind == EXC_ARITHMETIC && seen.code == EXC_I386_DIV);
#endif
    file = memfd_create("file", MFD_CLOEXEC);
    volatile char *mapped = mmap(NULL, (size_t) getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    MUST(mapped != MAP_FAILED);
    does(GROW);
    *mapped = 7;
    CHECK(seen.told == 1 && seen.kind == EXC_BAD_ACCESS && seen.code == KERN_MEMORY_ERROR);
    CHECK(seen.subcode == (int64_t) (uintptr_t) mapped && *mapped == 7);
    CHECK(munmap((void *) (uintptr_t) mapped, (size_t) getpagesize()) == 0 && close(file) == 0);
}

#ifdef MACH_DARWIN
static void test_narrow(void) {
    does(UNPROTECT);
    CHECK_CODE(task_set_exception_ports(self, EXC_MASK_BAD_ACCESS, port, EXCEPTION_DEFAULT, 0), S);
    protect();
    touch();
    CHECK(seen.narrow == 1 && seen.told == 1 && seen.kind == EXC_BAD_ACCESS && seen.code == KERN_PROTECTION_FAILURE);
    CHECK(seen.subcode == (integer_t) (uintptr_t) page && seen.task == self);
    does(SKIP_BAD);
    CHECK_CODE(task_set_exception_ports(self, EXC_MASK_BAD_INSTRUCTION, port, EXCEPTION_STATE, FLAVOR), S);
    bad_instruction();
    CHECK(seen.narrow == 1 && seen.with_state && !seen.with_identity && seen.code == BAD_CODE);
    CHECK_CODE(task_set_exception_ports(self, EXC_MASK_BAD_INSTRUCTION, port, EXCEPTION_STATE_IDENTITY, FLAVOR), S);
    bad_instruction();
    CHECK(seen.narrow == 2 && seen.with_identity);
    CHECK_CODE(task_set_exception_ports(self, EXC_MASK_ALL, port, EXCEPTION_DEFAULT | FORM, 0), S);
}
#endif

/* Answers a request with a right that nobody has asked for, or with nothing. */
static void *misanswer(void *at) {
    union {
        mach_msg_header_t header;
        char room[LARGEST];
    } request;
    const mach_port_t from = (mach_port_t) (uintptr_t) at;
    CHECK_CODE(mach_msg(&request.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof request, from, PATIENCE, 0), S);
#ifdef MACH_DARWIN
    struct {
        mach_msg_header_t header;
        mach_msg_body_t body;
        mach_msg_port_descriptor_t port;
    } reply;
    memset(&reply, 0, sizeof reply);
    reply.header.msgh_bits = MACH_MSGH_BITS_COMPLEX | MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0);
    reply.header.msgh_size = sizeof reply;
    reply.header.msgh_remote_port = request.header.msgh_remote_port;
    reply.header.msgh_id = request.header.msgh_id + 100;
    reply.body.msgh_descriptor_count = 1;
    reply.port.name = from;
    reply.port.disposition = MACH_MSG_TYPE_MAKE_SEND;
    CHECK_CODE(mach_msg(&reply.header, MACH_SEND_MSG, sizeof reply, 0, MACH_PORT_NULL, 0, 0), S);
    request.header.msgh_remote_port = MACH_PORT_NULL;
#endif
    mach_msg_destroy(&request.header);
    return at;
}

/* After a port that does not answer, and one that is dead, the next is told. */
static void test_silent(void) {
    pthread_t thread;
    const mach_port_t own = mach_thread_self(), silent = make_port();
    CHECK_CODE(thread_set_exception_ports(own, EXC_MASK_BAD_INSTRUCTION, silent, EXCEPTION_DEFAULT | FORM, 0), S);
    MUST(pthread_create(&thread, NULL, misanswer, (void *) (uintptr_t) silent) == 0);
    does(SKIP_BAD);
    bad_instruction();
    CHECK(seen.told == 1 && seen.port == port);
    CHECK(pthread_join(thread, NULL) == 0);
    /* Nothing of the answer is kept: the port has no sender when these have gone. */
    CHECK_CODE(thread_set_exception_ports(own, EXC_MASK_BAD_INSTRUCTION, MACH_PORT_NULL, EXCEPTION_DEFAULT | FORM, 0), S);
    CHECK_CODE(mach_port_deallocate(self, silent), S);
    mach_port_status_t status;
    mach_msg_type_number_t count = MACH_PORT_RECEIVE_STATUS_COUNT;
    CHECK_CODE(mach_port_get_attributes(self, silent, MACH_PORT_RECEIVE_STATUS, (mach_port_info_t) &status, &count), S);
    CHECK(!status.mps_srights);
    const mach_port_t dead = make_port();
    CHECK_CODE(thread_set_exception_ports(own, EXC_MASK_BAD_INSTRUCTION, dead, EXCEPTION_DEFAULT | FORM, 0), S);
    CHECK_CODE(mach_port_mod_refs(self, dead, MACH_PORT_RIGHT_RECEIVE, -1), S);
    bad_instruction();
    CHECK(seen.told == 2 && seen.port == port);
    CHECK_CODE(thread_set_exception_ports(own, EXC_MASK_BAD_INSTRUCTION, MACH_PORT_NULL, EXCEPTION_DEFAULT | FORM, 0), S);
}

/* The thread's port comes first, and the task's when that refuses. */
static void test_thread(void) {
    const mach_port_t own = mach_thread_self();
    mach_port_t special = MACH_PORT_NULL;
    CHECK_CODE(thread_set_exception_ports(own, EXC_MASK_BAD_INSTRUCTION, other, EXCEPTION_STATE | FORM, FLAVOR), S);
    does(SKIP_BAD);
    bad_instruction();
    CHECK(seen.told == 1 && seen.port == other);
    CHECK_CODE(thread_set_exception_ports(own, EXC_MASK_BAD_INSTRUCTION, MACH_PORT_NULL, EXCEPTION_DEFAULT | FORM, 0), S);
    bad_instruction();
    CHECK(seen.told == 2 && seen.port == port);
    CHECK_CODE(thread_set_exception_ports(own, EXC_MASK_BAD_ACCESS, other, EXCEPTION_DEFAULT | FORM, 0), S);
    CHECK_CODE(task_set_exception_ports(self, EXC_MASK_BAD_ACCESS, MACH_PORT_NULL, EXCEPTION_DEFAULT | FORM, 0), S);
    does(UNPROTECT);
    protect();
    touch();
    CHECK(seen.told == 1 && seen.port == other && seen.kind == EXC_BAD_ACCESS);
    CHECK_CODE(thread_set_exception_ports(own, EXC_MASK_BAD_ACCESS, MACH_PORT_NULL, EXCEPTION_DEFAULT | FORM, 0), S);
    CHECK_CODE(task_set_exception_ports(self, EXC_MASK_BAD_ACCESS, port, EXCEPTION_DEFAULT | FORM, 0), S);
    CHECK_CODE(thread_get_special_port(own, THREAD_KERNEL_PORT, &special), S);
    CHECK(special == own);
    CHECK_CODE(thread_set_special_port(own, THREAD_KERNEL_PORT, port), KERN_INVALID_ARGUMENT);
    CHECK_CODE(thread_get_special_port(own, THREAD_EXCEPTION_PORT, &special), S);
    CHECK(special == MACH_PORT_NULL);
    CHECK_CODE(thread_set_special_port(own, THREAD_EXCEPTION_PORT, other), S);
    CHECK_CODE(thread_get_special_port(own, THREAD_EXCEPTION_PORT, &special), S);
    CHECK(special == other);
    CHECK_CODE(mach_port_deallocate(self, special), S);
#ifndef MACH_DARWIN
    /* Special ports are told in the typed dialect's form. */
    CHECK_CODE(task_set_exception_ports(self, EXC_MASK_BAD_ACCESS, MACH_PORT_NULL, EXCEPTION_DEFAULT, 0), S);
    does(UNPROTECT);
    protect();
    touch();
    CHECK(seen.told == 1 && seen.port == other);
    CHECK_CODE(thread_set_special_port(own, THREAD_EXCEPTION_PORT, MACH_PORT_NULL), S);
    CHECK_CODE(task_set_special_port(self, TASK_EXCEPTION_PORT, port), S);
    protect();
    touch();
    CHECK(seen.told == 2 && seen.port == port);
    CHECK_CODE(task_set_special_port(self, TASK_EXCEPTION_PORT, MACH_PORT_NULL), S);
    CHECK_CODE(task_set_exception_ports(self, EXC_MASK_BAD_ACCESS, port, EXCEPTION_DEFAULT, 0), S);
#endif
    CHECK_CODE(thread_set_special_port(own, THREAD_EXCEPTION_PORT, MACH_PORT_NULL), S);
}

static void test_ports(void) {
    exception_mask_t masks[EXC_TYPES_COUNT];
    mach_port_t ports[EXC_TYPES_COUNT];
    exception_behavior_t behaviors[EXC_TYPES_COUNT];
    thread_state_flavor_t flavors[EXC_TYPES_COUNT];
    mach_msg_type_number_t count = EXC_TYPES_COUNT;
    const exception_mask_t some = EXC_MASK_ARITHMETIC | EXC_MASK_SOFTWARE | EXC_MASK_BREAKPOINT;
    CHECK_CODE(task_swap_exception_ports(self, some, other, EXCEPTION_STATE | FORM, FLAVOR, masks, &count, ports, behaviors,
                                         flavors), S);
    CHECK(count == 2 && masks[0] == (EXC_MASK_ARITHMETIC | EXC_MASK_SOFTWARE) && masks[1] == EXC_MASK_BREAKPOINT);
    CHECK(ports[0] == port && ports[1] == port && behaviors[0] == (EXCEPTION_DEFAULT | FORM));
    CHECK(behaviors[1] == (EXCEPTION_STATE_IDENTITY | FORM) && flavors[1] == FLAVOR);
    count = EXC_TYPES_COUNT;
    CHECK_CODE(task_get_exception_ports(self, some, masks, &count, ports, behaviors, flavors), S);
    CHECK(count == 1 && masks[0] == some && ports[0] == other && behaviors[0] == (EXCEPTION_STATE | FORM));
    count = 0;
    CHECK_CODE(task_get_exception_ports(self, some, masks, &count, ports, behaviors, flavors), S);
    CHECK(count == 0);
    mach_port_urefs_t refs = 0;
    CHECK_CODE(mach_port_get_refs(self, other, MACH_PORT_RIGHT_SEND, &refs), S);
    CHECK(refs == 2);
    CHECK_CODE(task_set_exception_ports(self, some, port, EXCEPTION_DEFAULT | FORM, 0), S);
    CHECK_CODE(task_set_exception_ports(self, 1, port, EXCEPTION_DEFAULT | FORM, 0), KERN_INVALID_ARGUMENT);
    CHECK_CODE(task_set_exception_ports(self, 1u << 20, port, EXCEPTION_DEFAULT | FORM, 0), KERN_INVALID_ARGUMENT);
    CHECK_CODE(task_set_exception_ports(self, some, port, 9 | FORM, 0), KERN_INVALID_ARGUMENT);
    CHECK_CODE(task_set_exception_ports(self, some, port, EXCEPTION_STATE | FORM, 99), KERN_INVALID_ARGUMENT);
    CHECK_CODE(task_set_exception_ports(self, some, 0x123400, EXCEPTION_DEFAULT | FORM, 0), KERN_INVALID_NAME);
    CHECK_CODE(task_set_exception_ports(port, some, port, EXCEPTION_DEFAULT | FORM, 0), KERN_INVALID_TASK);
    CHECK_CODE(thread_set_exception_ports(port, some, port, EXCEPTION_DEFAULT | FORM, 0), KERN_INVALID_ARGUMENT);
}

static sigjmp_buf back;
static volatile sig_atomic_t handled, code_seen;

static void on_signal(int signal, siginfo_t *info, void *context) {
    (void) context;
    handled = signal;
    code_seen = info->si_code;
    if (info->si_code > 0) siglongjmp(back, 1);
}

/* The program's own handler, which was there before, gets what nobody handles, and what somebody sends. */
static void test_refused(void) {
    does(REFUSE);
    protect();
    if (sigsetjmp(back, 1) == 0) touch();
    CHECK(handled == SIGSEGV && code_seen == SEGV_ACCERR && seen.refused == 1);
    handled = 0;
    CHECK(raise(SIGSEGV) == 0);
    CHECK(handled == SIGSEGV && code_seen <= 0 && seen.refused == 1);
    /* And the next is told again. */
    does(UNPROTECT);
    touch();
    CHECK(seen.told == 1 && page[0] == 7);
}

static volatile sig_atomic_t faults_in_fork;

/* The library has its lock here, as it began after this was made known: see fork(2). */
static void on_fork(void) {
    if (faults_in_fork && sigsetjmp(back, 1) == 0) touch();
    faults_in_fork = 0;
}

/* What can't be told, as the thread has a lock that this needs, takes its usual course after a while. */
static void test_untold(void) {
    int status = -1;
    does(UNPROTECT);
    protect();
    handled = 0;
    faults_in_fork = 1;
    const pid_t pid = fork();
    if (pid == 0) _exit(0);
    CHECK(handled == SIGSEGV && code_seen == SEGV_ACCERR && seen.told == 0);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    touch();
    CHECK(seen.told == 1 && page[0] == 7);
}

static void on_signal_once(int signal) {
    if (handled == signal) _exit(6);
    handled = signal;
}

/* A handler that is for one signal gets one. */
static void test_reset(void) {
    int status = -1;
    const pid_t pid = fork();
    if (pid == 0) {
        struct sigaction action;
        watchdog(60);
        memset(&action, 0, sizeof action);
        action.sa_handler = on_signal_once;
        action.sa_flags = (int) SA_RESETHAND;
        handled = 0;
        if (sigaction(SIGSEGV, &action, NULL) != 0) _exit(3);
        if (task_set_exception_ports(self, EXC_MASK_BREAKPOINT, make_port(), EXCEPTION_DEFAULT | FORM, 0) != S) _exit(4);
        protect();
        touch();
        _exit(5);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* A child whose exceptions its parent is told: one that is mended, and one that ends the child by its signal. */
static void test_child(void (*last)(void), int signal) {
    int status = -1;
    does(SKIP_BAD_ONCE);
    MUST(task_set_bootstrap_port(self, port) == S);
    protect();
    const pid_t pid = fork();
    if (pid == 0) {
        watchdog(60);
        mach_port_t parent = MACH_PORT_NULL;
        if (task_get_bootstrap_port(self, &parent) != S) _exit(3);
        if (task_set_exception_ports(self, EXC_MASK_BAD_INSTRUCTION, parent, EXCEPTION_DEFAULT | FORM, 0) != S) _exit(4);
        bad_instruction();
        last();
        _exit(5);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == signal);
    CHECK(seen.told == 2 && seen.refused == 1 && seen.port == other && seen.task != self && seen.thread != MACH_PORT_NULL);
}

int main(void) {
    pthread_t thread;
    mach_port_t set;
    struct sigaction action;
    watchdog(60);
    MUST(pthread_atfork(on_fork, NULL, NULL) == 0);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO;
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    page = mmap(NULL, (size_t) getpagesize(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(page != MAP_FAILED);
    port = make_port();
    other = make_port();
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_PORT_SET, &set) == S);
    MUST(mach_port_move_member(self, port, set) == S && mach_port_move_member(self, other, set) == S);
    MUST(pthread_create(&thread, NULL, serve, (void *) (uintptr_t) set) == 0);
    test_default();
    test_kinds();
#ifdef MACH_DARWIN
    test_narrow();
#endif
    test_silent();
    test_state();
    test_thread();
    test_ports();
    test_refused();
    test_untold();
    test_reset();
    CHECK_CODE(task_set_exception_ports(self, EXC_MASK_ALL, MACH_PORT_NULL, EXCEPTION_DEFAULT | FORM, 0), S);
    CHECK(signal(SIGSEGV, SIG_DFL) != SIG_ERR);
    test_child(touch, SIGSEGV);
    test_child(breakpoint, SIGTRAP);
    return checks_done("exceptions");
}
