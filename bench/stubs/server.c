/* The server's routines, which do nothing: what was sent lies in the reply where it is to be passed back. */
#include <mach/mach.h>
#include "rpcServer.h"

kern_return_t serve_nothing(mach_port_t server)
{
	(void) server;
	return KERN_SUCCESS;
}

kern_return_t serve_integer(mach_port_t server, int in, int *back)
{
	(void) server;
	*back = in;
	return KERN_SUCCESS;
}

kern_return_t serve_four(mach_port_t server, int a, int b, int c, int d, int *w, int *x, int *y, int *z)
{
	(void) server;
	*w = a;
	*x = b;
	*y = c;
	*z = d;
	return KERN_SUCCESS;
}

kern_return_t serve_few(mach_port_t server, few_t data)
{
	(void) server;
	(void) data;
	return KERN_SUCCESS;
}

kern_return_t serve_many(mach_port_t server, many_t data)
{
	(void) server;
	(void) data;
	return KERN_SUCCESS;
}

kern_return_t serve_most(mach_port_t server, most_t data)
{
	(void) server;
	(void) data;
	return KERN_SUCCESS;
}

kern_return_t serve_words(mach_port_t server, words_t data)
{
	(void) server;
	(void) data;
	return KERN_SUCCESS;
}

kern_return_t serve_in_small(mach_port_t server, small_t data)
{
	(void) server;
	(void) data;
	return KERN_SUCCESS;
}

kern_return_t serve_in_block(mach_port_t server, block_t data)
{
	(void) server;
	(void) data;
	return KERN_SUCCESS;
}

kern_return_t serve_out_block(mach_port_t server, block_t data)
{
	static __thread char next;

	(void) server;
	data[0] = ++next;
	return KERN_SUCCESS;
}

/* Answers calls at a port, until an error. */
kern_return_t rpc_serve(mach_port_t port);
kern_return_t rpc_serve(mach_port_t port)
{
	mach_msg_size_t room = rpc_max_request_size > rpc_max_reply_size ? rpc_max_request_size : rpc_max_reply_size;

	return mach_msg_server(rpc_server, room, port);
}
