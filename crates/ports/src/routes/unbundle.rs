//! Opening [bundles](super::bundle), and the ports that are known by their identities.

use super::{Routes, bundle::Contents};
use crate::{
    line::receive_batch,
    objects,
    state::{LineId, PortId},
};
use slipway_fabric::descriptor::{Kind, Reserved};
use std::sync::Arc;

impl Routes {
    /// The port at a slot of this end, wherever it is by now.
    pub(crate) fn port_of_in(&mut self, line: LineId, slot: u32) -> Option<PortId> {
        let it = self.lines.get(line)?.ins.get(slot as usize)?.as_ref()?;
        if it.closed { self.port_with(it.identity) } else { Some(it.port) }
    }

    /// The port at a slot of the other end, wherever it is by now.
    pub(crate) fn port_of_out(&mut self, line: LineId, slot: u32) -> Option<PortId> {
        let it = self.lines.get(line)?.outs.get(slot as usize)?.as_ref()?;
        if it.closed { self.port_with(it.identity) } else { Some(it.port) }
    }

    /// The port with the identity. If a bundle claims to have a right to it, it has to show that first.
    pub(super) fn port_with(&mut self, identity: u64) -> Option<PortId> {
        if let Some(port) = self.bundles.claims.get(&identity).copied() {
            self.open_bundle_of(port);
        }
        self.identities.get(&identity).copied()
    }

    /// Notes which port a right of a bundle is to.
    pub(super) fn note_bundled(&mut self, key: u32, number: u32, port: Option<PortId>) {
        let Some(bundle) = self.bundles.table.get_mut(key as usize) else { return };
        let Some(it) = bundle.rights.get_mut(number as usize) else { return };
        bundle.live = bundle.live + usize::from(port.is_some()) - usize::from(it.port.is_some());
        it.port = port;
    }

    /// A port is forgotten that was known by a bundle alone.
    pub(super) fn drop_bundled(&mut self, identity: u64, (key, number): (u32, u32)) {
        self.bundles.claims.remove(&identity);
        self.note_bundled(key, number, None);
        let unused = self.bundles.table.get(key as usize).is_some_and(|bundle| bundle.live == 0);
        if unused && self.bundles.reading != Some(key) {
            self.bundles.table.remove(key as usize);
        }
    }

    /// Opens the bundle that a port is known by alone, if it is. The port may turn out to be dead.
    #[inline]
    pub(crate) fn open_bundle_of(&mut self, port: PortId) {
        if let Some((key, _)) = self.remote(port).and_then(|remote| remote.bundled) {
            self.open_bundle(key);
        }
    }

    /// Takes out of a bundle what is in it, and gives its ports their sending ends and pipes. Those to whose identity nothing
    /// belongs are dead.
    pub(crate) fn open_bundle(&mut self, key: u32) {
        let Some(bundle) = self.bundles.table.get_mut(key as usize) else { return };
        let contents = std::mem::replace(&mut bundle.contents, Contents::Open(Vec::new()));
        let Contents::Sealed(socket, charge, account) = contents else {
            bundle.contents = contents;
            return;
        };
        // They are charged one by one.
        drop(charge);
        let rights = bundle.rights.clone();
        let fds = receive_batch(&socket, &account, 2 * rights.len()).unwrap_or_default();
        drop(socket);
        let mut fds = fds.into_iter();
        let mut pair = || {
            let (s, t) = (fds.next().flatten(), fds.next().flatten());
            s.zip(t).filter(|(s, t)| s.kind() == Kind::Unix && t.kind() == Kind::Pipe)
        };
        let mut rest = Vec::with_capacity(rights.len());
        for (number, it) in rights.into_iter().enumerate() {
            let pair = pair();
            let sealed =
                it.port.filter(|port| self.remote(*port).is_some_and(|remote| remote.bundled == Some((key, number as u32))));
            match sealed {
                Some(port) => {
                    self.unbundle(port, pair);
                    rest.push(None);
                }
                None => rest.push(pair),
            }
        }
        if self.bundles.reading == Some(key) {
            if let Some(bundle) = self.bundles.table.get_mut(key as usize) {
                bundle.contents = Contents::Open(rest);
            }
        } else {
            self.bundles.table.try_remove(key as usize);
        }
    }

    /// A port that was known by a bundle alone gets what came out of it.
    fn unbundle(&mut self, port: PortId, pair: Option<(Reserved, Reserved)>) {
        let Some(remote) = self.remote_mut(port) else { return };
        remote.bundled = None;
        let identity = remote.identity;
        let pair = pair.filter(|(s, _)| objects::identity(s).is_ok_and(|it| it == identity));
        self.bundles.claims.remove(&identity);
        let known = self.identities.contains_key(&identity);
        let Some(remote) = self.remote_mut(port) else { return };
        if let Some((s, t)) = pair.filter(|_| !known) {
            (remote.s, remote.t) = (Some(Arc::new(s)), Some(Arc::new(t)));
            self.identities.insert(identity, port);
        } else {
            remote.identity = 0;
            self.state.remote_port_died(port);
        }
    }
}
