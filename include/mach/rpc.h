/* A port with the way to pass it, as stubs keep the two together. */
#ifndef MACH_RPC_H
#define MACH_RPC_H

#include <mach/message.h>

struct rpc_port_desc {
    mach_port_t name;
    mach_msg_type_name_t msgt_name;
};

#endif
