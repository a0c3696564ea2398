//! The state connected to the rest of the machine: lines, kernel objects, waiting threads.
//!
//! One lock guards all of it ([`Inner`]); nobody sleeps with it held. The parts:
//! [`wire`] is what lies in rings; [`objects`] the kernel's objects; [`mod@line`] one line and its slots; [`outbox`] its records on their way out;
//! [`rights`] turns rights into what travels and back; [`deliver`] messages; [`pump`] takes records out of
//! lines; [`attach`] makes lines; [`trust`] is proof of whose a port is; [`moves`] receive rights on the move;
//! `reclaim` the messages that come back to their senders then; [`spare`] receive rights that come back;
//! [`tokens`] send-once rights on lines; [`watcher`] the thread that hears of
//! deaths and bells; [`wait`] sleeping and waking; [`inspect`] answers who asks what there is.

pub mod account;
pub mod attach;
mod circles;
pub mod deliver;
mod discard;
mod ends;
mod forced;
mod gifts;
pub mod inspect;
pub mod later;
pub mod line;
mod look;
pub mod moves;
pub mod objects;
pub mod outbox;
pub mod pollable;
pub mod pump;
mod reclaim;
pub mod rights;
pub mod spare;
pub mod tokens;
pub mod trust;
pub mod wait;
pub mod watcher;
pub mod wire;

use crate::{
    msg::fast::Shortcuts,
    state::{Effect, FarOnce, Home, PortId, State},
};
use line::Line;
use rustc_hash::FxHashMap;
use slab::Slab;
use slipway_fabric::descriptor::Reserved;
use smallvec::SmallVec;
use std::sync::Arc;

/// Everything a process knows of Mach, and its connections.
#[derive(Debug, Default)]
pub struct Inner {
    /// The bookkeeping.
    pub state: State,
    /// The connections.
    pub io: Io,
}

/// Lines, kernel objects and waiters of a process.
#[derive(Debug, Default)]
pub struct Io {
    /// Lines, by number.
    pub lines: Slab<Line>,
    /// How many lines there have been.
    pub lines_made: u64,
    /// What is kept for ports whose receive right is elsewhere, by [`PortId`].
    far: Vec<Option<Box<Far>>>,
    /// What is kept for ports here that others may send to, by [`PortId`].
    exported: Vec<Option<Box<Exported>>>,
    /// Send-once rights to ports elsewhere, by [`FarOnce`].
    pub onces: Slab<Once>,
    /// Receiving ends of send-once rights to ports here that third parties hold.
    pub once_ends: Slab<OnceEnd>,
    /// Ports by the identity of their sending end.
    pub identities: FxHashMap<u64, PortId>,
    /// What is held for others.
    pub ledger: account::Ledger,
    /// The lines that receivers look at themselves, most recently active first.
    pub hot: Vec<u32>,
    /// Who waits.
    pub waiting: wait::Waiting,
    /// The thread that hears of deaths and bells, once there is need of it.
    pub watcher: Option<watcher::Watcher>,
    /// Ports that this task made pollable, by port or set name.
    pub pollables: pollable::Pollables,
    /// Answers who asks what ports there are.
    pub inspector: Option<inspect::Inspector>,
    /// Messages sent and received by this process.
    pub counters: Counters,
    /// Where the last messages went and came from.
    pub shortcuts: Shortcuts,
    /// A receiver has kept the lock for long, and there is more on a line.
    pub crowded: bool,
    /// What the watcher is to go on with.
    pub put_off: later::PutOff,
    /// Lines on which something may be left to do when the effects are through.
    pub stirred: Vec<u32>,
    /// How deep the receive right that is being packed or unpacked lies in others.
    nesting: u32,
}

/// Messages counted.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counters {
    /// Messages sent.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
}

/// A port whose receive right is elsewhere.
#[derive(Debug, Default)]
pub struct Far {
    /// Its sending end; a copy comes with the first right.
    pub s: Option<Arc<Reserved>>,
    /// The identity of `s`.
    pub identity: u64,
    /// A pipe's write end that counts this process as a holder.
    pub t: Option<Arc<Reserved>>,
    /// The ways to it. Messages go the first that is [open](Route::is_open).
    pub routes: SmallVec<[Route; 1]>,
    /// The line that all rights came over as its other end's own, if they did.
    pub giver: Option<u32>,
    /// The owner had no resources for a line: no new one is made before that time, on the monotonic clock.
    pub refused_until: u64,
    /// What the owner was asked.
    pub question: Option<trust::Question>,
    /// Whether its death is the word of somebody who may not have been the owner.
    pub hearsay: bool,
    /// Whether the watcher listens for its death.
    pub watched: bool,
    /// Messages that were on their way when the line ended; they go first on the next one.
    pub stranded: Vec<Box<crate::state::message::Message>>,
    /// What is kept of its receive right, if that was given away from here and is wanted back.
    pub spare: Option<spare::Spare>,
}

/// A way to a far port.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The line.
    pub line: u32,
    /// The port's slot on it, in the other end's numbers.
    pub slot: u32,
    /// Rights that were given to us over it and are still to be given back.
    pub gifts: u32,
    /// Whether this process attached to the port there, through its sending end.
    pub attached: bool,
    /// Whether it is known to lead to the port.
    pub trust: trust::Trust,
}

impl Route {
    /// Whether messages may go over it: the port's owner takes none without a right that is counted there, and nobody
    /// else is to have them.
    #[inline]
    pub fn is_open(&self) -> bool {
        (self.attached || self.gifts > 0) && self.is_trusted()
    }

    /// Whether it leads to the port, as far as this process has to know.
    #[inline]
    pub fn is_trusted(&self) -> bool {
        matches!(self.trust, trust::Trust::Proven | trust::Trust::Given)
    }
}

impl Far {
    /// The way that messages go now.
    #[inline]
    pub fn way(&self) -> Option<&Route> {
        self.routes.iter().find(|route| route.is_open())
    }
}

/// A port here that others may send to.
#[derive(Debug)]
pub struct Exported {
    /// The receiving end: attach requests come here.
    pub r: Reserved,
    /// The sending end.
    pub s: Arc<Reserved>,
    /// The identity of `s`.
    pub identity: u64,
    /// The write end of our own pipe, for rights that third parties get from us, until somebody
    /// wants to know when they are gone.
    pub t: Option<Arc<Reserved>>,
    /// The read ends of the pipes of all third parties.
    pub watches: Vec<Reserved>,
    /// Whether the watcher listens to `watches`.
    pub watching: bool,
    /// Lines and slots over which others can send to it.
    pub slots: SmallVec<[(u32, u32); 2]>,
    /// Requests that were read off `r` while it was looked at on its arrival.
    pub early: Vec<objects::Request>,
}

/// A send-once right to a port elsewhere.
#[derive(Debug)]
pub enum Once {
    /// A token of the other end of a line.
    Token {
        /// The line.
        line: u32,
        /// The token.
        token: u32,
    },
    /// A socket that takes one message.
    Socket(Arc<Reserved>),
    /// The port is dead.
    Dead,
}

/// The receiving end of a send-once right that a third party holds.
#[derive(Debug)]
pub struct OnceEnd {
    /// The socket.
    pub socket: Reserved,
    /// The port here.
    pub port: PortId,
    /// Descriptors that came ahead of the message.
    pub fds: Vec<objects::Arrived>,
    /// Packets that came ahead of the message.
    pub packets: u32,
    /// What came is charged here.
    pub account: Option<Arc<account::Account>>,
}

/// Notes that something may be left to do on a line.
#[inline]
pub(crate) fn stir(stirred: &mut Vec<u32>, line: u32) {
    if stirred.last() != Some(&line) {
        stirred.push(line);
    }
}

fn at<T>(table: &[Option<Box<T>>], port: PortId) -> Option<&T> {
    table.get(port.0 as usize)?.as_deref()
}

fn at_mut<T>(table: &mut [Option<Box<T>>], port: PortId) -> Option<&mut T> {
    table.get_mut(port.0 as usize)?.as_deref_mut()
}

fn put_at<T>(table: &mut Vec<Option<Box<T>>>, port: PortId, value: T) -> &mut T {
    let index = port.0 as usize;
    if table.len() <= index {
        table.resize_with(index + 1, || None);
    }
    table[index].insert(Box::new(value))
}

impl Io {
    /// What is kept of a far port.
    #[inline]
    pub fn far(&self, port: PortId) -> Option<&Far> {
        at(&self.far, port)
    }

    /// As [`Io::far`].
    #[inline]
    pub fn far_mut(&mut self, port: PortId) -> Option<&mut Far> {
        at_mut(&mut self.far, port)
    }

    /// Begins to keep something of a far port.
    pub fn set_far(&mut self, port: PortId, far: Far) -> &mut Far {
        put_at(&mut self.far, port, far)
    }

    /// Stops keeping anything of a far port.
    pub fn take_far(&mut self, port: PortId) -> Option<Box<Far>> {
        self.far.get_mut(port.0 as usize)?.take()
    }

    /// What is kept of a port here that others may send to.
    pub fn exported(&self, port: PortId) -> Option<&Exported> {
        at(&self.exported, port)
    }

    /// As [`Io::exported`].
    pub fn exported_mut(&mut self, port: PortId) -> Option<&mut Exported> {
        at_mut(&mut self.exported, port)
    }

    /// Begins to keep something of a port here.
    pub fn set_exported(&mut self, port: PortId, exported: Exported) -> &mut Exported {
        put_at(&mut self.exported, port, exported)
    }

    /// Stops keeping anything of a port here.
    pub fn take_exported(&mut self, port: PortId) -> Option<Box<Exported>> {
        self.exported.get_mut(port.0 as usize)?.take()
    }
}

impl Inner {
    /// Carries out what the state left to do. To be called before the lock is released.
    #[inline]
    pub fn settle(&mut self) {
        if self.is_unsettled() {
            self.run_effects();
        }
    }

    /// Whether there is anything to carry out.
    #[inline]
    pub fn is_unsettled(&self) -> bool {
        !self.state.effects.is_empty() || !self.io.stirred.is_empty()
    }

    #[cold]
    fn run_effects(&mut self) {
        self.io.shortcuts.forget();
        loop {
            while let Some(effect) = self.state.effects.pop_front() {
                self.carry_out(effect);
            }
            let Some(line) = self.io.stirred.pop() else { return };
            self.tidy_line(line);
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Arrived(port) => self.wake_receiver(port),
            Effect::Room(port) => self.wake_senders(port),
            Effect::Transmit(message) => self.transmit_unasked(message),
            Effect::Forgotten(port) => self.forget(port),
            Effect::OnceDropped(once) => self.drop_once(once),
            Effect::Died(port) => self.unexport_dead(port),
            Effect::Changed(port) => self.wake_all_of(port),
            Effect::SetGone(set) => self.wake_all_of_set(set),
            Effect::WatchSenders(port) => self.watch_senders(port),
            Effect::WatchDeath(port) => self.watch_death(port),
            Effect::WatchOnce(once) => self.watch_once(once),
            Effect::Taken(origin) => self.give_credit(origin),
            Effect::Adopted(port) => self.accept_first(port),
        }
    }

    /// No right here refers to the port any more, which is far or dead.
    fn forget(&mut self, port: PortId) {
        // It may have been said twice, and done the first time.
        let Some(it) = self.state.ports.get(port.0 as usize) else { return };
        if it.srights > 0 || it.sorights > 0 || !it.names.is_empty() {
            return;
        }
        match it.home {
            Home::Here(_) => {}
            Home::Dead => {
                self.leave_routes(port);
                let Some(it) = self.state.ports.get(port.0 as usize) else { return };
                if it.srights == 0 && it.sorights == 0 && it.names.is_empty() {
                    self.drop_far(port);
                    self.state.free_port(port);
                }
            }
            Home::Far => self.release_far(port),
        }
    }

    /// A far port died: takes what was not accepted back from the lines that led to it, before its number is another's.
    fn leave_routes(&mut self, port: PortId) {
        while let Some(route) = self.io.far(port).and_then(|far| far.routes.first().copied()) {
            if let Some(far) = self.io.far_mut(port) {
                far.routes.remove(0);
            }
            if !self.look_at_gate(route.line, route.slot) {
                // Nobody closed the gate: the other end is ending, with everything on the line.
                self.end_line(route.line);
            }
        }
    }

    /// Gives up the ways to a far port without rights. What a line told of it is kept as long as
    /// the line lasts, for the next right.
    fn release_far(&mut self, port: PortId) {
        let Io { far, lines, stirred, .. } = &mut self.io;
        let Some(far) = at_mut(far, port) else { return self.state.free_port(port) };
        far.t = None;
        for route in &mut far.routes {
            if let Some(line) = lines.get_mut(route.line as usize) {
                line.release_route(route);
                stir(stirred, route.line);
            }
        }
        far.routes.retain(|route| lines.get(route.line as usize).is_some_and(|line| line.keeps(route.slot)));
        let kept = !far.routes.is_empty();
        let stranded = std::mem::take(&mut far.stranded);
        stranded.into_iter().for_each(|message| self.state.destroy_message(message));
        if !kept {
            self.drop_far(port);
            self.state.free_port(port);
        }
    }

    /// Forgets the kernel objects of a far port.
    pub(crate) fn drop_far(&mut self, port: PortId) {
        if let Some(far) = self.io.take_far(port) {
            // It may be on its way to others.
            far.s.iter().for_each(|s| self.unlisten(s));
            self.io.identities.remove(&far.identity);
            for message in far.stranded {
                self.state.destroy_message(message);
            }
        }
    }

    /// A far send-once right was dropped unused.
    fn drop_once(&mut self, once: FarOnce) {
        match self.io.onces.try_remove(once.0 as usize) {
            Some(Once::Token { line, token }) => self.drop_token(line, token),
            // Its receiving end hangs up, and tells the port.
            Some(Once::Socket(_) | Once::Dead) | None => {}
        }
    }

    /// A port that was here is dead: everybody who could send to it learns of it.
    fn unexport_dead(&mut self, port: PortId) {
        self.close_slots(port, line::GATE_DEAD);
        if let Some(exported) = self.io.take_exported(port) {
            self.io.identities.remove(&exported.identity);
        }
        let ends: Vec<usize> = self.io.once_ends.iter().filter(|(_, end)| end.port == port).map(|(id, _)| id).collect();
        for id in ends {
            self.io.once_ends.remove(id);
            self.state.drop_soright(port);
        }
        self.drop_tokens_of(port);
        self.forget_if_unused(port);
    }

    fn forget_if_unused(&mut self, port: PortId) {
        if self.state.ports.get(port.0 as usize).is_some_and(|it| it.is_dead()) {
            self.forget(port);
        }
    }
}
