//! One line: a segment with two rings between this process and another, and the slots and tokens that
//! each end may send to.
//!
//! A *slot* stands for a port of one end; the other may send any number of messages to it. A *token* stands
//! for a send-once right. Both are numbers in a table of the end that owns the port, checked there.

pub mod awaited;
pub mod ends;
pub mod outbox;
pub mod parts;
pub mod remembered;
mod slots;
pub mod table;
pub mod token;

use crate::{
    abi,
    account::{self, Account, Charge},
    objects::{self, Arrived},
    state::{PortId, RemoteSendOnce},
    wire,
};
use ends::KeptEnds;
use parts::{Awaited, Kept, Pending};
pub use parts::{GONE, InSlot, NO_SLOT, OutFd, OutSlot, Peer, Stall, Token, Unread, is_promised};
use remembered::Remembered;
use rustix::io::Errno;
use slipway_fabric::{
    Corrupt,
    credit::{Credit, Refused, SLOTS, TABLE},
    descriptor::Reserved,
    ring::{Ring, RxCursor, TxCursor},
    segment::Segment,
    spin::{SpinHistory, SpinStrategy, processor},
};
use std::{collections::VecDeque, io, os::fd::AsFd, sync::Arc};

/// Bytes of a ring, each way. What is larger and goes in parts has two processes on one processor change places each time that it is full; most of it
/// has memory only once something large has come.
pub const RING: usize = 512 << 10;

/// What is larger than this goes in a memory file instead of the ring, in bytes.
pub const INLINE: usize = 64 << 10;

/// Send-once rights of the other end that may be here at a time. More arrive dead, and are dropped at once.
pub const HELD: usize = 1 << 16;

/// Records that may wait for room. A line whose other end leaves more unread is ended.
pub const BACKLOG: usize = HELD + 4 * SLOTS;

/// Most records that may wait for room when an answer joins them. The other task decides how many it leaves unread; this one stores
/// them: [`INLINE`] bytes of each at most.
const ANSWERS: usize = 1024;

/// What is taken of a line in one go beside what its ring holds, in bytes of memory files: then others have the lock.
pub const QUANTUM: usize = 1 << 20;

/// What a descriptor counts for in a [`QUANTUM`]: about what it takes to receive and close it.
const FD_COST: usize = 4096;

/// Bells that are taken off a socket in one go.
const BELLS: usize = 64;
/// What the bell says instead of 1 when the line is not taken for want of resources.
pub const REFUSED: u8 = 2;

/// One line.
#[derive(Debug)]
pub struct Line {
    /// The shared memory.
    pub segment: Segment,
    /// What the ends tell each other about slots.
    pub credit: Credit,
    /// The writing position.
    pub tx: TxCursor,
    /// How far can be written without a look at the ring: see [`Ring::known_free`].
    known_free: u64,
    /// Where a record of this end's begins, at or before the one that the other end reads next. From there on nothing is written over.
    pub(super) passed: u64,
    /// The file of the ring that this end writes, until the other end is sent it.
    pub area: Option<OutFd>,
    /// As long as the file of the other ring has not come to the line's maker: a descriptor whose place that can take. A process that has used up
    /// its descriptors since hears of what is sent to it.
    pub spare: Option<Reserved>,
    /// The reading position.
    pub rx: RxCursor,
    /// Bells, and the news of the other end's death.
    pub bell: Reserved,
    /// Descriptors travel here.
    pub fd_socket: Reserved,
    /// Whether this end made the line.
    pub maker: bool,
    /// What is held for the other end.
    pub account: Arc<Account>,
    /// The descriptors that are kept here until the other end takes them.
    pub out: Arc<Account>,
    /// The line's own descriptors, if the other end made it.
    pub charge: Option<Charge>,
    /// Ports of this end.
    pub ins: Vec<Option<InSlot>>,
    /// The slots of ports of this end that are open.
    pub slot_of: rustc_hash::FxHashMap<PortId, u32>,
    /// Ports of the other end.
    pub outs: Vec<Option<OutSlot>>,
    /// The ends that slots of this end keep, from the death of their port on.
    pub in_ends: KeptEnds,
    /// The ends that this end keeps of slots of the other end.
    pub out_ends: KeptEnds,
    /// The next slot that this end offers.
    offered: u32,
    /// Slots that this end offered for ports that died, and may offer again.
    reoffers: Vec<u32>,
    /// The next slot that this end promises.
    promised: u32,
    /// Slots that this end promised for ports that died: it may name them again once the other end has reset them.
    repromises: VecDeque<u32>,
    /// A message was lost that may have named slots.
    pub lost_promises: bool,
    /// Send-once rights to ports of this end.
    pub tokens: slab::Slab<Token>,
    /// Send-once rights to ports of the other end, by its token.
    pub held: rustc_hash::FxHashMap<u32, RemoteSendOnce>,
    /// Messages over a limit whose senders are told when they are received.
    pub awaited: Vec<Awaited>,
    /// Descriptors of records that were written and may have to be taken back.
    pub kept: VecDeque<Kept>,
    /// What is left in the socket for descriptors, in its order.
    pub unread: VecDeque<Unread>,
    /// Rights to third parties' ports that go over the line without their ends.
    pub remembered: Remembered,
    /// Records that found no room.
    pub backlog: VecDeque<Pending>,
    /// What was taken of the line in this go, beside what lay in the ring: see [`QUANTUM`].
    pub spent: usize,
    /// Counts the records that need not be read at once, to [`Line::post_quietly`]'s limit.
    pub(super) quiet: u32,
    /// Whether spinning on it is worth it.
    pub spins: SpinHistory,
    /// The process at the other end.
    pub peer: Peer,
    /// Whether the line broke, or the other end is gone: nothing more can be written.
    pub ended: bool,
    /// Slots of ports that moved while something lay in the ring, and these ports, to which a send right is kept for each.
    pub left: Vec<(u32, PortId)>,
    /// Whether what the other end had sent was taken when the line ended.
    pub drained: bool,
    /// Whether nothing but send-once rights and what the other end holds keeps it.
    pub lapsed: bool,
    /// How far its end of the ring had come when the maker said that it needs the line no more.
    pub said_bye: Option<u64>,
    /// At the other end: the maker said so, and has no answer yet.
    pub heard_bye: bool,
    /// Whether it was answered that the line may end.
    pub leaves: bool,
    /// The identity of the bell at the end that did not make the line.
    pub client_bell: u64,
    /// The identity of the sending end that it was made through.
    pub through: u64,
    /// The front record has to stay until the other end has rung.
    pub blocked: bool,
    /// Whether the other end has no resources for the line.
    pub refused: bool,
}

/// Takes so many descriptors off a socket, which are held on an account. They come in as few packets as can be, each of which
/// says how many it has: the number of packets to be taken is the caller's, not one that the other end goes on choosing. None if that is
/// not what lies there.
pub fn receive_batch(socket: &Reserved, account: &Arc<Account>, n: usize) -> Option<Vec<Arrived>> {
    let mut fds = Vec::new();
    while fds.len() < n {
        let (mut count, after) = ([0; 1], n.min(fds.len() + objects::FD_BATCH));
        let packet = account::receive_held(socket.as_fd(), &mut count, &mut fds, |_| Arc::clone(account)).ok()?;
        if packet.0 != 1 || fds.len() > after || usize::from(count[0]) != (after - 1) % objects::FD_BATCH + 1 {
            return None;
        }
        // Those that found no place are the last of a packet.
        fds.resize_with(after, || None);
    }
    Some(fds)
}

impl Line {
    /// A line over a segment and its sockets.
    pub fn new(
        segment: Segment,
        bell: Reserved,
        fd_socket: Reserved,
        maker: bool,
        [account, out]: [Arc<Account>; 2],
    ) -> io::Result<Self> {
        let (ours, theirs) = segment.tables(TABLE).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self {
            segment,
            credit: Credit::new(ours, theirs),
            tx: TxCursor::default(),
            known_free: 0,
            passed: 0,
            area: None,
            spare: None,
            rx: RxCursor::default(),
            bell,
            fd_socket,
            maker,
            account,
            out,
            charge: None,
            ins: Vec::new(),
            slot_of: rustc_hash::FxHashMap::default(),
            outs: Vec::new(),
            in_ends: KeptEnds::default(),
            out_ends: KeptEnds::default(),
            offered: parts::FIRST_OFFERED,
            reoffers: Vec::new(),
            promised: parts::FIRST_PROMISED,
            repromises: VecDeque::new(),
            lost_promises: false,
            tokens: slab::Slab::new(),
            held: rustc_hash::FxHashMap::default(),
            awaited: Vec::new(),
            kept: VecDeque::new(),
            unread: VecDeque::new(),
            remembered: Remembered::default(),
            backlog: VecDeque::new(),
            spent: 0,
            quiet: 0,
            spins: SpinHistory::hopeful(),
            peer: Peer::default(),
            ended: false,
            drained: false,
            lapsed: false,
            said_bye: None,
            heard_bye: false,
            leaves: false,
            client_bell: 0,
            through: 0,
            left: Vec::new(),
            blocked: false,
            refused: false,
        })
    }

    /// Whether messages to the other end's slot are still to be received.
    pub fn is_unreceived(&self, slot: u32) -> bool {
        let out = self.outs.get(slot as usize).and_then(Option::as_ref).filter(|out| !out.closed);
        out.is_some_and(|out| self.credit.untaken(slot, &out.count) != 0)
    }

    /// Whether messages to any slot of the other end are still to be received: they count for a queue's limit as long as
    /// the line lasts. If so the bell tells when they have been.
    pub fn waits_for_receivers(&self) -> bool {
        let any = || (0..self.outs.len() as u32).any(|slot| self.is_unreceived(slot));
        if !any() {
            return false;
        }
        self.segment.tx.arm_writer();
        any()
    }

    /// Whether a message can be sent to the other end's slot: `Err(Queue)` if its queue is full.
    pub fn credit(&mut self, slot: u32) -> Result<(), Stall> {
        self.credited(slot).map(drop)
    }

    /// The slot of the other end, if a message can be sent to it. The sender of one counts it.
    #[inline(always)]
    pub fn credited(&mut self, slot: u32) -> Result<&mut OutSlot, Stall> {
        let Some(Some(out)) = self.outs.get_mut(slot as usize) else { return Err(Stall::Broken) };
        match self.credit.check(slot, &mut out.count, abi::QLIMIT_DEFAULT) {
            Ok(()) => Ok(out),
            Err(Refused::Full) => Err(Stall::Queue),
            Err(Refused::Closed) => Err(Stall::Broken),
        }
    }

    /// Whether a record of `len` bytes fits now, and `fds` descriptors on the socket.
    #[inline(always)]
    pub fn check_space(&mut self, len: usize, fds: usize) -> Result<(), Stall> {
        if self.ended {
            return Err(Stall::Broken);
        }
        if !self.backlog.is_empty() {
            self.flush()?;
            if !self.backlog.is_empty() {
                return Err(Stall::Ring);
            }
        }
        if !self.fits(len)? {
            return Err(Stall::Ring);
        }
        // Where the other end has taken all that went before, the socket has free space.
        let has_room = |line: &mut Self| line.may_keep(fds) && (line.kept.is_empty() || objects::writable(&line.fd_socket));
        if fds > 0 && !has_room(self) { Err(Stall::Ring) } else { Ok(()) }
    }

    /// Whether so many more descriptors may wait for the other end. If not the bell tells when it has taken some.
    fn may_keep(&mut self, fds: usize) -> bool {
        if self.out.take(fds, 0).is_some() {
            return true;
        }
        self.release_kept_or(|_| true);
        (self.kept.is_empty() && self.backlog.is_empty()) || self.out.take(fds, 0).is_some()
    }

    /// Whether `len` bytes fit into the ring now. `Err(Short)` if they don't although it is empty: the system has no
    /// memory for more of it, and the reader can free none.
    #[inline(always)]
    pub(super) fn fits(&mut self, len: usize) -> Result<bool, Stall> {
        if self.tx.tail + len as u64 <= self.known_free { Ok(true) } else { self.fits_now(len) }
    }

    /// As [`Line::fits`], where that is not known.
    #[inline(never)]
    fn fits_now(&mut self, len: usize) -> Result<bool, Stall> {
        if !self.send_area()? {
            return Ok(false);
        }
        let free = self.segment.tx.free(&mut self.tx, len)?;
        self.pass_taken()?;
        self.known_free = self.segment.tx.known_free(&self.tx);
        if free >= len {
            return Ok(true);
        }
        if self.tx.is_empty() { Err(Stall::Short) } else { Ok(false) }
    }

    /// As [`Line::check_space`], for a message to a token: in Mach it waits for nothing, and if it did, two tasks could wait for
    /// each other for ever, one with a line full of answers that it has yet to take, the other with one of requests.
    pub fn check_space_for_answer(&mut self, len: usize, fds: usize) -> Result<(), Stall> {
        match self.check_space(len, fds) {
            Err(Stall::Ring) if self.backlog.len() < ANSWERS && self.may_keep(fds) => Ok(()),
            other => other,
        }
    }

    /// Writes a record without items or descriptors, which [fits](Line::check_space), and makes it visible. Behind the body come as many zeroes as it is
    /// to be filled up with: none, or 4.
    #[inline(always)]
    pub fn write_plain(&mut self, record: &wire::Record, body: &[u8], filling: usize) -> Result<(), Corrupt> {
        self.segment.tx.fill_headed(&mut self.tx, record.words(), &[], body, filling)?;
        self.publish();
        Ok(())
    }

    /// As [`Line::write_plain`], of words and bytes behind them. The reader is not woken.
    #[inline(always)]
    pub fn write_behind(&mut self, record: &wire::Record, words: &[u64], bytes: &[u8], filling: usize) -> Result<(), Corrupt> {
        self.segment.tx.fill_headed(&mut self.tx, record.words(), words, bytes, filling)?;
        self.segment.tx.publish(&self.tx);
        Ok(())
    }

    #[inline(always)]
    pub(super) fn publish(&mut self) {
        self.segment.tx.publish(&self.tx);
        self.wake_reader();
    }

    /// Wakes a reader that sleeps.
    #[inline(always)]
    pub fn wake_reader(&self) {
        if self.segment.tx.wake_reader() {
            self.ring_bell();
        }
    }

    /// Wakes the other end's watcher.
    #[cold]
    pub fn ring_bell(&self) {
        // A full socket is full of bells.
        let _ = objects::send(self.bell.as_fd(), &[&[1]], &[]);
    }

    /// Whether the other end was last seen on the processor of this thread, or not yet.
    pub fn shares_processor(&self) -> bool {
        self.segment.strategy(processor()) != SpinStrategy::Spin
    }

    /// The record at the front of the ring, if there is one: checked to lie there whole.
    #[inline(always)]
    pub fn front(&mut self) -> Result<Option<wire::Record>, Corrupt> {
        let available = self.segment.rx.available(&mut self.rx)?;
        if available == 0 {
            return Ok(None);
        }
        if available < wire::RECORD {
            return Err(Corrupt { what: "record" });
        }
        let record = wire::Record::from_words(self.segment.rx.peek_words(&self.rx));
        let len = wire::RECORD as u64 + u64::from(record.body) + u64::from(record.items);
        if len > available as u64 || !record.body.is_multiple_of(8) || !record.items.is_multiple_of(8) {
            return Err(Corrupt { what: "record length" });
        }
        Ok(Some(record))
    }

    /// Copies out what follows the front record's head, from `skip` on.
    #[inline(always)]
    pub fn copy_out(&self, skip: usize, to: &mut [u8]) {
        self.segment.rx.peek(&self.rx, (wire::RECORD + skip) as u64, to);
    }

    /// The position that a waiter compares the other end's with: what it can't take yet is no news to it.
    pub fn looked_at(&self) -> u64 {
        if self.blocked { self.segment.rx.tail_mark() } else { self.rx.head }
    }

    /// Consumes the front record.
    #[inline(always)]
    pub fn consume(&mut self, record: &wire::Record) {
        let len = wire::RECORD + record.body as usize + record.items as usize;
        self.segment.rx.release(&mut self.rx, len);
        if self.segment.rx.wake_writer_for_room(&self.rx) {
            self.ring_bell();
        }
    }

    /// So many descriptors may be taken in this go, beside those of records.
    pub fn spend_on(&mut self, descriptors: usize) {
        self.spent += descriptors * FD_COST;
    }

    /// Takes `n` descriptors that belong to the front record; None if they have not all come.
    #[inline]
    pub fn take_fds(&mut self, n: usize) -> Option<Vec<Arrived>> {
        if n == 0 { Some(Vec::new()) } else { self.take_some_fds(n) }
    }

    fn take_some_fds(&mut self, n: usize) -> Option<Vec<Arrived>> {
        self.spend_on(n);
        receive_batch(&self.fd_socket, &self.account, n)
    }

    /// Takes the first of the packets that are [left in the socket](Self::unread). The descriptors are None if they are not what was
    /// to lie there; those of a packet that was given up are closed.
    pub fn take_unread(&mut self) -> Option<Option<Vec<Arrived>>> {
        let Unread { bundle, fds } = self.unread.pop_front()?;
        Some(match bundle {
            Some(_) => receive_batch(&self.fd_socket, &self.account, fds),
            None => objects::discard(self.fd_socket.as_fd(), fds).then(Vec::new),
        })
    }

    /// Takes bells off the socket, if there are many only some of them; false if the other end is gone.
    pub fn drain_bells(&mut self) -> bool {
        for _ in 0..BELLS {
            let mut bytes = [0; 8];
            let mut fds = Vec::new();
            match account::receive_held(self.bell.as_fd(), &mut bytes, &mut fds, |_| Arc::clone(&self.account)) {
                Ok((0, _)) => return false,
                // A bell brings nothing.
                Ok(_) if !fds.is_empty() => return false,
                Ok(_) => self.refused |= bytes[0] == REFUSED,
                Err(Errno::WOULDBLOCK) => return true,
                // It was closed with bells of ours unread; what it said before comes next.
                Err(Errno::CONNRESET) => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// A mark of how far the other end has come with the ring and the slot's messages ([`NO_SLOT`]: the ring alone).
    pub fn consumption_of(ring: &Ring, credit: &Credit, slot: u32) -> (u64, u64) {
        (ring.head_mark(), credit.mark(slot))
    }

    /// Whether nobody at this end needs the line: no right over it, either way.
    pub fn is_idle(&self) -> bool {
        self.tokens.is_empty()
            && self.held.is_empty()
            && self.backlog.is_empty()
            // Those to a port that moved are counted elsewhere.
            && !self.ins.iter().flatten().any(|it| it.given > 0 && (!it.closed || it.dead))
    }
}
