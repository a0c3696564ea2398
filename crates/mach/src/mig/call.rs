//! Calls: a request, and the reply that belongs to it.
#![allow(unsafe_code, reason = "memory by address, as messages carry it")]

use super::{
    reader::Reader,
    right::{Carry, Give, Given},
    writer::Writer,
};
use crate::{
    abi::{Code, notify, option, types},
    rights::{Error, ReceiveRight, Received, SendRight, settle},
    task::Task,
};
use std::{
    cell::RefCell,
    ops::{Deref, DerefMut},
    time::Duration,
};

/// Replies have identifiers that are so much higher.
pub(super) const REPLY: i32 = 100;

/// The size of a call's buffer in bytes, if its request is smaller. A larger reply takes one more receive.
const USUAL: usize = 1024;

thread_local! {
    /// The reply port of this thread's calls.
    static REPLY_PORT: RefCell<Option<ReceiveRight>> = const { RefCell::new(None) };
}

/// A request that a stub is putting together, and how it is to be sent.
#[derive(Debug)]
pub struct Request<'a> {
    writer: Writer<'a>,
    tried: &'static str,
    options: u32,
    send_time: Option<u32>,
    wait_time: Option<u32>,
}

impl<'a> Deref for Request<'a> {
    type Target = Writer<'a>;

    fn deref(&self) -> &Writer<'a> {
        &self.writer
    }
}

impl<'a> DerefMut for Request<'a> {
    fn deref_mut(&mut self) -> &mut Writer<'a> {
        &mut self.writer
    }
}

/// Where a request goes: a right, and how it is used.
#[derive(Debug)]
pub struct Destination {
    task: Task,
    name: u32,
    disposition: u32,
    given: Given,
}

impl<'a, C: Into<Carry<'a>>> From<C> for Destination {
    fn from(right: C) -> Self {
        let right = right.into();
        let task = match &right {
            Carry::Send(Some(right)) => right.task(),
            Carry::SendOnce(Some(right)) => right.task(),
            Carry::Receive(Some(right)) => right.task(),
            Carry::Copy(right) => right.task(),
            Carry::Make(port) | Carry::MakeOnce(port) => port.task(),
            _ => Task::current(),
        };
        let (disposition, name, given) = right.parts();
        Self { task, name, disposition, given }
    }
}

/// Time-outs count in whole milliseconds, and are not cut to none.
fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX)
}

impl<'a> Request<'a> {
    /// A request with an identifier; `tried` says in errors what it is.
    pub fn new(id: i32, tried: &'static str) -> Self {
        Self { writer: Writer::new(id), tried, options: 0, send_time: None, wait_time: None }
    }

    /// Adds options of `mach_msg`.
    pub fn options(&mut self, options: u32) {
        self.options |= options;
    }

    /// How long the request may wait for space in the port's queue.
    pub fn send_time(&mut self, time: Duration) {
        self.send_time = Some(milliseconds(time));
    }

    /// How long the reply may take.
    pub fn wait_time(&mut self, time: Duration) {
        self.wait_time = Some(milliseconds(time));
    }

    fn error(tried: &'static str, code: Code) -> Error {
        Error { tried, code }
    }

    /// Sends it where no reply comes. What it carries is given up in any case.
    ///
    /// # Errors
    /// `MIG_ARRAY_TOO_LARGE` or `KERN_INVALID_ARGUMENT` for what it must not carry, or a code of `mach_msg`.
    pub fn send(self, dest: impl Into<Destination>) -> Result<(), Error> {
        self.send_from::<Option<&SendRight>>(dest, types::COPY_SEND, None)
    }

    /// As [`Self::send`], with a reply port that is passed as `disposition` says.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn send_from<R: Give>(self, dest: impl Into<Destination>, disposition: u32, reply: R) -> Result<(), Error> {
        self.send_with(dest.into(), (disposition, reply.name(), reply.given()))
    }

    /// As [`Self::send`], with a reply port that is passed as the caller says.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn send_from_any<'b>(self, dest: impl Into<Destination>, reply: impl Into<Carry<'b>>) -> Result<(), Error> {
        self.send_with(dest.into(), reply.into().parts())
    }

    fn send_with(mut self, dest: Destination, (disposition, name, given): (u32, u32, Given)) -> Result<(), Error> {
        let tried = self.tried;
        self.carried.extend(given.0);
        // Without a reply there is nothing to wait for but space in the queue.
        self.send_time = self.send_time.or(self.wait_time.take());
        let reply = if name == 0 { (0, 0) } else { (name, disposition) };
        let mut buffer = Vec::new();
        match self.exchange(dest, reply, None, &mut buffer) {
            Code::SUCCESS => Ok(()),
            code => Err(Self::error(tried, code)),
        }
    }

    /// Sends it and reads the reply, of at most `most` bytes, which comes to a port of the thread's own. What it carries is
    /// given up in any case.
    ///
    /// # Errors
    /// What the server's routine returned, a code of `mach_msg`, or one of MIG: `MIG_ARRAY_TOO_LARGE` and
    /// `KERN_INVALID_ARGUMENT` for what it must not carry, `MIG_SERVER_DIED` if nobody will answer, `MIG_REPLY_MISMATCH` and
    /// `MIG_TYPE_ERROR` for a reply that does not fit.
    pub fn call<T>(
        self,
        dest: impl Into<Destination>,
        most: usize,
        read: impl FnOnce(&mut Reader) -> Result<T, Code>,
    ) -> Result<T, Error> {
        let (dest, tried) = (dest.into(), self.tried);
        let port = match REPLY_PORT.take().filter(|port| port.task() == dest.task) {
            Some(port) => port,
            None => ReceiveRight::from_name(dest.task, dest.task.reply_port().map_err(|code| Self::error(tried, code))?),
        };
        let id = self.id;
        let mut buffer = Vec::new();
        let code = self.exchange(dest, (port.name(), types::MAKE_SEND_ONCE), Some((port.name(), most)), &mut buffer);
        if code != Code::SUCCESS {
            // A port to which something may still come is not used again.
            if is_unsent(code) {
                REPLY_PORT.set(Some(port));
            }
            return Err(Self::error(tried, code));
        }
        let answer = Received::parse(port.task(), &buffer);
        REPLY_PORT.set(Some(port));
        take_apart(answer, id, read).map_err(|code| Self::error(tried, code))
    }

    /// As [`Self::call`], with the caller's own port for the reply; `disposition` is `MACH_MSG_TYPE_MAKE_*`.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub fn call_from<T>(
        self,
        dest: impl Into<Destination>,
        most: usize,
        port: &ReceiveRight,
        disposition: u32,
        read: impl FnOnce(&mut Reader) -> Result<T, Code>,
    ) -> Result<T, Error> {
        let (id, tried) = (self.id, self.tried);
        let mut buffer = Vec::new();
        let code = match self.exchange(dest.into(), (port.name(), disposition), Some((port.name(), most)), &mut buffer) {
            Code::SUCCESS => take_apart(Received::parse(port.task(), &buffer), id, read),
            code => Err(code),
        };
        code.map_err(|code| Self::error(tried, code))
    }

    /// Sends, and receives if there is a port to receive from; `buffer` holds what was received then.
    fn exchange(mut self, dest: Destination, reply: (u32, u32), receive: Option<(u32, usize)>, buffer: &mut Vec<u8>) -> Code {
        if let Some(code) = self.failed {
            // Nothing has been sent: what the request carries is given up with it.
            self.carried.extend(dest.given.0);
            return code;
        }
        self.carried.extend(dest.given.0);
        self.address((dest.name, dest.disposition), reply);
        let task = dest.task;
        let Writer { buffer: message, carried, .. } = self.writer;
        *buffer = message;
        let size = buffer.len();
        let timed = |time: Option<u32>, flag: u32| if time.is_some() { flag } else { 0 };
        let sending = option::SEND_MSG | timed(self.send_time, option::SEND_TIMEOUT) | self.options;
        let mut request = crate::Request { option: sending, send_size: size, ..crate::Request::default() };
        let Some((port, most)) = receive else {
            request.timeout = self.send_time.unwrap_or(0);
            // SAFETY: as below.
            let code = unsafe { task.mach_msg_with_memory(buffer, &request) };
            settle(task, code, buffer, carried);
            return code;
        };
        buffer.resize(size.max(USUAL.min(most)), 0);
        request.receive_name = port;
        request.receive_size = buffer.len().min(most);
        let larger = |size: usize| if size < most { option::RCV_LARGE } else { 0 };
        let mut receiving = option::RCV_MSG | larger(request.receive_size) | timed(self.wait_time, option::RCV_TIMEOUT);
        // One call has one time-out, so two of them take two.
        let both = self.send_time.is_some() && self.wait_time.is_some();
        request.timeout = self.send_time.or(self.wait_time).unwrap_or(0);
        if !both {
            request.option |= receiving;
        }
        // SAFETY: each item has as many bytes as it says, and those out of line are lent to the writer, or carried.
        let mut code = unsafe { task.mach_msg_with_memory(buffer, &request) };
        settle(task, code, &buffer[..size], carried);
        if both && code == Code::SUCCESS {
            request.timeout = self.wait_time.unwrap_or(0);
            request.option = receiving;
            code = task.mach_msg(buffer, &request);
        }
        while code == Code::RCV_TOO_LARGE && receiving & option::RCV_LARGE != 0 {
            let needed = buffer.get(4..8).map_or(0, |size| size.iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte)));
            // A reply that is longer than any good one is destroyed by the receive.
            let size = if needed > most { buffer.len().min(most) } else { needed.max(buffer.len() + 8).min(most) };
            buffer.resize(size.max(buffer.len()), 0);
            request.receive_size = size;
            receiving &= !option::RCV_LARGE;
            receiving |= if needed > most { 0 } else { larger(size) };
            request.option = receiving | self.options & !option::SEND_MSG;
            code = task.mach_msg(buffer, &request);
        }
        code
    }
}

/// Makes calls after which this thread keeps no reply port that it did not have before.
pub(crate) fn without_kept_port<T>(calls: impl FnOnce() -> T) -> T {
    let before = REPLY_PORT.take();
    let result = calls();
    drop(REPLY_PORT.replace(before));
    result
}

/// Whether the send failed in a way after which nothing can come to the reply port.
fn is_unsent(code: Code) -> bool {
    let sending = code.0 < Code::RCV_INVALID_NAME.0 - 1;
    // A right that came back was given up, of which the reply port is told.
    let told = matches!(code, Code::SEND_TIMED_OUT | Code::SEND_INTERRUPTED | Code::SEND_INVALID_REPLY);
    let destroyed = matches!(code, Code::SEND_NO_BUFFER | Code::SEND_INVALID_RIGHT | Code::SEND_INVALID_MEMORY);
    sending && !told && !destroyed
}

/// Reads a reply.
fn take_apart<T>(answer: Received, request: i32, read: impl FnOnce(&mut Reader) -> Result<T, Code>) -> Result<T, Code> {
    if answer.id() == notify::SEND_ONCE {
        return Err(Code::MIG_SERVER_DIED);
    }
    if answer.id() != request + REPLY {
        return Err(Code::MIG_REPLY_MISMATCH);
    }
    let mut reader = Reader::new(answer, Code::MIG_TYPE_ERROR);
    match reader.code()? {
        Code::SUCCESS => {}
        code if reader.is_plain(Reader::CODE_ALONE) => return Err(code),
        _ => return Err(Code::MIG_TYPE_ERROR),
    }
    let values = read(&mut reader)?;
    reader.finish()?;
    Ok(values)
}
