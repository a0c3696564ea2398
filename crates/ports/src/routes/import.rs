//! A parsed message on its way into this process: what its rights lead to.
//!
//! There are three ends of a parsed message. Its reader takes it in; its writer takes it back, when the port that it
//! was sent to moved before it was read; and a reader drops one whose writer has taken it back.

use super::{Routes, Upcall, corrupt};
use crate::{
    line::ends::Ends,
    objects::Arrived,
    state::{
        Home, LineId, PortId, RemoteSendOnce, Right,
        message::{Item, Message, Sender},
    },
    wire::{
        luggage,
        parse::{Parsed, ParsedEnds, ParsedItem, ParsedMessage, ParsedReceive, ParsedRight},
    },
};
use slipway_fabric::{Corrupt, descriptor::Reserved};
use std::sync::Arc;

/// Whose view the numbers of a parsed message are taken in, and on which line.
#[derive(Debug, Clone, Copy)]
pub enum View {
    /// The reader's, on a line.
    Reader(LineId),
    /// The writer's own, on a line.
    Writer(LineId),
    /// On no line: there are no numbers.
    Loose,
}

impl Routes {
    /// Takes in what came of a record. None if it was lost on the way, or is more than its sender may leave unreceived. The message's `dest` is left to the caller.
    ///
    /// # Errors
    /// A number that the peer was not given. Nothing of the message is left then.
    pub(crate) fn import(&mut self, view: View, parsed: Parsed) -> Result<Option<Box<Message>>, Corrupt> {
        match parsed {
            Parsed::Whole(parsed) if parsed.bundle.is_some() && matches!(view, View::Loose) => Err(corrupt()),
            Parsed::Whole(mut parsed) => {
                self.begin_bundle(if let View::Reader(line) = view { Some(line) } else { None }, parsed.bundle.take())?;
                let message = self.import_message(view, parsed);
                self.end_bundle();
                message
            }
            Parsed::Lost(reply) => {
                if let View::Reader(line) = view {
                    self.note_lost_promises(line);
                }
                // The task that waits for an answer is told that there will be none.
                let reply = self.import_right(view, reply)?;
                self.state.destroy_right(reply);
                Ok(None)
            }
        }
    }

    fn import_message(&mut self, view: View, parsed: ParsedMessage) -> Result<Option<Box<Message>>, Corrupt> {
        let ParsedMessage { id, complex, reply, body, short, items, charge, .. } = parsed;
        let reply = self.import_right(view, reply)?;
        let items_len = items.len();
        let mut message = Box::new(Message {
            id,
            complex,
            dest: Right::Null,
            reply,
            body,
            short,
            sender: self.sender(view),
            items: smallvec::SmallVec::new(),
            origin: None,
            charge: Default::default(),
        });
        message.items.reserve_exact(items_len);
        for item in items {
            match self.import_item(view, item) {
                Ok(item) => message.items.push(item),
                Err(error) => {
                    self.state.destroy_message(message);
                    return Err(error);
                }
            }
        }
        let Some(charge) = charge else {
            self.state.destroy_message(message);
            return Ok(None);
        };
        message.charge = charge;
        Ok(Some(message))
    }

    /// The process that wrote what is read in a view.
    fn sender(&self, view: View) -> Sender {
        match view {
            View::Reader(line) => self.lines.get(line).map_or(Sender::UNKNOWN, |line| line.peer.sender()),
            View::Writer(_) => Sender::Own,
            View::Loose => Sender::UNKNOWN,
        }
    }

    fn import_item(&mut self, view: View, item: ParsedItem) -> Result<Item, Corrupt> {
        Ok(match item {
            ParsedItem::Ports { at, rights } => Item::Ports { at, rights: self.import_rights(view, rights)? },
            ParsedItem::PortArray { at, rights } => Item::PortArray { at, rights: self.import_rights(view, rights)? },
            ParsedItem::Memory { at, memory } => Item::Memory { at, memory },
        })
    }

    fn import_rights<C: Default + Extend<Right> + IntoIterator<Item = Right>>(
        &mut self,
        view: View,
        rights: impl IntoIterator<Item = ParsedRight>,
    ) -> Result<C, Corrupt> {
        let mut taken = C::default();
        let mut wrong = None;
        // On an error the rest are not looked at: their descriptors are closed.
        taken.extend(
            rights.into_iter().map_while(|right| self.import_right(view, right).map_err(|error| wrong = Some(error)).ok()),
        );
        match wrong {
            None => Ok(taken),
            Some(error) => {
                taken.into_iter().for_each(|right| self.state.destroy_right(right));
                Err(error)
            }
        }
    }

    /// Turns what came into a right. A descriptor that found no place here makes it dead.
    ///
    /// # Errors
    /// A number that the peer was not given.
    pub(crate) fn import_right(&mut self, view: View, right: ParsedRight) -> Result<Right, Corrupt> {
        match right {
            ParsedRight::Null => Ok(Right::Null),
            ParsedRight::Dead => Ok(Right::Dead),
            ParsedRight::Send(pair) => pair.map_or(Ok(Right::Dead), |(s, t)| self.import_send(s, t)),
            ParsedRight::Once(socket) => Ok(socket.map_or(Right::Dead, |socket| self.import_once(socket))),
            ParsedRight::Receive(parsed) => self.import_receive(view, *parsed),
            ParsedRight::Bundled(number) => self.import_bundled(number),
            numbered => match view {
                View::Reader(line) => self.import_numbered(line, numbered),
                View::Writer(line) => Ok(self.reclaim_numbered(line, numbered)),
                View::Loose => Err(corrupt()),
            },
        }
    }

    /// A number on the line, in its reader's view.
    fn import_numbered(&mut self, id: LineId, right: ParsedRight) -> Result<Right, Corrupt> {
        match right {
            ParsedRight::LineRight(slot) => self.import_line_right(id, slot),
            ParsedRight::FirstLineRight(slot, Some(s)) => self.import_first_line_right(id, slot, s),
            ParsedRight::KeptLineRight(slot) => self.import_kept_line_right(id, slot),
            ParsedRight::FirstLineRight(slot, None) => self.import_lost_line_right(id, slot, true),
            ParsedRight::Token(token) => self.hold_token(id, token),
            ParsedRight::Back(slot) => self.import_back(id, slot),
            ParsedRight::TokenBack(token) => self.token_back(id, token).ok_or_else(corrupt),
            _ => Err(corrupt()),
        }
    }

    /// A send right to the port at a slot of this end.
    fn import_back(&mut self, id: LineId, slot: u32) -> Result<Right, Corrupt> {
        let line = self.lines.get(id).ok_or_else(corrupt)?;
        // A closed slot's port may have moved on or died, which is no fault of the writer's.
        let it = line.ins.get(slot as usize).and_then(Option::as_ref).ok_or_else(corrupt)?;
        if !it.primary && !it.closed && it.given == 0 {
            return Err(corrupt());
        }
        let port = self.port_of_in(id, slot);
        Ok(self.send_right_to(port))
    }

    /// A number on the line, in its writer's view: the right that the writer had sent. The other end may have used or given back since what it was
    /// given with a message that it never took, so the numbers stand for nothing but what that end was given.
    fn reclaim_numbered(&mut self, id: LineId, right: ParsedRight) -> Right {
        match right {
            // The other end gives back what it was given with the message that it never took; this is another right.
            ParsedRight::LineRight(slot) | ParsedRight::FirstLineRight(slot, _) | ParsedRight::KeptLineRight(slot) => {
                let line = self.lines.get(id);
                let given = line.is_some_and(|line| matches!(line.ins.get(slot as usize), Some(Some(it)) if it.given > 0));
                let port = self.port_of_in(id, slot).filter(|_| given);
                self.send_right_to(port)
            }
            ParsedRight::Back(slot) => {
                let port = self.port_of_out(id, slot);
                self.send_right_to(port)
            }
            ParsedRight::Token(token) => self.token_back(id, token).unwrap_or(Right::Dead),
            ParsedRight::TokenBack(token) => self.hold_token(id, token).unwrap_or(Right::Dead),
            _ => Right::Dead,
        }
    }

    fn import_once(&mut self, socket: Reserved) -> Right {
        Right::RemoteSendOnce(RemoteSendOnce(self.onces.insert(super::Once::Socket(Arc::new(socket))) as u32))
    }

    /// A receive right that arrived: the port is here from now on.
    fn import_receive(&mut self, view: View, parsed: ParsedReceive) -> Result<Right, Corrupt> {
        let ParsedReceive { slot, luggage, ends, watches, onces, nsrequest, pdrequest, messages } = parsed;
        self.check_promise(view, slot)?;
        let counted = slot != 0 && luggage.flags & luggage::COUNTED != 0;
        let shared = !counted || !matches!(view, View::Reader(_));
        let arrived = match ends {
            ParsedEnds::Here(r, s) => {
                drop(self.take_kept(view, slot));
                self.arrive(&luggage, r, s, shared)?
            }
            ParsedEnds::Kept => {
                let ends = self.take_kept(view, slot).ok_or_else(corrupt)?;
                self.arrive_with(&luggage, ends, Vec::new(), shared)?
            }
            ParsedEnds::Lost => {
                drop(self.take_kept(view, slot));
                None
            }
        };
        self.keep_promise(view, slot, arrived.as_ref().map(|(port, _)| *port), counted);
        let Some((port, stranded)) = arrived else {
            // The port is dead, and with it what waited there.
            let port = self.state.new_port();
            self.state.port_mut(port).home = Home::Here(super::migrate::local_of(&luggage));
            let unpacked = self.import_queue(view, port, (nsrequest, pdrequest), messages);
            self.state.destroy_right(Right::Receive(port));
            return unpacked.map(|()| Right::Dead);
        };
        self.adopt_onces(port, onces);
        if let Some(exported) = self.exported_mut(port) {
            exported.watches.extend(watches);
        }
        let unpacked = self.import_queue(view, port, (nsrequest, pdrequest), messages);
        self.arrived(port, stranded);
        match unpacked {
            Ok(()) => Ok(Right::Receive(port)),
            Err(error) => {
                self.state.destroy_right(Right::Receive(port));
                Err(error)
            }
        }
    }

    /// Whether the sender of a receive right could name the slot, if it has named one.
    fn check_promise(&self, view: View, slot: u32) -> Result<(), Corrupt> {
        let good = match view {
            _ if slot == 0 => true,
            View::Reader(line) => self.lines.get(line).is_some_and(|line| line.may_be_promised(slot)),
            View::Writer(_) => true,
            View::Loose => false,
        };
        if good { Ok(()) } else { Err(corrupt()) }
    }

    /// The ends that were kept of the slot that a receive right's sender has named.
    fn take_kept(&mut self, view: View, slot: u32) -> Option<Ends> {
        match view {
            View::Reader(line) => self.lines.get_mut(line)?.in_ends.take(slot),
            // They are the port's since then.
            View::Writer(line) => {
                let port = self.port_of_out(line, slot)?;
                let remote = self.remote_mut(port)?;
                Some(Ends { r: Some(remote.r.take()?), s: Arc::clone(remote.s.as_ref()?), identity: remote.identity })
            }
            View::Loose => None,
        }
    }

    /// What was sent over the line to the slot that a receive right's sender has named is for the port, if that is here.
    fn keep_promise(&mut self, view: View, slot: u32, port: Option<PortId>, counted: bool) {
        match view {
            _ if slot == 0 => {}
            View::Loose => {}
            // What was sent there is taken back, too.
            View::Writer(line) => self.upcall(Upcall::Close(line, slot)),
            View::Reader(line) => {
                let limit = port.and_then(|port| self.state.port(port).local()).map_or(0, |local| local.qlimit);
                if let Some(line) = self.lines.get_mut(line) {
                    line.keep_promise(slot, port, limit, counted);
                }
                if let Some(exported) = port.and_then(|port| self.exported_mut(port)) {
                    exported.slots.push((line, slot));
                }
            }
        }
    }

    /// A message was lost, and with it what it said of slots: those that turn up and that nobody has named are closed.
    fn note_lost_promises(&mut self, line: LineId) {
        if let Some(line) = self.lines.get_mut(line) {
            line.lost_promises = true;
        }
    }

    fn adopt_onces(&mut self, port: PortId, onces: Vec<Arrived>) {
        self.state.port_mut(port).sorights += onces.len() as u32;
        for socket in onces {
            match socket {
                Some(socket) => self.adopt_or_destroy(socket, port),
                None => self.state.destroy_right(Right::SendOnce(port)),
            }
        }
    }

    /// The requests and the queue of a port that has come here.
    fn import_queue(
        &mut self,
        view: View,
        port: PortId,
        (nsrequest, pdrequest): (ParsedRight, ParsedRight),
        messages: Vec<ParsedMessage>,
    ) -> Result<(), Corrupt> {
        let nsrequest = self.import_right(view, nsrequest)?;
        let pdrequest = match self.import_right(view, pdrequest) {
            Ok(right) => right,
            Err(error) => {
                self.state.destroy_right(nsrequest);
                return Err(error);
            }
        };
        let asks = nsrequest != Right::Null;
        if let Some(local) = self.state.port_mut(port).local_mut() {
            (local.nsrequest, local.pdrequest) = (nsrequest, pdrequest);
        }
        if asks {
            self.watch_senders(port);
        }
        for parsed in messages {
            let once = parsed.once;
            let Some(mut message) = self.import_message(view, parsed)? else { continue };
            let it = self.state.port_mut(port);
            if once {
                it.sorights += 1;
                message.dest = Right::SendOnce(port);
            } else {
                it.srights += 1;
                message.dest = Right::Send(port);
            }
            self.state.enqueue(port, message);
        }
        Ok(())
    }

    /// Drops a message that its sender has taken back: nothing of it is kept, but the rights that were given with it, on the
    /// line, are given back.
    ///
    /// # Errors
    /// As for [`Routes::import`].
    pub(crate) fn discard(&mut self, id: LineId, parsed: Parsed) -> Result<(), Corrupt> {
        match parsed {
            Parsed::Whole(mut parsed) => {
                self.begin_bundle(Some(id), parsed.bundle.take())?;
                self.end_bundle();
                self.discard_message(id, parsed)
            }
            Parsed::Lost(reply) => {
                self.note_lost_promises(id);
                self.discard_right(id, reply)
            }
        }
    }

    fn discard_message(&mut self, id: LineId, parsed: ParsedMessage) -> Result<(), Corrupt> {
        self.discard_right(id, parsed.reply)?;
        for item in parsed.items {
            match item {
                ParsedItem::Ports { rights, .. } => rights.into_iter().try_for_each(|right| self.discard_right(id, right))?,
                ParsedItem::PortArray { rights, .. } => rights.into_iter().try_for_each(|right| self.discard_right(id, right))?,
                ParsedItem::Memory { .. } => {}
            }
        }
        Ok(())
    }

    fn discard_right(&mut self, id: LineId, right: ParsedRight) -> Result<(), Corrupt> {
        match right {
            ParsedRight::LineRight(_) | ParsedRight::FirstLineRight(..) | ParsedRight::KeptLineRight(_) => {
                let right = self.import_numbered(id, right)?;
                self.state.destroy_right(right);
            }
            // The receive right itself has never left its sender.
            ParsedRight::Receive(parsed) => {
                let (view, counted) = (View::Reader(id), parsed.luggage.flags & luggage::COUNTED != 0);
                self.check_promise(view, parsed.slot)?;
                // The port is its sender's again, and has them.
                drop(self.take_kept(view, parsed.slot));
                self.keep_promise(view, parsed.slot, None, counted);
                self.discard_right(id, parsed.nsrequest)?;
                self.discard_right(id, parsed.pdrequest)?;
                parsed.messages.into_iter().try_for_each(|message| self.discard_message(id, message))?;
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{objects, routes::watch::Watch, wire::Luggage};
    use zerocopy::FromZeros;

    /// Its senders would wait for a port that is not listened to.
    #[test]
    fn a_receive_right_that_cannot_be_listened_to_arrives_dead() {
        let mut routes = Routes { watch: Watch::deaf(), ..Routes::default() };
        let reserved = |fd| Reserved::new(fd).expect("a descriptor");
        let (s, r) = objects::socket_pair().expect("sockets");
        let copy = reserved(s.try_clone().expect("a copy"));
        let known = routes.import_send(copy, reserved(objects::holder_pipe().expect("a pipe").1));
        let Ok(Right::Send(port)) = known else { panic!("a right") };
        let receive = ParsedReceive {
            slot: 0,
            luggage: Luggage::new_zeroed(),
            ends: ParsedEnds::Here(reserved(r), reserved(s)),
            watches: Vec::new(),
            onces: Vec::new(),
            nsrequest: ParsedRight::Null,
            pdrequest: ParsedRight::Null,
            messages: Vec::new(),
        };
        assert_eq!(routes.import_right(View::Loose, ParsedRight::Receive(Box::new(receive))), Ok(Right::Dead));
        assert!(matches!(routes.state.port(port).home, Home::Remote) && routes.exported(port).is_none());
    }
}
