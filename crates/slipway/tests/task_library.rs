//! What tasks of one process share of the C library: values of threads, streams, and the loader.

mod harness;

use harness::tasks::{command, run, shared, start, task_of};
use harness::{Bench, Running};

/// What the tasks here begin with.
const HEAD: &str = "#include <mach/bootstrap.h>\n#include <mach/mach.h>\n#include <mach/task_main.h>\n#include <mach/trap.h>\n\
    #include <pthread.h>\n#include <stdatomic.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n\
    static inline mach_port_t receive_right(void) { mach_port_t port = 0;\n\
    mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port); return port; }\n\
    static inline int receive(mach_port_t port) { char message[256];\n\
    return mach_msg((mach_msg_header_t *) message, MACH_RCV_MSG, 0, sizeof message, port, 0, 0); }\n\
    static inline void say(const char *what, int n) { printf(\"%s %d\\n\", what, n); fflush(stdout); }\n";

/// A server whose routine does `work`, and that ends with its first call.
fn server(work: &str) -> String {
    format!(
        "{HEAD}{work}static atomic_int called;\n\
         static kern_return_t routine(mach_port_t port, void *a, void *c) {{ (void) port; (void) a; (void) c; work();\n\
         atomic_store(&called, 1); return 0; }}\n\
         static const struct mach_trap_entry entries[] = {{{{routine, 42}}}};\n\
         static const mach_trap_table_t table = {{MACH_TRAP_VERSION, 5000, 1, entries, NULL}};\n\
         __attribute__((destructor)) static void gone(void) {{ say(\"unloaded\", 1); }}\n\
         MACH_TASK_MAIN(argc, argv) {{ (void) argc; (void) argv; mach_port_t port = receive_right();\n\
         mach_port_insert_right(mach_task_self(), port, port, MACH_MSG_TYPE_MAKE_SEND);\n\
         mach_port_register_traps(mach_task_self(), port, &table, MACH_TRAP_CONCURRENT);\n\
         bootstrap_register(MACH_PORT_NULL, \"service\", port);\n\
         while (!atomic_load(&called)) sched_yield();\nreturn 0; }}\n"
    )
}

/// A client that calls the service by a thread, which ends when it reads a line: the server's file is gone by then.
const CLIENT: &str = "static void *calls(void *unused) { mach_port_t port; kern_return_t code; char line[9];\n\
    while (bootstrap_look_up(MACH_PORT_NULL, \"service\", &port)) sched_yield();\n\
    say(\"called\", mach_trap(port, 5000, 42, NULL, &code)); return read(0, line, sizeof line) > 0 ? unused : NULL; }\n\
    MACH_TASK_MAIN(argc, argv) { (void) argc; (void) argv; pthread_t thread;\n\
    pthread_create(&thread, NULL, calls, NULL); pthread_join(thread, NULL); say(\"survived\", 1); return 0; }\n";

/// Has a client's thread end after the server's file, in one process.
fn thread_ends_after_the_file(bench: &Bench, work: &str, flags: &[&str]) {
    let server = task_of(bench, "server", &server(work), flags).display().to_string();
    let client = task_of(bench, "client", &format!("{HEAD}{CLIENT}"), &[]).display().to_string();
    let mut system = Running::start(command(bench, &["--private", &server, &client]));
    // The file may be gone before the thread, whose call has ended, has said so.
    let mut awaited = vec!["called 1", "unloaded 1"];
    while !awaited.is_empty() {
        let said = system.wait_line(" 1");
        awaited.retain(|line| said != *line);
    }
    system.say("go");
    system.wait_line("survived 1");
    system.succeed();
    bench.assert_nothing_left();
}

/// A value that a routine leaves with its caller's thread, and the function that ends it.
const VALUE: &str = "#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
    static pthread_key_t keys[70]; static pthread_once_t once = PTHREAD_ONCE_INIT;\n\
    static void ends(void *value) { puts(\"ends\"); free(value); }\n\
    static void make(void) { for (int i = 0; i < 70; i++) if (pthread_key_create(&keys[i], ends)) abort(); }\n\
    void touch(int n);\nvoid touch(int n) { pthread_once(&once, make); pthread_setspecific(keys[n], malloc(10)); }\n";

#[test]
fn a_thread_ends_after_a_library_that_left_a_value_with_it() {
    let bench = Bench::new();
    std::fs::write(bench.path("values.c"), VALUE).expect("a source file");
    shared(&bench.path("values.c"), &bench.path("libvalues.so"), &[]);
    let directory = bench.dir.path().display().to_string();
    let flags = ["-L", &directory, "-lvalues", &format!("-Wl,-rpath,{directory}")];
    let work = "extern void touch(int);\nstatic void work(void) { touch(0); }\n";
    thread_ends_after_the_file(&bench, work, &flags);
}

#[test]
fn a_thread_ends_after_a_file_with_many_values() {
    let bench = Bench::new();
    thread_ends_after_the_file(&bench, &format!("{VALUE}static void work(void) {{ touch(69); }}\n"), &[]);
}

#[test]
fn a_key_may_be_deleted_by_the_function_of_its_value() {
    let bench = Bench::new();
    let text = "static pthread_key_t key;\n\
        static void ends(void *value) { say(\"deleted\", pthread_key_delete(*(pthread_key_t *) value)); }\n\
        static void *keeps(void *unused) { pthread_setspecific(key, &key); return unused; }\n\
        MACH_TASK_MAIN(argc, argv) { (void) argc; (void) argv; pthread_t thread;\n\
        for (int i = 0; i < 3; i++) { pthread_key_create(&key, ends);\n\
        pthread_create(&thread, NULL, keeps, NULL); pthread_join(thread, NULL); }\nreturn 0; }\n";
    let file = task_of(&bench, "keys", &format!("{HEAD}{text}"), &[]);
    let ended = run(&bench, &["--private", &file.display().to_string()]);
    assert_eq!((ended.code(), ended.stdout.as_str()), (0, "deleted 0\n".repeat(3).as_str()), "{ended:?}");
    bench.assert_nothing_left();
}

#[test]
fn a_stream_that_is_read_keeps_no_task_from_ending_and_others_are_written_out() {
    let bench = Bench::new();
    let reader = "MACH_TASK_MAIN(argc, argv) { (void) argc; (void) argv; int ends[2]; if (pipe(ends)) return 1;\n\
        FILE *stream = fdopen(ends[0], \"r\"); say(\"reads\", 1); return getc(stream); }\n";
    task_of(&bench, "reader", &format!("{HEAD}{reader}"), &[]);
    let log = bench.path("log.txt").display().to_string();
    let short = format!(
        "{HEAD}__attribute__((destructor)) static void gone(void) {{ say(\"unloaded\", 1); }}\n\
         MACH_TASK_MAIN(argc, argv) {{ (void) argc; (void) argv; fputs(\"one line\\n\", fopen(\"{log}\", \"a\")); return 0; }}\n"
    );
    task_of(&bench, "short", &short, &[]);
    let text = "[task.reader]\nfile = 'reader.so'\nprocess = 'x'\n\
        [task.short]\nfile = 'short.so'\nprocess = 'x'\nafter = ['reader']\nrestart = 'always'\npause = 0.0\nlongest-pause = 0.0\n";
    let mut system = start(&bench, text);
    (0..5).for_each(|_| drop(system.wait_line("unloaded")));
    assert!(std::fs::read_to_string(log).expect("the log").starts_with(&"one line\n".repeat(5)));
    system.terminate();
    bench.assert_nothing_left();
}

#[test]
fn a_copy_that_was_kept_is_given_up_when_it_is_free() {
    let bench = Bench::new();
    // Each keeps its own file open, and closes that of the one before.
    let text = "#include <dirent.h>\n#include <dlfcn.h>\n\
        static int copies(void) { int count = 0; char path[300], file[300]; struct dirent *entry;\n\
        DIR *all = opendir(\"/proc/self/fd\");\n\
        while ((entry = readdir(all))) { snprintf(path, sizeof path, \"/proc/self/fd/%s\", entry->d_name);\n\
        ssize_t length = readlink(path, file, sizeof file - 1);\n\
        if (length > 0) { file[length] = 0; count += strstr(file, \"slipway-task\") != NULL; } }\n\
        closedir(all); return count; }\n\
        MACH_TASK_MAIN(argc, argv) { if (argc > 1) return receive(receive_right()); (void) argv;\n\
        char text[32]; const char *before = getenv(\"BEFORE\"); Dl_info own; void *handle;\n\
        if (before && sscanf(before, \"%p\", &handle) == 1) dlclose(handle);\n\
        dladdr(copies, &own); handle = dlopen(own.dli_fname, RTLD_NOW);\n\
        snprintf(text, sizeof text, \"%p\", handle); setenv(\"BEFORE\", text, 1);\n\
        say(\"copies\", copies()); return 0; }\n";
    task_of(&bench, "it", &format!("{HEAD}{text}"), &[]);
    let text = "[task.first]\nfile = 'it.so'\nprocess = 'x'\nargs = ['stays']\n\
        [task.it]\nfile = 'it.so'\nprocess = 'x'\nafter = ['first']\nrestart = 'always'\npause = 0.0\nlongest-pause = 0.0\n";
    let mut system = start(&bench, text);
    let count = |line: String| line.split(' ').nth(1).and_then(|word| word.parse::<u32>().ok()).expect("a number");
    let most = (0..30).map(|_| count(system.wait_line("copies"))).max();
    // One runs, one was kept, and some may not have been unloaded yet.
    assert!(most < Some(15), "{most:?}");
    system.terminate();
    bench.assert_nothing_left();
}

#[test]
fn a_library_that_is_no_libmach_is_told_with_what_to_do() {
    let bench = Bench::new();
    let task =
        task_of(&bench, "it", &format!("{HEAD}MACH_TASK_MAIN(argc, argv) {{ (void) argc; (void) argv; return 0; }}\n"), &[]);
    std::fs::write(bench.path("other.c"), "int slipway_domain_abi(void);\nint slipway_domain_abi(void) { return 1; }\n")
        .expect("a source file");
    let other = bench.path("other.so");
    shared(&bench.path("other.c"), &other, &["-nostdlib"]);
    let mut host = command(&bench, &["--private", &task.display().to_string()]);
    host.env("SLIPWAY_LIBMACH", &other);
    let ended = Running::start(host).finish();
    assert_eq!(ended.code(), 125, "{ended:?}");
    let wanted = format!("{}: no libmach for this host: it has no slipway_domain_create; install", other.display());
    assert!(ended.stderr.contains(&wanted) && ended.stderr.contains("set SLIPWAY_LIBMACH"), "{ended:?}");
    bench.assert_nothing_left();
}

#[test]
fn the_c_librarys_own_ways_to_fail_end_the_task_alone() {
    let bench = Bench::new();
    let text = "#include <err.h>\n#include <errno.h>\n#include <error.h>\n#include <stdarg.h>\n\
        static void list(int how, ...) { va_list all; va_start(all, how); if (how) verr(5, \"%s %.1f\", all); verrx(6, \"%s %.1f\", all); }\n\
        MACH_TASK_MAIN(argc, argv) { if (argc < 2) return receive(receive_right());\n\
        errno = ENOENT; error(0, 0, \"goes on\"); errno = ENOENT; switch (argv[1][0]) {\n\
        case '3': err(3, \"%d %s %.1f %d %d %d %d %d\", 1, \"two\", 3.5, 4, 5, 6, 7, 8); case '4': errx(4, \"%s\", \"plain\");\n\
        case '5': list(1, \"list\", 1.5); case '6': list(0, \"list\", 2.5);\n\
        case '7': error(7, EINVAL, \"%d %s\", 7, \"seven\"); case '8': error_at_line(8, 0, \"file.x\", 12, \"%s %d %.2f\", \"eight\", 8, 0.25); }\n\
        return 1; }\n";
    task_of(&bench, "it", &format!("{HEAD}{text}"), &["-Wno-implicit-fallthrough"]);
    for (code, says) in [
        (3, "1 two 3.5 4 5 6 7 8: No such file or directory"),
        (4, "plain"),
        (5, "list 1.5: No such file or directory"),
        (6, "list 2.5"),
        (7, "7 seven: Invalid argument"),
        (8, "file.x:12: eight 8 0.25"),
    ] {
        // What ends the process ends both tasks; what ends one task is told of it.
        let text = format!(
            "main = 'stays'\n[task.stays]\nfile = 'it.so'\nprocess = 'x'\n\
             [task.it]\nfile = 'it.so'\nprocess = 'x'\nargs = ['{code}']\nafter = ['stays']\n"
        );
        let mut system = start(&bench, &text);
        let told = system.wait_error(&format!("it: ended with code {code}"));
        assert!(told.contains("goes on") && told.contains(says), "{code}: {told}");
        system.terminate();
    }
    bench.assert_nothing_left();
}

#[test]
fn threads_by_c11s_names_are_refused() {
    let bench = Bench::new();
    let text = "#include <threads.h>\nstatic int works(void *value) { (void) value; abort(); }\n\
        static void ends(void *value) { (void) value; abort(); }\n\
        MACH_TASK_MAIN(argc, argv) { (void) argc; (void) argv; thrd_t thread; tss_t key;\n\
        say(\"thread\", thrd_create(&thread, works, NULL) == thrd_error); say(\"key\", tss_create(&key, ends) == thrd_error);\n\
        return 0; }\n";
    let file = task_of(&bench, "names", &format!("{HEAD}{text}"), &[]);
    let ended = run(&bench, &["--private", &file.display().to_string()]);
    assert_eq!((ended.code(), ended.stdout.as_str()), (0, "thread 1\nkey 1\n"), "{ended:?}");
    bench.assert_nothing_left();
}

#[test]
fn a_key_too_many_works_and_keeps_its_file_loaded() {
    let bench = Bench::new();
    let text = "static pthread_key_t last;\n\
        static void ends(void *value) { say(\"ended\", *(int *) value); }\n\
        static void *keeps(void *value) { pthread_setspecific(last, value); return NULL; }\n\
        __attribute__((destructor)) static void gone(void) { say(\"unloaded\", 1); }\n\
        MACH_TASK_MAIN(argc, argv) { (void) argc; (void) argv; pthread_t thread; int value = 7;\n\
        for (int i = 0; i < 200; i++) if (pthread_key_create(&last, ends)) return 1;\n\
        pthread_create(&thread, NULL, keeps, &value); pthread_join(thread, NULL); return 0; }\n";
    task_of(&bench, "it", &format!("{HEAD}{text}"), &[]);
    let stays = "MACH_TASK_MAIN(argc, argv) { (void) argc; (void) argv; return receive(receive_right()); }\n";
    task_of(&bench, "stays", &format!("{HEAD}{stays}"), &[]);
    let text = "[task.stays]\nfile = 'stays.so'\nprocess = 'x'\n\
        [task.it]\nfile = 'it.so'\nprocess = 'x'\nafter = ['stays']\nrestart = 'always'\npause = 0.0\nlongest-pause = 0.0\n";
    let mut system = start(&bench, text);
    (0..3).for_each(|_| assert_eq!(system.wait_line(""), "ended 7"));
    system.terminate();
    bench.assert_nothing_left();
}
