/* Routines that take one name, on a name of every kind. */
#include "fixtures.h"

#define S KERN_SUCCESS
#define N KERN_INVALID_NAME
#define R KERN_INVALID_RIGHT
#define V KERN_INVALID_VALUE
#define E KERN_NAME_EXISTS
#define X KERN_NOT_IN_SET

/* In the table of types: as it was. Gone is 0. */
#define SAME (~(mach_port_type_t) 0)
#define RCV MACH_PORT_TYPE_RECEIVE

struct row {
    const char *name;
    kern_return_t (*call)(mach_port_t name);
    int code[KINDS];
    mach_port_type_t after[KINDS];
};

#define ALL_SAME {SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME}
/*               none null dead rcv s+r send once set deadn member died */
#define ANY_NAME {N, N, N, S, S, S, S, S, S, S, S}
#define RECEIVE_ONLY {N, N, N, S, S, R, R, R, R, S, R}
#define SET_ONLY {N, N, N, R, R, R, R, S, R, R, R}
#define NO_VALUE {V, V, V, V, V, V, V, V, V, V, V}

static kern_return_t call_type(mach_port_t name) {
    mach_port_type_t type;
    return mach_port_type(self, name, &type);
}

static kern_return_t call_destroy(mach_port_t name) {
    return mach_port_destroy(self, name);
}

static kern_return_t call_deallocate(mach_port_t name) {
    return mach_port_deallocate(self, name);
}

static kern_return_t call_qlimit_0(mach_port_t name) {
    return mach_port_set_qlimit(self, name, 0);
}

static kern_return_t call_qlimit_max(mach_port_t name) {
    return mach_port_set_qlimit(self, name, MACH_PORT_QLIMIT_MAX);
}

static kern_return_t call_qlimit_above(mach_port_t name) {
    return mach_port_set_qlimit(self, name, MACH_PORT_QLIMIT_MAX + 1);
}

static kern_return_t call_mscount(mach_port_t name) {
    return mach_port_set_mscount(self, name, 7);
}

static kern_return_t call_seqno(mach_port_t name) {
    return mach_port_set_seqno(self, name, 7);
}

static kern_return_t call_receive_status(mach_port_t name) {
    mach_port_status_t status;
    return mach_port_get_receive_status(self, name, &status);
}

static kern_return_t call_set_payload(mach_port_t name) {
    return mach_port_set_protected_payload(self, name, 7);
}

static kern_return_t call_clear_payload(mach_port_t name) {
    return mach_port_clear_protected_payload(self, name);
}

static kern_return_t call_set_status(mach_port_t name) {
    mach_port_name_array_t members;
    mach_msg_type_number_t count;
    kern_return_t code = mach_port_get_set_status(self, name, &members, &count);
    if (code == KERN_SUCCESS) CHECK(count == 0);
    return code;
}

static kern_return_t call_move_out(mach_port_t name) {
    return mach_port_move_member(self, name, MACH_PORT_NULL);
}

static kern_return_t call_move_in(mach_port_t name) {
    return mach_port_move_member(self, name, make(PORT_SET));
}

static kern_return_t call_move_to_nothing(mach_port_t name) {
    return mach_port_move_member(self, name, unused_name());
}

static kern_return_t call_move_to_dead_value(mach_port_t name) {
    return mach_port_move_member(self, name, MACH_PORT_DEAD);
}

static kern_return_t call_move_to_port(mach_port_t name) {
    return mach_port_move_member(self, name, make_receive());
}

static kern_return_t call_move_after(mach_port_t after) {
    return mach_port_move_member(self, make_receive(), after);
}

static kern_return_t call_rename(mach_port_t name) {
    mach_port_t to = unused_name();
    mach_port_type_t type = type_of(name);
    kern_return_t code = mach_port_rename(self, name, to);
    if (code == KERN_SUCCESS) CHECK(type_of(to) == type);
    return code;
}

static kern_return_t call_rename_to_used(mach_port_t name) {
    return mach_port_rename(self, name, make_receive());
}

static kern_return_t call_rename_to_itself(mach_port_t name) {
    return mach_port_rename(self, name, name);
}

static kern_return_t call_rename_to_null(mach_port_t name) {
    return mach_port_rename(self, name, MACH_PORT_NULL);
}

static kern_return_t call_rename_to_dead(mach_port_t name) {
    return mach_port_rename(self, name, MACH_PORT_DEAD);
}

static kern_return_t call_rename_onto(mach_port_t name) {
    return mach_port_rename(self, make_receive(), name);
}

static kern_return_t call_allocate_name(mach_port_t name) {
    return mach_port_allocate_name(self, MACH_PORT_RIGHT_RECEIVE, name);
}

static kern_return_t call_allocate_set_name(mach_port_t name) {
    return mach_port_allocate_name(self, MACH_PORT_RIGHT_PORT_SET, name);
}

static kern_return_t call_allocate_dead_name(mach_port_t name) {
    return mach_port_allocate_name(self, MACH_PORT_RIGHT_DEAD_NAME, name);
}

static const struct row rows[] = {
    {"mach_port_type", call_type, ANY_NAME, ALL_SAME},
    {"mach_port_destroy", call_destroy, ANY_NAME, {0}},
    {"mach_port_deallocate", call_deallocate, {N, N, N, R, S, S, S, R, S, R, S},
     {0, 0, 0, SAME, RCV, 0, 0, SAME, 0, SAME, 0}},
    {"mach_port_set_qlimit(0)", call_qlimit_0, RECEIVE_ONLY, ALL_SAME},
    {"mach_port_set_qlimit(MAX)", call_qlimit_max, RECEIVE_ONLY, ALL_SAME},
    {"mach_port_set_qlimit(MAX + 1)", call_qlimit_above, NO_VALUE, ALL_SAME},
    {"mach_port_set_mscount", call_mscount, RECEIVE_ONLY, ALL_SAME},
    {"mach_port_set_seqno", call_seqno, RECEIVE_ONLY, ALL_SAME},
    {"mach_port_get_receive_status", call_receive_status, RECEIVE_ONLY, ALL_SAME},
    {"mach_port_set_protected_payload", call_set_payload, RECEIVE_ONLY, ALL_SAME},
    {"mach_port_clear_protected_payload", call_clear_payload, RECEIVE_ONLY, ALL_SAME},
    {"mach_port_get_set_status", call_set_status, SET_ONLY, ALL_SAME},
    {"mach_port_move_member(.., NULL)", call_move_out, {N, N, N, X, X, R, R, R, R, S, R}, ALL_SAME},
    {"mach_port_move_member(.., a set)", call_move_in, RECEIVE_ONLY, ALL_SAME},
    {"mach_port_move_member(.., nothing)", call_move_to_nothing, {N, N, N, N, N, R, R, R, R, N, R}, ALL_SAME},
    {"mach_port_move_member(.., DEAD)", call_move_to_dead_value, {N, N, N, N, N, R, R, R, R, N, R}, ALL_SAME},
    {"mach_port_move_member(.., a port)", call_move_to_port, {N, N, N, R, R, R, R, R, R, R, R}, ALL_SAME},
    {"mach_port_move_member(a port, ..)", call_move_after, {N, X, N, R, R, R, R, S, R, R, R}, ALL_SAME},
    {"mach_port_rename", call_rename, ANY_NAME, {0}},
    {"mach_port_rename(.., in use)", call_rename_to_used, {SKIP, SKIP, SKIP, E, E, E, E, E, E, E, E}, ALL_SAME},
    {"mach_port_rename(.., itself)", call_rename_to_itself, {N, V, V, E, E, E, E, E, E, E, E}, ALL_SAME},
    {"mach_port_rename(.., NULL)", call_rename_to_null, {SKIP, SKIP, SKIP, V, V, V, V, V, V, V, V}, ALL_SAME},
    {"mach_port_rename(.., DEAD)", call_rename_to_dead, {SKIP, SKIP, SKIP, V, V, V, V, V, V, V, V}, ALL_SAME},
    {"mach_port_rename(a port, ..)", call_rename_onto, {S, V, V, E, E, E, E, E, E, E, E},
     {RCV, 0, 0, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME}},
    {"mach_port_allocate_name(RECEIVE, ..)", call_allocate_name, {S, V, V, E, E, E, E, E, E, E, E},
     {RCV, 0, 0, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME}},
    {"mach_port_allocate_name(PORT_SET, ..)", call_allocate_set_name, {S, V, V, E, E, E, E, E, E, E, E},
     {MACH_PORT_TYPE_PORT_SET, 0, 0, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME}},
    {"mach_port_allocate_name(DEAD_NAME, ..)", call_allocate_dead_name, {S, V, V, E, E, E, E, E, E, E, E},
     {MACH_PORT_TYPE_DEAD_NAME, 0, 0, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME}},
};

static void test_allocate(void) {
    static const struct {
        mach_port_right_t right;
        kern_return_t code;
        mach_port_type_t type;
    } wanted[] = {
        {MACH_PORT_RIGHT_SEND, V, 0},           {MACH_PORT_RIGHT_RECEIVE, S, MACH_PORT_TYPE_RECEIVE},
        {MACH_PORT_RIGHT_SEND_ONCE, V, 0},      {MACH_PORT_RIGHT_PORT_SET, S, MACH_PORT_TYPE_PORT_SET},
        {MACH_PORT_RIGHT_NUMBER, V, 0},         {MACH_PORT_RIGHT_DEAD_NAME, S, MACH_PORT_TYPE_DEAD_NAME},
        {~(mach_port_right_t) 0, V, 0},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        mach_port_t name = MACH_PORT_NULL;
        CHECK_CODE(mach_port_allocate(self, wanted[i].right, &name), wanted[i].code);
        CHECK(type_of(name) == wanted[i].type);
        if (wanted[i].code == S) CHECK(MACH_PORT_VALID(name));
        CHECK_CODE(mach_port_allocate_name(self, wanted[i].right, unused_name()), wanted[i].code);
        sweep();
    }
}

/* A new port is as Mach makes it, and its attributes are what was set. */
static void test_status(void) {
    mach_port_status_t status;
    mach_port_t port = make_receive(), set = make(PORT_SET);
    memset(&status, 0xff, sizeof status);
    CHECK_CODE(mach_port_get_receive_status(self, port, &status), S);
    CHECK(status.mps_pset == MACH_PORT_NULL && status.mps_seqno == 0 && status.mps_mscount == 0);
    CHECK(status.mps_qlimit == MACH_PORT_QLIMIT_DEFAULT && status.mps_msgcount == 0);
    CHECK(status.mps_sorights == 0 && !status.mps_srights && !status.mps_pdrequest && !status.mps_nsrequest);

    CHECK_CODE(mach_port_set_qlimit(self, port, 9), S);
    CHECK_CODE(mach_port_insert_right(self, port, port, MACH_MSG_TYPE_MAKE_SEND), S);
    CHECK_CODE(mach_port_insert_right(self, port, port, MACH_MSG_TYPE_MAKE_SEND), S);
    make_once(port);
    make_once(port);
    make_once(port);
    CHECK_CODE(send_empty(port, MACH_MSG_TYPE_COPY_SEND, 0), MACH_MSG_SUCCESS);
    CHECK_CODE(mach_port_move_member(self, port, set), S);
    CHECK_CODE(mach_port_set_seqno(self, port, 40), S);
    CHECK_CODE(mach_port_get_receive_status(self, port, &status), S);
    CHECK(status.mps_pset == set && status.mps_seqno == 40 && status.mps_mscount == 2);
    CHECK(status.mps_qlimit == 9 && status.mps_msgcount == 1);
    CHECK(status.mps_sorights == 3 && status.mps_srights);
    CHECK(refs_of(port, MACH_PORT_RIGHT_SEND) == 2);
    CHECK_CODE(mach_port_set_mscount(self, port, 11), S);
    CHECK_CODE(mach_port_get_receive_status(self, port, &status), S);
    CHECK(status.mps_mscount == 11);
    sweep();
}

static void test_sets(void) {
    mach_port_t first = make(PORT_SET), second = make(PORT_SET), ports[3];
    mach_port_name_array_t members;
    mach_msg_type_number_t count;
    mach_port_status_t status;
    for (int i = 0; i < 3; i++) {
        ports[i] = make_receive();
        CHECK_CODE(mach_port_move_member(self, ports[i], first), S);
    }
    CHECK_CODE(mach_port_move_member(self, ports[0], first), S);
    CHECK_CODE(mach_port_move_member(self, ports[1], second), S);
    CHECK_CODE(mach_port_get_set_status(self, first, &members, &count), S);
    CHECK(count == 2);
    CHECK((members[0] == ports[0] && members[1] == ports[2]) || (members[0] == ports[2] && members[1] == ports[0]));
    CHECK_CODE(vm_deallocate(self, (vm_address_t) members, count * sizeof *members), S);
    CHECK_CODE(mach_port_get_set_status(self, second, &members, &count), S);
    CHECK(count == 1 && members[0] == ports[1]);
    CHECK_CODE(vm_deallocate(self, (vm_address_t) members, count * sizeof *members), S);
    /* Members outlive their set. */
    CHECK_CODE(mach_port_destroy(self, first), S);
    CHECK_CODE(mach_port_get_receive_status(self, ports[0], &status), S);
    CHECK(status.mps_pset == MACH_PORT_NULL);
    CHECK_CODE(mach_port_move_member(self, ports[0], MACH_PORT_NULL), X);
    /* And a set its members. */
    CHECK_CODE(mach_port_destroy(self, ports[1]), S);
    CHECK_CODE(mach_port_get_set_status(self, second, &members, &count), S);
    CHECK(count == 0);
    sweep();
}

static void test_list(void) {
    mach_port_t made[KINDS] = {0};
    mach_port_name_array_t names;
    mach_port_type_array_t types;
    mach_msg_type_number_t count, type_count;
    for (int kind = RECEIVE; kind < KINDS; kind++) made[kind] = make(kind);
    MUST(mach_port_names(self, &names, &count, &types, &type_count) == S);
    CHECK(count == type_count);
    for (int kind = RECEIVE; kind < KINDS; kind++) {
        unsigned found = 0;
        for (mach_msg_type_number_t i = 0; i < count; i++) {
            if (names[i] != made[kind]) continue;
            found++;
            cell_type("mach_port_names", kind, types[i], kind_types[kind]);
        }
        CHECK(found == 1);
    }
    CHECK_CODE(vm_deallocate(self, (vm_address_t) names, count * sizeof *names), S);
    CHECK_CODE(vm_deallocate(self, (vm_address_t) types, count * sizeof *types), S);
    sweep();
}

void test_names(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int kind = 0; kind < KINDS; kind++) {
            if (rows[i].code[kind] == SKIP) continue;
            mach_port_t name = make(kind);
            mach_port_type_t after = rows[i].after[kind] == SAME ? kind_types[kind] : rows[i].after[kind];
            cell_type(rows[i].name, kind, type_of(name), kind_types[kind]);
            cell(rows[i].name, kind, rows[i].call(name), rows[i].code[kind]);
            cell_type(rows[i].name, kind, type_of(name), after);
            sweep();
        }
    }
    test_allocate();
    test_status();
    test_sets();
    test_list();
}
