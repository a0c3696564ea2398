//! A bare line of the fabric: what is left when there are no ports, names and rights.
//!
//! On different cores both ends watch the ring all the time. On one core the reader raises its flag and
//! sleeps on it, and the writer wakes it.

use super::echo::Carrier;
use crate::harness::Placement;
use crate::harness::job::{Job, Side};
use crate::harness::link::Link;
use anyhow::Context;
use slipway_fabric::ring::{FUTEX_WAIT, RxCursor, TxCursor};
use slipway_fabric::segment::Segment;
use std::os::fd::AsFd;

/// Bytes of each ring: room for the largest message, twice.
const RING: usize = 64 * 1024;

/// A segment with a table of so many bytes for each end, which the server makes and sends to the client.
pub fn share(link: &mut Link, side: Side, table: usize) -> anyhow::Result<Segment> {
    if side == Side::Client {
        let (control, area) = (link.take()?, link.take()?);
        let (segment, own) = Segment::open_apart(control.as_fd(), area.as_fd(), table, RING).context("segment")?;
        link.give(own)?;
        return Ok(segment);
    }
    let (mut segment, files) = Segment::create_apart(table, RING).context("segment")?;
    files.into_iter().try_for_each(|file| link.give(file))?;
    segment.open_area(link.take()?.as_fd()).context("area")?;
    Ok(segment)
}

/// One end of a line.
pub struct Line {
    segment: Segment,
    tx: TxCursor,
    rx: RxCursor,
    sleeps: bool,
}

impl Line {
    /// Waits until `length` bytes lie in the ring; a message is published whole.
    fn wait(&mut self, length: usize) -> anyhow::Result<()> {
        let ring = &self.segment.rx;
        // No pause between the looks: on some processors it takes longer than the message.
        while ring.refresh_tail(&mut self.rx)? < length {
            if self.sleeps {
                ring.arm_reader_on_futex();
                if ring.readable(self.rx.head) {
                    ring.disarm_reader();
                } else {
                    ring.reader_word().wait(FUTEX_WAIT, None);
                }
            }
        }
        Ok(())
    }
}

impl Carrier for Line {
    fn new(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        let sleeps = job.case.placement == Placement::OneCore;
        Ok(Self { segment: share(link, job.side, 0)?, tx: TxCursor::default(), rx: RxCursor::default(), sleeps })
    }

    fn send(&mut self, message: &[u8]) -> anyhow::Result<()> {
        let ring = &self.segment.tx;
        // The answer to the message before was read: there is room.
        anyhow::ensure!(ring.free(&mut self.tx, message.len())? >= message.len(), "no room in the ring");
        ring.fill(&mut self.tx, message)?;
        ring.publish(&self.tx);
        // True: the flag was up as in a fresh ring, and the reader may sleep on it by now.
        if self.sleeps && ring.wake_reader() {
            ring.reader_word().wake_all();
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
