//! What this machine's memory allows: how long it takes to copy a megabyte within one core, and from
//! one core to the other through a bare ring, with no X program involved.
//!
//! A 500x500 image is a megabyte that crosses the ring once and is copied once more on each side, so
//! no transport that copies can move it faster than this.

use crate::harness::machine::{Cores, pin};
use serde::Serialize;
use slipway_fabric::ring::{RxCursor, TxCursor};
use slipway_fabric::segment::Segment;
use std::hint::black_box;
use std::os::fd::AsFd;
use std::time::Instant;

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

/// Measures, with the reader on the first core and the writer on the second; None on a machine with one core, or
/// without shared memory. Where a thread can't be pinned the figure is that of the free placement.
pub fn measure(cores: &Cores) -> Option<Floor> {
    let (first, second) = (cores.first, cores.second?);
    let (maker, fd) = Segment::create(MEGABYTE).ok()?;
    let client = Segment::open(fd.as_fd(), MEGABYTE).ok()?;
    let (from, mut to) = (vec![7_u8; MEGABYTE], vec![0_u8; MEGABYTE]);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let _ = pin(second);
            let mut cursor = TxCursor::default();
            let start = Instant::now();
            for at in (0..ROUNDS * MEGABYTE).step_by(PIECE).map(|done| done % MEGABYTE) {
                while maker.tx.free(&mut cursor, PIECE).ok()? < PIECE {
                    std::hint::spin_loop();
                }
                maker.tx.fill(&mut cursor, &from[at..at + PIECE]).ok()?;
                maker.tx.publish(&cursor);
            }
            Some(start)
        });
        let reading = scope.spawn(|| {
            let _ = pin(first);
            let (mut cursor, mut done) = (RxCursor::default(), 0);
            while done < ROUNDS * MEGABYTE {
                let at = done % MEGABYTE;
                let n = client.rx.available(&mut cursor).ok()?.min(PIECE).min(MEGABYTE - at);
                client.rx.peek(&cursor, 0, &mut to[at..at + n]);
                client.rx.release(&mut cursor, n);
                done += n;
            }
            let end = Instant::now();
            for _ in 0..ROUNDS {
                to.copy_from_slice(black_box(&from));
                black_box(&mut to);
            }
            Some((end, end.elapsed()))
        });
        let (start, (end, within)) = (writing.join().ok()??, reading.join().ok()??);
        let each = |time: std::time::Duration| time.as_secs_f64() * 1e6 / ROUNDS as f64;
        Some(Floor { within_us: each(within), across_us: each(end.duration_since(start)) })
    })
}
