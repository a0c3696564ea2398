/* Values of the types of memory objects, for interface files: libmach has no pagers. */
#ifndef MACH_MEMORY_OBJECT_H
#define MACH_MEMORY_OBJECT_H

#include <mach/mach_types.h>

#define MEMORY_OBJECT_COPY_NONE 0
#define MEMORY_OBJECT_COPY_CALL 1
#define MEMORY_OBJECT_COPY_DELAY 2
#define MEMORY_OBJECT_COPY_TEMPORARY 3

#define MEMORY_OBJECT_RETURN_NONE 0
#define MEMORY_OBJECT_RETURN_DIRTY 1
#define MEMORY_OBJECT_RETURN_ALL 2

#endif
