/* The values and layouts of the typed dialect, written down a second time. */
#include <mach.h>
#include <mach/bootstrap.h>
#include <mach/mach_param.h>
#include <mach/msg_type.h>
#include <servers/netname.h>

#include <stddef.h>
#include <stdio.h>

static const struct {
    const char *name;
    long long is, should_be;
} values[] = {
#define VALUE(name, value) {#name, (long long) (name), (value)}
#define SIZE(type, value) {"sizeof(" #type ")", (long long) sizeof(type), (value)}
#define ALIGNED(type, value) {"alignof(" #type ")", (long long) _Alignof(type), (value)}
#define AT(type, field, value) {#type "." #field, (long long) offsetof(type, field), (value)}
    SIZE(natural_t, 4), SIZE(integer_t, 4), SIZE(boolean_t, 4), SIZE(kern_return_t, 4),
    SIZE(mach_port_t, 4), SIZE(mach_port_name_t, 4), SIZE(mach_msg_type_number_t, 4), SIZE(mach_msg_size_t, 4),
    SIZE(vm_offset_t, 8), SIZE(vm_size_t, 8), SIZE(vm_address_t, 8), SIZE(pointer_t, 8), SIZE(mach_port_status_t, 36),
    SIZE(mach_msg_header_t, 32), ALIGNED(mach_msg_header_t, 8),
    AT(mach_msg_header_t, msgh_bits, 0), AT(mach_msg_header_t, msgh_size, 4),
    AT(mach_msg_header_t, msgh_remote_port, 8), AT(mach_msg_header_t, msgh_local_port, 16),
    AT(mach_msg_header_t, msgh_protected_payload, 16), AT(mach_msg_header_t, msgh_seqno, 24),
    AT(mach_msg_header_t, msgh_id, 28),
    SIZE(mach_msg_type_t, 8), ALIGNED(mach_msg_type_t, 8), AT(mach_msg_type_t, msgt_number, 4),
    SIZE(mach_msg_type_long_t, 8), ALIGNED(mach_msg_type_long_t, 8), SIZE(mach_port_name_inlined_t, 8),
    SIZE(mig_reply_header_t, 48), AT(mig_reply_header_t, RetCodeType, 32), AT(mig_reply_header_t, RetCode, 40),
    SIZE(mach_port_deleted_notification_t, 48), SIZE(mach_msg_accepted_notification_t, 48),
    SIZE(mach_port_destroyed_notification_t, 48), SIZE(mach_no_senders_notification_t, 48),
    SIZE(mach_send_once_notification_t, 32), SIZE(mach_dead_name_notification_t, 48),
    AT(mach_dead_name_notification_t, not_type, 32), AT(mach_dead_name_notification_t, not_port, 40),
    AT(mach_no_senders_notification_t, not_count, 40),
    AT(mach_port_status_t, mps_pset, 0), AT(mach_port_status_t, mps_seqno, 4), AT(mach_port_status_t, mps_mscount, 8),
    AT(mach_port_status_t, mps_qlimit, 12), AT(mach_port_status_t, mps_msgcount, 16),
    AT(mach_port_status_t, mps_sorights, 20), AT(mach_port_status_t, mps_srights, 24),
    AT(mach_port_status_t, mps_pdrequest, 28), AT(mach_port_status_t, mps_nsrequest, 32),

    VALUE(MACH_MSGH_BITS_REMOTE_MASK, 0xff), VALUE(MACH_MSGH_BITS_LOCAL_MASK, 0xff00),
    VALUE(MACH_MSGH_BITS_COMPLEX, 0x80000000), VALUE(MACH_MSGH_BITS(19, 21), 0x1513),
    VALUE(MACH_MSGH_BITS_LOCAL(0x80001513), 21), VALUE(MACH_MSGH_BITS_REMOTE(0x80001513), 19),
    VALUE(MACH_MSG_TYPE_UNSTRUCTURED, 0), VALUE(MACH_MSG_TYPE_BIT, 0), VALUE(MACH_MSG_TYPE_BOOLEAN, 0),
    VALUE(MACH_MSG_TYPE_INTEGER_16, 1), VALUE(MACH_MSG_TYPE_INTEGER_32, 2), VALUE(MACH_MSG_TYPE_CHAR, 8),
    VALUE(MACH_MSG_TYPE_BYTE, 9), VALUE(MACH_MSG_TYPE_INTEGER_8, 9), VALUE(MACH_MSG_TYPE_REAL, 10),
    VALUE(MACH_MSG_TYPE_INTEGER_64, 11), VALUE(MACH_MSG_TYPE_STRING, 12), VALUE(MACH_MSG_TYPE_STRING_C, 12),
    VALUE(MACH_MSG_TYPE_PORT_NAME, 15), VALUE(MACH_MSG_TYPE_MOVE_RECEIVE, 16), VALUE(MACH_MSG_TYPE_MOVE_SEND, 17),
    VALUE(MACH_MSG_TYPE_MOVE_SEND_ONCE, 18), VALUE(MACH_MSG_TYPE_COPY_SEND, 19), VALUE(MACH_MSG_TYPE_MAKE_SEND, 20),
    VALUE(MACH_MSG_TYPE_MAKE_SEND_ONCE, 21), VALUE(MACH_MSG_TYPE_PROTECTED_PAYLOAD, 23),
    VALUE(MACH_MSG_TYPE_PORT_RECEIVE, 16), VALUE(MACH_MSG_TYPE_PORT_SEND, 17), VALUE(MACH_MSG_TYPE_PORT_SEND_ONCE, 18),
    VALUE(MACH_MSG_TYPE_POLYMORPHIC, 0xffffffff),
    VALUE(MACH_SEND_MSG, 1), VALUE(MACH_RCV_MSG, 2), VALUE(MACH_SEND_TIMEOUT, 0x10), VALUE(MACH_SEND_NOTIFY, 0x20),
    VALUE(MACH_SEND_INTERRUPT, 0x40), VALUE(MACH_SEND_CANCEL, 0x80), VALUE(MACH_RCV_TIMEOUT, 0x100),
    VALUE(MACH_RCV_NOTIFY, 0x200), VALUE(MACH_RCV_INTERRUPT, 0x400), VALUE(MACH_RCV_LARGE, 0x800),
    VALUE(MACH_MSG_TIMEOUT_NONE, 0), VALUE(MACH_MSG_SUCCESS, 0),
    VALUE(MACH_PORT_NULL, 0), VALUE(MACH_PORT_DEAD, 0xffffffff),
    VALUE(MACH_PORT_RIGHT_SEND, 0), VALUE(MACH_PORT_RIGHT_RECEIVE, 1), VALUE(MACH_PORT_RIGHT_SEND_ONCE, 2),
    VALUE(MACH_PORT_RIGHT_PORT_SET, 3), VALUE(MACH_PORT_RIGHT_DEAD_NAME, 4), VALUE(MACH_PORT_RIGHT_NUMBER, 5),
    VALUE(MACH_PORT_TYPE_SEND, 0x10000), VALUE(MACH_PORT_TYPE_RECEIVE, 0x20000), VALUE(MACH_PORT_TYPE_SEND_ONCE, 0x40000),
    VALUE(MACH_PORT_TYPE_PORT_SET, 0x80000), VALUE(MACH_PORT_TYPE_DEAD_NAME, 0x100000),
    VALUE(MACH_PORT_TYPE_DNREQUEST, 0x80000000), VALUE(MACH_PORT_TYPE_SEND_RECEIVE, 0x30000),
    VALUE(MACH_PORT_TYPE_SEND_RIGHTS, 0x50000), VALUE(MACH_PORT_TYPE_PORT_RIGHTS, 0x70000),
    VALUE(MACH_PORT_TYPE_PORT_OR_DEAD, 0x170000), VALUE(MACH_PORT_TYPE_ALL_RIGHTS, 0x1f0000),
    VALUE(MACH_PORT_QLIMIT_DEFAULT, 5), VALUE(MACH_PORT_QLIMIT_MAX, 1024), VALUE(MACH_PORT_UREFS_MAX, 65535),
    VALUE(MACH_NOTIFY_FIRST, 64), VALUE(MACH_NOTIFY_PORT_DELETED, 65), VALUE(MACH_NOTIFY_MSG_ACCEPTED, 66),
    VALUE(MACH_NOTIFY_PORT_DESTROYED, 69), VALUE(MACH_NOTIFY_NO_SENDERS, 70), VALUE(MACH_NOTIFY_SEND_ONCE, 71),
    VALUE(MACH_NOTIFY_DEAD_NAME, 72),
    VALUE(MACH_SEND_IN_PROGRESS, 0x10000001), VALUE(MACH_SEND_INVALID_DATA, 0x10000002),
    VALUE(MACH_SEND_INVALID_DEST, 0x10000003), VALUE(MACH_SEND_TIMED_OUT, 0x10000004),
    VALUE(MACH_SEND_WILL_NOTIFY, 0x10000005), VALUE(MACH_SEND_NOTIFY_IN_PROGRESS, 0x10000006),
    VALUE(MACH_SEND_INTERRUPTED, 0x10000007), VALUE(MACH_SEND_MSG_TOO_SMALL, 0x10000008),
    VALUE(MACH_SEND_INVALID_REPLY, 0x10000009), VALUE(MACH_SEND_INVALID_RIGHT, 0x1000000a),
    VALUE(MACH_SEND_INVALID_NOTIFY, 0x1000000b), VALUE(MACH_SEND_INVALID_MEMORY, 0x1000000c),
    VALUE(MACH_SEND_NO_BUFFER, 0x1000000d), VALUE(MACH_SEND_NO_NOTIFY, 0x1000000e),
    VALUE(MACH_SEND_INVALID_TYPE, 0x1000000f), VALUE(MACH_SEND_INVALID_HEADER, 0x10000010),
    VALUE(MACH_RCV_IN_PROGRESS, 0x10004001), VALUE(MACH_RCV_INVALID_NAME, 0x10004002),
    VALUE(MACH_RCV_TIMED_OUT, 0x10004003), VALUE(MACH_RCV_TOO_LARGE, 0x10004004),
    VALUE(MACH_RCV_INTERRUPTED, 0x10004005), VALUE(MACH_RCV_PORT_CHANGED, 0x10004006),
    VALUE(MACH_RCV_INVALID_NOTIFY, 0x10004007), VALUE(MACH_RCV_INVALID_DATA, 0x10004008),
    VALUE(MACH_RCV_PORT_DIED, 0x10004009), VALUE(MACH_RCV_IN_SET, 0x1000400a),
    VALUE(MACH_RCV_HEADER_ERROR, 0x1000400b), VALUE(MACH_RCV_BODY_ERROR, 0x1000400c),
    VALUE(MACH_MSG_MASK, 0x3c00), VALUE(MACH_MSG_IPC_SPACE, 0x2000), VALUE(MACH_MSG_VM_SPACE, 0x1000),
    VALUE(MACH_MSG_IPC_KERNEL, 0x800), VALUE(MACH_MSG_VM_KERNEL, 0x400),
    VALUE(KERN_SUCCESS, 0), VALUE(KERN_INVALID_ADDRESS, 1), VALUE(KERN_PROTECTION_FAILURE, 2), VALUE(KERN_NO_SPACE, 3),
    VALUE(KERN_INVALID_ARGUMENT, 4), VALUE(KERN_FAILURE, 5), VALUE(KERN_RESOURCE_SHORTAGE, 6), VALUE(KERN_NOT_RECEIVER, 7),
    VALUE(KERN_NO_ACCESS, 8), VALUE(KERN_MEMORY_FAILURE, 9), VALUE(KERN_MEMORY_ERROR, 10), VALUE(KERN_NOT_IN_SET, 12),
    VALUE(KERN_NAME_EXISTS, 13), VALUE(KERN_ABORTED, 14), VALUE(KERN_INVALID_NAME, 15), VALUE(KERN_INVALID_TASK, 16),
    VALUE(KERN_INVALID_RIGHT, 17), VALUE(KERN_INVALID_VALUE, 18), VALUE(KERN_UREFS_OVERFLOW, 19),
    VALUE(KERN_INVALID_CAPABILITY, 20), VALUE(KERN_RIGHT_EXISTS, 21), VALUE(KERN_INVALID_HOST, 22),
    VALUE(KERN_MEMORY_PRESENT, 23), VALUE(KERN_WRITE_PROTECTION_FAILURE, 24), VALUE(KERN_TERMINATED, 26),
    VALUE(KERN_TIMEDOUT, 27), VALUE(KERN_INTERRUPTED, 28),
    VALUE(MIG_TYPE_ERROR, -300), VALUE(MIG_REPLY_MISMATCH, -301), VALUE(MIG_REMOTE_ERROR, -302), VALUE(MIG_BAD_ID, -303),
    VALUE(MIG_BAD_ARGUMENTS, -304), VALUE(MIG_NO_REPLY, -305), VALUE(MIG_EXCEPTION, -306),
    VALUE(MIG_ARRAY_TOO_LARGE, -307), VALUE(MIG_SERVER_DIED, -308), VALUE(MIG_DESTROY_REQUEST, -309),
    VALUE(TASK_KERNEL_PORT, 1), VALUE(TASK_EXCEPTION_PORT, 3), VALUE(TASK_BOOTSTRAP_PORT, 4),
    VALUE(VM_PROT_READ, 1), VALUE(VM_PROT_WRITE, 2), VALUE(VM_PROT_EXECUTE, 4), VALUE(VM_PROT_ALL, 7),
    VALUE(VM_INHERIT_SHARE, 0), VALUE(VM_INHERIT_COPY, 1), VALUE(VM_INHERIT_NONE, 2),
    VALUE(BOOTSTRAP_NOT_PRIVILEGED, 1100), VALUE(BOOTSTRAP_NAME_IN_USE, 1101), VALUE(BOOTSTRAP_UNKNOWN_SERVICE, 1102),
    VALUE(BOOTSTRAP_SERVICE_ACTIVE, 1103), VALUE(BOOTSTRAP_BAD_COUNT, 1104), VALUE(BOOTSTRAP_NO_MEMORY, 1105),
    VALUE(KERN_ALREADY_IN_SET, 11), VALUE(MACH_PORT_LIMITS_INFO_COUNT, 1), VALUE(MACH_PORT_RECEIVE_STATUS_COUNT, 9),
    VALUE(MPO_CONTEXT_AS_GUARD, 1), VALUE(MPO_QLIMIT, 2), VALUE(MPO_INSERT_SEND_RIGHT, 0x10), VALUE(MPO_STRICT, 0x20),
    VALUE(HOST_BASIC_INFO_COUNT, 6), VALUE(TASK_BASIC_INFO_COUNT, 18), VALUE(TASK_THREAD_TIMES_INFO_COUNT, 8),
    VALUE(THREAD_BASIC_INFO_COUNT, 20), VALUE(CPU_TYPE_X86_64, 0x01000007), VALUE(CPU_TYPE_ARM64, 0x0100000c),
    VALUE(NETNAME_NOT_YOURS, 1000), VALUE(NETNAME_NOT_CHECKED_IN, 1001),
};

/* The bits of a type word. */
static unsigned first_word(const mach_msg_type_t *type) {
    return *(const unsigned *) (const void *) type;
}

int main(void) {
    int wrong = 0;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (values[i].is == values[i].should_be) continue;
        fprintf(stderr, "%s is %#llx, not %#llx\n", values[i].name, (unsigned long long) values[i].is,
                (unsigned long long) values[i].should_be);
        wrong++;
    }
    const struct {
        const char *name;
        mach_msg_type_t type;
        unsigned bits;
    } fields[] = {
        {"msgt_name", {.msgt_name = 0xff}, 0xff},
        {"msgt_size", {.msgt_size = 0xffff}, 0xffff00},
        {"msgt_unused", {.msgt_unused = 31}, 0x1f000000},
        {"msgt_inline", {.msgt_inline = 1}, 1u << 29},
        {"msgt_longform", {.msgt_longform = 1}, 1u << 30},
        {"msgt_deallocate", {.msgt_deallocate = 1}, 1u << 31},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (first_word(&fields[i].type) == fields[i].bits && fields[i].type.msgt_number == 0) continue;
        fprintf(stderr, "%s is at %#x, not at %#x\n", fields[i].name, first_word(&fields[i].type), fields[i].bits);
        wrong++;
    }
    return wrong ? 1 : 0;
}
