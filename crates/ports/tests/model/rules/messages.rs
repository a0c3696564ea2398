//! Messages sent and received.

use super::*;
use crate::ops::{Got, Outcome, Send};
use slipway_ports::abi::types;

impl Model {
    /// Sends a message that waits for no room. `outcome` is what the subject did.
    ///
    /// A wrong destination or reply changes nothing. A wrong right in the body destroys what was taken before it.
    pub fn send(&mut self, task: usize, send: &Send, outcome: &Outcome) -> Check {
        let port = match self.destination(task, send) {
            Ok(port) => port,
            Err(code) => return same("the code", outcome.code, code),
        };
        let once = matches!(send.dest.1, types::MOVE_SEND_ONCE | types::MAKE_SEND_ONCE);
        if !self.apart && !once && self.is_full(port) {
            return same("the code", outcome.code, Code::SEND_TIMED_OUT);
        }
        let received_here = self.tasks[task].names.values().any(|entry| entry.receive && entry.port == Some(port));
        let dest = self.take(task, send.dest.0, send.dest.1).expect("it was looked at");
        let reply = self.take(task, send.reply.0, send.reply.1).expect("it was looked at");
        let sender = (self.apart && !once).then(|| (task, self.ports[&port].moves));
        let mut message = Message { id: send.id, dest, reply, rights: Vec::new(), word: Some(send.word), sender };
        for (name, disposition) in &send.rights {
            match self.take(task, *name, *disposition) {
                Ok(right) => message.rights.push(right),
                Err(_) => {
                    self.destroy_message(message);
                    return same("the code", outcome.code, Code::SEND_INVALID_RIGHT);
                }
            }
        }
        if self.apart && !once && self.is_full(port) {
            // The limit counts for each sending process by itself, and at the owner's for all that waits there.
            if outcome.code == Code::SEND_TIMED_OUT {
                return self.take_back(task, &message, outcome);
            }
            let it = &self.ports[&port];
            let own = it.queue.iter().filter(|other| other.sender == sender).count();
            // A new line has the default limit until the owner has heard of it.
            if received_here || own >= it.qlimit.max(abi::QLIMIT_DEFAULT) as usize {
                return Err(format!("sent though the queue is full, with {own} messages of this task: {}", outcome.code));
            }
        }
        same("the code", outcome.code, Code::SUCCESS)?;
        self.deliver(port, message);
        Ok(())
    }

    /// The port that a message would go to, if its header is right.
    fn destination(&self, task: usize, send: &Send) -> Result<PortNo, Code> {
        if self.tasks[task].dead {
            return Err(Code::INVALID_TASK);
        }
        let dest = match self.tasks[task].names.get(&send.dest.0) {
            Some(entry) if self.can_take(entry, send.dest.1) => entry.port,
            _ => None,
        };
        let port = dest.ok_or(Code::SEND_INVALID_DEST)?;
        let reply_fits = match self.tasks[task].names.get(&send.reply.0) {
            Some(entry) => self.can_take(entry, send.reply.1),
            None => matches!(send.reply.0, abi::NULL | abi::DEAD),
        };
        if !reply_fits || send.reply.1 == types::MOVE_RECEIVE { Err(Code::SEND_INVALID_REPLY) } else { Ok(port) }
    }

    /// A message that found no room comes back, as if its sender had received it.
    fn take_back(&mut self, task: usize, message: &Message, outcome: &Outcome) -> Check {
        let got = outcome.got.as_ref().ok_or("nothing came back")?;
        same("the number of rights that came back", got.rights.len(), message.rights.len())?;
        self.put(task, message.dest, got.from)?;
        self.put(task, message.reply, got.reply)?;
        message.rights.iter().zip(&got.rights).try_for_each(|(right, told)| self.put(task, *right, told.0))
    }

    fn is_full(&self, port: PortNo) -> bool {
        self.ports[&port].queue.len() >= self.ports[&port].qlimit as usize
    }

    /// Whether a name has what a disposition takes.
    pub fn can_take(&self, entry: &Entry, disposition: u32) -> bool {
        match disposition {
            types::MAKE_SEND | types::MAKE_SEND_ONCE | types::MOVE_RECEIVE => entry.receive,
            types::COPY_SEND | types::MOVE_SEND => entry.send > 0 || entry.dead > 0,
            types::MOVE_SEND_ONCE => entry.once || entry.dead > 0,
            _ => false,
        }
    }

    /// Receives from a port or set, without waiting. `outcome` is what the subject did.
    pub fn receive(&mut self, task: usize, name: u32, outcome: &Outcome) -> Check {
        let entry = match self.entry(task, name) {
            Ok(entry) => entry.clone(),
            Err(Code::INVALID_TASK) => return same("receive", outcome.code, Code::INVALID_TASK),
            Err(_) => return same("receive", outcome.code, Code::RCV_INVALID_NAME),
        };
        let port = match (entry.set, entry.port) {
            (Some(set), _) => return self.receive_from_set(task, set, outcome),
            (None, Some(port)) if entry.receive => port,
            _ => return same("receive", outcome.code, Code::RCV_INVALID_NAME),
        };
        if self.ports[&port].set.is_some() {
            return same("receive", outcome.code, Code::RCV_IN_SET);
        }
        if self.ports[&port].queue.is_empty() {
            return same("receive", outcome.code, Code::RCV_TIMED_OUT);
        }
        same("receive", outcome.code, Code::SUCCESS)?;
        self.receive_from(task, port, outcome.got.as_ref().ok_or("nothing was received")?)
    }

    fn receive_from_set(&mut self, task: usize, set: SetNo, outcome: &Outcome) -> Check {
        let ready: Vec<PortNo> =
            self.ports.iter().filter(|(_, it)| it.set == Some(set) && !it.queue.is_empty()).map(|(number, _)| *number).collect();
        if ready.is_empty() {
            return same("receive from a set", outcome.code, Code::RCV_TIMED_OUT);
        }
        same("receive from a set", outcome.code, Code::SUCCESS)?;
        let got = outcome.got.as_ref().ok_or("nothing was received")?;
        let port = self.receive_right(task, got.from).map_err(|code| format!("received from {:#x}: {code}", got.from))?;
        if !ready.contains(&port) {
            return Err(format!("received from {:#x}, which has no message or is no member", got.from));
        }
        let members = self.ports.values().filter(|it| it.set == Some(set)).count();
        for other in ready {
            let it = self.port(other);
            it.passed_over = if other == port { 0 } else { it.passed_over + 1 };
            if it.passed_over > members {
                return Err(format!("of {members} members, one with a message was passed over {} times", it.passed_over));
            }
        }
        self.receive_from(task, port, got)
    }

    fn receive_from(&mut self, task: usize, port: PortNo, got: &Got) -> Check {
        let it = self.port(port);
        let message = it.queue.pop_front().expect("it isn't empty");
        let seqno = it.seqno;
        it.seqno += 1;
        same("msgh_id", got.id, message.id)?;
        same("msgh_seqno", got.seqno, seqno)?;
        same("the word of the message", got.word, message.word)?;
        same("the number of rights", got.rights.len(), message.rights.len())?;
        let name =
            self.tasks[task].names.iter().find(|(_, entry)| entry.port == Some(port) && entry.receive).map(|(name, _)| *name);
        same("the port that was received from", Some(got.from), name)?;
        // The rights are all there still while the first of them arrive.
        self.hand.extend([message.dest].iter().chain(&message.rights));
        self.put(task, message.reply, got.reply)?;
        self.hand.pop_front();
        if let Right::Send(port) = message.dest {
            self.sender_gone(port);
        }
        for (right, told) in message.rights.iter().zip(&got.rights) {
            self.hand.pop_front();
            self.put(task, *right, told.0)?;
            if !self.apart || !matches!(right, Right::Null | Right::Dead) {
                same("the type of a right", told.1, received_type(*right))?;
            }
        }
        Ok(())
    }
}

/// The type that a receiver sees.
fn received_type(right: Right) -> u32 {
    match right {
        Right::Once(_) => types::PORT_SEND_ONCE,
        Right::Receive(_) => types::PORT_RECEIVE,
        _ => types::PORT_SEND,
    }
}
