/* Server stubs of the subsystem notify, made by mig. Do not edit: change the .defs file. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <mach/message.h>
#include <mach/mig_errors.h>
#include <mach/mig_support.h>
#include <mach/mach_port.h>
#include <mach/std_types.h>

/* The sizes of C types that the interface counts on. */
extern char mig_mach_port_mscount_t_has_4_bytes[sizeof(mach_port_mscount_t) == 4 ? 1 : -1];

/* Whether a type word is not the expected one, apart from the bits that may vary. */
static inline int mig_type_differs(const mach_msg_type_t *got, const mach_msg_type_t *expected, uint64_t vary)
{
	uint64_t a, b;

	memcpy(&a, got, sizeof a);
	memcpy(&b, expected, sizeof b);
	return ((a ^ b) & ~vary) != 0;
}

/* The type of a reply's return code. */
static const mach_msg_type_t mig_code_type = {
	.msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1
};

/* notify.defs:42 (message 65):
 *   simpleroutine mach_notify_port_deleted(notify: notify_port_t; name: mach_port_name_t); */
extern kern_return_t do_mach_notify_port_deleted(
	mach_port_t notify,
	mach_port_name_t name);

static void _Xmach_notify_port_deleted(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t nameType;
		__extension__ union { mach_port_name_t name; uint64_t nameWide; };
	} Request;
	static const mach_msg_type_t nameType = { .msgt_name = MACH_MSG_TYPE_PORT_NAME, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	Request *const In0P = (Request *) (void *) InHeadP;
	mig_reply_header_t *const OutP = (mig_reply_header_t *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 48
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->nameType, &nameType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->RetCode = do_mach_notify_port_deleted(
		In0P->Head.msgh_local_port,
		In0P->name);
}

/* notify.defs:48 (message 66):
 *   simpleroutine mach_notify_msg_accepted(notify: notify_port_t; name: mach_port_name_t); */
extern kern_return_t do_mach_notify_msg_accepted(
	mach_port_t notify,
	mach_port_name_t name);

static void _Xmach_notify_msg_accepted(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t nameType;
		__extension__ union { mach_port_name_t name; uint64_t nameWide; };
	} Request;
	static const mach_msg_type_t nameType = { .msgt_name = MACH_MSG_TYPE_PORT_NAME, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	Request *const In0P = (Request *) (void *) InHeadP;
	mig_reply_header_t *const OutP = (mig_reply_header_t *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 48
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->nameType, &nameType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->RetCode = do_mach_notify_msg_accepted(
		In0P->Head.msgh_local_port,
		In0P->name);
}

/* notify.defs:56 (message 69):
 *   simpleroutine mach_notify_port_destroyed(notify: notify_port_t; rights: mach_port_receive_t); */
extern kern_return_t do_mach_notify_port_destroyed(
	mach_port_t notify,
	mach_port_t rights);

static void _Xmach_notify_port_destroyed(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t rightsType;
		__extension__ union { mach_port_t rights; uint64_t rightsWide; };
	} Request;
	static const mach_msg_type_t rightsType = { .msgt_name = MACH_MSG_TYPE_PORT_RECEIVE, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };

	Request *const In0P = (Request *) (void *) InHeadP;
	mig_reply_header_t *const OutP = (mig_reply_header_t *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 48
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->rightsType, &rightsType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->RetCode = do_mach_notify_port_destroyed(
		In0P->Head.msgh_local_port,
		In0P->rights);
}

/* notify.defs:62 (message 70):
 *   simpleroutine mach_notify_no_senders(notify: notify_port_t; mscount: mach_port_mscount_t); */
extern kern_return_t do_mach_notify_no_senders(
	mach_port_t notify,
	mach_port_mscount_t mscount);

static void _Xmach_notify_no_senders(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t mscountType;
		__extension__ union { mach_port_mscount_t mscount; uint64_t mscountWide; };
	} Request;
	static const mach_msg_type_t mscountType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	Request *const In0P = (Request *) (void *) InHeadP;
	mig_reply_header_t *const OutP = (mig_reply_header_t *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 48
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->mscountType, &mscountType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->RetCode = do_mach_notify_no_senders(
		In0P->Head.msgh_local_port,
		In0P->mscount);
}

/* notify.defs:68 (message 71):
 *   simpleroutine mach_notify_send_once(notify: notify_port_t;); */
extern kern_return_t do_mach_notify_send_once(
	mach_port_t notify);

static void _Xmach_notify_send_once(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
{
	typedef struct {
		mach_msg_header_t Head;
	} Request;

	Request *const In0P = (Request *) (void *) InHeadP;
	mig_reply_header_t *const OutP = (mig_reply_header_t *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 32
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->RetCode = do_mach_notify_send_once(
		In0P->Head.msgh_local_port);
}

/* notify.defs:73 (message 72):
 *   simpleroutine mach_notify_dead_name(notify: notify_port_t; name: mach_port_name_t); */
extern kern_return_t do_mach_notify_dead_name(
	mach_port_t notify,
	mach_port_name_t name);

static void _Xmach_notify_dead_name(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t nameType;
		__extension__ union { mach_port_name_t name; uint64_t nameWide; };
	} Request;
	static const mach_msg_type_t nameType = { .msgt_name = MACH_MSG_TYPE_PORT_NAME, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	Request *const In0P = (Request *) (void *) InHeadP;
	mig_reply_header_t *const OutP = (mig_reply_header_t *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 48
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->nameType, &nameType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->RetCode = do_mach_notify_dead_name(
		In0P->Head.msgh_local_port,
		In0P->name);
}

/* The stubs, by the distance of the message's identifier from 64. */
extern const mig_routine_t notify_server_routines[];
const mig_routine_t notify_server_routines[] = {
	0,
	_Xmach_notify_port_deleted,
	_Xmach_notify_msg_accepted,
	0,
	0,
	_Xmach_notify_port_destroyed,
	_Xmach_notify_no_senders,
	_Xmach_notify_send_once,
	_Xmach_notify_dead_name,
};

/* The stub for a request, or 0. */
static inline mig_routine_t mig_find_routine(const mach_msg_header_t *InHeadP)
{
	const uint32_t index = (uint32_t) InHeadP->msgh_id - 64u;

	return index < 9 ? notify_server_routines[index] : 0;
}

/* The same for others. */
extern mig_routine_t notify_server_routine(const mach_msg_header_t *InHeadP);
mig_routine_t notify_server_routine(const mach_msg_header_t *InHeadP)
{
	return mig_find_routine(InHeadP);
}

/*
 * Serves a request and builds its reply; FALSE if no routine has the request's identifier. With a reply that
 * holds an error other than MIG_NO_REPLY the caller destroys the request, as mach_msg_server does.
 */
extern boolean_t notify_server(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP);
boolean_t notify_server(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
{
	mig_reply_header_t *const OutP = (mig_reply_header_t *) (void *) OutHeadP;
	const mig_routine_t routine = mig_find_routine(InHeadP);

	OutP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSGH_BITS_REMOTE(InHeadP->msgh_bits), 0);
	OutP->Head.msgh_size = sizeof *OutP;
	OutP->Head.msgh_remote_slot = InHeadP->msgh_remote_port;
	OutP->Head.msgh_protected_payload = MACH_PORT_NULL;
	OutP->Head.msgh_seqno = 0;
	OutP->Head.msgh_id = (mach_msg_id_t) ((uint32_t) InHeadP->msgh_id + 100u);
	OutP->RetCodeType = mig_code_type;
	memset((char *) OutHeadP + 44, 0, 4); /* what is behind the return code */
	if (routine == 0) {
		OutP->RetCode = MIG_BAD_ID;
		return FALSE;
	}
	routine(InHeadP, OutHeadP);
	return TRUE;
}
