/* The C types behind all.defs. */
#ifndef ALL_TYPES_H
#define ALL_TYPES_H

#include <mach/port.h>
#include <stdint.h>

typedef int *numbers_t;
typedef char bytes_t[13];
typedef short triple_t[3];
typedef char name_t_20[20];
typedef char fixed_name_t[10];
typedef char *far_t;
typedef mach_port_t *ports_t;
typedef struct {
    int64_t x, y;
} point_t;

#endif
