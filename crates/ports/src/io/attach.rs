//! Making a line to a port of another process, and taking one that another process made.

use super::{
    Inner, Route,
    account::{Account, Charge, Ledger},
    later::Later,
    line::{InSlot, Line, OutFd, REFUSED, RING, TABLE},
    objects::{self, Request},
    rights::corrupt,
    trust::{Ask, Trust},
    wait::now,
    wire::{Record, kind},
};
use crate::state::{Home, PortId};
use rustix::{
    io::Errno,
    process::{Pid, test_kill_process},
};
use slipway_fabric::{Corrupt, credentials::Credentials, descriptor::Reserved, segment::Segment};
use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The request that goes through a port's sending end. Its descriptors: the segment, the bell, the parcels.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Attach {
    /// [`MAGIC`].
    magic: u32,
    /// The size of each ring in bytes.
    ring: u32,
}

/// The protocol's name and version.
pub(super) const MAGIC: u32 = 0x534d_0001;

/// Requests that are taken off a receiving end in one go. As many as fit into the sending end's buffer.
const REQUESTS: usize = 320;

/// The most lines that one process may have made to this one, if it may have so many descriptors.
const LINES_PER_PEER: usize = 1024;

/// Whether an error is for want of something that may be there again in a moment.
pub(crate) fn is_shortage(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS | Errno::NOSPC | Errno::TOOMANYREFS | Errno::AGAIN)
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

impl Inner {
    /// Makes a line to a far port: its number, and the port's slot on it.
    pub(crate) fn attach(&mut self, port: PortId) -> Result<(u32, u32), Errno> {
        let s = self.io.far(port).and_then(|far| far.s.clone()).ok_or(Errno::NOTCONN)?;
        if let Some(way) = self.attach_again(port, &s) {
            return Ok(way);
        }
        if self.io.far(port).is_some_and(|far| now() < far.refused_until) {
            return Err(Errno::NOBUFS);
        }
        self.start_watcher().map_err(|e| errno(&e))?;
        let made = make_line(&self.io.ledger).map_err(|e| errno(&e))?;
        let request = Attach { magic: MAGIC, ring: RING as u32 };
        let fds = [made.file.as_fd(), made.theirs.0.as_fd(), made.theirs.1.as_fd()];
        objects::send((*s).as_fd(), &[request.as_bytes()], &fds)?;
        let mut line = made.line;
        line.through = self.io.far(port).map_or(0, |far| far.identity);
        let number = self.adopt_line(line).map_err(|e| errno(&e))?;
        if let Some(line) = self.io.lines.get_mut(number as usize) {
            line.learn(0, port);
        }
        if let Some(far) = self.io.far_mut(port) {
            far.routes.push(Route { line: number, slot: 0, gifts: 0, attached: true, trust: Trust::Proven });
        }
        // Whoever makes a line expects an answer on it.
        self.heat(number);
        self.send_stranded(port);
        // What was stranded may have found the port gone again.
        match self.io.far(port).and_then(|far| far.way()) {
            Some(route) => Ok((route.line, route.slot)),
            None => Err(Errno::WOULDBLOCK),
        }
    }

    /// Attaches to a port over a line that already knows it, where this process has no right any more. What it sent
    /// when it had one still comes first.
    fn attach_again(&mut self, port: PortId, s: &Arc<Reserved>) -> Option<(u32, u32)> {
        let closed = self.io.far(port)?.routes.iter().filter(|route| route.is_trusted() && !route.is_open());
        let route = closed.max_by_key(|route| self.is_unreceived(route)).copied()?;
        let line = self.io.lines.get_mut(route.line as usize).filter(|line| line.keeps(route.slot) && !line.leaves)?;
        let record = Record { kind: kind::ATTACH, target: route.slot, fds: 1, ..Record::default() };
        line.post(record, vec![OutFd(Arc::clone(s))]);
        let route = self.io.far_mut(port)?.routes.iter_mut().find(|it| (it.line, it.slot) == (route.line, route.slot))?;
        route.attached = true;
        Some((route.line, route.slot))
    }

    /// Whether messages that were sent over a way are still to be received.
    fn is_unreceived(&self, route: &Route) -> bool {
        self.io.lines.get(route.line as usize).is_some_and(|line| line.is_unreceived(route.slot))
    }

    /// A right is about to come over a way to a port that there was no right to. If another way leads there still, what
    /// was sent over that comes first, and counts for the queue's limit: it is used again.
    pub(crate) fn resume_way(&mut self, port: PortId, new: (u32, u32)) {
        let Some(far) = self.io.far(port).filter(|far| far.way().is_none()) else { return };
        let mut others = far.routes.iter().filter(|route| (route.line, route.slot) != new && route.is_trusted());
        if others.any(|route| self.is_unreceived(route))
            && let Some(s) = far.s.clone()
        {
            self.attach_again(port, &s);
        }
    }

    /// The other end proves that it may send to the port at a slot here: it has the port's sending end.
    /// Without a place for that here its word is enough: every slot that it knows it once had the sending end for.
    pub(crate) fn attached(&mut self, number: u32, slot: u32, s: Option<&Reserved>) -> Result<(), Corrupt> {
        let line = self.io.lines.get(number as usize).ok_or_else(corrupt)?;
        let it = line.ins.get(slot as usize).and_then(Option::as_ref).ok_or_else(corrupt)?;
        if it.closed {
            // It finds that out by itself.
            return Ok(());
        }
        if let Some(s) = s {
            let own = self.io.exported(it.port).map(|exported| exported.identity);
            if own != Some(objects::identity(s).map_err(|_| corrupt())?) {
                return Err(corrupt());
            }
        }
        if let Some(it) = self.io.lines.get_mut(number as usize).and_then(|line| line.in_slot(slot)) {
            it.primary = true;
        }
        Ok(())
    }

    /// Takes attach requests off the receiving end of a port here: all that are there, or of many some.
    pub(crate) fn accept_lines(&mut self, port: PortId) {
        for _ in 0..REQUESTS {
            let Some(exported) = self.io.exported(port) else { return };
            // What is received without a place for its descriptors is lost, and its sender's first message with it.
            if !objects::room_for(&exported.r, 3) {
                self.mute(port);
                return self.try_later(Later::Accept(port));
            }
            match objects::receive_request(exported.r.as_fd()) {
                // Everybody who could send is gone, ourselves included: that is found out in another way.
                Ok(Request { bytes, .. }) if bytes.is_empty() => return self.deafen(port),
                Ok(request) => self.take_request(port, request),
                Err(Errno::MSGSIZE) => {}
                Err(Errno::WOULDBLOCK) => return,
                Err(_) => return self.deafen(port),
            }
        }
        self.put_off(Later::Accept(port));
    }

    /// Takes the requests to a port whose receive right has just come here.
    pub(crate) fn accept_first(&mut self, port: PortId) {
        let early = self.io.exported_mut(port).map(|exported| std::mem::take(&mut exported.early));
        early.unwrap_or_default().into_iter().for_each(|packet| self.take_request(port, packet));
        self.accept_lines(port);
    }

    fn take_request(&mut self, port: PortId, Request { bytes, fds, sender }: Request) {
        if let Ok(request) = Attach::read_from_bytes(&bytes) {
            self.accept_line_or_refuse(port, request, fds, sender);
        } else if let (Ok(ask), Some(socket)) = (Ask::read_from_bytes(&bytes), fds.first()) {
            self.answer_ask(port, ask, socket);
        }
    }

    /// Takes one line. What is wrong with it is the other end's loss: it sees the sockets close. If it is resources that
    /// lack, it is told.
    fn accept_line_or_refuse(&mut self, port: PortId, request: Attach, fds: Vec<Reserved>, sender: Option<Credentials>) {
        let Ok([file, bell, parcels]) = <[Reserved; 3]>::try_from(fds) else { return };
        let Ok(copy) = rustix::io::fcntl_dupfd_cloexec(&bell, 0) else { return };
        let short = match self.accept_line(port, request, [file, bell, parcels], sender) {
            Ok(()) => false,
            Err(error) => is_shortage(errno(&error)) || error.kind() == io::ErrorKind::QuotaExceeded,
        };
        if short {
            let _ = objects::send(copy.as_fd(), &[&[REFUSED]], &[]);
        }
    }

    fn accept_line(
        &mut self,
        port: PortId,
        request: Attach,
        [file, bell, parcels]: [Reserved; 3],
        sender: Option<Credentials>,
    ) -> io::Result<()> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let sockets = [&bell, &parcels].into_iter().all(|socket| objects::is_socket(socket) && objects::leads_to_a_port(socket));
        if request.magic != MAGIC || request.ring as usize != RING || !sockets {
            return Err(invalid());
        }
        for socket in [&bell, &parcels] {
            rustix::io::ioctl_fionbio(socket, true)?;
        }
        let (guest_bell, through) = (objects::identity(&bell)?, self.io.exported(port).map_or(0, |exported| exported.identity));
        if let Some(number) = self.own_request(guest_bell, through) {
            self.gate_closed(number, 0, false);
            self.end_line(number);
            return Ok(());
        }
        let account = self.io.ledger.of(sender);
        let charge = self.charge_line(&account).ok_or(io::ErrorKind::QuotaExceeded)?;
        let segment = Segment::open_with(file.as_fd(), TABLE, request.ring as usize)?;
        let mut line = Line::new(segment, bell, parcels, false, [account, self.io.ledger.apart()])?;
        line.charge = Some(charge);
        line.peer.pid = sender.and_then(|sender| sender.pid).map_or(0, |pid| pid as i32);
        (line.guest_bell, line.through) = (guest_bell, through);
        line.ins.push(Some(InSlot { port, given: 0, primary: true, taken: 0, accepted: 0, closed: false, identity: 0 }));
        line.slot_of.insert(port, 0);
        let limit = self.state.port(port).local().map_or(0, |local| local.qlimit);
        line.ours.gate[0].store(limit + 1, slipway_fabric::sync::Ordering::Release);
        let number = self.adopt_line(line)?;
        if let Some(exported) = self.io.exported_mut(port) {
            exported.slots.push((number, 0));
        }
        self.line_stirs(number);
        Ok(())
    }

    /// Charges a line to the process that made it. Where too little is left for another, lines whose makers are gone
    /// are ended: an honest process takes its lines with it.
    fn charge_line(&mut self, account: &Arc<Account>) -> Option<Charge> {
        let its = self.io.lines.iter().filter(|(_, line)| !line.maker && Arc::ptr_eq(&line.account, account));
        if its.count() >= LINES_PER_PEER {
            return None;
        }
        if let Some(charge) = account.take(2, 0) {
            return Some(charge);
        }
        let gone = |line: &Line| {
            !line.maker && Pid::from_raw(line.peer.pid).is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
        };
        let gone: Vec<u32> = self.io.lines.iter().filter(|(_, line)| gone(line)).map(|(number, _)| number as u32).collect();
        gone.into_iter().for_each(|number| self.end_line(number));
        account.take(2, 0)
    }

    /// The line that this process asked for itself with a request, while the port's receive right was on its way here: no
    /// line leads to oneself. The bell tells, which only the request carries and a guest that took it: nobody else can end
    /// a line so, and a guest only its own.
    fn own_request(&self, bell: u64, through: u64) -> Option<u32> {
        let own = |line: &Line| line.maker && line.guest_bell == bell && line.through == through;
        self.io.lines.iter().find(|(_, line)| own(line)).map(|(number, _)| number as u32)
    }

    fn adopt_line(&mut self, mut line: Line) -> io::Result<u32> {
        self.io.lines_made += 1;
        line.serial = self.io.lines_made;
        let number = self.io.lines.insert(line) as u32;
        if let Err(error) = self.listen_line(number) {
            self.io.lines.remove(number as usize);
            return Err(error);
        }
        Ok(number)
    }

    /// Writes what was on its way when an earlier line ended.
    pub(crate) fn send_stranded(&mut self, port: PortId) {
        let Some(far) = self.io.far_mut(port) else { return };
        if far.stranded.is_empty() {
            return;
        }
        let stranded = std::mem::take(&mut far.stranded);
        for message in stranded {
            match self.state.port(port).home {
                Home::Far => {}
                _ => {
                    let _ = self.send(message);
                    continue;
                }
            }
            let Some((number, slot)) = self.io.far(port).and_then(|far| far.way()).map(|r| (r.line, r.slot)) else {
                if let Some(far) = self.io.far_mut(port) {
                    far.stranded.push(message);
                }
                continue;
            };
            // They were within the limit before, so they are again; the ring is as large as the one they were in.
            let _ = self.write_message(number, kind::MESSAGE, slot, message);
        }
    }

    /// Forgets a line as a way to a port.
    pub(crate) fn lose_route(&mut self, port: PortId, number: u32) {
        if let Some(far) = self.io.far_mut(port) {
            far.routes.retain(|route| route.line != number);
            far.giver = far.giver.filter(|giver| *giver != number);
        }
    }

    /// Ends a line that nobody needs. Its maker asks, the other end agrees, and the maker closes it if it has written
    /// nothing since: no record is lost.
    pub(crate) fn tidy_line(&mut self, number: u32) {
        let Some(line) = self.io.lines.get(number as usize) else { return };
        if line.ended {
            return self.end_line(number);
        }
        let speaks = if line.maker { line.said_bye.is_none() } else { line.heard_bye };
        let lapsed = speaks && !self.leads_on(number);
        if let Some(line) = self.io.lines.get_mut(number as usize) {
            line.lapsed = lapsed;
            if !lapsed || !line.is_idle() || line.waits_for_receivers() {
                return;
            }
            line.post(Record { kind: kind::BYE, ..Record::default() }, Vec::new());
            line.ring_bell();
            if line.maker {
                line.said_bye = Some(line.tx.tail);
            } else {
                (line.heard_bye, line.leaves) = (false, true);
            }
        }
    }

    /// The other end needs the line no more.
    pub(crate) fn heard_bye(&mut self, number: u32) {
        let needed = self.leads_on(number);
        let Some(line) = self.io.lines.get_mut(number as usize) else { return };
        if !line.maker {
            (line.heard_bye, line.leaves) = (true, false);
        } else if line.said_bye.take() == Some(line.tx.tail) && line.is_idle() && !needed {
            return self.end_line(number);
        }
        self.io.stirred.push(number);
    }

    /// Whether any send right here goes over a line.
    fn leads_on(&self, number: u32) -> bool {
        let Some(line) = self.io.lines.get(number as usize) else { return false };
        line.outs.iter().flatten().any(|out| !out.closed && self.in_use(out.port, number))
    }

    /// Whether any right here needs the line for the far port.
    fn in_use(&self, port: PortId, number: u32) -> bool {
        let it = self.state.port(port);
        (it.srights > 0 || !it.names.is_empty())
            && self.io.far(port).is_some_and(|far| far.routes.iter().any(|route| route.line == number && route.is_open()))
    }
}

struct Made {
    line: Line,
    file: OwnedFd,
    theirs: (OwnedFd, OwnedFd),
}

fn make_line(ledger: &Ledger) -> io::Result<Made> {
    let (segment, file) = Segment::create_with(TABLE, RING)?;
    // Nobody needs to be woken before somebody sleeps: the request itself is the first bell.
    segment.rx.disarm_reader();
    let (bell, their_bell) = objects::socket_pair()?;
    let (parcels, their_parcels) = objects::socket_pair()?;
    let mut line = Line::new(segment, Reserved::new(bell)?, Reserved::new(parcels)?, true, [ledger.apart(), ledger.apart()])?;
    line.guest_bell = objects::identity(&their_bell)?;
    line.peer.bell = line.guest_bell;
    Ok(Made { line, file, theirs: (their_bell, their_parcels) })
}
