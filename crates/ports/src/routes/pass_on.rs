//! Send rights to third parties' ports on their way out of this process: one by one, or as a [bundle](super::bundle).

use super::{Route, Routes, at_mut, endpoints::shared};
use crate::{
    account::Charge,
    line::{
        OutFd, is_promised,
        remembered::{Passed, Passing},
    },
    objects,
    state::{Home, LineId, PortId, Right, message::Message},
    wire::{BUNDLE, BUNDLE_LEAST, Record, item, kind},
};
use rustc_hash::FxHashMap;
use slipway_fabric::descriptor::Reserved;
use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
};

/// A bundle on its way out.
#[derive(Debug)]
pub(super) struct Packed {
    /// The number of each port's right.
    pub numbers: FxHashMap<PortId, u32>,
    /// The kind of its item.
    pub kind: u32,
    /// What the item says of each right.
    pub words: Vec<u64>,
    /// The socket, or the descriptors.
    pub fds: Vec<OutFd>,
}

/// What is in a bundle that is on its way.
#[derive(Debug)]
struct Inside {
    fds: Vec<OutFd>,
    #[allow(dead_code, reason = "its drop is what counts")]
    charge: Charge,
}

/// The socket of a bundle with these descriptors.
fn sealed(fds: &[OutFd]) -> io::Result<Reserved> {
    let (sender, receiver) = objects::socket_pair()?;
    for some in fds.chunks(objects::FD_BATCH) {
        let some: Vec<BorrowedFd<'_>> = some.iter().map(AsFd::as_fd).collect();
        objects::send(sender.as_fd(), &[&[some.len() as u8]], &some)?;
    }
    Reserved::new(receiver)
}

/// A descriptor of a message that is taken back, to be taken in or sent again. The reader that did not accept the message may have
/// opened the bundle: it is made again.
///
/// # Errors
/// Those of fcntl(2), socketpair(2) and sendmsg(2).
pub(super) fn taken_back(fd: &OutFd) -> io::Result<Reserved> {
    match fd.0.carried().and_then(|carried| carried.downcast_ref::<Inside>()) {
        Some(inside) => sealed(&inside.fds),
        None => Reserved::new(rustix::io::fcntl_dupfd_cloexec(fd.as_fd(), 0)?),
    }
}

impl Routes {
    /// The slot of a remote port at the other end of a line, if that has the port.
    pub(super) fn back_slot(&self, line: LineId, port: PortId) -> Option<u32> {
        // A slot that was named here stands for nothing if what named it is taken back.
        let leads_back = |route: &&Route| route.line == line && route.is_open() && !is_promised(route.slot);
        self.remote(port)?.routes.iter().find(leads_back).map(|route| route.slot)
    }

    /// What a right to a remote port is for a third party: the sending end, and a pipe that counts holders.
    pub(super) fn foreign_pair(&mut self, port: PortId) -> io::Result<[OutFd; 2]> {
        let s = self.remote(port).and_then(|remote| remote.s.clone()).ok_or(io::ErrorKind::NotFound)?;
        Ok([OutFd(s), OutFd(self.holder(port)?)])
    }

    /// The write end of a pipe that counts the holders of a remote port that got it from here.
    ///
    /// # Errors
    /// Those of pipe2(2), and of [`Routes::attach`] if there is no line to the port.
    pub(crate) fn holder(&mut self, port: PortId) -> io::Result<Arc<Reserved>> {
        let remote = self.remote_mut(port).ok_or(io::ErrorKind::NotFound)?;
        remote.shared = true;
        if let Some(t) = &remote.t {
            return Ok(Arc::clone(t));
        }
        // It may have moved just now, and the pipe that counts us be on its way. A route in doubt will do: a peer
        // that forged it could as well have given a pipe that nobody counts.
        let known = remote
            .open_route()
            .or_else(|| remote.routes.iter().find(|route| route.line_rights > 0))
            .map(|route| (route.line, route.slot));
        let (number, slot) = known.map_or_else(|| self.attach(port), Ok)?;
        let (read, write) = objects::holder_pipe()?;
        let (read, write) = (shared(read)?, shared(write)?);
        let line = self.lines.get_mut(number).ok_or(io::ErrorKind::NotFound)?;
        let record = Record { kind: kind::WATCH, target: slot, fds: 1, ..Record::default() };
        line.post(record, vec![OutFd(Arc::clone(&read))]);
        if let Some(remote) = self.remote_mut(port) {
            remote.watch = remote.r.is_some().then_some(read);
            remote.t = Some(Arc::clone(&write));
        }
        Ok(write)
    }

    /// A pipe that counts holders of a port that was at a slot here, and has moved: the port's owner gets it.
    pub(crate) fn pass_watch_on(&mut self, number: LineId, slot: u32, pipe: Reserved) {
        let Some(port) = self.port_of_in(number, slot) else { return };
        if self.remote(port).is_none() {
            return self.add_watch(port, pipe);
        }
        let known = self.remote(port).and_then(|remote| remote.open_route()).map(Route::line_and_slot);
        let way = known.or_else(|| self.attach(port).ok());
        if let Some((number, slot)) = way
            && let Some(line) = self.lines.get_mut(number)
        {
            let record = Record { kind: kind::WATCH, target: slot, fds: 1, ..Record::default() };
            line.post(record, vec![OutFd(Arc::new(pipe))]);
        }
    }

    /// Puts the rights of a message that need descriptors on the way to the line's other end into a bundle: a socket if they are many, or,
    /// where they `may_queue`, what the reader leaves in the line's own or [remembers](crate::line::remembered). None if they go one by one.
    pub(super) fn pack_bundle(&mut self, line: LineId, message: &Message, may_queue: bool) -> Option<Packed> {
        let rights = || message.items.iter().flat_map(|item| item.rights());
        if !may_queue && rights().count() < BUNDLE_LEAST {
            return None;
        }
        let (mut numbers, mut passed, mut fds) = (FxHashMap::default(), Vec::new(), Vec::new());
        for right in rights() {
            let Right::Send(port) = *right else { continue };
            if passed.len() >= BUNDLE || numbers.contains_key(&port) {
                continue;
            }
            self.open_bundle_of(port);
            if !matches!(self.state.port(port).home, Home::Remote) || self.back_slot(line, port).is_some() {
                continue;
            }
            let Ok(pair) = self.foreign_pair(port) else { continue };
            let remote = self.remote(port)?;
            let index = remote.told.iter().find(|told| told.0 == line).map(|told| told.1);
            numbers.insert(port, passed.len() as u32);
            passed.push(Passed { identity: remote.identity, index });
            fds.extend(pair);
        }
        if passed.is_empty() || passed.len() < BUNDLE_LEAST && !may_queue {
            return None;
        }
        let out = self.lines.get_mut(line)?;
        let passing = if may_queue { out.remembered.pass(&mut passed) } else { Passing::Anew };
        let indices = || passed.iter().filter_map(|right| right.index).map(u64::from).collect();
        match passing {
            Passing::Remembered => return Some(Packed { numbers, kind: item::REMEMBERED, words: indices(), fds }),
            _ if may_queue => self.note_passed(line, &numbers, &passed),
            _ => {}
        }
        if passing == Passing::Remember {
            return Some(Packed { numbers, kind: item::REMEMBER, words: indices(), fds });
        }
        let identities: Vec<u64> = passed.iter().map(|right| right.identity).collect();
        if identities.len() < BUNDLE_LEAST {
            return Some(Packed { numbers, kind: item::QUEUED, words: identities, fds });
        }
        let charge = self.lines.get(line)?.out.take(fds.len(), 0)?;
        let socket = sealed(&fds).ok()?.with(Box::new(Inside { fds, charge }));
        Some(Packed { numbers, kind: item::BUNDLE, words: identities, fds: vec![OutFd(Arc::new(socket))] })
    }

    /// Notes of rights with these numbers that they went over a line.
    fn note_passed(&mut self, line: LineId, numbers: &FxHashMap<PortId, u32>, passed: &[Passed]) {
        let Self { remote, lines, .. } = self;
        for (port, number) in numbers {
            let (Some(remote), Some(index)) = (at_mut(remote, *port), passed[*number as usize].index) else { continue };
            match remote.told.iter_mut().find(|told| told.0 == line) {
                Some(told) => told.1 = index,
                None => {
                    remote.told.retain(|told| lines.get(told.0).is_some());
                    remote.told.push((line, index));
                }
            }
        }
    }
}
