//! Messages into lines and sockets, for which there is room.

use super::{
    Once, Routes, Upcall,
    export::{Encoded, PACKET},
};
use crate::{
    abi::QLIMIT_MAX,
    line::{INLINE, NO_SLOT, Stall, Token},
    objects,
    state::{
        LineId, PortId, Right, State,
        message::{Item, Message},
    },
    wire::{BUNDLE, BUNDLE_LEAST, ItemHead, Luggage, RECORD, kind, weight},
};
use std::os::fd::{AsFd, OwnedFd};
use zerocopy::IntoBytes;

impl Routes {
    /// Writes a message for a token when there is room for it.
    pub(crate) fn send_later(&mut self, number: LineId, mut message: Box<Message>) {
        // A send right's message is refused, and gives that right up.
        let Right::RemoteSendOnce(once) = message.dest else { return self.state.destroy_message(message) };
        message.dest = Right::Null;
        let Some(Once::Token { token, .. }) = self.onces.try_remove(once.0 as usize) else {
            return self.state.destroy_message(message);
        };
        let Ok(file) = reserve(&self.state, &message, INLINE) else {
            self.drop_token(number, token);
            return self.state.destroy_message(message);
        };
        let Encoded { mut record, parts, fds, remembered } = self.encode_message(Some(number), *message, file);
        (record.kind, record.target) = (kind::ONCE, token);
        if let Some(line) = self.lines.get_mut(number) {
            line.held.remove(&token);
            line.post_all(&record, [&parts.0, &parts.1], fds, remembered);
        }
    }

    /// Writes a message for which there is room. The right it is sent with is given up.
    pub(crate) fn write_message(&mut self, number: LineId, kind: u8, target: u32, message: Box<Message>) -> Result<(), Stall> {
        let Ok(file) = reserve(&self.state, &message, INLINE) else {
            self.state.destroy_message(message);
            return Err(Stall::Short);
        };
        let mut message = *message;
        let dest = std::mem::take(&mut message.dest);
        let Encoded { mut record, parts, fds, remembered } = self.encode_message(Some(number), message, file);
        (record.kind, record.target) = (kind, target);
        let slot = if kind == kind::MESSAGE { target } else { NO_SLOT };
        self.sent += 1;
        let line = self.lines.get_mut(number).ok_or(Stall::Broken)?;
        let written = line.write(&record, [&parts.0, &parts.1], slot, fds, remembered);
        if let Some(out) = line.out_slot(target).filter(|_| slot != NO_SLOT) {
            out.count.add();
        }
        self.state.destroy_right(dest);
        self.look_at_kept(number);
        match written {
            Ok(()) => {
                if slot != NO_SLOT && self.lines.get(number).is_some_and(|line| line.credit.closed(slot).is_some()) {
                    self.upcall(Upcall::Gate(number, slot));
                }
                Ok(())
            }
            Err(stall) => {
                // Some of a record's descriptors may be on their way: nothing can follow them but the rest.
                self.break_line(number);
                Err(stall)
            }
        }
    }

    /// Sends a message as the one that a send-once right's socket takes.
    pub(crate) fn send_to_socket(&mut self, socket: impl AsFd, message: Box<Message>) {
        let Ok(file) = reserve(&self.state, &message, PACKET) else { return self.state.destroy_message(message) };
        let Encoded { mut record, parts, fds, .. } = self.encode_message(None, *message, file);
        record.kind = kind::ONCE;
        let mut rest = fds.as_slice();
        while rest.len() > objects::FD_BATCH {
            let (some, more) = rest.split_at(objects::FD_BATCH);
            let some: Vec<_> = some.iter().map(AsFd::as_fd).collect();
            if objects::send(socket.as_fd(), &[&[0]], &some).is_err() {
                return;
            }
            rest = more;
        }
        let rest: Vec<_> = rest.iter().map(AsFd::as_fd).collect();
        let _ = objects::send(socket.as_fd(), &[record.as_bytes(), &parts.0, &parts.1], &rest);
        self.sent += 1;
    }

    /// A message came for a token whose port is elsewhere, or dead.
    pub(crate) fn forward_once(&mut self, token: Token, message: Box<Message>) {
        match token {
            Token::Moved(socket) => self.send_to_socket(&socket, message),
            _ => self.state.destroy_message(message),
        }
    }

    /// Writes what was on its way when an earlier line ended, if there is a route again.
    pub(crate) fn send_stranded(&mut self, port: PortId) {
        let Some(remote) = self.remote_mut(port) else { return };
        let Some((number, slot)) = remote.open_route().map(|route| route.line_and_slot()) else { return };
        let mut stranded = std::mem::take(&mut remote.stranded).into_iter();
        while self.lines.get(number).is_some_and(|line| !line.ended)
            && let Some(message) = stranded.next()
        {
            // They were within the limit before, so they are again; the ring is as large as the one they were in.
            let _ = self.write_message(number, kind::MESSAGE, slot, message);
        }
        // The line broke meanwhile.
        match self.remote_mut(port) {
            Some(remote) => remote.stranded.extend(stranded),
            None => stranded.for_each(|message| self.state.destroy_message(message)),
        }
    }

    /// Writes a message to a slot whose queue, or whose line, is full. `request` is for its acceptance.
    ///
    /// # Errors
    /// Even the owner of the slot would not take it: the message.
    pub(crate) fn write_over_limit(
        &mut self,
        id: LineId,
        slot: u32,
        message: Box<Message>,
        request: u32,
    ) -> Result<(), Box<Message>> {
        let Some(line) = self.lines.get_mut(id) else { return Err(message) };
        let Some(count) = line.out_slot(slot).filter(|out| !out.closed).map(|out| out.count) else { return Err(message) };
        if line.credit.untaken(slot, &count) > QLIMIT_MAX {
            return Err(message);
        }
        line.await_next(slot, request);
        // Whatever becomes of it, the request is answered when the line has no more to do with it.
        let _ = self.write_message(id, kind::MESSAGE, slot, message);
        self.look_at_awaited(id);
        Ok(())
    }
}

/// The memory file that the message may need if it has more than `most` bytes: while its rights can still be
/// taken back. A port that moves with nothing in its queue needs none.
fn reserve(state: &State, message: &Message, most: usize) -> std::io::Result<Option<OwnedFd>> {
    let luggage = |right: &Right| match right {
        Right::Receive(port) => state.port(*port).local().filter(|local| local.queue.is_empty()).map(|_| size_of::<Luggage>()),
        _ => Some(0),
    };
    let rights = message.items.iter().flat_map(Item::rights);
    let known = rights.map(luggage).sum::<Option<usize>>().map(|luggage| footprint_without_luggage(message).0 + luggage);
    if known.is_some_and(|bytes| bytes <= most) { Ok(None) } else { objects::memory_file(0).map(Some) }
}

/// The most bytes that a message takes after its record's head, in the ring or in a file, and whether it may need descriptors.
fn footprint(message: &Message) -> (usize, usize) {
    let (len, fds) = footprint_without_luggage(message);
    let moves = |item: &Item| item.rights().iter().any(|right| matches!(right, Right::Receive(_)));
    if message.items.iter().any(moves) { (len + INLINE, fds + usize::from(len <= INLINE)) } else { (len, fds) }
}

/// As [`footprint`], without what goes beside the codes of receive rights.
fn footprint_without_luggage(message: &Message) -> (usize, usize) {
    let (mut items, mut fds, mut rights) = (0, 0, 0);
    for item in &message.items {
        let (bytes, many) = weight(item);
        (items, fds, rights) = (items + bytes, fds + many, rights + item.rights().len());
    }
    if matches!(message.reply, Right::Send(_) | Right::RemoteSendOnce(_)) {
        fds += 1;
    }
    if rights > 0 {
        // They may go as a bundle.
        items += size_of::<ItemHead>() + rights.min(BUNDLE) * size_of::<u64>();
        fds += usize::from(rights >= BUNDLE_LEAST);
    }
    let len = message.body.len() + items;
    if len > INLINE { (len, fds + 1) } else { (len, fds) }
}

/// The free space that a message needs in a line's ring, in bytes, and how many descriptors it needs at most.
pub(crate) fn space_for(message: &Message) -> (usize, usize) {
    let (len, fds) = footprint(message);
    // What is larger goes in a file.
    (RECORD + len.min(INLINE), fds)
}
