//! What the machine itself takes: a cache line there and back, futexes, a copy, a look at the clock.
#![allow(unsafe_code, reason = "declares a layout fit for shared memory, and maps a file")]

use crate::harness::exchange::Exchange;
use crate::harness::job::{Job, Side};
use crate::harness::link::Link;
use anyhow::Context;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::thread::sched_yield;
use slipway_fabric::sync::{FutexWord, Mapping, Ordering, Padded, Shared, Zeroed};
use std::hint::black_box;
use std::os::fd::AsFd;
use std::time::Instant;

/// A word for each direction, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Words {
    /// Written by the client.
    pub there: Padded<FutexWord>,
    /// Written by the server.
    pub back: Padded<FutexWord>,
}

// SAFETY: atomics of integers only, with padding.
unsafe impl Zeroed for Words {}

/// The words, in a segment that the server makes and sends to the client.
pub fn share(link: &mut Link, side: Side) -> anyhow::Result<Shared<Words>> {
    let length = size_of::<Words>();
    let fd = match side {
        Side::Client => link.take()?,
        Side::Server => {
            let fd = memfd_create(c"slipway-bench", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).context("memfd_create")?;
            ftruncate(&fd, length as u64).context("ftruncate")?;
            fcntl_add_seals(&fd, SealFlags::SHRINK).context("seal")?;
            link.give(&fd)?;
            fd
        }
    };
    // SAFETY: one of the two measuring processes made the file, of this length, and sealed it.
    let mapping = unsafe { Mapping::of_file(fd.as_fd(), length) }.context("mmap")?;
    mapping.view(0).context("view of the shared words")
}

/// A word that goes to the other process and comes back: how the word of a direction is written, and waited for.
struct Turns {
    words: Shared<Words>,
    turn: u32,
    write: fn(&FutexWord, u32),
    wait: fn(&FutexWord, u32),
}

/// One end.
pub fn turns(
    link: &mut Link,
    job: &Job,
    write: fn(&FutexWord, u32),
    wait: fn(&FutexWord, u32),
) -> anyhow::Result<Box<dyn Exchange>> {
    Ok(Box::new(Turns { words: share(link, job.side)?, turn: 0, write, wait }))
}

impl Exchange for Turns {
    fn round_trip(&mut self) -> anyhow::Result<()> {
        self.turn = self.turn.wrapping_add(1);
        (self.write)(&self.words.there, self.turn);
        (self.wait)(&self.words.back, self.turn);
        Ok(())
    }

    fn answer(&mut self) -> anyhow::Result<()> {
        self.turn = self.turn.wrapping_add(1);
        (self.wait)(&self.words.there, self.turn);
        (self.write)(&self.words.back, self.turn);
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
