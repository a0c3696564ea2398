/* A task's port, held by another process: what its holder does to the task's names and memory, and to the task. */
#include "ports.h"

#include <mach/mach.h>
#include <mach/vm_param.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child's messages, and what it is told. */
enum { TASK = 40, PORT = 41, GO_ON = 50, WENT_ON = 60, VM_READ = 2026, INSERTED = 0x7700 };

/* At the same address in parent and child. */
static char text[16];

static mach_port_type_t type_of(mach_port_t task, mach_port_t name) {
    mach_port_type_t type;
    return mach_port_type(task, name, &type) == S ? type : 0;
}

/* Gives its task's port away, and sees what is done with it, until it is ended. */
static void child(mach_port_t parent) {
    mach_port_t port = make_port();
    strcpy(text, "child");
    send(parent, TASK, self);
    send(parent, PORT, port);
    receive(port, GO_ON);
    CHECK(strcmp(text, "parent") == 0);
    CHECK(type_of(self, INSERTED) == MACH_PORT_TYPE_SEND);
    send(INSERTED, checks_failed == 0 ? WENT_ON : WENT_ON + 1, port);
    receive(port, GO_ON);
}

/* What a port answers that is no task's: that it has ended the thread, and more memory than it was asked for. */
static void lie(mach_port_t parent) {
    static struct {
        mig_reply_header_t reply;
        mach_msg_type_long_t type;
        vm_offset_t data;
    } answer;
    union {
        mach_msg_header_t header;
        char room[256];
    } request;
    const mach_port_t port = make_port();
    send(parent, TASK, port);
    for (;;) {
        MUST(mach_msg(&request.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof request, port, PATIENCE, 0) == S);
        fill(&answer.reply.Head, request.header.msgh_remote_port, request.header.msgh_id + 100, sizeof answer);
        answer.reply.Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0);
        answer.reply.Head.msgh_size = sizeof answer.reply;
        answer.reply.RetCodeType.msgt_name = MACH_MSG_TYPE_INTEGER_32;
        answer.reply.RetCodeType.msgt_size = 32;
        answer.reply.RetCodeType.msgt_inline = TRUE;
        answer.reply.RetCodeType.msgt_number = 1;
        if (request.header.msgh_id == VM_READ) {
            answer.reply.Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
            answer.reply.Head.msgh_size = sizeof answer;
            answer.type.msgtl_name = MACH_MSG_TYPE_BYTE;
            answer.type.msgtl_size = 8;
            answer.type.msgtl_number = sizeof text;
            answer.data = (vm_offset_t) text;
        }
        CHECK_CODE(mach_msg_send(&answer.reply.Head), S);
    }
}

static void test_liar(mach_port_t port) {
    vm_address_t data = 0, here = 0;
    mach_msg_type_number_t count = 0;
    vm_prot_t current = 0, most = 0;
    int status = -1;
    const pid_t pid = fork();
    if (pid == 0) {
        watchdog(60);
        mach_port_t parent = MACH_PORT_NULL;
        MUST(task_get_bootstrap_port(self, &parent) == S);
        lie(parent);
    }
    const mach_port_t liar = receive(port, TASK);
    CHECK_CODE(vm_read(liar, (vm_address_t) text, sizeof text, &data, &count), S);
    CHECK(count == sizeof text);
    CHECK_CODE(vm_read(liar, (vm_address_t) text, sizeof text - 1, &data, &count), KERN_FAILURE);
    CHECK_CODE(vm_remap(self, &here, 1, 0, TRUE, liar, 4096, TRUE, &current, &most, VM_INHERIT_COPY), KERN_FAILURE);
    /* Which goes on. */
    CHECK_CODE(thread_terminate(liar), S);
    CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
    CHECK_CODE(mach_port_deallocate(self, liar), S);
}

/* The name that the child has for the port that `right` is to: the one that gives the same right. */
static mach_port_t name_there(mach_port_t task, mach_port_t right) {
    mach_port_name_array_t names;
    mach_port_type_array_t types;
    mach_msg_type_number_t count = 0, more = 0, found = 0;
    mach_port_t name = MACH_PORT_NULL;
    MUST(mach_port_names(task, &names, &count, &types, &more) == S);
    CHECK(count == more && count >= 3);
    for (mach_msg_type_number_t i = 0; i < count; i++) {
        mach_port_t got = MACH_PORT_NULL;
        mach_msg_type_name_t type = 0;
        if (types[i] != MACH_PORT_TYPE_SEND_RECEIVE) continue;
        CHECK_CODE(mach_port_extract_right(task, names[i], COPY, &got, &type), S);
        CHECK(type == MACH_MSG_TYPE_PORT_SEND);
        if (got == right) name = names[i], found++;
        CHECK_CODE(mach_port_deallocate(self, got), S);
    }
    CHECK(found == 1);
    CHECK_CODE(vm_deallocate(self, (vm_address_t) names, count * sizeof *names), S);
    CHECK_CODE(vm_deallocate(self, (vm_address_t) types, count * sizeof *types), S);
    return name;
}

static void test_names(mach_port_t task, mach_port_t right) {
    const mach_port_t name = name_there(task, right);
    mach_port_t other, got;
    mach_port_urefs_t refs = 0;
    mach_msg_type_name_t type = 0;
    CHECK_CODE(mach_port_get_refs(task, name, MACH_PORT_RIGHT_SEND, &refs), S);
    CHECK(refs == 1);
    CHECK_CODE(mach_port_mod_refs(task, name, MACH_PORT_RIGHT_SEND, 2), S);
    CHECK_CODE(mach_port_deallocate(task, name), S);
    CHECK_CODE(mach_port_get_refs(task, name, MACH_PORT_RIGHT_SEND, &refs), S);
    CHECK(refs == 2);
    /* A receive right that goes over, and one that ends. */
    CHECK_CODE(mach_port_allocate(task, MACH_PORT_RIGHT_RECEIVE, &other), S);
    CHECK(type_of(task, other) == MACH_PORT_TYPE_RECEIVE);
    CHECK_CODE(mach_port_extract_right(task, other, MACH_MSG_TYPE_MOVE_RECEIVE, &got, &type), S);
    CHECK(type == MACH_MSG_TYPE_PORT_RECEIVE && type_of(self, got) == MACH_PORT_TYPE_RECEIVE && type_of(task, other) == 0);
    CHECK_CODE(mach_port_insert_right(task, other, got, MACH_MSG_TYPE_MOVE_RECEIVE), S);
    CHECK(type_of(self, got) == 0 && type_of(task, other) == MACH_PORT_TYPE_RECEIVE);
    CHECK_CODE(mach_port_destroy(task, other), S);
    CHECK_CODE(mach_port_destroy(task, other), KERN_INVALID_NAME);
    /* A dead name is extracted as one, of this task and of the other. */
    const mach_port_t tasks[] = {task, self};
    for (int i = 0; i < 2; i++) {
        CHECK_CODE(mach_port_allocate(tasks[i], MACH_PORT_RIGHT_DEAD_NAME, &other), S);
        got = MACH_PORT_NULL;
        CHECK_CODE(mach_port_extract_right(tasks[i], other, COPY, &got, &type), S);
        CHECK(got == MACH_PORT_DEAD && type == MACH_MSG_TYPE_PORT_SEND && type_of(tasks[i], other) == MACH_PORT_TYPE_DEAD_NAME);
        CHECK_CODE(mach_port_extract_right(tasks[i], other, MACH_MSG_TYPE_MOVE_SEND_ONCE, &got, &type), S);
        CHECK(got == MACH_PORT_DEAD && type == MACH_MSG_TYPE_PORT_SEND_ONCE && type_of(tasks[i], other) == 0);
    }
    CHECK_CODE(mach_port_extract_right(task, name, 99, &got, &type), KERN_INVALID_VALUE);
    CHECK_CODE(mach_port_allocate(task, 77, &got), KERN_INVALID_VALUE);
}

static void test_memory(mach_port_t task, mach_port_t port) {
    const vm_size_t page = vm_page_size;
    vm_address_t at = 0, data = 0;
    mach_msg_type_number_t count = 0;
    CHECK_CODE(vm_read(task, (vm_address_t) text, sizeof text, &data, &count), S);
    MUST(count == sizeof text);
    CHECK(strcmp((char *) data, "child") == 0 && text[0] == '\0');
    CHECK_CODE(vm_deallocate(self, data, count), S);
    CHECK_CODE(vm_read(task, 16, 4, &data, &count), KERN_INVALID_ADDRESS);
    CHECK_CODE(vm_read(task, 0, (vm_size_t) 1 << 62, &data, &count), KERN_INVALID_ARGUMENT);
    CHECK_CODE(vm_read(task, (vm_address_t) text, (vm_size_t) 1 << 30, &data, &count), KERN_RESOURCE_SHORTAGE);
    CHECK_CODE(vm_write(task, 16, (vm_address_t) "x", 1), KERN_INVALID_ADDRESS);
    CHECK_CODE(vm_write(task, (vm_address_t) text, 16, 1), KERN_INVALID_ADDRESS);
    CHECK_CODE(vm_write(task, (vm_address_t) text, (vm_address_t) "parent", 7), S);
    CHECK_CODE(vm_allocate(task, &at, 2 * page, TRUE), S);
    CHECK_CODE(vm_copy(task, (vm_address_t) text, 7, at + page), S);
    CHECK_CODE(vm_protect(task, at, 2 * page, FALSE, VM_PROT_READ), S);
    CHECK_CODE(vm_write(task, at, (vm_address_t) "x", 1), KERN_PROTECTION_FAILURE);
    CHECK_CODE(vm_read(task, at, 2 * page, &data, &count), S);
    MUST(count == 2 * page);
    CHECK(strcmp((char *) data + page, "parent") == 0);
    CHECK_CODE(vm_deallocate(self, data, count), S);
    CHECK_CODE(vm_deallocate(task, at, 2 * page), S);
    /* At a place and with a protection of the caller's choice. */
    const vm_prot_t all = VM_PROT_READ | VM_PROT_WRITE;
    CHECK_CODE(vm_map(task, &at, page, 0, FALSE, MACH_PORT_NULL, 0, FALSE, VM_PROT_READ, all, VM_INHERIT_COPY), S);
    CHECK_CODE(vm_write(task, at, (vm_address_t) "x", 1), KERN_PROTECTION_FAILURE);
    CHECK_CODE(vm_map(task, &at, page, 0, FALSE, MACH_PORT_NULL, 0, FALSE, all, all, VM_INHERIT_COPY), KERN_NO_SPACE);
    CHECK_CODE(vm_map(task, &at, page, 0, TRUE, port, 0, FALSE, all, all, VM_INHERIT_COPY), KERN_INVALID_ARGUMENT);
    CHECK_CODE(vm_deallocate(task, at, page), S);
    /* A copy of the task's memory here, and of this in the task. */
    vm_address_t source = 0, here = 0;
    vm_prot_t current = 0, most = 0;
    CHECK_CODE(vm_allocate(task, &source, page, TRUE), S);
    CHECK_CODE(vm_write(task, source, (vm_address_t) "theirs", 7), S);
    CHECK_CODE(vm_remap(self, &here, page, 0, TRUE, task, source, FALSE, &current, &most, VM_INHERIT_COPY), KERN_INVALID_ARGUMENT);
    CHECK_CODE(vm_remap(self, &here, page, 0, TRUE, task, source, TRUE, &current, &most, VM_INHERIT_COPY), S);
    MUST(here != 0);
    CHECK(strcmp((char *) here, "theirs") == 0 && current == all);
    strcpy((char *) here, "ours");
    CHECK_CODE(vm_remap(task, &at, page, 0, TRUE, self, here, TRUE, &current, &most, VM_INHERIT_COPY), S);
    CHECK_CODE(vm_read(task, at, 5, &data, &count), S);
    MUST(count == 5);
    CHECK(strcmp((char *) data, "ours") == 0);
    CHECK_CODE(vm_deallocate(self, data, count), S);
    CHECK_CODE(vm_deallocate(self, here, page), S);
    CHECK_CODE(vm_deallocate(task, at, page), S);
    CHECK_CODE(vm_deallocate(task, source, page), S);
    CHECK_CODE(vm_remap(self, &here, page, 0, TRUE, task, 4096, TRUE, &current, &most, VM_INHERIT_COPY), KERN_INVALID_ADDRESS);
    CHECK_CODE(vm_read(task, at, 1, &data, &count), KERN_INVALID_ADDRESS);
}

/* The code of the answer to a message without a body. */
static kern_return_t answer(mach_port_t port, mach_msg_id_t id) {
    union {
        mach_msg_header_t header;
        mig_reply_header_t reply;
        char room[128];
    } message;
    const mach_port_t reply = mach_reply_port();
    fill(&message.header, port, id, sizeof message.header);
    message.header.msgh_bits = MACH_MSGH_BITS(COPY, MACH_MSG_TYPE_MAKE_SEND_ONCE);
    message.header.msgh_local_port = reply;
    const mach_msg_option_t option = MACH_SEND_MSG | MACH_RCV_MSG | MACH_RCV_TIMEOUT;
    MUST(mach_msg(&message.header, option, sizeof message.header, sizeof message, reply, PATIENCE, 0) == S);
    CHECK(message.header.msgh_id == id + 100);
    CHECK_CODE(mach_port_destroy(self, reply), S);
    return message.reply.RetCode;
}

static void test_task(mach_port_t task, mach_port_t port) {
    task_basic_info_data_t basic;
    mach_msg_type_number_t count = TASK_BASIC_INFO_COUNT;
    thread_array_t threads;
    mach_port_t special = MACH_PORT_NULL;
    CHECK_CODE(task_info(task, TASK_BASIC_INFO, (task_info_t) &basic, &count), S);
    CHECK(count == TASK_BASIC_INFO_COUNT && basic.resident_size > 0);
    CHECK_CODE(task_info(task, 99, (task_info_t) &basic, &count), KERN_INVALID_ARGUMENT);
    count = 0;
    CHECK_CODE(task_threads(task, &threads, &count), S);
    CHECK(count >= 2);
    for (mach_msg_type_number_t i = 0; i < count; i++) {
        CHECK(type_of(self, threads[i]) == MACH_PORT_TYPE_SEND);
        if (i == 0) CHECK_CODE(answer(threads[i], 3201), MIG_BAD_ARGUMENTS);
        CHECK_CODE(mach_port_deallocate(self, threads[i]), S);
    }
    CHECK_CODE(vm_deallocate(self, (vm_address_t) threads, count * sizeof *threads), S);
    CHECK_CODE(task_get_special_port(task, TASK_BOOTSTRAP_PORT, &special), S);
    CHECK(special == port);
    CHECK_CODE(mach_port_deallocate(self, special), S);
    CHECK_CODE(task_get_special_port(task, TASK_KERNEL_PORT, &special), S);
    CHECK(special == task);
    CHECK_CODE(mach_port_deallocate(self, special), S);
    CHECK_CODE(task_set_special_port(task, TASK_EXCEPTION_PORT, port), S);
    CHECK_CODE(task_get_special_port(task, TASK_EXCEPTION_PORT, &special), S);
    CHECK(special == port);
    CHECK_CODE(mach_port_deallocate(self, special), S);
    CHECK_CODE(task_set_special_port(task, TASK_EXCEPTION_PORT, MACH_PORT_NULL), S);
    CHECK_CODE(task_get_special_port(task, TASK_EXCEPTION_PORT, &special), S);
    CHECK(special == MACH_PORT_NULL);
    CHECK_CODE(task_set_special_port(task, TASK_KERNEL_PORT, port), KERN_INVALID_ARGUMENT);
}

int main(void) {
    watchdog(60);
    mach_port_t port = make_port(), right = MACH_PORT_NULL, other = make_port(), third = make_port(), once, previous;
    mach_msg_type_name_t type = 0;
    int status = -1;
    MUST(task_set_bootstrap_port(self, port) == S);
    const pid_t pid = fork();
    if (pid == 0) {
        watchdog(60);
        mach_port_t parent = MACH_PORT_NULL;
        MUST(task_get_bootstrap_port(self, &parent) == S);
        child(parent);
        _exit(0);
    }
    const mach_port_t task = receive(port, TASK);
    right = receive(port, PORT);
    test_liar(port);
    CHECK(type_of(self, task) == MACH_PORT_TYPE_SEND && task != self);
    test_names(task, right);
    test_memory(task, port);
    test_task(task, port);
    /* What no routine is for, and what has not the routine's form. */
    CHECK_CODE(answer(task, 2999), MIG_BAD_ID);
    CHECK_CODE(answer(task, 3201), MIG_BAD_ARGUMENTS);
    CHECK_CODE(answer(self, 3201), MIG_BAD_ARGUMENTS);
    CHECK_CODE(answer(mach_host_self(), 3201), MIG_BAD_ID);
    /* Rights of the caller's, and the caller's names for those of the task. */
    CHECK_CODE(mach_port_insert_right(task, INSERTED, port, MACH_MSG_TYPE_MAKE_SEND), KERN_RIGHT_EXISTS);
    CHECK_CODE(mach_port_insert_right(task, INSERTED, other, MACH_MSG_TYPE_MAKE_SEND), S);
    CHECK_CODE(mach_port_insert_right(task, INSERTED, third, COPY), KERN_NAME_EXISTS);
    CHECK_CODE(mach_port_insert_right(task, INSERTED, 0x123400, COPY), KERN_INVALID_NAME);
    CHECK_CODE(mach_port_insert_right(task, INSERTED, MACH_PORT_NULL, COPY), KERN_INVALID_CAPABILITY);
    CHECK_CODE(mach_port_insert_right(task, INSERTED, other, MACH_MSG_TYPE_MOVE_SEND_ONCE), KERN_INVALID_RIGHT);
    CHECK_CODE(mach_port_extract_right(task, name_there(task, right), MACH_MSG_TYPE_MAKE_SEND_ONCE, &once, &type), S);
    CHECK(type == MACH_MSG_TYPE_PORT_SEND_ONCE && type_of(self, once) == MACH_PORT_TYPE_SEND_ONCE);
    send(right, GO_ON, port);
    receive(other, WENT_ON);
    /* Who has no right to the task can't do any of it; a port of this task is no task. */
    CHECK_CODE(mach_port_allocate(port, MACH_PORT_RIGHT_RECEIVE, &other), KERN_INVALID_TASK);
    CHECK_CODE(task_terminate(port), KERN_INVALID_TASK);
    CHECK_CODE(task_terminate(task), S);
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    /* What can't be sent any more stays, from when the library knows. */
    CHECK_CODE(mach_port_request_notification(self, task, MACH_NOTIFY_DEAD_NAME, 1, other, MACH_MSG_TYPE_MAKE_SEND_ONCE, &previous), S);
    receive(other, MACH_NOTIFY_DEAD_NAME);
    CHECK(mach_port_insert_right(task, INSERTED, port, MACH_MSG_TYPE_MOVE_RECEIVE) != S);
    CHECK(type_of(self, port) == MACH_PORT_TYPE_SEND_RECEIVE);
    CHECK(mach_port_allocate(task, MACH_PORT_RIGHT_RECEIVE, &other) != S);
    return checks_done("task_ports");
}
