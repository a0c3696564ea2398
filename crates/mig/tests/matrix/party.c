/*
 * A server of sampler.defs, tidy.defs and trap.defs, or a client of such a server, as a task or as a program.
 *
 * `server WAY FILE': WAY says how calls come in: `message': by messages; `trap': by trap, where the client is in the same
 * process; `midway': by trap, and now and then not. FILE is for a transcript.
 * `client ROUNDS FILE' prints how many messages it took, how much larger its process and the server's became
 * meanwhile, in pages, and how often the server had an array of the client's own. `client ROUNDS FILE noise' sends messages
 * of its own in front of half of its calls.
 */
#include "steps.h"

#include <mach/bootstrap.h>
#include <mach/mig_errors.h>
#include <mach/mig_support.h>
#include <mach/task_main.h>
#include <mach/trap.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Asks a server what it has. */
enum { REPORT = 9900 };

struct report {
    mig_reply_header_t head;
    mach_msg_type_t type;
    int names, held, pages, messages;
};

/* How many names the task has. */
static int names_here(void)
{
    mach_port_array_t names;
    mach_port_type_array_t types;
    mach_msg_type_number_t count, type_count;

    must("names", mach_port_names(mach_task_self(), &names, &count, &types, &type_count));
    mig_deallocate((vm_address_t) names, count * sizeof *names);
    mig_deallocate((vm_address_t) types, type_count * sizeof *types);
    return (int) count;
}

/* The size of the process's memory. */
static int pages_here(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    int pages = 0;

    if (file == NULL || fscanf(file, "%d", &pages) != 1)
        exit(1);
    fclose(file);
    return pages;
}

#ifdef SERVER

/* The headers of the three have types of the same names. */
extern boolean_t sampler_server(mach_msg_header_t *request, mach_msg_header_t *reply);
extern boolean_t tidy_server(mach_msg_header_t *request, mach_msg_header_t *reply);
extern boolean_t traps_server(mach_msg_header_t *request, mach_msg_header_t *reply);
extern const mach_trap_table_t sampler_traps, tidy_traps, traps_traps;

/* For the largest message of any of them. */
enum { ROOM = 1 << 17 };

extern void trap_server_transcript(FILE *file);
extern int accounts_open, trap_references;
extern mach_port_t trap_port;

static const mach_trap_table_t *const tables[] = {&sampler_traps, &tidy_traps, &traps_traps};

static void register_traps(void)
{
    size_t i;

    for (i = 0; i < sizeof tables / sizeof tables[0]; i++)
        must("register traps", mach_port_register_traps(mach_task_self(), trap_port, tables[i], MACH_TRAP_SERIAL));
}

static int messages;

/* Takes the tables back, and registers them again. */
static void *disturb(void *unused)
{
    for (;;) {
        register_traps();
        sched_yield();
        must("withdraw", mach_port_register_traps(mach_task_self(), trap_port, NULL, MACH_TRAP_SERIAL));
        sched_yield();
    }
    return unused;
}

static boolean_t report_server(mach_msg_header_t *request, mach_msg_header_t *reply)
{
    struct report *report = (struct report *) (void *) reply;

    if (request->msgh_id != REPORT)
        return FALSE;
    memset(report, 0, sizeof *report);
    reply->msgh_bits = MACH_MSGH_BITS(MACH_MSGH_BITS_REMOTE(request->msgh_bits), 0);
    reply->msgh_size = sizeof *report;
    reply->msgh_remote_port = request->msgh_remote_port;
    reply->msgh_id = request->msgh_id + 100;
    report->head.RetCodeType.msgt_name = MACH_MSG_TYPE_INTEGER_32;
    report->head.RetCodeType.msgt_size = 32;
    report->head.RetCodeType.msgt_number = 1;
    report->head.RetCodeType.msgt_inline = TRUE;
    report->type = report->head.RetCodeType;
    report->type.msgt_number = 4;
    report->names = names_here();
    report->held = accounts_open + trap_references;
    report->pages = pages_here();
    report->messages = messages;
    return TRUE;
}

/* One port for all. What no routine has is not counted. */
static boolean_t servers(mach_msg_header_t *request, mach_msg_header_t *reply)
{
    if (!sampler_server(request, reply) && !tidy_server(request, reply) && !traps_server(request, reply))
        return report_server(request, reply);
    messages++;
    return TRUE;
}

MACH_TASK_MAIN(argc, argv)
{
    pthread_t thread;

    if (argc != 4)
        return 2;
    trap_server_transcript(opened(argv[3]));
    must("allocate", mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &trap_port));
    must("make a send right", mach_port_insert_right(mach_task_self(), trap_port, trap_port, MACH_MSG_TYPE_MAKE_SEND));
    if (strcmp(argv[2], "trap") == 0)
        register_traps();
    if (strcmp(argv[2], "midway") == 0 && pthread_create(&thread, NULL, disturb, NULL) != 0)
        return 1;
    must("register", bootstrap_register(MACH_PORT_NULL, "traps", trap_port));
    must("register", bootstrap_register(MACH_PORT_NULL, "sampler", trap_port));
    must("serve", mach_msg_server(servers, ROOM, trap_port));
    return 1;
}

#else

extern int sampler_check(mach_port_t server);
extern int tidy_check(mach_port_t server);
extern int trap_check(mach_port_t server, FILE *file, int *lent);

static struct report report_of(mach_port_t server)
{
    union {
        mach_msg_header_t head;
        struct report report;
    } message;

    memset(&message, 0, sizeof message);
    message.head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
    message.head.msgh_remote_port = server;
    message.head.msgh_local_port = mig_get_reply_port();
    message.head.msgh_id = REPORT;
    must("report", mach_msg(&message.head, MACH_SEND_MSG | MACH_RCV_MSG, sizeof message.head, sizeof message,
                            message.head.msgh_local_port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL));
    must("report", message.report.head.RetCode);
    return message.report;
}

static int noise, lent;

/* Requests that no routine has, so that there is a queue. */
static void disturb(mach_port_t server)
{
    static unsigned state = 1;
    mach_msg_header_t head;
    int i;

    state = state * 1103515245u + 12345u;
    if (!noise || (state >> 16) % 2 == 0)
        return;
    for (i = 0; i < 3; i++) {
        memset(&head, 0, sizeof head);
        head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, 0);
        head.msgh_remote_port = server;
        head.msgh_id = 1;
        must("noise", mach_msg(&head, MACH_SEND_MSG, sizeof head, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL));
    }
}

/* The client and its stubs are compiled to call this one, under which name the header has it, too. */
#undef mach_trap
extern boolean_t mach_trap(mach_port_t destination, mach_msg_id_t id, uint64_t signature, void *arguments, kern_return_t *code);

boolean_t party_trap(mach_port_t destination, mach_msg_id_t id, uint64_t signature, void *arguments, kern_return_t *code)
{
    if (destination != MACH_PORT_NULL && destination != MACH_PORT_DEAD)
        disturb(destination);
    return mach_trap(destination, id, signature, arguments, code);
}

static int round_of_calls(mach_port_t server, mach_port_t traps, FILE *file)
{
    int of_round = 0;
    int failed = sampler_check(server) != 0 || tidy_check(server) != 0 || trap_check(traps, file, &of_round) != 0;

    lent += of_round;
    return failed;
}

MACH_TASK_MAIN(argc, argv)
{
    mach_port_t server, traps;
    struct report before, after;
    int rounds, i, names, pages;
    FILE *nowhere = opened("/dev/null");

    if (argc != 4 && (argc != 5 || strcmp(argv[4], "noise") != 0))
        return 2;
    noise = argc == 5;
    must("look up", bootstrap_look_up(MACH_PORT_NULL, "sampler", &server));
    must("look up", bootstrap_look_up(MACH_PORT_NULL, "traps", &traps));
    rounds = (int) strtol(argv[2], NULL, 10);
    /* What is kept for the next time is there after these. */
    for (i = 0; i < rounds; i++)
        if (round_of_calls(server, traps, nowhere) != 0)
            return 1;
    lent = 0;
    before = report_of(traps);
    names = names_here();
    pages = pages_here();
    if (round_of_calls(server, traps, opened(argv[3])) != 0)
        return 1;
    for (i = 1; i < rounds; i++)
        if (round_of_calls(server, traps, nowhere) != 0)
            return 1;
    pages = pages_here() - pages;
    after = report_of(traps);
    if (names_here() != names || after.names != before.names || after.held != 0) {
        fprintf(stderr, "the client has %d names and had %d, the server %d and %d; it holds %d references\n", names_here(), names,
                after.names, before.names, after.held);
        return 1;
    }
    printf("%d %d %d %d\n", after.messages - before.messages, pages, after.pages - before.pages, lent);
    return 0;
}

#endif
