/* User stubs of the subsystem sampler, made by mig. Do not edit: change the .defs file. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <mach/message.h>
#include <mach/mig_errors.h>
#include <mach/mig_support.h>
#include <mach/notify.h>
#include <mach/std_types.h>
#include "sampler_types.h"

extern const char mig_sampler_user_rcsid[];
const char mig_sampler_user_rcsid[] = "sampler.defs 1";

/* The sizes of C types that the interface counts on. */
extern char mig_account_number_t_has_4_bytes[sizeof(account_number_t) == 4 ? 1 : -1];
extern char mig_far_block_t_has_8_bytes[sizeof(far_block_t) == 8 ? 1 : -1];
extern char mig_far_ints_t_has_8_bytes[sizeof(far_ints_t) == 8 ? 1 : -1];
extern char mig_far_ports_t_has_8_bytes[sizeof(far_ports_t) == 8 ? 1 : -1];
extern char mig_far_record_t_has_8_bytes[sizeof(far_record_t) == 8 ? 1 : -1];
extern char mig_far_records_t_has_8_bytes[sizeof(far_records_t) == 8 ? 1 : -1];
extern char mig_far_three_ports_t_has_8_bytes[sizeof(far_three_ports_t) == 8 ? 1 : -1];
extern char mig_mach_port_seqno_t_has_4_bytes[sizeof(mach_port_seqno_t) == 4 ? 1 : -1];
extern char mig_record_t_has_24_bytes[sizeof(record_t) == 24 ? 1 : -1];
extern char mig_short_pair_t_has_4_bytes[sizeof(short_pair_t) == 4 ? 1 : -1];

/* Parts of a type word that are not compared. */
#define MIG_VARY_NAME 0x00000000000000ffull
#define MIG_VARY_DEALLOCATE 0x0000000080000000ull
#define MIG_VARY_NUMBER 0xffffffff00000000ull

/* Whether a type word is not the expected one, apart from the bits that may vary. */
static inline int mig_type_differs(const mach_msg_type_t *got, const mach_msg_type_t *expected, uint64_t vary)
{
	uint64_t a, b;

	memcpy(&a, got, sizeof a);
	memcpy(&b, expected, sizeof b);
	return ((a ^ b) & ~vary) != 0;
}

/* The length with its padding. */
static inline mach_msg_size_t mig_round8(mach_msg_size_t length)
{
	return (length + 7) & ~(mach_msg_size_t) 7;
}

/* Clears the padding behind data of that length, and returns the length with the padding. */
static inline mach_msg_size_t mig_clear_tail(void *data, mach_msg_size_t length)
{
	mach_msg_size_t padded = (length + 7) & ~(mach_msg_size_t) 7;

	if (padded != length)
		memset((char *) data + length, 0, padded - length);
	return padded;
}

/* Ports take 8 bytes each in a message and 4 in C. The places may be the same. */
static inline void *mig_narrow(void *to, const void *from, mach_msg_type_number_t count)
{
	mach_msg_type_number_t i;

	for (i = 0; i < count; i++)
		memmove((char *) to + 4 * (size_t) i, (const char *) from + 8 * (size_t) i, 4);
	return to;
}

/* Ports take 4 bytes each in C and 8 in a message. The places may be the same. */
static inline void mig_widen(void *to, const void *from, mach_msg_type_number_t count)
{
	while (count-- > 0) {
		uint64_t wide = 0;

		memcpy(&wide, (const char *) from + 4 * (size_t) count, 4);
		memcpy((char *) to + 8 * (size_t) count, &wide, 8);
	}
}

/* The type of a reply's return code. */
static const mach_msg_type_t mig_code_type = {
	.msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1
};

/* Destroys the rights and memory of a reply that can't be used. */
static __attribute__((cold, noinline)) kern_return_t mig_reply_reject(mach_msg_header_t *reply, kern_return_t code)
{
	mach_msg_destroy(reply);
	return code;
}

/* What to return for a reply that is not the one of success. */
static __attribute__((cold, noinline)) kern_return_t mig_reply_fault(mach_msg_header_t *reply, mach_msg_id_t id)
{
	mig_reply_header_t *head = (mig_reply_header_t *) (void *) reply;

	if (reply->msgh_id == MACH_NOTIFY_SEND_ONCE)
		return mig_reply_reject(reply, MIG_SERVER_DIED);
	if (reply->msgh_id != id)
		return mig_reply_reject(reply, MIG_REPLY_MISMATCH);
	if (reply->msgh_size != sizeof *head || (reply->msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&head->RetCodeType, &mig_code_type, 0) || head->RetCode == KERN_SUCCESS)
		return mig_reply_reject(reply, MIG_TYPE_ERROR);
	return head->RetCode;
}

/* After a call that failed: a reply port to which a reply may still come is not used again. */
static __attribute__((cold, noinline)) mach_msg_return_t mig_call_failed(mach_port_t reply_port, mach_msg_return_t result)
{
	if (result < MACH_RCV_IN_PROGRESS && result != MACH_SEND_INVALID_REPLY)
		mig_put_reply_port(reply_port);
	else
		mig_dealloc_reply_port(reply_port);
	return result;
}

/* sampler.defs:56 (message 7000):
 *   routine null(server: mach_port_t); */
kern_return_t f_null(
	mach_port_t server)
{
	typedef struct {
		mach_msg_header_t Head;
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
	} Reply;

	union {
		Request In;
		Reply Out;
		char Room[48];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	mach_port_t mig_reply_port;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 32;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7000;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		32, 48, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7100
	    || OutP->Head.msgh_size != 48
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7100);

	return KERN_SUCCESS;
}

/* sampler.defs:59 (message 7001):
 *   routine four(server: mach_port_t; a: int; b: int; c: int; d: int; out w: int; out x: int; out y:
 *       int; out z: int); */
kern_return_t f_four(
	mach_port_t server,
	int a,
	int b,
	int c,
	int d,
	int *w,
	int *x,
	int *y,
	int *z)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t aType;
		__extension__ union { int a; uint64_t aWide; };
		mach_msg_type_t bType;
		__extension__ union { int b; uint64_t bWide; };
		mach_msg_type_t cType;
		__extension__ union { int c; uint64_t cWide; };
		mach_msg_type_t dType;
		__extension__ union { int d; uint64_t dWide; };
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t wType;
		__extension__ union { int w; uint64_t wWide; };
		mach_msg_type_t xType;
		__extension__ union { int x; uint64_t xWide; };
		mach_msg_type_t yType;
		__extension__ union { int y; uint64_t yWide; };
		mach_msg_type_t zType;
		__extension__ union { int z; uint64_t zWide; };
	} Reply;
	static const mach_msg_type_t aType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t bType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t cType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t dType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t wType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t xType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t yType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t zType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		Reply Out;
		char Room[112];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	mach_port_t mig_reply_port;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 96;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7001;

	InP->aType = aType;
	InP->aWide = (uint32_t) a;

	InP->bType = bType;
	InP->bWide = (uint32_t) b;

	InP->cType = cType;
	InP->cWide = (uint32_t) c;

	InP->dType = dType;
	InP->dWide = (uint32_t) d;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		96, 112, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7101
	    || OutP->Head.msgh_size != 112
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7101);
	if (mig_type_differs(&OutP->wType, &wType, 0)
	    || mig_type_differs(&OutP->xType, &xType, 0)
	    || mig_type_differs(&OutP->yType, &yType, 0)
	    || mig_type_differs(&OutP->zType, &zType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*w = OutP->w;
	*x = OutP->x;
	*y = OutP->y;
	*z = OutP->z;

	return KERN_SUCCESS;
}

/* sampler.defs:64 (message 7002):
 *   routine sizes(requestport server: mach_port_t; inout a: char; inout b: short; inout c: int64; inout
 *       d: boolean_t; inout e: double); */
kern_return_t f_sizes(
	mach_port_t server,
	char *a,
	short *b,
	int64_t *c,
	boolean_t *d,
	double *e)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t aType;
		char a;
		char aPad[7];
		mach_msg_type_t bType;
		short b;
		char bPad[6];
		mach_msg_type_t cType;
		int64_t c;
		mach_msg_type_t dType;
		__extension__ union { boolean_t d; uint64_t dWide; };
		mach_msg_type_t eType;
		double e;
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t aType;
		char a;
		char aPad[7];
		mach_msg_type_t bType;
		short b;
		char bPad[6];
		mach_msg_type_t cType;
		int64_t c;
		mach_msg_type_t dType;
		__extension__ union { boolean_t d; uint64_t dWide; };
		mach_msg_type_t eType;
		double e;
	} Reply;
	static const mach_msg_type_t aType = { .msgt_name = MACH_MSG_TYPE_CHAR, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t bType = { .msgt_name = MACH_MSG_TYPE_INTEGER_16, .msgt_size = 16, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t cType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t dType = { .msgt_name = MACH_MSG_TYPE_BOOLEAN, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t eType = { .msgt_name = MACH_MSG_TYPE_REAL, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t aReplyType = { .msgt_name = MACH_MSG_TYPE_CHAR, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t bReplyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_16, .msgt_size = 16, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t cReplyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t dReplyType = { .msgt_name = MACH_MSG_TYPE_BOOLEAN, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t eReplyType = { .msgt_name = MACH_MSG_TYPE_REAL, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		Reply Out;
		char Room[128];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	mach_port_t mig_reply_port;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 112;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7002;

	InP->aType = aType;
	InP->a = *a;
	memset(InP->aPad, 0, 7);

	InP->bType = bType;
	InP->b = *b;
	memset(InP->bPad, 0, 6);

	InP->cType = cType;
	InP->c = *c;

	InP->dType = dType;
	InP->dWide = (uint32_t) *d;

	InP->eType = eType;
	InP->e = *e;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		112, 128, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7102
	    || OutP->Head.msgh_size != 128
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7102);
	if (mig_type_differs(&OutP->aType, &aReplyType, 0)
	    || mig_type_differs(&OutP->bType, &bReplyType, 0)
	    || mig_type_differs(&OutP->cType, &cReplyType, 0)
	    || mig_type_differs(&OutP->dType, &dReplyType, 0)
	    || mig_type_differs(&OutP->eType, &eReplyType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*a = OutP->a;
	*b = OutP->b;
	*c = OutP->c;
	*d = OutP->d;
	*e = OutP->e;

	return KERN_SUCCESS;
}

/* sampler.defs:74 (message 7004):
 *   routine strings(server: mach_port_t; word: word_t; label: label_t; old: old_string_t; out word_out:
 *       word_t; out label_out: label_t; out old_out: old_string_t; inout both: word_t); */
kern_return_t f_strings(
	mach_port_t server,
	const char *word,
	const char *label,
	const char *old,
	word_t word_out,
	label_t label_out,
	old_string_t old_out,
	word_t both)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t wordType;
		char word[64];
	} Request;
	typedef struct {
		mach_msg_type_t labelType;
		char label[16];
		mach_msg_type_t oldType;
		char old[24];
		mach_msg_type_t bothType;
		char both[64];
	} Request1;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t word_outType;
		char word_out[64];
	} Reply;
	typedef struct {
		mach_msg_type_t label_outType;
		char label_out[16];
		mach_msg_type_t old_outType;
		char old_out[24];
		mach_msg_type_t bothType;
		char both[64];
	} Reply1;
	static const mach_msg_type_t wordType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE };
	static const mach_msg_type_t labelType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 16 };
	static const mach_msg_type_t oldType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 192, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t bothType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE };
	static const mach_msg_type_t word_outType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE };
	static const mach_msg_type_t label_outType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 16 };
	static const mach_msg_type_t old_outType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 192, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t bothReplyType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE };

	union {
		Request In;
		Reply Out;
		char Room[248];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	Request1 *In1P;
	mach_msg_size_t wordSize;
	mach_msg_size_t bothSize;
	mach_port_t mig_reply_port;
	Reply1 *Out1P;
	mach_msg_type_number_t word_outNumber;
	mach_msg_size_t word_outSize;
	mach_msg_type_number_t bothNumber;
	mach_msg_size_t mig_more;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 104;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7004;

	InP->wordType = wordType;
	wordSize = (mach_msg_size_t) mig_strncpy(InP->word, word, 64) + 1;
	InP->wordType.msgt_number = wordSize;
	wordSize = mig_clear_tail(InP->word, wordSize);
	In1P = (Request1 *) (void *) ((char *) InP + offsetof(Request, word) + wordSize);

	In1P->labelType = labelType;
	mig_strncpy_zerofill(In1P->label, label, 16);

	In1P->oldType = oldType;
	mig_strncpy_zerofill(In1P->old, old, 24);

	In1P->bothType = bothType;
	bothSize = (mach_msg_size_t) mig_strncpy(In1P->both, both, 64) + 1;
	In1P->bothType.msgt_number = bothSize;
	bothSize = mig_clear_tail(In1P->both, bothSize);

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		104 + wordSize + bothSize, 248, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7104
	    || OutP->Head.msgh_size < 120
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7104);
	mig_more = OutP->Head.msgh_size - 120;
	if (mig_type_differs(&OutP->word_outType, &word_outType, MIG_VARY_NUMBER)
	    || OutP->word_outType.msgt_number > 64)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	word_outNumber = OutP->word_outType.msgt_number;
	word_outSize = mig_round8(word_outNumber);
	if (word_outSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= word_outSize;
	if (memchr(OutP->word_out, 0, word_outNumber) == NULL)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	Out1P = (Reply1 *) (void *) ((char *) OutP + offsetof(Reply, word_out) + word_outSize);
	if (mig_type_differs(&Out1P->label_outType, &label_outType, 0)
	    || memchr(Out1P->label_out, 0, 16) == NULL
	    || mig_type_differs(&Out1P->old_outType, &old_outType, 0)
	    || memchr(Out1P->old_out, 0, 24) == NULL
	    || mig_type_differs(&Out1P->bothType, &bothReplyType, MIG_VARY_NUMBER)
	    || Out1P->bothType.msgt_number > 64)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	bothNumber = Out1P->bothType.msgt_number;
	bothSize = mig_round8(bothNumber);
	if (bothSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= bothSize;
	if (memchr(Out1P->both, 0, bothNumber) == NULL)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	if (mig_more != 0)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	memcpy(word_out, OutP->word_out, strlen(OutP->word_out) + 1);
	memcpy(label_out, Out1P->label_out, strlen(Out1P->label_out) + 1);
	memcpy(old_out, Out1P->old_out, strlen(Out1P->old_out) + 1);
	memcpy(both, Out1P->both, strlen(Out1P->both) + 1);

	return KERN_SUCCESS;
}

/* sampler.defs:84 (message 7005):
 *   routine structures(server: mach_port_t; pair: short_pair_t; out pair_out: short_pair_t; inout
 *       record: record_t; list: record_array_t; out list_out: record_array_t); */
kern_return_t f_structures(
	mach_port_t server,
	short_pair_t pair,
	short_pair_t *pair_out,
	record_t *record,
	const record_t *list,
	mach_msg_type_number_t listCnt,
	record_array_t list_out,
	mach_msg_type_number_t *list_outCnt)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t pairType;
		__extension__ union { short_pair_t pair; uint64_t pairWide; };
		mach_msg_type_t recordType;
		record_t record;
		mach_msg_type_t listType;
		record_t list[8];
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t pair_outType;
		__extension__ union { short_pair_t pair_out; uint64_t pair_outWide; };
		mach_msg_type_t recordType;
		record_t record;
		mach_msg_type_t list_outType;
		record_t list_out[8];
	} Reply;
	static const mach_msg_type_t pairType = { .msgt_name = MACH_MSG_TYPE_INTEGER_16, .msgt_size = 16, .msgt_inline = TRUE, .msgt_number = 2 };
	static const mach_msg_type_t recordType = { .msgt_name = MACH_MSG_TYPE_BYTE, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 24 };
	static const mach_msg_type_t listType = { .msgt_name = MACH_MSG_TYPE_BYTE, .msgt_size = 8, .msgt_inline = TRUE };
	static const mach_msg_type_t pair_outType = { .msgt_name = MACH_MSG_TYPE_INTEGER_16, .msgt_size = 16, .msgt_inline = TRUE, .msgt_number = 2 };
	static const mach_msg_type_t recordReplyType = { .msgt_name = MACH_MSG_TYPE_BYTE, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 24 };
	static const mach_msg_type_t list_outType = { .msgt_name = MACH_MSG_TYPE_BYTE, .msgt_size = 8, .msgt_inline = TRUE };

	union {
		Request In;
		Reply Out;
		char Room[296];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	mach_msg_size_t listSize;
	mach_port_t mig_reply_port;
	mach_msg_type_number_t list_outNumber;
	mach_msg_size_t list_outSize;
	mach_msg_size_t mig_more;
	mach_msg_return_t msg_result;

	if (listCnt > 8)
		return MIG_ARRAY_TOO_LARGE;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 88;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7005;

	InP->pairType = pairType;
	InP->pairWide = 0;
	InP->pair = pair;

	InP->recordType = recordType;
	InP->record = *record;

	InP->listType = listType;
	InP->listType.msgt_number = listCnt * 24;
	if (listCnt != 0)
		memcpy(InP->list, list, listCnt * 24);
	listSize = listCnt * 24;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		88 + listSize, 296, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7105
	    || OutP->Head.msgh_size < 104
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7105);
	mig_more = OutP->Head.msgh_size - 104;
	if (mig_type_differs(&OutP->pair_outType, &pair_outType, 0)
	    || mig_type_differs(&OutP->recordType, &recordReplyType, 0)
	    || mig_type_differs(&OutP->list_outType, &list_outType, MIG_VARY_NUMBER)
	    || OutP->list_outType.msgt_number > 192
	    || OutP->list_outType.msgt_number % 24 != 0)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	list_outNumber = OutP->list_outType.msgt_number / 24;
	list_outSize = mig_round8(list_outNumber * 24);
	if (list_outSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= list_outSize;
	if (mig_more != 0)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*pair_out = OutP->pair_out;
	*record = OutP->record;
	if (list_outNumber != 0)
		memcpy(list_out, OutP->list_out, list_outNumber * 24);
	*list_outCnt = list_outNumber;

	return KERN_SUCCESS;
}

/* sampler.defs:93 (message 7006):
 *   routine arrays(server: mach_port_t; four: four_ints_t; bytes: bytes_t; add: int; more: ints_t; out
 *       four_out: four_ints_t; out bytes_out: bytes_t; out sum: int64; inout both: ints_t; out last:
 *       int); */
kern_return_t f_arrays(
	mach_port_t server,
	const int *four,
	const char *bytes,
	mach_msg_type_number_t bytesCnt,
	int add,
	const int *more,
	mach_msg_type_number_t moreCnt,
	four_ints_t four_out,
	bytes_t bytes_out,
	mach_msg_type_number_t *bytes_outCnt,
	int64_t *sum,
	ints_t both,
	mach_msg_type_number_t *bothCnt,
	int *last)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t fourType;
		int four[4];
		mach_msg_type_t bytesType;
		char bytes[100];
	} Request;
	typedef struct {
		mach_msg_type_t addType;
		__extension__ union { int add; uint64_t addWide; };
		mach_msg_type_t moreType;
		int more[4095];
	} Request1;
	typedef struct {
		mach_msg_type_t bothType;
		int both[4095];
	} Request2;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t four_outType;
		int four_out[4];
		mach_msg_type_t bytes_outType;
		char bytes_out[100];
	} Reply;
	typedef struct {
		mach_msg_type_t sumType;
		int64_t sum;
		mach_msg_type_t bothType;
		int both[4095];
	} Reply1;
	typedef struct {
		mach_msg_type_t lastType;
		__extension__ union { int last; uint64_t lastWide; };
	} Reply2;
	static const mach_msg_type_t fourType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 4 };
	static const mach_msg_type_t bytesType = { .msgt_name = MACH_MSG_TYPE_CHAR, .msgt_size = 8, .msgt_inline = TRUE };
	static const mach_msg_type_t addType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t moreType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t bothType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t four_outType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 4 };
	static const mach_msg_type_t bytes_outType = { .msgt_name = MACH_MSG_TYPE_CHAR, .msgt_size = 8, .msgt_inline = TRUE };
	static const mach_msg_type_t sumType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t bothReplyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t lastType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union message {
		Request In;
		Reply Out;
		char Room[32968];
	} *Mess;
	Request *InP;
	Reply *OutP;
	Request1 *In1P;
	Request2 *In2P;
	mach_msg_size_t bytesSize;
	mach_msg_size_t moreSize;
	mach_msg_size_t bothSize;
	mach_port_t mig_reply_port;
	Reply1 *Out1P;
	Reply2 *Out2P;
	mach_msg_type_number_t bytes_outNumber;
	mach_msg_size_t bytes_outSize;
	mach_msg_type_number_t bothNumber;
	mach_msg_size_t mig_more;
	mach_msg_return_t msg_result;

	if (bytesCnt > 100
	    || moreCnt > 4095
	    || *bothCnt > 4095)
		return MIG_ARRAY_TOO_LARGE;

	/* The message is too large for the stack. */
	Mess = malloc(sizeof *Mess);
	if (Mess == NULL)
		return KERN_RESOURCE_SHORTAGE;
	InP = &Mess->In;
	OutP = &Mess->Out;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 96;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7006;

	InP->fourType = fourType;
	memcpy(InP->four, four, 16);

	InP->bytesType = bytesType;
	InP->bytesType.msgt_number = bytesCnt;
	if (bytesCnt != 0)
		memcpy(InP->bytes, bytes, bytesCnt);
	bytesSize = mig_clear_tail(InP->bytes, bytesCnt);
	In1P = (Request1 *) (void *) ((char *) InP + offsetof(Request, bytes) + bytesSize);

	In1P->addType = addType;
	In1P->addWide = (uint32_t) add;

	In1P->moreType = moreType;
	In1P->moreType.msgt_number = moreCnt;
	if (moreCnt != 0)
		memcpy(In1P->more, more, moreCnt * 4);
	moreSize = mig_clear_tail(In1P->more, moreCnt * 4);
	In2P = (Request2 *) (void *) ((char *) In1P + offsetof(Request1, more) + moreSize);

	In2P->bothType = bothType;
	In2P->bothType.msgt_number = *bothCnt;
	if (*bothCnt != 0)
		memcpy(In2P->both, both, *bothCnt * 4);
	bothSize = mig_clear_tail(In2P->both, *bothCnt * 4);

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		96 + bytesSize + moreSize + bothSize, 16608, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS) {
		msg_result = mig_call_failed(mig_reply_port, msg_result);
		goto done;
	}
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7106
	    || OutP->Head.msgh_size < 120
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS) {
		msg_result = mig_reply_fault(&OutP->Head, 7106);
		goto done;
	}
	mig_more = OutP->Head.msgh_size - 120;
	if (mig_type_differs(&OutP->four_outType, &four_outType, 0)
	    || mig_type_differs(&OutP->bytes_outType, &bytes_outType, MIG_VARY_NUMBER)
	    || OutP->bytes_outType.msgt_number > 100) {
		msg_result = mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
		goto done;
	}
	bytes_outNumber = OutP->bytes_outType.msgt_number;
	bytes_outSize = mig_round8(bytes_outNumber);
	if (bytes_outSize > mig_more) {
		msg_result = mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
		goto done;
	}
	mig_more -= bytes_outSize;
	Out1P = (Reply1 *) (void *) ((char *) OutP + offsetof(Reply, bytes_out) + bytes_outSize);
	if (mig_type_differs(&Out1P->sumType, &sumType, 0)
	    || mig_type_differs(&Out1P->bothType, &bothReplyType, MIG_VARY_NUMBER)
	    || Out1P->bothType.msgt_number > 4095) {
		msg_result = mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
		goto done;
	}
	bothNumber = Out1P->bothType.msgt_number;
	bothSize = mig_round8(bothNumber * 4);
	if (bothSize > mig_more) {
		msg_result = mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
		goto done;
	}
	mig_more -= bothSize;
	Out2P = (Reply2 *) (void *) ((char *) Out1P + offsetof(Reply1, both) + bothSize);
	if (mig_type_differs(&Out2P->lastType, &lastType, 0)) {
		msg_result = mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
		goto done;
	}
	if (mig_more != 0) {
		msg_result = mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
		goto done;
	}

	memcpy(four_out, OutP->four_out, 16);
	if (bytes_outNumber != 0)
		memcpy(bytes_out, OutP->bytes_out, bytes_outNumber);
	*bytes_outCnt = bytes_outNumber;
	*sum = Out1P->sum;
	if (bothNumber != 0)
		memcpy(both, Out1P->both, bothNumber * 4);
	*bothCnt = bothNumber;
	*last = Out2P->last;

	msg_result = KERN_SUCCESS;
done:
	free(Mess);
	return msg_result;
}

/* sampler.defs:106 (message 7007):
 *   routine room(server: mach_port_t; out list: ints_t, countinout; out told: natural_t); */
kern_return_t f_room(
	mach_port_t server,
	ints_t list,
	mach_msg_type_number_t *listCnt,
	natural_t *told)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t listCntType;
		__extension__ union { mach_msg_type_number_t listCnt; uint64_t listCntWide; };
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t listType;
		int list[4095];
	} Reply;
	typedef struct {
		mach_msg_type_t toldType;
		__extension__ union { natural_t told; uint64_t toldWide; };
	} Reply1;
	static const mach_msg_type_t listCntType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t listType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t toldType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		Reply Out;
		char Room[16456];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	mach_port_t mig_reply_port;
	Reply1 *Out1P;
	mach_msg_type_number_t listNumber;
	mach_msg_size_t listSize;
	mach_msg_size_t mig_more;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 48;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7007;
	InP->listCntType = listCntType;
	InP->listCntWide = *listCnt;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		48, 16456, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7107
	    || OutP->Head.msgh_size < 72
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7107);
	mig_more = OutP->Head.msgh_size - 72;
	if (mig_type_differs(&OutP->listType, &listType, MIG_VARY_NUMBER)
	    || OutP->listType.msgt_number > 4095)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	listNumber = OutP->listType.msgt_number;
	listSize = mig_round8(listNumber * 4);
	if (listSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= listSize;
	Out1P = (Reply1 *) (void *) ((char *) OutP + offsetof(Reply, list) + listSize);
	if (mig_type_differs(&Out1P->toldType, &toldType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	if (mig_more != 0)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	if (listNumber > *listCnt)
		return mig_reply_reject(&OutP->Head, MIG_ARRAY_TOO_LARGE);

	if (listNumber != 0)
		memcpy(list, OutP->list, listNumber * 4);
	*listCnt = listNumber;
	*told = Out1P->told;

	return KERN_SUCCESS;
}

/* sampler.defs:112 (message 7008):
 *   routine unlimited(server: mach_port_t; list: any_ints_t; copied: any_ints_t, servercopy; given:
 *       any_ints_t, dealloc[]; out where: natural_t; out list_out: any_ints_t, dealloc; count:
 *       natural_t); */
kern_return_t f_unlimited(
	mach_port_t server,
	any_ints_t list,
	mach_msg_type_number_t listCnt,
	any_ints_t copied,
	mach_msg_type_number_t copiedCnt,
	any_ints_t given,
	mach_msg_type_number_t givenCnt,
	boolean_t givenDealloc,
	natural_t *where,
	any_ints_t *list_out,
	mach_msg_type_number_t *list_outCnt,
	natural_t count)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t listType;
		union { int data[512]; any_ints_t address; } list;
	} Request;
	typedef struct {
		mach_msg_type_t copiedType;
		union { int data[512]; any_ints_t address; } copied;
	} Request1;
	typedef struct {
		mach_msg_type_t givenType;
		union { int data[512]; any_ints_t address; } given;
	} Request2;
	typedef struct {
		mach_msg_type_t countType;
		__extension__ union { natural_t count; uint64_t countWide; };
	} Request3;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t whereType;
		__extension__ union { natural_t where; uint64_t whereWide; };
		mach_msg_type_t list_outType;
		union { int data[512]; any_ints_t address; } list_out;
	} Reply;
	static const mach_msg_type_t listType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t listOutOfLineType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32 };
	static const mach_msg_type_t copiedType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t copiedOutOfLineType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32 };
	static const mach_msg_type_t givenType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t givenOutOfLineType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32 };
	static const mach_msg_type_t countType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t whereType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t list_outType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t list_outOutOfLineType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32 };

	union {
		Request In;
		Reply Out;
		char Room[6216];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	Request1 *In1P;
	Request2 *In2P;
	Request3 *In3P;
	mach_msg_size_t listSize;
	mach_msg_size_t copiedSize;
	mach_msg_size_t givenSize;
	mach_port_t mig_reply_port;
	mach_msg_type_number_t list_outNumber;
	mach_msg_size_t list_outSize;
	mach_msg_size_t mig_more;
	vm_address_t list_outMemory = 0;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 72;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7008;

	if (listCnt <= 512) {
		InP->listType = listType;
		if (listCnt != 0)
			memcpy(InP->list.data, (const void *) (uintptr_t) list, listCnt * 4);
		listSize = mig_clear_tail(InP->list.data, listCnt * 4);
	} else {
		InP->listType = listOutOfLineType;
		InP->list.address = list;
		listSize = 8;
		InP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
	}
	InP->listType.msgt_number = listCnt;
	In1P = (Request1 *) (void *) ((char *) InP + offsetof(Request, list) + listSize);

	if (copiedCnt <= 512) {
		In1P->copiedType = copiedType;
		if (copiedCnt != 0)
			memcpy(In1P->copied.data, (const void *) (uintptr_t) copied, copiedCnt * 4);
		copiedSize = mig_clear_tail(In1P->copied.data, copiedCnt * 4);
	} else {
		In1P->copiedType = copiedOutOfLineType;
		In1P->copied.address = copied;
		copiedSize = 8;
		InP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
	}
	In1P->copiedType.msgt_number = copiedCnt;
	In2P = (Request2 *) (void *) ((char *) In1P + offsetof(Request1, copied) + copiedSize);

	if (givenCnt <= 512) {
		In2P->givenType = givenType;
		if (givenCnt != 0)
			memcpy(In2P->given.data, (const void *) (uintptr_t) given, givenCnt * 4);
		givenSize = mig_clear_tail(In2P->given.data, givenCnt * 4);
		if (givenDealloc)
			mig_deallocate((vm_address_t) given, givenCnt * 4);
	} else {
		In2P->givenType = givenOutOfLineType;
		In2P->givenType.msgt_deallocate = givenDealloc ? 1 : 0;
		In2P->given.address = given;
		givenSize = 8;
		InP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
	}
	In2P->givenType.msgt_number = givenCnt;
	In3P = (Request3 *) (void *) ((char *) In2P + offsetof(Request2, given) + givenSize);

	In3P->countType = countType;
	In3P->countWide = (uint32_t) count;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		72 + listSize + copiedSize + givenSize, 2120, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7108
	    || OutP->Head.msgh_size < 72
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7108);
	mig_more = OutP->Head.msgh_size - 72;
	if (mig_type_differs(&OutP->whereType, &whereType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	if (OutP->list_outType.msgt_inline) {
		if (mig_type_differs(&OutP->list_outType, &list_outType, MIG_VARY_NUMBER)
		    || OutP->list_outType.msgt_number > 512)
			return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	} else {
		if (mig_type_differs(&OutP->list_outType, &list_outOutOfLineType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE)
		    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0)
			return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	}
	list_outNumber = OutP->list_outType.msgt_number;
	list_outSize = OutP->list_outType.msgt_inline ? mig_round8(list_outNumber * 4) : 8;
	if (list_outSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= list_outSize;
	if (mig_more != 0)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	if (OutP->list_outType.msgt_inline && list_outNumber > *list_outCnt) {
		mig_allocate(&list_outMemory, list_outNumber * 4);
		if (list_outMemory == 0) {
			return mig_reply_reject(&OutP->Head, KERN_RESOURCE_SHORTAGE);
		}
	}

	*where = OutP->where;
	if (OutP->list_outType.msgt_inline) {
		if (list_outMemory != 0)
			*list_out = (any_ints_t) list_outMemory;
		if (list_outNumber != 0)
			memcpy((void *) (uintptr_t) *list_out, OutP->list_out.data, list_outNumber * 4);
	} else {
		*list_out = OutP->list_out.address;
	}
	*list_outCnt = list_outNumber;

	return KERN_SUCCESS;
}

/* sampler.defs:121 (message 7009):
 *   routine out_of_line(server: mach_port_t; list: far_ints_t; given: far_ints_t, dealloc; block:
 *       far_block_t; out sum: int64; out list_out: far_ints_t, dealloc); */
kern_return_t f_out_of_line(
	mach_port_t server,
	far_ints_t list,
	mach_msg_type_number_t listCnt,
	far_ints_t given,
	mach_msg_type_number_t givenCnt,
	far_block_t block,
	int64_t *sum,
	far_ints_t *list_out,
	mach_msg_type_number_t *list_outCnt)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t listType;
		far_ints_t list;
		mach_msg_type_t givenType;
		far_ints_t given;
		mach_msg_type_t blockType;
		far_block_t block;
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t sumType;
		int64_t sum;
		mach_msg_type_t list_outType;
		far_ints_t list_out;
	} Reply;
	static const mach_msg_type_t listType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32 };
	static const mach_msg_type_t givenType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_deallocate = TRUE };
	static const mach_msg_type_t blockType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_number = 1024 };
	static const mach_msg_type_t sumType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t list_outType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32 };

	union {
		Request In;
		Reply Out;
		char Room[80];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	mach_port_t mig_reply_port;
	mach_msg_type_number_t list_outNumber;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS_COMPLEX | MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 80;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7009;

	InP->listType = listType;
	InP->listType.msgt_number = listCnt;
	InP->list = list;

	InP->givenType = givenType;
	InP->givenType.msgt_number = givenCnt;
	InP->given = given;

	InP->blockType = blockType;
	InP->block = block;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		80, 80, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7109
	    || OutP->Head.msgh_size != 80
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7109);
	if (mig_type_differs(&OutP->sumType, &sumType, 0)
	    || mig_type_differs(&OutP->list_outType, &list_outType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	list_outNumber = OutP->list_outType.msgt_number;

	*sum = OutP->sum;
	*list_out = OutP->list_out;
	*list_outCnt = list_outNumber;

	return KERN_SUCCESS;
}

/* sampler.defs:130 (message 7010):
 *   routine ports(server: mach_port_t; copy: mach_port_t; made: mach_port_make_send_t; out copy_out:
 *       mach_port_t = MACH_MSG_TYPE_MOVE_SEND ctype: mach_port_t; out made_out: mach_port_t =
 *       MACH_MSG_TYPE_MOVE_SEND ctype: mach_port_t; any: mach_port_poly_t; out any_out:
 *       mach_port_poly_t); */
kern_return_t f_ports(
	mach_port_t server,
	mach_port_t copy,
	mach_port_t made,
	mach_port_t *copy_out,
	mach_port_t *made_out,
	mach_port_t any,
	mach_msg_type_name_t anyPoly,
	mach_port_t *any_out,
	mach_msg_type_name_t *any_outPoly)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t copyType;
		__extension__ union { mach_port_t copy; uint64_t copyWide; };
		mach_msg_type_t madeType;
		__extension__ union { mach_port_t made; uint64_t madeWide; };
		mach_msg_type_t anyType;
		__extension__ union { mach_port_t any; uint64_t anyWide; };
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t copy_outType;
		__extension__ union { mach_port_t copy_out; uint64_t copy_outWide; };
		mach_msg_type_t made_outType;
		__extension__ union { mach_port_t made_out; uint64_t made_outWide; };
		mach_msg_type_t any_outType;
		__extension__ union { mach_port_t any_out; uint64_t any_outWide; };
	} Reply;
	static const mach_msg_type_t copyType = { .msgt_name = MACH_MSG_TYPE_COPY_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t madeType = { .msgt_name = MACH_MSG_TYPE_MAKE_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t anyType = { .msgt_name = 0, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t copy_outType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t made_outType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t any_outType = { .msgt_name = 0, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		Reply Out;
		char Room[96];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	mach_port_t mig_reply_port;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS_COMPLEX | MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 80;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7010;

	InP->copyType = copyType;
	InP->copyWide = (uint32_t) copy;

	InP->madeType = madeType;
	InP->madeWide = (uint32_t) made;

	InP->anyType = anyType;
	InP->anyType.msgt_name = anyPoly & 0xff;
	InP->anyWide = (uint32_t) any;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		80, 96, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7110
	    || OutP->Head.msgh_size != 96
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7110);
	if (mig_type_differs(&OutP->copy_outType, &copy_outType, 0)
	    || mig_type_differs(&OutP->made_outType, &made_outType, 0)
	    || mig_type_differs(&OutP->any_outType, &any_outType, MIG_VARY_NAME)
	    || !MACH_MSG_TYPE_PORT_ANY_RIGHT(OutP->any_outType.msgt_name))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*copy_out = OutP->copy_out;
	*made_out = OutP->made_out;
	*any_outPoly = OutP->any_outType.msgt_name;
	*any_out = OutP->any_out;

	return KERN_SUCCESS;
}

/* sampler.defs:139 (message 7011):
 *   routine port_arrays(server: mach_port_t; three: three_ports_t; some: some_ports_t; out some_out:
 *       some_ports_t = array[*:8] of mach_port_move_send_t; far: far_ports_t; out far_out: far_ports_t
 *       = ^array[] of mach_port_move_send_t, dealloc; either: any_ports_t; out either_out: any_ports_t
 *       = array[] of mach_port_move_send_t, dealloc); */
kern_return_t f_port_arrays(
	mach_port_t server,
	const mach_port_t *three,
	const mach_port_t *some,
	mach_msg_type_number_t someCnt,
	some_ports_t some_out,
	mach_msg_type_number_t *some_outCnt,
	far_ports_t far,
	mach_msg_type_number_t farCnt,
	far_ports_t *far_out,
	mach_msg_type_number_t *far_outCnt,
	any_ports_t either,
	mach_msg_type_number_t eitherCnt,
	any_ports_t *either_out,
	mach_msg_type_number_t *either_outCnt)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t threeType;
		uint64_t three[3];
		mach_msg_type_t someType;
		uint64_t some[8];
	} Request;
	typedef struct {
		mach_msg_type_t farType;
		far_ports_t far;
		mach_msg_type_t eitherType;
		union { uint64_t data[256]; any_ports_t address; } either;
	} Request1;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t some_outType;
		uint64_t some_out[8];
	} Reply;
	typedef struct {
		mach_msg_type_t far_outType;
		far_ports_t far_out;
		mach_msg_type_t either_outType;
		union { uint64_t data[256]; any_ports_t address; } either_out;
	} Reply1;
	static const mach_msg_type_t threeType = { .msgt_name = MACH_MSG_TYPE_COPY_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 3 };
	static const mach_msg_type_t someType = { .msgt_name = MACH_MSG_TYPE_COPY_SEND, .msgt_size = 64, .msgt_inline = TRUE };
	static const mach_msg_type_t farType = { .msgt_name = MACH_MSG_TYPE_COPY_SEND, .msgt_size = 32 };
	static const mach_msg_type_t eitherType = { .msgt_name = MACH_MSG_TYPE_COPY_SEND, .msgt_size = 64, .msgt_inline = TRUE };
	static const mach_msg_type_t eitherOutOfLineType = { .msgt_name = MACH_MSG_TYPE_COPY_SEND, .msgt_size = 32 };
	static const mach_msg_type_t some_outType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE };
	static const mach_msg_type_t far_outType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 32 };
	static const mach_msg_type_t either_outType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE };
	static const mach_msg_type_t either_outOutOfLineType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 32 };

	union {
		Request In;
		Reply Out;
		char Room[2208];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	Request1 *In1P;
	mach_msg_size_t someSize;
	mach_msg_size_t eitherSize;
	mach_port_t mig_reply_port;
	Reply1 *Out1P;
	mach_msg_type_number_t some_outNumber;
	mach_msg_size_t some_outSize;
	mach_msg_type_number_t far_outNumber;
	mach_msg_type_number_t either_outNumber;
	mach_msg_size_t either_outSize;
	mach_msg_size_t mig_more;
	vm_address_t either_outMemory = 0;
	mach_msg_return_t msg_result;

	if (someCnt > 8)
		return MIG_ARRAY_TOO_LARGE;

	InP->Head.msgh_bits = MACH_MSGH_BITS_COMPLEX | MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 96;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7011;

	InP->threeType = threeType;
	mig_widen(InP->three, three, 3);

	InP->someType = someType;
	InP->someType.msgt_number = someCnt;
	mig_widen(InP->some, some, someCnt);
	someSize = someCnt * 8;
	In1P = (Request1 *) (void *) ((char *) InP + offsetof(Request, some) + someSize);

	In1P->farType = farType;
	In1P->farType.msgt_number = farCnt;
	In1P->far = far;

	if (eitherCnt <= 256) {
		In1P->eitherType = eitherType;
		mig_widen(In1P->either.data, (const void *) (uintptr_t) either, eitherCnt);
		eitherSize = eitherCnt * 8;
	} else {
		In1P->eitherType = eitherOutOfLineType;
		In1P->either.address = either;
		eitherSize = 8;
		InP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
	}
	In1P->eitherType.msgt_number = eitherCnt;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		96 + someSize + eitherSize, 2192, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7111
	    || OutP->Head.msgh_size < 80
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7111);
	mig_more = OutP->Head.msgh_size - 80;
	if (mig_type_differs(&OutP->some_outType, &some_outType, MIG_VARY_NUMBER)
	    || OutP->some_outType.msgt_number > 8)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	some_outNumber = OutP->some_outType.msgt_number;
	some_outSize = mig_round8(some_outNumber * 8);
	if (some_outSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= some_outSize;
	Out1P = (Reply1 *) (void *) ((char *) OutP + offsetof(Reply, some_out) + some_outSize);
	if (mig_type_differs(&Out1P->far_outType, &far_outType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	far_outNumber = Out1P->far_outType.msgt_number;
	if (Out1P->either_outType.msgt_inline) {
		if (mig_type_differs(&Out1P->either_outType, &either_outType, MIG_VARY_NUMBER)
		    || Out1P->either_outType.msgt_number > 256)
			return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	} else {
		if (mig_type_differs(&Out1P->either_outType, &either_outOutOfLineType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE)
		    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0)
			return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	}
	either_outNumber = Out1P->either_outType.msgt_number;
	either_outSize = Out1P->either_outType.msgt_inline ? mig_round8(either_outNumber * 8) : 8;
	if (either_outSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= either_outSize;
	if (mig_more != 0)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	if (Out1P->either_outType.msgt_inline && either_outNumber > *either_outCnt) {
		mig_allocate(&either_outMemory, either_outNumber * 4);
		if (either_outMemory == 0) {
			return mig_reply_reject(&OutP->Head, KERN_RESOURCE_SHORTAGE);
		}
	}

	mig_narrow(some_out, OutP->some_out, some_outNumber);
	*some_outCnt = some_outNumber;
	*far_out = Out1P->far_out;
	*far_outCnt = far_outNumber;
	if (Out1P->either_outType.msgt_inline) {
		if (either_outMemory != 0)
			*either_out = (any_ports_t) either_outMemory;
		mig_narrow((void *) (uintptr_t) *either_out, Out1P->either_out.data, either_outNumber);
	} else {
		*either_out = Out1P->either_out.address;
	}
	*either_outCnt = either_outNumber;

	return KERN_SUCCESS;
}

/* sampler.defs:150 (message 7012):
 *   routine accounts(server: mach_port_t; account: account_t; inout other: account_t; out third:
 *       account_t); */
kern_return_t f_accounts(
	mach_port_t server,
	account_number_t account,
	account_number_t *other,
	account_number_t *third)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t accountType;
		__extension__ union { account_number_t account; uint64_t accountWide; };
		mach_msg_type_t otherType;
		__extension__ union { account_number_t other; uint64_t otherWide; };
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t otherType;
		__extension__ union { account_number_t other; uint64_t otherWide; };
		mach_msg_type_t thirdType;
		__extension__ union { account_number_t third; uint64_t thirdWide; };
	} Reply;
	static const mach_msg_type_t accountType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t otherType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t otherReplyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t thirdType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		Reply Out;
		char Room[80];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	mach_port_t mig_reply_port;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 64;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7012;

	InP->accountType = accountType;
	InP->accountWide = 0;
	InP->account = account;

	InP->otherType = otherType;
	InP->otherWide = 0;
	InP->other = *other;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		64, 80, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7112
	    || OutP->Head.msgh_size != 80
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7112);
	if (mig_type_differs(&OutP->otherType, &otherReplyType, 0)
	    || mig_type_differs(&OutP->thirdType, &thirdType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*other = OutP->other;
	*third = OutP->third;

	return KERN_SUCCESS;
}

/* sampler.defs:157 (message 7013):
 *   routine sequence(server: mach_port_t; msgseqno seqno: mach_port_seqno_t; out seqno_out:
 *       mach_port_seqno_t); */
kern_return_t f_sequence(
	mach_port_t server,
	mach_port_seqno_t *seqno_out)
{
	typedef struct {
		mach_msg_header_t Head;
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t seqno_outType;
		__extension__ union { mach_port_seqno_t seqno_out; uint64_t seqno_outWide; };
	} Reply;
	static const mach_msg_type_t seqno_outType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		Reply Out;
		char Room[64];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	mach_port_t mig_reply_port;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 32;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7013;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		32, 64, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7113
	    || OutP->Head.msgh_size != 64
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7113);
	if (mig_type_differs(&OutP->seqno_outType, &seqno_outType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*seqno_out = OutP->seqno_out;

	return KERN_SUCCESS;
}

/* sampler.defs:163 (message 7014):
 *   simpleroutine tell(server: mach_port_t; word: word_t); */
kern_return_t f_tell(
	mach_port_t server,
	const char *word)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t wordType;
		char word[64];
	} Request;
	static const mach_msg_type_t wordType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE };

	union {
		Request In;
		char Room[104];
	} Mess;
	Request *const InP = &Mess.In;
	mach_msg_size_t wordSize;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, 0);
	InP->Head.msgh_size = 40;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7014;

	InP->wordType = wordType;
	wordSize = (mach_msg_size_t) mig_strncpy(InP->word, word, 64) + 1;
	InP->wordType.msgt_number = wordSize;
	wordSize = mig_clear_tail(InP->word, wordSize);

	InP->Head.msgh_protected_payload = MACH_PORT_NULL;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG,
		40 + wordSize, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);

	return msg_result;
}

/* sampler.defs:167 (message 7015):
 *   routine told(server: mach_port_t; out word: word_t); */
kern_return_t f_told(
	mach_port_t server,
	word_t word)
{
	typedef struct {
		mach_msg_header_t Head;
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t wordType;
		char word[64];
	} Reply;
	static const mach_msg_type_t wordType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE };

	union {
		Request In;
		Reply Out;
		char Room[120];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	mach_port_t mig_reply_port;
	mach_msg_type_number_t wordNumber;
	mach_msg_size_t wordSize;
	mach_msg_size_t mig_more;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 32;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7015;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		32, 120, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7115
	    || OutP->Head.msgh_size < 56
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7115);
	mig_more = OutP->Head.msgh_size - 56;
	if (mig_type_differs(&OutP->wordType, &wordType, MIG_VARY_NUMBER)
	    || OutP->wordType.msgt_number > 64)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	wordNumber = OutP->wordType.msgt_number;
	wordSize = mig_round8(wordNumber);
	if (wordSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= wordSize;
	if (memchr(OutP->word, 0, wordNumber) == NULL)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	if (mig_more != 0)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	memcpy(word, OutP->word, strlen(OutP->word) + 1);

	return KERN_SUCCESS;
}

/* sampler.defs:172 (message 7016):
 *   routine later(server: mach_port_t; sreplyport reply: mach_port_move_send_once_t; waittime time:
 *       natural_t; value: int; out doubled: int); */
kern_return_t f_later(
	mach_port_t server,
	natural_t time,
	int value,
	int *doubled)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t valueType;
		__extension__ union { int value; uint64_t valueWide; };
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t doubledType;
		__extension__ union { int doubled; uint64_t doubledWide; };
	} Reply;
	static const mach_msg_type_t valueType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t doubledType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		Reply Out;
		char Room[64];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	mach_port_t mig_reply_port;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 48;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7016;

	InP->valueType = valueType;
	InP->valueWide = (uint32_t) value;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG | MACH_RCV_TIMEOUT,
		48, 64, mig_reply_port, time, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7116
	    || OutP->Head.msgh_size != 64
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7116);
	if (mig_type_differs(&OutP->doubledType, &doubledType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*doubled = OutP->doubled;

	return KERN_SUCCESS;
}

/* sampler.defs:179 (message 7017):
 *   simpleroutine release(server: mach_port_t); */
kern_return_t f_release(
	mach_port_t server)
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

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, 0);
	InP->Head.msgh_size = 32;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7017;

	InP->Head.msgh_protected_payload = MACH_PORT_NULL;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG,
		32, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);

	return msg_result;
}

/* sampler.defs:183 (message 7018):
 *   routine refuse(server: mach_port_t; code: int; right: mach_port_make_send_t; list: any_ints_t; far:
 *       far_ints_t; ports: some_ports_t; out nothing: int); */
kern_return_t f_refuse(
	mach_port_t server,
	int code,
	mach_port_t right,
	any_ints_t list,
	mach_msg_type_number_t listCnt,
	far_ints_t far,
	mach_msg_type_number_t farCnt,
	const mach_port_t *ports,
	mach_msg_type_number_t portsCnt,
	int *nothing)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t codeType;
		__extension__ union { int code; uint64_t codeWide; };
		mach_msg_type_t rightType;
		__extension__ union { mach_port_t right; uint64_t rightWide; };
		mach_msg_type_t listType;
		union { int data[512]; any_ints_t address; } list;
	} Request;
	typedef struct {
		mach_msg_type_t farType;
		far_ints_t far;
		mach_msg_type_t portsType;
		uint64_t ports[8];
	} Request1;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t nothingType;
		__extension__ union { int nothing; uint64_t nothingWide; };
	} Reply;
	static const mach_msg_type_t codeType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t rightType = { .msgt_name = MACH_MSG_TYPE_MAKE_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t listType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t listOutOfLineType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32 };
	static const mach_msg_type_t farType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32 };
	static const mach_msg_type_t portsType = { .msgt_name = MACH_MSG_TYPE_COPY_SEND, .msgt_size = 64, .msgt_inline = TRUE };
	static const mach_msg_type_t nothingType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		Reply Out;
		char Room[2208];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	Request1 *In1P;
	mach_msg_size_t listSize;
	mach_msg_size_t portsSize;
	mach_port_t mig_reply_port;
	mach_msg_return_t msg_result;

	if (portsCnt > 8)
		return MIG_ARRAY_TOO_LARGE;

	InP->Head.msgh_bits = MACH_MSGH_BITS_COMPLEX | MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 96;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7018;

	InP->codeType = codeType;
	InP->codeWide = (uint32_t) code;

	InP->rightType = rightType;
	InP->rightWide = (uint32_t) right;

	if (listCnt <= 512) {
		InP->listType = listType;
		if (listCnt != 0)
			memcpy(InP->list.data, (const void *) (uintptr_t) list, listCnt * 4);
		listSize = mig_clear_tail(InP->list.data, listCnt * 4);
	} else {
		InP->listType = listOutOfLineType;
		InP->list.address = list;
		listSize = 8;
		InP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
	}
	InP->listType.msgt_number = listCnt;
	In1P = (Request1 *) (void *) ((char *) InP + offsetof(Request, list) + listSize);

	In1P->farType = farType;
	In1P->farType.msgt_number = farCnt;
	In1P->far = far;

	In1P->portsType = portsType;
	In1P->portsType.msgt_number = portsCnt;
	mig_widen(In1P->ports, ports, portsCnt);
	portsSize = portsCnt * 8;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		96 + listSize + portsSize, 64, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7118
	    || OutP->Head.msgh_size != 64
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7118);
	if (mig_type_differs(&OutP->nothingType, &nothingType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*nothing = OutP->nothing;

	return KERN_SUCCESS;
}

/* sampler.defs:193 (message 7019):
 *   routine both_ways(server: mach_port_t; inout list: any_ints_t, dealloc; how: natural_t; right:
 *       mach_port_make_send_t; out words: bytes_t); */
kern_return_t f_both_ways(
	mach_port_t server,
	any_ints_t *list,
	mach_msg_type_number_t *listCnt,
	natural_t how,
	mach_port_t right,
	bytes_t words,
	mach_msg_type_number_t *wordsCnt)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t listType;
		union { int data[512]; any_ints_t address; } list;
	} Request;
	typedef struct {
		mach_msg_type_t howType;
		__extension__ union { natural_t how; uint64_t howWide; };
		mach_msg_type_t rightType;
		__extension__ union { mach_port_t right; uint64_t rightWide; };
	} Request1;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t listType;
		union { int data[512]; any_ints_t address; } list;
	} Reply;
	typedef struct {
		mach_msg_type_t wordsType;
		char words[100];
	} Reply1;
	static const mach_msg_type_t listType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t listOutOfLineType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_deallocate = TRUE };
	static const mach_msg_type_t howType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t rightType = { .msgt_name = MACH_MSG_TYPE_MAKE_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t listReplyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t listReplyOutOfLineType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32 };
	static const mach_msg_type_t wordsType = { .msgt_name = MACH_MSG_TYPE_CHAR, .msgt_size = 8, .msgt_inline = TRUE };

	union {
		Request In;
		Reply Out;
		char Room[2216];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	Request1 *In1P;
	mach_msg_size_t listSize;
	mach_port_t mig_reply_port;
	Reply1 *Out1P;
	mach_msg_type_number_t listNumber;
	mach_msg_type_number_t wordsNumber;
	mach_msg_size_t wordsSize;
	mach_msg_size_t mig_more;
	vm_address_t listMemory = 0;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS_COMPLEX | MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 72;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7019;

	if (*listCnt <= 512) {
		InP->listType = listType;
		if (*listCnt != 0)
			memcpy(InP->list.data, (const void *) (uintptr_t) *list, *listCnt * 4);
		listSize = mig_clear_tail(InP->list.data, *listCnt * 4);
		mig_deallocate((vm_address_t) *list, *listCnt * 4);
	} else {
		InP->listType = listOutOfLineType;
		InP->list.address = *list;
		listSize = 8;
		InP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
	}
	InP->listType.msgt_number = *listCnt;
	In1P = (Request1 *) (void *) ((char *) InP + offsetof(Request, list) + listSize);

	In1P->howType = howType;
	In1P->howWide = (uint32_t) how;

	In1P->rightType = rightType;
	In1P->rightWide = (uint32_t) right;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		72 + listSize, 2216, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7119
	    || OutP->Head.msgh_size < 64
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7119);
	mig_more = OutP->Head.msgh_size - 64;
	if (OutP->listType.msgt_inline) {
		if (mig_type_differs(&OutP->listType, &listReplyType, MIG_VARY_NUMBER)
		    || OutP->listType.msgt_number > 512)
			return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	} else {
		if (mig_type_differs(&OutP->listType, &listReplyOutOfLineType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE)
		    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0)
			return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	}
	listNumber = OutP->listType.msgt_number;
	listSize = OutP->listType.msgt_inline ? mig_round8(listNumber * 4) : 8;
	if (listSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= listSize;
	Out1P = (Reply1 *) (void *) ((char *) OutP + offsetof(Reply, list) + listSize);
	if (mig_type_differs(&Out1P->wordsType, &wordsType, MIG_VARY_NUMBER)
	    || Out1P->wordsType.msgt_number > 100)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	wordsNumber = Out1P->wordsType.msgt_number;
	wordsSize = mig_round8(wordsNumber);
	if (wordsSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= wordsSize;
	if (mig_more != 0)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	if (OutP->listType.msgt_inline && listNumber != 0) {
		mig_allocate(&listMemory, listNumber * 4);
		if (listMemory == 0) {
			return mig_reply_reject(&OutP->Head, KERN_RESOURCE_SHORTAGE);
		}
	}

	if (OutP->listType.msgt_inline) {
		*list = (any_ints_t) listMemory;
		if (listNumber != 0)
			memcpy((void *) (uintptr_t) *list, OutP->list.data, listNumber * 4);
	} else {
		*list = OutP->list.address;
	}
	*listCnt = listNumber;
	if (wordsNumber != 0)
		memcpy(words, Out1P->words, wordsNumber);
	*wordsCnt = wordsNumber;

	return KERN_SUCCESS;
}

/* sampler.defs:203 (message 7020):
 *   routine timed(server: mach_port_t; msgoption option: int; value: int; out same: int); */
kern_return_t f_timed(
	mach_port_t server,
	int option,
	int value,
	int *same)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t valueType;
		__extension__ union { int value; uint64_t valueWide; };
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t sameType;
		__extension__ union { int same; uint64_t sameWide; };
	} Reply;
	static const mach_msg_type_t valueType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t sameType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		Reply Out;
		char Room[64];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	mach_port_t mig_reply_port;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 48;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7020;

	InP->valueType = valueType;
	InP->valueWide = (uint32_t) value;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG | MACH_RCV_TIMEOUT | (MACH_SEND_TIMEOUT) | option,
		48, 64, mig_reply_port, 1000, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7120
	    || OutP->Head.msgh_size != 64
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7120);
	if (mig_type_differs(&OutP->sameType, &sameType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*same = OutP->same;

	return KERN_SUCCESS;
}

/* sampler.defs:213 (message 7021):
 *   routine numbers(server: mach_port_t; inout real: float; inout tiny: int8_t; inout byte: uint8_t;
 *       inout half: uint16_t; inout word: unsigned; inout wide: uint64_t; flags: flags_t; out
 *       flags_out: flags_t; inout big: big_t); */
kern_return_t f_numbers(
	mach_port_t server,
	float *real,
	int8_t *tiny,
	uint8_t *byte,
	uint16_t *half,
	unsigned *word,
	uint64_t *wide,
	const boolean_t *flags,
	mach_msg_type_number_t flagsCnt,
	flags_t flags_out,
	mach_msg_type_number_t *flags_outCnt,
	big_t big)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t realType;
		__extension__ union { float real; uint64_t realWide; };
		mach_msg_type_t tinyType;
		int8_t tiny;
		char tinyPad[7];
		mach_msg_type_t byteType;
		uint8_t byte;
		char bytePad[7];
		mach_msg_type_t halfType;
		uint16_t half;
		char halfPad[6];
		mach_msg_type_t wordType;
		__extension__ union { unsigned word; uint64_t wordWide; };
		mach_msg_type_t wideType;
		uint64_t wide;
		mach_msg_type_t flagsType;
		boolean_t flags[10];
	} Request;
	typedef struct {
		mach_msg_type_t bigType;
		int big[2000];
	} Request1;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t realType;
		__extension__ union { float real; uint64_t realWide; };
		mach_msg_type_t tinyType;
		int8_t tiny;
		char tinyPad[7];
		mach_msg_type_t byteType;
		uint8_t byte;
		char bytePad[7];
		mach_msg_type_t halfType;
		uint16_t half;
		char halfPad[6];
		mach_msg_type_t wordType;
		__extension__ union { unsigned word; uint64_t wordWide; };
		mach_msg_type_t wideType;
		uint64_t wide;
		mach_msg_type_t flags_outType;
		boolean_t flags_out[10];
	} Reply;
	typedef struct {
		mach_msg_type_t bigType;
		int big[2000];
	} Reply1;
	static const mach_msg_type_t realType = { .msgt_name = MACH_MSG_TYPE_REAL, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t tinyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_8, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t byteType = { .msgt_name = MACH_MSG_TYPE_INTEGER_8, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t halfType = { .msgt_name = MACH_MSG_TYPE_INTEGER_16, .msgt_size = 16, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t wordType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t wideType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t flagsType = { .msgt_name = MACH_MSG_TYPE_BOOLEAN, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t bigType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 2000 };
	static const mach_msg_type_t realReplyType = { .msgt_name = MACH_MSG_TYPE_REAL, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t tinyReplyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_8, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t byteReplyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_8, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t halfReplyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_16, .msgt_size = 16, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t wordReplyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t wideReplyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t flags_outType = { .msgt_name = MACH_MSG_TYPE_BOOLEAN, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t bigReplyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 2000 };

	union {
		Request In;
		Reply Out;
		char Room[8200];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	Request1 *In1P;
	mach_msg_size_t flagsSize;
	mach_port_t mig_reply_port;
	Reply1 *Out1P;
	mach_msg_type_number_t flags_outNumber;
	mach_msg_size_t flags_outSize;
	mach_msg_size_t mig_more;
	mach_msg_return_t msg_result;

	if (flagsCnt > 10)
		return MIG_ARRAY_TOO_LARGE;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 8144;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7021;

	InP->realType = realType;
	InP->realWide = 0;
	InP->real = *real;

	InP->tinyType = tinyType;
	InP->tiny = *tiny;
	memset(InP->tinyPad, 0, 7);

	InP->byteType = byteType;
	InP->byte = *byte;
	memset(InP->bytePad, 0, 7);

	InP->halfType = halfType;
	InP->half = *half;
	memset(InP->halfPad, 0, 6);

	InP->wordType = wordType;
	InP->wordWide = (uint32_t) *word;

	InP->wideType = wideType;
	InP->wide = *wide;

	InP->flagsType = flagsType;
	InP->flagsType.msgt_number = flagsCnt;
	if (flagsCnt != 0)
		memcpy(InP->flags, flags, flagsCnt * 4);
	flagsSize = mig_clear_tail(InP->flags, flagsCnt * 4);
	In1P = (Request1 *) (void *) ((char *) InP + offsetof(Request, flags) + flagsSize);

	In1P->bigType = bigType;
	memcpy(In1P->big, big, 8000);

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		8144 + flagsSize, 8200, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7121
	    || OutP->Head.msgh_size < 8160
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7121);
	mig_more = OutP->Head.msgh_size - 8160;
	if (mig_type_differs(&OutP->realType, &realReplyType, 0)
	    || mig_type_differs(&OutP->tinyType, &tinyReplyType, 0)
	    || mig_type_differs(&OutP->byteType, &byteReplyType, 0)
	    || mig_type_differs(&OutP->halfType, &halfReplyType, 0)
	    || mig_type_differs(&OutP->wordType, &wordReplyType, 0)
	    || mig_type_differs(&OutP->wideType, &wideReplyType, 0)
	    || mig_type_differs(&OutP->flags_outType, &flags_outType, MIG_VARY_NUMBER)
	    || OutP->flags_outType.msgt_number > 10)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	flags_outNumber = OutP->flags_outType.msgt_number;
	flags_outSize = mig_round8(flags_outNumber * 4);
	if (flags_outSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= flags_outSize;
	Out1P = (Reply1 *) (void *) ((char *) OutP + offsetof(Reply, flags_out) + flags_outSize);
	if (mig_type_differs(&Out1P->bigType, &bigReplyType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	if (mig_more != 0)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*real = OutP->real;
	*tiny = OutP->tiny;
	*byte = OutP->byte;
	*half = OutP->half;
	*word = OutP->word;
	*wide = OutP->wide;
	if (flags_outNumber != 0)
		memcpy(flags_out, OutP->flags_out, flags_outNumber * 4);
	*flags_outCnt = flags_outNumber;
	memcpy(big, Out1P->big, 8000);

	return KERN_SUCCESS;
}

/* sampler.defs:226 (message 7022):
 *   routine moves(server: mach_port_t; send: mach_port_move_send_t; once: mach_port_move_send_once_t;
 *       made: mach_port_make_send_once_t; receive: mach_port_move_receive_t; out send_out:
 *       mach_port_move_send_t; out once_out: mach_port_move_send_once_t; out receive_out:
 *       mach_port_move_receive_t; inout both: mach_port_move_send_t; said: mach_port_send_t; out
 *       said_out: mach_port_send_t; passed: passed_t; watched: watched_t; out watches: boolean_t); */
kern_return_t f_moves(
	mach_port_t server,
	mach_port_t send,
	mach_port_t once,
	mach_port_t made,
	mach_port_t receive,
	mach_port_t *send_out,
	mach_port_t *once_out,
	mach_port_t *receive_out,
	mach_port_t *both,
	mach_port_t said,
	mach_msg_type_name_t saidPoly,
	mach_port_t *said_out,
	mach_port_t passed,
	mach_port_t watched,
	boolean_t *watches)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t sendType;
		__extension__ union { mach_port_t send; uint64_t sendWide; };
		mach_msg_type_t onceType;
		__extension__ union { mach_port_t once; uint64_t onceWide; };
		mach_msg_type_t madeType;
		__extension__ union { mach_port_t made; uint64_t madeWide; };
		mach_msg_type_t receiveType;
		__extension__ union { mach_port_t receive; uint64_t receiveWide; };
		mach_msg_type_t bothType;
		__extension__ union { mach_port_t both; uint64_t bothWide; };
		mach_msg_type_t saidType;
		__extension__ union { mach_port_t said; uint64_t saidWide; };
		mach_msg_type_t passedType;
		__extension__ union { mach_port_t passed; uint64_t passedWide; };
		mach_msg_type_t watchedType;
		__extension__ union { mach_port_t watched; uint64_t watchedWide; };
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t send_outType;
		__extension__ union { mach_port_t send_out; uint64_t send_outWide; };
		mach_msg_type_t once_outType;
		__extension__ union { mach_port_t once_out; uint64_t once_outWide; };
		mach_msg_type_t receive_outType;
		__extension__ union { mach_port_t receive_out; uint64_t receive_outWide; };
		mach_msg_type_t bothType;
		__extension__ union { mach_port_t both; uint64_t bothWide; };
		mach_msg_type_t said_outType;
		__extension__ union { mach_port_t said_out; uint64_t said_outWide; };
		mach_msg_type_t watchesType;
		__extension__ union { boolean_t watches; uint64_t watchesWide; };
	} Reply;
	static const mach_msg_type_t sendType = { .msgt_name = MACH_MSG_TYPE_MOVE_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t onceType = { .msgt_name = MACH_MSG_TYPE_MOVE_SEND_ONCE, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t madeType = { .msgt_name = MACH_MSG_TYPE_MAKE_SEND_ONCE, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t receiveType = { .msgt_name = MACH_MSG_TYPE_MOVE_RECEIVE, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t bothType = { .msgt_name = MACH_MSG_TYPE_MOVE_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t saidType = { .msgt_name = 0, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t passedType = { .msgt_name = MACH_MSG_TYPE_MAKE_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t watchedType = { .msgt_name = MACH_MSG_TYPE_MAKE_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t send_outType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t once_outType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND_ONCE, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t receive_outType = { .msgt_name = MACH_MSG_TYPE_PORT_RECEIVE, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t bothReplyType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t said_outType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t watchesType = { .msgt_name = MACH_MSG_TYPE_BOOLEAN, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		Reply Out;
		char Room[160];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	mach_port_t mig_reply_port;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS_COMPLEX | MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 160;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7022;

	InP->sendType = sendType;
	InP->sendWide = (uint32_t) send;

	InP->onceType = onceType;
	InP->onceWide = (uint32_t) once;

	InP->madeType = madeType;
	InP->madeWide = (uint32_t) made;

	InP->receiveType = receiveType;
	InP->receiveWide = (uint32_t) receive;

	InP->bothType = bothType;
	InP->bothWide = (uint32_t) *both;

	InP->saidType = saidType;
	InP->saidType.msgt_name = saidPoly & 0xff;
	InP->saidWide = (uint32_t) said;

	InP->passedType = passedType;
	InP->passedWide = (uint32_t) passed;

	InP->watchedType = watchedType;
	InP->watchedWide = (uint32_t) watched;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		160, 144, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7122
	    || OutP->Head.msgh_size != 144
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7122);
	if (mig_type_differs(&OutP->send_outType, &send_outType, 0)
	    || mig_type_differs(&OutP->once_outType, &once_outType, 0)
	    || mig_type_differs(&OutP->receive_outType, &receive_outType, 0)
	    || mig_type_differs(&OutP->bothType, &bothReplyType, 0)
	    || mig_type_differs(&OutP->said_outType, &said_outType, 0)
	    || mig_type_differs(&OutP->watchesType, &watchesType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*send_out = OutP->send_out;
	*once_out = OutP->once_out;
	*receive_out = OutP->receive_out;
	*both = OutP->both;
	*said_out = OutP->said_out;
	*watches = OutP->watches;

	return KERN_SUCCESS;
}

/* sampler.defs:243 (message 7023):
 *   routine far_things(server: mach_port_t; record: far_record_t; list: far_records_t; any:
 *       any_records_t; three: far_three_ports_t; out record_out: far_record_t, dealloc; out list_out:
 *       far_records_t, dealloc; out any_out: any_records_t, dealloc; out there: natural_t); */
kern_return_t f_far_things(
	mach_port_t server,
	far_record_t record,
	far_records_t list,
	mach_msg_type_number_t listCnt,
	any_records_t any,
	mach_msg_type_number_t anyCnt,
	far_three_ports_t three,
	far_record_t *record_out,
	far_records_t *list_out,
	mach_msg_type_number_t *list_outCnt,
	any_records_t *any_out,
	mach_msg_type_number_t *any_outCnt,
	natural_t *there)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t recordType;
		far_record_t record;
		mach_msg_type_t listType;
		far_records_t list;
		mach_msg_type_t anyType;
		union { record_t data[85]; any_records_t address; } any;
	} Request;
	typedef struct {
		mach_msg_type_t threeType;
		far_three_ports_t three;
	} Request1;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t record_outType;
		far_record_t record_out;
		mach_msg_type_t list_outType;
		far_records_t list_out;
		mach_msg_type_t any_outType;
		union { record_t data[85]; any_records_t address; } any_out;
	} Reply;
	typedef struct {
		mach_msg_type_t thereType;
		__extension__ union { natural_t there; uint64_t thereWide; };
	} Reply1;
	static const mach_msg_type_t recordType = { .msgt_name = MACH_MSG_TYPE_BYTE, .msgt_size = 8, .msgt_number = 24 };
	static const mach_msg_type_t listType = { .msgt_name = MACH_MSG_TYPE_BYTE, .msgt_size = 8 };
	static const mach_msg_type_t anyType = { .msgt_name = MACH_MSG_TYPE_BYTE, .msgt_size = 8, .msgt_inline = TRUE };
	static const mach_msg_type_t anyOutOfLineType = { .msgt_name = MACH_MSG_TYPE_BYTE, .msgt_size = 8 };
	static const mach_msg_type_t threeType = { .msgt_name = MACH_MSG_TYPE_COPY_SEND, .msgt_size = 32, .msgt_number = 3 };
	static const mach_msg_type_t record_outType = { .msgt_name = MACH_MSG_TYPE_BYTE, .msgt_size = 8, .msgt_number = 24 };
	static const mach_msg_type_t list_outType = { .msgt_name = MACH_MSG_TYPE_BYTE, .msgt_size = 8 };
	static const mach_msg_type_t any_outType = { .msgt_name = MACH_MSG_TYPE_BYTE, .msgt_size = 8, .msgt_inline = TRUE };
	static const mach_msg_type_t any_outOutOfLineType = { .msgt_name = MACH_MSG_TYPE_BYTE, .msgt_size = 8 };
	static const mach_msg_type_t thereType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		Reply Out;
		char Room[2144];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	Request1 *In1P;
	mach_msg_size_t anySize;
	mach_port_t mig_reply_port;
	Reply1 *Out1P;
	mach_msg_type_number_t list_outNumber;
	mach_msg_type_number_t any_outNumber;
	mach_msg_size_t any_outSize;
	mach_msg_size_t mig_more;
	vm_address_t any_outMemory = 0;
	mach_msg_return_t msg_result;

	if (listCnt > UINT32_MAX / 24
	    || anyCnt > UINT32_MAX / 24)
		return MIG_ARRAY_TOO_LARGE;

	InP->Head.msgh_bits = MACH_MSGH_BITS_COMPLEX | MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 88;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7023;

	InP->recordType = recordType;
	InP->record = record;

	InP->listType = listType;
	InP->listType.msgt_number = listCnt * 24;
	InP->list = list;

	if (anyCnt <= 85) {
		InP->anyType = anyType;
		if (anyCnt != 0)
			memcpy(InP->any.data, (const void *) (uintptr_t) any, anyCnt * 24);
		anySize = anyCnt * 24;
	} else {
		InP->anyType = anyOutOfLineType;
		InP->any.address = any;
		anySize = 8;
		InP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
	}
	InP->anyType.msgt_number = anyCnt * 24;
	In1P = (Request1 *) (void *) ((char *) InP + offsetof(Request, any) + anySize);

	In1P->threeType = threeType;
	In1P->three = three;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		88 + anySize, 2144, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 7123
	    || OutP->Head.msgh_size < 104
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7123);
	mig_more = OutP->Head.msgh_size - 104;
	if (mig_type_differs(&OutP->record_outType, &record_outType, MIG_VARY_DEALLOCATE)
	    || mig_type_differs(&OutP->list_outType, &list_outType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE)
	    || OutP->list_outType.msgt_number % 24 != 0)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	list_outNumber = OutP->list_outType.msgt_number / 24;
	if (OutP->any_outType.msgt_inline) {
		if (mig_type_differs(&OutP->any_outType, &any_outType, MIG_VARY_NUMBER)
		    || OutP->any_outType.msgt_number > 2040
		    || OutP->any_outType.msgt_number % 24 != 0)
			return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	} else {
		if (mig_type_differs(&OutP->any_outType, &any_outOutOfLineType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE)
		    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0
		    || OutP->any_outType.msgt_number % 24 != 0)
			return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	}
	any_outNumber = OutP->any_outType.msgt_number / 24;
	any_outSize = OutP->any_outType.msgt_inline ? mig_round8(any_outNumber * 24) : 8;
	if (any_outSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= any_outSize;
	Out1P = (Reply1 *) (void *) ((char *) OutP + offsetof(Reply, any_out) + any_outSize);
	if (mig_type_differs(&Out1P->thereType, &thereType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	if (mig_more != 0)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	if (OutP->any_outType.msgt_inline && any_outNumber > *any_outCnt) {
		mig_allocate(&any_outMemory, any_outNumber * 24);
		if (any_outMemory == 0) {
			return mig_reply_reject(&OutP->Head, KERN_RESOURCE_SHORTAGE);
		}
	}

	*record_out = OutP->record_out;
	*list_out = OutP->list_out;
	*list_outCnt = list_outNumber;
	if (OutP->any_outType.msgt_inline) {
		if (any_outMemory != 0)
			*any_out = (any_records_t) any_outMemory;
		if (any_outNumber != 0)
			memcpy((void *) (uintptr_t) *any_out, OutP->any_out.data, any_outNumber * 24);
	} else {
		*any_out = OutP->any_out.address;
	}
	*any_outCnt = any_outNumber;
	*there = Out1P->there;

	return KERN_SUCCESS;
}

/* sampler.defs:255 (message 7024):
 *   routine reply_to(server: mach_port_t; ureplyport port: mach_port_make_send_once_t; value: int; out
 *       same: int); */
kern_return_t f_reply_to(
	mach_port_t server,
	mach_port_t port,
	int value,
	int *same)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t valueType;
		__extension__ union { int value; uint64_t valueWide; };
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t sameType;
		__extension__ union { int same; uint64_t sameWide; };
	} Reply;
	static const mach_msg_type_t valueType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t sameType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		Reply Out;
		char Room[64];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 48;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7024;

	InP->valueType = valueType;
	InP->valueWide = (uint32_t) value;

	InP->Head.msgh_protected_payload = port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		48, 64, port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return msg_result;

	if (OutP->Head.msgh_id != 7124
	    || OutP->Head.msgh_size != 64
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 7124);
	if (mig_type_differs(&OutP->sameType, &sameType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*same = OutP->same;

	return KERN_SUCCESS;
}

/* sampler.defs:262 (message 7025):
 *   simpleroutine ask(server: mach_port_t; ureplyport port: mach_port_make_send_once_t; code: int); */
kern_return_t f_ask(
	mach_port_t server,
	mach_port_t port,
	int code)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t codeType;
		__extension__ union { int code; uint64_t codeWide; };
	} Request;
	static const mach_msg_type_t codeType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		char Room[48];
	} Mess;
	Request *const InP = &Mess.In;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 48;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 7025;

	InP->codeType = codeType;
	InP->codeWide = (uint32_t) code;

	InP->Head.msgh_protected_payload = port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG,
		48, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);

	return msg_result;
}
