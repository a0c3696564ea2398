/*
 * Services by name, as Mach 3.0's name server gives them: the services of <mach/bootstrap.h>, with a
 * signature (any port of the caller's, or MACH_PORT_NULL) that protects a name from other programs' changes.
 */
#ifndef SERVERS_NETNAME_H
#define SERVERS_NETNAME_H

#include <mach/bootstrap.h>
#include <mach/kern_return.h>
#include <mach/port.h>
#include <servers/netname_defs.h>

/* The port to ask. */
#define name_server_port bootstrap_port

#ifdef __cplusplus
extern "C" {
#endif

/* Makes port_id known; the name server gets a copy of the send right. A second time replaces the port. */
extern kern_return_t netname_check_in(mach_port_t server_port, const char *port_name, mach_port_t signature,
                                      mach_port_t port_id);
/* A send right. The host is this one: "", "localhost", "*" or its name. */
extern kern_return_t netname_look_up(mach_port_t server_port, const char *host_name, const char *port_name,
                                     mach_port_t *port_id);
extern kern_return_t netname_check_out(mach_port_t server_port, const char *port_name, mach_port_t signature);

#ifdef __cplusplus
}
#endif

#endif
