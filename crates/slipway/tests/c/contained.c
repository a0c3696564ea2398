/* Tries to reach what is outside of a contained command: prints each way that was refused, and exits with 1 if one was not.
 * contained TREE PID SOCKET ABSTRACT-SOCKET FIFO FILE */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

static int failed;
static char path[200], host[200];
static volatile int done;

static void refused(const char *what, long result, int error) {
  int is_right = result < 0 && errno == error;
  printf("%s: %s\n", what, is_right ? "refused" : result < 0 ? strerror(errno) : "NOT REFUSED");
  failed |= !is_right;
}

/* The kernel may read another path than the server did. */
static void *flip(void *proc) {
  while (!done) {
    memcpy(path, host, sizeof path);
    memcpy(path, proc, sizeof path);
  }
  return 0;
}

static int turned, ours, theirs;

/* The number may be another file's than the server saw. */
static void *turn(void *unused) {
  (void)unused;
  while (!done) {
    dup2(theirs, turned);
    dup2(ours, turned);
  }
  return 0;
}

static int local(const char *name, int abstract, socklen_t *len, struct sockaddr_un *address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  strcpy(address->sun_path + abstract, name);
  *len = 2 + abstract + strlen(name);
  return socket(AF_UNIX, SOCK_STREAM, 0);
}

int main(int argc, char **argv) {
  if (argc != 7) return 2;
  pid_t other = atoi(argv[2]);
  struct sockaddr_un address;
  socklen_t len;
  char byte = 0;
  struct iovec here = {&byte, 1}, there = {(void *)&byte, 1};

  refused("signal", kill(other, 0), EPERM);
  refused("trace", ptrace(PTRACE_ATTACH, other, 0, 0), EPERM);
  refused("memory", process_vm_readv(other, &here, 1, &there, 1, 0), EPERM);
  struct rlimit none = {0, 0};
  char name[100];
  snprintf(name, sizeof name, "/proc/%d/mem", other);
  refused("memory by name", open(name, O_RDWR), EACCES);
  snprintf(name, sizeof name, "/proc/%d/fd/0", other);
  refused("descriptor of another", open(name, O_RDONLY), EACCES);
  snprintf(name, sizeof name, "/proc/%d/exe", other);
  refused("program of another", readlink(name, path, sizeof path), EACCES);
  snprintf(name, sizeof name, "/proc/%d/cwd", other);
  refused("working directory of another", chdir(name), EACCES);
  /* The server opens by a relative name, and nothing more with O_PATH. */
  snprintf(name, sizeof name, "/proc/%d", other);
  int process = open(name, O_RDONLY | O_DIRECTORY);
  if (process < 0 || chdir(name)) {
    perror("directory of another");
    failed = 1;
  }
  refused("environment by a relative name", open("environ", O_PATH), EACCES);
  refused("map by a relative name", open("maps", O_PATH | O_NOFOLLOW), EACCES);
  refused("memory by a relative name", open("mem", O_PATH | O_RDWR), EACCES);
  refused("environment by its directory", openat(process, "environ", O_PATH), EACCES);
  close(process);
  if (chdir(argv[1])) return 2;
  snprintf(name, sizeof name, "/proc/%d/environ", other);
  process = open(name, O_PATH);
  snprintf(name, sizeof name, "/proc/self/fd/%d", process);
  refused("environment by O_PATH", open(name, O_RDONLY), EACCES);
  close(process);
  refused("limits", prlimit(other, RLIMIT_CPU, &none, NULL), EPERM);
  int fd = local(argv[3], 0, &len, &address);
  refused("socket of a name", connect(fd, (struct sockaddr *)&address, len), EACCES);
  fd = local(argv[4], 1, &len, &address);
  refused("abstract socket", connect(fd, (struct sockaddr *)&address, len), ECONNREFUSED);
  refused("pipe of a name", open(argv[5], O_RDWR), EACCES);
  refused("datagrams", socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), EACCES);
  int pair[2];
  refused("pair of datagrams", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), EACCES);
  refused("raw socket", socket(AF_UNIX, SOCK_RAW, 0), EACCES);
  refused("raw pair", socketpair(AF_UNIX, SOCK_RAW, 0, pair), EACCES);
  refused("shared memory", shmget(1, 4096, IPC_CREAT | 0600), EPERM);
  refused("typing", ioctl(0, TIOCSTI, &byte), EPERM);
  struct timeval now = {0, 0};
  refused("clock", settimeofday(&now, NULL), EPERM);

  /* What it makes itself, it may use. */
  fd = local("own-socket", 0, &len, &address);
  int client = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(fd, (struct sockaddr *)&address, len) || listen(fd, 1) || connect(client, (struct sockaddr *)&address, len)) {
    perror("own socket");
    failed = 1;
  }
  FILE *own = fopen("/proc/self/comm", "r+");
  if (!own || fputs("renamed", own) < 0 || fclose(own) != 0) {
    perror("own name");
    failed = 1;
  }

  snprintf(name, sizeof name, "/proc/%d/mem", getppid());
  refused("server's memory", open(name, O_RDWR), EACCES);
  /* A device by another name, which only root makes. */
  if (mknod("terminal", S_IFCHR | 0600, makedev(4, 1)) == 0) {
    refused("device", open("terminal", O_WRONLY | O_NOCTTY), EACCES);
  }
  /* Where a page lies in the machine's memory, the kernel tells one who opens this with capabilities. */
  unsigned long long where = ~0ull;
  if (chdir("/proc/self")) return 2;
  fd = open("pagemap", O_RDONLY);
  if (pread(fd, &where, sizeof where, (unsigned long)&where / sysconf(_SC_PAGESIZE) * sizeof where) != sizeof where || where << 9) {
    puts("it is told where its memory lies");
    failed = 1;
  }
  close(fd);
  if (chdir(argv[1])) return 2;
  char status[4096] = "";
  fd = open("/proc/self/status", O_RDONLY);
  if (read(fd, status, sizeof status - 1) <= 0 || !strstr(status, "CapPrm:\t0000000000000000")) {
    puts("it has capabilities");
    failed = 1;
  }

  static char proc[200] = "/proc/self/comm";
  snprintf(host, sizeof host, "%s/file", argv[1]);
  pthread_t thread;
  pthread_create(&thread, NULL, flip, proc);
  for (int i = 0; i < 20000; i++) {
    int flags = i % 2 ? O_RDWR : O_WRONLY | O_TRUNC;
    fd = open(path, flags);
    /* In the layer it may. */
    if (fd >= 0 && write(fd, "changed", 7) < 0) perror("write");
    if (fd >= 0) close(fd);
    if (i % 16 == 0) mknod(path, S_IFREG | 0600, 0);
  }
  done = 1;
  pthread_join(thread, NULL);

  done = 0;
  theirs = open(argv[6], O_RDONLY);
  ours = open("own-file", O_RDWR | O_CREAT, 0600);
  turned = dup(ours);
  if (theirs < 0 || ours < 0 || turned < 0) perror("open");
  pthread_create(&thread, NULL, turn, NULL);
  struct timespec times[2] = {{1, 0}, {1, 0}};
  for (int i = 0; i < 20000; i++) {
    fchmod(turned, 0777);
    if (i % 4 == 0) futimens(turned, times);
    if (i % 4 == 1) fsetxattr(turned, "user.new", "1", 1, 0);
  }
  done = 1;
  pthread_join(thread, NULL);
  return failed;
}
