//! `slipway x11 -- PROGRAM`, its errors and its warnings.

mod harness;

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use harness::build::{build_c, set_mode};
use harness::{Bench, Outcome, Running, SLIPWAY};

fn outcome(command: Command) -> Outcome {
    Running::start(command).finish()
}

const EXIT_3: &str = "int main(void) { return 3; }";

#[test]
fn the_program_takes_the_place_of_slipway() {
    let bench = Bench::new();
    let slipway = Running::start(bench.slipway(&["x11", "sh", "-c", "echo $$; exit 7"]));
    let pid = slipway.pid();
    let program = slipway.finish();
    assert_eq!(program.stdout, format!("{pid}\n"));
    assert_eq!((program.code(), program.stderr.as_str()), (7, ""));
    let killed = bench.run(&["x11", "--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(killed.status.signal(), Some(15));
    assert_eq!(bench.hooked(), ["sh", "sh"]);
}

#[test]
fn options_become_variables_and_the_rest_stays() {
    let bench = Bench::new();
    let options =
        "--ring 2M --min-ring 4K --max-ring 8M --total 1G --clients 7 --after 9 --spin 0 --stage 2b --timer exact --log error";
    let mut args = vec!["x11"];
    args.extend(options.split(' '));
    args.extend(["--", "env"]);
    let mut command = bench.slipway(&args);
    command.env("SLIPWAY_X11_RING", "1M").env("LD_PRELOAD", "/nonexistent/other.so");
    let all = outcome(command);
    for line in [
        "SLIPWAY_X11_RING=2097152",
        "SLIPWAY_X11_MIN=4096",
        "SLIPWAY_X11_MAX=8388608",
        "SLIPWAY_X11_TOTAL=1073741824",
        "SLIPWAY_X11_CLIENTS=7",
        "SLIPWAY_X11_AFTER=9",
        "SLIPWAY_X11_SPIN=0",
        "SLIPWAY_X11_STAGE=2b",
        "SLIPWAY_X11_TIMER=exact",
        "SLIPWAY_LOG=error",
        &format!("LD_PRELOAD={}:/nonexistent/other.so", bench.hook.display()),
    ] {
        assert!(all.stdout.lines().any(|other| other == line), "{line} in {all:?}");
    }

    let mut command = bench.slipway(&["x11", "env"]);
    command.env("SLIPWAY_X11_SPIN", "7");
    let none = outcome(command);
    let set: Vec<&str> = none.stdout.lines().filter(|line| line.starts_with("SLIPWAY_X11")).collect();
    assert_eq!(set, ["SLIPWAY_X11_SPIN=7"]);
}

#[test]
fn off_leaves_the_hooks_out() {
    let bench = Bench::new();
    let by_option = bench.run(&["x11", "--off", "env"]);
    assert!(by_option.stdout.contains("SLIPWAY_X11=off\n"), "{by_option:?}");
    assert!(!by_option.stdout.contains("LD_PRELOAD="), "{by_option:?}");
    let mut command = bench.slipway(&["x11", "true"]);
    command.env("SLIPWAY_X11", "off");
    assert_eq!(outcome(command).code(), 0);
    assert_eq!(bench.hooked(), [""; 0]);
}

#[test]
fn what_cannot_run_is_said_in_one_line_and_by_exit_code() {
    let bench = Bench::new();
    let plain = bench.path("plain");
    fs::write(&plain, "text").expect("write");
    let orphan = bench.script("orphan", "#!/nonexistent/interpreter\n");
    for (args, code, part) in [
        (&["nosuchprogram"][..], 127, "nosuchprogram: program not found in PATH"),
        (&["/nonexistent/program"], 127, "no such file"),
        (&[orphan.as_str()], 127, "interpreter"),
        (&[plain.to_str().expect("UTF-8")], 126, "permission denied"),
        (&["/"], 126, "is a directory"),
        (&["--server", "nosuchserver", "true"], 127, "nosuchserver"),
        (&["--server", "Xvfb", "nosuchprogram"], 127, "nosuchprogram"),
        (
            &["--ring", "0", "true"],
            2,
            "'--ring <SIZE>': 0 would leave no shared memory; to run without it, use --off or SLIPWAY_X11=off",
        ),
        (&["--clients", "0", "true"], 2, "--off"),
        (&["--total", "12Q", "true"], 2, "--total"),
        (&["--min-ring", "2M", "--max-ring", "1M", "true"], 2, "smallest ring 2M is above the largest, 1M"),
        (&["--bogus", "true"], 2, "'--bogus'"),
        (&["--stage", "3", "true"], 2, "2b"),
        (&["--screen", "640x480", "true"], 2, "--server"),
        (&["--server", "sh", "--screen", "640x480", "true"], 2, "--server-arg"),
        (&[], 2, "PROGRAM"),
    ] {
        let mut all = vec!["x11"];
        all.extend(args);
        let failed = bench.run(&all);
        assert_eq!(failed.code(), code, "{failed:?}");
        assert!(failed.error_line().contains(part), "{part} in {failed:?}");
    }
    bench.assert_nothing_left();
}

#[test]
fn a_bad_variable_is_an_error_that_names_it() {
    let bench = Bench::new();
    let mut command = bench.slipway(&["x11", "true"]);
    command.env("SLIPWAY_X11_TOTAL", "0");
    let failed = outcome(command);
    assert_eq!(failed.code(), 2);
    assert!(failed.error_line().contains("SLIPWAY_X11_TOTAL"), "{failed:?}");
}

#[test]
fn a_static_program_runs_with_a_warning() {
    let bench = Bench::new();
    let program = bench.path("static");
    build_c(EXIT_3, &program, &["-static"]);
    let path = program.to_str().expect("UTF-8");
    let ran = bench.run(&["x11", path]);
    assert_eq!(ran.code(), 3);
    let line = ran.error_line();
    assert!(line.starts_with("slipway: warning: ") && line.contains("statically linked"), "{line}");
    assert!(line.ends_with(&format!("; {path} uses the plain socket")), "{line}");

    let script = bench.script("script", &format!("#!{path} -x\n"));
    let ran = bench.run(&["x11", &script]);
    assert_eq!(ran.code(), 3);
    assert!(ran.error_line().contains(&format!("interpreter {path} is statically")), "{ran:?}");

    let quiet = bench.run(&["x11", "--log", "error", path]);
    assert_eq!((quiet.code(), quiet.stderr.as_str()), (3, ""));
}

#[test]
fn a_set_uid_program_runs_with_a_warning() {
    const NOBODY: u32 = 65534;
    let bench = Bench::new();
    let (args, expected) = if rustix::process::getuid().is_root() {
        let program = bench.path("elevated");
        build_c(EXIT_3, &program, &[]);
        chown(&program, Some(NOBODY), Some(NOBODY)).expect("chown");
        set_mode(&program, 0o4755);
        // The way to the program must be open for the user that it becomes.
        (vec!["x11".to_owned(), program.to_str().expect("UTF-8").to_owned()], 3)
    } else {
        // Nobody but root can make one for another user: take one that every system has.
        (["x11", "su", "--version"].map(str::to_owned).to_vec(), 0)
    };
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = bench.run(&args);
    assert_eq!(ran.code(), expected, "{ran:?}");
    if rustix::thread::no_new_privs().expect("prctl") {
        assert_eq!(ran.stderr, "", "the bit has no effect here, so that the hooks are loaded");
    } else {
        assert!(ran.error_line().contains("warning: the program is set-uid"), "{ran:?}");
        assert_eq!(bench.hooked(), [""; 0]);
    }
}

#[test]
fn a_missing_library_is_a_warning() {
    let bench = Bench::new();
    let mut command = bench.slipway(&["x11", "sh", "-c", "echo \"[$LD_PRELOAD]\"; exit 4"]);
    command.env("SLIPWAY_PRELOAD", "/nonexistent/hooks.so");
    let ran = outcome(command);
    assert_eq!((ran.code(), ran.stdout.as_str()), (4, "[]\n"));
    assert!(ran.error_line().contains("/nonexistent/hooks.so"), "{ran:?}");
}

#[test]
fn a_library_for_another_machine_is_a_warning() {
    const E_MACHINE: usize = 18;
    const EM_S390: [u8; 2] = 22_u16.to_ne_bytes();
    let bench = Bench::new();
    let other = bench.path("other.so");
    let mut bytes = fs::read(&bench.hook).expect("hook");
    bytes[E_MACHINE..E_MACHINE + 2].copy_from_slice(&EM_S390);
    fs::write(&other, bytes).expect("write");
    let mut command = bench.slipway(&["x11", "sh", "-c", "echo \"[$LD_PRELOAD]\"; exit 4"]);
    command.env("SLIPWAY_PRELOAD", &other);
    let ran = outcome(command);
    assert_eq!((ran.code(), ran.stdout.as_str()), (4, "[]\n"));
    assert!(ran.error_line().contains("the preload library 64-bit S/390"), "{ran:?}");
}

#[test]
fn a_library_that_the_loader_cannot_name_is_a_warning() {
    let bench = Bench::new();
    let dir = bench.path("with space");
    fs::create_dir(&dir).expect("mkdir");
    fs::copy(&bench.hook, dir.join("hooks.so")).expect("copy");
    let mut command = bench.slipway(&["x11", "true"]);
    command.env("SLIPWAY_PRELOAD", dir.join("hooks.so"));
    let ran = outcome(command);
    assert_eq!(ran.code(), 0);
    assert!(ran.error_line().contains("space"), "{ran:?}");
}

#[test]
fn an_installation_finds_its_parts() {
    let bench = Bench::new();
    for dir in ["bin", "lib/slipway", "libexec/slipway"] {
        fs::create_dir_all(bench.path(dir)).expect("mkdir");
    }
    let slipway = bench.path("bin/slipway");
    fs::hard_link(SLIPWAY, &slipway).expect("link");
    let run = |args: &[&str]| {
        let mut command = Command::new(&slipway);
        bench.prepare(&mut command);
        command.args(args).env_remove("SLIPWAY_PRELOAD");
        outcome(command)
    };
    let missing = run(&["x11", "true"]);
    assert_eq!(missing.code(), 0);
    assert!(missing.error_line().contains("libslipway_preload.so not found"), "{missing:?}");
    let missing = run(&["bench", "x11"]);
    assert_eq!(missing.code(), 127);
    assert!(missing.error_line().contains("slipway-bench"), "{missing:?}");

    fs::copy(&bench.hook, bench.path("lib/slipway/libslipway_preload.so")).expect("copy");
    bench.script("libexec/slipway/slipway-bench", "#!/bin/sh\necho bench \"$@\"\nexit 5\n");
    assert_eq!(run(&["x11", "true"]).stderr, "");
    assert_eq!(bench.hooked(), ["true"]);
    let ran = run(&["bench", "x11", "--quick", "--help"]);
    assert_eq!((ran.code(), ran.stdout.as_str()), (5, "bench x11 --quick --help\n"));
}

#[test]
fn status_without_a_server() {
    let bench = Bench::new();
    let failed = bench.run(&["x11", "status", ":299"]);
    assert_eq!(failed.code(), 1);
    assert!(failed.error_line().contains("x11-299"), "the socket is named: {failed:?}");
    assert_eq!(bench.run(&["x11", "status"]).code(), 1);
    assert_eq!(bench.run(&["x11", "status", "--json", "elsewhere:1"]).code(), 2);
    let program = bench.run(&["x11", "--", "status", ":299"]);
    assert_eq!(program.code(), 127, "after -- it is a program: {program:?}");
}
