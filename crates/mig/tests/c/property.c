/* Runs the client of a random interface a few times. */
#include "property.h"

#include <stdint.h>
#include <stdio.h>

#ifdef WITH_TRAPS
extern const mach_trap_table_t random_traps;
#endif
extern boolean_t random_server(mach_msg_header_t *request, mach_msg_header_t *reply);

static uint64_t state = 1;

static uint32_t random_number(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t) (state >> 33);
}

void property_fill(void *data, size_t size)
{
    unsigned char *bytes = data;

    while (size-- > 0)
        bytes[size] = (unsigned char) random_number();
}

void property_string(char *data, size_t size)
{
    size_t length = random_number() % size;

    memset(data, 0, size);
    while (length-- > 0)
        data[length] = (char) ('a' + random_number() % 26);
}

void *property_memory(size_t size)
{
    vm_address_t memory;

    mig_allocate(&memory, size);
    property_fill((void *) memory, size);
    return (void *) memory;
}

mach_msg_type_number_t property_count(mach_msg_type_number_t most)
{
    switch (random_number() % 4) {
    case 0:
        return most;
    case 1:
        return most > 1 ? 1 : most;
    default:
        return 1 + random_number() % most;
    }
}

void property_flip(void *data, size_t size)
{
    unsigned char *bytes = data;

    while (size-- > 0)
        bytes[size] = (unsigned char) ~bytes[size];
}

int property_differs(const void *a, const void *b, size_t size, int flipped)
{
    const unsigned char *x = a, *y = b;
    unsigned char change = flipped ? 0xff : 0;
    size_t i;

    for (i = 0; i < size; i++)
        if ((unsigned char) (x[i] ^ change) != y[i])
            return 1;
    return 0;
}

boolean_t fake_demux(mach_msg_header_t *request, mach_msg_header_t *reply)
{
    return random_server(request, reply);
}

int main(void)
{
    int round, failed;

    for (round = 0; round < 20; round++) {
#ifdef WITH_TRAPS
        fake_traps = round % 2 == 0 ? &random_traps : NULL;
#endif
        if ((failed = property_check()) != 0) {
            fprintf(stderr, "routine r%d does not give back what it got\n", failed - 1);
            return 1;
        }
    }
    return fake_regions() == 0 ? 0 : 2;
}
