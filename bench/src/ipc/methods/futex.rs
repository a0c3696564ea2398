//! Two futexes: what sleeping and waking cost by themselves.

use super::words::{Words, share};
use crate::ipc::cases::Case;
use crate::ipc::peer::Job;
use crate::trips::exchange::Exchange;
use crate::trips::link::Link;
use slipway_fabric::sync::{FutexWord, Ordering, Shared};

/// Each end sleeps on its word and is woken by the other.
pub struct Futex {
    words: Shared<Words>,
    turn: u32,
}

fn wake(word: &FutexWord, turn: u32) {
    word.store(turn, Ordering::Release);
    word.wake_one();
}

fn sleep(word: &FutexWord, until: u32) {
    while word.load(Ordering::Acquire) != until {
        word.wait(until.wrapping_sub(1), None);
    }
}

impl Exchange for Futex {
    type Case = Case;

    fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        Ok(Self { words: share(link, job.side)?, turn: 0 })
    }

    fn round_trip(&mut self) -> anyhow::Result<()> {
        self.turn = self.turn.wrapping_add(1);
        wake(&self.words.there, self.turn);
        sleep(&self.words.back, self.turn);
        Ok(())
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        self.turn = self.turn.wrapping_add(1);
        sleep(&self.words.there, self.turn);
        wake(&self.words.back, self.turn);
        Ok(())
    }
}
