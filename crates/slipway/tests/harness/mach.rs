//! Tasks as processes of their own, which are the test program started again, and messages as they lie in memory.

use mach as _;
use rustix::event::{PollFd, PollFlags, poll};
use slipway_mach::Request;
use slipway_mach::abi::{Code, option, right, types};
use slipway_mach::task::Task;
use slipway_ports::objects;
pub use slipway_test_support::Msg;
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
        .args([test, "--exact", "--nocapture", "--include-ignored"])
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
