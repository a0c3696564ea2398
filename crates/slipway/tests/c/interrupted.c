/* An X client that a signal reaches after poll has begun and before it sleeps: says how poll ended. */
#include <X11/Xlib.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

extern volatile int raises;
static volatile sig_atomic_t handled;

static void note(int signal)
{
    handled = signal;
}

int main(void)
{
    Display *display = XOpenDisplay(NULL);
    struct pollfd entry = {.events = POLLIN};
    int count;

    if (!display || signal(SIGUSR1, note) == SIG_ERR)
        return 2;
    for (int i = 0; i < 50; i++)
        XSync(display, False);
    entry.fd = ConnectionNumber(display);
    puts("connected");
    fflush(stdout);
    if (getchar() == EOF)
        return 2;
    raises = 1;
    count = poll(&entry, 1, -1);
    printf("poll %d, %s, signal %s, %s\n", count, count < 0 && errno == EINTR ? "EINTR" : "no error",
           handled == SIGUSR1 ? "handled" : "not handled", raises == 2 ? "awake" : "it would have slept");
    return 0;
}
