//! The words of a ring that both ends see.

use crate::sync::{AtomicU32, AtomicU64, FutexWord, Padded};

/// The words of one direction, as they lie in the segment. Each group is written by one end
/// (the `waits` flags: set by one end, cleared by either), on cache lines of its own.
#[derive(Debug, Default)]
#[repr(C)]
pub struct RingControl {
    pub(super) producer: Padded<Producer>,
    pub(super) consumer: Padded<Consumer>,
    pub(super) reader: Padded<ReaderFlags>,
    pub(super) writer: Padded<WriterFlags>,
}

#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Producer {
    /// Position after the last byte written. Paired with R1 (SYNC POINT: publish).
    pub(super) tail: AtomicU64,
    /// Position that lies at offset 0 of the area; changes only while the ring is empty.
    pub(super) base: AtomicU64,
    /// Bytes that went over the socket before the ring opened; valid once `state` is not 0.
    pub(super) start: AtomicU64,
    /// [`UNOPENED`], [`OPEN`] or [`CLOSED`].
    pub(super) state: AtomicU32,
    /// How many messages with descriptors were sent beside the ring so far (wraps).
    pub(super) attachments: AtomicU32,
    /// Counts the events on the socket that the reader should look for (wraps).
    pub(super) hint: AtomicU32,
    /// When the writer last showed bytes, by [`ticks`](crate::sync::ticks), if the reader asks for it (W14).
    pub(super) shown_at: AtomicU64,
}

#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Consumer {
    /// Position up to which the reader is done. Paired with W1 (SYNC POINT: release).
    pub(super) head: AtomicU64,
}

#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct ReaderFlags {
    /// [`SLEEPS`]: the reader sleeps, or will before it looks again. [`DOORBELL`]: likewise, in an epoll set. [`TIMED_WAIT`]: it looks
    /// again in a moment anyway. [`FUTEX_WAIT`]: it sleeps on this word.
    pub(super) waits: FutexWord,
    /// 1: the reader wants the rest of the stream on the socket (see `docs/ring-abi.md`, "Giving back").
    pub(super) gives_back: AtomicU32,
    /// 1: the reader wants a bell for each write (W12).
    pub(super) hears_all: AtomicU32,
    /// 1: the reader wants to know when bytes were shown (R14).
    pub(super) asks_time: AtomicU32,
    /// 1: the reader's end wants a doorbell (R15).
    pub(super) asks_door: AtomicU32,
}

#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct WriterFlags {
    /// [`SLEEPS`], [`DOORBELL`]: the writer sleeps until there is space. [`FUTEX_WAIT`]: it sleeps on this word. [`FUTEX_ROOM`] and more: it does until
    /// so many bytes are free.
    pub(super) waits: FutexWord,
}

// SAFETY: atomics of integers only, padded to whole cache lines.
#[cfg(not(loom))]
#[allow(unsafe_code, reason = "declares the layout fit for shared memory")]
unsafe impl crate::sync::Zeroed for RingControl {}

/// `state` of a ring whose writer has not begun to use it.
pub const UNOPENED: u32 = 0;
/// `state` of a ring in use.
pub const OPEN: u32 = 1;
/// `state` of a ring after whose `tail` the stream goes on over the socket.
pub const CLOSED: u32 = 2;

/// `waits` of an end that is to be woken by the line's socket: for the next byte, or for space.
pub const SLEEPS: u32 = 1;
/// As [`SLEEPS`], by the doorbell. More than the bytes of any ring.
pub const DOORBELL: u32 = 1 << 31;
/// `waits` of a reader that is to be woken when half of the ring is full, or when the writer's end
/// itself waits for something.
pub const TIMED_WAIT: u32 = 2;

/// `waits` of a reader or writer that sleeps on the word itself (futex(2)): no bell of another kind is needed.
pub const FUTEX_WAIT: u32 = 3;

/// The least `waits` of a writer that sleeps on the word itself, and is to be woken for free space only once there are so many bytes of it.
pub const FUTEX_ROOM: u32 = 4;
