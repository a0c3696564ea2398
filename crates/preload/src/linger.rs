//! What the peer of a closed connection wants back on its socket, where that has no room and the program does not wait for it: a thread puts it there,
//! on a descriptor of the library's own.

use crate::table::borrowed;
use slipway_fabric::sync::{
    ForkMutex, Forked, FutexWord,
    Ordering::{Acquire, Release},
};
use slipway_transport::{descriptor::Reserved, stream::Stream};
use std::{
    os::fd::{AsFd, AsRawFd, RawFd},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// The descriptors of closed connections that have a thread.
static LEFT: ForkMutex<Vec<Reserved>> = ForkMutex::new(Vec::new());
/// Moves on when there are fewer.
static LESS: FutexWord = FutexWord::new();

/// How long a program that does not wait for writes is kept by what is left of them: when it exits, becomes another one, or leaves the connection to the kernel.
pub const GRACE: Duration = Duration::from_secs(1);

/// `fd` is about to be closed.
pub fn start(fd: RawFd, stream: &Arc<Stream>) {
    let copy = borrowed(fd, |fd| rustix::io::fcntl_dupfd_cloexec(fd, 0));
    let Ok(copy) = copy.map_err(Into::into).and_then(Reserved::aside) else { return };
    let (number, stream) = (copy.as_fd().as_raw_fd(), Arc::clone(stream));
    let mut left = LEFT.lock();
    left.push(copy);
    let finish = move || {
        borrowed(number, |fd| stream.return_all(fd, None));
        forget(number);
    };
    if without_signals(|| thread::Builder::new().stack_size(128 * 1024).spawn(finish)).is_err() {
        left.retain(|copy| copy.as_fd().as_raw_fd() != number);
    }
}

/// A thread that `start` makes takes no signal that is the program's.
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are local, and a signal mask belongs to the calling thread.
    unsafe {
        let (mut all, mut old) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
        let result = start();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, std::ptr::null_mut());
        result
    }
}

fn forget(number: RawFd) {
    LEFT.lock().retain(|copy| copy.as_fd().as_raw_fd() != number);
    LESS.fetch_add(1, Release);
    LESS.wake_all();
}

/// Waits for the threads, for [`GRACE`] at most.
pub fn finish() {
    let end = Instant::now() + GRACE;
    loop {
        let before = LESS.load(Acquire);
        if LEFT.try_lock().is_some_and(|left| left.is_empty()) {
            return;
        }
        let Some(rest) = end.checked_duration_since(Instant::now()) else { return };
        LESS.wait_while(before, Some(rest.as_nanos() as u64));
    }
}

/// In the child of a fork, which has the descriptors and not the threads.
pub fn after_fork(child: &Forked) {
    LEFT.after_fork(child);
    if let Some(mut left) = LEFT.try_lock() {
        left.clear();
    }
}
