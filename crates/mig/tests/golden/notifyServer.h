/* Server routines of the subsystem notify, made by mig. Do not edit: change the .defs file. */

#ifndef _mig_notify_server_h_
#define _mig_notify_server_h_

#include <mach/kern_return.h>
#include <mach/port.h>
#include <mach/message.h>
#include <mach/mig_errors.h>
#include <mach/std_types.h>

/* Identifiers of requests begin with this one; those of replies are 100 higher. */
#define notify_base_id 64
#define notify_routine_count 9
/* The largest request and reply, in bytes: what the buffers of a server must hold. */
#define notify_max_request_size 48
#define notify_max_reply_size 48

#ifdef __cplusplus
extern "C" {
#endif

/* notify.defs:42 (message 65):
 *   simpleroutine mach_notify_port_deleted(notify: notify_port_t; name: mach_port_name_t); */
extern kern_return_t do_mach_notify_port_deleted(
	mach_port_t notify,
	mach_port_name_t name);

/* notify.defs:48 (message 66):
 *   simpleroutine mach_notify_msg_accepted(notify: notify_port_t; name: mach_port_name_t); */
extern kern_return_t do_mach_notify_msg_accepted(
	mach_port_t notify,
	mach_port_name_t name);

/* notify.defs:56 (message 69):
 *   simpleroutine mach_notify_port_destroyed(notify: notify_port_t; rights: mach_port_receive_t); */
extern kern_return_t do_mach_notify_port_destroyed(
	mach_port_t notify,
	mach_port_t rights);

/* notify.defs:62 (message 70):
 *   simpleroutine mach_notify_no_senders(notify: notify_port_t; mscount: mach_port_mscount_t); */
extern kern_return_t do_mach_notify_no_senders(
	mach_port_t notify,
	mach_port_mscount_t mscount);

/* notify.defs:68 (message 71):
 *   simpleroutine mach_notify_send_once(notify: notify_port_t;); */
extern kern_return_t do_mach_notify_send_once(
	mach_port_t notify);

/* notify.defs:73 (message 72):
 *   simpleroutine mach_notify_dead_name(notify: notify_port_t; name: mach_port_name_t); */
extern kern_return_t do_mach_notify_dead_name(
	mach_port_t notify,
	mach_port_name_t name);

/* Serves a request and builds its reply; FALSE if no routine has the request's identifier. */
extern boolean_t notify_server(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP);
/* The stub for a request, or 0. */
extern mig_routine_t notify_server_routine(const mach_msg_header_t *InHeadP);
extern const mig_routine_t notify_server_routines[];

#ifdef __cplusplus
}
#endif

#endif
