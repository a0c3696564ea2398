#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checksum.h"

/* The first page. `durable` is the end of what was on the disk at the last log_sync(). */
struct header {
    char magic[8];
    uint64_t durable;
    uint32_t checksum; /* of what is before it */
};

/* A record: this, the key, the value, and zeros up to a multiple of 8. No key has length 0, so zeros are no record. */
struct record {
    uint32_t checksum; /* of all behind it */
    uint32_t value_size;
    uint16_t key_size;
    uint16_t deleted;
    uint32_t zero;
};

static const char MAGIC[8] = "slipLOG1";
enum { START = 4096, STEP = 1 << 20, STEP_MAX = 64 << 20, COMPACT_FROM = 4 << 20 };

/* A slot of the index; `at` is 0 if it is free. */
struct slot {
    uint64_t hash;
    uint64_t at;
};

struct log {
    char *path;
    int file;
    unsigned char *map;
    uint64_t size; /* of the file and the map */
    uint64_t end;  /* of the records */
    struct slot *slots;
    uint64_t mask; /* their number less 1 */
    uint64_t seed;
    struct log_info info;
};

static uint64_t damaged_at;

uint64_t log_where(void) { return damaged_at; }

const char *log_text(enum log_code code) {
    static const char *const texts[] = {
        [LOG_OK] = "done",
        [LOG_MISSING] = "there is no such key",
        [LOG_TOO_LONG] = "the key is empty, or it or the value is too long",
        [LOG_SYSTEM] = "a system call failed",
        [LOG_BUSY] = "another process uses the file",
        [LOG_STRANGE] = "the file is not a store",
        [LOG_DAMAGED] = "the file is damaged",
    };
    return texts[code];
}

static const struct record *record_at(const struct log *log, uint64_t at) { return (const void *) (log->map + at); }

static const unsigned char *key_of(const struct record *record) { return (const unsigned char *) (record + 1); }

static uint64_t record_size(uint64_t key_size, uint64_t value_size) {
    return (sizeof(struct record) + key_size + value_size + 7) & ~(uint64_t) 7;
}

static uint64_t size_of(const struct record *record) { return record_size(record->key_size, record->value_size); }

static uint32_t checksum_of(const struct record *record) {
    const unsigned char *from = (const unsigned char *) record + sizeof record->checksum;
    return checksum(from, sizeof *record - sizeof record->checksum + record->key_size + record->value_size);
}

/* The index. A seed of its own keeps those who choose keys from choosing collisions. */

static uint64_t hash_of(const struct log *log, const unsigned char *key, size_t size) {
    uint64_t hash = log->seed ^ size * 0x9e3779b97f4a7c15u, word;
    for (; size >= 8; size -= 8, key += 8) {
        memcpy(&word, key, 8);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, key, size);
    hash = (hash ^ word) * 0xc4ceb9fe1a85ec53u;
    return hash ^ hash >> 29;
}

/* The slot of a key: its own, or the free one where it would be. */
static struct slot *find(const struct log *log, const void *key, size_t size, uint64_t hash) {
    for (uint64_t i = hash & log->mask;; i = (i + 1) & log->mask) {
        struct slot *slot = &log->slots[i];
        if (slot->at == 0) return slot;
        if (slot->hash != hash) continue;
        const struct record *record = record_at(log, slot->at);
        if (record->key_size == size && memcmp(key_of(record), key, size) == 0) return slot;
    }
}

/* Doubles the index if it is more than two thirds full. */
static int grow_index(struct log *log) {
    if ((log->info.entries + 1) * 3 <= (log->mask + 1) * 2) return 1;
    struct slot *old = log->slots;
    uint64_t count = log->mask + 1;
    struct slot *slots = calloc(2 * count, sizeof *slots);
    if (!slots) return 0;
    log->slots = slots;
    log->mask = 2 * count - 1;
    for (uint64_t i = 0; i < count; i++) {
        if (old[i].at == 0) continue;
        uint64_t to = old[i].hash & log->mask;
        while (slots[to].at != 0) to = (to + 1) & log->mask;
        slots[to] = old[i];
    }
    free(old);
    return 1;
}

/* Frees a slot, and moves back those that would not be found behind the gap. */
static void remove_slot(struct log *log, struct slot *slot) {
    uint64_t gap = (uint64_t) (slot - log->slots), i = gap;
    for (;;) {
        i = (i + 1) & log->mask;
        if (log->slots[i].at == 0) break;
        uint64_t home = log->slots[i].hash & log->mask;
        if (((i - home) & log->mask) >= ((i - gap) & log->mask)) {
            log->slots[gap] = log->slots[i];
            gap = i;
        }
    }
    log->slots[gap].at = 0;
}

/* Makes the index know the record at an offset, for which grow_index() has made room. */
static void enter(struct log *log, uint64_t at) {
    const struct record *record = record_at(log, at);
    uint64_t hash = hash_of(log, key_of(record), record->key_size);
    struct slot *slot = find(log, key_of(record), record->key_size, hash);
    log->info.used += size_of(record);
    if (slot->at != 0) {
        log->info.live -= size_of(record_at(log, slot->at));
        log->info.entries--;
        if (record->deleted) remove_slot(log, slot);
    }
    if (record->deleted) return;
    slot->hash = hash;
    slot->at = at;
    log->info.live += size_of(record);
    log->info.entries++;
}

/* The file. */

/* Makes the file and the map that long. The blocks are reserved, so that writing to the map can't find the disk full. */
static int grow_file(struct log *log, uint64_t size) {
    int error = posix_fallocate(log->file, 0, (off_t) size);
    if (error != 0) {
        errno = error;
        return 0;
    }
    void *map = log->map ? mremap(log->map, log->size, size, MREMAP_MAYMOVE)
                         : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, log->file, 0);
    if (map == MAP_FAILED) return 0;
    log->map = map;
    log->size = size;
    return 1;
}

static void write_header(struct log *log, uint64_t durable) {
    struct header header;
    memset(&header, 0, sizeof header);
    memcpy(header.magic, MAGIC, sizeof MAGIC);
    header.durable = durable;
    header.checksum = checksum(&header, offsetof(struct header, checksum));
    memcpy(log->map, &header, sizeof header);
}

/* The end of what must be whole; 0 if the header does not tell. */
static uint64_t durable_end(const struct log *log) {
    struct header header;
    memcpy(&header, log->map, sizeof header);
    return header.checksum == checksum(&header, offsetof(struct header, checksum)) ? header.durable : 0;
}

/* Whether there is a whole record at an offset. */
static int whole(const struct log *log, uint64_t at) {
    if (at > log->size || log->size - at < sizeof(struct record)) return 0;
    const struct record *record = record_at(log, at);
    if (record->key_size == 0 || record->value_size > LOG_VALUE_MAX || size_of(record) > log->size - at) return 0;
    return record->checksum == checksum_of(record);
}

/* Reads all records into the index. */
static enum log_code scan(struct log *log) {
    uint64_t at = START, durable = durable_end(log);
    for (; whole(log, at); at += size_of(record_at(log, at))) {
        if (!grow_index(log)) return LOG_SYSTEM;
        enter(log, at);
    }
    if (at < durable) {
        damaged_at = at;
        return LOG_DAMAGED;
    }
    log->end = at;
    /* What was not whole goes, or the rest of it could be taken for records behind those that come now. */
    uint64_t last = log->size;
    while (last > at && log->map[last - 1] == 0) last--;
    log->info.dropped = last - at;
    memset(log->map + at, 0, last - at);
    return LOG_OK;
}

/* Opens and locks. The file can have been replaced between the two. */
static enum log_code open_locked(const char *path, int *file) {
    for (;;) {
        struct stat here, there;
        *file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (*file < 0) return LOG_SYSTEM;
        if (flock(*file, LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK ? LOG_BUSY : LOG_SYSTEM;
        if (fstat(*file, &here) != 0) return LOG_SYSTEM;
        if (!S_ISREG(here.st_mode)) return LOG_STRANGE;
        if (stat(path, &there) == 0 && here.st_ino == there.st_ino && here.st_dev == there.st_dev) return LOG_OK;
        close(*file);
    }
}

static void discard(struct log *log) {
    int error = errno;
    if (log->map) munmap(log->map, log->size);
    if (log->file >= 0) close(log->file);
    free(log->slots);
    free(log->path);
    free(log);
    errno = error;
}

static struct log *new_log(const char *path) {
    struct log *log = calloc(1, sizeof *log);
    if (!log) return NULL;
    log->file = -1;
    log->mask = 1023;
    log->path = strdup(path);
    log->slots = calloc(log->mask + 1, sizeof *log->slots);
    if (log->path && log->slots && getrandom(&log->seed, sizeof log->seed, 0) == sizeof log->seed) return log;
    discard(log);
    return NULL;
}

static enum log_code load(struct log *log) {
    struct stat status;
    if (fstat(log->file, &status) != 0) return LOG_SYSTEM;
    uint64_t size = (uint64_t) status.st_size;
    int fresh = size == 0;
    if (!fresh && size < START) return LOG_STRANGE;
    if (!grow_file(log, size < STEP ? STEP : size)) return LOG_SYSTEM;
    /* A new file whose maker was ended before it wrote the header has zeros. */
    for (size_t i = 0; !fresh && i < START && log->map[i] == 0; i++) fresh = i == START - 1;
    if (fresh) write_header(log, START);
    if (memcmp(log->map, MAGIC, sizeof MAGIC) != 0) return LOG_STRANGE;
    return scan(log);
}

enum log_code log_open(const char *path, struct log **out) {
    *out = NULL;
    struct log *log = new_log(path);
    if (!log) return LOG_SYSTEM;
    enum log_code code = open_locked(path, &log->file);
    if (code == LOG_OK) code = load(log);
    if (code == LOG_OK)
        *out = log;
    else
        discard(log);
    return code;
}

enum log_code log_close(struct log *log) {
    enum log_code code = log_sync(log);
    discard(log);
    return code;
}

/* Room for a record at the end. */
static enum log_code make_room(struct log *log, uint64_t size) {
    if (log->size - log->end >= size) return LOG_OK;
    uint64_t step = log->size < STEP_MAX ? log->size : STEP_MAX;
    return grow_file(log, log->size + (step > size ? step : size + STEP)) ? LOG_OK : LOG_SYSTEM;
}

static enum log_code append(struct log *log, const void *key, size_t key_size, const void *value, size_t value_size, int deleted) {
    uint64_t size = record_size(key_size, value_size);
    enum log_code code = make_room(log, size);
    if (code != LOG_OK) return code;
    if (!grow_index(log)) return LOG_SYSTEM;
    struct record *record = (void *) (log->map + log->end);
    unsigned char *to = (unsigned char *) (record + 1);
    memcpy(to, key, key_size);
    if (value_size > 0) memcpy(to + key_size, value, value_size);
    record->value_size = (uint32_t) value_size;
    record->key_size = (uint16_t) key_size;
    record->deleted = (uint16_t) deleted;
    record->checksum = checksum_of(record);
    enter(log, log->end);
    log->end += size;
    /* A file that is more than half dead is written anew. If that can't be, the old one is as good as before. */
    if (log->info.used > COMPACT_FROM && log->info.used > 2 * log->info.live) (void) log_compact(log);
    return LOG_OK;
}

enum log_code log_put(struct log *log, const void *key, size_t key_size, const void *value, size_t value_size) {
    if (key_size == 0 || key_size > LOG_KEY_MAX || value_size > LOG_VALUE_MAX) return LOG_TOO_LONG;
    return append(log, key, key_size, value, value_size, 0);
}

enum log_code log_get(struct log *log, const void *key, size_t key_size, const void **value, size_t *value_size) {
    const struct slot *slot = find(log, key, key_size, hash_of(log, key, key_size));
    if (slot->at == 0) return LOG_MISSING;
    const struct record *record = record_at(log, slot->at);
    *value = key_of(record) + record->key_size;
    *value_size = record->value_size;
    return LOG_OK;
}

enum log_code log_delete(struct log *log, const void *key, size_t key_size) {
    if (find(log, key, key_size, hash_of(log, key, key_size))->at == 0) return LOG_MISSING;
    return append(log, key, key_size, NULL, 0, 1);
}

enum log_code log_sync(struct log *log) {
    if (msync(log->map, log->size, MS_SYNC) != 0 || fdatasync(log->file) != 0) return LOG_SYSTEM;
    /* Only now: the header must not promise what is not there. It reaches the disk with the next sync. */
    write_header(log, log->end);
    return LOG_OK;
}

/* Makes a rename last. */
static int sync_directory(const char *path) {
    const char *slash = strrchr(path, '/');
    char *directory = slash ? strndup(path, (size_t) (slash - path) + 1) : strdup(".");
    if (!directory) return 0;
    int file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(directory);
    if (file < 0) return 0;
    int done = fsync(file) == 0;
    close(file);
    return done;
}

enum log_code log_compact(struct log *log) {
    char path[PATH_MAX];
    if ((size_t) snprintf(path, sizeof path, "%s.new", log->path) >= sizeof path) return LOG_TOO_LONG;
    struct log *new = new_log(log->path);
    if (!new) return LOG_SYSTEM;
    /* One that a crash has left is of no use. */
    new->file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int done = new->file >= 0 && flock(new->file, LOCK_EX | LOCK_NB) == 0
               && grow_file(new, START + log->info.live + STEP);
    if (done) write_header(new, START);
    new->end = START;
    for (uint64_t at = START; done && at < log->end; at += size_of(record_at(log, at))) {
        const struct record *record = record_at(log, at);
        const struct slot *slot = find(log, key_of(record), record->key_size, hash_of(log, key_of(record), record->key_size));
        if (slot->at != at) continue;
        done = grow_index(new);
        if (!done) break;
        memcpy(new->map + new->end, record, size_of(record));
        enter(new, new->end);
        new->end += size_of(record);
    }
    done = done && log_sync(new) == LOG_OK && log_sync(new) == LOG_OK && rename(path, log->path) == 0;
    if (!done) {
        (void) unlink(path);
        discard(new);
        return LOG_SYSTEM;
    }
    (void) sync_directory(log->path);
    new->info.dropped = log->info.dropped;
    new->info.compactions = log->info.compactions + 1;
    /* The new one takes the place of the old one, which goes with the other structure. */
    struct log old = *log;
    *log = *new;
    *new = old;
    discard(new);
    return LOG_OK;
}

void log_info(const struct log *log, struct log_info *info) { *info = log->info; }
