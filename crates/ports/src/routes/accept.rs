//! Taking the requests that come through a port's sending end: for lines, and questions.

use super::{
    Deferred, Routes, Upcall,
    attach::{Attach, REQUEST_FDS, errno, is_shortage},
    corrupt,
    trust::{Ask, MAGIC},
};
use crate::{
    account::{Account, Charge},
    line::{InSlot, Line, OutFd, Peer, REFUSED, RING},
    objects::{self, Request},
    state::{LineId, PortId},
};
use rustix::{
    io::Errno,
    process::{Pid, test_kill_process},
};
use slipway_fabric::{Corrupt, credentials::Credentials, credit::TABLE, descriptor::Reserved, segment::Segment};
use std::{io, os::fd::AsFd, sync::Arc};
use zerocopy::FromBytes;

/// Requests that are taken off a receiving end in one go. As many as fit into the sending end's buffer.
const REQUESTS: usize = 320;

/// Most lines from one process to this one. The limit of descriptors may allow fewer.
const LINES_PER_PEER: usize = 1024;

impl Routes {
    /// Takes attach requests off the receiving end of a port here: all that are there, or of many some.
    pub(crate) fn accept_lines(&mut self, port: PortId) {
        for _ in 0..REQUESTS {
            let Some(exported) = self.exported(port) else { return };
            // What is received without a place for its descriptors is lost, and its sender's first message with it.
            if !objects::can_open(&exported.r, REQUEST_FDS) {
                self.mute(port);
                return self.retry_later(Deferred::Accept(port));
            }
            match objects::receive_request(exported.r.as_fd()) {
                // All senders are gone, this process included: that is found out in another way.
                // But a sender may send a packet of nothing.
                Ok(request) if request.bytes.is_empty() && objects::hung_up(&exported.r) => return self.deafen(port),
                Ok(request) => self.take_request(port, request),
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
        early.unwrap_or_default().into_iter().for_each(|request| self.take_request(port, request));
        if self.exported(port).is_some_and(|exported| exported.shared) {
            self.accept_lines(port);
        }
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
        let Ok([control, area, bell, fd_socket]) = <[Reserved; REQUEST_FDS]>::try_from(fds) else { return };
        if !objects::is_socket(&bell) {
            return;
        }
        let Ok(copy) = rustix::io::fcntl_dupfd_cloexec(&bell, 0) else { return };
        let short = match self.accept_line(port, request, [control, area, bell, fd_socket], sender) {
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
        [control, area, bell, fd_socket]: [Reserved; REQUEST_FDS],
        sender: Option<Credentials>,
    ) -> io::Result<()> {
        let sockets = [&bell, &fd_socket].into_iter().all(objects::leads_to_a_port);
        if request.magic != MAGIC || request.ring as usize != RING || !sockets {
            return Err(io::ErrorKind::InvalidData.into());
        }
        for socket in [&bell, &fd_socket] {
            rustix::io::ioctl_fionbio(socket, true)?;
        }
        let (client_bell, through) = (objects::identity(&bell)?, self.exported(port).map_or(0, |exported| exported.identity));
        if let Some(number) = self.own_request(client_bell, through) {
            self.upcall(Upcall::End(number));
            return Ok(());
        }
        let account = self.ledger.of(sender);
        let [charge, of_file] = self.charge_line(&account).ok_or(io::ErrorKind::QuotaExceeded)?;
        let (segment, file) = Segment::open_apart(control.as_fd(), area.as_fd(), TABLE, request.ring as usize)?;
        let mut line = Line::new(segment, bell, fd_socket, false, [account, self.ledger.apart()])?;
        line.area = Some(OutFd(Arc::new(Reserved::new(file)?.with(Box::new(of_file)))));
        line.charge = Some(charge);
        if let Some(sender) = sender {
            line.peer = Peer { pid: sender.pid.map_or(0, |pid| pid as i32), uid: sender.uid, gid: sender.gid, ..line.peer };
        }
        (line.client_bell, line.through) = (client_bell, through);
        line.ins.push(Some(InSlot { primary: true, ..InSlot::of(port) }));
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

    /// Charges a line to the process that made it, and the file of its ring that this end writes. Where too little is left for another, lines whose makers are gone
    /// are ended: an honest process takes its lines with it. The next request finds their room.
    fn charge_line(&mut self, account: &Arc<Account>) -> Option<[Charge; 2]> {
        let its = self.lines.iter().filter(|(_, line)| !line.maker && Arc::ptr_eq(&line.account, account));
        if its.count() >= LINES_PER_PEER {
            return None;
        }
        let charge = account.take(2, 0).and_then(|line| Some([line, account.take(1, 0)?]));
        if charge.is_none() {
            let gone = |line: &Line| {
                !line.maker && Pid::from_raw(line.peer.pid).is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
            };
            self.upcalls.extend(self.lines.iter().filter(|(_, line)| gone(line)).map(|(number, _)| Upcall::End(number)));
        }
        charge
    }

    /// The line that this process made with a request, if it has now received that itself: the port's receive right was on its
    /// way here, and no line leads to its own maker. The bell shows it, which only the request carries, and a client that took the
    /// request: no other process can end a line in this way, and a client only its own.
    fn own_request(&self, bell: u64, through: u64) -> Option<LineId> {
        let own = |line: &Line| line.maker && line.client_bell == bell && line.through == through;
        self.lines.iter().find(|(_, line)| own(line)).map(|(number, _)| number)
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
