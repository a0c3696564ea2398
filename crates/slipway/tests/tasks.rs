//! Tasks as shared objects in one process: identity, calls between them, ends, and files that are none.

mod harness;

use std::time::Instant;

use harness::Bench;
use harness::process::PATIENCE;
use harness::tasks::{config, run, start, task, task_of};

/// A system of tasks that are all of task.so: name, process, arguments, what they come after. It
/// ends with the main task, or with all if that is "".
fn system(bench: &Bench, main: &str, tasks: &[(&str, &str, &[&str], &[&str])]) -> harness::Outcome {
    task(bench);
    let mut text = if main.is_empty() { String::new() } else { format!("main = '{main}'\n") };
    for (name, process, args, after) in tasks {
        text += &format!("[task.{name}]\nfile = 'task.so'\nprocess = '{process}'\nargs = {args:?}\nafter = {after:?}\n");
    }
    run(bench, &["--config", &config(bench, &text)])
}

#[test]
fn a_task_runs_alone_with_its_arguments_and_code() {
    let bench = Bench::new();
    let file = task(&bench).display().to_string();
    for (role, code) in [("return", 5), ("exit", 6)] {
        let ended = run(&bench, &["--private", &file, "--", role, &code.to_string()]);
        assert_eq!((ended.code(), ended.stderr.as_str()), (code, ""), "{ended:?}");
    }
    bench.assert_nothing_left();
}

#[test]
fn two_tasks_in_one_process_call_each_other_and_apart_send_messages() {
    let bench = Bench::new();
    let file = task(&bench).display().to_string();
    let ended = run(&bench, &["--private", &file, &file, "--", "client", "service"]);
    assert_eq!(ended.code(), 0, "{ended:?}");
    let line = ended.stdout.lines().find(|line| line.starts_with("count")).unwrap_or_else(|| panic!("{ended:?}"));
    let number = |at: usize| line.split(' ').nth(at).and_then(|word| word.parse::<i32>().ok()).expect("a number");
    assert!(number(3) > 100 && number(5) >= 200, "{line}");
    assert!(line.ends_with("who 0 here"), "{line}");

    // The same files, one word changed.
    for (process, place) in [("one", "here"), ("other", "elsewhere")] {
        let ended = system(
            &bench,
            "client",
            &[("server", "one", &["serve", "service"], &[]), ("client", process, &["client", "service"], &["server"])],
        );
        assert_eq!(ended.code(), 0, "{ended:?}");
        let line = ended.stdout.lines().find(|line| line.starts_with("count")).unwrap_or_else(|| panic!("{ended:?}"));
        assert!(line.ends_with(&format!("who 0 {place}")), "{line}");
        assert_eq!(line.contains("traps 0 "), place == "elsewhere", "{line}");
    }
    bench.assert_nothing_left();
}

/// A server that is slow to serve, though not for the second that the host waits at most, and a client that asks once. The sleep stands for work:
/// nothing is waited for by it, and a client that did not wait for the server would ask before its end.
const SLOW: [&str; 2] = [
    "mach_port_t port; struct { mach_msg_header_t header; char rest[512]; } in;\n\
        usleep(50000);\n\
        mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port);\n\
        mach_port_insert_right(mach_task_self(), port, port, MACH_MSG_TYPE_MAKE_SEND);\n\
        bootstrap_register(MACH_PORT_NULL, \"service\", port);\n\
        return mach_msg(&in.header, MACH_RCV_MSG, 0, sizeof in, port, 0, MACH_PORT_NULL);",
    "mach_port_t port; return bootstrap_look_up(MACH_PORT_NULL, \"service\", &port) ? 9 : 0;",
];

#[test]
fn a_task_of_a_command_line_finds_what_those_before_it_serve() {
    let bench = Bench::new();
    let [server, client] = [("server", SLOW[0]), ("client", SLOW[1])].map(|(name, text)| {
        let text = format!(
            "#include <mach/mach.h>\n#include <mach/task_main.h>\n#include <servers/bootstrap.h>\n#include <unistd.h>\n\
             MACH_TASK_MAIN(argc, argv) {{ (void) argc; (void) argv; {text} }}\n"
        );
        task_of(&bench, name, &text, &[]).display().to_string()
    });
    let ended = run(&bench, &["--private", &server, &client]);
    assert_eq!((ended.code(), ended.stderr.as_str()), (0, ""), "{ended:?}");
    // Who has ended is not waited for any more.
    let ended = run(&bench, &["--private", &client, &client]);
    assert_eq!(ended.code(), 9, "{ended:?}");
    assert!(ended.stderr.contains("client.so: ended with code 9"), "{ended:?}");
    bench.assert_nothing_left();
}

#[test]
fn a_server_calls_another_for_its_caller() {
    for processes in [["one", "one", "one"], ["one", "one", "other"], ["one", "other", "one"], ["a", "b", "c"]] {
        let bench = Bench::new();
        let ended = system(
            &bench,
            "client",
            &[
                ("outer", processes[0], &["serve", "outer"], &[]),
                ("inner", processes[1], &["serve-many", "inner"], &[]),
                ("client", processes[2], &["nested", "outer", "inner"], &["outer", "inner"]),
            ],
        );
        assert!(ended.stdout.contains("nested 0 1\n"), "{processes:?}: {ended:?}");
    }
}

#[test]
fn a_file_that_is_used_twice_has_variables_for_each_task() {
    let bench = Bench::new();
    let roles: &[&str] = &["variable"];
    let ended = system(&bench, "", &[("a", "x", roles, &[]), ("b", "x", roles, &["a"]), ("c", "x", roles, &["b"])]);
    assert_eq!(ended.stdout, "variable 1\nvariable 1\nvariable 1\n", "{ended:?}");
}

#[test]
fn a_task_that_exits_ends_the_call_that_it_is_in_and_nothing_else() {
    let bench = Bench::new();
    let ended = system(
        &bench,
        "client",
        &[("server", "one", &["serve", "service"], &[]), ("client", "one", &["deadly", "service"], &["server"])],
    );
    // MIG_SERVER_DIED, and then MACH_SEND_INVALID_DEST; the thread is whole.
    assert!(ended.stdout.contains("died -308 after 0x10000003 self 1\n"), "{ended:?}");
    assert!(ended.stderr.contains("slipway: server: ended with code 9\n"), "{ended:?}");
    bench.assert_nothing_left();
}

#[test]
fn threads_of_a_task_end_by_pthread_exit_by_cancellation_and_by_exit_in_the_midst_of_a_callback() {
    let bench = Bench::new();
    let file = task_of(
        &bench,
        "ends",
        "#include <mach/mach.h>\n#include <mach/task_main.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
         static mach_port_t port;\n\
         static void *leaves(void *how) { pthread_exit(how); }\n\
         static void *waits(void *how) { for (;;) pthread_testcancel(); return how; }\n\
         static int order(const void *a, const void *b) { (void) a; (void) b; exit(8); }\n\
         static void *exits(void *how) { int n[3] = {3, 2, 1}; qsort(n, 3, sizeof *n, order); return how; }\n\
         MACH_TASK_MAIN(argc, argv) {\n(void) argc; (void) argv; pthread_t thread; void *first, *second; char message[256];\n\
         mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port);\n\
         pthread_create(&thread, NULL, leaves, (void *) 7); pthread_join(thread, &first);\n\
         pthread_create(&thread, NULL, waits, NULL); pthread_cancel(thread); pthread_join(thread, &second);\n\
         printf(\"%d %d\\n\", first == (void *) 7, second == PTHREAD_CANCELED);\nfflush(stdout);\n\
         pthread_create(&thread, NULL, exits, NULL); pthread_join(thread, &first);\n\
         return mach_msg((mach_msg_header_t *) message, MACH_RCV_MSG, 0, sizeof message, port, 0, 0) ? 1 : 2; }\n",
        &[],
    );
    let ended = run(&bench, &["--private", &file.display().to_string()]);
    assert_eq!((ended.code(), ended.stdout.as_str(), ended.stderr.as_str()), (8, "1 1\n", ""), "{ended:?}");
    bench.assert_nothing_left();
}

#[test]
fn a_server_ends_and_starts_again_under_load() {
    let bench = Bench::new();
    task(&bench);
    for (role, process) in [("serve", "one"), ("serve-many", "one"), ("serve", "other")] {
        let text = format!(
            "main = 'client'\n[task.server]\nfile = 'task.so'\nprocess = 'one'\nargs = ['{role}', 'service']\n\
             restart = 'always'\npause = 0\nlongest-pause = 0\n\
             [task.client]\nfile = 'task.so'\nprocess = '{process}'\nargs = ['load', 'service']\nafter = ['server']\n"
        );
        let text = text.replace("= 0\n", "= 0.0\n");
        let ended = run(&bench, &["--config", &config(&bench, &text)]);
        assert_eq!(ended.code(), 0, "{role} {process}: {ended:?}");
    }
    bench.assert_nothing_left();
}

#[test]
fn a_task_that_has_ended_is_unloaded() {
    let bench = Bench::new();
    let file = task(&bench).display().to_string();
    let copy = bench.path("other.so");
    std::fs::copy(&file, &copy).expect("a copy");
    let mut system = start(
        &bench,
        "[task.stays]\nfile = 'other.so'\nprocess = 'x'\nargs = ['serve', 'stays']\nprovides = ['stays']\n\
         [task.first]\nfile = 'task.so'\nprocess = 'x'\nargs = ['deadly', 'ends']\nafter = ['stays', 'second']\n\
         [task.second]\nfile = 'task.so'\nprocess = 'x'\nargs = ['serve', 'ends']\nprovides = ['ends']\nafter = ['stays']\n",
    );
    let pid = system.wait_line("serving stays").split(' ').nth(2).expect("a process").to_owned();
    system.wait_line("died -308");
    let deadline = Instant::now() + PATIENCE;
    let mapped = || std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("the process lives");
    while mapped().contains("/task.so") || mapped().contains("memfd:slipway-task") {
        assert!(Instant::now() < deadline, "{}", mapped());
        std::thread::yield_now();
    }
    assert!(mapped().contains("/other.so"));
    system.terminate();
    bench.assert_nothing_left();
}

#[test]
fn what_is_no_task_is_refused_by_name_and_cause() {
    let bench = Bench::new();
    let good = task(&bench).display().to_string();
    let head = "#include <mach/task_main.h>\n#include <stdlib.h>\n";
    let main = "MACH_TASK_MAIN(argc, argv) { (void) argc; (void) argv; return 0; }\n";
    let plain = task_of(&bench, "plain", "int f(void) { return 0; }\n", &[]);
    let old = task_of(&bench, "old", &format!("{head}#undef MACH_TASK_ABI\n#define MACH_TASK_ABI 77\n{main}"), &[]);
    let lacks =
        task_of(&bench, "lacks", &format!("{head}extern void nowhere(void);\nvoid f(void) {{ nowhere(); }}\n{main}"), &[]);
    let crash = format!("{head}__attribute__((constructor)) static void boom(void) {{ abort(); }}\n{main}");
    let crash = task_of(&bench, "crash", &crash, &[]);
    let (cut, text) = (bench.path("cut.so"), bench.path("text.so"));
    let whole = std::fs::read(&good).expect("read the task");
    std::fs::write(&cut, &whole[..40]).expect("write a part of it");
    std::fs::write(&text, "no object\n").expect("write a text");
    for (file, code, why) in [
        (plain, 126, "not a task: it has no MACH_TASK_MAIN"),
        (old, 126, "built for another libmach: its version is 77, and 1 is wanted"),
        (lacks, 126, "undefined symbol: nowhere"),
        (cut, 126, "not a shared object"),
        (text, 126, "not a shared object"),
        (bench.path("none.so"), 127, "o such file"),
    ] {
        let shown = file.display().to_string();
        // Second or first: a file that is named like a task is not run as a program.
        for words in [vec!["--private", &good, &shown], vec!["--private", &shown]] {
            let ended = run(&bench, &words);
            assert_eq!(ended.code(), code, "{ended:?}");
            assert!(ended.stderr.lines().any(|line| line.contains(&shown) && line.contains(why)), "{why}: {ended:?}");
            // The second word may have been meant as an argument, unless it is a task after all.
            let hint = words.len() > 2 && !why.starts_with("built") && !why.starts_with("undefined");
            assert_eq!(ended.stderr.contains("arguments of a task come after --"), hint, "{ended:?}");
        }
    }
    let ended = run(&bench, &["--private", &good, &crash.display().to_string()]);
    assert_eq!(ended.code(), 128 + 6, "{ended:?}");
    assert!(ended.stderr.contains("crash.so: crashed while it was loaded (SIGABRT)"), "{ended:?}");
    bench.assert_nothing_left();
}
