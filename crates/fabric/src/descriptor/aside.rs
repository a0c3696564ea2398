//! Numbers for descriptors that the program knows nothing of and must miss nothing by: none that it could get itself.
//!
//! The kernel refuses numbers at RLIMIT_NOFILE and above it when they are given out, and lets those be that are there. So they are
//! given out above the limit, which the hard one lets go up for that moment. Where it doesn't, they are taken from
//! the highest down, and only as long as the program has a reserve of free ones.

use super::{MARKS, Reserved, is_reserved};
use crate::sync::{
    AtomicU32, AtomicU64,
    Ordering::{self, Relaxed},
};
use rustix::{
    io::{Errno, fcntl_dupfd_cloexec},
    process::{Resource, Rlimit, getrlimit, prlimit},
};
use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
};

/// A limit above this is one that programs don't reach; numbers beyond it would make the kernel's table a large one.
const MANY: u64 = 8192;

/// Where the library's numbers begin under such a limit.
const BEYOND: RawFd = 4096;

/// The program's own limit plus one while it is raised; 0: it isn't.
static RAISED: AtomicU64 = AtomicU64::new(0);

/// The program's descriptors below this leave enough free ones, as was seen under its limit; 0 once it may have set another.
static PLENTY: AtomicU32 = AtomicU32::new(0);

/// How often a thread looks whether the limit is down again, before it takes its holder for one that it has interrupted itself.
const LOOKS: usize = 10_000;

/// The program's limits.
#[derive(Clone, Copy)]
struct Limits {
    /// Its own.
    own: u64,
    /// How high it can be raised.
    most: u64,
    /// The hard one as the kernel has it.
    hard: Option<u64>,
}

impl Limits {
    fn now() -> Self {
        loop {
            let raised = RAISED.load(Ordering::SeqCst);
            let Rlimit { current, maximum: hard } = getrlimit(Resource::Nofile);
            let known = |limit: Option<u64>| limit.unwrap_or(MARKS as u64).min(MARKS as u64);
            if raised != 0 {
                return Self { own: raised - 1, most: known(hard), hard };
            }
            if RAISED.load(Ordering::SeqCst) == 0 {
                return Self { own: known(current), most: known(hard), hard };
            }
        }
    }

    /// Whether the library's numbers are above the program's.
    fn has_room_above(&self) -> bool {
        self.most > self.own && self.own <= MANY
    }
}

/// Waits until no thread has raised the limit, and keeps others from it.
fn hold(limit: u64) -> Option<Held> {
    for _ in 0..LOOKS {
        if RAISED.compare_exchange_weak(0, limit + 1, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            return Some(Held);
        }
        rustix::thread::sched_yield();
    }
    None
}

struct Held;

impl Drop for Held {
    fn drop(&mut self) {
        RAISED.store(0, Ordering::SeqCst);
    }
}

/// Runs `act`, which asks for or sets the program's limit, when it is the program's own.
pub fn with_limit<T>(act: impl FnOnce() -> T) -> T {
    let held = hold(Limits::now().own);
    let result = act();
    PLENTY.store(0, Relaxed);
    drop(held);
    result
}

/// In the child of a fork: another thread of the parent may have raised the limit, which is not here to restore it.
pub fn restore_limit() {
    let own = RAISED.swap(0, Ordering::SeqCst);
    if own != 0 {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        let _ = prlimit(None, Resource::Nofile, Rlimit { current: Some(own - 1), maximum });
    }
}

/// Runs `act` while numbers above the program's limit are given out; None if the limit is not to be raised now.
fn raised<T>(limits: Limits, act: impl FnOnce() -> T) -> Option<T> {
    if !limits.has_room_above() {
        return None;
    }
    let _held = hold(limits.own)?;
    let own = prlimit(None, Resource::Nofile, Rlimit { current: Some(limits.most), maximum: limits.hard }).ok()?;
    let result = act();
    // As it was: another process may have changed it.
    let _ = prlimit(None, Resource::Nofile, own);
    Some(result)
}

/// The highest number below the limit that is free.
fn highest(fd: BorrowedFd<'_>, limit: RawFd) -> Option<OwnedFd> {
    let mut tries = 0;
    for number in (limit / 4..limit).rev().filter(|number| !is_reserved(*number)) {
        match fcntl_dupfd_cloexec(fd, number) {
            Ok(high) => return Some(high),
            // The program has those.
            Err(Errno::MFILE) if tries < LOOKS / 100 => tries += 1,
            Err(_) => return None,
        }
    }
    None
}

impl Reserved {
    /// Moves `fd` to a number that the program can't get: above its limit, or where that can't be, as high as there is one, and
    /// up from 4,096 under a limit that is never reached.
    ///
    /// # Errors
    /// There is no such number.
    pub fn aside(fd: OwnedFd) -> io::Result<Self> {
        let limits = Limits::now();
        let (limit, number) = (limits.own, fd.as_raw_fd());
        // The limit may have been set where nobody saw it: what it leaves is looked at anew.
        if !limits.has_room_above() {
            PLENTY.store(0, Relaxed);
        }
        if limit <= MANY && number >= limit as RawFd {
            return Self::marked(fd, None);
        }
        let high = if limit > MANY {
            if number >= BEYOND {
                return Self::marked(fd, None);
            }
            fcntl_dupfd_cloexec(&fd, BEYOND).ok()
        } else {
            let above = raised(limits, || fcntl_dupfd_cloexec(&fd, limit as RawFd).ok());
            above.unwrap_or_else(|| highest(fd.as_fd(), limit as RawFd))
        };
        Self::marked(high.ok_or(Errno::MFILE)?, None)
    }

    /// Makes a descriptor and moves it as [`Reserved::aside`] does, also when the program has all that it can get.
    ///
    /// # Errors
    /// As `make` and [`Reserved::aside`].
    pub fn make_aside(make: impl Fn() -> Result<OwnedFd, Errno>) -> io::Result<Self> {
        Self::aside(make_any(make)?)
    }
}

/// Makes a descriptor that is closed soon, above the program's limit if it must be.
///
/// # Errors
/// As `make`.
pub fn make_any(make: impl Fn() -> Result<OwnedFd, Errno>) -> Result<OwnedFd, Errno> {
    match make() {
        Err(Errno::MFILE) => raised(Limits::now(), make).unwrap_or(Err(Errno::MFILE)),
        made => made,
    }
}

/// Whether the library may have descriptors that it can do without, now that `given` was the lowest free number: the program can't get theirs, or has
/// many, or more than half of its numbers are free.
pub fn has_plenty(given: RawFd) -> bool {
    let limits = Limits::now();
    let own = limits.own as usize;
    limits.has_room_above() || limits.own > MANY || free_after(given, own) > own / 2
}

/// How many of its own descriptors the library has at numbers that the program could get.
pub fn within() -> usize {
    (0..Limits::now().own as RawFd).filter(|number| is_reserved(*number)).count()
}

/// How many numbers are free for the program, of which it was given `fd` just now: those below are taken.
fn free_after(fd: RawFd, limit: usize) -> usize {
    let beyond = limit.saturating_sub(fd.max(0) as usize + 1);
    if beyond > fd.max(0) as usize + MARKS / 64 {
        // The library has a few numbers for each that the program has, at most.
        return beyond;
    }
    beyond - (fd + 1..limit as RawFd).filter(|number| is_reserved(*number)).count().min(beyond)
}

/// How many numbers the library should give up, or not take, now that the program was given `fd`, for the program
/// to have a reserve of free ones; 0 if there are enough.
pub fn shortage(fd: RawFd) -> usize {
    if u32::try_from(fd).is_ok_and(|number| number < PLENTY.load(Relaxed)) {
        return 0;
    }
    let limits = Limits::now();
    if limits.has_room_above() {
        PLENTY.store(u32::MAX, Relaxed);
        return 0;
    }
    let limit = limits.own as usize;
    PLENTY.store(u32::try_from(plenty(limit)).unwrap_or(u32::MAX), Relaxed);
    (reserve(limit) + 1).saturating_sub(free_after(fd, limit))
}

/// How many numbers are to be free for the program under a limit.
fn reserve(limit: usize) -> usize {
    (limit / 8).clamp(16, 128)
}

/// As long as the program's latest is below this, they are, whichever the library has.
fn plenty(limit: usize) -> usize {
    limit.saturating_sub(reserve(limit) + 2).min(limit.saturating_sub(MARKS / 64 + 1) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe_end() -> OwnedFd {
        rustix::pipe::pipe().expect("a pipe").0
    }

    #[test]
    fn numbers_that_the_program_cannot_get() {
        let _alone = super::super::tests::LIMIT.lock();
        let all = getrlimit(Resource::Nofile);
        let limited = |current, maximum| {
            rustix::process::setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum }).expect("a limit");
        };
        limited(600, all.maximum);
        let raised = Reserved::aside(pipe_end()).expect("a number");
        assert!(raised.as_fd().as_raw_fd() >= 600);
        assert_eq!(getrlimit(Resource::Nofile).current, Some(600), "as it was");
        drop(raised);
        // What `aside` does where it can't be raised.
        let own = pipe_end();
        let first = Reserved::marked(highest(own.as_fd(), 600).expect("a number"), None).expect("a mark");
        let second = Reserved::marked(highest(own.as_fd(), 600).expect("a number"), None).expect("a mark");
        assert_eq!([&first, &second].map(|it| it.as_fd().as_raw_fd()), [599, 598]);
        assert_eq!(free_after(500, 600), 97);
        drop(first);
        assert_eq!((free_after(500, 600), free_after(599, 600)), (98, 0));
        limited(all.current.unwrap_or(4096), all.maximum);
        with_limit(|| assert_eq!(getrlimit(Resource::Nofile).current, Some(all.current.unwrap_or(4096))));
    }

    #[test]
    fn numbers_that_leave_plenty() {
        for limit in [0, 64, 600, 1024, 3000, 20_000, MARKS] {
            let most = plenty(limit);
            assert!((0..most).all(|fd| free_after(fd as RawFd, limit) > reserve(limit)), "{limit}");
            assert!(limit < 8192 || most > limit / 4, "{limit}");
        }
    }
}
