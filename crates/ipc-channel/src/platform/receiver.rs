//! The receiving end of a channel: a receive right, to which the port itself tells that its senders are gone. It is asked for that with the first
//! receive: a receiver that is made and sent takes no request along.

use super::{
    error::OsError,
    message::{self, IpcMessage},
    parts::{Expected, Mark, Taken, Unfinished},
};
use slipway_fabric::sync::copied;
use slipway_mach::{
    abi::notify,
    rights::{Arrived, Error, Plain, ReceiveRight, Received},
};
use std::{
    cell::{Cell, RefCell},
    io,
    time::{Duration, Instant},
};

/// What is known of the senders of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Senders {
    /// Nothing: nobody asked.
    Unwatched,
    /// The port tells when they are gone.
    Watched,
    /// The port has told that they are gone.
    Gone,
}

impl Senders {
    /// Has a port told of the end of its last send right, in a message to itself, behind what was sent, if that was not done.
    pub fn watch(self, port: &ReceiveRight) -> Result<Self, Error> {
        if self != Self::Unwatched {
            return Ok(self);
        }
        port.notify_no_senders(port.make_send_once()?)?;
        Ok(Self::Watched)
    }
}

/// What is made of a message.
pub(super) trait Form {
    /// Of bytes alone, where they lie.
    fn of_bytes(bytes: &[u8]) -> Self;

    /// Of any other.
    fn of_message(message: IpcMessage) -> Self;
}

/// The bytes alone; an error if they are lost.
impl Form for io::Result<Vec<u8>> {
    #[inline]
    fn of_bytes(bytes: &[u8]) -> Self {
        Ok(copied(bytes))
    }

    fn of_message(message: IpcMessage) -> Self {
        message.into_data()
    }
}

impl Form for IpcMessage {
    #[inline]
    fn of_bytes(bytes: &[u8]) -> Self {
        Self::from_data(copied(bytes))
    }

    fn of_message(message: IpcMessage) -> Self {
        message
    }
}

/// What a port may receive.
pub(super) enum Incoming<T> {
    Message(T),
    /// The last send right is gone. What was sent before may be behind it, if it came from several processes.
    NoSenders,
    /// A part of a message, or nothing of interest.
    Other,
}

impl<T: Form> Incoming<T> {
    /// What a message is. `unfinished` is the port's.
    #[inline]
    pub fn of(arrived: Arrived<'_>, unfinished: &mut Unfinished) -> Self {
        match arrived {
            Arrived::Plain(plain) => Self::plain(&plain, unfinished),
            Arrived::Other(received) => Self::other(received, unfinished),
        }
    }

    fn other(received: Received, unfinished: &mut Unfinished) -> Self {
        if received.is_notification(notify::NO_SENDERS) {
            Self::NoSenders
        } else if received.is_by_send_once() {
            Self::Other
        } else {
            Self::Message(T::of_message(IpcMessage::from_received(received, unfinished)))
        }
    }

    #[inline]
    fn plain(plain: &Plain<'_>, unfinished: &mut Unfinished) -> Self {
        match message::bytes(plain) {
            Some(bytes) => Self::Message(T::of_bytes(bytes)),
            None => Self::of_parts(unfinished.take(plain)),
        }
    }

    fn of_parts(taken: Taken) -> Self {
        match taken {
            Taken::Added => Self::Other,
            Taken::Whole(data) => Self::Message(T::of_message(IpcMessage::with_data(data))),
        }
    }

    /// Waits for it at one port.
    #[inline]
    pub fn receive(right: &ReceiveRight, patience: &Patience, unfinished: &mut Unfinished) -> Result<Self, Error> {
        if let Some(expected) = unfinished.expect()
            && let Some(incoming) = Self::receive_part(right, patience, unfinished, expected)?
        {
            return Ok(incoming);
        }
        right.receive_plain(patience.left(), |arrived| Self::of(arrived, unfinished))
    }

    /// As [`Self::receive`], where the next part of a message belongs. None, and nothing was received, if there is no room for what came.
    #[inline(never)]
    fn receive_part(
        right: &ReceiveRight,
        patience: &Patience,
        unfinished: &mut Unfinished,
        mut expected: Expected,
    ) -> Result<Option<Self>, Error> {
        let (mark, other) = (expected.mark, &mut *unfinished);
        let came = right.receive_plain_behind(patience.left(), expected.bytes(), |arrived| match arrived {
            Arrived::Plain(message) => match mark.expects(&message) {
                Some((part, last)) => Came::Part(part, last),
                None => Came::Else(Self::plain(&message, other)),
            },
            Arrived::Other(received) => Came::Other(received),
        });
        if let Ok(Some(Came::Part(part, last))) = came {
            return Ok(Some(Self::of_parts(unfinished.put_part(expected, part, last))));
        }
        // What came may be its last part, with rights.
        unfinished.put_back(expected);
        Ok(match came? {
            Some(Came::Other(received)) => Some(Self::other(received, unfinished)),
            Some(Came::Else(incoming)) => Some(incoming),
            Some(Came::Part(..)) | None => None,
        })
    }
}

/// What came where a part was expected.
enum Came<T> {
    /// The part, of so many bytes, and whether it is the last one.
    Part(usize, bool),
    /// Another plain message.
    Else(Incoming<T>),
    Other(Received),
}

/// How many messages of no interest a receive that has nothing left to wait for takes off a port.
const OTHERS_MAX: u32 = 1024;

/// How long a wait goes on.
pub(super) enum Patience {
    Endless,
    Until(Instant),
    Over,
}

impl Patience {
    /// From now on; for ever without a time-out, and with one that no clock can tell the end of.
    pub(super) fn new(timeout: Option<Duration>) -> Self {
        match timeout {
            Some(Duration::ZERO) => Self::Over,
            Some(timeout) => Instant::now().checked_add(timeout).map_or(Self::Endless, Self::Until),
            None => Self::Endless,
        }
    }

    /// Whether a receive that found no message `others` times ends: time-outs hold against a sender of parts without end.
    pub(super) fn is_over(&self, others: u32) -> bool {
        others >= OTHERS_MAX && self.left() == Some(Duration::ZERO)
    }

    /// What is left, in whole milliseconds, as a receive takes it.
    pub(super) fn left(&self) -> Option<Duration> {
        match self {
            Self::Endless => None,
            Self::Until(end) => {
                let left = end.saturating_duration_since(Instant::now()).as_micros().div_ceil(1000);
                Some(Duration::from_millis(left.min(u128::from(u32::MAX)) as u64))
            }
            Self::Over => Some(Duration::ZERO),
        }
    }
}

/// The receiving end of a channel. By default that of a channel whose senders are gone.
#[derive(Debug)]
pub struct OsIpcReceiver {
    right: RefCell<Option<ReceiveRight>>,
    senders: Cell<Senders>,
    unfinished: RefCell<Unfinished>,
}

impl Default for OsIpcReceiver {
    fn default() -> Self {
        Self { right: RefCell::default(), senders: Cell::new(Senders::Gone), unfinished: RefCell::default() }
    }
}

impl OsIpcReceiver {
    pub(super) fn new(right: ReceiveRight) -> Self {
        Self { right: RefCell::new(Some(right)), senders: Cell::new(Senders::Unwatched), unfinished: RefCell::default() }
    }

    /// What the right's holder before this one knew of the senders.
    pub(super) fn know(&self, senders: Senders) {
        self.senders.set(senders);
    }

    /// The task that had the right before had this much of a message.
    pub(super) fn has_part(&self, key: u64, part: &[u8]) {
        self.unfinished.borrow_mut().add(Mark { key, total: part.len() as u64 }, part);
    }

    /// The right, what is known of its senders, and what there is of messages.
    pub(super) fn into_right(self) -> (Option<ReceiveRight>, Senders, Unfinished) {
        (self.right.into_inner(), self.senders.get(), self.unfinished.into_inner())
    }

    /// Takes the receiver out of this value, which receives nothing more.
    pub fn consume(&self) -> Self {
        Self {
            right: RefCell::new(self.right.take()),
            senders: Cell::new(self.senders.replace(Senders::Unwatched)),
            unfinished: RefCell::new(self.unfinished.take()),
        }
    }

    /// Waits for a message.
    ///
    /// # Errors
    /// `Disconnected` once all senders are gone and all that they sent was received.
    pub fn recv(&self) -> Result<IpcMessage, OsError> {
        self.receive(None)
    }

    /// As [`Self::recv`], of a message of bytes; an error of its own if they are lost.
    #[inline]
    pub(crate) fn recv_bytes(&self) -> Result<io::Result<Vec<u8>>, OsError> {
        self.receive(None)
    }

    /// A message that is there.
    ///
    /// # Errors
    /// `Empty`; as [`Self::recv`].
    pub fn try_recv(&self) -> Result<IpcMessage, OsError> {
        self.receive(Some(Duration::ZERO))
    }

    /// Waits for a message for some time.
    ///
    /// # Errors
    /// `Empty`; as [`Self::recv`].
    pub fn try_recv_timeout(&self, duration: Duration) -> Result<IpcMessage, OsError> {
        self.receive(Some(duration))
    }

    fn receive<T: Form>(&self, timeout: Option<Duration>) -> Result<T, OsError> {
        let mut others = 0;
        let right = self.right.borrow();
        let Some(right) = &*right else {
            return Err(if self.senders.get() == Senders::Gone { OsError::Disconnected } else { OsError::moved() });
        };
        if self.senders.get() == Senders::Unwatched {
            self.senders.set(Senders::Unwatched.watch(right)?);
        }
        let mut patience = Patience::new(timeout);
        loop {
            let ended = self.senders.get() == Senders::Gone;
            if ended {
                patience = Patience::Over;
            }
            let incoming = Incoming::receive(right, &patience, &mut self.unfinished.borrow_mut());
            match incoming {
                Ok(Incoming::Message(message)) => return Ok(message),
                Ok(Incoming::NoSenders) => self.senders.set(Senders::Gone),
                Ok(Incoming::Other) => {
                    others += 1;
                    // What is there when the senders are gone ends by itself.
                    if !ended && patience.is_over(others) {
                        return Err(OsError::Empty);
                    }
                }
                Err(error) if ended && error.is_timeout() => {
                    // Nobody is left to finish them.
                    self.unfinished.take();
                    return Err(OsError::Disconnected);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}
