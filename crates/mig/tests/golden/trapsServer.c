/* Server stubs of the subsystem traps, made by mig. Do not edit: change the .defs file. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <mach/message.h>
#include <mach/mig_errors.h>
#include <mach/mig_support.h>
#include <mach/mach_port.h>
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

/* What the caller is told of a routine that failed by trap. No reply can come later. */
static inline kern_return_t mig_trap_code(kern_return_t result)
{
	return result == MIG_NO_REPLY || result == MIG_DESTROY_REQUEST ? MIG_SERVER_DIED : result;
}

/* trap.defs:28 (message 8000):
 *   routine nothing(server: mach_port_t); */
extern kern_return_t v_nothing(
	mach_port_t server);

static void _Xnothing(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	OutP->RetCode = v_nothing(
		In0P->Head.msgh_local_port);
}

/* The same by trap. */
static kern_return_t _Tnothing(mach_port_t mig_port, void *mig_arguments, void *mig_context)
{
	kern_return_t mig_result;

	(void) mig_context;
	(void) mig_arguments;

	mig_result = v_nothing(mig_port);
	if (mig_result != KERN_SUCCESS)
		return mig_trap_code(mig_result);
	return KERN_SUCCESS;
}

/* trap.defs:31 (message 8001):
 *   routine numbers(server: mach_port_t; a: char; b: short; c: int; d: int64; e: double; out f: int;
 *       out g: double; inout h: int64; code: int); */
extern kern_return_t v_numbers(
	mach_port_t server,
	char a,
	short b,
	int c,
	int64_t d,
	double e,
	int *f,
	double *g,
	int64_t *h,
	int code);

static void _Xnumbers(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 144
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->aType, &aType, 0)
	    || mig_type_differs(&In0P->bType, &bType, 0)
	    || mig_type_differs(&In0P->cType, &cType, 0)
	    || mig_type_differs(&In0P->dType, &dType, 0)
	    || mig_type_differs(&In0P->eType, &eType, 0)
	    || mig_type_differs(&In0P->hType, &hType, 0)
	    || mig_type_differs(&In0P->codeType, &codeType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->fType = fType;
	OutP->fWide = 0;
	OutP->gType = gType;
	memset(&OutP->g, 0, sizeof OutP->g);
	OutP->hType = hReplyType;
	OutP->h = In0P->h;

	OutP->RetCode = v_numbers(
		In0P->Head.msgh_local_port,
		In0P->a,
		In0P->b,
		In0P->c,
		In0P->d,
		In0P->e,
		&OutP->f,
		&OutP->g,
		&OutP->h,
		In0P->code);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->Head.msgh_size = 96;
}

/* The same by trap. */
static kern_return_t _Tnumbers(mach_port_t mig_port, void *mig_arguments, void *mig_context)
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

	const Arguments *const mig_in = mig_arguments;
	char aMemory;
	short bMemory;
	int cMemory;
	int64_t dMemory;
	double eMemory;
	int fArg;
	double gArg;
	int64_t hArg;
	int codeMemory;
	kern_return_t mig_result;

	(void) mig_context;
	memcpy(&aMemory, &mig_in->a, sizeof aMemory);
	memcpy(&bMemory, &mig_in->b, sizeof bMemory);
	memcpy(&cMemory, &mig_in->c, sizeof cMemory);
	memcpy(&dMemory, &mig_in->d, sizeof dMemory);
	memcpy(&eMemory, &mig_in->e, sizeof eMemory);
	memset(&fArg, 0, sizeof fArg);
	memset(&gArg, 0, sizeof gArg);
	memcpy(&hArg, mig_in->h, sizeof hArg);
	memcpy(&codeMemory, &mig_in->code, sizeof codeMemory);

	mig_result = v_numbers(mig_port, aMemory, bMemory, cMemory, dMemory, eMemory, &fArg, &gArg, &hArg, codeMemory);
	if (mig_result != KERN_SUCCESS)
		return mig_trap_code(mig_result);
	memcpy(mig_in->f, &fArg, sizeof fArg);
	memcpy(mig_in->g, &gArg, sizeof gArg);
	memcpy(mig_in->h, &hArg, sizeof hArg);
	return KERN_SUCCESS;
}

/* trap.defs:39 (message 8002):
 *   routine behind(number: int; server: mach_port_t; out doubled: int); */
extern kern_return_t v_behind(
	int number,
	mach_port_t server,
	int *doubled);

static void _Xbehind(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 48
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->numberType, &numberType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->doubledType = doubledType;
	OutP->doubledWide = 0;

	OutP->RetCode = v_behind(
		In0P->number,
		In0P->Head.msgh_local_port,
		&OutP->doubled);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->Head.msgh_size = 64;
}

/* The same by trap. */
static kern_return_t _Tbehind(mach_port_t mig_port, void *mig_arguments, void *mig_context)
{
	typedef struct {
		uint32_t number;
		void *doubled;
	} Arguments;

	const Arguments *const mig_in = mig_arguments;
	int numberMemory;
	int doubledArg;
	kern_return_t mig_result;

	(void) mig_context;
	memcpy(&numberMemory, &mig_in->number, sizeof numberMemory);
	memset(&doubledArg, 0, sizeof doubledArg);

	mig_result = v_behind(numberMemory, mig_port, &doubledArg);
	if (mig_result != KERN_SUCCESS)
		return mig_trap_code(mig_result);
	memcpy(mig_in->doubled, &doubledArg, sizeof doubledArg);
	return KERN_SUCCESS;
}

/* trap.defs:44 (message 8003):
 *   routine records(server: mach_port_t; one: record_t; out two: record_t; inout three: record_t; list:
 *       records_t; out list_out: records_t; code: int); */
extern kern_return_t v_records(
	mach_port_t server,
	record_t one,
	record_t *two,
	record_t *three,
	records_t list,
	mach_msg_type_number_t listCnt,
	records_t list_out,
	mach_msg_type_number_t *list_outCnt,
	int code);

static void _Xrecords(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	Request1 *In1P;
	mach_msg_type_number_t listNumber;
	mach_msg_size_t listSize;
	mach_msg_size_t mig_more;
	mach_msg_type_number_t list_outNumber;
	mach_msg_size_t list_outSize;

	if (In0P->Head.msgh_size < 120
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more = In0P->Head.msgh_size - 120;
	if (mig_type_differs(&In0P->oneType, &oneType, 0)
	    || mig_type_differs(&In0P->threeType, &threeType, 0)
	    || mig_type_differs(&In0P->listType, &listType, MIG_VARY_NUMBER)
	    || In0P->listType.msgt_number > 15
	    || In0P->listType.msgt_number % 3 != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	listNumber = In0P->listType.msgt_number / 3;
	listSize = mig_round8(listNumber * 24);
	if (listSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= listSize;
	In1P = (Request1 *) (void *) ((char *) In0P + offsetof(Request, list) + listSize);
	if (mig_type_differs(&In1P->codeType, &codeType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_more != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->twoType = twoType;
	memset(&OutP->two, 0, sizeof OutP->two);
	OutP->threeType = threeReplyType;
	OutP->three = In0P->three;
	OutP->list_outType = list_outType;
	list_outNumber = 5;

	OutP->RetCode = v_records(
		In0P->Head.msgh_local_port,
		In0P->one,
		&OutP->two,
		&OutP->three,
		In0P->list,
		listNumber,
		OutP->list_out,
		&list_outNumber,
		In1P->code);
	if (OutP->RetCode != KERN_SUCCESS)
		return;
	if (list_outNumber > 5) {
		OutP->RetCode = MIG_ARRAY_TOO_LARGE;
		return;
	}

	OutP->list_outType.msgt_number = list_outNumber * 3;
	list_outSize = list_outNumber * 24;
	OutP->Head.msgh_size = 120 + list_outSize;
}

/* The same by trap. */
static kern_return_t _Trecords(mach_port_t mig_port, void *mig_arguments, void *mig_context)
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
	typedef struct {
		record_t list[5] __attribute__((aligned(8)));
		record_t list_out[5] __attribute__((aligned(8)));
	} Rooms;

	const Arguments *const mig_in = mig_arguments;
	Rooms mig_rooms;
	Rooms *const mig_room = &mig_rooms;
	record_t oneMemory;
	record_t twoArg;
	record_t threeArg;
	mach_msg_type_number_t list_outNumber;
	int codeMemory;
	kern_return_t mig_result;

	(void) mig_context;
	if (mig_in->listCnt > 5)
		return MIG_ARRAY_TOO_LARGE;
	memcpy(&oneMemory, mig_in->one, sizeof oneMemory);
	memset(&twoArg, 0, sizeof twoArg);
	memcpy(&threeArg, mig_in->three, sizeof threeArg);
	if (mig_in->listCnt != 0)
		memcpy(mig_room->list, mig_in->list, mig_in->listCnt * 24);
	list_outNumber = 5;
	memcpy(&codeMemory, &mig_in->code, sizeof codeMemory);

	mig_result = v_records(mig_port, oneMemory, &twoArg, &threeArg, mig_room->list, mig_in->listCnt, mig_room->list_out, &list_outNumber, codeMemory);
	if (mig_result != KERN_SUCCESS)
		return mig_trap_code(mig_result);
	if (list_outNumber > 5)
		return MIG_ARRAY_TOO_LARGE;
	memcpy(mig_in->two, &twoArg, sizeof twoArg);
	memcpy(mig_in->three, &threeArg, sizeof threeArg);
	if (list_outNumber != 0)
		memcpy(mig_in->list_out, mig_room->list_out, list_outNumber * 24);
	*mig_in->list_outCnt = list_outNumber;
	return KERN_SUCCESS;
}

/* trap.defs:54 (message 8004):
 *   routine scribble(server: mach_port_t; three: three_t; list: ints_t; word: word_t; label: label_t;
 *       one: record_t); */
extern kern_return_t v_scribble(
	mach_port_t server,
	three_t three,
	ints_t list,
	mach_msg_type_number_t listCnt,
	word_t word,
	label_t label,
	record_t one);

static void _Xscribble(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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
	static const mach_msg_type_t threeType = { .msgt_name = MACH_MSG_TYPE_INTEGER_16, .msgt_size = 16, .msgt_inline = TRUE, .msgt_number = 3 };
	static const mach_msg_type_t listType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE };
	static const mach_msg_type_t wordType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE };
	static const mach_msg_type_t labelType = { .msgt_name = MACH_MSG_TYPE_STRING_C, .msgt_size = 8, .msgt_inline = TRUE, .msgt_number = 12 };
	static const mach_msg_type_t oneType = { .msgt_name = MACH_MSG_TYPE_INTEGER_64, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 3 };

	Request *const In0P = (Request *) (void *) InHeadP;
	mig_reply_header_t *const OutP = (mig_reply_header_t *) (void *) OutHeadP;
	Request1 *In1P;
	Request2 *In2P;
	mach_msg_type_number_t listNumber;
	mach_msg_size_t listSize;
	mach_msg_type_number_t wordNumber;
	mach_msg_size_t wordSize;
	mach_msg_size_t mig_more;

	if (In0P->Head.msgh_size < 120
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more = In0P->Head.msgh_size - 120;
	if (mig_type_differs(&In0P->threeType, &threeType, 0)
	    || mig_type_differs(&In0P->listType, &listType, MIG_VARY_NUMBER)
	    || In0P->listType.msgt_number > 10) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	listNumber = In0P->listType.msgt_number;
	listSize = mig_round8(listNumber * 4);
	if (listSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= listSize;
	In1P = (Request1 *) (void *) ((char *) In0P + offsetof(Request, list) + listSize);
	if (mig_type_differs(&In1P->wordType, &wordType, MIG_VARY_NUMBER)
	    || In1P->wordType.msgt_number > 16) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	wordNumber = In1P->wordType.msgt_number;
	wordSize = mig_round8(wordNumber);
	if (wordSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= wordSize;
	if (memchr(In1P->word, 0, wordNumber) == NULL) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	In2P = (Request2 *) (void *) ((char *) In1P + offsetof(Request1, word) + wordSize);
	if (mig_type_differs(&In2P->labelType, &labelType, 0)
	    || memchr(In2P->label, 0, 12) == NULL
	    || mig_type_differs(&In2P->oneType, &oneType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_more != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->RetCode = v_scribble(
		In0P->Head.msgh_local_port,
		In0P->three,
		In0P->list,
		listNumber,
		In1P->word,
		In2P->label,
		In2P->one);
}

/* The same by trap. */
static kern_return_t _Tscribble(mach_port_t mig_port, void *mig_arguments, void *mig_context)
{
	typedef struct {
		const void *three;
		const void *list;
		mach_msg_type_number_t listCnt;
		const void *word;
		const void *label;
		const void *one;
	} Arguments;
	typedef struct {
		short three[3] __attribute__((aligned(8)));
		int list[10] __attribute__((aligned(8)));
		char word[16] __attribute__((aligned(8)));
		char label[12] __attribute__((aligned(8)));
	} Rooms;

	const Arguments *const mig_in = mig_arguments;
	Rooms mig_rooms;
	Rooms *const mig_room = &mig_rooms;
	record_t oneMemory;
	kern_return_t mig_result;

	(void) mig_context;
	if (mig_in->listCnt > 10)
		return MIG_ARRAY_TOO_LARGE;
	memcpy(mig_room->three, mig_in->three, 6);
	if (mig_in->listCnt != 0)
		memcpy(mig_room->list, mig_in->list, mig_in->listCnt * 4);
	(void) mig_strncpy(mig_room->word, mig_in->word, 16);
	(void) mig_strncpy_zerofill(mig_room->label, mig_in->label, 12);
	memcpy(&oneMemory, mig_in->one, sizeof oneMemory);

	mig_result = v_scribble(mig_port, mig_room->three, mig_room->list, mig_in->listCnt, mig_room->word, mig_room->label, oneMemory);
	if (mig_result != KERN_SUCCESS)
		return mig_trap_code(mig_result);
	return KERN_SUCCESS;
}

/* trap.defs:63 (message 8005):
 *   routine lent(server: mach_port_t; three: three_t, const; list: ints_t, const; word: word_t, const;
 *       label: label_t, const; address: int64; out same: int); */
extern kern_return_t v_lent(
	mach_port_t server,
	const three_t three,
	const ints_t list,
	mach_msg_type_number_t listCnt,
	const word_t word,
	const label_t label,
	int64_t address,
	int *same);

static void _Xlent(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	Request1 *In1P;
	Request2 *In2P;
	mach_msg_type_number_t listNumber;
	mach_msg_size_t listSize;
	mach_msg_type_number_t wordNumber;
	mach_msg_size_t wordSize;
	mach_msg_size_t mig_more;

	if (In0P->Head.msgh_size < 104
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more = In0P->Head.msgh_size - 104;
	if (mig_type_differs(&In0P->threeType, &threeType, 0)
	    || mig_type_differs(&In0P->listType, &listType, MIG_VARY_NUMBER)
	    || In0P->listType.msgt_number > 10) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	listNumber = In0P->listType.msgt_number;
	listSize = mig_round8(listNumber * 4);
	if (listSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= listSize;
	In1P = (Request1 *) (void *) ((char *) In0P + offsetof(Request, list) + listSize);
	if (mig_type_differs(&In1P->wordType, &wordType, MIG_VARY_NUMBER)
	    || In1P->wordType.msgt_number > 16) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	wordNumber = In1P->wordType.msgt_number;
	wordSize = mig_round8(wordNumber);
	if (wordSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= wordSize;
	if (memchr(In1P->word, 0, wordNumber) == NULL) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	In2P = (Request2 *) (void *) ((char *) In1P + offsetof(Request1, word) + wordSize);
	if (mig_type_differs(&In2P->labelType, &labelType, 0)
	    || memchr(In2P->label, 0, 12) == NULL
	    || mig_type_differs(&In2P->addressType, &addressType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_more != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->sameType = sameType;
	OutP->sameWide = 0;

	OutP->RetCode = v_lent(
		In0P->Head.msgh_local_port,
		In0P->three,
		In0P->list,
		listNumber,
		In1P->word,
		In2P->label,
		In2P->address,
		&OutP->same);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->Head.msgh_size = 64;
}

/* The same by trap. */
static kern_return_t _Tlent(mach_port_t mig_port, void *mig_arguments, void *mig_context)
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
	typedef struct {
		char word[16] __attribute__((aligned(8)));
		char label[12] __attribute__((aligned(8)));
	} Rooms;

	const Arguments *const mig_in = mig_arguments;
	Rooms mig_rooms;
	Rooms *const mig_room = &mig_rooms;
	void *threeArg;
	void *listArg;
	void *wordArg;
	int64_t addressMemory;
	int sameArg;
	kern_return_t mig_result;

	(void) mig_context;
	if (mig_in->listCnt > 10)
		return MIG_ARRAY_TOO_LARGE;
	threeArg = (void *) (uintptr_t) mig_in->three;
	listArg = (void *) (uintptr_t) mig_in->list;
	wordArg = (void *) (uintptr_t) mig_in->word;
	if (memchr(mig_in->word, 0, 16) == NULL) {
		memcpy(mig_room->word, mig_in->word, 15);
		mig_room->word[15] = '\0';
		wordArg = mig_room->word;
	}
	(void) mig_strncpy_zerofill(mig_room->label, mig_in->label, 12);
	memcpy(&addressMemory, &mig_in->address, sizeof addressMemory);
	memset(&sameArg, 0, sizeof sameArg);

	mig_result = v_lent(mig_port, threeArg, listArg, mig_in->listCnt, wordArg, mig_room->label, addressMemory, &sameArg);
	if (mig_result != KERN_SUCCESS)
		return mig_trap_code(mig_result);
	memcpy(mig_in->same, &sameArg, sizeof sameArg);
	return KERN_SUCCESS;
}

/* trap.defs:72 (message 8006):
 *   routine strings(server: mach_port_t; word: word_t; label: label_t; out word_out: word_t; out
 *       label_out: label_t; inout word_both: word_t; inout label_both: label_t; code: int); */
extern kern_return_t v_strings(
	mach_port_t server,
	word_t word,
	label_t label,
	word_t word_out,
	label_t label_out,
	word_t word_both,
	label_t label_both,
	int code);

static void _Xstrings(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	Request1 *In1P;
	Request2 *In2P;
	mach_msg_type_number_t wordNumber;
	mach_msg_size_t wordSize;
	mach_msg_type_number_t word_bothNumber;
	mach_msg_size_t word_bothSize;
	mach_msg_size_t mig_more;
	Reply1 *Out1P;
	Reply2 *Out2P;
	mach_msg_size_t word_outSize;
	mach_msg_size_t mig_at;

	if (In0P->Head.msgh_size < 112
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more = In0P->Head.msgh_size - 112;
	if (mig_type_differs(&In0P->wordType, &wordType, MIG_VARY_NUMBER)
	    || In0P->wordType.msgt_number > 16) {
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
	    || memchr(In1P->label, 0, 12) == NULL
	    || mig_type_differs(&In1P->word_bothType, &word_bothType, MIG_VARY_NUMBER)
	    || In1P->word_bothType.msgt_number > 16) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	word_bothNumber = In1P->word_bothType.msgt_number;
	word_bothSize = mig_round8(word_bothNumber);
	if (word_bothSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= word_bothSize;
	if (memchr(In1P->word_both, 0, word_bothNumber) == NULL) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	In2P = (Request2 *) (void *) ((char *) In1P + offsetof(Request1, word_both) + word_bothSize);
	if (mig_type_differs(&In2P->label_bothType, &label_bothType, 0)
	    || memchr(In2P->label_both, 0, 12) == NULL
	    || mig_type_differs(&In2P->codeType, &codeType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_more != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	Out1P = (Reply1 *) (void *) ((char *) OutHeadP + 72);
	Out2P = (Reply2 *) (void *) ((char *) OutHeadP + 120);
	OutP->word_outType = word_outType;
	OutP->word_out[0] = '\0';
	Out1P->label_outType = label_outType;
	Out1P->label_out[0] = '\0';
	Out1P->word_bothType = word_bothReplyType;
	memcpy(Out1P->word_both, In1P->word_both, word_bothNumber);
	Out2P->label_bothType = label_bothReplyType;
	memcpy(Out2P->label_both, In2P->label_both, 12);

	OutP->RetCode = v_strings(
		In0P->Head.msgh_local_port,
		In0P->word,
		In1P->label,
		OutP->word_out,
		Out1P->label_out,
		Out1P->word_both,
		Out2P->label_both,
		In2P->code);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->word_out[15] = '\0';
	word_outSize = (mach_msg_size_t) strlen(OutP->word_out) + 1;
	OutP->word_outType.msgt_number = word_outSize;
	word_outSize = mig_clear_tail(OutP->word_out, word_outSize);
	Out1P->label_out[11] = '\0';
	memset(Out1P->label_out + strlen(Out1P->label_out), 0, 12 - strlen(Out1P->label_out));
	memset(Out1P->label_outPad, 0, 4);
	Out1P->word_both[15] = '\0';
	word_bothSize = (mach_msg_size_t) strlen(Out1P->word_both) + 1;
	Out1P->word_bothType.msgt_number = word_bothSize;
	word_bothSize = mig_clear_tail(Out1P->word_both, word_bothSize);
	Out2P->label_both[11] = '\0';
	memset(Out2P->label_both + strlen(Out2P->label_both), 0, 12 - strlen(Out2P->label_both));
	memset(Out2P->label_bothPad, 0, 4);
	mig_at = 56 + word_outSize;
	memmove((char *) OutHeadP + mig_at, Out1P, 32 + word_bothSize);
	mig_at += 32 + word_bothSize;
	memmove((char *) OutHeadP + mig_at, Out2P, 24);
	mig_at += 24;
	OutP->Head.msgh_size = mig_at;
}

/* The same by trap. */
static kern_return_t _Tstrings(mach_port_t mig_port, void *mig_arguments, void *mig_context)
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
	typedef struct {
		char word[16] __attribute__((aligned(8)));
		char label[12] __attribute__((aligned(8)));
		char word_out[16] __attribute__((aligned(8)));
		char label_out[12] __attribute__((aligned(8)));
		char word_both[16] __attribute__((aligned(8)));
		char label_both[12] __attribute__((aligned(8)));
	} Rooms;

	const Arguments *const mig_in = mig_arguments;
	Rooms mig_rooms;
	Rooms *const mig_room = &mig_rooms;
	int codeMemory;
	kern_return_t mig_result;

	(void) mig_context;
	(void) mig_strncpy(mig_room->word, mig_in->word, 16);
	(void) mig_strncpy_zerofill(mig_room->label, mig_in->label, 12);
	mig_room->word_out[0] = '\0';
	mig_room->label_out[0] = '\0';
	(void) mig_strncpy(mig_room->word_both, mig_in->word_both, 16);
	(void) mig_strncpy_zerofill(mig_room->label_both, mig_in->label_both, 12);
	memcpy(&codeMemory, &mig_in->code, sizeof codeMemory);

	mig_result = v_strings(mig_port, mig_room->word, mig_room->label, mig_room->word_out, mig_room->label_out, mig_room->word_both, mig_room->label_both, codeMemory);
	if (mig_result != KERN_SUCCESS)
		return mig_trap_code(mig_result);
	mig_room->word_out[15] = '\0';
	memcpy(mig_in->word_out, mig_room->word_out, strlen(mig_room->word_out) + 1);
	mig_room->label_out[11] = '\0';
	memcpy(mig_in->label_out, mig_room->label_out, strlen(mig_room->label_out) + 1);
	mig_room->word_both[15] = '\0';
	memcpy(mig_in->word_both, mig_room->word_both, strlen(mig_room->word_both) + 1);
	mig_room->label_both[11] = '\0';
	memcpy(mig_in->label_both, mig_room->label_both, strlen(mig_room->label_both) + 1);
	return KERN_SUCCESS;
}

/* trap.defs:83 (message 8007):
 *   routine arrays(server: mach_port_t; list: ints_t; claim: int; out three: three_t; out list_out:
 *       ints_t; inout list_both: ints_t; code: int); */
extern kern_return_t v_arrays(
	mach_port_t server,
	ints_t list,
	mach_msg_type_number_t listCnt,
	int claim,
	three_t three,
	ints_t list_out,
	mach_msg_type_number_t *list_outCnt,
	ints_t list_both,
	mach_msg_type_number_t *list_bothCnt,
	int code);

static void _Xarrays(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	Request1 *In1P;
	Request2 *In2P;
	mach_msg_type_number_t listNumber;
	mach_msg_size_t listSize;
	mach_msg_type_number_t list_bothNumber;
	mach_msg_size_t list_bothSize;
	mach_msg_size_t mig_more;
	Reply1 *Out1P;
	mach_msg_type_number_t list_outNumber;
	mach_msg_size_t list_outSize;
	mach_msg_size_t mig_at;

	if (In0P->Head.msgh_size < 80
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more = In0P->Head.msgh_size - 80;
	if (mig_type_differs(&In0P->listType, &listType, MIG_VARY_NUMBER)
	    || In0P->listType.msgt_number > 10) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	listNumber = In0P->listType.msgt_number;
	listSize = mig_round8(listNumber * 4);
	if (listSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= listSize;
	In1P = (Request1 *) (void *) ((char *) In0P + offsetof(Request, list) + listSize);
	if (mig_type_differs(&In1P->claimType, &claimType, 0)
	    || mig_type_differs(&In1P->list_bothType, &list_bothType, MIG_VARY_NUMBER)
	    || In1P->list_bothType.msgt_number > 10) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	list_bothNumber = In1P->list_bothType.msgt_number;
	list_bothSize = mig_round8(list_bothNumber * 4);
	if (list_bothSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= list_bothSize;
	In2P = (Request2 *) (void *) ((char *) In1P + offsetof(Request1, list_both) + list_bothSize);
	if (mig_type_differs(&In2P->codeType, &codeType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_more != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	Out1P = (Reply1 *) (void *) ((char *) OutHeadP + 112);
	OutP->threeType = threeType;
	memset(OutP->three, 0, sizeof OutP->three);
	OutP->list_outType = list_outType;
	list_outNumber = 10;
	Out1P->list_bothType = list_bothReplyType;
	memcpy(Out1P->list_both, In1P->list_both, list_bothNumber * 4);

	OutP->RetCode = v_arrays(
		In0P->Head.msgh_local_port,
		In0P->list,
		listNumber,
		In1P->claim,
		OutP->three,
		OutP->list_out,
		&list_outNumber,
		Out1P->list_both,
		&list_bothNumber,
		In2P->code);
	if (OutP->RetCode != KERN_SUCCESS)
		return;
	if (list_outNumber > 10
	    || list_bothNumber > 10) {
		OutP->RetCode = MIG_ARRAY_TOO_LARGE;
		return;
	}

	memset(OutP->threePad, 0, 2);
	OutP->list_outType.msgt_number = list_outNumber;
	list_outSize = mig_clear_tail(OutP->list_out, list_outNumber * 4);
	Out1P->list_bothType.msgt_number = list_bothNumber;
	list_bothSize = mig_clear_tail(Out1P->list_both, list_bothNumber * 4);
	mig_at = 72 + list_outSize;
	memmove((char *) OutHeadP + mig_at, Out1P, 8 + list_bothSize);
	mig_at += 8 + list_bothSize;
	OutP->Head.msgh_size = mig_at;
}

/* The same by trap. */
static kern_return_t _Tarrays(mach_port_t mig_port, void *mig_arguments, void *mig_context)
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
	typedef struct {
		int list[10] __attribute__((aligned(8)));
		short three[3] __attribute__((aligned(8)));
		int list_out[10] __attribute__((aligned(8)));
		int list_both[10] __attribute__((aligned(8)));
	} Rooms;

	const Arguments *const mig_in = mig_arguments;
	Rooms mig_rooms;
	Rooms *const mig_room = &mig_rooms;
	int claimMemory;
	mach_msg_type_number_t list_outNumber;
	mach_msg_type_number_t list_bothNumber;
	int codeMemory;
	kern_return_t mig_result;

	(void) mig_context;
	list_bothNumber = *mig_in->list_bothCnt;
	if (mig_in->listCnt > 10
	    || list_bothNumber > 10)
		return MIG_ARRAY_TOO_LARGE;
	if (mig_in->listCnt != 0)
		memcpy(mig_room->list, mig_in->list, mig_in->listCnt * 4);
	memcpy(&claimMemory, &mig_in->claim, sizeof claimMemory);
	memset(mig_room->three, 0, sizeof mig_room->three);
	list_outNumber = 10;
	if (list_bothNumber != 0)
		memcpy(mig_room->list_both, mig_in->list_both, list_bothNumber * 4);
	memcpy(&codeMemory, &mig_in->code, sizeof codeMemory);

	mig_result = v_arrays(mig_port, mig_room->list, mig_in->listCnt, claimMemory, mig_room->three, mig_room->list_out, &list_outNumber, mig_room->list_both, &list_bothNumber, codeMemory);
	if (mig_result != KERN_SUCCESS)
		return mig_trap_code(mig_result);
	if (list_outNumber > 10
	    || list_bothNumber > 10)
		return MIG_ARRAY_TOO_LARGE;
	memcpy(mig_in->three, mig_room->three, 6);
	if (list_outNumber != 0)
		memcpy(mig_in->list_out, mig_room->list_out, list_outNumber * 4);
	*mig_in->list_outCnt = list_outNumber;
	if (list_bothNumber != 0)
		memcpy(mig_in->list_both, mig_room->list_both, list_bothNumber * 4);
	*mig_in->list_bothCnt = list_bothNumber;
	return KERN_SUCCESS;
}

/* trap.defs:92 (message 8008):
 *   routine room(server: mach_port_t; claim: int; out list: ints_t, countinout; out told: int); */
extern kern_return_t v_room(
	mach_port_t server,
	int claim,
	ints_t list,
	mach_msg_type_number_t *listCnt,
	int *told);

static void _Xroom(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	Reply1 *Out1P;
	mach_msg_type_number_t listNumber;
	mach_msg_size_t listSize;
	mach_msg_size_t mig_at;

	if (In0P->Head.msgh_size != 64
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->claimType, &claimType, 0)
	    || mig_type_differs(&In0P->listCntType, &listCntType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	Out1P = (Reply1 *) (void *) ((char *) OutHeadP + 96);
	OutP->listType = listType;
	listNumber = In0P->listCnt < 10 ? In0P->listCnt : 10;
	Out1P->toldType = toldType;
	Out1P->toldWide = 0;

	OutP->RetCode = v_room(
		In0P->Head.msgh_local_port,
		In0P->claim,
		OutP->list,
		&listNumber,
		&Out1P->told);
	if (OutP->RetCode != KERN_SUCCESS)
		return;
	if (listNumber > 10) {
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

/* The same by trap. */
static kern_return_t _Troom(mach_port_t mig_port, void *mig_arguments, void *mig_context)
{
	typedef struct {
		uint32_t claim;
		void *list;
		mach_msg_type_number_t *listCnt;
		void *told;
	} Arguments;
	typedef struct {
		int list[10] __attribute__((aligned(8)));
	} Rooms;

	const Arguments *const mig_in = mig_arguments;
	Rooms mig_rooms;
	Rooms *const mig_room = &mig_rooms;
	int claimMemory;
	mach_msg_type_number_t listNumber;
	int toldArg;
	kern_return_t mig_result;

	(void) mig_context;
	memcpy(&claimMemory, &mig_in->claim, sizeof claimMemory);
	listNumber = *mig_in->listCnt;
	if (listNumber > 10)
		listNumber = 10;
	memset(&toldArg, 0, sizeof toldArg);

	mig_result = v_room(mig_port, claimMemory, mig_room->list, &listNumber, &toldArg);
	if (mig_result != KERN_SUCCESS)
		return mig_trap_code(mig_result);
	if (listNumber > 10)
		return MIG_ARRAY_TOO_LARGE;
	if (listNumber > *mig_in->listCnt)
		return MIG_ARRAY_TOO_LARGE;
	if (listNumber != 0)
		memcpy(mig_in->list, mig_room->list, listNumber * 4);
	*mig_in->listCnt = listNumber;
	memcpy(mig_in->told, &toldArg, sizeof toldArg);
	return KERN_SUCCESS;
}

/* trap.defs:98 (message 8009):
 *   routine pairs(server: mach_port_t; keys: ints_t; values: ints_t, samecount; out keys_out: ints_t;
 *       out values_out: ints_t, samecount; code: int); */
extern kern_return_t v_pairs(
	mach_port_t server,
	ints_t keys,
	mach_msg_type_number_t keysCnt,
	ints_t values,
	ints_t keys_out,
	mach_msg_type_number_t *keys_outCnt,
	ints_t values_out,
	int code);

static void _Xpairs(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	Request1 *In1P;
	Request2 *In2P;
	mach_msg_type_number_t keysNumber;
	mach_msg_size_t keysSize;
	mach_msg_type_number_t valuesNumber;
	mach_msg_size_t valuesSize;
	mach_msg_size_t mig_more;
	Reply1 *Out1P;
	mach_msg_type_number_t keys_outNumber;
	mach_msg_size_t keys_outSize;
	mach_msg_type_number_t values_outNumber;
	mach_msg_size_t values_outSize;
	mach_msg_size_t mig_at;

	if (In0P->Head.msgh_size < 64
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more = In0P->Head.msgh_size - 64;
	if (mig_type_differs(&In0P->keysType, &keysType, MIG_VARY_NUMBER)
	    || In0P->keysType.msgt_number > 10) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	keysNumber = In0P->keysType.msgt_number;
	keysSize = mig_round8(keysNumber * 4);
	if (keysSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= keysSize;
	In1P = (Request1 *) (void *) ((char *) In0P + offsetof(Request, keys) + keysSize);
	if (mig_type_differs(&In1P->valuesType, &valuesType, MIG_VARY_NUMBER)
	    || In1P->valuesType.msgt_number > 10) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	valuesNumber = In1P->valuesType.msgt_number;
	valuesSize = mig_round8(valuesNumber * 4);
	if (valuesSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= valuesSize;
	In2P = (Request2 *) (void *) ((char *) In1P + offsetof(Request1, values) + valuesSize);
	if (mig_type_differs(&In2P->codeType, &codeType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_more != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (valuesNumber != keysNumber) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	Out1P = (Reply1 *) (void *) ((char *) OutHeadP + 96);
	OutP->keys_outType = keys_outType;
	keys_outNumber = 10;
	Out1P->values_outType = values_outType;
	values_outNumber = 10;

	OutP->RetCode = v_pairs(
		In0P->Head.msgh_local_port,
		In0P->keys,
		keysNumber,
		In1P->values,
		OutP->keys_out,
		&keys_outNumber,
		Out1P->values_out,
		In2P->code);
	if (OutP->RetCode != KERN_SUCCESS)
		return;
	if (keys_outNumber > 10
	    || values_outNumber > 10) {
		OutP->RetCode = MIG_ARRAY_TOO_LARGE;
		return;
	}

	OutP->keys_outType.msgt_number = keys_outNumber;
	keys_outSize = mig_clear_tail(OutP->keys_out, keys_outNumber * 4);
	Out1P->values_outType.msgt_number = keys_outNumber;
	values_outSize = mig_clear_tail(Out1P->values_out, keys_outNumber * 4);
	mig_at = 56 + keys_outSize;
	memmove((char *) OutHeadP + mig_at, Out1P, 8 + values_outSize);
	mig_at += 8 + values_outSize;
	OutP->Head.msgh_size = mig_at;
}

/* The same by trap. */
static kern_return_t _Tpairs(mach_port_t mig_port, void *mig_arguments, void *mig_context)
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
	typedef struct {
		int keys[10] __attribute__((aligned(8)));
		int values[10] __attribute__((aligned(8)));
		int keys_out[10] __attribute__((aligned(8)));
		int values_out[10] __attribute__((aligned(8)));
	} Rooms;

	const Arguments *const mig_in = mig_arguments;
	Rooms mig_rooms;
	Rooms *const mig_room = &mig_rooms;
	mach_msg_type_number_t keys_outNumber;
	int codeMemory;
	kern_return_t mig_result;

	(void) mig_context;
	if (mig_in->keysCnt > 10
	    || mig_in->keysCnt > 10)
		return MIG_ARRAY_TOO_LARGE;
	if (mig_in->keysCnt != 0)
		memcpy(mig_room->keys, mig_in->keys, mig_in->keysCnt * 4);
	if (mig_in->keysCnt != 0)
		memcpy(mig_room->values, mig_in->values, mig_in->keysCnt * 4);
	keys_outNumber = 10;
	memcpy(&codeMemory, &mig_in->code, sizeof codeMemory);

	mig_result = v_pairs(mig_port, mig_room->keys, mig_in->keysCnt, mig_room->values, mig_room->keys_out, &keys_outNumber, mig_room->values_out, codeMemory);
	if (mig_result != KERN_SUCCESS)
		return mig_trap_code(mig_result);
	if (keys_outNumber > 10
	    || keys_outNumber > 10)
		return MIG_ARRAY_TOO_LARGE;
	if (keys_outNumber != 0)
		memcpy(mig_in->keys_out, mig_room->keys_out, keys_outNumber * 4);
	*mig_in->keys_outCnt = keys_outNumber;
	if (keys_outNumber != 0)
		memcpy(mig_in->values_out, mig_room->values_out, keys_outNumber * 4);
	return KERN_SUCCESS;
}

/* trap.defs:107 (message 8010):
 *   routine many(server: mach_port_t; list: many_t; out list_out: many_t; code: int); */
extern kern_return_t v_many(
	mach_port_t server,
	many_t list,
	mach_msg_type_number_t listCnt,
	many_t list_out,
	mach_msg_type_number_t *list_outCnt,
	int code);

static void _Xmany(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	Request1 *In1P;
	mach_msg_type_number_t listNumber;
	mach_msg_size_t listSize;
	mach_msg_size_t mig_more;
	mach_msg_type_number_t list_outNumber;
	mach_msg_size_t list_outSize;

	if (In0P->Head.msgh_size < 56
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more = In0P->Head.msgh_size - 56;
	if (mig_type_differs(&In0P->listType, &listType, MIG_VARY_NUMBER)
	    || In0P->listType.msgt_number > 20000) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	listNumber = In0P->listType.msgt_number;
	listSize = mig_round8(listNumber * 4);
	if (listSize > mig_more) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	mig_more -= listSize;
	In1P = (Request1 *) (void *) ((char *) In0P + offsetof(Request, list) + listSize);
	if (mig_type_differs(&In1P->codeType, &codeType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_more != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->list_outType = list_outType;
	list_outNumber = 20000;

	OutP->RetCode = v_many(
		In0P->Head.msgh_local_port,
		In0P->list,
		listNumber,
		OutP->list_out,
		&list_outNumber,
		In1P->code);
	if (OutP->RetCode != KERN_SUCCESS)
		return;
	if (list_outNumber > 20000) {
		OutP->RetCode = MIG_ARRAY_TOO_LARGE;
		return;
	}

	OutP->list_outType.msgt_number = list_outNumber;
	list_outSize = mig_clear_tail(OutP->list_out, list_outNumber * 4);
	OutP->Head.msgh_size = 56 + list_outSize;
}

/* The same by trap. */
static kern_return_t _Tmany(mach_port_t mig_port, void *mig_arguments, void *mig_context)
{
	typedef struct {
		const void *list;
		mach_msg_type_number_t listCnt;
		void *list_out;
		mach_msg_type_number_t *list_outCnt;
		uint32_t code;
	} Arguments;
	typedef struct {
		int list[20000] __attribute__((aligned(8)));
		int list_out[20000] __attribute__((aligned(8)));
	} Rooms;

	const Arguments *const mig_in = mig_arguments;
	Rooms *mig_room;
	mach_msg_type_number_t list_outNumber;
	int codeMemory;
	kern_return_t mig_result;

	(void) mig_context;
	if (mig_in->listCnt > 20000)
		return MIG_ARRAY_TOO_LARGE;
	mig_room = mig_trap_allocate(sizeof *mig_room);
	if (mig_room == NULL)
		return KERN_RESOURCE_SHORTAGE;
	if (mig_in->listCnt != 0)
		memcpy(mig_room->list, mig_in->list, mig_in->listCnt * 4);
	list_outNumber = 20000;
	memcpy(&codeMemory, &mig_in->code, sizeof codeMemory);

	mig_result = v_many(mig_port, mig_room->list, mig_in->listCnt, mig_room->list_out, &list_outNumber, codeMemory);
	if (mig_result != KERN_SUCCESS) {
		mig_trap_free(mig_room);
		return mig_trap_code(mig_result);
	}
	if (list_outNumber > 20000) {
		mig_trap_free(mig_room);
		return MIG_ARRAY_TOO_LARGE;
	}
	if (list_outNumber != 0)
		memcpy(mig_in->list_out, mig_room->list_out, list_outNumber * 4);
	*mig_in->list_outCnt = list_outNumber;
	mig_trap_free(mig_room);
	return KERN_SUCCESS;
}

/* trap.defs:113 (message 8011):
 *   routine moneys(server: mach_port_t; one: money_t; inout two: money_t; out three: money_t; code:
 *       int); */
extern kern_return_t v_moneys(
	mach_port_t server,
	struct money one,
	struct money *two,
	struct money *three,
	int code);

static void _Xmoneys(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	struct money oneArg;
	struct money twoArg;
	struct money threeArg;

	if (In0P->Head.msgh_size != 80
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->oneType, &oneType, 0)
	    || mig_type_differs(&In0P->twoType, &twoType, 0)
	    || mig_type_differs(&In0P->codeType, &codeType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	oneArg = money_of(In0P->one);
	twoArg = money_of(In0P->two);
	OutP->twoType = twoReplyType;
	OutP->threeType = threeType;
	memset(&threeArg, 0, sizeof threeArg);

	OutP->RetCode = v_moneys(
		In0P->Head.msgh_local_port,
		oneArg,
		&twoArg,
		&threeArg,
		In0P->code);
	money_done(oneArg);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->twoWide = 0;
	OutP->two = number_of(twoArg);
	OutP->threeWide = 0;
	OutP->three = number_of(threeArg);
	OutP->Head.msgh_size = 80;
}

/* The same by trap. */
static kern_return_t _Tmoneys(mach_port_t mig_port, void *mig_arguments, void *mig_context)
{
	typedef struct {
		uint32_t one;
		void *two;
		void *three;
		uint32_t code;
	} Arguments;

	const Arguments *const mig_in = mig_arguments;
	int oneMemory;
	struct money oneArg;
	int twoMemory;
	struct money twoArg;
	int threeMemory;
	struct money threeArg;
	int codeMemory;
	kern_return_t mig_result;

	(void) mig_context;
	memcpy(&oneMemory, &mig_in->one, sizeof oneMemory);
	oneArg = money_of(oneMemory);
	memcpy(&twoMemory, mig_in->two, sizeof twoMemory);
	twoArg = money_of(twoMemory);
	memset(&threeArg, 0, sizeof threeArg);
	memcpy(&codeMemory, &mig_in->code, sizeof codeMemory);

	mig_result = v_moneys(mig_port, oneArg, &twoArg, &threeArg, codeMemory);
	money_done(oneArg);
	if (mig_result != KERN_SUCCESS)
		return mig_trap_code(mig_result);
	twoMemory = number_of(twoArg);
	threeMemory = number_of(threeArg);
	memcpy(mig_in->two, &twoMemory, sizeof twoMemory);
	memcpy(mig_in->three, &threeMemory, sizeof threeMemory);
	return KERN_SUCCESS;
}

/* trap.defs:121 (message 8012):
 *   routine object(server: object_t; out number: int); */
extern kern_return_t v_object(
	int server,
	int *number);

static void _Xobject(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;
	int serverArg;

	if (In0P->Head.msgh_size != 32
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	serverArg = object_of(In0P->Head.msgh_local_port);
	OutP->numberType = numberType;
	OutP->numberWide = 0;

	OutP->RetCode = v_object(
		serverArg,
		&OutP->number);
	object_done(serverArg);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->Head.msgh_size = 64;
}

/* The same by trap. */
static kern_return_t _Tobject(mach_port_t mig_port, void *mig_arguments, void *mig_context)
{
	typedef struct {
		void *number;
	} Arguments;

	const Arguments *const mig_in = mig_arguments;
	int serverArg;
	int numberArg;
	kern_return_t mig_result;

	(void) mig_context;
	serverArg = object_of(mig_port);
	memset(&numberArg, 0, sizeof numberArg);

	mig_result = v_object(serverArg, &numberArg);
	object_done(serverArg);
	if (mig_result != KERN_SUCCESS)
		return mig_trap_code(mig_result);
	memcpy(mig_in->number, &numberArg, sizeof numberArg);
	return KERN_SUCCESS;
}

/* trap.defs:126 (message 8013):
 *   simpleroutine tell(server: mach_port_t; number: int); */
extern kern_return_t v_tell(
	mach_port_t server,
	int number);

static void _Xtell(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
{
	typedef struct {
		mach_msg_header_t Head;
		mach_msg_type_t numberType;
		__extension__ union { int number; uint64_t numberWide; };
	} Request;
	static const mach_msg_type_t numberType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	Request *const In0P = (Request *) (void *) InHeadP;
	mig_reply_header_t *const OutP = (mig_reply_header_t *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 48
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->numberType, &numberType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->RetCode = v_tell(
		In0P->Head.msgh_local_port,
		In0P->number);
}

/* trap.defs:128 (message 8014):
 *   routine told(server: mach_port_t; out number: int); */
extern kern_return_t v_told(
	mach_port_t server,
	int *number);

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
		mach_msg_type_t numberType;
		__extension__ union { int number; uint64_t numberWide; };
	} Reply;
	static const mach_msg_type_t numberType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 32
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->numberType = numberType;
	OutP->numberWide = 0;

	OutP->RetCode = v_told(
		In0P->Head.msgh_local_port,
		&OutP->number);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->Head.msgh_size = 64;
}

/* The same by trap. */
static kern_return_t _Ttold(mach_port_t mig_port, void *mig_arguments, void *mig_context)
{
	typedef struct {
		void *number;
	} Arguments;

	const Arguments *const mig_in = mig_arguments;
	int numberArg;
	kern_return_t mig_result;

	(void) mig_context;
	memset(&numberArg, 0, sizeof numberArg);

	mig_result = v_told(mig_port, &numberArg);
	if (mig_result != KERN_SUCCESS)
		return mig_trap_code(mig_result);
	memcpy(mig_in->number, &numberArg, sizeof numberArg);
	return KERN_SUCCESS;
}

/* trap.defs:130 (message 8015):
 *   routine right(server: mach_port_t; right: mach_port_make_send_t; out number: int); */
extern kern_return_t v_right(
	mach_port_t server,
	mach_port_t right,
	int *number);

static void _Xright(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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
	static const mach_msg_type_t rightType = { .msgt_name = MACH_MSG_TYPE_PORT_SEND, .msgt_size = 64, .msgt_inline = TRUE, .msgt_number = 1 };
	static const mach_msg_type_t numberType = { .msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1 };

	Request *const In0P = (Request *) (void *) InHeadP;
	Reply *const OutP = (Reply *) (void *) OutHeadP;

	if (In0P->Head.msgh_size != 48
	    || (In0P->Head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}
	if (mig_type_differs(&In0P->rightType, &rightType, 0)) {
		OutP->RetCode = MIG_BAD_ARGUMENTS;
		return;
	}

	OutP->numberType = numberType;
	OutP->numberWide = 0;

	OutP->RetCode = v_right(
		In0P->Head.msgh_local_port,
		In0P->right,
		&OutP->number);
	if (OutP->RetCode != KERN_SUCCESS)
		return;

	OutP->Head.msgh_size = 64;
}

/* The stubs, by the distance of the message's identifier from 8000. */
extern const mig_routine_t traps_server_routines[];
const mig_routine_t traps_server_routines[] = {
	_Xnothing,
	_Xnumbers,
	_Xbehind,
	_Xrecords,
	_Xscribble,
	_Xlent,
	_Xstrings,
	_Xarrays,
	_Xroom,
	_Xpairs,
	_Xmany,
	_Xmoneys,
	_Xobject,
	_Xtell,
	_Xtold,
	_Xright,
};

/* The stub for a request, or 0. */
static inline mig_routine_t mig_find_routine(const mach_msg_header_t *InHeadP)
{
	const uint32_t index = (uint32_t) InHeadP->msgh_id - 8000u;

	return index < 16 ? traps_server_routines[index] : 0;
}

/* The same for others. */
extern mig_routine_t traps_server_routine(const mach_msg_header_t *InHeadP);
mig_routine_t traps_server_routine(const mach_msg_header_t *InHeadP)
{
	return mig_find_routine(InHeadP);
}

/*
 * Serves a request and builds its reply; FALSE if no routine has the request's identifier. With a reply that
 * holds an error other than MIG_NO_REPLY the caller destroys the request, as mach_msg_server does.
 */
extern boolean_t traps_server(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP);
boolean_t traps_server(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP)
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

/* The routines that can be called by trap, for mach_port_register_traps. */
static const struct mach_trap_entry mig_traps_entries[] = {
	{ _Tnothing, UINT64_C(0x72a7ccd0bd10b9fe) },
	{ _Tnumbers, UINT64_C(0x4ae4434dcad46040) },
	{ _Tbehind, UINT64_C(0x4c7eeff6beb9e3b3) },
	{ _Trecords, UINT64_C(0x819092f8da8f3254) },
	{ _Tscribble, UINT64_C(0x44b7a1cb556b1148) },
	{ _Tlent, UINT64_C(0xd902734ac786545f) },
	{ _Tstrings, UINT64_C(0xcfacc9c724b302ee) },
	{ _Tarrays, UINT64_C(0xabb677195605b00c) },
	{ _Troom, UINT64_C(0x650df9eadcec7687) },
	{ _Tpairs, UINT64_C(0x0a206ea3fbe31380) },
	{ _Tmany, UINT64_C(0xa1a2ab4011454fb0) },
	{ _Tmoneys, UINT64_C(0xd863de2d3a3fae4c) },
	{ _Tobject, UINT64_C(0x7626e013ce4c90a4) },
	{ 0, 0 },
	{ _Ttold, UINT64_C(0x8848d2e8f3f1f2f6) },
	{ 0, 0 },
};
extern const mach_trap_table_t traps_traps;
const mach_trap_table_t traps_traps = {
	MACH_TRAP_VERSION, 8000, 16, mig_traps_entries, 0
};
