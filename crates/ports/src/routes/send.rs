//! Sending: to a queue here, over a line, or into a socket. Finds a route to a remote port.

use super::{Once, Route, Routes, Trust, write::space_for};
use crate::{
    abi,
    line::{NO_SLOT, Stall},
    objects,
    state::{Effect, Home, LineId, PortId, RemoteSendOnce, Right, message::Message, port::Kernel},
    wire::kind,
};
use rustix::io::Errno;
use std::os::fd::AsFd;

/// Why a message could not be sent at once: whose queue or line has no room.
#[derive(Debug)]
pub enum Refused {
    /// The queue of a port here is full.
    Queue(PortId, Box<Message>),
    /// The queue of a remote port at the slot is full, or the line to it.
    Line(LineId, u32, Box<Message>),
    /// There is no line to the port yet, and its socket has no room; or its owner was asked for one that leads there.
    Socket(PortId, Box<Message>),
    /// A resource ran out; the message is destroyed.
    Resources,
}

/// Why a message was not sent.
#[derive(Debug)]
pub enum Unsent {
    /// The line that it was to go over turned out to be broken. When the upcalls are made there may be another route.
    Again(Box<Message>),
    /// There is no room for it.
    Refused(Refused),
}

impl From<Refused> for Unsent {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl Routes {
    /// Sends a message whose rights are already out of their space. On success it is on its way, or its port
    /// is dead and it is destroyed.
    ///
    /// # Errors
    /// There is no room for it, or no route yet.
    pub fn send(&mut self, message: Box<Message>) -> Result<(), Unsent> {
        match message.dest {
            Right::Send(port) => match &self.state.port(port).home {
                Home::Here(local) if !matches!(local.kernel, Kernel::No | Kernel::Task(_) | Kernel::Thread(_)) => {
                    self.answer(message)
                }
                Home::Here(local) if local.queue.len() as u32 >= local.qlimit => return Err(Refused::Queue(port, message).into()),
                Home::Here(_) => self.state.enqueue(port, message),
                Home::Remote => return self.send_remote(port, message),
                Home::Dead => self.state.destroy_message(message),
            },
            Right::SendOnce(port) => match &self.state.port(port).home {
                Home::Here(_) => self.state.enqueue(port, message),
                _ => self.state.destroy_message(message),
            },
            Right::RemoteSendOnce(once) => return Ok(self.send_remote_send_once(once, message)?),
            Right::Null | Right::Dead | Right::Receive(_) => self.state.destroy_message(message),
        }
        Ok(())
    }

    /// The library's own answer to a message for a port that it serves, which knows no such request.
    pub(crate) fn answer(&mut self, mut message: Box<Message>) {
        let reply = std::mem::take(&mut message.reply);
        let id = message.id.wrapping_add(100);
        self.state.destroy_message(message);
        if matches!(reply, Right::Null | Right::Dead) {
            return self.state.destroy_right(reply);
        }
        let mut body = crate::state::notify::type_word(abi::types::INTEGER_32, 32, 1).to_le_bytes().to_vec();
        body.extend(u64::from(abi::Code::MIG_BAD_ID.0 as u32).to_le_bytes());
        let answer = Message {
            id,
            complex: false,
            dest: reply,
            reply: Right::Null,
            body,
            short: false,
            sender: Default::default(),
            items: Default::default(),
            origin: None,
            charge: Default::default(),
        };
        self.state.effect(Effect::Transmit(Box::new(answer)));
    }

    /// The line and slot to send to a remote port over, made if need be.
    pub(crate) fn route(&mut self, port: PortId) -> Result<(LineId, u32), Errno> {
        match self.remote(port).and_then(|remote| remote.route()) {
            Some(route) => Ok((route.line, route.slot)),
            None => self.find_way(port),
        }
    }

    fn send_remote(&mut self, port: PortId, message: Box<Message>) -> Result<(), Unsent> {
        loop {
            if !matches!(self.state.port(port).home, Home::Remote) {
                // It died, or its receive right came here, while this looked for a route.
                return self.send(message);
            }
            let (number, slot) = match self.route(port) {
                Ok(route) => route,
                Err(Errno::WOULDBLOCK) if !matches!(self.state.port(port).home, Home::Remote) => continue,
                Err(Errno::WOULDBLOCK) => return Err(Refused::Socket(port, message).into()),
                // Also if the program has closed the sending end.
                Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN | Errno::CONNREFUSED | Errno::BADF) => {
                    self.state.remote_port_died(port);
                    continue;
                }
                Err(_) => {
                    self.state.destroy_message(message);
                    return Err(Refused::Resources.into());
                }
            };
            if self.look_at_gate(number, slot) {
                continue;
            }
            let Some(line) = self.lines.get_mut(number) else {
                self.lose_route(port, number);
                continue;
            };
            let (len, fds) = space_for(&message);
            match line.credit(slot).and_then(|()| line.check_space(len, fds)) {
                Ok(()) => {}
                Err(Stall::Broken) => {
                    // The owner may have closed the slot just now.
                    if self.look_at_gate(number, slot) {
                        continue;
                    }
                    self.break_line(number);
                    return Err(Unsent::Again(message));
                }
                Err(_) => return Err(Refused::Line(number, slot, message).into()),
            }
            return Ok(written(self.write_message(number, kind::MESSAGE, slot, message))?);
        }
    }

    fn send_remote_send_once(&mut self, once: RemoteSendOnce, message: Box<Message>) -> Result<(), Refused> {
        let (len, fds) = space_for(&message);
        match self.onces.get(once.0 as usize) {
            Some(Once::Token { line: number, token }) => {
                let (number, token) = (*number, *token);
                if let Some(line) = self.lines.get_mut(number) {
                    match line.check_space_for_answer(len, fds) {
                        Ok(()) => {
                            line.held.remove(&token);
                            self.onces.remove(once.0 as usize);
                            let message = Box::new(Message { dest: Right::Null, ..*message });
                            let sent = self.write_message(number, kind::ONCE, token, message);
                            if matches!(sent, Err(Stall::Short)) {
                                // Never used.
                                self.drop_token(number, token);
                            }
                            self.stirred.push(number);
                            return written(sent);
                        }
                        Err(Stall::Broken) => self.break_line(number),
                        Err(_) => return Err(Refused::Line(number, NO_SLOT, message)),
                    }
                }
                self.state.destroy_message(message);
            }
            Some(Once::Socket(_)) => {
                let Some(Once::Socket(socket)) = self.onces.try_remove(once.0 as usize) else { return Ok(()) };
                if let Some(port) = self.leads_to_itself(&socket, &message) {
                    self.state.enqueue(port, Box::new(Message { dest: Right::SendOnce(port), ..*message }));
                    return Ok(());
                }
                self.send_to_socket(&socket, Box::new(Message { dest: Right::Null, ..*message }));
            }
            Some(Once::Dead) | None => self.state.destroy_message(message),
        }
        Ok(())
    }

    /// A route to a port none of whose routes is known to lead there: asks its owner, takes note of the answer, or attaches.
    /// `WOULDBLOCK` while there is no answer yet, or the port is not remote any more.
    pub(crate) fn find_way(&mut self, port: PortId) -> Result<(LineId, u32), Errno> {
        loop {
            if !matches!(self.state.port(port).home, Home::Remote) {
                return Err(Errno::WOULDBLOCK);
            }
            let remote = self.remote_mut(port).ok_or(Errno::NOTCONN)?;
            if let Some(route) = remote.open_route().map(Route::line_and_slot) {
                self.send_stranded(port);
                return Ok(route);
            }
            let contested = remote.routes.iter().find(|route| route.trust == Trust::Contested);
            let Some((number, slot)) = contested.map(|route| (route.line, route.slot)) else {
                remote.question = None;
                let route = self.attach(port)?;
                self.send_stranded(port);
                return Ok(route);
            };
            match remote.question.take_if(|question| question.about == (number, slot)) {
                None => {
                    remote.question = None;
                    if !self.look_at_gate(number, slot) {
                        self.ask(port, number, slot)?;
                        return Err(Errno::WOULDBLOCK);
                    }
                }
                Some(question) => {
                    let mut byte = [0; 1];
                    let answer = objects::receive(question.socket.as_fd(), &mut byte, &mut Vec::new());
                    if answer == Err(Errno::WOULDBLOCK) {
                        remote.question = Some(question);
                        return Err(Errno::WOULDBLOCK);
                    }
                    let yes = answer == Ok(1) && byte[0] == 1;
                    // A port that moved closed the gate first, and what it did not accept comes before all else.
                    if yes || !self.look_at_gate(number, slot) {
                        self.settle_trust(port, number, slot, if yes { Trust::Proven } else { Trust::Denied });
                    }
                }
            }
        }
    }

    fn settle_trust(&mut self, port: PortId, number: LineId, slot: u32, trust: Trust) {
        let Some(remote) = self.remote_mut(port) else { return };
        for route in remote.routes.iter_mut().filter(|route| (route.line, route.slot) == (number, slot)) {
            route.trust = trust;
        }
    }
}

/// What a write came to for the message: one whose line turned out to be lost went to a dead port.
fn written(result: Result<(), Stall>) -> Result<(), Refused> {
    match result {
        Ok(()) | Err(Stall::Broken) => Ok(()),
        Err(_) => Err(Refused::Resources),
    }
}
