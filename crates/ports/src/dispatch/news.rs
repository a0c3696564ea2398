//! What the watcher hears, and what it goes on with.

use super::{Inner, hot::MANY, records::Dispatched};
use crate::{
    abi::kind,
    line::Line,
    objects,
    routes::{
        Deferred, Exported, Once,
        watch::{About, Source},
    },
    state::{
        Home, LineId, PortId, RemoteSendOnce, SpaceId,
        space::{Entry, Object},
    },
};
use slipway_fabric::descriptor::unregister;
use std::os::fd::{AsFd, AsRawFd, RawFd};

impl Inner {
    /// Forgets the pipes that no task holds any more. Not while a record of a line is being read: what holders sent while they held
    /// the right comes before its end.
    pub(super) fn refresh_holders(&mut self, port: PortId) {
        let Some(Exported { watches, slots, .. }) = self.exported(port) else { return };
        let gone: Vec<RawFd> =
            watches.iter().filter(|pipe| objects::hung_up(*pipe)).map(|pipe| pipe.as_fd().as_raw_fd()).collect();
        if !gone.is_empty() {
            let readable = |number: &LineId| {
                self.lines.get(*number).is_some_and(|line| !line.blocked && line.segment.rx.readable(line.rx.head))
            };
            let lines: Vec<LineId> = slots.iter().map(|(line, _)| *line).filter(readable).collect();
            let more = lines.iter().take(MANY).filter(|line| self.dispatch(**line) == Dispatched::More).count();
            if more > 0 || lines.len() > MANY {
                return self.defer(Deferred::Holders(port));
            }
            self.accept_lines(port);
            // What came over new lines was sent before the holders were gone, too.
            self.make_upcalls();
            if self.deferred.holds(Deferred::Accept(port)) || self.has_unread(port) {
                // They would be heard all the time.
                self.exported(port).iter().flat_map(|it| &it.watches).filter(|pipe| objects::hung_up(*pipe)).for_each(unregister);
                return self.retry_later(Deferred::Holders(port));
            }
        }
        if let Some(Exported { watches, .. }) = self.exported_mut(port) {
            watches.retain(|pipe| !gone.contains(&pipe.as_fd().as_raw_fd()));
            self.count_abroad(port);
        }
    }

    /// Whether something lies in a line that others can send to a port here over: behind what its sender has yet to take back, or there is much.
    fn has_unread(&self, port: PortId) -> bool {
        let is_unread = |line: LineId| self.lines.get(line).is_some_and(|line| line.segment.rx.readable(line.rx.head));
        self.exported(port).is_some_and(|exported| exported.slots.iter().any(|(line, _)| is_unread(*line)))
    }

    /// Finds out how many hold rights to a port here, before the state is asked.
    pub(crate) fn refresh_senders(&mut self, port: PortId) {
        if let Some(exported) = self.exported_mut(port) {
            exported.t = None;
            self.let_go();
            self.refresh_holders(port);
        }
    }

    /// The port behind a name with a receive right.
    pub(crate) fn own_port(&self, space: SpaceId, name: u32) -> Option<PortId> {
        self.state.space(space).get(name).filter(|entry| entry.has(kind::RECEIVE)).and_then(Entry::port)
    }

    /// A receive right is about to be given up: takes what lies in the lines of its senders, of which some may have given theirs up
    /// already. Those need not be woken by the death of the port.
    pub(crate) fn hear_releases(&mut self, space: SpaceId, name: u32) {
        let Some(exported) = self.own_port(space, name).and_then(|port| self.exported(port)) else { return };
        let holds = |(number, slot): &&(LineId, u32)| {
            self.lines.get(*number).is_some_and(|line| {
                let given = line.ins.get(*slot as usize).and_then(Option::as_ref).map_or(0, |it| it.given);
                given > 0 && !line.blocked && line.segment.rx.readable(line.rx.head)
            })
        };
        let lines: Vec<LineId> = exported.slots.iter().filter(holds).take(MANY).map(|(number, _)| *number).collect();
        for number in lines {
            self.dispatch(number);
        }
    }

    /// Looks for deaths that the routine about to be called would otherwise not know of.
    pub(crate) fn refresh(&mut self, space: SpaceId, name: u32) {
        let Some(entry) = self.state.space(space).get(name).copied() else { return };
        match entry.object {
            Object::Port(port) => {
                self.refresh_remote(port);
                let route = self.remote(port).and_then(|remote| remote.open_route()).map(|route| (route.line, route.slot));
                if let Some((line, slot)) = route {
                    self.look_at_gate(line, slot);
                }
            }
            Object::Once(once) => self.refresh_once(once),
            Object::None | Object::Set(_) => {}
        }
        self.settle();
    }

    /// Looks whether the port of a remote send-once right has died since anybody last looked.
    pub(crate) fn refresh_once(&mut self, once: RemoteSendOnce) {
        let Some(Once::Socket(socket)) = self.onces.get(once.0 as usize) else { return };
        if objects::hung_up(&**socket) && self.state.remote_send_once_died(once) {
            self.onces.try_remove(once.0 as usize);
        }
    }

    /// Looks whether a remote port has died since anybody last looked.
    pub(crate) fn refresh_remote(&mut self, port: PortId) {
        self.open_bundle_of(port);
        if matches!(self.state.port(port).home, Home::Remote)
            && let Some(remote) = self.remote(port)
            && remote.s.as_ref().is_some_and(|s| objects::hung_up(&**s))
        {
            self.state.remote_port_died(port);
            self.bury_remote(port);
        }
    }

    /// Does one thing that was deferred.
    pub(crate) fn go_on(&mut self) {
        match self.deferred.take_ready() {
            Some(Deferred::Stir(line)) => self.line_stirs(line),
            Some(Deferred::Accept(port)) => {
                if self.exported(port).is_some() && self.listen_receiving_end(port).is_err() {
                    self.retry_later(Deferred::Accept(port));
                }
                self.accept_lines(port);
            }
            Some(Deferred::Holders(port)) => {
                self.listen_watches(port);
                self.refresh_holders(port);
            }
            Some(Deferred::Resend(port)) => self.resend_stranded(port),
            Some(Deferred::Open(bundle)) => self.open_bundle(bundle),
            Some(Deferred::Unread(line)) => self.take_unread(line, None),
            Some(Deferred::Cool) => {
                self.unheard = true;
                self.cool_unled();
            }
            None => {}
        }
    }

    /// Does what news call for. Any of them may take long.
    pub(crate) fn hear_news(&mut self, source: Source, about: About) {
        let id = about.id();
        match source {
            Source::Line => match self.lines.get_mut(about.line()).map(Line::drain_bells) {
                Some(true) => self.line_stirs(about.line()),
                // What lies in the ring was sent while the sender lived. This is heard again as long as the line is there.
                Some(false) if self.dispatch(about.line()) == Dispatched::More => {}
                Some(false) => self.end_line(about.line()),
                None => {}
            },
            Source::Receiving => self.accept_lines(PortId(id)),
            Source::OnceEnd => self.dispatch_once_end(id),
            Source::Senders => self.refresh_holders(PortId(id)),
            Source::Death => self.refresh_remote_port(PortId(id)),
            Source::OnceDeath => self.refresh_once(RemoteSendOnce(id)),
            Source::Holder => self.regain(PortId(id)),
            // Done after this.
            Source::Inspect | Source::Deferred => {}
        }
    }

    /// A remote port's sending end has news: that it hung up, if any.
    pub(super) fn refresh_remote_port(&mut self, port: PortId) {
        if !self.state.ports.contains(port.0 as usize) {
            return;
        }
        self.refresh_remote(port);
        if self.state.port(port).is_dead()
            && let Some(s) = self.remote(port).and_then(|remote| remote.s.clone())
        {
            // It stays as long as a message has a right to the port, hung up all the time.
            unregister(&s);
        }
    }
}
