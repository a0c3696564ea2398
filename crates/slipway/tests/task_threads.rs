//! Threads of tasks that share a process: whose they are, what is waited for at a task's end, and children of fork.

mod harness;

use harness::Bench;
use harness::tasks::{start, task_of};

/// What the tasks here begin with.
const HEAD: &str = "#include <mach/mach.h>\n#include <mach/task_main.h>\n#include <pthread.h>\n#include <stdatomic.h>\n\
    #include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
    static inline mach_port_t receive_right(void) { mach_port_t port = 0;\n\
    mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port); return port; }\n\
    static inline int receive(mach_port_t port) { char message[256];\n\
    return mach_msg((mach_msg_header_t *) message, MACH_RCV_MSG, 0, sizeof message, port, 0, 0); }\n\
    static inline void say(const char *what, int n) { printf(\"%s %d\\n\", what, n); fflush(stdout); }\n";

/// A task that stays as long as its process.
const STAYS: &str =
    "MACH_TASK_MAIN(argc, argv) { (void) argc; (void) argv; say(\"stays in\", getpid()); return receive(receive_right()); }\n";

/// The process of two tasks, one of `text` and one that stays.
fn beside_one_that_stays(bench: &Bench, text: &str, options: &str) -> harness::Running {
    task_of(bench, "stays", &format!("{HEAD}{STAYS}"), &[]);
    task_of(bench, "it", &format!("{HEAD}{text}"), &[]);
    let text = format!(
        "[task.stays]\nfile = 'stays.so'\nprocess = 'x'\n[task.it]\nfile = 'it.so'\nprocess = 'x'\nafter = ['stays']\n{options}"
    );
    start(bench, &text)
}

#[test]
fn the_stack_of_a_thread_that_calls_exit_is_its_own_as_long_as_others_use_it() {
    let bench = Bench::new();
    let text = "static mach_port_t port;\nstatic char *lent;\n\
        static void *noise(void *unused) { char room[1 << 20]; memset(room, 'n', sizeof room);\n\
        *(volatile char *) room; return unused; }\n\
        static void *uses(void *unused) {\n\
        mach_port_type_t type; pthread_t thread; int changed = 0;\n\
        while (mach_port_type(mach_task_self(), port, &type) == KERN_SUCCESS) sched_yield();\n\
        for (int i = 0; i < 200; i++) { pthread_create(&thread, NULL, noise, NULL); pthread_join(thread, NULL); }\n\
        for (int i = 0; i < 100000; i++) changed += lent[i] != 'x';\n\
        say(\"changed\", changed); return unused; }\n\
        static void *exits(void *unused) { char room[100000]; pthread_t thread;\n\
        memset(room, 'x', sizeof room); lent = room; pthread_create(&thread, NULL, uses, NULL); exit(3); return unused; }\n\
        MACH_TASK_MAIN(argc, argv) { (void) argc; (void) argv; pthread_t thread; port = receive_right();\n\
        pthread_create(&thread, NULL, exits, NULL); return receive(port) != 0; }\n";
    let mut system = beside_one_that_stays(&bench, text, "");
    assert_eq!(system.wait_line("changed"), "changed 0");
    system.terminate();
    bench.assert_nothing_left();
}
