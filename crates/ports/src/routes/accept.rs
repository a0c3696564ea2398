//! Taking the requests that come through a port's sending end: for lines, and questions.

use super::{
    Deferred, Routes, Upcall,
    attach::{Attach, errno, is_shortage},
    corrupt,
    table::Packet,
    trust::{Ask, MAGIC},
};
use crate::{
    line::{InSlot, Line, Peer, REFUSED, RING},
    objects,
    state::{LineId, PortId},
};
use rustix::{
    io::Errno,
    process::{Resource, getrlimit},
};
use slipway_fabric::{
    Corrupt,
    credit::{RxCount, TABLE},
    descriptor::Reserved,
    segment::Segment,
};
use std::{io, os::fd::AsFd};
use zerocopy::FromBytes;

/// Requests that are taken off a receiving end in one go. As many as fit into the sending end's buffer.
const REQUESTS: usize = 320;

/// The most lines that one process may have made to this one.
const LINES_PER_PEER: usize = 1024;

/// How many lines another process may make to this one: they take no more than a quarter of the descriptors.
fn lines_per_peer() -> usize {
    let limit = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| limit as usize);
    (limit / 8).clamp(1, LINES_PER_PEER)
}

impl Routes {
    /// Takes attach requests off the receiving end of a port here: all that are there, or of many some.
    pub(crate) fn accept_lines(&mut self, port: PortId) {
        for _ in 0..REQUESTS {
            let Some(exported) = self.exported(port) else { return };
            // What is received without a place for its descriptors is lost, and its sender's first message with it.
            if !objects::room_for(&exported.r, 3) {
                self.mute(port);
                return self.retry_later(Deferred::Accept(port));
            }
            let mut bytes = [0; size_of::<Ask>()];
            let mut fds = Vec::new();
            match objects::receive(exported.r.as_fd(), &mut bytes, &mut fds) {
                // Everybody who could send is gone, ourselves included: that is found out in another way.
                Ok(0) => return self.deafen(port),
                Ok(n) => self.take_request(port, (bytes[..n].to_vec(), fds)),
                Err(Errno::MSGSIZE) => {}
                Err(Errno::WOULDBLOCK) => return,
                Err(_) => return self.deafen(port),
            }
        }
        self.defer(Deferred::Accept(port));
    }

    /// Takes the requests to a port whose receive right has just come here.
    pub(crate) fn accept_first(&mut self, port: PortId) {
        let early = self.exported_mut(port).map(|exported| std::mem::take(&mut exported.early));
        early.unwrap_or_default().into_iter().for_each(|packet| self.take_request(port, packet));
        self.accept_lines(port);
    }

    fn take_request(&mut self, port: PortId, (bytes, fds): Packet) {
        if let Ok(request) = Attach::read_from_bytes(&bytes) {
            self.accept_line_or_refuse(port, request, fds);
        } else if let (Ok(ask), Some(socket)) = (Ask::read_from_bytes(&bytes), fds.first()) {
            self.answer_ask(port, ask, socket);
        }
    }

    /// Takes one line. What is wrong with it is the other end's loss: it sees the sockets close. If it is resources that
    /// lack, it is told.
    fn accept_line_or_refuse(&mut self, port: PortId, request: Attach, fds: Vec<Reserved>) {
        let Ok([file, bell, parcels]) = <[Reserved; 3]>::try_from(fds) else { return };
        if !objects::is_socket(&bell) {
            return;
        }
        let Ok(copy) = rustix::io::fcntl_dupfd_cloexec(&bell, 0) else { return };
        let short = match self.accept_line(port, request, [file, bell, parcels]) {
            Ok(()) => false,
            Err(error) => is_shortage(errno(&error)) || error.kind() == io::ErrorKind::QuotaExceeded,
        };
        if short {
            let _ = objects::send(copy.as_fd(), &[&[REFUSED]], &[]);
        }
    }

    fn accept_line(&mut self, port: PortId, request: Attach, [file, bell, parcels]: [Reserved; 3]) -> io::Result<()> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        if request.magic != MAGIC || request.ring as usize != RING || !objects::is_socket(&bell) || !objects::is_socket(&parcels)
        {
            return Err(invalid());
        }
        for socket in [&bell, &parcels] {
            rustix::io::ioctl_fionbio(socket, true)?;
        }
        let own = objects::file_identity(&file)?;
        let made = self.lines.iter().find(|(_, line)| line.maker && line.file == own).map(|(number, _)| number);
        if let Some(number) = made {
            // This process asked while the receive right was on its way here: no line leads to oneself.
            self.upcall(Upcall::End(number));
            return Ok(());
        }
        let peer = peer_of(&bell);
        let its = self.lines.iter().filter(|(_, line)| !line.maker && line.peer.pid == peer.pid);
        if its.count() >= lines_per_peer() {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let segment = Segment::open_with(file.as_fd(), TABLE, request.ring as usize)?;
        let guest_bell = objects::identity(&bell)?;
        let mut line = Line::new(segment, bell, parcels, false, peer)?;
        line.guest_bell = guest_bell;
        line.through = self.exported(port).map_or(0, |exported| exported.identity);
        line.ins.push(Some(InSlot { port, given: 0, primary: true, count: RxCount::default(), closed: false, identity: 0 }));
        line.slot_of.insert(port, 0);
        let limit = self.state.port(port).local().map_or(0, |local| local.qlimit);
        line.credit.open(0, limit);
        let number = self.adopt_line(line)?;
        if let Some(exported) = self.exported_mut(port) {
            exported.slots.push((number, 0));
        }
        self.upcall(Upcall::Stir(number));
        Ok(())
    }

    /// The other end proves that it may send to the port at a slot here: it has the port's sending end.
    /// Without a place for that here its word is enough: every slot that it knows it once had the sending end for.
    pub(crate) fn attached(&mut self, number: LineId, slot: u32, s: Option<&Reserved>) -> Result<(), Corrupt> {
        let line = self.lines.get(number).ok_or_else(corrupt)?;
        let it = line.ins.get(slot as usize).and_then(Option::as_ref).ok_or_else(corrupt)?;
        if it.closed {
            // It finds that out by itself.
            return Ok(());
        }
        if let Some(s) = s {
            let own = self.exported(it.port).map(|exported| exported.identity);
            if own != Some(objects::identity(s).map_err(|_| corrupt())?) {
                return Err(corrupt());
            }
        }
        if let Some(it) = self.lines.get_mut(number).and_then(|line| line.in_slot(slot)) {
            it.primary = true;
        }
        Ok(())
    }
}

/// Who made the other end of a socket.
fn peer_of(socket: impl AsFd) -> Peer {
    let pid = slipway_fabric::credentials::peer(socket).ok().and_then(|peer| peer.pid).unwrap_or(0);
    Peer { pid: pid as i32, bell: 0 }
}
