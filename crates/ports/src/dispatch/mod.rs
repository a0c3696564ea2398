//! What arrives: records of lines, requests of ports, news of the watcher. It is taken to the routes below, and what these and the
//! state leave to do is done.
//!
//! [`records`] takes records off lines; `once` messages off the sockets of send-once rights; [`news`] is what the watcher hears;
//! `hot` the lines that receivers look at; `lost` descriptors that the program closed; `spare` receive rights that come back; [`shortcuts`] what the last names led to.

mod hot;
mod lost;
pub mod news;
mod once;
pub mod records;
pub mod shortcuts;
mod spare;

use crate::{
    routes::{
        Routes, Upcall,
        send::{Refused, Unsent},
    },
    state::{Effect, Home, LineId, PortId, SetId, message::Message},
    waiting::{For, Waiting},
};
use shortcuts::Shortcuts;
use std::ops::{Deref, DerefMut};

/// Everything that a process knows of Mach, its connections, and its waiting threads. One lock guards it; no thread sleeps with it held.
#[derive(Debug, Default)]
pub struct Inner {
    /// Ports, lines, and the ways between processes.
    pub routes: Routes,
    /// The threads that wait.
    pub waiting: Waiting,
    /// Messages received by this process.
    pub received: u64,
    /// Where the last messages went and came from.
    pub shortcuts: Shortcuts,
    /// A receiver has kept the lock for long, and there is more on a line.
    pub crowded: bool,
}

impl Deref for Inner {
    type Target = Routes;
    #[inline(always)]
    fn deref(&self) -> &Routes {
        &self.routes
    }
}

impl DerefMut for Inner {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Routes {
        &mut self.routes
    }
}

impl Inner {
    /// Carries out what is left to do. To be called before the lock is released.
    #[inline]
    pub fn settle(&mut self) {
        if self.is_unsettled() {
            self.run_effects();
        }
    }

    #[cold]
    fn run_effects(&mut self) {
        self.shortcuts.forget();
        loop {
            self.make_upcalls();
            if let Some(effect) = self.state.effects.pop_front() {
                self.carry_out(effect);
            } else if let Some(line) = self.stirred.pop() {
                self.retire_line(line);
            } else if self.upcalls.is_empty() {
                return;
            }
        }
    }

    /// Does what the routes leave to this layer.
    pub(crate) fn make_upcalls(&mut self) {
        while let Some(upcall) = self.upcalls.pop_front() {
            match upcall {
                Upcall::Stir(line) => self.line_stirs(line),
                Upcall::Heat(line) => self.heat(line),
                Upcall::Room(line) => self.wake_line_senders(line),
                Upcall::End(line) => self.end_line(line),
                Upcall::Gate(line, slot) => drop(self.look_at_gate(line, slot)),
                Upcall::Close(line, slot) => self.gate_closed(line, slot, false),
                Upcall::PutBack(port, messages) => self.put_back(port, messages),
            }
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Arrived(port) => self.wake_receiver(port),
            Effect::Room(port) => self.wake_where(|what| *what == For::Room(port)),
            Effect::Transmit(message) => self.transmit(message),
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

    /// Sends a message whose rights are already out of their space: see [`Routes::send`].
    ///
    /// # Errors
    /// There is no room for it.
    pub(crate) fn send(&mut self, mut message: Box<Message>) -> Result<(), Refused> {
        loop {
            let sent = self.routes.send(message);
            self.make_upcalls();
            match sent {
                Ok(()) => return Ok(()),
                Err(Unsent::Again(again)) => message = again,
                Err(Unsent::Refused(refused)) => return Err(refused),
            }
        }
    }

    /// Sends a message that was made here and that no thread waits for.
    fn transmit(&mut self, message: Box<Message>) {
        match self.send(message) {
            Ok(()) | Err(Refused::Resources) => {}
            Err(Refused::Line(line, _, message)) => self.send_later(line, message),
            Err(Refused::Queue(_, message) | Refused::Socket(_, message)) => self.state.destroy_message(message),
        }
    }

    /// The other end of a line is gone, or broke the rules: what it sent before is taken, and the line closed.
    pub(crate) fn end_line(&mut self, id: LineId) {
        let Some(line) = self.routes.lines.get_mut(id) else { return };
        line.ended = true;
        if !std::mem::replace(&mut line.drained, true) {
            // What lies in the ring was sent while the sender lived.
            self.pump(id);
        }
        self.waiting.forget_hot(id);
        if let Some(line) = self.lines.get(id) {
            // Threads of this process sleep on the line's own words.
            line.segment.rx.rouse_reader();
            self.waiting.wake_leader(&self.routes.lines);
            self.wake_line_senders(id);
        }
        self.take_down(id);
    }

    /// Picks what a thread waits for that gets messages of the port.
    fn receivers_of(&self, port: PortId) -> impl Fn(&For) -> bool + use<> {
        let set = self.state.ports.get(port.0 as usize).and_then(|it| it.local()?.set);
        move |what| *what == For::Port(port) || set.is_some_and(|set| *what == For::Set(set))
    }

    /// Wakes a thread that waits for messages at the port.
    fn wake_receiver(&mut self, port: PortId) {
        let of = self.receivers_of(port);
        self.waiting.wake_one(&self.routes.lines, of);
    }

    /// Wakes all threads that wait on the port in any way.
    fn wake_all_of(&mut self, port: PortId) {
        let receives = self.receivers_of(port);
        self.wake_where(|what| *what == For::Room(port) || receives(what));
        self.waiting.tell_pollers(receives);
        // What polls finds no receive right then. Its number may become another port's.
        if !self.state.ports.get(port.0 as usize).is_some_and(|it| matches!(it.home, Home::Here(_))) {
            self.waiting.pollables.retain(|pollable| pollable.what != For::Port(port));
        }
    }

    /// Wakes all threads that wait on the set, which is gone.
    fn wake_all_of_set(&mut self, set: SetId) {
        self.wake_where(|what| *what == For::Set(set));
        self.waiting.pollables.retain(|pollable| pollable.what != For::Set(set));
    }

    /// Wakes senders that wait for room on the line.
    fn wake_line_senders(&self, id: LineId) {
        self.wake_where(|what| *what == For::Line(id));
    }

    /// Wakes threads that wait for the end of a call in a turn.
    pub(crate) fn wake_turn(&self, key: usize) {
        self.wake_where(|what| *what == For::Turn(key));
    }

    fn wake_where(&self, of: impl Fn(&For) -> bool) {
        self.waiting.wake_where(&self.routes.lines, of);
    }
}
