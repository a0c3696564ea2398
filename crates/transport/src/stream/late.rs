//! How a connection that goes on gets its line.
//!
//! A line costs both ends a dozen system calls each, and wakes the server once more. So the client names its socket when it
//! connects, which is all that the server must know to find an offer later, and offers when it has used the connection as
//! often as pays for a segment (`SLIPWAY_X11_AFTER`). The server looks for the offer from about that time on: both count
//! sends and receives, and mostly the same. Each end counts the bytes of the stream from the beginning, so that it may move at any of them.

use super::{PATIENCE, Role, Stream, locked, state::phase};
use crate::{
    descriptor::Reserved,
    hub::Hub,
    ledger::LedgerEntry,
    line::TOKEN,
    options::{needs_kernel, timeouts},
    rendezvous::{Address, Unused},
    settings::Settings,
};
use slipway_fabric::{
    credentials::Credentials,
    sync::Ordering::{Relaxed, SeqCst},
};
use std::{
    io,
    os::fd::BorrowedFd,
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
        /// It has not been used enough for that yet.
        unused: Option<Unused>,
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
            Prospect::Client { to, listener, .. } => (Role::Client, listener, to.is_foreign(*listener)),
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

    /// Whether a hook has seen the program wait for the connection itself.
    pub fn was_waited_for(&self) -> bool {
        self.waited.load(Relaxed) != 0
    }

    /// Whether the program waits for the connection by the hooks: for its sets, for itself, or in calls that block. One that no hook has seen wait may do so by
    /// system calls of its own.
    fn is_waited_for(&self) -> bool {
        let sets = self.sets();
        self.was_waited_for() || !sets.is_empty() && sets.iter().all(|set| set.is_waited_for())
    }

    /// A client offers now, if it has not: for a program that must hear bells.
    pub fn offer_now(&self, fd: BorrowedFd<'_>) {
        if self.role == Role::Client && self.is_quiet() {
            self.get_line(fd, 0);
        }
    }

    /// Gets the line, if that can be: no other process has the connection, no thread sleeps that would not hear the line, and the program waits by the
    /// hooks.
    #[cold]
    pub(super) fn get_line(&self, fd: BorrowedFd<'_>, used: u32) {
        let after = Settings::get().after;
        // For the next time: one that does not find it looks more and more seldom.
        self.due.store(used.saturating_add((used.saturating_sub(after)).max(1)), Relaxed);
        let common = &self.state.common;
        if common.heirs.load(Relaxed) != 0 || !self.is_waited_for() {
            return;
        }
        common.sleepers.if_none(|| {
            let mut prospect = locked(&self.prospect);
            // Another thread may have been here, or has decided that there will be no line.
            if !self.is_quiet() {
                return;
            }
            let mut waits = self.role == Role::Server;
            let (line, then) = match &mut *prospect {
                // The hooks may not have seen what was set before it connected.
                Some(Prospect::Client { .. }) if needs_kernel(fd) => (None, phase::PLAIN),
                Some(Prospect::Client { to, listener, unused }) => {
                    unused.take().into_iter().for_each(Unused::was_used);
                    self.learn_timeouts(|| timeouts(fd));
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
                    if common.phase.compare_exchange(phase::QUIET, then, SeqCst, Relaxed).is_err() {
                        self.drop_line();
                    }
                }
                None => _ = self.decide(phase::PLAIN),
            }
        });
        // This process forks just now: the child has no line. Either this sees that, or the fork what was decided here.
        if common.heirs.load(SeqCst) != 0 {
            self.withdraw();
        }
    }

    /// A client's offer is not answered: its server has given the connection away, or keeps it on its socket for another reason.
    #[cold]
    pub(super) fn withdraw(&self) {
        if self.stay_plain() {
            self.drop_line();
        }
    }

    fn drop_line(&self) {
        self.state.common.line_gone.store(1, Relaxed);
        self.socket.store(Arc::new(Reserved::none()));
    }

    /// The connection stays on its socket, and a client that waits for an answer is told; false if it was decided before, and may have a segment.
    pub(super) fn stay_plain(&self) -> bool {
        // A segment is sent, and taken, with it held: both ends are to know the same.
        let mail = locked(&self.mail);
        self.decline();
        let decides = self.decide(phase::PLAIN);
        drop(mail);
        if decides {
            *locked(&self.prospect) = None;
        }
        decides
    }

    /// Decides what becomes of a connection, once: whether this did.
    pub(super) fn decide(&self, what: u32) -> bool {
        let undecided = |phase| matches!(phase, phase::QUIET | phase::OFFERED | phase::HEARD).then_some(what);
        self.state.common.phase.fetch_update(Relaxed, Relaxed, undecided).is_ok()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::pair::{Ends, ends, quiet};
    use std::os::fd::AsFd;

    #[test]
    fn whoever_looks_for_an_answer_leaves_bells_to_those_that_sleep() {
        let Ends { client: (client, _x), server: (server, _y) } = ends();
        // Another thread has taken the answer meanwhile.
        server.receiving_ended();
        drop(client.attend_for_answer());
        let queued = || rustix::io::ioctl_fionread(client.line_socket()).expect("a socket");
        assert_eq!(queued(), 1);
        client.state.common.phase.store(phase::OFFERED, Relaxed);
        drop(client.attend_for_answer());
        assert_eq!(queued(), 0);
    }

    #[test]
    fn a_time_out_that_another_thread_has_just_set_stays() {
        let (stream, _socket, _peer) = quiet();
        let asked = || {
            stream.set_timeout(true, 5);
            [0, 7]
        };
        stream.learn_timeouts(asked);
        assert_eq!(stream.timeouts(), (5, 7));
    }

    #[test]
    fn what_another_thread_has_decided_stays() {
        for decided in [phase::GRANTED, phase::OFFERED, phase::PLAIN] {
            let (stream, socket, _peer) = quiet();
            // The other one has used up how the line is got.
            *locked(&stream.prospect) = None;
            stream.waited.store(1, Relaxed);
            stream.state.common.phase.store(decided, Relaxed);
            stream.get_line(socket.as_fd(), 0);
            assert_eq!(stream.state.common.phase.load(Relaxed), decided);
            assert_eq!(stream.stay_plain(), decided == phase::OFFERED);
            assert_eq!(stream.state.common.phase.load(Relaxed) == phase::GRANTED, decided == phase::GRANTED);
        }
    }
}
