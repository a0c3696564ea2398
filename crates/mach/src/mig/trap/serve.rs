//! The server: routines that are registered for a port, and the server that they work on.
#![allow(unsafe_code, reason = "functions that callers are given, and the server that they find by a pointer")]

use super::{
    called::{Called, Trapped},
    item::Facts,
    server_ref::ServerRef,
};
use crate::{
    abi::Code,
    mig::serve::{Served, answer, serve, serve_one},
    rights::{Error, ReceiveRight, Received},
    task::Task,
    trap::{Entry, Routine, Table},
};
use std::{
    convert::Infallible,
    ffi::{c_int, c_void},
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::{with_exposed_provenance, with_exposed_provenance_mut},
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
        /// Calls `work` with the context's server. Gives its result, or why it could not be called.
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

impl<S, W> Clone for Traps<S, W> {
    fn clone(&self) -> Self {
        Self { tables: self.tables.clone(), server: PhantomData }
    }
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
            let index = usize::try_from(R::ID.wrapping_sub(table.base)).ok();
            if let Some(entry) = index.and_then(|index| table.entries.get_mut(index)) {
                let routine: Routine = run::<S, R, W>;
                *entry = Entry { routine: Some(routine), signature: Facts::<R>::SIGNATURE };
            }
        }
    }

    /// The tables, for a server at that address.
    pub(super) fn of(self, context: usize) -> impl Iterator<Item = Table> {
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
    caught(|| unsafe { W::with(context, work) }).unwrap_or(Code::MIG_SERVER_DIED).0
}

/// What a server's work comes to; None if it panics.
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    let told = outcome.map_err(|panic| {
        // Dropping its payload may panic, too. That panic's payload is leaked.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(panic))).map_err(std::mem::forget);
    });
    told.ok()
}

impl<S: Send> sealed::Way<S> for Exclusive {
    #[inline]
    unsafe fn with(context: *mut c_void, work: impl FnOnce(&mut S) -> Code) -> Code {
        // SAFETY: the caller's promise.
        let reference = unsafe { ServerRef::of(context) };
        let Some(guard) = reference.exclusive() else { return Code::TRAP_DEADLOCK };
        let Some(server) = guard.server() else { return Code::MIG_SERVER_DIED };
        // SAFETY: the reference is to a server of this type, borrowed until it is taken away, and nothing else works on it.
        work(unsafe { &mut *with_exposed_provenance_mut::<S>(server) })
    }
}

impl<S: Clone + Send + Sync> sealed::Way<S> for Shared {
    #[inline]
    unsafe fn with(context: *mut c_void, work: impl FnOnce(&mut S) -> Code) -> Code {
        // SAFETY: the caller's promise.
        let reference = unsafe { ServerRef::of(context) };
        // Nothing but the end of the server takes it exclusively.
        let Some(reading) = reference.shared() else { return Code::MIG_SERVER_DIED };
        let Some(server) = reading.server() else { return Code::MIG_SERVER_DIED };
        // SAFETY: the reference is to a server of this type, which is dropped once it was taken away.
        work(&mut unsafe { &*with_exposed_provenance::<S>(server) }.clone())
    }
}

/// Something that is done at the end of a scope, however it ends.
struct Finally<F: FnMut()>(F);

impl<F: FnMut()> Drop for Finally<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Registers routines with a context, which is a server reference's.
pub(super) fn register(port: &ReceiveRight, mut tables: impl Iterator<Item = Table>, serial: bool) -> Result<(), Error> {
    // SAFETY: the routines are `run`'s, whose contexts are those of server references, and references are never freed.
    let registered = tables.try_for_each(|table| unsafe { port.task().register_traps(port.name(), table, serial) });
    registered.map_err(|code| Error { tried: "registering routines for calls", code })
}

/// Registers routines with a context for as long as `run` takes.
fn registered<T>(
    port: &ReceiveRight,
    tables: impl Iterator<Item = Table>,
    serial: bool,
    run: impl FnOnce() -> T,
) -> Result<T, Error> {
    let task = port.task();
    let _end = Finally(|| {
        // A port that somebody else took away has no routines any more.
        let _ = task.withdraw_traps(port.name());
    });
    register(port, tables, serial)?;
    Ok(run())
}

/// Takes a server that was boxed away from calls, and drops it.
///
/// # Safety
/// The reference was made for the address of a box of this type, and this is done once.
pub(super) unsafe fn end<S>(reference: ServerRef, task: Task) {
    // A call that `exit` has left keeps the server for good.
    if let Some(server) = reference.leave(|| task.wait_for_callers()) {
        // SAFETY: the caller's promise, and nobody has it any more.
        drop(unsafe { Box::from_raw(with_exposed_provenance_mut::<S>(server)) });
    }
}

/// A server whose routines may be called while `with_traps` lasts, for what serves its messages.
#[derive(Debug)]
pub struct Behind<'p, S>(&'p dyn Serve<S>);

trait Serve<S>: std::fmt::Debug + Sync {
    fn with(&self, work: &mut dyn FnMut(&mut S)) -> bool;
}

/// A reference to a server of that type, which is called in the way [`Exclusive`].
pub(super) struct Own<S>(ServerRef, PhantomData<fn(S)>);

impl<S> Own<S> {
    /// # Safety
    /// The server is of this type, is `Send`, and lasts until it is taken away.
    pub unsafe fn new(reference: ServerRef) -> Self {
        Self(reference, PhantomData)
    }

    pub fn reference(&self) -> ServerRef {
        self.0
    }
}

impl<S> std::fmt::Debug for Own<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a server")
    }
}

impl<S: Send> Serve<S> for Own<S> {
    fn with(&self, work: &mut dyn FnMut(&mut S)) -> bool {
        let Some(guard) = self.0.exclusive() else { return false };
        if let Some(server) = guard.server() {
            // SAFETY: as for calls.
            work(unsafe { &mut *with_exposed_provenance_mut::<S>(server) });
        }
        true
    }
}

impl<'p, S: Send> Behind<'p, S> {
    pub(super) fn new(own: &'p Own<S>) -> Self
    where
        S: 'p,
    {
        Self(own)
    }
}

impl<S> Behind<'_, S> {
    /// Works on the server, when no other thread does. None if the calling thread is at work on it already.
    pub fn with<T>(&self, work: impl FnOnce(&mut S) -> T) -> Option<T> {
        let (mut work, mut result) = (Some(work), None);
        self.0.with(&mut |server| result = work.take().map(|work| work(server)));
        result
    }

    /// Has the server's `demux` serve a request, when no other thread is at work on the server. Where the calling thread is itself,
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
/// messages only. Routines that are registered for the port otherwise end with it.
///
/// # Errors
/// A code of the registration: the right is gone.
pub fn with_traps<S: Send, T>(
    port: &ReceiveRight,
    server: &mut S,
    traps: Traps<S, Exclusive>,
    run: impl FnOnce(&Behind<'_, S>) -> T,
) -> Result<T, Error> {
    let reference = ServerRef::new(std::ptr::from_mut(server).expose_provenance());
    let _end = Finally(|| {
        // A call that `exit` has left keeps the server's lock for good, and does nothing more.
        let _ = reference.leave(|| port.task().wait_for_callers());
    });
    registered(port, traps.of(reference.context()), true, || run(&Behind(&Own(reference, PhantomData))))
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
    let reference = ServerRef::new(Box::into_raw(Box::new(server)).expose_provenance());
    let _end = Finally(|| {
        // SAFETY: it is for the box from above.
        unsafe { end::<S>(reference, port.task()) };
    });
    registered(port, traps.of(reference.context()), false, run)
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
