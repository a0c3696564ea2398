/* See loop.h. A thread of its own has no part in it. */
#include <string.h>
#include <mach/mach.h>
#include "loop.h"
#include "rpcServer.h"

static union {
	mach_msg_header_t head;
	char room[rpc_max_reply_size];
} reply;

mach_msg_return_t loop_msg(mach_msg_header_t *message, mach_msg_option_t option, mach_msg_size_t send_size,
	mach_msg_size_t rcv_size, mach_port_t rcv_name, mach_msg_timeout_t timeout, mach_port_t notify)
{
	(void) option;
	(void) send_size;
	(void) rcv_size;
	(void) rcv_name;
	(void) timeout;
	(void) notify;
	rpc_server(message, &reply.head);
	memcpy(message, &reply, reply.head.msgh_size);
	return MACH_MSG_SUCCESS;
}

/* What loop_msg takes without the server's stub, for a reply like the last. */
kern_return_t rpc_loop_bare(void);
kern_return_t rpc_loop_bare(void)
{
	static char message[rpc_max_reply_size];

	memcpy(message, &reply, reply.head.msgh_size);
	return reply.head.msgh_size >= sizeof reply.head ? KERN_SUCCESS : KERN_FAILURE;
}
