/* See loop.h. Buffers are a thread's own. */
#include <string.h>
#include <mach/mach.h>
#include "loop.h"
#include "rpcServer.h"

static __thread union {
	mach_msg_header_t head;
	char room[rpc_max_request_size];
} request;

static __thread union {
	mach_msg_header_t head;
	char room[rpc_max_reply_size];
} reply;

mach_msg_return_t loop_msg(mach_msg_header_t *message, mach_msg_option_t option, mach_msg_size_t send_size,
	mach_msg_size_t rcv_size, mach_port_t rcv_name, mach_msg_timeout_t timeout, mach_port_t notify)
{
	(void) option;
	(void) rcv_size;
	(void) rcv_name;
	(void) timeout;
	(void) notify;
	/* The first request of its kind is answered by the server's stub, the others as that one. */
	if (message->msgh_id != request.head.msgh_id) {
		memcpy(&request, message, send_size);
		rpc_server(message, &reply.head);
	}
	memcpy(message, &reply, reply.head.msgh_size);
	return MACH_MSG_SUCCESS;
}

kern_return_t loop_copy(void)
{
	/* On the stack, as the stub's own: beside the reply it may lie where the processor takes the one for the other. */
	char message[rpc_max_reply_size];

	memcpy(message, &reply, reply.head.msgh_size);
	__asm__ volatile("" : : "r"(message) : "memory");
	return reply.head.msgh_size >= sizeof reply.head ? KERN_SUCCESS : KERN_FAILURE;
}

/* The server's stub, for a request like the last that the client's made. */
static kern_return_t serve(void)
{
	static __thread union {
		mig_reply_header_t head;
		char room[rpc_max_reply_size];
	} answer;

	rpc_server(&request.head, &answer.head.Head);
	return answer.head.RetCode;
}

/* In client.c. */
kern_return_t rpc_loop_call(int test, mach_port_t server, int turn);

/* Calls of `test', so many times; of no test: the server's stub for what was called last. The first error ends it. */
kern_return_t rpc_loop(int test, int turn, int times);
kern_return_t rpc_loop(int test, int turn, int times)
{
	kern_return_t code = KERN_SUCCESS;

	if (test < 0)
		while (times-- > 0 && code == KERN_SUCCESS)
			code = serve();
	else
		while (times-- > 0 && code == KERN_SUCCESS)
			code = rpc_loop_call(test, MACH_PORT_NULL, turn);
	return code;
}
