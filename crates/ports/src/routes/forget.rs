//! Ports that no right here refers to any more, and ports that died here.

use super::{Exported, Routes, at_mut};
use crate::{
    line::{Line, ends::Ends},
    state::{Home, PortId},
};
use rustix::net::{Shutdown, shutdown};
use slipway_fabric::{credit::Closed, descriptor::unregister};

impl Routes {
    /// No right here refers to the port any more, which is remote or dead.
    pub(crate) fn forget(&mut self, port: PortId) {
        // It may have been said twice, and done the first time.
        let Some(it) = self.state.ports.get(port.0 as usize) else { return };
        if it.srights > 0 || it.sorights > 0 || !it.names.is_empty() {
            return;
        }
        match it.home {
            Home::Here(_) => {}
            Home::Dead => {
                if !self.leave_routes(port) {
                    return;
                }
                let Some(it) = self.state.ports.get(port.0 as usize) else { return };
                if it.srights == 0 && it.sorights == 0 && it.names.is_empty() {
                    self.drop_remote(port);
                    self.state.free_port(port);
                }
            }
            Home::Remote => self.release_remote(port),
        }
    }

    /// A remote port died: takes what was not accepted back from the lines that led to it, before its number is another's.
    /// False if that has to wait: a port dies on one line after the other, and the end of the line itself may be still to come.
    fn leave_routes(&mut self, port: PortId) -> bool {
        let routes = self.remote(port).map(|remote| remote.routes.clone()).unwrap_or_default();
        for route in routes {
            self.look_at_gate(route.line, route.slot);
        }
        self.remote(port).is_none_or(|remote| remote.routes.is_empty())
    }

    /// Gives up the routes to a remote port without rights. What a line told of it is kept as long as
    /// the line lasts, for the next right.
    fn release_remote(&mut self, port: PortId) {
        self.untell(port);
        let Self { remote, lines, stirred, .. } = self;
        let Some(remote) = at_mut(remote, port) else { return self.state.free_port(port) };
        remote.t = None;
        for route in &mut remote.routes {
            if let Some(line) = lines.get_mut(route.line) {
                line.release_slot(route.slot, std::mem::take(&mut route.line_rights), std::mem::take(&mut route.attached));
                stirred.push(route.line);
            }
        }
        remote.routes.retain(|route| lines.get(route.line).is_some_and(|line| line.keeps(route.slot)));
        let kept = !remote.routes.is_empty();
        let stranded = std::mem::take(&mut remote.stranded);
        stranded.into_iter().for_each(|message| self.state.destroy_message(message));
        self.let_go();
        if !kept {
            self.drop_remote(port);
            self.state.free_port(port);
        }
    }

    /// Forgets the kernel objects of a remote port.
    pub(crate) fn drop_remote(&mut self, port: PortId) {
        if let Some(remote) = self.take_remote(port) {
            // It may be on its way to others.
            remote.s.iter().for_each(unregister);
            match remote.bundled {
                Some(place) => self.drop_bundled(remote.identity, place),
                None => drop(self.identities.remove(&remote.identity)),
            }
            self.let_go();
            for message in remote.stranded {
                self.state.destroy_message(message);
            }
        }
    }

    /// A port here has died: closes its slot, which keeps its ends, if none but the other end of that line has the sending end. True if so.
    fn close_and_keep(&mut self, port: PortId) -> bool {
        let Some(Exported { shared: false, slots, .. }) = self.exported(port) else { return false };
        let [(number, slot)] = slots[..] else { return false };
        // What lies there may say that others have it.
        let is_read = |line: &&Line| !line.ended && !line.blocked && !line.segment.rx.readable(line.rx.head);
        let line = self.lines.get(number).filter(is_read);
        let Some(charge) = line.and_then(|line| line.in_ends.room(&line.account)) else { return false };
        self.close_slots(port, Closed::Kept);
        let Some(exported) = self.take_exported(port) else { return false };
        let Exported { r, s, identity, .. } = *exported;
        self.identities.remove(&identity);
        if let Some(line) = self.lines.get_mut(number) {
            line.in_ends.put(slot, Ends { r: Some(r), s, identity }, charge);
        }
        true
    }

    /// A port that was here is dead: all tasks that could send to it learn of it.
    pub(crate) fn unexport_dead(&mut self, port: PortId) {
        if !self.close_and_keep(port) {
            self.close_slots(port, Closed::Dead);
            // The watcher need not hear what comes next.
            self.deafen(port);
            // Senders hear of it now, whenever the sockets are closed.
            if let Some(exported) = self.exported(port) {
                let _ = shutdown(&exported.r, Shutdown::Both);
            }
            self.unexport(port);
        }
        let ends = self.take_once_ends(port);
        for end in &ends {
            let _ = shutdown(&end.socket, Shutdown::Both);
            self.state.drop_soright(port);
        }
        self.drop_tokens_of(port);
        if self.state.ports.get(port.0 as usize).is_some_and(|it| it.is_dead()) {
            self.forget(port);
        }
    }
}
