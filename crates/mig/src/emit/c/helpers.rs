//! Small functions that generated files bring along, each only where it is called.

use std::collections::BTreeSet;

/// A helper function, or a group of constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Helper {
    /// Bits of a type word that may differ.
    Bits,
    /// Compares type words.
    Differs,
    /// Pads a length.
    Round,
    /// Clears the padding behind data.
    Clear,
    /// Names in 8 bytes each to names in 4.
    Narrow,
    /// Names in 4 bytes each to names in 8.
    Widen,
    /// The type word of a return code.
    CodeType,
    /// Destroys a reply that is not what it should be.
    Reject,
    /// What to return for an unexpected reply.
    Fault,
    /// After a call of mach_msg that failed.
    Failed,
    /// What the caller of a routine that failed by trap is told.
    TrapCode,
    /// Darwin's [`Helper::Round`], whose data is in units of four bytes.
    RoundWords,
    /// Darwin's [`Helper::Clear`].
    ClearWords,
    /// Darwin's [`Helper::Fault`].
    FaultWords,
    /// Makes a reply of Darwin's one that has but a code.
    ReplyCode,
}

impl Helper {
    /// Its name in C.
    pub fn name(self) -> &'static str {
        match self {
            Helper::Bits => "`MIG_VARY_NUMBER",
            Helper::Differs => "`mig_type_differs",
            Helper::Round => "`mig_round8",
            Helper::Clear | Helper::ClearWords => "`mig_clear_tail",
            Helper::Narrow => "`mig_narrow",
            Helper::Widen => "`mig_widen",
            Helper::CodeType => "`mig_code_type",
            Helper::Fault | Helper::FaultWords => "`mig_reply_fault",
            Helper::Reject => "`mig_reply_reject",
            Helper::Failed => "`mig_call_failed",
            Helper::TrapCode => "`mig_trap_code",
            Helper::RoundWords => "`mig_round4",
            Helper::ReplyCode => "`mig_reply_code",
        }
    }

    fn needs(self) -> &'static [Helper] {
        match self {
            Helper::Fault => &[Helper::CodeType, Helper::Reject, Helper::Differs],
            Helper::FaultWords => &[Helper::Reject],
            _ => &[],
        }
    }

    /// Its text.
    pub fn text(self, prefix: &str) -> String {
        let text = match self {
            Helper::Bits => BITS,
            Helper::Differs => DIFFERS,
            Helper::Round => ROUND,
            Helper::Clear => CLEAR,
            Helper::Narrow => NARROW,
            Helper::Widen => WIDEN,
            Helper::CodeType => CODE_TYPE,
            Helper::Fault => FAULT,
            Helper::Reject => REJECT,
            Helper::Failed => FAILED,
            Helper::TrapCode => TRAP_CODE,
            Helper::RoundWords => ROUND_WORDS,
            Helper::ClearWords => CLEAR_WORDS,
            Helper::FaultWords => FAULT_WORDS,
            Helper::ReplyCode => REPLY_CODE,
        };
        text.replace("@", prefix)
    }
}

/// The helpers and all that they call, in the order in which C must see them.
pub fn with_dependencies(used: &BTreeSet<Helper>) -> BTreeSet<Helper> {
    used.iter().flat_map(|h| h.needs().iter().copied().chain([*h])).collect()
}

const BITS: &str = "\
/* Parts of a type word that are not compared. */
#define `MIG_VARY_NAME 0x00000000000000ffull
#define `MIG_VARY_DEALLOCATE 0x0000000080000000ull
#define `MIG_VARY_NUMBER 0xffffffff00000000ull
";

const DIFFERS: &str = "\
/* Whether a type word is not the expected one, apart from the bits that may vary and the mark of the long form. */
static inline int `mig_type_differs(const mach_msg_type_t *got, const mach_msg_type_t *expected, uint64_t vary)
{
	uint64_t a, b;

	memcpy(&a, got, sizeof a);
	memcpy(&b, expected, sizeof b);
	return ((a ^ b) & ~(vary | 0x0000000040000000ull)) != 0;
}
";

const ROUND: &str = "\
/* The length with its padding. */
static inline mach_msg_size_t `mig_round8(mach_msg_size_t length)
{
	return (length + 7) & ~(mach_msg_size_t) 7;
}
";

const CLEAR: &str = "\
/* Clears the padding behind data of that length, and returns the length with the padding. */
static inline mach_msg_size_t `mig_clear_tail(void *data, mach_msg_size_t length)
{
	mach_msg_size_t padded = (length + 7) & ~(mach_msg_size_t) 7;

	if (padded != length)
		memset((char *) data + length, 0, padded - length);
	return padded;
}
";

const NARROW: &str = "\
/* Ports take 8 bytes each in a message and 4 in C. The places may be the same. */
static inline void *`mig_narrow(void *to, const void *from, mach_msg_type_number_t count)
{
	mach_msg_type_number_t i;

	for (i = 0; i < count; i++)
		memmove((char *) to + 4 * (size_t) i, (const char *) from + 8 * (size_t) i, 4);
	return to;
}
";

const WIDEN: &str = "\
/* Ports take 4 bytes each in C and 8 in a message. The places may be the same. */
static inline void `mig_widen(void *to, const void *from, mach_msg_type_number_t count)
{
	while (count-- > 0) {
		uint64_t wide = 0;

		memcpy(&wide, (const char *) from + 4 * (size_t) count, 4);
		memcpy((char *) to + 8 * (size_t) count, &wide, 8);
	}
}
";

const CODE_TYPE: &str = "\
/* The type of a reply's return code. */
static const mach_msg_type_t `mig_code_type = {
	.msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_inline = TRUE, .msgt_number = 1
};
";

const REJECT: &str = "\
/* Destroys the rights and memory of a reply that can't be used. */
static __attribute__((cold, noinline)) kern_return_t `mig_reply_reject(mach_msg_header_t *reply, kern_return_t code)
{
	@mach_msg_destroy(reply);
	return code;
}
";

const FAULT: &str = "\
/* What to return for a reply that is not the one of success. */
static __attribute__((cold, noinline)) kern_return_t `mig_reply_fault(mach_msg_header_t *reply, mach_msg_id_t id)
{
	mig_reply_header_t *head = (mig_reply_header_t *) (void *) reply;

	if (reply->msgh_id == MACH_NOTIFY_SEND_ONCE)
		return `mig_reply_reject(reply, MIG_SERVER_DIED);
	if (reply->msgh_id != id)
		return `mig_reply_reject(reply, MIG_REPLY_MISMATCH);
	if (reply->msgh_size != sizeof *head || (reply->msgh_bits & MACH_MSGH_BITS_COMPLEX) != 0
	    || `mig_type_differs(&head->RetCodeType, &`mig_code_type, 0) || head->RetCode == KERN_SUCCESS)
		return `mig_reply_reject(reply, MIG_TYPE_ERROR);
	return head->RetCode;
}
";

const FAILED: &str = "\
/* After a call that failed: a reply port to which a reply may still come is not used again. */
static __attribute__((cold, noinline)) mach_msg_return_t `mig_call_failed(mach_port_t reply_port, mach_msg_return_t result)
{
	if (result < MACH_RCV_IN_PROGRESS && result != MACH_SEND_INVALID_REPLY)
		@mig_put_reply_port(reply_port);
	else
		@mig_dealloc_reply_port(reply_port);
	return result;
}
";

const TRAP_CODE: &str = "\
/* What the caller is told of a routine that failed by trap. No reply can come later. */
static inline kern_return_t `mig_trap_code(kern_return_t result)
{
	return result == MIG_NO_REPLY || result == MIG_DESTROY_REQUEST ? MIG_SERVER_DIED : result;
}
";

const ROUND_WORDS: &str = "\
/* The length with what fills it up. */
static inline mach_msg_size_t `mig_round4(mach_msg_size_t length)
{
	return (length + 3) & ~(mach_msg_size_t) 3;
}
";

const CLEAR_WORDS: &str = "\
/* Clears what fills up data of that length, and returns the length with it. */
static inline mach_msg_size_t `mig_clear_tail(void *data, mach_msg_size_t length)
{
	mach_msg_size_t padded = (length + 3) & ~(mach_msg_size_t) 3;

	memset((char *) data + length, 0, padded - length);
	return padded;
}
";

const FAULT_WORDS: &str = "\
/* What to return for a reply that is not the one of success. */
static __attribute__((cold, noinline)) kern_return_t `mig_reply_fault(mach_msg_header_t *reply, mach_msg_id_t id)
{
	mig_reply_error_t *head = (mig_reply_error_t *) (void *) reply;

	if (reply->msgh_id == MACH_NOTIFY_SEND_ONCE)
		return `mig_reply_reject(reply, MIG_SERVER_DIED);
	if (reply->msgh_id != id)
		return `mig_reply_reject(reply, MIG_REPLY_MISMATCH);
	if (reply->msgh_size != sizeof *head || MACH_MSGH_BITS_IS_COMPLEX(reply->msgh_bits) || head->RetCode == KERN_SUCCESS)
		return `mig_reply_reject(reply, MIG_TYPE_ERROR);
	return head->RetCode;
}
";

const REPLY_CODE: &str = "\
/* Makes the reply one that has but a code. */
static inline void `mig_reply_code(mach_msg_header_t *reply, kern_return_t code)
{
	mig_reply_error_t *error = (mig_reply_error_t *) (void *) reply;

	reply->msgh_bits &= ~MACH_MSGH_BITS_COMPLEX;
	reply->msgh_size = (mach_msg_size_t) sizeof *error;
	error->NDR = NDR_record;
	error->RetCode = code;
}
";
