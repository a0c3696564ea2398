/* A service that adds, by message as by call: both of its sides, and what is counted of them. */
#ifndef ADDER_H
#define ADDER_H

#include <mach/mach.h>
#include <mach/trap.h>

#include <pthread.h>
#include <stdatomic.h>

#define self mach_task_self()
#define S KERN_SUCCESS

/* What is sent and answered: an addition, by message as by call. */
enum { BASE = 5000, ADD = 5000, NEST, FAIL, LEAVE, BYE, SIGNATURE = 77, PATIENCE = 30000 };

typedef struct {
    int first, second;
    int *sum;
} add_arguments;

typedef struct {
    mach_msg_header_t header;
    mach_msg_type_t type;
    int value[2];
} add_message;

/* The routines of the service, and one that throws an exception. */
extern const mach_trap_table_t table, other_table;

/* Most additions at a time; those by message, those by call, and those by a thread that says it is a client. */
extern atomic_int most, by_message, by_trap, served_by_self;
extern _Thread_local int is_client;
/* What each client has sent last: nothing that it sends later is served before that. */
extern atomic_int last[8], out_of_order;

/* Around an addition; how many there are now. */
int enter(void);
void leave(void);
/* A client's number is in the upper bits of what it sends, and how much it has sent in the lower. */
void in_order(int value);

mach_port_t make_port(void);
/* The stub of a routine with a call. */
kern_return_t call(mach_port_t port, int id, int first, int second, int *sum);
/* Sends without a wait for an answer. */
kern_return_t cast(mach_port_t port, int id, int value);
/* A message server: adds, until it is told to go. */
void *serve(void *of);
pthread_t start(void *(*run)(void *), mach_port_t port);
/* Calls until one is made as a call: the server has come to its receive. */
void await_server(mach_port_t port);

#endif
