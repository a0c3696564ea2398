/* Ports: names, kinds of rights, and the status of a receive right. */
#ifndef MACH_PORT_H
#define MACH_PORT_H

#include <mach/boolean.h>
#include <mach/dialect.h>
#include <mach/machine/vm_types.h>

/*
 * A name denotes rights in one task only. mach_port_t is used where the right itself is meant,
 * mach_port_name_t where only the number is; a program sees numbers in both.
 */
typedef natural_t mach_port_name_t;
typedef mach_port_name_t mach_port_t;

typedef mach_port_name_t *mach_port_name_array_t;
typedef const mach_port_name_t *const_mach_port_name_array_t;
typedef mach_port_t *mach_port_array_t;
typedef const mach_port_t *const_mach_port_array_t;
typedef int *rpc_signature_info_t;

/* No port; and what a right became in a message when its port died on the way. */
#define MACH_PORT_NULL 0
#define MACH_PORT_DEAD (~(mach_port_t) 0)
#define MACH_PORT_VALID(name) ((name) != MACH_PORT_NULL && (name) != MACH_PORT_DEAD)

#define MACH_PORT_NAME_NULL ((mach_port_name_t) 0)
#define MACH_PORT_NAME_DEAD (~(mach_port_name_t) 0)
#define MACH_PORT_NAME_VALID(name) ((name) != MACH_PORT_NAME_NULL && (name) != MACH_PORT_NAME_DEAD)

/* Kinds of rights, to choose one. */
typedef natural_t mach_port_right_t;

#define MACH_PORT_RIGHT_SEND ((mach_port_right_t) 0)
#define MACH_PORT_RIGHT_RECEIVE ((mach_port_right_t) 1)
#define MACH_PORT_RIGHT_SEND_ONCE ((mach_port_right_t) 2)
#define MACH_PORT_RIGHT_PORT_SET ((mach_port_right_t) 3)
#define MACH_PORT_RIGHT_DEAD_NAME ((mach_port_right_t) 4)
#ifdef MACH_DARWIN
#define MACH_PORT_RIGHT_LABELH ((mach_port_right_t) 5) /* no name has one here */
#define MACH_PORT_RIGHT_NUMBER ((mach_port_right_t) 6)
#else
#define MACH_PORT_RIGHT_NUMBER ((mach_port_right_t) 5)
#endif

/* All that a name denotes: one bit for each kind. */
typedef natural_t mach_port_type_t;
typedef mach_port_type_t *mach_port_type_array_t;

#define MACH_PORT_TYPE(right) ((mach_port_type_t) 1 << ((right) + 16))
#define MACH_PORT_TYPE_NONE ((mach_port_type_t) 0)
#define MACH_PORT_TYPE_SEND MACH_PORT_TYPE(MACH_PORT_RIGHT_SEND)
#define MACH_PORT_TYPE_RECEIVE MACH_PORT_TYPE(MACH_PORT_RIGHT_RECEIVE)
#define MACH_PORT_TYPE_SEND_ONCE MACH_PORT_TYPE(MACH_PORT_RIGHT_SEND_ONCE)
#define MACH_PORT_TYPE_PORT_SET MACH_PORT_TYPE(MACH_PORT_RIGHT_PORT_SET)
#define MACH_PORT_TYPE_DEAD_NAME MACH_PORT_TYPE(MACH_PORT_RIGHT_DEAD_NAME)

#define MACH_PORT_TYPE_SEND_RECEIVE (MACH_PORT_TYPE_SEND | MACH_PORT_TYPE_RECEIVE)
#define MACH_PORT_TYPE_SEND_RIGHTS (MACH_PORT_TYPE_SEND | MACH_PORT_TYPE_SEND_ONCE)
#define MACH_PORT_TYPE_PORT_RIGHTS (MACH_PORT_TYPE_SEND_RIGHTS | MACH_PORT_TYPE_RECEIVE)
#define MACH_PORT_TYPE_PORT_OR_DEAD (MACH_PORT_TYPE_PORT_RIGHTS | MACH_PORT_TYPE_DEAD_NAME)
#define MACH_PORT_TYPE_ALL_RIGHTS (MACH_PORT_TYPE_PORT_OR_DEAD | MACH_PORT_TYPE_PORT_SET)

/* These are no rights: a dead-name request, or one for a message to be accepted, is outstanding. */
#define MACH_PORT_TYPE_DNREQUEST ((mach_port_type_t) 0x80000000u)
#define MACH_PORT_TYPE_MAREQUEST ((mach_port_type_t) 0x40000000u)
#define MACH_PORT_TYPE_COMPAT ((mach_port_type_t) 0x20000000u)

/* User references of a right, and a change of them. */
typedef natural_t mach_port_urefs_t;
typedef integer_t mach_port_delta_t;

typedef natural_t mach_port_seqno_t;
typedef unsigned int mach_port_mscount_t;
typedef unsigned int mach_port_msgcount_t;
typedef unsigned int mach_port_rights_t;

/* What mach_port_get_receive_status() tells of a receive right. */
typedef struct mach_port_status {
    mach_port_name_t mps_pset;         /* the port set that it is in, or MACH_PORT_NULL */
    mach_port_seqno_t mps_seqno;       /* sequence number of the next message */
    mach_port_mscount_t mps_mscount;   /* send rights made since this was last set */
    mach_port_msgcount_t mps_qlimit;   /* messages that wait before senders do */
    mach_port_msgcount_t mps_msgcount; /* messages that wait */
    mach_port_rights_t mps_sorights;   /* send-once rights that there are */
    boolean_t mps_srights;             /* are there send rights? */
    boolean_t mps_pdrequest;           /* is a port-destroyed notification asked for? */
    boolean_t mps_nsrequest;           /* is a no-senders notification asked for? */
#ifdef MACH_DARWIN
    natural_t mps_flags;               /* 0: nothing that they say can be here */
#endif
} mach_port_status_t;

#define MACH_PORT_QLIMIT_DEFAULT ((mach_port_msgcount_t) 5)
#define MACH_PORT_QLIMIT_MAX ((mach_port_msgcount_t) 1024)
#ifdef MACH_DARWIN
#define MACH_PORT_QLIMIT_ZERO ((mach_port_msgcount_t) 0)
#define MACH_PORT_QLIMIT_BASIC ((mach_port_msgcount_t) 5)
#define MACH_PORT_QLIMIT_SMALL ((mach_port_msgcount_t) 16)
#define MACH_PORT_QLIMIT_LARGE ((mach_port_msgcount_t) 1024)
#define MACH_PORT_QLIMIT_MIN MACH_PORT_QLIMIT_ZERO
#endif

/* Flavors of mach_port_get_attributes() and what they give. */
typedef int mach_port_flavor_t;
typedef integer_t *mach_port_info_t;

typedef struct mach_port_limits {
    mach_port_msgcount_t mpl_qlimit; /* messages that wait before senders do */
} mach_port_limits_t;

#define MACH_PORT_LIMITS_INFO 1    /* mach_port_limits_t */
#define MACH_PORT_RECEIVE_STATUS 2 /* mach_port_status_t */
#define MACH_PORT_LIMITS_INFO_COUNT ((natural_t) (sizeof(mach_port_limits_t) / sizeof(natural_t)))
#define MACH_PORT_RECEIVE_STATUS_COUNT ((natural_t) (sizeof(mach_port_status_t) / sizeof(natural_t)))

/* A word that the program keeps with a receive right, and how mach_port_construct() makes one. */
typedef vm_offset_t mach_port_context_t;

#define MPO_CONTEXT_AS_GUARD 0x1   /* the context guards the receive right */
#define MPO_QLIMIT 0x2             /* mpl has the queue limit */
#define MPO_INSERT_SEND_RIGHT 0x10 /* there is a send right, too */
#define MPO_STRICT 0x20            /* with a guard: it is neither told nor changed */

typedef struct mach_port_options {
    uint32_t flags;
    mach_port_limits_t mpl;
    uint64_t reserved[2];
} mach_port_options_t;

typedef mach_port_options_t *mach_port_options_ptr_t;

MACH_LAYOUT(sizeof(mach_port_options_t) == 24, "mach_port_options_t has 24 bytes");
MACH_LAYOUT(sizeof(mach_port_t) == 4, "mach_port_t has 4 bytes");
#ifdef MACH_DARWIN
MACH_LAYOUT(sizeof(mach_port_status_t) == 40, "mach_port_status_t has 40 bytes");
#else
MACH_LAYOUT(sizeof(mach_port_status_t) == 36, "mach_port_status_t has 36 bytes");
#endif

#endif
