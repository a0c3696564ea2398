/* User stubs of the subsystem traps, made by mig. Do not edit: change the .defs file. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <mach/message.h>
#include <mach/mig_errors.h>
#include <mach/mig_support.h>
#include <mach/notify.h>
#include <mach/trap.h>
#include <mach/std_types.h>
#include "trap_types.h"

/* The sizes of C types that the interface counts on. */
extern char mig_record_t_has_24_bytes[sizeof(record_t) == 24 ? 1 : -1];

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

/* trap.defs:28 (message 8000):
 *   routine nothing(server: mach_port_t); */
static __attribute__((noinline)) kern_return_t _Mt_nothing(
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
	InP->Head.msgh_id = 8000;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		32, 48, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 8100
	    || OutP->Head.msgh_size != 48
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 8100);

	return KERN_SUCCESS;
}

kern_return_t t_nothing(
	mach_port_t server)
{
	kern_return_t mig_result;

	if (mach_trap(server, 8000, UINT64_C(0x72a7ccd0bd10b9fe), NULL, &mig_result))
		return mig_result;
	return _Mt_nothing(server);
}

/* trap.defs:31 (message 8001):
 *   routine numbers(server: mach_port_t; a: char; b: short; c: int; d: int64; e: double; out f: int;
 *       out g: double; inout h: int64; code: int); */
static __attribute__((noinline)) kern_return_t _Mt_numbers(
	mach_port_t server,
	char a,
	short b,
	int c,
	int64_t d,
	double e,
	int *f,
	double *g,
	int64_t *h,
	int code)
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
		__extension__ union { int c; uint64_t cWide; };
		mach_msg_type_t dType;
		int64_t d;
		mach_msg_type_t eType;
		double e;
		mach_msg_type_t hType;
		int64_t h;
		mach_msg_type_t codeType;
		__extension__ union { int code; uint64_t codeWide; };
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t fType;
		__extension__ union { int f; uint64_t fWide; };
		mach_msg_type_t gType;
		double g;
		mach_msg_type_t hType;
		int64_t h;
	} Reply;
	static const mach_msg_type_t aType = { .msgt_name = MACH_MSG_TYPE_CHAR, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t bType = { .msgt_name = MACH_MSG_TYPE_INTEGER_16, .msgt_size = 16, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t cType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t dType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t eType = { .msgt_name = MACH_MSG_TYPE_REAL, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t hType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t codeType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t fType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t gType = { .msgt_name = MACH_MSG_TYPE_REAL, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t hReplyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		Reply Out;
		char Room[144];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	mach_port_t mig_reply_port;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 144;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 8001;

	InP->aType = aType;
	InP->a = a;
	memset(InP->aPad, 0, 7);

	InP->bType = bType;
	InP->b = b;
	memset(InP->bPad, 0, 6);

	InP->cType = cType;
	InP->cWide = (uint32_t) c;

	InP->dType = dType;
	InP->d = d;

	InP->eType = eType;
	InP->e = e;

	InP->hType = hType;
	InP->h = *h;

	InP->codeType = codeType;
	InP->codeWide = (uint32_t) code;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		144, 96, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 8101
	    || OutP->Head.msgh_size != 96
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 8101);
	if (mig_type_differs(&OutP->fType, &fType, 0)
	    || mig_type_differs(&OutP->gType, &gType, 0)
	    || mig_type_differs(&OutP->hType, &hReplyType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*f = OutP->f;
	*g = OutP->g;
	*h = OutP->h;

	return KERN_SUCCESS;
}

kern_return_t t_numbers(
	mach_port_t server,
	char a,
	short b,
	int c,
	int64_t d,
	double e,
	int *f,
	double *g,
	int64_t *h,
	int code)
{
	typedef struct {
		uint8_t a;
		uint16_t b;
		uint32_t c;
		uint64_t d;
		uint64_t e;
		void *f;
		void *g;
		void *h;
		uint32_t code;
	} Arguments;

	Arguments mig_arguments;
	kern_return_t mig_result;

	memcpy(&mig_arguments.a, &a, sizeof mig_arguments.a);
	memcpy(&mig_arguments.b, &b, sizeof mig_arguments.b);
	memcpy(&mig_arguments.c, &c, sizeof mig_arguments.c);
	memcpy(&mig_arguments.d, &d, sizeof mig_arguments.d);
	memcpy(&mig_arguments.e, &e, sizeof mig_arguments.e);
	mig_arguments.f = f;
	mig_arguments.g = g;
	mig_arguments.h = h;
	memcpy(&mig_arguments.code, &code, sizeof mig_arguments.code);
	if (mach_trap(server, 8001, UINT64_C(0x4ae4434dcad46040), &mig_arguments, &mig_result))
		return mig_result;
	return _Mt_numbers(server, a, b, c, d, e, f, g, h, code);
}

/* trap.defs:39 (message 8002):
 *   routine behind(number: int; server: mach_port_t; out doubled: int); */
static __attribute__((noinline)) kern_return_t _Mt_behind(
	int number,
	mach_port_t server,
	int *doubled)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t numberType;
		__extension__ union { int number; uint64_t numberWide; };
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t doubledType;
		__extension__ union { int doubled; uint64_t doubledWide; };
	} Reply;
	static const mach_msg_type_t numberType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
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
	InP->Head.msgh_id = 8002;

	InP->numberType = numberType;
	InP->numberWide = (uint32_t) number;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		48, 64, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 8102
	    || OutP->Head.msgh_size != 64
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 8102);
	if (mig_type_differs(&OutP->doubledType, &doubledType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*doubled = OutP->doubled;

	return KERN_SUCCESS;
}

kern_return_t t_behind(
	int number,
	mach_port_t server,
	int *doubled)
{
	typedef struct {
		uint32_t number;
		void *doubled;
	} Arguments;

	Arguments mig_arguments;
	kern_return_t mig_result;

	memcpy(&mig_arguments.number, &number, sizeof mig_arguments.number);
	mig_arguments.doubled = doubled;
	if (mach_trap(server, 8002, UINT64_C(0x4c7eeff6beb9e3b3), &mig_arguments, &mig_result))
		return mig_result;
	return _Mt_behind(number, server, doubled);
}

/* trap.defs:44 (message 8003):
 *   routine records(server: mach_port_t; one: record_t; out two: record_t; inout three: record_t; list:
 *       records_t; out list_out: records_t; code: int); */
static __attribute__((noinline)) kern_return_t _Mt_records(
	mach_port_t server,
	record_t one,
	record_t *two,
	record_t *three,
	const record_t *list,
	mach_msg_type_number_t listCnt,
	records_t list_out,
	mach_msg_type_number_t *list_outCnt,
	int code)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t oneType;
		record_t one;
		mach_msg_type_t threeType;
		record_t three;
		mach_msg_type_t listType;
		record_t list[5];
	} Request;
	typedef struct {
		mach_msg_type_t codeType;
		__extension__ union { int code; uint64_t codeWide; };
	} Request1;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t twoType;
		record_t two;
		mach_msg_type_t threeType;
		record_t three;
		mach_msg_type_t list_outType;
		record_t list_out[5];
	} Reply;
	static const mach_msg_type_t oneType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 3 };
	static const mach_msg_type_t threeType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 3 };
	static const mach_msg_type_t listType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE };
	static const mach_msg_type_t codeType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t twoType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 3 };
	static const mach_msg_type_t threeReplyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 3 };
	static const mach_msg_type_t list_outType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE };

	union {
		Request In;
		Reply Out;
		char Room[240];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	Request1 *In1P;
	mach_msg_size_t listSize;
	mach_port_t mig_reply_port;
	mach_msg_type_number_t list_outNumber;
	mach_msg_size_t list_outSize;
	mach_msg_size_t mig_more;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 120;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 8003;

	InP->oneType = oneType;
	InP->one = one;

	InP->threeType = threeType;
	InP->three = *three;

	InP->listType = listType;
	InP->listType.msgt_number = listCnt * 3;
	if (listCnt != 0)
		memcpy(InP->list, list, listCnt * 24);
	listSize = listCnt * 24;
	In1P = (Request1 *) (void *) ((char *) InP + offsetof(Request, list) + listSize);

	In1P->codeType = codeType;
	In1P->codeWide = (uint32_t) code;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		120 + listSize, 240, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 8103
	    || OutP->Head.msgh_size < 120
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 8103);
	mig_more = OutP->Head.msgh_size - 120;
	if (mig_type_differs(&OutP->twoType, &twoType, 0)
	    || mig_type_differs(&OutP->threeType, &threeReplyType, 0)
	    || mig_type_differs(&OutP->list_outType, &list_outType, MIG_VARY_NUMBER)
	    || OutP->list_outType.msgt_number > 15
	    || OutP->list_outType.msgt_number % 3 != 0)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	list_outNumber = OutP->list_outType.msgt_number / 3;
	list_outSize = mig_round8(list_outNumber * 24);
	if (list_outSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= list_outSize;
	if (mig_more != 0)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*two = OutP->two;
	*three = OutP->three;
	if (list_outNumber != 0)
		memcpy(list_out, OutP->list_out, list_outNumber * 24);
	*list_outCnt = list_outNumber;

	return KERN_SUCCESS;
}

kern_return_t t_records(
	mach_port_t server,
	record_t one,
	record_t *two,
	record_t *three,
	const record_t *list,
	mach_msg_type_number_t listCnt,
	records_t list_out,
	mach_msg_type_number_t *list_outCnt,
	int code)
{
	typedef struct {
		const void *one;
		void *two;
		void *three;
		const void *list;
		mach_msg_type_number_t listCnt;
		void *list_out;
		mach_msg_type_number_t *list_outCnt;
		uint32_t code;
	} Arguments;

	Arguments mig_arguments;
	kern_return_t mig_result;

	if (listCnt > 5)
		return MIG_ARRAY_TOO_LARGE;

	mig_arguments.one = &one;
	mig_arguments.two = two;
	mig_arguments.three = three;
	mig_arguments.list = list;
	mig_arguments.listCnt = listCnt;
	mig_arguments.list_out = list_out;
	mig_arguments.list_outCnt = list_outCnt;
	memcpy(&mig_arguments.code, &code, sizeof mig_arguments.code);
	if (mach_trap(server, 8003, UINT64_C(0x819092f8da8f3254), &mig_arguments, &mig_result))
		return mig_result;
	return _Mt_records(server, one, two, three, list, listCnt, list_out, list_outCnt, code);
}

/* trap.defs:54 (message 8004):
 *   routine scribble(server: mach_port_t; three: three_t; list: ints_t; word: word_t; label: label_t;
 *       one: record_t); */
static __attribute__((noinline)) kern_return_t _Mt_scribble(
	mach_port_t server,
	const short *three,
	const int *list,
	mach_msg_type_number_t listCnt,
	const char *word,
	const char *label,
	record_t one)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t threeType;
		short three[3];
		char threePad[2];
		mach_msg_type_t listType;
		int list[10];
	} Request;
	typedef struct {
		mach_msg_type_t wordType;
		char word[16];
	} Request1;
	typedef struct {
		mach_msg_type_t labelType;
		char label[12];
		char labelPad[4];
		mach_msg_type_t oneType;
		record_t one;
	} Request2;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
	} Reply;
	static const mach_msg_type_t threeType = { .msgt_name = MACH_MSG_TYPE_INTEGER_16, .msgt_size = 16, .msgt_inline = TRUE, .msgt_number = 3 };
	static const mach_msg_type_t listType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t wordType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE };
	static const mach_msg_type_t labelType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 12 };
	static const mach_msg_type_t oneType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 3 };

	union {
		Request In;
		Reply Out;
		char Room[176];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	Request1 *In1P;
	Request2 *In2P;
	mach_msg_size_t listSize;
	mach_msg_size_t wordSize;
	mach_port_t mig_reply_port;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 120;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 8004;

	InP->threeType = threeType;
	memcpy(InP->three, three, 6);
	memset(InP->threePad, 0, 2);

	InP->listType = listType;
	InP->listType.msgt_number = listCnt;
	if (listCnt != 0)
		memcpy(InP->list, list, listCnt * 4);
	listSize = mig_clear_tail(InP->list, listCnt * 4);
	In1P = (Request1 *) (void *) ((char *) InP + offsetof(Request, list) + listSize);

	In1P->wordType = wordType;
	wordSize = (mach_msg_size_t) mig_strncpy(In1P->word, word, 16) + 1;
	In1P->wordType.msgt_number = wordSize;
	wordSize = mig_clear_tail(In1P->word, wordSize);
	In2P = (Request2 *) (void *) ((char *) In1P + offsetof(Request1, word) + wordSize);

	In2P->labelType = labelType;
	mig_strncpy_zerofill(In2P->label, label, 12);
	memset(In2P->labelPad, 0, 4);

	In2P->oneType = oneType;
	In2P->one = one;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		120 + listSize + wordSize, 48, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 8104
	    || OutP->Head.msgh_size != 48
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 8104);

	return KERN_SUCCESS;
}

kern_return_t t_scribble(
	mach_port_t server,
	const short *three,
	const int *list,
	mach_msg_type_number_t listCnt,
	const char *word,
	const char *label,
	record_t one)
{
	typedef struct {
		const void *three;
		const void *list;
		mach_msg_type_number_t listCnt;
		const void *word;
		const void *label;
		const void *one;
	} Arguments;

	Arguments mig_arguments;
	kern_return_t mig_result;

	if (listCnt > 10)
		return MIG_ARRAY_TOO_LARGE;

	mig_arguments.three = three;
	mig_arguments.list = list;
	mig_arguments.listCnt = listCnt;
	mig_arguments.word = word;
	mig_arguments.label = label;
	mig_arguments.one = &one;
	if (mach_trap(server, 8004, UINT64_C(0x44b7a1cb556b1148), &mig_arguments, &mig_result))
		return mig_result;
	return _Mt_scribble(server, three, list, listCnt, word, label, one);
}

/* trap.defs:63 (message 8005):
 *   routine lent(server: mach_port_t; three: three_t, const; list: ints_t, const; word: word_t, const;
 *       label: label_t, const; address: int64; out same: int); */
static __attribute__((noinline)) kern_return_t _Mt_lent(
	mach_port_t server,
	const short *three,
	const int *list,
	mach_msg_type_number_t listCnt,
	const char *word,
	const char *label,
	int64_t address,
	int *same)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t threeType;
		short three[3];
		char threePad[2];
		mach_msg_type_t listType;
		int list[10];
	} Request;
	typedef struct {
		mach_msg_type_t wordType;
		char word[16];
	} Request1;
	typedef struct {
		mach_msg_type_t labelType;
		char label[12];
		char labelPad[4];
		mach_msg_type_t addressType;
		int64_t address;
	} Request2;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t sameType;
		__extension__ union { int same; uint64_t sameWide; };
	} Reply;
	static const mach_msg_type_t threeType = { .msgt_name = MACH_MSG_TYPE_INTEGER_16, .msgt_size = 16, .msgt_inline = TRUE, .msgt_number = 3 };
	static const mach_msg_type_t listType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t wordType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE };
	static const mach_msg_type_t labelType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 12 };
	static const mach_msg_type_t addressType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t sameType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		Reply Out;
		char Room[160];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	Request1 *In1P;
	Request2 *In2P;
	mach_msg_size_t listSize;
	mach_msg_size_t wordSize;
	mach_port_t mig_reply_port;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 104;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 8005;

	InP->threeType = threeType;
	memcpy(InP->three, three, 6);
	memset(InP->threePad, 0, 2);

	InP->listType = listType;
	InP->listType.msgt_number = listCnt;
	if (listCnt != 0)
		memcpy(InP->list, list, listCnt * 4);
	listSize = mig_clear_tail(InP->list, listCnt * 4);
	In1P = (Request1 *) (void *) ((char *) InP + offsetof(Request, list) + listSize);

	In1P->wordType = wordType;
	wordSize = (mach_msg_size_t) mig_strncpy(In1P->word, word, 16) + 1;
	In1P->wordType.msgt_number = wordSize;
	wordSize = mig_clear_tail(In1P->word, wordSize);
	In2P = (Request2 *) (void *) ((char *) In1P + offsetof(Request1, word) + wordSize);

	In2P->labelType = labelType;
	mig_strncpy_zerofill(In2P->label, label, 12);
	memset(In2P->labelPad, 0, 4);

	In2P->addressType = addressType;
	In2P->address = address;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		104 + listSize + wordSize, 64, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 8105
	    || OutP->Head.msgh_size != 64
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 8105);
	if (mig_type_differs(&OutP->sameType, &sameType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*same = OutP->same;

	return KERN_SUCCESS;
}

kern_return_t t_lent(
	mach_port_t server,
	const short *three,
	const int *list,
	mach_msg_type_number_t listCnt,
	const char *word,
	const char *label,
	int64_t address,
	int *same)
{
	typedef struct {
		const void *three;
		const void *list;
		mach_msg_type_number_t listCnt;
		const void *word;
		const void *label;
		uint64_t address;
		void *same;
	} Arguments;

	Arguments mig_arguments;
	kern_return_t mig_result;

	if (listCnt > 10)
		return MIG_ARRAY_TOO_LARGE;

	mig_arguments.three = three;
	mig_arguments.list = list;
	mig_arguments.listCnt = listCnt;
	mig_arguments.word = word;
	mig_arguments.label = label;
	memcpy(&mig_arguments.address, &address, sizeof mig_arguments.address);
	mig_arguments.same = same;
	if (mach_trap(server, 8005, UINT64_C(0xd902734ac786545f), &mig_arguments, &mig_result))
		return mig_result;
	return _Mt_lent(server, three, list, listCnt, word, label, address, same);
}

/* trap.defs:72 (message 8006):
 *   routine strings(server: mach_port_t; word: word_t; label: label_t; out word_out: word_t; out
 *       label_out: label_t; inout word_both: word_t; inout label_both: label_t; code: int); */
static __attribute__((noinline)) kern_return_t _Mt_strings(
	mach_port_t server,
	const char *word,
	const char *label,
	word_t word_out,
	label_t label_out,
	word_t word_both,
	label_t label_both,
	int code)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t wordType;
		char word[16];
	} Request;
	typedef struct {
		mach_msg_type_t labelType;
		char label[12];
		char labelPad[4];
		mach_msg_type_t word_bothType;
		char word_both[16];
	} Request1;
	typedef struct {
		mach_msg_type_t label_bothType;
		char label_both[12];
		char label_bothPad[4];
		mach_msg_type_t codeType;
		__extension__ union { int code; uint64_t codeWide; };
	} Request2;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t word_outType;
		char word_out[16];
	} Reply;
	typedef struct {
		mach_msg_type_t label_outType;
		char label_out[12];
		char label_outPad[4];
		mach_msg_type_t word_bothType;
		char word_both[16];
	} Reply1;
	typedef struct {
		mach_msg_type_t label_bothType;
		char label_both[12];
		char label_bothPad[4];
	} Reply2;
	static const mach_msg_type_t wordType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE };
	static const mach_msg_type_t labelType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 12 };
	static const mach_msg_type_t word_bothType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE };
	static const mach_msg_type_t label_bothType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 12 };
	static const mach_msg_type_t codeType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t word_outType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE };
	static const mach_msg_type_t label_outType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 12 };
	static const mach_msg_type_t word_bothReplyType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE };
	static const mach_msg_type_t label_bothReplyType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 12 };

	union {
		Request In;
		Reply Out;
		char Room[144];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	Request1 *In1P;
	Request2 *In2P;
	mach_msg_size_t wordSize;
	mach_msg_size_t word_bothSize;
	mach_port_t mig_reply_port;
	Reply1 *Out1P;
	Reply2 *Out2P;
	mach_msg_type_number_t word_outNumber;
	mach_msg_size_t word_outSize;
	mach_msg_type_number_t word_bothNumber;
	mach_msg_size_t mig_more;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 112;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 8006;

	InP->wordType = wordType;
	wordSize = (mach_msg_size_t) mig_strncpy(InP->word, word, 16) + 1;
	InP->wordType.msgt_number = wordSize;
	wordSize = mig_clear_tail(InP->word, wordSize);
	In1P = (Request1 *) (void *) ((char *) InP + offsetof(Request, word) + wordSize);

	In1P->labelType = labelType;
	mig_strncpy_zerofill(In1P->label, label, 12);
	memset(In1P->labelPad, 0, 4);

	In1P->word_bothType = word_bothType;
	word_bothSize = (mach_msg_size_t) mig_strncpy(In1P->word_both, word_both, 16) + 1;
	In1P->word_bothType.msgt_number = word_bothSize;
	word_bothSize = mig_clear_tail(In1P->word_both, word_bothSize);
	In2P = (Request2 *) (void *) ((char *) In1P + offsetof(Request1, word_both) + word_bothSize);

	In2P->label_bothType = label_bothType;
	mig_strncpy_zerofill(In2P->label_both, label_both, 12);
	memset(In2P->label_bothPad, 0, 4);

	In2P->codeType = codeType;
	In2P->codeWide = (uint32_t) code;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		112 + wordSize + word_bothSize, 144, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 8106
	    || OutP->Head.msgh_size < 112
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 8106);
	mig_more = OutP->Head.msgh_size - 112;
	if (mig_type_differs(&OutP->word_outType, &word_outType, MIG_VARY_NUMBER)
	    || OutP->word_outType.msgt_number > 16)
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
	    || memchr(Out1P->label_out, 0, 12) == NULL
	    || mig_type_differs(&Out1P->word_bothType, &word_bothReplyType, MIG_VARY_NUMBER)
	    || Out1P->word_bothType.msgt_number > 16)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	word_bothNumber = Out1P->word_bothType.msgt_number;
	word_bothSize = mig_round8(word_bothNumber);
	if (word_bothSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= word_bothSize;
	if (memchr(Out1P->word_both, 0, word_bothNumber) == NULL)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	Out2P = (Reply2 *) (void *) ((char *) Out1P + offsetof(Reply1, word_both) + word_bothSize);
	if (mig_type_differs(&Out2P->label_bothType, &label_bothReplyType, 0)
	    || memchr(Out2P->label_both, 0, 12) == NULL)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	if (mig_more != 0)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	memcpy(word_out, OutP->word_out, strlen(OutP->word_out) + 1);
	memcpy(label_out, Out1P->label_out, strlen(Out1P->label_out) + 1);
	memcpy(word_both, Out1P->word_both, strlen(Out1P->word_both) + 1);
	memcpy(label_both, Out2P->label_both, strlen(Out2P->label_both) + 1);

	return KERN_SUCCESS;
}

kern_return_t t_strings(
	mach_port_t server,
	const char *word,
	const char *label,
	word_t word_out,
	label_t label_out,
	word_t word_both,
	label_t label_both,
	int code)
{
	typedef struct {
		const void *word;
		const void *label;
		void *word_out;
		void *label_out;
		void *word_both;
		void *label_both;
		uint32_t code;
	} Arguments;

	Arguments mig_arguments;
	kern_return_t mig_result;

	mig_arguments.word = word;
	mig_arguments.label = label;
	mig_arguments.word_out = word_out;
	mig_arguments.label_out = label_out;
	mig_arguments.word_both = word_both;
	mig_arguments.label_both = label_both;
	memcpy(&mig_arguments.code, &code, sizeof mig_arguments.code);
	if (mach_trap(server, 8006, UINT64_C(0xcfacc9c724b302ee), &mig_arguments, &mig_result))
		return mig_result;
	return _Mt_strings(server, word, label, word_out, label_out, word_both, label_both, code);
}

/* trap.defs:83 (message 8007):
 *   routine arrays(server: mach_port_t; list: ints_t; claim: int; out three: three_t; out list_out:
 *       ints_t; inout list_both: ints_t; code: int); */
static __attribute__((noinline)) kern_return_t _Mt_arrays(
	mach_port_t server,
	const int *list,
	mach_msg_type_number_t listCnt,
	int claim,
	three_t three,
	ints_t list_out,
	mach_msg_type_number_t *list_outCnt,
	ints_t list_both,
	mach_msg_type_number_t *list_bothCnt,
	int code)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t listType;
		int list[10];
	} Request;
	typedef struct {
		mach_msg_type_t claimType;
		__extension__ union { int claim; uint64_t claimWide; };
		mach_msg_type_t list_bothType;
		int list_both[10];
	} Request1;
	typedef struct {
		mach_msg_type_t codeType;
		__extension__ union { int code; uint64_t codeWide; };
	} Request2;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t threeType;
		short three[3];
		char threePad[2];
		mach_msg_type_t list_outType;
		int list_out[10];
	} Reply;
	typedef struct {
		mach_msg_type_t list_bothType;
		int list_both[10];
	} Reply1;
	static const mach_msg_type_t listType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t claimType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t list_bothType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t codeType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t threeType = { .msgt_name = MACH_MSG_TYPE_INTEGER_16, .msgt_size = 16, .msgt_inline = TRUE, .msgt_number = 3 };
	static const mach_msg_type_t list_outType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t list_bothReplyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };

	union {
		Request In;
		Reply Out;
		char Room[160];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	Request1 *In1P;
	Request2 *In2P;
	mach_msg_size_t listSize;
	mach_msg_size_t list_bothSize;
	mach_port_t mig_reply_port;
	Reply1 *Out1P;
	mach_msg_type_number_t list_outNumber;
	mach_msg_size_t list_outSize;
	mach_msg_type_number_t list_bothNumber;
	mach_msg_size_t mig_more;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 80;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 8007;

	InP->listType = listType;
	InP->listType.msgt_number = listCnt;
	if (listCnt != 0)
		memcpy(InP->list, list, listCnt * 4);
	listSize = mig_clear_tail(InP->list, listCnt * 4);
	In1P = (Request1 *) (void *) ((char *) InP + offsetof(Request, list) + listSize);

	In1P->claimType = claimType;
	In1P->claimWide = (uint32_t) claim;

	In1P->list_bothType = list_bothType;
	In1P->list_bothType.msgt_number = *list_bothCnt;
	if (*list_bothCnt != 0)
		memcpy(In1P->list_both, list_both, *list_bothCnt * 4);
	list_bothSize = mig_clear_tail(In1P->list_both, *list_bothCnt * 4);
	In2P = (Request2 *) (void *) ((char *) In1P + offsetof(Request1, list_both) + list_bothSize);

	In2P->codeType = codeType;
	In2P->codeWide = (uint32_t) code;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		80 + listSize + list_bothSize, 160, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 8107
	    || OutP->Head.msgh_size < 80
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 8107);
	mig_more = OutP->Head.msgh_size - 80;
	if (mig_type_differs(&OutP->threeType, &threeType, 0)
	    || mig_type_differs(&OutP->list_outType, &list_outType, MIG_VARY_NUMBER)
	    || OutP->list_outType.msgt_number > 10)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	list_outNumber = OutP->list_outType.msgt_number;
	list_outSize = mig_round8(list_outNumber * 4);
	if (list_outSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= list_outSize;
	Out1P = (Reply1 *) (void *) ((char *) OutP + offsetof(Reply, list_out) + list_outSize);
	if (mig_type_differs(&Out1P->list_bothType, &list_bothReplyType, MIG_VARY_NUMBER)
	    || Out1P->list_bothType.msgt_number > 10)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	list_bothNumber = Out1P->list_bothType.msgt_number;
	list_bothSize = mig_round8(list_bothNumber * 4);
	if (list_bothSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= list_bothSize;
	if (mig_more != 0)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	memcpy(three, OutP->three, 6);
	if (list_outNumber != 0)
		memcpy(list_out, OutP->list_out, list_outNumber * 4);
	*list_outCnt = list_outNumber;
	if (list_bothNumber != 0)
		memcpy(list_both, Out1P->list_both, list_bothNumber * 4);
	*list_bothCnt = list_bothNumber;

	return KERN_SUCCESS;
}

kern_return_t t_arrays(
	mach_port_t server,
	const int *list,
	mach_msg_type_number_t listCnt,
	int claim,
	three_t three,
	ints_t list_out,
	mach_msg_type_number_t *list_outCnt,
	ints_t list_both,
	mach_msg_type_number_t *list_bothCnt,
	int code)
{
	typedef struct {
		const void *list;
		mach_msg_type_number_t listCnt;
		uint32_t claim;
		void *three;
		void *list_out;
		mach_msg_type_number_t *list_outCnt;
		void *list_both;
		mach_msg_type_number_t *list_bothCnt;
		uint32_t code;
	} Arguments;

	Arguments mig_arguments;
	kern_return_t mig_result;

	if (listCnt > 10
	    || *list_bothCnt > 10)
		return MIG_ARRAY_TOO_LARGE;

	mig_arguments.list = list;
	mig_arguments.listCnt = listCnt;
	memcpy(&mig_arguments.claim, &claim, sizeof mig_arguments.claim);
	mig_arguments.three = three;
	mig_arguments.list_out = list_out;
	mig_arguments.list_outCnt = list_outCnt;
	mig_arguments.list_both = list_both;
	mig_arguments.list_bothCnt = list_bothCnt;
	memcpy(&mig_arguments.code, &code, sizeof mig_arguments.code);
	if (mach_trap(server, 8007, UINT64_C(0xabb677195605b00c), &mig_arguments, &mig_result))
		return mig_result;
	return _Mt_arrays(server, list, listCnt, claim, three, list_out, list_outCnt, list_both, list_bothCnt, code);
}

/* trap.defs:92 (message 8008):
 *   routine room(server: mach_port_t; claim: int; out list: ints_t, countinout; out told: int); */
static __attribute__((noinline)) kern_return_t _Mt_room(
	mach_port_t server,
	int claim,
	ints_t list,
	mach_msg_type_number_t *listCnt,
	int *told)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t claimType;
		__extension__ union { int claim; uint64_t claimWide; };
		mach_msg_type_t listCntType;
		__extension__ union { mach_msg_type_number_t listCnt; uint64_t listCntWide; };
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t listType;
		int list[10];
	} Reply;
	typedef struct {
		mach_msg_type_t toldType;
		__extension__ union { int told; uint64_t toldWide; };
	} Reply1;
	static const mach_msg_type_t claimType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t listCntType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t listType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t toldType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		Reply Out;
		char Room[112];
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
	InP->Head.msgh_size = 64;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 8008;

	InP->claimType = claimType;
	InP->claimWide = (uint32_t) claim;
	InP->listCntType = listCntType;
	InP->listCntWide = *listCnt;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		64, 112, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 8108
	    || OutP->Head.msgh_size < 72
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 8108);
	mig_more = OutP->Head.msgh_size - 72;
	if (mig_type_differs(&OutP->listType, &listType, MIG_VARY_NUMBER)
	    || OutP->listType.msgt_number > 10)
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

kern_return_t t_room(
	mach_port_t server,
	int claim,
	ints_t list,
	mach_msg_type_number_t *listCnt,
	int *told)
{
	typedef struct {
		uint32_t claim;
		void *list;
		mach_msg_type_number_t *listCnt;
		void *told;
	} Arguments;

	Arguments mig_arguments;
	kern_return_t mig_result;

	memcpy(&mig_arguments.claim, &claim, sizeof mig_arguments.claim);
	mig_arguments.list = list;
	mig_arguments.listCnt = listCnt;
	mig_arguments.told = told;
	if (mach_trap(server, 8008, UINT64_C(0x650df9eadcec7687), &mig_arguments, &mig_result))
		return mig_result;
	return _Mt_room(server, claim, list, listCnt, told);
}

/* trap.defs:98 (message 8009):
 *   routine pairs(server: mach_port_t; keys: ints_t; values: ints_t, samecount; out keys_out: ints_t;
 *       out values_out: ints_t, samecount; code: int); */
static __attribute__((noinline)) kern_return_t _Mt_pairs(
	mach_port_t server,
	const int *keys,
	mach_msg_type_number_t keysCnt,
	const int *values,
	ints_t keys_out,
	mach_msg_type_number_t *keys_outCnt,
	ints_t values_out,
	int code)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t keysType;
		int keys[10];
	} Request;
	typedef struct {
		mach_msg_type_t valuesType;
		int values[10];
	} Request1;
	typedef struct {
		mach_msg_type_t codeType;
		__extension__ union { int code; uint64_t codeWide; };
	} Request2;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t keys_outType;
		int keys_out[10];
	} Reply;
	typedef struct {
		mach_msg_type_t values_outType;
		int values_out[10];
	} Reply1;
	static const mach_msg_type_t keysType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t valuesType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t codeType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t keys_outType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t values_outType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };

	union {
		Request In;
		Reply Out;
		char Room[144];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	Request1 *In1P;
	Request2 *In2P;
	mach_msg_size_t keysSize;
	mach_msg_size_t valuesSize;
	mach_port_t mig_reply_port;
	Reply1 *Out1P;
	mach_msg_type_number_t keys_outNumber;
	mach_msg_size_t keys_outSize;
	mach_msg_type_number_t values_outNumber;
	mach_msg_size_t values_outSize;
	mach_msg_size_t mig_more;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 64;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 8009;

	InP->keysType = keysType;
	InP->keysType.msgt_number = keysCnt;
	if (keysCnt != 0)
		memcpy(InP->keys, keys, keysCnt * 4);
	keysSize = mig_clear_tail(InP->keys, keysCnt * 4);
	In1P = (Request1 *) (void *) ((char *) InP + offsetof(Request, keys) + keysSize);

	In1P->valuesType = valuesType;
	In1P->valuesType.msgt_number = keysCnt;
	if (keysCnt != 0)
		memcpy(In1P->values, values, keysCnt * 4);
	valuesSize = mig_clear_tail(In1P->values, keysCnt * 4);
	In2P = (Request2 *) (void *) ((char *) In1P + offsetof(Request1, values) + valuesSize);

	In2P->codeType = codeType;
	In2P->codeWide = (uint32_t) code;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		64 + keysSize + valuesSize, 144, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 8109
	    || OutP->Head.msgh_size < 64
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 8109);
	mig_more = OutP->Head.msgh_size - 64;
	if (mig_type_differs(&OutP->keys_outType, &keys_outType, MIG_VARY_NUMBER)
	    || OutP->keys_outType.msgt_number > 10)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	keys_outNumber = OutP->keys_outType.msgt_number;
	keys_outSize = mig_round8(keys_outNumber * 4);
	if (keys_outSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= keys_outSize;
	Out1P = (Reply1 *) (void *) ((char *) OutP + offsetof(Reply, keys_out) + keys_outSize);
	if (mig_type_differs(&Out1P->values_outType, &values_outType, MIG_VARY_NUMBER)
	    || Out1P->values_outType.msgt_number > 10)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	values_outNumber = Out1P->values_outType.msgt_number;
	values_outSize = mig_round8(values_outNumber * 4);
	if (values_outSize > mig_more)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	mig_more -= values_outSize;
	if (mig_more != 0)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
	if (values_outNumber != keys_outNumber)
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	if (keys_outNumber != 0)
		memcpy(keys_out, OutP->keys_out, keys_outNumber * 4);
	*keys_outCnt = keys_outNumber;
	if (values_outNumber != 0)
		memcpy(values_out, Out1P->values_out, values_outNumber * 4);

	return KERN_SUCCESS;
}

kern_return_t t_pairs(
	mach_port_t server,
	const int *keys,
	mach_msg_type_number_t keysCnt,
	const int *values,
	ints_t keys_out,
	mach_msg_type_number_t *keys_outCnt,
	ints_t values_out,
	int code)
{
	typedef struct {
		const void *keys;
		mach_msg_type_number_t keysCnt;
		const void *values;
		void *keys_out;
		mach_msg_type_number_t *keys_outCnt;
		void *values_out;
		uint32_t code;
	} Arguments;

	Arguments mig_arguments;
	kern_return_t mig_result;

	if (keysCnt > 10
	    || keysCnt > 10)
		return MIG_ARRAY_TOO_LARGE;

	mig_arguments.keys = keys;
	mig_arguments.keysCnt = keysCnt;
	mig_arguments.values = values;
	mig_arguments.keys_out = keys_out;
	mig_arguments.keys_outCnt = keys_outCnt;
	mig_arguments.values_out = values_out;
	memcpy(&mig_arguments.code, &code, sizeof mig_arguments.code);
	if (mach_trap(server, 8009, UINT64_C(0x0a206ea3fbe31380), &mig_arguments, &mig_result))
		return mig_result;
	return _Mt_pairs(server, keys, keysCnt, values, keys_out, keys_outCnt, values_out, code);
}

/* trap.defs:107 (message 8010):
 *   routine many(server: mach_port_t; list: many_t; out list_out: many_t; code: int); */
static __attribute__((noinline)) kern_return_t _Mt_many(
	mach_port_t server,
	const int *list,
	mach_msg_type_number_t listCnt,
	many_t list_out,
	mach_msg_type_number_t *list_outCnt,
	int code)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t listType;
		int list[20000];
	} Request;
	typedef struct {
		mach_msg_type_t codeType;
		__extension__ union { int code; uint64_t codeWide; };
	} Request1;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t list_outType;
		int list_out[20000];
	} Reply;
	static const mach_msg_type_t listType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t codeType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t list_outType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };

	union message {
		Request In;
		Reply Out;
		char Room[80056];
	} *Mess;
	Request *InP;
	Reply *OutP;
	Request1 *In1P;
	mach_msg_size_t listSize;
	mach_port_t mig_reply_port;
	mach_msg_type_number_t list_outNumber;
	mach_msg_size_t list_outSize;
	mach_msg_size_t mig_more;
	mach_msg_return_t msg_result;

	/* The message is too large for the stack. */
	Mess = malloc(sizeof *Mess);
	if (Mess == NULL)
		return KERN_RESOURCE_SHORTAGE;
	InP = &Mess->In;
	OutP = &Mess->Out;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 56;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 8010;

	InP->listType = listType;
	InP->listType.msgt_number = listCnt;
	if (listCnt != 0)
		memcpy(InP->list, list, listCnt * 4);
	listSize = mig_clear_tail(InP->list, listCnt * 4);
	In1P = (Request1 *) (void *) ((char *) InP + offsetof(Request, list) + listSize);

	In1P->codeType = codeType;
	In1P->codeWide = (uint32_t) code;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		56 + listSize, 80056, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS) {
		msg_result = mig_call_failed(mig_reply_port, msg_result);
		goto done;
	}
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 8110
	    || OutP->Head.msgh_size < 56
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS) {
		msg_result = mig_reply_fault(&OutP->Head, 8110);
		goto done;
	}
	mig_more = OutP->Head.msgh_size - 56;
	if (mig_type_differs(&OutP->list_outType, &list_outType, MIG_VARY_NUMBER)
	    || OutP->list_outType.msgt_number > 20000) {
		msg_result = mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
		goto done;
	}
	list_outNumber = OutP->list_outType.msgt_number;
	list_outSize = mig_round8(list_outNumber * 4);
	if (list_outSize > mig_more) {
		msg_result = mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
		goto done;
	}
	mig_more -= list_outSize;
	if (mig_more != 0) {
		msg_result = mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);
		goto done;
	}

	if (list_outNumber != 0)
		memcpy(list_out, OutP->list_out, list_outNumber * 4);
	*list_outCnt = list_outNumber;

	msg_result = KERN_SUCCESS;
done:
	free(Mess);
	return msg_result;
}

kern_return_t t_many(
	mach_port_t server,
	const int *list,
	mach_msg_type_number_t listCnt,
	many_t list_out,
	mach_msg_type_number_t *list_outCnt,
	int code)
{
	typedef struct {
		const void *list;
		mach_msg_type_number_t listCnt;
		void *list_out;
		mach_msg_type_number_t *list_outCnt;
		uint32_t code;
	} Arguments;

	Arguments mig_arguments;
	kern_return_t mig_result;

	if (listCnt > 20000)
		return MIG_ARRAY_TOO_LARGE;

	mig_arguments.list = list;
	mig_arguments.listCnt = listCnt;
	mig_arguments.list_out = list_out;
	mig_arguments.list_outCnt = list_outCnt;
	memcpy(&mig_arguments.code, &code, sizeof mig_arguments.code);
	if (mach_trap(server, 8010, UINT64_C(0xa1a2ab4011454fb0), &mig_arguments, &mig_result))
		return mig_result;
	return _Mt_many(server, list, listCnt, list_out, list_outCnt, code);
}

/* trap.defs:113 (message 8011):
 *   routine moneys(server: mach_port_t; one: money_t; inout two: money_t; out three: money_t; code:
 *       int); */
static __attribute__((noinline)) kern_return_t _Mt_moneys(
	mach_port_t server,
	int one,
	int *two,
	int *three,
	int code)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t oneType;
		__extension__ union { int one; uint64_t oneWide; };
		mach_msg_type_t twoType;
		__extension__ union { int two; uint64_t twoWide; };
		mach_msg_type_t codeType;
		__extension__ union { int code; uint64_t codeWide; };
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t twoType;
		__extension__ union { int two; uint64_t twoWide; };
		mach_msg_type_t threeType;
		__extension__ union { int three; uint64_t threeWide; };
	} Reply;
	static const mach_msg_type_t oneType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t twoType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t codeType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t twoReplyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t threeType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

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
	InP->Head.msgh_size = 80;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 8011;

	InP->oneType = oneType;
	InP->oneWide = (uint32_t) one;

	InP->twoType = twoType;
	InP->twoWide = (uint32_t) *two;

	InP->codeType = codeType;
	InP->codeWide = (uint32_t) code;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		80, 80, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 8111
	    || OutP->Head.msgh_size != 80
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 8111);
	if (mig_type_differs(&OutP->twoType, &twoReplyType, 0)
	    || mig_type_differs(&OutP->threeType, &threeType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*two = OutP->two;
	*three = OutP->three;

	return KERN_SUCCESS;
}

kern_return_t t_moneys(
	mach_port_t server,
	int one,
	int *two,
	int *three,
	int code)
{
	typedef struct {
		uint32_t one;
		void *two;
		void *three;
		uint32_t code;
	} Arguments;

	Arguments mig_arguments;
	kern_return_t mig_result;

	memcpy(&mig_arguments.one, &one, sizeof mig_arguments.one);
	mig_arguments.two = two;
	mig_arguments.three = three;
	memcpy(&mig_arguments.code, &code, sizeof mig_arguments.code);
	if (mach_trap(server, 8011, UINT64_C(0xd863de2d3a3fae4c), &mig_arguments, &mig_result))
		return mig_result;
	return _Mt_moneys(server, one, two, three, code);
}

/* trap.defs:121 (message 8012):
 *   routine object(server: object_t; out number: int); */
static __attribute__((noinline)) kern_return_t _Mt_object(
	mach_port_t server,
	int *number)
{
	typedef struct {
		mach_msg_header_t Head;
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t numberType;
		__extension__ union { int number; uint64_t numberWide; };
	} Reply;
	static const mach_msg_type_t numberType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

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
	InP->Head.msgh_id = 8012;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		32, 64, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 8112
	    || OutP->Head.msgh_size != 64
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 8112);
	if (mig_type_differs(&OutP->numberType, &numberType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*number = OutP->number;

	return KERN_SUCCESS;
}

kern_return_t t_object(
	mach_port_t server,
	int *number)
{
	typedef struct {
		void *number;
	} Arguments;

	Arguments mig_arguments;
	kern_return_t mig_result;

	mig_arguments.number = number;
	if (mach_trap(server, 8012, UINT64_C(0x7626e013ce4c90a4), &mig_arguments, &mig_result))
		return mig_result;
	return _Mt_object(server, number);
}

/* trap.defs:126 (message 8013):
 *   simpleroutine tell(server: mach_port_t; number: int); */
kern_return_t t_tell(
	mach_port_t server,
	int number)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t numberType;
		__extension__ union { int number; uint64_t numberWide; };
	} Request;
	static const mach_msg_type_t numberType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		char Room[48];
	} Mess;
	Request *const InP = &Mess.In;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, 0);
	InP->Head.msgh_size = 48;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 8013;

	InP->numberType = numberType;
	InP->numberWide = (uint32_t) number;

	InP->Head.msgh_protected_payload = MACH_PORT_NULL;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG,
		48, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);

	return msg_result;
}

/* trap.defs:128 (message 8014):
 *   routine told(server: mach_port_t; out number: int); */
static __attribute__((noinline)) kern_return_t _Mt_told(
	mach_port_t server,
	int *number)
{
	typedef struct {
		mach_msg_header_t Head;
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t numberType;
		__extension__ union { int number; uint64_t numberWide; };
	} Reply;
	static const mach_msg_type_t numberType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

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
	InP->Head.msgh_id = 8014;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		32, 64, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 8114
	    || OutP->Head.msgh_size != 64
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 8114);
	if (mig_type_differs(&OutP->numberType, &numberType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*number = OutP->number;

	return KERN_SUCCESS;
}

kern_return_t t_told(
	mach_port_t server,
	int *number)
{
	typedef struct {
		void *number;
	} Arguments;

	Arguments mig_arguments;
	kern_return_t mig_result;

	mig_arguments.number = number;
	if (mach_trap(server, 8014, UINT64_C(0x8848d2e8f3f1f2f6), &mig_arguments, &mig_result))
		return mig_result;
	return _Mt_told(server, number);
}

/* trap.defs:130 (message 8015):
 *   routine right(server: mach_port_t; right: mach_port_make_send_t; out number: int); */
kern_return_t t_right(
	mach_port_t server,
	mach_port_t right,
	int *number)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t rightType;
		__extension__ union { mach_port_t right; uint64_t rightWide; };
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t numberType;
		__extension__ union { int number; uint64_t numberWide; };
	} Reply;
	static const mach_msg_type_t rightType = { .msgt_name = MACH_MSG_TYPE_MAKE_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t numberType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	union {
		Request In;
		Reply Out;
		char Room[64];
	} Mess;
	Request *const InP = &Mess.In;
	Reply *const OutP = &Mess.Out;
	mach_port_t mig_reply_port;
	mach_msg_return_t msg_result;

	InP->Head.msgh_bits = MACH_MSGH_BITS_COMPLEX | MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
	InP->Head.msgh_size = 48;
	InP->Head.msgh_remote_slot = server;
	InP->Head.msgh_seqno = 0;
	InP->Head.msgh_id = 8015;

	InP->rightType = rightType;
	InP->rightWide = (uint32_t) right;

	mig_reply_port = mig_get_reply_port();
	InP->Head.msgh_protected_payload = mig_reply_port;

	msg_result = mach_msg(&InP->Head, MACH_SEND_MSG | MACH_RCV_MSG,
		48, 64, mig_reply_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (msg_result != MACH_MSG_SUCCESS)
		return mig_call_failed(mig_reply_port, msg_result);
	mig_put_reply_port(mig_reply_port);

	if (OutP->Head.msgh_id != 8115
	    || OutP->Head.msgh_size != 64
	    || (OutP->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || mig_type_differs(&OutP->RetCodeType, &mig_code_type, 0)
	    || OutP->RetCode != KERN_SUCCESS)
		return mig_reply_fault(&OutP->Head, 8115);
	if (mig_type_differs(&OutP->numberType, &numberType, 0))
		return mig_reply_reject(&OutP->Head, MIG_TYPE_ERROR);

	*number = OutP->number;

	return KERN_SUCCESS;
}
