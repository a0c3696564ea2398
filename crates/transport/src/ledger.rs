//! What a server's processes have granted, and to whom: in memory that the process shares with those that it forks.
//!
//! A server may accept in one process and go on in another, so what counts is which process has a connection now, not which
//! accepted it. A process that forks leaves its connections to the child, should it close them itself; what a process had that
//! is gone is found when somebody looks.

use crate::{pool::Parked, stream::Counts};
use rustix::{io::Errno, process::Pid};
use slipway_fabric::sync::{
    AtomicU32, AtomicU64, Lock, Mapping,
    Ordering::{Relaxed, SeqCst},
    Shared, Zeroed,
};
use std::{io, sync::Arc};

/// What the processes of a server have in common.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Family {
    /// Held by the process that looks after the hub.
    pub lock: Lock,
    /// Held by the thread that takes a connection that it has seen.
    pub accepting: Lock,
    /// The process that opened the hub, and the one that was forked last.
    opener: AtomicU32,
    heir: AtomicU32,
    /// 1 once the server has forked: then any of its processes may accept.
    forked: AtomicU32,
    /// 1 once one of them has set an option of the listening socket that connections have from it.
    pub option_set: AtomicU32,
    /// Clients on shared memory, and the bytes of their segments; the dead among them count until somebody looks.
    clients: AtomicU32,
    bytes: AtomicU64,
    /// Connections so far.
    came: AtomicU64,
    /// Entries from here on may be free, those before it are taken.
    hint: AtomicU32,
    /// Entries that were ever used.
    highest: AtomicU32,
    /// What is in the hub's pool.
    pub parked: Parked,
}

/// A connection's entry.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Slot {
    /// 0: free.
    used: AtomicU32,
    /// The process that has the connection.
    owner: AtomicU32,
    /// The one that was forked last while it had it.
    heir: AtomicU32,
    /// The other end's process.
    pub peer: AtomicU32,
    /// Bytes of its segment; 0: it stays on its socket.
    pub bytes: AtomicU64,
    /// Bytes a direction.
    pub ring: AtomicU64,
    /// Grows from connection to connection.
    order: AtomicU64,
    /// Traffic.
    pub counts: Counts,
}

// SAFETY: atomics of integers and a lock, of which zeroes are valid ones. No peer writes there.
#[allow(unsafe_code, reason = "declares the layout fit for shared memory")]
unsafe impl Zeroed for Family {}
// SAFETY: as above.
#[allow(unsafe_code, reason = "declares the layout fit for shared memory")]
unsafe impl Zeroed for Slot {}

/// The entries of a server.
#[derive(Debug)]
pub struct Ledger {
    family: Shared<Family>,
    mapping: Arc<Mapping>,
    count: usize,
}

/// Entries beyond those of clients on shared memory.
const PLAIN: usize = 1024;

/// Most entries.
const MOST: usize = 1 << 16;

/// Whether there is such a process.
pub fn alive(process: u32) -> bool {
    let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) else { return false };
    rustix::process::test_kill_process(pid) != Err(Errno::SRCH)
}

/// This process, which forks, is in the place of one that left without a word, as daemon(3)'s parent does: else what it had would
/// end with the child.
fn take_over(process: &AtomicU32) {
    let (own, before) = (std::process::id(), process.load(SeqCst));
    if before != own && !alive(before) {
        let _ = process.compare_exchange(before, own, SeqCst, SeqCst);
    }
}

impl Ledger {
    /// For a server of so many clients.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(clients: u32) -> io::Result<Arc<Self>> {
        let count = usize::try_from(clients).unwrap_or(MOST).saturating_add(PLAIN).min(MOST);
        let size = size_of::<Family>() + count * size_of::<Slot>();
        let mapping = Mapping::of_family(size.next_multiple_of(4096))?;
        let family = mapping.view::<Family>(0).ok_or(io::ErrorKind::OutOfMemory)?;
        #[allow(unsafe_code, reason = "nobody uses the locks yet")]
        // SAFETY: the mapping was just made.
        unsafe {
            family.lock.prepare()?;
            family.accepting.prepare()?;
        }
        family.opener.store(std::process::id(), Relaxed);
        Ok(Arc::new(Self { family, mapping, count }))
    }

    /// What is of the whole server.
    pub fn family(&self) -> &Family {
        &self.family
    }

    /// Whether the server has forked.
    pub fn is_shared(&self) -> bool {
        self.family().forked.load(Relaxed) != 0
    }

    /// Whether the server ends with this process: no process that it forked goes on with the hub.
    pub fn is_over(&self) -> bool {
        let family = self.family();
        let (own, opener, heir) = (std::process::id(), family.opener.load(SeqCst), family.heir.load(SeqCst));
        if opener != own && alive(opener) {
            return false;
        }
        if heir == UNBORN {
            // It may be that no child came of it: then a file stays that nobody listens at.
            return false;
        }
        if heir != own && alive(heir) {
            family.opener.store(heir, SeqCst);
            return false;
        }
        true
    }

    /// This process forks: the server may go on in the child.
    pub fn before_fork(&self) {
        take_over(&self.family().opener);
        self.family().forked.store(1, SeqCst);
        self.family().heir.store(UNBORN, SeqCst);
    }

    /// No child came of it.
    pub fn fork_failed(&self) {
        let _ = self.family().heir.compare_exchange(UNBORN, 0, SeqCst, SeqCst);
    }

    /// This process was forked, and has the hub, too.
    pub fn inherit(&self) {
        self.family().heir.store(std::process::id(), SeqCst);
    }

    /// This process is about to become another program.
    pub fn renounce(&self) {
        let _ = self.family().heir.compare_exchange(std::process::id(), 0, SeqCst, SeqCst);
    }

    fn slot(&self, index: usize) -> Option<Shared<Slot>> {
        self.mapping.view(Self::place(index))
    }

    fn place(index: usize) -> usize {
        size_of::<Family>() + index * size_of::<Slot>()
    }

    /// An entry for a connection of the process `peer`, on its socket. None if all are taken. Called with the family's lock held.
    pub fn add(self: &Arc<Self>, peer: u32) -> Option<LedgerEntry> {
        let free = || {
            let from = self.family.hint.load(Relaxed) as usize;
            (from..self.count).filter_map(|index| Some((index, self.slot(index)?))).find(|(_, slot)| slot.used.load(SeqCst) == 0)
        };
        let (index, slot) = free().or_else(|| {
            self.live();
            free()
        })?;
        self.family.hint.store(index as u32 + 1, Relaxed);
        self.family.highest.fetch_max(index as u32 + 1, Relaxed);
        let counts = &slot.counts;
        for count in [&counts.received, &counts.sent, &counts.looked, &counts.spun, &counts.slept, &counts.rung, &counts.heard] {
            count.store(0, Relaxed);
        }
        counts.modes.store(0, Relaxed);
        slot.heir.store(0, Relaxed);
        slot.peer.store(peer, Relaxed);
        slot.ring.store(0, Relaxed);
        slot.bytes.store(0, Relaxed);
        slot.order.store(self.family.came.fetch_add(1, Relaxed), Relaxed);
        slot.owner.store(std::process::id(), SeqCst);
        slot.used.store(1, SeqCst);
        let counts = self.mapping.view(Self::place(index) + std::mem::offset_of!(Slot, counts))?;
        Some(LedgerEntry { slot, counts, index, ledger: Arc::clone(self) })
    }

    /// The entries of connections that a living process has, in the order in which they came. Called with the family's lock held.
    pub fn live(&self) -> Vec<(usize, Shared<Slot>)> {
        let mut found = Vec::new();
        for index in 0..self.family.highest.load(Relaxed) as usize {
            let Some(slot) = self.slot(index).filter(|slot| slot.used.load(SeqCst) != 0) else { continue };
            let heir = slot.heir.load(SeqCst);
            if alive(slot.owner.load(SeqCst)) {
                found.push((index, slot));
            } else if alive(heir) {
                slot.owner.store(heir, SeqCst);
                found.push((index, slot));
            } else {
                self.free(index, &slot);
            }
        }
        found.sort_by_key(|(_, slot)| slot.order.load(Relaxed));
        found
    }

    fn free(&self, index: usize, slot: &Slot) {
        let bytes = slot.bytes.load(Relaxed);
        if slot.used.swap(0, SeqCst) != 0 {
            self.family.hint.fetch_min(index as u32, Relaxed);
            if bytes != 0 {
                self.family.clients.fetch_sub(1, Relaxed);
                self.family.bytes.fetch_sub(bytes, Relaxed);
            }
        }
    }

    /// Clients on shared memory, and the bytes of their segments; some of them may be gone.
    pub fn granted(&self) -> (u32, u64) {
        (self.family.clients.load(Relaxed), self.family.bytes.load(Relaxed))
    }
}

/// A connection's entry, which its process has; given up when dropped.
#[derive(Debug)]
pub struct LedgerEntry {
    slot: Shared<Slot>,
    counts: Shared<Counts>,
    index: usize,
    ledger: Arc<Ledger>,
}

impl LedgerEntry {
    /// Its content.
    pub fn slot(&self) -> &Slot {
        &self.slot
    }

    /// The server's entries.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The connection has got a segment of so many bytes, with rings of `ring`. Called with the family's lock held.
    pub fn charge(&self, ring: u64, bytes: u64) {
        self.slot.ring.store(ring, Relaxed);
        self.slot.bytes.store(bytes, Relaxed);
        self.ledger.family.clients.fetch_add(1, Relaxed);
        self.ledger.family.bytes.fetch_add(bytes, Relaxed);
    }

    /// Its counts.
    pub fn counts(&self) -> Shared<Counts> {
        self.counts.clone()
    }

    /// Its number.
    pub fn index(&self) -> usize {
        self.index
    }

    /// This process was forked, and has the connection, too.
    pub fn inherit(&self) {
        let own = std::process::id();
        self.slot.heir.store(own, SeqCst);
        // The parent may have closed it meanwhile.
        let _ = self.slot.owner.compare_exchange(0, own, SeqCst, SeqCst);
    }

    /// This process is about to become another program.
    pub fn renounce(&self) {
        let _ = self.slot.heir.compare_exchange(std::process::id(), 0, SeqCst, SeqCst);
    }

    /// This process forks: the connection may go on in the child.
    pub fn before_fork(&self) {
        take_over(&self.slot.owner);
        self.slot.heir.store(UNBORN, SeqCst);
    }

    /// No child came of it.
    pub fn fork_failed(&self) {
        let _ = self.slot.heir.compare_exchange(UNBORN, 0, SeqCst, SeqCst);
    }
}

/// In place of a child's number, until the child has said it.
const UNBORN: u32 = u32::MAX;

impl Drop for LedgerEntry {
    fn drop(&mut self) {
        let own = std::process::id();
        if self.slot.heir.compare_exchange(own, 0, SeqCst, SeqCst).is_ok() && self.slot.owner.load(SeqCst) != own {
            return;
        }
        if self.slot.owner.load(SeqCst) != own {
            return;
        }
        match self.slot.heir.load(SeqCst) {
            UNBORN => self.slot.owner.store(0, SeqCst),
            heir if alive(heir) => self.slot.owner.store(heir, SeqCst),
            _ => self.ledger.free(self.index, &self.slot),
        }
    }
}
