/*
 * A log-structured store: one append-only file, and an index of it in memory.
 *
 * The file is a page with a header, and records, each with a checksum. Whatever ends the process, the records that were
 * appended are there when the file is opened again. What ends the machine can take those after the last log_sync(), the
 * newest first; a record that was only partly written is found by its checksum and dropped with all behind it.
 *
 * Not for several threads at once. A file has one user at a time, which a lock holds.
 */
#ifndef LOG_H
#define LOG_H

#include <stddef.h>
#include <stdint.h>

enum { LOG_KEY_MAX = 65535, LOG_VALUE_MAX = 1 << 24 };

enum log_code {
    LOG_OK,
    LOG_MISSING,  /* no such key */
    LOG_TOO_LONG, /* the key is empty, or it or the value is longer than the limits above */
    LOG_SYSTEM,   /* a system call failed: errno tells */
    LOG_BUSY,     /* another process uses the file */
    LOG_STRANGE,  /* the file is not one of these */
    LOG_DAMAGED   /* a record that was safely on the disk has another checksum now */
};

struct log;

struct log_info {
    uint64_t entries;     /* keys */
    uint64_t live;        /* bytes of records that are the newest of their key */
    uint64_t used;        /* bytes of all records */
    uint64_t dropped;     /* bytes of a tail that was not whole when the file was opened */
    uint64_t compactions; /* since it was opened */
};

/* Opens a file, or makes it. On failure *log is null; log_where() is the offset of what is damaged. */
extern enum log_code log_open(const char *path, struct log **log);
/* Syncs and closes. */
extern enum log_code log_close(struct log *log);

extern enum log_code log_put(struct log *log, const void *key, size_t key_size, const void *value, size_t value_size);
/* *value points into the file, and holds until the next call other than log_get and log_info. */
extern enum log_code log_get(struct log *log, const void *key, size_t key_size, const void **value, size_t *value_size);
extern enum log_code log_delete(struct log *log, const void *key, size_t key_size);

/* Returns when all that was appended is on the disk. */
extern enum log_code log_sync(struct log *log);
/* Writes the live records to a new file, which takes the old one's place at once or not at all. */
extern enum log_code log_compact(struct log *log);

extern void log_info(const struct log *log, struct log_info *info);
extern uint64_t log_where(void);
/* What a code means, in words. */
extern const char *log_text(enum log_code code);

#endif
