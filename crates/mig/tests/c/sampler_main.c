/*
 * The sampler's client against its server in one process: plainly; with the stack full of one byte and then of
 * another, when all that is sent must be the same; and with messages changed at random on their way.
 * Usage: sampler [fuzz-requests|fuzz-replies SEED ROUNDS]
 */
#include "fake_mach.h"
#include "samplerServer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int sampler_check(mach_port_t server);
extern int accounts_open;

boolean_t fake_demux(mach_msg_header_t *request, mach_msg_header_t *reply)
{
    return sampler_server(request, reply);
}

/* With stubs that know traps TRAPS is the table. */
#ifdef WITH_TRAPS
#define TRAPS (&sampler_traps)
#else
#define TRAPS NULL
#endif

static uint64_t hash;

static void hash_bytes(void *message, mach_msg_size_t size)
{
    mach_msg_header_t *head = message;
    const unsigned char *bytes = message;
    mach_msg_size_t i;

    /* The body; memory and sequence numbers are not the same in two runs. */
    if (head->msgh_bits & MACH_MSGH_BITS_COMPLEX)
        return;
    for (i = sizeof *head; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
}

/* Leaves a deep stack full of one byte, for what is not initialised to be seen. */
static __attribute__((noinline)) void fill_stack(int byte)
{
    volatile char room[400 * 1024];
    size_t i;

    for (i = 0; i < sizeof room; i++)
        room[i] = (char) byte;
}

static uint64_t sent_with(int byte)
{
    hash = UINT64_C(0xcbf29ce484222325);
    fake_seqno = 0;
    fill_stack(byte);
    return sampler_check(FAKE_SERVER) == 0 ? hash : 0;
}

static uint64_t state;

static uint32_t random_number(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t) (state >> 33);
}

static int either(void)
{
    return random_number() % 2 == 0;
}

/* Changes a few bytes, most often in type words. Memory stays what it was: a sender has its own only. */
static void change(void *message, mach_msg_size_t size)
{
    unsigned char *bytes = message;
    unsigned n;

    if (random_number() % 2 == 0)
        return;
    for (n = random_number() % 4; n > 0; n--) {
        uint32_t at = random_number() % size;

        if (random_number() % 2 == 0)
            at &= ~7u;
        if (at >= 4 && at < 24)
            continue;
        switch (random_number() % 4) {
        case 0:
            bytes[at] ^= (unsigned char) (1u << random_number() % 8);
            break;
        case 1:
            bytes[at] = (unsigned char) random_number();
            break;
        case 2:
            memset(bytes + at, 0xff, size - at < 4 ? size - at : 4);
            break;
        default:
            memset(bytes + at, 0, size - at < 4 ? size - at : 4);
            break;
        }
    }
    ((mach_msg_header_t *) message)->msgh_bits &= MACH_MSGH_BITS_COMPLEX | 0xffff;
}

static int fuzz(int replies, uint64_t seed, long rounds)
{
    state = seed;
    fake_keep_memory = 1;
    if (replies)
        fake_on_reply = change;
    else
        fake_on_request = change;
    /* What the checks say of changed values does not matter. That they end well does: no bad access, nothing freed twice. */
    while (rounds-- > 0)
        (void) sampler_check(FAKE_SERVER);
    return 0;
}

/* How calls go: all by message, all that may by trap, or now by one and now by the other. */
static int every_way(void)
{
    static const mach_trap_table_t *const tables[] = {NULL, TRAPS, TRAPS};
    static int (*const choices[])(void) = {NULL, NULL, either};
    size_t way;

    for (way = 0; way < sizeof tables / sizeof tables[0]; way++) {
        fake_traps = tables[way];
        fake_may_trap = choices[way];
        fake_trapped = fake_destroyed = fake_rights_destroyed = 0;
        if (sampler_check(FAKE_SERVER) != 0)
            return 1;
        if (fake_regions() != 0 || accounts_open != 0) {
            fprintf(stderr, "%u regions and %d accounts are left\n", fake_regions(), accounts_open);
            return 1;
        }
        if (fake_destroyed < 2 || fake_rights_destroyed < 4) {
            fprintf(stderr, "%u messages with %u rights were destroyed\n", fake_destroyed, fake_rights_destroyed);
            return 1;
        }
        if ((tables[way] == NULL) != (fake_trapped == 0)) {
            fprintf(stderr, "%u calls went by trap\n", fake_trapped);
            return 1;
        }
    }
    fake_traps = NULL;
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t first, second;

    if (argc == 4) {
        return fuzz(strcmp(argv[1], "fuzz-replies") == 0, strtoull(argv[2], NULL, 0), strtol(argv[3], NULL, 0));
    }
    if (every_way() != 0)
        return 1;
    fake_on_request = hash_bytes;
    fake_on_reply = hash_bytes;
    first = sent_with(0x11);
    second = sent_with(0xee);
    if (first == 0 || first != second) {
        fprintf(stderr, "what was sent depends on what was on the stack before\n");
        return 1;
    }
    puts("good");
    return 0;
}
