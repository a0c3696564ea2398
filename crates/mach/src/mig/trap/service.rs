//! Servers of many ports, each with a state of its own, that are received from together.
#![allow(unsafe_code, reason = "servers that calls find by a pointer")]

use super::{
    serve::{Behind, Exclusive, Own, Traps, caught, end, register},
    server_ref::ServerRef,
};
use crate::{
    abi::{self, Code, notify},
    mig::serve::{Served, refuse},
    rights::{Error, PortSet, ReceiveRight, Received},
};
use std::{
    collections::HashMap,
    convert::Infallible,
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{Builder, Scope, scope},
    time::Duration,
};

/// How long the other ports wait for a routine before another thread receives for them: this long, or twice.
const PATIENCE: Duration = Duration::from_millis(2);

/// Ports that are received from together, each with a server `S` of its own. Ports come and go while they are served.
///
/// One thread receives, and works on the servers ([`Self::serve`]): so it is the one that looks at the lines, and a request wakes no other. With
/// routines for calls, tasks of the process call them in the place of messages, at any time while no message waits at the port, and each on
/// its own thread: a call waits for no other port's server.
///
/// A server is worked on by one thread at a time, messages and calls alike. A request that comes while a routine is called may be served
/// after calls that were made after it.
///
/// A routine that takes long keeps its own port waiting, and no other for longer than a few milliseconds: then its port is taken out
/// of the set until it is done, and another thread receives. There are at most as many threads as ports, and two.
///
/// A routine that panics ends its call, with `MIG_SERVER_DIED` for the caller. What it left of the server is the server's matter.
pub struct Service<S> {
    set: PortSet,
    traps: Option<Traps<S, Exclusive>>,
    state: Mutex<State<S>>,
    /// Wakes the relief.
    changed: Condvar,
}

/// A port, and what is behind it.
struct Member<S> {
    port: ReceiveRight,
    own: Own<S>,
}

struct State<S> {
    /// By the names of their ports.
    members: HashMap<u32, Arc<Member<S>>>,
    /// Whether the ports are served.
    serves: bool,
    /// Changes whenever `busy` does: by it a thread knows whether it still is the receiver.
    turn: u64,
    /// The port for which the receiver works: null while it removes one.
    busy: Option<u32>,
    /// Whether a thread stands by for the receiver, and whether it waits for a request first.
    relief: bool,
    sleeps: bool,
    /// Why nothing is received any more.
    ended: Option<Error>,
}

/// What a thread that serves does next.
#[derive(Clone, Copy)]
enum Role {
    Receive,
    Relieve,
    Leave,
}

impl<S> Member<S> {
    /// Has no calls come any more, and waits until those that are there are done.
    fn withdraw(&self) {
        // A port that somebody else took away has no routines any more.
        let _ = self.port.task().withdraw_traps(self.port.name());
    }
}

impl<S> Drop for Member<S> {
    fn drop(&mut self) {
        self.withdraw();
        // SAFETY: the reference is to a box of this type, which `add` made.
        unsafe { end::<S>(self.own.reference(), self.port.task()) };
    }
}

impl<S> fmt::Debug for Service<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Service({:?})", self.set)
    }
}

impl<S: Send + 'static> Service<S> {
    /// Without ports yet, in the current task. Without routines for calls there are messages only.
    ///
    /// # Errors
    /// There is no name for a port set.
    pub fn new(traps: Option<Traps<S, Exclusive>>) -> Result<Self, Error> {
        let state =
            State { members: HashMap::new(), serves: false, turn: 0, busy: None, relief: false, sleeps: false, ended: None };
        Ok(Self { set: PortSet::new()?, traps, state: Mutex::new(state), changed: Condvar::new() })
    }

    fn state(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a port with its server; a routine may do so, too. If its no-senders notification is to be sent to the port itself,
    /// the port is [removed](Self::remove) when that comes.
    ///
    /// # Errors
    /// A code of the registration: the right is gone. Port and server are given up.
    pub fn add(&self, port: ReceiveRight, server: S) -> Result<(), Error> {
        let reference = ServerRef::new(Box::into_raw(Box::new(server)).expose_provenance());
        // SAFETY: the reference is to the box, which the member takes away when nobody has that any more.
        let member = Arc::new(Member { port, own: unsafe { Own::new(reference) } });
        let name = member.port.name();
        let stale = self.state().members.insert(name, Arc::clone(&member));
        // The port that had the name was taken away, and the name is another's.
        stale.into_iter().for_each(std::mem::forget);
        let registered = match &self.traps {
            Some(traps) => register(&member.port, traps.clone().of(reference.context()), false),
            None => Ok(()),
        };
        registered.and_then(|()| self.set.add(&member.port)).inspect_err(|_| {
            let member = self.state().members.remove(&name);
            drop(member);
        })
    }

    /// Removes a port: no call comes any more, and those that are there are waited for. The port dies, and its server is dropped, now or when
    /// the message is served that is served just then.
    ///
    /// # Errors
    /// `KERN_INVALID_NAME`: no such port is served. `MACH_TRAP_DEADLOCK`: the calling thread is in a routine of the port.
    pub fn remove(&self, name: u32) -> Result<(), Error> {
        let member = {
            let mut state = self.state();
            match state.members.get(&name) {
                None => Err(Code::INVALID_NAME),
                Some(member) if member.own.reference().is_held_here() => Err(Code::TRAP_DEADLOCK),
                Some(_) => Ok(state.members.remove(&name)),
            }
        };
        let member = member.map_err(|code| Error { tried: "removing a served port", code })?;
        member.into_iter().for_each(|member| member.withdraw());
        Ok(())
    }

    /// Receives requests from all ports and has `demux` serve each on its port's server, until a receive fails: the task ends. Then the ports are
    /// removed.
    ///
    /// # Errors
    /// A code of the receive. `KERN_FAILURE`: another thread serves the ports already.
    pub fn serve(&self, demux: impl Fn(&mut S, Received) -> Served + Sync) -> Result<Infallible, Error> {
        const TRIED: &str = "serving ports";
        if std::mem::replace(&mut self.state().serves, true) {
            return Err(Error { tried: TRIED, code: Code::FAILURE });
        }
        scope(|scope| Crew { service: self, demux: &demux, scope }.receive_first());
        let mut state = self.state();
        let members = std::mem::take(&mut state.members);
        let ended = state.ended.take();
        drop(state);
        drop(members);
        Err(ended.unwrap_or(Error { tried: TRIED, code: Code::FAILURE }))
    }
}

/// The threads that serve: the receiver, its relief, and those whose routines took too long.
struct Crew<'scope, 'env, S, D> {
    service: &'scope Service<S>,
    demux: &'scope D,
    scope: &'scope Scope<'scope, 'env>,
}

impl<S, D> Clone for Crew<'_, '_, S, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, D> Copy for Crew<'_, '_, S, D> {}

impl<S: Send + 'static, D: Fn(&mut S, Received) -> Served + Sync> Crew<'_, '_, S, D> {
    fn receive_first(self) {
        self.stand_by();
        self.work(Role::Receive);
    }

    fn work(self, mut role: Role) {
        loop {
            role = match role {
                Role::Receive => self.receive(),
                Role::Relieve => self.relieve(),
                Role::Leave => return,
            }
        }
    }

    /// Has another thread stand by. If there is none to be had, the next whose routine took too long stands by when it is done.
    fn stand_by(self) {
        let task = self.service.set.task();
        let work = move || {
            task.enter();
            self.work(Role::Relieve);
        };
        self.service.state().relief = true;
        if Builder::new().name("relief".to_owned()).spawn_scoped(self.scope, work).is_err() {
            self.service.state().relief = false;
        }
    }

    fn receive(self) -> Role {
        loop {
            match self.service.set.receive(None) {
                Ok(request) => {
                    if let Some(role) = self.serve(request) {
                        return role;
                    }
                }
                Err(error) => {
                    self.service.state().ended = Some(error);
                    self.service.changed.notify_all();
                    return Role::Leave;
                }
            }
        }
    }

    /// Serves a request. If another thread receives by then, what this one does next.
    fn serve(self, request: Received) -> Option<Role> {
        let name = request.port();
        let mut state = self.service.state();
        // A request to a port that was removed is dropped, which tells its sender so.
        let (member, busy) = match request.is_notification(notify::NO_SENDERS) {
            true => (state.members.remove(&name)?, abi::NULL),
            false => (Arc::clone(state.members.get(&name)?), name),
        };
        state.turn += 1;
        state.busy = Some(busy);
        let (turn, sleeps) = (state.turn, std::mem::take(&mut state.sleeps));
        drop(state);
        if sleeps {
            self.service.changed.notify_all();
        }
        let kept = match busy {
            abi::NULL => {
                drop(member);
                None
            }
            _ => {
                let served = caught(|| Behind::new(&member.own).serve(request, self.demux));
                // An answer that can't be delivered is its receiver's matter.
                let _ = served.map(|served| served.unwrap_or_else(|request| refuse(*request)).send_at_once());
                Some(member)
            }
        };
        let mut state = self.service.state();
        if state.turn == turn {
            state.turn += 1;
            state.busy = None;
            return None;
        }
        // What waits at the port is for the receiver.
        let _ = kept.as_ref().map(|member| self.service.set.add(&member.port));
        match std::mem::replace(&mut state.relief, true) {
            true => Some(Role::Leave),
            false => Some(Role::Relieve),
        }
    }

    /// Waits until a routine takes too long, or for the end.
    fn relieve(self) -> Role {
        let service = self.service;
        let mut state = service.state();
        let mut seen = None;
        loop {
            let same = seen.replace(state.turn) == Some(state.turn);
            if state.ended.is_some() {
                return Role::Leave;
            }
            match state.busy {
                Some(name) if same => {
                    if name != abi::NULL {
                        // The port's next requests wait there. The thread that is at work for it keeps it, and so the name is the port's.
                        let _ = service.set.task().move_member(name, abi::NULL);
                    }
                    (state.busy, state.relief) = (None, false);
                    state.turn += 1;
                    drop(state);
                    self.stand_by();
                    return Role::Receive;
                }
                None if same => {
                    state.sleeps = true;
                    state = service.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                _ => state = service.changed.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0,
            }
        }
    }
}
