/* The library at its edges: buffers that are not quite there, memory that overlaps, what belongs to a thread. */
#include "check.h"

#include <mach/bootstrap.h>
#include <mach/mach.h>
#include <mach/mig_support.h>
#include <mach/slipway.h>
#include <mach/vm_param.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define self mach_task_self()
#define S KERN_SUCCESS
#define COPY MACH_MSG_TYPE_COPY_SEND

static mach_port_t make_port(void) {
    mach_port_t port;
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, &port) == S);
    MUST(mach_port_insert_right(self, port, port, MACH_MSG_TYPE_MAKE_SEND) == S);
    return port;
}

static mach_port_type_t type_of(mach_port_t name) {
    mach_port_type_t type;
    return mach_port_type(self, name, &type) == S ? type : 0;
}

static void fill_header(mach_msg_header_t *header, mach_port_t to, mach_msg_id_t id) {
    memset(header, 0, sizeof *header);
    header->msgh_bits = MACH_MSGH_BITS(COPY, 0);
    header->msgh_remote_port = to;
    header->msgh_id = id;
}

/* ---- Buffers ---- */

/* Two pages, of which the second is gone: a message at the end of the first. */
static void test_short_buffers(void) {
    mach_port_t port = make_port();
    const vm_size_t page = vm_page_size;
    vm_address_t memory = 0;
    MUST(vm_allocate(self, &memory, 2 * page, TRUE) == S);
    MUST(vm_deallocate(self, memory + page, page) == S);
    mach_msg_header_t *last = (mach_msg_header_t *) (memory + page - 48);
    fill_header(last, port, 1);
    CHECK_CODE(mach_msg(last, MACH_SEND_MSG, 48, 0, 0, 0, 0), MACH_MSG_SUCCESS);
    CHECK_CODE(mach_msg(last, MACH_SEND_MSG, 56, 0, 0, 0, 0), MACH_SEND_INVALID_DATA);
    /* A size that is larger than the buffer is no fault while the message fits. */
    CHECK_CODE(mach_msg(last, MACH_RCV_MSG, 0, 4096, port, 0, 0), MACH_MSG_SUCCESS);
    CHECK(last->msgh_id == 1 && last->msgh_size == 48);
    fill_header(last, port, 2);
    CHECK_CODE(mach_msg(last, MACH_SEND_MSG, 48, 0, 0, 0, 0), MACH_MSG_SUCCESS);
    CHECK_CODE(mach_msg(last, MACH_RCV_MSG, 0, MACH_MSG_SIZE_MAX, port, 0, 0), MACH_MSG_SUCCESS);
    CHECK(last->msgh_id == 2);
    /* If it does not fit it is gone. */
    char room[64];
    fill_header((mach_msg_header_t *) room, port, 3);
    CHECK_CODE(mach_msg((mach_msg_header_t *) room, MACH_SEND_MSG, 56, 0, 0, 0, 0), MACH_MSG_SUCCESS);
    CHECK_CODE(mach_msg(last, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, 4096, port, 0, 0), MACH_RCV_INVALID_DATA);
    CHECK_CODE(mach_msg(last, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, 48, port, 0, 0), MACH_RCV_TIMED_OUT);
    /* Memory that was seen to be there is looked at again after it went. */
    fill_header(last, port, 4);
    CHECK_CODE(mach_msg(last, MACH_SEND_MSG, 48, 0, 0, 0, 0), MACH_MSG_SUCCESS);
    CHECK_CODE(vm_protect(self, memory, page, FALSE, VM_PROT_READ), S);
    CHECK_CODE(mach_msg(last, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, 48, port, 0, 0), MACH_RCV_INVALID_DATA);
    CHECK_CODE(vm_deallocate(self, memory, page), S);
    CHECK_CODE(mach_msg(last, MACH_SEND_MSG, 48, 0, 0, 0, 0), MACH_SEND_INVALID_DATA);
    CHECK_CODE(mach_msg(NULL, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, 48, port, 0, 0), MACH_RCV_TIMED_OUT);
    CHECK_CODE(mach_port_destroy(self, port), S);
}

/* A message that may only be read can be sent; if it can't be sent it is not written either. */
static void test_constant_message(void) {
    mach_port_t port = make_port(), reply;
    mach_port_status_t status;
    mach_port_urefs_t refs;
    const vm_size_t page = vm_page_size;
    vm_address_t memory = 0;
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, &reply) == S);
    MUST(vm_allocate(self, &memory, page, TRUE) == S);
    mach_msg_header_t *header = (mach_msg_header_t *) memory, received;
    fill_header(header, port, 5);
    header->msgh_bits = MACH_MSGH_BITS(COPY, MACH_MSG_TYPE_MAKE_SEND_ONCE);
    header->msgh_local_port = reply;
    MUST(vm_protect(self, memory, page, FALSE, VM_PROT_READ) == S);
    for (int i = 0; i < 5; i++)
        CHECK_CODE(mach_msg(header, MACH_SEND_MSG | MACH_SEND_TIMEOUT, 32, 0, 0, 0, 0), MACH_MSG_SUCCESS);
    CHECK_CODE(mach_msg(header, MACH_SEND_MSG | MACH_SEND_TIMEOUT, 32, 0, 0, 0, 0), MACH_SEND_TIMED_OUT);
    CHECK(header->msgh_id == 5 && header->msgh_local_port == reply);
    /* What would have come back went: the five messages have the other rights. */
    CHECK_CODE(mach_port_get_refs(self, port, MACH_PORT_RIGHT_SEND, &refs), S);
    CHECK(refs == 1);
    CHECK_CODE(mach_msg(&received, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof received, reply, 0, 0), MACH_MSG_SUCCESS);
    CHECK(received.msgh_id == MACH_NOTIFY_SEND_ONCE);
    CHECK_CODE(mach_port_get_receive_status(self, reply, &status), S);
    CHECK(status.mps_sorights == 5);
    CHECK_CODE(vm_deallocate(self, memory, page), S);
    CHECK_CODE(mach_port_destroy(self, port), S);
    CHECK_CODE(mach_port_destroy(self, reply), S);
}

/* A message that came back unsent, and is given up. */
static void test_destroy_unsent(void) {
    mach_port_t port = make_port(), reply, right = make_port();
    mach_port_status_t status;
    struct {
        mach_msg_header_t header;
        mach_msg_type_t type;
        mach_port_name_inlined_t port[2];
    } message;
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, &reply) == S);
    MUST(mach_port_set_qlimit(self, port, 0) == S);
    fill_header(&message.header, port, 6);
    message.header.msgh_bits = MACH_MSGH_BITS(COPY, MACH_MSG_TYPE_MAKE_SEND_ONCE) | MACH_MSGH_BITS_COMPLEX;
    message.header.msgh_local_port = reply;
    memset(&message.type, 0, sizeof message.type);
    message.type.msgt_name = MACH_MSG_TYPE_MAKE_SEND;
    message.type.msgt_size = 64;
    message.type.msgt_inline = TRUE;
    message.type.msgt_number = 2;
    message.port[0].slot = message.port[1].slot = right;
    CHECK_CODE(mach_msg(&message.header, MACH_SEND_MSG | MACH_SEND_TIMEOUT, sizeof message, 0, 0, 0, 0), MACH_SEND_TIMED_OUT);
    mach_port_urefs_t refs = 0;
    CHECK_CODE(mach_port_get_refs(self, right, MACH_PORT_RIGHT_SEND, &refs), S);
    CHECK(refs == 3);
    mach_msg_destroy(&message.header);
    CHECK_CODE(mach_port_get_refs(self, right, MACH_PORT_RIGHT_SEND, &refs), S);
    CHECK(refs == 1);
    CHECK_CODE(mach_port_get_refs(self, port, MACH_PORT_RIGHT_SEND, &refs), S);
    CHECK(refs == 1);
    CHECK_CODE(mach_port_get_receive_status(self, reply, &status), S);
    CHECK(status.mps_sorights == 0 || status.mps_msgcount == 1);
    mach_msg_destroy(NULL);
    CHECK_CODE(mach_port_destroy(self, port), S);
    CHECK_CODE(mach_port_destroy(self, reply), S);
    CHECK_CODE(mach_port_destroy(self, right), S);
}

/* ---- Memory ---- */

static void test_memory(void) {
    const vm_size_t page = vm_page_size;
    vm_address_t memory = 0, gone;
    vm_offset_t data = 1;
    mach_msg_type_number_t count = 1;
    MUST(vm_allocate(self, &memory, 4 * page, TRUE) == S);
    unsigned char *bytes = (unsigned char *) memory;
    for (vm_size_t i = 0; i < 4 * page; i++) bytes[i] = (unsigned char) (i % 251);
    /* Overlapping, both ways, and from anywhere to anywhere. */
    CHECK_CODE(vm_copy(self, memory, 3 * page, memory + 100), S);
    int same = 1;
    for (vm_size_t i = 0; i < 3 * page; i++) same &= bytes[i + 100] == (unsigned char) (i % 251);
    CHECK(same);
    CHECK_CODE(vm_copy(self, memory + 100, 3 * page, memory + 7), S);
    same = 1;
    for (vm_size_t i = 0; i < 3 * page; i++) same &= bytes[i + 7] == (unsigned char) (i % 251);
    CHECK(same);
    /* All or nothing: the last page of the range is not there. */
    gone = memory + 3 * page;
    MUST(vm_deallocate(self, gone, page) == S);
    memset(bytes, 'k', 3 * page);
    char *other = malloc(2 * page);
    MUST(other != NULL);
    memset(other, 'x', 2 * page);
    CHECK_CODE(vm_write(self, memory + 2 * page, (vm_offset_t) other, (mach_msg_type_number_t) (2 * page)), KERN_INVALID_ADDRESS);
    CHECK(memchr(bytes, 'x', 3 * page) == NULL);
    CHECK_CODE(vm_write(self, memory + 2 * page + 5, (vm_offset_t) other, 9), S);
    CHECK(bytes[2 * page + 4] == 'k' && bytes[2 * page + 5] == 'x' && bytes[2 * page + 13] == 'x' && bytes[2 * page + 14] == 'k');
    free(other);
    /* Nothing. */
    CHECK_CODE(vm_read(self, memory, 0, &data, &count), S);
    CHECK(count == 0);
    CHECK_CODE(vm_write(self, gone, memory, 0), S);
    CHECK_CODE(vm_copy(self, gone, 0, gone), S);
    CHECK_CODE(vm_protect(self, gone, 0, FALSE, VM_PROT_NONE), S);
    /* Ranges that go round the end. */
    CHECK_CODE(vm_read(self, ~(vm_address_t) 0 - 10, 100, &data, &count), KERN_INVALID_ADDRESS);
    CHECK_CODE(vm_deallocate(self, ~(vm_address_t) 0 - 10, 100), KERN_INVALID_ARGUMENT);
    CHECK_CODE(vm_copy(self, memory, ~(vm_size_t) 0, memory), KERN_INVALID_ADDRESS);
    /* No highest protection is kept. */
    CHECK_CODE(vm_protect(self, memory, page, TRUE, VM_PROT_READ), KERN_INVALID_ARGUMENT);
    CHECK_CODE(vm_allocate(self, NULL, page, TRUE), KERN_INVALID_ARGUMENT);
    CHECK_CODE(vm_read(self, memory, page, NULL, &count), KERN_INVALID_ARGUMENT);
    CHECK_CODE(vm_deallocate(self, memory, 3 * page), S);
}

static kern_return_t map(vm_address_t *address, boolean_t anywhere, vm_address_t mask, vm_prot_t current, vm_prot_t most,
                         vm_inherit_t inheritance) {
    return vm_map(self, address, vm_page_size, mask, anywhere, MACH_PORT_NULL, 0, FALSE, current, most, inheritance);
}

static void test_map(void) {
    const vm_prot_t both = VM_PROT_DEFAULT;
    vm_address_t address = 0, none = 0, shared = 0, copied = 0;
    CHECK_CODE(vm_map(self, &address, vm_page_size, 0, TRUE, make_port(), 0, FALSE, both, both, VM_INHERIT_COPY), KERN_INVALID_ARGUMENT);
    CHECK_CODE(map(&address, TRUE, 0, both, VM_PROT_READ, VM_INHERIT_COPY), KERN_INVALID_ARGUMENT);
    CHECK_CODE(map(&address, TRUE, 0, both, both, 3), KERN_INVALID_ARGUMENT);
    CHECK_CODE(map(&address, TRUE, 0, 0x40, 0x47, VM_INHERIT_COPY), KERN_INVALID_ARGUMENT);
    for (int bits = 12; bits < 28; bits += 5) {
        const vm_address_t mask = ((vm_address_t) 1 << bits) - 1;
        CHECK_CODE(map(&address, TRUE, mask, both, both, VM_INHERIT_COPY), S);
        CHECK((address & mask) == 0);
        ((char *) address)[vm_page_size - 1] = 1;
        CHECK_CODE(vm_deallocate(self, address, vm_page_size), S);
    }
    address = 0x10000000 + vm_page_size;
    CHECK_CODE(map(&address, FALSE, 2 * vm_page_size - 1, both, both, VM_INHERIT_COPY), KERN_NO_SPACE);
    /* What a child gets. */
    CHECK_CODE(map(&none, TRUE, 0, both, both, VM_INHERIT_NONE), S);
    CHECK_CODE(map(&shared, TRUE, 0, both, both, VM_INHERIT_SHARE), S);
    CHECK_CODE(map(&copied, TRUE, 0, both, both, VM_INHERIT_COPY), S);
    *(int *) none = *(int *) shared = *(int *) copied = 1;
    pid_t child = fork();
    if (child == 0) {
        unsigned char resident;
        int ok = mincore((void *) none, 1, &resident) != 0 && *(int *) shared == 1 && *(int *) copied == 1;
        *(int *) shared = *(int *) copied = 2;
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(*(int *) shared == 2 && *(int *) copied == 1);
    CHECK_CODE(vm_deallocate(self, none, 1), S);
    CHECK_CODE(vm_deallocate(self, shared, 1), S);
    CHECK_CODE(vm_deallocate(self, copied, 1), S);
}

/* ---- Threads ---- */

struct seen {
    mach_port_t thread, again, reply, reply_again, host;
};

static void *look(void *argument) {
    struct seen *seen = argument;
    seen->thread = mach_thread_self();
    seen->again = mach_thread_self();
    seen->reply = mig_get_reply_port();
    mig_put_reply_port(seen->reply);
    seen->reply_again = mig_get_reply_port();
    seen->host = mach_host_self();
    CHECK(type_of(seen->reply) == MACH_PORT_TYPE_RECEIVE);
    return NULL;
}

static void test_threads(void) {
    struct seen here, there;
    pthread_t thread;
    look(&here);
    MUST(pthread_create(&thread, NULL, look, &there) == 0);
    MUST(pthread_join(thread, NULL) == 0);
    CHECK(here.thread == here.again && there.thread == there.again && here.thread != there.thread);
    CHECK(here.host == there.host);
    CHECK(here.reply == here.reply_again && there.reply == there.reply_again && here.reply != there.reply);
    /* The thread's ports went with it. */
    CHECK(type_of(there.thread) == MACH_PORT_TYPE_DEAD_NAME);
    CHECK(type_of(there.reply) == 0);
    CHECK(type_of(here.thread) == MACH_PORT_TYPE_SEND);
    CHECK(type_of(here.reply) == MACH_PORT_TYPE_RECEIVE);
    /* A child has ports of its own. */
    pid_t child = fork();
    if (child == 0) {
        struct seen child_seen;
        watchdog(60);
        look(&child_seen);
        int ok = type_of(child_seen.thread) == MACH_PORT_TYPE_SEND && type_of(child_seen.reply) == MACH_PORT_TYPE_RECEIVE;
        _exit(ok && type_of(mach_task_self()) == MACH_PORT_TYPE_SEND ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(mig_get_reply_port() == here.reply);
    mig_dealloc_reply_port(here.reply);
}

/* The task's name for itself is a name like any other, and there is always one. */
static void test_self(void) {
    mach_port_t before = mach_task_self(), port = make_port(), now;
    mach_port_type_t type;
    CHECK_CODE(mach_port_rename(before, before, 0x777700), S);
    now = mach_task_self();
    CHECK(now == 0x777700 && type_of(now) == MACH_PORT_TYPE_SEND);
    CHECK_CODE(mach_port_type(before, port, &type), KERN_INVALID_TASK);
    CHECK_CODE(mach_port_type(now, port, &type), S);
    CHECK_CODE(mach_port_destroy(now, now), S);
    CHECK_CODE(mach_port_type(now, port, &type), KERN_INVALID_TASK);
    /* The next port may have any name but is no task. */
    CHECK_CODE(mach_port_type(port, port, &type), KERN_INVALID_TASK);
    CHECK(type_of(mach_task_self()) == MACH_PORT_TYPE_SEND);
    CHECK_CODE(mach_port_deallocate(mach_task_self(), mach_task_self()), S);
    CHECK(type_of(mach_task_self()) == MACH_PORT_TYPE_SEND);
    CHECK_CODE(mach_port_destroy(self, port), S);
}

/* ---- Results that have no place, and names without a server ---- */

static void test_null(void) {
    mach_port_t port = make_port(), name;
    mach_msg_type_name_t type;
    mach_msg_type_number_t count;
    mach_port_name_array_t names;
    const kern_return_t bad = KERN_INVALID_ARGUMENT;
    CHECK_CODE(mach_port_names(self, NULL, &count, &names, &count), bad);
    CHECK_CODE(mach_port_type(self, port, NULL), bad);
    CHECK_CODE(mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, NULL), bad);
    CHECK_CODE(mach_port_get_refs(self, port, MACH_PORT_RIGHT_SEND, NULL), bad);
    CHECK_CODE(mach_port_get_set_status(self, port, &names, NULL), bad);
    CHECK_CODE(mach_port_request_notification(self, port, MACH_NOTIFY_DEAD_NAME, 0, port, MACH_MSG_TYPE_MAKE_SEND_ONCE, NULL), bad);
    CHECK_CODE(mach_port_extract_right(self, port, MACH_MSG_TYPE_MOVE_SEND, NULL, &type), bad);
    CHECK_CODE(mach_port_extract_right(self, port, MACH_MSG_TYPE_MOVE_SEND, &name, NULL), bad);
    CHECK_CODE(mach_port_get_receive_status(self, port, NULL), bad);
    CHECK_CODE(task_get_special_port(self, TASK_BOOTSTRAP_PORT, NULL), bad);
    CHECK_CODE(mach_msg_server(NULL, 1024, port), bad);
    CHECK_CODE(mach_msg_server_once(NULL, 1024, port, 0), bad);
    CHECK_CODE(slipway_port_descriptor(port, NULL), bad);
    mig_allocate(NULL, 100);
    mach_error(NULL, KERN_SUCCESS);
    CHECK(type_of(port) == MACH_PORT_TYPE_SEND_RECEIVE);
    CHECK_CODE(bootstrap_look_up(bootstrap_port, NULL, &name), bad);
    CHECK_CODE(bootstrap_look_up(bootstrap_port, "x", NULL), bad);
    CHECK_CODE(bootstrap_look_up(bootstrap_port, "", &name), bad);
    CHECK_CODE(bootstrap_look_up(MACH_PORT_DEAD, "x", &name), MACH_SEND_INVALID_DEST);
    CHECK_CODE(mach_port_destroy(self, port), S);
}

/* The test names a socket where nobody is. */
static void test_unreachable(void) {
    mach_port_t name = 0;
    const char *socket = getenv("SLIPWAY_BOOTSTRAP");
    MUST(socket != NULL);
    CHECK_CODE(task_get_bootstrap_port(self, &name), S);
    CHECK(name == MACH_PORT_NULL);
    CHECK_CODE(bootstrap_look_up(bootstrap_port, "x", &name), MACH_SEND_INVALID_DEST);
    const char *why = bootstrap_strerror(MACH_SEND_INVALID_DEST);
    CHECK(strstr(why, socket) != NULL && strstr(why, "start") != NULL);
    CHECK(strcmp(bootstrap_strerror(BOOTSTRAP_UNKNOWN_SERVICE), mach_error_string(BOOTSTRAP_UNKNOWN_SERVICE)) == 0);
    /* A port that answers nothing sensible is told so by its answer: the task's own port knows no such request. */
    CHECK(bootstrap_look_up(self, "x", &name) != S);
}

int main(void) {
    watchdog(120);
    test_short_buffers();
    test_constant_message();
    test_destroy_unsent();
    test_memory();
    test_map();
    test_threads();
    test_self();
    test_null();
    test_unreachable();
    return checks_done("edges");
}
