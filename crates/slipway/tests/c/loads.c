/* Loads libraries by their paths, and prints what each says; `filtered` comes before those that are loaded under a filter which kills the process
 * for a call that a loader has no need of. */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static int filter(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof code[0], code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int count, char **args) {
  /* What is loaded after the C library, by its name alone. */
  printf("%d ", dlopen("libm.so.6", RTLD_NOW) != 0);
  for (int i = 1; i < count; i++) {
    if (!strcmp(args[i], "filtered")) {
      if (filter()) return 2;
      continue;
    }
    void *library = dlopen(args[i], RTLD_NOW);
    int (*says)(void) = library ? (int (*)(void))dlsym(library, "says") : 0;
    printf("%d ", says ? says() : -1);
  }
  puts("");
  return 0;
}
