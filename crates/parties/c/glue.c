/* The client and the server in C, for a program in Rust. */
#include "trapsServer.h"

#include <mach/mach.h>
#include <mach/trap.h>

#include <stdio.h>

extern int trap_check(mach_port_t server, FILE *file, int *lent);
extern void trap_server_transcript(FILE *file);
extern mach_port_t trap_port;
extern void party_count(void);
extern void party_disturb(mach_port_t port);
extern boolean_t party_trap(mach_port_t destination, mach_msg_id_t id, uint64_t signature, void *arguments, kern_return_t *code);

static FILE *opened(const char *name)
{
    FILE *file = fopen(name, "w");

    if (file == NULL)
        perror(name);
    else
        setvbuf(file, NULL, _IOLBF, 1 << 16);
    return file;
}

/* What the stubs are compiled to call. */
boolean_t party_trap(mach_port_t destination, mach_msg_id_t id, uint64_t signature, void *arguments, kern_return_t *code)
{
    party_disturb(destination);
    return mach_trap(destination, id, signature, arguments, code);
}

/* Calls every routine. How often the server had the caller's own array, or -1. */
int party_client(mach_port_t server, const char *transcript)
{
    FILE *file = opened(transcript);
    int lent = 0;

    if (file == NULL || trap_check(server, file, &lent) != 0 || fclose(file) != 0)
        return -1;
    return lent;
}

int party_register(mach_port_t port)
{
    return mach_port_register_traps(mach_task_self(), port, &traps_traps, MACH_TRAP_CONCURRENT);
}

static boolean_t counted_server(mach_msg_header_t *request, mach_msg_header_t *reply)
{
    boolean_t served = traps_server(request, reply);

    if (served)
        party_count();
    return served;
}

/* The port and the transcript of the server. */
int party_open(mach_port_t port, const char *transcript)
{
    FILE *file = opened(transcript);

    trap_port = port;
    trap_server_transcript(file);
    return file == NULL ? 1 : 0;
}

int party_serve(mach_port_t port)
{
    mach_msg_size_t room = traps_max_request_size > traps_max_reply_size ? traps_max_request_size : traps_max_reply_size;

    return mach_msg_server(counted_server, room, port);
}
