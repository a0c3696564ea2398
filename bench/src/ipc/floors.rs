//! What the machine itself takes: a cache line there and back, futexes, a copy, a look at the clock.
#![allow(unsafe_code, reason = "declares a layout fit for shared memory")]

use super::line::share;
use crate::harness::exchange::Exchange;
use crate::harness::job::Job;
use crate::harness::link::Link;
use anyhow::Context;
use rustix::thread::sched_yield;
use slipway_fabric::sync::{FutexWord, Ordering, Padded, Shared, Zeroed};
use std::hint::black_box;
use std::time::Instant;

/// Bytes of the table that a word lies in: a page.
const TABLE: usize = 4096;

/// A word that one end writes.
#[repr(C)]
struct Word(Padded<FutexWord>);

// SAFETY: an atomic of an integer only, with padding.
unsafe impl Zeroed for Word {}

/// A word that goes to the other process and comes back: how one's own is written, and the other's waited for.
struct Turns {
    own: Shared<Word>,
    other: Shared<Word>,
    turn: u32,
    write: fn(&FutexWord, u32),
    wait: fn(&FutexWord, u32),
}

pub fn turns(
    link: &mut Link,
    job: &Job,
    write: fn(&FutexWord, u32),
    wait: fn(&FutexWord, u32),
) -> anyhow::Result<Box<dyn Exchange>> {
    let (own, other) = share(link, job.side, TABLE)?.tables(TABLE).context("the shared words")?;
    Ok(Box::new(Turns { own, other, turn: 0, write, wait }))
}

impl Exchange for Turns {
    fn round_trip(&mut self) -> anyhow::Result<()> {
        self.turn = self.turn.wrapping_add(1);
        (self.write)(&self.own.0, self.turn);
        (self.wait)(&self.other.0, self.turn);
        Ok(())
    }

    fn answer(&mut self) -> anyhow::Result<()> {
        self.turn = self.turn.wrapping_add(1);
        (self.wait)(&self.other.0, self.turn);
        (self.write)(&self.own.0, self.turn);
        Ok(())
    }
}

/// Writes, and wakes nobody.
pub fn store(word: &FutexWord, turn: u32) {
    word.store(turn, Ordering::Release);
}

/// Looks without a pause between the looks: the processor's pause instruction can take longer than the
/// whole round trip.
#[allow(clippy::missing_spin_loop, reason = "this is the floor: it waits for nothing but the cache line")]
pub fn watch(word: &FutexWord, until: u32) {
    while word.load(Ordering::Acquire) != until {}
}

/// Gives the processor to the other process of the core until it has written.
pub fn give_way(word: &FutexWord, until: u32) {
    while word.load(Ordering::Acquire) != until {
        sched_yield();
    }
}

/// Writes, and wakes the one that sleeps.
pub fn wake(word: &FutexWord, turn: u32) {
    store(word, turn);
    word.wake_one();
}

/// Sleeps until the other has written.
pub fn sleep(word: &FutexWord, until: u32) {
    while word.load(Ordering::Acquire) != until {
        word.wait(until.wrapping_sub(1), None);
    }
}

/// So many bytes, copied once within the core.
pub fn copy(length: usize) -> Box<dyn Exchange> {
    let (from, mut to) = (vec![1_u8; length], vec![0; length]);
    Box::new(move || {
        to.copy_from_slice(black_box(&from));
        black_box(&mut to);
        Ok(())
    })
}

/// The clock that the percentiles are taken with.
pub fn clock() -> Box<dyn Exchange> {
    Box::new(|| {
        black_box(Instant::now());
        Ok(())
    })
}
