/*
 * kv-server: keeps values under keys, for any task that looks up its service.
 *
 * One thread receives from a port set of two ports: the service's, and one for notifications. A client that dies
 * costs nothing: a reply to it fails at once, and the entries that it owns go when its port does.
 */
#include "kv.h"
#include "store.h"

#include <mach/bootstrap.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The server reads no more than this of a message. The larger ones are refused by mach_msg(). */
union request {
    mach_msg_header_t header;
    struct kv_request plain;
    struct kv_put put;
    mach_dead_name_notification_t dead_name;
    char bytes[1024];
};

static mach_port_t notify_port;

static void __attribute__((noreturn)) fail(const char *what, kern_return_t code) {
    fprintf(stderr, "kv-server: %s: %s\n", what, mach_error_string(code));
    exit(1);
}

static void must(const char *what, kern_return_t code) {
    if (code != KERN_SUCCESS) fail(what, code);
}

static mach_port_t make_port(void) {
    mach_port_t port = MACH_PORT_NULL;
    must("make a port", mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port));
    return port;
}

/*
 * The service's receive right: the one that the name server has made, if it knows the service already, as it does
 * of one that it starts by itself; otherwise a new one, which is registered.
 */
static mach_port_t open_service(const char *name) {
    mach_port_t service = MACH_PORT_NULL;
    kern_return_t code = bootstrap_check_in(bootstrap_port, name, &service);
    if (code == BOOTSTRAP_UNKNOWN_SERVICE) {
        service = make_port();
        must("make a send right", mach_port_insert_right(mach_task_self(), service, service, MACH_MSG_TYPE_MAKE_SEND));
        code = bootstrap_register(bootstrap_port, name, service);
        /* The name server has its own now. */
        if (code == KERN_SUCCESS) must("give up the send right", mach_port_deallocate(mach_task_self(), service));
    }
    if (code != KERN_SUCCESS) {
        fprintf(stderr, "kv-server: register \"%s\": %s\n", name, bootstrap_strerror(code));
        if (code == BOOTSTRAP_SERVICE_ACTIVE || code == BOOTSTRAP_NAME_IN_USE || code == BOOTSTRAP_NOT_PRIVILEGED)
            fprintf(stderr, "Another kv-server serves it: stop that one, or give this one another name.\n");
        exit(1);
    }
    return service;
}

/* Answers, if somebody waits for an answer. It never waits itself, whatever right the client gave for the reply. */
static void reply(const mach_msg_header_t *request, int code, const void *value, size_t size) {
    if (!MACH_PORT_VALID(request->msgh_remote_port)) return;
    struct kv_reply out;
    memset(&out, 0, sizeof out);
    out.header.msgh_bits =
        MACH_MSGH_BITS(MACH_MSGH_BITS_REMOTE(request->msgh_bits), 0) | MACH_MSGH_BITS_COMPLEX;
    out.header.msgh_remote_port = request->msgh_remote_port;
    out.header.msgh_id = request->msgh_id + KV_REPLY;
    out.code_type = KV_CODE_TYPE;
    out.code = code;
    out.value_type = KV_VALUE_TYPE((unsigned) size);
    out.value = (void *) (uintptr_t) value;
    mach_msg_return_t sent = mach_msg(&out.header, MACH_SEND_MSG | MACH_SEND_TIMEOUT, sizeof out, 0, MACH_PORT_NULL, 0,
                                      MACH_PORT_NULL);
    if (sent == MACH_MSG_SUCCESS) return;
    /* The client is gone, or does not take its replies. Then only its right is left to be given back. */
    if (sent == MACH_SEND_TIMED_OUT) mach_msg_destroy(&out.header);
    else mach_port_deallocate(mach_task_self(), request->msgh_remote_port);
}

/* Whether the message has a well-formed key. */
static int good_key(const struct kv_request *request) {
    return kv_same_type(request->key_type, KV_KEY_TYPE) && request->key[0] &&
           memchr(request->key, 0, sizeof request->key);
}

/* Whether the message is a put, with all that belongs to it. */
static int good_put(const struct kv_put *put) {
    return put->request.header.msgh_size == sizeof *put &&
           (put->request.header.msgh_bits & MACH_MSGH_BITS_COMPLEX) && good_key(&put->request) &&
           put->value_type.msgt_number <= KV_VALUE_MAX &&
           kv_same_type(put->value_type, KV_VALUE_TYPE(put->value_type.msgt_number)) &&
           kv_same_type(put->owner_type, KV_OWNER_TYPE(MACH_MSG_TYPE_PORT_SEND));
}

/* Keeps an entry. The message's reference to the owner becomes the entry's. */
static int put_entry(struct kv_put *put) {
    mach_port_t owner = put->owner.name;
    if (owner == MACH_PORT_DEAD) return KV_OK; /* it came and went */
    if (owner != MACH_PORT_NULL && !store_owns(owner)) {
        mach_port_t previous;
        kern_return_t code =
            mach_port_request_notification(mach_task_self(), owner, MACH_NOTIFY_DEAD_NAME, 1, notify_port,
                                           MACH_MSG_TYPE_MAKE_SEND_ONCE, &previous);
        if (code != KERN_SUCCESS) return KV_FULL;
    }
    if (!store_put(put->request.key, put->value, put->value_type.msgt_number, owner)) return KV_FULL;
    put->owner.name = MACH_PORT_NULL;
    return KV_OK;
}

static void serve(union request *request) {
    mach_msg_header_t *header = &request->header;
    int keyed = header->msgh_size == sizeof request->plain && !(header->msgh_bits & MACH_MSGH_BITS_COMPLEX) &&
                good_key(&request->plain);
    struct entry *entry;
    size_t size;
    char *keys;
    switch (header->msgh_id) {
    case KV_PUT:
        reply(header, good_put(&request->put) ? put_entry(&request->put) : KV_BAD_REQUEST, NULL, 0);
        break;
    case KV_GET:
        entry = keyed ? store_find(request->plain.key) : NULL;
        if (entry) reply(header, KV_OK, entry->value, entry->size);
        else reply(header, keyed ? KV_NOT_FOUND : KV_BAD_REQUEST, NULL, 0);
        break;
    case KV_DELETE:
        if (!keyed) reply(header, KV_BAD_REQUEST, NULL, 0);
        else reply(header, store_delete(request->plain.key) ? KV_OK : KV_NOT_FOUND, NULL, 0);
        break;
    case KV_LIST:
        keys = store_keys(&size);
        if (keys) reply(header, KV_OK, keys, size);
        else reply(header, KV_FULL, NULL, 0);
        free(keys);
        break;
    default: reply(header, KV_BAD_REQUEST, NULL, 0);
    }
    /* The reply has used the reply right. All else that the message brought goes here. */
    header->msgh_remote_port = MACH_PORT_NULL;
    mach_msg_destroy(header);
}

/* An owner has died: its entries go. */
static void notified(const union request *request) {
    if (request->header.msgh_id != MACH_NOTIFY_DEAD_NAME) return;
    mach_port_t owner = request->dead_name.not_port;
    int deleted = store_delete_owned(owner);
    printf("kv-server: a client ended, %d of its entries deleted\n", deleted);
    /* The notification brought a reference of its own. */
    mach_port_deallocate(mach_task_self(), owner);
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : KV_SERVICE;
    if (argc > 2 || name[0] == '-') {
        fprintf(stderr, "usage: kv-server [SERVICE]\nServes keys and values as SERVICE (%s).\n", KV_SERVICE);
        return 2;
    }
    mach_port_t set, service = open_service(name);
    notify_port = make_port();
    must("make a port set", mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_PORT_SET, &set));
    must("move a port into a set", mach_port_move_member(mach_task_self(), service, set));
    must("move a port into a set", mach_port_move_member(mach_task_self(), notify_port, set));
    must("set a queue limit", mach_port_set_qlimit(mach_task_self(), service, MACH_PORT_QLIMIT_MAX));
    printf("kv-server: serving %s\n", name);
    fflush(stdout);

    for (;;) {
        union request request;
        mach_msg_return_t code = mach_msg(&request.header, MACH_RCV_MSG, 0, sizeof request, set,
                                          MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
        if (code == MACH_RCV_TOO_LARGE) continue; /* no request of ours, and gone already */
        if ((code & ~MACH_MSG_MASK) == MACH_RCV_HEADER_ERROR || (code & ~MACH_MSG_MASK) == MACH_RCV_BODY_ERROR) {
            /* There was no room for all of its rights: what did come is given back. */
            mach_msg_destroy(&request.header);
            continue;
        }
        if (code != MACH_MSG_SUCCESS) fail("receive", code);
        if (request.header.msgh_local_port == notify_port) notified(&request);
        else serve(&request);
        fflush(stdout);
    }
}
