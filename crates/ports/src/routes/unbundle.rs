//! Opening [bundles](super::bundle), and the ports that are known by their identities.

use super::{Routes, Upcall, bundle::Contents};
use crate::{
    line::{receive_batch, remembered::Pair},
    objects::{self, Arrived},
    state::{LineId, PortId},
};
use slipway_fabric::descriptor::Kind;

/// The sending ends and pipes of rights, in their order: of those where both found a place and are what they should be.
pub(super) fn pairs(fds: Vec<Arrived>) -> Vec<Option<Pair>> {
    let mut fds = fds.into_iter();
    let mut pair = || {
        let (s, t) = (fds.next()?, fds.next()?);
        let pair = s.zip(t).filter(|(s, t)| s.kind() == Kind::Unix && t.kind() == Kind::Pipe);
        Some(pair.map(|(s, t)| Pair::new(s, t)))
    };
    std::iter::from_fn(&mut pair).collect()
}

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
            self.forget_bundle(key);
        }
    }

    /// Nothing of a bundle is wanted any more.
    pub(super) fn forget_bundle(&mut self, key: u32) {
        let Some(bundle) = self.bundles.table.try_remove(key as usize) else { return };
        if let Contents::Queued(line) = bundle.contents
            && let Some(line) = self.lines.get_mut(line)
        {
            line.unread.iter_mut().filter(|it| it.bundle == Some(key)).for_each(|it| it.bundle = None);
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
        match std::mem::replace(&mut bundle.contents, Contents::Open(Vec::new())) {
            Contents::Sealed(socket, charge, account) => {
                // They are charged one by one.
                drop(charge);
                let fds = receive_batch(&socket, &account, 2 * bundle.rights.len());
                drop(socket);
                self.unpack(key, fds.unwrap_or_default());
            }
            Contents::Queued(line) => {
                bundle.contents = Contents::Queued(line);
                self.take_unread(line, Some(key));
            }
            open => bundle.contents = open,
        }
    }

    /// Takes what is left in a line's socket for descriptors: all of it, or up to what belongs to a bundle.
    pub(crate) fn take_unread(&mut self, number: LineId, up_to: Option<u32>) {
        while let Some(line) = self.lines.get_mut(number)
            && let Some(first) = line.unread.front()
        {
            let key = first.bundle;
            self.bundles.queued -= first.fds;
            let fds = line.take_unread().flatten();
            if fds.is_none() {
                // What comes behind it can't be what it should be.
                self.upcall(Upcall::End(number));
            }
            let Some(key) = key else { continue };
            self.unpack(key, fds.unwrap_or_default());
            if up_to == Some(key) {
                return;
            }
        }
    }

    /// Gives the ports of a bundle what was in it.
    fn unpack(&mut self, key: u32, fds: Vec<Arrived>) {
        let Some(bundle) = self.bundles.table.get_mut(key as usize) else { return };
        let rights = std::mem::take(&mut bundle.rights);
        let mut rest = pairs(fds);
        rest.resize_with(rights.len(), || None);
        for ((number, it), pair) in rights.iter().enumerate().zip(&mut rest) {
            let sealed =
                it.port.filter(|port| self.remote(*port).is_some_and(|remote| remote.bundled == Some((key, number as u32))));
            if let Some(port) = sealed {
                self.unbundle(port, pair.take());
            }
        }
        if self.bundles.reading == Some(key) {
            if let Some(bundle) = self.bundles.table.get_mut(key as usize) {
                (bundle.contents, bundle.rights) = (Contents::Open(rest), rights);
            }
        } else {
            self.bundles.table.try_remove(key as usize);
        }
    }

    /// A port that was known by a bundle alone gets what came out of it.
    fn unbundle(&mut self, port: PortId, pair: Option<Pair>) {
        let Some(remote) = self.remote_mut(port) else { return };
        remote.bundled = None;
        let identity = remote.identity;
        let pair = pair.filter(|pair| objects::identity(&*pair.s).is_ok_and(|it| it == identity));
        self.bundles.claims.remove(&identity);
        let known = self.identities.contains_key(&identity);
        let Some(remote) = self.remote_mut(port) else { return };
        if let Some(Pair { s, t, .. }) = pair.filter(|_| !known) {
            (remote.s, remote.t, remote.shared) = (Some(s), Some(t), true);
            self.identities.insert(identity, port);
        } else {
            remote.identity = 0;
            self.state.remote_port_died(port);
        }
    }
}
