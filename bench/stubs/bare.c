/* Messages of given sizes without stubs, as a program would send them. Buffers are a thread's own. */
#include <mach/mach.h>

/* Room for the longest. */
typedef union {
	mach_msg_header_t head;
	char room[16448];
} message_t;

/* How a message is answered: at the port that both agreed on, or by the send-once right that it brought. */
static mach_msg_bits_t request_bits(int once)
{
	return MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, once ? MACH_MSG_TYPE_MAKE_SEND_ONCE : 0);
}

/* One message to `server` and its answer at `own`. */
kern_return_t rpc_bare_call(mach_port_t server, mach_port_t own, int once, mach_msg_size_t there, mach_msg_size_t back, int turn);
kern_return_t rpc_bare_call(mach_port_t server, mach_port_t own, int once, mach_msg_size_t there, mach_msg_size_t back, int turn)
{
	static __thread message_t message;
	mach_msg_return_t code;

	if (there > sizeof message || back > sizeof message)
		return KERN_INVALID_ARGUMENT;
	message.head.msgh_bits = request_bits(once);
	message.head.msgh_remote_port = server;
	message.head.msgh_local_port = once ? own : MACH_PORT_NULL;
	message.head.msgh_id = turn;
	code = mach_msg(&message.head, MACH_SEND_MSG | MACH_RCV_MSG, there, back, own, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	if (code != MACH_MSG_SUCCESS)
		return code;
	return message.head.msgh_id == turn && message.head.msgh_size == back ? KERN_SUCCESS : KERN_FAILURE;
}

/* Answers messages at `own`, with others to `client` or by their send-once rights, until an error. */
kern_return_t rpc_bare_serve(mach_port_t own, mach_port_t client, int once, mach_msg_size_t there, mach_msg_size_t back);
kern_return_t rpc_bare_serve(mach_port_t own, mach_port_t client, int once, mach_msg_size_t there, mach_msg_size_t back)
{
	static __thread message_t message;
	mach_msg_return_t code;

	if (there > sizeof message || back > sizeof message)
		return KERN_INVALID_ARGUMENT;
	code = mach_msg(&message.head, MACH_RCV_MSG, 0, there, own, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	while (code == MACH_MSG_SUCCESS) {
		/* The reply right is where it came. */
		message.head.msgh_bits = once ? MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0) : request_bits(0);
		if (!once)
			message.head.msgh_remote_port = client;
		message.head.msgh_local_port = MACH_PORT_NULL;
		code = mach_msg(&message.head, MACH_SEND_MSG | MACH_RCV_MSG, back, there, own, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
	}
	return code;
}
