//! Threads of tasks that share a process: whose they are, what is waited for at a task's end, and children of fork.

mod harness;

use harness::tasks::{run, start, task_of};
use harness::{Bench, Outcome};

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

/// What a task of `text` does alone.
fn alone(bench: &Bench, name: &str, text: &str) -> Outcome {
    let file = task_of(bench, name, &format!("{HEAD}{text}"), &[]);
    run(bench, &["--private", &file.display().to_string()])
}

#[test]
fn a_child_of_fork_ends_with_its_code_whichever_way() {
    let bench = Bench::new();
    let text = "static void *exits(void *code) { exit((int) (long) code); }\n\
        MACH_TASK_MAIN(argc, argv) { (void) argc; (void) argv; int status; pthread_t thread;\n\
        for (int how = 0; how < 4; how++) { pid_t child = fork();\n\
        if (child == 0) { if (how == 0) return 7; if (how == 1) exit(8);\n\
        if (how == 2) { pthread_create(&thread, NULL, exits, (void *) 9); pthread_join(thread, NULL); } _exit(10); }\n\
        waitpid(child, &status, 0); say(\"ended\", status); }\nreturn 0; }\n";
    let ended = alone(&bench, "forks", text);
    let wanted: String = [7, 8, 9, 10].map(|code| format!("ended {}\n", code << 8)).concat();
    assert_eq!((ended.code(), ended.stdout), (0, wanted), "{}", ended.stderr);
    bench.assert_nothing_left();
}

#[test]
fn a_child_of_fork_ends_although_other_threads_were_at_work_in_the_host() {
    let bench = Bench::new();
    let text = "static pthread_key_t key;\nstatic atomic_int done;\n\
        static void ends(void *unused) { (void) unused; }\n\
        static void *keeps(void *unused) { pthread_setspecific(key, &key); return unused; }\n\
        static void *noise(void *unused) { pthread_t thread; pthread_key_t other;\n\
        while (!atomic_load(&done)) { pthread_key_create(&other, ends); pthread_key_delete(other);\n\
        if (!pthread_create(&thread, NULL, keeps, NULL)) pthread_join(thread, NULL); }\nreturn unused; }\n\
        MACH_TASK_MAIN(argc, argv) { (void) argc; (void) argv; int status, right = 0; pthread_t threads[3];\n\
        pthread_key_create(&key, ends);\n\
        for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, noise, NULL);\n\
        for (int i = 0; i < 1000; i++) { pid_t child = fork();\n\
        if (child == 0) { pthread_key_create(&key, ends); exit(3); }\n\
        waitpid(child, &status, 0); right += status == 3 << 8; }\n\
        atomic_store(&done, 1);\nfor (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);\n\
        say(\"right\", right); return 0; }\n";
    let ended = alone(&bench, "forks", text);
    assert_eq!((ended.code(), ended.stdout.as_str()), (0, "right 1000\n"), "{ended:?}");
    bench.assert_nothing_left();
}

#[test]
fn the_entry_of_a_task_may_leave_by_pthread_exit() {
    let bench = Bench::new();
    // Its other thread, with a code and without.
    for code in [5, 0] {
        let text = format!(
            "#include <signal.h>\nstatic atomic_ulong gone;\n\
             static void left(void *unused) {{ (void) unused; atomic_store(&gone, 1); }}\n\
             static void *later(void *unused) {{ while (!atomic_load(&gone)) sched_yield();\n\
             say(\"goes on\", 1); if ({code}) exit({code}); return unused; }}\n\
             MACH_TASK_MAIN(argc, argv) {{ (void) argc; (void) argv; pthread_t thread; pthread_key_t key;\n\
             pthread_key_create(&key, left); pthread_setspecific(key, &key);\n\
             pthread_create(&thread, NULL, later, NULL); pthread_exit(NULL); }}\n"
        );
        let ended = alone(&bench, "leaves", &text);
        assert_eq!((ended.code(), ended.stdout.as_str(), ended.stderr.as_str()), (code, "goes on 1\n", ""), "{ended:?}");
    }
    bench.assert_nothing_left();
}

#[test]
fn the_entry_of_a_task_has_the_stack_of_a_programs_first_thread() {
    let bench = Bench::new();
    let text = "#include <sys/resource.h>\nMACH_TASK_MAIN(argc, argv) { (void) argc; (void) argv; struct rlimit limit;\n\
        pthread_attr_t attributes; size_t size;\n\
        getrlimit(RLIMIT_STACK, &limit); pthread_getattr_np(pthread_self(), &attributes);\n\
        pthread_attr_getstacksize(&attributes, &size);\n\
        say(\"as the limit\", size == (limit.rlim_cur == RLIM_INFINITY ? 8 << 20 : limit.rlim_cur)); return 0; }\n";
    let ended = alone(&bench, "deep", text);
    assert_eq!((ended.code(), ended.stdout.as_str()), (0, "as the limit 1\n"), "{ended:?}");
    bench.assert_nothing_left();
}

#[test]
fn a_thread_of_a_constructor_is_the_tasks() {
    let bench = Bench::new();
    let text = "static mach_port_t port;\nstatic atomic_int begun;\nstatic kern_return_t seen;\n\
        static void *works(void *unused) { mach_port_type_t type; seen = mach_port_type(mach_task_self(), port, &type);\n\
        atomic_store(&begun, 1); receive(port); say(\"ends\", 1); return unused; }\n\
        __attribute__((constructor)) static void begin(void) { pthread_t thread;\n\
        for (int i = 0; i < 30; i++) port = receive_right();\n\
        pthread_create(&thread, NULL, works, NULL); while (!atomic_load(&begun)) sched_yield(); }\n\
        __attribute__((destructor)) static void gone(void) { say(\"unloaded\", 1); }\n\
        MACH_TASK_MAIN(argc, argv) { (void) argc; (void) argv; say(\"seen\", seen); return 0; }\n";
    let mut system = beside_one_that_stays(&bench, text, "");
    assert_eq!(system.wait_line("seen"), "seen 0");
    system.wait_line("ends");
    system.wait_line("unloaded");
    system.terminate();
    bench.assert_nothing_left();
}

#[test]
fn exit_in_a_constructor_fails_the_load_and_in_a_destructor_ends_nothing() {
    let bench = Bench::new();
    let main = "MACH_TASK_MAIN(argc, argv) { (void) argc; (void) argv; return 0; }\n";
    let constructor = format!("__attribute__((constructor)) static void begin(void) {{ exit(9); }}\n{main}");
    let ended = alone(&bench, "eager", &constructor);
    assert_eq!(ended.code(), 126, "{ended:?}");
    assert!(ended.stderr.contains("eager.so: called exit(9) while it was loaded\n"), "{ended:?}");

    // The process is the same before and after both.
    let options = "restart = 'always'\npause = 0.0\nlongest-pause = 0.0\n\
        [task.eager]\nfile = 'eager.so'\nprocess = 'x'\nafter = ['stays']\n";
    let destructor = "__attribute__((destructor)) static void end(void) { say(\"unloaded in\", getpid()); exit(8); }\n";
    let mut system = beside_one_that_stays(&bench, &format!("{destructor}{main}"), options);
    let stays = system.wait_line("stays in");
    (0..5).for_each(|_| assert_eq!(system.wait_line("unloaded in").split(' ').nth(2), stays.split(' ').nth(2)));
    system.terminate();
    bench.assert_nothing_left();
}
