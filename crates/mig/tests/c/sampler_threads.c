/* The sampler's client against its server over libmach, in two threads of one task. */
#include "samplerServer.h"

#include <pthread.h>
#include <stdio.h>
#include <mach/mach.h>

extern int sampler_check(mach_port_t server);

static void *serve(void *port)
{
    mach_msg_size_t room = sampler_max_request_size > sampler_max_reply_size ? sampler_max_request_size : sampler_max_reply_size;

    (void) mach_msg_server(sampler_server, room, *(mach_port_t *) port);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    mach_port_t port;

    if (mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port) != KERN_SUCCESS
        || mach_port_insert_right(mach_task_self(), port, port, MACH_MSG_TYPE_MAKE_SEND) != KERN_SUCCESS
        || pthread_create(&thread, NULL, serve, &port) != 0)
        return 2;
    if (sampler_check(port) != 0)
        return 1;
#ifdef WITH_TRAPS
    /* By trap where the server waits, and with any number of callers; then by message again. */
    if (mach_port_register_traps(mach_task_self(), port, &sampler_traps, MACH_TRAP_SERIAL) != KERN_SUCCESS
        || sampler_check(port) != 0
        || mach_port_register_traps(mach_task_self(), port, &sampler_traps, MACH_TRAP_CONCURRENT) != KERN_SUCCESS
        || sampler_check(port) != 0
        || mach_port_register_traps(mach_task_self(), port, NULL, MACH_TRAP_SERIAL) != KERN_SUCCESS
        || sampler_check(port) != 0)
        return 1;
#endif
    puts("good");
    return 0;
}
