/*
 * The conformance table: main PART runs one part of it, main alone runs all. With far as the last word, send and
 * send-once rights are to ports of another process.
 */
#include "fixtures.h"

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {
    {"names", test_names},
    {"references", test_references},
    {"rights", test_rights},
    {"requests", test_requests},
    {"notifications", test_notifications},
    {"send", test_send},
    {"bodies", test_bodies},
    {"receive", test_receive},
    {"memory", test_memory},
    {"calls", test_calls},
};

int main(int argc, char **argv) {
    int ran = 0, far = argc > 1 && strcmp(argv[argc - 1], "far") == 0;
    if (far) argc--;
    watchdog(getenv("CONFORMANCE_SECONDS") ? (unsigned) atoi(getenv("CONFORMANCE_SECONDS")) : 120);
    /* The task's own names are there from the first call on. */
    MUST(MACH_PORT_VALID(self));
    if (far) far_start();
    begin();
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (argc > 1 && strcmp(argv[1], parts[i].name) != 0) continue;
        parts[i].run();
        ran++;
    }
    far_end();
    if (!ran) {
        fprintf(stderr, "conformance: no part is called %s\n", argv[1]);
        return 2;
    }
    return checks_done(argc > 1 ? argv[1] : "conformance");
}
