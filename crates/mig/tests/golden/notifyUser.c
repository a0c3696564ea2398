/* User stubs of the subsystem notify, made by mig. Do not edit: change the .defs file. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <mach/message.h>
#include <mach/mig_errors.h>
#include <mach/mig_support.h>
#include <mach/notify.h>
#include <mach/std_types.h>

/* The sizes of C types that the interface counts on. */
extern char mig_mach_port_mscount_t_has_4_bytes[sizeof(mach_port_mscount_t) == 4 ? 1 : -1];

/* notify.defs:42 (message 65):
 *   simpleroutine mach_notify_port_deleted(notify: notify_port_t; name: mach_port_name_t); */
kern_return_t mach_notify_port_deleted(
	mach_port_t notify,
	mach_port_name_t name)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t nameType;
		__extension__ union { mach_port_name_t name; uint64_t nameWide; };
	} Request;
	static const mach_msg_type_t nameType = { .msgt_name = MACH_MSG_TYPE_PORT_NAME, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		char Room[48];
	} Mess;
	Request *const InP = &Mess.In;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0);
	InP->Head.msgh_size = 48;
	InP->Head.msgh_remote_slot = notify;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 65;

	InP->nameType = nameType;
	InP->nameWide = (uint32_t) name;

	InP->Head.msgh_protected_payload = MACH_PORT_NULL;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG,
		48, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);

	return msg_result;
}

/* notify.defs:48 (message 66):
 *   simpleroutine mach_notify_msg_accepted(notify: notify_port_t; name: mach_port_name_t); */
kern_return_t mach_notify_msg_accepted(
	mach_port_t notify,
	mach_port_name_t name)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t nameType;
		__extension__ union { mach_port_name_t name; uint64_t nameWide; };
	} Request;
	static const mach_msg_type_t nameType = { .msgt_name = MACH_MSG_TYPE_PORT_NAME, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		char Room[48];
	} Mess;
	Request *const InP = &Mess.In;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0);
	InP->Head.msgh_size = 48;
	InP->Head.msgh_remote_slot = notify;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 66;

	InP->nameType = nameType;
	InP->nameWide = (uint32_t) name;

	InP->Head.msgh_protected_payload = MACH_PORT_NULL;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG,
		48, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);

	return msg_result;
}

/* notify.defs:56 (message 69):
 *   simpleroutine mach_notify_port_destroyed(notify: notify_port_t; rights: mach_port_receive_t); */
kern_return_t mach_notify_port_destroyed(
	mach_port_t notify,
	mach_port_t rights,
	mach_msg_type_name_t rightsPoly)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t rightsType;
		__extension__ union { mach_port_t rights; uint64_t rightsWide; };
	} Request;
	static const mach_msg_type_t rightsType = { .msgt_name = 0, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		char Room[48];
	} Mess;
	Request *const InP = &Mess.In;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS_COMPLEX | MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0);
	InP->Head.msgh_size = 48;
	InP->Head.msgh_remote_slot = notify;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 69;

	InP->rightsType = rightsType;
	InP->rightsType.msgt_name = rightsPoly & 0xff;
	InP->rightsWide = (uint32_t) rights;

	InP->Head.msgh_protected_payload = MACH_PORT_NULL;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG,
		48, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);

	return msg_result;
}

/* notify.defs:62 (message 70):
 *   simpleroutine mach_notify_no_senders(notify: notify_port_t; mscount: mach_port_mscount_t); */
kern_return_t mach_notify_no_senders(
	mach_port_t notify,
	mach_port_mscount_t mscount)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t mscountType;
		__extension__ union { mach_port_mscount_t mscount; uint64_t mscountWide; };
	} Request;
	static const mach_msg_type_t mscountType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		char Room[48];
	} Mess;
	Request *const InP = &Mess.In;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0);
	InP->Head.msgh_size = 48;
	InP->Head.msgh_remote_slot = notify;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 70;

	InP->mscountType = mscountType;
	InP->mscountWide = 0;
	InP->mscount = mscount;

	InP->Head.msgh_protected_payload = MACH_PORT_NULL;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG,
		48, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);

	return msg_result;
}

/* notify.defs:68 (message 71):
 *   simpleroutine mach_notify_send_once(notify: notify_port_t;); */
kern_return_t mach_notify_send_once(
	mach_port_t notify)
{
	typedef struct {
		mach_msg_header_t Head;
	} Request;

	union {
		Request In;
		char Room[32];
	} Mess;
	Request *const InP = &Mess.In;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0);
	InP->Head.msgh_size = 32;
	InP->Head.msgh_remote_slot = notify;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 71;

	InP->Head.msgh_protected_payload = MACH_PORT_NULL;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG,
		32, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);

	return msg_result;
}

/* notify.defs:73 (message 72):
 *   simpleroutine mach_notify_dead_name(notify: notify_port_t; name: mach_port_name_t); */
kern_return_t mach_notify_dead_name(
	mach_port_t notify,
	mach_port_name_t name)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t nameType;
		__extension__ union { mach_port_name_t name; uint64_t nameWide; };
	} Request;
	static const mach_msg_type_t nameType = { .msgt_name = MACH_MSG_TYPE_PORT_NAME, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		char Room[48];
	} Mess;
	Request *const InP = &Mess.In;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0);
	InP->Head.msgh_size = 48;
	InP->Head.msgh_remote_slot = notify;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 72;

	InP->nameType = nameType;
	InP->nameWide = (uint32_t) name;

	InP->Head.msgh_protected_payload = MACH_PORT_NULL;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG,
		48, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);

	return msg_result;
}
