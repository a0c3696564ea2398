/* An X client with no library: linked statically it enters the kernel by itself, so hooks never
   see it. Asks for the input focus 1,000 times, says "ready", asks once more when its input ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int server;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void put(const void *bytes, size_t size)
{
    for (const char *at = bytes; size > 0;) {
        ssize_t n = write(server, at, size);
        if (n <= 0)
            fail("write to the server");
        at += n;
        size -= n;
    }
}

static void get(void *bytes, size_t size)
{
    for (char *at = bytes; size > 0;) {
        ssize_t n = read(server, at, size);
        if (n <= 0)
            fail("read from the server");
        at += n;
        size -= n;
    }
}

static void ask(int times)
{
    unsigned char request[4] = {43, 0, 1, 0}; /* GetInputFocus, one word long */
    unsigned char reply[32];

    for (int i = 0; i < times; i++) {
        put(request, sizeof request);
        get(reply, sizeof reply);
        if (reply[0] != 1) {
            fprintf(stderr, "answer %d is of kind %d, not a reply\n", i, reply[0]);
            exit(1);
        }
    }
}

int main(void)
{
    const char *display = getenv("DISPLAY");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    /* 'l': little-endian; protocol 11.0; no authorization */
    unsigned char setup[12] = {'l', 0, 11, 0};
    unsigned char head[8], *rest;
    char byte;

    if (!display || display[0] != ':')
        return 2;
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/.X11-unix/X%d", atoi(display + 1));
    server = socket(AF_UNIX, SOCK_STREAM, 0);
    if (server < 0 || connect(server, (struct sockaddr *)&address, sizeof address) < 0)
        fail(address.sun_path);
    put(setup, sizeof setup);
    get(head, sizeof head);
    if (head[0] != 1) {
        fprintf(stderr, "the server refused the connection: %d\n", head[0]);
        return 1;
    }
    rest = malloc(4 * (head[6] | head[7] << 8));
    get(rest, 4 * (head[6] | head[7] << 8));
    ask(1000);
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
    ask(1);
    puts("done");
    return 0;
}
