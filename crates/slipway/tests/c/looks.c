/* What a program may do with names beside giving good ones: prints what it got, the same with an emulation library and without. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#include <dirent.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile sig_atomic_t handled;

#define TRY(call) \
  do { \
    errno = 0; \
    long got = (long)(call); \
    printf("%s: %ld %s\n", #call, got, got < 0 ? strerrorname_np(errno) : ""); \
  } while (0)

static void on_signal(int signal) {
  struct stat st;
  (void)signal;
  if (stat("/etc/passwd", &st) == 0 && stat("/etc/none", &st) == -1 && access("file", R_OK) == 0) handled++;
}

static void *look(void *count) {
  for (int i = 0; i < 3000; i++) {
    struct stat st;
    /* The working directory is one of two, and each has the file. */
    if (stat("file", &st) == 0) ++*(int *)count;
    int fd = open("file", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) close(fd);
  }
  return 0;
}

static int spawn_in(const char *dir, const char *program) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, dir);
  posix_spawn_file_actions_addopen(&actions, 0, "file", O_RDONLY, 0);
  char *argv[] = {(char *)program, NULL};
  pid_t pid;
  int status = -1;
  if (posix_spawn(&pid, program, &actions, NULL, argv, environ) == 0) waitpid(pid, &status, 0);
  posix_spawn_file_actions_destroy(&actions);
  return status;
}

int main(int argc, char **argv) {
  struct stat st;
  long page = sysconf(_SC_PAGESIZE);
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc != 2 || chdir(argv[1]) != 0) return 1;
  char *memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(memory + page, page);
  char *end = memory + page - 4;
  memcpy(end, "file", 4);
  char *whole = memory + page - 5;
  mprotect(memory + 2 * page, page, PROT_NONE);
  char *hidden = memory + 2 * page, *none = NULL, *high = (char *)-2L;
  struct stat *bad = (struct stat *)hidden;

  TRY(access(end, F_OK));
  TRY(access(hidden, F_OK));
  TRY(stat(none, &st));
  TRY(open(high, O_RDONLY));
  TRY(lstat(end, &st));
  TRY(syscall(SYS_statx, AT_FDCWD, hidden, 0, STATX_ALL, &st));
  TRY(readlink(hidden, (char *)&st, 10));
  memcpy(whole, "file", 5);
  TRY(access(whole, F_OK));
  TRY(stat(whole, bad));
  TRY(readlink("link", hidden, 10));
  TRY(fstat(0, bad));
  TRY(fstat(999, &st));
  TRY(linkat(-1, "", AT_FDCWD, "no", AT_EMPTY_PATH));
  struct sockaddr_un at = {AF_UNIX, "no"};
  TRY(bind(-1, (struct sockaddr *)&at, sizeof at));
  TRY(connect(-1, (struct sockaddr *)&at, sizeof at));
  TRY(getdents64(-1, &st, sizeof st));
  TRY(fchmod(-1, 0));
  TRY(fchdir(-1));
  TRY(inotify_add_watch(-1, "file", IN_OPEN));
  TRY(open("", O_RDONLY));
  TRY(stat("", &st));
  TRY(fstatat(999, "file", &st, 0));
  TRY(fstatat(AT_FDCWD, "file", &st, 0x40000000));
  TRY(syscall(SYS_open, "file", O_RDONLY | O_CLOEXEC) > 2);
  TRY(syscall(SYS_newfstatat, AT_FDCWD, "link", &st, 0));

  char *longest = malloc(5000);
  memset(longest, 'x', 4999);
  longest[4999] = 0;
  TRY(stat(longest, &st));
  longest[300] = 0;
  TRY(stat(longest, &st));
  for (int i = 0; i < 4990; i += 2) memcpy(longest + i, "./", 2);
  strcpy(longest + 600, "file");
  TRY(stat(longest, &st));

  /* A child in this memory changes its own directory. */
  TRY(spawn_in("sub", "/bin/cat"));
  TRY(access("file", R_OK));
  TRY(access("only-here", R_OK));
  pid_t child = vfork();
  if (child == 0) {
    int code = chdir("sub") == 0 && access("only-there", F_OK) == 0 && access("only-here", F_OK) != 0 ? 7 : 8;
    _exit(code);
  }
  int status;
  waitpid(child, &status, 0);
  TRY(WEXITSTATUS(status));
  TRY(access("only-here", R_OK));

  /* The directory changes under threads. */
  pthread_t threads[3];
  int counts[3] = {0};
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, look, &counts[i]);
  int moves = 0;
  for (int i = 0; i < 100; i++)
    moves += chdir("sub") == 0 && access("only-there", F_OK) == 0 && chdir("..") == 0 && access("only-here", F_OK) == 0;
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  TRY(moves);
  TRY(counts[0] + counts[1] + counts[2]);

  /* Handlers look, on a small stack, while the program does. */
  stack_t small = {.ss_sp = malloc(16384), .ss_size = 16384};
  sigaltstack(&small, NULL);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  struct itimerspec often = {{0, 200000}, {0, 200000}};
  timer_settime(timer, 0, &often, NULL);
  int sound = 1;
  while (handled < 300) {
    if (stat("file", &st) != 0 || stat("/etc/none", &st) != -1 || errno != ENOENT) sound = 0;
    int fd = open("/etc/passwd", O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0 || close(fd) != 0) sound = 0;
  }
  timer_delete(timer);
  TRY(sound);

  /* A filter of the program's own, which knows the calls that it makes and no others. */
  struct sock_filter only[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof only / sizeof *only, only};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  TRY(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
  TRY(access("only-here", R_OK));
  TRY(stat("only-here", &st));
  return 0;
}
