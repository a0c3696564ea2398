/* Names of every kind, to be tried as arguments. */
#ifndef FIXTURES_H
#define FIXTURES_H

#include "../check.h"

#include <mach/mach.h>

#include <stdlib.h>
#include <string.h>

#define self mach_task_self()

/* The columns of the tables, in their order. */
enum kind {
    NONE,         /* a name that denotes nothing */
    NULL_NAME,    /* MACH_PORT_NULL */
    DEAD_VALUE,   /* MACH_PORT_DEAD */
    RECEIVE,      /* a receive right */
    SEND_RECEIVE, /* a receive right and a send right with one user reference */
    SEND,         /* a send right with one user reference, whose receive right is in a message */
    SEND_ONCE,
    PORT_SET,
    DEAD_NAME, /* made as such, with one user reference */
    MEMBER,    /* a receive right in a port set */
    DIED,      /* a send right with one user reference whose port was destroyed */
    KINDS
};

extern const char *const kind_names[KINDS];

/* What mach_port_type() says of a name of that kind; 0 if it denotes nothing. */
extern const mach_port_type_t kind_types[KINDS];

/* A fresh name of the kind. */
mach_port_t make(enum kind kind);

/* A name that denotes nothing. */
mach_port_t unused_name(void);

/* A receive right, and one with a send right. */
mach_port_t make_receive(void);
mach_port_t make_port(void);

/* Type of a name, 0 if it denotes nothing; user references of one of its rights. */
mach_port_type_t type_of(mach_port_t name);
mach_port_urefs_t refs_of(mach_port_t name, mach_port_right_t right);

/* Remembers the names that there are; destroys all others; checks that none is left. */
void begin(void);
void sweep(void);

/* One check of a table. Says which row and column fail; -1 in wanted is a combination that is not tried. */
void cell(const char *row, enum kind kind, int code, int wanted);

/* The same for a name's type afterwards. */
void cell_type(const char *row, enum kind kind, mach_port_type_t type, mach_port_type_t wanted);

#define SKIP (-1)

/* A message without a body to a send right, without waiting. */
mach_msg_return_t send_empty(mach_port_t to, mach_msg_type_name_t disposition, mach_msg_id_t id);

/* A message of any kind with room for the largest that the tests receive. */
typedef union {
    mach_msg_header_t header;
    mach_dead_name_notification_t dead_name;
    mach_no_senders_notification_t no_senders;
    mach_port_destroyed_notification_t port_destroyed;
    struct {
        mach_msg_header_t header;
        mach_msg_type_t type;
        mach_port_name_inlined_t port[4];
    } ports;
    struct {
        mach_msg_header_t header;
        mach_msg_type_t type;
        void *address;
    } region;
    char bytes[1024];
} any_message;

/* Receives without waiting. */
mach_msg_return_t receive(mach_port_t from, any_message *message);

/* Whether a message waits; if so it is destroyed, and its identifier is set. */
int waits(mach_port_t port, mach_msg_id_t *id);

/* Inline ports, out-of-line data. */
mach_msg_type_t port_type(mach_msg_type_name_t name, unsigned count);
mach_msg_type_t region_type(unsigned bytes);

/* A send-once right to a port. */
mach_port_t make_once(mach_port_t port);

/* Rights whose ports are in another process: then make() uses these. */
void far_start(void);
void far_end(void);
int far_mode(void);
mach_port_t far_send(void);
mach_port_t far_once(void);
mach_port_t far_died(void);

/* The parts of the table. */
void test_names(void);
void test_references(void);
void test_rights(void);
void test_requests(void);
void test_notifications(void);
void test_send(void);
void test_bodies(void);
void test_receive(void);
void test_memory(void);
void test_calls(void);

#endif
