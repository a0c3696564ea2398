//! What the tests of the command line share.

#![allow(dead_code, reason = "each test program uses its part")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tempfile::TempDir;

pub const SLIPWAY: &str = env!("CARGO_BIN_EXE_slipway");

/// After this many seconds something hangs: a watchdog, not a measure of speed.
const WATCHDOG: Timespec = Timespec { tv_sec: 120, tv_nsec: 0 };

/// A library that stands for the hooks: it writes the program's name to the file $HOOK_LOG.
const HOOK: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void loaded(void) {
    const char *path = getenv("HOOK_LOG");
    FILE *log = path ? fopen(path, "a") : NULL;
    if (log) { fprintf(log, "%s\n", program_invocation_short_name); fclose(log); }
}
"#;

/// A directory of its own and a clean environment for one test.
pub struct Bench {
    pub dir: TempDir,
    pub hook: PathBuf,
}

/// How a command ended.
#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("no exit code: {self:?}"))
    }

    /// The only line on standard error.
    pub fn error_line(&self) -> &str {
        let line = self.stderr.strip_suffix('\n').unwrap_or_else(|| panic!("{self:?}"));
        assert!(line.starts_with("slipway: ") && !line.contains('\n'), "{self:?}");
        line
    }
}

impl Bench {
    pub fn new() -> Self {
        static HOOK_DIR: OnceLock<TempDir> = OnceLock::new();
        let hooks = HOOK_DIR.get_or_init(|| {
            let dir = tempdir();
            compile(HOOK, &dir.path().join("hook.so"), &["-shared", "-fPIC"]);
            dir
        });
        Self { dir: tempdir(), hook: hooks.path().join("hook.so") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// `slipway ARGS` with the stand-in for the hooks, and nothing set by whoever runs the tests.
    pub fn slipway(&self, args: &[&str]) -> Command {
        let mut command = Command::new(SLIPWAY);
        command.args(args);
        self.prepare(&mut command);
        command
    }

    /// The environment of [`Bench::slipway`] for another command.
    pub fn prepare(&self, command: &mut Command) {
        for name in ["DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "LD_PRELOAD"] {
            command.env_remove(name);
        }
        for (name, _) in std::env::vars_os() {
            if name.as_bytes().starts_with(b"SLIPWAY_") {
                command.env_remove(name);
            }
        }
        let (temporary, runtime) = (self.path("tmp"), self.path("runtime"));
        fs::create_dir_all(&temporary).expect("tmp");
        fs::create_dir_all(&runtime).expect("runtime");
        set_mode(&runtime, 0o700);
        command
            .env("SLIPWAY_PRELOAD", &self.hook)
            .env("SLIPWAY_RUNTIME_DIR", runtime)
            .env("HOOK_LOG", self.path("log"))
            .env("TMPDIR", temporary)
            .env("SLIPWAY_TEST_MARK", self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    pub fn run(&self, args: &[&str]) -> Outcome {
        outcome(self.slipway(args))
    }

    /// An executable script. Another process writes it: a descriptor of ours, inherited by what
    /// another test starts at this moment, would make its execution fail (ETXTBSY).
    pub fn script(&self, name: &str, text: &str) -> String {
        let path = self.path(name).to_str().expect("UTF-8").to_owned();
        let write = r#"printf %s "$2" > "$1" && chmod 755 "$1""#;
        let written = Command::new("sh").args(["-c", write, "sh", &path, text]).status();
        assert!(written.expect("sh").success(), "{path}");
        path
    }

    /// The programs that loaded the stand-in for the hooks, in order.
    pub fn hooked(&self) -> Vec<String> {
        let log = fs::read_to_string(self.path("log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    /// The living processes that this test started, directly or not, by name.
    pub fn processes(&self) -> BTreeMap<u32, String> {
        let mut mark = b"SLIPWAY_TEST_MARK=".to_vec();
        mark.extend(self.dir.path().as_os_str().as_bytes());
        let processes = fs::read_dir("/proc").expect("/proc").flatten();
        processes
            .filter_map(|entry| {
                let pid = entry.file_name().to_str()?.parse().ok()?;
                let environment = fs::read(entry.path().join("environ")).ok()?;
                let is_ours = environment.split(|&byte| byte == 0).any(|entry| entry == mark);
                let name = fs::read_to_string(entry.path().join("comm")).ok()?;
                is_ours.then(|| (pid, name.trim().to_owned()))
            })
            .collect()
    }

    /// Fails unless every process and every temporary file is gone.
    pub fn assert_nothing_left(&self) {
        assert_eq!(self.processes(), BTreeMap::new());
        let left: Vec<_> = fs::read_dir(self.path("tmp")).expect("tmp").flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// A running `slipway` whose output is read as it comes.
pub struct Running {
    pub child: Child,
    pub stdout: BufReader<std::process::ChildStdout>,
    pub stderr: BufReader<std::process::ChildStderr>,
}

impl Running {
    /// Starts `command` and waits for its first line on standard output, which is returned.
    pub fn start(mut command: Command) -> (Self, String) {
        let mut child = command.stdin(Stdio::piped()).spawn().expect("spawn");
        kill_when_hung(&child);
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut running = Self { child, stdout, stderr };
        let line = running.line();
        if line.is_empty() {
            let mut stderr = String::new();
            running.stderr.read_to_string(&mut stderr).expect("standard error");
            panic!("no output; standard error: {stderr}");
        }
        (running, line)
    }

    /// The next line on standard output.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    pub fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).expect("kill");
    }

    pub fn finish(mut self) -> Outcome {
        drop(self.child.stdin.take());
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.stdout.read_to_string(&mut stdout).expect("standard output");
        self.stderr.read_to_string(&mut stderr).expect("standard error");
        Outcome { status: self.child.wait().expect("wait"), stdout, stderr }
    }
}

pub fn outcome(mut command: Command) -> Outcome {
    let child = command.spawn().expect("spawn");
    kill_when_hung(&child);
    let output = child.wait_with_output().expect("wait");
    Outcome {
        status: output.status,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A watchdog for one child.
fn kill_when_hung(child: &Child) {
    let process = pidfd(child.id());
    thread::spawn(move || {
        if !ends(&process) {
            eprintln!("watchdog: killed a command that hung");
            let _ = pidfd_send_signal(&process, Signal::KILL);
        }
    });
}

pub fn pidfd(pid: u32) -> OwnedFd {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a process number is not 0");
    pidfd_open(pid, PidfdFlags::empty()).expect("pidfd")
}

/// Waits for the end of a process; false if it hangs.
pub fn ends(process: &OwnedFd) -> bool {
    loop {
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&WATCHDOG)) {
            Err(rustix::io::Errno::INTR) => {}
            result => return result.expect("poll") > 0,
        }
    }
}

pub fn compile(source: &str, output: &Path, options: &[&str]) {
    let file = output.with_extension("c");
    fs::write(&file, source).expect("source");
    let compiled = Command::new("cc").args(options).arg("-o").args([output, &file]).status();
    assert!(compiled.expect("cc").success(), "cc {}", output.display());
}

pub fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}

/// In the build directory: a system's /tmp may forbid execution and set-uid programs.
fn tempdir() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("temporary directory")
}
