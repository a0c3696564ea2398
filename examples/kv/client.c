/* kv-client: puts, gets, deletes and lists entries of kv-server. */
#include "kv.h"

#include <mach/bootstrap.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOT_FOUND = 1, USAGE = 2, FAILED = 3 };

/* Milliseconds. A server that has ended is noticed at once; this is for one that hangs. */
enum { PATIENCE = 10000 };

static const char usage[] =
    "usage: kv-client [-s SERVICE] put KEY [VALUE]      keep a value (without VALUE: standard input)\n"
    "       kv-client [-s SERVICE] hold KEY VALUE       keep it until this program ends\n"
    "       kv-client [-s SERVICE] get KEY              write the value to standard output\n"
    "       kv-client [-s SERVICE] delete KEY\n"
    "       kv-client [-s SERVICE] list                 write all keys\n"
    "Exit status: 0 done, 1 no such key, 2 wrong usage, 3 the service failed or can't be reached.\n";

static void __attribute__((noreturn)) fail(const char *what, const char *why) {
    fprintf(stderr, "kv-client: %s: %s\n", what, why);
    exit(FAILED);
}

static mach_port_t look_up(const char *name) {
    mach_port_t service;
    kern_return_t code = bootstrap_look_up(bootstrap_port, name, &service);
    if (code == BOOTSTRAP_UNKNOWN_SERVICE) {
        fprintf(stderr, "kv-client: no service \"%s\". Start kv-server first.\n", name);
        exit(FAILED);
    }
    if (code != KERN_SUCCESS) fail(name, bootstrap_strerror(code));
    return service;
}

/*
 * Sends a request and receives its reply, which the caller destroys. The reply port is made for the one call; its
 * send-once right can't be kept for later by the server.
 */
static void call(mach_port_t service, mach_msg_header_t *request, mach_msg_size_t size, struct kv_reply *reply) {
    mach_port_t reply_port = mach_reply_port();
    if (reply_port == MACH_PORT_NULL) fail("make a reply port", mach_error_string(KERN_RESOURCE_SHORTAGE));
    mach_msg_id_t wanted = request->msgh_id + KV_REPLY;
    request->msgh_bits |= MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
    request->msgh_remote_port = service;
    request->msgh_local_port = reply_port;
    mach_msg_return_t code = mach_msg(request, MACH_SEND_MSG | MACH_SEND_TIMEOUT, size, 0, MACH_PORT_NULL, PATIENCE, MACH_PORT_NULL);
    if (code == MACH_SEND_INVALID_DEST) fail("send the request", "the service has ended");
    if (code != MACH_MSG_SUCCESS) fail("send the request", mach_error_string(code));
    code = mach_msg(&reply->header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof *reply, reply_port, PATIENCE, MACH_PORT_NULL);
    if (code == MACH_RCV_TIMED_OUT) fail("wait for the reply", "the service does not answer");
    if (code != MACH_MSG_SUCCESS) fail("receive the reply", mach_error_string(code));
    /* The server's right to reply went without being used. */
    if (reply->header.msgh_id == MACH_NOTIFY_SEND_ONCE) fail("wait for the reply", "the service ended before it answered");
    if (reply->header.msgh_id != wanted || reply->header.msgh_size != sizeof *reply ||
        !(reply->header.msgh_bits & MACH_MSGH_BITS_COMPLEX) || !kv_same_type(reply->code_type, KV_CODE_TYPE) ||
        !kv_same_type(reply->value_type, KV_VALUE_TYPE(reply->value_type.msgt_number)))
        fail("read the reply", "it is none of kv-server's");
    mach_port_mod_refs(mach_task_self(), reply_port, MACH_PORT_RIGHT_RECEIVE, -1);
}

static void set_key(struct kv_request *request, mach_msg_id_t id, const char *key) {
    memset(request, 0, sizeof *request);
    request->header.msgh_id = id;
    request->key_type = KV_KEY_TYPE;
    if (!key) return;
    if (!*key || strlen(key) >= KV_KEY_SIZE) {
        fprintf(stderr, "kv-client: a key has 1 to %d bytes\n", KV_KEY_SIZE - 1);
        exit(USAGE);
    }
    memcpy(request->key, key, strlen(key));
}

/* Ends the program if the server did not do it. */
static void check(const struct kv_reply *reply, const char *key) {
    switch (reply->code) {
    case KV_OK: return;
    case KV_NOT_FOUND: fprintf(stderr, "kv-client: no entry \"%s\"\n", key); exit(NOT_FOUND);
    case KV_FULL: fail(key, "the service keeps no more");
    default: fail(key, "the service refused the request");
    }
}

/* get, delete, list: writes the value of the reply. */
static void simple(mach_port_t service, mach_msg_id_t id, const char *key) {
    struct kv_request request;
    struct kv_reply reply;
    set_key(&request, id, key);
    call(service, &request.header, sizeof request, &reply);
    check(&reply, key);
    size_t size = reply.value_type.msgt_number;
    if (size && fwrite(reply.value, 1, size, stdout) != size) fail("standard output", "can't be written");
    if (id == KV_GET && size && ((char *) reply.value)[size - 1] != '\n' && isatty(1)) putchar('\n');
    if (fflush(stdout) != 0) fail("standard output", "can't be written");
    mach_msg_destroy(&reply.header);
}

static void put(mach_port_t service, const char *key, const void *value, size_t size, mach_port_t owner) {
    struct kv_put request;
    struct kv_reply reply;
    memset(&request, 0, sizeof request);
    set_key(&request.request, KV_PUT, key);
    request.request.header.msgh_bits = MACH_MSGH_BITS_COMPLEX;
    request.value_type = KV_VALUE_TYPE((unsigned) size);
    request.value = (void *) (uintptr_t) value;
    request.owner_type = KV_OWNER_TYPE(MACH_MSG_TYPE_MAKE_SEND);
    request.owner.slot = owner;
    call(service, &request.request.header, sizeof request, &reply);
    check(&reply, key);
    mach_msg_destroy(&reply.header);
}

static char *read_input(size_t *size) {
    char *value = malloc(KV_VALUE_MAX + 1);
    if (!value) fail("standard input", "no memory");
    *size = fread(value, 1, KV_VALUE_MAX + 1, stdin);
    if (ferror(stdin)) fail("standard input", "can't be read");
    return value;
}

int main(int argc, char **argv) {
    const char *name = KV_SERVICE;
    if (argc > 2 && strcmp(argv[1], "-s") == 0) {
        name = argv[2];
        argv += 2;
        argc -= 2;
    }
    const char *command = argc > 1 ? argv[1] : "", *key = argc > 2 ? argv[2] : NULL;
    int is_put = strcmp(command, "put") == 0 && (argc == 3 || argc == 4);
    int is_hold = strcmp(command, "hold") == 0 && argc == 4;
    if (is_put || is_hold) {
        size_t size = argc == 4 ? strlen(argv[3]) : 0;
        char *value = argc == 4 ? argv[3] : read_input(&size);
        if (size > KV_VALUE_MAX) {
            fprintf(stderr, "kv-client: a value has at most %u bytes\n", KV_VALUE_MAX);
            return USAGE;
        }
        mach_port_t owner = is_hold ? mach_reply_port() : MACH_PORT_NULL;
        put(look_up(name), key, value, size, owner);
        if (argc == 3) free(value);
        if (is_hold) {
            printf("kv-client: held until this program ends\n");
            fflush(stdout);
            /* The port goes with the program, however that ends. */
            for (;;) pause();
        }
    } else if (strcmp(command, "get") == 0 && argc == 3) {
        simple(look_up(name), KV_GET, key);
    } else if (strcmp(command, "delete") == 0 && argc == 3) {
        simple(look_up(name), KV_DELETE, key);
    } else if (strcmp(command, "list") == 0 && argc == 2) {
        simple(look_up(name), KV_LIST, NULL);
    } else {
        fputs(usage, stderr);
        return USAGE;
    }
    return 0;
}
