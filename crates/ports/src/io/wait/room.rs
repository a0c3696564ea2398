//! Waiting for room in a queue, on a line, or at a socket; and for other threads of the process.

use super::{ASLEEP, Ended, For, Me, overdue, remaining};
use crate::{
    io::line::{Line, NO_SLOT, Stall},
    process::Guard,
    settings,
    state::PortId,
};
use rustix::event::{PollFd, PollFlags, Timespec};
use slipway_fabric::{
    ring::{DOZES, Ring},
    spin::{Outcome, SpinStrategy, look, now},
    sync::FutexWord,
};
use std::os::fd::AsFd;

/// How long a sender sleeps at a full line between two looks, where it can't sleep on two words, in nanoseconds.
const GLANCE: u64 = 1_000_000;

/// Waits for the end of a call in a turn.
pub fn for_turn(guard: Guard<'_>, turn: usize) -> Guard<'_> {
    for_word(guard, For::Turn(turn), None).0
}

/// Waits for room in the queue of a port here.
pub fn for_room(guard: Guard<'_>, port: PortId, deadline: Option<u64>) -> (Guard<'_>, Ended) {
    for_word(guard, For::Room(port), deadline)
}

/// Waits for what other threads of the process do.
fn for_word(mut guard: Guard<'_>, what: For, deadline: Option<u64>) -> (Guard<'_>, Ended) {
    let me = Me::get(&mut guard);
    let (guard, ended) = follow(guard, &me, what, deadline);
    let ended = overdue(ended, &me.waiter, deadline);
    me.keep();
    (guard, ended)
}

/// Waits for others of this process to wake the thread.
pub(super) fn follow<'a>(mut guard: Guard<'a>, me: &Me, what: For, deadline: Option<u64>) -> (Guard<'a>, Ended) {
    guard.io.waiting.list.push((me.number, what));
    drop(guard);
    let interrupted = !me.waiter.look(deadline) && me.waiter.sleep(remaining(deadline));
    guard = me.process.lock();
    guard.io.waiting.forget(me.number);
    (guard, if interrupted { Ended::Interrupted } else { Ended::Look })
}

/// Waits until the other end of a line has taken something, if a record of `len` bytes with `fds` descriptors
/// still finds no room. The line's own word is the other end's to write, and good only for being woken
/// sooner: what must be heard in any case comes to the thread's.
pub fn for_line(
    mut guard: Guard<'_>,
    number: u32,
    slot: u32,
    (len, fds): (usize, usize),
    deadline: Option<u64>,
) -> (Guard<'_>, Ended) {
    let Some(line) = guard.io.lines.get_mut(number as usize) else { return (guard, Ended::Look) };
    let (ring, credit) = (line.segment.tx.clone(), line.credit.clone());
    let consumed = Line::consumption_of(&ring, &credit, slot);
    // What was taken between the refusal and this mark would be no news to it.
    let refused = if slot == NO_SLOT { Ok(()) } else { line.credit(slot) };
    if !matches!(refused.and_then(|()| line.room(len, fds)), Err(Stall::Ring | Stall::Queue)) {
        return (guard, Ended::Look);
    }
    let me = Me::get(&mut guard);
    guard.io.waiting.list.push((me.number, For::Line(number)));
    drop(guard);
    let ended = at_line(&me, &ring, &|| Line::consumption_of(&ring, &credit, slot) != consumed, deadline);
    guard = me.process.lock();
    guard.io.waiting.forget(me.number);
    me.keep();
    if let Some(line) = guard.io.lines.get_mut(number as usize) {
        // The flag was up for these too, and may be down now, or nobody's.
        line.release_kept();
        if !line.backlog.is_empty() {
            line.segment.tx.arm_writer();
            line.ring_bell();
        }
    }
    (guard, ended)
}

/// Waits until the reader of the ring has `moved` on, or somebody wakes the thread.
fn at_line(me: &Me, ring: &Ring, moved: &dyn Fn() -> bool, deadline: Option<u64>) -> Ended {
    let stirs = || moved() || me.waiter.is_woken();
    if look(SpinStrategy::Spin, settings::spin_ns(), deadline, stirs) != Outcome::Won {
        ring.arm_dozing_writer();
        let words = [(ring.writer_word(), DOZES), (&me.waiter.word, ASLEEP)];
        if !stirs() && me.waiter.word.claim(0, ASLEEP).is_ok() {
            let interrupted = if FutexWord::can_wait_any() {
                FutexWord::wait_any(&words, remaining(deadline))
            } else {
                // An old kernel: the thread's own word has to be heard, so the line's is looked at now and then.
                FutexWord::wait_any(&words[1..], Some(remaining(deadline).unwrap_or(GLANCE).min(GLANCE)))
            };
            if interrupted {
                return Ended::Interrupted;
            }
        }
    }
    if !stirs() && deadline.is_some_and(|deadline| now() >= deadline) { Ended::TimedOut } else { Ended::Look }
}

/// Waits until a far port's socket takes a packet, or the question for the port's owner is answered.
pub fn for_socket<'a>(guard: Guard<'a>, port: PortId, deadline: Option<u64>) -> (Guard<'a>, Ended) {
    let process = guard.process();
    let (s, event) = match guard.awaited_answer(port) {
        Some(answer) => (Some(answer), PollFlags::IN),
        None => (guard.io.far(port).and_then(|far| far.s.clone()), PollFlags::OUT),
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
