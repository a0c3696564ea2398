/*
 * store: serves a log-structured key-value store.
 * Usage: store [--durable] [--service NAME] [FILE]
 *
 * All that is about sharing a process with callers is the registration of the trap table.
 */
#include "log.h"
#include "storeServer.h"

#include <mach/bootstrap.h>
#include <mach/mach.h>
#include <mach/task_main.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct log *store;
/* Whether each change is on the disk before it is answered. */
static int durable;

static kern_return_t result(enum log_code code) {
    switch (code) {
    case LOG_OK:
        return KERN_SUCCESS;
    case LOG_MISSING:
        return STORE_MISSING;
    case LOG_TOO_LONG:
        return KERN_INVALID_ARGUMENT;
    default:
        fprintf(stderr, "store: %s: %s\n", log_text(code), strerror(errno));
        return STORE_FAILED;
    }
}

static kern_return_t changed(enum log_code code) {
    if (code == LOG_OK && durable) code = log_sync(store);
    return result(code);
}

kern_return_t store_put(mach_port_t server, const store_key_t key, mach_msg_type_number_t key_size,
                        const store_value_t value, mach_msg_type_number_t value_size) {
    (void) server;
    return changed(log_put(store, key, key_size, value, value_size));
}

kern_return_t store_get(mach_port_t server, const store_key_t key, mach_msg_type_number_t key_size, store_value_t value,
                        mach_msg_type_number_t *value_size) {
    (void) server;
    const void *found;
    size_t size;
    enum log_code code = log_get(store, key, key_size, &found, &size);
    if (code != LOG_OK) return result(code);
    if (size > *value_size) return MIG_ARRAY_TOO_LARGE;
    memcpy(value, found, size);
    *value_size = (mach_msg_type_number_t) size;
    return KERN_SUCCESS;
}

kern_return_t store_delete(mach_port_t server, const store_key_t key, mach_msg_type_number_t key_size) {
    (void) server;
    return changed(log_delete(store, key, key_size));
}

kern_return_t store_sync(mach_port_t server) {
    (void) server;
    return result(log_sync(store));
}

kern_return_t store_compact(mach_port_t server) {
    (void) server;
    return result(log_compact(store));
}

kern_return_t store_info(mach_port_t server, uint64_t *entries, uint64_t *live, uint64_t *used, uint64_t *compactions) {
    (void) server;
    struct log_info info;
    log_info(store, &info);
    *entries = info.entries;
    *live = info.live;
    *used = info.used;
    *compactions = info.compactions;
    return KERN_SUCCESS;
}

static int failed(const char *what, kern_return_t code) {
    fprintf(stderr, "store: %s: %s\n", what, bootstrap_strerror(code));
    return 1;
}

/* The service's port: the name server's, if it starts this task when it is needed, or else a new one. */
static kern_return_t open_service(const char *name, mach_port_t *port) {
    kern_return_t code = bootstrap_check_in(bootstrap_port, name, port);
    if (code != BOOTSTRAP_UNKNOWN_SERVICE) return code;
    code = mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, port);
    if (code == KERN_SUCCESS) code = mach_port_insert_right(mach_task_self(), *port, *port, MACH_MSG_TYPE_MAKE_SEND);
    if (code == KERN_SUCCESS) code = bootstrap_register(bootstrap_port, name, *port);
    return code;
}

static int open_store(const char *path) {
    enum log_code code = log_open(path, &store);
    if (code == LOG_DAMAGED) {
        fprintf(stderr, "store: %s is damaged at byte %llu: restore it from a copy, or move it away\n", path,
                (unsigned long long) log_where());
        return 1;
    }
    if (code != LOG_OK) {
        fprintf(stderr, "store: can't open %s: %s%s%s\n", path, log_text(code), code == LOG_SYSTEM ? ": " : "",
                code == LOG_SYSTEM ? strerror(errno) : "");
        return 1;
    }
    struct log_info info;
    log_info(store, &info);
    fprintf(stderr, "store: %llu entries in %s, process %d\n", (unsigned long long) info.entries, path, (int) getpid());
    if (info.dropped > 0) fprintf(stderr, "store: dropped %llu bytes that were not whole\n", (unsigned long long) info.dropped);
    return 0;
}

MACH_TASK_MAIN(argc, argv) {
    const char *service = STORE_SERVICE, *path = "store.log";
    int paths = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--durable") == 0)
            durable = 1;
        else if (strcmp(argv[i], "--service") == 0 && i + 1 < argc)
            service = argv[++i];
        else if (argv[i][0] != '-' && argv[i][0] != '\0' && paths++ == 0)
            path = argv[i];
        else {
            fprintf(stderr, "Usage: store [--durable] [--service NAME] [FILE]\n");
            return 2;
        }
    }
    if (open_store(path) != 0) return 1;
    mach_port_t port;
    kern_return_t code = open_service(service, &port);
    if (code != KERN_SUCCESS) return failed(service, code);
    code = mach_port_register_traps(mach_task_self(), port, &store_traps, MACH_TRAP_SERIAL);
    if (code != KERN_SUCCESS) return failed("register traps", code);
    enum { ROOM = store_max_request_size > store_max_reply_size ? store_max_request_size : store_max_reply_size };
    code = mach_msg_server(store_server, ROOM, port);
    (void) log_close(store);
    return failed("receive", code);
}
