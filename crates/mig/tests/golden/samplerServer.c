/* Server stubs of the subsystem sampler, made by mig. Do not edit: change the .defs file. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <mach/message.h>
#include <mach/mig_errors.h>
#include <mach/mig_support.h>
#include <mach/mach_port.h>
#include <mach/mach_init.h>
#include <mach/std_types.h>
#include "sampler_types.h"

extern const char mig_sampler_server_rcsid[];
const char mig_sampler_server_rcsid[] = "sampler.defs 1";

/* The sizes of C types that the interface counts on. */
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

/* sampler.defs:56 (message 7000):
 *   routine null(server: mach_port_t); */
extern kern_return_t s_null(
	mach_port_t server);

static void _Xnull(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	OutP->RetCode = s_null(
		In0P->Head.msgh_local_port);
}

/* sampler.defs:59 (message 7001):
 *   routine four(server: mach_port_t; a: int; b: int; c: int; d: int; out w: int; out x: int; out y:
 *       int; out z: int); */
extern kern_return_t s_four(
	mach_port_t server,
	int a,
	int b,
	int c,
	int d,
	int *w,
	int *x,
	int *y,
	int *z);

static void _Xfour(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 96
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->aType, &aType, 0)
	    || mig_type_differs(&In0P->bType, &bType, 0)
	    || mig_type_differs(&In0P->cType, &cType, 0)
	    || mig_type_differs(&In0P->dType, &dType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->wType = wType;
	OutP->wWide = 0;
	OutP->xType = xType;
	OutP->xWide = 0;
	OutP->yType = yType;
	OutP->yWide = 0;
	OutP->zType = zType;
	OutP->zWide = 0;

	OutP->RetCode = s_four(
		In0P->Head.msgh_local_port,
		In0P->a,
		In0P->b,
		In0P->c,
		In0P->d,
		&OutP->w,
		&OutP->x,
		&OutP->y,
		&OutP->z);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->Head.msgh_size = 112;
}

/* sampler.defs:64 (message 7002):
 *   routine sizes(requestport server: mach_port_t; inout a: char; inout b: short; inout c: int64; inout
 *       d: boolean_t; inout e: double); */
extern kern_return_t s_sizes(
	mach_port_t server,
	char *a,
	short *b,
	int64_t *c,
	boolean_t *d,
	double *e);

static void _Xsizes(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 112
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->aType, &aType, 0)
	    || mig_type_differs(&In0P->bType, &bType, 0)
	    || mig_type_differs(&In0P->cType, &cType, 0)
	    || mig_type_differs(&In0P->dType, &dType, 0)
	    || mig_type_differs(&In0P->eType, &eType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->aType = aReplyType;
	OutP->a = In0P->a;
	OutP->bType = bReplyType;
	OutP->b = In0P->b;
	OutP->cType = cReplyType;
	OutP->c = In0P->c;
	OutP->dType = dReplyType;
	OutP->dWide = 0;
	OutP->d = In0P->d;
	OutP->eType = eReplyType;
	OutP->e = In0P->e;

	OutP->RetCode = s_sizes(
		In0P->Head.msgh_local_port,
		&OutP->a,
		&OutP->b,
		&OutP->c,
		&OutP->d,
		&OutP->e);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	memset(OutP->aPad, 0, 7);
	memset(OutP->bPad, 0, 6);
	OutP->Head.msgh_size = 128;
}

/* sampler.defs:74 (message 7004):
 *   routine strings(server: mach_port_t; word: word_t; label: label_t; old: old_string_t; out word_out:
 *       word_t; out label_out: label_t; out old_out: old_string_t; inout both: word_t); */
extern kern_return_t s_strings(
	mach_port_t server,
	word_t word,
	label_t label,
	old_string_t old,
	word_t word_out,
	label_t label_out,
	old_string_t old_out,
	word_t both);

static void _Xstrings(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	Request1 *In1P;
	mach_msg_type_number_t wordNumber;
	mach_msg_size_t wordSize;
	mach_msg_type_number_t bothNumber;
	mach_msg_size_t bothSize;
	mach_msg_size_t mig_more;
	Reply1 *Out1P;
	mach_msg_size_t word_outSize;
	mach_msg_size_t mig_at;

	if (In0P->Head.msgh_size < 104
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more = In0P->Head.msgh_size - 104;
	if (mig_type_differs(&In0P->wordType, &wordType, MIG_VARY_NUMBER)
	    || In0P->wordType.msgt_number > 64) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	wordNumber = In0P->wordType.msgt_number;
	wordSize = mig_round8(wordNumber);
	if (wordSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= wordSize;
	if (memchr(In0P->word, 0, wordNumber) == NULL) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	In1P = (Request1 *) (void *) ((char *) In0P + offsetof(Request, word) + wordSize);
	if (mig_type_differs(&In1P->labelType, &labelType, 0)
	    || memchr(In1P->label, 0, 16) == NULL
	    || mig_type_differs(&In1P->oldType, &oldType, 0)
	    || memchr(In1P->old, 0, 24) == NULL
	    || mig_type_differs(&In1P->bothType, &bothType, MIG_VARY_NUMBER)
	    || In1P->bothType.msgt_number > 64) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	bothNumber = In1P->bothType.msgt_number;
	bothSize = mig_round8(bothNumber);
	if (bothSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= bothSize;
	if (memchr(In1P->both, 0, bothNumber) == NULL) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_more != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	Out1P = (Reply1 *) (void *) ((char *) OutHeadP + 120);
	OutP->word_outType = word_outType;
	OutP->word_out[0] = '\0';
	Out1P->label_outType = label_outType;
	Out1P->label_out[0] = '\0';
	Out1P->old_outType = old_outType;
	Out1P->old_out[0] = '\0';
	Out1P->bothType = bothReplyType;
	memcpy(Out1P->both, In1P->both, bothNumber);

	OutP->RetCode = s_strings(
		In0P->Head.msgh_local_port,
		In0P->word,
		In1P->label,
		In1P->old,
		OutP->word_out,
		Out1P->label_out,
		Out1P->old_out,
		Out1P->both);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->word_out[63] = '\0';
	word_outSize = (mach_msg_size_t) strlen(OutP->word_out) + 1;
	OutP->word_outType.msgt_number = word_outSize;
	word_outSize = mig_clear_tail(OutP->word_out, word_outSize);
	Out1P->label_out[15] = '\0';
	memset(Out1P->label_out + strlen(Out1P->label_out), 0, 16 - strlen(Out1P->label_out));
	Out1P->old_out[23] = '\0';
	memset(Out1P->old_out + strlen(Out1P->old_out), 0, 24 - strlen(Out1P->old_out));
	Out1P->both[63] = '\0';
	bothSize = (mach_msg_size_t) strlen(Out1P->both) + 1;
	Out1P->bothType.msgt_number = bothSize;
	bothSize = mig_clear_tail(Out1P->both, bothSize);
	mig_at = 56 + word_outSize;
	memmove((char *) OutHeadP + mig_at, Out1P, 64 + bothSize);
	mig_at += 64 + bothSize;
	OutP->Head.msgh_size = mig_at;
}

/* sampler.defs:84 (message 7005):
 *   routine structures(server: mach_port_t; pair: short_pair_t; out pair_out: short_pair_t; inout
 *       record: record_t; list: record_array_t; out list_out: record_array_t); */
extern kern_return_t s_structures(
	mach_port_t server,
	short_pair_t pair,
	short_pair_t *pair_out,
	record_t *record,
	record_array_t list,
	mach_msg_type_number_t listCnt,
	record_array_t list_out,
	mach_msg_type_number_t *list_outCnt);

static void _Xstructures(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	mach_msg_type_number_t listNumber;
	mach_msg_size_t listSize;
	mach_msg_size_t mig_more;
	mach_msg_type_number_t list_outNumber;
	mach_msg_size_t list_outSize;

	if (In0P->Head.msgh_size < 88
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more = In0P->Head.msgh_size - 88;
	if (mig_type_differs(&In0P->pairType, &pairType, 0)
	    || mig_type_differs(&In0P->recordType, &recordType, 0)
	    || mig_type_differs(&In0P->listType, &listType, MIG_VARY_NUMBER)
	    || In0P->listType.msgt_number > 192
	    || In0P->listType.msgt_number % 24 != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	listNumber = In0P->listType.msgt_number / 24;
	listSize = mig_round8(listNumber * 24);
	if (listSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= listSize;
	if (mig_more != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->pair_outType = pair_outType;
	OutP->pair_outWide = 0;
	OutP->recordType = recordReplyType;
	OutP->record = In0P->record;
	OutP->list_outType = list_outType;
	list_outNumber = 8;

	OutP->RetCode = s_structures(
		In0P->Head.msgh_local_port,
		In0P->pair,
		&OutP->pair_out,
		&OutP->record,
		In0P->list,
		listNumber,
		OutP->list_out,
		&list_outNumber);
	if (OutP->RetCode != KERN_SUCCESS)
		return;
	if (list_outNumber > 8) {
		OutP->RetCode = MIG_ARRAY_TOO_LARGE;
		return;
	}

	OutP->list_outType.msgt_number = list_outNumber * 24;
	list_outSize = list_outNumber * 24;
	OutP->Head.msgh_size = 104 + list_outSize;
}

/* sampler.defs:93 (message 7006):
 *   routine arrays(server: mach_port_t; four: four_ints_t; bytes: bytes_t; add: int; more: ints_t; out
 *       four_out: four_ints_t; out bytes_out: bytes_t; out sum: int64; inout both: ints_t; out last:
 *       int); */
extern kern_return_t s_arrays(
	mach_port_t server,
	four_ints_t four,
	bytes_t bytes,
	mach_msg_type_number_t bytesCnt,
	int add,
	ints_t more,
	mach_msg_type_number_t moreCnt,
	four_ints_t four_out,
	bytes_t bytes_out,
	mach_msg_type_number_t *bytes_outCnt,
	int64_t *sum,
	ints_t both,
	mach_msg_type_number_t *bothCnt,
	int *last);

static void _Xarrays(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	Request1 *In1P;
	Request2 *In2P;
	mach_msg_type_number_t bytesNumber;
	mach_msg_size_t bytesSize;
	mach_msg_type_number_t moreNumber;
	mach_msg_size_t moreSize;
	mach_msg_type_number_t bothNumber;
	mach_msg_size_t bothSize;
	mach_msg_size_t mig_more;
	Reply1 *Out1P;
	Reply2 *Out2P;
	mach_msg_type_number_t bytes_outNumber;
	mach_msg_size_t bytes_outSize;
	mach_msg_size_t mig_at;

	if (In0P->Head.msgh_size < 96
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more = In0P->Head.msgh_size - 96;
	if (mig_type_differs(&In0P->fourType, &fourType, 0)
	    || mig_type_differs(&In0P->bytesType, &bytesType, MIG_VARY_NUMBER)
	    || In0P->bytesType.msgt_number > 100) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	bytesNumber = In0P->bytesType.msgt_number;
	bytesSize = mig_round8(bytesNumber);
	if (bytesSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= bytesSize;
	In1P = (Request1 *) (void *) ((char *) In0P + offsetof(Request, bytes) + bytesSize);
	if (mig_type_differs(&In1P->addType, &addType, 0)
	    || mig_type_differs(&In1P->moreType, &moreType, MIG_VARY_NUMBER)
	    || In1P->moreType.msgt_number > 4095) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	moreNumber = In1P->moreType.msgt_number;
	moreSize = mig_round8(moreNumber * 4);
	if (moreSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= moreSize;
	In2P = (Request2 *) (void *) ((char *) In1P + offsetof(Request1, more) + moreSize);
	if (mig_type_differs(&In2P->bothType, &bothType, MIG_VARY_NUMBER)
	    || In2P->bothType.msgt_number > 4095) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	bothNumber = In2P->bothType.msgt_number;
	bothSize = mig_round8(bothNumber * 4);
	if (bothSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= bothSize;
	if (mig_more != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	Out1P = (Reply1 *) (void *) ((char *) OutHeadP + 184);
	Out2P = (Reply2 *) (void *) ((char *) OutHeadP + 16592);
	OutP->four_outType = four_outType;
	memset(OutP->four_out, 0, sizeof OutP->four_out);
	OutP->bytes_outType = bytes_outType;
	bytes_outNumber = 100;
	Out1P->sumType = sumType;
	memset(&Out1P->sum, 0, sizeof Out1P->sum);
	Out1P->bothType = bothReplyType;
	memcpy(Out1P->both, In2P->both, bothNumber * 4);
	Out2P->lastType = lastType;
	Out2P->lastWide = 0;

	OutP->RetCode = s_arrays(
		In0P->Head.msgh_local_port,
		In0P->four,
		In0P->bytes,
		bytesNumber,
		In1P->add,
		In1P->more,
		moreNumber,
		OutP->four_out,
		OutP->bytes_out,
		&bytes_outNumber,
		&Out1P->sum,
		Out1P->both,
		&bothNumber,
		&Out2P->last);
	if (OutP->RetCode != KERN_SUCCESS)
		return;
	if (bytes_outNumber > 100
	    || bothNumber > 4095) {
		OutP->RetCode = MIG_ARRAY_TOO_LARGE;
		return;
	}

	OutP->bytes_outType.msgt_number = bytes_outNumber;
	bytes_outSize = mig_clear_tail(OutP->bytes_out, bytes_outNumber);
	Out1P->bothType.msgt_number = bothNumber;
	bothSize = mig_clear_tail(Out1P->both, bothNumber * 4);
	mig_at = 80 + bytes_outSize;
	memmove((char *) OutHeadP + mig_at, Out1P, 24 + bothSize);
	mig_at += 24 + bothSize;
	memmove((char *) OutHeadP + mig_at, Out2P, 16);
	mig_at += 16;
	OutP->Head.msgh_size = mig_at;
}

/* sampler.defs:106 (message 7007):
 *   routine room(server: mach_port_t; out list: ints_t, countinout; out told: natural_t); */
extern kern_return_t s_room(
	mach_port_t server,
	ints_t list,
	mach_msg_type_number_t *listCnt,
	natural_t *told);

static void _Xroom(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	Reply1 *Out1P;
	mach_msg_type_number_t listNumber;
	mach_msg_size_t listSize;
	mach_msg_size_t mig_at;

	if (In0P->Head.msgh_size != 48
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->listCntType, &listCntType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	Out1P = (Reply1 *) (void *) ((char *) OutHeadP + 16440);
	OutP->listType = listType;
	listNumber = In0P->listCnt < 4095 ? In0P->listCnt : 4095;
	Out1P->toldType = toldType;
	Out1P->toldWide = 0;

	OutP->RetCode = s_room(
		In0P->Head.msgh_local_port,
		OutP->list,
		&listNumber,
		&Out1P->told);
	if (OutP->RetCode != KERN_SUCCESS)
		return;
	if (listNumber > 4095) {
		OutP->RetCode = MIG_ARRAY_TOO_LARGE;
		return;
	}

	OutP->listType.msgt_number = listNumber;
	listSize = mig_clear_tail(OutP->list, listNumber * 4);
	mig_at = 56 + listSize;
	memmove((char *) OutHeadP + mig_at, Out1P, 16);
	mig_at += 16;
	OutP->Head.msgh_size = mig_at;
}

/* sampler.defs:112 (message 7008):
 *   routine unlimited(server: mach_port_t; list: any_ints_t; copied: any_ints_t, servercopy; given:
 *       any_ints_t, dealloc[]; out where: natural_t; out list_out: any_ints_t, dealloc; count:
 *       natural_t); */
extern kern_return_t s_unlimited(
	mach_port_t server,
	any_ints_t list,
	mach_msg_type_number_t listCnt,
	any_ints_t copied,
	mach_msg_type_number_t copiedCnt,
	boolean_t copiedSCopy,
	any_ints_t given,
	mach_msg_type_number_t givenCnt,
	natural_t *where,
	any_ints_t *list_out,
	mach_msg_type_number_t *list_outCnt,
	natural_t count);

static void _Xunlimited(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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
	static const mach_msg_type_t list_outOutOfLineType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_deallocate = TRUE };

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	Request1 *In1P;
	Request2 *In2P;
	Request3 *In3P;
	mach_msg_type_number_t listNumber;
	mach_msg_size_t listSize;
	mach_msg_type_number_t copiedNumber;
	mach_msg_size_t copiedSize;
	mach_msg_type_number_t givenNumber;
	mach_msg_size_t givenSize;
	mach_msg_size_t mig_more;
	any_ints_t listArg;
	any_ints_t copiedArg;
	any_ints_t givenArg;
	any_ints_t list_outArg;
	mach_msg_type_number_t list_outNumber;
	mach_msg_size_t list_outSize;

	if (In0P->Head.msgh_size < 72) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more = In0P->Head.msgh_size - 72;
	if (In0P->listType.msgt_inline) {
		if (mig_type_differs(&In0P->listType, &listType, MIG_VARY_NUMBER)
		    || In0P->listType.msgt_number > 512) {
			OutP->RetCode = MIG_BAD_ARGUMENTS;
			return;
		}
	} else {
		if (mig_type_differs(&In0P->listType, &listOutOfLineType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE)
		    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0) {
			OutP->RetCode = MIG_BAD_ARGUMENTS;
			return;
		}
	}
	listNumber = In0P->listType.msgt_number;
	listSize = In0P->listType.msgt_inline ? mig_round8(listNumber * 4) : 8;
	if (listSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= listSize;
	In1P = (Request1 *) (void *) ((char *) In0P + offsetof(Request, list) + listSize);
	if (In1P->copiedType.msgt_inline) {
		if (mig_type_differs(&In1P->copiedType, &copiedType, MIG_VARY_NUMBER)
		    || In1P->copiedType.msgt_number > 512) {
			OutP->RetCode = MIG_BAD_ARGUMENTS;
			return;
		}
	} else {
		if (mig_type_differs(&In1P->copiedType, &copiedOutOfLineType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE)
		    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0) {
			OutP->RetCode = MIG_BAD_ARGUMENTS;
			return;
		}
	}
	copiedNumber = In1P->copiedType.msgt_number;
	copiedSize = In1P->copiedType.msgt_inline ? mig_round8(copiedNumber * 4) : 8;
	if (copiedSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= copiedSize;
	In2P = (Request2 *) (void *) ((char *) In1P + offsetof(Request1, copied) + copiedSize);
	if (In2P->givenType.msgt_inline) {
		if (mig_type_differs(&In2P->givenType, &givenType, MIG_VARY_NUMBER)
		    || In2P->givenType.msgt_number > 512) {
			OutP->RetCode = MIG_BAD_ARGUMENTS;
			return;
		}
	} else {
		if (mig_type_differs(&In2P->givenType, &givenOutOfLineType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE)
		    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0) {
			OutP->RetCode = MIG_BAD_ARGUMENTS;
			return;
		}
	}
	givenNumber = In2P->givenType.msgt_number;
	givenSize = In2P->givenType.msgt_inline ? mig_round8(givenNumber * 4) : 8;
	if (givenSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= givenSize;
	In3P = (Request3 *) (void *) ((char *) In2P + offsetof(Request2, given) + givenSize);
	if (mig_type_differs(&In3P->countType, &countType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_more != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	listArg = In0P->listType.msgt_inline
		? (any_ints_t) (uintptr_t) In0P->list.data
		: (any_ints_t) (uintptr_t) In0P->list.address;
	copiedArg = In1P->copiedType.msgt_inline
		? (any_ints_t) (uintptr_t) In1P->copied.data
		: (any_ints_t) (uintptr_t) In1P->copied.address;
	givenArg = In2P->givenType.msgt_inline
		? (any_ints_t) (uintptr_t) In2P->given.data
		: (any_ints_t) (uintptr_t) In2P->given.address;
	OutP->whereType = whereType;
	OutP->whereWide = 0;
	list_outNumber = 512;
	list_outArg = (any_ints_t) (uintptr_t) OutP->list_out.data;

	OutP->RetCode = s_unlimited(
		In0P->Head.msgh_local_port,
		listArg,
		listNumber,
		copiedArg,
		copiedNumber,
		In1P->copiedType.msgt_inline ? TRUE : FALSE,
		givenArg,
		givenNumber,
		&OutP->where,
		&list_outArg,
		&list_outNumber,
		In3P->count);
	if (OutP->RetCode == KERN_SUCCESS || OutP->RetCode == MIG_NO_REPLY) {
		if (!In0P->listType.msgt_inline)
			mig_deallocate((vm_address_t) In0P->list.address, listNumber * 4);
		if (!In2P->givenType.msgt_inline)
			mig_deallocate((vm_address_t) In2P->given.address, givenNumber * 4);
	}
	if (OutP->RetCode != KERN_SUCCESS)
		return;
	if (((uintptr_t) list_outArg == (uintptr_t) OutP->list_out.data && list_outNumber > 512)) {
		In0P->Head.msgh_bits &= ~(mach_msg_bits_t) MACH_MSGH_BITS_COMPLEX;
		OutP->RetCode = MIG_ARRAY_TOO_LARGE;
		return;
	}

	if ((uintptr_t) list_outArg == (uintptr_t) OutP->list_out.data) {
		OutP->list_outType = list_outType;
		list_outSize = mig_clear_tail(OutP->list_out.data, list_outNumber * 4);
	} else {
		OutP->list_outType = list_outOutOfLineType;
		OutP->list_out.address = list_outArg;
		list_outSize = 8;
		OutP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
	}
	OutP->list_outType.msgt_number = list_outNumber;
	OutP->Head.msgh_size = 72 + list_outSize;
}

/* sampler.defs:121 (message 7009):
 *   routine out_of_line(server: mach_port_t; list: far_ints_t; given: far_ints_t, dealloc; block:
 *       far_block_t; out sum: int64; out list_out: far_ints_t, dealloc); */
extern kern_return_t s_out_of_line(
	mach_port_t server,
	far_ints_t list,
	mach_msg_type_number_t listCnt,
	far_ints_t given,
	mach_msg_type_number_t givenCnt,
	far_block_t block,
	int64_t *sum,
	far_ints_t *list_out,
	mach_msg_type_number_t *list_outCnt);

static void _Xout_of_line(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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
	static const mach_msg_type_t givenType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32 };
	static const mach_msg_type_t blockType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_number = 1024 };
	static const mach_msg_type_t sumType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t list_outType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_deallocate = TRUE };

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	mach_msg_type_number_t listNumber;
	mach_msg_type_number_t givenNumber;
	mach_msg_type_number_t list_outNumber;

	if (In0P->Head.msgh_size != 80
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->listType, &listType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE)
	    || mig_type_differs(&In0P->givenType, &givenType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE)
	    || mig_type_differs(&In0P->blockType, &blockType, MIG_VARY_DEALLOCATE)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	listNumber = In0P->listType.msgt_number;
	givenNumber = In0P->givenType.msgt_number;

	OutP->sumType = sumType;
	memset(&OutP->sum, 0, sizeof OutP->sum);
	OutP->list_outType = list_outType;
	list_outNumber = 0;
	memset(&OutP->list_out, 0, sizeof OutP->list_out);

	OutP->RetCode = s_out_of_line(
		In0P->Head.msgh_local_port,
		In0P->list,
		listNumber,
		In0P->given,
		givenNumber,
		In0P->block,
		&OutP->sum,
		&OutP->list_out,
		&list_outNumber);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
	OutP->list_outType.msgt_number = list_outNumber;
	OutP->Head.msgh_size = 80;
}

/* sampler.defs:130 (message 7010):
 *   routine ports(server: mach_port_t; copy: mach_port_t; made: mach_port_make_send_t; out copy_out:
 *       mach_port_t = MACH_MSG_TYPE_MOVE_SEND ctype: mach_port_t; out made_out: mach_port_t =
 *       MACH_MSG_TYPE_MOVE_SEND ctype: mach_port_t; any: mach_port_poly_t; out any_out:
 *       mach_port_poly_t); */
extern kern_return_t s_ports(
	mach_port_t server,
	mach_port_t copy,
	mach_port_t made,
	mach_port_t *copy_out,
	mach_port_t *made_out,
	mach_port_t any,
	mach_msg_type_name_t anyPoly,
	mach_port_t *any_out,
	mach_msg_type_name_t *any_outPoly);

static void _Xports(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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
	static const mach_msg_type_t copyType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t madeType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t anyType = { .msgt_name = 0, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t copy_outType = { .msgt_name = MACH_MSG_TYPE_MOVE_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t made_outType = { .msgt_name = MACH_MSG_TYPE_MOVE_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t any_outType = { .msgt_name = 0, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	mach_msg_type_name_t any_outPoly = MACH_MSG_TYPE_COPY_SEND;

	if (In0P->Head.msgh_size != 80
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->copyType, &copyType, 0)
	    || mig_type_differs(&In0P->madeType, &madeType, 0)
	    || mig_type_differs(&In0P->anyType, &anyType, MIG_VARY_NAME)
	    || !MACH_MSG_TYPE_PORT_ANY_RIGHT(In0P->anyType.msgt_name)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->copy_outType = copy_outType;
	OutP->copy_outWide = 0;
	OutP->made_outType = made_outType;
	OutP->made_outWide = 0;
	OutP->any_outType = any_outType;
	OutP->any_outWide = 0;

	OutP->RetCode = s_ports(
		In0P->Head.msgh_local_port,
		In0P->copy,
		In0P->made,
		&OutP->copy_out,
		&OutP->made_out,
		In0P->any,
		In0P->anyType.msgt_name,
		&OutP->any_out,
		&any_outPoly);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
	OutP->any_outType.msgt_name = any_outPoly & 0xff;
	OutP->Head.msgh_size = 96;
}

/* sampler.defs:139 (message 7011):
 *   routine port_arrays(server: mach_port_t; three: three_ports_t; some: some_ports_t; out some_out:
 *       some_ports_t = array[*:8] of mach_port_move_send_t; far: far_ports_t; out far_out: far_ports_t
 *       = ^array[] of mach_port_move_send_t, dealloc; either: any_ports_t; out either_out: any_ports_t
 *       = array[] of mach_port_move_send_t, dealloc); */
extern kern_return_t s_port_arrays(
	mach_port_t server,
	three_ports_t three,
	some_ports_t some,
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
	mach_msg_type_number_t *either_outCnt);

static void _Xport_arrays(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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
	static const mach_msg_type_t threeType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 3 };
	static const mach_msg_type_t someType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE };
	static const mach_msg_type_t farType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 32 };
	static const mach_msg_type_t eitherType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE };
	static const mach_msg_type_t eitherOutOfLineType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 32 };
	static const mach_msg_type_t some_outType = { .msgt_name = MACH_MSG_TYPE_MOVE_SEND, .msgt_size = 64, .msgt_inline = TRUE };
	static const mach_msg_type_t far_outType = { .msgt_name = MACH_MSG_TYPE_MOVE_SEND, .msgt_size = 32, .msgt_deallocate = TRUE };
	static const mach_msg_type_t either_outType = { .msgt_name = MACH_MSG_TYPE_MOVE_SEND, .msgt_size = 64, .msgt_inline = TRUE };
	static const mach_msg_type_t either_outOutOfLineType = { .msgt_name = MACH_MSG_TYPE_MOVE_SEND, .msgt_size = 32, .msgt_deallocate = TRUE };

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	Request1 *In1P;
	mach_msg_type_number_t someNumber;
	mach_msg_size_t someSize;
	mach_msg_type_number_t farNumber;
	mach_msg_type_number_t eitherNumber;
	mach_msg_size_t eitherSize;
	mach_msg_size_t mig_more;
	any_ports_t eitherArg;
	any_ports_t either_outArg;
	Reply1 *Out1P;
	mach_msg_type_number_t some_outNumber;
	mach_msg_size_t some_outSize;
	mach_msg_type_number_t far_outNumber;
	mach_msg_type_number_t either_outNumber;
	mach_msg_size_t either_outSize;
	mach_msg_size_t mig_at;

	if (In0P->Head.msgh_size < 96
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more = In0P->Head.msgh_size - 96;
	if (mig_type_differs(&In0P->threeType, &threeType, 0)
	    || mig_type_differs(&In0P->someType, &someType, MIG_VARY_NUMBER)
	    || In0P->someType.msgt_number > 8) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	someNumber = In0P->someType.msgt_number;
	someSize = mig_round8(someNumber * 8);
	if (someSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= someSize;
	In1P = (Request1 *) (void *) ((char *) In0P + offsetof(Request, some) + someSize);
	if (mig_type_differs(&In1P->farType, &farType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	farNumber = In1P->farType.msgt_number;
	if (In1P->eitherType.msgt_inline) {
		if (mig_type_differs(&In1P->eitherType, &eitherType, MIG_VARY_NUMBER)
		    || In1P->eitherType.msgt_number > 256) {
			OutP->RetCode = MIG_BAD_ARGUMENTS;
			return;
		}
	} else {
		if (mig_type_differs(&In1P->eitherType, &eitherOutOfLineType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE)
		    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0) {
			OutP->RetCode = MIG_BAD_ARGUMENTS;
			return;
		}
	}
	eitherNumber = In1P->eitherType.msgt_number;
	eitherSize = In1P->eitherType.msgt_inline ? mig_round8(eitherNumber * 8) : 8;
	if (eitherSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= eitherSize;
	if (mig_more != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	mig_narrow(In0P->three, In0P->three, 3);
	mig_narrow(In0P->some, In0P->some, someNumber);
	eitherArg = In1P->eitherType.msgt_inline
		? (any_ports_t) (uintptr_t) mig_narrow(In1P->either.data, In1P->either.data, eitherNumber)
		: (any_ports_t) (uintptr_t) In1P->either.address;
	Out1P = (Reply1 *) (void *) ((char *) OutHeadP + 120);
	OutP->some_outType = some_outType;
	some_outNumber = 8;
	Out1P->far_outType = far_outType;
	far_outNumber = 0;
	memset(&Out1P->far_out, 0, sizeof Out1P->far_out);
	either_outNumber = 256;
	either_outArg = (any_ports_t) (uintptr_t) Out1P->either_out.data;

	OutP->RetCode = s_port_arrays(
		In0P->Head.msgh_local_port,
		(void *) In0P->three,
		(void *) In0P->some,
		someNumber,
		(void *) OutP->some_out,
		&some_outNumber,
		In1P->far,
		farNumber,
		&Out1P->far_out,
		&far_outNumber,
		eitherArg,
		eitherNumber,
		&either_outArg,
		&either_outNumber);
	if (OutP->RetCode == KERN_SUCCESS || OutP->RetCode == MIG_NO_REPLY) {
		if (!In1P->eitherType.msgt_inline)
			mig_deallocate((vm_address_t) In1P->either.address, eitherNumber * 4);
	}
	if (OutP->RetCode != KERN_SUCCESS) {
		mig_widen(In0P->three, In0P->three, 3);
		mig_widen(In0P->some, In0P->some, someNumber);
		if (In1P->eitherType.msgt_inline)
			mig_widen(In1P->either.data, In1P->either.data, eitherNumber);
	}
	if (OutP->RetCode != KERN_SUCCESS)
		return;
	if (some_outNumber > 8
	    || ((uintptr_t) either_outArg == (uintptr_t) Out1P->either_out.data && either_outNumber > 256)) {
		In0P->Head.msgh_bits &= ~(mach_msg_bits_t) MACH_MSGH_BITS_COMPLEX;
		OutP->RetCode = MIG_ARRAY_TOO_LARGE;
		return;
	}

	OutP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
	mig_widen(OutP->some_out, OutP->some_out, some_outNumber);
	OutP->some_outType.msgt_number = some_outNumber;
	some_outSize = some_outNumber * 8;
	Out1P->far_outType.msgt_number = far_outNumber;
	if ((uintptr_t) either_outArg == (uintptr_t) Out1P->either_out.data) {
		Out1P->either_outType = either_outType;
		mig_widen(Out1P->either_out.data, Out1P->either_out.data, either_outNumber);
		either_outSize = either_outNumber * 8;
	} else {
		Out1P->either_outType = either_outOutOfLineType;
		Out1P->either_out.address = either_outArg;
		either_outSize = 8;
		OutP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
	}
	Out1P->either_outType.msgt_number = either_outNumber;
	mig_at = 56 + some_outSize;
	memmove((char *) OutHeadP + mig_at, Out1P, 24 + either_outSize);
	mig_at += 24 + either_outSize;
	OutP->Head.msgh_size = mig_at;
}

/* sampler.defs:150 (message 7012):
 *   routine accounts(server: mach_port_t; account: account_t; inout other: account_t; out third:
 *       account_t); */
extern kern_return_t s_accounts(
	mach_port_t server,
	struct account account,
	struct account *other,
	struct account *third);

static void _Xaccounts(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t accountType;
		__extension__ union { int account; uint64_t accountWide; };
		mach_msg_type_t otherType;
		__extension__ union { int other; uint64_t otherWide; };
	} Request;
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t RetCodeType;
		kern_return_t RetCode;
		char RetCodePad[4];
		mach_msg_type_t otherType;
		__extension__ union { int other; uint64_t otherWide; };
		mach_msg_type_t thirdType;
		__extension__ union { int third; uint64_t thirdWide; };
	} Reply;
	static const mach_msg_type_t accountType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t otherType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t otherReplyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t thirdType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	struct account accountArg;
	struct account otherArg;
	struct account thirdArg;

	if (In0P->Head.msgh_size != 64
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->accountType, &accountType, 0)
	    || mig_type_differs(&In0P->otherType, &otherType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	accountArg = account_by_number(In0P->account);
	otherArg = account_by_number(In0P->other);
	OutP->otherType = otherReplyType;
	OutP->thirdType = thirdType;
	memset(&thirdArg, 0, sizeof thirdArg);

	OutP->RetCode = s_accounts(
		In0P->Head.msgh_local_port,
		accountArg,
		&otherArg,
		&thirdArg);
	account_done(accountArg);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->otherWide = 0;
	OutP->other = account_number(otherArg);
	OutP->thirdWide = 0;
	OutP->third = account_number(thirdArg);
	OutP->Head.msgh_size = 80;
}

/* sampler.defs:157 (message 7013):
 *   routine sequence(server: mach_port_t; msgseqno seqno: mach_port_seqno_t; out seqno_out:
 *       mach_port_seqno_t); */
extern kern_return_t s_sequence(
	mach_port_t server,
	mach_port_seqno_t seqno,
	mach_port_seqno_t *seqno_out);

static void _Xsequence(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 32
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->seqno_outType = seqno_outType;
	OutP->seqno_outWide = 0;

	OutP->RetCode = s_sequence(
		In0P->Head.msgh_local_port,
		In0P->Head.msgh_seqno,
		&OutP->seqno_out);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->Head.msgh_size = 64;
}

/* sampler.defs:163 (message 7014):
 *   simpleroutine tell(server: mach_port_t; word: word_t); */
extern kern_return_t s_tell(
	mach_port_t server,
	word_t word);

static void _Xtell(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t wordType;
		char word[64];
	} Request;
	static const mach_msg_type_t wordType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE };

	Request *const In0P = (Request *) (void *) InHeadP;
	mig_reply_header_t *const OutP = (mig_reply_header_t *) (void *) OutHeadP;
	mach_msg_type_number_t wordNumber;
	mach_msg_size_t wordSize;
	mach_msg_size_t mig_more;

	if (In0P->Head.msgh_size < 40
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more = In0P->Head.msgh_size - 40;
	if (mig_type_differs(&In0P->wordType, &wordType, MIG_VARY_NUMBER)
	    || In0P->wordType.msgt_number > 64) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	wordNumber = In0P->wordType.msgt_number;
	wordSize = mig_round8(wordNumber);
	if (wordSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= wordSize;
	if (memchr(In0P->word, 0, wordNumber) == NULL) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_more != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->RetCode = s_tell(
		In0P->Head.msgh_local_port,
		In0P->word);
}

/* sampler.defs:167 (message 7015):
 *   routine told(server: mach_port_t; out word: word_t); */
extern kern_return_t s_told(
	mach_port_t server,
	word_t word);

static void _Xtold(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	mach_msg_size_t wordSize;

	if (In0P->Head.msgh_size != 32
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->wordType = wordType;
	OutP->word[0] = '\0';

	OutP->RetCode = s_told(
		In0P->Head.msgh_local_port,
		OutP->word);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->word[63] = '\0';
	wordSize = (mach_msg_size_t) strlen(OutP->word) + 1;
	OutP->wordType.msgt_number = wordSize;
	wordSize = mig_clear_tail(OutP->word, wordSize);
	OutP->Head.msgh_size = 56 + wordSize;
}

/* sampler.defs:172 (message 7016):
 *   routine later(server: mach_port_t; sreplyport reply: mach_port_move_send_once_t; waittime time:
 *       natural_t; value: int; out doubled: int); */
extern kern_return_t s_later(
	mach_port_t server,
	mach_port_t reply,
	int value,
	int *doubled);

static void _Xlater(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 48
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->valueType, &valueType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->doubledType = doubledType;
	OutP->doubledWide = 0;

	OutP->RetCode = s_later(
		In0P->Head.msgh_local_port,
		In0P->Head.msgh_remote_port,
		In0P->value,
		&OutP->doubled);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->Head.msgh_size = 64;
}

/* sampler.defs:179 (message 7017):
 *   simpleroutine release(server: mach_port_t); */
extern kern_return_t s_release(
	mach_port_t server);

static void _Xrelease(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	OutP->RetCode = s_release(
		In0P->Head.msgh_local_port);
}

/* sampler.defs:183 (message 7018):
 *   routine refuse(server: mach_port_t; code: int; right: mach_port_make_send_t; list: any_ints_t; far:
 *       far_ints_t; ports: some_ports_t; out nothing: int); */
extern kern_return_t s_refuse(
	mach_port_t server,
	int code,
	mach_port_t right,
	any_ints_t list,
	mach_msg_type_number_t listCnt,
	far_ints_t far,
	mach_msg_type_number_t farCnt,
	some_ports_t ports,
	mach_msg_type_number_t portsCnt,
	int *nothing);

static void _Xrefuse(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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
	static const mach_msg_type_t rightType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t listType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t listOutOfLineType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32 };
	static const mach_msg_type_t farType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32 };
	static const mach_msg_type_t portsType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE };
	static const mach_msg_type_t nothingType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	Request1 *In1P;
	mach_msg_type_number_t listNumber;
	mach_msg_size_t listSize;
	mach_msg_type_number_t farNumber;
	mach_msg_type_number_t portsNumber;
	mach_msg_size_t portsSize;
	mach_msg_size_t mig_more;
	any_ints_t listArg;

	if (In0P->Head.msgh_size < 96
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more = In0P->Head.msgh_size - 96;
	if (mig_type_differs(&In0P->codeType, &codeType, 0)
	    || mig_type_differs(&In0P->rightType, &rightType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (In0P->listType.msgt_inline) {
		if (mig_type_differs(&In0P->listType, &listType, MIG_VARY_NUMBER)
		    || In0P->listType.msgt_number > 512) {
			OutP->RetCode = MIG_BAD_ARGUMENTS;
			return;
		}
	} else {
		if (mig_type_differs(&In0P->listType, &listOutOfLineType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE)
		    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0) {
			OutP->RetCode = MIG_BAD_ARGUMENTS;
			return;
		}
	}
	listNumber = In0P->listType.msgt_number;
	listSize = In0P->listType.msgt_inline ? mig_round8(listNumber * 4) : 8;
	if (listSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= listSize;
	In1P = (Request1 *) (void *) ((char *) In0P + offsetof(Request, list) + listSize);
	if (mig_type_differs(&In1P->farType, &farType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE)
	    || mig_type_differs(&In1P->portsType, &portsType, MIG_VARY_NUMBER)
	    || In1P->portsType.msgt_number > 8) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	farNumber = In1P->farType.msgt_number;
	portsNumber = In1P->portsType.msgt_number;
	portsSize = mig_round8(portsNumber * 8);
	if (portsSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= portsSize;
	if (mig_more != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	listArg = In0P->listType.msgt_inline
		? (any_ints_t) (uintptr_t) In0P->list.data
		: (any_ints_t) (uintptr_t) In0P->list.address;
	mig_narrow(In1P->ports, In1P->ports, portsNumber);
	OutP->nothingType = nothingType;
	OutP->nothingWide = 0;

	OutP->RetCode = s_refuse(
		In0P->Head.msgh_local_port,
		In0P->code,
		In0P->right,
		listArg,
		listNumber,
		In1P->far,
		farNumber,
		(void *) In1P->ports,
		portsNumber,
		&OutP->nothing);
	if (OutP->RetCode == KERN_SUCCESS || OutP->RetCode == MIG_NO_REPLY) {
		if (!In0P->listType.msgt_inline)
			mig_deallocate((vm_address_t) In0P->list.address, listNumber * 4);
	}
	if (OutP->RetCode != KERN_SUCCESS) {
		mig_widen(In1P->ports, In1P->ports, portsNumber);
	}
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->Head.msgh_size = 64;
}

/* sampler.defs:193 (message 7019):
 *   routine both_ways(server: mach_port_t; inout list: any_ints_t, dealloc; how: natural_t; right:
 *       mach_port_make_send_t; out words: bytes_t); */
extern kern_return_t s_both_ways(
	mach_port_t server,
	any_ints_t *list,
	mach_msg_type_number_t *listCnt,
	natural_t how,
	mach_port_t right,
	bytes_t words,
	mach_msg_type_number_t *wordsCnt);

static void _Xboth_ways(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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
	static const mach_msg_type_t listOutOfLineType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32 };
	static const mach_msg_type_t howType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t rightType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t listReplyType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t listReplyOutOfLineType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_deallocate = TRUE };
	static const mach_msg_type_t wordsType = { .msgt_name = MACH_MSG_TYPE_CHAR, .msgt_size = 8, .msgt_inline = TRUE };

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	Request1 *In1P;
	mach_msg_type_number_t listNumber;
	mach_msg_size_t listSize;
	mach_msg_size_t mig_more;
	any_ints_t listArg;
	Reply1 *Out1P;
	mach_msg_type_number_t wordsNumber;
	mach_msg_size_t wordsSize;
	mach_msg_size_t mig_at;

	if (In0P->Head.msgh_size < 72
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more = In0P->Head.msgh_size - 72;
	if (In0P->listType.msgt_inline) {
		if (mig_type_differs(&In0P->listType, &listType, MIG_VARY_NUMBER)
		    || In0P->listType.msgt_number > 512) {
			OutP->RetCode = MIG_BAD_ARGUMENTS;
			return;
		}
	} else {
		if (mig_type_differs(&In0P->listType, &listOutOfLineType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE)
		    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0) {
			OutP->RetCode = MIG_BAD_ARGUMENTS;
			return;
		}
	}
	listNumber = In0P->listType.msgt_number;
	listSize = In0P->listType.msgt_inline ? mig_round8(listNumber * 4) : 8;
	if (listSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= listSize;
	In1P = (Request1 *) (void *) ((char *) In0P + offsetof(Request, list) + listSize);
	if (mig_type_differs(&In1P->howType, &howType, 0)
	    || mig_type_differs(&In1P->rightType, &rightType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_more != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	Out1P = (Reply1 *) (void *) ((char *) OutHeadP + 2104);
	if (In0P->listType.msgt_inline) {
		memcpy(OutP->list.data, In0P->list.data, listNumber * 4);
		listArg = (any_ints_t) (uintptr_t) OutP->list.data;
	} else {
		listArg = In0P->list.address;
	}
	Out1P->wordsType = wordsType;
	wordsNumber = 100;

	OutP->RetCode = s_both_ways(
		In0P->Head.msgh_local_port,
		&listArg,
		&listNumber,
		In1P->how,
		In1P->right,
		Out1P->words,
		&wordsNumber);
	if (OutP->RetCode == KERN_SUCCESS || OutP->RetCode == MIG_NO_REPLY) {
		if (!In0P->listType.msgt_inline && listArg != In0P->list.address)
			mig_deallocate((vm_address_t) In0P->list.address, In0P->listType.msgt_number * 4);
	}
	if (OutP->RetCode != KERN_SUCCESS)
		return;
	if (((uintptr_t) listArg == (uintptr_t) OutP->list.data && listNumber > 512)
	    || wordsNumber > 100) {
		In0P->Head.msgh_bits &= ~(mach_msg_bits_t) MACH_MSGH_BITS_COMPLEX;
		if (!In0P->listType.msgt_inline && listArg == In0P->list.address)
			mig_deallocate((vm_address_t) listArg, In0P->listType.msgt_number * 4);
		OutP->RetCode = MIG_ARRAY_TOO_LARGE;
		return;
	}

	if ((uintptr_t) listArg == (uintptr_t) OutP->list.data) {
		OutP->listType = listReplyType;
		listSize = mig_clear_tail(OutP->list.data, listNumber * 4);
	} else {
		OutP->listType = listReplyOutOfLineType;
		if (!In0P->listType.msgt_inline && listArg == In0P->list.address)
			OutP->listType.msgt_deallocate = TRUE;
		OutP->list.address = listArg;
		listSize = 8;
		OutP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
	}
	OutP->listType.msgt_number = listNumber;
	Out1P->wordsType.msgt_number = wordsNumber;
	wordsSize = mig_clear_tail(Out1P->words, wordsNumber);
	mig_at = 56 + listSize;
	memmove((char *) OutHeadP + mig_at, Out1P, 8 + wordsSize);
	mig_at += 8 + wordsSize;
	OutP->Head.msgh_size = mig_at;
}

/* sampler.defs:203 (message 7020):
 *   routine timed(server: mach_port_t; msgoption option: int; value: int; out same: int); */
extern kern_return_t s_timed(
	mach_port_t server,
	int value,
	int *same);

static void _Xtimed(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 48
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->valueType, &valueType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->sameType = sameType;
	OutP->sameWide = 0;

	OutP->RetCode = s_timed(
		In0P->Head.msgh_local_port,
		In0P->value,
		&OutP->same);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->Head.msgh_size = 64;
}

/* sampler.defs:213 (message 7021):
 *   routine numbers(server: mach_port_t; inout real: float; inout tiny: int8_t; inout byte: uint8_t;
 *       inout half: uint16_t; inout word: unsigned; inout wide: uint64_t; flags: flags_t; out
 *       flags_out: flags_t; inout big: big_t); */
extern kern_return_t s_numbers(
	mach_port_t server,
	float *real,
	int8_t *tiny,
	uint8_t *byte,
	uint16_t *half,
	unsigned *word,
	uint64_t *wide,
	flags_t flags,
	mach_msg_type_number_t flagsCnt,
	flags_t flags_out,
	mach_msg_type_number_t *flags_outCnt,
	big_t big);

static void _Xnumbers(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	Request1 *In1P;
	mach_msg_type_number_t flagsNumber;
	mach_msg_size_t flagsSize;
	mach_msg_size_t mig_more;
	Reply1 *Out1P;
	mach_msg_type_number_t flags_outNumber;
	mach_msg_size_t flags_outSize;
	mach_msg_size_t mig_at;

	if (In0P->Head.msgh_size < 8144
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more = In0P->Head.msgh_size - 8144;
	if (mig_type_differs(&In0P->realType, &realType, 0)
	    || mig_type_differs(&In0P->tinyType, &tinyType, 0)
	    || mig_type_differs(&In0P->byteType, &byteType, 0)
	    || mig_type_differs(&In0P->halfType, &halfType, 0)
	    || mig_type_differs(&In0P->wordType, &wordType, 0)
	    || mig_type_differs(&In0P->wideType, &wideType, 0)
	    || mig_type_differs(&In0P->flagsType, &flagsType, MIG_VARY_NUMBER)
	    || In0P->flagsType.msgt_number > 10) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	flagsNumber = In0P->flagsType.msgt_number;
	flagsSize = mig_round8(flagsNumber * 4);
	if (flagsSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= flagsSize;
	In1P = (Request1 *) (void *) ((char *) In0P + offsetof(Request, flags) + flagsSize);
	if (mig_type_differs(&In1P->bigType, &bigType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_more != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	Out1P = (Reply1 *) (void *) ((char *) OutHeadP + 192);
	OutP->realType = realReplyType;
	OutP->realWide = 0;
	OutP->real = In0P->real;
	OutP->tinyType = tinyReplyType;
	OutP->tiny = In0P->tiny;
	OutP->byteType = byteReplyType;
	OutP->byte = In0P->byte;
	OutP->halfType = halfReplyType;
	OutP->half = In0P->half;
	OutP->wordType = wordReplyType;
	OutP->wordWide = 0;
	OutP->word = In0P->word;
	OutP->wideType = wideReplyType;
	OutP->wide = In0P->wide;
	OutP->flags_outType = flags_outType;
	flags_outNumber = 10;
	Out1P->bigType = bigReplyType;
	memcpy(Out1P->big, In1P->big, 8000);

	OutP->RetCode = s_numbers(
		In0P->Head.msgh_local_port,
		&OutP->real,
		&OutP->tiny,
		&OutP->byte,
		&OutP->half,
		&OutP->word,
		&OutP->wide,
		In0P->flags,
		flagsNumber,
		OutP->flags_out,
		&flags_outNumber,
		Out1P->big);
	if (OutP->RetCode != KERN_SUCCESS)
		return;
	if (flags_outNumber > 10) {
		OutP->RetCode = MIG_ARRAY_TOO_LARGE;
		return;
	}

	memset(OutP->tinyPad, 0, 7);
	memset(OutP->bytePad, 0, 7);
	memset(OutP->halfPad, 0, 6);
	OutP->flags_outType.msgt_number = flags_outNumber;
	flags_outSize = mig_clear_tail(OutP->flags_out, flags_outNumber * 4);
	mig_at = 152 + flags_outSize;
	memmove((char *) OutHeadP + mig_at, Out1P, 8008);
	mig_at += 8008;
	OutP->Head.msgh_size = mig_at;
}

/* sampler.defs:226 (message 7022):
 *   routine moves(server: mach_port_t; send: mach_port_move_send_t; once: mach_port_move_send_once_t;
 *       made: mach_port_make_send_once_t; receive: mach_port_move_receive_t; out send_out:
 *       mach_port_move_send_t; out once_out: mach_port_move_send_once_t; out receive_out:
 *       mach_port_move_receive_t; inout both: mach_port_move_send_t; said: mach_port_send_t; out
 *       said_out: mach_port_send_t; passed: passed_t; watched: watched_t; out watches: boolean_t); */
extern kern_return_t s_moves(
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
	mach_port_t *said_out,
	mach_msg_type_name_t *said_outPoly,
	mach_port_t passed,
	struct watched watched,
	boolean_t *watches);

static void _Xmoves(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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
	static const mach_msg_type_t sendType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t onceType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND_ONCE, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t madeType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND_ONCE, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t receiveType = { .msgt_name = MACH_MSG_TYPE_PORT_RECEIVE, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t bothType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t saidType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t passedType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t watchedType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t send_outType = { .msgt_name = MACH_MSG_TYPE_MOVE_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t once_outType = { .msgt_name = MACH_MSG_TYPE_MOVE_SEND_ONCE, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t receive_outType = { .msgt_name = MACH_MSG_TYPE_MOVE_RECEIVE, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t bothReplyType = { .msgt_name = MACH_MSG_TYPE_MOVE_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t said_outType = { .msgt_name = 0, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t watchesType = { .msgt_name = MACH_MSG_TYPE_BOOLEAN, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	struct watched watchedArg;
	mach_msg_type_name_t said_outPoly = MACH_MSG_TYPE_COPY_SEND;

	if (In0P->Head.msgh_size != 160
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->sendType, &sendType, 0)
	    || mig_type_differs(&In0P->onceType, &onceType, 0)
	    || mig_type_differs(&In0P->madeType, &madeType, 0)
	    || mig_type_differs(&In0P->receiveType, &receiveType, 0)
	    || mig_type_differs(&In0P->bothType, &bothType, 0)
	    || mig_type_differs(&In0P->saidType, &saidType, 0)
	    || mig_type_differs(&In0P->passedType, &passedType, 0)
	    || mig_type_differs(&In0P->watchedType, &watchedType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	watchedArg = watched_port(In0P->watched);
	OutP->send_outType = send_outType;
	OutP->send_outWide = 0;
	OutP->once_outType = once_outType;
	OutP->once_outWide = 0;
	OutP->receive_outType = receive_outType;
	OutP->receive_outWide = 0;
	OutP->bothType = bothReplyType;
	OutP->bothWide = 0;
	OutP->both = In0P->both;
	OutP->said_outType = said_outType;
	OutP->said_outWide = 0;
	OutP->watchesType = watchesType;
	OutP->watchesWide = 0;

	OutP->RetCode = s_moves(
		In0P->Head.msgh_local_port,
		In0P->send,
		In0P->once,
		In0P->made,
		In0P->receive,
		&OutP->send_out,
		&OutP->once_out,
		&OutP->receive_out,
		&OutP->both,
		In0P->said,
		&OutP->said_out,
		&said_outPoly,
		In0P->passed,
		watchedArg,
		&OutP->watches);
	if (OutP->RetCode == KERN_SUCCESS || OutP->RetCode == MIG_NO_REPLY) {
		if (MACH_PORT_VALID(In0P->watched))
			(void) mach_port_deallocate(mach_task_self(), In0P->watched);
	}
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
	OutP->said_outType.msgt_name = said_outPoly & 0xff;
	OutP->Head.msgh_size = 144;
}

/* sampler.defs:243 (message 7023):
 *   routine far_things(server: mach_port_t; record: far_record_t; list: far_records_t; any:
 *       any_records_t; three: far_three_ports_t; out record_out: far_record_t, dealloc; out list_out:
 *       far_records_t, dealloc; out any_out: any_records_t, dealloc; out there: natural_t); */
extern kern_return_t s_far_things(
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
	natural_t *there);

static void _Xfar_things(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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
	static const mach_msg_type_t threeType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 32, .msgt_number = 3 };
	static const mach_msg_type_t record_outType = { .msgt_name = MACH_MSG_TYPE_BYTE, .msgt_size = 8, .msgt_deallocate = TRUE, .msgt_number = 24 };
	static const mach_msg_type_t list_outType = { .msgt_name = MACH_MSG_TYPE_BYTE, .msgt_size = 8, .msgt_deallocate = TRUE };
	static const mach_msg_type_t any_outType = { .msgt_name = MACH_MSG_TYPE_BYTE, .msgt_size = 8, .msgt_inline = TRUE };
	static const mach_msg_type_t any_outOutOfLineType = { .msgt_name = MACH_MSG_TYPE_BYTE, .msgt_size = 8, .msgt_deallocate = TRUE };
	static const mach_msg_type_t thereType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	Request1 *In1P;
	mach_msg_type_number_t listNumber;
	mach_msg_type_number_t anyNumber;
	mach_msg_size_t anySize;
	mach_msg_size_t mig_more;
	any_records_t anyArg;
	any_records_t any_outArg;
	Reply1 *Out1P;
	mach_msg_type_number_t list_outNumber;
	mach_msg_type_number_t any_outNumber;
	mach_msg_size_t any_outSize;
	mach_msg_size_t mig_at;

	if (In0P->Head.msgh_size < 88
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more = In0P->Head.msgh_size - 88;
	if (mig_type_differs(&In0P->recordType, &recordType, MIG_VARY_DEALLOCATE)
	    || mig_type_differs(&In0P->listType, &listType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE)
	    || In0P->listType.msgt_number % 24 != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	listNumber = In0P->listType.msgt_number / 24;
	if (In0P->anyType.msgt_inline) {
		if (mig_type_differs(&In0P->anyType, &anyType, MIG_VARY_NUMBER)
		    || In0P->anyType.msgt_number > 2040
		    || In0P->anyType.msgt_number % 24 != 0) {
			OutP->RetCode = MIG_BAD_ARGUMENTS;
			return;
		}
	} else {
		if (mig_type_differs(&In0P->anyType, &anyOutOfLineType, MIG_VARY_NUMBER | MIG_VARY_DEALLOCATE)
		    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0
		    || In0P->anyType.msgt_number % 24 != 0) {
			OutP->RetCode = MIG_BAD_ARGUMENTS;
			return;
		}
	}
	anyNumber = In0P->anyType.msgt_number / 24;
	anySize = In0P->anyType.msgt_inline ? mig_round8(anyNumber * 24) : 8;
	if (anySize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= anySize;
	In1P = (Request1 *) (void *) ((char *) In0P + offsetof(Request, any) + anySize);
	if (mig_type_differs(&In1P->threeType, &threeType, MIG_VARY_DEALLOCATE)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_more != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	anyArg = In0P->anyType.msgt_inline
		? (any_records_t) (uintptr_t) In0P->any.data
		: (any_records_t) (uintptr_t) In0P->any.address;
	Out1P = (Reply1 *) (void *) ((char *) OutHeadP + 2128);
	OutP->record_outType = record_outType;
	memset(&OutP->record_out, 0, sizeof OutP->record_out);
	OutP->list_outType = list_outType;
	list_outNumber = 0;
	memset(&OutP->list_out, 0, sizeof OutP->list_out);
	any_outNumber = 85;
	any_outArg = (any_records_t) (uintptr_t) OutP->any_out.data;
	Out1P->thereType = thereType;
	Out1P->thereWide = 0;

	OutP->RetCode = s_far_things(
		In0P->Head.msgh_local_port,
		In0P->record,
		In0P->list,
		listNumber,
		anyArg,
		anyNumber,
		In1P->three,
		&OutP->record_out,
		&OutP->list_out,
		&list_outNumber,
		&any_outArg,
		&any_outNumber,
		&Out1P->there);
	if (OutP->RetCode == KERN_SUCCESS || OutP->RetCode == MIG_NO_REPLY) {
		if (!In0P->anyType.msgt_inline)
			mig_deallocate((vm_address_t) In0P->any.address, anyNumber * 24);
	}
	if (OutP->RetCode != KERN_SUCCESS)
		return;
	if (((uintptr_t) any_outArg == (uintptr_t) OutP->any_out.data && any_outNumber > 85)) {
		In0P->Head.msgh_bits &= ~(mach_msg_bits_t) MACH_MSGH_BITS_COMPLEX;
		OutP->RetCode = MIG_ARRAY_TOO_LARGE;
		return;
	}

	OutP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
	OutP->list_outType.msgt_number = list_outNumber * 24;
	if ((uintptr_t) any_outArg == (uintptr_t) OutP->any_out.data) {
		OutP->any_outType = any_outType;
		any_outSize = any_outNumber * 24;
	} else {
		OutP->any_outType = any_outOutOfLineType;
		OutP->any_out.address = any_outArg;
		any_outSize = 8;
		OutP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
	}
	OutP->any_outType.msgt_number = any_outNumber * 24;
	mig_at = 88 + any_outSize;
	memmove((char *) OutHeadP + mig_at, Out1P, 16);
	mig_at += 16;
	OutP->Head.msgh_size = mig_at;
}

/* sampler.defs:255 (message 7024):
 *   routine reply_to(server: mach_port_t; ureplyport port: mach_port_make_send_once_t; value: int; out
 *       same: int); */
extern kern_return_t s_reply_to(
	mach_port_t server,
	int value,
	int *same);

static void _Xreply_to(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 48
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->valueType, &valueType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->sameType = sameType;
	OutP->sameWide = 0;

	OutP->RetCode = s_reply_to(
		In0P->Head.msgh_local_port,
		In0P->value,
		&OutP->same);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->Head.msgh_size = 64;
}

/* sampler.defs:262 (message 7025):
 *   simpleroutine ask(server: mach_port_t; ureplyport port: mach_port_make_send_once_t; code: int); */
extern kern_return_t s_ask(
	mach_port_t server,
	int code);

static void _Xask(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t codeType;
		__extension__ union { int code; uint64_t codeWide; };
	} Request;
	static const mach_msg_type_t codeType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	Request *const In0P = (Request *) (void *) InHeadP;
	mig_reply_header_t *const OutP = (mig_reply_header_t *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 48
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->codeType, &codeType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->RetCode = s_ask(
		In0P->Head.msgh_local_port,
		In0P->code);
}

/* The stubs, by the distance of the message's identifier from 7000. */
extern const mig_routine_t sampler_server_routines[];
const mig_routine_t sampler_server_routines[] = {
	_Xnull,
	_Xfour,
	_Xsizes,
	0,
	_Xstrings,
	_Xstructures,
	_Xarrays,
	_Xroom,
	_Xunlimited,
	_Xout_of_line,
	_Xports,
	_Xport_arrays,
	_Xaccounts,
	_Xsequence,
	_Xtell,
	_Xtold,
	_Xlater,
	_Xrelease,
	_Xrefuse,
	_Xboth_ways,
	_Xtimed,
	_Xnumbers,
	_Xmoves,
	_Xfar_things,
	_Xreply_to,
	_Xask,
};

/* The stub for a request, or 0. */
static inline mig_routine_t mig_find_routine(const mach_msg_header_t *InHeadP)
{
	const uint32_t index = (uint32_t) InHeadP->msgh_id - 7000u;

	return index < 26 ? sampler_server_routines[index] : 0;
}

/* The same for others. */
extern mig_routine_t sampler_server_routine(const mach_msg_header_t *InHeadP);
mig_routine_t sampler_server_routine(const mach_msg_header_t *InHeadP)
{
	return mig_find_routine(InHeadP);
}

/*
 * Serves a request and builds its reply; FALSE if no routine has the request's identifier. With a reply that
 * holds an error other than MIG_NO_REPLY the caller destroys the request, as mach_msg_server does.
 */
extern boolean_t sampler_server(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP);
boolean_t sampler_server(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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
