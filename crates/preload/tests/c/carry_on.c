/* A program without hooks that goes on with a connection: it sends what it is told, then reads to the
 * end of the stream, and reports the bytes and the descriptors that came on standard output. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: carry_on FD BYTES-TO-SEND BYTES-TO-READ\n");
        return 2;
    }
    int fd = atoi(argv[1]);
    size_t send_left = strtoul(argv[2], NULL, 10), read_left = strtoul(argv[3], NULL, 10), done = 0;
    if (getenv("LD_PRELOAD") != NULL)
        return 3;
    while (send_left > 0) {
        char bytes[512];
        size_t n = send_left < sizeof bytes ? send_left : sizeof bytes;
        for (size_t i = 0; i < n; i++)
            bytes[i] = (char)('A' + (done + i) % 26);
        ssize_t sent = write(fd, bytes, n);
        if (sent <= 0)
            return 4;
        done += (size_t)sent;
        send_left -= (size_t)sent;
    }
    while (read_left > 0) {
        char bytes[4096];
        union {
            struct cmsghdr header;
            char space[CMSG_SPACE(8 * sizeof(int))];
        } control;
        struct iovec part = { bytes, read_left < sizeof bytes ? read_left : sizeof bytes };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                                  .msg_controllen = sizeof control };
        ssize_t n = recvmsg(fd, &message, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 5;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c != NULL; c = CMSG_NXTHDR(&message, c)) {
            int count = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            for (int i = 0; i < count; i++) {
                int passed;
                struct stat status;
                memcpy(&passed, CMSG_DATA(c) + i * (int)sizeof(int), sizeof passed);
                if (fstat(passed, &status) != 0)
                    return 6;
                printf("[%lu]", (unsigned long)status.st_ino);
            }
        }
        fwrite(bytes, 1, (size_t)n, stdout);
        read_left -= (size_t)n;
    }
    return fflush(stdout) == 0 ? 0 : 7;
}
