/*
 * trap.defs over libmach, both sides in this process.
 * Usage: trap_tasks message|trap|midway CLIENT-FILE SERVER-FILE
 * The files are for transcripts. The client prints how many calls went by trap, how many asked for one, and in how many
 * the server had the caller's own array.
 */
#include "steps.h"
#include "trapsServer.h"

#include <mach/trap.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int trap_check(mach_port_t server, FILE *file, int *lent);
extern void trap_server_transcript(FILE *file);
extern boolean_t counted_trap(mach_port_t destination, mach_msg_id_t id, uint64_t signature, void *arguments, kern_return_t *code);
extern int trap_references;
extern mach_port_t trap_port;

static unsigned trapped, asked;
/* Both are of the main thread but for this one, which it sets last. */
static atomic_int done;

/* What the stubs are compiled to call. */
boolean_t counted_trap(mach_port_t destination, mach_msg_id_t id, uint64_t signature, void *arguments, kern_return_t *code)
{
    boolean_t taken = mach_trap(destination, id, signature, arguments, code);

    asked++;
    trapped += taken ? 1u : 0u;
    return taken;
}

static void make_port(void)
{
    must("allocate", mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &trap_port));
    must("make a send right", mach_port_insert_right(mach_task_self(), trap_port, trap_port, MACH_MSG_TYPE_MAKE_SEND));
}

static void *serve(void *unused)
{
    mach_msg_size_t room = traps_max_request_size > traps_max_reply_size ? traps_max_request_size : traps_max_reply_size;

    (void) unused;
    (void) mach_msg_server(traps_server, room, trap_port);
    return NULL;
}

/* Sends requests that no routine has, so that there is a queue; they are answered, and their answers dropped. */
static void *disturb_by_messages(void *unused)
{
    mach_msg_header_t head;
    mach_port_t drop;

    must("allocate", mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &drop));
    while (!done) {
        memset(&head, 0, sizeof head);
        head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, 0);
        head.msgh_remote_port = trap_port;
        head.msgh_id = 1;
        (void) mach_msg(&head, MACH_SEND_MSG, sizeof head, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
        sched_yield();
    }
    return unused;
}

/* Takes the table back, and registers it again. */
static void *disturb_by_withdrawing(void *unused)
{
    while (!done) {
        must("withdraw", mach_port_register_traps(mach_task_self(), trap_port, NULL, MACH_TRAP_SERIAL));
        sched_yield();
        must("register", mach_port_register_traps(mach_task_self(), trap_port, &traps_traps, MACH_TRAP_SERIAL));
        sched_yield();
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread, others[2];
    int failed, lent, midway;
    size_t i;

    if (argc != 4)
        return 2;
    midway = strcmp(argv[1], "midway") == 0;
    make_port();
    trap_server_transcript(opened(argv[3]));
    if (strcmp(argv[1], "trap") == 0)
        must("register", mach_port_register_traps(mach_task_self(), trap_port, &traps_traps, MACH_TRAP_CONCURRENT));
    if (pthread_create(&thread, NULL, serve, NULL) != 0)
        return 1;
    if (midway && (pthread_create(&others[0], NULL, disturb_by_messages, NULL) != 0
                   || pthread_create(&others[1], NULL, disturb_by_withdrawing, NULL) != 0))
        return 1;
    failed = trap_check(trap_port, opened(argv[2]), &lent);
    done = 1;
    for (i = 0; midway && i < 2; i++)
        (void) pthread_join(others[i], NULL);
    if (trap_references != 0) {
        fprintf(stderr, "%d references are left\n", trap_references);
        return 1;
    }
    printf("%u %u %d\n", trapped, asked, lent);
    return failed;
}
