/* Calls every routine of tidy.defs and checks what comes back. */
#include "tidy.h"

#include <stdio.h>
#include <string.h>
#include <mach/mach.h>
#include <mach/mig_support.h>

extern int tidy_check(mach_port_t server);

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);   \
            return 1;                                                                 \
        }                                                                             \
    } while (0)

static int check_overwrite(mach_port_t server, mach_msg_type_number_t length)
{
    mach_msg_type_number_t i, count = length;
    vm_address_t list = 0, back = 0;
    int *numbers;

    if (length > 0) {
        mig_allocate(&list, length * sizeof(int));
        mig_allocate(&back, length * sizeof(int));
        CHECK(list != 0 && back != 0);
    }
    for (i = 0; i < length; i++)
        ((int *) list)[i] = (int) i;
    numbers = (int *) back;
    CHECK(f_tidy(server, (int *) list, length, &numbers, &count) == KERN_SUCCESS);
    CHECK(count == length && numbers == (int *) back && (length == 0 || memcmp(numbers, (int *) list, length * sizeof(int)) == 0));
    if (length > 0) {
        count = length - 1;
        CHECK(f_tidy(server, (int *) list, length, &numbers, &count) == MIG_ARRAY_TOO_LARGE);
    }
    mig_deallocate(list, length * sizeof(int));
    mig_deallocate(back, length * sizeof(int));
    return 0;
}

/* 0 if all is as it should be. */
int tidy_check(mach_port_t server)
{
    static const mach_msg_type_number_t lengths[] = {0, 1, 5000};
    int keys[3] = {1, 2, 3}, values[3] = {4, 5, 6}, keys_back[4095], values_back[4095], number = 41;
    mach_msg_type_number_t n, count = 4095;
    double same = 0;

    CHECK(f_pairs(server, keys, 3, values, keys_back, &count, values_back) == KERN_SUCCESS);
    CHECK(count == 3 && keys_back[0] == 4 && values_back[2] == 3);
    for (n = 0; n < sizeof lengths / sizeof lengths[0]; n++)
        if (check_overwrite(server, lengths[n]) != 0)
            return 1;
    CHECK(f_hurry(server, 2.5, &same, 60000) == KERN_SUCCESS && same == 2.5);
    CHECK(f_hint(server, values, 3, 60000) == KERN_SUCCESS);
    CHECK(f_hurry_on(server, 60000, &number) == KERN_SUCCESS && number == 42);
    return 0;
}
