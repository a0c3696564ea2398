/*
 * load: fills a store, then reads and writes it, and says how fast that was. It checks every value that it reads against
 * the last that it wrote. If the store ends, it waits for the next one, which must have all of them.
 * Usage: load [--service NAME] [--keys N] [--value BYTES] [--gets PERCENT] [--seconds S] [--restarts N] [--title TEXT]
 * It goes on until the store has been another one so often, too.
 */
#include "store.h"

#include <mach/bootstrap.h>
#include <mach/mach.h>
#include <mach/task_main.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VALUE_MAX = 4096, BUCKETS = 64 * 16 };

static const char *service = STORE_SERVICE, *title = "load";
static unsigned keys = 10000, value_size = 100, gets = 90, seconds = 2, wanted_restarts;
static mach_port_t server;
/* The version of each key's value that was put last. */
static unsigned *versions;
/* How often the store was another one. */
static unsigned restarts;

/* How long calls took: 16 buckets for each power of two of nanoseconds. */
struct histogram {
    uint64_t count, bucket[BUCKETS];
};

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t) time.tv_sec * 1000000000u + (uint64_t) time.tv_nsec;
}

static void note(struct histogram *histogram, uint64_t time) {
    unsigned power = time < 16 ? 0 : 60u - (unsigned) __builtin_clzll(time);
    histogram->bucket[power * 16 + (time >> power) % 16]++;
    histogram->count++;
}

/* The time that so many of a thousand calls did not exceed, to a sixteenth. */
static double quantile(const struct histogram *histogram, unsigned thousandth) {
    uint64_t until = histogram->count * thousandth / 1000, seen = 0;
    for (unsigned i = 0; i < BUCKETS; i++) {
        seen += histogram->bucket[i];
        if (seen > until) return (double) ((uint64_t) (i % 16 + (i < 16 ? 0 : 16 * (i / 16 > 0))) << (i / 16)) / 1000;
    }
    return 0;
}

static uint64_t state = 88172645463325252u;

static uint64_t random_number(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static mach_msg_type_number_t make_key(unsigned number, char *key) {
    return (mach_msg_type_number_t) sprintf(key, "user:%08u", number);
}

/* A value tells its key and its version, and the rest of it follows from both. */
static void make_value(unsigned number, unsigned version, char *value) {
    unsigned head[2] = {number, version};
    memcpy(value, head, sizeof head);
    memset(value + sizeof head, (char) (number + version), value_size - sizeof head);
}

static int failed(const char *what, kern_return_t code) {
    fprintf(stderr, "load: %s: %s\n", what,
            code == STORE_MISSING ? "no such key" : code == STORE_FAILED ? "the store can't write" : mach_error_string(code));
    return 1;
}

/* The service, for which it waits if it is not there yet, or not there again. */
static kern_return_t look_up(void) {
    kern_return_t code = KERN_SUCCESS;
    for (int tries = 0; tries < 3000; tries++) {
        code = bootstrap_look_up(bootstrap_port, service, &server);
        if (code != BOOTSTRAP_UNKNOWN_SERVICE) return code;
        nanosleep(&(struct timespec) {.tv_nsec = 10000000}, NULL);
    }
    return code;
}

/* Whether the call failed because the store has ended, and there is another one now. */
static int again(kern_return_t code) {
    if (code != MACH_SEND_INVALID_DEST && code != MIG_SERVER_DIED) return 0;
    restarts++;
    (void) mach_port_deallocate(mach_task_self(), server);
    return look_up() == KERN_SUCCESS;
}

static kern_return_t put(const char *key, mach_msg_type_number_t key_size, const char *value) {
    kern_return_t code;
    do code = store_put(server, key, key_size, value, value_size);
    while (again(code));
    return code;
}

static kern_return_t get(const char *key, mach_msg_type_number_t key_size, char *value, mach_msg_type_number_t *size) {
    kern_return_t code;
    do {
        *size = VALUE_MAX;
        code = store_get(server, key, key_size, value, size);
    } while (again(code));
    return code;
}

static int fill(void) {
    char key[32], value[VALUE_MAX];
    for (unsigned i = 0; i < keys; i++) {
        make_value(i, 0, value);
        kern_return_t code = put(key, make_key(i, key), value);
        if (code != KERN_SUCCESS) return failed("put", code);
    }
    return 0;
}

static int run(struct histogram *histogram, double *elapsed) {
    unsigned version = 0;
    char key[32], value[VALUE_MAX], expected[VALUE_MAX];
    uint64_t begin = now(), time = begin, until = begin + (uint64_t) seconds * 1000000000u;
    while (time < until || restarts < wanted_restarts) {
        unsigned number = (unsigned) (random_number() % keys);
        mach_msg_type_number_t key_size = make_key(number, key), size = 0;
        int reads = random_number() % 100 < gets;
        if (!reads) make_value(number, ++version, value);
        uint64_t before = now();
        kern_return_t code = reads ? get(key, key_size, value, &size) : put(key, key_size, value);
        time = now();
        note(histogram, time - before);
        if (code != KERN_SUCCESS) return failed(reads ? "get" : "put", code);
        if (!reads) {
            versions[number] = version;
            continue;
        }
        make_value(number, versions[number], expected);
        if (size != value_size || memcmp(value, expected, size) != 0) {
            fprintf(stderr, "load: the value of %s is not the last that was put\n", key);
            return 1;
        }
    }
    *elapsed = (double) (time - begin) / 1e9;
    return 0;
}

static int number(const char *text, unsigned least, unsigned most, unsigned *value) {
    char *end;
    unsigned long read = strtoul(text, &end, 10);
    if (*text == '\0' || *end != '\0' || read < least || read > most) return 0;
    *value = (unsigned) read;
    return 1;
}

static int options(int argc, char **argv) {
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        int good = 0;
        if (strcmp(name, "--service") == 0) good = *(service = value) != '\0';
        if (strcmp(name, "--title") == 0) good = *(title = value) != '\0';
        if (strcmp(name, "--keys") == 0) good = number(value, 1, 10000000, &keys);
        if (strcmp(name, "--value") == 0) good = number(value, 8, VALUE_MAX, &value_size);
        if (strcmp(name, "--gets") == 0) good = number(value, 0, 100, &gets);
        if (strcmp(name, "--seconds") == 0) good = number(value, 1, 3600, &seconds);
        if (strcmp(name, "--restarts") == 0) good = number(value, 0, 1000, &wanted_restarts);
        if (good) continue;
        fprintf(stderr, "Usage: load [--service NAME] [--keys N] [--value BYTES] [--gets PERCENT] [--seconds S] [--restarts N] "
                        "[--title TEXT]\n");
        return 0;
    }
    return 1;
}

MACH_TASK_MAIN(argc, argv) {
    struct histogram histogram;
    double elapsed = 1;
    uint64_t entries, live, used, compactions;
    memset(&histogram, 0, sizeof histogram);
    if (!options(argc, argv)) return 2;
    versions = calloc(keys, sizeof *versions);
    if (!versions) return failed("versions", KERN_RESOURCE_SHORTAGE);
    kern_return_t code = look_up();
    if (code != KERN_SUCCESS) {
        fprintf(stderr, "load: no service %s: %s\n", service, bootstrap_strerror(code));
        return 1;
    }
    if (fill() != 0 || run(&histogram, &elapsed) != 0) return 1;
    code = store_info(server, &entries, &live, &used, &compactions);
    if (code != KERN_SUCCESS) return failed("info", code);
    printf("%-16s %9.0f calls/s   p50 %7.3f us   p99 %7.3f us   p99.9 %7.3f us\n", title, (double) histogram.count / elapsed,
           quantile(&histogram, 500), quantile(&histogram, 990), quantile(&histogram, 999));
    if (restarts > 0)
        printf("load: the store ended %u times, and no value that was put is missing (%llu entries)\n", restarts,
               (unsigned long long) entries);
    /* The process may go on after this task. */
    fflush(stdout);
    free(versions);
    return 0;
}
