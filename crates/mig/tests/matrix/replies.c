/* Calls a server whose replies are damaged, and prints what each call made of its reply. */
#include "sampler.h"
#include "tidy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <mach/mach.h>
#include <mach/bootstrap.h>
#include <mach/mig_support.h>
#include <mach/task_main.h>

/* The code of a call, and what follows it if there was no error. */
#define SAY(name, call, ...)                          \
    do {                                              \
        kern_return_t code = call;                    \
                                                      \
        printf("said %s %d", name, (int) code);       \
        if (code == KERN_SUCCESS)                     \
            printf(__VA_ARGS__);                      \
        putchar('\n');                                \
    } while (0)

static int four[4], more[33], both[4095], back[4095], big[2000], list[3], list_back[4095];
static char bytes_back[100];

static void round_of_calls(mach_port_t server)
{
    int w, x, y, z, room[4] = {0}, *any = room;
    char a = 'a';
    short b = 2;
    int64_t c = 3, sum;
    boolean_t d = TRUE, flags[2] = {TRUE, FALSE}, flags_back[10];
    double e = 4.5;
    word_t word, same = "both";
    label_t label;
    old_string_t old;
    float real = 1.5f;
    int8_t tiny = 1;
    uint8_t byte = 2;
    uint16_t half = 3;
    unsigned number = 4;
    uint64_t wide = 5;
    natural_t told;
    mach_msg_type_number_t bytes_count, both_count = 2, count = 5, any_count = 4, flags_count;

    SAY("null", f_null(server), "%s", "");
    SAY("four", f_four(server, 1, 2, 3, 4, &w, &x, &y, &z), " %d %d %d %d", w, x, y, z);
    SAY("sizes", f_sizes(server, &a, &b, &c, &d, &e), " %d %d %lld %d", (unsigned char) a, b, (long long) c, d != 0);
    SAY("strings", f_strings(server, "word", "label", "old", word, label, old, same), " %zu %zu %zu %zu", strlen(word),
        strlen(label), strlen(old), strlen(same));
    SAY("arrays", f_arrays(server, four, "bytes", 5, 6, more, 33, back, bytes_back, &bytes_count, &sum, both, &both_count, &w),
        " %d %u %lld %u %d", back[3], bytes_count, (long long) sum, both_count, w);
    SAY("room", f_room(server, list_back, &count, &told), " %u %u", count, told);
    SAY("unlimited", f_unlimited(server, list, 2, list, 1, list, 0, FALSE, &told, &any, &any_count, 4), " %u %u %d", told, any_count,
        any_count > 0 ? any[any_count - 1] : 0);
    if (any != room)
        mig_deallocate((vm_address_t) any, any_count * sizeof(int));
    x = 3;
    SAY("accounts", f_accounts(server, 4, &x, &y), " %d %d", x, y);
    SAY("timed", f_timed(server, 0, 77, &z), " %d", z);
    SAY("numbers", f_numbers(server, &real, &tiny, &byte, &half, &number, &wide, flags, 2, flags_back, &flags_count, big),
        " %d %u %u %u %llu %u %d", tiny, byte, half, number, (unsigned long long) wide, flags_count, big[1999]);
    memset(big, 0, sizeof big);
    count = 4095;
    SAY("pairs", f_pairs(server, list, 3, list, list_back, &count, back), " %u", count);
    x = 41;
    SAY("hurry_on", f_hurry_on(server, 60000, &x), " %d", x);
}

MACH_TASK_MAIN(argc, argv)
{
    mach_port_t server;
    kern_return_t result = bootstrap_look_up(MACH_PORT_NULL, "sampler", &server);
    int rounds = argc > 1 ? atoi(argv[1]) : 1;

    if (result != KERN_SUCCESS) {
        fprintf(stderr, "no server: %s\n", bootstrap_strerror(result));
        return 1;
    }
    while (rounds-- > 0)
        round_of_calls(server);
    return 0;
}
