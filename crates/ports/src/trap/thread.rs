//! What a thread keeps: the task that it works for, the ports that it has lately called, the calls that it is in.
#![allow(unsafe_code, reason = "calls on the thread's stack, and gates that are kept beside their owners, by pointer")]

use super::frame::Frame;
use crate::{
    lock::Process,
    state::{
        SpaceId,
        gate::{self, Entry, Gate, Table},
    },
};
use slipway_fabric::{epoch, sync::AtomicU64, turn::Turn};
use std::{
    cell::{Cell, RefCell},
    ffi::c_void,
    ptr::{null, null_mut, with_exposed_provenance_mut},
    sync::Arc,
};

/// Ports that a thread keeps.
const SLOTS: usize = 8;
/// The process's first task, for which a thread works by default.
pub(crate) const FIRST: u32 = !0;

/// A thread's part in calls.
pub(super) struct Thread {
    /// The space of the task that it works for.
    pub space: Cell<u32>,
    /// The innermost call that it is in.
    pub frame: Cell<*const Frame>,
    slots: [Slot; SLOTS],
}

/// A port that was called, or found to have no routines here. The pointers are good as long as the [`Owners`]' place of
/// the same number is left alone.
#[repr(align(64))]
pub(super) struct Slot {
    pub epoch: Cell<u64>,
    pub name: Cell<u32>,
    /// The space of `name`.
    pub space: Cell<u32>,
    pub base: Cell<i32>,
    pub count: Cell<u32>,
    pub entries: Cell<*const Entry>,
    pub context: Cell<*mut c_void>,
    /// Null if the port is to be sent to.
    pub turn: Cell<*const Turn>,
    pub calls: Cell<*const AtomicU64>,
    pub server: Cell<u32>,
    /// The port's name in the server's space.
    pub request: Cell<u32>,
}

impl Slot {
    const fn new() -> Self {
        Self {
            epoch: Cell::new(epoch::NEVER),
            name: Cell::new(0),
            space: Cell::new(0),
            base: Cell::new(0),
            count: Cell::new(0),
            entries: Cell::new(null()),
            context: Cell::new(null_mut()),
            turn: Cell::new(null()),
            calls: Cell::new(null()),
            server: Cell::new(0),
            request: Cell::new(0),
        }
    }
}

/// What keeps the slots' pointers good.
#[derive(Default)]
struct Owners {
    links: [Option<(Arc<Gate>, Arc<AtomicU64>)>; SLOTS],
}

impl Drop for Owners {
    fn drop(&mut self) {
        THREAD.with(|thread| thread.slots.iter().for_each(|slot| slot.epoch.set(epoch::NEVER)));
        let links = std::mem::take(&mut self.links);
        if links.iter().any(Option::is_some)
            && let Some(process) = Process::made()
        {
            let _guard = process.lock();
            links.into_iter().flatten().for_each(|(gate, place)| gate.tally.part(&place));
        }
    }
}

impl Slot {
    fn show(&self, table: &Table) {
        self.base.set(table.base);
        self.count.set(table.entries.len() as u32);
        self.entries.set(table.entries.as_ptr());
        self.context.set(with_exposed_provenance_mut(table.context));
    }
}

thread_local! {
    static THREAD: Thread = const {
        Thread { space: Cell::new(FIRST), frame: Cell::new(null()), slots: [const { Slot::new() }; SLOTS] }
    };
    static OWNERS: RefCell<Owners> = RefCell::default();
}

/// The calling thread's part, which is there until the thread is gone.
#[inline]
pub(super) fn here() -> *const Thread {
    THREAD.with(std::ptr::from_ref)
}

/// Lends the calling thread's part.
pub(super) fn with<T>(run: impl FnOnce(&Thread) -> T) -> T {
    THREAD.with(run)
}

/// The space of the task that the calling thread works for, if that is not the process's first.
#[inline]
pub(crate) fn current() -> Option<SpaceId> {
    THREAD.with(|thread| Some(thread.space.get()).filter(|space| *space != FIRST).map(SpaceId))
}

/// What [`current`] tells, as a number.
#[inline]
pub(crate) fn current_number() -> u32 {
    THREAD.with(|thread| thread.space.get())
}

/// Has the calling thread work for the task with the space.
pub(crate) fn set_current(space: SpaceId) {
    THREAD.with(|thread| thread.space.set(space.0));
}

/// Runs something for the process's first task: a thread that the library makes works for no other.
pub(crate) fn for_first<T>(run: impl FnOnce() -> T) -> T {
    let before = THREAD.with(|thread| thread.space.replace(FIRST));
    let result = run();
    THREAD.with(|thread| thread.space.set(before));
    result
}

/// Calls in a turn that the calling thread itself is in.
pub(crate) fn calls_in(turn: *const Turn) -> u32 {
    THREAD.with(|thread| thread.frames().filter(|frame| std::ptr::eq(frame.turn, turn)).count() as u32)
}

/// In a forked child: the calling thread works for the child's own task, and comes back to it from calls that it is in.
pub(crate) fn leave_all() {
    gate::EPOCH.advance();
    THREAD.with(|thread| {
        thread.space.set(FIRST);
        thread.frames().for_each(|frame| frame.space.set(FIRST));
    });
}

impl Thread {
    /// The place for a port.
    #[inline]
    pub fn slot(&self, name: u32) -> &Slot {
        &self.slots[at(name)]
    }

    /// The calls that the thread is in, the innermost first.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        let mut at = self.frame.get();
        std::iter::from_fn(move || {
            // SAFETY: a frame is taken off the list before its call returns, and lies still until then. The thread is
            // the only one that does that, and it is here.
            let frame = unsafe { at.as_ref() }?;
            at = frame.outer;
            Some(frame)
        })
    }

    /// Looks a port up, and keeps what was found at its slot. False if nothing can be kept.
    #[cold]
    #[inline(never)]
    pub fn look_up(&self, name: u32, id: i32) -> bool {
        let at = at(name);
        let Some(process) = Process::made() else { return false };
        let space = match self.space.get() {
            FIRST => process.first_space(),
            space => SpaceId(space),
        };
        let slot = &self.slots[at];
        let look = |owners: &RefCell<Owners>| {
            let guard = process.lock();
            let link = &mut owners.borrow_mut().links[at];
            slot.epoch.set(epoch::NEVER);
            if let Some((gate, place)) = link.take() {
                gate.tally.part(&place);
            }
            slot.turn.set(null());
            let Some(gate) = guard.state.gate_of(space, name) else { return true };
            let Some(table) = gate.tables.iter().find(|table| table.has(id)).or(gate.tables.first()) else { return true };
            let place = gate.tally.join();
            slot.show(table);
            slot.calls.set(Arc::as_ptr(&place));
            slot.server.set(gate.space.0);
            slot.request.set(gate.name);
            slot.turn.set(Arc::as_ptr(&gate.turn));
            *link = Some((gate, place));
            true
        };
        let (kept, epoch) = gate::EPOCH.look(|| OWNERS.try_with(look));
        if kept != Ok(true) {
            return false;
        }
        slot.name.set(name);
        slot.space.set(self.space.get());
        slot.epoch.set(epoch);
        true
    }
}

/// The number of a port's slot.
#[inline]
fn at(name: u32) -> usize {
    (name >> 8) as usize % SLOTS
}

impl Thread {
    /// The port has several tables: has its slot show the one for the identifier. False if there is none.
    #[cold]
    #[inline(never)]
    pub fn turn_over(&self, name: u32, id: i32) -> bool {
        let at = at(name);
        let turned = OWNERS.try_with(|owners| {
            let owners = owners.borrow();
            let Some((gate, _)) = &owners.links[at] else { return false };
            let Some(table) = gate.tables.iter().find(|table| table.has(id)) else { return false };
            self.slots[at].show(table);
            true
        });
        turned == Ok(true)
    }
}
