//! Tasks as processes of their own, and messages as tests write them.
#![allow(dead_code, unused_imports, reason = "each test uses some of it")]

pub mod nursery;
pub mod peer;
pub mod stage;
pub mod tools;

use rustix::io::FdFlags;
use slipway_ports::{
    abi::{Code, option, right, types},
    msg::Request,
    task::Task,
};
pub use slipway_test_support::Msg;
use std::{
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    process::{Child, Command, Stdio},
};

/// The variable that tells a helper process its part, and the one with its descriptors.
const ROLE: &str = "SLIPWAY_TEST_ROLE";
const FDS: &str = "SLIPWAY_TEST_FDS";

/// The part that this process plays, if it is a helper.
pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Starts the test `test` of this binary again in a process of its own, with a part to play and a send right to
/// `port` of this task.
pub fn start(test: &str, role: &str, port: u32) -> Child {
    started(test, role, port, |command| command)
}

/// As [`start`], with pipes for its input and output.
pub fn start_piped(test: &str, role: &str, port: u32) -> Child {
    started(test, role, port, |command| command.stdin(Stdio::piped()).stdout(Stdio::piped()))
}

fn started(test: &str, role: &str, port: u32, set: fn(&mut Command) -> &mut Command) -> Child {
    let (s, t) = Task::current().export(port).expect("the port can be exported");
    for fd in [&s, &t] {
        rustix::io::fcntl_setfd(fd, FdFlags::empty()).expect("a flag of our descriptor");
    }
    let mut command = Command::new(std::env::current_exe().expect("the test's own path"));
    command
        .args([test, "--exact", "--nocapture", "--include-ignored"])
        .env(ROLE, role)
        .env(FDS, format!("{} {}", s.as_raw_fd(), t.as_raw_fd()));
    set(&mut command).spawn().expect("the helper starts")
}

/// In a helper: the send right that it was started with.
#[allow(unsafe_code, reason = "descriptors by number, from the process that started this one")]
pub fn inherited() -> u32 {
    let fds = std::env::var(FDS).expect("the starter's descriptors");
    let mut fds = fds.split(' ').map(|fd| fd.parse::<RawFd>().expect("a number"));
    let mut next = || {
        let fd = fds.next().expect("two descriptors");
        // SAFETY: the starter left them open for this process, which takes each once.
        unsafe { OwnedFd::from_raw_fd(fd) }
    };
    let (s, t) = (next(), next());
    Task::current().import(s, t).expect("a send right")
}

/// Says hello to the starter with a send right to a new port of this task: the port.
pub fn hello() -> (u32, u32) {
    let parent = inherited();
    let own = receive_right();
    assert_eq!(send(&Msg::new(1, (parent, types::COPY_SEND), (own, types::MAKE_SEND))), Code::SUCCESS);
    (parent, own)
}

/// Waits for helpers, which must end well.
pub fn well(children: Vec<Child>) {
    for mut child in children {
        assert!(child.wait().expect("the child's end").success());
    }
}

/// A new receive right.
pub fn receive_right() -> u32 {
    Task::current().allocate(right::RECEIVE).expect("a port")
}

/// Sends; the code.
pub fn send(msg: &Msg) -> Code {
    send_for(msg, None)
}

/// Sends with a time-out in milliseconds.
pub fn send_for(msg: &Msg, timeout: Option<u32>) -> Code {
    let mut buffer = msg.0.clone();
    let request = Request {
        option: option::SEND_MSG | if timeout.is_some() { option::SEND_TIMEOUT } else { 0 },
        send_size: buffer.len(),
        timeout: timeout.unwrap_or(0),
        ..Request::default()
    };
    Task::current().mach_msg(&mut buffer, &request)
}

/// The watchdog of a receive in milliseconds.
pub const SOON: u32 = tools::WATCHDOG.as_millis() as u32;

/// Receives from a port or set within a time-out in milliseconds.
pub fn receive_within(name: u32, timeout: u32) -> Result<Msg, Code> {
    let mut buffer = vec![0; 1 << 20];
    let request = Request {
        option: option::RCV_MSG | option::RCV_TIMEOUT,
        receive_size: buffer.len(),
        receive_name: name,
        timeout,
        ..Request::default()
    };
    match Task::current().mach_msg(&mut buffer, &request) {
        Code::SUCCESS => {
            let size = u32::from_le_bytes(buffer[4..8].try_into().expect("4 bytes")) as usize;
            buffer.truncate(size);
            Ok(Msg(buffer))
        }
        code => Err(code),
    }
}

/// Receives a message that must come.
pub fn receive(name: u32) -> Msg {
    receive_within(name, SOON).expect("a message")
}

/// An RPC: sends with a send-once reply right and receives the answer.
pub fn rpc(id: i32, dest: u32, reply: u32, build: impl FnOnce(Msg) -> Msg) -> Msg {
    let msg = build(Msg::new(id, (dest, types::COPY_SEND), (reply, types::MAKE_SEND_ONCE)));
    assert_eq!(send(&msg), Code::SUCCESS);
    receive(reply)
}
