//! Death before any step of a `keep`. A program of its own: what forks shares locks with the child.
#![allow(unsafe_code, reason = "a process that kills itself")]

use slipway_layer::{Kept, Recovered};
use slipway_test_support::Dice;
use std::sync::{Mutex, MutexGuard, PoisonError};

mod common;
use common::{Bench, Tree, assert_clean, path, tree_of};

/// A child that another test forks would have this one's locks.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills a `keep` before its step of this number: whether it came so far.
fn killed_at(bench: &Bench, number: usize) -> bool {
    let mut left = number;
    let mut step = || {
        if left == 0 {
            // SAFETY: ends this process.
            unsafe { libc::raise(libc::SIGKILL) };
        }
        left -= 1;
    };
    // SAFETY: the child goes on with this thread, and ends here.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        let kept = bench.keep(&mut step).is_ok();
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!kept)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child of this function.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert!(libc::WIFSIGNALED(status) || libc::WEXITSTATUS(status) == 0, "{status:#x}");
    libc::WIFSIGNALED(status)
}

/// What the host has when all is kept.
fn whole() -> Tree {
    let bench = Bench::new();
    bench.keep(&mut || {}).expect("keep");
    tree_of(&bench.host())
}

/// Kills at the first step, resumes and kills that at the second, then finishes.
fn die(whole: &Tree, first: usize, second: Option<usize>) -> bool {
    let bench = Bench::new();
    let old = tree_of(&bench.host());
    if !killed_at(&bench, first) {
        return false;
    }
    if let Some(second) = second
        && bench.store.about("l").is_ok()
    {
        killed_at(&bench, second);
    }
    // A layer that is being removed is no layer, and all of it is on the host.
    if bench.store.about("l").is_ok() {
        let recovered = bench.store.recover("l", &bench.host(), &mut || {}).expect("recover");
        if matches!(recovered, Recovered::Nothing | Recovered::Undone) {
            assert!(tree_of(&bench.host()) == old, "killed before step {first}, then {second:?}: half of it is on the host");
            assert_clean(&bench.host());
            assert_eq!(bench.store.check("l").expect("check"), Vec::<String>::new());
            assert!(matches!(bench.keep(&mut || {}).expect("keep"), Kept::Done(_)));
        }
    }
    assert_clean(&bench.host());
    assert!(&tree_of(&bench.host()) == whole, "killed before step {first}, then {second:?}: it was not kept");
    true
}

#[test]
fn death_before_any_step() {
    let _one = one_at_a_time();
    let (mut steps, whole) = (0, whole());
    while die(&whole, steps, None) {
        steps += 1;
    }
    assert!(steps > 30, "only {steps} steps");
}

/// Runs `work` in a child that may write no file beyond so many bytes.
fn with_full_disk(bytes: u64, work: impl FnOnce()) {
    // SAFETY: the child goes on with this thread, and ends here.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        // SAFETY: this process only.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        limit(Some(bytes));
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_ok();
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!done)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child of this function.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert_eq!(status, 0);
}

fn limit(bytes: Option<u64>) {
    let maximum = rustix::process::getrlimit(rustix::process::Resource::Fsize).maximum;
    let limit = rustix::process::Rlimit { current: bytes.or(maximum), maximum };
    rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).expect("limit");
}

#[test]
fn a_line_that_the_disk_had_no_room_for() {
    let _one = one_at_a_time();
    let bench = Bench::new();
    let log = std::fs::metadata(bench.store.dir().join("l/log")).expect("stat").len();
    with_full_disk(log + 20, || {
        bench.change(|view| {
            let mode = rustix::fs::Mode::RWXU;
            assert!(view.make_dir(&path("full"), mode).is_err());
            limit(None);
            view.make_dir(&path("room"), mode).expect("mkdir");
        });
    });
    bench.change(|view| assert!(view.find(&path("room")).is_ok() && view.find(&path("full")).is_err()));
}

#[test]
fn a_directory_that_the_disk_has_no_room_for() {
    let _one = one_at_a_time();
    let bench = Bench::new();
    std::fs::write(bench.host().join("dir/z"), vec![1; 1 << 20]).expect("write");
    with_full_disk(1 << 19, || {
        bench.change(|view| {
            let from = view.find(&path("dir")).expect("find");
            assert_eq!(view.rename(&from, &path("to"), rustix::fs::RenameFlags::empty()), Err(rustix::io::Errno::FBIG));
            // Nothing of it takes room.
            assert_eq!(std::fs::read_dir(bench.store.dir().join("l/work")).expect("list").count(), 0);
            assert!(view.find(&path("dir/a")).is_ok() && view.find(&path("to")).is_err());
        });
    });
}

#[test]
#[ignore = "long: each pair of two deaths"]
fn two_deaths() {
    let _one = one_at_a_time();
    let (mut dice, whole) = (Dice::new(1), whole());
    for first in (0..).take_while(|first| die(&whole, *first, None)) {
        for _ in 0..8 {
            die(&whole, first, Some(dice.below(60)));
        }
    }
}
