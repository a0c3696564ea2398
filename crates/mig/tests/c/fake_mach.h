/* What the in-process stand-in for libmach tells its tests. */
#ifndef FAKE_MACH_H
#define FAKE_MACH_H

#include <mach/mach.h>
#include <mach/trap.h>

/* The port that the demultiplexer serves. */
#define FAKE_SERVER ((mach_port_t) 77)

/* The server under test. */
extern boolean_t fake_demux(mach_msg_header_t *request, mach_msg_header_t *reply);

/* Called with each message as it is sent, before it is looked at. May change it. */
extern void (*fake_on_request)(void *message, mach_msg_size_t size);
extern void (*fake_on_reply)(void *message, mach_msg_size_t size);

/* Messages that were destroyed, and rights in them. */
extern unsigned fake_destroyed, fake_rights_destroyed;

/* The sequence number of the next request. */
extern mach_port_seqno_t fake_seqno;

/* Senders keep their memory whatever type words say: for those that were changed on their way. */
extern int fake_keep_memory;

/* The traps of the port that is served, and whether one may be taken now. NULL: messages only; any may. */
extern const mach_trap_table_t *fake_traps;
extern int (*fake_may_trap)(void);
/* Calls that went by trap, and by message to the server. */
extern unsigned fake_trapped, fake_sent;

/* Out-of-line regions that exist. */
extern unsigned fake_regions(void);

#endif
