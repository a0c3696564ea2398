//! Closing, so that no lock is held meanwhile by a thread that has to wait, and with few calls.

use super::{Carried, MARKED, kind::Kind, losses};
use crate::{
    packet::{holds_unread, receive},
    sync::Ordering,
};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::{
    cell::Cell,
    mem::ManuallyDrop,
    os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd},
};

thread_local! {
    /// Without a destructor: it is empty but for the time between [`hold_closes`] and [`release_closes`].
    static CLOSING: Cell<ManuallyDrop<Deferred>> = const { Cell::new(ManuallyDrop::new(Deferred { depth: 0, doomed: Vec::new() })) };
}

/// Descriptors that a thread has dropped and not yet closed.
#[derive(Default)]
struct Deferred {
    /// How often [`hold_closes`] was called and not ended yet.
    depth: usize,
    doomed: Vec<Doomed>,
}

fn with_deferred<T>(run: impl FnOnce(&mut Deferred) -> T) -> T {
    CLOSING.with(|cell| {
        let mut deferred = cell.take();
        let result = run(&mut deferred);
        cell.set(deferred);
        result
    })
}

/// Closes a descriptor, or leaves it to the end of what [`hold_closes`] began.
pub(super) fn doom(doomed: Doomed) {
    drop(with_deferred(|deferred| {
        if deferred.depth == 0 {
            return Some(doomed);
        }
        deferred.doomed.push(doomed);
        None
    }));
}

/// Forgets what the thread has not yet closed. For the child of a fork, which closes all.
pub(super) fn forget() {
    std::mem::forget(with_deferred(std::mem::take));
}

/// From here on what the thread drops of the library's descriptors stays open. For the holder of a lock.
pub fn hold_closes() {
    with_deferred(|deferred| deferred.depth += 1);
}

/// Ends what [`hold_closes`] began, on the same thread: what was dropped, to be closed without the lock. Nothing if
/// another lock is held still.
pub fn release_closes() -> Vec<Doomed> {
    with_deferred(|deferred| {
        deferred.depth = deferred.depth.saturating_sub(1);
        if deferred.depth == 0 { std::mem::take(&mut deferred.doomed) } else { Vec::new() }
    })
}

/// Packets that are taken out of a socket at most.
const PACKETS: usize = 64;

/// A descriptor that nobody uses any more, and that is still open, and the library's own.
#[derive(Debug)]
pub struct Doomed {
    fd: Option<OwnedFd>,
    /// None if it was made here.
    kind: Option<Kind>,
    /// As that of the [`Reserved`](super::Reserved) that it was.
    losses: u16,
    /// Likewise: dropped after the descriptor is closed.
    #[allow(dead_code, reason = "its drop is what counts")]
    carried: Option<Box<dyn Carried>>,
}

impl Doomed {
    pub(super) fn new(fd: OwnedFd, kind: Option<Kind>, losses: u16, carried: Option<Box<dyn Carried>>) -> Self {
        Self { fd: Some(fd), kind, losses, carried }
    }

    /// Whether it is of a kind of file that the library does not use.
    pub fn is_foreign(&self) -> bool {
        self.kind == Some(Kind::Foreign)
    }

    /// Whether it is a socket that none but this process is to read.
    pub fn is_queue(&self) -> bool {
        self.kind == Some(Kind::Queue)
    }

    /// Takes out what lies in it, if it [is such a socket](Self::is_queue): where closing may wait, so does nothing but what
    /// that is itself.
    pub fn take_out(&self) -> Vec<Self> {
        let mut inside = Vec::new();
        for _ in 0..PACKETS {
            let Some(fd) = self.fd.as_ref().filter(|_| self.is_queue() && self.losses == losses()) else { break };
            let mut take = |fd: OwnedFd| {
                let kind = Kind::of(&fd, None);
                inside.push(Self::new(fd, Some(kind), losses(), None));
            };
            if !receive(fd, &mut [0], &mut take).is_ok_and(|packet| packet.len > 0) {
                break;
            }
        }
        inside
    }

    /// Whether closing it may wait, of one that poll(2) says something of: for a descriptor that lies unread in it, as a
    /// socket's queue goes with it. Another process may have a copy, and read it there.
    fn may_be_unread(&self) -> bool {
        self.fd.as_ref().is_some_and(holds_unread)
    }

    fn number(&self) -> RawFd {
        self.fd.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// The number, which is the caller's to close; none if the program has closed it.
    fn take(&mut self) -> Option<RawFd> {
        let fd = self.fd.take()?.into_raw_fd();
        if self.losses != losses() {
            return None;
        }
        if let Some(mark) = MARKED.get(fd as usize) {
            mark.store(0, Ordering::Relaxed);
        }
        Some(fd)
    }
}

impl Drop for Doomed {
    /// Allocates nothing: it may be all that its thread does.
    fn drop(&mut self) {
        self.take().into_iter().for_each(close_number);
    }
}

/// Parts those of which the close may wait, for themselves or for a descriptor that lies unread in them, from those whose
/// doesn't. (A descriptor that comes into the queue just now is missed.)
pub fn part(doomed: Vec<Doomed>) -> (Vec<Doomed>, Vec<Doomed>) {
    let (mut slow, mut quick) = (Vec::new(), Vec::new());
    let mut unknown = Vec::new();
    for it in doomed {
        match it.kind {
            Some(Kind::Foreign) => slow.push(it),
            Some(Kind::Pipe | Kind::Memory) => quick.push(it),
            Some(Kind::Unix | Kind::Queue) | None => unknown.push(it),
        }
    }
    let mut looks: Vec<PollFd<'_>> =
        unknown.iter().filter_map(|it| it.fd.as_ref()).map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let looked = looks.is_empty() || rustix::event::poll(&mut looks, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok();
    let stirred: Vec<bool> = looks.iter().map(|look| !looked || look.revents().contains(PollFlags::IN)).collect();
    for (it, stirred) in unknown.into_iter().zip(stirred) {
        if stirred && it.may_be_unread() { slow.push(it) } else { quick.push(it) }
    }
    (slow, quick)
}

/// Closes descriptors, those that lie together with one call.
pub fn close(mut doomed: Vec<Doomed>) {
    doomed.sort_unstable_by_key(Doomed::number);
    for run in doomed.chunk_by_mut(|a, b| a.number() + 1 == b.number() && a.losses == b.losses) {
        // Their marks go just before they are closed: a child of fork(2) closes those that it finds marked.
        let (mut first, mut last) = (None, None);
        for fd in run.iter_mut().filter_map(Doomed::take) {
            first = first.or(Some(fd));
            last = Some(fd);
        }
        if let (Some(first), Some(last)) = (first, last) {
            close_numbers(first, last);
        }
    }
}

/// Closes second descriptors of files that stay open.
pub(super) fn close_copies(copies: Vec<OwnedFd>) {
    let mut numbers: Vec<RawFd> = copies.into_iter().map(IntoRawFd::into_raw_fd).collect();
    numbers.sort_unstable();
    for run in numbers.chunk_by(|a, b| a + 1 == *b) {
        if let [first, ..] = run {
            close_numbers(*first, first + run.len() as RawFd - 1);
        }
    }
}

/// Closes all numbers from the first to the last, which are the caller's alone.
#[allow(unsafe_code, reason = "descriptors that the program may have closed already")]
fn close_numbers(first: RawFd, last: RawFd) {
    // SAFETY: it is the owners' last use of the numbers.
    if first == last || unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } != 0 {
        // The system is older than Linux 5.9, or forbids it.
        (first..=last).for_each(close_number);
    }
}

/// Closes a number, which is the caller's alone. `OwnedFd` aborts where the program has closed it before.
#[allow(unsafe_code, reason = "a descriptor that the program may have closed already")]
fn close_number(fd: RawFd) {
    // SAFETY: it is the owner's last use of the number. By the C library's function the thread could be cancelled.
    unsafe { libc::syscall(libc::SYS_close, fd) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{holds_unread, send};
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    use std::os::fd::AsFd;

    #[test]
    fn what_lies_in_a_socket_of_nobody_elses_can_be_taken_out() {
        let (a, b) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("sockets");
        let (read, write) = rustix::pipe::pipe().expect("a pipe");
        let file = std::fs::File::open("/dev/null").expect("a file");
        send(a.as_fd(), &[&[2]], &[write.as_fd(), a.as_fd()]).expect("room");
        send(a.as_fd(), &[&[1]], &[file.as_fd()]).expect("room");
        drop((a, write));
        let copy = Doomed::new(b.try_clone().expect("a copy"), Some(Kind::Unix), losses(), None);
        assert!(copy.take_out().is_empty());
        let doomed = Doomed::new(b, Some(Kind::Queue), losses(), None);
        let mut inside = doomed.take_out();
        inside.push(doomed);
        let (slow, quick) = part(inside);
        assert!(slow.len() == 1 && slow[0].is_foreign() && quick.len() == 3);
        close(quick);
        let mut looks = [PollFd::new(&read, PollFlags::IN)];
        rustix::event::poll(&mut looks, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).expect("a pipe");
        assert!(looks[0].revents().contains(PollFlags::HUP));
    }

    /// It may be a copy of a socket that others read.
    #[test]
    fn what_lies_unread_in_a_socket_that_is_closed_stays_there() {
        for kind in [None, Some(Kind::Unix)] {
            let (a, b) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("sockets");
            let doomed = || vec![Doomed::new(b.try_clone().expect("a copy"), kind, losses(), None)];
            assert!(part(doomed()).0.is_empty());
            send(a.as_fd(), &[&[1]], &[]).expect("room");
            assert_eq!(part(doomed()).0.len(), 1);
            assert!(holds_unread(&b));
        }
    }
}
