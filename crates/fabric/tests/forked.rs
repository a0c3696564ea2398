//! The lock that a forked child does not find held for ever.
#![cfg(not(loom))]
#![allow(unsafe_code, reason = "fork")]

use rustix::process::{Pid, WaitOptions, waitpid};
use slipway_fabric::sync::{ForkMutex, Forked, Lock, after_locks, holds_any};
use std::{cell::Cell, sync::mpsc::channel, thread::scope};

/// What `work` says in a child, which ends if that waits.
fn in_child(work: impl FnOnce(&Forked) -> bool) -> bool {
    // SAFETY: the child does nothing that needs another thread of its parent, and ends without its handlers.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: no pointers; it has the one thread.
        unsafe {
            libc::alarm(60);
            libc::_exit(i32::from(!work(&Forked::new())));
        }
    }
    let (_, status) = waitpid(Pid::from_raw(pid), WaitOptions::empty()).unwrap().unwrap();
    status.exit_status() == Some(0)
}

/// Does `act` while another thread holds the lock and has done `change` with it.
fn while_held<T: Send>(lock: &ForkMutex<T>, change: impl FnOnce(&mut T) + Send, act: impl FnOnce()) {
    let ((holds, held), (go, wait)) = (channel(), channel::<()>());
    scope(|scope| {
        scope.spawn(move || {
            let mut guard = lock.lock();
            change(&mut guard);
            holds.send(()).unwrap();
            let _ = wait.recv();
        });
        held.recv().unwrap();
        let _go = go;
        act();
    });
}

#[test]
fn a_child_has_what_another_thread_held_anew() {
    let lock = ForkMutex::new(vec![1]);
    let change = |list: &mut Vec<i32>| list.push(2);
    while_held(&lock, change, || {
        assert!(in_child(|child| lock.after_fork(child) && lock.lock().is_empty() && !lock.after_fork(child)));
        assert!(lock.try_lock().is_none(), "the parent's is as it was");
    });
    assert_eq!(*lock.lock(), [1, 2]);
    assert!(in_child(|child| !lock.after_fork(child) && *lock.lock() == [1, 2]));
}

#[test]
fn what_the_forking_thread_is_in_goes_on_in_the_child() {
    let (own, other) = (ForkMutex::new(1), ForkMutex::new(2));
    while_held(
        &other,
        |_| {},
        || {
            let mut guard = own.lock();
            assert!(in_child(|child| {
                // It may be about to take the other one, which so is left alone, too.
                let left = !own.after_fork(child) && !other.after_fork(child) && holds_any();
                *guard += 1;
                drop(guard);
                left && *own.lock() == 2 && !holds_any()
            }));
        },
    );
    assert_eq!((*own.lock(), *other.lock()), (1, 2));
}

#[test]
fn what_is_put_off_comes_when_the_thread_holds_no_lock() {
    thread_local! {
        static CAME: Cell<u32> = const { Cell::new(0) };
    }
    let came = || CAME.set(CAME.get() + 1);
    assert!(!after_locks(came));
    let (first, second) = (ForkMutex::new(()), Lock::default());
    let guards = (first.lock(), second.lock());
    assert!(after_locks(came) && after_locks(came) && first.try_lock().is_none());
    drop(guards.0);
    assert_eq!(CAME.get(), 0, "the other one is held");
    drop(guards.1);
    assert_eq!((CAME.get(), holds_any()), (1, false), "once");
    drop(second.lock());
    assert_eq!(CAME.get(), 1);
}
