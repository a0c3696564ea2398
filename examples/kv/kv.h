/* The messages between kv-client and kv-server. */
#ifndef KV_H
#define KV_H

#include <mach/mach.h>

/* The name of the service. */
#define KV_SERVICE "slipway.example.kv"

/* What a request asks for: its msgh_id. A reply's is KV_REPLY more. */
#define KV_PUT 5000
#define KV_GET 5001
#define KV_DELETE 5002
#define KV_LIST 5003
#define KV_REPLY 100

/* What a reply says. */
#define KV_OK 0
#define KV_NOT_FOUND 1
#define KV_BAD_REQUEST 2 /* the message is not one of these, or a key or value is too long */
#define KV_FULL 3        /* the server keeps no more */

/* A key has at least one byte, and is filled up with NULs, of which there is at least one. */
#define KV_KEY_SIZE 64
#define KV_VALUE_MAX (1u << 20)

/* KV_GET, KV_DELETE, and KV_LIST (whose key is empty). */
struct kv_request {
    mach_msg_header_t header;
    mach_msg_type_t key_type; /* KV_KEY_SIZE characters */
    char key[KV_KEY_SIZE];
};

/* KV_PUT. */
struct kv_put {
    struct kv_request request;
    mach_msg_type_t value_type; /* at most KV_VALUE_MAX bytes, out of line */
    void *value;
    mach_msg_type_t owner_type; /* a send right, or MACH_PORT_NULL */
    mach_port_name_inlined_t owner; /* the entry goes when this port dies */
};

/* Every reply. To KV_GET the value is the entry's; to KV_LIST all keys, each with a newline; otherwise empty. */
struct kv_reply {
    mach_msg_header_t header;
    mach_msg_type_t code_type; /* an integer of 32 bits */
    int code;
    int padding;
    mach_msg_type_t value_type; /* bytes, out of line */
    void *value;
};

/* A type word. Elements are of size bits; a port of 64 bits inline. */
static inline mach_msg_type_t kv_type(unsigned name, unsigned size, unsigned number, int inlined) {
    mach_msg_type_t type = {
        .msgt_name = name & 0xff, .msgt_size = size & 0xffff, .msgt_inline = inlined & 1, .msgt_number = number};
    return type;
}

/* Whether a received word is the wanted one. A received word may have msgt_deallocate, if it is out of line. */
static inline int kv_same_type(mach_msg_type_t got, mach_msg_type_t wanted) {
    return got.msgt_name == wanted.msgt_name && got.msgt_size == wanted.msgt_size &&
           got.msgt_inline == wanted.msgt_inline && got.msgt_number == wanted.msgt_number;
}

#define KV_KEY_TYPE kv_type(MACH_MSG_TYPE_CHAR, 8, KV_KEY_SIZE, TRUE)
#define KV_CODE_TYPE kv_type(MACH_MSG_TYPE_INTEGER_32, 32, 1, TRUE)
#define KV_VALUE_TYPE(size) kv_type(MACH_MSG_TYPE_BYTE, 8, (size), FALSE)
#define KV_OWNER_TYPE(disposition) kv_type((disposition), 64, 1, TRUE)

#endif
