//! Serving: a request, the server's routine, and the answer.

use super::{call::REPLY, reader::Reader, writer::Writer};
use crate::{
    abi::{Code, option},
    rights::{Error, PortSet, ReceiveRight, Received, ReplyRight, give_up, is_taken, settle},
};
use std::{convert::Infallible, time::Duration};

/// What a server's stub does: it takes a request apart, calls the routine, and fills the reply.
pub type Routine<S> = fn(&mut S, &mut Reader, &mut Writer<'static>) -> Result<(), Code>;

/// The answer to a request: to be sent, unless there is none.
#[derive(Debug)]
#[must_use = "an answer that is not sent leaves its caller to learn that nobody will answer"]
pub struct Answer(Option<(ReplyRight, Writer<'static>)>);

impl Answer {
    /// Sends it, without waiting. What it carries is given up in any case.
    ///
    /// # Errors
    /// A code of `mach_msg`: the caller is gone, or doesn't receive.
    pub fn send(self) -> Result<(), Error> {
        self.send_with(0)
    }

    /// As [`Self::send`], for a server that no client may keep waiting: an answer to a process that has left very many
    /// unread is given up.
    ///
    /// # Errors
    /// As [`Self::send`], and `MACH_SEND_TIMED_OUT`.
    pub fn send_at_once(self) -> Result<(), Error> {
        self.send_with(option::SEND_TIMEOUT)
    }

    fn send_with(self, options: u32) -> Result<(), Error> {
        let Some((right, mut message)) = self.0 else { return Ok(()) };
        let (task, name, once) = match right {
            ReplyRight::Once(right) => (right.task(), right.into_name(), true),
            ReplyRight::Send(right) => (right.task(), right.into_name(), false),
        };
        message.address((name, Writer::passed_on(once)), (0, 0));
        let Writer { mut buffer, carried, .. } = message;
        let request = crate::Request {
            option: option::SEND_MSG | options | if once { 0 } else { option::SEND_TIMEOUT },
            send_size: buffer.len(),
            ..crate::Request::default()
        };
        #[allow(unsafe_code, reason = "memory by address, as messages carry it")]
        // SAFETY: each item has as many bytes as it says, and those out of line are carried.
        let code = unsafe { task.mach_msg_with_memory(&mut buffer, &request) };
        settle(task, code, &buffer, carried);
        if !is_taken(code, buffer.len()) {
            give_up(task, Writer::passed_on(once), name);
        }
        if code == Code::SUCCESS { Ok(()) } else { Err(Error { tried: "sending a reply", code }) }
    }
}

/// What became of a request: its answer, or the request itself if it is of another interface.
pub type Served = Result<Answer, Box<Received>>;

/// Has a stub serve a request. What the stub did not take out of the request is given up.
pub fn answer<S: ?Sized>(request: Received, server: &mut S, routine: Routine<S>) -> Answer {
    let id = request.id();
    let mut reader = Reader::new(request, Code::MIG_BAD_ARGUMENTS);
    let mut reply = Writer::new(id.wrapping_add(REPLY));
    reply.code(Code::SUCCESS);
    let result = routine(server, &mut reader, &mut reply);
    let right = reader.take_reply();
    finish(right, id, reply, result)
}

/// The reply for what the routine returned. One that does not fit the interface does not leave. Where there is none to come,
/// the right to send it is dropped, which tells the caller so.
fn finish(right: Option<ReplyRight>, id: i32, reply: Writer<'static>, result: Result<(), Code>) -> Answer {
    let result = result.and(reply.failed.map_or(Ok(()), Err));
    match (right, result) {
        (None, _) | (_, Err(Code::MIG_NO_REPLY | Code::MIG_DESTROY_REQUEST)) => Answer(None),
        (Some(right), Ok(())) => Answer(Some((right, reply))),
        (Some(right), Err(code)) => {
            let mut reply = Writer::new(id.wrapping_add(REPLY));
            reply.code(code);
            Answer(Some((right, reply)))
        }
    }
}

/// The answer to a request that no routine has the identifier of: `MIG_BAD_ID`.
pub fn refuse(request: Received) -> Answer {
    answer(request, &mut (), |(), _, _| Err(Code::MIG_BAD_ID))
}

/// The reply port of a request that is answered later. Dropped, it tells the caller that nobody will answer.
#[derive(Debug)]
pub struct Later {
    right: Option<ReplyRight>,
    id: i32,
}

impl Later {
    /// The reply port of the request with that identifier.
    pub fn new(request: &mut Reader, id: i32) -> Self {
        Self { right: request.take_reply(), id }
    }

    /// Whether there is somebody to answer.
    pub fn is_wanted(&self) -> bool {
        self.right.is_some()
    }

    /// Answers with an error, or with what `fill` puts into the reply.
    ///
    /// # Errors
    /// As [`Answer::send`].
    pub fn answer<T>(self, result: Result<T, Code>, fill: impl FnOnce(T, &mut Writer<'static>)) -> Result<(), Error> {
        let mut reply = Writer::new(self.id.wrapping_add(REPLY));
        reply.code(Code::SUCCESS);
        let result = result.map(|values| fill(values, &mut reply));
        finish(self.right, self.id, reply, result).send()
    }
}

/// What requests can be received from.
pub trait Receive {
    /// Waits for a message; for ever without a time-out.
    ///
    /// # Errors
    /// A code of `mach_msg`.
    fn receive(&self, timeout: Option<Duration>) -> Result<Received, Error>;
}

impl Receive for ReceiveRight {
    fn receive(&self, timeout: Option<Duration>) -> Result<Received, Error> {
        Self::receive(self, timeout)
    }
}

impl Receive for PortSet {
    fn receive(&self, timeout: Option<Duration>) -> Result<Received, Error> {
        Self::receive(self, timeout)
    }
}

/// Receives one request and answers it. `demux` gives back what is not its own, which is refused.
///
/// # Errors
/// A code of the receive. That an answer could not be delivered is its receiver's matter.
pub fn serve_one(port: &impl Receive, timeout: Option<Duration>, demux: impl FnOnce(Received) -> Served) -> Result<(), Error> {
    let request = port.receive(timeout)?;
    let _ = demux(request).unwrap_or_else(|request| refuse(*request)).send();
    Ok(())
}

/// Receives requests and answers them until a receive fails.
///
/// # Errors
/// A code of the receive.
pub fn serve(port: &impl Receive, mut demux: impl FnMut(Received) -> Served) -> Result<Infallible, Error> {
    loop {
        serve_one(port, None, &mut demux)?;
    }
}
