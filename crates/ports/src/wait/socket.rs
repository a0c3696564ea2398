//! Waiting for room at a socket.

use super::thread::{Ended, remaining};
use crate::{lock::Guard, state::PortId};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::os::fd::AsFd;

/// Waits until a remote port's socket takes a packet, or the question for the port's owner is answered.
pub fn for_socket<'a>(guard: Guard<'a>, port: PortId, deadline: Option<u64>) -> (Guard<'a>, Ended) {
    let process = guard.process();
    let (s, event) = match guard.awaited_answer(port) {
        Some(answer) => (Some(answer), PollFlags::IN),
        None => (guard.remote(port).and_then(|remote| remote.s.clone()), PollFlags::OUT),
    };
    let Some(s) = s else { return (guard, Ended::Look) };
    drop(guard);
    let rest =
        remaining(deadline).map(|ns| Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 });
    let ready = rustix::event::poll(&mut [PollFd::from_borrowed_fd((*s).as_fd(), event)], rest.as_ref());
    let ended = match ready {
        Ok(0) => Ended::TimedOut,
        Err(rustix::io::Errno::INTR) => Ended::Interrupted,
        _ => Ended::Look,
    };
    (process.lock(), ended)
}
