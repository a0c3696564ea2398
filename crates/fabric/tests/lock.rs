//! The lock between processes: a holder that is stopped, and one that is killed.
#![cfg(not(loom))]
#![allow(unsafe_code, reason = "fork")]

use rustix::{
    io::{read, write},
    pipe::pipe,
    process::{Pid, Signal, WaitOptions, kill_process, waitpid},
};
use slipway_fabric::sync::{AtomicU32, Lock, Mapping, Ordering::Relaxed, Shared, Zeroed};
use std::{
    os::fd::OwnedFd,
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread::JoinHandle,
    time::Duration,
};

/// What is too long for anything that is to happen.
const WATCHDOG: Duration = Duration::from_secs(60);

#[derive(Default)]
#[repr(C)]
struct Guarded {
    lock: Lock,
    value: AtomicU32,
}

// SAFETY: an integer, and a lock, of which zeroes are one.
unsafe impl Zeroed for Guarded {}

fn guarded() -> Shared<Guarded> {
    let shared: Shared<Guarded> = Mapping::of_family(4096).unwrap().view(0).unwrap();
    // SAFETY: nobody has it yet.
    unsafe { shared.lock.prepare().unwrap() };
    shared
}

/// A child that takes the lock, writes 1 and waits to be told to let go.
struct Holder {
    pid: Pid,
    go: OwnedFd,
}

impl Holder {
    fn new(shared: &Shared<Guarded>) -> Self {
        let ((holds, told), (wait, go)) = (pipe().unwrap(), pipe().unwrap());
        // SAFETY: the child does nothing that needs another thread of its parent.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let guard = shared.lock.lock();
            shared.value.store(1, Relaxed);
            let _ = write(&told, &[1]);
            let _ = read(&wait, &mut [0]);
            shared.value.store(2, Relaxed);
            drop(guard);
            // SAFETY: the child ends without its parent's handlers.
            unsafe { libc::_exit(0) };
        }
        assert_eq!(read(&holds, &mut [0]), Ok(1));
        Self { pid: Pid::from_raw(pid).unwrap(), go }
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid, signal).unwrap();
        let how = if signal == Signal::CONT { WaitOptions::CONTINUED } else { WaitOptions::UNTRACED };
        waitpid(Some(self.pid), how).unwrap();
    }
}

/// A thread that waits for the lock, and what it finds: whether it was orphaned, and the value.
fn waiter(shared: &Shared<Guarded>) -> (JoinHandle<()>, Receiver<(bool, u32)>) {
    let (shared, (found, finds)) = (shared.clone(), channel());
    let thread = std::thread::spawn(move || {
        let guard = shared.lock.lock();
        let _ = found.send((guard.is_orphaned(), shared.value.load(Relaxed)));
    });
    (thread, finds)
}

#[test]
fn a_holder_that_is_stopped_is_waited_for() {
    let shared = guarded();
    let holder = Holder::new(&shared);
    holder.signal(Signal::STOP);
    let (thread, finds) = waiter(&shared);
    // That nothing happens has no event of its own.
    assert_eq!(finds.recv_timeout(Duration::from_millis(2500)), Err(RecvTimeoutError::Timeout));
    holder.signal(Signal::CONT);
    write(&holder.go, &[1]).unwrap();
    assert_eq!(finds.recv_timeout(WATCHDOG), Ok((false, 2)));
    thread.join().unwrap();
    waitpid(Some(holder.pid), WaitOptions::empty()).unwrap();
}

#[test]
fn a_holder_that_is_killed_is_succeeded() {
    for asleep in [false, true] {
        let shared = guarded();
        let holder = Holder::new(&shared);
        let before = asleep.then(|| waiter(&shared));
        holder.signal(Signal::KILL);
        let (thread, finds) = before.unwrap_or_else(|| waiter(&shared));
        assert_eq!(finds.recv_timeout(WATCHDOG), Ok((true, 1)));
        thread.join().unwrap();
        assert!(!shared.lock.lock().is_orphaned(), "once");
    }
}

#[test]
fn who_mends_and_is_killed_leaves_it_to_the_next() {
    let shared = guarded();
    for _ in 0..3 {
        Holder::new(&shared).signal(Signal::KILL);
    }
    assert!(shared.lock.lock().is_orphaned());
}

#[test]
fn processes_exclude_each_other() {
    const TIMES: u32 = 100_000;
    let shared = guarded();
    let add = || {
        for _ in 0..TIMES {
            let _guard = shared.lock.lock();
            shared.value.store(shared.value.load(Relaxed) + 1, Relaxed);
        }
    };
    // SAFETY: as above.
    let pid = unsafe { libc::fork() };
    add();
    if pid == 0 {
        // SAFETY: as above.
        unsafe { libc::_exit(0) };
    }
    waitpid(Pid::from_raw(pid), WaitOptions::empty()).unwrap();
    assert_eq!(shared.value.load(Relaxed), 2 * TIMES);
}
