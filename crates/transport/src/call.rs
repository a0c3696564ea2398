//! A socket call on a stream, as recvmsg(2) and sendmsg(2) do it on its socket: how long it waits, when it is done, and what a
//! signal means to it.

use crate::{
    epoll::Event,
    hub::Hub,
    options::timeouts,
    serving::poll_serving,
    stream::{How, NAP, Received, Stream, now},
    wait::{Kernel, Member, PollEntry, wait},
};
use libc::{MSG_DONTWAIT, MSG_NOSIGNAL, MSG_OOB, MSG_PEEK, MSG_WAITALL, c_int};
use rustix::{event::PollFlags, io::Errno};
use std::{
    io::{IoSlice, IoSliceMut},
    os::fd::{AsRawFd, BorrowedFd},
    time::Duration,
};

/// What only the program's process can do.
pub trait Program {
    /// A wait of the calling thread begins.
    fn wait(&self) -> impl Kernel;

    /// Raises SIGPIPE in the calling thread.
    fn raise_sigpipe(&self);
}

/// What the caller of a receive is told.
#[derive(Clone, Copy)]
pub enum Told<'a> {
    /// Bytes alone. This makes the call that the program made, in which the thread may be cancelled: how many came.
    Bytes(&'a dyn Fn() -> Result<usize, Errno>),
    /// As by recvmsg(2): descriptors, too, if it has a buffer for them.
    Message(bool),
}

/// When a call ends that begins to wait now for `want`, by the socket's time-out. Before there is a line, the hooks may not have seen that set.
fn due(stream: &Stream, fd: BorrowedFd<'_>, want: PollFlags) -> Option<u64> {
    if stream.is_quiet() {
        stream.learn_timeouts(|| timeouts(fd));
    }
    let (receive, send) = stream.timeouts();
    let timeout_us = if want == PollFlags::OUT { send } else { receive };
    (timeout_us != 0).then(|| now().saturating_add(timeout_us.saturating_mul(1000)))
}

/// The kernel of a call that blocks. Before it sleeps it makes sure that the call may. In a wait for room nothing tells of a shutdown of the sending half
/// by another thread: it looks again and again.
struct Blocking<'a> {
    kernel: &'a mut dyn Kernel,
    stream: &'a Stream,
    fd: BorrowedFd<'a>,
    naps: bool,
    /// The call may be the kernel's, where the connection goes to its socket for good: it has moved nothing, and waits without an end.
    leaves: bool,
}

impl Blocking<'_> {
    fn may_sleep(&self, timeout: Option<Duration>) -> Result<(), Errno> {
        let sleeps = timeout != Some(Duration::ZERO);
        if sleeps && self.stream.asks_not_to_wait(self.fd) { Err(Errno::AGAIN) } else { Ok(()) }
    }
}

impl Kernel for Blocking<'_> {
    fn poll(&mut self, entries: &mut [PollEntry], timeout: Option<Duration>) -> Result<usize, Errno> {
        self.may_sleep(timeout)?;
        if !self.naps || timeout.is_some_and(|timeout| timeout <= NAP) {
            return self.kernel.poll(entries, timeout);
        }
        match self.kernel.poll(entries, Some(NAP)) {
            Ok(0) if self.stream.is_shut_for_sending(self.fd) => Err(Errno::PIPE),
            result => result,
        }
    }

    fn epoll(&mut self, set: BorrowedFd<'_>, out: &mut Vec<Event>, most: usize, timeout: Option<Duration>) -> Result<(), Errno> {
        self.may_sleep(timeout)?;
        self.kernel.epoll(set, out, most, timeout)
    }

    fn restarts(&mut self) -> bool {
        self.kernel.restarts()
    }

    fn leaves(&self) -> bool {
        self.leaves && self.stream.is_plain()
    }
}

/// Waits until `stream` is ready for `want`, as a blocking call on its socket would, which has moved so many bytes. `CANCELED`: from here on the call is the
/// kernel's alone, as [`Kernel::leaves`] says.
fn block(
    stream: &Stream,
    fd: BorrowedFd<'_>,
    want: PollFlags,
    end: Option<u64>,
    moved: usize,
    program: &impl Program,
) -> Result<(), Errno> {
    let mut kernel = program.wait();
    loop {
        let timeout = end.map(|end| Duration::from_nanos(end.saturating_sub(now())));
        let mut members = [Member { stream, fd, want, got: PollFlags::empty() }];
        let (naps, leaves) = (want == PollFlags::OUT, end.is_none() && moved == 0);
        match wait(&mut members, &mut [], timeout, &mut Blocking { kernel: &mut kernel, stream, fd, naps, leaves }) {
            Ok(0) => return Err(Errno::AGAIN),
            Ok(_) => return Ok(()),
            Err(Errno::AGAIN) => {
                // Not before: where this thread counts as a sleeper, it would be waited for.
                stream.follow_flag(fd);
                return Err(Errno::AGAIN);
            }
            // A blocking read or write that has moved nothing goes on after a handler with SA_RESTART; poll(2) never does.
            Err(Errno::INTR) if end.is_none() && moved == 0 && kernel.restarts() => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether a connection waits at the listening socket `fd`.
pub fn is_there(fd: BorrowedFd<'_>, program: &impl Program) -> bool {
    let mut entries = [PollEntry { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
    program.wait().poll(&mut entries, Some(Duration::ZERO)) != Ok(0)
}

/// Waits as a blocking accept(2) on `fd` does, while its hub is served.
///
/// # Errors
/// `INTR`: a signal ended the wait, as it would have ended accept(2).
pub fn await_client(fd: BorrowedFd<'_>, hub: &Hub, program: &impl Program) -> Result<(), Errno> {
    let mut kernel = program.wait();
    loop {
        let mut entries = [PollEntry { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
        match poll_serving(&[hub], &mut entries, None, &mut kernel) {
            Err(Errno::INTR) if kernel.restarts() => {}
            Err(Errno::INTR) => return Err(Errno::INTR),
            _ => return Ok(()),
        }
    }
}

/// Whether a call with these flags waits. Another process may have cleared O_NONBLOCK of a connection that is on its socket again.
fn may_wait(stream: &Stream, fd: BorrowedFd<'_>, flags: c_int) -> bool {
    flags & MSG_DONTWAIT == 0 && (!stream.nonblocking() || stream.has_come_back_blocking(fd))
}

/// Whether a receive with these flags fails with AGAIN, as can be told at a glance: programs look once more after each read.
#[inline]
pub fn finds_nothing(stream: &Stream, fd: BorrowedFd<'_>, flags: c_int) -> bool {
    let waits = flags & MSG_DONTWAIT == 0 && !stream.nonblocking();
    !waits && flags & MSG_OOB == 0 && stream.finds_nothing(fd)
}

/// A receive of bytes alone that waits, however long, before there is a line: the program's own, as the kernel may have to make it again after a signal, when
/// no other is allowed any more. None if it is another, or the line has just come.
fn receive_waiting(
    stream: &Stream,
    fd: BorrowedFd<'_>,
    flags: c_int,
    own: &dyn Fn() -> Result<usize, Errno>,
) -> Option<Result<Received, Errno>> {
    let waits = flags & MSG_DONTWAIT == 0 && !stream.nonblocking();
    if !waits || !stream.is_quiet() {
        return None;
    }
    let result = stream.receive_waiting(fd, own)?;
    Some(result.map(|bytes| Received { bytes, ..Received::default() }))
}

/// Receives as recvmsg(2) does on the socket, with its flags. Gives None where the kernel must do it, on the socket.
///
/// # Errors
/// As recvmsg(2).
pub fn receive(
    stream: &Stream,
    fd: BorrowedFd<'_>,
    to: &mut [IoSliceMut<'_>],
    flags: c_int,
    told: Told<'_>,
    program: &impl Program,
) -> Result<Option<Received>, Errno> {
    if flags & MSG_OOB != 0 {
        stream.return_to_socket(fd);
        return Ok(None);
    }
    let peek = flags & MSG_PEEK != 0;
    let all = flags & MSG_WAITALL != 0 && !peek;
    // Descriptors end a receive of all, with a buffer or without.
    let own = match told {
        Told::Bytes(own) if !all => Some(own),
        _ => None,
    };
    let how = How { peek, descriptors: matches!(told, Told::Message(true)), bare: own.is_some() };
    let want: usize = if all { to.iter().map(|slice| slice.len()).sum() } else { 0 };
    let mut total = Received::default();
    let mut rest = to;
    // The time is the call's, however many pieces it takes.
    let mut ends = None;
    // A call that finds something says nothing of how its program waits.
    let (own, mut waits) = (own.filter(|_| !peek), stream.was_waited_for());
    loop {
        let waited = own.filter(|_| waits).and_then(|own| receive_waiting(stream, fd, flags, own));
        // The kernel has waited as long as it was to, or not at all, if the hooks have not seen O_NONBLOCK or a time-out set.
        if let Some(Err(error)) = waited {
            if error == Errno::AGAIN {
                stream.follow_flag(fd);
            }
            return Err(error);
        }
        match waited.unwrap_or_else(|| stream.receive(fd, rest, how)) {
            Ok(got) if !all => return Ok(Some(got)),
            Ok(got) => {
                let over = got.bytes == 0 || !got.descriptors.is_empty() || got.dropped;
                total.bytes += got.bytes;
                total.dropped |= got.dropped;
                total.descriptors.extend(got.descriptors);
                if over || total.bytes >= want {
                    return Ok(Some(total));
                }
                IoSliceMut::advance_slices(&mut rest, got.bytes);
            }
            Err(Errno::AGAIN) if may_wait(stream, fd, flags) => {
                if !waits && own.is_some() && stream.is_quiet() {
                    waits = true;
                    continue;
                }
                let end = *ends.get_or_insert_with(|| due(stream, fd, PollFlags::IN));
                match block(stream, fd, PollFlags::IN, end, total.bytes, program) {
                    Ok(()) => {}
                    Err(_) if total.bytes > 0 => return Ok(Some(total)),
                    Err(Errno::CANCELED) => return Ok(None),
                    Err(error) => return Err(error),
                }
            }
            Err(_) if total.bytes > 0 => return Ok(Some(total)),
            Err(error) => return Err(error),
        }
    }
}

/// Sends as sendmsg(2) does on the socket, with its flags; raises SIGPIPE where that does. None: the kernel must do it, on the socket.
///
/// # Errors
/// As sendmsg(2).
pub fn send(
    stream: &Stream,
    fd: BorrowedFd<'_>,
    mut from: &mut [IoSlice<'_>],
    descriptors: &[BorrowedFd<'_>],
    flags: c_int,
    program: &impl Program,
) -> Result<Option<usize>, Errno> {
    if flags & MSG_OOB != 0 || !descriptors.is_empty() && stream.is_foreign() {
        let waits = flags & MSG_DONTWAIT == 0;
        stream.return_to_socket(fd);
        let returned =
            if waits { stream.return_patiently(fd, Duration::ZERO) } else { stream.return_all(fd, Some(Duration::ZERO)) };
        return if returned { Ok(None) } else { Err(Errno::AGAIN) };
    }
    let want: usize = from.iter().map(|slice| slice.len()).sum();
    let (mut sent, mut waited) = (0, false);
    loop {
        // Descriptors go with the first byte.
        let with: &[BorrowedFd<'_>] = if sent == 0 { descriptors } else { &[] };
        let result = match stream.send(fd, from, with) {
            Ok(n) => {
                sent += n;
                waited = false;
                if sent >= want || !may_wait(stream, fd, flags) {
                    return Ok(Some(sent));
                }
                IoSlice::advance_slices(&mut from, n);
                continue;
            }
            Err(Errno::AGAIN) if may_wait(stream, fd, flags) => {
                waited = true;
                block(stream, fd, PollFlags::OUT, due(stream, fd, PollFlags::OUT), sent, program)
            }
            Err(error) => Err(error),
        };
        let result = match result {
            // The kernel's wait looks at the socket's error first.
            Err(Errno::PIPE) if waited => Err(stream.take_error(fd).unwrap_or(Errno::PIPE)),
            result => result,
        };
        match result {
            Ok(()) => {}
            Err(_) if sent > 0 => return Ok(Some(sent)),
            Err(Errno::CANCELED) => return Ok(None),
            Err(error) => {
                if error == Errno::PIPE && flags & MSG_NOSIGNAL == 0 {
                    program.raise_sigpipe();
                }
                return Err(error);
            }
        }
    }
}

#[cfg(test)]
mod tests;
