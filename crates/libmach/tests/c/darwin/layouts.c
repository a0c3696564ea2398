/* Sizes, offsets and values of Darwin's dialect, against numbers that are written down a second time. */
#include <mach/mach.h>

#include <stddef.h>

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type)
#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)
#define IS(name, value) _Static_assert((unsigned) (name) == (unsigned) (value), #name)

SIZE(mach_msg_header_t, 24);
AT(mach_msg_header_t, msgh_bits, 0);
AT(mach_msg_header_t, msgh_size, 4);
AT(mach_msg_header_t, msgh_remote_port, 8);
AT(mach_msg_header_t, msgh_local_port, 12);
AT(mach_msg_header_t, msgh_voucher_port, 16);
AT(mach_msg_header_t, msgh_id, 20);
SIZE(mach_msg_body_t, 4);
SIZE(mach_msg_base_t, 28);
SIZE(mach_msg_type_descriptor_t, 12);
SIZE(mach_msg_port_descriptor_t, 12);
AT(mach_msg_port_descriptor_t, name, 0);
SIZE(mach_msg_ool_descriptor_t, 16);
AT(mach_msg_ool_descriptor_t, size, 12);
SIZE(mach_msg_ool_descriptor64_t, 16);
SIZE(mach_msg_ool_ports_descriptor_t, 16);
AT(mach_msg_ool_ports_descriptor_t, count, 12);
SIZE(mach_msg_guarded_port_descriptor_t, 16);
AT(mach_msg_guarded_port_descriptor_t, name, 12);
SIZE(mach_msg_descriptor_t, 16);
_Static_assert(_Alignof(mach_msg_ool_descriptor_t) == 4, "descriptors are packed");
SIZE(mach_msg_trailer_t, 8);
SIZE(mach_msg_seqno_trailer_t, 12);
SIZE(mach_msg_security_trailer_t, 20);
AT(mach_msg_security_trailer_t, msgh_sender, 12);
SIZE(mach_msg_audit_trailer_t, 52);
AT(mach_msg_audit_trailer_t, msgh_audit, 20);
SIZE(mach_msg_context_trailer_t, 60);
AT(mach_msg_context_trailer_t, msgh_context, 52);
SIZE(mach_msg_max_trailer_t, 68);
SIZE(mach_msg_empty_send_t, 24);
SIZE(mach_msg_empty_rcv_t, 32);
SIZE(audit_token_t, 32);
SIZE(security_token_t, 8);
SIZE(NDR_record_t, 8);
SIZE(mig_reply_error_t, 36);
AT(mig_reply_error_t, RetCode, 32);
SIZE(struct routine_descriptor, 40);
SIZE(struct mig_subsystem, 72);
AT(struct mig_subsystem, maxsize, 16);
AT(struct mig_subsystem, routine, 32);
SIZE(mach_port_status_t, 40);
SIZE(mach_port_limits_t, 4);
SIZE(mach_port_options_t, 24);
SIZE(mach_port_deleted_notification_t, 56);
SIZE(mach_port_destroyed_notification_t, 60);
SIZE(mach_no_senders_notification_t, 56);
AT(mach_no_senders_notification_t, not_count, 32);
SIZE(mach_send_once_notification_t, 44);
SIZE(mach_dead_name_notification_t, 56);
AT(mach_dead_name_notification_t, not_port, 32);

IS(MACH_SEND_MSG, 1);
IS(MACH_RCV_MSG, 2);
IS(MACH_RCV_LARGE, 4);
IS(MACH_RCV_LARGE_IDENTITY, 8);
IS(MACH_SEND_TIMEOUT, 0x10);
IS(MACH_SEND_INTERRUPT, 0x40);
IS(MACH_RCV_TIMEOUT, 0x100);
IS(MACH_RCV_INTERRUPT, 0x400);
IS(MACH_RCV_TRAILER_TYPE(MACH_MSG_TRAILER_FORMAT_0) | MACH_RCV_TRAILER_ELEMENTS(MACH_RCV_TRAILER_AUDIT), 0x03000000);
IS(REQUESTED_TRAILER_SIZE(MACH_RCV_TRAILER_ELEMENTS(MACH_RCV_TRAILER_SENDER)), 20);
IS(MACH_MSGH_BITS_SET(19, 21, 17, MACH_MSGH_BITS_COMPLEX), 0x80111513);
IS(MACH_MSGH_BITS_LOCAL(0x80111513), 21);
IS(MACH_MSGH_BITS_VOUCHER(0x80111513), 17);
IS(MACH_SEND_INVALID_VOUCHER, 0x10000005);
IS(MACH_SEND_TOO_LARGE, 0x1000000e);
IS(MACH_RCV_INVALID_TRAILER, 0x1000400f);
IS(MACH_NOTIFY_DEAD_NAME, 72);
IS(MACH_PORT_QLIMIT_LARGE, 1024);
IS(MIG_TRAILER_ERROR, -309);
IS(KERN_TERMINATED, 37);
IS(MACH_PORT_RIGHT_NUMBER, 6);
IS(round_msg(33), 36);

int main(void) {
    return NDR_record.int_rep == NDR_INT_LITTLE_ENDIAN && sizeof NDR_record == 8 ? 0 : 1;
}
