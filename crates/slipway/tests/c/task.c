/*
 * A task for the tests of `slipway run`: a server of a few routines, to be had by call and by message, and the clients
 * of one. What it does is its first argument.
 */
#include <mach/bootstrap.h>
#include <mach/mach.h>
#include <mach/task_main.h>
#include <mach/trap.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BASE = 5000, COUNT = BASE, WHO, NEST, DIE, SIGNATURE = 42 };

/* One number each way, and the name of a service. */
typedef struct {
    int in;
    int *out;
    const char *service;
} arguments;

typedef struct {
    mach_msg_header_t header;
    mach_msg_type_t type;
    int value[2];
    char service[64];
} message;

static atomic_int calls;
static mach_port_t self_when_it_began;

static kern_return_t call(mach_port_t port, int id, int in, int *out, const char *service, int only_message);

static mach_port_t look_up(const char *service) {
    mach_port_t port;
    kern_return_t code;
    while ((code = bootstrap_look_up(MACH_PORT_NULL, service, &port)) == BOOTSTRAP_UNKNOWN_SERVICE) sched_yield();
    if (code == KERN_SUCCESS) return port;
    fprintf(stderr, "%s: %s\n", service, bootstrap_strerror(code));
    return MACH_PORT_NULL;
}

static kern_return_t count(int in, int *out) {
    *out = atomic_fetch_add(&calls, 1) + 1;
    return in < 0 ? 1234 : KERN_SUCCESS;
}

static void *self_of_thread(void *unused) {
    (void) unused;
    return (void *) (uintptr_t) mach_task_self();
}

/* Whether all that depends on the task is this one's: its name, a thread that is made, a port that is made. */
static kern_return_t who(int *out) {
    pthread_t thread;
    void *other = NULL;
    mach_port_t port;
    mach_port_type_t type = 0;
    if (mach_task_self() != self_when_it_began) return 1;
    if (pthread_create(&thread, NULL, self_of_thread, NULL) || pthread_join(thread, &other)) return 2;
    if ((mach_port_t) (uintptr_t) other != self_when_it_began) return 3;
    if (mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port) != KERN_SUCCESS) return 4;
    if (mach_port_type(self_when_it_began, port, &type) != KERN_SUCCESS || !(type & MACH_PORT_TYPE_RECEIVE)) return 5;
    if (mach_port_mod_refs(mach_task_self(), port, MACH_PORT_RIGHT_RECEIVE, -1) != KERN_SUCCESS) return 6;
    *out = (int) getpid();
    return KERN_SUCCESS;
}

/* Calls another service, by call if that can be done and by message too. */
static kern_return_t nest(const char *service, int *out) {
    int first = 0, second = 0;
    mach_port_t port = look_up(service);
    kern_return_t code = call(port, COUNT, 0, &first, "", 0);
    if (code == KERN_SUCCESS) code = call(port, COUNT, 0, &second, "", 1);
    if (code == KERN_SUCCESS) code = call(port, WHO, 0, out, "", 0);
    if (code == KERN_SUCCESS && mach_task_self() != self_when_it_began) code = 7;
    *out = first + 1 == second ? 1 : 0;
    return code;
}

static kern_return_t serve_one(int id, int in, int *out, const char *service) {
    switch (id) {
    case COUNT: return count(in, out);
    case WHO: return who(out);
    case NEST: return nest(service, out);
    case DIE: exit(in);
    }
    return MIG_BAD_ID;
}

#define TRAP(id) \
    static kern_return_t trap_##id(mach_port_t request, void *given, void *context) { \
        arguments *a = given; \
        (void) context; \
        return request ? serve_one(id, a->in, a->out, a->service) : KERN_FAILURE; \
    }
TRAP(COUNT)
TRAP(WHO)
TRAP(NEST)
TRAP(DIE)

static const struct mach_trap_entry entries[] = {
    {trap_COUNT, SIGNATURE}, {trap_WHO, SIGNATURE}, {trap_NEST, SIGNATURE}, {trap_DIE, SIGNATURE},
};
static const mach_trap_table_t table = {MACH_TRAP_VERSION, BASE, 4, entries, NULL};

static int traps, messages;

static kern_return_t call(mach_port_t port, int id, int in, int *out, const char *service, int only_message) {
    arguments a = {in, out, service};
    kern_return_t code;
    if (!only_message && mach_trap(port, id, SIGNATURE, &a, &code)) {
        traps++;
        return code;
    }
    message m;
    memset(&m, 0, sizeof m);
    m.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
    m.header.msgh_remote_port = port;
    m.header.msgh_local_port = mig_get_reply_port();
    m.header.msgh_id = id;
    m.value[0] = in;
    snprintf(m.service, sizeof m.service, "%s", service);
    code = mach_msg(&m.header, MACH_SEND_MSG | MACH_RCV_MSG, sizeof m, sizeof m, m.header.msgh_local_port, 0, 0);
    if (code != KERN_SUCCESS) return code;
    if (m.header.msgh_id != id + 100) return MIG_SERVER_DIED;
    messages++;
    *out = m.value[1];
    return m.value[0];
}

/* Serves until its port is gone. */
static int serve(const char *service, int flags) {
    mach_port_t port;
    kern_return_t code = mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port);
    if (code == KERN_SUCCESS) code = mach_port_insert_right(mach_task_self(), port, port, MACH_MSG_TYPE_MAKE_SEND);
    if (code == KERN_SUCCESS) code = mach_port_register_traps(mach_task_self(), port, &table, flags);
    if (code == KERN_SUCCESS) code = bootstrap_register(MACH_PORT_NULL, service, port);
    if (code != KERN_SUCCESS) {
        fprintf(stderr, "%s: %s\n", service, bootstrap_strerror(code));
        return 2;
    }
    printf("serving %s %d\n", service, (int) getpid());
    fflush(stdout);
    message m;
    for (;;) {
        if (mach_msg(&m.header, MACH_RCV_MSG, 0, sizeof m, port, 0, 0) != KERN_SUCCESS) return 3;
        int out = 0;
        m.service[sizeof m.service - 1] = 0;
        m.value[0] = serve_one(m.header.msgh_id, m.value[0], &out, m.service);
        m.value[1] = out;
        m.header.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0);
        m.header.msgh_local_port = 0;
        m.header.msgh_id += 100;
        if (mach_msg(&m.header, MACH_SEND_MSG, sizeof m, 0, 0, 0, 0) != KERN_SUCCESS) mach_msg_destroy(&m.header);
    }
}

/* Calls a service so often, and says how. */
static int client(const char *service, int times) {
    mach_port_t port = look_up(service), me = mach_task_self();
    int out = 0, before = 0, pid = 0;
    if (!port) return 4;
    for (int i = 0; i < times; i++, before = out) {
        if (call(port, COUNT, 0, &out, "", i % 5 == 4) != KERN_SUCCESS || out <= before || mach_task_self() != me) return 5;
    }
    if (call(port, COUNT, -1, &out, "", 0) != 1234) return 6;
    kern_return_t code = call(port, WHO, 0, &pid, "", 0);
    printf("count %d traps %d messages %d who %d %s\n", out, traps, messages, code, pid == getpid() ? "here" : "elsewhere");
    fflush(stdout);
    return 0;
}

static int nested(const char *outer, const char *inner) {
    int out = 0;
    kern_return_t code = call(look_up(outer), NEST, 0, &out, inner, 0);
    printf("nested %d %d\n", code, out);
    fflush(stdout);
    return 0;
}

/* Has the server end while it works for us. */
static int deadly(const char *service) {
    mach_port_t port = look_up(service);
    int out = 0;
    mach_port_t me = mach_task_self();
    while (call(port, COUNT, 0, &out, "", 0) == KERN_SUCCESS && traps == 0) {}
    kern_return_t died = call(port, DIE, 9, &out, "", 0), after = call(port, COUNT, 0, &out, "", 0);
    printf("died %d after %#x self %d\n", died, after, mach_task_self() == me);
    fflush(stdout);
    return 0;
}

static atomic_int restarts, made;
static const char *loaded;

static void *loads(void *unused) {
    (void) unused;
    while (atomic_load(&restarts) < 20) {
        mach_port_t port = look_up(loaded);
        int out = 0;
        for (int i = 0; call(port, COUNT, 0, &out, "", 0) == KERN_SUCCESS; i++) {
            atomic_fetch_add(&made, 1);
            if (i == 300 && call(port, DIE, 1, &out, "", 0) == MIG_SERVER_DIED) atomic_fetch_add(&restarts, 1);
        }
        mach_port_deallocate(mach_task_self(), port);
    }
    return NULL;
}

/* Threads that call, while the server ends again and again and is started anew. */
static int load(const char *service) {
    pthread_t threads[3];
    loaded = service;
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, loads, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    printf("restarts %d\n", atomic_load(&restarts));
    return atomic_load(&made) > 20 * 300 ? 0 : 8;
}

static int variable = 1;

MACH_TASK_MAIN(argc, argv) {
    const char *role = argc > 1 ? argv[1] : "", *service = argc > 2 ? argv[2] : "";
    self_when_it_began = mach_task_self();
    if (!strcmp(role, "serve")) return serve(service, MACH_TRAP_SERIAL);
    if (!strcmp(role, "serve-many")) return serve(service, MACH_TRAP_CONCURRENT);
    if (!strcmp(role, "client")) return client(service, 1000);
    if (!strcmp(role, "nested") && argc > 3) return nested(service, argv[3]);
    if (!strcmp(role, "deadly")) return deadly(service);
    if (!strcmp(role, "load")) return load(service);
    if (!strcmp(role, "exit")) exit(atoi(service));
    if (!strcmp(role, "return")) return atoi(service);
    if (!strcmp(role, "variable")) {
        printf("variable %d\n", variable++);
        fflush(stdout);
        return 0;
    }
    if (argc < 2) return serve("service", MACH_TRAP_SERIAL);
    fprintf(stderr, "%s: no such role\n", role);
    return 1;
}
