/*
 * Messages by hand that break one rule each, to the server's stubs and to the client's. None may reach a routine, or a caller's
 * variables; what they held is destroyed. Buffers are as long as the messages, so the address sanitizer sees any other access.
 */
#include "fake_mach.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <mach/mig_support.h>
#include "faults.h"
#include "faultsServer.h"

#define REPLIES ((mach_port_t) 55)

static int failed;

static void check(int line, int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "faults.c:%d: %s\n", line, what);
        failed = 1;
    }
}

#define CHECK(holds) check(__LINE__, (holds) != 0, #holds)

boolean_t fake_demux(mach_msg_header_t *request, mach_msg_header_t *reply)
{
    return faults_server(request, reply);
}

/* The server's routines. */
static int served;

kern_return_t s_take(mach_port_t server, list_t list, mach_msg_type_number_t count, int after)
{
    (void) server;
    served++;
    CHECK(count <= 128 && after == 7);
    CHECK(count == 0 || (list[0] == 1 && list[count - 1] == 1));
    return KERN_SUCCESS;
}

kern_return_t s_spell(mach_port_t server, word_t word)
{
    (void) server;
    served++;
    CHECK(strlen(word) < 64);
    return KERN_SUCCESS;
}

kern_return_t s_keep(mach_port_t server, mach_port_t right, far_t far, mach_msg_type_number_t count, int after)
{
    (void) server;
    served++;
    CHECK(right == 99 && after == 7);
    mig_deallocate((vm_address_t) far, count * sizeof *far);
    return KERN_SUCCESS;
}

kern_return_t s_give(mach_port_t server, list_t list, mach_msg_type_number_t *count, word_t word)
{
    (void) server;
    list[0] = 1;
    list[1] = 2;
    *count = 2;
    strcpy(word, "abcdefg");
    return KERN_SUCCESS;
}

kern_return_t s_hand(mach_port_t server, mach_port_t *right, far_t *far, mach_msg_type_number_t *far_count)
{
    vm_address_t memory;

    (void) server;
    *right = 99;
    mig_allocate(&memory, 3 * sizeof(int));
    memset((void *) memory, 0, 3 * sizeof(int));
    *far = (far_t) memory;
    *far_count = 3;
    return KERN_SUCCESS;
}

/* A request that is being made. */
static union {
    mach_msg_header_t head;
    char bytes[16384];
} request;
static mach_msg_size_t length;

static void begin(mach_msg_id_t id, mach_msg_bits_t complex)
{
    memset(&request, 0, sizeof request);
    request.head.msgh_bits = complex | MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE);
    request.head.msgh_remote_port = FAKE_SERVER;
    request.head.msgh_local_port = REPLIES;
    request.head.msgh_id = id;
    length = sizeof request.head;
}

static void put_type(unsigned name, unsigned size, unsigned in_line, uint32_t number)
{
    mach_msg_type_t type = {.msgt_name = name & 0xff, .msgt_size = size & 0xffff, .msgt_inline = in_line & 1};

    type.msgt_number = number;
    memcpy(request.bytes + length, &type, sizeof type);
    length += sizeof type;
}

/* So many bytes, of one value, and zeros up to the next word. */
static void put_bytes(int byte, mach_msg_size_t count)
{
    memset(request.bytes + length, byte, count);
    length = (length + count + 7) & ~7u;
}

static void put_ints(mach_msg_size_t count)
{
    mach_msg_size_t i;
    int one = 1;

    for (i = 0; i < count; i++)
        memcpy(request.bytes + length + 4 * i, &one, 4);
    length = (length + 4 * count + 7) & ~7u;
}

static void put_seven(void)
{
    put_type(MACH_MSG_TYPE_INTEGER_32, 32, 1, 1);
    request.bytes[length] = 7;
    length += 8;
}

/* Sends it: the code in its reply, and whether a routine was called. */
static kern_return_t send_it(int *called)
{
    union {
        mig_reply_header_t head;
        char room[8192];
    } reply;
    int before = served;
    mach_msg_return_t result = mach_msg(&request.head, MACH_SEND_MSG, length, 0, 0, 0, 0);

    if (result == MACH_MSG_SUCCESS)
        result = mach_msg(&reply.head.Head, MACH_RCV_MSG, 0, sizeof reply, REPLIES, 0, 0);
    *called = served - before;
    return result == MACH_MSG_SUCCESS ? reply.head.RetCode : result;
}

static void expect(int line, kern_return_t wanted, int wanted_calls)
{
    int called;
    kern_return_t code = send_it(&called);

    if (code != wanted || called != wanted_calls) {
        fprintf(stderr, "faults.c:%d: %d and %d calls, not %d and %d\n", line, code, called, wanted, wanted_calls);
        failed = 1;
    }
}

#define EXPECT(code, calls) expect(__LINE__, code, calls)

static void list_of(uint32_t number, mach_msg_size_t there)
{
    begin(faults_base_id, 0);
    put_type(MACH_MSG_TYPE_INTEGER_32, 32, 1, number);
    put_ints(there);
    put_seven();
}

static void test_counts(void)
{
    list_of(2, 2);
    EXPECT(KERN_SUCCESS, 1);
    list_of(128, 128);
    EXPECT(KERN_SUCCESS, 1);
    list_of(0, 0);
    EXPECT(KERN_SUCCESS, 1);
    /* Four times this is eight, where 32 bits are all there is. */
    list_of(0x40000002, 2);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    list_of(0x80000002, 2);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    list_of(0xffffffff, 2);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    /* All there, and more than the type has. */
    list_of(129, 129);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    list_of(1500, 1500);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    /* Less there than is said, and more. */
    list_of(128, 2);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    list_of(2, 128);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    /* Ends within an item. */
    list_of(2, 2);
    length -= 8;
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    begin(faults_base_id, 0);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    /* Of another type: as many bytes, or out of line. */
    begin(faults_base_id, 0);
    put_type(MACH_MSG_TYPE_CHAR, 8, 1, 8);
    put_bytes(1, 8);
    put_seven();
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    begin(faults_base_id, 0);
    put_type(MACH_MSG_TYPE_INTEGER_32, 32, 0, 2);
    put_bytes(0, 8);
    put_seven();
    EXPECT(MIG_BAD_ARGUMENTS, 0);
}

static void word_of(uint32_t number, mach_msg_size_t letters, mach_msg_size_t zeros)
{
    begin(faults_base_id + 1, 0);
    put_type(MACH_MSG_TYPE_STRING_C, 8, 1, number);
    memset(request.bytes + length, 'x', letters);
    length = (length + letters + zeros + 7) & ~7u;
}

static void test_strings(void)
{
    word_of(6, 5, 1);
    EXPECT(KERN_SUCCESS, 1);
    word_of(64, 63, 1);
    EXPECT(KERN_SUCCESS, 1);
    /* No NUL: the longest, a short one, one whose padding would do for one. */
    word_of(64, 64, 0);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    word_of(8, 8, 0);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    word_of(5, 5, 0);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    word_of(0, 0, 0);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    word_of(72, 71, 1);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
}

/* A right, memory, and a number; the parts that a test changes come as arguments. */
static void keep(mach_msg_bits_t complex, unsigned right_type, unsigned far_size, int seven)
{
    vm_address_t memory = 0;

    begin(faults_base_id + 2, complex);
    put_type(right_type, 64, 1, 1);
    request.bytes[length] = 99;
    length += 8;
    if (complex != 0) {
        mig_allocate(&memory, 16);
        memset((void *) memory, 0, 16);
    }
    put_type(far_size == 32 ? MACH_MSG_TYPE_INTEGER_32 : MACH_MSG_TYPE_CHAR, far_size, 0, 2);
    ((mach_msg_type_t *) (void *) (request.bytes + length - 8))->msgt_deallocate = complex != 0;
    memcpy(request.bytes + length, &memory, 8);
    length += 8;
    if (seven)
        put_seven();
}

static void test_rights(void)
{
    unsigned before = fake_rights_destroyed;

    keep(MACH_MSGH_BITS_COMPLEX, MACH_MSG_TYPE_MOVE_SEND, 32, 1);
    EXPECT(KERN_SUCCESS, 1);
    CHECK(fake_rights_destroyed == before && fake_regions() == 0);
    /* Just numbers, as nobody has translated them. */
    keep(0, MACH_MSG_TYPE_MOVE_SEND, 32, 1);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    CHECK(fake_rights_destroyed == before);
    /* A number instead of a right. */
    keep(MACH_MSGH_BITS_COMPLEX, MACH_MSG_TYPE_INTEGER_64, 32, 1);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    CHECK(fake_rights_destroyed == before && fake_regions() == 0);
    /* A request that is refused gives up its right and its memory. */
    keep(MACH_MSGH_BITS_COMPLEX, MACH_MSG_TYPE_MAKE_SEND_ONCE, 32, 1);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    CHECK(fake_rights_destroyed == ++before && fake_regions() == 0);
    keep(MACH_MSGH_BITS_COMPLEX, MACH_MSG_TYPE_MOVE_SEND, 8, 1);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    CHECK(fake_rights_destroyed == ++before && fake_regions() == 0);
    keep(MACH_MSGH_BITS_COMPLEX, MACH_MSG_TYPE_MOVE_SEND, 32, 0);
    EXPECT(MIG_BAD_ARGUMENTS, 0);
    CHECK(fake_rights_destroyed == ++before && fake_regions() == 0);
    /* An identifier that no routine has. */
    keep(MACH_MSGH_BITS_COMPLEX, MACH_MSG_TYPE_MOVE_SEND, 32, 1);
    request.head.msgh_id = faults_base_id + faults_routine_count;
    EXPECT(MIG_BAD_ID, 0);
    CHECK(fake_rights_destroyed == ++before && fake_regions() == 0);
}

/* Where replies have the code's type, the code, and what follows: the list's type, or the right's; the word, or the memory's type. */
enum { CODE_TYPE = 32, CODE = 40, LIST = 48, WORD = 72, SIZE = 80, RIGHT = 48, FAR = 64 };

/* A byte, or for four a number, that a reply gets at a place. */
static struct fault {
    mach_msg_size_t at, bytes;
    uint32_t value;
    kern_return_t code;
} fault;

static void on_reply(void *message, mach_msg_size_t size)
{
    CHECK(size == SIZE);
    if (fault.bytes == 8)
        memset((char *) message + fault.at, (int) fault.value, 8);
    else
        memcpy((char *) message + fault.at, &fault.value, fault.bytes);
}

static void test_replies(void)
{
    static const struct fault given[] = {
        {LIST + 4, 4, 0x40000002, MIG_TYPE_ERROR}, {LIST + 4, 4, 0x80000002, MIG_TYPE_ERROR}, {LIST + 4, 4, 0xffffffff, MIG_TYPE_ERROR},
        {LIST + 4, 4, 129, MIG_TYPE_ERROR},        {LIST + 4, 4, 4, MIG_TYPE_ERROR},          {LIST + 4, 4, 0, MIG_TYPE_ERROR},
        {WORD, 8, 'x', MIG_TYPE_ERROR},            {WORD - 4, 4, 65, MIG_TYPE_ERROR},         {LIST, 1, MACH_MSG_TYPE_REAL, MIG_TYPE_ERROR},
        {CODE_TYPE, 1, MACH_MSG_TYPE_CHAR, MIG_TYPE_ERROR}, {CODE, 4, 5, MIG_TYPE_ERROR},     {28, 4, 17, MIG_REPLY_MISMATCH},
        {28, 4, MACH_NOTIFY_SEND_ONCE, MIG_SERVER_DIED},    {3, 1, 0x80, MIG_TYPE_ERROR},
    };
    static const struct fault handed[] = {
        {RIGHT, 1, MACH_MSG_TYPE_MAKE_SEND_ONCE, MIG_TYPE_ERROR}, {FAR, 1, MACH_MSG_TYPE_REAL, MIG_TYPE_ERROR},
        {CODE_TYPE, 1, MACH_MSG_TYPE_CHAR, MIG_TYPE_ERROR},       {CODE, 4, 5, MIG_TYPE_ERROR},
        {28, 4, 17, MIG_REPLY_MISMATCH},                          {28, 4, MACH_NOTIFY_SEND_ONCE, MIG_SERVER_DIED},
    };
    struct {
        list_t list;
        word_t word;
        mach_port_t right;
        far_t far;
        mach_msg_type_number_t count, far_count;
    } is, was;
    size_t i;

    memset(&is, 0x33, sizeof is);
    CHECK(f_give(FAKE_SERVER, is.list, &is.count, is.word) == KERN_SUCCESS);
    CHECK(is.count == 2 && is.list[1] == 2 && strcmp(is.word, "abcdefg") == 0);
    CHECK(f_hand(FAKE_SERVER, &is.right, &is.far, &is.far_count) == KERN_SUCCESS);
    CHECK(is.right == 99 && is.far_count == 3);
    mig_deallocate((vm_address_t) is.far, 3 * sizeof(int));

    fake_on_reply = on_reply;
    for (i = 0; i < sizeof given / sizeof *given + sizeof handed / sizeof *handed; i++) {
        const size_t hand = sizeof given / sizeof *given;
        unsigned rights = fake_rights_destroyed;
        kern_return_t code;

        memset(&is, 0x33, sizeof is);
        memcpy(&was, &is, sizeof is);
        fault = i < hand ? given[i] : handed[i - hand];
        code = i < hand ? f_give(FAKE_SERVER, is.list, &is.count, is.word) : f_hand(FAKE_SERVER, &is.right, &is.far, &is.far_count);
        if (code != fault.code || memcmp(&is, &was, sizeof is) != 0) {
            fprintf(stderr, "faults.c: reply %u: %d, not %d, or something was written\n", (unsigned) i, code, fault.code);
            failed = 1;
        }
        CHECK(fake_rights_destroyed == rights + (i >= hand) && fake_regions() == 0);
    }
    fake_on_reply = NULL;
}

int main(void)
{
    test_counts();
    test_strings();
    test_rights();
    test_replies();
    if (!failed)
        puts("good");
    return failed;
}
