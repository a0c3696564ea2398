/* A mach_msg that takes a reply that lies ready, so that what is left is the stubs' work. */
#ifndef RPC_LOOP_H
#define RPC_LOOP_H

#include <mach/message.h>

mach_msg_return_t loop_msg(mach_msg_header_t *message, mach_msg_option_t option, mach_msg_size_t send_size,
	mach_msg_size_t rcv_size, mach_port_t rcv_name, mach_msg_timeout_t timeout, mach_port_t notify);

/* What it does for a reply like the last, and nothing else. */
kern_return_t loop_copy(void);

#endif
