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
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::{
    collections::VecDeque,
    io::{IoSlice, IoSliceMut},
    sync::{Arc, Mutex},
};
use zerocopy::IntoBytes;

/// Bytes that wait unread, beyond which nothing more is taken off the port: a peer can't fill this process's memory.
const MOST: u64 = 1 << 20;

/// Most messages that wait unread, for the same reason: a message may be empty.
const MOST_PARTS: usize = 4096;

/// One end.
#[derive(Debug)]
pub struct End {
    office: Arc<Office>,
    /// The port that it receives from.
    receive: Name,
    /// The send right to the other end's port; 0 before the server has accepted.
    send: AtomicU32,
    inbox: Mutex<Inbox>,
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
    /// 1: this process gave the connection up.
    closed: AtomicU32,
    /// The message to be sent, with room for the largest.
    outgoing: Mutex<Vec<u64>>,
    /// The other half of the descriptor that the program has, where that leads to no socket of the peer's.
    half: Mutex<Option<Reserved>>,
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
            inbox: Mutex::default(),
            unread: AtomicU64::new(0),
            arrived: AtomicU64::new(0),
            full: AtomicU32::new(0),
            over: AtomicU32::new(0),
            deaf: AtomicU32::new(0),
            closed: AtomicU32::new(0),
            outgoing: Mutex::default(),
            half: Mutex::default(),
        });
        office.enter(receive, &end);
        Ok(end)
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
        #[allow(unsafe_code, reason = "mach_msg")]
        // SAFETY: the buffer has so many bytes, and nothing in them is an address.
        unsafe {
            self.office.mach.message(&mut buffer, option::SEND_MSG | option::SEND_TIMEOUT, size, 0, patience, 0)
        }
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
        let mut sent = 0;
        loop {
            IoSlice::advance_slices(&mut rest, 0);
            if rest.is_empty() {
                return Ok(sent);
            }
            match self.send_some(&mut buffer, rest) {
                Ok(n) => {
                    sent += n;
                    IoSlice::advance_slices(&mut rest, n);
                }
                Err(_) if sent > 0 => return Ok(sent),
                Err(error) => return Err(error),
            }
            if self.full.load(SeqCst) != 0 {
                return Ok(sent);
            }
        }
    }

    fn send_some(&self, buffer: &mut Vec<u64>, from: &[IoSlice<'_>]) -> Result<usize, Errno> {
        let bytes: usize = from.iter().map(|slice| slice.len()).sum::<usize>().min(INLINE);
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
        self.post(buffer, DATA, size).map(|()| bytes)
    }

    /// This end sends no more.
    pub fn end(&self) {
        let mut buffer = vec![0; HEADER / 8];
        if !self.is_closed() && self.has_met() {
            let _ = self.post(&mut buffer, END, HEADER);
        }
        self.deaf.store(1, SeqCst);
    }

    /// Sends the message, without waiting.
    fn post(&self, buffer: &mut [u64], id: i32, size: usize) -> Result<(), Errno> {
        let to = self.send.load(Relaxed);
        let front = Front { id, to: (to, COPY_SEND), reply: (0, 0) };
        let send = |buffer: &mut [u64], options, notify| {
            front.write(buffer, size);
            #[allow(unsafe_code, reason = "mach_msg")]
            // SAFETY: the buffer has so many bytes, and nothing in them is an address.
            unsafe {
                self.office.mach.message(buffer, option::SEND_MSG | option::SEND_TIMEOUT | options, size, 0, 0, notify)
            }
        };
        let mut result = send(buffer, 0, 0);
        if result == Err(Code::SEND_TIMED_OUT) {
            // The queue is full. One more is taken, and the library tells when there is room.
            self.full.store(1, SeqCst);
            result = send(buffer, option::SEND_NOTIFY, self.office.notices);
        }
        match result {
            Ok(()) => self.full.store(0, SeqCst),
            Err(Code::SEND_WILL_NOTIFY) => {}
            Err(Code::SEND_NOTIFY_IN_PROGRESS) => return Err(Errno::AGAIN),
            Err(Code::SEND_NO_NOTIFY | Code::SEND_NO_BUFFER) => {
                // Nobody would tell: tried again.
                self.full.store(0, SeqCst);
                return Err(Errno::AGAIN);
            }
            Err(_) => {
                self.deaf.store(1, SeqCst);
                return Err(Errno::PIPE);
            }
        }
        Ok(())
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
