/*
 * Services by name. The first argument is the port of a name server, or MACH_PORT_NULL for the task's own: the
 * bootstrap port that it inherited or set, else its user's name server, which is started if it doesn't run.
 */
#ifndef MACH_BOOTSTRAP_H
#define MACH_BOOTSTRAP_H

#include <mach/kern_return.h>
#include <mach/port.h>

#define BOOTSTRAP_MAX_NAME_LEN 128

typedef char name_t[BOOTSTRAP_MAX_NAME_LEN];
typedef boolean_t *bool_array_t;

#define BOOTSTRAP_SUCCESS 0
#define BOOTSTRAP_NOT_PRIVILEGED 1100  /* the service is not the caller's to use or change */
#define BOOTSTRAP_NAME_IN_USE 1101     /* there is such a service */
#define BOOTSTRAP_UNKNOWN_SERVICE 1102 /* there is no such service */
#define BOOTSTRAP_SERVICE_ACTIVE 1103  /* another task has checked in */
#define BOOTSTRAP_BAD_COUNT 1104       /* a count out of range */
#define BOOTSTRAP_NO_MEMORY 1105       /* the name server has no memory or descriptors left */

/* What bootstrap_status() gives. */
#define BOOTSTRAP_STATUS_INACTIVE 0  /* known, and no task serves it */
#define BOOTSTRAP_STATUS_ACTIVE 1    /* a task serves it */
#define BOOTSTRAP_STATUS_ON_DEMAND 2 /* its program starts with its first message */

typedef boolean_t bootstrap_status_t;

#ifdef __cplusplus
extern "C" {
#endif

/*
 * For the first argument. It is MACH_PORT_NULL until the program sets it. Tasks that share a process share it: they
 * leave it alone, and set their bootstrap port with task_set_bootstrap_port().
 */
extern mach_port_t bootstrap_port;

/*
 * Makes a service known, with a port of the name server's making: the caller gets a send right, and a task that
 * checks in the receive right.
 */
extern kern_return_t bootstrap_create_service(mach_port_t bp, const char *service_name, mach_port_t *service_port);

/* The receive right of a service that was created, or whose program was started for it. */
extern kern_return_t bootstrap_check_in(mach_port_t bp, const char *service_name, mach_port_t *service_port);

/*
 * Makes a port known: the name server gets a copy of the caller's send right. With MACH_PORT_NULL the
 * service is no longer known.
 */
extern kern_return_t bootstrap_register(mach_port_t bp, const char *service_name, mach_port_t service_port);

/* The same. No flag means anything here: KERN_INVALID_ARGUMENT if one is set. */
extern kern_return_t bootstrap_register2(mach_port_t bp, const char *service_name, mach_port_t service_port,
                                         uint64_t flags);

/* A send right for a service. */
extern kern_return_t bootstrap_look_up(mach_port_t bp, const char *service_name, mach_port_t *service_port);

extern kern_return_t bootstrap_status(mach_port_t bp, const char *service_name, bootstrap_status_t *service_active);

/*
 * What a code of these calls means, in words. For MACH_SEND_INVALID_DEST after a call of this thread found no name server:
 * which socket was tried, and what to do. The text lasts until the thread's next call of these.
 */
extern const char *bootstrap_strerror(kern_return_t code);

#ifdef __cplusplus
}
#endif

#endif
