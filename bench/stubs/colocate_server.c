/* The server's routines, which do as good as nothing: what is passed back differs from what came, so that the client can tell. */
#include <mach/mach.h>
#include "colocate_routines.h"

/* Where the server itself calls, from the thread of any caller. */
static _Atomic mach_port_t other;

kern_return_t near_nothing(mach_port_t server)
{
	(void) server;
	return KERN_SUCCESS;
}

kern_return_t near_in_small(mach_port_t server, small_t data)
{
	(void) server;
	(void) data;
	return KERN_SUCCESS;
}

kern_return_t near_in_block(mach_port_t server, block_t data)
{
	(void) server;
	(void) data;
	return KERN_SUCCESS;
}

kern_return_t near_in_const(mach_port_t server, const block_t data)
{
	(void) server;
	(void) data;
	return KERN_SUCCESS;
}

kern_return_t near_out_block(mach_port_t server, block_t data)
{
	static __thread char next;

	(void) server;
	data[0] = ++next;
	return KERN_SUCCESS;
}

kern_return_t near_words(mach_port_t server, words_t data)
{
	(void) server;
	data[0] ^= 1;
	return KERN_SUCCESS;
}

kern_return_t near_own_calls(mach_port_t server, int to_library, int count)
{
	(void) server;
	for (; count > 0; count--) {
		/* A call that does nothing, as the published one did. */
		kern_return_t code = to_library ? mach_port_deallocate(mach_task_self(), MACH_PORT_NULL) : trap_nothing(other);

		if (!to_library && code != KERN_SUCCESS)
			return code;
	}
	return KERN_SUCCESS;
}

const struct colocate_routines colocate_routines = {
	near_nothing, near_in_small, near_in_block, near_in_const, near_out_block, near_words, near_own_calls,
};

/* Has the routines at a port called by trap: one at a time, or any number. */
kern_return_t colocate_register(mach_port_t port, int concurrent);
kern_return_t colocate_register(mach_port_t port, int concurrent)
{
	return mach_port_register_traps(mach_task_self(), port, &colocate_traps, concurrent ? MACH_TRAP_CONCURRENT : MACH_TRAP_SERIAL);
}

/* Tells the server where to call. */
void colocate_other(mach_port_t port);
void colocate_other(mach_port_t port)
{
	other = port;
}

/* Answers calls at a port, until an error. */
kern_return_t colocate_serve(mach_port_t port);
kern_return_t colocate_serve(mach_port_t port)
{
	mach_msg_size_t room = colocate_max_request_size > colocate_max_reply_size ? colocate_max_request_size : colocate_max_reply_size;

	return mach_msg_server(colocate_server, room, port);
}
