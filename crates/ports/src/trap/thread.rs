//! What a thread keeps: the task that it works for, the ports that it has lately called, the calls that it is in.
#![allow(unsafe_code, reason = "calls on the thread's stack, and call entries that are kept beside their owners, by pointer")]

use super::frame::Frame;
use crate::{
    lock::Process,
    state::{
        SpaceId,
        call_entry::{self, CallEntry, Entry, Table},
    },
};
use slipway_fabric::{epoch, sync::AtomicU64, turn::Turn};
use std::{
    cell::{Cell, RefCell},
    ffi::c_void,
    ptr::{null, null_mut, with_exposed_provenance_mut},
    sync::Arc,
};

/// How many ports a thread keeps.
const CACHED: usize = 8;
/// The process's first task, for which a thread works by default.
pub(crate) const FIRST: u32 = !0;

/// A thread's part in calls.
pub(super) struct Thread {
    /// The space of the task that it works for.
    pub space: Cell<u32>,
    /// The innermost call that it is in.
    pub frame: Cell<*const Frame>,
    ports: [Cached; CACHED],
}

/// A port that was called, or found to have no routines here. The pointers are good as long as the [`Owners`]' link of
/// the same number is left alone.
#[repr(align(64))]
pub(super) struct Cached {
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

impl Cached {
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

/// What keeps the pointers of [`Cached`] good.
#[derive(Default)]
struct Owners {
    links: [Option<(Arc<CallEntry>, Arc<AtomicU64>)>; CACHED],
}

impl Drop for Owners {
    fn drop(&mut self) {
        THREAD.with(|thread| thread.ports.iter().for_each(|cached| cached.epoch.set(epoch::NEVER)));
        let links = std::mem::take(&mut self.links);
        if links.iter().any(Option::is_some)
            && let Some(process) = Process::made()
        {
            let _guard = process.lock();
            links.into_iter().flatten().for_each(|(entry, count)| entry.tally.part(&count));
        }
    }
}

impl Cached {
    fn show(&self, table: &Table) {
        self.base.set(table.base);
        self.count.set(table.entries.len() as u32);
        self.entries.set(table.entries.as_ptr());
        self.context.set(with_exposed_provenance_mut(table.context));
    }
}

thread_local! {
    static THREAD: Thread = const {
        Thread { space: Cell::new(FIRST), frame: Cell::new(null()), ports: [const { Cached::new() }; CACHED] }
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
    call_entry::EPOCH.advance();
    THREAD.with(|thread| {
        thread.space.set(FIRST);
        thread.frames().for_each(|frame| frame.space.set(FIRST));
    });
}

impl Thread {
    /// Where a port is kept.
    #[inline]
    pub fn cached(&self, name: u32) -> &Cached {
        &self.ports[at(name)]
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

    /// Looks a port up, and keeps what was found. False if nothing can be kept.
    #[cold]
    #[inline(never)]
    pub fn look_up(&self, name: u32, id: i32) -> bool {
        let at = at(name);
        let Some(process) = Process::made() else { return false };
        let space = match self.space.get() {
            FIRST => process.first_space(),
            space => SpaceId(space),
        };
        let cached = &self.ports[at];
        let look = |owners: &RefCell<Owners>| {
            let guard = process.lock();
            let link = &mut owners.borrow_mut().links[at];
            cached.epoch.set(epoch::NEVER);
            if let Some((entry, count)) = link.take() {
                entry.tally.part(&count);
            }
            cached.turn.set(null());
            let Some(entry) = guard.state.call_entry_of(space, name) else { return true };
            let Some(table) = entry.tables.iter().find(|table| table.has(id)).or(entry.tables.first()) else { return true };
            let count = entry.tally.join();
            cached.show(table);
            cached.calls.set(Arc::as_ptr(&count));
            cached.server.set(entry.space.0);
            cached.request.set(entry.name);
            cached.turn.set(Arc::as_ptr(&entry.turn));
            *link = Some((entry, count));
            true
        };
        let (kept, epoch) = call_entry::EPOCH.look(|| OWNERS.try_with(look));
        if kept != Ok(true) {
            return false;
        }
        cached.name.set(name);
        cached.space.set(self.space.get());
        cached.epoch.set(epoch);
        true
    }
}

/// The number under which a port is kept.
#[inline]
fn at(name: u32) -> usize {
    (name >> 8) as usize % CACHED
}

impl Thread {
    /// The port has several tables: keeps the one for the identifier. False if there is none.
    #[cold]
    #[inline(never)]
    pub fn show_table(&self, name: u32, id: i32) -> bool {
        let at = at(name);
        let turned = OWNERS.try_with(|owners| {
            let owners = owners.borrow();
            let Some((entry, _)) = &owners.links[at] else { return false };
            let Some(table) = entry.tables.iter().find(|table| table.has(id)) else { return false };
            self.ports[at].show(table);
            true
        });
        turned == Ok(true)
    }
}
