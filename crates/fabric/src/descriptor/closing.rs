//! Closing, so that no lock is held meanwhile by a thread that has to wait, and with few calls.

use super::{Carried, MARKED, kind::Kind};
use crate::sync::Ordering;
use rustix::{
    event::{PollFd, PollFlags, Timespec},
    io::Errno,
    net::{RecvFlags, recv},
};
use std::{
    cell::Cell,
    mem::ManuallyDrop,
    os::fd::{IntoRawFd, OwnedFd, RawFd},
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

/// Of so many descriptors that wait to be closed those are closed that don't keep the thread.
const DEFERRED: usize = 256;

impl Deferred {
    /// Keeps it for later; gives back what is to be closed now.
    fn keep(&mut self, doomed: Doomed) -> Vec<Doomed> {
        self.doomed.push(doomed);
        if self.depth == 0 {
            return std::mem::take(&mut self.doomed);
        }
        if !self.doomed.len().is_multiple_of(DEFERRED) {
            return Vec::new();
        }
        let (slow, quick) = part(std::mem::take(&mut self.doomed));
        self.doomed = slow;
        quick
    }
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
    close(with_deferred(|deferred| deferred.keep(doomed)));
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

/// A descriptor that nobody uses any more, and that is still open, and the library's own.
#[derive(Debug)]
pub struct Doomed {
    fd: Option<OwnedFd>,
    /// None if it was made here.
    kind: Option<Kind>,
    /// As that of the [`Reserved`](super::Reserved) that it was: dropped after the descriptor is closed.
    #[allow(dead_code, reason = "its drop is what counts")]
    carried: Option<Box<dyn Carried>>,
}

impl Doomed {
    pub(super) fn new(fd: OwnedFd, kind: Option<Kind>, carried: Option<Box<dyn Carried>>) -> Self {
        Self { fd: Some(fd), kind, carried }
    }

    /// Whether it is of a kind of file that the library does not use.
    pub fn is_foreign(&self) -> bool {
        self.kind == Some(Kind::Foreign)
    }

    /// Whether something lies unread in it, if it is a socket.
    fn is_unread(&self) -> bool {
        let peek = |fd| recv(fd, &mut [0u8; 0], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        let nothing = [Errno::WOULDBLOCK, Errno::NOTSOCK, Errno::NOTCONN, Errno::CONNRESET];
        self.fd.as_ref().is_some_and(|fd| !peek(fd).is_err_and(|error| nothing.contains(&error)))
    }

    /// The number, which is its user's from here on.
    fn take(&mut self) -> Option<RawFd> {
        let fd = self.fd.take()?.into_raw_fd();
        if let Some(mark) = MARKED.get(fd as usize) {
            mark.store(0, Ordering::Relaxed);
        }
        Some(fd)
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        if let Some(fd) = self.take() {
            close_numbers(vec![fd]);
        }
    }
}

/// Parts those of which the close may wait, for themselves or for a descriptor that lies unread in them (a socket's queue
/// goes with it), from those whose doesn't. (A descriptor that comes into the queue just now is missed.)
pub fn part(doomed: Vec<Doomed>) -> (Vec<Doomed>, Vec<Doomed>) {
    let (mut slow, mut quick) = (Vec::new(), Vec::new());
    let mut unknown = Vec::new();
    for it in doomed {
        match it.kind {
            Some(Kind::Foreign) => slow.push(it),
            Some(Kind::Pipe | Kind::Memory) => quick.push(it),
            Some(Kind::Pair | Kind::Packets | Kind::Unix) | None => unknown.push(it),
        }
    }
    let mut looks: Vec<PollFd<'_>> =
        unknown.iter().filter_map(|it| it.fd.as_ref()).map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let looked = looks.is_empty() || rustix::event::poll(&mut looks, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok();
    let stirred: Vec<bool> = looks.iter().map(|look| !looked || !look.revents().is_empty()).collect();
    for (it, stirred) in unknown.into_iter().zip(stirred) {
        if stirred && it.is_unread() { slow.push(it) } else { quick.push(it) }
    }
    (slow, quick)
}

/// Closes descriptors, those that lie together with one call.
pub fn close(mut doomed: Vec<Doomed>) {
    close_numbers(doomed.iter_mut().filter_map(Doomed::take).collect());
}

/// Closes second descriptors of files that stay open.
pub(super) fn close_copies(copies: Vec<OwnedFd>) {
    close_numbers(copies.into_iter().map(IntoRawFd::into_raw_fd).collect());
}

/// Closes numbers, which are their users' alone. `OwnedFd` aborts where the program has closed one before.
#[allow(unsafe_code, reason = "descriptors that the program may have closed already")]
fn close_numbers(mut numbers: Vec<RawFd>) {
    numbers.sort_unstable();
    for run in numbers.chunk_by(|a, b| a + 1 == *b) {
        if let [first, .., last] = run
            // SAFETY: it is the owners' last use of all numbers from the first to the last.
            && unsafe { libc::syscall(libc::SYS_close_range, *first, *last, 0) } == 0
        {
            continue;
        }
        // A single one; or the system is older than Linux 5.9, or forbids it.
        for fd in run {
            // SAFETY: as above.
            unsafe { libc::close(*fd) };
        }
    }
}
