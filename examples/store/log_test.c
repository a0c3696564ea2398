/*
 * Tests of the log: against a plain table, with its process killed, its tail torn, and its bytes changed.
 * Usage: log_test DIRECTORY [SEED [ROUNDS]]
 */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEYS = 200, OPERATIONS = 4000 };

static char path[4096];
static uint64_t state;

static unsigned random_number(unsigned below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned) (state >> 33) % below;
}

#define MUST(condition)                                                                             \
    do {                                                                                            \
        if (!(condition)) {                                                                         \
            fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #condition, strerror(errno)); \
            exit(1);                                                                                \
        }                                                                                           \
    } while (0)

/* What the store must hold: under each key nothing (0), or the value made from a number. */
static unsigned model[KEYS];

static size_t make_key(unsigned number, char *key) {
    size_t size = (size_t) sprintf(key, "key %u", number);
    memset(key + size, 'k', number % 50);
    return size + number % 50;
}

static size_t make_value(unsigned number, char *value) {
    size_t size = number % 3000;
    for (size_t i = 0; i < size; i++) value[i] = (char) (number * 31 + i);
    return size;
}

/* One random change, to the store and to the table. */
static void change(struct log *log, unsigned number) {
    char key[100], value[3000];
    unsigned which = random_number(KEYS);
    size_t key_size = make_key(which, key);
    if (random_number(5) == 0) {
        enum log_code code = log_delete(log, key, key_size);
        MUST(code == (model[which] ? LOG_OK : LOG_MISSING));
        model[which] = 0;
    } else {
        MUST(log_put(log, key, key_size, value, make_value(number, value)) == LOG_OK);
        model[which] = number;
    }
}

/* Whether the store holds what the table says. */
static int same(struct log *log) {
    uint64_t entries = 0;
    for (unsigned which = 0; which < KEYS; which++) {
        char key[100], expected[3000];
        const void *value;
        size_t size, key_size = make_key(which, key);
        enum log_code code = log_get(log, key, key_size, &value, &size);
        if (code != (model[which] ? LOG_OK : LOG_MISSING)) return 0;
        if (!model[which]) continue;
        entries++;
        if (size != make_value(model[which], expected) || memcmp(value, expected, size) != 0) return 0;
    }
    struct log_info info;
    log_info(log, &info);
    return info.entries == entries && info.live <= info.used;
}

static struct log *opened(void) {
    struct log *log;
    enum log_code code = log_open(path, &log);
    if (code != LOG_OK) fprintf(stderr, "open: %s at %llu\n", log_text(code), (unsigned long long) log_where());
    MUST(code == LOG_OK);
    return log;
}

static void fresh(void) {
    unlink(path);
    memset(model, 0, sizeof model);
}

static void agrees_with_a_table(void) {
    fresh();
    struct log *log = opened(), *second;
    uint64_t compactions = 0;
    for (unsigned i = 1; i <= OPERATIONS * 4; i++) {
        change(log, i);
        if (i % 1000 != 0) continue;
        MUST(same(log));
        MUST(log_open(path, &second) == LOG_BUSY);
        struct log_info info;
        log_info(log, &info);
        compactions += info.compactions;
        MUST(log_close(log) == LOG_OK);
        log = opened();
        MUST(same(log));
    }
    MUST(compactions > 0);
    MUST(log_compact(log) == LOG_OK && same(log));
    struct log_info info;
    log_info(log, &info);
    MUST(info.used == info.live && info.dropped == 0);
    char empty = 0;
    MUST(log_put(log, &empty, 0, "", 0) == LOG_TOO_LONG && log_put(log, &empty, 1, "", 0) == LOG_OK);
    MUST(log_close(log) == LOG_OK);
}

/* A child writes and says what it has done; it is killed, and all that it said must be there. */
static void survives_a_kill(void) {
    int done[2];
    fresh();
    MUST(pipe(done) == 0);
    unsigned long seed = state;
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        struct log *log = opened();
        for (unsigned i = 1;; i++) {
            change(log, i);
            if (write(done[1], &i, sizeof i) != sizeof i) _exit(1);
        }
    }
    close(done[1]);
    unsigned last = 0, until = 500 + random_number(3000);
    state = seed;
    while (last < until) MUST(read(done[0], &last, sizeof last) == sizeof last);
    kill(child, SIGKILL);
    while (read(done[0], &last, sizeof last) == sizeof last) continue;
    close(done[0]);
    MUST(waitpid(child, NULL, 0) == child);
    /* The same changes to the table alone, over a store that nobody looks at. */
    char kept[sizeof path];
    strcpy(kept, path);
    strcat(path, ".other");
    fresh();
    struct log *other = opened();
    for (unsigned i = 1; i <= last; i++) change(other, i);
    MUST(log_close(other) == LOG_OK);
    unlink(path);
    strcpy(path, kept);
    struct log *log = opened();
    /* One more may have been done, and not been said. */
    int found = same(log);
    if (!found) {
        state = seed;
        strcat(path, ".other");
        fresh();
        other = opened();
        for (unsigned i = 1; i <= last + 1; i++) change(other, i);
        MUST(log_close(other) == LOG_OK);
        unlink(path);
        strcpy(path, kept);
        found = same(log);
    }
    MUST(found);
    MUST(log_close(log) == LOG_OK);
}

/* The file as bytes, to be changed. */
static unsigned char *file_bytes(size_t *size, int *file) {
    struct stat status;
    *file = open(path, O_RDWR | O_CLOEXEC);
    MUST(*file >= 0 && fstat(*file, &status) == 0);
    *size = (size_t) status.st_size;
    void *map = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
    MUST(map != MAP_FAILED);
    return map;
}

/* Each prefix of the records is a state that was; with the tail torn anywhere an earlier state comes back, whole. */
static void drops_a_torn_tail(void) {
    fresh();
    struct log *log = opened();
    struct log_info info;
    unsigned count = 20 + random_number(60), states[100][KEYS];
    uint64_t ends[100];
    /* The last state, too: bytes of the last record's end may come out as they were. */
    for (unsigned i = 0; i <= count; i++) {
        log_info(log, &info);
        ends[i] = 4096 + info.used;
        memcpy(states[i], model, sizeof model);
        if (i < count) change(log, i + 1);
    }
    /* The header promises nothing: nothing was synced. The process ends without closing. */
    uint64_t end = ends[count], cut = 4096 + random_number((unsigned) (end - 4096));
    size_t size;
    int file;
    unsigned char *bytes = file_bytes(&size, &file);
    /* What comes behind is torn: other bytes, or none. */
    for (uint64_t i = cut; i < end; i++) bytes[i] = random_number(2) == 0 ? 0 : (unsigned char) random_number(256);
    munmap(bytes, size);
    close(file);
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        /* The parent's lock is on the same open file: this is a copy of the file, as after a crash. */
        char command[2 * sizeof path + 64], copy[sizeof path + 8];
        sprintf(copy, "%s.copy", path);
        sprintf(command, "cp '%s' '%s'", path, copy);
        MUST(system(command) == 0);
        strcpy(path, copy);
        struct log *again = opened();
        int found = 0;
        for (unsigned i = 0; i <= count && !found; i++) {
            memcpy(model, states[i], sizeof model);
            /* The last few bytes may be padding, or have been changed to what they were. */
            found = ends[i] <= cut + 16 && same(again);
        }
        MUST(found);
        /* It goes on from there. */
        for (unsigned i = 0; i < 50; i++) change(again, 1000 + i);
        MUST(log_close(again) == LOG_OK);
        again = opened();
        MUST(same(again));
        MUST(log_close(again) == LOG_OK);
        unlink(path);
        _exit(0);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child && status == 0);
    MUST(log_close(log) == LOG_OK);
}

/* A changed byte in what was synced is found, whichever it is. */
static void finds_damage(void) {
    fresh();
    struct log *log = opened();
    for (unsigned i = 1; i <= 30; i++) change(log, i);
    struct log_info info;
    log_info(log, &info);
    MUST(log_close(log) == LOG_OK);
    size_t size;
    int file;
    unsigned char *bytes = file_bytes(&size, &file);
    uint64_t at;
    /* Padding between records is not covered; a byte that is a part of one is. */
    for (unsigned tries = 0; tries < 20; tries++) {
        at = 4096 + random_number((unsigned) info.used);
        unsigned char old = bytes[at];
        bytes[at] ^= (unsigned char) (1u << random_number(8));
        enum log_code code = log_open(path, &log);
        MUST(code == LOG_DAMAGED || (code == LOG_OK && same(log)));
        if (code == LOG_OK) MUST(log_close(log) == LOG_OK);
        if (code == LOG_DAMAGED) MUST(log_where() <= at && at < log_where() + 8192);
        bytes[at] = old;
    }
    memset(bytes, 'x', 8);
    MUST(log_open(path, &log) == LOG_STRANGE);
    munmap(bytes, size);
    close(file);
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    snprintf(path, sizeof path - 16, "%s/log_test.%d", argv[1], (int) getpid());
    state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    long rounds = argc > 3 ? strtol(argv[3], NULL, 0) : 3;
    agrees_with_a_table();
    for (long i = 0; i < rounds; i++) {
        survives_a_kill();
        drops_a_torn_tail();
        finds_damage();
    }
    unlink(path);
    puts("good");
    return 0;
}
