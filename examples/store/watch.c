/*
 * watch: says what a store holds, again and again, whether the store is the same or another.
 * Usage: watch [--service NAME] [--pause MILLISECONDS]
 */
#include "store.h"

#include <mach/bootstrap.h>
#include <mach/mach.h>
#include <mach/task_main.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

MACH_TASK_MAIN(argc, argv) {
    const char *service = STORE_SERVICE;
    long pause = 500;
    mach_port_t server = MACH_PORT_NULL;
    for (int i = 1; i < argc; i += 2) {
        char *end = "";
        if (i + 1 < argc && strcmp(argv[i], "--service") == 0)
            service = argv[i + 1];
        else if (i + 1 < argc && strcmp(argv[i], "--pause") == 0)
            pause = strtol(argv[i + 1], &end, 10);
        else
            pause = 0;
        if (pause <= 0 || pause > 3600000 || *end != '\0') {
            fprintf(stderr, "Usage: watch [--service NAME] [--pause MILLISECONDS]\n");
            return 2;
        }
    }
    for (;;) {
        uint64_t entries, live, used, compactions;
        kern_return_t code = KERN_SUCCESS;
        if (server == MACH_PORT_NULL) code = bootstrap_look_up(bootstrap_port, service, &server);
        if (code == KERN_SUCCESS) code = store_info(server, &entries, &live, &used, &compactions);
        if (code == KERN_SUCCESS)
            printf("watch: %llu entries, %llu of %llu KiB live, compacted %llu times\n", (unsigned long long) entries,
                   (unsigned long long) live / 1024, (unsigned long long) used / 1024, (unsigned long long) compactions);
        else
            printf("watch: no store: %s\n", bootstrap_strerror(code));
        fflush(stdout);
        if (code != KERN_SUCCESS && server != MACH_PORT_NULL) {
            (void) mach_port_deallocate(mach_task_self(), server);
            server = MACH_PORT_NULL;
        }
        nanosleep(&(struct timespec) {.tv_sec = pause / 1000, .tv_nsec = pause % 1000 * 1000000}, NULL);
    }
}
