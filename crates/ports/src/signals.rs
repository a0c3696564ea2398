//! Signals: the library's own thread takes none, and a thread whose wait a signal is to end takes them while it sleeps.
#![allow(unsafe_code, reason = "signal masks have no safe face")]

use rustix::{
    event::{PollFd, PollFlags},
    io::Errno,
};
use std::{
    cell::Cell,
    io,
    mem::zeroed,
    os::fd::BorrowedFd,
    ptr::{null, null_mut},
};

/// Signals that a thread's own instructions raise: blocked they would end the process.
const OWN: [i32; 7] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS, libc::SIGABRT];

/// The bytes of the kernel's set of signals.
const SET: usize = 8;

/// What a call that signals interrupt knows of them.
#[derive(Clone, Copy)]
struct Held {
    /// The program's mask, in force while the thread sleeps.
    mask: libc::sigset_t,
    /// Whether a handler has run since the call began.
    interrupted: bool,
}

thread_local! {
    static HELD: Cell<Option<Held>> = const { Cell::new(None) };
}

/// Restores a mask.
struct Restore(libc::sigset_t);

impl Drop for Restore {
    fn drop(&mut self) {
        // SAFETY: the set was filled in by the system; a signal mask belongs to the calling thread.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, null_mut()) };
    }
}

/// Blocks all signals but `these`, until the result is dropped.
fn block_all_but(these: &[i32]) -> Restore {
    // SAFETY: both sets are local, and a signal mask belongs to the calling thread.
    unsafe {
        let (mut all, mut old) = (zeroed(), zeroed());
        libc::sigfillset(&mut all);
        for number in these {
            libc::sigdelset(&mut all, *number);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, &mut old);
        Restore(old)
    }
}

/// Runs `run` with all signals blocked: a thread that it starts never gets one of the program's.
pub fn without<T>(run: impl FnOnce() -> T) -> T {
    let _restore = block_all_but(&[]);
    run()
}

/// Runs `run`, a call whose waits a signal ends. Its thread takes signals in [`sleep`] alone, which no signal can come
/// before: one that comes sooner ends the next sleep at once.
pub fn holding<T>(run: impl FnOnce() -> T) -> T {
    struct Done(Option<Held>);
    impl Drop for Done {
        fn drop(&mut self) {
            HELD.set(self.0);
        }
    }
    let restore = block_all_but(&OWN);
    let _done = Done(HELD.replace(Some(Held { mask: restore.0, interrupted: false })));
    run()
}

/// Whether the calling thread is in a call whose waits a signal ends. It may sleep in [`sleep`] alone then.
pub fn are_held() -> bool {
    HELD.get().is_some()
}

/// Whether a signal was handled since that call began.
pub fn have_interrupted() -> bool {
    HELD.get().is_some_and(|held| held.interrupted)
}

/// Sleeps until the descriptor, if there is one, is ready for `event`, for at most `timeout` nanoseconds; as poll(2).
///
/// # Errors
/// `INTR` if a signal was handled.
pub fn sleep(on: Option<(BorrowedFd<'_>, PollFlags)>, timeout: Option<u64>) -> Result<usize, Errno> {
    let held = HELD.take();
    let mut entry = on.map(|(fd, event)| PollFd::from_borrowed_fd(fd, event));
    let entries = entry.as_mut_slice();
    let mut rest = timeout.map(|ns| libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 });
    let time = rest.as_mut().map_or(null_mut(), std::ptr::from_mut);
    let mask = held.as_ref().map_or(null(), |held| &raw const held.mask);
    // SAFETY: `PollFd` is the system's structure, its set is the front of the C library's, and all that is pointed to
    // lives as long as the call, which is not made by the C library's function: a thread could be cancelled there.
    let ready = unsafe { libc::syscall(libc::SYS_ppoll, entries.as_mut_ptr(), entries.len(), time, mask, SET) };
    let result = if ready < 0 {
        Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL))
    } else {
        Ok(ready as usize)
    };
    HELD.set(held.map(|held| Held { interrupted: held.interrupted || result == Err(Errno::INTR), ..held }));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn on_signal(_: i32) {}

    #[test]
    fn a_signal_that_came_before_the_sleep_ends_it() {
        // SAFETY: the handler does nothing.
        unsafe { libc::signal(libc::SIGUSR1, on_signal as extern "C" fn(i32) as libc::sighandler_t) };
        let before = holding(|| {
            assert!(are_held() && !have_interrupted());
            // SAFETY: a signal that is handled.
            unsafe { libc::raise(libc::SIGUSR1) };
            assert!(!have_interrupted(), "it is handled in the sleep");
            let slept = sleep(None, None);
            (slept, have_interrupted())
        });
        assert_eq!(before, (Err(Errno::INTR), true));
        assert!(!are_held());
        // SAFETY: as above. It is not blocked any more, so it is gone when the next sleep begins.
        unsafe { libc::raise(libc::SIGUSR1) };
        assert_eq!(holding(|| sleep(None, Some(1000))), Ok(0));
    }
}
