//! What a thread keeps: the task that it works for, the ports that it has lately called, the calls that it is in.
#![allow(unsafe_code, reason = "a call on the way down the stack, and gates that are kept beside their owners, by pointer")]

use super::{
    gate::{self, Entry, Gate, Table},
    room::Room,
};
use crate::{
    io::Inner,
    process::Process,
    state::{SpaceId, space::Object},
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
/// The process's first task: what a thread works for that was not told otherwise.
pub(crate) const FIRST: u32 = !0;

/// A thread's part in calls.
pub(super) struct Thread {
    /// The space of the task that it works for.
    pub space: Cell<u32>,
    /// The innermost call that it is in.
    pub frame: Cell<*const Frame>,
    /// How many turns it holds that it got a message from.
    pub holds: Cell<u32>,
    slots: [Slot; SLOTS],
}

/// A call that the thread is in; it lies on the thread's stack.
pub(super) struct Frame {
    /// The one around it.
    pub outer: *const Frame,
    /// Where it took its turn, which lasts as long as the call is counted there.
    pub turn: *const Turn,
    /// The space of the task that the thread goes back to.
    pub space: Cell<u32>,
    /// Memory that its trap function has.
    pub rooms: Cell<*mut Room>,
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
    /// Turns that the thread got a message from, and did not come back to yet.
    held: Vec<Arc<Turn>>,
}

impl Drop for Owners {
    fn drop(&mut self) {
        THREAD.with(|thread| {
            thread.slots.iter().for_each(|slot| slot.epoch.set(epoch::NEVER));
            thread.holds.set(0);
        });
        self.held.iter().for_each(|turn| turn.finish());
        let links = std::mem::take(&mut self.links);
        if links.iter().any(Option::is_some) {
            let _guard = Process::get().lock();
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
        Thread { space: Cell::new(FIRST), frame: Cell::new(null()), holds: Cell::new(0), slots: [const { Slot::new() }; SLOTS] }
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

/// Runs something for the process's first task: a thread that the library makes is nobody else's.
pub(crate) fn for_first<T>(run: impl FnOnce() -> T) -> T {
    let before = THREAD.with(|thread| thread.space.replace(FIRST));
    let result = run();
    THREAD.with(|thread| thread.space.set(before));
    result
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
        let process = Process::get();
        let space = match self.space.get() {
            FIRST => process.first_space(),
            space => SpaceId(space),
        };
        let slot = &self.slots[at];
        let look = |owners: &RefCell<Owners>| {
            let mut guard = process.lock();
            let link = &mut owners.borrow_mut().links[at];
            slot.epoch.set(epoch::NEVER);
            if let Some((gate, place)) = link.take() {
                gate.tally.part(&place);
            }
            slot.turn.set(null());
            let Some(gate) = guard.gate_of(space, name) else { return true };
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

impl Inner {
    /// The gate of the port that a name has a send right to.
    fn gate_of(&mut self, space: SpaceId, name: u32) -> Option<Arc<Gate>> {
        let entry = self.state.spaces.get(space.0 as usize)?.get(name)?;
        let Object::Port(port) = entry.object else { return None };
        if !entry.has(crate::abi::kind::SEND) {
            return None;
        }
        let local = self.state.port(port).local()?;
        // Its server knows the port by the payload, which comes with messages.
        local.traps.as_ref().filter(|_| local.payload.is_none())?.gate.clone()
    }
}

/// Notes that the calling thread has a message from a turn, until it comes back to it.
pub(super) fn hold(turn: &Arc<Turn>) {
    let _ = OWNERS.try_with(|owners| {
        turn.begin();
        owners.borrow_mut().held.push(Arc::clone(turn));
        THREAD.with(|thread| thread.holds.set(thread.holds.get() + 1));
    });
}

/// The calling thread came back to a turn.
pub(super) fn release(turn: &Arc<Turn>) {
    if THREAD.with(|thread| thread.holds.get() == 0) {
        return;
    }
    let _ = OWNERS.try_with(|owners| {
        owners.borrow_mut().held.retain(|held| {
            let same = Arc::ptr_eq(held, turn);
            if same || held.is_closed() {
                held.finish();
                THREAD.with(|thread| thread.holds.set(thread.holds.get() - 1));
            }
            // One that is closed is not come back to.
            !same && !held.is_closed()
        });
    });
}

/// How often the calling thread holds the turn, by messages that it got from it.
pub(super) fn holds(turn: *const Turn) -> u32 {
    let count =
        |owners: &RefCell<Owners>| owners.borrow().held.iter().filter(|held| std::ptr::eq(Arc::as_ptr(held), turn)).count();
    OWNERS.try_with(count).map_or(0, |count| count as u32)
}
