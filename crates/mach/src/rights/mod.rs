//! Rights as owned values: the safe way to use Mach from Rust.
//!
//! A [`ReceiveRight`], [`SendRight`], [`SendOnceRight`] or [`PortSet`] stands for one reference of a name in the task that
//! made it, and gives it up when dropped. What a message carries moves into it ([`Outgoing`]) and out of it
//! ([`Received`]). All of them are `Send` and `Sync`: any thread of the process may use a right of its task.

mod body;
mod carried;
mod outgoing;
mod owned;
mod plain;
mod received;
mod region;

pub use body::Kind;
pub(crate) use body::{Body, give_up};
pub(crate) use carried::{Carried, is_taken, settle};
pub use outgoing::Outgoing;
pub use owned::{Error, PortSet, ReceiveRight, SendOnceRight, SendRight};
pub use plain::{Arrived, Plain};
pub use received::{Part, Received, ReplyRight, Target};
pub use region::Region;

use crate::{
    Request,
    abi::{Code, notify, option, right, types},
    task::{Task, has_arrived},
};
use outgoing::milliseconds;
use owned::{Name, trying};
use std::{
    cell::{Cell, RefCell},
    io,
    os::fd::OwnedFd,
    time::Duration,
};

thread_local! {
    /// Where messages are received, and the reply port of the thread's calls.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static REPLY: RefCell<Option<ReceiveRight>> = const { RefCell::new(None) };
}

/// The size that a receive buffer begins with, in bytes; it grows as messages need.
const BUFFER_SIZE: usize = 16 << 10;

/// Receives a message of at most `most` bytes from a port or set, for `see` to look at. A longer one is destroyed.
#[inline]
fn receive<T>(task: Task, name: u32, timeout: Option<Duration>, most: usize, see: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
    let mut buffer = BUFFER.take();
    if buffer.is_empty() {
        buffer.resize(BUFFER_SIZE, 0);
    }
    let code = loop {
        let larger = if buffer.len() < most { option::RCV_LARGE } else { 0 };
        let request = reception(name, timeout, buffer.len().min(most), larger);
        match task.mach_msg(&mut buffer, &request) {
            Code::RCV_TOO_LARGE if larger != 0 => {
                let needed = u32::from_le_bytes([buffer[4], buffer[5], buffer[6], buffer[7]]);
                buffer.resize((needed as usize).max(buffer.len() + 8).min(most), 0);
            }
            code => break code,
        }
    };
    let message = arrived(code).map(|()| see(&buffer));
    BUFFER.set(buffer);
    message
}

/// What `mach_msg` is asked for.
fn reception(name: u32, timeout: Option<Duration>, size: usize, options: u32) -> Request {
    let (timed, timeout) = milliseconds(timeout);
    Request {
        option: option::RCV_MSG | options | if timed { option::RCV_TIMEOUT } else { 0 },
        receive_size: size,
        receive_name: name,
        timeout,
        ..Request::default()
    }
}

fn arrived(code: Code) -> Result<(), Error> {
    if has_arrived(code) { Ok(()) } else { Err(Error { tried: "receiving a message", code }) }
}

/// What `see` makes of the message in a buffer.
#[inline(always)]
fn see_arrived<T>(task: Task, buffer: &[u8], see: impl FnOnce(Arrived<'_>) -> T) -> T {
    // By two calls: what is made of a plain one is not made where another has its place.
    match Plain::see(buffer) {
        Some(message) => see(Arrived::Plain(message)),
        None => see(Arrived::Other(Received::parse(task, buffer))),
    }
}

impl ReceiveRight {
    /// A new port in the current task.
    pub fn new() -> Result<Self, Error> {
        let task = Task::current();
        Ok(Self::from_name(task, trying("making a port", task.allocate(right::RECEIVE))?))
    }

    /// A new send right to the port.
    pub fn make_send(&self) -> Result<SendRight, Error> {
        let task = self.0.task;
        trying("making a send right", task.insert_right(self.0.name, task, self.0.name, types::MAKE_SEND))?;
        Ok(SendRight::from_name(task, self.0.name))
    }

    /// A new send-once right to the port.
    pub fn make_send_once(&self) -> Result<SendOnceRight, Error> {
        let task = self.0.task;
        let name = trying("making a send-once right", task.extract_right(self.0.name, types::MAKE_SEND_ONCE, task))?;
        Ok(SendOnceRight::from_name(task, name))
    }

    /// Waits for a message; for ever without a time-out. Time-outs count in whole milliseconds.
    pub fn receive(&self, timeout: Option<Duration>) -> Result<Received, Error> {
        receive(self.0.task, self.0.name, timeout, usize::MAX, |buffer| Received::parse(self.0.task, buffer))
    }

    /// As [`Self::receive`]: what `see` makes of the message, which it sees where it lies if that is plain data.
    ///
    /// # Errors
    /// A code of `mach_msg`.
    #[inline]
    pub fn receive_plain<T>(&self, timeout: Option<Duration>, see: impl FnOnce(Arrived<'_>) -> T) -> Result<T, Error> {
        let task = self.0.task;
        receive(task, self.0.name, timeout, usize::MAX, |buffer| see_arrived(task, buffer, see))
    }

    /// As [`Self::receive_plain`], behind what a vector holds, in the memory that it has there: it has the message's header and body then. None, and nothing was
    /// received, if the message is longer.
    ///
    /// # Errors
    /// A code of `mach_msg`.
    pub fn receive_plain_behind<T>(
        &self,
        timeout: Option<Duration>,
        bytes: &mut Vec<u8>,
        see: impl FnOnce(Arrived<'_>) -> T,
    ) -> Result<Option<T>, Error> {
        let before = bytes.len();
        let request = reception(self.0.name, timeout, bytes.capacity() - before, option::RCV_LARGE);
        match self.0.task.receive_behind(bytes, &request) {
            Code::RCV_TOO_LARGE => Ok(None),
            code => arrived(code).map(|()| Some(see_arrived(self.0.task, &bytes[before..], see))),
        }
    }

    /// How many messages may wait, from each sending process, before its senders do.
    pub fn set_queue_limit(&self, limit: u32) -> Result<(), Error> {
        trying("setting a queue limit", self.0.task.set_qlimit(self.0.name, limit))
    }

    /// Has `to` told when the last send right is gone (`MACH_NOTIFY_NO_SENDERS`), once.
    pub fn notify_no_senders(&self, to: SendOnceRight) -> Result<Option<SendOnceRight>, Error> {
        self.0.request(notify::NO_SENDERS, to)
    }

    /// A descriptor for poll(2) and event loops: readable while a message may wait. Receive with a time-out of zero
    /// until nothing comes before polling again.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        self.0.task.pollable(self.0.name)
    }
}

impl Name {
    fn request(&self, id: i32, to: SendOnceRight) -> Result<Option<SendOnceRight>, Error> {
        let task = self.task;
        let before = task.request_notification(self.name, id, 0, to.name(), types::MOVE_SEND_ONCE);
        if before.is_ok() {
            // The right moved into the request.
            std::mem::forget(to);
        }
        let before = trying("requesting a notification", before)?;
        Ok((before != 0).then(|| SendOnceRight::from_name(task, before)))
    }
}

impl SendRight {
    /// One more reference of the right.
    pub fn try_clone(&self) -> Result<Self, Error> {
        trying("copying a send right", self.0.task.mod_refs(self.0.name, right::SEND, 1))?;
        Ok(Self::from_name(self.0.task, self.0.name))
    }

    /// Sends a message, waiting for space in the port's queue if need be. What it carries is given up in any case.
    pub fn send(&self, message: Outgoing, timeout: Option<Duration>) -> Result<(), Error> {
        message.send(self.0.task, (self.0.name, types::COPY_SEND), (0, 0), timeout)
    }

    /// Sends a message of plain data, waiting for space if need be: a body of words and of bytes behind them, which are filled up to whole words. Together they are
    /// items as [`typed`](crate::abi::typed) has them. If the message is one of several that are of use only together, the caller sends those behind it, with bodies of
    /// `behind` bytes, at once, and the receiver may not be woken before the last of them, whose `behind` is 0.
    ///
    /// # Errors
    /// A code of `mach_msg`.
    #[inline]
    pub fn send_plain(&self, id: i32, words: &[u64], bytes: &[u8], behind: usize) -> Result<(), Error> {
        outgoing::sent(self.0.task.send_pieces(self.0.name, id, words, bytes, behind))
    }

    /// As [`Self::send`], with memory out of line as the message's last item: the receiver gets pages of its own with these bytes.
    ///
    /// # Errors
    /// A code of `mach_msg`; `SEND_INVALID_TYPE` for 4 GiB or more.
    pub fn send_with_memory(&self, mut message: Outgoing, memory: &[u8], timeout: Option<Duration>) -> Result<(), Error> {
        message.out_of_line(memory);
        self.send(message, timeout)
    }

    /// Sends a message that can be answered, and waits for the answer on a port of the thread's own. An answer of
    /// `MACH_NOTIFY_SEND_ONCE` means that the other side dropped the request or died.
    pub fn call(&self, message: Outgoing, timeout: Option<Duration>) -> Result<Received, Error> {
        let reply = match REPLY.take().filter(|reply| reply.0.task == self.0.task) {
            Some(reply) => reply,
            None => ReceiveRight::new()?,
        };
        message.send(self.0.task, (self.0.name, types::COPY_SEND), (reply.name(), types::MAKE_SEND_ONCE), timeout)?;
        let answer = reply.receive(timeout);
        // After a time-out the answer may still come: the next call must not take it for its own.
        if answer.is_ok() {
            REPLY.set(Some(reply));
        }
        answer
    }

    /// Has `to` told when the port dies (`MACH_NOTIFY_DEAD_NAME`), once.
    pub fn notify_death(&self, to: SendOnceRight) -> Result<Option<SendOnceRight>, Error> {
        self.0.request(notify::DEAD_NAME, to)
    }
}

impl SendOnceRight {
    /// Sends the one message. What it carries is given up in any case.
    pub fn send(self, message: Outgoing) -> Result<(), Error> {
        let (task, size) = (self.0.task, message.size());
        let sent = message.send(task, (self.0.name, types::MOVE_SEND_ONCE), (0, 0), None);
        match sent {
            Ok(()) => std::mem::forget(self),
            // It went with the message, or came back and was given up with the rest.
            Err(error) if is_taken(error.code, size) => std::mem::forget(self),
            Err(_) => drop(self),
        }
        sent
    }
}

impl PortSet {
    /// A new, empty set in the current task.
    pub fn new() -> Result<Self, Error> {
        let task = Task::current();
        Ok(Self::from_name(task, trying("making a port set", task.allocate(right::PORT_SET))?))
    }

    /// Puts a port into the set, out of any other. It can be received from through the set only.
    pub fn add(&self, port: &ReceiveRight) -> Result<(), Error> {
        trying("adding to a port set", self.0.task.move_member(port.name(), self.0.name))
    }

    /// Takes a port out of its set.
    pub fn remove(&self, port: &ReceiveRight) -> Result<(), Error> {
        trying("removing from a port set", self.0.task.move_member(port.name(), 0))
    }

    /// Waits for a message to any member; [`Received::port`] says which.
    pub fn receive(&self, timeout: Option<Duration>) -> Result<Received, Error> {
        self.receive_at_most(usize::MAX, timeout)
    }

    /// As [`Self::receive`]: what `see` makes of the message, which it sees where it lies if that is plain data.
    ///
    /// # Errors
    /// A code of `mach_msg`.
    pub fn receive_plain<T>(&self, timeout: Option<Duration>, see: impl FnOnce(Arrived<'_>) -> T) -> Result<T, Error> {
        let task = self.task();
        receive(task, self.0.name, timeout, usize::MAX, |buffer| see_arrived(task, buffer, see))
    }

    /// As [`Self::receive`], for messages of at most `most` bytes: a longer one is destroyed, and `MACH_RCV_TOO_LARGE`.
    ///
    /// # Errors
    /// A code of `mach_msg`.
    pub fn receive_at_most(&self, most: usize, timeout: Option<Duration>) -> Result<Received, Error> {
        receive(self.task(), self.0.name, timeout, most, |buffer| Received::parse(self.task(), buffer))
    }

    /// As [`ReceiveRight::descriptor`], for all members.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        self.0.task.pollable(self.0.name)
    }
}
