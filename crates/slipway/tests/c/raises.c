/* A library between the hooks and the C library. Its poll, once armed, raises SIGUSR1 and has found nothing, as when a
   bell was meant for the hooks alone; and it notes the next one that would sleep. */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { IDLE, ARMED, RAISED, SLEPT };
volatile int raises;

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    struct timespec time = {timeout / 1000, timeout % 1000 * 1000000L};

    if (timeout != 0 && raises == ARMED) {
        for (nfds_t i = 0; i < count; i++)
            fds[i].revents = 0;
        raises = RAISED;
        raise(SIGUSR1);
        return 0;
    }
    if (timeout != 0 && raises == RAISED) {
        raises = SLEPT;
        fds[0].revents = POLLIN;
        return 1;
    }
    return (int) syscall(SYS_ppoll, fds, count, timeout < 0 ? NULL : &time, NULL, 8);
}
