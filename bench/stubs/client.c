/*
 * The client's calls. Compiled twice: with stubs that send messages, and (LOOP) with stubs whose mach_msg is the one
 * of loop.c, for which each turn is like the first. Buffers are a thread's own.
 */
#include <mach/mach.h>
#ifdef LOOP
#include "loop.h"
#include "rpcLoop.h"
#define STUB(routine) loop_##routine
#define rpc_call rpc_loop_call
#define OFTEN 1
#else
#include "rpc.h"
#define STUB(routine) call_##routine
#define OFTEN 0
#endif

/* What is passed back is not what was passed. */
#define NOT_IT KERN_FAILURE

/* The first and the last element tell one call from the next. */
#define PASSED_BACK(routine, type)                                            \
	{                                                                     \
		static __thread type data;                                    \
		const int last = (int) (sizeof data / sizeof *data) - 1;      \
		data[0] = turn;                                               \
		data[last] = turn;                                            \
		code = STUB(routine)(server, data);                           \
		return code != KERN_SUCCESS || (data[0] == turn && data[last] == turn) ? code : NOT_IT; \
	}

/* One call; `turn` is another one each time. The numbers are the order of the tests in benches.toml. */
kern_return_t rpc_call(int test, mach_port_t server, int turn);
kern_return_t rpc_call(int test, mach_port_t server, int turn)
{
	static __thread block_t block;
	static __thread small_t small;
	static __thread char last;
	int w, x, y, z;
	kern_return_t code;

	switch (test) {
	case 0:
		code = STUB(integer)(server, turn, &w);
		return code != KERN_SUCCESS || w == turn ? code : NOT_IT;
	case 1:
		PASSED_BACK(few, few_t)
	case 2:
		PASSED_BACK(many, many_t)
	case 3:
		PASSED_BACK(most, most_t)
	case 4:
		code = STUB(four)(server, turn, 2, 3, -turn, &w, &x, &y, &z);
		return code != KERN_SUCCESS || (w == turn && x == 2 && y == 3 && z == -turn) ? code : NOT_IT;
	case 5:
		return STUB(nothing)(server);
	case 6:
		small[0] = (char) turn;
		return STUB(in_small)(server, small);
	case 7:
		block[0] = (char) turn;
		return STUB(in_block)(server, block);
	case 8:
		/* The server counts. */
		last = block[0];
		code = STUB(out_block)(server, block);
		return code != KERN_SUCCESS || OFTEN || block[0] != last ? code : NOT_IT;
	case 9:
		PASSED_BACK(words, words_t)
#ifdef LOOP
	case 10:
		return loop_copy();
#endif
	default:
		return KERN_INVALID_ARGUMENT;
	}
}
