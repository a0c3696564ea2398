/* Default server routines of the subsystem notify, made by mig. Do not edit: change the .defs file. */

#include <mach/message.h>
#include <mach/mig_errors.h>
#include <mach/mig_support.h>
#include <mach/std_types.h>

/* notify.defs:42 (message 65):
 *   simpleroutine mach_notify_port_deleted(notify: notify_port_t; name: mach_port_name_t); */
extern kern_return_t do_mach_notify_port_deleted(
	mach_port_t notify,
	mach_port_name_t name);
__attribute__((weak)) kern_return_t do_mach_notify_port_deleted(
	mach_port_t notify,
	mach_port_name_t name)
{
	(void) notify;
	(void) name;
	return MIG_BAD_ID;
}

/* notify.defs:48 (message 66):
 *   simpleroutine mach_notify_msg_accepted(notify: notify_port_t; name: mach_port_name_t); */
extern kern_return_t do_mach_notify_msg_accepted(
	mach_port_t notify,
	mach_port_name_t name);
__attribute__((weak)) kern_return_t do_mach_notify_msg_accepted(
	mach_port_t notify,
	mach_port_name_t name)
{
	(void) notify;
	(void) name;
	return MIG_BAD_ID;
}

/* notify.defs:56 (message 69):
 *   simpleroutine mach_notify_port_destroyed(notify: notify_port_t; rights: mach_port_receive_t); */
extern kern_return_t do_mach_notify_port_destroyed(
	mach_port_t notify,
	mach_port_t rights);
__attribute__((weak)) kern_return_t do_mach_notify_port_destroyed(
	mach_port_t notify,
	mach_port_t rights)
{
	(void) notify;
	(void) rights;
	return MIG_BAD_ID;
}

/* notify.defs:62 (message 70):
 *   simpleroutine mach_notify_no_senders(notify: notify_port_t; mscount: mach_port_mscount_t); */
extern kern_return_t do_mach_notify_no_senders(
	mach_port_t notify,
	mach_port_mscount_t mscount);
__attribute__((weak)) kern_return_t do_mach_notify_no_senders(
	mach_port_t notify,
	mach_port_mscount_t mscount)
{
	(void) notify;
	(void) mscount;
	return MIG_BAD_ID;
}

/* notify.defs:68 (message 71):
 *   simpleroutine mach_notify_send_once(notify: notify_port_t;); */
extern kern_return_t do_mach_notify_send_once(
	mach_port_t notify);
__attribute__((weak)) kern_return_t do_mach_notify_send_once(
	mach_port_t notify)
{
	(void) notify;
	return MIG_BAD_ID;
}

/* notify.defs:73 (message 72):
 *   simpleroutine mach_notify_dead_name(notify: notify_port_t; name: mach_port_name_t); */
extern kern_return_t do_mach_notify_dead_name(
	mach_port_t notify,
	mach_port_name_t name);
__attribute__((weak)) kern_return_t do_mach_notify_dead_name(
	mach_port_t notify,
	mach_port_name_t name)
{
	(void) notify;
	(void) name;
	return MIG_BAD_ID;
}
