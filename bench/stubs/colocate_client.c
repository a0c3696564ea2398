/*
 * The client's calls in every way that is no other program's: by mig's stubs, by those that know traps, and as a plain
 * call and one through a table, of the same routines.
 */
#include <mach/mach.h>
#include "colocate_routines.h"

/* The numbers are the order of the tests in benches.toml, and the ways in stubs.rs. */
enum { BY_STUBS, BY_TRAP_STUBS, PLAIN, BY_TABLE };

/* A test's `each` there. */
#define OWN_CALLS 100

kern_return_t colocate_call(int test, int way, mach_port_t server, int turn);

#define CALLS(nothing, in_small, in_block, in_const, out_block, words, own_calls)    \
	switch (test) {                                                              \
	case 0:                                                                      \
		return nothing(server);                                              \
	case 1:                                                                      \
		small[0] = (char) turn;                                              \
		return in_small(server, small);                                      \
	case 2:                                                                      \
		block[0] = (char) turn;                                              \
		return in_block(server, block);                                      \
	case 3:                                                                      \
		block[0] = (char) turn;                                              \
		return in_const(server, block);                                      \
	case 4:                                                                      \
		last = block[0];                                                     \
		code = out_block(server, block);                                     \
		return code != KERN_SUCCESS || block[0] != last ? code : KERN_FAILURE; \
	case 5:                                                                      \
		words_sent[0] = words_sent[31] = turn;                               \
		code = words(server, words_sent);                                    \
		return code != KERN_SUCCESS || (words_sent[0] == (turn ^ 1) && words_sent[31] == turn) ? code : KERN_FAILURE; \
	case 6:                                                                      \
		return own_calls(server, 1, OWN_CALLS);                              \
	case 7:                                                                      \
		return own_calls(server, 0, OWN_CALLS);                              \
	default:                                                                     \
		return KERN_INVALID_ARGUMENT;                                        \
	}

kern_return_t colocate_call(int test, int way, mach_port_t server, int turn)
{
	static __thread block_t block;
	static __thread small_t small;
	static __thread words_t words_sent;
	static __thread char last;
	/* The compiler must not know where this leads. */
	static const struct colocate_routines *volatile table = &colocate_routines;
	kern_return_t code;

	switch (way) {
	case BY_STUBS:
		CALLS(send_nothing, send_in_small, send_in_block, send_in_const, send_out_block, send_words, send_own_calls)
	case BY_TRAP_STUBS:
		CALLS(trap_nothing, trap_in_small, trap_in_block, trap_in_const, trap_out_block, trap_words, trap_own_calls)
	case PLAIN:
		CALLS(near_nothing, near_in_small, near_in_block, near_in_const, near_out_block, near_words, near_own_calls)
	case BY_TABLE:
		CALLS(table->nothing, table->in_small, table->in_block, table->in_const, table->out_block, table->words,
		      table->own_calls)
	default:
		return KERN_INVALID_ARGUMENT;
	}
}
