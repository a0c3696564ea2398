//! A lock that may lie in memory shared by a process and the children it forked.
//!
//! A holder that is stopped or slow is waited for; one that was killed is not: the kernel, which has the list of the
//! robust mutexes that each thread holds, wakes a waiter and says so. So it is the C library's mutex, which shares that
//! list with the program's own.
#![allow(unsafe_code, clippy::disallowed_types, reason = "pthread_mutex_t is shared by reference")]

use super::held::Held;
use std::{cell::UnsafeCell, io};

/// A sleeping mutual exclusion lock. Zeroed memory is a free lock for the threads of one process; after
/// [`Lock::prepare`] it is one for processes, too.
///
/// The thread that holds it must not ask for it again: it waits for ever. What a signal handler does with it is put off ([`super::after_locks`]).
#[repr(transparent)]
pub struct Lock(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: the functions on it are for threads that share it.
unsafe impl Send for Lock {}
// SAFETY: as above.
unsafe impl Sync for Lock {}

impl Default for Lock {
    fn default() -> Self {
        Self(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER))
    }
}

impl std::fmt::Debug for Lock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lock")
    }
}

/// Holds the lock until dropped, by the thread that took it.
#[derive(Debug)]
pub struct Guard<'a> {
    lock: &'a Lock,
    orphaned: bool,
    // Last: while the lock is held the thread says so.
    _held: Held,
}

/// The result of a call that fails only for want of memory.
fn outcome(code: libc::c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

impl Lock {
    /// Makes it a lock for processes.
    ///
    /// # Errors
    /// As pthread_mutexattr_setrobust(3) and pthread_mutex_init(3).
    ///
    /// # Safety
    /// Nobody uses the lock yet, and it stays where it is.
    pub unsafe fn prepare(&self) -> io::Result<()> {
        let mut how = std::mem::MaybeUninit::uninit();
        let how = how.as_mut_ptr();
        // SAFETY: `how` is initialized first and destroyed last; the caller says that the lock is nobody's.
        unsafe {
            outcome(libc::pthread_mutexattr_init(how))?;
            let done = outcome(libc::pthread_mutexattr_setpshared(how, libc::PTHREAD_PROCESS_SHARED))
                .and_then(|()| outcome(libc::pthread_mutexattr_setrobust(how, libc::PTHREAD_MUTEX_ROBUST)))
                .and_then(|()| outcome(libc::pthread_mutex_init(self.0.get(), how)));
            libc::pthread_mutexattr_destroy(how);
            done
        }
    }

    /// Waits for the lock, also for a holder that is stopped.
    #[inline]
    pub fn lock(&self) -> Guard<'_> {
        let _held = Held::enter();
        // SAFETY: zeroes are a mutex, as is what `prepare` made, and the mutex stays where it is while it is borrowed.
        let orphaned = match unsafe { libc::pthread_mutex_lock(self.0.get()) } {
            0 => false,
            code => self.inherit(code),
        };
        Guard { lock: self, orphaned, _held }
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<Guard<'_>> {
        let _held = Held::enter();
        // SAFETY: as above.
        let orphaned = match unsafe { libc::pthread_mutex_trylock(self.0.get()) } {
            0 => false,
            libc::EBUSY => return None,
            code => self.inherit(code),
        };
        Some(Guard { lock: self, orphaned, _held })
    }

    #[cold]
    fn inherit(&self, code: libc::c_int) -> bool {
        // Nothing else can come of a mutex that is always made consistent; and there is no way on without the lock.
        if code != libc::EOWNERDEAD {
            std::process::abort();
        }
        // SAFETY: the lock is held. A thread that is killed before it has mended what the lock guards leaves
        // it as this one found it.
        unsafe { libc::pthread_mutex_consistent(self.0.get()) };
        true
    }
}

impl Guard<'_> {
    /// Whether the holder before this one was killed with the lock: what it guards may be half changed.
    #[inline]
    pub fn is_orphaned(&self) -> bool {
        self.orphaned
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this thread holds it, as a guard can't leave its thread.
        unsafe { libc::pthread_mutex_unlock(self.lock.0.get()) };
    }
}
