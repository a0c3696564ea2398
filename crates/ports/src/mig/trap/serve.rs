//! The server: routines that are registered for a port, and whom they work on.
#![allow(unsafe_code, reason = "functions that callers are given, and the server that they find by a pointer")]

use super::{Called, Facts, Trapped};
use crate::{
    abi::Code,
    mig::{
        serve::{Served, answer, serve},
        serve_one,
    },
    rights::{Error, ReceiveRight, Received},
    trap::gate::{Entry, Routine, Table},
};
use slipway_fabric::sync::{AtomicUsize, Ordering};
use std::{
    convert::Infallible,
    ffi::{c_int, c_void},
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, MutexGuard, PoisonError, RwLock, TryLockError, TryLockResult},
    time::Duration,
};

/// A server that one thread at a time works on, messages and calls alike: [`with_traps`].
#[derive(Debug)]
pub enum Exclusive {}

/// A server of which every call has a copy: [`with_shared_traps`].
#[derive(Debug)]
pub enum Shared {}

/// How calls come to a server.
pub trait Way<S>: sealed::Way<S> {}

impl<S: Send> Way<S> for Exclusive {}
impl<S: Clone + Send + Sync> Way<S> for Shared {}

mod sealed {
    use super::{Code, c_void};

    pub trait Way<S> {
        /// Works on the server that the context is of: what that comes to, or why it could not be.
        ///
        /// # Safety
        /// The context is one that is registered for routines with this way and server.
        unsafe fn with(context: *mut c_void, work: impl FnOnce(&mut S) -> Code) -> Code;
    }
}

/// Routines of one interface or of several for servers `S`, which are called in the way `W`.
#[derive(Debug)]
pub struct Traps<S, W> {
    tables: Vec<Table>,
    server: PhantomData<fn(S, W)>,
}

impl<S, W: Way<S>> Traps<S, W> {
    /// None yet, for so many identifiers from `base` on.
    pub fn new(base: i32, count: usize) -> Self {
        let none = Entry { routine: None, signature: 0 };
        Self { tables: vec![Table { base, entries: vec![none; count].into(), context: 0 }], server: PhantomData }
    }

    /// With those of another interface of the same server.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.tables.extend(other.tables);
        self
    }

    /// Adds a routine. One that is not of these identifiers is left out.
    pub fn add<R: Trapped<S>>(&mut self) {
        for table in &mut self.tables {
            let place = usize::try_from(R::ID.wrapping_sub(table.base)).ok();
            if let Some(entry) = place.and_then(|place| table.entries.get_mut(place)) {
                let routine: Routine = run::<S, R, W>;
                *entry = Entry { routine: Some(routine), signature: Facts::<R>::SIGNATURE };
            }
        }
    }

    /// The tables, for a server at that address.
    fn of(self, context: usize) -> impl Iterator<Item = Table> {
        self.tables.into_iter().map(move |table| Table { context, ..table })
    }
}

/// What callers call.
///
/// # Safety
/// The block is what a routine with R's signature takes; the context is that of a server S that is called in the way W.
unsafe extern "C-unwind" fn run<S, R: Trapped<S>, W: Way<S>>(port: u32, block: *mut c_void, context: *mut c_void) -> c_int {
    let work = |server: &mut S| {
        // SAFETY: the caller's promise.
        let mut call = unsafe { Called::<R>::new(block, port) };
        let result = R::serve(server, &mut call);
        call.finish(result)
    };
    // SAFETY: the caller's promise.
    let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { W::with(context, work) }));
    match outcome {
        Ok(code) => code.0,
        Err(panic) => {
            // What it carries may panic in its turn, which is too much.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(panic))).map_err(std::mem::forget);
            Code::MIG_SERVER_DIED.0
        }
    }
}

thread_local! {
    /// Its address stands for the thread.
    static HERE: u8 = const { 0 };
}

fn here() -> usize {
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

/// A server behind messages and calls, and the thread that is at work on it.
///
/// It is never freed: a call that is late finds that there is no server any more.
struct Place<'s, S> {
    server: Mutex<Option<&'s mut S>>,
    worker: AtomicUsize,
}

/// The right to work on a server.
struct Work<'p, 's, S> {
    server: MutexGuard<'p, Option<&'s mut S>>,
    worker: &'p AtomicUsize,
}

impl<S> Drop for Work<'_, '_, S> {
    fn drop(&mut self) {
        self.worker.store(0, Ordering::Relaxed);
    }
}

impl<'s, S> Place<'s, S> {
    /// Waits for the turn; None if it is the calling thread's already.
    #[inline]
    fn lock(&self) -> Option<Work<'_, 's, S>> {
        let here = here();
        let server = match self.server.try_lock() {
            Ok(server) => server,
            // A routine that panicked has ended its call. What it left of the server is the server's matter.
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) if self.worker.load(Ordering::Relaxed) == here => return None,
            Err(TryLockError::WouldBlock) => self.server.lock().unwrap_or_else(PoisonError::into_inner),
        };
        self.worker.store(here, Ordering::Relaxed);
        Some(Work { server, worker: &self.worker })
    }
}

impl<S: Send> sealed::Way<S> for Exclusive {
    #[inline]
    unsafe fn with(context: *mut c_void, work: impl FnOnce(&mut S) -> Code) -> Code {
        // SAFETY: the caller's promise; a place is never freed, and what is in it is there as long as it is borrowed.
        let place = unsafe { &*context.cast::<Place<'_, S>>() };
        let Some(mut turn) = place.lock() else { return Code::TRAP_DEADLOCK };
        turn.server.as_deref_mut().map_or(Code::MIG_SERVER_DIED, work)
    }
}

impl<S: Clone + Send + Sync> sealed::Way<S> for Shared {
    #[inline]
    unsafe fn with(context: *mut c_void, work: impl FnOnce(&mut S) -> Code) -> Code {
        // SAFETY: as above.
        let place = unsafe { &*context.cast::<RwLock<Option<S>>>() };
        // Nobody but the end of the server takes it for himself.
        let server = match place.try_read() {
            Ok(server) => server,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return Code::MIG_SERVER_DIED,
        };
        server.as_ref().map_or(Code::MIG_SERVER_DIED, |server| work(&mut server.clone()))
    }
}

/// What was ever registered as a context, so that it can be told from memory that was lost.
static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Memory that stays: for who registers it, and for callers.
fn kept<'a, T: 'a>(place: T) -> (&'a T, usize) {
    let place = Box::into_raw(Box::new(place));
    let address = place.expose_provenance();
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(address);
    // SAFETY: it was just made, and is not freed.
    (unsafe { &*place }, address)
}

/// Something that is done at the end of a scope, however it ends.
struct Finally<F: FnMut()>(F);

impl<F: FnMut()> Drop for Finally<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Registers routines with a context for as long as `run` takes.
fn registered<T>(
    port: &ReceiveRight,
    mut tables: impl Iterator<Item = Table>,
    serial: bool,
    run: impl FnOnce() -> T,
) -> Result<T, Error> {
    let task = port.task();
    let _end = Finally(|| {
        // A port that somebody else took away has no routines any more.
        let _ = task.withdraw_traps(port.name());
    });
    let registered = tables.try_for_each(|table| task.register_traps(port.name(), table, serial));
    registered.map_err(|code| Error { tried: "registering routines for calls", code })?;
    Ok(run())
}

/// Takes a server away whose routines were withdrawn. A call that has it still is waited for; but one that `exit` has left keeps
/// it for good, and nobody else asks for it.
fn at_last<G>(port: &ReceiveRight, lock: impl Fn() -> TryLockResult<G>, take: impl FnOnce(G)) {
    let got = || match lock() {
        Ok(server) => Some(server),
        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    };
    let server = got().or_else(|| {
        port.task().wait_for_callers();
        got()
    });
    if let Some(server) = server {
        take(server);
    }
}

/// A server whose routines may be called while `with_traps` lasts, for those who serve its messages.
#[derive(Debug)]
pub struct Behind<'p, S>(&'p dyn Serve<S>);

trait Serve<S>: std::fmt::Debug + Sync {
    fn with(&self, work: &mut dyn FnMut(&mut S)) -> bool;
}

impl<S> std::fmt::Debug for Place<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a server")
    }
}

impl<S: Send> Serve<S> for Place<'_, S> {
    fn with(&self, work: &mut dyn FnMut(&mut S)) -> bool {
        let Some(mut turn) = self.lock() else { return false };
        if let Some(server) = turn.server.as_deref_mut() {
            work(server);
        }
        true
    }
}

impl<S> Behind<'_, S> {
    /// Works on the server, when nobody else does. None if the calling thread is at work on it already.
    pub fn with<T>(&self, work: impl FnOnce(&mut S) -> T) -> Option<T> {
        let (mut work, mut result) = (Some(work), None);
        self.0.with(&mut |server| result = work.take().map(|work| work(server)));
        result
    }

    /// Has the server's `demux` serve a request, when nobody else is at work on the server. Where the calling thread is itself,
    /// the request gets `MACH_TRAP_DEADLOCK`.
    ///
    /// # Errors
    /// The request itself, if no routine has its identifier.
    pub fn serve(&self, request: Received, demux: impl FnOnce(&mut S, Received) -> Served) -> Served {
        let mut request = Some(request);
        let served = self.with(|server| request.take().map(|request| demux(server, request)));
        match (served.flatten(), request) {
            (Some(served), _) => served,
            (None, Some(request)) => Ok(answer(request, &mut (), |(), _, _| Err(Code::TRAP_DEADLOCK))),
            (None, None) => unreachable!("a request is served or left"),
        }
    }

    /// Receives one request and answers it, as [`mig::serve_one`](crate::mig::serve_one) does.
    ///
    /// # Errors
    /// A code of the receive.
    pub fn serve_one(
        &self,
        port: &ReceiveRight,
        timeout: Option<Duration>,
        demux: impl FnOnce(&mut S, Received) -> Served,
    ) -> Result<(), Error> {
        serve_one(port, timeout, |request| self.serve(request, demux))
    }
}

/// Lets other tasks of the process call the server's routines at the port while `run` takes, which receives the messages there: a
/// call is made while a thread waits in a receive on the port, or on the set that it is in, and takes its place. So the
/// server does one thing at a time, as with messages alone. `run` gets at the server by what it is passed.
///
/// A routine that panics ends its call, with `MIG_SERVER_DIED` for the caller. The end waits for calls; after it there are
/// messages only. Routines that are registered for the port otherwise end with it. A few bytes are kept for good.
///
/// # Errors
/// A code of the registration: the right is gone.
pub fn with_traps<S: Send, T>(
    port: &ReceiveRight,
    server: &mut S,
    traps: Traps<S, Exclusive>,
    run: impl FnOnce(&Behind<'_, S>) -> T,
) -> Result<T, Error> {
    let (shared, address) = kept(Place { server: Mutex::new(Some(server)), worker: AtomicUsize::new(0) });
    let _end = Finally(|| {
        at_last(port, || shared.server.try_lock(), |mut server| *server = None);
    });
    registered(port, traps.of(address), true, || run(&Behind(shared)))
}

/// Receives requests and answers them until a receive fails, while other tasks of the process may call the routines:
/// [`with_traps`] and [`serve`](serve()).
///
/// # Errors
/// A code of the receive, or of the registration.
pub fn serve_traps<S: Send>(
    port: &ReceiveRight,
    server: &mut S,
    traps: Traps<S, Exclusive>,
    demux: impl Fn(&mut S, Received) -> Served,
) -> Result<Infallible, Error> {
    with_traps(port, server, traps, |server| serve(port, |request| server.serve(request, &demux)))?
}

/// As [`with_traps`], for a server that any number of threads may work on, each with a copy: `&Server`, or an `Arc`. Calls are
/// made at any time while no message waits. Messages are served by `run`, with copies of its own.
///
/// # Errors
/// A code of the registration: the right is gone.
pub fn with_shared_traps<S: Clone + Send + Sync, T>(
    port: &ReceiveRight,
    server: S,
    traps: Traps<S, Shared>,
    run: impl FnOnce() -> T,
) -> Result<T, Error> {
    let (shared, address) = kept(RwLock::new(Some(server)));
    let _end = Finally(|| {
        at_last(port, || shared.try_write(), |mut server| drop(server.take()));
    });
    registered(port, traps.of(address), false, run)
}

/// Receives requests and answers them until a receive fails, while other tasks of the process may call the routines at any time:
/// [`with_shared_traps`] and [`serve`](serve()).
///
/// # Errors
/// A code of the receive, or of the registration.
pub fn serve_shared_traps<S: Clone + Send + Sync>(
    port: &ReceiveRight,
    server: S,
    traps: Traps<S, Shared>,
    demux: impl Fn(&mut S, Received) -> Served,
) -> Result<Infallible, Error> {
    let mut own = server.clone();
    with_shared_traps(port, server, traps, || serve(port, |request| demux(&mut own, request)))?
}
