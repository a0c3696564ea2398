//! Tasks as processes of their own, and messages as tests write them.
#![allow(dead_code, reason = "each test uses some of it")]

pub mod nursery;
pub mod tools;

use rustix::io::FdFlags;
use slipway_ports::{
    abi::{self, Code, option, right, types},
    msg::Request,
    task::Task,
};
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

/// A message as it lies in memory, of 8-byte words.
#[derive(Debug, Clone, Default)]
pub struct Msg(pub Vec<u8>);

impl Msg {
    /// A header: destination and reply port with their dispositions.
    pub fn new(id: i32, dest: (u32, u32), reply: (u32, u32)) -> Self {
        let mut bytes = vec![0; abi::HEADER];
        bytes[0..4].copy_from_slice(&(dest.1 | reply.1 << 8).to_le_bytes());
        bytes[8..12].copy_from_slice(&dest.0.to_le_bytes());
        bytes[16..20].copy_from_slice(&reply.0.to_le_bytes());
        bytes[28..32].copy_from_slice(&id.to_le_bytes());
        Self(bytes)
    }

    /// Adds one 8-byte integer, described by its type.
    pub fn int(mut self, value: u64) -> Self {
        self.0.extend(slipway_ports::state::notify::type_word(11, 64, 1).to_le_bytes());
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Adds rights inline.
    pub fn ports(mut self, disposition: u32, names: &[u32]) -> Self {
        self.0[3] |= 0x80;
        self.0.extend(slipway_ports::state::notify::type_word(disposition, 64, names.len() as u32).to_le_bytes());
        names.iter().for_each(|name| self.0.extend(u64::from(*name).to_le_bytes()));
        self
    }

    /// Adds bytes.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(slipway_ports::state::notify::type_word(9, 8, bytes.len() as u32).to_le_bytes());
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self
    }

    /// The 32-bit word at an offset.
    pub fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().expect("4 bytes"))
    }

    /// The 64-bit word at an offset.
    pub fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().expect("8 bytes"))
    }

    /// `msgh_id`.
    pub fn id(&self) -> i32 {
        self.u32(28) as i32
    }

    /// The received reply port.
    pub fn reply(&self) -> u32 {
        self.u32(8)
    }
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
pub const SOON: u32 = 20_000;

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
