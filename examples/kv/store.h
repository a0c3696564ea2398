/* Where the server keeps its entries. */
#ifndef STORE_H
#define STORE_H

#include <mach/port.h>

#include <stddef.h>

struct entry {
    struct entry *next;
    char *key;
    void *value;
    size_t size;
    mach_port_t owner; /* a reference to the owner's port, or MACH_PORT_NULL */
};

struct entry *store_find(const char *key);

/* Keeps a copy of the value, in place of what was there. Takes over the reference. 0: there is no room. */
int store_put(const char *key, const void *value, size_t size, mach_port_t owner);

/* 0: there is no such entry. */
int store_delete(const char *key);

/* Whether an entry belongs to the port; deletes all that do. */
int store_owns(mach_port_t owner);
int store_delete_owned(mach_port_t owner);

/* All keys, each with a newline, to be freed. NULL: there is no memory. */
char *store_keys(size_t *size);

#endif
