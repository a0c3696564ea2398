//! Signals and the library's own thread.
#![allow(unsafe_code, reason = "pthread_sigmask has no safe face")]

/// Runs `run` with all signals blocked: a thread that it starts never gets one of the program's.
pub fn without<T>(run: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are local, and a signal mask belongs to the calling thread.
    unsafe {
        let mut all = std::mem::zeroed();
        let mut old = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        let result = run();
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
        result
    }
}
