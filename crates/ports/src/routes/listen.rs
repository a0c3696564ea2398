//! What the watcher listens to.

use super::{
    Deferred, Exported, Once, Remote, Routes,
    watch::{About, Source, key},
};
use crate::{
    objects,
    state::{LineId, PortId, RemoteSendOnce},
};
use rustix::event::epoll;
use slipway_fabric::descriptor::{Reserved, register, unregister};
use std::io;

impl Routes {
    /// Starts the watcher, if it does not run yet.
    ///
    /// # Errors
    /// Those of epoll_create1(2) and eventfd(2), and of the start of a thread.
    pub(crate) fn start_watcher(&mut self) -> io::Result<()> {
        self.watch.run()
    }

    pub(crate) fn listen_line(&mut self, id: LineId) -> io::Result<()> {
        self.start_watcher()?;
        let line = self.lines.get(id).ok_or(io::ErrorKind::NotFound)?;
        self.listen(&line.bell, Source::Line, id, epoll::EventFlags::IN)
    }

    /// Hears of requests to a port here.
    pub(crate) fn listen_receiving_end(&mut self, port: PortId) -> io::Result<()> {
        self.start_watcher()?;
        let exported = self.exported(port).ok_or(io::ErrorKind::NotFound)?;
        self.listen(&exported.r, Source::Receiving, port.0, epoll::EventFlags::IN)
    }

    /// Hears of no requests to a port here for now.
    pub(crate) fn mute(&self, port: PortId) {
        if let Some(exported) = self.exported(port) {
            let _ = self.listen(&exported.r, Source::Receiving, port.0, epoll::EventFlags::empty());
        }
    }

    /// No task can send to the port's receiving end any more.
    pub(crate) fn deafen(&mut self, port: PortId) {
        if let Some(exported) = self.exported(port) {
            unregister(&exported.r);
        }
    }

    pub(crate) fn listen_once_end(&mut self, id: u32) -> io::Result<()> {
        self.start_watcher()?;
        let end = self.once_ends.get(id as usize).ok_or(io::ErrorKind::NotFound)?;
        self.listen(&end.socket, Source::OnceEnd, id, epoll::EventFlags::IN)
    }

    /// Listens to a pipe that counts a port's holders.
    pub(crate) fn listen_watch(&mut self, port: PortId, pipe: &Reserved) {
        let heard = self.start_watcher().and_then(|()| self.listen(pipe, Source::Senders, port.0, epoll::EventFlags::empty()));
        if heard.is_err() {
            self.retry_later(Deferred::Holders(port));
        }
    }

    /// Listens to all pipes that count a port's holders. What lacks the resources for it is tried again: the end of a holder must not be missed.
    pub(crate) fn listen_watches(&mut self, port: PortId) {
        let started = self.start_watcher().is_ok();
        let Some(Exported { watches, .. }) = self.exported(port) else { return };
        let heard = |pipe: &&Reserved| started && self.listen(pipe, Source::Senders, port.0, epoll::EventFlags::empty()).is_ok();
        if watches.iter().filter(heard).count() < watches.len() {
            self.retry_later(Deferred::Holders(port));
        }
    }

    /// Listens for the death of a remote port.
    pub(crate) fn watch_death(&mut self, port: PortId) {
        if self.start_watcher().is_err() {
            return;
        }
        self.open_bundle_of(port);
        let Some(remote) = self.remote_mut(port) else { return };
        remote.shared = true;
        if std::mem::replace(&mut remote.watched, true) {
            return;
        }
        let Some(s) = remote.s.clone() else { return };
        if objects::hung_up(&*s) {
            return self.state.remote_port_died(port);
        }
        let _ = self.listen(&s, Source::Death, port.0, epoll::EventFlags::empty());
    }

    /// Listens for the death of the port of a remote send-once right.
    pub(crate) fn watch_once(&mut self, once: RemoteSendOnce) {
        if self.start_watcher().is_err() {
            return;
        }
        if let Some(Once::Socket(socket)) = self.onces.get(once.0 as usize) {
            // Once: others' copies of a dead socket would keep it in the set.
            let _ = self.listen(socket, Source::OnceDeath, once.0, epoll::EventFlags::ONESHOT);
        }
    }

    /// Listens for the death of the task with a receive right that is wanted back.
    pub(crate) fn listen_holder(&mut self, port: PortId) {
        let Some(Remote { spare: Some(_), t: Some(t), .. }) = self.remote(port) else { return };
        // Once: other holders' copies of the pipe's end keep it in the set.
        let _ = self.listen(t, Source::Holder, port.0, epoll::EventFlags::ONESHOT);
    }

    fn listen(&self, fd: &Reserved, source: Source, about: impl Into<About>, flags: epoll::EventFlags) -> io::Result<()> {
        let Some(watcher) = &self.watch.watcher else { return Ok(()) };
        register(&watcher.epoll, fd, key(source, about), flags)
    }
}
