/* The C types of store.defs. */
#ifndef STORE_TYPES_H
#define STORE_TYPES_H

#include <stdint.h>
#include <mach/kern_return.h>

typedef char *store_key_t;
typedef char *store_value_t;

/* Return codes beside Mach's. */
#define STORE_MISSING ((kern_return_t) 5201) /* no such key */
#define STORE_FAILED ((kern_return_t) 5202)  /* the file can't be written: the server says why */

#define STORE_SERVICE "slipway.example.store"

#endif
