//! Carrying out what the state leaves to do.

use super::Inner;
use crate::{
    line::Line,
    routes::{
        Deferred,
        send::{Refused, Unsent},
    },
    state::{Effect, LineId, PortId, message::Message, port::Kernel},
    waiting::For,
};

impl Inner {
    /// Carries out what is left to do. To be called before the lock is released.
    #[inline]
    pub fn settle(&mut self) {
        if self.is_unsettled() {
            self.run_effects();
        }
        if self.ledger.was_refused() {
            self.retry_refused();
        }
    }

    /// Tries records again whose descriptors the kernel would not queue. No bell tells when it would.
    #[cold]
    fn retry_refused(&mut self) {
        let waits = |line: &Line| !line.backlog.is_empty() || line.area.is_some();
        let waiting = self.lines.iter().filter(|(_, line)| waits(line)).map(|(number, _)| number);
        let waiting: Vec<LineId> = waiting.collect();
        waiting.into_iter().for_each(|number| self.retry_later(Deferred::Stir(number)));
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

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Arrived(port) => self.has_arrived(port),
            Effect::NotFull(port) => self.wake_where(|what| *what == For::NotFull(port)),
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

    /// A message has come to a port.
    fn has_arrived(&mut self, port: PortId) {
        let Self { routes, served, .. } = self;
        match routes.state.ports.get(port.0 as usize).and_then(|it| it.local()).map(|local| local.kernel) {
            None | Some(Kernel::No) => self.wake_receiver(port),
            Some(Kernel::Task(_) | Kernel::Thread(_)) if served.pass_on(&mut routes.state, port).is_some() => {}
            Some(_) => {
                while let Some(message) = routes.state.dequeue(port) {
                    routes.answer(message);
                }
            }
        }
    }

    /// Sends a message whose rights are already out of their space: see [`Routes::send`](crate::routes::Routes::send).
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
}
