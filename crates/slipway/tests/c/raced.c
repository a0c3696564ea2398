/* Opens a file of the layer's to write, by the emulation library, while its directory becomes a link that leads to the host: another process
 * does that when the library is about to open it. In a directory with `d/file` and `other/file`, of which the first is to be made in the layer. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static int put(const char *name, const char *text, size_t len) {
  int fd = open(name, O_WRONLY);
  return fd >= 0 && write(fd, text, len) == (ssize_t)len && close(fd) == 0;
}

int main(int argc, char **argv) {
  /* Where the link leads to, from the root on: in the layer's own directory it leads there, too. */
  if (argc != 2) return 4;
  /* Copied into the layer, so that the library opens it the next time. */
  if (!put("d/file", "one", 3)) return 1;
  pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    _exit(put("d/file", "two", 3) ? 0 : 2);
  }
  int status, changed = 0;
  waitpid(child, &status, 0);
  ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  while (ptrace(PTRACE_SYSCALL, child, 0, 0) == 0 && waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    struct user_regs_struct regs;
    if (WSTOPSIG(status) != (SIGTRAP | 0x80) || ptrace(PTRACE_GETREGS, child, 0, &regs) != 0) continue;
    if (regs.orig_rax != SYS_openat2 || changed) continue;
    /* It is about to be opened. */
    if (rename("d", "was") != 0 || symlink(argv[1], "d") != 0) return 3;
    changed = 1;
  }
  char text[8] = "";
  int fd = open("other/file", O_RDONLY);
  long len = read(fd, text, sizeof text - 1);
  printf("%d %d %d %ld %s\n", changed, WIFEXITED(status), WEXITSTATUS(status), len, text);
  return 0;
}
