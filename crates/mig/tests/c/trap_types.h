/* The C types of trap.defs, and the transcript that both sides write. */
#ifndef TRAP_TYPES_H
#define TRAP_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <mach/std_types.h>

typedef char word_t[16];
typedef char label_t[12];
typedef struct {
    char tag;
    uint64_t big;
    int small;
} record_t;
typedef record_t *records_t;
typedef short three_t[3];
typedef int *ints_t;
typedef int *many_t;

typedef mach_port_t object_t;
struct money {
    int number;
    int64_t more;
};

extern struct money money_of(int number);
extern int number_of(struct money money);
extern void money_done(struct money money);
extern int object_of(mach_port_t port);
extern void object_done(int object);

#endif
