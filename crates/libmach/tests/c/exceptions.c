/* Exceptions of this task and of a child, in either dialect: what handlers are told, what they mend, and what becomes of those that nobody handles. */
#include "exceptions.h"

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
