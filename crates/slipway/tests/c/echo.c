/* A server and a client on a local socket in one program, for the sanitizers: two threads, memory of both, many exchanges. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int listener;

static void *serve(void *unused)
{
    char *bytes = malloc(16);
    int connection = accept(listener, NULL, NULL);
    ssize_t count;
    (void)unused;
    while ((count = read(connection, bytes, 16)) > 0)
        if (write(connection, bytes, (size_t)count) != count)
            abort();
    close(connection);
    free(bytes);
    return NULL;
}

int main(int count, char **arguments)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char bytes[16] = "hello";
    pthread_t server;
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    if (count != 2)
        return 2;
    strncpy(address.sun_path, arguments[1], sizeof address.sun_path - 1);
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (void *)&address, sizeof address) != 0 || listen(listener, 1) != 0)
        return 3;
    if (pthread_create(&server, NULL, serve, NULL) != 0 || connect(client, (void *)&address, sizeof address) != 0)
        return 4;
    for (int turn = 0; turn < 1000; turn++) {
        size_t got = 0;
        if (write(client, bytes, sizeof bytes) != sizeof bytes)
            return 5;
        while (got < sizeof bytes) {
            ssize_t more = read(client, bytes + got, sizeof bytes - got);
            if (more <= 0)
                return 6;
            got += (size_t)more;
        }
    }
    close(client);
    close(listener);
    pthread_join(server, NULL);
    puts("done");
    return 0;
}
