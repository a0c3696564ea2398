/* What libmach has beyond Mach. */
#ifndef MACH_SLIPWAY_H
#define MACH_SLIPWAY_H

#include <mach/kern_return.h>
#include <mach/port.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A descriptor for poll, select and epoll that is readable while messages may wait at a receive right or
 * a port set of the caller. "May": receive with MACH_RCV_TIMEOUT and a time-out of 0, until
 * MACH_RCV_TIMED_OUT, before polling again. Do nothing else with it than poll and close it.
 *
 * *fd is a new descriptor, close-on-exec, which the caller closes. It stays open and becomes readable
 * when the port goes; the next receive then tells why.
 *
 * Returns KERN_SUCCESS; KERN_INVALID_NAME: the name denotes nothing; KERN_INVALID_RIGHT: neither a
 * receive right nor a port set; KERN_INVALID_ARGUMENT: fd is null; KERN_RESOURCE_SHORTAGE: no descriptor
 * is left.
 */
extern kern_return_t slipway_port_descriptor(mach_port_t name, int *fd);

/*
 * Whether the descriptors of a receive right or a port set are polled from here on (on, which they are at first) or not (0). While they are
 * not, they may stay as they are when messages come, and senders spend nothing on them: for a program that looks by receiving as long as it is busy.
 * After on, receive until MACH_RCV_TIMED_OUT before polling.
 *
 * Returns KERN_SUCCESS; KERN_INVALID_NAME: the name has no such descriptor.
 */
extern kern_return_t slipway_port_poll(mach_port_t name, int on);

#ifdef __cplusplus
}
#endif

#endif
