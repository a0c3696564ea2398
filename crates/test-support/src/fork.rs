//! Children of fork(2).
#![allow(unsafe_code, reason = "fork")]

/// Runs `body` in a forked process: its exit code, 99 if it panicked.
///
/// # Panics
/// If a signal ended the process.
pub fn forked(body: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child goes on in this thread alone and ends by _exit.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(99);
        // SAFETY: ends the process.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: waits for the child of this call.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert!(libc::WIFEXITED(status), "the child was ended by a signal: {status:#x}");
    libc::WEXITSTATUS(status)
}
