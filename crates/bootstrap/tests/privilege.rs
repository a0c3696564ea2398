//! What another user chooses does not decide what a program with more rights runs.

mod support;

use mach as _;
use rustix::{
    fs::{StatVfsMountFlags, statvfs},
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt::socket_peercred},
    process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal},
};
use slipway_mach::bootstrap::{self, protocol};
use slipway_test_support::succeed;
use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::Command,
};
use support::*;

fn set(path: &Path, mode: u32, owner: Option<u32>) {
    if owner.is_some() {
        chown(path, owner, owner).expect("an owner");
    }
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
}

/// The name server of the user that a set-uid program belongs to, ended with the test.
struct Foreign(PathBuf);

impl Foreign {
    fn pid(&self) -> Option<Pid> {
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("a socket");
        connect(&socket, &SocketAddrUnix::new(self.0.join("bootstrap")).expect("a path")).ok()?;
        Some(socket_peercred(&socket).expect("the peer").pid)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Some(pid) = self.pid()
            && let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty())
        {
            let _ = pidfd_send_signal(&pidfd, Signal::KILL);
        }
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// All that a caller can choose: the variables of the name server lead to files that the caller wrote.
fn hostile(command: &mut Command, dir: &Path, owner: u32) {
    let (config, run) = (dir.join("config/slipway/services"), dir.join("run"));
    [&config, &run].iter().for_each(|path| fs::create_dir_all(path).expect("a directory"));
    let script = dir.join("slipway-bootstrap");
    let text = format!("#!/bin/sh\n/usr/bin/id -u > {}\n", dir.join("mark").display());
    fs::write(&script, text).expect("a file");
    let service = format!("name = 'evil'\nprogram = '{}'\nrestart = 'on-crash'", script.display());
    fs::write(config.join("evil.toml"), service).expect("a file");
    for path in
        [script.as_path(), dir, &run, &dir.join("config"), &dir.join("config/slipway"), &config, &config.join("evil.toml")]
    {
        set(path, if path == run { 0o700 } else { 0o755 }, Some(owner));
    }
    // Where the script writes, whoever runs it.
    set(dir, 0o777, None);
    for (name, value) in [
        ("XDG_CONFIG_HOME", dir.join("config")),
        ("HOME", dir.to_owned()),
        ("XDG_RUNTIME_DIR", run.clone()),
        ("SLIPWAY_RUNTIME_DIR", run),
        ("SLIPWAY_BOOTSTRAP_SERVER", script.clone()),
        ("SLIPWAY_BOOTSTRAP", dir.join("bootstrap")),
        ("PATH", dir.to_owned()),
    ] {
        command.env(name, value);
    }
}

#[test]
fn the_caller_of_a_set_uid_program_chooses_nothing() {
    if role().is_some() {
        // The server is found and started, and knows nothing of the caller's.
        if let Ok(port) = bootstrap::look_up(me(), None, "evil") {
            send(port, 1, 0);
        }
        assert_eq!(bootstrap::services(me(), None), Ok(Vec::new()));
        assert_eq!(refused(bootstrap::look_up(me(), None, "evil")), protocol::UNKNOWN_SERVICE);
        return say("asked");
    }
    if !geteuid().is_root() {
        return eprintln!("only root can make another user's set-uid program: see what_others_can_write_is_not_trusted");
    }
    // Users that no other process has.
    let (owner, caller) = (600_000_000 + std::process::id(), 700_000_000 + std::process::id());
    let scratch = tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir().expect("a directory");
    let flags = statvfs(scratch.path()).expect("a file system").f_flag;
    assert!(!flags.contains(StatVfsMountFlags::NOSUID), "{}: set-uid does nothing here; set TMPDIR", scratch.path().display());
    let (program, server, theirs) =
        (scratch.path().join("program"), scratch.path().join("slipway-bootstrap"), scratch.path().join("caller"));
    // By another process: a child of another test's could have the file open to be written when it is to be run.
    let copy = |from: &Path, to: &Path| _ = succeed(Command::new("cp").args([from, to]));
    copy(&std::env::current_exe().expect("the test's own path"), &program);
    copy(SERVER.as_ref(), &server);
    set(&server, 0o755, None);
    set(&program, 0o4755, Some(owner));
    let foreign = Foreign(format!("/tmp/slipway-{owner}").into());

    let user = User::new("the_caller_of_a_set_uid_program_chooses_nothing");
    let mut command = user.task("asks");
    fs::create_dir(&theirs).expect("a directory");
    hostile(&mut command, &theirs, caller);
    // As the command that was made, but the set-uid copy.
    let mut asks = Command::new(&program);
    asks.args(command.get_args()).current_dir("/").uid(caller).gid(caller).env("SLIPWAY_TEST_SECRET", "x");
    asks.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut asks = Running::start(asks);
    asks.hears("asked");
    let pid = foreign.pid().expect("a server").as_raw_nonzero();
    asks.succeeds();
    assert!(
        !theirs.join("mark").exists(),
        "the caller's program ran as user {}",
        fs::read_to_string(theirs.join("mark")).unwrap_or_default()
    );
    let environment = fs::read(format!("/proc/{pid}/environ")).expect("its environment");
    let environment = String::from_utf8_lossy(&environment);
    assert!(environment.starts_with("PATH=") && environment.matches('=').count() == 1, "{environment}");
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:")).expect("its users");
    assert!(ids.split_whitespace().all(|id| id == owner.to_string()), "{ids}");
}

#[test]
fn what_another_user_owns_is_not_trusted() {
    if role().is_some() {
        return match bootstrap::services(me(), None) {
            Ok(services) => say(&format!("{} services", services.len())),
            Err(error) => say(&error.to_string()),
        };
    }
    if !geteuid().is_root() {
        return eprintln!("only root can give files away: see what_others_can_write_is_not_trusted");
    }
    let user = User::new("what_another_user_owns_is_not_trusted");
    let scratch = tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir().expect("a directory");
    // One variable after the other, as `sudo -E` would keep them all.
    let said = |names: &[&str]| {
        let mut all = Command::new("none");
        hostile(&mut all, scratch.path(), 12345);
        let mut command = user.task("asks");
        command.envs(
            all.get_envs().filter_map(|(name, value)| Some((name, value?))).filter(|(name, _)| names.iter().any(|it| it == name)),
        );
        let mut task = Running::start(command);
        let said = task.hear();
        task.succeeds();
        said
    };
    let contains = |said: String, part: &str| assert!(said.contains(part), "{part}: {said}");
    contains(said(&["SLIPWAY_BOOTSTRAP_SERVER"]), "another user could replace");
    // A directory of root's own, but where another user can put another one in its place.
    let made = scratch.path().join("run");
    contains(said(&["SLIPWAY_RUNTIME_DIR"]), "no runtime directory");
    fs::remove_dir(&made).expect("removed");
    let mut own = user.task("asks");
    fs::create_dir(&made).expect("a directory");
    set(&made, 0o700, None);
    own.env("SLIPWAY_RUNTIME_DIR", &made);
    let mut own = Running::start(own);
    contains(own.hear(), "no runtime directory");
    own.succeeds();
    contains(said(&["XDG_CONFIG_HOME", "HOME", "PATH", "XDG_RUNTIME_DIR"]), "0 services");
    let log = fs::read_to_string(user.dir.path().join("bootstrap.log")).expect("the log");
    contains(log, "not trusted: it belongs to another user (12345)");
    assert!(!scratch.path().join("mark").exists(), "the caller's program ran");
}

#[test]
fn what_others_can_write_is_not_trusted() {
    let user = User::new("what_others_can_write_is_not_trusted");
    let services = user.dir.path().join("config/slipway/services");
    let file = services.join("x.toml");
    fs::write(&file, "name = 'x'\nprogram = '/bin/one'").expect("a file");
    let said = || {
        let output = user.command(SERVER).arg("--check").output().expect("an answer");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(said(), (true, String::new()));
    // The file, its directory, and one above them.
    for (path, mode, part) in [
        (&file, 0o646, "x.toml: not trusted: other users can write it"),
        (&services, 0o757, "services: not trusted: other users can write it"),
        (&user.dir.path().join("config"), 0o777, "services: not trusted: another user could replace it"),
    ] {
        let before = fs::metadata(path).expect("there").permissions();
        set(path, mode, None);
        let (ok, text) = said();
        assert!(!ok && text.contains(part), "{part}: {text}");
        fs::set_permissions(path, before).expect("a mode");
    }
    if geteuid().is_root() {
        // Of a group that is not the user's own.
        set(&file, 0o664, None);
        assert!(said().0);
        chown(&file, None, Some(12345)).expect("a group");
        let (ok, text) = said();
        assert!(!ok && text.contains("x.toml: not trusted: other users can write it"), "{text}");
        chown(&file, None, Some(0)).expect("a group");
    }
    // Nothing that could make the server wait is read.
    rustix::fs::mknodat(rustix::fs::CWD, services.join("pipe.toml"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .expect("a pipe");
    let (ok, text) = said();
    assert!(!ok && text.contains("pipe.toml: not a plain file"), "{text}");
}
