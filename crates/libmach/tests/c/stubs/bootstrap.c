/*
 * The name server's messages, as mig makes them of <mach/bootstrap.defs> and as this library writes and reads them: a
 * client by stubs asks the name server, this library's client asks a server by stubs, and the requests of both are compared.
 */
#include "stubs.h"

#include <mach/bootstrap.h>
#include <pthread.h>
#include <stdlib.h>

#include "bootstrapServer.h"
#include "bootstrapUser.h"

#define S KERN_SUCCESS

static const char *const names[] = {"a", "org.example.stubs", "1234567",
    "a name that is cut nowhere, with 127 bytes. .......................................................................!!!!"};
#define NAMES (sizeof names / sizeof *names)

/* A client by stubs, and the name server. */
static void test_server(mach_port_t bp) {
    for (size_t i = 0; i < NAMES; i++) {
        const char *name = names[i];
        mach_port_t port, found;
        bootstrap_status_t status = -1;
        CHECK_CODE(stub_bootstrap_look_up(bp, name, &port), BOOTSTRAP_UNKNOWN_SERVICE);
        CHECK_CODE(stub_bootstrap_status(bp, name, &status), BOOTSTRAP_UNKNOWN_SERVICE);
        MUST(CHECK_CODE(stub_bootstrap_create_service(bp, name, &port), S));
        CHECK_CODE(stub_bootstrap_create_service(bp, name, &found), BOOTSTRAP_NAME_IN_USE);
        CHECK_CODE(stub_bootstrap_status(bp, name, &status), S);
        CHECK(status == BOOTSTRAP_STATUS_INACTIVE);
        CHECK_CODE(stub_bootstrap_look_up(bp, name, &found), S);
        CHECK(found == port && type_of(port) == MACH_PORT_TYPE_SEND);
        CHECK_CODE(stub_bootstrap_check_in(bp, name, &found), S);
        CHECK(found == port && type_of(port) == (MACH_PORT_TYPE_SEND | MACH_PORT_TYPE_RECEIVE));
        CHECK_CODE(stub_bootstrap_status(bp, name, &status), S);
        CHECK(status == BOOTSTRAP_STATUS_ACTIVE);

        char other[BOOTSTRAP_MAX_NAME_LEN];
        strcpy(other, name);
        other[0] = '!';
        port = make_port();
        CHECK_CODE(stub_bootstrap_register(bp, other, port), S);
        CHECK_CODE(bootstrap_look_up(MACH_PORT_NULL, other, &found), S);
        CHECK(found == port);
        CHECK_CODE(stub_bootstrap_register(bp, other, MACH_PORT_NULL), S);
        CHECK_CODE(stub_bootstrap_look_up(bp, other, &found), BOOTSTRAP_UNKNOWN_SERVICE);
    }
}

/* The server by stubs: what it was asked, and what it says. */
static char asked[128];
static mach_port_t asked_right;
static mach_port_t given;
static kern_return_t says;

static kern_return_t note(const char *name) {
    strcpy(asked, name);
    return says;
}

kern_return_t do_bootstrap_check_in(mach_port_t bp, name_t name, mach_port_t *port) {
    (void) bp;
    *port = given;
    return note(name);
}

kern_return_t do_bootstrap_register(mach_port_t bp, name_t name, mach_port_t port) {
    (void) bp;
    asked_right = port;
    return note(name);
}

kern_return_t do_bootstrap_look_up(mach_port_t bp, name_t name, mach_port_t *port) {
    (void) bp;
    *port = given;
    return note(name);
}

kern_return_t do_bootstrap_status(mach_port_t bp, name_t name, bootstrap_status_t *status) {
    (void) bp;
    *status = BOOTSTRAP_STATUS_ON_DEMAND;
    return note(name);
}

kern_return_t do_bootstrap_create_service(mach_port_t bp, name_t name, mach_port_t *port) {
    (void) bp;
    *port = given;
    return note(name);
}

static void *serve(void *port) {
    mach_msg_server(bootstrap_server, 256, *(mach_port_t *) port);
    return NULL;
}

/* This library's client, and a server by stubs. */
static void test_client(void) {
    pthread_t thread;
    mach_port_t server = make_port(), port;
    bootstrap_status_t status;
    MUST(pthread_create(&thread, NULL, serve, &server) == 0);
    for (size_t i = 0; i < NAMES; i++) {
        const char *name = names[i];
        says = S;
        given = make_port();
        CHECK_CODE(bootstrap_look_up(server, name, &port), S);
        CHECK(port == given && strcmp(asked, name) == 0);
        CHECK(mach_port_deallocate(self, port) == S);
        /* The server's own right goes with the reply. */
        CHECK_CODE(bootstrap_create_service(server, name, &port), S);
        CHECK(port == given && strcmp(asked, name) == 0);
        CHECK_CODE(bootstrap_check_in(server, name, &port), S);
        CHECK(port == given && strcmp(asked, name) == 0);
        CHECK(type_of(port) & MACH_PORT_TYPE_RECEIVE);
        CHECK_CODE(bootstrap_status(server, name, &status), S);
        CHECK(status == BOOTSTRAP_STATUS_ON_DEMAND && strcmp(asked, name) == 0);
        CHECK_CODE(bootstrap_register(server, name, given), S);
        CHECK(asked_right == given && strcmp(asked, name) == 0);
        CHECK_CODE(bootstrap_register(server, name, MACH_PORT_NULL), S);
        CHECK(asked_right == MACH_PORT_NULL);
        says = BOOTSTRAP_NOT_PRIVILEGED;
        CHECK_CODE(bootstrap_look_up(server, name, &port), says);
        CHECK_CODE(bootstrap_check_in(server, name, &port), says);
        CHECK_CODE(bootstrap_register(server, name, given), says);
        CHECK_CODE(bootstrap_status(server, name, &status), says);
        CHECK_CODE(bootstrap_create_service(server, name, &port), says);
    }
}

/* One request in either way: by stubs, and by this library. */
struct question {
    mach_port_t to;
    const char *name;
    mach_port_t right;
    int routine, by_stubs;
    kern_return_t code;
};

static void *ask(void *what) {
    struct question *it = what;
    mach_port_t port;
    bootstrap_status_t status;
#define EITHER(call) (it->by_stubs ? stub_##call : call)
    switch (it->routine) {
    case 402: it->code = EITHER(bootstrap_check_in)(it->to, it->name, &port); break;
    case 403: it->code = EITHER(bootstrap_register)(it->to, it->name, it->right); break;
    case 404: it->code = EITHER(bootstrap_look_up)(it->to, it->name, &port); break;
    case 407: it->code = EITHER(bootstrap_status)(it->to, it->name, &status); break;
    case 410: it->code = EITHER(bootstrap_create_service)(it->to, it->name, &port); break;
    }
    return NULL;
}

/* Takes the request and refuses it. */
static void take(struct question *question, any_message *request) {
    pthread_t thread;
    question->code = 0;
    MUST(pthread_create(&thread, NULL, ask, question) == 0);
    MUST(mach_msg(&request->header, MACH_RCV_MSG, 0, sizeof *request, question->to, 0, 0) == S);
    refuse(&request->header, BOOTSTRAP_NO_MEMORY);
    pthread_join(thread, NULL);
    CHECK_CODE(question->code, BOOTSTRAP_NO_MEMORY);
}

static void test_requests(void) {
    static const int routines[] = {402, 403, 404, 407, 410};
    mach_port_t port = make_port(), right = make_port();
    for (size_t i = 0; i < NAMES; i++)
        for (size_t j = 0; j < sizeof routines / sizeof *routines; j++) {
            static any_message by_stubs, by_library;
            struct question question = {port, names[i], right, routines[j], 1, 0};
            take(&question, &by_stubs);
            question.by_stubs = 0;
            take(&question, &by_library);
            CHECK(by_stubs.header.msgh_id == routines[j]);
            same(&by_stubs, &by_library);
        }
}

int main(void) {
    mach_port_t bp;
    watchdog(60);
    self = mach_task_self();
    MUST(task_get_bootstrap_port(self, &bp) == S);
    if (bp == MACH_PORT_NULL) {
        /* Not known before the first question. */
        mach_port_t port;
        bootstrap_look_up(MACH_PORT_NULL, "nobody", &port);
        MUST(task_get_bootstrap_port(self, &bp) == S);
    }
    test_server(bp);
    test_client();
    test_requests();
    return checks_done("bootstrap");
}
