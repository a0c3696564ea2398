//! A process's beginning and end, and what fork(2) does to it.
#![allow(unsafe_code, reason = "functions that the C library calls at exit and fork")]

pub use crate::lock::{Guard, Process};
use crate::{
    cancellation::Uncancelled,
    dispatch::Inner,
    signals,
    state::{
        Right, SpaceId,
        kernel::{Special, place},
    },
    trap, wait, watcher,
};
use slipway_fabric::{
    descriptor::{Reserved, close_in_child},
    sync::{AtomicU32, FutexWord, Ordering},
};
use std::{
    cell::RefCell,
    io,
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, LazyLock, Once, OnceLock},
    thread::Builder,
};

/// The two descriptors that stand for a send right outside of Mach.
type Pair = (OwnedFd, OwnedFd);
/// The special ports that a child inherits, in the order of [`Special::ALL`].
type Heirlooms = [Option<Pair>; 2];

extern "C" fn at_load() {
    slipway_fabric::sync::ask_loader();
}

// SAFETY: the section is a list of functions without a contract.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

static START: Once = Once::new();

/// What the thread does that serves the tasks' ports: the number of its task, the name of its set there, and the word that changes for each message.
pub type Serve = fn(u32, u32, Arc<FutexWord>);

static SERVE: OnceLock<Serve> = OnceLock::new();

/// Has the tasks' ports served. Done again, it does nothing.
#[inline]
pub fn serve_tasks(serve: Serve) {
    if SERVE.get().is_none() {
        let _ = SERVE.set(serve);
    }
}

/// What a child does that fork(2) made, last.
static IN_CHILD: OnceLock<fn()> = OnceLock::new();

/// Has `run` done in children that fork(2) makes. Done again, it does nothing.
pub fn in_children(run: fn()) {
    let _ = IN_CHILD.set(run);
}

/// Runs `run` while no other thread of the process holds the library's locks, but for those of semaphores. `run` may stop some for good, or have some go on; it
/// returns how many more are stopped then.
pub fn between_calls(run: impl FnOnce() -> isize) {
    let process = Process::get();
    let mut guard = process.lock();
    // Whoever has that lock does not wait for the first one.
    let change = process.closer.between(run);
    guard.waiting.stopped = guard.waiting.stopped.saturating_add_signed(change);
    if change > 0 {
        guard.cool_all();
    }
    guard.wake_another();
}

/// Threads of the library's own.
static OWN: LazyLock<[AtomicU32; 128]> = LazyLock::new(|| std::array::from_fn(|_| AtomicU32::new(0)));

/// Whether a thread, by its number in the system, is one of the library's own.
pub fn is_own_thread(thread: u32) -> bool {
    OWN.iter().any(|own| own.load(Ordering::Relaxed) == thread)
}

/// Starts a thread of the library's own, which works for no other task, and gets no signal of the program's.
///
/// # Errors
/// Those of pthread_create(3).
pub fn start_thread(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    spawn(Builder::new().name(name.into()).stack_size(256 << 10), Box::new(run))
}

fn start_server(space: SpaceId, set: u32, news: Arc<FutexWord>) -> io::Result<()> {
    let serve = *SERVE.get().ok_or(io::ErrorKind::Unsupported)?;
    start_thread("slipway-tasks", move || serve(space.0, set, news))
}

impl Process {
    /// This process's. The first call makes it.
    #[inline]
    pub fn get() -> &'static Self {
        match Self::made() {
            Some(process) => process,
            None => Self::start(),
        }
    }

    #[cold]
    fn start() -> &'static Self {
        let _whole = Uncancelled::begin();
        START.call_once(|| {
            install([None, None], false);
            // SAFETY: the handlers are functions of this library, which is never unloaded (it has threads).
            unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child)) };
            // SAFETY: as above.
            unsafe { libc::atexit(at_exit) };
        });
        Self::made().expect("the first call makes it")
    }
}

/// Starts a thread of the library's own, which works for no other task, and gets no signal of the program's.
fn spawn(thread: Builder, run: Box<dyn FnOnce() + Send>) -> io::Result<()> {
    let run = move || {
        let number = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let claim = |own: &&AtomicU32| own.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        let own = OWN.iter().find(claim);
        run();
        own.iter().for_each(|own| own.store(0, Ordering::Relaxed));
    };
    signals::without(|| trap::for_first(|| thread.spawn(run).map(drop)))
}

/// Makes a fresh `Process` the current one.
fn install(heirlooms: Heirlooms, forked: bool) {
    let mut inner = Inner::default();
    inner.routes.watch.start = Some(|set| watcher::start(set, spawn));
    inner.served.start = Some(start_server);
    let first = inner.state.new_task();
    let ended = forked.then(|| inner.state.new_space());
    ended.iter().for_each(|space| inner.state.terminate(*space));
    for (which, heirloom) in Special::ALL.into_iter().zip(heirlooms) {
        let right = heirloom.and_then(|(s, t)| inner.import_send(Reserved::new(s).ok()?, Reserved::new(t).ok()?).ok());
        *place(which, inner.state.space_mut(first)) = right.unwrap_or(Right::Null);
    }
    inner.settle();
    Process::install(inner, first, ended, spawn);
}

thread_local! {
    /// The lock, held over a fork, and what the child inherits.
    static FORKING: RefCell<Option<(Guard<'static>, Heirlooms)>> = const { RefCell::new(None) };
}

/// Rights that other processes want back go to them whole, instead of as the kernel would leave them.
extern "C" fn at_exit() {
    let mut process = Process::get().lock();
    process.give_back();
    process.leave();
}

extern "C" fn before_fork() {
    let process = Process::get();
    // Before the lock is taken: see `at_end`.
    FORKING.with(|_| ());
    let mut guard = process.lock();
    // The task that forks is the one that its thread works for.
    let space = trap::current().unwrap_or(process.first_space());
    let heirlooms = Special::ALL.map(|which| guard.heirloom(space, which));
    FORKING.set(Some((guard, heirlooms)));
}

extern "C" fn after_fork_in_parent() {
    FORKING.take();
}

/// The child has an empty space of its own, and its parent's special ports.
extern "C" fn after_fork_in_child() {
    let Some((guard, heirlooms)) = FORKING.take() else { return };
    // The lock, the lines and the waiters are the parent's; only its copy of the descriptors must go.
    guard.abandon();
    trap::leave_all();
    wait::leave_all();
    OWN.iter().for_each(|own| own.store(0, Ordering::Relaxed));
    // SAFETY: what owned them was abandoned above.
    unsafe { close_in_child() };
    install(heirlooms, true);
    if let Some(run) = IN_CHILD.get() {
        run();
    }
}

impl Inner {
    /// Copies of a special port of a space, if it was set, as descriptors for the child.
    fn heirloom(&mut self, space: SpaceId, which: Special) -> Option<Pair> {
        let Right::Send(port) = *place(which, self.state.space_mut(space)) else { return None };
        self.open_bundle_of(port);
        let (s, t): (Arc<Reserved>, Arc<Reserved>) = if self.remote(port).is_some() {
            (self.remote(port)?.s.clone()?, self.holder(port).ok()?)
        } else {
            self.export_pair(port).ok()?
        };
        let copy = |fd: &Reserved| rustix::io::fcntl_dupfd_cloexec(fd.as_fd(), 3).ok();
        Some((copy(&s)?, copy(&t)?))
    }
}
