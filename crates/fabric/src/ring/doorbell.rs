//! Which of an end's two bells its flag asks for: the line's socket, which all that wait for the line hear, or the doorbell, which
//! the end's epoll sets hear alone.

use super::{DOORBELL, Ring, SLEEPS};
use crate::sync::{AtomicU32, Ordering, full_fence};

/// A bell to be rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bell {
    /// A message on the line's socket.
    Line,
    /// The doorbell; the line's socket will do.
    Door,
}

impl Ring {
    /// As [`Ring::arm_reader`], for an epoll set that hears the doorbell (R15). A flag that is up for one that sleeps on the line's socket
    /// stays: the set hears that, too.
    pub fn arm_reader_at_door(&self) {
        raise(&self.control.reader.waits);
        full_fence(); // as R3
    }

    /// As [`Ring::arm_writer`], likewise.
    pub fn arm_writer_at_door(&self) {
        raise(&self.control.writer.waits);
        full_fence(); // as W7
    }

    /// Asks the writer's end for a doorbell.
    pub fn ask_door(&self) {
        self.control.reader.asks_door.store(1, Ordering::Relaxed);
    }

    /// Whether the reader's end has asked for a doorbell.
    pub fn is_door_asked(&self) -> bool {
        self.control.reader.asks_door.load(Ordering::Relaxed) != 0
    }
}

/// One change, whatever the flag is: as in R3, its place after what lowered the flag is certain.
fn raise(waits: &AtomicU32) {
    let raised = |flag| Some(if flag == SLEEPS { SLEEPS } else { DOORBELL });
    let _ = waits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, raised);
}

/// Lowers the flag: the bell that it asked for.
pub(super) fn lower(waits: &AtomicU32) -> Option<Bell> {
    match waits.swap(0, Ordering::Relaxed) {
        0 => None,
        DOORBELL => Some(Bell::Door),
        _ => Some(Bell::Line),
    }
}
