/* What the tests of the library's own interfaces share. */
#ifndef STUBS_H
#define STUBS_H

#include "../check.h"

#include <mach/mach.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef union {
    mach_msg_header_t header;
    mig_reply_header_t reply;
    char room[512];
} any_message;

extern mach_port_t self;

/* A receive right with a send right under the same name. */
mach_port_t make_port(void);
mach_port_type_t type_of(mach_port_t name);
/* Answers a request with a code alone. */
void refuse(const mach_msg_header_t *request, kern_return_t code);
/* Checks that two received messages are the same to the byte, apart from the names of their reply rights and the numbers of
 * their turns. */
void same(const any_message *a, const any_message *b);

#endif
