/* The server of trap.defs. It notes what its routines are given and changes whatever it may change. */
#include "trapsServer.h"
#include "transcript.h"

#include <mach/mach.h>

#include <pthread.h>
#include <string.h>

/* References that conversions made and destructors took. */
int trap_references;
/* The port that is served. */
mach_port_t trap_port;

void trap_server_transcript(FILE *file)
{
    transcript = file;
}

struct money money_of(int number)
{
    struct money money = {number, (int64_t) number * 3};

    trap_references++;
    return money;
}

int number_of(struct money money)
{
    return (int) (money.more / 3);
}

void money_done(struct money money)
{
    NOTE(money.number);
    trap_references--;
}

int object_of(mach_port_t port)
{
    trap_references++;
    return port == trap_port ? 1 : -1;
}

void object_done(int object)
{
    NOTE(object);
    trap_references--;
}

/* Notes which routine it is, and whether the port is the server's own name. */
static void begin(const char *routine, mach_port_t server)
{
    fprintf(transcript, "-- %s%s\n", routine, server == trap_port ? "" : " at a strange port");
}

kern_return_t v_nothing(mach_port_t server)
{
    begin("nothing", server);
    return KERN_SUCCESS;
}

kern_return_t v_numbers(mach_port_t server, char a, short b, int c, int64_t d, double e, int *f, double *g, int64_t *h, int code)
{
    begin("numbers", server);
    NOTE(a);
    NOTE(b);
    NOTE(c);
    NOTE(d);
    NOTE(e);
    NOTE(*f);
    NOTE(*g);
    NOTE(*h);
    *f = c + 1;
    *g = e + 1;
    *h = -*h;
    return code;
}

kern_return_t v_behind(int number, mach_port_t server, int *doubled)
{
    begin("behind", server);
    NOTE(number);
    *doubled = 2 * number;
    return KERN_SUCCESS;
}

kern_return_t v_records(mach_port_t server, record_t one, record_t *two, record_t *three, records_t list,
                        mach_msg_type_number_t listCnt, records_t list_out, mach_msg_type_number_t *list_outCnt, int code)
{
    mach_msg_type_number_t i;

    begin("records", server);
    RECORD(one);
    RECORD(*two);
    RECORD(*three);
    NOTE(listCnt);
    NOTE(*list_outCnt);
    for (i = 0; i < listCnt; i++) {
        RECORD(list[i]);
        list_out[listCnt - 1 - i] = list[i];
    }
    *list_outCnt = listCnt;
    two->big = one.big + 1;
    three->small++;
    return code;
}

kern_return_t v_scribble(mach_port_t server, three_t three, ints_t list, mach_msg_type_number_t listCnt, word_t word,
                         label_t label, record_t one)
{
    begin("scribble", server);
    NOTES(three, 3);
    NOTES(list, listCnt);
    TEXT(word);
    NOTES(label, sizeof(label_t));
    RECORD(one);
    memset(three, 'x', sizeof(three_t));
    memset(list, 'x', listCnt * sizeof *list);
    memset(word, 'x', strlen(word));
    memset(label, 'x', sizeof(label_t));
    memset(&one, 'x', sizeof one);
    return KERN_SUCCESS;
}

kern_return_t v_lent(mach_port_t server, const three_t three, const ints_t list, mach_msg_type_number_t listCnt,
                     const word_t word, const label_t label, int64_t address, int *same)
{
    begin("lent", server);
    NOTES(three, 3);
    NOTES(list, listCnt);
    TEXT(word);
    NOTES(label, sizeof(label_t));
    *same = address == (int64_t) (uintptr_t) list;
    return KERN_SUCCESS;
}

kern_return_t v_strings(mach_port_t server, word_t word, label_t label, word_t word_out, label_t label_out, word_t word_both,
                        label_t label_both, int code)
{
    begin("strings", server);
    TEXT(word);
    NOTES(label, sizeof(label_t));
    TEXT(word_out);
    TEXT(label_out);
    TEXT(word_both);
    NOTES(label_both, sizeof(label_t));
    /* The last byte is not NUL. */
    memset(word_out, 'w', sizeof(word_t));
    strcpy(label_out, word[0] == '\0' ? "" : "label");
    memset(label_both, 'l', sizeof(label_t));
    if (word_both[0] != '\0')
        word_both[0] = '!';
    return code;
}

kern_return_t v_arrays(mach_port_t server, ints_t list, mach_msg_type_number_t listCnt, int claim, three_t three,
                       ints_t list_out, mach_msg_type_number_t *list_outCnt, ints_t list_both,
                       mach_msg_type_number_t *list_bothCnt, int code)
{
    mach_msg_type_number_t i;

    begin("arrays", server);
    NOTES(list, listCnt);
    NOTES(three, 3);
    NOTE(*list_outCnt);
    NOTES(list_both, *list_bothCnt);
    three[1] = 7;
    for (i = 0; i < 10; i++)
        list_out[i] = (int) (100 + i);
    *list_outCnt = (mach_msg_type_number_t) claim;
    for (i = 0; i < *list_bothCnt; i++)
        list_both[i]++;
    if (claim > 5 && claim <= 10) {
        memset(list_both, 0, 10 * sizeof *list_both);
        *list_bothCnt = 10;
    }
    return code;
}

kern_return_t v_room(mach_port_t server, int claim, ints_t list, mach_msg_type_number_t *listCnt, int *told)
{
    mach_msg_type_number_t i;

    begin("room", server);
    NOTE(*listCnt);
    *told = (int) *listCnt;
    for (i = 0; i < 10; i++)
        list[i] = (int) i;
    *listCnt = (mach_msg_type_number_t) claim;
    return KERN_SUCCESS;
}

kern_return_t v_pairs(mach_port_t server, ints_t keys, mach_msg_type_number_t keysCnt, ints_t values, ints_t keys_out,
                      mach_msg_type_number_t *keys_outCnt, ints_t values_out, int code)
{
    mach_msg_type_number_t i;

    begin("pairs", server);
    NOTES(keys, keysCnt);
    NOTES(values, keysCnt);
    NOTE(*keys_outCnt);
    for (i = 0; i < keysCnt; i++) {
        keys_out[i] = values[i];
        values_out[i] = keys[i];
    }
    *keys_outCnt = keysCnt;
    return code;
}

kern_return_t v_many(mach_port_t server, many_t list, mach_msg_type_number_t listCnt, many_t list_out,
                     mach_msg_type_number_t *list_outCnt, int code)
{
    mach_msg_type_number_t i;

    begin("many", server);
    NOTES(list, listCnt);
    NOTE(*list_outCnt);
    for (i = 0; i < listCnt; i++)
        list_out[i] = ~list[i];
    memset(list, 0, listCnt * sizeof *list);
    *list_outCnt = listCnt;
    return code;
}

kern_return_t v_moneys(mach_port_t server, struct money one, struct money *two, struct money *three, int code)
{
    begin("moneys", server);
    NOTE(one.more);
    NOTE(two->more);
    NOTE(three->more);
    /* InOut: the routine has the reference. */
    trap_references--;
    three->more = one.more + two->more;
    two->more = one.more;
    return code;
}

kern_return_t v_object(int server, int *number)
{
    fprintf(transcript, "-- object\n");
    NOTE(server);
    *number = server;
    return KERN_SUCCESS;
}

/* `tell' comes by message, which a thread of the server takes while `told' may already be called by trap. */
static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t heard = PTHREAD_COND_INITIALIZER;
static int last;

kern_return_t v_tell(mach_port_t server, int number)
{
    (void) pthread_mutex_lock(&telling);
    begin("tell", server);
    last = number;
    (void) pthread_cond_signal(&heard);
    (void) pthread_mutex_unlock(&telling);
    return KERN_SUCCESS;
}

kern_return_t v_told(mach_port_t server, int *number)
{
    (void) pthread_mutex_lock(&telling);
    while (last == 0)
        (void) pthread_cond_wait(&heard, &telling);
    begin("told", server);
    *number = last;
    (void) pthread_mutex_unlock(&telling);
    return KERN_SUCCESS;
}

kern_return_t v_right(mach_port_t server, mach_port_t right, int *number)
{
    begin("right", server);
    (void) mach_port_deallocate(mach_task_self(), right);
    *number = 5;
    return KERN_SUCCESS;
}
