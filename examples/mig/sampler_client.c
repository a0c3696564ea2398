/* Calls every routine of sampler.defs and checks what comes back. With MAIN it is a program that asks for "sampler". */
#include "sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <mach/mach.h>
#include <mach/mig_support.h>

extern int sampler_check(mach_port_t server);

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);   \
            return 1;                                                                 \
        }                                                                             \
    } while (0)

#define OK(call) CHECK((call) == KERN_SUCCESS)

static int *numbers(mach_msg_type_number_t count)
{
    mach_msg_type_number_t i;
    vm_address_t memory = 0;

    if (count == 0)
        return NULL;
    mig_allocate(&memory, count * sizeof(int));
    if (memory == 0)
        abort();
    for (i = 0; i < count; i++)
        ((int *) memory)[i] = 1;
    return (int *) memory;
}

static int check_numbers(mach_port_t server)
{
    int w, x, y, z;
    char a = 'a';
    short b = -2;
    int64_t c = INT64_C(1) << 40;
    boolean_t d = FALSE;
    double e = 1.5;
    mach_port_seqno_t first, second;

    OK(f_null(server));
    OK(f_four(server, 1, -2, 3, 4, &w, &x, &y, &z));
    CHECK(w == 4 && x == 3 && y == -2 && z == 1);
    OK(f_sizes(server, &a, &b, &c, &d, &e));
    CHECK(a == 'b' && b == -1 && c == (INT64_C(1) << 40) + 1 && d == TRUE && e == 3.0);
    OK(f_sequence(server, &first));
    OK(f_sequence(server, &second));
    CHECK(second == first + 1);
    OK(f_timed(server, 0, 77, &w));
    CHECK(w == 77);
    return 0;
}

static int check_strings(mach_port_t server)
{
    word_t word, both = "both";
    label_t label;
    old_string_t old;
    char tooLong[200];

    OK(f_strings(server, "word", "label", "old", word, label, old, both));
    CHECK(strcmp(word, "word") == 0 && strcmp(label, "label") == 0 && strcmp(old, "old") == 0 && strcmp(both, "both!") == 0);
    OK(f_strings(server, "", "", "", word, label, old, both));
    CHECK(word[0] == '\0' && label[0] == '\0' && old[0] == '\0');
    memset(tooLong, 'x', sizeof tooLong - 1);
    tooLong[sizeof tooLong - 1] = '\0';
    OK(f_strings(server, tooLong, tooLong, tooLong, word, label, old, both));
    CHECK(strlen(word) == 63 && strlen(label) == 15 && strlen(old) == 23);
    OK(f_tell(server, "a word"));
    OK(f_told(server, word));
    CHECK(strcmp(word, "a word") == 0);
    return 0;
}

static int check_structures(mach_port_t server)
{
    short_pair_t pair = {1, 2}, back;
    record_t record, list[8], list_back[8];
    mach_msg_type_number_t i, count = 8;

    memset(&record, 0, sizeof record);
    memset(list, 0, sizeof list);
    record.tag = 't';
    record.big = 40;
    record.small = 2;
    for (i = 0; i < 8; i++)
        list[i].small = (int) i;
    OK(f_structures(server, pair, &back, &record, list, 8, list_back, &count));
    CHECK(back.first == 2 && back.second == 1 && record.big == 42 && record.tag == 't');
    CHECK(count == 8 && list_back[0].small == 7 && list_back[7].small == 0);
    OK(f_structures(server, pair, &back, &record, list, 0, list_back, &count));
    CHECK(count == 0);
    CHECK(f_structures(server, pair, &back, &record, list, 9, list_back, &count) == MIG_ARRAY_TOO_LARGE);
    return 0;
}

static int check_arrays(mach_port_t server)
{
    static const mach_msg_type_number_t lengths[] = {0, 1, 2, 3, 7, 8, 99, 100};
    int four[4] = {1, 2, 3, 4}, back[4], last;
    char bytes[100], bytes_back[100];
    int *both = calloc(4095, sizeof *both), *more = calloc(4095, sizeof *more);
    int64_t sum;
    natural_t told;
    mach_msg_type_number_t i, n, bytes_count, both_count;

    CHECK(both != NULL && more != NULL);
    for (i = 0; i < 100; i++)
        bytes[i] = (char) i;
    for (n = 0; n < sizeof lengths / sizeof lengths[0]; n++) {
        mach_msg_type_number_t length = lengths[n];

        both_count = length;
        OK(f_arrays(server, four, bytes, length, 5, more, length, back, bytes_back, &bytes_count, &sum, both, &both_count, &last));
        CHECK(back[0] == 4 && back[3] == 1 && sum == 5 && last == 5);
        CHECK(bytes_count == length && (length == 0 || bytes_back[0] == bytes[length - 1]));
        CHECK(both_count == length + 1 && both[length] == 5);
    }
    both_count = 4095;
    OK(f_arrays(server, four, bytes, 3, 6, more, 4095, back, bytes_back, &bytes_count, &sum, both, &both_count, &last));
    CHECK(both_count == 4095 && sum == 6);
    both_count = 4096;
    CHECK(f_arrays(server, four, bytes, 3, 6, more, 1, back, bytes_back, &bytes_count, &sum, both, &both_count, &last)
          == MIG_ARRAY_TOO_LARGE);
    both_count = 10;
    OK(f_room(server, both, &both_count, &told));
    CHECK(told == 10 && both_count == 10 && both[9] == 9);
    free(both);
    free(more);
    return 0;
}

static int check_memory(mach_port_t server)
{
    static const mach_msg_type_number_t lengths[] = {0, 1, 511, 512, 513, 100000};
    mach_msg_type_number_t n, count;
    natural_t inside;
    int room[4], *out;
    int64_t sum;

    for (n = 0; n < sizeof lengths / sizeof lengths[0]; n++) {
        mach_msg_type_number_t length = lengths[n];
        int *list = numbers(length), *copied = numbers(length), *given = numbers(length), *block = numbers(1024);

        out = room;
        count = 4;
        OK(f_unlimited(server, list, length, copied, length, given, length, TRUE, &inside, &out, &count, length));
        CHECK(inside == (length <= 512) && count == length && (length <= 4) == (out == room));
        CHECK(length == 0 || out[length - 1] == (int) (3 * length));
        if (out != room)
            mig_deallocate((vm_address_t) out, count * sizeof(int));
        given = numbers(length);
        OK(f_out_of_line(server, list, length, given, length, block, &sum, &out, &count));
        CHECK(sum == 2 * (int64_t) length + 1024 && count == length && (length == 0 || out[length - 1] == 1));
        mig_deallocate((vm_address_t) out, count * sizeof(int));
        mig_deallocate((vm_address_t) list, length * sizeof(int));
        mig_deallocate((vm_address_t) copied, length * sizeof(int));
        mig_deallocate((vm_address_t) block, 1024 * sizeof(int));
    }
    return 0;
}

static mach_port_t new_port(void);

static int check_both_ways(mach_port_t server)
{
    static const mach_msg_type_number_t lengths[] = {1, 512, 513, 5000};
    mach_msg_type_number_t n;
    mach_port_t port = new_port();
    char words[100];

    for (n = 0; n < sizeof lengths / sizeof lengths[0]; n++) {
        natural_t how;

        for (how = 0; how < 3; how++) {
            mach_msg_type_number_t length = lengths[n], count = length, words_count;
            int *list = numbers(length);
            kern_return_t result = f_both_ways(server, &list, &count, how, port, words, &words_count);

            CHECK(result == (how == 2 ? MIG_ARRAY_TOO_LARGE : KERN_SUCCESS));
            if (how < 2) {
                CHECK(words_count == 3 && count == length * (how + 1) && list[count - 1] == 1);
                mig_deallocate((vm_address_t) list, count * sizeof(int));
            }
        }
    }
    (void) mach_port_destroy(mach_task_self(), port);
    return 0;
}

static mach_port_t new_port(void)
{
    mach_port_t port;

    if (mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port) != KERN_SUCCESS
        || mach_port_insert_right(mach_task_self(), port, port, MACH_MSG_TYPE_MAKE_SEND) != KERN_SUCCESS)
        abort();
    return port;
}

static int check_ports(mach_port_t server)
{
    mach_port_t port[3], copy, made, any, some[8], *far, *either, room[2];
    mach_port_t *given = (mach_port_t *) (void *) numbers(3);
    mach_msg_type_name_t kind;
    mach_msg_type_number_t i, some_count = 8, far_count, either_count = 2;

    for (i = 0; i < 3; i++)
        given[i] = port[i] = new_port();
    OK(f_ports(server, port[0], port[1], &copy, &made, port[2], MACH_MSG_TYPE_MAKE_SEND, &any, &kind));
    CHECK(copy == port[0] && made == port[1] && any == port[2] && kind == MACH_MSG_TYPE_PORT_SEND);
    either = room;
    OK(f_port_arrays(server, port, port, 2, some, &some_count, given, 3, &far, &far_count, port, 3, &either, &either_count));
    CHECK(some_count == 2 && some[0] == port[1] && some[1] == port[0]);
    CHECK(far_count == 3 && far[0] == port[0] && far[2] == port[2]);
    CHECK(either_count == 3 && either != room && either[2] == port[2]);
    mig_deallocate((vm_address_t) far, far_count * sizeof *far);
    mig_deallocate((vm_address_t) either, either_count * sizeof *either);
    either_count = 2;
    some_count = 8;
    either = room;
    OK(f_port_arrays(server, port, port, 0, some, &some_count, given, 0, &far, &far_count, port, 2, &either, &either_count));
    CHECK(some_count == 0 && far_count == 0 && either_count == 2 && either == room && room[1] == port[1]);
    mig_deallocate((vm_address_t) given, 3 * sizeof *given);
    for (i = 0; i < 3; i++)
        (void) mach_port_destroy(mach_task_self(), port[i]);
    return 0;
}

static int check_more_numbers(mach_port_t server)
{
    float real = 1.5f;
    int8_t tiny = -5;
    uint8_t byte = 200;
    uint16_t half = 60000;
    unsigned word = 4000000000u;
    uint64_t wide = UINT64_C(1) << 63;
    boolean_t flags[10] = {TRUE, FALSE, TRUE}, back[10];
    mach_msg_type_number_t count = 10;
    int *big = calloc(2000, sizeof *big);

    CHECK(big != NULL);
    big[0] = 7;
    OK(f_numbers(server, &real, &tiny, &byte, &half, &word, &wide, flags, 3, back, &count, big));
    CHECK(real == 3.0f && tiny == -6 && byte == 201 && half == 60001 && word == 4000000001u && wide == (UINT64_C(1) << 63) + 1);
    CHECK(count == 3 && !back[0] && back[1] && !back[2] && big[1999] == 7 && big[0] == 0);
    free(big);
    return 0;
}

static int check_moves(mach_port_t server)
{
    mach_port_t port[3], send, once, again, receive, both, said;
    mach_msg_type_name_t kind;
    boolean_t watches;
    int i;

    for (i = 0; i < 3; i++)
        port[i] = new_port();
    both = port[1];
    OK(f_moves(server, port[0], MACH_PORT_NULL, port[0], port[2], &send, &once, &receive, &both, port[0], MACH_MSG_TYPE_MAKE_SEND,
               &said, port[1], port[1], &watches));
    CHECK(send == port[0] && receive == port[2] && both == port[1] && said == port[0] && once != MACH_PORT_NULL && watches);
    /* The send-once right goes and comes back as another. */
    kind = MACH_MSG_TYPE_COPY_SEND;
    both = MACH_PORT_NULL;
    OK(f_moves(server, MACH_PORT_NULL, once, MACH_PORT_NULL, MACH_PORT_NULL, &send, &again, &receive, &both, port[0], kind, &said,
               MACH_PORT_NULL, MACH_PORT_NULL, &watches));
    CHECK(send == MACH_PORT_NULL && receive == MACH_PORT_NULL && both == MACH_PORT_NULL && said == port[0]);
    CHECK(again != MACH_PORT_NULL && watches);
    (void) mach_port_deallocate(mach_task_self(), again);
    for (i = 0; i < 3; i++)
        (void) mach_port_destroy(mach_task_self(), port[i]);
    return 0;
}

static int check_far_things(mach_port_t server)
{
    static const mach_msg_type_number_t lengths[] = {0, 1, 85, 86, 5000};
    mach_msg_type_number_t n;
    mach_port_t *three = (mach_port_t *) (void *) numbers(3);

    three[0] = new_port();
    three[1] = MACH_PORT_NULL;
    three[2] = three[0];
    for (n = 0; n < sizeof lengths / sizeof lengths[0]; n++) {
        mach_msg_type_number_t length = lengths[n], list_count, any_count = 0, i;
        vm_address_t memory = 0;
        record_t *list, *record_back, *list_back, *any_back = NULL, *record;
        natural_t there;

        mig_allocate(&memory, (length + 1) * sizeof(record_t));
        CHECK(memory != 0);
        list = (record_t *) memory;
        memset(list, 0, (length + 1) * sizeof(record_t));
        for (i = 0; i <= length; i++)
            list[i].small = (int) i;
        record = list + length;
        OK(f_far_things(server, record, list, length, list, length, three, &record_back, &list_back, &list_count, &any_back,
                        &any_count, &there));
        CHECK(there == 2 && record_back->small == (int) length && list_count == length && any_count == length);
        CHECK(length == 0 || (list_back[length - 1].small == (int) length - 1 && any_back[length - 1].small == (int) length - 1));
        mig_deallocate((vm_address_t) record_back, sizeof(record_t));
        mig_deallocate((vm_address_t) list_back, length * sizeof(record_t));
        mig_deallocate((vm_address_t) any_back, length * sizeof(record_t));
        mig_deallocate(memory, (length + 1) * sizeof(record_t));
    }
    (void) mach_port_destroy(mach_task_self(), three[0]);
    mig_deallocate((vm_address_t) three, 3 * sizeof *three);
    return 0;
}

static int check_replies(mach_port_t server)
{
    mach_port_t port = new_port();
    mig_reply_header_t reply;
    int same;

    OK(f_reply_to(server, port, 55, &same));
    CHECK(same == 55);
    OK(f_ask(server, port, 1234));
    OK(mach_msg(&reply.Head, MACH_RCV_MSG, 0, sizeof reply, port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL));
    CHECK(reply.Head.msgh_id == 7025 + 100 && reply.RetCode == 1234);
    (void) mach_port_destroy(mach_task_self(), port);
    return 0;
}

static int check_errors(mach_port_t server)
{
    int other = 3, third, nothing = 5;
    int *list = numbers(600);
    mach_port_t port = new_port(), ports[2];

    OK(f_accounts(server, 4, &other, &third));
    CHECK(other == 4 && third == 7);
    ports[0] = ports[1] = port;
    CHECK(f_refuse(server, 1234, port, list, 600, list, 600, ports, 2, &nothing) == 1234);
    CHECK(f_refuse(server, 1234, port, list, 2, list, 0, ports, 0, &nothing) == 1234);
    CHECK(nothing == 5);
    /* Nobody releases this one: the time runs out. */
    CHECK(f_later(server, 10, 21, &nothing) == MACH_RCV_TIMED_OUT);
    OK(f_release(server));
    OK(f_null(server));
    mig_deallocate((vm_address_t) list, 600 * sizeof(int));
    (void) mach_port_destroy(mach_task_self(), port);
    return 0;
}

/* 0 if all is as it should be. */
int sampler_check(mach_port_t server)
{
    int failed = check_numbers(server) + check_strings(server) + check_structures(server) + check_arrays(server);

    failed += check_memory(server) + check_both_ways(server) + check_ports(server) + check_more_numbers(server);
    return failed + check_moves(server) + check_far_things(server) + check_replies(server) + check_errors(server) != 0;
}

#ifdef MAIN
#include <mach/bootstrap.h>

/* The other interface of the server, in tidy_client.c. */
extern int tidy_check(mach_port_t server);

int main(void)
{
    mach_port_t server;
    kern_return_t result = bootstrap_look_up(bootstrap_port, "sampler", &server);

    if (result != KERN_SUCCESS) {
        fprintf(stderr, "sampler: no server: %s\n", bootstrap_strerror(result));
        return 1;
    }
    if (sampler_check(server) != 0 || tidy_check(server) != 0)
        return 1;
    puts("every routine answered as it should");
    return 0;
}
#endif
