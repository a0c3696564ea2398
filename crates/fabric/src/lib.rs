//! The fabric: shared-memory segments, byte rings, and the protocol by which a reader and a writer
//! sleep and wake each other. It knows neither Mach nor X.
//!
//! * [`sync`]: the one place that touches atomics, futexes and mappings; modelled under loom.
//! * [`segment`]: a sealed memfd with two rings, one each way.
//! * [`ring`]: a single-producer single-consumer ring of bytes between processes that distrust each other.
//! * [`credit`]: how many messages may be sent to which slot, and which are taken back when it is closed.
//! * [`sleepers`]: what sleeps on a line's bell, and what may silence it.
//! * [`epoch`]: whether what a thread keeps of something is still so.
//! * [`turn`]: whether a call may take the place of a receiver that waits.
//! * [`spin`]: how long a waiter looks before it sleeps.
//! * [`pace`]: how long a writer waits at a full ring.
//! * [`descriptor`]: the library's own descriptors, out of the program's way.
//! * [`packet`]: packets with descriptors.
//! * [`credentials`]: which process is at the other end of a socket.
//! * [`runtime`]: where this user's processes find each other.
//! * [`trust`]: which part of the environment is another user's choice.
//!
//! The layout in memory and the numbered steps that comments cite are in `docs/ring-abi.md`.

#[cfg(not(loom))]
pub mod credentials;
pub mod credit;
mod cursor;
#[cfg(not(loom))]
pub mod descriptor;
pub mod epoch;
#[cfg(not(loom))]
pub mod options;
#[cfg(not(loom))]
pub mod pace;
#[cfg(not(loom))]
pub mod packet;
pub mod ring;
#[cfg(not(loom))]
pub mod runtime;
#[cfg(not(loom))]
pub mod segment;
pub mod sleepers;
#[cfg(not(loom))]
pub mod spin;
pub mod sync;
#[cfg(not(loom))]
pub mod trust;
pub mod turn;

/// A peer wrote something into shared memory that no correct peer writes.
///
/// The line that carried it is over; nothing outside the segment was read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the peer wrote an impossible {what} into the segment")]
pub struct Corrupt {
    /// Which word of the protocol was wrong.
    pub what: &'static str,
}
