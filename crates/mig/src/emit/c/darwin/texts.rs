//! What the stubs of a file have in common, in C.

/// In front of the user's stubs. `@` stands for the prefix of libmach's routines.
pub const USER: &str = "\
/* The length with what fills it up. */
static __attribute__((unused)) inline mach_msg_size_t `mig_round4(mach_msg_size_t length)
{
	return (length + 3) & ~(mach_msg_size_t) 3;
}

/* Clears what fills up data of that length, and returns the length with it. */
static __attribute__((unused)) inline mach_msg_size_t `mig_clear_tail(void *data, mach_msg_size_t length)
{
	mach_msg_size_t padded = `mig_round4(length);

	memset((char *) data + length, 0, padded - length);
	return padded;
}

/* Destroys the rights and memory of a reply that can't be used. */
static __attribute__((unused, cold, noinline)) kern_return_t `mig_reply_reject(mach_msg_header_t *reply, kern_return_t code)
{
	@mach_msg_destroy(reply);
	return code;
}

/* What to return for a reply that is not the one of success. */
static __attribute__((unused, cold, noinline)) kern_return_t `mig_reply_fault(mach_msg_header_t *reply, mach_msg_id_t id)
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

/* After a call that failed: a reply port to which a reply may still come is not used again. */
static __attribute__((unused, cold, noinline)) mach_msg_return_t `mig_call_failed(mach_port_t reply_port, mach_msg_return_t result)
{
	if (result < MACH_RCV_IN_PROGRESS && result != MACH_SEND_INVALID_REPLY)
		@mig_put_reply_port(reply_port);
	else
		@mig_dealloc_reply_port(reply_port);
	return result;
}

";

/// In front of the server's stubs.
pub const SERVER: &str = "\
/* The length with what fills it up. */
static __attribute__((unused)) inline mach_msg_size_t `mig_round4(mach_msg_size_t length)
{
	return (length + 3) & ~(mach_msg_size_t) 3;
}

/* Clears what fills up data of that length, and returns the length with it. */
static __attribute__((unused)) inline mach_msg_size_t `mig_clear_tail(void *data, mach_msg_size_t length)
{
	mach_msg_size_t padded = `mig_round4(length);

	memset((char *) data + length, 0, padded - length);
	return padded;
}

/* Makes the reply one that has but a code. */
static __attribute__((unused)) inline void `mig_reply_code(mach_msg_header_t *reply, kern_return_t code)
{
	mig_reply_error_t *error = (mig_reply_error_t *) (void *) reply;

	reply->msgh_bits &= ~MACH_MSGH_BITS_COMPLEX;
	reply->msgh_size = (mach_msg_size_t) sizeof *error;
	error->NDR = NDR_record;
	error->RetCode = code;
}

";
