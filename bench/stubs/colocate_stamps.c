/*
 * Calls with readings of the clock at every border that they cross: between the client's program, its stub and mach_msg,
 * the server's demultiplexer, its stub and the routine. Only for one client and one server in a process.
 */
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif
#include <mach/mach.h>
#include "colocate_routines.h"
#undef _mig_colocate_user_h_
#include "colocateStamp.h"
#include "colocate_stamps.h"

/* Readings of a call, in the order in which each side makes them: stages/probe.rs has the same. */
enum { CALLED, ASKS, ASKED, ANSWERED, RETURNED };
enum { TAKEN, ENTERED, LEFT, DONE, REPLIED };

typedef uint64_t readings_t[STAMPED_CALLS][STAMPS];

static readings_t clients, servers;
/* Where the next readings go. */
static int asking, serving;
/* Whether a message is sent by one call, and the answer received by another. */
static int by_halves;
/* Whether the processor's counter is read. */
static int by_counter;

static inline uint64_t now(void)
{
	struct timespec time;

#if defined(__x86_64__)
	if (by_counter)
		return __rdtsc();
#endif
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t) time.tv_sec * 1000000000u + (uint64_t) time.tv_nsec;
}

uint64_t stamps_now(void)
{
	return now();
}

void stamps_begin(int counter, int halves)
{
	by_counter = counter;
	by_halves = halves;
}

void stamps_cost(uint64_t *readings)
{
	int at;

	for (at = 0; at < STAMPED_CALLS; at++)
		readings[at] = now();
}

void stamps_of(int server, uint64_t *readings)
{
	memcpy(readings, server ? servers : clients, sizeof(readings_t));
}

/* The mach_msg of the client's stub. */
mach_msg_return_t stamped_mach_msg(mach_msg_header_t *message, mach_msg_option_t option, mach_msg_size_t send_size,
	mach_msg_size_t rcv_size, mach_port_t rcv_name, mach_msg_timeout_t timeout, mach_port_t notify)
{
	uint64_t *const at = clients[asking];
	mach_msg_return_t code;

	at[ASKS] = now();
	if (by_halves) {
		code = mach_msg(message, option & ~MACH_RCV_MSG, send_size, 0, MACH_PORT_NULL, timeout, notify);
		at[ASKED] = now();
		if (code == MACH_MSG_SUCCESS)
			code = mach_msg(message, option & ~MACH_SEND_MSG, 0, rcv_size, rcv_name, timeout, notify);
	} else {
		code = mach_msg(message, option, send_size, rcv_size, rcv_name, timeout, notify);
	}
	at[ANSWERED] = now();
	return code;
}

kern_return_t stamped_calls(int test, mach_port_t server)
{
	static words_t words;
	kern_return_t code = KERN_SUCCESS;

	for (asking = 0; asking < STAMPED_CALLS && code == KERN_SUCCESS; asking++) {
		clients[asking][CALLED] = now();
		code = test == 0 ? stamp_nothing(server) : stamp_words(server, words);
		clients[asking][RETURNED] = now();
	}
	return code;
}

/* The routines of the server's stubs. */
kern_return_t stamped_nothing(mach_port_t server)
{
	kern_return_t code;

	servers[serving][ENTERED] = now();
	code = near_nothing(server);
	servers[serving][LEFT] = now();
	return code;
}

kern_return_t stamped_words(mach_port_t server, words_t data)
{
	kern_return_t code;

	servers[serving][ENTERED] = now();
	code = near_words(server, data);
	servers[serving][LEFT] = now();
	return code;
}

/* The stubs' own, in stampServer.c. */
boolean_t stamped_server(mach_msg_header_t *request, mach_msg_header_t *reply);

static boolean_t serve(mach_msg_header_t *request, mach_msg_header_t *reply)
{
	boolean_t known;

	servers[serving][TAKEN] = now();
	known = stamped_server(request, reply);
	servers[serving][DONE] = now();
	if (!by_halves)
		serving = (serving + 1) % STAMPED_CALLS;
	return known;
}

kern_return_t stamped_serve(mach_port_t port)
{
	static union {
		mach_msg_header_t head;
		char room[colocate_max_request_size];
	} request;
	static union {
		mig_reply_header_t head;
		char room[colocate_max_reply_size];
	} reply;
	mach_msg_header_t *const answer = &reply.head.Head;
	mach_msg_return_t code = MACH_MSG_SUCCESS;

	if (!by_halves)
		return mach_msg_server(serve, sizeof request > sizeof reply ? sizeof request : sizeof reply, port);
	while (code == MACH_MSG_SUCCESS) {
		code = mach_msg(&request.head, MACH_RCV_MSG, 0, sizeof request, port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
		if (code != MACH_MSG_SUCCESS)
			break;
		serve(&request.head, answer);
		code = mach_msg(answer, MACH_SEND_MSG, answer->msgh_size, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
		servers[serving][REPLIED] = now();
		serving = (serving + 1) % STAMPED_CALLS;
	}
	return code;
}

/* What is called from a loop, the numbers of stages/stubs.rs. */
enum { NOTHING, ROUTINE, FUNCTION, TRAP, STUB };

/* The compiler knows nothing of what comes after. */
#define FORGET() __asm__ volatile("" ::: "memory")
#define TIMES(call)                                           \
	do {                                                  \
		while (times-- > 0 && code == KERN_SUCCESS) { \
			call;                                 \
			FORGET();                             \
		}                                             \
		return code;                                  \
	} while (0)

kern_return_t loop_calls(int what, int test, mach_port_t server, int times)
{
	static words_t words;
	struct { void *data; } arguments = { words };
	const int id = test == 0 ? 0 : 5;
	const struct mach_trap_entry *const entry = &colocate_traps.trap[id];
	kern_return_t code = KERN_SUCCESS;

	switch (what) {
	case NOTHING:
		TIMES(code = KERN_SUCCESS);
	case ROUTINE:
		if (id == 0)
			TIMES(code = near_nothing(server));
		TIMES(code = near_words(server, words));
	case FUNCTION:
		TIMES(code = entry->entry(server, &arguments, colocate_traps.context));
	case TRAP:
		TIMES(if (!mach_trap(server, colocate_traps.base + id, entry->signature, &arguments, &code)) code = KERN_FAILURE);
	case STUB:
		if (id == 0)
			TIMES(code = trap_nothing(server));
		TIMES(code = trap_words(server, words));
	default:
		return KERN_INVALID_ARGUMENT;
	}
}
