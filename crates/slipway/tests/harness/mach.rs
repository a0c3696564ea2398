//! Tasks as processes of their own, which are the test program started again, and messages as they lie in memory.

use mach as _;
use rustix::event::{PollFd, PollFlags, poll};
use slipway_mach::Request;
use slipway_mach::abi::typed::type_word;
use slipway_mach::abi::{self, Code, option, right, types};
use slipway_mach::task::Task;
use slipway_ports::objects;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};

/// The variable that tells a helper process its part.
pub const ROLE: &str = "SLIPWAY_TEST_ROLE";

/// How long a message that must come may take, in milliseconds.
const PATIENCE: u32 = 120_000;

/// The part that this process plays, if it is a helper.
pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Starts the test `test` of this program again in a process of its own, with a part to play and a send right
/// to `port` of this task.
pub fn start(test: &str, role: &str, port: u32) -> Child {
    let (sending, holder) = Task::current().export(port).expect("the port can be exported");
    let (ours, theirs) = objects::socket_pair().expect("sockets");
    objects::send(ours.as_fd(), &[b"a right"], &[sending.as_fd(), holder.as_fd()]).expect("a packet");
    Command::new(std::env::current_exe().expect("the test's own path"))
        .args([test, "--exact", "--nocapture"])
        .env(ROLE, role)
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .spawn()
        .expect("the helper starts")
}

/// In a helper: the send right that it was started with.
pub fn inherited() -> u32 {
    let (stdin, mut fds) = (std::io::stdin(), Vec::new());
    poll(&mut [PollFd::new(&stdin, PollFlags::IN)], None).expect("the starter's packet");
    objects::receive(stdin.as_fd(), &mut [0; 16], &mut fds).expect("the starter's packet");
    let mut fds = fds.into_iter().map(|fd| fd.into_owned());
    let (sending, holder) = fds.next().zip(fds.next()).expect("two descriptors");
    Task::current().import(sending, holder).expect("a send right")
}

/// A new receive right.
pub fn receive_right() -> u32 {
    Task::current().allocate(right::RECEIVE).expect("a port")
}

/// A message.
#[derive(Debug, Clone)]
pub struct Msg(Vec<u8>);

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

    /// Adds an integer, described by its type: 16 bytes.
    pub fn int(mut self, value: u32) -> Self {
        self.0.extend(type_word(types::INTEGER_32, 32, 1).to_le_bytes());
        self.0.extend(u64::from(value).to_le_bytes());
        self
    }

    /// Adds a right, described by its type: 16 bytes.
    pub fn port(mut self, disposition: u32, name: u32) -> Self {
        self.0[3] |= 0x80;
        self.0.extend(type_word(disposition, 64, 1).to_le_bytes());
        self.0.extend(u64::from(name).to_le_bytes());
        self
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().expect("4 bytes"))
    }

    /// The value, or the name of the right, that was added as the `n`th.
    pub fn value(&self, n: usize) -> u32 {
        self.word(abi::HEADER + 16 * n + 8)
    }

    /// `msgh_id`.
    pub fn id(&self) -> i32 {
        self.word(28).cast_signed()
    }

    /// The received reply right's name.
    pub fn reply(&self) -> u32 {
        self.word(8)
    }
}

/// Sends a message.
pub fn send(msg: &Msg) {
    let mut buffer = msg.0.clone();
    let request = Request { option: option::SEND_MSG, send_size: buffer.len(), ..Request::default() };
    assert_eq!(Task::current().mach_msg(&mut buffer, &request), Code::SUCCESS, "{msg:?}");
}

/// Receives a message that must come.
pub fn receive(name: u32) -> Msg {
    let mut buffer = vec![0; 4096];
    let option = option::RCV_MSG | option::RCV_TIMEOUT;
    let request = Request { option, receive_size: buffer.len(), receive_name: name, timeout: PATIENCE, ..Request::default() };
    assert_eq!(Task::current().mach_msg(&mut buffer, &request), Code::SUCCESS, "receive from {name:#x}");
    Msg(buffer)
}

/// Sends with a send-once reply right and receives the answer.
pub fn rpc(id: i32, dest: u32, reply: u32) -> Msg {
    send(&Msg::new(id, (dest, types::COPY_SEND), (reply, types::MAKE_SEND_ONCE)));
    receive(reply)
}
