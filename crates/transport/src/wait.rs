//! Waiting on streams among other descriptors, as poll(2) does: look, spin, sleep.

use crate::{
    settings::Settings,
    stream::{Stream, Won, now},
};
use rustix::{event::PollFlags, io::Errno};
use slipway_fabric::sync::{AtomicU32, Ordering::Relaxed, spin_loop};
use std::{os::fd::BorrowedFd, os::fd::AsRawFd, time::Duration};

/// A descriptor as poll(2) takes it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct PollEntry {
    /// The descriptor; negative entries are passed over.
    pub fd: i32,
    /// What is asked.
    pub events: i16,
    /// What is answered.
    pub revents: i16,
}

/// A stream that is waited for.
#[derive(Debug)]
pub struct Member<'a> {
    /// The stream.
    pub stream: &'a Stream,
    /// The program's descriptor of it.
    pub fd: BorrowedFd<'a>,
    /// What is asked.
    pub want: PollFlags,
    /// What is answered.
    pub got: PollFlags,
}

/// poll(2) itself, as the caller wants it done (with its signal mask, as a cancellation point).
pub type Poller<'p> = &'p mut dyn FnMut(&mut [PollEntry], Option<Duration>) -> Result<usize, Errno>;

/// Between two looks at plain descriptors while spinning, in nanoseconds.
const GLANCE: u64 = 4_000;

/// Processors this process may run on, asked again now and then; spinning on the only one is waste.
pub fn may_spin() -> bool {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    static CPUS: AtomicU32 = AtomicU32::new(0);
    if Settings::get().spin.is_zero() {
        return false;
    }
    let calls = CALLS.load(Relaxed);
    CALLS.store(calls.wrapping_add(1), Relaxed);
    if calls.is_multiple_of(1024) {
        CPUS.store(rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count()), Relaxed);
    }
    CPUS.load(Relaxed) > 1
}

/// The processor this thread runs on.
pub fn current_cpu() -> u32 {
    rustix::thread::sched_getcpu() as u32
}

/// Turns of the spin loop between two looks at the clock.
pub const TURNS: u32 = 4;

/// Waits until a member or one of `others` is ready, `timeout` has passed (0: `Ok(0)`), or a signal
/// came (`INTR`). None waits for ever. Returns how many are ready, members included.
pub fn wait(
    members: &mut [Member<'_>],
    others: &mut [PollEntry],
    timeout: Option<Duration>,
    poller: Poller<'_>,
) -> Result<usize, Errno> {
    let deadline = timeout.map(|t| now().saturating_add(u64::try_from(t.as_nanos()).unwrap_or(u64::MAX)));
    let mut won = Won::Looking;
    let mut spun = false;
    loop {
        let ready = look(members, None);
        if ready > 0 {
            let count = if others.is_empty() { 0 } else { poller(others, Some(Duration::ZERO)).unwrap_or(0) };
            settle(members, won, spun);
            return Ok(ready + count);
        }
        let expired = deadline.is_some_and(|d| now() >= d);
        if !expired && won == Won::Looking && spin(members, others, deadline, poller, &mut spun)? {
            won = Won::Spinning;
            continue;
        }
        let remaining = if expired { Some(Duration::ZERO) } else { deadline.map(|d| Duration::from_nanos(d.saturating_sub(now()))) };
        let count = sleep(members, others, remaining, poller)?;
        let ready = members.iter().filter(|m| !m.got.is_empty()).count();
        if ready + count > 0 {
            settle(members, if expired { Won::Looking } else { Won::Sleeping }, spun);
            return Ok(ready + count);
        }
        if expired {
            return Ok(0);
        }
        won = Won::Sleeping;
    }
}

fn settle(members: &[Member<'_>], won: Won, spun: bool) {
    for member in members.iter().filter(|m| !m.got.is_empty()) {
        member.stream.settle_wait(won, spun);
    }
}

/// Looks at every member; `kernel` has what the kernel said of each, if it was asked.
fn look(members: &mut [Member<'_>], kernel: Option<&[PollFlags]>) -> usize {
    let mut ready = 0;
    for (i, member) in members.iter_mut().enumerate() {
        member.got = member.stream.look(member.fd, member.want, kernel.map(|k| k[i]));
        ready += usize::from(!member.got.is_empty());
    }
    ready
}

/// Spins while it may win. True when something stirs.
fn spin(
    members: &[Member<'_>],
    others: &mut [PollEntry],
    deadline: Option<u64>,
    poller: Poller<'_>,
    spun: &mut bool,
) -> Result<bool, Errno> {
    if !may_spin() {
        return Ok(false);
    }
    let cpu = current_cpu();
    let mut worth = false;
    for member in members {
        worth |= member.stream.worth_spinning(cpu) && member.stream.habit.spins();
    }
    if !worth {
        return Ok(false);
    }
    *spun = true;
    let start = now();
    let end = start.saturating_add(Settings::get().spin.as_nanos() as u64).min(deadline.unwrap_or(u64::MAX));
    let mut glance = start + GLANCE;
    loop {
        for _ in 0..TURNS {
            if members.iter().any(|m| m.stream.stirs(m.want)) {
                return Ok(true);
            }
            spin_loop();
        }
        let time = now();
        if time >= end {
            return Ok(false);
        }
        if time >= glance && !others.is_empty() {
            if poller(others, Some(Duration::ZERO))? > 0 {
                return Ok(true);
            }
            glance = time + GLANCE;
        }
    }
}

/// Arms every member, looks once more, and sleeps in the kernel. Answers are in the members and in
/// `others`, of which it returns how many are ready.
fn sleep(
    members: &mut [Member<'_>],
    others: &mut [PollEntry],
    remaining: Option<Duration>,
    poller: Poller<'_>,
) -> Result<usize, Errno> {
    let lying = remaining != Some(Duration::ZERO);
    for member in members.iter().filter(|_| lying) {
        member.stream.lie_down(member.want);
    }
    let stirring = members.iter().any(|m| m.stream.stirs(m.want));
    let remaining = if stirring { Some(Duration::ZERO) } else { remaining };
    let mut entries = Vec::with_capacity(others.len() + 2 * members.len());
    entries.extend_from_slice(others);
    for member in members.iter() {
        let ask = |fd: BorrowedFd<'_>, events: PollFlags| PollEntry { fd: fd.as_raw_fd(), events: events.bits() as i16, revents: 0 };
        entries.push(ask(member.fd, member.stream.kernel_interest(member.want)));
        entries.push(if member.stream.line_alive() {
            ask(member.stream.line_socket(), PollFlags::IN)
        } else {
            PollEntry { fd: -1, events: 0, revents: 0 }
        });
    }
    let result = poller(&mut entries, remaining);
    let answers = &entries[others.len()..];
    for (member, answer) in members.iter().zip(answers.chunks_exact(2)).filter(|_| lying) {
        member.stream.get_up(result.is_ok() && answer[1].revents != 0);
    }
    result?;
    let kernel: Vec<_> = answers.chunks_exact(2).map(|a| PollFlags::from_bits_retain(a[0].revents as u16)).collect();
    let mut count = 0;
    for (other, entry) in others.iter_mut().zip(&entries) {
        other.revents = entry.revents;
        count += usize::from(entry.revents != 0);
    }
    look(members, Some(&kernel));
    Ok(count)
}
