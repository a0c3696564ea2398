//! A user of his own: a runtime directory that nobody else uses, and tasks in it.
//!
//! A task is the test's own binary once more, told its part by a variable. Nothing sleeps: a test waits for a line, for
//! an end or for a message, with [`PATIENCE`] as the limit.
#![allow(dead_code, reason = "each test program uses its part")]

use rustix::{
    event::{PollFd, PollFlags, Timespec},
    fs::{FlockOperation, flock},
    net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with,
        sockopt::{Timeout, set_socket_timeout, socket_peercred},
    },
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use slipway_mach::{
    Request,
    abi::{Code, option, right, types},
    bootstrap,
    task::Task,
};
use slipway_test_support::Msg;
use std::{
    fs,
    io::{Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::PermissionsExt,
    },
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

/// When a wait has failed: many times what it takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const ROLE: &str = "SLIPWAY_TEST_ROLE";
/// What a task says begins with this; the test harness's own lines don't.
const MARK: &str = "> ";

/// The server under test.
pub const SERVER: &str = env!("CARGO_BIN_EXE_slipway-bootstrap");

/// The part that this process plays, if it is a task of a test.
pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// A user's surroundings. His server is killed in the end.
pub struct User {
    pub dir: tempfile::TempDir,
    test: &'static str,
}

impl User {
    /// The tasks run the test `test` again.
    pub fn new(test: &'static str) -> Self {
        let dir = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o700)).tempdir().expect("a directory");
        fs::create_dir_all(dir.path().join("config/slipway/services")).expect("a directory");
        Self { dir, test }
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("bootstrap")
    }

    /// A command with this user's environment.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env("SLIPWAY_RUNTIME_DIR", self.dir.path())
            .env("SLIPWAY_BOOTSTRAP_SERVER", SERVER)
            .env("XDG_CONFIG_HOME", self.dir.path().join("config"))
            .env_remove("SLIPWAY_BOOTSTRAP")
            .env_remove(ROLE);
        command
    }

    /// A task, not yet started.
    pub fn task(&self, role: &str) -> Command {
        let mut command = self.command(std::env::current_exe().expect("the test's own path"));
        command.args([self.test, "--exact", "--nocapture", "--include-ignored"]).env(ROLE, role);
        command
    }

    pub fn start(&self, role: &str) -> Running {
        Running::start(self.task(role))
    }

    /// Runs a task to its end, which must be a good one.
    pub fn run(&self, role: &str) {
        self.start(role).succeeds();
    }

    /// Has `name` served by a task with a part to play.
    pub fn configure(&self, name: &str, role: &str, more: &str) {
        self.configure_as(name, role, more, name);
    }

    /// As [`User::configure`], with the output in the file of another service.
    pub fn configure_as(&self, name: &str, role: &str, more: &str, output: &str) {
        let exe = std::env::current_exe().expect("the test's own path");
        let text = format!(
            "name = '{name}'\nprogram = '{}'\nargs = ['{}', '--exact', '--nocapture', '--include-ignored']\noutput = '{}'\n{more}\n[env]\n{ROLE} = '{role}'\n",
            exe.display(),
            self.test,
            self.dir.path().join(format!("{output}.output")).display(),
        );
        fs::write(self.dir.path().join(format!("config/slipway/services/{name}.toml")), text).expect("a file");
    }

    /// The process that listens at the socket.
    pub fn server(&self) -> Option<Pid> {
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("a socket");
        // A server that is stopped fills its backlog, and connect(2) waits then.
        set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE)).expect("a time-out");
        connect(&socket, &SocketAddrUnix::new(self.socket()).expect("a path")).ok()?;
        Some(socket_peercred(&socket).expect("the peer").pid)
    }

    /// How many descriptors the server has open.
    pub fn descriptors(&self) -> usize {
        let pid = self.server().expect("a server");
        fs::read_dir(format!("/proc/{pid}/fd")).expect("its descriptors").count()
    }

    /// Ends the server and waits for that.
    pub fn end_server(&self, signal: Signal) {
        let pid = self.server().expect("a server");
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).expect("a process");
        pidfd_send_signal(&pidfd, signal).expect("a signal");
        assert!(readable(&pidfd), "the server did not end");
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let start = Instant::now();
        // A server that has the lock listens soon. Once the lock is ours none begins to, until the directory is gone.
        let lock = fs::File::create(self.dir.path().join("bootstrap.lock"));
        let held = || lock.as_ref().is_ok_and(|lock| flock(lock, FlockOperation::NonBlockingLockExclusive).is_err());
        while held() && start.elapsed() < PATIENCE {
            if let Some(pid) = self.server()
                && let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty())
            {
                let _ = pidfd_send_signal(&pidfd, Signal::KILL);
                readable(&pidfd);
            }
        }
        if std::thread::panicking()
            && let Ok(log) = fs::read_to_string(self.dir.path().join("bootstrap.log"))
        {
            eprintln!("the server's log:\n{log}");
        }
        let _ = fs::remove_dir_all(self.dir.path());
    }
}

fn readable(fd: impl AsFd) -> bool {
    readable_until(fd, Instant::now() + PATIENCE)
}

fn readable_until(fd: impl AsFd, deadline: Instant) -> bool {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
    rustix::event::poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout)).is_ok_and(|n| n > 0)
}

/// Asks until it is so.
pub fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < PATIENCE, "not within {} seconds: {what}", PATIENCE.as_secs());
    }
}

/// A task that runs. It is killed when this is dropped.
pub struct Running {
    child: Child,
    pidfd: OwnedFd,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    /// What it said of lines that were not asked for yet.
    said: Vec<u8>,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the task starts");
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).expect("a process");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("a pipe");
        Self { child, pidfd, stdin, stdout, said: Vec::new() }
    }

    /// The next line of its output, with its end; empty at the end of the output.
    fn read_line(&mut self) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut some = [0; 4096];
        loop {
            if let Some(at) = self.said.iter().position(|byte| *byte == b'\n') {
                return String::from_utf8(self.said.drain(..=at).collect()).expect("text");
            }
            assert!(readable_until(&self.stdout, deadline), "the task says nothing, or half a line");
            match self.stdout.read(&mut some).expect("output") {
                0 => return String::from_utf8(std::mem::take(&mut self.said)).expect("text"),
                n => self.said.extend(&some[..n]),
            }
        }
    }

    /// The next thing that the task says; None at its end.
    pub fn try_hear(&mut self) -> Option<String> {
        loop {
            let line = self.read_line();
            if line.is_empty() {
                return None;
            }
            // The harness prints the test's name without a line's end first.
            if let Some(at) = line.find(MARK) {
                return Some(line[at + MARK.len()..].trim_end().to_owned());
            }
        }
    }

    /// The next line of a program that is no task.
    pub fn line(&mut self) -> String {
        self.read_line().trim_end().to_owned()
    }

    pub fn hear(&mut self) -> String {
        self.try_hear().expect("the task ended instead of saying something")
    }

    pub fn hears(&mut self, line: &str) {
        assert_eq!(self.hear(), line);
    }

    /// Says something to the task.
    pub fn tell(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().expect("a pipe"), "{line}").expect("the task listens");
    }

    /// Waits for its end.
    pub fn end(mut self) -> ExitStatus {
        drop(self.stdin.take());
        assert!(readable(&self.pidfd), "the task does not end");
        self.child.wait().expect("its end")
    }

    pub fn succeeds(self) {
        let status = self.end();
        assert!(status.success(), "the task failed: {status}");
    }

    pub fn kill(mut self) {
        self.child.kill().expect("a signal");
        assert!(readable(&self.pidfd), "the task does not end");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In a task: says something to the test.
pub fn say(line: &str) {
    println!("{MARK}{line}");
}

/// In a task: waits for what the test says.
pub fn listen() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a line");
    line.trim_end().to_owned()
}

/// In a task: this process's.
pub fn me() -> Task {
    Task::current()
}

pub fn receive_right() -> u32 {
    me().allocate(right::RECEIVE).expect("a port")
}

/// In a task: makes a fresh port known under `name`; its receive right.
pub fn registered(name: &str) -> u32 {
    let port = receive_right();
    bootstrap::register(me(), None, name, port, types::MAKE_SEND).expect("registered");
    port
}

/// In a task: looks up a service that must be there.
pub fn found(name: &str) -> u32 {
    bootstrap::look_up(me(), None, name).expect("the service")
}

/// In a task: the code with which a call was refused.
pub fn refused<T: std::fmt::Debug>(result: Result<T, bootstrap::Error>) -> Code {
    result.expect_err("refused").code()
}

/// In a task: sends a number, with a right to be answered at if `reply` is not null.
pub fn send(to: u32, number: u64, reply: u32) {
    let local = if reply == 0 { (0, 0) } else { (reply, types::MAKE_SEND_ONCE) };
    assert_eq!(send_raw(Msg::new(1000, (to, types::COPY_SEND), local).int(number).0), Code::SUCCESS);
}

pub fn send_raw(mut message: Vec<u8>) -> Code {
    let request = Request { option: option::SEND_MSG, send_size: message.len(), ..Request::default() };
    me().mach_msg(&mut message, &request)
}

/// In a task: receives a message that must come.
pub fn receive(from: u32) -> Vec<u8> {
    let mut buffer = vec![0; 64 << 10];
    let timeout = PATIENCE.as_millis() as u32;
    let option = option::RCV_MSG | option::RCV_TIMEOUT;
    let request = Request { option, receive_size: buffer.len(), receive_name: from, timeout, ..Request::default() };
    assert_eq!(me().mach_msg(&mut buffer, &request), Code::SUCCESS);
    buffer.truncate(u32_at(&buffer, 4) as usize);
    buffer
}

/// The number in a message, and its reply right.
pub fn number(message: &[u8]) -> (u64, u32) {
    (u64::from(u32_at(message, 40)) | u64::from(u32_at(message, 44)) << 32, u32_at(message, 8))
}

/// In a task: answers a message with a number.
pub fn answer(message: &[u8], number: u64) {
    let answer = Msg::new(1100, (u32_at(message, 8), types::MOVE_SEND_ONCE), (0, 0)).int(number);
    assert_eq!(send_raw(answer.0), Code::SUCCESS);
}

/// A header: an id, and the destination and the reply port with their dispositions.
pub fn header(id: i32, remote: (u32, u32), local: (u32, u32)) -> Vec<u8> {
    Msg::new(id, remote, local).0
}

/// The 32-bit word at an offset.
pub fn u32_at(message: &[u8], at: usize) -> u32 {
    message.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// `msgh_id`.
pub fn message_id(message: &[u8]) -> i32 {
    u32_at(message, 28) as i32
}
