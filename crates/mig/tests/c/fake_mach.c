/*
 * An in-process stand-in for libmach: mach_msg hands the request straight to a server's demultiplexer. It
 * checks and translates messages as a kernel does. Buffers have exactly the message's size, so that the
 * address sanitizer sees any access beyond it; the reply's buffer begins full of rubbish.
 */
#include "fake_mach.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <mach/mig_support.h>

#define REPLY_ROOM (1 << 20)

void (*fake_on_request)(void *message, mach_msg_size_t size);
void (*fake_on_reply)(void *message, mach_msg_size_t size);
unsigned fake_destroyed, fake_rights_destroyed;
const mach_trap_table_t *fake_traps;
int (*fake_may_trap)(void);
unsigned fake_trapped, fake_sent;

/* Out-of-line memory, from vm_allocate or received. */
struct region {
    struct region *next;
    uintptr_t at;
    uint64_t size;
};
static struct region *regions;

/* Replies on their way. */
struct queued {
    struct queued *next;
    mach_port_t port;
    mach_msg_size_t size;
    uint64_t message[];
};
static struct queued *queue;

static mach_port_t next_port = 1000;
mach_port_seqno_t fake_seqno;
int fake_keep_memory;

unsigned fake_regions(void)
{
    unsigned count = 0;
    struct region *r;

    for (r = regions; r != NULL; r = r->next)
        count++;
    return count;
}

static void *new_region(uint64_t size)
{
    struct region *r = malloc(sizeof *r);

    if (r == NULL || (r->at = (uintptr_t) malloc(size == 0 ? 1 : size)) == 0)
        abort();
    r->size = size;
    r->next = regions;
    regions = r;
    return (void *) r->at;
}

static int in_region(uintptr_t at, uint64_t size)
{
    struct region *r;

    for (r = regions; r != NULL; r = r->next)
        if (at >= r->at && size <= r->size && at - r->at <= r->size - size)
            return 1;
    return 0;
}

static void drop_region(uintptr_t at)
{
    struct region **link;

    for (link = &regions; *link != NULL; link = &(*link)->next)
        if ((*link)->at == at) {
            struct region *r = *link;

            *link = r->next;
            free((void *) r->at);
            free(r);
            return;
        }
    fprintf(stderr, "memory at %#lx is freed twice, or was never got\n", (unsigned long) at);
    abort();
}

void mig_allocate(vm_address_t *address, vm_size_t size)
{
    *address = (vm_address_t) new_region(size);
}

void mig_deallocate(vm_address_t address, vm_size_t size)
{
    if (address != 0 || size != 0)
        drop_region(address);
}

static unsigned received_type(unsigned name)
{
    switch (name) {
    case MACH_MSG_TYPE_COPY_SEND:
    case MACH_MSG_TYPE_MAKE_SEND:
        return MACH_MSG_TYPE_PORT_SEND;
    case MACH_MSG_TYPE_MAKE_SEND_ONCE:
        return MACH_MSG_TYPE_PORT_SEND_ONCE;
    default:
        return name;
    }
}

/* One item of a body: where it is, and how long. 0 if the message ends within it. */
struct item {
    mach_msg_type_t *type;
    char *data;
    uint64_t length, padded;
};

static int next_item(char *message, mach_msg_size_t size, mach_msg_size_t *at, struct item *item)
{
    if (size - *at < 8)
        return 0;
    item->type = (mach_msg_type_t *) (void *) (message + *at);
    item->data = message + *at + 8;
    item->length = ((uint64_t) item->type->msgt_size * item->type->msgt_number + 7) / 8;
    item->padded = item->type->msgt_inline ? (item->length + 7) & ~(uint64_t) 7 : 8;
    if (item->padded > size - *at - 8)
        return 0;
    *at += 8 + (mach_msg_size_t) item->padded;
    return 1;
}

static mach_msg_return_t valid_item(const struct item *item)
{
    const mach_msg_type_t *type = item->type;
    int right = MACH_MSG_TYPE_PORT_ANY(type->msgt_name);
    uint64_t at;

    if (type->msgt_unused != 0 || (type->msgt_inline && type->msgt_deallocate))
        return MACH_SEND_INVALID_TYPE;
    if (right && type->msgt_size != (type->msgt_inline ? 64u : 32u))
        return MACH_SEND_INVALID_TYPE;
    if (type->msgt_inline)
        return MACH_MSG_SUCCESS;
    memcpy(&at, item->data, 8);
    return item->length == 0 || in_region(at, item->length) ? MACH_MSG_SUCCESS : MACH_SEND_INVALID_MEMORY;
}

/* The sender's memory becomes a region of the receiver. */
static void move_memory(const struct item *item)
{
    uint64_t at, to;

    memcpy(&at, item->data, 8);
    to = 0;
    if (item->length > 0) {
        to = (uint64_t) new_region(item->length);
        memcpy((void *) to, (void *) at, item->length);
    }
    if (item->type->msgt_deallocate && at != 0 && !fake_keep_memory)
        drop_region(at);
    memcpy(item->data, &to, 8);
}

/* Checks a message, and then makes it what its receiver sees. */
static mach_msg_return_t transfer(void *message, mach_msg_size_t size)
{
    mach_msg_header_t *head = message;
    unsigned remote = received_type(MACH_MSGH_BITS_REMOTE(head->msgh_bits));
    unsigned local = received_type(MACH_MSGH_BITS_LOCAL(head->msgh_bits));
    mach_msg_bits_t complex = head->msgh_bits & MACH_MSGH_BITS_COMPLEX;
    mach_port_t to = head->msgh_remote_port;
    mach_msg_size_t at = sizeof *head;
    struct item item;

    if (complex != 0) {
        while (at < size) {
            mach_msg_return_t result;

            if (!next_item(message, size, &at, &item))
                return MACH_SEND_MSG_TOO_SMALL;
            if ((result = valid_item(&item)) != MACH_MSG_SUCCESS)
                return result;
        }
        for (at = sizeof *head; at < size && next_item(message, size, &at, &item);) {
            item.type->msgt_name = received_type(item.type->msgt_name) & 0xff;
            if (!item.type->msgt_inline)
                move_memory(&item);
        }
    }
    head->msgh_size = size;
    head->msgh_bits = complex | MACH_MSGH_BITS(local, remote);
    head->msgh_remote_slot = head->msgh_local_port;
    head->msgh_protected_payload = to;
    return MACH_MSG_SUCCESS;
}

void mach_msg_destroy(mach_msg_header_t *head)
{
    mach_msg_size_t at = sizeof *head;
    struct item item;

    fake_destroyed++;
    if ((head->msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0)
        return;
    while (at < head->msgh_size && next_item((char *) head, head->msgh_size, &at, &item)) {
        uint64_t where;

        if (MACH_MSG_TYPE_PORT_ANY(item.type->msgt_name))
            fake_rights_destroyed += item.type->msgt_number;
        if (item.type->msgt_inline)
            continue;
        memcpy(&where, item.data, 8);
        if (where != 0)
            drop_region(where);
    }
}

static mach_msg_return_t deliver(const void *message, mach_msg_size_t size);

/* Serves one request as mach_msg_server does. */
static void serve(mach_msg_header_t *request)
{
    mig_reply_header_t *reply = malloc(REPLY_ROOM);
    mach_msg_return_t result;

    if (reply == NULL)
        abort();
    memset(reply, 0xa5, REPLY_ROOM);
    (void) fake_demux(request, &reply->Head);
    if (reply->RetCode != KERN_SUCCESS && reply->RetCode != MIG_NO_REPLY) {
        request->msgh_remote_port = MACH_PORT_NULL;
        mach_msg_destroy(request);
    }
    if (reply->RetCode != MIG_NO_REPLY && reply->Head.msgh_remote_port != MACH_PORT_NULL) {
        result = deliver(reply, reply->Head.msgh_size);
        if (result != MACH_MSG_SUCCESS && fake_on_reply == NULL) {
            fprintf(stderr, "the server's reply was refused: %#x\n", (unsigned) result);
            abort();
        }
    }
    free(reply);
}

static mach_msg_return_t deliver(const void *message, mach_msg_size_t size)
{
    struct queued *entry = malloc(sizeof *entry + size), **link;
    mach_msg_header_t *head;
    mach_msg_return_t result;

    if (entry == NULL)
        abort();
    memcpy(entry->message, message, size);
    head = (mach_msg_header_t *) (void *) entry->message;
    entry->next = NULL;
    entry->port = head->msgh_remote_port;
    entry->size = size;
    fake_sent += entry->port == FAKE_SERVER;
    if (entry->port == FAKE_SERVER && fake_on_request != NULL)
        fake_on_request(entry->message, size);
    if (entry->port != FAKE_SERVER && fake_on_reply != NULL)
        fake_on_reply(entry->message, size);
    result = transfer(entry->message, size);
    if (result != MACH_MSG_SUCCESS) {
        free(entry);
        return result;
    }
    if (entry->port == FAKE_SERVER) {
        void *exact = malloc(size);

        head->msgh_seqno = fake_seqno++;
        if (exact == NULL)
            abort();
        memcpy(exact, entry->message, size);
        free(entry);
        serve(exact);
        free(exact);
        return MACH_MSG_SUCCESS;
    }
    for (link = &queue; *link != NULL; link = &(*link)->next)
        continue;
    *link = entry;
    return MACH_MSG_SUCCESS;
}

mach_msg_return_t mach_msg(mach_msg_header_t *message, mach_msg_option_t option, mach_msg_size_t send_size,
                           mach_msg_size_t rcv_size, mach_port_name_t rcv_name, mach_msg_timeout_t timeout, mach_port_name_t notify)
{
    struct queued **link;

    (void) timeout, (void) notify;
    if (option & MACH_SEND_MSG) {
        mach_msg_return_t result;

        if (send_size < sizeof *message || send_size % 8 != 0)
            return MACH_SEND_MSG_TOO_SMALL;
        result = deliver(message, send_size);
        if (result != MACH_MSG_SUCCESS)
            return result;
    }
    if (!(option & MACH_RCV_MSG))
        return MACH_MSG_SUCCESS;
    for (link = &queue; *link != NULL; link = &(*link)->next) {
        struct queued *entry = *link;

        if (entry->port != rcv_name)
            continue;
        *link = entry->next;
        if (entry->size > rcv_size) {
            mach_msg_destroy((mach_msg_header_t *) (void *) entry->message);
            free(entry);
            return MACH_RCV_TOO_LARGE;
        }
        memcpy(message, entry->message, entry->size);
        free(entry);
        return MACH_MSG_SUCCESS;
    }
    return MACH_RCV_TIMED_OUT;
}

boolean_t mach_trap(mach_port_t destination, mach_msg_id_t id, uint64_t signature, void *arguments, kern_return_t *code)
{
    uint32_t index;

    if (destination != FAKE_SERVER || fake_traps == NULL || (fake_may_trap != NULL && !fake_may_trap()))
        return FALSE;
    index = (uint32_t) id - (uint32_t) fake_traps->base;
    if (fake_traps->version != MACH_TRAP_VERSION || index >= fake_traps->count || fake_traps->trap[index].entry == NULL
        || fake_traps->trap[index].signature != signature)
        return FALSE;
    fake_trapped++;
    *code = fake_traps->trap[index].entry(FAKE_SERVER, arguments, fake_traps->context);
    return TRUE;
}

void *mig_trap_allocate(size_t size)
{
    return malloc(size);
}

void mig_trap_free(void *memory)
{
    free(memory);
}

static mach_port_t reply_port;

mach_port_t mig_get_reply_port(void)
{
    if (reply_port == MACH_PORT_NULL)
        reply_port = next_port++;
    return reply_port;
}

void mig_put_reply_port(mach_port_t port)
{
    (void) port;
}

void mig_dealloc_reply_port(mach_port_t port)
{
    struct queued **link = &queue;

    (void) port;
    while (*link != NULL) {
        struct queued *entry = *link;

        if (entry->port == reply_port) {
            *link = entry->next;
            mach_msg_destroy((mach_msg_header_t *) (void *) entry->message);
            free(entry);
        } else {
            link = &entry->next;
        }
    }
    reply_port = MACH_PORT_NULL;
}

vm_size_t mig_strncpy(char *to, const char *from, vm_size_t size)
{
    vm_size_t length = strnlen(from, size - 1);

    memcpy(to, from, length);
    to[length] = '\0';
    return length;
}

vm_size_t mig_strncpy_zerofill(char *to, const char *from, vm_size_t size)
{
    vm_size_t length = mig_strncpy(to, from, size);

    memset(to + length, 0, size - length);
    return length;
}

mach_port_t (mach_task_self)(void)
{
    return 1;
}

kern_return_t mach_port_allocate(ipc_space_t task, mach_port_right_t right, mach_port_name_t *name)
{
    (void) task, (void) right;
    *name = next_port++;
    return KERN_SUCCESS;
}

kern_return_t mach_port_insert_right(ipc_space_t task, mach_port_name_t name, mach_port_t right, mach_msg_type_name_t type)
{
    (void) task, (void) name, (void) right, (void) type;
    return KERN_SUCCESS;
}

kern_return_t mach_port_destroy(ipc_space_t task, mach_port_name_t name)
{
    (void) task, (void) name;
    return KERN_SUCCESS;
}

kern_return_t mach_port_deallocate(ipc_space_t task, mach_port_name_t name)
{
    (void) task, (void) name;
    return KERN_SUCCESS;
}

kern_return_t mach_port_mod_refs(ipc_space_t task, mach_port_name_t name, mach_port_right_t right, mach_port_delta_t delta)
{
    (void) task, (void) name, (void) right, (void) delta;
    return KERN_SUCCESS;
}
