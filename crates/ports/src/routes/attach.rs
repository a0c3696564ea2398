//! Making a line to a port of another process.

use super::{Route, Routes, Upcall, table::Trust, trust::MAGIC};
use crate::{
    account::Ledger,
    line::{Line, OutFd, RING},
    objects,
    state::{LineId, PortId},
    wire::{Record, kind},
};
use rustix::io::Errno;
use slipway_fabric::spin::now;
use slipway_fabric::{credit::TABLE, descriptor::Reserved, segment::Segment};
use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The request that goes through a port's sending end. Its descriptors: the segment's file that both ends write, the file of the ring that the maker
/// writes, the bell, the socket for descriptors.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Attach {
    /// [`MAGIC`].
    pub magic: u32,
    /// The size of each ring in bytes.
    pub ring: u32,
}

/// How many descriptors go with an [`Attach`].
pub(super) const REQUEST_FDS: usize = 4;

/// Whether an error is for want of something that may be there again in a moment.
pub(crate) fn is_shortage(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS | Errno::NOSPC | Errno::TOOMANYREFS | Errno::AGAIN)
}

pub(super) fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

impl Routes {
    /// Makes a line to a remote port, or attaches to it over one that there is: the line, and the port's slot on it. What is
    /// [stranded](super::Remote::stranded) goes first.
    ///
    /// # Errors
    /// `NOBUFS` if the port's owner had no resources a moment ago; those of the sockets' calls.
    pub(crate) fn attach(&mut self, port: PortId) -> Result<(LineId, u32), Errno> {
        self.open_bundle_of(port);
        let remote = self.remote_mut(port).ok_or(Errno::NOTCONN)?;
        remote.shared = true;
        let s = remote.sending_end()?;
        if let Some(route) = self.attach_again(port, &s) {
            return Ok(route);
        }
        if self.remote(port).is_some_and(|remote| now() < remote.refused_until) {
            return Err(Errno::NOBUFS);
        }
        self.start_watcher().map_err(|e| errno(&e))?;
        let made = make_line(&self.ledger).map_err(|e| errno(&e))?;
        let request = Attach { magic: MAGIC, ring: RING as u32 };
        objects::send((*s).as_fd(), &[request.as_bytes()], &made.theirs.each_ref().map(AsFd::as_fd))?;
        let mut line = made.line;
        let [_, own_area, ..] = made.theirs;
        line.spare = Some(Reserved::new(own_area).map_err(|e| errno(&e))?);
        line.through = self.remote(port).map_or(0, |remote| remote.identity);
        let number = self.adopt_line(line).map_err(|e| errno(&e))?;
        if let Some(line) = self.lines.get_mut(number) {
            line.learn(0, port);
        }
        if let Some(remote) = self.remote_mut(port) {
            remote.routes.push(Route { line: number, slot: 0, line_rights: 0, attached: true, trust: Trust::Proven });
        }
        // The maker of a line expects an answer on it.
        self.upcall(Upcall::Heat(number));
        Ok((number, 0))
    }

    /// Attaches to a port over a line that already knows it, where this process has no right any more. What it sent
    /// when it had one still comes first.
    fn attach_again(&mut self, port: PortId, s: &Arc<Reserved>) -> Option<(LineId, u32)> {
        let closed = self.remote(port)?.routes.iter().filter(|route| route.is_trusted() && !route.is_open());
        let route = closed.max_by_key(|route| self.is_unreceived(route)).copied()?;
        let line = self.lines.get_mut(route.line).filter(|line| line.keeps(route.slot) && !line.ended && !line.leaves)?;
        let record = Record { kind: kind::ATTACH, target: route.slot, fds: 1, ..Record::default() };
        line.post(record, vec![OutFd(Arc::clone(s))]);
        let route = self.remote_mut(port)?.routes.iter_mut().find(|it| (it.line, it.slot) == (route.line, route.slot))?;
        route.attached = true;
        let way = (route.line, route.slot);
        if let Some(remote) = self.remote_mut(port) {
            remote.shared = true;
        }
        Some(way)
    }

    /// Whether messages that were sent over a route are still to be received.
    fn is_unreceived(&self, route: &Route) -> bool {
        self.lines.get(route.line).is_some_and(|line| line.is_unreceived(route.slot))
    }

    /// A right is about to come over a route to a port that there was no right to. If another route leads there still, what
    /// was sent over that comes first, and counts for the queue's limit: it is used again.
    pub(crate) fn resume_way(&mut self, port: PortId, new: (LineId, u32)) {
        let Some(remote) = self.remote(port).filter(|remote| remote.open_route().is_none()) else { return };
        let mut others = remote.routes.iter().filter(|route| (route.line, route.slot) != new && route.is_trusted());
        if others.any(|route| self.is_unreceived(route))
            && let Some(s) = remote.s.clone()
        {
            self.attach_again(port, &s);
        }
    }

    /// Adds a line, and listens to its bell.
    pub(super) fn adopt_line(&mut self, line: Line) -> io::Result<LineId> {
        let number = self.lines.insert(line);
        if let Err(error) = self.listen_line(number) {
            self.lines.remove(number);
            return Err(error);
        }
        Ok(number)
    }
}

struct Made {
    line: Line,
    /// What goes with the request.
    theirs: [OwnedFd; REQUEST_FDS],
}

fn make_line(ledger: &Ledger) -> io::Result<Made> {
    let (segment, [control, area]) = Segment::create_apart(TABLE, RING)?;
    // The flag may be down until a reader sleeps: the request itself is the first bell.
    segment.rx.disarm_reader();
    let (bell, their_bell) = objects::socket_pair()?;
    let (fd_socket, their_fd_socket) = objects::socket_pair()?;
    let mut line = Line::new(segment, Reserved::new(bell)?, Reserved::new(fd_socket)?, true, [ledger.apart(), ledger.apart()])?;
    line.client_bell = objects::identity(&their_bell)?;
    line.peer.bell = line.client_bell;
    Ok(Made { line, theirs: [control, area, their_bell, their_fd_socket] })
}
