//! A stream that goes over ports: what the stream's calls come to there.

use super::{
    How, Received, Role, Stream, mode,
    ready::{INPUT, OUTPUT, ask_kernel},
    state::{News, add, phase},
};
use crate::{
    descriptor::Reserved,
    ledger::LedgerEntry,
    ports::{end::End, office::Office},
};
use rustix::{
    event::PollFlags,
    io::Errno,
    net::{RecvFlags, recv},
};
use slipway_fabric::sync::Ordering::Relaxed;
use std::{
    io::{self, IoSlice, IoSliceMut},
    os::fd::BorrowedFd,
    sync::Arc,
};

impl Stream {
    /// A connection over ports.
    ///
    /// # Errors
    /// No descriptor or memory is left.
    pub fn over_ports(
        role: Role,
        end: &Arc<End>,
        peer_pid: u32,
        nonblocking: bool,
        record: Option<LedgerEntry>,
        hides_end: bool,
    ) -> io::Result<Self> {
        let gate = Reserved::make_aside(|| rustix::io::fcntl_dupfd_cloexec(end.office().gate(), 0))?;
        let mut stream = Self::new(role, gate, peer_pid, nonblocking, record)?;
        (stream.port, stream.hides_end) = (Some(Arc::clone(end)), hides_end);
        let state = &stream.state;
        state.common.phase.store(phase::GRANTED, Relaxed);
        state.rx.mode.store(mode::PORTS, Relaxed);
        state.tx.mode.store(mode::PORTS, Relaxed);
        stream.counts.note(mode::PORTS, mode::PORTS);
        Ok(stream)
    }

    /// The office that takes this stream's messages, if it goes over ports.
    pub fn office(&self) -> Option<&Arc<Office>> {
        self.port().map(|end| end.office())
    }

    /// Its end, while it goes over ports.
    pub(super) fn port(&self) -> Option<&Arc<End>> {
        self.port.as_ref().filter(|_| self.state.rx.mode.load(Relaxed) == mode::PORTS)
    }

    /// The client's name promised a message, and bytes came on the socket in its place: the connection is there.
    fn fall_back(&self, end: &End) {
        end.close();
        self.state.rx.mode.store(mode::AFTER, Relaxed);
        self.state.tx.mode.store(mode::AFTER, Relaxed);
        self.counts.note(mode::AFTER, mode::AFTER);
    }

    /// What the stream is ready for, as [`Stream::look`].
    pub(super) fn look_at_port(
        &self,
        end: &End,
        fd: BorrowedFd<'_>,
        want: PollFlags,
        kernel: Option<(PollFlags, News)>,
    ) -> PollFlags {
        if !self.stirs(want) {
            end.office().collect();
        }
        let kernel = match kernel {
            None if !self.needs_kernel() => PollFlags::empty(),
            None => {
                let news = self.news();
                let flags = ask_kernel(fd, self.kernel_interest(want | INPUT));
                if !ends(flags) {
                    self.state.rx.have_seen(news);
                }
                flags
            }
            Some((flags, _)) => {
                if ends(flags) {
                    self.note_socket_event();
                }
                flags
            }
        };
        if kernel.intersects(INPUT) && !end.has_met() && self.is_server() {
            self.fall_back(end);
            return self.look(fd, want, None);
        }
        // Bytes on the socket are nobody's; its end is the stream's.
        let mut ready =
            if ends(kernel) { kernel & (want | PollFlags::HUP | PollFlags::ERR) } else { PollFlags::empty() } - OUTPUT;
        if end.readable() {
            ready |= want & INPUT;
        }
        if end.is_over() {
            ready |= want & PollFlags::RDHUP;
        }
        if end.is_deaf() {
            ready |= PollFlags::HUP;
        }
        if end.writable() || ready.contains(PollFlags::HUP) {
            ready |= want & OUTPUT;
        }
        ready
    }

    /// Receives, as [`Stream::receive`].
    pub(super) fn receive_message(
        &self,
        end: &End,
        fd: BorrowedFd<'_>,
        to: &mut [IoSliceMut<'_>],
        how: How,
    ) -> Result<Received, Errno> {
        if end.unread() == 0 {
            end.office().collect();
        }
        let bytes = end.read(to, !how.peek);
        if bytes == 0 && to.iter().any(|slice| !slice.is_empty()) && !end.is_over() {
            let ended =
                self.needs_kernel() && recv(fd, &mut [0; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT).is_ok_and(|(_, n)| n == 0);
            if !ended {
                return Err(Errno::AGAIN);
            }
            // What the other end sent before it went may have come meanwhile.
            end.office().collect();
            if end.unread() != 0 {
                return self.receive_message(end, fd, to, how);
            }
        }
        if !how.peek {
            add(&self.counts.received, bytes as u64);
        }
        Ok(Received { bytes, ..Received::default() })
    }

    /// Sends, as [`Stream::send`]. Descriptors go nowhere, as from another machine.
    pub(super) fn send_messages(&self, end: &End, fd: BorrowedFd<'_>, from: &[IoSlice<'_>]) -> Result<usize, Errno> {
        let result = end.write(from);
        match result {
            Ok(n) => {
                add(&self.counts.sent, n as u64);
                if n < from.iter().map(|slice| slice.len()).sum() {
                    self.state.tx.count_blocked();
                }
            }
            Err(Errno::AGAIN) if self.needs_kernel() && ask_kernel(fd, PollFlags::empty()).contains(PollFlags::HUP) => {
                return Err(Errno::PIPE);
            }
            Err(Errno::AGAIN) => self.state.tx.count_blocked(),
            Err(_) => {}
        }
        result
    }
}

/// Whether the kernel says that the connection, or a half of it, has ended.
fn ends(flags: PollFlags) -> bool {
    flags.intersects(PollFlags::HUP | PollFlags::RDHUP | PollFlags::ERR)
}
