/* The stubs of both kinds, and the server's routines, also as a table. */
#ifndef COLOCATE_ROUTINES_H
#define COLOCATE_ROUTINES_H

#include "colocate.h"
/* The same declarations with another prefix. */
#undef _mig_colocate_user_h_
#include "colocateTrap.h"
#include "colocateServer.h"

struct colocate_routines {
	kern_return_t (*nothing)(mach_port_t server);
	kern_return_t (*in_small)(mach_port_t server, small_t data);
	kern_return_t (*in_block)(mach_port_t server, block_t data);
	kern_return_t (*in_const)(mach_port_t server, const block_t data);
	kern_return_t (*out_block)(mach_port_t server, block_t data);
	kern_return_t (*words)(mach_port_t server, words_t data);
	kern_return_t (*own_calls)(mach_port_t server, int to_library, int count);
};

extern const struct colocate_routines colocate_routines;

#endif
