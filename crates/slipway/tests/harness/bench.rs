//! `slipway` with a stand-in for the hooks, in a directory and with processes that are counted afterwards.

use super::build::{build_c, scratch_in_target, script, set_mode};
use super::outcome::Outcome;
use super::process::{Running, SLIPWAY, clean};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

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

impl Bench {
    pub fn new() -> Self {
        static HOOK_DIR: OnceLock<TempDir> = OnceLock::new();
        let hooks = HOOK_DIR.get_or_init(|| {
            let dir = scratch_in_target();
            build_c(HOOK, &dir.path().join("hook.so"), &["-shared", "-fPIC"]);
            dir
        });
        Self { dir: scratch_in_target(), hook: hooks.path().join("hook.so") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// `slipway ARGS` with the stand-in for the hooks, and nothing set by the tests' caller.
    pub fn slipway(&self, args: &[&str]) -> Command {
        let mut command = Command::new(SLIPWAY);
        command.args(args);
        self.prepare(&mut command);
        command
    }

    /// The environment of [`Bench::slipway`] for another command.
    pub fn prepare(&self, command: &mut Command) {
        clean(command);
        let (temporary, runtime) = (self.path("tmp"), self.path("runtime"));
        fs::create_dir_all(&temporary).expect("tmp");
        fs::create_dir_all(&runtime).expect("runtime");
        set_mode(&runtime, 0o700);
        command
            .env("SLIPWAY_PRELOAD", &self.hook)
            .env("SLIPWAY_RUNTIME_DIR", runtime)
            .env("HOOK_LOG", self.path("log"))
            .env("TMPDIR", temporary)
            .env("SLIPWAY_TEST_MARK", self.dir.path());
    }

    pub fn run(&self, args: &[&str]) -> Outcome {
        Running::start(self.slipway(args)).finish()
    }

    /// An executable script.
    pub fn script(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        script(&path, text);
        path.to_str().expect("UTF-8").to_owned()
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

pub fn pidfd(pid: u32) -> OwnedFd {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a process number is not 0");
    pidfd_open(pid, PidfdFlags::empty()).expect("pidfd")
}

/// Waits for the end of a process; false if it hangs.
pub fn ends(process: &OwnedFd) -> bool {
    let patience = Timespec::try_from(super::process::PATIENCE).expect("a time");
    loop {
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&patience)) {
            Err(rustix::io::Errno::INTR) => {}
            result => return result.expect("poll") > 0,
        }
    }
}
