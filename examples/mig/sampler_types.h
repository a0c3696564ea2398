/* The C types of sampler.defs. */
#ifndef SAMPLER_TYPES_H
#define SAMPLER_TYPES_H

#include <stdint.h>
#include <mach/std_types.h>

typedef char word_t[64];
typedef char label_t[16];
typedef char old_string_t[24];
typedef struct {
    short first, second;
} short_pair_t;
typedef struct {
    char tag;
    uint64_t big;
    int small;
} record_t;
typedef record_t *record_array_t;
typedef int four_ints_t[4];
typedef char *bytes_t;
typedef int *ints_t;
typedef int *any_ints_t;
typedef int *far_ints_t;
typedef int *far_block_t;
typedef mach_port_t three_ports_t[3];
typedef mach_port_t *some_ports_t;
typedef mach_port_t *far_ports_t;
typedef mach_port_t *any_ports_t;

typedef record_t *far_record_t;
typedef record_t *far_records_t;
typedef record_t *any_records_t;
typedef mach_port_t *far_three_ports_t;
typedef int big_t[2000];
typedef boolean_t *flags_t;

struct watched {
    mach_port_t port;
};

extern struct watched watched_port(mach_port_t port);

typedef int account_number_t;
struct account {
    int number;
    int64_t balance;
};

extern struct account account_by_number(int number);
extern int account_number(struct account account);
extern void account_done(struct account account);

#endif
