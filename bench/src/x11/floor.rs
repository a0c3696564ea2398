//! What this machine's memory allows: how long it takes to copy a megabyte within one core, and from
//! one core to the other through a bare ring, with no X program involved.
//!
//! A 500x500 image is a megabyte that crosses the ring once and is copied once more on each side, so
//! no transport that copies can move it faster than this.

use crate::cores;
use serde::Serialize;
use slipway_fabric::{
    ring::{RxCursor, TxCursor},
    segment::Segment,
};
use std::{hint::black_box, os::fd::AsFd, time::Instant};

const MEGABYTE: usize = 1 << 20;
const PIECE: usize = 16 * 1024;
const ROUNDS: usize = 200;

/// Microseconds a megabyte.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Floor {
    /// From one buffer to another on one core.
    pub within_us: f64,
    /// Through a ring, copied in on one core and out on another.
    pub across_us: f64,
}

/// Measures, with the reader on the first of `cores` and the writer on the second; None on a machine with one core, or
/// without shared memory.
pub fn measure(cores: &[usize]) -> Option<Floor> {
    let [reader, writer, ..] = *cores else { return None };
    let (maker, fd) = Segment::create(MEGABYTE).ok()?;
    let guest = Segment::open(fd.as_fd(), MEGABYTE).ok()?;
    let across = std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            pin(reader);
            let (mut cursor, mut to) = (RxCursor::default(), vec![0u8; MEGABYTE]);
            let mut done = 0;
            while done < ROUNDS * MEGABYTE {
                let n = guest.rx.available(&mut cursor).ok()?.min(PIECE);
                let at = done % MEGABYTE;
                let n = n.min(MEGABYTE - at);
                guest.rx.peek(&cursor, 0, &mut to[at..at + n]);
                guest.rx.release(&mut cursor, n);
                done += n;
            }
            black_box(&to);
            Some(Instant::now())
        });
        let writing = scope.spawn(move || {
            pin(writer);
            let (mut cursor, from) = (TxCursor::default(), vec![7u8; MEGABYTE]);
            let start = Instant::now();
            for piece in 0..ROUNDS * (MEGABYTE / PIECE) {
                while maker.tx.free(&mut cursor, PIECE).ok()? < PIECE {
                    std::hint::spin_loop();
                }
                let at = piece * PIECE % MEGABYTE;
                maker.tx.fill(&mut cursor, &from[at..at + PIECE]).ok()?;
                maker.tx.publish(&cursor);
            }
            Some(start)
        });
        let (start, end) = (writing.join().ok()??, reading.join().ok()??);
        Some(end.duration_since(start))
    })?;
    let within = std::thread::scope(|scope| {
        let copying = scope.spawn(|| {
            pin(reader);
            let (from, mut to) = (vec![7u8; MEGABYTE], vec![0u8; MEGABYTE]);
            let start = Instant::now();
            for _ in 0..ROUNDS {
                to.copy_from_slice(black_box(&from));
                black_box(&mut to);
            }
            start.elapsed()
        });
        copying.join().ok()
    })?;
    let each = |time: std::time::Duration| time.as_secs_f64() * 1e6 / ROUNDS as f64;
    Some(Floor { within_us: each(within), across_us: each(across) })
}

/// Where it can't be pinned the figure is that of the free placement.
fn pin(core: usize) {
    let _ = cores::pin(core);
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_cores_give_a_floor_and_one_gives_none() {
        let floor = super::measure(&[0, 1]).expect("shared memory works");
        assert!(floor.within_us > 0.0 && floor.across_us > 0.0);
        assert!(super::measure(&[0]).is_none());
    }
}
