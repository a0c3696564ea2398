#include "fixtures.h"

const char *const kind_names[KINDS] = {
    "an unused name", "MACH_PORT_NULL", "MACH_PORT_DEAD", "a receive right", "a send and receive right",
    "a send right", "a send-once right", "a port set", "a dead name", "a member of a set", "a send right whose port died",
};

const mach_port_type_t kind_types[KINDS] = {
    0,
    0,
    0,
    MACH_PORT_TYPE_RECEIVE,
    MACH_PORT_TYPE_SEND_RECEIVE,
    MACH_PORT_TYPE_SEND,
    MACH_PORT_TYPE_SEND_ONCE,
    MACH_PORT_TYPE_PORT_SET,
    MACH_PORT_TYPE_DEAD_NAME,
    MACH_PORT_TYPE_RECEIVE,
    MACH_PORT_TYPE_DEAD_NAME,
};

mach_port_t unused_name(void) {
    /* Far from the names that the space picks, so that none made later is the same. */
    static mach_port_t next = 0x5a5a00;
    mach_port_type_t type;
    do next += 0x101;
    while (mach_port_type(self, next, &type) != KERN_INVALID_NAME);
    return next;
}

mach_port_t make_receive(void) {
    mach_port_t name;
    MUST(mach_port_allocate(self, MACH_PORT_RIGHT_RECEIVE, &name) == KERN_SUCCESS);
    return name;
}

mach_port_t make_port(void) {
    mach_port_t name = make_receive();
    MUST(mach_port_insert_right(self, name, name, MACH_MSG_TYPE_MAKE_SEND) == KERN_SUCCESS);
    return name;
}

mach_port_t make_once(mach_port_t port) {
    mach_port_t once;
    mach_msg_type_name_t type;
    MUST(mach_port_extract_right(self, port, MACH_MSG_TYPE_MAKE_SEND_ONCE, &once, &type) == KERN_SUCCESS);
    return once;
}

mach_msg_type_t port_type(mach_msg_type_name_t name, unsigned count) {
    mach_msg_type_t type;
    memset(&type, 0, sizeof type);
    type.msgt_name = name & 0xff;
    type.msgt_size = 64;
    type.msgt_inline = 1;
    type.msgt_number = count;
    return type;
}

mach_msg_type_t region_type(unsigned bytes) {
    mach_msg_type_t type;
    memset(&type, 0, sizeof type);
    type.msgt_name = MACH_MSG_TYPE_BYTE;
    type.msgt_size = 8;
    type.msgt_number = bytes;
    return type;
}

/* A send right whose receive right waits in a message. */
static mach_port_t make_send(void) {
    mach_port_t port = make_port(), parking = make_receive();
    any_message message;
    memset(&message, 0, sizeof message);
    message.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MAKE_SEND, 0) | MACH_MSGH_BITS_COMPLEX;
    message.header.msgh_remote_port = parking;
    message.ports.type = port_type(MACH_MSG_TYPE_MOVE_RECEIVE, 1);
    message.ports.port[0].name = port;
    MUST(mach_msg(&message.header, MACH_SEND_MSG, 48, 0, 0, 0, 0) == MACH_MSG_SUCCESS);
    return port;
}

mach_port_t make(enum kind kind) {
    mach_port_t name, set;
    switch (kind) {
    case NONE: return unused_name();
    case NULL_NAME: return MACH_PORT_NULL;
    case DEAD_VALUE: return MACH_PORT_DEAD;
    case RECEIVE: return make_receive();
    case SEND_RECEIVE: return make_port();
    case SEND: return far_mode() ? far_send() : make_send();
    case SEND_ONCE: return far_mode() ? far_once() : make_once(make_receive());
    case PORT_SET: MUST(mach_port_allocate(self, MACH_PORT_RIGHT_PORT_SET, &name) == KERN_SUCCESS); return name;
    case DEAD_NAME: MUST(mach_port_allocate(self, MACH_PORT_RIGHT_DEAD_NAME, &name) == KERN_SUCCESS); return name;
    case MEMBER:
        name = make_receive();
        set = make(PORT_SET);
        MUST(mach_port_move_member(self, name, set) == KERN_SUCCESS);
        return name;
    case DIED:
        if (far_mode()) return far_died();
        name = make_port();
        MUST(mach_port_mod_refs(self, name, MACH_PORT_RIGHT_RECEIVE, -1) == KERN_SUCCESS);
        return name;
    default: MUST(!"a kind of name"); return MACH_PORT_NULL;
    }
}

mach_port_type_t type_of(mach_port_t name) {
    mach_port_type_t type;
    return mach_port_type(self, name, &type) == KERN_SUCCESS ? type : 0;
}

mach_port_urefs_t refs_of(mach_port_t name, mach_port_right_t right) {
    mach_port_urefs_t refs;
    return mach_port_get_refs(self, name, right, &refs) == KERN_SUCCESS ? refs : 0;
}

static mach_port_t kept[256];
static mach_msg_type_number_t kept_count;

/* All names; gives the memory back. */
static mach_msg_type_number_t list(mach_port_t *names, mach_msg_type_number_t room) {
    mach_port_name_array_t found;
    mach_port_type_array_t types;
    mach_msg_type_number_t count, type_count;
    MUST(mach_port_names(self, &found, &count, &types, &type_count) == KERN_SUCCESS);
    MUST(count == type_count && count <= room);
    memcpy(names, found, count * sizeof *names);
    if (count) {
        CHECK_CODE(vm_deallocate(self, (vm_address_t) found, count * sizeof *found), KERN_SUCCESS);
        CHECK_CODE(vm_deallocate(self, (vm_address_t) types, count * sizeof *types), KERN_SUCCESS);
    }
    return count;
}

void begin(void) {
    kept_count = list(kept, 256);
}

static int is_kept(mach_port_t name) {
    for (mach_msg_type_number_t i = 0; i < kept_count; i++)
        if (kept[i] == name) return 1;
    return 0;
}

void sweep(void) {
    static mach_port_t names[65536];
    mach_msg_type_number_t count = list(names, 65536);
    for (mach_msg_type_number_t i = 0; i < count; i++)
        if (!is_kept(names[i]) && type_of(names[i])) CHECK_CODE(mach_port_destroy(self, names[i]), KERN_SUCCESS);
    count = list(names, 65536);
    if (!CHECK(count == kept_count)) begin();
}

void cell(const char *row, enum kind kind, int code, int wanted) {
    checks_made++;
    if (code == wanted) return;
    checks_failed++;
    fprintf(stderr, "%s on %s\n    returned %s, not %s\n", row, kind_names[kind], code_name(code), code_name(wanted));
}

void cell_type(const char *row, enum kind kind, mach_port_type_t type, mach_port_type_t wanted) {
    checks_made++;
    if (type == wanted) return;
    checks_failed++;
    fprintf(stderr, "%s on %s\n    left type %#x, not %#x\n", row, kind_names[kind], type, wanted);
}

mach_msg_return_t send_empty(mach_port_t to, mach_msg_type_name_t disposition, mach_msg_id_t id) {
    mach_msg_header_t header;
    memset(&header, 0, sizeof header);
    header.msgh_bits = MACH_MSGH_BITS(disposition, 0);
    header.msgh_remote_port = to;
    header.msgh_id = id;
    return mach_msg(&header, MACH_SEND_MSG | MACH_SEND_TIMEOUT, sizeof header, 0, 0, 0, 0);
}

mach_msg_return_t receive(mach_port_t from, any_message *message) {
    memset(message, 0xa5, sizeof *message);
    return mach_msg(&message->header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof *message, from, 0, 0);
}

int waits(mach_port_t port, mach_msg_id_t *id) {
    any_message message;
    if (receive(port, &message) != MACH_MSG_SUCCESS) return 0;
    if (id) *id = message.header.msgh_id;
    mach_msg_destroy(&message.header);
    return 1;
}
