#include "store.h"

#include <mach/mach.h>

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096, ENTRIES_MAX = 100000 };
static const size_t BYTES_MAX = 256u << 20;

static struct entry *buckets[BUCKETS];
static size_t entries, bytes;

static struct entry **bucket(const char *key) {
    unsigned hash = 2166136261u;
    for (; *key; key++) hash = (hash ^ (unsigned char) *key) * 16777619u;
    return &buckets[hash % BUCKETS];
}

struct entry *store_find(const char *key) {
    struct entry *entry = *bucket(key);
    while (entry && strcmp(entry->key, key) != 0) entry = entry->next;
    return entry;
}

/* Takes out what the link points to. */
static void unlink_entry(struct entry **link) {
    struct entry *entry = *link;
    *link = entry->next;
    entries--;
    bytes -= entry->size;
    if (entry->owner != MACH_PORT_NULL) mach_port_deallocate(mach_task_self(), entry->owner);
    free(entry->key);
    free(entry->value);
    free(entry);
}

int store_put(const char *key, const void *value, size_t size, mach_port_t owner) {
    struct entry *old = store_find(key);
    if (entries - (old != NULL) >= ENTRIES_MAX || bytes - (old ? old->size : 0) + size > BYTES_MAX) return 0;
    struct entry *entry = malloc(sizeof *entry);
    char *name = strdup(key);
    void *copy = malloc(size + 1);
    if (!entry || !name || !copy) {
        free(entry);
        free(name);
        free(copy);
        return 0;
    }
    if (size) memcpy(copy, value, size);
    if (old) store_delete(key);
    struct entry **link = bucket(key);
    *entry = (struct entry) {*link, name, copy, size, owner};
    *link = entry;
    entries++;
    bytes += size;
    return 1;
}

int store_delete(const char *key) {
    for (struct entry **link = bucket(key); *link; link = &(*link)->next) {
        if (strcmp((*link)->key, key) != 0) continue;
        unlink_entry(link);
        return 1;
    }
    return 0;
}

int store_owns(mach_port_t owner) {
    for (int i = 0; i < BUCKETS; i++)
        for (struct entry *entry = buckets[i]; entry; entry = entry->next)
            if (entry->owner == owner) return 1;
    return 0;
}

int store_delete_owned(mach_port_t owner) {
    int deleted = 0;
    for (int i = 0; i < BUCKETS; i++) {
        struct entry **link = &buckets[i];
        while (*link) {
            if ((*link)->owner == owner) {
                unlink_entry(link);
                deleted++;
            } else {
                link = &(*link)->next;
            }
        }
    }
    return deleted;
}

char *store_keys(size_t *size) {
    *size = 0;
    for (int i = 0; i < BUCKETS; i++)
        for (struct entry *entry = buckets[i]; entry; entry = entry->next) *size += strlen(entry->key) + 1;
    char *text = malloc(*size + 1), *end = text;
    if (!text) return NULL;
    for (int i = 0; i < BUCKETS; i++) {
        for (struct entry *entry = buckets[i]; entry; entry = entry->next) {
            size_t length = strlen(entry->key);
            memcpy(end, entry->key, length);
            end[length] = '\n';
            end += length + 1;
        }
    }
    return text;
}
