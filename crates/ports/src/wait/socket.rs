//! Waiting for room at a socket.

use super::thread::remaining;
use crate::{lock::Guard, signals, state::PortId};
use rustix::event::PollFlags;
use std::os::fd::AsFd;

/// Waits until a remote port's socket takes a packet, or the question for the port's owner is answered.
pub fn for_socket<'a>(guard: Guard<'a>, port: PortId, deadline: Option<u64>) -> Guard<'a> {
    let process = guard.process();
    let (s, event) = match guard.awaited_answer(port) {
        Some(answer) => (Some(answer), PollFlags::IN),
        None => (guard.remote(port).and_then(|remote| remote.s.clone()), PollFlags::OUT),
    };
    let Some(s) = s else { return guard };
    drop(guard);
    // Whatever it came to, the caller tries again.
    let _ = signals::sleep(Some(((*s).as_fd(), event)), remaining(deadline));
    process.lock()
}
