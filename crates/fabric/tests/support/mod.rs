//! What the bodies of `loom.rs` stand on: threads, a bell and a ring, modelled or real.

use slipway_fabric::{
    credit::Credit,
    ring::{Ring, RingControl, RxCursor, TxCursor},
    sleepers::Sleepers,
    sync::{Bytes, Shared},
};
use std::sync::Arc;

#[cfg(loom)]
#[path = "modelled.rs"]
mod shim;
#[cfg(not(loom))]
#[path = "real.rs"]
mod shim;

pub use shim::{Bell, Cell, check, spawn};

/// A fresh ring with an area of `size` bytes; both ends of it are the same object.
pub fn ring(size: usize) -> Ring {
    let (control, bytes): (Shared<RingControl>, Bytes) = shim::memory(size);
    Ring::new(control, bytes)
}

/// Fresh tables, as both ends of a line see them.
pub fn credit() -> (Credit, Credit) {
    let (a, b) = shim::tables();
    (Credit::new(a.clone(), b.clone()), Credit::new(b, a))
}

/// One end's line: where it sleeps and what wakes it.
#[derive(Default)]
pub struct Line {
    pub bell: Bell,
    pub sleepers: Sleepers,
}

impl Line {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Sleeps as `Stream::lie_down`, poll(2) and `Stream::get_up` do together: `arm` raises the flag,
    /// `stirs` is the second look, `disarm` is for the last one awake.
    pub fn sleep(&self, arm: impl FnOnce(), stirs: impl FnOnce() -> bool, disarm: impl FnOnce()) {
        self.sleepers.enter();
        arm();
        if !stirs() {
            self.bell.wait();
        }
        let left = self.sleepers.leave(|| {
            self.bell.drain();
            disarm();
        });
        if left > 0 {
            // The bell is audible still: the others are on their way out.
            shim::yield_now();
        }
    }
}

/// The writing end: its cursor, the line it sleeps on, and the bell of the reader.
pub struct Writer {
    pub ring: Ring,
    pub cursor: TxCursor,
    pub own: Arc<Line>,
    pub peer: Arc<Line>,
}

/// The reading end.
pub struct Reader {
    pub ring: Ring,
    pub cursor: RxCursor,
    pub own: Arc<Line>,
    pub peer: Arc<Line>,
}

/// Both ends of a ring of `size` bytes.
pub fn ends(size: usize) -> (Writer, Reader) {
    let (ring, writer, reader) = (ring(size), Line::new(), Line::new());
    (
        Writer { ring: ring.clone(), cursor: TxCursor::default(), own: Arc::clone(&writer), peer: Arc::clone(&reader) },
        Reader { ring, cursor: RxCursor::default(), own: reader, peer: writer },
    )
}

impl Writer {
    /// Writes what there is room for, publishes it, and wakes a sleeping reader (W1 to W5).
    pub fn try_write(&mut self, from: &[u8]) -> usize {
        let n = self.ring.free(&mut self.cursor, from.len()).unwrap().min(from.len());
        if n > 0 {
            self.ring.fill(&mut self.cursor, &from[..n]).unwrap();
            self.ring.publish(&self.cursor);
            self.wake();
        }
        n
    }

    pub fn wake(&self) {
        if self.ring.take_sleeping_reader().is_some() {
            self.peer.bell.ring();
        }
    }

    /// Writes all of it, sleeping while the ring is full (W6, W7).
    pub fn write(&mut self, from: &[u8]) {
        let mut done = 0;
        while done < from.len() {
            match self.try_write(&from[done..]) {
                0 => {
                    let (ring, mut cursor) = (&self.ring, self.cursor);
                    let writable = || ring.unread(&mut cursor).is_ok_and(|used| ring.writable(used));
                    self.own.sleep(|| ring.arm_writer(), writable, || {});
                }
                n => done += n,
            }
        }
    }
}

impl Reader {
    /// Reads at most as much as there is room in `to`, and wakes a sleeping writer (R1, R2, R4 to R6).
    pub fn try_read(&mut self, to: &mut [u8]) -> usize {
        let n = self.ring.available(&mut self.cursor).unwrap().min(to.len());
        if n > 0 {
            self.ring.peek(&self.cursor, 0, &mut to[..n]);
            self.ring.release(&mut self.cursor, n);
            if self.ring.take_sleeping_writer(&self.cursor).is_some() {
                self.peer.bell.ring();
            }
        }
        n
    }

    /// Sleeps until there are bytes to read (R3).
    pub fn sleep(&self) {
        let ring = &self.ring;
        self.own.sleep(|| ring.arm_reader(), || ring.readable(self.cursor.head), || ring.disarm_reader());
    }

    /// Reads `count` bytes, sleeping while the ring is empty.
    pub fn read(&mut self, count: usize) -> Vec<u8> {
        let mut all = Vec::new();
        let mut buffer = [0; 8];
        while all.len() < count {
            let room = buffer.len().min(count - all.len());
            match self.try_read(&mut buffer[..room]) {
                0 => self.sleep(),
                n => all.extend_from_slice(&buffer[..n]),
            }
        }
        all
    }
}
