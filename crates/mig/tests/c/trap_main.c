/*
 * trap.defs in one process, over the stand-in for libmach.
 * Usage: trap message|trap|midway CLIENT-TRANSCRIPT SERVER-TRANSCRIPT
 * Prints how many calls went by trap, how many by message, and in how many the server had the caller's own array.
 */
#include "fake_mach.h"
#include "trapsServer.h"

#include <stdio.h>
#include <string.h>

extern int trap_check(mach_port_t server, FILE *file, int *lent);
extern void trap_server_transcript(FILE *file);
extern int trap_references;
extern mach_port_t trap_port;

boolean_t fake_demux(mach_msg_header_t *request, mach_msg_header_t *reply)
{
    return traps_server(request, reply);
}

static int may_trap(void)
{
    static unsigned state = 1;

    state = state * 1103515245u + 12345u;
    return (state >> 16) % 2 == 0;
}

int main(int argc, char **argv)
{
    FILE *client, *server;
    int lent;

    if (argc != 4 || (client = fopen(argv[2], "w")) == NULL || (server = fopen(argv[3], "w")) == NULL)
        return 2;
#ifndef OLD_SERVER
    if (strcmp(argv[1], "message") != 0)
        fake_traps = &traps_traps;
#endif
    if (strcmp(argv[1], "midway") == 0)
        fake_may_trap = may_trap;
    trap_port = FAKE_SERVER;
    trap_server_transcript(server);
    if (trap_check(FAKE_SERVER, client, &lent) != 0)
        return 1;
    if (fake_regions() != 0 || trap_references != 0 || fclose(client) != 0 || fclose(server) != 0) {
        fprintf(stderr, "%u regions and %d references are left\n", fake_regions(), trap_references);
        return 1;
    }
    printf("%u %u %d\n", fake_trapped, fake_sent, lent);
    return 0;
}
