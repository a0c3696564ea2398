//! What one end of a connection remembers, shared with the children it forks and with nobody else.
//!
//! Fork gives a child the connection as it gives it a socket: both may go on using it. So the
//! cursors, modes and locks of an end lie in a mapping of the family's own, out of the peer's reach.

use slipway_fabric::{
    ring::{RxCursor, TxCursor},
    sleepers::Sleepers,
    sync::{
        AtomicU32, AtomicU64, Lock, Mapping,
        Ordering::{Relaxed, Release},
        Padded, Shared, Zeroed, fence,
    },
};
use std::{
    io,
    sync::{Arc, Mutex},
};

/// Where a direction of the stream is now.
pub mod mode {
    /// On the socket; the ring, if there is one, comes later.
    pub const BEFORE: u32 = 0;
    /// In the ring.
    pub const RING: u32 = 1;
    /// Back on the socket, for good.
    pub const AFTER: u32 = 2;
    /// Sending only: bytes taken back from the ring are on their way over the socket.
    pub const RETURNING: u32 = 3;
    /// In messages between ports, from the beginning to the end.
    pub const PORTS: u32 = 4;
}

/// How far the two ends have got to know each other.
pub mod phase {
    /// There is no line yet: the client offers, and the server looks for that, once the connection has been used enough.
    pub const QUIET: u32 = 4;
    /// A client's offer is out; no answer yet.
    pub const OFFERED: u32 = 0;
    /// A server has the offer and has not answered: there will be a segment if the connection is used enough.
    pub const HEARD: u32 = 3;
    /// There is a segment.
    pub const GRANTED: u32 = 1;
    /// There is none and will be none.
    pub const PLAIN: u32 = 2;
}

/// The state of one end. All of it is guarded by the lock of its part, or a hint or a count.
#[derive(Debug, Default)]
#[repr(C)]
pub struct EndState {
    pub rx: Padded<RxState>,
    pub tx: Padded<TxState>,
    pub common: Padded<Common>,
    /// Of a client; a server's are in its ledger.
    pub counts: Padded<Counts>,
}

// SAFETY: atomics of integers, and locks, of which zeroes are valid ones and whose functions access them atomically. No peer
// writes there.
#[allow(unsafe_code, reason = "declares the layout fit for shared memory")]
unsafe impl Zeroed for EndState {}

// SAFETY: as above.
#[allow(unsafe_code, reason = "declares the layout fit for shared memory")]
unsafe impl Zeroed for Counts {}

impl EndState {
    /// Makes the locks good for several processes.
    ///
    /// # Errors
    /// As pthread_mutex_init(3).
    ///
    /// # Safety
    /// It lies in memory of the family that nobody else uses yet.
    #[allow(unsafe_code, reason = "nobody uses the locks yet")]
    pub unsafe fn prepare(&self) -> std::io::Result<()> {
        // SAFETY: the caller's promise, for all of it.
        unsafe {
            self.rx.lock.prepare()?;
            self.tx.lock.prepare()?;
            self.common.sleepers.prepare()
        }
    }
}

/// From one end to the next in memory that they share: no power of two, so that the same words of many ends are not all in the same few lines of
/// a processor's cache.
const STRIDE: usize = ((size_of::<EndState>() / 128) | 1) * 128;

/// Bytes of a mapping for ends.
const TOGETHER: usize = 16 * 1024;

/// The mapping in which this process's next ends come to lie.
struct Latest {
    process: u32,
    mapping: Arc<Mapping>,
    given: usize,
}

impl Latest {
    fn view(&self, index: usize) -> Option<Shared<EndState>> {
        self.mapping.view(index * STRIDE)
    }

    /// Makes all of it free again, if none of the ends that lie there is left here, and no child was forked with one.
    fn renew(&mut self) -> bool {
        let is_forked = |end: Shared<EndState>| end.common.forked.load(Relaxed) != 0;
        let unforked = !(0..self.given).filter_map(|index| self.view(index)).any(is_forked);
        let renewed = unforked && self.mapping.renew();
        if renewed {
            self.given = 0;
        }
        renewed
    }
}

/// Memory for an [`EndState`]: a mapping, and where in it. Several ends lie in each mapping, and of connections that come one after the other the
/// next use that of those before: to make one anew costs as much as thirty system calls that only ask for something.
///
/// # Errors
/// There is none.
pub fn memory() -> io::Result<(Arc<Mapping>, usize)> {
    static LATEST: Mutex<Option<Latest>> = Mutex::new(None);
    let own = std::process::id();
    // Held by a thread that this process had before it was forked, it stays so.
    let mut latest = LATEST.try_lock().ok();
    let most = TOGETHER / STRIDE;
    // A child leaves the rest of its parent's to its parent.
    if let Some(Some(it)) = latest.as_deref_mut().filter(|it| it.as_ref().is_some_and(|it| it.process == own))
        && (it.given < most || it.renew())
    {
        it.given += 1;
        return Ok((Arc::clone(&it.mapping), (it.given - 1) * STRIDE));
    }
    let mapping = Mapping::of_family(TOGETHER)?;
    if let Some(latest) = latest.as_deref_mut() {
        *latest = Some(Latest { process: own, mapping: Arc::clone(&mapping), given: 1 });
    }
    Ok((mapping, 0))
}

/// A change in several steps, which is marked as long as it goes on. A mark that is there when the lock is free was left
/// by a holder that was killed: the stream can't go on.
#[must_use]
pub struct Change<'a> {
    unfinished: &'a AtomicU32,
    before: u32,
}

impl<'a> Change<'a> {
    pub fn begin(unfinished: &'a AtomicU32) -> Self {
        let before = unfinished.load(Relaxed);
        unfinished.store(1, Relaxed);
        fence(Release);
        Self { unfinished, before }
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        self.unfinished.store(self.before, Release);
    }
}

/// What had come of a socket's news when the kernel was asked about it: its answer says nothing of what comes later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct News {
    /// Of [`RxState::events`].
    events: u32,
    /// The writer's hint.
    hint: u32,
}

/// The receiving half.
#[derive(Debug, Default)]
#[repr(C)]
pub struct RxState {
    pub lock: Lock,
    pub mode: AtomicU32,
    /// See [`Change`].
    pub unfinished: AtomicU32,
    /// Bytes received over the socket while `BEFORE`.
    pub socket_bytes: AtomicU64,
    pub head: AtomicU64,
    base: AtomicU64,
    tail_seen: AtomicU64,
    /// Batches of descriptors taken off the line's socket so far (wraps).
    pub batches_taken: AtomicU32,
    /// The writer's hint when the socket was last looked at.
    pub hint_seen: AtomicU32,
    /// Counts what the kernel reported on the socket (wraps).
    pub events: AtomicU32,
    /// Their count before the kernel was last asked, and had nothing to say.
    pub events_seen: AtomicU32,
    /// 1: the program was told that the peer closed with our bytes unread.
    pub reset_told: AtomicU32,
    /// An errno that comes after the bytes in the ring; 0 is none.
    pub error: AtomicU32,
    /// 1: this end went back to the socket, and the peer may not know it yet.
    pub giving_back: AtomicU32,
    /// When the socket was last looked at, in nanoseconds of the monotonic clock.
    pub looked_at: AtomicU64,
    /// When an epoll set last heard the peer's bell.
    pub heard_at: AtomicU64,
}

impl RxState {
    /// What has come of the socket's news by now.
    pub fn news(&self, hint: u32) -> News {
        News { events: self.events.load(Relaxed), hint }
    }

    /// Whether nobody has looked into them yet.
    pub fn is_unseen(&self, news: News) -> bool {
        news.events != self.events_seen.load(Relaxed) || news.hint != self.hint_seen.load(Relaxed)
    }

    /// Whether the kernel told of something that nobody has looked into yet.
    pub fn is_told(&self) -> bool {
        self.events.load(Relaxed) != self.events_seen.load(Relaxed)
    }

    /// The kernel was asked after `news` had come, and had nothing to say.
    pub fn have_seen(&self, news: News) {
        self.events_seen.store(news.events, Relaxed);
        self.hint_seen.store(news.hint, Relaxed);
    }

    pub fn cursor(&self) -> RxCursor {
        RxCursor {
            head: self.head.load(Relaxed),
            base: self.base.load(Relaxed),
            tail_seen: self.tail_seen.load(Relaxed),
            last: 0,
        }
    }

    /// Keeps the cursor, before it is shown to the peer: should the holder of the lock be killed between the two, the next
    /// shows it. One store commits it.
    pub fn keep(&self, cursor: &RxCursor) {
        self.base.store(cursor.base, Relaxed);
        self.tail_seen.store(cursor.tail_seen, Relaxed);
        self.head.store(cursor.head, Release);
    }
}

/// The sending half.
#[derive(Debug, Default)]
#[repr(C)]
pub struct TxState {
    pub lock: Lock,
    pub mode: AtomicU32,
    /// See [`Change`].
    pub unfinished: AtomicU32,
    /// Bytes sent over the socket while `BEFORE`.
    pub socket_bytes: AtomicU64,
    pub tail: AtomicU64,
    base: AtomicU64,
    head_seen: AtomicU64,
    ready: AtomicU64,
    asks_at: AtomicU64,
    /// While `RETURNING`: position of the next byte to put on the socket.
    pub returning_from: AtomicU64,
    /// 1: that byte goes with descriptors that the reader has still to send back.
    pub owed: AtomicU32,
    /// 1: a send found too little space, and half of the ring has not been free since.
    pub full: AtomicU32,
    /// What the reader must have passed before there is space, after a send that found too many descriptors ahead of it.
    pub awaited: AtomicU64,
    /// Descriptors ahead of the reader, at most: sent before `ahead_from`, and since.
    pub ahead_before: AtomicU32,
    pub ahead: AtomicU32,
    pub ahead_from: AtomicU64,
    /// Counts sends that found too little space (wraps).
    pub blocked: AtomicU32,
    /// The peer's hint when it was last seen alive: the receiving half has its own.
    pub hint_seen: AtomicU32,
    /// When the peer was last seen alive, in nanoseconds of the monotonic clock.
    pub looked_at: AtomicU64,
}

impl TxState {
    pub fn cursor(&self) -> TxCursor {
        TxCursor {
            tail: self.tail.load(Relaxed),
            base: self.base.load(Relaxed),
            head_seen: self.head_seen.load(Relaxed),
            ready: self.ready.load(Relaxed),
            asks_at: self.asks_at.load(Relaxed),
        }
    }

    /// As [`RxState::keep`].
    pub fn keep(&self, cursor: &TxCursor) {
        self.base.store(cursor.base, Relaxed);
        self.head_seen.store(cursor.head_seen, Relaxed);
        self.ready.store(cursor.ready, Relaxed);
        self.asks_at.store(cursor.asks_at, Relaxed);
        self.tail.store(cursor.tail, Release);
    }

    /// A send found too little space: an edge-triggered set is to tell when there is more.
    pub fn count_blocked(&self) {
        self.blocked.store(self.blocked.load(Relaxed).wrapping_add(1), Relaxed);
    }
}

/// What belongs to both halves.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Common {
    pub phase: AtomicU32,
    /// O_NONBLOCK of the open file description, as the hooks saw it set.
    pub nonblocking: AtomicU32,
    /// SO_RCVTIMEO and SO_SNDTIMEO in microseconds, 0 for none.
    pub receive_timeout: AtomicU64,
    pub send_timeout: AtomicU64,
    /// Threads that sleep, or are about to, until this line's bell rings.
    pub sleepers: Sleepers,
    /// Those of them that wait for space.
    pub writers: AtomicU32,
    /// 1: the other end's line socket is gone.
    pub line_gone: AtomicU32,
    /// 1: the line's socket raises signals for the program, as the connection's would.
    pub signals: AtomicU32,
    /// 1: a process of the family has forked with the connection.
    pub forked: AtomicU32,
    /// 1: this end has made a doorbell for the peer. A family makes one.
    pub door_made: AtomicU32,
    /// Processes that have the connection beside the one that made it; a process that ends without closing it stays counted.
    pub heirs: AtomicU32,
}

/// Counts for `slipway sockets status`.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Counts {
    /// Bytes received.
    pub received: AtomicU64,
    /// Bytes sent.
    pub sent: AtomicU64,
    /// Waits won by looking.
    pub looked: AtomicU64,
    /// Waits won by spinning.
    pub spun: AtomicU64,
    /// Waits that slept.
    pub slept: AtomicU64,
    /// Bells rung.
    pub rung: AtomicU64,
    /// Bells heard.
    pub heard: AtomicU64,
    /// Where the stream's two directions were when something was last sent or received: [`mode`], the receiving one times 16.
    pub modes: AtomicU32,
}

impl Counts {
    /// Notes where the stream is.
    pub fn note(&self, receiving: u32, sending: u32) {
        self.modes.store(receiving * 16 + sending, Relaxed);
    }

    /// Whether a direction was in the ring then.
    pub fn on_ring(&self) -> bool {
        let modes = self.modes.load(Relaxed);
        modes / 16 == mode::RING || modes % 16 == mode::RING
    }

    /// Whether the stream goes over ports.
    pub fn over_ports(&self) -> bool {
        self.modes.load(Relaxed) / 16 == mode::PORTS
    }

    /// The numbers for a status report.
    pub fn read(&self) -> crate::status::Traffic {
        let get = |n: &AtomicU64| n.load(Relaxed);
        crate::status::Traffic {
            received: get(&self.received),
            sent: get(&self.sent),
            looked: get(&self.looked),
            spun: get(&self.spun),
            slept: get(&self.slept),
            rung: get(&self.rung),
            heard: get(&self.heard),
        }
    }
}

/// Adds to a count that may lose an update now and then when threads race: it informs, no more.
pub fn add(count: &AtomicU64, n: u64) {
    count.store(count.load(Relaxed).wrapping_add(n), Relaxed);
}
