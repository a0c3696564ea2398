#include "stubs.h"

mach_port_t self;

mach_port_t make_port(void) {
    mach_port_t port;
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, &port) == KERN_SUCCESS);
    MUST(mach_port_insert_right(self, port, port, MACH_MSG_TYPE_MAKE_SEND) == KERN_SUCCESS);
    return port;
}

mach_port_type_t type_of(mach_port_t name) {
    mach_port_type_t type = 0;
    mach_port_type(self, name, &type);
    return type;
}

void refuse(const mach_msg_header_t *request, kern_return_t code) {
    any_message reply;
    memset(&reply, 0, sizeof reply);
    reply.header.msgh_bits = MACH_MSGH_BITS(MACH_MSGH_BITS_REMOTE(request->msgh_bits), 0);
    reply.header.msgh_remote_port = request->msgh_remote_port;
    reply.header.msgh_id = request->msgh_id + 100;
    reply.reply.RetCodeType.msgt_name = MACH_MSG_TYPE_INTEGER_32;
    reply.reply.RetCodeType.msgt_size = 32;
    reply.reply.RetCodeType.msgt_inline = TRUE;
    reply.reply.RetCodeType.msgt_number = 1;
    reply.reply.RetCode = code;
    MUST(mach_msg(&reply.header, MACH_SEND_MSG, sizeof reply.reply, 0, 0, 0, 0) == MACH_MSG_SUCCESS);
}

void same(const any_message *a, const any_message *b) {
    CHECK(a->header.msgh_bits == b->header.msgh_bits);
    CHECK(a->header.msgh_local_port == b->header.msgh_local_port);
    CHECK(a->header.msgh_id == b->header.msgh_id);
    if (!CHECK(a->header.msgh_size == b->header.msgh_size)) {
        fprintf(stderr, "    message %d: %u bytes and %u\n", a->header.msgh_id, a->header.msgh_size, b->header.msgh_size);
        return;
    }
    for (mach_msg_size_t at = sizeof a->header; at < a->header.msgh_size; at++)
        if (a->room[at] != b->room[at]) {
            CHECK(!"the bodies are the same");
            fprintf(stderr, "    message %d, byte %u: %#x and %#x\n", a->header.msgh_id, at, a->room[at] & 0xff, b->room[at] & 0xff);
            return;
        }
}
