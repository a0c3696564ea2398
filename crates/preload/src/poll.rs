//! Hooks on poll(2), select(2) and their kin.

use crate::{
    kernel::Waiting,
    real::{fail, real, waiting},
    table::{self, Found},
};
use libc::{c_ulong, fd_set, nfds_t, pollfd, sigset_t, timespec, timeval};
use rustix::io::Errno;
use slipway_transport::{
    epoll::UNSEEN,
    select::Sets,
    wait::{Ours, PollEntry, poll as poll_ours, ready},
};
use smallvec::SmallVec;
use std::{
    cell::Cell,
    ffi::c_int,
    time::{Duration, Instant},
};

real! {
    fn poll(fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int;
    fn ppoll(fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t) -> c_int;
    fn select(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *mut timeval) -> c_int;
    fn pselect(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *const timespec, mask: *const sigset_t) -> c_int;
}

/// The entries that are ours, with their places.
type Concerned = SmallVec<[(usize, Found); 2]>;

fn concerned(entries: &[PollEntry]) -> Concerned {
    let found = entries.iter().enumerate().filter_map(|(i, entry)| Some((i, table::find(entry.fd)?)));
    found.filter(|(_, found)| found.ours().is_some()).collect()
}

/// poll(2) over entries of which these are ours.
fn wait(
    entries: &mut [PollEntry],
    concerned: &Concerned,
    timeout: Option<Duration>,
    kernel: &mut Waiting,
) -> Result<usize, Errno> {
    let ours: SmallVec<[(usize, Ours<'_>); 2]> = concerned.iter().filter_map(|(i, found)| Some((*i, found.ours()?))).collect();
    poll_ours(entries, &ours, timeout, kernel)
}

/// poll(2) over the program's entries, in a wait that it `begin`s; `real` if none of them is ours.
///
/// # Safety
/// As poll(2).
unsafe fn hooked(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: Option<Duration>,
    begin: impl Fn() -> Waiting,
    real: impl Fn() -> c_int,
) -> c_int {
    if fds.is_null() || count == 0 || count > 1 << 20 {
        return real();
    }
    // SAFETY: `count` entries by poll(2)'s contract, of PollEntry's layout.
    let entries = unsafe { std::slice::from_raw_parts_mut(fds.cast::<PollEntry>(), count as usize) };
    if let [entry] = entries {
        // Nearly always.
        let found = table::find(entry.fd);
        if let Some(ours) = found.as_ref().and_then(Found::ours) {
            return waiting(|| match ours {
                Ours::Stream(stream) if ready(stream, &mut entries[0]) => 1,
                _ => answer(poll_ours(entries, &[(0, ours)], timeout, &mut begin())),
            });
        }
    }
    // There may be sets among them that are not known yet.
    UNSEEN.wait(|| {
        let ours = concerned(entries);
        if ours.is_empty() { real() } else { waiting(|| answer(wait(entries, &ours, timeout, &mut begin()))) }
    })
}

fn answer(result: Result<usize, Errno>) -> c_int {
    match result {
        Ok(count) => count as c_int,
        Err(error) => fail(error),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn poll(fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
    // SAFETY: the caller's contract is poll(2)'s.
    let real = || unsafe { next::poll(fds, count, timeout) };
    // SAFETY: as above.
    unsafe { hooked(fds, count, u64::try_from(timeout).ok().map(Duration::from_millis), Waiting::by_poll, real) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __poll_chk(fds: *mut pollfd, count: nfds_t, timeout: c_int, capacity: usize) -> c_int {
    if capacity / size_of::<pollfd>() < count as usize {
        std::process::abort();
    }
    // SAFETY: as poll(2).
    unsafe { poll(fds, count, timeout) }
}

/// A time-out as the program gave it: None for ever, or an error.
unsafe fn duration(time: *const timespec) -> Result<Option<Duration>, Errno> {
    // SAFETY: null or the caller's.
    let Some(time) = (unsafe { time.as_ref() }) else { return Ok(None) };
    match (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec)) {
        (Ok(s), Ok(ns)) if ns < 1_000_000_000 => Ok(Some(Duration::new(s, ns))),
        _ => Err(Errno::INVAL),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ppoll(fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t) -> c_int {
    // SAFETY: the caller's contract is ppoll(2)'s.
    let real = || unsafe { next::ppoll(fds, count, timeout, mask) };
    // SAFETY: as above.
    let Ok(timeout) = (unsafe { duration(timeout) }) else { return real() };
    // SAFETY: as above.
    unsafe { hooked(fds, count, timeout, || Waiting::new(mask), real) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ppoll_chk(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
    capacity: usize,
) -> c_int {
    if capacity / size_of::<pollfd>() < count as usize {
        std::process::abort();
    }
    // SAFETY: as ppoll(2).
    unsafe { ppoll(fds, count, timeout, mask) }
}

/// The program's sets, of so many bits.
///
/// # Safety
/// Each is null or holds as many, in whole words.
unsafe fn sets<'a>(count: c_int, sets: [*mut fd_set; 3]) -> Sets<'a> {
    let words = Sets::words(count as usize);
    Sets::new(sets.map(|set| match set.is_null() {
        true => &[][..],
        // SAFETY: the caller's promise; the kernel reads and writes whole words, too.
        false => unsafe { std::slice::from_raw_parts(set.cast::<Cell<c_ulong>>(), words) },
    }))
}

/// select(2) by way of poll(2), if one of the descriptors is ours.
struct Selected<'a> {
    sets: Sets<'a>,
    entries: SmallVec<[PollEntry; 16]>,
    ours: Concerned,
}

impl<'a> Selected<'a> {
    /// # Safety
    /// As [`sets`].
    unsafe fn new(count: c_int, all: [*mut fd_set; 3]) -> Option<Self> {
        if !(0..=1 << 16).contains(&count) || table::used().next().is_none_or(|fd| fd >= count) {
            return None;
        }
        // SAFETY: the caller's promise.
        let sets: Sets<'a> = unsafe { sets(count, all) };
        let entries = sets.entries(count as usize);
        let ours = concerned(&entries);
        (!ours.is_empty()).then_some(Self { sets, entries, ours })
    }

    /// The sets are changed only on success.
    fn wait(mut self, timeout: Option<Duration>, mask: *const sigset_t) -> Result<usize, Errno> {
        let mut kernel = Waiting::new(mask);
        let start = Instant::now();
        let mut left = timeout;
        let mut over = SmallVec::<[PollEntry; 4]>::new();
        while wait(&mut self.entries, &self.ours, left, &mut kernel)? > 0 && !self.entries.iter().any(|it| self.sets.counts(it)) {
            // A connection that hung up is not an exception: nothing will come of it, and select(2) waits on.
            over.extend(self.entries.iter().filter(|it| it.revents != 0).copied());
            self.entries.retain(|it| it.revents == 0);
            self.ours = concerned(&self.entries);
            left = timeout.map(|time| time.saturating_sub(start.elapsed()));
        }
        self.entries.extend(over);
        self.sets.settle(&self.entries)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn select(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *mut timeval,
) -> c_int {
    // SAFETY: the caller's contract is select(2)'s.
    let real = || unsafe { next::select(count, read, write, except, timeout) };
    // There may be sets among them that are not known yet.
    UNSEEN.wait(|| {
        // SAFETY: as above.
        let Some(selected) = (unsafe { Selected::new(count, [read, write, except]) }) else { return real() };
        // SAFETY: null or the caller's.
        let time = match unsafe { timeout.as_ref() } {
            None => None,
            Some(t) if t.tv_sec >= 0 && t.tv_usec >= 0 => {
                Some(Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64))
            }
            Some(_) => return real(),
        };
        waiting(|| {
            let start = Instant::now();
            let result = selected.wait(time, std::ptr::null());
            if let Some(time) = time {
                // Linux says how much of the time was left.
                let left = time.saturating_sub(start.elapsed());
                let left = timeval { tv_sec: left.as_secs() as libc::time_t, tv_usec: left.subsec_micros().into() };
                // SAFETY: the caller's, not null.
                unsafe { *timeout = left };
            }
            answer(result)
        })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pselect(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's contract is pselect(2)'s.
    let real = || unsafe { next::pselect(count, read, write, except, timeout, mask) };
    // There may be sets among them that are not known yet.
    UNSEEN.wait(|| {
        // SAFETY: as above.
        let Some(selected) = (unsafe { Selected::new(count, [read, write, except]) }) else { return real() };
        // SAFETY: null or the caller's.
        let Ok(time) = (unsafe { duration(timeout) }) else { return real() };
        waiting(|| answer(selected.wait(time, mask)))
    })
}
