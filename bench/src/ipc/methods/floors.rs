//! What the machine itself takes: a cache line there and back, a copy, a look at the clock.

use super::words::{Words, share};
use crate::ipc::cases::{Case, Test};
use crate::ipc::peer::Job;
use crate::trips::cases::Test as _;
use crate::trips::exchange::Exchange;
use crate::trips::link::Link;
use rustix::thread::sched_yield;
use slipway_fabric::sync::{FutexWord, Ordering, Shared};
use std::hint::black_box;
use std::time::Instant;

/// A word that goes to the other core and comes back, both ends watching all the time.
pub struct CacheLine {
    words: Shared<Words>,
    turn: u32,
}

/// Looks without a pause between the looks: the processor's pause instruction can take longer than the
/// whole round trip.
#[allow(clippy::missing_spin_loop, reason = "this is the floor: it waits for nothing but the cache line")]
fn watch(word: &FutexWord, until: u32) {
    while word.load(Ordering::Acquire) != until {}
}

impl Exchange for CacheLine {
    type Case = Case;

    fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        Ok(Self { words: share(link, job.side)?, turn: 0 })
    }

    fn round_trip(&mut self) -> anyhow::Result<()> {
        self.turn = self.turn.wrapping_add(1);
        self.words.there.store(self.turn, Ordering::Release);
        watch(&self.words.back, self.turn);
        Ok(())
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        self.turn = self.turn.wrapping_add(1);
        watch(&self.words.there, self.turn);
        self.words.back.store(self.turn, Ordering::Release);
        Ok(())
    }
}

/// A word that the two processes of one core pass each other by giving their turns away.
pub struct Yield(CacheLine);

fn give_way(word: &FutexWord, until: u32) {
    while word.load(Ordering::Acquire) != until {
        sched_yield();
    }
}

impl Exchange for Yield {
    type Case = Case;

    fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        CacheLine::prepare(link, job).map(Self)
    }

    fn round_trip(&mut self) -> anyhow::Result<()> {
        let CacheLine { words, turn } = &mut self.0;
        *turn = turn.wrapping_add(1);
        words.there.store(*turn, Ordering::Release);
        give_way(&words.back, *turn);
        Ok(())
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        let CacheLine { words, turn } = &mut self.0;
        *turn = turn.wrapping_add(1);
        give_way(&words.there, *turn);
        words.back.store(*turn, Ordering::Release);
        Ok(())
    }
}

/// As much as the largest message, copied once within the core.
pub struct Copy {
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Exchange for Copy {
    type Case = Case;

    fn prepare(_: &mut Link, _: &Job) -> anyhow::Result<Self> {
        let length = Test::ALL.iter().map(|test| test.bytes()).max().unwrap_or_default();
        Ok(Self { from: vec![1; length], to: vec![0; length] })
    }

    fn round_trip(&mut self) -> anyhow::Result<()> {
        self.to.copy_from_slice(black_box(&self.from));
        black_box(&mut self.to);
        Ok(())
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

/// The clock that the percentiles are taken with.
pub struct Clock;

impl Exchange for Clock {
    type Case = Case;

    fn prepare(_: &mut Link, _: &Job) -> anyhow::Result<Self> {
        Ok(Self)
    }

    fn round_trip(&mut self) -> anyhow::Result<()> {
        black_box(Instant::now());
        Ok(())
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}
