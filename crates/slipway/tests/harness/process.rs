//! A program in its own process group, with a watchdog and with all that it printed.

use super::outcome::Outcome;
use rustix::process::{Pid, Signal};
use slipway_test_support::built;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// The `slipway` that is under test.
pub const SLIPWAY: &str = env!("CARGO_BIN_EXE_slipway");

/// When the watchdog ends a wait: many times what it takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// How a program is started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// By itself: what Slipway is compared with.
    Plain,
    /// Under `slipway x11`, with SLIPWAY_X11=off.
    Off,
    /// Under `slipway x11`.
    Hooked,
    /// Under `slipway x11 --over ports`.
    Ports,
}

impl Mode {
    /// A command for `program` in this mode. Of the settings in the tests' own environment, only
    /// those given here reach it.
    pub fn command(self, program: impl AsRef<OsStr>) -> Command {
        let mut command = match self {
            Mode::Plain => Command::new(program),
            Mode::Off | Mode::Hooked | Mode::Ports => {
                let mut command = slipway();
                command.arg("x11").args((self == Mode::Ports).then_some("--over=ports")).arg("--").arg(program);
                command
            }
        };
        prepare(&mut command);
        if self == Mode::Ports {
            command.env("SLIPWAY_LIBMACH", built("libmach.so"));
        }
        if self == Mode::Off {
            command.env("SLIPWAY_X11", "off");
        }
        command
    }
}

/// A command for [`SLIPWAY`], with the hooks that are under test.
pub fn slipway() -> Command {
    let mut command = Command::new(SLIPWAY);
    prepare(&mut command);
    command
}

fn prepare(command: &mut Command) {
    clean(command);
    command.env("SLIPWAY_PRELOAD", super::build::preload());
    // So that also what is used little is tested over shared memory.
    command.env("SLIPWAY_X11_AFTER", "0");
}

/// Removes from its environment what the tests' caller has set.
pub fn clean(command: &mut Command) {
    let ours = |name: &OsStr| name.to_string_lossy().starts_with("SLIPWAY_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| ours(name)) {
        command.env_remove(name);
    }
    for name in ["DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "LD_PRELOAD", "MAKEFLAGS", "MAKELEVEL"] {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C.UTF-8");
}

/// The exit code of a command for a process that does not answer.
pub const NO_ANSWER: i32 = 5;

/// Runs a command that asks a process, again if that does not answer in time: on a busy machine it may have had no turn.
pub fn answered(command: impl Fn() -> Command) -> Outcome {
    let mut tries = std::iter::repeat_with(|| Running::start(command()).finish()).take(20);
    tries.find(|ran| ran.code() != NO_ANSWER).expect("an answer in time")
}

enum Event {
    Out(String),
    Err(String),
    Closed,
    Ended(ExitStatus),
}

/// A program that runs. Dropping it kills its process group.
pub struct Running {
    what: String,
    group: u32,
    stdin: Option<ChildStdin>,
    events: Receiver<Event>,
    stdout: String,
    stderr: String,
    open: u32,
    ended: Option<ExitStatus>,
}

impl Running {
    /// Starts `command`, with pipes for standard input, output and error.
    pub fn start(mut command: Command) -> Running {
        let what = format!("{command:?}").chars().take(300).collect::<String>();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {what}: {e}"));
        let (sender, events) = mpsc::channel();
        read_lines(child.stdout.take().expect("a pipe"), sender.clone(), Event::Out);
        read_lines(child.stderr.take().expect("a pipe"), sender.clone(), Event::Err);
        let (group, stdin) = (child.id(), child.stdin.take());
        thread::spawn(move || wait(child, &sender));
        let (stdout, stderr) = (String::new(), String::new());
        Running { what, group, stdin, events, stdout, stderr, open: 2, ended: None }
    }

    /// The process started, which is the program itself where the launcher has become it.
    pub fn pid(&self) -> u32 {
        self.group
    }

    /// What it has printed to standard error so far.
    pub fn errors(&mut self) -> &str {
        while let Ok(event) = self.events.try_recv() {
            self.note(event);
        }
        &self.stderr
    }

    /// The next line of its standard output; nothing once it has ended.
    pub fn next_line(&mut self) -> Option<String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(line) = self.step(deadline, "print a line") {
                return Some(line);
            }
            if self.over() {
                return None;
            }
        }
    }

    /// Waits for a line on its standard output that contains `wanted`.
    pub fn wait_line(&mut self, wanted: &str) -> String {
        loop {
            match self.next_line() {
                Some(line) if line.contains(wanted) => return line,
                Some(_) => {}
                None => self.fail(&format!("ended without printing '{wanted}'")),
            }
        }
    }

    /// Whether it still runs.
    pub fn alive(&mut self) -> bool {
        self.errors();
        self.ended.is_none()
    }

    /// The first line of its standard error, waited for.
    pub fn first_error(&mut self) -> &str {
        let deadline = Instant::now() + PATIENCE;
        while !self.stderr.contains('\n') {
            self.step(deadline, "print an error");
        }
        self.stderr.lines().next().unwrap_or_default()
    }

    /// Waits for its standard error to contain `wanted`: all of it so far.
    pub fn wait_error(&mut self, wanted: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        while !self.stderr.contains(wanted) {
            if self.over() {
                self.fail(&format!("ended without the error '{wanted}'"));
            }
            self.step(deadline, "print an error");
        }
        self.stderr.clone()
    }

    /// Gives it a line of input.
    pub fn say(&mut self, line: &str) {
        self.type_in(&format!("{line}\n"));
    }

    /// Gives it these characters of input.
    pub fn type_in(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().expect("its standard input is open");
        if let Err(e) = stdin.write_all(text.as_bytes()) {
            self.fail(&format!("does not read its input: {e}"));
        }
    }

    /// Ends its input and waits until it has ended and closed its outputs.
    pub fn finish(mut self) -> Outcome {
        self.stdin = None;
        let deadline = Instant::now() + PATIENCE;
        while !self.over() {
            self.step(deadline, "end");
        }
        let status = self.ended.expect("it has ended");
        let (stdout, stderr) = (self.stdout.split_off(0), self.stderr.split_off(0));
        Outcome { status, stdout, stderr }
    }

    /// As [`Running::finish`]; gives its standard output, and fails unless its exit code is 0.
    pub fn succeed(self) -> String {
        let what = self.what.clone();
        let Outcome { status, stdout, stderr } = self.finish();
        assert!(status.success(), "{what}: {status}\n-- out:\n{stdout}\n-- err:\n{stderr}");
        stdout
    }

    /// Fails the test, with what the program printed.
    pub fn fail(&mut self, why: &str) -> ! {
        self.errors();
        let how = self.ended.map_or("it ran still".to_owned(), |status| status.to_string());
        self.kill();
        panic!("{} {why} ({how})\n-- out:\n{}\n-- err:\n{}", self.what, self.stdout, self.stderr);
    }

    fn over(&self) -> bool {
        self.open == 0 && self.ended.is_some()
    }

    /// Takes one event before `deadline`; gives the line if it was one of standard output.
    fn step(&mut self, deadline: Instant, wish: &str) -> Option<String> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.events.recv_timeout(left) {
            Ok(event) => self.note(event),
            Err(_) => self.fail(&format!("did not {wish} within {PATIENCE:?}")),
        }
    }

    fn note(&mut self, event: Event) -> Option<String> {
        match event {
            Event::Out(line) => {
                self.stdout.push_str(&line);
                return Some(line.trim_end().to_owned());
            }
            Event::Err(line) => self.stderr.push_str(&line),
            Event::Closed => self.open -= 1,
            Event::Ended(status) => self.ended = Some(status),
        }
        None
    }

    /// Asks it to end, by SIGTERM, and waits until it has.
    pub fn terminate(&mut self) -> ExitStatus {
        self.signal_group(Signal::TERM);
        self.ends()
    }

    /// Waits until it has ended, which somebody has asked it to do.
    pub fn ends(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.ended {
                return status;
            }
            self.step(deadline, "end when it was asked to");
        }
    }

    /// Sends it a signal, and to no other process of its group.
    pub fn signal(&mut self, signal: Signal) {
        let pid = Pid::from_raw(self.group.cast_signed()).expect("a process id");
        rustix::process::kill_process(pid, signal).expect("kill");
    }

    fn kill(&mut self) {
        self.signal_group(Signal::KILL);
    }

    fn signal_group(&mut self, signal: Signal) {
        self.errors();
        // Once its leader is reaped, the number may be another group's.
        if self.ended.is_none() {
            let group = Pid::from_raw(self.group.cast_signed()).expect("a process id");
            // It may have ended meanwhile.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        while self.ended.is_none() {
            match self.events.recv_timeout(PATIENCE) {
                Ok(event) => drop(self.note(event)),
                Err(_) => break,
            }
        }
    }
}

fn read_lines(from: impl Read + Send + 'static, to: Sender<Event>, event: fn(String) -> Event) {
    thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            if to.send(event(String::from_utf8_lossy(&line).into_owned())).is_err() {
                return;
            }
            line.clear();
        }
        let _ = to.send(Event::Closed);
    });
}

fn wait(mut child: Child, to: &Sender<Event>) {
    if let Ok(status) = child.wait() {
        let _ = to.send(Event::Ended(status));
    }
}
