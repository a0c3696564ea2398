//! `slipway x11 --server`: a private server for one program.

mod harness;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use harness::bench::{ends, pidfd};
use harness::build::build_c;
use harness::server::own_display;
use harness::{Bench, Running, SLIPWAY};
use rustix::process::{Pid, Signal, kill_process};

/// Says which display it is in, then lives until its standard input ends.
const LINGER: &str = "echo $DISPLAY; read line; exit 3";

fn xvfb(script: &str) -> [&str; 7] {
    ["x11", "--server", "Xvfb", "--", "sh", "-c", script]
}

/// Starts `command`; what runs and its first line.
fn start(command: Command) -> (Running, String) {
    let mut running = Running::start(command);
    match running.next_line() {
        Some(line) => (running, line),
        None => running.fail("ended without a line"),
    }
}

fn socket_of(display: &str) -> String {
    format!("/tmp/.X11-unix/X{}", display.trim_start_matches(':'))
}

/// The socket of a server, told apart from that of a later server of the same display.
struct Socket {
    path: String,
    made: (u64, i64, i64),
}

impl Socket {
    fn of(display: &str) -> Socket {
        let path = socket_of(display);
        let made = Socket::made(&path).unwrap_or_else(|| panic!("{path} does not exist"));
        Socket { path, made }
    }

    fn made(path: &str) -> Option<(u64, i64, i64)> {
        let found = fs::metadata(path).ok()?;
        Some((found.ino(), found.ctime(), found.ctime_nsec()))
    }

    /// Whether its server has removed it. Another may have taken the display since.
    fn is_gone(&self) -> bool {
        Socket::made(&self.path) != Some(self.made)
    }
}

#[test]
fn a_program_in_its_own_server() {
    let bench = Bench::new();
    let script = "echo $DISPLAY; stat -c %a $XAUTHORITY ${XAUTHORITY%/*}; xdpyinfo | grep dimensions; exit 7";
    let args =
        ["x11", "--server", "Xvfb", "--screen", "320x200x16", "--server-arg", "-dpi", "--server-arg", "96", "sh", "-c", script];
    let ran = bench.run(&args);
    assert_eq!(ran.code(), 7, "{ran:?}");
    assert_eq!(ran.stderr, "");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[1..3], ["600", "700"], "{ran:?}");
    assert!(lines[3].contains("320x200 pixels (85x53 millimeters)"), "{ran:?}");
    let hooked = bench.hooked();
    assert_eq!(hooked[0], "Xvfb");
    assert!(hooked.contains(&"xdpyinfo".to_owned()), "{hooked:?}");
    bench.assert_nothing_left();
}

#[test]
fn only_the_cookie_opens_the_server() {
    let bench = Bench::new();
    let (session, display) = start(bench.slipway(&xvfb(&format!("xdpyinfo >/dev/null || exit 9; {LINGER}"))));
    let mut stranger = Command::new("xdpyinfo");
    bench.prepare(&mut stranger);
    stranger.env("DISPLAY", &display).env("XAUTHORITY", "/dev/null");
    let refused = Running::start(stranger).finish();
    assert_eq!(refused.code(), 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("unable to open display"), "{refused:?}");
    assert_eq!(session.finish().code(), 3);
    bench.assert_nothing_left();
}

#[test]
fn xauth_reads_the_authority_file() {
    let bench = Bench::new();
    let ran = bench.run(&xvfb("xauth -f $XAUTHORITY list"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    let cookie = ran.stdout.split_whitespace().last().expect("a cookie");
    assert!(ran.stdout.contains("MIT-MAGIC-COOKIE-1"), "{ran:?}");
    assert!(cookie.len() == 32 && cookie.bytes().all(|byte| byte.is_ascii_hexdigit()), "{cookie}");
}

#[test]
fn what_one_client_sets_the_next_one_sees() {
    let bench = Bench::new();
    // The server would start afresh when its last client leaves.
    let ran = bench.run(&xvfb("xprop -root -f MARK 8s -set MARK here && xprop -root MARK"));
    assert_eq!(ran.stdout, "MARK(STRING) = \"here\"\n", "{ran:?}");
}

#[test]
fn exit_code_of_a_killed_program() {
    let bench = Bench::new();
    assert_eq!(bench.run(&xvfb("kill -KILL $$")).code(), 128 + 9);
    assert_eq!(bench.run(&xvfb("exit 255")).code(), 255);
    let orphan = bench.script("orphan", "#!/nonexistent/interpreter\n");
    assert_eq!(bench.run(&["x11", "--server", "Xvfb", &orphan]).code(), 127);
    bench.assert_nothing_left();
}

/// Says who started it, then each SIGINT; ends at SIGTERM or SIGHUP. It waits for signals in one
/// system call: a shell's trap can come too early for the `read` that it should interrupt.
const LISTENER: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
    int signal, count = 0;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%d\n", (int)getppid());
    while (sigwait(&set, &signal) == 0 && signal == SIGINT) printf("int %d\n", ++count);
    printf("end %d after %d\n", signal, count);
    return 42;
}
"#;

#[test]
fn signals_are_passed_on() {
    let bench = Bench::new();
    let listener = bench.path("listener");
    build_c(LISTENER, &listener, &[]);
    for (signal, last) in [(Signal::TERM, "end 15 after 1\n"), (Signal::HUP, "end 1 after 1\n")] {
        // Whoever runs the tests may ignore signals, which slipway would respect.
        let mut command = Command::new("env");
        bench.prepare(&mut command);
        command.arg("--default-signal=TERM,INT,HUP").arg(SLIPWAY);
        command.args(["x11", "--server", "Xvfb"]).arg(&listener);
        let (mut session, parent) = start(command);
        assert_eq!(parent, session.pid().to_string());
        session.signal(Signal::INT);
        assert_eq!(session.next_line().as_deref(), Some("int 1"));
        session.signal(signal);
        session.ends();
        let ended = session.finish();
        assert_eq!((ended.code(), ended.stdout), (42, format!("{parent}\nint 1\n{last}")));
    }
    bench.assert_nothing_left();
}

#[test]
fn the_terminal_reaches_the_program_once() {
    let bench = Bench::new();
    let listener = bench.path("listener");
    build_c(LISTENER, &listener, &[]);
    let mut command = Command::new("script");
    bench.prepare(&mut command);
    let inside = format!("exec {SLIPWAY} x11 --server Xvfb {}", listener.display());
    command.args(["-qec", &inside, "/dev/null"]);
    let (mut terminal, slipway) = start(command);
    terminal.type_in("\x03"); // Ctrl-C
    let line = terminal.next_line().expect("a line");
    assert!(line.ends_with("int 1"), "perhaps after an echo of the key: {line}");
    // A second SIGINT, from slipway, would be on its way before this signal.
    let slipway = slipway.parse().ok().and_then(Pid::from_raw).expect("a process number");
    kill_process(slipway, Signal::TERM).expect("kill");
    assert_eq!(terminal.next_line().as_deref(), Some("end 15 after 1"));
    assert_eq!(terminal.finish().code(), 42);
    bench.assert_nothing_left();
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let bench = Bench::new();
    let mut command = Command::new("sh");
    bench.prepare(&mut command);
    let script = "trap '' HUP; exec \"$0\" x11 --server Xvfb -- grep SigIgn /proc/self/status";
    command.args(["-c", script, SLIPWAY]);
    let ran = Running::start(command).finish();
    let mask = ran.stdout.split_whitespace().last().expect("a mask");
    let mask = u64::from_str_radix(mask, 16).expect("hexadecimal");
    assert_eq!(mask & 1, 1, "{ran:?}");
}

#[test]
fn nothing_survives_the_death_of_slipway() {
    let bench = Bench::new();
    let (mut session, display) = start(bench.slipway(&xvfb(LINGER)));
    let socket = Socket::of(&display);
    let processes = bench.processes();
    let names: Vec<&str> = processes.values().map(String::as_str).collect();
    assert!(names.contains(&"Xvfb") && names.contains(&"sh") && names.len() == 4, "{names:?}");
    let survivors: Vec<_> = processes.keys().map(|&pid| pidfd(pid)).collect();
    session.signal(Signal::KILL);
    assert!(survivors.iter().all(ends));
    session.finish();
    bench.assert_nothing_left();
    assert!(socket.is_gone());
}

#[test]
fn nor_the_death_of_the_guard_and_slipway() {
    let bench = Bench::new();
    let (mut session, display) = start(bench.slipway(&xvfb(LINGER)));
    let socket = Socket::of(&display);
    let processes = bench.processes();
    let (slipways, others): (Vec<_>, Vec<_>) = processes.iter().partition(|(_, name)| *name == "slipway");
    let (guard, _) = slipways.iter().find(|(pid, _)| **pid != session.pid()).expect("a guard");
    let survivors: Vec<_> = others.iter().map(|(pid, _)| pidfd(**pid)).collect();
    kill_process(Pid::from_raw(guard.cast_signed()).expect("pid"), Signal::KILL).expect("kill");
    session.signal(Signal::KILL);
    assert!(survivors.len() == 2 && survivors.iter().all(ends), "{processes:?}");
    assert!(socket.is_gone());
}

#[test]
fn not_even_what_ignores_to_be_asked() {
    let bench = Bench::new();
    let (mut session, _) = start(bench.slipway(&xvfb("trap '' TERM; echo up; exec cat")));
    let survivors: Vec<_> = bench.processes().keys().map(|&pid| pidfd(pid)).collect();
    session.signal(Signal::KILL);
    assert!(survivors.iter().all(ends));
    bench.assert_nothing_left();
}

#[test]
fn a_server_that_dies_is_reported() {
    let bench = Bench::new();
    let display = own_display(0);
    let args = ["x11", "--server", "Xvfb", "--display", &display.to_string(), "--", "sh", "-c", LINGER];
    let (mut session, _) = start(bench.slipway(&args));
    let processes = bench.processes();
    let (pid, _) = processes.iter().find(|(_, name)| *name == "Xvfb").expect("the server");
    kill_process(Pid::from_raw(pid.cast_signed()).expect("pid"), Signal::KILL).expect("kill");
    let line = session.first_error();
    assert!(line.starts_with("slipway: Xvfb ended early"), "{line}");
    assert_eq!(session.finish().code(), 3, "the program goes on");
    fs::remove_file(socket_of(&display.to_string())).expect("a killed server leaves its socket");
    bench.assert_nothing_left();
}

#[test]
fn a_chosen_display_and_one_that_is_taken() {
    let bench = Bench::new();
    let number = own_display(1).to_string();
    let args = [
        "x11",
        "--server",
        "Xvfb",
        "--display",
        &number,
        "--",
        SLIPWAY,
        "x11",
        "--server",
        "Xvfb",
        "--display",
        &number,
        "--",
        "true",
    ];
    let taken = bench.run(&args);
    assert_eq!(taken.code(), 125, "{taken:?}");
    assert!(taken.stderr.contains("slipway: Xvfb ended before it was ready"), "{taken:?}");
    assert!(taken.stderr.contains("Fatal server error"), "its own words: {taken:?}");
    let free = bench.run(&["x11", "--server", "Xvfb", "--display", &number, "--", "sh", "-c", "echo $DISPLAY"]);
    assert_eq!(free.stdout, format!(":{number}\n"), "{free:?}");
    bench.assert_nothing_left();
}

#[test]
fn a_server_behind_a_script() {
    let bench = Bench::new();
    let wrapper = bench.script("wrapper", "#!/bin/sh\nXvfb \"$@\"\necho ended\n");
    let start = || {
        let args = ["x11", "--server", &wrapper, "--", "sh", "-c", LINGER];
        let (session, display) = start(bench.slipway(&args));
        assert!(bench.processes().values().any(|name| name == "Xvfb"));
        (session, Socket::of(&display))
    };
    let (session, socket) = start();
    assert_eq!(session.finish().code(), 3);
    assert!(socket.is_gone());
    bench.assert_nothing_left();

    let (mut session, socket) = start();
    let survivors: Vec<_> = bench.processes().keys().map(|&pid| pidfd(pid)).collect();
    session.signal(Signal::KILL);
    assert!(survivors.iter().all(ends));
    assert!(socket.is_gone());
    bench.assert_nothing_left();
}

#[test]
fn a_server_that_never_gets_ready() {
    let bench = Bench::new();
    let slow = bench.script("slow", "#!/bin/sh\necho some words >&2\nmkfifo \"$0.fifo\"\nexec cat <>\"$0.fifo\"\n");
    let failed = bench.run(&["x11", "--server", &slow, "--server-timeout", "1", "true"]);
    assert_eq!(failed.code(), 125, "{failed:?}");
    assert!(failed.stderr.contains("was not ready within 1 s"), "{failed:?}");
    assert!(failed.stderr.contains("some words"), "{failed:?}");
    bench.assert_nothing_left();
}

#[test]
fn a_signal_while_the_server_starts() {
    let bench = Bench::new();
    // The server itself asks slipway to stop: no moment has to be guessed.
    let asks = bench.script("asks", "#!/bin/sh\nkill -TERM $PPID\nmkfifo \"$0.fifo\"\nexec cat <>\"$0.fifo\"\n");
    let failed = bench.run(&["x11", "--server", &asks, "true"]);
    assert_eq!(failed.code(), 128 + 15, "{failed:?}");
    assert!(failed.error_line().contains("signal 15"), "{failed:?}");
    bench.assert_nothing_left();
}

#[test]
fn a_server_that_does_not_know_displayfd() {
    let bench = Bench::new();
    let wrong = bench.script("wrong", "#!/bin/sh\necho what >&\"$2\"\nread line\n");
    let failed = bench.run(&["x11", "--server", &wrong, "true"]);
    assert_eq!(failed.code(), 125, "{failed:?}");
    assert!(failed.stderr.contains("\"what\", which is no number"), "{failed:?}");
    let ends = bench.run(&["x11", "--server", "true", "true"]);
    assert_eq!(ends.code(), 125);
    assert!(ends.error_line().contains("wrote nothing to standard error"), "{ends:?}");
    bench.assert_nothing_left();
}
