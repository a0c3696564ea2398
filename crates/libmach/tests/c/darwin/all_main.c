/* Client and server of all.defs: each kind of argument there and back, and messages that are not the interface's. */
#include "darwin.h"

#include "all.h"
#include "all_server.h"

#include <pthread.h>
#include <unistd.h>

static mach_port_t service, given;

kern_return_t serve_all_numbers(mach_port_t server, int a, char b, int64_t c, short d, int *e, char *f, int64_t *g, int *h) {
    CHECK(server == service && a == -7 && b == 'b' && c == INT64_MIN + 5 && d == -300);
    *e = a * 2;
    *f = (char) (b + 1);
    *g = c + 1;
    *h += 100;
    return KERN_SUCCESS;
}

kern_return_t serve_all_arrays(mach_port_t server, numbers_t x, mach_msg_type_number_t x_count, bytes_t y,
                               mach_msg_type_number_t y_count, triple_t z, int last, bytes_t u,
                               mach_msg_type_number_t *u_count, numbers_t v, mach_msg_type_number_t *v_count, triple_t w,
                               int *after) {
    (void) server;
    CHECK(*v_count == 8 && last == 99 && z[0] == 1 && z[1] == -2 && z[2] == 3);
    if (*u_count < y_count) {
        *u_count = y_count;
        return MIG_ARRAY_TOO_LARGE;
    }
    /* What is behind the arrays comes out right for every length of theirs. */
    memcpy(u, y, y_count);
    *u_count = y_count;
    for (unsigned i = 0; i < x_count; i++) v[i] = 2 * x[i];
    *v_count = x_count;
    for (int i = 0; i < 3; i++) w[i] = (short) (10 * z[i]);
    *after = (int) (x_count * 100 + y_count);
    return KERN_SUCCESS;
}

kern_return_t serve_all_texts(mach_port_t server, name_t_20 a, fixed_name_t b, name_t_20 c, name_t_20 d, name_t_20 e,
                              fixed_name_t f, int *n) {
    (void) server;
    snprintf(d, 20, "<%.15s>", a);
    snprintf(e, 20, "%.15s!", c);
    snprintf(f, 10, "%.8s?", b);
    *n = (int) strlen(a);
    return KERN_SUCCESS;
}

kern_return_t serve_all_far(mach_port_t server, far_t a, mach_msg_type_number_t a_count, ports_t b,
                            mach_msg_type_number_t b_count, int n, far_t *c, mach_msg_type_number_t *c_count, ports_t *d,
                            mach_msg_type_number_t *d_count, int *m) {
    static mach_port_t names[2];
    vm_address_t copy;
    (void) server;
    CHECK(b_count == 2 && b[0] == given && b[1] == given && n == 5);
    CHECK_CODE(vm_allocate(self, &copy, a_count, TRUE), S);
    for (unsigned i = 0; i < a_count; i++) ((char *) copy)[i] = (char) (a[i] + 1);
    *c = (char *) copy;
    *c_count = a_count;
    names[0] = names[1] = given;
    *d = names;
    *d_count = 2;
    *m = (int) a_count;
    CHECK_CODE(vm_deallocate(self, (vm_address_t) a, a_count), S);
    for (int i = 0; i < 2; i++) CHECK_CODE(mach_port_deallocate(self, b[i]), S);
    CHECK_CODE(vm_deallocate(self, (vm_address_t) b, b_count * sizeof *b), S);
    return KERN_SUCCESS;
}

kern_return_t serve_all_rights(mach_port_t server, mach_port_t a, mach_port_t b, mach_port_t *c) {
    (void) server;
    CHECK(a == given && b == service);
    CHECK_CODE(mach_port_deallocate(self, a), S);
    CHECK_CODE(mach_port_deallocate(self, b), S);
    *c = given;
    return KERN_SUCCESS;
}

kern_return_t serve_all_point(mach_port_t server, point_t p, point_t *q) {
    (void) server;
    q->x = p.y;
    q->y = p.x;
    return KERN_SUCCESS;
}

static int told;

kern_return_t serve_all_told(mach_port_t server, int x) {
    (void) server;
    told = x;
    return KERN_SUCCESS;
}

kern_return_t serve_all_fails(mach_port_t server, int code) {
    (void) server;
    return code;
}

kern_return_t serve_all_doubled(mach_port_t server, numbers_t x, mach_msg_type_number_t *count) {
    (void) server;
    for (unsigned i = 0; i < *count; i++) x[i] *= 2;
    if (*count < 8) x[(*count)++] = -1;
    return KERN_SUCCESS;
}

kern_return_t serve_all_tokens(mach_port_t server, security_token_t a, audit_token_t b, mach_port_context_t c, mach_port_seqno_t n,
                               bytes_t x, mach_msg_type_number_t x_count, bytes_t y, mach_msg_type_number_t *y_count) {
    (void) server;
    CHECK(a.val[0] == geteuid() && a.val[1] == getegid() && b.val[1] == geteuid() && b.val[5] == (unsigned) getpid());
    CHECK(c == 0x123456789abc && n > 100);
    memcpy(y, x, x_count);
    *y_count = x_count;
    return KERN_SUCCESS;
}

static void *serve(void *unused) {
    const mach_msg_option_t option = MACH_RCV_TRAILER_TYPE(MACH_MSG_TRAILER_FORMAT_0) | MACH_RCV_TRAILER_ELEMENTS(MACH_RCV_TRAILER_CTX);
    const mach_msg_return_t end = mach_msg_server(all_server, sizeof(union __RequestUnion__all_subsystem), service, option);
    /* The port ends while it waits there, or before it does. */
    CHECK(end == MACH_RCV_PORT_DIED || end == MACH_RCV_INVALID_NAME);
    return unused;
}

static void test_arrays(void) {
    int x[8];
    bytes_t y, u;
    triple_t z = {1, -2, 3}, w;
    for (int i = 0; i < 8; i++) x[i] = i - 3;
    for (int i = 0; i < 13; i++) y[i] = (char) ('a' + i);
    for (unsigned count = 0; count <= 8; count++) {
        for (unsigned bytes = 0; bytes <= 13; bytes++) {
            int v[8], after = 0;
            mach_msg_type_number_t u_count = 13, v_count = 0;
            CHECK_CODE(all_arrays(service, x, count, y, bytes, z, 99, u, &u_count, v, &v_count, w, &after), S);
            CHECK(u_count == bytes && memcmp(u, y, bytes) == 0 && v_count == count);
            for (unsigned i = 0; i < count; i++) CHECK(v[i] == 2 * x[i]);
            CHECK(w[0] == 10 && w[1] == -20 && w[2] == 30 && after == (int) (count * 100 + bytes));
        }
    }
    int v[8], after;
    mach_msg_type_number_t u_count = 3, v_count;
    CHECK_CODE(all_arrays(service, x, 1, y, 5, z, 99, u, &u_count, v, &v_count, w, &after), MIG_ARRAY_TOO_LARGE);
    CHECK_CODE(all_arrays(service, x, 9, y, 5, z, 99, u, &u_count, v, &v_count, w, &after), MIG_ARRAY_TOO_LARGE);
}

/* Requests that are not as the interface has them get MIG_BAD_ARGUMENTS. */
static void test_damage(void) {
    union {
        mach_msg_header_t header;
        __Request__all_arrays_t request;
        mig_reply_error_t reply;
        char room[256];
    } it;
    const mach_msg_size_t least = sizeof it.request - 32 - 16;
    const struct {
        mach_msg_bits_t bits;
        mach_msg_size_t size;
        unsigned x, y;
    } bad[] = {
        {0, least - 4, 0, 0}, {0, least + 4, 0, 0},           {0, least, 1, 0},       {0, least, ~0u, 0},
        {0, least, 0, 14},    {MACH_MSGH_BITS_COMPLEX, least, 0, 0}, {0, least + 12, 0, 13}, {0, least, 0x40000000, 0},
    };
    for (unsigned i = 0; i <= sizeof bad / sizeof *bad; i++) {
        memset(&it, 0, sizeof it);
        const int good = i == sizeof bad / sizeof *bad;
        it.header.msgh_bits = MACH_MSGH_BITS_SET(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE, 0, good ? 0 : bad[i].bits);
        it.header.msgh_remote_port = service;
        it.header.msgh_local_port = mig_get_reply_port();
        it.header.msgh_id = 5201;
        it.request.NDR = NDR_record;
        if (!good) it.request.xCnt = bad[i].x;
        const mach_msg_size_t size = good ? least : bad[i].size;
        /* Without elements what follows x lies where x would. */
        if (!good && bad[i].x == 0) memcpy(it.request.x, &bad[i].y, 4);
        if (good) {
            const short z[4] = {1, -2, 3, 0};
            const int rest[2] = {99, 13};
            memcpy((char *) &it + 40, z, 8);
            memcpy((char *) &it + 48, rest, 8);
        }
        CHECK_CODE(mach_msg(&it.header, MACH_SEND_MSG | MACH_RCV_MSG | MACH_RCV_TIMEOUT, size, sizeof it, it.header.msgh_local_port,
                            PATIENCE, 0),
                   S);
        CHECK_CODE(it.reply.RetCode, good ? S : MIG_BAD_ARGUMENTS);
    }
}

static void test_tokens(void) {
    security_token_t a;
    audit_token_t b;
    bytes_t y;
    mach_msg_type_number_t count;
    for (unsigned length = 0; length <= sizeof y; length++) {
        memset(&a, 0xee, sizeof a);
        memset(&b, 0xee, sizeof b);
        CHECK_CODE(all_tokens(service, (char *) "0123456789abc", length, &a, &b, y, &count), S);
        CHECK(count == length && memcmp(y, "0123456789abc", length) == 0);
        CHECK(a.val[0] == geteuid() && a.val[1] == getegid() && b.val[1] == geteuid() && b.val[5] == (unsigned) getpid());
    }
    /* A server that asked for less of the trailer. */
    struct {
        __Request__all_tokens_t request;
        mach_msg_trailer_t trailer;
    } it;
    __Reply__all_tokens_t reply;
    memset(&it, 0, sizeof it);
    it.request.Head.msgh_size = sizeof it.request - 16;
    it.request.Head.msgh_id = 5210;
    ((mach_msg_trailer_t *) ((char *) &it + it.request.Head.msgh_size))->msgh_trailer_size = 52;
    CHECK(all_server(&it.request.Head, &reply.Head));
    CHECK_CODE(reply.RetCode, MIG_TRAILER_ERROR);
}

int main(void) {
    watchdog(60);
    service = make_port();
    given = make_port();
    CHECK(serve_all_subsystem.start == 5200 && serve_all_subsystem.end == 5211 && serve_all_subsystem.routine[7].stub_routine == 0);
    CHECK(serve_all_subsystem.maxsize >= sizeof(union __ReplyUnion__all_subsystem));
    CHECK_CODE(mach_port_set_context(self, service, 0x123456789abc), S);
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, serve, NULL) == 0);

    int e, h = 3, n = 0, m = 0;
    char f;
    int64_t g;
    CHECK_CODE(all_numbers(service, -7, 'b', INT64_MIN + 5, -300, &e, &f, &g, &h), S);
    CHECK(e == -14 && f == 'c' && g == INT64_MIN + 6 && h == 103);
    test_arrays();

    name_t_20 d, e_text;
    fixed_name_t f_text;
    CHECK_CODE(all_texts(service, "first", "fixed", "a text that is too long", d, e_text, f_text, &n), S);
    CHECK(strcmp(d, "<first>") == 0 && strcmp(e_text, "a text that is !") == 0 && strcmp(f_text, "fixed?") == 0 && n == 5);
    CHECK_CODE(all_texts(service, "", "", "", d, e_text, f_text, &n), S);
    CHECK(strcmp(d, "<>") == 0 && strcmp(e_text, "!") == 0 && strcmp(f_text, "?") == 0 && n == 0);

    char *text;
    mach_port_t *ports, sent[2] = {given, given}, right;
    mach_msg_type_number_t text_count, ports_count;
    static char data[70000];
    memset(data, 'x', sizeof data);
    CHECK_CODE(all_far(service, data, sizeof data, sent, 2, 5, &text, &text_count, &ports, &ports_count, &m), S);
    CHECK(text_count == sizeof data && text[0] == 'y' && text[sizeof data - 1] == 'y' && m == (int) sizeof data);
    CHECK(ports_count == 2 && ports[0] == given && ports[1] == given);
    CHECK_CODE(vm_deallocate(self, (vm_address_t) text, text_count), S);
    CHECK_CODE(all_rights(service, given, service, MACH_MSG_TYPE_MAKE_SEND, &right), S);
    CHECK(right == given);

    point_t p = {1, -2}, q;
    CHECK_CODE(all_point(service, p, &q), S);
    CHECK(q.x == -2 && q.y == 1);
    CHECK_CODE(all_told(service, 77), S);
    CHECK_CODE(all_fails(service, KERN_NO_SPACE), KERN_NO_SPACE);
    CHECK(told == 77);
    int numbers[8] = {1, 2, 3};
    mach_msg_type_number_t count = 3;
    CHECK_CODE(all_doubled(service, numbers, &count), S);
    CHECK(count == 4 && numbers[0] == 2 && numbers[2] == 6 && numbers[3] == -1);
    test_damage();
    test_tokens();

    CHECK_CODE(mach_port_mod_refs(self, service, MACH_PORT_RIGHT_RECEIVE, -1), S);
    MUST(pthread_join(thread, NULL) == 0);
    return checks_done("all");
}
