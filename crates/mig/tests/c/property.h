/* What the clients of random interfaces call. */
#ifndef PROPERTY_H
#define PROPERTY_H

#include "fake_mach.h"

#include <string.h>
#include <mach/mig_support.h>

/* Values that are not the same twice. */
extern void property_fill(void *data, size_t size);
extern void property_string(char *data, size_t size);
extern void *property_memory(size_t size);
/* A number of elements: often at a limit. */
extern mach_msg_type_number_t property_count(mach_msg_type_number_t most);

extern void property_flip(void *data, size_t size);
/* Whether the data is not what it should be: the same, or flipped. */
extern int property_differs(const void *a, const void *b, size_t size, int flipped);

extern int property_check(void);

#endif
