/* The remaining calls: bad tasks, special ports, what stubs use, servers, texts. */
#include "fixtures.h"

#include <mach/mig_support.h>

#define S KERN_SUCCESS
#define K KERN_INVALID_TASK

/* Every routine that takes a task, with one that is none. */
static void test_bad_task(mach_port_t task) {
    mach_port_name_array_t names;
    mach_port_type_array_t types;
    mach_msg_type_number_t count, more;
    mach_port_type_t type;
    mach_port_urefs_t refs;
    mach_port_status_t status;
    mach_msg_type_name_t kind;
    vm_address_t address = 0;
    vm_offset_t data;
    mach_port_t port = make_port(), name = 0;
    CHECK_CODE(mach_port_names(task, &names, &count, &types, &more), K);
    CHECK_CODE(mach_port_type(task, port, &type), K);
    CHECK_CODE(mach_port_rename(task, port, unused_name()), K);
    CHECK_CODE(mach_port_allocate_name(task, MACH_PORT_RIGHT_RECEIVE, unused_name()), K);
    CHECK_CODE(mach_port_allocate(task, MACH_PORT_RIGHT_RECEIVE, &name), K);
    CHECK_CODE(mach_port_destroy(task, port), K);
    CHECK_CODE(mach_port_deallocate(task, port), K);
    CHECK_CODE(mach_port_get_refs(task, port, MACH_PORT_RIGHT_SEND, &refs), K);
    CHECK_CODE(mach_port_mod_refs(task, port, MACH_PORT_RIGHT_SEND, 1), K);
    CHECK_CODE(mach_port_set_qlimit(task, port, 1), K);
    CHECK_CODE(mach_port_set_mscount(task, port, 1), K);
    CHECK_CODE(mach_port_set_seqno(task, port, 1), K);
    CHECK_CODE(mach_port_get_set_status(task, port, &names, &count), K);
    CHECK_CODE(mach_port_move_member(task, port, MACH_PORT_NULL), K);
    CHECK_CODE(mach_port_request_notification(task, port, MACH_NOTIFY_DEAD_NAME, 0, MACH_PORT_NULL,
                                              MACH_MSG_TYPE_MAKE_SEND_ONCE, &name),
               K);
    CHECK_CODE(mach_port_insert_right(task, unused_name(), port, MACH_MSG_TYPE_MAKE_SEND_ONCE), K);
    CHECK_CODE(mach_port_extract_right(task, port, MACH_MSG_TYPE_MAKE_SEND, &name, &kind), K);
    CHECK_CODE(mach_port_get_receive_status(task, port, &status), K);
    CHECK_CODE(mach_port_set_protected_payload(task, port, 1), K);
    CHECK_CODE(mach_port_clear_protected_payload(task, port), K);
    CHECK_CODE(task_get_special_port(task, TASK_BOOTSTRAP_PORT, &name), K);
    CHECK_CODE(task_set_special_port(task, TASK_BOOTSTRAP_PORT, port), K);
    CHECK_CODE(vm_allocate(task, &address, 4096, TRUE), K);
    CHECK_CODE(vm_deallocate(task, (vm_address_t) &address, 8), K);
    CHECK_CODE(vm_read(task, (vm_address_t) &address, 8, &data, &count), K);
    CHECK_CODE(vm_write(task, (vm_address_t) &address, (vm_offset_t) &data, 8), K);
    CHECK_CODE(vm_copy(task, (vm_address_t) &address, 8, (vm_address_t) &data), K);
    CHECK_CODE(vm_protect(task, (vm_address_t) &address, 8, FALSE, VM_PROT_READ), K);
    CHECK_CODE(vm_map(task, &address, 4096, 0, TRUE, MACH_PORT_NULL, 0, FALSE, VM_PROT_DEFAULT, VM_PROT_ALL, VM_INHERIT_COPY), K);
    CHECK(type_of(port) == MACH_PORT_TYPE_SEND_RECEIVE && refs_of(port, MACH_PORT_RIGHT_SEND) == 1);
    sweep();
}

static void test_special_ports(void) {
    static const int which[] = {TASK_EXCEPTION_PORT, TASK_BOOTSTRAP_PORT};
    mach_port_t before, port, got;
    CHECK(MACH_PORT_VALID(mach_task_self()) && mach_task_self() == mach_task_self());
    CHECK(type_of(mach_task_self()) & MACH_PORT_TYPE_SEND);
    for (int i = 0; i < 2; i++) {
        CHECK_CODE(task_get_special_port(self, which[i], &before), S);
        port = make_port();
        CHECK_CODE(task_set_special_port(self, which[i], port), S);
        CHECK(refs_of(port, MACH_PORT_RIGHT_SEND) == 1);
        CHECK_CODE(task_get_special_port(self, which[i], &got), S);
        CHECK(got == port && refs_of(port, MACH_PORT_RIGHT_SEND) == 2);
        /* The task holds a right of its own. */
        CHECK_CODE(mach_port_mod_refs(self, port, MACH_PORT_RIGHT_SEND, -2), S);
        CHECK_CODE(task_get_special_port(self, which[i], &got), S);
        CHECK(got == port);
        CHECK_CODE(task_set_special_port(self, which[i], before), S);
        CHECK_CODE(task_get_special_port(self, which[i], &got), S);
        CHECK(got == before);
        if (MACH_PORT_VALID(before)) CHECK_CODE(mach_port_mod_refs(self, before, MACH_PORT_RIGHT_SEND, -2), S);
        sweep();
    }
    CHECK_CODE(task_get_kernel_port(self, &got), S);
    CHECK(got == mach_task_self());
    CHECK_CODE(mach_port_deallocate(self, got), S);
    CHECK_CODE(task_get_special_port(self, 99, &got), KERN_INVALID_ARGUMENT);
    CHECK_CODE(task_set_special_port(self, 99, MACH_PORT_NULL), KERN_INVALID_ARGUMENT);
    sweep();

    mach_port_t thread = mach_thread_self(), host = mach_host_self();
    CHECK(type_of(thread) & MACH_PORT_TYPE_SEND);
    CHECK(type_of(host) & MACH_PORT_TYPE_SEND);
    CHECK(thread != host && thread != self && host != self);
    mach_port_urefs_t refs = refs_of(thread, MACH_PORT_RIGHT_SEND);
    CHECK(mach_thread_self() == thread);
    CHECK(refs_of(thread, MACH_PORT_RIGHT_SEND) == refs + 1);
    CHECK_CODE(mach_port_deallocate(self, thread), S);
    CHECK_CODE(mach_port_deallocate(self, thread), S);
    CHECK_CODE(mach_port_deallocate(self, host), S);
    sweep();
}

static void test_stub_calls(void) {
    char text[8];
    vm_address_t address = 0;
    mach_port_t port = mach_reply_port();
    CHECK(type_of(port) == MACH_PORT_TYPE_RECEIVE);
    CHECK(mach_reply_port() != port);
    sweep();

    mig_init(NULL);
    port = mig_get_reply_port();
    CHECK(type_of(port) & MACH_PORT_TYPE_RECEIVE);
    mig_put_reply_port(port);
    CHECK(mig_get_reply_port() == port);
    mig_dealloc_reply_port(port);
    CHECK(type_of(port) == 0);
    mach_port_t next = mig_get_reply_port();
    CHECK(type_of(next) & MACH_PORT_TYPE_RECEIVE);
    mig_dealloc_reply_port(next);
    sweep();

    mig_allocate(&address, 5000);
    CHECK(address != 0);
    memset((void *) address, 1, 5000);
    mig_deallocate(address, 5000);

    memset(text, 'z', sizeof text);
    CHECK(mig_strncpy(text, "four", sizeof text) == 4);
    CHECK(strcmp(text, "four") == 0 && text[5] == 'z');
    CHECK(mig_strncpy(text, "four and more", sizeof text) == 7);
    CHECK(strcmp(text, "four an") == 0);
    CHECK(mig_strncpy(text, "x", 1) == 0 && text[0] == 0);
    text[0] = 'y';
    CHECK(mig_strncpy(text, "x", 0) == 0 && text[0] == 'y');
    memset(text, 'z', sizeof text);
    mig_strncpy_zerofill(text, "ab", sizeof text);
    CHECK(memcmp(text, "ab\0\0\0\0\0", 8) == 0);
}

/* ---- Servers ---- */

static int served;
static mach_port_t stop_at;

/* Replies with twice the identifier; MIG_NO_REPLY for 7, MIG_BAD_ID above 100. */
static boolean_t demux(mach_msg_header_t *request, mach_msg_header_t *reply) {
    mig_reply_header_t *out = (mig_reply_header_t *) reply;
    memset(out, 0, sizeof *out);
    out->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSGH_BITS_REMOTE(request->msgh_bits), 0);
    out->Head.msgh_remote_port = request->msgh_remote_port;
    out->Head.msgh_size = sizeof *out;
    out->Head.msgh_id = request->msgh_id * 2;
    out->RetCodeType.msgt_name = MACH_MSG_TYPE_INTEGER_32;
    out->RetCodeType.msgt_size = 32;
    out->RetCodeType.msgt_inline = 1;
    out->RetCodeType.msgt_number = 1;
    served++;
    if (request->msgh_id == 7) out->RetCode = MIG_NO_REPLY;
    if (request->msgh_id > 100) {
        out->RetCode = MIG_BAD_ID;
        return FALSE;
    }
    if (request->msgh_id == 9) mach_port_destroy(mach_task_self(), stop_at);
    return TRUE;
}

static void ask(mach_port_t server, mach_port_t reply, mach_msg_id_t id) {
    mach_msg_header_t header;
    memset(&header, 0, sizeof header);
    header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MAKE_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
    header.msgh_remote_port = server;
    header.msgh_local_port = reply;
    header.msgh_id = id;
    CHECK_CODE(mach_msg(&header, MACH_SEND_MSG, sizeof header, 0, 0, 0, 0), S);
}

static void test_server(void) {
    mach_port_t server = make_receive(), reply = make_receive();
    any_message message;
    ask(server, reply, 5);
    CHECK_CODE(mach_msg_server_once(demux, 1024, server, MACH_MSG_OPTION_NONE), S);
    CHECK_CODE(receive(reply, &message), S);
    CHECK(message.header.msgh_id == 10 && message.header.msgh_size == 48);
    /* What the server does not know is answered too. */
    ask(server, reply, 101);
    CHECK_CODE(mach_msg_server_once(demux, 1024, server, MACH_MSG_OPTION_NONE), S);
    CHECK_CODE(receive(reply, &message), S);
    CHECK(((mig_reply_header_t *) &message)->RetCode == MIG_BAD_ID);
    /* No reply: the right stays with the server. */
    ask(server, reply, 7);
    CHECK_CODE(mach_msg_server_once(demux, 1024, server, MACH_MSG_OPTION_NONE), S);
    CHECK_CODE(receive(reply, &message), MACH_RCV_TIMED_OUT);
    sweep();
    /* It serves until it can't receive any more. */
    server = make_receive();
    reply = make_receive();
    stop_at = server;
    served = 0;
    ask(server, reply, 1);
    ask(server, reply, 2);
    ask(server, reply, 9);
    CHECK_CODE(mach_msg_server(demux, 1024, server), MACH_RCV_INVALID_NAME);
    CHECK(served == 3);
    sweep();
    CHECK_CODE(mach_msg_server_once(demux, 1024, unused_name(), MACH_MSG_OPTION_NONE), MACH_RCV_INVALID_NAME);
}

/* Each of these texts is one of its own. */
static void test_texts(void) {
    static const int codes[] = {
        KERN_SUCCESS,           KERN_INVALID_NAME,       KERN_INVALID_RIGHT,    KERN_INVALID_TASK,     KERN_RESOURCE_SHORTAGE,
        KERN_NAME_EXISTS,       KERN_INVALID_CAPABILITY, MACH_SEND_INVALID_DEST, MACH_SEND_TIMED_OUT,  MACH_RCV_TIMED_OUT,
        MACH_RCV_INVALID_NAME,  MACH_RCV_TOO_LARGE,      MIG_BAD_ID,            MIG_SERVER_DIED,       MIG_TYPE_ERROR,
        MACH_SEND_INVALID_TYPE, MACH_RCV_PORT_DIED,      MIG_REPLY_MISMATCH,    MACH_SEND_NO_BUFFER,
    };
    enum { COUNT = sizeof codes / sizeof *codes };
    for (int i = 0; i < COUNT; i++) {
        const char *text = mach_error_string(codes[i]);
        CHECK(text && strlen(text) > 3);
        for (int k = 0; k < i; k++) CHECK(strcmp(text, mach_error_string(codes[k])) != 0);
    }
    CHECK(mach_error_string(0x7777777) != NULL);
    CHECK(mach_error_type(KERN_INVALID_NAME) && mach_error_type(MACH_SEND_INVALID_DEST));
}

void test_calls(void) {
    test_bad_task(MACH_PORT_NULL);
    test_bad_task(MACH_PORT_DEAD);
    test_bad_task(unused_name());
    mach_port_t port = make_receive();
    test_bad_task(port);
    test_special_ports();
    test_stub_calls();
    test_server();
    test_texts();
}
