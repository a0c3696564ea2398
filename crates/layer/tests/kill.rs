//! Death before any step of a `keep`. A program of its own: what forks shares locks with the child.
#![allow(unsafe_code, reason = "a process that kills itself")]

use slipway_layer::{Kept, Recovered};
use slipway_test_support::Dice;
use std::sync::{Mutex, MutexGuard, PoisonError};

mod common;
use common::{Bench, Tree, assert_clean, tree_of};

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
