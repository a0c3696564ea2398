/*
 * Messages of Mach 3.0: a header, then data items, each behind a type word. Everything is aligned to
 * 8 bytes: an item's data is padded to 8, an inline port takes 8, out-of-line data is an 8-byte pointer.
 */
#ifndef MACH_MESSAGE_H
#define MACH_MESSAGE_H

#include <mach/kern_return.h>
#include <mach/port.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Milliseconds. Counts only with MACH_SEND_TIMEOUT or MACH_RCV_TIMEOUT; then 0 means not to wait. */
typedef natural_t mach_msg_timeout_t;

#define MACH_MSG_TIMEOUT_NONE ((mach_msg_timeout_t) 0)

typedef unsigned int mach_msg_bits_t;
typedef unsigned int mach_msg_size_t;
typedef natural_t mach_msg_seqno_t;
typedef integer_t mach_msg_id_t;
typedef integer_t mach_msg_option_t;

typedef unsigned int mach_msg_type_name_t;
typedef unsigned int mach_msg_type_size_t;
typedef natural_t mach_msg_type_number_t;

/*
 * msgh_bits: how the remote and the local port are passed (MACH_MSG_TYPE_*), and whether the body has
 * rights or out-of-line data. Without MACH_MSGH_BITS_COMPLEX nothing in the body is looked at.
 */
#define MACH_MSGH_BITS_ZERO 0x00000000
#define MACH_MSGH_BITS_REMOTE_MASK 0x000000ff
#define MACH_MSGH_BITS_LOCAL_MASK 0x0000ff00
#define MACH_MSGH_BITS_PORTS_MASK (MACH_MSGH_BITS_REMOTE_MASK | MACH_MSGH_BITS_LOCAL_MASK)
#define MACH_MSGH_BITS_UNUSED 0x07ff0000
#define MACH_MSGH_BITS_MIGRATED 0x08000000
#define MACH_MSGH_BITS_COMPLEX_DATA 0x10000000
#define MACH_MSGH_BITS_COMPLEX_PORTS 0x20000000
#define MACH_MSGH_BITS_CIRCULAR 0x40000000
#define MACH_MSGH_BITS_COMPLEX 0x80000000u

#define MACH_MSGH_BITS(remote, local) ((mach_msg_bits_t) (remote) | (mach_msg_bits_t) (local) << 8)
#define MACH_MSGH_BITS_REMOTE(bits) ((bits) & MACH_MSGH_BITS_REMOTE_MASK)
#define MACH_MSGH_BITS_LOCAL(bits) (((bits) & MACH_MSGH_BITS_LOCAL_MASK) >> 8)
#define MACH_MSGH_BITS_PORTS(bits) ((bits) & MACH_MSGH_BITS_PORTS_MASK)
#define MACH_MSGH_BITS_OTHER(bits) ((bits) & ~(mach_msg_bits_t) MACH_MSGH_BITS_PORTS_MASK)

/*
 * To send: remote is the destination, local a reply port or MACH_PORT_NULL. As received: remote is
 * the reply port, local the port that the message came to (or the payload that was set for it).
 */
typedef struct mach_msg_header {
    mach_msg_bits_t msgh_bits;
    mach_msg_size_t msgh_size; /* bytes, with the header; set in received messages */
    __extension__ union {
        mach_port_t msgh_remote_port;
        rpc_uintptr_t msgh_remote_slot; /* the 8 bytes of the field: assign it to have no stray bytes in them */
    };
    __extension__ union {
        mach_port_t msgh_local_port;
        rpc_uintptr_t msgh_protected_payload;
    };
    mach_port_seqno_t msgh_seqno; /* set in received messages */
    mach_msg_id_t msgh_id;        /* not interpreted */
} mach_msg_header_t;

typedef mach_msg_header_t mach_msg_user_header_t;

/* The field has room for any size; what libmach sends is limited, see MACH_SEND_NO_BUFFER. */
#define MACH_MSG_SIZE_MAX (~(mach_msg_size_t) 0)

/* Programs from before sequence numbers have a kind in their place. */
#define MACH_MSGH_KIND_NORMAL 0x00000000
#define msgh_kind msgh_seqno
#define mach_msg_kind_t mach_port_seqno_t

/* A port in the body of a message takes 8 bytes. */
typedef union {
    mach_port_name_t name;
    rpc_uintptr_t slot; /* the same 8 bytes: assign it to have no stray bytes in them */
    rpc_uintptr_t kernel_port_do_not_use; /* what the stubs of other compilers call slot */
} mach_port_name_inlined_t;

/*
 * A type word. msgt_size is an element's size in bits: 64 for an inline port, 32 for a port in an
 * out-of-line array. With msgt_deallocate the memory of out-of-line data leaves the sender.
 */
typedef struct {
    unsigned int msgt_name : 8;
    unsigned int msgt_size : 16;
    unsigned int msgt_unused : 5; /* 0 */
    unsigned int msgt_inline : 1;
    unsigned int msgt_longform : 1;
    unsigned int msgt_deallocate : 1;
    mach_msg_type_number_t msgt_number;
} __attribute__((aligned(8))) mach_msg_type_t;

/* The short form holds any count, so the long form is the same word under other names. */
typedef union {
    mach_msg_type_t msgtl_header;
    __extension__ struct {
        unsigned int msgtl_name : 8;
        unsigned int msgtl_size : 16;
        unsigned int msgtl_unused : 5;
        unsigned int msgtl_inline : 1;
        unsigned int msgtl_longform : 1;
        unsigned int msgtl_deallocate : 1;
        mach_msg_type_number_t msgtl_number;
    };
} mach_msg_type_long_t;

/* What an item is made of. Only the types of ports are interpreted. */
#define MACH_MSG_TYPE_UNSTRUCTURED 0
#define MACH_MSG_TYPE_BIT 0
#define MACH_MSG_TYPE_BOOLEAN 0
#define MACH_MSG_TYPE_INTEGER_16 1
#define MACH_MSG_TYPE_INTEGER_32 2
#define MACH_MSG_TYPE_CHAR 8
#define MACH_MSG_TYPE_BYTE 9
#define MACH_MSG_TYPE_INTEGER_8 9
#define MACH_MSG_TYPE_REAL 10
#define MACH_MSG_TYPE_INTEGER_64 11
#define MACH_MSG_TYPE_STRING 12
#define MACH_MSG_TYPE_STRING_C 12
#define MACH_MSG_TYPE_PORT_NAME 15 /* a name as a number: no right is passed */

/* How a right is passed, and what the sender must hold for it. */
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

/* In a received header: the local port's field holds the payload that was set for the port. */
#define MACH_MSG_TYPE_PROTECTED_PAYLOAD 23

#define MACH_MSG_TYPE_LAST 23

/* In an interface: decided at run time. */
#define MACH_MSG_TYPE_POLYMORPHIC (~(mach_msg_type_name_t) 0)

#define MACH_MSG_TYPE_PORT_ANY(x) ((x) >= MACH_MSG_TYPE_MOVE_RECEIVE && (x) <= MACH_MSG_TYPE_MAKE_SEND_ONCE)
#define MACH_MSG_TYPE_PORT_ANY_SEND(x) ((x) >= MACH_MSG_TYPE_MOVE_SEND && (x) <= MACH_MSG_TYPE_MAKE_SEND_ONCE)
#define MACH_MSG_TYPE_PORT_ANY_RIGHT(x) ((x) >= MACH_MSG_TYPE_MOVE_RECEIVE && (x) <= MACH_MSG_TYPE_MOVE_SEND_ONCE)

/* Options of mach_msg(). */
#define MACH_MSG_OPTION_NONE 0x00000000
#define MACH_SEND_MSG 0x00000001
#define MACH_RCV_MSG 0x00000002
#define MACH_SEND_TIMEOUT 0x00000010
#define MACH_SEND_NOTIFY 0x00000020
#define MACH_SEND_INTERRUPT 0x00000040 /* return when a signal comes; else the send goes on */
#define MACH_SEND_CANCEL 0x00000080
#define MACH_RCV_TIMEOUT 0x00000100
#define MACH_RCV_NOTIFY 0x00000200
#define MACH_RCV_INTERRUPT 0x00000400 /* return when a signal comes; else the receive goes on */
#define MACH_RCV_LARGE 0x00000800     /* leave a message in the queue that is too large for the buffer */

/* The alignment of items in a message. */
#define MACH_MSG_USER_ALIGNMENT 8

/* What mach_msg() returns. */
typedef kern_return_t mach_msg_return_t;

#define MACH_MSG_SUCCESS 0x00000000

/* Bits that may be set in MACH_RCV_HEADER_ERROR and MACH_RCV_BODY_ERROR: what was short. */
#define MACH_MSG_MASK 0x00003c00
#define MACH_MSG_IPC_SPACE 0x00002000  /* names of the task */
#define MACH_MSG_VM_SPACE 0x00001000   /* addresses of the task */
#define MACH_MSG_IPC_KERNEL 0x00000800 /* the system's means for rights */
#define MACH_MSG_VM_KERNEL 0x00000400  /* the system's means for out-of-line data */

#define MACH_SEND_IN_PROGRESS 0x10000001
#define MACH_SEND_INVALID_DATA 0x10000002       /* the message can't be read */
#define MACH_SEND_INVALID_DEST 0x10000003       /* the destination is no send right, or its port is dead */
#define MACH_SEND_TIMED_OUT 0x10000004          /* the queue stayed full; the message is back in the buffer */
#define MACH_SEND_WILL_NOTIFY 0x10000005        /* a notification will tell that there is room */
#define MACH_SEND_NOTIFY_IN_PROGRESS 0x10000006 /* such a notification is outstanding already */
#define MACH_SEND_INTERRUPTED 0x10000007        /* a signal came; the message is back in the buffer */
#define MACH_SEND_MSG_TOO_SMALL 0x10000008      /* no multiple of 8, or it ends within the header or an item */
#define MACH_SEND_INVALID_REPLY 0x10000009      /* the reply port is not such a right */
#define MACH_SEND_INVALID_RIGHT 0x1000000a      /* a port in the body is not such a right */
#define MACH_SEND_INVALID_NOTIFY 0x1000000b     /* the notify argument is no receive right */
#define MACH_SEND_INVALID_MEMORY 0x1000000c     /* out-of-line memory can't be read */
#define MACH_SEND_NO_BUFFER 0x1000000d          /* no memory for the message, or it is larger than 64 MiB */
#define MACH_SEND_NO_NOTIFY 0x1000000e          /* no memory for the notification */
#define MACH_SEND_INVALID_TYPE 0x1000000f       /* a type word makes no sense */
#define MACH_SEND_INVALID_HEADER 0x10000010     /* msgh_bits makes no sense */

#define MACH_RCV_IN_PROGRESS 0x10004001
#define MACH_RCV_INVALID_NAME 0x10004002   /* the name is neither receive right nor port set */
#define MACH_RCV_TIMED_OUT 0x10004003      /* no message came in time */
#define MACH_RCV_TOO_LARGE 0x10004004      /* the message did not fit, and is gone (but see MACH_RCV_LARGE) */
#define MACH_RCV_INTERRUPTED 0x10004005    /* a signal came */
#define MACH_RCV_PORT_CHANGED 0x10004006   /* the port was moved into a set meanwhile */
#define MACH_RCV_INVALID_NOTIFY 0x10004007 /* the notify argument is no receive right */
#define MACH_RCV_INVALID_DATA 0x10004008   /* the buffer can't be written; the message is gone */
#define MACH_RCV_PORT_DIED 0x10004009      /* the port or set was destroyed or sent away meanwhile */
#define MACH_RCV_IN_SET 0x1000400a         /* the port is in a set: receive from that */
#define MACH_RCV_HEADER_ERROR 0x1000400b   /* no means for the header's rights; see the bits above */
#define MACH_RCV_BODY_ERROR 0x1000400c     /* no means for rights or data of the body; see the bits above */

/*
 * Sends the message, receives one, or does the first and then the second. send_size is in bytes
 * (msgh_size is not looked at); rcv_size is the buffer's. notify counts with MACH_SEND_NOTIFY,
 * MACH_SEND_CANCEL and MACH_RCV_NOTIFY. mach_msg() goes on after signals; mach_msg_trap() returns
 * MACH_SEND_INTERRUPTED or MACH_RCV_INTERRUPTED.
 */
extern mach_msg_return_t mach_msg(mach_msg_header_t *msg, mach_msg_option_t option, mach_msg_size_t send_size,
                                  mach_msg_size_t rcv_size, mach_port_name_t rcv_name, mach_msg_timeout_t timeout,
                                  mach_port_name_t notify);
extern mach_msg_return_t mach_msg_trap(mach_msg_header_t *msg, mach_msg_option_t option, mach_msg_size_t send_size,
                                       mach_msg_size_t rcv_size, mach_port_name_t rcv_name,
                                       mach_msg_timeout_t timeout, mach_port_name_t notify);

/* Sends a message of msgh_size bytes; receives one of at most msgh_size bytes at msgh_local_port. Neither has a time-out. */
extern mach_msg_return_t mach_msg_send(mach_msg_header_t *msg);
extern mach_msg_return_t mach_msg_receive(mach_msg_header_t *msg);

/* Deallocates all rights and all out-of-line memory of a message that was received, or not sent. */
extern void mach_msg_destroy(mach_msg_header_t *msg);

/*
 * Receives requests at rcv_name and answers each with what demux makes of it, until an error.
 * Request and reply have max_size bytes. demux returns FALSE for a request that it does not know,
 * with MIG_BAD_ID in the reply.
 */
extern mach_msg_return_t mach_msg_server(boolean_t (*demux)(mach_msg_header_t *request, mach_msg_header_t *reply),
                                         mach_msg_size_t max_size, mach_port_t rcv_name);
/* The same with options that are added to those of mach_msg(), and a time-out for the ones that use it. */
extern mach_msg_return_t mach_msg_server_timeout(boolean_t (*demux)(mach_msg_header_t *request,
                                                                    mach_msg_header_t *reply),
                                                 mach_msg_size_t max_size, mach_port_t rcv_name,
                                                 mach_msg_option_t options, mach_msg_timeout_t timeout);
/* The same for one request. The options are added to those of mach_msg(). */
extern mach_msg_return_t mach_msg_server_once(boolean_t (*demux)(mach_msg_header_t *request,
                                                                 mach_msg_header_t *reply),
                                              mach_msg_size_t max_size, mach_port_t rcv_name,
                                              mach_msg_option_t options);

#ifdef __cplusplus
}
#endif

MACH_LAYOUT(sizeof(mach_msg_header_t) == 32, "mach_msg_header_t has 32 bytes");
MACH_LAYOUT(sizeof(mach_msg_type_t) == 8, "mach_msg_type_t has 8 bytes");
MACH_LAYOUT(sizeof(mach_msg_type_long_t) == 8, "mach_msg_type_long_t has 8 bytes");
MACH_LAYOUT(sizeof(mach_port_name_inlined_t) == 8, "mach_port_name_inlined_t has 8 bytes");

#endif
