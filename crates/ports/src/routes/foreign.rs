//! Send rights to third parties' ports on their way into this process: one by one, or in a [bundle](super::bundle).

use super::{
    Deferred, Remote, Routes,
    bundle::{Bundle, Bundled, Contents},
    corrupt,
};
use crate::{
    account::Charge,
    objects,
    state::{PortId, Right},
    wire::parse::ParsedBundle,
};
use slipway_fabric::{Corrupt, descriptor::Reserved};
use std::sync::Arc;

/// How many bundles may be unopened beside that of the message that is being taken in: the kernel counts what is in a queue for its
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
        let identity = objects::identity(&s).map_err(|_| corrupt())?;
        let port = match self.identified(identity, &s) {
            Some(port) => {
                self.also_given(port, None);
                port
            }
            None => self.new_remote(identity, Remote { s: Some(Arc::new(s)), identity, ..Remote::default() }),
        };
        if let Some(remote) = self.remote_mut(port)
            && remote.t.is_none()
        {
            remote.t = Some(Arc::new(t));
        }
        if self.state.port(port).is_dead() {
            return Ok(Right::Dead);
        }
        self.state.port_mut(port).srights += 1;
        Ok(Right::Send(port))
    }

    /// Begins to take in a message, with its bundle if it has one.
    pub(super) fn begin_bundle(&mut self, bundle: Option<Box<ParsedBundle>>) {
        let Some(bundle) = bundle else { return };
        let ParsedBundle { socket, identities } = *bundle;
        let rights: Vec<Bundled> = identities.into_iter().map(|identity| Bundled { identity, port: None }).collect();
        let (mut charge, mut account) = (None, None);
        if let Some(of) = socket.as_ref().and_then(Charge::of) {
            charge = of.take(2 * rights.len(), 0);
            account = Some(of);
        }
        let charged = charge.is_some() || account.is_none();
        let account = account.unwrap_or_else(|| self.ledger.apart());
        let contents = match socket {
            Some(socket) => Contents::Sealed(socket.as_queue(), charge, account),
            None => Contents::Open(Vec::new()),
        };
        let key = self.bundles.table.insert(Bundle { contents, rights, live: 0 }) as u32;
        self.bundles.reading = Some(key);
        if !charged {
            // As many as the account may have.
            self.open_bundle(key);
        }
        let others = self.bundles.table.iter().map(|(other, _)| other as u32).filter(|other| *other != key);
        if let Some(other) = others.max().filter(|_| self.bundles.table.len() > UNOPENED) {
            self.open_bundle(other);
        }
    }

    /// The message with the bundle is taken in, or what could be of it.
    pub(super) fn end_bundle(&mut self) {
        let Some(key) = self.bundles.reading.take() else { return };
        let Some(bundle) = self.bundles.table.get(key as usize) else { return };
        if bundle.live == 0 || matches!(bundle.contents, Contents::Open(_)) {
            self.bundles.table.remove(key as usize);
        } else {
            self.retry_later(Deferred::Open(key));
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
        let sealed = matches!(bundle.contents, Contents::Sealed(..));
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
        let Some((s, t)) = pairs.get_mut(number as usize).and_then(Option::take) else { return Ok(Right::Dead) };
        let right = self.import_send(s, t)?;
        if let Right::Send(port) = right {
            self.note_bundled(key, number, Some(port));
        }
        Ok(right)
    }
}
