//! Send rights to third parties' ports on their way into this process: one by one, or in a [bundle](super::bundle).

use super::{
    Deferred, Remote, Routes,
    bundle::{Bundle, Bundled, Contents},
    corrupt,
    unbundle::pairs,
};
use crate::{
    account::Charge,
    line::{Line, Unread, remembered::Pair},
    objects,
    state::{LineId, PortId, Right},
    wire::parse::{Packed, ParsedBundle},
};
use slipway_fabric::{Corrupt, descriptor::Reserved};

/// How many descriptors may be left in a line's own socket, and in those of all lines, for the same reason. They are taken together where
/// there would be more.
const QUEUED_OF_LINE: usize = 32;
const QUEUED_OF_ALL: usize = 128;

/// How many bundles with sockets may be unopened beside that of the message that is being taken in: the kernel counts what is in a queue for its
/// sender's user.
const UNOPENED: usize = 4;

impl Routes {
    /// A send right to a port that may be gone by now.
    pub(super) fn send_right_to(&mut self, port: Option<PortId>) -> Right {
        match port.filter(|port| !self.is_gone(*port)) {
            Some(port) => {
                self.state.port_mut(port).srights += 1;
                Right::Send(port)
            }
            None => Right::Dead,
        }
    }

    /// A send right that came as descriptors: its port's sending end, and a pipe that counts this process as a holder.
    ///
    /// # Errors
    /// The sending end is no socket.
    pub(crate) fn import_send(&mut self, s: Reserved, t: Reserved) -> Result<Right, Corrupt> {
        self.import_pair(Pair::new(s, t))
    }

    /// As [`Routes::import_send`].
    fn import_pair(&mut self, Pair { s, t, identity }: Pair) -> Result<Right, Corrupt> {
        let identity = identity.map_or_else(|| objects::identity(&*s), Ok).map_err(|_| corrupt())?;
        let port = match self.identified(identity, &s) {
            Some(port) => {
                self.also_given(port, None);
                port
            }
            None => self.new_remote(identity, Remote { s: Some(s), identity, ..Remote::default() }),
        };
        if let Some(remote) = self.remote_mut(port) {
            remote.shared = true;
            remote.t.get_or_insert(t);
        }
        if self.state.port(port).is_dead() {
            return Ok(Right::Dead);
        }
        self.state.port_mut(port).srights += 1;
        Ok(Right::Send(port))
    }

    /// Begins to take in a message, with its bundle if it has one, of whose rights the descriptors may be left in the socket of `line`, or remembered
    /// for it.
    ///
    /// # Errors
    /// Nothing was to be remembered there.
    pub(super) fn begin_bundle(&mut self, line: Option<LineId>, bundle: Option<Box<ParsedBundle>>) -> Result<(), Corrupt> {
        let Some(bundle) = bundle else { return Ok(()) };
        let ParsedBundle { packed, words } = *bundle;
        let (open, socket) = match packed {
            Packed::Socket(socket) => (socket.is_none().then(Vec::new), socket),
            Packed::Queued => (None, None),
            Packed::Remember(fds) => (Some(self.remember(line, &words, pairs(fds))?), None),
            Packed::Remembered => (Some(self.recall(line, &words)?), None),
            Packed::Here(fds) => (Some(pairs(fds)), None),
        };
        let rights: Vec<Bundled> = words.into_iter().map(|identity| Bundled { identity, port: None }).collect();
        let fds = 2 * rights.len();
        let key = self.bundles.table.insert(Bundle { contents: Contents::Open(Vec::new()), rights, live: 0 }) as u32;
        self.bundles.reading = Some(key);
        let (contents, charged) = match (open, socket) {
            (Some(open), _) => (Contents::Open(open), true),
            (None, Some(socket)) => self.sealed(socket, fds),
            (None, None) => self.queued(line, key, fds),
        };
        if let Some(bundle) = self.bundles.table.get_mut(key as usize) {
            bundle.contents = contents;
        }
        if !charged {
            // As many as the account may have.
            self.open_bundle(key);
        }
        let sealed = |bundle: &Bundle| matches!(bundle.contents, Contents::Sealed(..));
        let others = self.bundles.table.iter().filter(|(other, bundle)| *other as u32 != key && sealed(bundle));
        let others: Vec<u32> = others.map(|(other, _)| other as u32).collect();
        if let Some(other) = others.last().filter(|_| others.len() >= UNOPENED) {
            self.open_bundle(*other);
        }
        Ok(())
    }

    /// Rights that came are remembered for the other end of the line, if no more than half of what may be held for it is in use. It is told which are.
    fn remember(
        &mut self,
        line: Option<LineId>,
        indices: &[u64],
        mut pairs: Vec<Option<Pair>>,
    ) -> Result<Vec<Option<Pair>>, Corrupt> {
        // What is taken back was remembered elsewhere.
        let Some(line) = line.and_then(|line| self.lines.get_mut(line)) else { return Ok(pairs) };
        let may_stay = line.account.has_half_left();
        for (index, pair) in indices.iter().zip(&mut pairs) {
            *pair = pair.take().and_then(Pair::identified);
            let answer = line.remembered.keep(*index, pair.clone().filter(|_| may_stay))?;
            line.post(answer, Vec::new());
        }
        Ok(pairs)
    }

    /// Rights that are remembered for the other end of the line.
    fn recall(&mut self, line: Option<LineId>, indices: &[u64]) -> Result<Vec<Option<Pair>>, Corrupt> {
        let line = line.and_then(|line| self.lines.get_mut(line)).ok_or_else(corrupt)?;
        indices.iter().map(|index| line.remembered.recall(*index).map(Some)).collect()
    }

    /// So many descriptors in a socket, and whether they are charged.
    fn sealed(&self, socket: Reserved, fds: usize) -> (Contents, bool) {
        let of = Charge::of(&socket);
        let charge = of.as_ref().and_then(|of| of.take(fds, 0));
        let charged = charge.is_some() || of.is_none();
        (Contents::Sealed(socket.as_queue(), charge, of.unwrap_or_else(|| self.ledger.apart())), charged)
    }

    /// So many descriptors in the line's own socket, for a bundle, and whether they are charged and may be left there.
    fn queued(&mut self, line: Option<LineId>, key: u32, fds: usize) -> (Contents, bool) {
        // What is taken back lies in no queue.
        let Some(number) = line else { return (Contents::Open(Vec::new()), true) };
        let left = |line: &Line| line.unread.iter().map(|it| it.fds).sum::<usize>();
        if self.lines.get(number).is_some_and(|line| left(line) + fds > QUEUED_OF_LINE) {
            self.take_unread(number, None);
        }
        let Some(line) = self.lines.get_mut(number) else { return (Contents::Open(Vec::new()), true) };
        line.unread.push_back(Unread { bundle: Some(key), fds });
        let stays = self.bundles.queued + fds <= QUEUED_OF_ALL;
        self.bundles.queued += fds;
        self.retry_later(Deferred::Unread(number));
        (Contents::Queued(number), stays)
    }

    /// The message with the bundle is taken in, or what could be of it.
    pub(super) fn end_bundle(&mut self) {
        let Some(key) = self.bundles.reading.take() else { return };
        let Some(bundle) = self.bundles.table.get(key as usize) else { return };
        match bundle.contents {
            Contents::Sealed(..) if bundle.live > 0 => self.retry_later(Deferred::Open(key)),
            Contents::Queued(_) if bundle.live > 0 => {}
            _ => self.forget_bundle(key),
        }
    }

    /// A right of the bundle of the message that is being taken in.
    pub(super) fn import_bundled(&mut self, number: u32) -> Result<Right, Corrupt> {
        let key = self.bundles.reading.ok_or_else(corrupt)?;
        let bundle = self.bundles.table.get(key as usize).ok_or_else(corrupt)?;
        let Bundled { identity, port } = *bundle.rights.get(number as usize).ok_or_else(corrupt)?;
        if port.is_some() {
            return Ok(self.send_right_to(port));
        }
        let sealed = !matches!(bundle.contents, Contents::Open(_));
        if sealed && !self.identities.contains_key(&identity) && !self.bundles.claims.contains_key(&identity) {
            let port = self.state.new_remote_port();
            self.set_remote(port, Remote { identity, bundled: Some((key, number)), ..Remote::default() });
            self.bundles.claims.insert(identity, port);
            self.note_bundled(key, number, Some(port));
            return Ok(self.send_right_to(Some(port)));
        }
        self.open_bundle(key);
        let Some(Bundle { contents: Contents::Open(pairs), .. }) = self.bundles.table.get_mut(key as usize) else {
            return Err(corrupt());
        };
        let Some(pair) = pairs.get_mut(number as usize).and_then(Option::take) else { return Ok(Right::Dead) };
        let right = self.import_pair(pair)?;
        if let Right::Send(port) = right {
            self.note_bundled(key, number, Some(port));
        }
        Ok(right)
    }
}
