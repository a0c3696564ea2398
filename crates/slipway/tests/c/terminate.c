/* An X client that has the server work, and so many microseconds later sends it SIGTERM: terminate PID MICROSECONDS.
   Says "sent", and stays connected until its input ends. */
#include <X11/Xlib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
    Display *display = XOpenDisplay(NULL);
    double until;

    if (argc != 3 || !display)
        return 2;
    for (int i = 0; i < 50; i++)
        XSync(display, False);
    for (until = now() + atof(argv[2]); now() < until;)
        ;
    if (kill(atoi(argv[1]), SIGTERM) != 0)
        return 1;
    puts("sent");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
