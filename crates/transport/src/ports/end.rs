//! One end of a connection over ports: its two rights, and what has come and is not read.

use super::{
    libmach::Name,
    message::{ACCEPT, BEFORE, DATA, END, Front, INLINE},
    office::Office,
};
use crate::{descriptor::Reserved, stream::locked};
use rustix::io::Errno;
use slipway_abi::{
    Code, HEADER, option,
    types::{COPY_SEND, MAKE_SEND},
};
use slipway_fabric::sync::{
    AtomicU32, AtomicU64, ForkMutex, Forked,
    Ordering::{Relaxed, SeqCst},
};
use std::{
    collections::VecDeque,
    io::{IoSlice, IoSliceMut},
    sync::Arc,
};
use zerocopy::IntoBytes;

/// Bytes that wait unread, beyond which nothing more is taken off the port: a peer can't fill this process's memory.
const MOST: u64 = 1 << 20;

/// Most messages that wait unread, for the same reason: a message may be empty.
const MOST_PARTS: usize = 4096;

/// Bytes of the stream in a message where there was no room for [`INLINE`].
const LESS: usize = 4 << 10;

/// One end.
#[derive(Debug)]
pub struct End {
    office: Arc<Office>,
    /// The port that it receives from.
    receive: Name,
    /// The send right to the other end's port; 0 before the server has accepted.
    send: AtomicU32,
    inbox: ForkMutex<Inbox>,
    /// Bytes in it.
    unread: AtomicU64,
    /// Messages that came (wraps).
    arrived: AtomicU64,
    /// 1: the other end's queue is full; a notification will say when it is not.
    full: AtomicU32,
    /// 1: no more comes.
    over: AtomicU32,
    /// 1: nobody receives what is sent.
    deaf: AtomicU32,
    /// 1: the other end has yet to be told that no more comes.
    ending: AtomicU32,
    /// 1: this process gave the connection up.
    closed: AtomicU32,
    /// The message to be sent, with room for the largest.
    outgoing: ForkMutex<Vec<u64>>,
    /// The other half of the descriptor that the program has, where that leads to no socket of the peer's.
    half: ForkMutex<Option<Reserved>>,
}

#[derive(Debug, Default)]
struct Inbox {
    parts: VecDeque<Vec<u8>>,
    /// Bytes of the first part that were read.
    read: usize,
    /// Nothing is taken off the port until this is read.
    muted: bool,
}

impl End {
    /// With a new receive right of the office's.
    ///
    /// # Errors
    /// No names are left.
    pub fn new(office: &Arc<Office>) -> Result<Arc<Self>, Code> {
        let receive = office.mach.receive_right(office.set)?;
        office.mach.notify_no_senders(receive);
        let end = Arc::new(Self {
            office: Arc::clone(office),
            receive,
            send: AtomicU32::new(0),
            inbox: ForkMutex::default(),
            unread: AtomicU64::new(0),
            arrived: AtomicU64::new(0),
            full: AtomicU32::new(0),
            over: AtomicU32::new(0),
            deaf: AtomicU32::new(0),
            ending: AtomicU32::new(0),
            closed: AtomicU32::new(0),
            outgoing: ForkMutex::default(),
            half: ForkMutex::default(),
        });
        office.enter(receive, &end);
        Ok(end)
    }

    /// This process was forked: to it the connection has ended.
    pub fn after_fork(&self, child: &Forked) {
        self.inbox.after_fork(child);
        self.outgoing.after_fork(child);
        self.half.after_fork(child);
    }

    /// The process's office.
    pub fn office(&self) -> &Arc<Office> {
        &self.office
    }

    /// The port that it receives from.
    pub fn name(&self) -> Name {
        self.receive
    }

    /// The other end's port is known.
    pub fn meet(&self, send: Name) {
        self.send.store(send, Relaxed);
    }

    /// Whether what it sends goes to the port of this right.
    pub fn sends_to(&self, name: Name) -> bool {
        self.send.load(Relaxed) == name
    }

    /// Whether it is.
    pub fn has_met(&self) -> bool {
        self.send.load(Relaxed) != 0
    }

    /// Keeps the other half of the program's descriptor as long as the other end lives.
    pub fn keep(&self, half: Reserved) {
        *locked(&self.half) = Some(half);
    }

    /// Sends this end's send right to `to`, as the reply port of a message with so many words behind the header.
    ///
    /// # Errors
    /// The code of `mach_msg`; `SEND_TIMED_OUT` if the port's queue is full for `patience` milliseconds.
    pub fn introduce(&self, id: i32, to: Name, body: &[u64], patience: u32) -> Result<(), Code> {
        let mut buffer = vec![0; 4 + body.len()];
        buffer[4..].copy_from_slice(body);
        let size = HEADER + size_of_val(body);
        Front { id, to: (to, COPY_SEND), reply: (self.receive, MAKE_SEND) }.write(&mut buffer, size);
        let sent = self.message(&mut buffer, 0, size, patience, 0);
        if sent.is_err_and(comes_back) {
            self.office.mach.drop_send(buffer[2] as Name);
        }
        sent
    }

    /// Sends what is in the buffer. Of a message that comes back the destination's right is given up, of which the header has one more.
    fn message(&self, buffer: &mut [u64], options: u32, size: usize, patience: u32, notify: Name) -> Result<(), Code> {
        let options = option::SEND_MSG | option::SEND_TIMEOUT | options;
        #[allow(unsafe_code, reason = "mach_msg")]
        // SAFETY: the buffer has so many bytes, and nothing in them is an address.
        let sent = unsafe { self.office.mach.message(buffer, options, size, 0, patience, notify) };
        if sent.is_err_and(comes_back) {
            self.office.mach.drop_send(buffer[1] as Name);
        }
        sent
    }

    /// Accepts the client that receives from `send`; false if it is gone, and the right still the caller's.
    pub fn accept(&self, send: Name) -> bool {
        let accepted = self.introduce(ACCEPT, send, &[], 0).is_ok();
        if accepted {
            self.meet(send);
        }
        accepted
    }

    // What the office tells.

    /// Bytes came.
    pub fn deliver(&self, bytes: &[u8]) {
        if bytes.is_empty() || self.over.load(Relaxed) != 0 {
            return;
        }
        let mut inbox = locked(&self.inbox);
        inbox.parts.push_back(bytes.to_vec());
        let unread = self.unread.fetch_add(bytes.len() as u64, SeqCst) + bytes.len() as u64;
        self.arrived.fetch_add(1, SeqCst);
        if !inbox.muted && (unread >= MOST || inbox.parts.len() >= MOST_PARTS) {
            inbox.muted = true;
            self.office.mach.move_to(self.receive, 0);
        }
    }

    /// The other end's queue has room again.
    pub fn has_room(&self) {
        self.full.store(0, SeqCst);
        self.end_late();
    }

    /// Nothing more comes.
    pub fn finish(&self) {
        self.over.store(1, SeqCst);
        self.arrived.fetch_add(1, SeqCst);
    }

    /// The other end is gone.
    pub fn lose_peer(&self) {
        self.deaf.store(1, SeqCst);
        self.finish();
        // Whoever looks at the program's descriptor alone sees its end.
        *locked(&self.half) = None;
    }

    /// Bytes that can be read.
    pub fn unread(&self) -> u64 {
        self.unread.load(SeqCst)
    }

    /// Whether a read would not wait.
    pub fn readable(&self) -> bool {
        self.unread() != 0 || self.over.load(SeqCst) != 0 || self.is_closed()
    }

    /// Whether a write would not wait.
    pub fn writable(&self) -> bool {
        self.full.load(SeqCst) == 0 && self.has_met() || self.deaf.load(SeqCst) != 0 || self.is_closed()
    }

    /// Whether the other end is gone.
    pub fn is_deaf(&self) -> bool {
        self.deaf.load(SeqCst) != 0
    }

    /// Whether nothing more comes.
    pub fn is_over(&self) -> bool {
        self.over.load(SeqCst) != 0 || self.is_closed()
    }

    /// Changes with each arrival.
    pub fn arrivals(&self) -> u64 {
        self.arrived.load(SeqCst)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Relaxed) != 0 || self.office.is_lost()
    }

    /// Copies what has come; how many bytes. `take`: and takes it out.
    pub fn read(&self, to: &mut [IoSliceMut<'_>], take: bool) -> usize {
        self.end_late();
        let mut inbox = locked(&self.inbox);
        let (mut part, mut at, mut copied) = (0, inbox.read, 0);
        for slice in to {
            let mut filled = 0;
            while filled < slice.len() {
                let Some(bytes) = inbox.parts.get(part).map(|part| &part[at..]) else { break };
                let n = bytes.len().min(slice.len() - filled);
                slice[filled..filled + n].copy_from_slice(&bytes[..n]);
                filled += n;
                if n == bytes.len() {
                    (part, at) = (part + 1, 0);
                } else {
                    at += n;
                }
            }
            copied += filled;
        }
        if take {
            inbox.parts.drain(..part);
            inbox.read = at;
            let left = self.unread.fetch_sub(copied as u64, SeqCst) - copied as u64;
            if inbox.muted && left < MOST / 4 && inbox.parts.len() < MOST_PARTS / 4 && !self.is_closed() {
                inbox.muted = false;
                self.office.mach.move_to(self.receive, self.office.set);
            }
        }
        copied
    }

    /// Sends what there is room for, without waiting; `AGAIN` if there is none, `PIPE` if nobody receives it any more.
    pub fn write(&self, from: &[IoSlice<'_>]) -> Result<usize, Errno> {
        if self.is_closed() || self.is_deaf() {
            return Err(Errno::PIPE);
        }
        if !self.writable() {
            self.office.collect();
            if !self.writable() {
                return Err(Errno::AGAIN);
            }
        }
        let mut buffer = locked(&self.outgoing);
        let mut list = from.to_vec();
        let mut rest = &mut list[..];
        let (mut sent, mut most) = (0, INLINE);
        loop {
            IoSlice::advance_slices(&mut rest, 0);
            if rest.is_empty() {
                return Ok(sent);
            }
            let error = match self.send_some(&mut buffer, rest, most) {
                Ok(n) => {
                    sent += n;
                    IoSlice::advance_slices(&mut rest, n);
                    continue;
                }
                Err(Code::SEND_TIMED_OUT) if most == INLINE => {
                    most = LESS;
                    continue;
                }
                Err(Code::SEND_TIMED_OUT) => match self.ask_for_room(&mut buffer) {
                    Ok(()) => {
                        most = INLINE;
                        continue;
                    }
                    Err(error) => error,
                },
                Err(Code::SEND_NO_BUFFER) => Errno::AGAIN,
                Err(_) => {
                    self.deaf.store(1, SeqCst);
                    Errno::PIPE
                }
            };
            return if sent > 0 { Ok(sent) } else { Err(error) };
        }
    }

    fn send_some(&self, buffer: &mut Vec<u64>, from: &[IoSlice<'_>], most: usize) -> Result<usize, Code> {
        let bytes: usize = from.iter().map(|slice| slice.len()).sum::<usize>().min(most);
        let size = (BEFORE + bytes).next_multiple_of(8);
        if buffer.len() < size / 8 {
            buffer.resize(size / 8, 0);
        }
        buffer[4] = bytes as u64;
        let body = &mut buffer[BEFORE / 8..size / 8].as_mut_bytes()[..bytes];
        let mut at = 0;
        for slice in from {
            let n = slice.len().min(bytes - at);
            body[at..at + n].copy_from_slice(&slice[..n]);
            at += n;
        }
        self.post(buffer, DATA, size, false).map(|()| bytes)
    }

    /// The queue is full. One message more is taken, and the library tells when there is room. It waits in this process, and is lost if that ends: so it
    /// has no bytes of the stream, but takes as much room as the least that was refused.
    ///
    /// # Errors
    /// `AGAIN` until there is room, `PIPE` if nobody receives any more.
    fn ask_for_room(&self, buffer: &mut Vec<u64>) -> Result<(), Errno> {
        let size = BEFORE + LESS;
        buffer.resize(buffer.len().max(size / 8), 0);
        buffer[4] = 0;
        // The notification may come before the call returns.
        self.full.store(1, SeqCst);
        let error = match self.post(buffer, DATA, size, true) {
            Err(Code::SEND_WILL_NOTIFY | Code::SEND_NOTIFY_IN_PROGRESS) => return Err(Errno::AGAIN),
            Ok(()) => None,
            // Nobody would tell: tried again.
            Err(Code::SEND_NO_NOTIFY | Code::SEND_NO_BUFFER) => Some(Errno::AGAIN),
            Err(_) => {
                self.deaf.store(1, SeqCst);
                Some(Errno::PIPE)
            }
        };
        self.full.store(0, SeqCst);
        error.map_or(Ok(()), Err)
    }

    /// This end sends no more.
    pub fn end(&self) {
        if !self.is_closed() && self.has_met() {
            self.ending.store(1, SeqCst);
            self.end_late();
        }
        self.deaf.store(1, SeqCst);
    }

    /// Tells the other end that no more comes, if that is to be done, and its queue takes it. Twice does no harm.
    fn end_late(&self) {
        if self.ending.load(SeqCst) == 0 || self.full.load(SeqCst) != 0 || self.is_closed() {
            return;
        }
        let mut buffer = vec![0; HEADER / 8];
        let sent = match self.post(&mut buffer, END, HEADER, false) {
            Err(Code::SEND_TIMED_OUT) => self.post(&mut buffer, END, HEADER, true),
            sent => sent,
        };
        if !matches!(sent, Err(Code::SEND_NOTIFY_IN_PROGRESS | Code::SEND_NO_NOTIFY | Code::SEND_NO_BUFFER)) {
            self.ending.store(0, SeqCst);
        }
    }

    /// Sends the message, without waiting. `notify`: also where the queue is full, and the library tells when there is room.
    fn post(&self, buffer: &mut [u64], id: i32, size: usize, notify: bool) -> Result<(), Code> {
        Front { id, to: (self.send.load(Relaxed), COPY_SEND), reply: (0, 0) }.write(buffer, size);
        let (options, notices) = if notify { (option::SEND_NOTIFY, self.office.notices) } else { (0, 0) };
        self.message(buffer, options, size, 0, notices)
    }

    /// Gives the connection up.
    pub fn close(&self) {
        if self.closed.swap(1, SeqCst) == 0 && !self.office.is_lost() {
            self.office.leave(self.receive);
            self.office.mach.drop_receive(self.receive);
            if self.has_met() {
                self.office.mach.drop_send(self.send.load(Relaxed));
            }
            *locked(&self.half) = None;
        }
    }
}

/// Whether a message that was refused so is in the buffer again, with its rights.
fn comes_back(code: Code) -> bool {
    matches!(code, Code::SEND_TIMED_OUT | Code::SEND_NO_NOTIFY | Code::SEND_NOTIFY_IN_PROGRESS | Code::SEND_INVALID_NOTIFY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipway_abi::QLIMIT_MAX;
    use slipway_test_support::{built, until, watchdog};
    use std::{ffi::CString, os::unix::ffi::OsStrExt};

    /// Two ends, of which the first sends to the second until its queue is full; and how many bytes went.
    fn full() -> ([Arc<End>; 2], usize) {
        let path = CString::new(built("libmach.so").as_os_str().as_bytes()).expect("a path");
        #[allow(unsafe_code, reason = "libmach is found where it is loaded")]
        // SAFETY: the path is a string.
        let loaded = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!loaded.is_null());
        let office = Office::open().expect("libmach");
        let ends = [(); 2].map(|()| End::new(&office).expect("a port"));
        office.mach.make_send(ends[1].name());
        ends[0].meet(ends[1].name());
        let mut bytes = 0;
        while let Ok(n) = ends[0].write(&[IoSlice::new(b"x")]) {
            bytes += n;
        }
        assert!(!ends[0].writable() && !ends[0].is_deaf());
        (ends, bytes)
    }

    /// What waits in the sender's process is lost with it.
    #[test]
    fn no_byte_is_taken_beyond_the_limit() {
        let _dog = watchdog("no_byte_is_taken_beyond_the_limit", slipway_test_support::WATCHDOG);
        let ([sends, receives], bytes) = full();
        assert_eq!(bytes, QLIMIT_MAX as usize);
        until("there is room again", || {
            sends.office().collect();
            sends.writable()
        });
        assert_eq!(receives.unread(), bytes as u64);
    }

    #[test]
    fn a_right_is_given_up_whole_after_a_full_queue() {
        let _dog = watchdog("a_right_is_given_up_whole_after_a_full_queue", slipway_test_support::WATCHDOG);
        let ([sends, receives], _) = full();
        sends.close();
        until("the other end hears of it", || {
            receives.office().collect();
            receives.is_deaf()
        });
    }

    #[test]
    fn an_end_behind_a_full_queue_comes_when_there_is_room() {
        let _dog = watchdog("an_end_behind_a_full_queue_comes_when_there_is_room", slipway_test_support::WATCHDOG);
        let ([sends, receives], bytes) = full();
        sends.end();
        until("the end comes", || {
            receives.office().collect();
            receives.is_over()
        });
        assert!(receives.unread() == bytes as u64 && !receives.is_deaf());
    }
}
