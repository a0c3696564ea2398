/* Ports, and messages that carry one right, for programs of the typed dialect. */
#ifndef PORTS_H
#define PORTS_H

#include "check.h"

#include <mach/mach.h>

#include <stdlib.h>
#include <string.h>

#define self mach_task_self()
#define S KERN_SUCCESS
#define COPY MACH_MSG_TYPE_COPY_SEND

/* How long a message is awaited, in milliseconds. */
enum { PATIENCE = 30000 };

typedef struct {
    mach_msg_header_t header;
    mach_msg_type_t type;
    mach_port_name_inlined_t port;
    char room[64];
} port_message;

static inline mach_port_t make_port(void) {
    mach_port_t port;
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, &port) == S);
    MUST(mach_port_insert_right(self, port, port, MACH_MSG_TYPE_MAKE_SEND) == S);
    return port;
}

static inline void fill(mach_msg_header_t *header, mach_port_t to, mach_msg_id_t id, mach_msg_size_t size) {
    memset(header, 0, size);
    header->msgh_bits = MACH_MSGH_BITS(COPY, 0);
    header->msgh_size = size;
    header->msgh_remote_port = to;
    header->msgh_id = id;
}

static inline void send(mach_port_t to, mach_msg_id_t id, mach_port_t port) {
    port_message message;
    fill(&message.header, to, id, sizeof message);
    message.header.msgh_size = sizeof message - sizeof message.room;
    message.header.msgh_bits |= MACH_MSGH_BITS_COMPLEX;
    message.type.msgt_name = COPY;
    message.type.msgt_size = 64;
    message.type.msgt_inline = TRUE;
    message.type.msgt_number = 1;
    message.port.name = port;
    CHECK_CODE(mach_msg_send(&message.header), S);
}

/* The right of a message, which is awaited. */
static inline mach_port_t receive(mach_port_t from, mach_msg_id_t id) {
    port_message message;
    memset(&message, 0, sizeof message);
    MUST(mach_msg(&message.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof message, from, PATIENCE, 0) == S);
    MUST(message.header.msgh_id == id);
    return message.port.name;
}

#endif
