/* Stages of calls, timed: see colocate_stamps.c. */
#ifndef COLOCATE_STAMPS_H
#define COLOCATE_STAMPS_H

#include <stdint.h>
#include <mach/mach.h>

/* Calls in a go, and readings of each on either side: stages/stubs.rs has the same. */
#define STAMPED_CALLS 400
#define STAMPS 5

/* How the clock is read and messages are sent in this process, before all else. */
void stamps_begin(int counter, int halves);
uint64_t stamps_now(void);
/* STAMPED_CALLS readings, one right after the other. */
void stamps_cost(uint64_t *readings);
/* The readings of the last STAMPED_CALLS calls; the server may still be about to make the last. */
void stamps_of(int server, uint64_t *readings);
/* STAMPED_CALLS calls. */
kern_return_t stamped_calls(int test, mach_port_t server);
/* Answers calls until an error. */
kern_return_t stamped_serve(mach_port_t port);
/* So many calls, of what is within one by trap. */
kern_return_t loop_calls(int what, int test, mach_port_t server, int times);

/* What the stubs of stampUser.c and stampServer.c call. */
mach_msg_return_t stamped_mach_msg(mach_msg_header_t *message, mach_msg_option_t option, mach_msg_size_t send_size,
	mach_msg_size_t rcv_size, mach_port_t rcv_name, mach_msg_timeout_t timeout, mach_port_t notify);
kern_return_t stamped_nothing(mach_port_t server);
kern_return_t stamped_words(mach_port_t server, int data[32]);

#endif
