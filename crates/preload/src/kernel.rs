//! What the transport needs of this process: the kernel's waits, how its handlers are set up, and its signals.

use crate::{
    epoll::next::{epoll_pwait, epoll_pwait2},
    poll::next::{poll, ppoll},
    real::last_error,
    signals::{self, mark},
};
use libc::{epoll_event, nfds_t, pollfd, sigset_t, timespec};
use rustix::io::Errno;
use slipway_transport::{
    call::Program,
    epoll::Event,
    handlers::{FAULTS, Mark},
    wait::{Kernel, PollEntry},
};
use std::{
    ffi::c_int,
    os::fd::{AsRawFd, BorrowedFd},
    time::Duration,
};

const _: () = assert!(size_of::<PollEntry>() == size_of::<pollfd>() && align_of::<PollEntry>() == align_of::<pollfd>());

/// Time-outs below this are kept to the nanosecond; above it, milliseconds do.
const FINE: Duration = Duration::from_millis(2);

/// A wait of this thread, with the program's signal mask: a signal that was handled since it began ends the kernel's waits when they would sleep.
pub struct Waiting {
    mark: Mark,
    mask: *const sigset_t,
    /// The program's call has no mask: poll(2) in it is the kernel's of that name, as a filter of its calls lets that in.
    is_poll: bool,
    /// The kernel's events, kept from one look to the next.
    pub raw: Vec<epoll_event>,
}

fn spec(time: Duration) -> timespec {
    timespec { tv_sec: time.as_secs() as libc::time_t, tv_nsec: time.subsec_nanos().into() }
}

fn milliseconds(timeout: Option<Duration>) -> c_int {
    timeout.map_or(-1, |time| c_int::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(c_int::MAX))
}

impl Waiting {
    /// It begins. `mask` is the program's own argument, or null.
    pub fn new(mask: *const sigset_t) -> Self {
        Self { mark: mark(), mask, is_poll: false, raw: Vec::new() }
    }

    /// It begins in a call like poll(2), which has no mask.
    pub fn by_poll() -> Self {
        Self { is_poll: true, ..Self::new(std::ptr::null()) }
    }

    /// As a signal would have ended the kernel's wait.
    fn interrupted(&self, timeout: Option<Duration>) -> bool {
        timeout != Some(Duration::ZERO) && mark() != self.mark
    }
}

impl Kernel for Waiting {
    fn poll(&mut self, entries: &mut [PollEntry], timeout: Option<Duration>) -> Result<usize, Errno> {
        if self.interrupted(timeout) {
            return Err(Errno::INTR);
        }
        let (fds, count) = (entries.as_mut_ptr().cast(), entries.len() as nfds_t);
        let n = if self.is_poll && timeout.is_none_or(|time| time >= FINE || time.is_zero()) {
            // SAFETY: the entries have pollfd's layout.
            unsafe { poll(fds, count, milliseconds(timeout)) }
        } else {
            let time = timeout.map(spec);
            let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
            // SAFETY: as above; the mask is the program's own argument.
            unsafe { ppoll(fds, count, time, self.mask) }
        };
        usize::try_from(n).map_err(|_| last_error())
    }

    fn epoll(&mut self, set: BorrowedFd<'_>, out: &mut Vec<Event>, most: usize, timeout: Option<Duration>) -> Result<(), Errno> {
        if self.interrupted(timeout) {
            return Err(Errno::INTR);
        }
        let (set, room) = (set.as_raw_fd(), c_int::try_from(most).unwrap_or(c_int::MAX));
        self.raw.resize(most, epoll_event { events: 0, u64: 0 });
        let raw = self.raw.as_mut_ptr();
        // A timed wait is shorter than the milliseconds that epoll_pwait counts in.
        let fine = timeout.filter(|time| *time < FINE && !time.is_zero()).map(spec);
        // SAFETY: `raw` has room for so many; the mask is the program's own argument.
        let mut n = fine.map_or(-1, |time| unsafe { epoll_pwait2(set, raw, room, &raw const time, self.mask) });
        // Linux before 5.11 has no such call.
        if fine.is_none() || n < 0 && last_error() == Errno::NOSYS {
            // SAFETY: as above.
            n = unsafe { epoll_pwait(set, raw, room, milliseconds(timeout), self.mask) };
        }
        let n = usize::try_from(n).map_err(|_| last_error())?;
        out.extend(self.raw[..n].iter().map(|event| Event { events: event.events, data: event.u64 }));
        Ok(())
    }

    fn restarts(&mut self) -> bool {
        let before = std::mem::replace(&mut self.mark, mark());
        before.restarts(self.mark).unwrap_or_else(|| (1..=64).filter(|signal| !FAULTS.contains(signal)).all(may_restart))
    }
}

/// Whether a handler that was not counted may have been this signal's, and let an interrupted call go on; or the signal has none.
fn may_restart(signal: c_int) -> bool {
    signals::action(signal).is_none_or(|action| {
        matches!(action.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) || action.sa_flags & libc::SA_RESTART != 0
    })
}

/// This process.
pub struct Process;

impl Program for Process {
    fn wait(&self) -> impl Kernel {
        Waiting::by_poll()
    }

    fn raise_sigpipe(&self) {
        // SAFETY: no pointers; this thread's, as write(2) raises it.
        unsafe { libc::raise(libc::SIGPIPE) };
    }
}
