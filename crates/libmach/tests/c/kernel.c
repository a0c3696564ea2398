/* What a kernel tells of the host, the task, its threads and the time; memory in two places. */
#include "check.h"

#include <mach/mach.h>
#include <mach/mach_time.h>
#include <mach/mach_vm.h>
#include <mach/vm_param.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define self mach_task_self()
#define S KERN_SUCCESS

/* The clock of time(2) may be behind that of clock_gettime(2). */
static time_t seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec;
}

static void test_host(void) {
    mach_port_t host = mach_host_self();
    host_basic_info_data_t basic;
    mach_msg_type_number_t count = HOST_BASIC_INFO_COUNT + 2;
    CHECK_CODE(host_info(host, HOST_BASIC_INFO, (host_info_t) &basic, &count), S);
    CHECK(count == 6 && basic.avail_cpus == sysconf(_SC_NPROCESSORS_ONLN) && basic.max_cpus >= basic.avail_cpus);
    CHECK(basic.memory_size == (rpc_vm_size_t) sysconf(_SC_PHYS_PAGES) * vm_page_size);
#if defined(__x86_64__)
    CHECK(basic.cpu_type == CPU_TYPE_X86_64 && basic.cpu_subtype == CPU_SUBTYPE_X86_64_ALL);
#elif defined(__aarch64__)
    CHECK(basic.cpu_type == CPU_TYPE_ARM64 && basic.cpu_subtype == CPU_SUBTYPE_ARM64_ALL);
#endif
    count = 5;
    CHECK_CODE(host_info(host, HOST_BASIC_INFO, (host_info_t) &basic, &count), KERN_INVALID_ARGUMENT);
    count = 6;
    CHECK_CODE(host_info(host, 99, (host_info_t) &basic, &count), KERN_INVALID_ARGUMENT);
    CHECK_CODE(host_info(self, HOST_BASIC_INFO, (host_info_t) &basic, &count), KERN_INVALID_HOST);
    time_value_t now;
    time_value64_t now64;
    const time_t before = seconds();
    CHECK_CODE(host_get_time(host, &now), S);
    CHECK_CODE(host_get_time64(host, &now64), S);
    CHECK(now.seconds >= before && now64.seconds >= now.seconds && now64.seconds <= seconds());
    CHECK(now.microseconds >= 0 && now.microseconds < TIME_MICROS_MAX && now64.nanoseconds < 1000000000);
    CHECK_CODE(host_get_time(MACH_PORT_NULL, &now), KERN_INVALID_HOST);
    vm_size_t size = 0;
    CHECK_CODE(host_page_size(host, &size), S);
    CHECK(size == vm_page_size);
    kernel_version_t version, again;
    struct utsname name;
    MUST(uname(&name) == 0);
    CHECK_CODE(host_get_kernel_version(host, version), S);
    CHECK_CODE(host_kernel_version(host, again), S);
    CHECK(strstr(version, name.release) != NULL && strcmp(version, again) == 0);
    mach_timebase_info_data_t base;
    CHECK_CODE(mach_timebase_info(&base), S);
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    const uint64_t at = mach_absolute_time() * base.numer / base.denom;
    clock_gettime(CLOCK_MONOTONIC, &b);
    CHECK(at >= (uint64_t) a.tv_sec * 1000000000 + (uint64_t) a.tv_nsec && at <= (uint64_t) b.tv_sec * 1000000000 + (uint64_t) b.tv_nsec);
    CHECK_CODE(mach_timebase_info(NULL), KERN_INVALID_ARGUMENT);
}

struct other {
    pthread_barrier_t ready, done;
    mach_port_t thread;
    pid_t number;
};

static void *wait_there(void *argument) {
    struct other *other = argument;
    pthread_barrier_wait(&other->ready);
    pthread_barrier_wait(&other->done);
    other->thread = mach_thread_self();
    other->number = gettid();
    return NULL;
}

static void *end_there(void *argument) {
    (void) argument;
    thread_terminate(mach_thread_self());
    return argument;
}

static int has(const thread_array_t threads, mach_msg_type_number_t count, mach_port_t thread) {
    for (mach_msg_type_number_t i = 0; i < count; i++)
        if (threads[i] == thread) return 1;
    return 0;
}

static void burn(void) {
    const clock_t end = clock() + CLOCKS_PER_SEC / 10;
    while (clock() < end) {}
}

static void test_threads(void) {
    struct other other = {.thread = 0};
    pthread_t thread;
    thread_array_t before, during, after;
    mach_msg_type_number_t n_before, n_during, n_after, count = THREAD_BASIC_INFO_COUNT;
    mach_port_t me = mach_thread_self();
    CHECK_CODE(task_threads(self, &before, &n_before), S);
    CHECK(n_before >= 1 && has(before, n_before, me));
    pthread_barrier_init(&other.ready, NULL, 2);
    pthread_barrier_init(&other.done, NULL, 2);
    MUST(pthread_create(&thread, NULL, wait_there, &other) == 0);
    pthread_barrier_wait(&other.ready);
    CHECK_CODE(task_threads(self, &during, &n_during), S);
    CHECK(n_during == n_before + 1);
    mach_port_t its = MACH_PORT_NULL;
    for (mach_msg_type_number_t i = 0; i < n_during; i++)
        if (!has(before, n_before, during[i])) its = during[i];
    thread_basic_info_data_t basic;
    CHECK_CODE(thread_info(its, THREAD_BASIC_INFO, (thread_info_t) &basic, &count), S);
    CHECK(count == 20 && basic.run_state >= TH_STATE_RUNNING && basic.run_state <= TH_STATE_UNINTERRUPTIBLE);
    CHECK_CODE(thread_abort(its), S);
    CHECK_CODE(thread_terminate(its), KERN_FAILURE);
    pthread_barrier_wait(&other.done);
    pthread_join(thread, NULL);
    /* The system lists one that was joined until it is done with it. */
    while (tgkill(getpid(), other.number, 0) == 0) sched_yield();
    /* The thread has the port that the list had for it, and took it with it. */
    CHECK(other.thread == its);
    mach_port_type_t type;
    CHECK_CODE(mach_port_type(self, its, &type), S);
    CHECK(type == MACH_PORT_TYPE_DEAD_NAME);
    CHECK_CODE(thread_info(its, THREAD_BASIC_INFO, (thread_info_t) &basic, &count), KERN_INVALID_ARGUMENT);
    CHECK_CODE(task_threads(self, &after, &n_after), S);
    CHECK(n_after == n_before && has(after, n_after, me));
    CHECK_CODE(vm_deallocate(self, (vm_address_t) after, n_after * sizeof *after), S);
    burn();
    CHECK_CODE(thread_info(me, THREAD_BASIC_INFO, (thread_info_t) &basic, &count), S);
    CHECK(basic.user_time.seconds > 0 || basic.user_time.microseconds > 0 || basic.system_time.microseconds > 0);
    CHECK(basic.run_state == TH_STATE_RUNNING && basic.cpu_usage > 0 && basic.cpu_usage <= TH_USAGE_SCALE);
    CHECK(basic.creation_time.seconds > seconds() - 600 && basic.creation_time.seconds <= seconds() + 1);
    CHECK_CODE(thread_info(self, THREAD_BASIC_INFO, (thread_info_t) &basic, &count), KERN_INVALID_ARGUMENT);
    CHECK_CODE(thread_info(me, 7, (thread_info_t) &basic, &count), KERN_INVALID_ARGUMENT);
    CHECK_CODE(thread_abort(me), S);
    CHECK_CODE(thread_terminate(self), KERN_INVALID_ARGUMENT);
    void *result = &other;
    MUST(pthread_create(&thread, NULL, end_there, &other) == 0);
    MUST(pthread_join(thread, &result) == 0);
    CHECK(result == NULL);
    CHECK_CODE(thread_switch(MACH_PORT_NULL, SWITCH_OPTION_NONE, 0), S);
    CHECK_CODE(thread_switch(me, SWITCH_OPTION_DEPRESS, 10), S);
    const uint64_t start = mach_absolute_time();
    CHECK_CODE(thread_switch(me, SWITCH_OPTION_WAIT, 20), S);
    CHECK(mach_absolute_time() - start >= 20000000);
    CHECK_CODE(thread_switch(me, 3, 0), KERN_INVALID_ARGUMENT);
}

static void test_task(void) {
    task_basic_info_data_t basic;
    task_thread_times_info_data_t times;
    mach_msg_type_number_t count = TASK_BASIC_INFO_COUNT;
    CHECK_CODE(task_info(self, TASK_BASIC_INFO, (task_info_t) &basic, &count), S);
    CHECK(count == 18 && basic.resident_size > 0 && basic.virtual_size >= basic.resident_size && basic.suspend_count == 0);
    CHECK(basic.creation_time.seconds > seconds() - 600 && basic.creation_time.seconds <= seconds() + 1);
    const rpc_vm_size_t size = basic.virtual_size;
    vm_address_t memory = 0;
    MUST(vm_allocate(self, &memory, 64 << 20, TRUE) == S);
    CHECK_CODE(task_info(self, TASK_BASIC_INFO, (task_info_t) &basic, &count), S);
    CHECK(basic.virtual_size >= size + (64 << 20));
    CHECK_CODE(vm_deallocate(self, memory, 64 << 20), S);
    count = TASK_THREAD_TIMES_INFO_COUNT;
    CHECK_CODE(task_info(self, TASK_THREAD_TIMES_INFO, (task_info_t) &times, &count), S);
    CHECK(count == 8 && (times.user_time.seconds > 0 || times.user_time.microseconds > 0 || times.system_time.microseconds > 0));
    CHECK_CODE(task_info(self, TASK_BASIC_INFO, (task_info_t) &basic, &count), KERN_INVALID_ARGUMENT);
    CHECK_CODE(task_info(self, TASK_EVENTS_INFO, (task_info_t) &basic, &count), KERN_INVALID_ARGUMENT);
    CHECK_CODE(task_info(MACH_PORT_NULL, TASK_BASIC_INFO, (task_info_t) &basic, &count), KERN_INVALID_TASK);
}

static void test_remap(void) {
    const vm_size_t page = vm_page_size;
    vm_address_t shared = 0, own = 0, again = 0, copy = 0;
    vm_prot_t current = 0, most = 0;
    const vm_prot_t both = VM_PROT_DEFAULT;
    MUST(mach_vm_map(self, &shared, 2 * page, 0, VM_FLAGS_ANYWHERE, 0, 0, FALSE, both, both, VM_INHERIT_SHARE) == S);
    MUST(mach_vm_allocate(self, &own, 2 * page, VM_FLAGS_ANYWHERE) == S);
    strcpy((char *) shared, "shared");
    strcpy((char *) own, "own");
    CHECK_CODE(vm_remap(self, &again, 2 * page, 0, TRUE, self, shared, FALSE, &current, &most, VM_INHERIT_SHARE), S);
    CHECK(again != shared && current == both && most == VM_PROT_ALL);
    ((char *) again)[page] = 'x';
    CHECK(strcmp((char *) again, "shared") == 0 && ((char *) shared)[page] == 'x');
    CHECK_CODE(mach_vm_remap(self, &copy, page, 0, VM_FLAGS_ANYWHERE, self, own, TRUE, &current, &most, VM_INHERIT_COPY), S);
    ((char *) own)[0] = 'O';
    CHECK(strcmp((char *) copy, "own") == 0);
    CHECK_CODE(mach_vm_deallocate(self, copy, page), S);
    /* At a place, with what the source allows. */
    CHECK_CODE(mach_vm_protect(self, own, page, FALSE, VM_PROT_READ), S);
    CHECK_CODE(vm_remap(self, &copy, page, 0, FALSE, self, own, TRUE, &current, &most, VM_INHERIT_COPY), S);
    CHECK(current == VM_PROT_READ && strcmp((char *) copy, "Own") == 0);
    CHECK_CODE(mach_vm_write(self, copy, own, 1), KERN_PROTECTION_FAILURE);
    CHECK_CODE(vm_remap(self, &copy, page, 0, FALSE, self, own, TRUE, &current, &most, VM_INHERIT_COPY), KERN_NO_SPACE);
    /* What one process alone has is in one place. */
    vm_address_t none = 0;
    const kern_return_t bad = KERN_INVALID_ARGUMENT;
    CHECK_CODE(vm_remap(self, &none, page, 0, TRUE, self, own, FALSE, &current, &most, VM_INHERIT_COPY), bad);
    CHECK_CODE(vm_remap(self, &none, page, 0, TRUE, self, own + 1, TRUE, &current, &most, VM_INHERIT_COPY), bad);
    CHECK_CODE(vm_remap(self, &none, page, 0, TRUE, MACH_PORT_NULL, own, TRUE, &current, &most, VM_INHERIT_COPY), KERN_INVALID_TASK);
    CHECK_CODE(mach_vm_allocate(self, &none, page, 2), bad);
    vm_offset_t data;
    mach_msg_type_number_t count;
    CHECK_CODE(mach_vm_read(self, own, 4, &data, &count), S);
    CHECK(count == 4 && strcmp((char *) data, "Own") == 0);
    CHECK_CODE(mach_vm_copy(self, shared, 7, data), S);
    CHECK(strcmp((char *) data, "shared") == 0);
    CHECK_CODE(mach_vm_deallocate(self, data, 4), S);
    CHECK_CODE(mach_vm_deallocate(self, own, 2 * page), S);
    CHECK_CODE(vm_remap(self, &none, page, 0, TRUE, self, own, TRUE, &current, &most, VM_INHERIT_COPY), KERN_INVALID_ADDRESS);
    CHECK_CODE(mach_vm_deallocate(self, copy, page), S);
    CHECK_CODE(mach_vm_deallocate(self, shared, 2 * page), S);
    CHECK_CODE(mach_vm_deallocate(self, again, 2 * page), S);
}

/* Several mappings, each with its own memory and its own protection. */
static void test_remap_of_many(void) {
    const vm_size_t page = vm_page_size;
    const vm_prot_t both = VM_PROT_DEFAULT;
    vm_address_t base = 0, to = 0;
    vm_prot_t current = 0, most = 0;
    MUST(vm_allocate(self, &base, 4 * page, TRUE) == S && vm_deallocate(self, base, 4 * page) == S);
    vm_address_t second = base + 2 * page;
    MUST(vm_map(self, &base, 2 * page, 0, FALSE, 0, 0, FALSE, both, both, VM_INHERIT_SHARE) == S);
    MUST(vm_map(self, &second, 2 * page, 0, FALSE, 0, 0, FALSE, both, both, VM_INHERIT_SHARE) == S);
    strcpy((char *) base, "first");
    strcpy((char *) second, "second");
    CHECK_CODE(vm_remap(self, &to, 3 * page, 0, TRUE, self, base, FALSE, &current, &most, VM_INHERIT_SHARE), S);
    CHECK(current == both && strcmp((char *) to, "first") == 0 && strcmp((char *) to + 2 * page, "second") == 0);
    strcpy((char *) second, "seen");
    CHECK(strcmp((char *) to + 2 * page, "seen") == 0);
    CHECK_CODE(vm_deallocate(self, to, 3 * page), S);
    CHECK_CODE(vm_protect(self, second, page, FALSE, VM_PROT_READ), S);
    CHECK_CODE(vm_remap(self, &to, 4 * page, 0, TRUE, self, base, TRUE, &current, &most, VM_INHERIT_COPY), S);
    CHECK(current == VM_PROT_READ && strcmp((char *) to + 2 * page, "seen") == 0);
    strcpy((char *) to, "again");
    ((char *) to)[3 * page] = 'x';
    CHECK_CODE(vm_write(self, to + 2 * page, base, 1), KERN_PROTECTION_FAILURE);
    CHECK_CODE(vm_deallocate(self, to, 4 * page), S);
    CHECK_CODE(vm_deallocate(self, second, page), S);
    to = 5;
    CHECK_CODE(vm_remap(self, &to, 4 * page, 0, TRUE, self, base, FALSE, &current, &most, VM_INHERIT_COPY), KERN_INVALID_ADDRESS);
    CHECK(to == 5);
    CHECK_CODE(vm_deallocate(self, base, 4 * page), S);
}

/* Without a descriptor the threads can't be listed, and none of them loses its port. */
static void test_no_descriptors(void) {
    struct rlimit limit, none;
    thread_array_t threads;
    mach_msg_type_number_t count;
    mach_port_type_t type;
    const mach_port_t own = mach_thread_self();
    MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    none = limit;
    none.rlim_cur = 0;
    MUST(setrlimit(RLIMIT_NOFILE, &none) == 0);
    const kern_return_t code = task_threads(self, &threads, &count);
    MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK_CODE(code, KERN_RESOURCE_SHORTAGE);
    CHECK(mach_thread_self() == own);
    CHECK_CODE(mach_port_type(self, own, &type), S);
    CHECK(type == MACH_PORT_TYPE_SEND);
}

/* A name that is cut within a character, as the system does it. */
static void test_odd_name(void) {
    thread_basic_info_data_t basic;
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    char name[16] = "";
    MUST(prctl(PR_GET_NAME, name) == 0 && prctl(PR_SET_NAME, "odd) \xc3") == 0);
    CHECK_CODE(thread_info(mach_thread_self(), THREAD_BASIC_INFO, (thread_info_t) &basic, &count), S);
    MUST(prctl(PR_SET_NAME, name) == 0);
}

static void test_print(void) {
    int ends[2], saved = dup(2);
    char text[32] = "";
    MUST(pipe(ends) == 0 && saved >= 0 && dup2(ends[1], 2) == 2);
    mach_print("printed\n");
    mach_print(NULL);
    MUST(dup2(saved, 2) == 2);
    CHECK(read(ends[0], text, sizeof text - 1) == 8 && strcmp(text, "printed\n") == 0);
}

int main(void) {
    watchdog(60);
    test_host();
    test_threads();
    test_task();
    test_remap();
    test_remap_of_many();
    test_no_descriptors();
    test_odd_name();
    test_print();
    return checks_done("kernel");
}
