//! `slipway run --config`: what is started again, what is stopped, who may ask for what, what is wrong with a file.

mod harness;

use std::time::Instant;

use harness::process::{PATIENCE, answered};
use harness::tasks::{command, config, run, start, task, task_of};
use harness::{Bench, Running};
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn a_killed_server_is_started_again_and_the_others_go_on() {
    let bench = Bench::new();
    task(&bench);
    let mut system = start(
        &bench,
        "[task.server]\nfile = 'task.so'\nprocess = 'core'\nargs = ['serve', 'service']\nprovides = ['service']\n\
         restart = 'on-failure'\npause = 0.05\n\
         [task.beside]\nfile = 'task.so'\nprocess = 'core'\nargs = ['serve', 'beside']\nrestart = 'always'\npause = 0.05\n\
         [task.apart]\nfile = 'task.so'\nargs = ['serve', 'apart']\n\
         [task.program]\nfile = 'sleep'\nargs = ['1000']\n",
    );
    let mut served: Vec<Vec<String>> = Vec::new();
    let mut serving = |system: &mut Running, count: usize| {
        let lines: Vec<Vec<String>> =
            (0..count).map(|_| system.wait_line("serving").split(' ').map(str::to_owned).collect()).collect();
        served.extend(lines.clone());
        lines
    };
    let first = serving(&mut system, 3);
    let of = |lines: &[Vec<String>], name: &str| lines.iter().find(|line| line[1] == name).map(|line| line[2].clone());
    let core = of(&first, "service").expect("the server's process");
    assert_eq!(of(&first, "beside").as_ref(), Some(&core));
    let number = core.parse().expect("a number");
    kill_process(Pid::from_raw(number).expect("a process"), Signal::KILL).expect("kill");
    let second = serving(&mut system, 2);
    let again = of(&second, "service").expect("the server's next process");
    assert_ne!(again, core);
    assert_eq!(of(&second, "beside"), Some(again));
    system.wait_error("slipway: server: its process was killed by SIGKILL (9); it starts again in 0.05 s");
    assert_eq!(system.terminate().code(), Some(128 + 15));
    drop(system);
    bench.assert_nothing_left();
}

#[test]
fn a_task_that_fails_for_good_stops_the_others_if_that_is_said() {
    for (word, stops) in [("stop", true), ("continue", false)] {
        let bench = Bench::new();
        task(&bench);
        let text = format!(
            "[task.server]\nfile = 'task.so'\nargs = ['serve', 'service']\n\
             [task.fails]\nfile = 'task.so'\nargs = ['return', '7']\non-failure = '{word}'\n"
        );
        let mut system = start(&bench, &text);
        if stops {
            let ended = system.finish();
            assert_eq!(ended.code(), 7, "{ended:?}");
            assert!(ended.stderr.contains("slipway: fails: ended with code 7\nslipway: fails has failed: all is stopped\n"));
        } else {
            system.wait_line("serving");
            assert_eq!(system.first_error(), "slipway: fails: ended with code 7");
            assert!(system.alive());
            system.terminate();
        }
        bench.assert_nothing_left();
    }
}

#[test]
fn a_crash_while_loading_is_told_and_is_no_matter_to_other_processes() {
    let bench = Bench::new();
    task(&bench);
    let crash = "#include <mach/task_main.h>\n#include <stdlib.h>\n__attribute__((constructor)) static void boom(void) { abort(); }\n\
                 MACH_TASK_MAIN(argc, argv) { (void) argc; (void) argv; return 0; }\n";
    task_of(&bench, "crash", crash, &[]);
    let mut system = start(
        &bench,
        "[task.server]\nfile = 'task.so'\nargs = ['serve', 'service']\n[task.crash]\nfile = 'crash.so'\n\
         [task.needs]\nfile = 'task.so'\nargs = ['return', '0']\nafter = ['crash']\n",
    );
    system.wait_line("serving service");
    let deadline = Instant::now() + PATIENCE;
    while !system.errors().contains("needs") {
        assert!(system.alive() && Instant::now() < deadline);
        std::thread::yield_now();
    }
    let said = system.errors().to_owned();
    assert!(said.contains("crash.so: crashed while it was loaded (SIGABRT)"), "{said}");
    assert!(said.contains("slipway: crash: ") && said.contains("was killed by SIGABRT (6) while the task was loaded"), "{said}");
    assert!(said.contains("slipway: needs: is not started: crash, which it comes after, is not there"), "{said}");
    system.terminate();
    bench.assert_nothing_left();
}

#[test]
fn a_task_looks_up_only_what_it_may() {
    let bench = Bench::new();
    task(&bench);
    let text = |may: &str| {
        format!(
            "main = 'client'\n[task.server]\nfile = 'task.so'\nargs = ['serve', 'a.service']\nprovides = ['a.service', 'b.*']\n\
             [task.client]\nfile = 'task.so'\nargs = ['client', 'a.service']\nlook-up = ['{may}']\nafter = ['server']\n"
        )
    };
    for (may, code) in [("a.service", 0), ("a.*", 0), ("b.*", 4)] {
        let ended = run(&bench, &["--config", &config(&bench, &text(may))]);
        assert_eq!(ended.code(), code, "{may}: {ended:?}");
        assert_eq!(ended.stderr.contains("not the caller's to use"), code != 0, "{ended:?}");
    }
    // A name that it may not provide.
    let wrong = text("a.service").replace("['a.service', 'b.*']", "['b.*']").replace("after = ['server']", "");
    let ended = run(&bench, &["--config", &config(&bench, &wrong.replace("main = 'client'", "main = 'server'"))]);
    assert_eq!(ended.code(), 2, "{ended:?}");
}

#[test]
fn a_wrong_file_is_told_with_its_line() {
    let bench = Bench::new();
    task(&bench);
    for (text, line, why) in [
        ("[task.a]\nfile = 'task.so'\nafter = ['b']\n", 3, "after \"b\": there is no such task"),
        ("[task.a]\nfile = 'none.so'\n", 2, "none.so: program not found"),
        (
            "[task.a]\nfile = 'task.so'\nafter = ['b']\n[task.b]\nfile = 'task.so'\nafter = ['a']\n",
            3,
            "a circle: a after b after a",
        ),
        ("[task.a]\nfile = 'task.so'\nproces = 'x'\n", 3, "unknown field `proces`"),
        (
            "[task.a]\nfile = 'task.so'\nprocess = 'x'\nenv = { K = '1' }\n[task.b]\nfile = 'task.so'\nprocess = 'x'\nenv = { K = '2' }\n",
            8,
            "env.K: a shares this process and has another value for it",
        ),
    ] {
        let path = config(&bench, text);
        let ended = run(&bench, &["--config", &path]);
        assert_eq!(ended.code(), 2, "{ended:?}");
        let said = ended.error_line();
        assert!(said.starts_with(&format!("slipway: {path}:{line}: ")) && said.contains(why), "{said}");
    }
    let ended = Running::start(command(&bench, &["--config", "/nonexistent.toml"])).finish();
    assert!(ended.code() == 2 && ended.error_line().contains("/nonexistent.toml"), "{ended:?}");
}

#[test]
fn ports_shows_who_shares_a_process_and_how_calls_went() {
    let bench = Bench::new();
    task(&bench);
    let mut system = start(
        &bench,
        "[task.server]\nfile = 'task.so'\nprocess = 'core'\nargs = ['serve', 'service']\nprovides = ['service']\n\
         [task.client]\nfile = 'task.so'\nprocess = 'core'\nargs = ['client', 'service']\nafter = ['server']\n\
         [task.other]\nfile = 'task.so'\nprocess = 'core'\nargs = ['serve', 'other']\n",
    );
    let mut pid = String::new();
    let mut counts = (0, 0);
    for _ in 0..3 {
        let line = system.wait_line("");
        let words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            "serving" => pid = words[2].to_owned(),
            _ => counts = (words[3].parse::<u32>().expect("traps"), words[5].parse::<u32>().expect("messages")),
        }
    }
    let shown = answered(|| bench.slipway(&["ports", &pid])).stdout;
    let line = format!("server: {} calls by trap, {} by message", counts.0, counts.1);
    assert!(shown.contains(&line) && shown.contains(" other: 0 calls by trap, 0 by message"), "{line}: {shown}");
    system.terminate();
    bench.assert_nothing_left();
}
