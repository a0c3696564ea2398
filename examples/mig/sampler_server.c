/* The routines of the server. With MAIN it is a program that registers itself as "sampler". */
#include "samplerServer.h"

#include <string.h>
#include <mach/mach.h>
#include <mach/mig_support.h>

extern kern_return_t send_later_reply(mach_port_t reply, int doubled);

/* The user references that the server holds on accounts; 0 between two requests. */
int accounts_open;
/* What `tell' said. */
static word_t told;
/* The reply port of the last `later', and its value. */
static mach_port_t waiting = MACH_PORT_NULL;
static int waiting_value;

struct account account_by_number(int number)
{
    struct account account = {number, (int64_t) number * 100};

    accounts_open++;
    return account;
}

int account_number(struct account account)
{
    return (int) (account.balance / 100);
}

void account_done(struct account account)
{
    (void) account;
    accounts_open--;
}

kern_return_t s_null(mach_port_t server)
{
    (void) server;
    return KERN_SUCCESS;
}

kern_return_t s_four(mach_port_t server, int a, int b, int c, int d, int *w, int *x, int *y, int *z)
{
    (void) server;
    *w = d;
    *x = c;
    *y = b;
    *z = a;
    return KERN_SUCCESS;
}

kern_return_t s_sizes(mach_port_t server, char *a, short *b, int64_t *c, boolean_t *d, double *e)
{
    (void) server;
    *a = (char) (*a + 1);
    *b = (short) (*b + 1);
    *c = (int64_t) ((uint64_t) *c + 1);
    *d = !*d;
    *e *= 2;
    return KERN_SUCCESS;
}

kern_return_t s_strings(mach_port_t server, word_t word, label_t label, old_string_t old, word_t word_out, label_t label_out,
                        old_string_t old_out, word_t both)
{
    (void) server;
    strcpy(word_out, word);
    strcpy(label_out, label);
    strcpy(old_out, old);
    if (strlen(both) + 2 <= sizeof(word_t))
        strcat(both, "!");
    return KERN_SUCCESS;
}

kern_return_t s_structures(mach_port_t server, short_pair_t pair, short_pair_t *pair_out, record_t *record, record_array_t list,
                           mach_msg_type_number_t listCnt, record_array_t list_out, mach_msg_type_number_t *list_outCnt)
{
    mach_msg_type_number_t i;

    (void) server;
    pair_out->first = pair.second;
    pair_out->second = pair.first;
    record->big += (uint64_t) record->small;
    for (i = 0; i < listCnt; i++)
        list_out[listCnt - 1 - i] = list[i];
    *list_outCnt = listCnt;
    return KERN_SUCCESS;
}

kern_return_t s_arrays(mach_port_t server, four_ints_t four, bytes_t bytes, mach_msg_type_number_t bytesCnt, int add, ints_t more,
                       mach_msg_type_number_t moreCnt, four_ints_t four_out, bytes_t bytes_out, mach_msg_type_number_t *bytes_outCnt,
                       int64_t *sum, ints_t both, mach_msg_type_number_t *bothCnt, int *last)
{
    mach_msg_type_number_t i;

    (void) server;
    for (i = 0; i < 4; i++)
        four_out[i] = four[3 - i];
    for (i = 0; i < bytesCnt; i++)
        bytes_out[i] = bytes[bytesCnt - 1 - i];
    *bytes_outCnt = bytesCnt;
    *sum = add;
    for (i = 0; i < moreCnt; i++)
        *sum += more[i];
    /* One element more, if there is room. */
    if (*bothCnt < 4095) {
        both[*bothCnt] = add;
        (*bothCnt)++;
    }
    *last = add;
    return KERN_SUCCESS;
}

kern_return_t s_room(mach_port_t server, ints_t list, mach_msg_type_number_t *listCnt, natural_t *room)
{
    mach_msg_type_number_t i;

    (void) server;
    *room = *listCnt;
    for (i = 0; i < *listCnt; i++)
        list[i] = (int) i;
    return KERN_SUCCESS;
}

static int64_t sum_of(const int *list, mach_msg_type_number_t count)
{
    int64_t sum = 0;

    while (count-- > 0)
        sum += list[count];
    return sum;
}

kern_return_t s_unlimited(mach_port_t server, any_ints_t list, mach_msg_type_number_t listCnt, any_ints_t copied,
                          mach_msg_type_number_t copiedCnt, boolean_t copiedSCopy, any_ints_t given,
                          mach_msg_type_number_t givenCnt, natural_t *where, any_ints_t *list_out,
                          mach_msg_type_number_t *list_outCnt, natural_t count)
{
    mach_msg_type_number_t i;
    int64_t sum = sum_of(list, listCnt) + sum_of(copied, copiedCnt) + sum_of(given, givenCnt);

    (void) server;
    /* A number from outside: without a limit any caller could make this task use all memory there is. */
    if (count > 1000000)
        return KERN_INVALID_ARGUMENT;
    *where = copiedSCopy ? 1 : 0;
    if (count > *list_outCnt) {
        vm_address_t memory;

        mig_allocate(&memory, count * sizeof(int));
        if (memory == 0)
            return KERN_RESOURCE_SHORTAGE;
        *list_out = (int *) memory;
    }
    for (i = 0; i < count; i++)
        (*list_out)[i] = (int) sum;
    *list_outCnt = count;
    /* With `servercopy' the routine frees what is not in the message; nothing may fail from here on. */
    if (!copiedSCopy)
        mig_deallocate((vm_address_t) copied, copiedCnt * sizeof(int));
    return KERN_SUCCESS;
}

kern_return_t s_out_of_line(mach_port_t server, far_ints_t list, mach_msg_type_number_t listCnt, far_ints_t given,
                            mach_msg_type_number_t givenCnt, far_block_t block, int64_t *sum, far_ints_t *list_out,
                            mach_msg_type_number_t *list_outCnt)
{
    vm_address_t memory = 0;

    (void) server;
    *sum = sum_of(list, listCnt) + sum_of(given, givenCnt) + sum_of(block, 1024);
    if (listCnt > 0) {
        mig_allocate(&memory, listCnt * sizeof(int));
        if (memory == 0)
            return KERN_RESOURCE_SHORTAGE;
        memcpy((void *) memory, list, listCnt * sizeof(int));
    }
    *list_out = (int *) memory;
    *list_outCnt = listCnt;
    /* Received memory is the routine's once it succeeds. */
    mig_deallocate((vm_address_t) list, listCnt * sizeof(int));
    mig_deallocate((vm_address_t) given, givenCnt * sizeof(int));
    mig_deallocate((vm_address_t) block, 1024 * sizeof(int));
    return KERN_SUCCESS;
}

kern_return_t s_ports(mach_port_t server, mach_port_t copy, mach_port_t made, mach_port_t *copy_out, mach_port_t *made_out,
                      mach_port_t any, mach_msg_type_name_t anyPoly, mach_port_t *any_out, mach_msg_type_name_t *any_outPoly)
{
    (void) server;
    *copy_out = copy;
    *made_out = made;
    *any_out = any;
    *any_outPoly = anyPoly;
    return KERN_SUCCESS;
}

kern_return_t s_port_arrays(mach_port_t server, three_ports_t three, some_ports_t some, mach_msg_type_number_t someCnt,
                            some_ports_t some_out, mach_msg_type_number_t *some_outCnt, far_ports_t far,
                            mach_msg_type_number_t farCnt, far_ports_t *far_out, mach_msg_type_number_t *far_outCnt,
                            any_ports_t either, mach_msg_type_number_t eitherCnt, any_ports_t *either_out,
                            mach_msg_type_number_t *either_outCnt)
{
    mach_msg_type_number_t i;

    (void) server;
    if (eitherCnt > *either_outCnt) {
        vm_address_t memory;

        mig_allocate(&memory, eitherCnt * sizeof(mach_port_t));
        if (memory == 0)
            return KERN_RESOURCE_SHORTAGE;
        *either_out = (mach_port_t *) memory;
    }
    /* Out of line without elements is possible, and then there is no address. */
    if (eitherCnt > 0)
        memcpy(*either_out, either, eitherCnt * sizeof(mach_port_t));
    *either_outCnt = eitherCnt;
    for (i = 0; i < someCnt; i++)
        some_out[i] = some[someCnt - 1 - i];
    *some_outCnt = someCnt;
    *far_out = far;
    *far_outCnt = farCnt;
    for (i = 0; i < 3; i++)
        (void) mach_port_deallocate(mach_task_self(), three[i]);
    return KERN_SUCCESS;
}

kern_return_t s_accounts(mach_port_t server, struct account account, struct account *other, struct account *third)
{
    (void) server;
    third->balance = account.balance + other->balance;
    account_done(*other);
    other->balance = account.balance;
    return KERN_SUCCESS;
}

kern_return_t s_sequence(mach_port_t server, mach_port_seqno_t seqno, mach_port_seqno_t *seqno_out)
{
    (void) server;
    *seqno_out = seqno;
    return KERN_SUCCESS;
}

kern_return_t s_tell(mach_port_t server, word_t word)
{
    (void) server;
    strcpy(told, word);
    return KERN_SUCCESS;
}

kern_return_t s_told(mach_port_t server, word_t word)
{
    (void) server;
    strcpy(word, told);
    return KERN_SUCCESS;
}

kern_return_t s_later(mach_port_t server, mach_port_t reply, int value, int *doubled)
{
    (void) server;
    (void) doubled;
    /* The last one goes unanswered if it is not released: its caller is told. */
    if (waiting != MACH_PORT_NULL)
        (void) mach_port_deallocate(mach_task_self(), waiting);
    waiting = reply;
    waiting_value = value;
    return MIG_NO_REPLY;
}

kern_return_t s_release(mach_port_t server)
{
    kern_return_t result = KERN_SUCCESS;

    (void) server;
    if (waiting != MACH_PORT_NULL)
        result = send_later_reply(waiting, (int) ((unsigned) waiting_value * 2));
    /* Nobody waits any more: the right, which is dead, is still the server's. */
    if (result == MACH_SEND_INVALID_DEST)
        (void) mach_port_deallocate(mach_task_self(), waiting);
    waiting = MACH_PORT_NULL;
    return result;
}

kern_return_t s_refuse(mach_port_t server, int code, mach_port_t right, any_ints_t list, mach_msg_type_number_t listCnt,
                       far_ints_t far, mach_msg_type_number_t farCnt, some_ports_t ports, mach_msg_type_number_t portsCnt,
                       int *nothing)
{
    (void) server, (void) right, (void) list, (void) listCnt, (void) far, (void) farCnt, (void) ports, (void) portsCnt;
    *nothing = 1;
    return code == KERN_SUCCESS ? KERN_FAILURE : code;
}

kern_return_t s_both_ways(mach_port_t server, any_ints_t *list, mach_msg_type_number_t *listCnt, natural_t how, mach_port_t right,
                          bytes_t words, mach_msg_type_number_t *wordsCnt)
{
    (void) server;
    (void) mach_port_deallocate(mach_task_self(), right);
    memset(words, 'w', 3);
    *wordsCnt = how == 2 ? 101 : 3;
    if (how == 1 && *listCnt > 0) {
        mach_msg_type_number_t count = *listCnt;
        vm_address_t memory;

        mig_allocate(&memory, 2 * count * sizeof(int));
        if (memory != 0) {
            memcpy((void *) memory, *list, count * sizeof(int));
            memcpy((char *) memory + count * sizeof(int), *list, count * sizeof(int));
            *list = (int *) memory;
            *listCnt = 2 * count;
        }
    }
    return KERN_SUCCESS;
}

kern_return_t s_timed(mach_port_t server, int value, int *same)
{
    (void) server;
    *same = value;
    return KERN_SUCCESS;
}

kern_return_t s_numbers(mach_port_t server, float *real, int8_t *tiny, uint8_t *byte, uint16_t *half, unsigned *word, uint64_t *wide,
                        flags_t flags, mach_msg_type_number_t flagsCnt, flags_t flags_out, mach_msg_type_number_t *flags_outCnt,
                        big_t big)
{
    mach_msg_type_number_t i;

    (void) server;
    *real *= 2;
    *tiny = (int8_t) (*tiny - 1);
    (*byte)++;
    (*half)++;
    (*word)++;
    (*wide)++;
    for (i = 0; i < flagsCnt; i++)
        flags_out[i] = !flags[i];
    *flags_outCnt = flagsCnt;
    for (i = 0; i < 1000; i++) {
        int other = big[i];

        big[i] = big[1999 - i];
        big[1999 - i] = other;
    }
    return KERN_SUCCESS;
}

struct watched watched_port(mach_port_t port)
{
    struct watched watched = {port};

    return watched;
}

kern_return_t s_moves(mach_port_t server, mach_port_t send, mach_port_t once, mach_port_t made, mach_port_t receive,
                      mach_port_t *send_out, mach_port_t *once_out, mach_port_t *receive_out, mach_port_t *both, mach_port_t said,
                      mach_port_t *said_out, mach_msg_type_name_t *said_outPoly, mach_port_t passed, struct watched watched,
                      boolean_t *watches)
{
    (void) server, (void) both;
    *send_out = send;
    *once_out = once == MACH_PORT_NULL ? made : once;
    if (once != MACH_PORT_NULL && made != MACH_PORT_NULL)
        (void) mach_port_deallocate(mach_task_self(), made);
    *receive_out = receive;
    *said_out = said;
    *said_outPoly = MACH_MSG_TYPE_MOVE_SEND;
    *watches = watched.port == passed;
    if (passed != MACH_PORT_NULL)
        (void) mach_port_deallocate(mach_task_self(), passed);
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

kern_return_t s_far_things(mach_port_t server, far_record_t record, far_records_t list, mach_msg_type_number_t listCnt,
                           any_records_t any, mach_msg_type_number_t anyCnt, far_three_ports_t three, far_record_t *record_out,
                           far_records_t *list_out, mach_msg_type_number_t *list_outCnt, any_records_t *any_out,
                           mach_msg_type_number_t *any_outCnt, natural_t *there)
{
    mach_msg_type_number_t i;

    (void) server;
    if (anyCnt > *any_outCnt) {
        *any_out = copy_of(any, anyCnt * sizeof(record_t));
        if (*any_out == NULL)
            return KERN_RESOURCE_SHORTAGE;
    } else if (anyCnt > 0) {
        memcpy(*any_out, any, anyCnt * sizeof(record_t));
    }
    *any_outCnt = anyCnt;
    *record_out = record;
    *list_out = list;
    *list_outCnt = listCnt;
    *there = 0;
    for (i = 0; i < 3; i++)
        if (MACH_PORT_VALID(three[i])) {
            (*there)++;
            (void) mach_port_deallocate(mach_task_self(), three[i]);
        }
    mig_deallocate((vm_address_t) three, 3 * sizeof(mach_port_t));
    return KERN_SUCCESS;
}

kern_return_t s_reply_to(mach_port_t server, int value, int *same)
{
    (void) server;
    *same = value;
    return KERN_SUCCESS;
}

kern_return_t s_ask(mach_port_t server, int code)
{
    (void) server;
    return code;
}

/* The reply that `later' owes, by hand: its layout is that of <mach/mig_errors.h> and one number. */
kern_return_t send_later_reply(mach_port_t reply, int doubled)
{
    struct {
        mig_reply_header_t head;
        mach_msg_type_t type;
        int64_t doubled;
    } message;

    memset(&message, 0, sizeof message);
    message.head.Head.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0);
    message.head.Head.msgh_size = sizeof message;
    message.head.Head.msgh_remote_port = reply;
    message.head.Head.msgh_id = 7000 + 16 + 100;
    message.head.RetCodeType.msgt_name = MACH_MSG_TYPE_INTEGER_32;
    message.head.RetCodeType.msgt_size = 32;
    message.head.RetCodeType.msgt_number = 1;
    message.head.RetCodeType.msgt_inline = TRUE;
    message.type = message.head.RetCodeType;
    memcpy(&message.doubled, &doubled, sizeof doubled);
    return mach_msg(&message.head.Head, MACH_SEND_MSG, sizeof message, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
}

#ifdef MAIN
#include "tidyServer.h"
#include <stdio.h>
#include <mach/bootstrap.h>

#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* One port for two interfaces. */
static boolean_t both_servers(mach_msg_header_t *request, mach_msg_header_t *reply)
{
    return sampler_server(request, reply) || tidy_server(request, reply);
}

int main(void)
{
    mach_port_t service;
    kern_return_t result = mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &service);

    if (result == KERN_SUCCESS)
        result = mach_port_insert_right(mach_task_self(), service, service, MACH_MSG_TYPE_MAKE_SEND);
    if (result == KERN_SUCCESS)
        result = bootstrap_register(bootstrap_port, "sampler", service);
    if (result == KERN_SUCCESS) {
        puts("ready");
        fflush(stdout);
        result = mach_msg_server(both_servers, MAX(MAX(sampler_max_request_size, sampler_max_reply_size),
            MAX(tidy_max_request_size, tidy_max_reply_size)), service);
    }
    mach_error("sampler server", result);
    return 1;
}
#endif
