//! Receive rights that move to another process, with their queue and their senders.
//!
//! The old owner closes the port's slots on its lines and hands over the receiving end, the waiting messages and
//! the pipes that count holders. What senders had written and the old owner not accepted stays theirs: they
//! take it back ([`View::Writer`](super::import::View)).

use super::{
    Exported, Once, Remote, Route, Routes, Upcall, corrupt,
    endpoints::{holder_pipe, once_pair},
    table::{Spare, Trust},
};
use crate::{
    line::{GONE, OutFd, ends::Ends},
    objects::{self, Request},
    state::{
        Effect, Home, LineId, PortId, RemoteSendOnce, Right,
        message::{Item, Message},
        port::Local,
    },
    wire::{Luggage, Record, kind, luggage},
};
use slipway_fabric::{
    Corrupt,
    credit::Closed,
    descriptor::{Reserved, unregister},
};
use std::{io, os::fd::AsFd, sync::Arc};

/// A port that has just become remote: what its new owner gets.
pub(super) struct Departed {
    /// Its state, with its requests and its queue.
    pub local: Local,
    /// The receiving end and the sending end; None if the new owner's slot has kept them.
    pub ends: Option<(Arc<Reserved>, Arc<Reserved>)>,
    /// The read ends of holders' pipes.
    pub watches: Vec<Arc<Reserved>>,
    /// The receiving ends of send-once rights.
    pub onces: Vec<Arc<Reserved>>,
}

/// A slot of a port that moves, and the pipe that counts the sender there.
type Parted = ((LineId, u32), Arc<Reserved>);

/// A port that has come here, and the messages that this process itself had sent to it and that were on their way nowhere.
type Arrival = (PortId, Vec<Box<Message>>);

impl Routes {
    /// Closes the slots of a port here on all lines: their senders find out at once.
    pub(crate) fn close_slots(&mut self, port: PortId, why: Closed) {
        let Some(exported) = self.exported(port) else { return };
        let identity = if why == Closed::Moved { exported.identity } else { 0 };
        for (number, slot) in exported.slots.clone() {
            let Some(line) = self.lines.get_mut(number) else { continue };
            let Some(it) = line.in_slot(slot) else { continue };
            it.closed = true;
            it.dead = why != Closed::Moved;
            it.identity = identity;
            it.port = GONE;
            let is_held = std::mem::take(&mut it.primary) || it.given > 0;
            let count = it.count;
            line.slot_of.remove(&port);
            line.credit.close(slot, &count, why);
            let waits = line.segment.rx.wake_writer();
            let look = Record { kind: kind::LOOK, target: slot, ..Record::default() };
            match why {
                Closed::Moved => {}
                _ if is_held => line.post(look, Vec::new()),
                _ => line.post_quietly(look),
            }
            if waits || why == Closed::Moved {
                line.ring_bell();
            }
        }
    }

    /// Whether no other process has heard of a port here, and no task can have its receive right back from a holder that is killed.
    pub(super) fn is_unheard_of(&self, port: PortId) -> bool {
        let local = self.state.port(port).local();
        self.exported(port).is_none()
            && self.state.port(port).sorights == 0
            && local.is_some_and(|local| local.pdrequest == Right::Null)
    }

    /// As [`Routes::depart`], of a port that is [unheard of](Self::is_unheard_of), over a line at a slot that has kept its ends. None if it has not.
    pub(super) fn depart_with_kept(&mut self, port: PortId, (number, slot): (LineId, u32)) -> Option<Departed> {
        let kept = self.lines.get_mut(number)?.out_ends.take(slot)?;
        let Ends { r, s, identity } = Some(kept).filter(|ends| !self.is_known(ends.identity))?;
        let it = self.state.port_mut(port);
        let Home::Here(local) = std::mem::replace(&mut it.home, Home::Remote) else { return None };
        self.set_remote(port, Remote { s: Some(s), identity, r, ..Remote::default() });
        self.identities.insert(identity, port);
        Some(Departed { local, ends: None, watches: Vec::new(), onces: Vec::new() })
    }

    /// Parts a port here from its receive right, which is about to travel. The port is remote from here on. `fits` tells
    /// whether so many descriptors can go with the record; `counted`, that this process's rights are counted by the slot that the right goes
    /// to, and no other process has heard of the port.
    ///
    /// # Errors
    /// There are not enough descriptors. The port is still here then, but others may have been told that it moves.
    pub(super) fn depart(&mut self, port: PortId, counted: bool, fits: impl Fn(usize) -> bool) -> io::Result<Departed> {
        self.export(port)?;
        let known = self.exported(port).map_or(0, |exported| exported.watches.len() + exported.slots.len());
        if !fits(4 + known + self.state.port(port).sorights as usize) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let (mut watches, mut onces) = (Vec::new(), Vec::new());
        let mut parted = self.part_from_senders(port, &mut watches, &mut onces)?;
        let has_own = self.state.port(port).srights > 0 && !counted;
        let mut own = if has_own { Some(holder_pipe(&mut watches)?) } else { None };
        let slots = self.exported(port).map(|exported| exported.slots.clone()).unwrap_or_default();
        self.close_slots(port, Closed::Moved);
        let unread = self.unread_slots(&slots);
        if !unread.is_empty() && own.is_none() {
            own = holder_pipe(&mut watches).ok();
        }
        // Their senders may have given their rights up since. They hold the port until they have taken back what lies there.
        for at in &unread {
            if !parted.iter().any(|(known, _)| known == at) {
                parted.extend(holder_pipe(&mut watches).map(|write| (*at, write)));
            }
        }
        self.tell_moved(parted);
        let Exported { r, s, identity, watches: theirs, .. } = *self.take_exported(port).ok_or(io::ErrorKind::NotFound)?;
        let ends = self.take_once_ends(port);
        // The new owner's copies would keep these in the watcher's set.
        unregister(&*r);
        theirs.iter().chain(ends.iter().map(|end| &end.socket)).for_each(unregister);
        onces.extend(ends.into_iter().map(|end| Arc::new(end.socket)));
        watches.extend(theirs.into_iter().map(Arc::new));
        let it = self.state.port_mut(port);
        it.sorights = 0;
        let Home::Here(local) = std::mem::replace(&mut it.home, Home::Remote) else { return Err(io::ErrorKind::NotFound.into()) };
        let is_held = own.is_some();
        let spare = if is_held { self.spare_of(&local, &r) } else { None };
        let kept = counted.then(|| Arc::clone(&r));
        let remote = Remote { s: Some(Arc::clone(&s)), identity, r: kept, shared: !counted, t: own, spare, ..Remote::default() };
        self.set_remote(port, remote);
        if is_held {
            self.keep_for(port, unread);
        }
        self.listen_holder(port);
        Ok(Departed { local, ends: Some((r, s)), watches, onces })
    }

    /// The send rights here go by the slot of the line's other end that was named for a port, whose receive right is about to go over the line:
    /// what they send goes behind it.
    pub(super) fn follow(&mut self, port: PortId, (line, slot): (LineId, u32), counted: bool) {
        if let Some(remote) = self.remote_mut(port) {
            let line_rights = u32::from(counted);
            remote.routes.push(Route { line, slot, line_rights, attached: true, trust: Trust::Proven });
        }
    }

    /// A spare for a receive right that is about to travel, if a port here wants it back.
    fn spare_of(&self, local: &Local, r: &Reserved) -> Option<Spare> {
        let Right::SendOnce(to) = local.pdrequest else { return None };
        let it = self.state.port(to);
        let made = it.local().map(|_| it.serial.made)?;
        let r = Reserved::new(rustix::io::fcntl_dupfd_cloexec(r.as_fd(), 0).ok()?).ok()?;
        Some(Spare { r, to, made, qlimit: local.qlimit })
    }

    /// Sees to it that holders of rights that are only counted on lines, or here, are counted by the kernel. Gives back the slots and the
    /// pipes of which their holders are yet to be told.
    fn part_from_senders(
        &mut self,
        port: PortId,
        watches: &mut Vec<Arc<Reserved>>,
        onces: &mut Vec<Arc<Reserved>>,
    ) -> io::Result<Vec<Parted>> {
        let slots = self.exported(port).map(|exported| exported.slots.clone()).unwrap_or_default();
        let mut parted = Vec::new();
        for (number, slot) in slots {
            if self.lines.get_mut(number).and_then(|line| line.in_slot(slot)).is_some_and(|it| it.given > 0) {
                parted.push(((number, slot), holder_pipe(watches)?));
            }
        }
        self.reroute_tokens(port, onces)?;
        self.free_local_onces(port, onces)?;
        Ok(parted)
    }

    /// Tells senders that the port moved, whose slots are closed: one that heard of it before that, and has no right any more, would let the pipe
    /// go with nothing taken back.
    fn tell_moved(&mut self, parted: Vec<Parted>) {
        for ((number, slot), write) in parted {
            let Some(line) = self.lines.get_mut(number) else { continue };
            line.post(Record { kind: kind::MOVED, target: slot, fds: 1, ..Record::default() }, vec![OutFd(write)]);
            line.ring_bell();
        }
    }

    /// Turns the send-once rights that this process itself holds to a port here into sockets.
    fn free_local_onces(&mut self, port: PortId, onces: &mut Vec<Arc<Reserved>>) -> io::Result<()> {
        let mut held = 0;
        self.each_send_once(port, &mut |_| held += 1);
        let mut sockets = Vec::new();
        for _ in 0..held {
            sockets.push(RemoteSendOnce(self.onces.insert(Once::Socket(Arc::new(once_pair(onces)?))) as u32));
        }
        self.each_send_once(port, &mut |right| {
            if let Some(once) = sockets.pop() {
                *right = Right::RemoteSendOnce(once);
            }
        });
        Ok(())
    }

    /// As [`State::each_send_once`](crate::state::State::each_send_once), also in messages that are on their way nowhere.
    fn each_send_once(&mut self, port: PortId, see: &mut dyn FnMut(&mut Right)) {
        self.state.each_send_once(port, see);
        let put_back = self.upcalls.iter_mut().filter_map(|upcall| match upcall {
            Upcall::PutBack(_, messages) => Some(messages),
            _ => None,
        });
        let stranded = self.remote.iter_mut().flatten().map(|remote| &mut remote.stranded);
        for message in stranded.chain(put_back).flatten() {
            message.each_right(&mut |right| {
                if *right == Right::SendOnce(port) {
                    see(right);
                }
            });
        }
    }

    /// Makes sockets of the send-once rights to each port whose receive right goes with the message, or with one that
    /// waits at such a port. As tokens those in the message would be rerouted before the other end has them. Gives back these
    /// ports.
    pub(super) fn free_onces_with(&mut self, message: &mut Message) -> Vec<PortId> {
        let moving = self.moving_with(message);
        for port in &moving {
            let mut ends = Vec::new();
            let _ = self.free_local_onces(*port, &mut ends);
            for end in ends.into_iter().filter_map(Arc::into_inner) {
                let _ = self.adopt_once_end(end, *port);
            }
        }
        for right in message.items.iter_mut().flat_map(Item::rights_mut).chain([&mut message.reply]) {
            if let Right::SendOnce(port) = right
                && moving.contains(port)
                && let Ok(socket) = self.once_socket(*port)
            {
                *right = Right::RemoteSendOnce(RemoteSendOnce(self.onces.insert(Once::Socket(Arc::new(socket))) as u32));
            }
        }
        moving
    }

    /// A receive right has arrived: the port is here from now on. Gives back the messages that this process itself had sent and that
    /// were on their way nowhere. None if there is no place for the port's sockets in the watcher's set.
    ///
    /// # Errors
    /// The ends are not those of one port, or its receive right is here already.
    pub(super) fn arrive(
        &mut self,
        luggage: &Luggage,
        r: Reserved,
        s: Reserved,
        shared: bool,
    ) -> Result<Option<Arrival>, Corrupt> {
        let early = belong_together(&r, &s).ok_or(Corrupt { what: "receive right" })?;
        let identity = objects::identity(&s).map_err(|_| corrupt())?;
        self.arrive_with(luggage, Ends { r: Some(Arc::new(r)), s: Arc::new(s), identity }, early, shared)
    }

    /// As [`Routes::arrive`], with ends that are known to be those of one port. Requests may come through them if others share the sending end.
    pub(super) fn arrive_with(
        &mut self,
        luggage: &Luggage,
        ends: Ends,
        early: Vec<Request>,
        shared: bool,
    ) -> Result<Option<Arrival>, Corrupt> {
        let known = self.identified(ends.identity, &ends.s);
        if known.is_some_and(|port| !matches!(self.state.port(port).home, Home::Remote)) {
            return Err(corrupt());
        }
        let port = known.unwrap_or_else(|| self.state.new_remote_port());
        // One that is known here came from others, too.
        let adopted = if shared || known.is_some() || !early.is_empty() {
            self.adopt_receiving_end(port, ends)
        } else {
            ends.r.as_ref().map_or(Ok(()), objects::name_senders).map(|()| _ = self.put_ends(port, ends))
        };
        if adopted.is_err() {
            if known.is_none() {
                self.state.free_port(port);
            }
            return Ok(None);
        }
        self.state.port_mut(port).home = Home::Here(local_of(luggage));
        if let Some(exported) = self.exported_mut(port) {
            exported.early = early;
        }
        let remote = self.take_remote(port).map(|remote| *remote).unwrap_or_default();
        self.let_go();
        // What was said of other holders to the one that had the right, or was to have it, may not have been read.
        let watch = remote.watch.as_ref().and_then(|watch| rustix::io::fcntl_dupfd_cloexec(watch.as_fd(), 0).ok());
        watch.and_then(|watch| Reserved::new(watch).ok()).into_iter().for_each(|watch| self.add_watch(port, watch));
        // What this process itself had sent, and the old owner not accepted, comes after what was accepted.
        remote.routes.iter().for_each(|Route { line, slot, .. }| self.upcalls.push_back(Upcall::Close(*line, *slot)));
        Ok(Some((port, remote.stranded)))
    }

    /// All that came with a receive right is taken in: its senders can follow.
    pub(super) fn arrived(&mut self, port: PortId, stranded: Vec<Box<Message>>) {
        if !stranded.is_empty() {
            self.upcall(Upcall::PutBack(port, stranded));
        }
        self.count_abroad(port);
        // An effect, and not done now: a new line has others looked at, also the one whose record is being read.
        self.state.effect(Effect::Adopted(port));
    }
}

/// What a receive right's luggage says of its port.
pub(super) fn local_of(luggage: &Luggage) -> Local {
    Local {
        qlimit: luggage.qlimit.clamp(0, crate::abi::QLIMIT_MAX),
        seqno: luggage.seqno,
        seqno_lead: luggage.seqno,
        mscount: luggage.mscount,
        payload: luggage.payload,
        is_protected: luggage.flags & luggage::PROTECTED != 0,
        ..Local::default()
    }
}

/// Whether what is sent into `s` comes out of `r`: a peer may claim anything of two sockets. Gives back the
/// packets that were waiting.
fn belong_together(r: &Reserved, s: &Reserved) -> Option<Vec<Request>> {
    if !objects::is_socket(r) || !objects::is_socket(s) {
        return None;
    }
    let mut nonce = [0; 16];
    rustix::rand::getrandom(&mut nonce, rustix::rand::GetRandomFlags::empty()).ok()?;
    let mut early = Vec::new();
    let mut sent = false;
    // Other holders may be sending at the same time, but not for ever in this moment.
    for _ in 0..4096 {
        match objects::receive_request(r.as_fd()) {
            Ok(packet) if packet.bytes == nonce => return Some(early),
            Ok(packet) if packet.bytes.is_empty() && objects::hung_up(r) => return None,
            Ok(packet) if packet.bytes.is_empty() => {}
            Ok(packet) => early.push(packet),
            // Longer than any request, or without its descriptors.
            Err(rustix::io::Errno::MSGSIZE) => {}
            Err(rustix::io::Errno::WOULDBLOCK) if sent => return None,
            Err(rustix::io::Errno::WOULDBLOCK) => {
                objects::send(s.as_fd(), &[&nonce], &[]).ok()?;
                sent = true;
            }
            Err(_) => return None,
        }
    }
    None
}
