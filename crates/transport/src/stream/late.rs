//! How a connection that goes on gets its line.
//!
//! A line costs both ends a dozen system calls each, and wakes the server once more. So the client names its socket when it
//! connects, which is all that the server must know to find an offer later, and offers when it has used the connection as
//! often as pays for a segment (`SLIPWAY_X11_AFTER`). The server looks for the offer from about that time on: both count
//! sends and receives, and mostly the same. Each end counts the bytes of the stream from the beginning, so that it may move at any of them.

use super::{PATIENCE, Role, Stream, locked, state::phase};
use crate::{descriptor::Reserved, hub::Hub, ledger::LedgerEntry, line::TOKEN, rendezvous::Address, settings::Settings};
use slipway_fabric::{credentials::Credentials, sync::Ordering::Relaxed};
use std::{
    io,
    sync::{Arc, Weak},
};

/// How an end gets its line.
#[derive(Debug)]
pub enum Prospect {
    /// A client offers.
    Client {
        /// Where.
        to: Address,
        /// Its peer in the kernel's eyes.
        listener: Credentials,
    },
    /// A server finds the offer.
    Server {
        /// Where.
        hub: Weak<Hub>,
        /// As long as this process may be the only one left that serves the connection.
        kept: Option<Arc<Hub>>,
        /// The name of the client's socket.
        token: [u8; TOKEN],
        /// The client in the kernel's eyes.
        from: Credentials,
    },
}

impl Stream {
    /// An end without a line: a server's has a `record`. `hides_end`: see [`Stream::has_last_words`].
    ///
    /// # Errors
    /// There is no memory.
    pub fn quiet(prospect: Prospect, record: Option<LedgerEntry>, nonblocking: bool, hides_end: bool) -> io::Result<Self> {
        let (role, peer, foreign) = match &prospect {
            Prospect::Client { to, listener } => (Role::Client, listener, to.is_foreign(*listener)),
            Prospect::Server { hub, from, .. } => (Role::Server, from, hub.upgrade().is_some_and(|hub| hub.is_foreign(*from))),
        };
        let mut stream = Self::new(role, Reserved::none(), peer.pid.unwrap_or(0), nonblocking, record)?;
        stream.foreign = foreign;
        stream.hides_end = hides_end;
        *locked(&stream.prospect) = Some(prospect);
        // A client offers with the answer that counts, and a server has counted that when it sent it.
        stream.due.store(Settings::get().after.saturating_add(u32::from(role == Role::Server)), Relaxed);
        let common = &stream.state.common;
        common.line_gone.store(1, Relaxed);
        common.phase.store(phase::QUIET, Relaxed);
        Ok(stream)
    }

    /// Whether there was no offer yet.
    pub fn is_quiet(&self) -> bool {
        self.state.common.phase.load(Relaxed) == phase::QUIET
    }

    /// The program waits for the connection itself, by the hooks.
    pub fn note_wait(&self) {
        if self.is_quiet() {
            self.waited.store(1, Relaxed);
        }
    }

    /// Whether all waits for the connection are the hooks', as far as is known: those for its sets, or for itself, or in calls that block. A program that
    /// does not block, and that no hook has seen wait, waits by system calls of its own.
    fn is_waited_for(&self) -> bool {
        let sets = self.sets();
        let waits_in_sets = sets.iter().all(|set| set.is_waited_for()) && !(sets.is_empty() && self.nonblocking());
        self.waited.load(Relaxed) != 0 || waits_in_sets
    }

    /// A client offers now, if it has not: for a program that must hear bells.
    pub fn offer_now(&self) {
        if self.role == Role::Client && self.is_quiet() {
            self.get_line(0);
        }
    }

    /// Gets the line, if that can be: no other process has the connection, no thread sleeps that would not hear the line, and the program waits by the
    /// hooks.
    #[cold]
    pub(super) fn get_line(&self, used: u32) {
        let after = Settings::get().after;
        // For the next time: one that does not find it looks more and more seldom.
        self.due.store(used.saturating_add((used.saturating_sub(after)).max(1)), Relaxed);
        let common = &self.state.common;
        if common.heirs.load(Relaxed) != 0 || !self.is_waited_for() {
            return;
        }
        common.sleepers.if_none(|| {
            let mut prospect = locked(&self.prospect);
            let mut waits = self.role == Role::Server;
            let (line, then) = match &*prospect {
                Some(Prospect::Client { to, listener }) => {
                    let line = to.offer(*listener);
                    waits = matches!(&line, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
                    (line.ok(), phase::OFFERED)
                }
                Some(Prospect::Server { hub, token, from, .. }) => {
                    let found = hub.upgrade().and_then(|hub| hub.find(token, *from));
                    let line = found.map(|(line, ring)| {
                        self.offer.store(ring, Relaxed);
                        line
                    });
                    (line, phase::HEARD)
                }
                None => (None, phase::PLAIN),
            };
            if line.is_none() && waits && used / PATIENCE <= after.max(16) {
                return;
            }
            *prospect = None;
            match line {
                Some(line) => {
                    self.socket.store(Arc::new(line));
                    common.line_gone.store(0, Relaxed);
                    common.phase.store(then, Relaxed);
                }
                None => common.phase.store(phase::PLAIN, Relaxed),
            }
        });
    }

    /// A client's offer is not answered: its server has given the connection away, or keeps it on its socket for another reason.
    #[cold]
    pub(super) fn withdraw(&self) {
        self.stay_plain();
        self.state.common.line_gone.store(1, Relaxed);
        self.socket.store(Arc::new(Reserved::none()));
    }

    /// The connection stays on its socket.
    pub(super) fn stay_plain(&self) {
        self.state.common.phase.store(phase::PLAIN, Relaxed);
        *locked(&self.prospect) = None;
    }

    /// This process forks, and what comes of it may have the connection and not the listening socket.
    pub(super) fn keep_hub(&self) {
        if let Some(mut prospect) = self.prospect.try_lock()
            && let Some(Prospect::Server { hub, kept, .. }) = &mut *prospect
        {
            *kept = hub.upgrade();
        }
    }
}
