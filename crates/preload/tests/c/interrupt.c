/* A program whose blocking calls are cancelled, interrupted by signals that close what they are about, left by siglongjmp and killed: it prints what becomes of them, which is the
 * same on a plain socket and with the hooks. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static int listener, client, server, set;
static _Atomic int caller;
static char big[1 << 22];

static int good(int result)
{
    if (result < 0) {
        perror("a call");
        exit(2);
    }
    return result;
}

static void exchange(int from, int to)
{
    char byte = 'x';
    if (write(from, &byte, 1) != 1 || read(to, &byte, 1) != 1)
        exit(3);
}

static void begin(int warm)
{
    client = good(socket(AF_UNIX, SOCK_STREAM, 0));
    good(connect(client, (struct sockaddr *)&address, sizeof address));
    server = good(accept(listener, NULL, NULL));
    for (int i = 0; i < 3 && warm; i++) {
        exchange(client, server);
        exchange(server, client);
    }
    struct epoll_event event = {.events = EPOLLIN};
    set = good(epoll_create1(0));
    good(epoll_ctl(set, EPOLL_CTL_ADD, client, &event));
}

static void end(void)
{
    close(set);
    close(client);
    close(server);
}

/* Until the calling thread, or another process's, sleeps, and goes on to: it may wait for a lock for a moment before. */
static void await_sleep(void)
{
    char name[64], text[512];
    for (int looks = 0; looks < 20;) {
        if (caller != 0) {
            snprintf(name, sizeof name, "/proc/%d/stat", caller);
            FILE *file = fopen(name, "r");
            size_t length = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
            text[length] = 0;
            if (file != NULL)
                fclose(file);
            looks = strstr(text, ") S ") != NULL ? looks + 1 : 0;
        }
        sched_yield();
    }
}

static const char *const WAYS[] = {
    "read",   "recv",         "recvmsg",      "write",         "poll",           "select",       "epoll_wait",
    "accept", "poll to accept", "without waiting: send", "without waiting: recv", "without waiting: poll", "dropping descriptors",
};

/* The bytes are read without the descriptors. */
static void pass_and_drop(void)
{
    enum { PASSED = 20 };
    char byte, control[CMSG_SPACE(PASSED * sizeof(int))] __attribute__((aligned(8)));
    struct iovec buffer = {&byte, 1};
    struct msghdr message = {.msg_iov = &buffer, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(PASSED * sizeof(int));
    for (int i = 0; i < PASSED; i++)
        memcpy(CMSG_DATA(header) + i * sizeof i, &listener, sizeof i);
    sendmsg(client, &message, MSG_DONTWAIT);
    recv(server, &byte, 1, MSG_DONTWAIT);
}

static int call_once(size_t way)
{
    char byte;
    struct iovec buffer = {&byte, 1};
    struct msghdr message = {.msg_iov = &buffer, .msg_iovlen = 1};
    struct pollfd polled = {client, POLLIN, 0}, awaited = {listener, POLLIN, 0};
    struct epoll_event event;
    fd_set reading;
    FD_ZERO(&reading);
    FD_SET(client, &reading);
    switch (way) {
    case 0: return read(client, &byte, 1);
    case 1: return recv(client, &byte, 1, 0);
    case 2: return recvmsg(client, &message, 0);
    case 3: return write(client, big, sizeof big);
    case 4: return poll(&polled, 1, -1);
    case 5: return select(client + 1, &reading, NULL, NULL, NULL);
    case 6: return epoll_wait(set, &event, 1, -1);
    case 7: return accept(listener, NULL, NULL);
    case 8: return poll(&awaited, 1, -1);
    case 9: return send(client, "x", 1, MSG_DONTWAIT);
    case 10: return recv(client, &byte, 1, MSG_DONTWAIT);
    case 12: pass_and_drop(); return 0;
    case 11: polled.events = POLLOUT; return poll(&polled, 1, 0);
    }
    return 0;
}

static void *call(void *way)
{
    caller = gettid();
    for (;;)
        call_once((size_t)way);
    return NULL;
}

static void cancel(size_t way, const char *where)
{
    pthread_t thread;
    void *result;
    caller = 0;
    good(-pthread_create(&thread, NULL, call, (void *)way));
    if (way < 9)
        await_sleep();
    while (caller == 0)
        sched_yield();
    /* Not always at the same place. */
    static int turns;
    for (int i = 0; i < turns % 50; i++)
        sched_yield();
    turns++;
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("%s%s: %s\n", WAYS[way], where, result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
}

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 4096; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void cancelled(void)
{
    for (size_t way = 0; way < 12; way++)
        for (int warm = 0; warm < 2; warm++) {
            begin(warm);
            cancel(way, warm ? "" : " at first");
            end();
        }
    begin(1);
    int before = open_descriptors();
    char byte;
    for (int i = 0; i < 100; i++) {
        cancel(12, "");
        while (recv(server, &byte, 1, MSG_DONTWAIT) == 1)
            ;
    }
    printf("%d descriptors lost\n", open_descriptors() - before);
    end();
    /* A client without hooks. */
    begin(0);
    end();
    pid_t child = good(fork());
    if (child == 0) {
        char *arguments[] = {"interrupt", "client", address.sun_path, NULL}, *none[] = {NULL};
        execve("/proc/self/exe", arguments, none);
        _exit(4);
    }
    client = good(accept(listener, NULL, NULL));
    cancel(0, " from a plain client");
    close(client);
    waitpid(child, NULL, 0);
}

static _Atomic int handled;
static sigjmp_buf out;
static pthread_t first;

static void note(int number)
{
    (void)number;
    handled = 1;
}

static void note_and_reset(int number)
{
    handled = 1;
    signal(number, SIG_DFL);
}

static void jump(int number)
{
    (void)number;
    siglongjmp(out, 1);
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    good(sigaction(number, &action, NULL));
}

static void *interrupt(void *sends)
{
    await_sleep();
    pthread_kill(first, SIGUSR1);
    if (sends != NULL) {
        while (!handled)
            sched_yield();
        await_sleep();
        write(server, "x", 1);
    }
    return NULL;
}

/* One call that is interrupted; a byte comes after that, if `sends`. */
static void interrupted(const char *what, int accepts, int flags, int sends)
{
    char bytes[8];
    pthread_t thread;
    handled = 0;
    caller = gettid();
    good(-pthread_create(&thread, NULL, interrupt, sends ? &sends : NULL));
    errno = 0;
    ssize_t result = accepts ? accept(listener, NULL, NULL) : recv(client, bytes, sizeof bytes, flags);
    /* A call that succeeds leaves it alone. */
    printf("%s: %zd %s\n", what, result, strerror(errno));
    pthread_join(thread, NULL);
}

static void signals(void)
{
    errno = 0;
    good(listen(listener, 8));
    begin(1);
    printf("listen, connect, accept, read, write, epoll_ctl: %s\n", strerror(errno));
    handle(SIGUSR1, note, 0);
    interrupted("no SA_RESTART", 0, 0, 0);
    handle(SIGUSR1, note, SA_RESETHAND);
    interrupted("for one time", 0, 0, 0);
    handle(SIGUSR1, note, SA_RESETHAND);
    interrupted("accept, for one time", 1, 0, 0);
    handle(SIGUSR1, note_and_reset, 0);
    interrupted("reset by itself", 0, 0, 0);
    handle(SIGUSR1, note_and_reset, 0);
    interrupted("accept, reset by itself", 1, 0, 0);
    signal(SIGUSR1, note);
    interrupted("signal(2)", 0, 0, 1);
    siginterrupt(SIGUSR1, 1);
    interrupted("siginterrupt(3)", 0, 0, 0);
    handle(SIGUSR1, note, SA_RESTART);
    handle(SIGUSR2, note, 0);
    interrupted("another would end it", 0, 0, 1);
    write(server, "x", 1);
    interrupted("a part, SA_RESTART", 0, MSG_WAITALL, 0);
    end();
}

enum { TURNS = 6 };

static void *answer(void *signals)
{
    if (signals != NULL) {
        await_sleep();
        pthread_kill(first, SIGUSR1);
    }
    while (!handled)
        sched_yield();
    for (int i = 0; i < TURNS; i++) {
        /* A thread that spins never sleeps. */
        await_sleep();
        write(server, "x", 1);
        while (handled == i + 1)
            sched_yield();
    }
    return NULL;
}

/* The first of the threads that read the connection jumps out of that, or is another process's that is killed. */
static void lost(int jumps)
{
    char byte;
    pthread_t thread;
    begin(1);
    handled = 0;
    if (jumps) {
        handle(SIGUSR1, jump, 0);
        caller = gettid();
        if (sigsetjmp(out, 1) == 0) {
            good(-pthread_create(&thread, NULL, answer, &byte));
            read(client, &byte, 1);
        }
    } else {
        caller = good(fork());
        if (caller == 0)
            _exit(read(client, &byte, 1) == 1 ? 0 : 6);
        await_sleep();
        kill(caller, SIGKILL);
        waitpid(caller, NULL, 0);
        caller = gettid();
        good(-pthread_create(&thread, NULL, answer, NULL));
    }
    for (int i = 0; i < TURNS; i++) {
        handled = i + 1;
        if (read(client, &byte, 1) != 1)
            exit(5);
    }
    handled = TURNS + 1;
    pthread_join(thread, NULL);
    printf("%d turns\n", TURNS);
    end();
}

static int jumps;

/* What the call is about is closed, and another connection gets its number and is closed, too. */
static void close_it(int number)
{
    int called = client, accepted = server;
    (void)number;
    close(client);
    for (int i = 0; i < 2; i++) {
        client = good(socket(AF_UNIX, SOCK_STREAM, 0));
        good(connect(client, (struct sockaddr *)&address, sizeof address));
        server = good(accept(listener, NULL, NULL));
        for (int n = 0; n < 3; n++) {
            exchange(client, server);
            exchange(server, client);
        }
        handled += client == called;
        close(client);
        close(server);
    }
    server = accepted;
    if (jumps)
        siglongjmp(out, 1);
}

/* Calls of a process with one thread. */
static void closed(void)
{
    enum { LAST = 6, TURNS_EACH = 8 };
    int go[2];
    good(pipe(go));
    caller = getpid();
    if (good(fork()) == 0) {
        char byte;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(go[1]);
        while (read(go[0], &byte, 1) == 1) {
            await_sleep();
            kill(caller, SIGUSR1);
        }
        _exit(0);
    }
    handle(SIGUSR1, close_it, 0);
    for (jumps = 0; jumps < 2; jumps++)
        for (size_t way = 0; way <= LAST; way++) {
            int before = open_descriptors();
            for (int turn = 0; turn < TURNS_EACH; turn++) {
                int result = -2;
                begin(turn % 2);
                handled = 0;
                write(go[1], "x", 1);
                if (sigsetjmp(out, 1) == 0)
                    result = call_once(way);
                close(set);
                close(server);
                printf("%s: %s, %d with its number\n", WAYS[way], result == -1 ? strerror(errno) : result > 0 ? "a part" : "left", handled);
            }
            int lost = open_descriptors() - before;
            printf("descriptors lost: %s\n", lost == 0 || (jumps && lost <= TURNS_EACH) ? "none, or one for a jump" : "more");
        }
}

static struct { volatile long handled, strange; volatile pid_t pesterer; } *within;
static int told[2];

static void use_it(void)
{
    char bytes[64];
    memset(bytes, 'u', sizeof bytes);
    send(client, bytes, 7, MSG_DONTWAIT);
    ssize_t got = recv(server, bytes, sizeof bytes, MSG_DONTWAIT);
    for (ssize_t i = 0; i < got; i++)
        within->strange += bytes[i] != 'u';
}

/* What uses the connection whose use it has interrupted. It is set for one time. */
static void use_within(int number, siginfo_t *info, void *context)
{
    struct sigaction action = {.sa_sigaction = use_within, .sa_flags = SA_SIGINFO | SA_RESETHAND};
    good(sigaction(number, &action, NULL));
    within->strange += info->si_signo != number || info->si_pid != within->pesterer || info->si_code != SI_USER || context == NULL;
    use_it();
    within->handled++;
    write(told[1], "", 1);
}

static void use_and_jump(int number)
{
    (void)number;
    use_it();
    within->handled++;
    write(told[1], "", 1);
    siglongjmp(out, 1);
}

static void pestered(int number, long times)
{
    pid_t parent = getpid(), pesterer = good(fork());
    if (pesterer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        within->pesterer = getpid();
        /* A second one, before the kernel has blocked what it has just reset, would end a plain program, too. */
        for (char byte = 0; kill(parent, number) == 0 && read(told[0], &byte, 1) == 1;)
            ;
        _exit(0);
    }
    sigsetjmp(out, 1);
    while (within->handled < times)
        use_it();
    kill(pesterer, SIGKILL);
    waitpid(pesterer, NULL, 0);
}

static void used_within(void)
{
    enum { TIMES = 1000 };
    char byte = 'x';
    within = mmap(NULL, sizeof *within, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    good(pipe(told));
    begin(1);
    struct sigaction action = {.sa_sigaction = use_within, .sa_flags = SA_SIGINFO | SA_RESETHAND};
    good(sigaction(SIGUSR1, &action, NULL));
    pestered(SIGUSR1, TIMES);
    handle(SIGUSR1, SIG_IGN, 0);
    handle(SIGUSR2, use_and_jump, 0);
    pestered(SIGUSR2, 2 * TIMES);
    handle(SIGUSR2, SIG_IGN, 0);
    while (recv(server, big, sizeof big, MSG_DONTWAIT) > 0)
        ;
    exchange(client, server);
    exchange(server, client);
    shutdown(client, SHUT_WR);
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    printf("strange: %ld; blocked: %d; end: %zd\n", within->strange, sigismember(&blocked, SIGUSR1) + sigismember(&blocked, SIGUSR2), read(server, &byte, 1));
    end();
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    strncpy(address.sun_path, argv[2], sizeof address.sun_path - 1);
    first = pthread_self();
    /* A watchdog. */
    alarm(300);
    if (strcmp(argv[1], "client") == 0) {
        client = good(socket(AF_UNIX, SOCK_STREAM, 0));
        good(connect(client, (struct sockaddr *)&address, sizeof address));
        read(client, big, 1);
        return 0;
    }
    listener = good(socket(AF_UNIX, SOCK_STREAM, 0));
    good(bind(listener, (struct sockaddr *)&address, sizeof address));
    good(listen(listener, 8));
    if (strcmp(argv[1], "cancelled") == 0)
        cancelled();
    else if (strcmp(argv[1], "signals") == 0)
        signals();
    else if (strcmp(argv[1], "closed") == 0)
        closed();
    else if (strcmp(argv[1], "within") == 0)
        used_within();
    else
        lost(strcmp(argv[1], "jumps") == 0);
    return 0;
}
