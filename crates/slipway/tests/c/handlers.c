/* An X client that sets signal handlers and asks for them, some before it has its connection: what is told is what was set,
   and they are called with what they ask for. */
#define _GNU_SOURCE
#include <X11/Xlib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t plain, full;

static void on_plain(int signal)
{
    plain += signal;
}

static void on_full(int signal, siginfo_t *info, void *context)
{
    full += signal == SIGUSR2 && info->si_signo == SIGUSR2 && context != NULL;
}

#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); return 1; } } while (0)

int main(void)
{
    struct sigaction set, old, now;

    /* A program that nohup(1) runs starts with this one ignored. */
    CHECK(signal(SIGHUP, SIG_DFL) != SIG_ERR);
    CHECK(signal(SIGUSR1, on_plain) == SIG_DFL && signal(SIGHUP, on_plain) == SIG_DFL);
    CHECK(XOpenDisplay(NULL) != NULL);
    CHECK(signal(SIGUSR1, on_plain) == on_plain && signal(SIGHUP, SIG_IGN) == on_plain);
    CHECK(raise(SIGUSR1) == 0 && plain == SIGUSR1);
    CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == on_plain && now.sa_flags & SA_RESTART);
    CHECK(signal(SIGUSR1, SIG_IGN) == on_plain && raise(SIGUSR1) == 0 && plain == SIGUSR1);
    CHECK(signal(SIGUSR1, SIG_DFL) == SIG_IGN);
    CHECK(signal(SIGKILL, on_plain) == SIG_ERR && signal(0, on_plain) == SIG_ERR && signal(99, on_plain) == SIG_ERR);

    memset(&set, 0, sizeof set);
    set.sa_sigaction = on_full;
    set.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaddset(&set.sa_mask, SIGHUP);
    CHECK(sigaction(SIGUSR2, &set, &old) == 0 && old.sa_handler == SIG_DFL);
    CHECK(raise(SIGUSR2) == 0 && full == 1);
    CHECK(sigaction(SIGUSR2, NULL, &now) == 0 && now.sa_sigaction == on_full && sigismember(&now.sa_mask, SIGHUP));
    CHECK((now.sa_flags & (SA_SIGINFO | SA_NODEFER | SA_RESTART)) == (SA_SIGINFO | SA_NODEFER));
    CHECK(sigaction(SIGKILL, &set, NULL) != 0 && sigaction(SIGUSR2, NULL, NULL) == 0);

    /* A handler for one time is gone after it. */
    set.sa_handler = on_plain;
    set.sa_flags = SA_RESETHAND;
    CHECK(sigaction(SIGUSR2, &set, &old) == 0 && old.sa_sigaction == on_full && old.sa_flags & SA_SIGINFO);
    CHECK(raise(SIGUSR2) == 0 && plain == SIGUSR1 + SIGUSR2 && full == 1);
    CHECK(sigaction(SIGUSR2, NULL, &now) == 0 && now.sa_handler == SIG_DFL);

    /* What another function gives as the handler before can be set again. */
    CHECK(signal(SIGUSR1, on_plain) == SIG_DFL);
    CHECK(signal(SIGUSR1, sysv_signal(SIGUSR1, SIG_IGN)) == SIG_IGN);
    CHECK(raise(SIGUSR1) == 0 && plain == 2 * SIGUSR1 + SIGUSR2);
    CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == on_plain);
    puts("done");
    return 0;
}
