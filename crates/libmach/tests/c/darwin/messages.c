/* Darwin's dialect within one process, and between two. */
#include "darwin.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_plain(void) {
    mach_port_t port = make_port();
    /* Of every length: whole words of 8 bytes, and half ones. */
    for (mach_msg_size_t size = 0; size <= 64; size += 4) {
        unsigned char data[64];
        for (unsigned i = 0; i < sizeof data; i++) data[i] = (unsigned char) (i + size);
        CHECK_CODE(send(port, MACH_PORT_NULL, 40, data, size), S);
        message_t got;
        CHECK_CODE(receive(port, &got), S);
        CHECK(got.header.msgh_size == sizeof got.header + size && got.header.msgh_id == 40);
        CHECK(got.header.msgh_bits == MACH_MSGH_BITS(0, MACH_MSG_TYPE_PORT_SEND));
        CHECK(got.header.msgh_local_port == port && got.header.msgh_remote_port == MACH_PORT_NULL);
        CHECK(got.header.msgh_voucher_port == MACH_PORT_NULL);
        CHECK(memcmp(got.bytes + sizeof got.header, data, size) == 0);
        const mach_msg_trailer_t *trailer = (const mach_msg_trailer_t *) trailer_of(&got.header);
        CHECK(trailer->msgh_trailer_type == MACH_MSG_TRAILER_FORMAT_0 && trailer->msgh_trailer_size == 8);
        CHECK(got.bytes[sizeof got.header + size + 8] == 0xee);
    }
    CHECK_CODE(mach_port_destroy(self, port), S);
}

static void test_errors(void) {
    mach_port_t port = make_port();
    message_t it;
    memset(&it, 0, sizeof it);
    it.header.msgh_bits = MACH_MSGH_BITS_SET(MACH_MSG_TYPE_COPY_SEND, 0, 0, 0);
    it.header.msgh_remote_port = port;
    CHECK_CODE(mach_msg(&it.header, MACH_SEND_MSG, 20, 0, 0, 0, 0), MACH_SEND_MSG_TOO_SMALL);
    CHECK_CODE(mach_msg(&it.header, MACH_SEND_MSG, 26, 0, 0, 0, 0), MACH_SEND_MSG_TOO_SMALL);
    it.header.msgh_bits = MACH_MSGH_BITS_SET(MACH_MSG_TYPE_COPY_SEND, 0, 0, 0x40000000);
    CHECK_CODE(mach_msg(&it.header, MACH_SEND_MSG, 24, 0, 0, 0, 0), MACH_SEND_INVALID_HEADER);
    it.header.msgh_bits = MACH_MSGH_BITS_SET(MACH_MSG_TYPE_COPY_SEND, 0, MACH_MSG_TYPE_COPY_SEND, 0);
    it.header.msgh_voucher_port = port;
    CHECK_CODE(mach_msg(&it.header, MACH_SEND_MSG, 24, 0, 0, 0, 0), MACH_SEND_INVALID_VOUCHER);
    it.header.msgh_voucher_port = MACH_PORT_NULL;
    it.header.msgh_bits = MACH_MSGH_BITS_SET(MACH_MSG_TYPE_COPY_SEND, 0, 0, MACH_MSGH_BITS_COMPLEX);
    CHECK_CODE(mach_msg(&it.header, MACH_SEND_MSG, 24, 0, 0, 0, 0), MACH_SEND_MSG_TOO_SMALL);
    it.complex.body.msgh_descriptor_count = 1;
    CHECK_CODE(mach_msg(&it.header, MACH_SEND_MSG, 36, 0, 0, 0, 0), MACH_SEND_MSG_TOO_SMALL);
    mach_msg_port_descriptor_t *descriptor = (mach_msg_port_descriptor_t *) it.complex.rest;
    descriptor->type = MACH_MSG_GUARDED_PORT_DESCRIPTOR;
    CHECK_CODE(mach_msg(&it.header, MACH_SEND_MSG, 44, 0, 0, 0, 0), MACH_SEND_INVALID_TYPE);
    /* What is behind a descriptor of an unknown kind is nobody's to destroy. */
    vm_address_t memory;
    CHECK_CODE(vm_allocate(self, &memory, vm_page_size, TRUE), S);
    mach_msg_ool_descriptor_t far = {(void *) memory, TRUE, MACH_MSG_VIRTUAL_COPY, 0, 9, 8};
    memcpy(it.complex.rest, &far, sizeof far);
    message_t unsent = it;
    unsent.header.msgh_size = 44;
    unsent.header.msgh_remote_port = MACH_PORT_NULL;
    mach_msg_destroy(&unsent.header);
    CHECK(*(volatile char *) memory == 0);
    far.type = MACH_MSG_OOL_DESCRIPTOR;
    far.copy = MACH_MSG_ALLOCATE;
    memcpy(it.complex.rest, &far, sizeof far);
    CHECK_CODE(mach_msg(&it.header, MACH_SEND_MSG, 44, 0, 0, 0, 0), MACH_SEND_INVALID_TYPE);
    CHECK_CODE(vm_deallocate(self, memory, vm_page_size), S);
    memset(it.complex.rest, 0, sizeof far);
    descriptor->type = MACH_MSG_PORT_DESCRIPTOR;
    descriptor->disposition = 9;
    CHECK_CODE(mach_msg(&it.header, MACH_SEND_MSG, 40, 0, 0, 0, 0), MACH_SEND_INVALID_TYPE);
    descriptor->disposition = MACH_MSG_TYPE_COPY_SEND;
    descriptor->name = 0x7777;
    CHECK_CODE(mach_msg(&it.header, MACH_SEND_MSG, 40, 0, 0, 0, 0), MACH_SEND_INVALID_RIGHT);
    CHECK_CODE(mach_msg(&it.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof it, port, 0, 0), MACH_RCV_TIMED_OUT);
    CHECK_CODE(mach_msg(&it.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT | MACH_RCV_TRAILER_ELEMENTS(7), 0, sizeof it, port, 0, 0),
               MACH_RCV_INVALID_TRAILER);
    it.header.msgh_bits = MACH_MSGH_BITS_SET(MACH_MSG_TYPE_COPY_SEND, 0, 0, 0);
    it.header.msgh_remote_port = 0x7777;
    CHECK_CODE(mach_msg(&it.header, MACH_SEND_MSG, 24, 0, 0, 0, 0), MACH_SEND_INVALID_DEST);
    CHECK_CODE(mach_port_destroy(self, port), S);
}

/* A message that finds the queue full comes back as it was. */
static void test_back(void) {
    mach_port_t port = make_port(), right = make_port();
    mach_port_limits_t limits = {1};
    CHECK_CODE(mach_port_set_attributes(self, port, MACH_PORT_LIMITS_INFO, (mach_port_info_t) &limits, 1), S);
    CHECK_CODE(send(port, MACH_PORT_NULL, 1, NULL, 0), S);
    mach_port_t names[2] = {right, right};
    carrying_t it;
    char memory[100] = "there";
    carry(&it, port, right, memory, sizeof memory, names);
    CHECK_CODE(mach_msg(&it.header, MACH_SEND_MSG | MACH_SEND_TIMEOUT, sizeof it, 0, 0, 0, 0), MACH_SEND_TIMED_OUT);
    CHECK(MACH_MSGH_BITS_REMOTE(it.header.msgh_bits) == MACH_MSG_TYPE_MOVE_SEND && it.header.msgh_remote_port == port);
    check_carried(&it, right, memory, sizeof memory);
    mach_port_urefs_t refs = 0;
    CHECK(mach_port_get_refs(self, right, MACH_PORT_RIGHT_SEND, &refs) == S && refs == 4);
    mach_msg_destroy(&it.header);
    CHECK(mach_port_get_refs(self, right, MACH_PORT_RIGHT_SEND, &refs) == S && refs == 1);
    CHECK_CODE(mach_port_destroy(self, port), S);
    CHECK_CODE(mach_port_destroy(self, right), S);
}

static void test_large(void) {
    mach_port_t port = make_port(), set;
    CHECK_CODE(mach_port_allocate(self, MACH_PORT_RIGHT_PORT_SET, &set), S);
    CHECK_CODE(mach_port_move_member(self, port, set), S);
    char data[36] = "large";
    CHECK_CODE(send(port, MACH_PORT_NULL, 2, data, sizeof data), S);
    message_t got;
    /* Without room for the trailer, too. */
    CHECK_CODE(receive_with(set, &got, MACH_RCV_LARGE, 24 + sizeof data), MACH_RCV_TOO_LARGE);
    CHECK(got.header.msgh_size == 24 + sizeof data && got.header.msgh_local_port == 0xeeeeeeee);
    CHECK_CODE(receive_with(set, &got, MACH_RCV_LARGE | MACH_RCV_LARGE_IDENTITY, 32), MACH_RCV_TOO_LARGE);
    CHECK(got.header.msgh_size == 24 + sizeof data && got.header.msgh_local_port == port);
    CHECK_CODE(receive_with(set, &got, MACH_RCV_LARGE, 24 + sizeof data + 8), S);
    CHECK(memcmp(got.bytes + 24, data, sizeof data) == 0);
    CHECK_CODE(send(port, MACH_PORT_NULL, 2, data, sizeof data), S);
    CHECK_CODE(receive_with(set, &got, 0, 32), MACH_RCV_TOO_LARGE);
    CHECK_CODE(mach_msg(&got.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof got, set, 0, 0), MACH_RCV_TIMED_OUT);
    CHECK_CODE(mach_port_destroy(self, port), S);
    CHECK_CODE(mach_port_destroy(self, set), S);
}

static void check_tokens(const mach_msg_context_trailer_t *it, pid_t sender) {
    CHECK(it->msgh_sender.val[0] == geteuid() && it->msgh_sender.val[1] == getegid());
    CHECK(it->msgh_audit.val[1] == geteuid() && it->msgh_audit.val[2] == getegid());
    CHECK(it->msgh_audit.val[5] == (unsigned) sender);
}

static void test_trailers(void) {
    mach_port_t port = make_port();
    CHECK_CODE(mach_port_set_context(self, port, 0x123456789abc), S);
    const unsigned sizes[] = {8, 12, 20, 52, 60};
    for (int elements = 0; elements <= 4; elements++) {
        message_t got;
        CHECK_CODE(send(port, MACH_PORT_NULL, 3, "12345678901", 12), S);
        CHECK_CODE(receive_with(port, &got, MACH_RCV_TRAILER_ELEMENTS(elements) | MACH_RCV_LARGE, 35 + sizes[elements]),
                   MACH_RCV_TOO_LARGE);
        CHECK_CODE(receive_with(port, &got, MACH_RCV_TRAILER_ELEMENTS(elements), 36 + sizes[elements]), S);
        const mach_msg_context_trailer_t *trailer = (const mach_msg_context_trailer_t *) trailer_of(&got.header);
        CHECK(trailer->msgh_trailer_type == 0 && trailer->msgh_trailer_size == sizes[elements]);
        CHECK(got.bytes[36 + sizes[elements]] == 0xee);
        if (elements >= 1) CHECK(trailer->msgh_seqno == (unsigned) elements);
        if (elements >= 3) check_tokens(trailer, getpid());
        if (elements >= 4) CHECK(trailer->msgh_context == 0x123456789abc);
    }
    CHECK_CODE(mach_port_destroy(self, port), S);
}

static void test_notifications(void) {
    mach_port_t port = make_port(), watched = make_port(), previous;
    mach_port_t right = watched;
    message_t got;
    CHECK_CODE(mach_port_request_notification(self, watched, MACH_NOTIFY_NO_SENDERS, 1, port, MACH_MSG_TYPE_MAKE_SEND_ONCE,
                                              &previous),
               S);
    CHECK_CODE(mach_port_deallocate(self, right), S);
    CHECK_CODE(receive(port, &got), S);
    CHECK(got.header.msgh_id == MACH_NOTIFY_NO_SENDERS && got.header.msgh_size == 36);
    CHECK(got.no_senders.not_count == 1 && memcmp(&got.no_senders.NDR, &NDR_record, sizeof NDR_record) == 0);
    CHECK(got.header.msgh_bits == MACH_MSGH_BITS(0, MACH_MSG_TYPE_PORT_SEND_ONCE));
    CHECK_CODE(mach_port_request_notification(self, watched, MACH_NOTIFY_PORT_DESTROYED, 0, port,
                                              MACH_MSG_TYPE_MAKE_SEND_ONCE, &previous),
               S);
    CHECK_CODE(mach_port_mod_refs(self, watched, MACH_PORT_RIGHT_RECEIVE, -1), S);
    CHECK_CODE(receive(port, &got), S);
    CHECK(got.header.msgh_id == MACH_NOTIFY_PORT_DESTROYED && got.header.msgh_size == 40);
    CHECK(got.destroyed.not_body.msgh_descriptor_count == 1);
    CHECK(got.destroyed.not_port.disposition == MACH_MSG_TYPE_PORT_RECEIVE && type_of(got.destroyed.not_port.name) == MACH_PORT_TYPE_RECEIVE);
    watched = got.destroyed.not_port.name;
    CHECK_CODE(mach_port_insert_right(self, watched, watched, MACH_MSG_TYPE_MAKE_SEND), S);
    CHECK_CODE(mach_port_request_notification(self, watched, MACH_NOTIFY_DEAD_NAME, 0, port, MACH_MSG_TYPE_MAKE_SEND_ONCE,
                                              &previous),
               S);
    CHECK_CODE(mach_port_mod_refs(self, watched, MACH_PORT_RIGHT_RECEIVE, -1), S);
    CHECK_CODE(receive(port, &got), S);
    CHECK(got.header.msgh_id == MACH_NOTIFY_DEAD_NAME && got.header.msgh_size == 36 && got.no_senders.not_count == watched);
    CHECK_CODE(mach_port_destroy(self, watched), S);
    CHECK_CODE(mach_port_destroy(self, port), S);
}

static void test_status(void) {
    mach_port_t port = make_port();
    mach_port_status_t status;
    mach_msg_type_number_t count = MACH_PORT_RECEIVE_STATUS_COUNT;
    CHECK_CODE(send(port, MACH_PORT_NULL, 4, NULL, 0), S);
    memset(&status, 0xee, sizeof status);
    CHECK_CODE(mach_port_get_attributes(self, port, MACH_PORT_RECEIVE_STATUS, (mach_port_info_t) &status, &count), S);
    CHECK(count == 10 && status.mps_msgcount == 1 && status.mps_srights && status.mps_flags == 0);
    count = 9;
    CHECK_CODE(mach_port_get_attributes(self, port, MACH_PORT_RECEIVE_STATUS, (mach_port_info_t) &status, &count), KERN_FAILURE);
    CHECK_CODE(mach_port_destroy(self, port), S);
}

static void test_overwrite(void) {
    mach_port_t port = make_port();
    message_t sent, got;
    memset(&sent, 0, sizeof sent);
    memset(&got, 0, sizeof got);
    sent.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, 0);
    sent.header.msgh_remote_port = port;
    sent.header.msgh_id = 5;
    CHECK_CODE(mach_msg_overwrite(&sent.header, MACH_SEND_MSG | MACH_RCV_MSG | MACH_RCV_TIMEOUT, 24, sizeof got, port, PATIENCE, 0,
                                  &got.header, 0),
               S);
    CHECK(got.header.msgh_id == 5 && got.header.msgh_size == 24 && sent.header.msgh_remote_port == port);
    CHECK_CODE(mach_port_destroy(self, port), S);
}

static void test_strings(void) {
    char text[8];
    memset(text, 'x', sizeof text);
    CHECK(mig_strncpy(text, "abc", 8) == 4 && strcmp(text, "abc") == 0 && text[4] == 'x');
    CHECK(mig_strncpy_zerofill(text, "ab", 8) == 3 && text[7] == 0);
    CHECK(mig_strncpy(text, "abcdefghij", 8) == 8 && strcmp(text, "abcdefg") == 0);
}

static void test_codes(void) {
    semaphore_t semaphore;
    mach_timespec_t soon = {0, 1000000};
    CHECK_CODE(semaphore_create(self, &semaphore, SYNC_POLICY_FIFO, 1), S);
    CHECK_CODE(semaphore_wait(semaphore), S);
    CHECK_CODE(semaphore_timedwait(semaphore, soon), KERN_OPERATION_TIMED_OUT);
    CHECK_CODE(semaphore_signal_all(semaphore), S);
    CHECK_CODE(semaphore_destroy(self, semaphore), S);
    CHECK(strstr(mach_error_string(KERN_TERMINATED), "ended") != NULL);
    CHECK(strstr(mach_error_string(MACH_SEND_INVALID_VOUCHER), "voucher") != NULL);
    CHECK(strcmp(mach_error_string(KERN_SUCCESS), mach_error_string(26)) != 0);
}

static char big[100000];

static boolean_t demux(mach_msg_header_t *request, mach_msg_header_t *reply) {
    mig_reply_error_t *answer = (mig_reply_error_t *) reply;
    reply->msgh_bits = MACH_MSGH_BITS(MACH_MSGH_BITS_REMOTE(request->msgh_bits), 0);
    reply->msgh_remote_port = request->msgh_remote_port;
    reply->msgh_local_port = MACH_PORT_NULL;
    reply->msgh_voucher_port = MACH_PORT_NULL;
    reply->msgh_size = sizeof *answer;
    reply->msgh_id = request->msgh_id + 100;
    answer->NDR = NDR_record;
    answer->RetCode = request->msgh_id == 900 ? KERN_SUCCESS : MIG_BAD_ID;
    return answer->RetCode == KERN_SUCCESS;
}

/* With MACH_RCV_LARGE a server takes requests of any size. */
static void test_server_grows(void) {
    mach_port_t port = make_port(), answers = make_port();
    message_t got;
    CHECK_CODE(send(port, answers, 900, big, 400), S);
    CHECK_CODE(mach_msg_server_once(demux, 64, port, MACH_RCV_LARGE), S);
    CHECK_CODE(receive(answers, &got), S);
    CHECK(got.header.msgh_id == 1000 && ((mig_reply_error_t *) &got)->RetCode == S);
    CHECK_CODE(send(port, answers, 900, big, 400), S);
    CHECK_CODE(mach_msg_server_once(demux, 64, port, 0), MACH_RCV_TOO_LARGE);
    CHECK_CODE(receive(answers, &got), S);
    CHECK(got.header.msgh_id == MACH_NOTIFY_SEND_ONCE);
    CHECK_CODE(mach_port_destroy(self, port), S);
    CHECK_CODE(mach_port_destroy(self, answers), S);
}

/* The other process: it gets a message of each kind, answers, and serves until its port's last right is gone. */
static int other(mach_port_t to) {
    mach_port_t port = make_port();
    CHECK_CODE(send(to, port, 50, "from afar!!", 12), S);
    message_t got;
    CHECK_CODE(receive_with(port, &got, MACH_RCV_TRAILER_ELEMENTS(MACH_RCV_TRAILER_AUDIT), sizeof got), S);
    CHECK(got.header.msgh_id == 51 && got.header.msgh_size == 36 && memcmp(got.bytes + 24, "hither back", 12) == 0);
    /* One of each, from here to there, with memory that goes in a file of its own. */
    memset(big, 'b', sizeof big);
    mach_port_t right = make_port(), names[2] = {right, port};
    carrying_t it;
    carry(&it, to, right, big, sizeof big, names);
    CHECK_CODE(mach_msg(&it.header, MACH_SEND_MSG, sizeof it, 0, 0, 0, 0), S);
    /* The right leads here. */
    CHECK_CODE(receive(right, &got), S);
    CHECK(got.header.msgh_id == 52 && got.header.msgh_size == 28);
    CHECK_CODE(mach_msg_server_once(demux, 256, port, 0), S);
    CHECK_CODE(mach_msg_server_once(demux, 256, port, 0), S);
    return checks_done("the other process");
}

static void test_far(void) {
    mach_port_t port = make_port();
    CHECK_CODE(task_set_special_port(self, TASK_EXCEPTION_PORT, port), S);
    fflush(NULL);
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        watchdog(60);
        mach_port_t to;
        checks_made = checks_failed = 0;
        MUST(task_get_special_port(self, TASK_EXCEPTION_PORT, &to) == S);
        _exit(other(to));
    }
    message_t got;
    CHECK_CODE(receive_with(port, &got, MACH_RCV_TRAILER_ELEMENTS(MACH_RCV_TRAILER_AUDIT), sizeof got), S);
    CHECK(got.header.msgh_id == 50 && got.header.msgh_size == 36 && memcmp(got.bytes + 24, "from afar!!", 12) == 0);
    CHECK(MACH_MSGH_BITS_REMOTE(got.header.msgh_bits) == MACH_MSG_TYPE_PORT_SEND_ONCE);
    check_tokens((const mach_msg_context_trailer_t *) trailer_of(&got.header), pid);
    mach_port_t once = got.header.msgh_remote_port;
    memset(&got, 0, sizeof got);
    got.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0);
    got.header.msgh_remote_port = once;
    got.header.msgh_id = 51;
    memcpy(got.bytes + 24, "hither back", 12);
    CHECK_CODE(mach_msg(&got.header, MACH_SEND_MSG, 36, 0, 0, 0, 0), S);
    carried_t carried;
    memset(&carried, 0xee, sizeof carried);
    CHECK_CODE(mach_msg(&carried.it.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof carried, port, PATIENCE, 0), S);
    memset(big, 'b', sizeof big);
    check_carried(&carried.it, MACH_PORT_NULL, big, sizeof big);
    mach_port_t right = carried.it.port.name, server = ((mach_port_t *) carried.it.ports.address)[1];
    CHECK(((mach_port_t *) carried.it.ports.address)[0] == right);
    int number = 7;
    CHECK_CODE(send(right, MACH_PORT_NULL, 52, &number, sizeof number), S);
    /* A call, and one that no routine is for. */
    for (int id = 900; id <= 901; id++) {
        union {
            mach_msg_header_t header;
            mig_reply_error_t reply;
            char room[128];
        } call;
        memset(&call, 0, sizeof call);
        call.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
        call.header.msgh_remote_port = server;
        call.header.msgh_local_port = mig_get_reply_port();
        call.header.msgh_id = id;
        CHECK_CODE(mach_msg(&call.header, MACH_SEND_MSG | MACH_RCV_MSG | MACH_RCV_TIMEOUT, 24, sizeof call, call.header.msgh_local_port,
                            PATIENCE, 0),
                   S);
        CHECK(call.header.msgh_id == id + 100 && call.header.msgh_size == 36);
        CHECK(call.reply.RetCode == (id == 900 ? S : MIG_BAD_ID));
    }
    mach_msg_destroy(&carried.it.header);
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(type_of(right) != MACH_PORT_TYPE_SEND && type_of(server) != MACH_PORT_TYPE_SEND);
    CHECK_CODE(mach_port_destroy(self, port), S);
}

int main(void) {
    watchdog(60);
    test_plain();
    test_errors();
    test_back();
    test_large();
    test_trailers();
    test_notifications();
    test_status();
    test_overwrite();
    test_strings();
    test_codes();
    test_server_grows();
    test_far();
    return checks_done("darwin");
}
