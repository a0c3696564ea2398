/* Every macro of the headers in use, and the usual initialisers. Compiled only, as C and as C++. */
#include <cthreads.h>
#include <mach.h>
#include <mach/bootstrap.h>
#include <mach/mach_interface.h>
#include <mach/rpc.h>
#include <mach/slipway.h>
#include <mach/vm_param.h>
#include <servers/bootstrap.h>
#include <servers/netname.h>

#include <string.h>

extern const mach_msg_type_t int_type;
extern const mach_msg_type_long_t long_type;
extern const mig_reply_header_t reply_template;
mach_msg_return_t call(mach_port_t port, mach_port_t reply);
kern_return_t ports(void);
int kinds(mach_msg_type_name_t name, mach_port_t port);
vm_size_t pages(vm_size_t size);
any_t thread(any_t argument);

#ifndef __cplusplus
const mach_msg_type_t int_type = {
    .msgt_name = MACH_MSG_TYPE_INTEGER_32,
    .msgt_size = 32,
    .msgt_unused = 0,
    .msgt_inline = TRUE,
    .msgt_longform = FALSE,
    .msgt_deallocate = FALSE,
    .msgt_number = 1,
};

const mach_msg_type_long_t long_type = {
    .msgtl_name = MACH_MSG_TYPE_CHAR,
    .msgtl_size = 8,
    .msgtl_unused = 0,
    .msgtl_inline = TRUE,
    .msgtl_longform = FALSE,
    .msgtl_deallocate = FALSE,
    .msgtl_number = 100,
};

const mig_reply_header_t reply_template = {
    .Head = {.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0), .msgh_size = sizeof(mig_reply_header_t)},
    .RetCode = MIG_BAD_ID,
};
#endif

mach_msg_return_t call(mach_port_t port, mach_port_t reply) {
    struct {
        mach_msg_header_t head;
        mach_msg_type_t type;
        mach_port_name_inlined_t name;
    } message;
    memset(&message, 0, sizeof message);
    message.head.msgh_bits =
        MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE) | MACH_MSGH_BITS_COMPLEX;
    message.head.msgh_remote_port = port;
    message.head.msgh_local_port = reply;
    message.head.msgh_seqno = 0;
    message.head.msgh_kind = MACH_MSGH_KIND_NORMAL;
    message.type = int_type;
    message.name.name = port;
    mach_msg_return_t code = mach_msg(&message.head, MACH_SEND_MSG | MACH_RCV_MSG | MACH_RCV_TIMEOUT, sizeof message,
                                      sizeof message, reply, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
    if ((code & ~MACH_MSG_MASK) == MACH_RCV_BODY_ERROR && (code & MACH_MSG_IPC_SPACE)) return code;
    if (MACH_MSGH_BITS_REMOTE(message.head.msgh_bits) == MACH_MSG_TYPE_PORT_SEND_ONCE ||
        MACH_MSGH_BITS_LOCAL(message.head.msgh_bits) == MACH_MSG_TYPE_PROTECTED_PAYLOAD ||
        MACH_MSGH_BITS_PORTS(message.head.msgh_bits) == 0 || MACH_MSGH_BITS_OTHER(message.head.msgh_bits) == 0)
        mach_msg_destroy(&message.head);
    return code;
}

kern_return_t ports(void) {
    mach_port_t name = MACH_PORT_NULL, previous, bootstrap;
    mach_port_type_t type = MACH_PORT_TYPE_NONE;
    kern_return_t code = mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &name);
    if (code != KERN_SUCCESS) {
        mach_error("mach_port_allocate", code);
        return code;
    }
    code = mach_port_request_notification(current_task(), name, MACH_NOTIFY_NO_SENDERS, 0, name,
                                          MACH_MSG_TYPE_MAKE_SEND_ONCE, &previous);
    if (code == KERN_SUCCESS) code = task_get_bootstrap_port(mach_task_self(), &bootstrap);
    if (code == KERN_SUCCESS) code = bootstrap_look_up(bootstrap_port, "service", &bootstrap);
    if (code == KERN_SUCCESS) code = netname_look_up(name_server_port, "", "service", &bootstrap);
    if (code == KERN_SUCCESS) code = mach_port_type(mach_task_self(), name, &type);
    if ((type & MACH_PORT_TYPE_ALL_RIGHTS) != MACH_PORT_TYPE_RECEIVE || (type & MACH_PORT_TYPE_DNREQUEST)) return KERN_FAILURE;
    return code;
}

int kinds(mach_msg_type_name_t name, mach_port_t port) {
    return MACH_MSG_TYPE_PORT_ANY(name) + MACH_MSG_TYPE_PORT_ANY_SEND(name) + MACH_MSG_TYPE_PORT_ANY_RIGHT(name) +
           (name == MACH_MSG_TYPE_POLYMORPHIC) + MACH_PORT_VALID(port) + MACH_PORT_NAME_VALID(port) +
           (port == MACH_PORT_DEAD);
}

vm_size_t pages(vm_size_t size) {
    vm_address_t address = 0;
    if (vm_allocate(mach_task_self(), &address, round_page(size), TRUE) != KERN_SUCCESS) return 0;
    return page_aligned(address) ? trunc_page(size) : vm_page_size;
}

static struct mutex lock = MUTEX_INITIALIZER;
static struct mutex named_lock = MUTEX_NAMED_INITIALIZER("lock");
static struct condition ready = CONDITION_INITIALIZER;
static struct condition named_ready = CONDITION_NAMED_INITIALIZER("ready");
static spin_lock_t spin = SPIN_LOCK_INITIALIZER;

any_t thread(any_t argument) {
    mutex_lock(&lock);
    if (mutex_try_lock(&named_lock)) mutex_unlock(&named_lock);
    condition_wait(&ready, &lock);
    condition_broadcast(&named_ready);
    mutex_unlock(&lock);
    spin_lock(&spin);
    spin_unlock(&spin);
    cthread_wire();
    cthread_unwire();
    cthread_set_data(cthread_self(), argument);
    cthread_t other = cthread_fork(thread, cthread_data(cthread_self()));
    if (other == NO_CTHREAD) return NULL;
    return cthread_join(other);
}
