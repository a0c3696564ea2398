/* Calls that no signal interrupts on the host, while a timer sends one every 200 microseconds: says which were interrupted. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

static volatile sig_atomic_t signals;

static void note(int signal)
{
    signals += signal == SIGALRM;
}

#define TRY(call) do { if ((call) < 0 && errno == EINTR) puts("interrupted: " #call); } while (0)

int main(void)
{
    struct sigaction action = {.sa_handler = note};
    struct itimerval every = {{0, 200}, {0, 200}};
    struct timespec times[2] = {{1, 0}, {2, 0}};
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    struct stat stat_buffer;
    struct statfs statfs_buffer;
    char text[600];
    int file = open("file", O_CREAT | O_RDWR, 0600), read_only = open("host", O_RDONLY);

    umask(022);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < 500; i++) {
        TRY(fchmod(file, 0600)); TRY(fchmod(read_only, 0640)); TRY(chmod("host", 0644)); TRY(fchmodat(AT_FDCWD, "host", 0600, 0));
        TRY(fchown(file, -1, -1)); TRY(chown("file", -1, -1)); TRY(lchown("file", -1, -1)); TRY(fchownat(AT_FDCWD, "file", -1, -1, 0));
        TRY(futimens(read_only, times)); TRY(utimensat(AT_FDCWD, "host", times, 0)); TRY(truncate("file", 1));
        TRY(mkdir("made", 0700)); TRY(rename("made", "dir")); TRY(chdir("dir")); TRY(chdir("..")); TRY(rmdir("dir"));
        TRY(symlink("file", "link")); TRY(unlink("link")); TRY(link("file", "link")); TRY(unlinkat(AT_FDCWD, "link", 0));
        TRY(mknod("fifo", S_IFIFO | 0600, 0)); TRY(renameat(AT_FDCWD, "fifo", AT_FDCWD, "pipe")); TRY(stat("pipe", &stat_buffer));
        TRY(access("pipe", F_OK)); TRY(unlink("pipe")); TRY(statfs("file", &statfs_buffer)); TRY(setxattr("file", "user.a", "b", 1, 0));
        TRY(getcwd(text, sizeof text) ? 0 : -1); TRY(readlink("/proc/self/exe", text, sizeof text)); TRY(execl("none", "none", NULL));
        int local = socket(AF_UNIX, SOCK_STREAM, 0);
        socklen_t len = sizeof address;
        TRY(bind(local, (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path) + 7));
        TRY(getsockname(local, (struct sockaddr *)text, &len)); TRY(unlink("socket"));
        close(local);
        mode_t mask = umask(022);
        if (mask != 022)
            printf("umask %o\n", mask);
    }
    puts(signals > 100 ? "signals came" : "no signals");
    return 0;
}
