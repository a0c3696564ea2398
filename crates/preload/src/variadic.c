/* Hooks on execl, execlp and execle: collects the arguments and calls the hooks on execv, execvpe and
 * execve. These three can't be written in Rust, which has no variable arguments of its own. */
#define _GNU_SOURCE
#include <alloca.h>
#include <stdarg.h>
#include <stddef.h>

int slipway_execve(const char *path, char *const argv[], char *const envp[]);
int slipway_execvpe(const char *file, char *const argv[], char *const envp[]);
extern char **environ;

static size_t count(va_list list)
{
    va_list copy;
    size_t n = 0;
    va_copy(copy, list);
    while (va_arg(copy, char *) != NULL)
        n++;
    va_end(copy);
    return n;
}

/* The arguments up to and including the null pointer, on the caller's stack: after fork, in a
 * program with threads, nothing may be allocated. */
#define COLLECT(first, list, argv)                                        \
    do {                                                                  \
        size_t n_ = (first) == NULL ? 0 : count(list) + 1;                \
        (argv) = alloca((n_ + 1) * sizeof *(argv));                       \
        (argv)[0] = (char *)(first);                                      \
        for (size_t i_ = 1; i_ <= n_; i_++)                               \
            (argv)[i_] = va_arg(list, char *);                            \
    } while (0)

__attribute__((visibility("default"))) int slipway_c_execl(const char *path, const char *arg, ...)
{
    char **argv;
    va_list list;
    va_start(list, arg);
    COLLECT(arg, list, argv);
    va_end(list);
    return slipway_execve(path, argv, environ);
}

__attribute__((visibility("default"))) int slipway_c_execlp(const char *file, const char *arg, ...)
{
    char **argv;
    va_list list;
    va_start(list, arg);
    COLLECT(arg, list, argv);
    va_end(list);
    return slipway_execvpe(file, argv, environ);
}

__attribute__((visibility("default"))) int slipway_c_execle(const char *path, const char *arg, ...)
{
    char **argv;
    char **envp;
    va_list list;
    va_start(list, arg);
    COLLECT(arg, list, argv);
    envp = va_arg(list, char **);
    va_end(list);
    return slipway_execve(path, argv, envp);
}
