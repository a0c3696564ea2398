/* The routines of tidy.defs. */
#include "tidyServer.h"

#include <string.h>
#include <mach/mig_support.h>

kern_return_t s_pairs(mach_port_t server, const numbers_t keys, mach_msg_type_number_t keysCnt, numbers_t values, numbers_t keys_out,
                      mach_msg_type_number_t *keys_outCnt, numbers_t values_out)
{
    (void) server;
    memcpy(keys_out, values, keysCnt * sizeof(int));
    memcpy(values_out, keys, keysCnt * sizeof(int));
    *keys_outCnt = keysCnt;
    return KERN_SUCCESS;
}

/* Memory with a copy, or null for none. */
static void *copy_of(const void *data, size_t size)
{
    vm_address_t memory = 0;

    if (size == 0)
        return NULL;
    mig_allocate(&memory, size);
    if (memory != 0)
        memcpy((void *) memory, data, size);
    return (void *) memory;
}

kern_return_t s_tidy(mach_port_t server, far_numbers_t list, mach_msg_type_number_t listCnt, far_numbers_t *list_out,
                     mach_msg_type_number_t *list_outCnt)
{
    (void) server;
    *list_out = copy_of(list, listCnt * sizeof(int));
    if (*list_out == NULL && listCnt > 0)
        return KERN_RESOURCE_SHORTAGE;
    *list_outCnt = listCnt;
    return KERN_SUCCESS;
}

kern_return_t s_hurry(mach_port_t server, double value, double *same)
{
    (void) server;
    *same = value;
    return KERN_SUCCESS;
}

kern_return_t s_hurry_on(mach_port_t server, int *value)
{
    (void) server;
    *value = (int) ((unsigned) *value + 1);
    return KERN_SUCCESS;
}

kern_return_t s_hint(mach_port_t server, numbers_t values, mach_msg_type_number_t valuesCnt)
{
    (void) server, (void) values, (void) valuesCnt;
    return KERN_SUCCESS;
}
