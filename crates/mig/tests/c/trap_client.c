/* The client of trap.defs: notes all that comes back, and all of its own memory that could have been changed. */
#include "traps.h"
#include "transcript.h"

#include <stdlib.h>
#include <string.h>
#include <mach/mach.h>

extern int trap_check(mach_port_t server, FILE *file, int *lent);

static const int codes[] = {KERN_SUCCESS, KERN_FAILURE, 1234, -300};

static void result(const char *routine, kern_return_t code)
{
    fprintf(transcript, "-- %s: %d\n", routine, code);
}

static record_t record(int number)
{
    record_t record;

    memset(&record, 0, sizeof record);
    record.tag = (char) number;
    record.big = 1000u + (unsigned) number;
    record.small = -number;
    return record;
}

static void check_numbers(mach_port_t server)
{
    size_t i;

    result("nothing", t_nothing(server));
    for (i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        int f = 0x5a5a5a5a;
        double g = 5.5;
        int64_t h = INT64_C(1) << 50;

        result("numbers", t_numbers(server, 'a', -2, 3, INT64_MIN + 5, 2.25, &f, &g, &h, codes[i]));
        NOTE(f);
        NOTE(g);
        NOTE(h);
        f = 1;
        result("behind", t_behind(codes[i], server, &f));
        NOTE(f);
    }
}

static void check_records(mach_port_t server)
{
    size_t i;

    for (i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        record_t one = record(1), two = record(2), three = record(3), list[6], back[6];
        mach_msg_type_number_t n, count;

        for (n = 0; n < 6; n++)
            list[n] = back[n] = record(10 + (int) n);
        for (n = 0; n <= 6; n++) {
            mach_msg_type_number_t k;

            count = 77;
            result("records", t_records(server, one, &two, &three, list, n, back, &count, codes[i]));
            RECORD(one);
            RECORD(two);
            RECORD(three);
            NOTE(count);
            for (k = 0; k < 6; k++) {
                RECORD(list[k]);
                RECORD(back[k]);
            }
        }
    }
}

static void check_in(mach_port_t server, int *lent)
{
    static const char *const words[] = {"", "word", "fifteen letters", "sixteen letters.", "much longer than the room for it"};
    short three[3] = {1, -2, 3};
    int list[11] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    record_t one = record(4);
    size_t i;
    int same;

    *lent = 0;
    for (i = 0; i < sizeof words / sizeof words[0]; i++) {
        /* On the heap, so that a checker sees what is read behind the end. */
        size_t size = strlen(words[i]) + 1;
        char *word = malloc(size);

        if (word == NULL)
            abort();
        memcpy(word, words[i], size);
        result("scribble", t_scribble(server, three, list, (mach_msg_type_number_t) (3 * i), word, word, one));
        NOTES(three, 3);
        NOTES(list, 11);
        TEXT(word);
        RECORD(one);
        same = 0;
        result("lent", t_lent(server, three, list, 4, word, word, (int64_t) (uintptr_t) list, &same));
        *lent += same;
        NOTES(list, 11);
        TEXT(word);
        free(word);
    }
    result("lent", t_lent(server, three, NULL, 0, "", "", 1, &same));
    result("scribble", t_scribble(server, three, NULL, 0, "", "", one));
}

static void check_strings(mach_port_t server)
{
    static const char *const words[] = {"", "eleven lett", "twelve lette", "a string longer than any room"};
    size_t i, k;

    for (i = 0; i < sizeof words / sizeof words[0]; i++)
        for (k = 0; k < sizeof codes / sizeof codes[0]; k++) {
            char word_out[40], label_out[40], word_both[40], label_both[40];

            memset(word_out, 'o', sizeof word_out);
            memset(label_out, 'o', sizeof label_out);
            memset(word_both, 'b', sizeof word_both);
            memset(label_both, 'b', sizeof label_both);
            strcpy(word_both, words[i]);
            strcpy(label_both, words[i]);
            result("strings", t_strings(server, words[i], words[i], word_out, label_out, word_both, label_both, codes[k]));
            /* Behind a string's NUL its receiver may have anything, up to the limit. */
            if (codes[k] == KERN_SUCCESS) {
                TEXT(word_out);
                TEXT(label_out);
                TEXT(word_both);
                TEXT(label_both);
                memset(word_out, 'o', sizeof(word_t));
                memset(label_out, 'o', sizeof(label_t));
                memset(word_both, 'o', sizeof(word_t));
                memset(label_both, 'o', sizeof(label_t));
            }
            NOTE(word_out);
            NOTE(label_out);
            NOTE(word_both);
            NOTE(label_both);
        }
}

static void check_arrays(mach_port_t server)
{
    static const int claims[] = {0, 3, 9, 10, 11, -1};
    size_t i, k;

    for (i = 0; i < sizeof claims / sizeof claims[0]; i++)
        for (k = 0; k < sizeof codes / sizeof codes[0]; k++) {
            int list[11] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, out[12], both[12];
            short three[3] = {4, 5, 6};
            mach_msg_type_number_t count = (mach_msg_type_number_t) (k * 3 + i), out_count = 77, both_count = (mach_msg_type_number_t) i * 2;

            memset(out, 'o', sizeof out);
            memset(both, 'b', sizeof both);
            result("arrays", t_arrays(server, list, count, claims[i], three, out, &out_count, both, &both_count, codes[k]));
            NOTE(list);
            NOTE(three);
            NOTE(out);
            NOTE(out_count);
            NOTE(both);
            NOTE(both_count);
            /* One array for all. */
            both_count = 4;
            result("arrays", t_arrays(server, both, 4, 4, three, both, &out_count, both, &both_count, codes[k]));
            NOTE(both);
            NOTE(out_count);
            NOTE(both_count);
        }
    for (i = 0; i < sizeof claims / sizeof claims[0]; i++)
        for (k = 0; k < 13; k += 3) {
            int list[12], told = 0;
            mach_msg_type_number_t count = (mach_msg_type_number_t) k;

            memset(list, 'l', sizeof list);
            result("room", t_room(server, claims[i], list, &count, &told));
            NOTE(list);
            NOTE(count);
            NOTE(told);
        }
    for (i = 0; i < 12; i++) {
        int keys[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, values[12], keys_out[12], values_out[12];
        mach_msg_type_number_t count = 77;

        memset(values, 'v', sizeof values);
        memset(keys_out, 'k', sizeof keys_out);
        memset(values_out, 'v', sizeof values_out);
        result("pairs", t_pairs(server, keys, (mach_msg_type_number_t) i, values, keys_out, &count, values_out, codes[i % 2]));
        NOTE(keys);
        NOTE(values);
        NOTE(keys_out);
        NOTE(values_out);
        NOTE(count);
    }
}

static void check_many(mach_port_t server)
{
    int *list = calloc(20001, sizeof *list), *out = calloc(20001, sizeof *out);
    mach_msg_type_number_t n;

    if (list == NULL || out == NULL)
        abort();
    for (n = 0; n < 20001; n++)
        list[n] = (int) n;
    for (n = 0; n <= 20001; n += 20001 / 3) {
        mach_msg_type_number_t count = 1;

        result("many", t_many(server, list, n, out, &count, n == 6667 ? KERN_FAILURE : KERN_SUCCESS));
        NOTES(list, 20001);
        NOTES(out, 20001);
        NOTE(count);
    }
    free(list);
    free(out);
}

static void check_conversions(mach_port_t server)
{
    size_t i;

    for (i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        int two = 20, three = 30;

        result("moneys", t_moneys(server, 10, &two, &three, codes[i]));
        NOTE(two);
        NOTE(three);
        three = 9;
        result("object", t_object(server, &three));
        NOTE(three);
    }
}

static void check_messages(mach_port_t server)
{
    mach_port_t port = MACH_PORT_NULL;
    int number = 0;

    result("tell", t_tell(server, 9));
    result("told", t_told(server, &number));
    NOTE(number);
    result("allocate", mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port));
    result("right", t_right(server, port, &number));
    NOTE(number);
    result("destroy", mach_port_destroy(mach_task_self(), port));
}

/* Calls every routine. *lent becomes the number of calls in which the server had the caller's own array. */
int trap_check(mach_port_t server, FILE *file, int *lent)
{
    transcript = file;
    check_numbers(server);
    check_records(server);
    check_in(server, lent);
    check_strings(server);
    check_arrays(server);
    check_many(server);
    check_conversions(server);
    check_messages(server);
    return ferror(file);
}
