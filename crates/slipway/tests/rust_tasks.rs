//! Tasks in Rust, which find libmach in their process: one Mach for all of a process, and nothing else is different.

#[path = "../../domain/examples/rust_roles/calls.rs"]
mod calls;
mod harness;

use std::path::{Path, PathBuf};
use std::time::Instant;

use harness::Bench;
use harness::process::{PATIENCE, answered};
use harness::tasks::{config, run, start, task_of};
use slipway_test_support::example;

/// The task that does what its first argument says.
fn roles() -> PathBuf {
    example("rust_roles")
}

/// A server and a client, in one process or in two; the system ends with the client.
fn pair(server: (&Path, &[&str]), client: (&Path, &[&str]), processes: [&str; 2]) -> String {
    format!(
        "main = 'client'\n\
         [task.server]\nfile = '{}'\nargs = {:?}\nprocess = '{}'\nprovides = ['service']\n\
         [task.client]\nfile = '{}'\nargs = {:?}\nprocess = '{}'\nafter = ['server']\n",
        server.0.display(),
        server.1,
        processes[0],
        client.0.display(),
        client.1,
        processes[1]
    )
}

/// A client in C of the service that doubles numbers: by call, and by message if that was not one.
const CLIENT: &str = "#include <mach/mach.h>\n#include <mach/bootstrap.h>\n#include <mach/task_main.h>\n#include <mach/trap.h>\n#include <stdio.h>\n\
    struct message { mach_msg_header_t head; mach_msg_type_t type; int n, pad; char trailer[64]; };\n\
    static int by_message(mach_port_t port, int n) {\n\
    mach_port_t reply = mig_get_reply_port();\n\
    struct message m = {.head = {.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE),\n\
        .msgh_size = 48, .msgh_remote_port = port, .msgh_local_port = reply, .msgh_id = 7000},\n\
        .type = {.msgt_name = MACH_MSG_TYPE_INTEGER_32, .msgt_size = 32, .msgt_number = 1, .msgt_inline = 1}, .n = n};\n\
    return mach_msg(&m.head, MACH_SEND_MSG | MACH_RCV_MSG, 48, sizeof m, reply, 0, 0) ? -1 : m.n; }\n\
    MACH_TASK_MAIN(argc, argv) {\n(void) argc; (void) argv; mach_port_t port; int wrong = -1; kern_return_t code;\n\
    if (bootstrap_look_up(0, \"service\", &port)) return 1;\n\
    for (int i = 1; i <= 3; i++) { int n = i, called = mach_trap(port, 7000, 7, &n, &code);\n\
    if (called) printf(\"%d %d by call\\n\", code, n); else printf(\"%d by message\\n\", by_message(port, i));\n\
    if (called && mach_trap(port, 7000, 7, &wrong, &code)) printf(\"%d\\n\", code); }\n\
    printf(\"%d by message\\n\", by_message(port, 4));\nfflush(stdout);\nreturn 0; }\n";

#[test]
fn a_task_in_rust_serves_one_in_c_and_survives_its_panics() {
    let bench = Bench::new();
    let client = task_of(&bench, "client", CLIENT, &[]);
    let one = "0 2 by call\n-308\n0 4 by call\n-308\n0 6 by call\n-308\n8 by message\n";
    let two = "2 by message\n4 by message\n6 by message\n8 by message\n";
    for (processes, said) in [(["a", "a"], one), (["a", "b"], two)] {
        let text = pair((&roles(), &["serve", "service"]), (&client, &[]), processes);
        let ended = run(&bench, &["--config", &config(&bench, &text)]);
        assert_eq!((ended.code(), ended.stdout.as_str()), (0, format!("serving\n{said}").as_str()), "{ended:?}");
        assert_eq!(ended.stderr.contains("a negative number"), processes[0] == processes[1], "{ended:?}");
    }
    bench.assert_nothing_left();
}

#[test]
fn two_tasks_in_rust_call_each_other_in_one_process_and_send_messages_from_two() {
    let bench = Bench::new();
    for (processes, how) in [(["a", "a"], "call"), (["a", "b"], "message")] {
        let text = pair((&roles(), &["serve", "service"]), (&roles(), &["call", "service"]), processes);
        let ended = run(&bench, &["--config", &config(&bench, &text)]);
        let wanted = format!("serving\n21: 42 by {how}\n4: 8 by {how}\nsame task true\n");
        assert_eq!((ended.code(), ended.stdout.as_str()), (0, wanted.as_str()), "{ended:?}");
    }
    bench.assert_nothing_left();
}

#[test]
fn every_call_comes_to_the_same_in_a_task_that_shares_its_process_and_in_a_program() {
    let bench = Bench::new();
    let here = calls::transcript().expect("the calls in this program");
    assert!(here.lines().count() > 40, "{here}");
    let file = roles().display().to_string();
    for beside in [&[][..], &[file.as_str()][..]] {
        let ended = run(&bench, &[&["--private"], beside, &[&file, "--", "calls"]].concat());
        let differs = here.lines().zip(ended.stdout.lines()).find(|(here, there)| here != there);
        assert!(differs.is_none() && here == ended.stdout, "{differs:?}: {ended:?}");
    }
    bench.assert_nothing_left();
}

#[test]
fn a_task_in_rust_forks_and_its_child_has_a_task_of_its_own() {
    let bench = Bench::new();
    for (processes, how) in [(["a", "a"], "call"), (["a", "b"], "message")] {
        let text = pair((&roles(), &["serve", "service"]), (&roles(), &["fork", "service"]), processes);
        let ended = run(&bench, &["--config", &config(&bench, &text)]);
        let wanted = format!(
            "serving\nother true names Err(INVALID_TASK) Err(INVALID_TASK)\nchild Ok((42, \"message\"))\n\
             ended 3 own true\nparent (8, \"{how}\")\n"
        );
        assert_eq!((ended.code(), ended.stdout.as_str()), (0, wanted.as_str()), "{ended:?}");
    }
    bench.assert_nothing_left();
}

#[test]
fn ports_shows_tasks_in_rust_that_share_a_process_as_it_shows_others() {
    let bench = Bench::new();
    let text = pair((&roles(), &["serve", "service"]), (&roles(), &["deadly-at-a-word", "none"]), ["a", "a"]);
    let mut system = start(&bench, &text);
    let pid = loop {
        let line = system.wait_line("");
        if let Some(pid) = line.strip_prefix("stays in ") {
            break pid.to_owned();
        }
    };
    let shown = answered(|| bench.slipway(&["ports", &pid])).stdout;
    let processes = shown.lines().filter(|line| line.contains("messages sent")).count();
    let tasks: Vec<&str> = shown.lines().filter(|line| line.starts_with("task ")).collect();
    assert_eq!(processes, 1, "{shown}");
    assert!(tasks.iter().any(|line| line.contains(" server: 0 calls by trap")), "{shown}");
    assert!(tasks.iter().any(|line| line.contains(" client")), "{shown}");
    system.terminate();
    bench.assert_nothing_left();
}

#[test]
fn exit_ends_a_task_in_rust_with_its_code_from_any_thread() {
    let bench = Bench::new();
    let file = roles().display().to_string();
    for (role, code) in [("return", 5), ("exit", 6), ("exit-elsewhere", 7)] {
        let ended = run(&bench, &["--private", &file, "--", role, &code.to_string()]);
        assert_eq!(ended.code(), code, "{role}: {ended:?}");
        assert!(!ended.stderr.contains("fatal"), "{role}: {ended:?}");
    }
    bench.assert_nothing_left();
}

#[test]
fn a_task_in_rust_that_exits_ends_the_call_that_it_is_in_and_nothing_else() {
    let bench = Bench::new();
    for (processes, died) in [
        (["a", "a"], "code -308\n4: 8 by call\n1000000: code -308"),
        (["a", "b"], "-2 by message\n4: 8 by message\n1000000: died"),
    ] {
        let text = pair((&roles(), &["serve", "service"]), (&roles(), &["call-deadly", "service"]), processes);
        let ended = run(&bench, &["--config", &config(&bench, &text)]);
        let how = if processes[0] == processes[1] { "call" } else { "message" };
        let wanted = format!("serving\n21: 42 by {how}\n-1: {died}\n5: sending a message: SEND_INVALID_DEST\nsame task true\n");
        assert_eq!((ended.code(), ended.stdout.as_str()), (0, wanted.as_str()), "{ended:?}");
        // From another process the news may come when the client has ended, and the system with it.
        let told = ended.stderr.contains("slipway: server: ended with code 9\n");
        assert!(told || processes[0] != processes[1], "{ended:?}");
    }
    bench.assert_nothing_left();
}

#[test]
fn the_file_of_a_task_in_rust_that_exited_is_unloaded_and_loaded_again() {
    let bench = Bench::new();
    let (stays, file) = (bench.path("stays.so"), bench.path("roles.so"));
    for copy in [&stays, &file] {
        std::fs::copy(roles(), copy).expect("a copy");
    }
    let (stays, file) = (stays.display(), file.display());
    // By a call of another task, by itself, and by a thread of its own.
    for (role, restart) in [("serve", false), ("exit", true), ("exit-elsewhere", true)] {
        let last = if role == "serve" { "service" } else { "3" };
        let restart = if restart { "restart = 'always'\npause = 0.0\nlongest-pause = 0.0\n" } else { "" };
        let mut system = start(
            &bench,
            &format!(
                "[task.stays]\nfile = '{stays}'\nprocess = 'a'\nargs = ['deadly-at-a-word', 'service']\n\
                 [task.ends]\nfile = '{file}'\nprocess = 'a'\nargs = ['{role}', '{last}']\n{restart}"
            ),
        );
        let pid = system.wait_line("stays in").split(' ').nth(2).expect("a process").to_owned();
        if role == "serve" {
            system.wait_line("code -308");
        } else {
            // Each time in the same process.
            (0..5).for_each(|_| assert_eq!(system.wait_line("exiting in"), format!("exiting in {pid}")));
        }
        let deadline = Instant::now() + PATIENCE;
        let mapped = || std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("the process lives");
        while mapped().contains("/roles.so") || mapped().contains("memfd:slipway-task") {
            assert!(Instant::now() < deadline, "{role}: {}", mapped());
            std::thread::yield_now();
        }
        assert!(mapped().contains("/stays.so"), "{}", mapped());
        system.terminate();
    }
    bench.assert_nothing_left();
}

#[test]
fn a_server_in_rust_exits_and_starts_again_under_load() {
    let bench = Bench::new();
    for processes in [["a", "a"], ["a", "b"]] {
        let text = pair((&roles(), &["serve", "service"]), (&roles(), &["kill-again", "service", "20"]), processes);
        let again = "\nrestart = 'always'\npause = 0.0\nlongest-pause = 0.0\n[task.client]";
        let ended = run(&bench, &["--config", &config(&bench, &text.replace("\n[task.client]", again))]);
        assert!(ended.code() == 0 && ended.stdout.contains("all dead\n"), "{processes:?}: {ended:?}");
    }
    bench.assert_nothing_left();
}

#[test]
fn a_task_in_rust_with_a_mach_of_its_own_is_refused() {
    let bench = Bench::new();
    let ended = run(&bench, &["--private", &example("rust_alone").display().to_string()]);
    assert!(ended.code() == 126 && ended.stderr.contains("has a libmach of its own"), "{ended:?}");
    bench.assert_nothing_left();
}

#[test]
fn a_task_that_wants_a_function_of_another_libmach_is_refused_by_its_name() {
    let bench = Bench::new();
    let text = "#include <mach/task_main.h>\nextern int slipway_of_tomorrow(void);\n\
        MACH_TASK_MAIN(argc, argv) { (void) argc; (void) argv; return slipway_of_tomorrow(); }\n";
    let file = task_of(&bench, "tomorrow", text, &[]).display().to_string();
    let ended = run(&bench, &["--private", &file]);
    assert!(ended.code() == 126 && ended.stderr.contains("slipway_of_tomorrow"), "{ended:?}");
    bench.assert_nothing_left();
}
