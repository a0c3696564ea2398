/* A program of the Unix server's, with stubs that mig made of <servers/unix.defs>: a task that works in the directory that it is given. */
#include <fcntl.h>
#include <mach/bootstrap.h>
#include <mach/mach.h>
#include <mach/mach_error.h>
#include <mach/task_main.h>
#include <servers/bootstrap.h>
#include <stdio.h>
#include <string.h>

#include "unix.h"
#include "unix_signalsServer.h"

#define MUST(call)                                                                                            \
    do {                                                                                                      \
        kern_return_t code = (call);                                                                          \
        if (code != KERN_SUCCESS) {                                                                           \
            fprintf(stderr, "%s: %s\n", #call,                                                                \
                    UNIX_IS_ERROR(code) ? strerror(UNIX_ERRNO(code)) : mach_error_string(code));              \
            return 1;                                                                                         \
        }                                                                                                     \
    } while (0)

static int told;

kern_return_t unix_signal(mach_port_t port, int signal, int sender) {
    (void) port;
    told = signal * 1000 + sender;
    return KERN_SUCCESS;
}

MACH_TASK_MAIN(argc, argv) {
    mach_port_t first, signals, process;
    int pid, fd, count;
    mach_port_t names = MACH_PORT_NULL;
    MUST(task_get_bootstrap_port(mach_task_self(), &names));
    MUST(bootstrap_look_up(names, UNIX_SERVICE, &first));
    MUST(mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &signals));
    MUST(mach_port_insert_right(mach_task_self(), signals, signals, MACH_MSG_TYPE_MAKE_SEND));
    MUST(unix_fork(first, signals, &process, &pid));
    MUST(unix_chdir(process, argc > 1 ? argv[1] : "/"));

    MUST(unix_open(process, "written", O_CREAT | O_RDWR, 0640, &fd));
    MUST(unix_write(process, fd, "by a task\n", 10, &count));
    unix_data_t data;
    mach_msg_type_number_t size = 4;
    MUST(unix_pread(process, fd, 3, data, &size));
    unix_stat_t status;
    MUST(unix_fstat(process, fd, &status));
    printf("wrote %d, read '%.*s', size %d, mode %o\n", count, (int) size, data, (int) status.st_size, (unsigned) status.st_mode);

    kern_return_t code = unix_stat(process, "/proc", 0, &status);
    printf("/proc: %s\n", UNIX_IS_ERROR(code) ? strerror(UNIX_ERRNO(code)) : "there");

    MUST(unix_kill(process, pid, 10));
    union {
        mach_msg_header_t header;
        char room[256];
    } request, reply;
    MUST(mach_msg(&request.header, MACH_RCV_MSG, 0, sizeof request, signals, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL));
    if (!unix_signals_server(&request.header, &reply.header)) return 2;
    printf("signal: %s\n", told == 10000 + pid ? "10 of its own" : "another");
    return 0;
}
