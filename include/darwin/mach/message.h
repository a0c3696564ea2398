/*
 * Messages of Darwin: a header; if MACH_MSGH_BITS_COMPLEX is set a count and as many descriptors of rights and memory; then data, which nobody
 * but the receiver looks at. Sizes are multiples of 4. A received message has a trailer behind it. The layouts are packed to 4 bytes.
 */
#ifndef MACH_MESSAGE_H
#define MACH_MESSAGE_H

#include <mach/boolean.h>
#include <mach/dialect.h>
#include <mach/kern_return.h>
#include <mach/port.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Milliseconds. Counts only with MACH_SEND_TIMEOUT or MACH_RCV_TIMEOUT; then 0 means not to wait. */
typedef natural_t mach_msg_timeout_t;

#define MACH_MSG_TIMEOUT_NONE ((mach_msg_timeout_t) 0)

typedef unsigned int mach_msg_bits_t;
typedef natural_t mach_msg_size_t;
typedef integer_t mach_msg_id_t;
typedef integer_t mach_msg_option_t;
typedef natural_t mach_msg_type_number_t;
typedef unsigned int mach_msg_type_name_t;
typedef unsigned int mach_msg_type_size_t;
typedef unsigned int mach_msg_copy_options_t;
typedef unsigned int mach_msg_descriptor_type_t;
typedef unsigned int mach_msg_guard_flags_t;
typedef unsigned int mach_msg_trailer_type_t;
typedef unsigned int mach_msg_trailer_size_t;
typedef natural_t mach_msg_seqno_t;
typedef unsigned int mach_msg_priority_t;
typedef unsigned int mach_msg_filter_id;
typedef mach_port_name_t mach_voucher_port_holder_t;

/* msgh_bits: how the remote, the local and the voucher port are passed (MACH_MSG_TYPE_*), and whether there are descriptors. */
#define MACH_MSGH_BITS_ZERO 0x00000000
#define MACH_MSGH_BITS_REMOTE_MASK 0x0000001f
#define MACH_MSGH_BITS_LOCAL_MASK 0x00001f00
#define MACH_MSGH_BITS_VOUCHER_MASK 0x001f0000
#define MACH_MSGH_BITS_PORTS_MASK \
    (MACH_MSGH_BITS_REMOTE_MASK | MACH_MSGH_BITS_LOCAL_MASK | MACH_MSGH_BITS_VOUCHER_MASK)
#define MACH_MSGH_BITS_COMPLEX 0x80000000U
#define MACH_MSGH_BITS_RAISEIMP 0x20000000U /* accepted, and of no effect */
#define MACH_MSGH_BITS_DENAP MACH_MSGH_BITS_RAISEIMP
#define MACH_MSGH_BITS_USER 0x801f1f1fU

#define MACH_MSGH_BITS(remote, local) ((mach_msg_bits_t) (remote) | (mach_msg_bits_t) (local) << 8)
#define MACH_MSGH_BITS_SET_PORTS(remote, local, voucher)                                                           \
    (((mach_msg_bits_t) (remote) & MACH_MSGH_BITS_REMOTE_MASK) |                                                   \
     ((mach_msg_bits_t) (local) << 8 & MACH_MSGH_BITS_LOCAL_MASK) |                                                \
     ((mach_msg_bits_t) (voucher) << 16 & MACH_MSGH_BITS_VOUCHER_MASK))
#define MACH_MSGH_BITS_SET(remote, local, voucher, other) \
    (MACH_MSGH_BITS_SET_PORTS(remote, local, voucher) | ((other) & ~(mach_msg_bits_t) MACH_MSGH_BITS_PORTS_MASK))
#define MACH_MSGH_BITS_REMOTE(bits) ((bits) & MACH_MSGH_BITS_REMOTE_MASK)
#define MACH_MSGH_BITS_LOCAL(bits) (((bits) & MACH_MSGH_BITS_LOCAL_MASK) >> 8)
#define MACH_MSGH_BITS_VOUCHER(bits) (((bits) & MACH_MSGH_BITS_VOUCHER_MASK) >> 16)
#define MACH_MSGH_BITS_PORTS(bits) ((bits) & MACH_MSGH_BITS_PORTS_MASK)
#define MACH_MSGH_BITS_OTHER(bits) ((bits) & ~(mach_msg_bits_t) MACH_MSGH_BITS_PORTS_MASK)
#define MACH_MSGH_BITS_HAS_REMOTE(bits) (MACH_MSGH_BITS_REMOTE(bits) != MACH_MSGH_BITS_ZERO)
#define MACH_MSGH_BITS_HAS_LOCAL(bits) (MACH_MSGH_BITS_LOCAL(bits) != MACH_MSGH_BITS_ZERO)
#define MACH_MSGH_BITS_HAS_VOUCHER(bits) (MACH_MSGH_BITS_VOUCHER(bits) != MACH_MSGH_BITS_ZERO)
#define MACH_MSGH_BITS_IS_COMPLEX(bits) (((bits) & MACH_MSGH_BITS_COMPLEX) != MACH_MSGH_BITS_ZERO)

/*
 * To send: remote is the destination, local a reply port or MACH_PORT_NULL. As received: remote is the reply port, local the
 * port that the message came to. There are no vouchers: the field is MACH_PORT_NULL.
 */
typedef struct {
    mach_msg_bits_t msgh_bits;
    mach_msg_size_t msgh_size; /* bytes, with the header and without a trailer; set in received messages */
    mach_port_t msgh_remote_port;
    mach_port_t msgh_local_port;
    mach_port_name_t msgh_voucher_port;
    mach_msg_id_t msgh_id; /* not interpreted */
} mach_msg_header_t;

#define msgh_reserved msgh_voucher_port
#define MACH_MSG_NULL ((mach_msg_header_t *) 0)
#define MACH_MSG_SIZE_MAX (~(mach_msg_size_t) 0)

/* How a right is passed, and what the sender must hold for it. */
#define MACH_MSG_TYPE_PORT_NONE 0
#define MACH_MSG_TYPE_PORT_NAME 15      /* a name as a number: no right is passed */
#define MACH_MSG_TYPE_MOVE_RECEIVE 16   /* a receive right */
#define MACH_MSG_TYPE_MOVE_SEND 17      /* a send right */
#define MACH_MSG_TYPE_MOVE_SEND_ONCE 18 /* a send-once right */
#define MACH_MSG_TYPE_COPY_SEND 19      /* a send right */
#define MACH_MSG_TYPE_MAKE_SEND 20      /* a receive right */
#define MACH_MSG_TYPE_MAKE_SEND_ONCE 21 /* a receive right */

/* What the receiver was given. */
#define MACH_MSG_TYPE_PORT_RECEIVE MACH_MSG_TYPE_MOVE_RECEIVE
#define MACH_MSG_TYPE_PORT_SEND MACH_MSG_TYPE_MOVE_SEND
#define MACH_MSG_TYPE_PORT_SEND_ONCE MACH_MSG_TYPE_MOVE_SEND_ONCE

#define MACH_MSG_TYPE_LAST 22
#define MACH_MSG_TYPE_POLYMORPHIC (~(mach_msg_type_name_t) 0)

#define MACH_MSG_TYPE_PORT_ANY(x) ((x) >= MACH_MSG_TYPE_MOVE_RECEIVE && (x) <= MACH_MSG_TYPE_MAKE_SEND_ONCE)
#define MACH_MSG_TYPE_PORT_ANY_SEND(x) ((x) >= MACH_MSG_TYPE_MOVE_SEND && (x) <= MACH_MSG_TYPE_MAKE_SEND_ONCE)
#define MACH_MSG_TYPE_PORT_ANY_RIGHT(x) ((x) >= MACH_MSG_TYPE_MOVE_RECEIVE && (x) <= MACH_MSG_TYPE_MOVE_SEND_ONCE)

/* How memory goes. It is copied as it is when the message is sent, whichever is said; received memory says MACH_MSG_VIRTUAL_COPY. */
#define MACH_MSG_PHYSICAL_COPY 0
#define MACH_MSG_VIRTUAL_COPY 1
#define MACH_MSG_ALLOCATE 2

/* Kinds of descriptors. */
#define MACH_MSG_PORT_DESCRIPTOR 0
#define MACH_MSG_OOL_DESCRIPTOR 1
#define MACH_MSG_OOL_PORTS_DESCRIPTOR 2
#define MACH_MSG_OOL_VOLATILE_DESCRIPTOR 3 /* as MACH_MSG_OOL_DESCRIPTOR */
#define MACH_MSG_GUARDED_PORT_DESCRIPTOR 4 /* MACH_SEND_INVALID_TYPE */

#pragma pack(push, 4)

/* The part that all descriptors have in common. */
typedef struct {
    natural_t pad1;
    mach_msg_size_t pad2;
    unsigned int pad3 : 24;
    mach_msg_descriptor_type_t type : 8;
} mach_msg_type_descriptor_t;

typedef struct {
    mach_port_t name;
    mach_msg_size_t pad1;
    unsigned int pad2 : 16;
    mach_msg_type_name_t disposition : 8;
    mach_msg_descriptor_type_t type : 8;
} mach_msg_port_descriptor_t;

typedef struct {
    void *address;
    unsigned int deallocate : 8; /* sent: the memory leaves the sender; received: it is the receiver's to deallocate */
    mach_msg_copy_options_t copy : 8;
    unsigned int pad1 : 8;
    mach_msg_descriptor_type_t type : 8;
    mach_msg_size_t size; /* bytes */
} mach_msg_ool_descriptor_t;

typedef struct {
    uint64_t address;
    unsigned int deallocate : 8;
    mach_msg_copy_options_t copy : 8;
    unsigned int pad1 : 8;
    mach_msg_descriptor_type_t type : 8;
    mach_msg_size_t size;
} mach_msg_ool_descriptor64_t;

typedef struct {
    void *address; /* of an array of names */
    unsigned int deallocate : 8;
    mach_msg_copy_options_t copy : 8;
    mach_msg_type_name_t disposition : 8;
    mach_msg_descriptor_type_t type : 8;
    mach_msg_size_t count; /* names */
} mach_msg_ool_ports_descriptor_t;

typedef struct {
    uint64_t address;
    unsigned int deallocate : 8;
    mach_msg_copy_options_t copy : 8;
    mach_msg_type_name_t disposition : 8;
    mach_msg_descriptor_type_t type : 8;
    mach_msg_size_t count;
} mach_msg_ool_ports_descriptor64_t;

typedef struct {
    mach_port_context_t context;
    mach_msg_guard_flags_t flags : 16;
    mach_msg_type_name_t disposition : 8;
    mach_msg_descriptor_type_t type : 8;
    mach_port_name_t name;
} mach_msg_guarded_port_descriptor_t;

typedef union {
    mach_msg_port_descriptor_t port;
    mach_msg_ool_descriptor_t out_of_line;
    mach_msg_ool_ports_descriptor_t ool_ports;
    mach_msg_type_descriptor_t type;
    mach_msg_guarded_port_descriptor_t guarded_port;
} mach_msg_descriptor_t;

/* How many descriptors follow. Each takes the bytes of its own kind, not those of the union. */
typedef struct {
    mach_msg_size_t msgh_descriptor_count;
} mach_msg_body_t;

#define MACH_MSG_BODY_NULL ((mach_msg_body_t *) 0)
#define MACH_MSG_DESCRIPTOR_NULL ((mach_msg_descriptor_t *) 0)

typedef struct {
    mach_msg_header_t header;
    mach_msg_body_t body;
} mach_msg_base_t;

/*
 * What follows a received message, at round_msg(msgh_size): as much of it as MACH_RCV_TRAILER_ELEMENTS asks for, the first of these at least.
 * The buffer has to have room for it. The tokens are the kernel's word on the process that sent the message; the numbers of a process that
 * it said nothing of are 0, its user and group ~0.
 */
typedef struct {
    mach_msg_trailer_type_t msgh_trailer_type;
    mach_msg_trailer_size_t msgh_trailer_size;
} mach_msg_trailer_t;

typedef struct {
    mach_msg_trailer_type_t msgh_trailer_type;
    mach_msg_trailer_size_t msgh_trailer_size;
    mach_port_seqno_t msgh_seqno;
} mach_msg_seqno_trailer_t;

/* User and group. */
typedef struct {
    unsigned int val[2];
} security_token_t;

typedef struct {
    mach_msg_trailer_type_t msgh_trailer_type;
    mach_msg_trailer_size_t msgh_trailer_size;
    mach_port_seqno_t msgh_seqno;
    security_token_t msgh_sender;
} mach_msg_security_trailer_t;

/* Audit user, user, group, real user, real group, process, session (0), version of the process number (0). */
typedef struct {
    unsigned int val[8];
} audit_token_t;

typedef struct {
    mach_msg_trailer_type_t msgh_trailer_type;
    mach_msg_trailer_size_t msgh_trailer_size;
    mach_port_seqno_t msgh_seqno;
    security_token_t msgh_sender;
    audit_token_t msgh_audit;
} mach_msg_audit_trailer_t;

typedef struct {
    mach_msg_trailer_type_t msgh_trailer_type;
    mach_msg_trailer_size_t msgh_trailer_size;
    mach_port_seqno_t msgh_seqno;
    security_token_t msgh_sender;
    audit_token_t msgh_audit;
    mach_port_context_t msgh_context;
} mach_msg_context_trailer_t;

typedef struct {
    mach_port_name_t sender;
} msg_labels_t;

/* For room: no call gives it. */
typedef struct {
    mach_msg_trailer_type_t msgh_trailer_type;
    mach_msg_trailer_size_t msgh_trailer_size;
    mach_port_seqno_t msgh_seqno;
    security_token_t msgh_sender;
    audit_token_t msgh_audit;
    mach_port_context_t msgh_context;
    mach_msg_filter_id msgh_ad;
    msg_labels_t msgh_labels;
} mach_msg_mac_trailer_t;

#pragma pack(pop)

typedef mach_msg_mac_trailer_t mach_msg_max_trailer_t;
typedef mach_msg_security_trailer_t mach_msg_format_0_trailer_t;

#define MACH_MSG_TRAILER_FORMAT_0 0
#define MACH_MSG_TRAILER_MINIMUM_SIZE sizeof(mach_msg_trailer_t)
#define MACH_MSG_TRAILER_FORMAT_0_SIZE sizeof(mach_msg_format_0_trailer_t)
#define MAX_TRAILER_SIZE ((mach_msg_size_t) sizeof(mach_msg_max_trailer_t))

/* A size as messages have it. */
#define round_msg(x) \
    (((mach_msg_size_t) (x) + (mach_msg_size_t) sizeof(natural_t) - 1) & ~((mach_msg_size_t) sizeof(natural_t) - 1))

typedef struct {
    mach_msg_header_t header;
} mach_msg_empty_send_t;

typedef struct {
    mach_msg_header_t header;
    mach_msg_trailer_t trailer;
} mach_msg_empty_rcv_t;

typedef union {
    mach_msg_empty_send_t send;
    mach_msg_empty_rcv_t rcv;
} mach_msg_empty_t;

/* Options of mach_msg(). */
#define MACH_MSG_OPTION_NONE 0x00000000
#define MACH_SEND_MSG 0x00000001
#define MACH_RCV_MSG 0x00000002
#define MACH_RCV_LARGE 0x00000004          /* leave a message in the queue that is too large for the buffer; msgh_size tells its size */
#define MACH_RCV_LARGE_IDENTITY 0x00000008 /* with it, msgh_local_port tells the port */
#define MACH_SEND_TIMEOUT 0x00000010
#define MACH_SEND_INTERRUPT 0x00000040 /* return when a signal comes; else the send goes on */
#define MACH_RCV_TIMEOUT 0x00000100
#define MACH_RCV_INTERRUPT 0x00000400 /* return when a signal comes; else the receive goes on */

/* Accepted, and of no effect: there is nothing here that they could be about. */
#define MACH_SEND_OVERRIDE 0x00000020
#define MACH_SEND_NOTIFY 0x00000080
#define MACH_RCV_NOTIFY 0x00000000
#define MACH_RCV_VOUCHER 0x00000800
#define MACH_RCV_OVERWRITE 0x00000000
#define MACH_RCV_GUARDED_DESC 0x00001000
#define MACH_RCV_SYNC_WAIT 0x00004000
#define MACH_RCV_SYNC_PEEK 0x00008000
#define MACH_MSG_STRICT_REPLY 0x00000200
#define MACH_SEND_NOIMPORTANCE 0x00040000
#define MACH_SEND_NODENAP MACH_SEND_NOIMPORTANCE
#define MACH_SEND_IMPORTANCE 0x00080000
#define MACH_SEND_SYNC_OVERRIDE 0x00100000
#define MACH_SEND_PROPAGATE_QOS 0x00200000

/* What is to be in the trailer. Other types and elements: MACH_RCV_INVALID_TRAILER. */
#define MACH_RCV_TRAILER_NULL 0
#define MACH_RCV_TRAILER_SEQNO 1
#define MACH_RCV_TRAILER_SENDER 2
#define MACH_RCV_TRAILER_AUDIT 3
#define MACH_RCV_TRAILER_CTX 4
#define MACH_RCV_TRAILER_TYPE(x) (((x) &0xf) << 28)
#define MACH_RCV_TRAILER_ELEMENTS(x) (((x) &0xf) << 24)
#define MACH_RCV_TRAILER_MASK ((0xf << 24))
#define GET_RCV_ELEMENTS(y) (((y) >> 24) & 0xf)
#define REQUESTED_TRAILER_SIZE(y)                                                                                  \
    ((mach_msg_trailer_size_t) ((GET_RCV_ELEMENTS(y) == MACH_RCV_TRAILER_NULL)     ? sizeof(mach_msg_trailer_t)          \
                                : (GET_RCV_ELEMENTS(y) == MACH_RCV_TRAILER_SEQNO)  ? sizeof(mach_msg_seqno_trailer_t)    \
                                : (GET_RCV_ELEMENTS(y) == MACH_RCV_TRAILER_SENDER) ? sizeof(mach_msg_security_trailer_t) \
                                : (GET_RCV_ELEMENTS(y) == MACH_RCV_TRAILER_AUDIT)  ? sizeof(mach_msg_audit_trailer_t)    \
                                : (GET_RCV_ELEMENTS(y) == MACH_RCV_TRAILER_CTX)    ? sizeof(mach_msg_context_trailer_t)  \
                                                                                   : sizeof(mach_msg_mac_trailer_t)))

/* What mach_msg() returns. */
typedef kern_return_t mach_msg_return_t;

#define MACH_MSG_SUCCESS 0x00000000

/* Bits that may be set in MACH_RCV_HEADER_ERROR and MACH_RCV_BODY_ERROR: what was short. */
#define MACH_MSG_MASK 0x00003e00
#define MACH_MSG_IPC_SPACE 0x00002000
#define MACH_MSG_VM_SPACE 0x00001000
#define MACH_MSG_IPC_KERNEL 0x00000800
#define MACH_MSG_VM_KERNEL 0x00000400

#define MACH_SEND_IN_PROGRESS 0x10000001
#define MACH_SEND_INVALID_DATA 0x10000002    /* the message can't be read */
#define MACH_SEND_INVALID_DEST 0x10000003    /* the destination is no send right, or its port is dead */
#define MACH_SEND_TIMED_OUT 0x10000004       /* the queue stayed full; the message is back in the buffer */
#define MACH_SEND_INVALID_VOUCHER 0x10000005 /* there are no vouchers */
#define MACH_SEND_INTERRUPTED 0x10000007     /* a signal came; the message is back in the buffer */
#define MACH_SEND_MSG_TOO_SMALL 0x10000008   /* no multiple of 4, or it ends within the header or a descriptor */
#define MACH_SEND_INVALID_REPLY 0x10000009   /* the reply port is not such a right */
#define MACH_SEND_INVALID_RIGHT 0x1000000a   /* a port in the body is not such a right */
#define MACH_SEND_INVALID_NOTIFY 0x1000000b
#define MACH_SEND_INVALID_MEMORY 0x1000000c /* out-of-line memory can't be read */
#define MACH_SEND_NO_BUFFER 0x1000000d      /* no memory for the message, or it is larger than 64 MiB */
#define MACH_SEND_TOO_LARGE 0x1000000e
#define MACH_SEND_INVALID_TYPE 0x1000000f   /* a descriptor makes no sense */
#define MACH_SEND_INVALID_HEADER 0x10000010 /* msgh_bits makes no sense */
#define MACH_SEND_INVALID_TRAILER 0x10000011
#define MACH_SEND_INVALID_CONTEXT 0x10000012
#define MACH_SEND_INVALID_OPTIONS 0x10000013
#define MACH_SEND_INVALID_RT_OOL_SIZE 0x10000015
#define MACH_SEND_NO_GRANT_DEST 0x10000016
#define MACH_SEND_MSG_FILTERED 0x10000017

#define MACH_RCV_IN_PROGRESS 0x10004001
#define MACH_RCV_INVALID_NAME 0x10004002   /* the name is neither receive right nor port set */
#define MACH_RCV_TIMED_OUT 0x10004003      /* no message came in time */
#define MACH_RCV_TOO_LARGE 0x10004004      /* message and trailer did not fit: it is gone (but see MACH_RCV_LARGE) */
#define MACH_RCV_INTERRUPTED 0x10004005    /* a signal came */
#define MACH_RCV_PORT_CHANGED 0x10004006   /* the port was moved into a set meanwhile */
#define MACH_RCV_INVALID_NOTIFY 0x10004007
#define MACH_RCV_INVALID_DATA 0x10004008   /* the buffer can't be written; the message is gone */
#define MACH_RCV_PORT_DIED 0x10004009      /* the port or set was destroyed or sent away meanwhile */
#define MACH_RCV_IN_SET 0x1000400a         /* the port is in a set: receive from that */
#define MACH_RCV_HEADER_ERROR 0x1000400b   /* no means for the header's rights; see the bits above */
#define MACH_RCV_BODY_ERROR 0x1000400c     /* no means for rights or data of the body; see the bits above */
#define MACH_RCV_INVALID_TYPE 0x1000400d
#define MACH_RCV_SCATTER_SMALL 0x1000400e
#define MACH_RCV_INVALID_TRAILER 0x1000400f /* there is no such trailer */
#define MACH_RCV_IN_PROGRESS_TIMED 0x10004011
#define MACH_RCV_INVALID_REPLY 0x10004012

/*
 * Sends the message, receives one, or does the first and then the second. send_size is in bytes (msgh_size is not looked at); rcv_size is the
 * buffer's, with room for the trailer. notify is not used. mach_msg_overwrite() receives into rcv_msg, if that is not null.
 */
extern mach_msg_return_t mach_msg(mach_msg_header_t *msg, mach_msg_option_t option, mach_msg_size_t send_size,
                                  mach_msg_size_t rcv_size, mach_port_name_t rcv_name, mach_msg_timeout_t timeout,
                                  mach_port_name_t notify);
extern mach_msg_return_t mach_msg_overwrite(mach_msg_header_t *msg, mach_msg_option_t option, mach_msg_size_t send_size,
                                            mach_msg_size_t rcv_size, mach_port_name_t rcv_name,
                                            mach_msg_timeout_t timeout, mach_port_name_t notify,
                                            mach_msg_header_t *rcv_msg, mach_msg_size_t rcv_limit);

/* Sends a message of msgh_size bytes; receives one of at most msgh_size bytes at msgh_local_port. Neither has a time-out. */
extern mach_msg_return_t mach_msg_send(mach_msg_header_t *msg);
extern mach_msg_return_t mach_msg_receive(mach_msg_header_t *msg);

/* Deallocates all rights and all out-of-line memory of a message that was received, or not sent. */
extern void mach_msg_destroy(mach_msg_header_t *msg);

/*
 * Receives requests of at most max_size bytes at rcv_name and answers each with what demux makes of it, until an error. Behind a request there is
 * room for any trailer. demux returns FALSE for a request that it does not know, with MIG_BAD_ID in the reply.
 */
extern mach_msg_return_t mach_msg_server(boolean_t (*demux)(mach_msg_header_t *request, mach_msg_header_t *reply),
                                         mach_msg_size_t max_size, mach_port_t rcv_name, mach_msg_option_t options);
/* The same for one request. */
extern mach_msg_return_t mach_msg_server_once(boolean_t (*demux)(mach_msg_header_t *request,
                                                                 mach_msg_header_t *reply),
                                              mach_msg_size_t max_size, mach_port_t rcv_name,
                                              mach_msg_option_t options);

#ifdef __cplusplus
}
#endif

MACH_LAYOUT(sizeof(mach_msg_header_t) == 24, "mach_msg_header_t has 24 bytes");
MACH_LAYOUT(sizeof(mach_msg_port_descriptor_t) == 12, "mach_msg_port_descriptor_t has 12 bytes");
MACH_LAYOUT(sizeof(mach_msg_ool_descriptor_t) == 16, "mach_msg_ool_descriptor_t has 16 bytes");
MACH_LAYOUT(sizeof(mach_msg_ool_ports_descriptor_t) == 16, "mach_msg_ool_ports_descriptor_t has 16 bytes");
MACH_LAYOUT(sizeof(mach_msg_guarded_port_descriptor_t) == 16, "mach_msg_guarded_port_descriptor_t has 16 bytes");
MACH_LAYOUT(sizeof(mach_msg_max_trailer_t) == 68, "mach_msg_max_trailer_t has 68 bytes");

#endif
