//! A bare line of the fabric: what is left when there are no ports, names and rights.
//!
//! On different cores both ends watch the ring all the time. On one core the reader raises its flag and
//! sleeps on a futex, which the writer wakes when the flag is up.

use super::echo::Carrier;
use super::floors::{Words, share};
use crate::harness::Placement;
use crate::harness::job::{Job, Side};
use crate::harness::link::Link;
use anyhow::Context;
use slipway_fabric::ring::{RxCursor, TxCursor};
use slipway_fabric::segment::Segment;
use slipway_fabric::sync::{FutexWord, Ordering, Shared};
use std::os::fd::AsFd;

/// Bytes of each ring: room for the largest message, twice.
const RING: usize = 64 * 1024;

/// One end of a line.
pub struct Line {
    segment: Segment,
    tx: TxCursor,
    rx: RxCursor,
    bells: Shared<Words>,
    side: Side,
    sleeps: bool,
}

impl Line {
    fn bells(&self) -> (&FutexWord, &FutexWord) {
        match self.side {
            Side::Client => (&self.bells.back, &self.bells.there),
            Side::Server => (&self.bells.there, &self.bells.back),
        }
    }

    /// Waits until `length` bytes lie in the ring.
    fn wait(&mut self, length: usize) -> anyhow::Result<()> {
        let ring = &self.segment.rx;
        if !self.sleeps {
            // No pause between the looks: on some processors it takes longer than the message.
            while ring.refresh_tail(&mut self.rx)? < length {}
            return Ok(());
        }
        let (own, _) = self.bells();
        loop {
            let heard = own.load(Ordering::Acquire);
            if self.segment.rx.readable(self.rx.head) {
                break;
            }
            self.segment.rx.arm_reader();
            if self.segment.rx.readable(self.rx.head) {
                self.segment.rx.disarm_reader();
                break;
            }
            own.wait(heard, None);
        }
        // A message is published whole.
        self.segment.rx.refresh_tail(&mut self.rx)?;
        Ok(())
    }
}

impl Carrier for Line {
    fn new(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        let bells = share(link, job.side)?;
        let segment = match job.side {
            Side::Client => Segment::open(link.take()?.as_fd(), RING).context("segment")?,
            Side::Server => {
                let (segment, fd) = Segment::create(RING).context("segment")?;
                link.give(fd)?;
                segment
            }
        };
        let sleeps = job.case.placement == Placement::OneCore;
        Ok(Self { segment, tx: TxCursor::default(), rx: RxCursor::default(), bells, side: job.side, sleeps })
    }

    fn send(&mut self, message: &[u8]) -> anyhow::Result<()> {
        let ring = &self.segment.tx;
        // The answer to the message before was read: there is room.
        anyhow::ensure!(ring.free(&mut self.tx, message.len())? >= message.len(), "no room in the ring");
        ring.fill(&mut self.tx, message)?;
        ring.publish(&self.tx);
        if self.sleeps && ring.take_sleeping_reader() {
            let (_, theirs) = self.bells();
            theirs.fetch_add(1, Ordering::Release);
            theirs.wake_one();
        }
        Ok(())
    }

    fn receive(&mut self, into: &mut [u8]) -> anyhow::Result<()> {
        self.wait(into.len())?;
        self.segment.rx.peek(&self.rx, 0, into);
        self.segment.rx.release(&mut self.rx, into.len());
        Ok(())
    }
}
