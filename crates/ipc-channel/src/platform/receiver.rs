//! The receiving end of a channel: a receive right, to which the port itself tells that its senders are gone.

use super::{
    error::OsError,
    message::IpcMessage,
    parts::{Expected, Mark, Taken, Unfinished},
};
use slipway_mach::{
    abi::notify,
    rights::{Arrived, Error, Plain, ReceiveRight, Received},
};
use std::{
    cell::{Cell, RefCell},
    time::{Duration, Instant},
};

/// Has a port told of the end of its last send right, in a message to itself, behind what was sent.
pub(super) fn watch_senders(port: &ReceiveRight) -> Result<(), Error> {
    port.notify_no_senders(port.make_send_once()?)?;
    Ok(())
}

/// What a port may receive.
pub(super) enum Incoming {
    Message(IpcMessage),
    /// The last send right is gone. What was sent before may be behind it, if it came from several processes.
    NoSenders,
    /// A part of a message, or nothing of interest.
    Other,
}

impl Incoming {
    /// What a message of another form than plain data is. `unfinished` is the port's.
    pub fn new(received: Received, unfinished: &mut Unfinished) -> Self {
        if received.is_notification(notify::NO_SENDERS) {
            Self::NoSenders
        } else if received.is_by_send_once() {
            Self::Other
        } else {
            Self::Message(IpcMessage::from_received(received, unfinished))
        }
    }

    pub fn plain(plain: Plain<'_>, unfinished: &mut Unfinished) -> Self {
        IpcMessage::from_plain(plain, unfinished).map_or(Self::Other, Self::Message)
    }

    fn of_parts(taken: Taken) -> Self {
        IpcMessage::of_parts(taken).map_or(Self::Other, Self::Message)
    }

    /// Waits for it at one port.
    pub fn receive(right: &ReceiveRight, patience: &Patience, unfinished: &mut Unfinished) -> Result<Self, Error> {
        if let Some(expected) = unfinished.expect()
            && let Some(incoming) = Self::receive_part(right, patience, unfinished, expected)?
        {
            return Ok(incoming);
        }
        Ok(match right.receive_plain(patience.left(), |message| Self::plain(message, unfinished))? {
            Arrived::Plain(incoming) => incoming,
            Arrived::Other(received) => Self::new(received, unfinished),
        })
    }

    /// As [`Self::receive`], where the next part of a message belongs. None, and nothing was received, if there is no room for what came.
    fn receive_part(
        right: &ReceiveRight,
        patience: &Patience,
        unfinished: &mut Unfinished,
        mut expected: Expected,
    ) -> Result<Option<Self>, Error> {
        let (mark, other) = (expected.mark, &mut *unfinished);
        let arrived = right.receive_plain_into(patience.left(), expected.buffer(), |message| match mark.expects(&message) {
            Some(part) => Ok(part),
            None => Err(Self::plain(message, other)),
        });
        if let Ok(Some(Arrived::Plain(Ok((part, last))))) = arrived {
            return Ok(Some(Self::of_parts(unfinished.put_part(expected, part, last))));
        }
        // What came may be its last part, with rights.
        unfinished.put_back(expected);
        Ok(match arrived? {
            Some(Arrived::Other(received)) => Some(Self::new(received, unfinished)),
            Some(Arrived::Plain(incoming)) => incoming.err(),
            None => None,
        })
    }
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
    /// Whether the port has told that there are no senders.
    ended: Cell<bool>,
    unfinished: RefCell<Unfinished>,
}

impl Default for OsIpcReceiver {
    fn default() -> Self {
        Self { right: RefCell::default(), ended: Cell::new(true), unfinished: RefCell::default() }
    }
}

impl OsIpcReceiver {
    pub(super) fn new(right: ReceiveRight) -> Self {
        Self { right: RefCell::new(Some(right)), ended: Cell::new(false), unfinished: RefCell::default() }
    }

    /// The port has told whoever had the right before that there are no senders.
    pub(super) fn end(&self) {
        self.ended.set(true);
    }

    /// The task that had the right before had this much of a message.
    pub(super) fn has_part(&self, key: u64, part: &[u8]) {
        self.unfinished.borrow_mut().add(Mark { key, total: part.len() as u64 }, part);
    }

    /// The right, whether its senders are known to be gone, and what there is of messages.
    pub(super) fn into_right(self) -> (Option<ReceiveRight>, bool, Unfinished) {
        (self.right.into_inner(), self.ended.get(), self.unfinished.into_inner())
    }

    /// Takes the receiver out of this value, which receives nothing more.
    pub fn consume(&self) -> Self {
        Self {
            right: RefCell::new(self.right.take()),
            ended: Cell::new(self.ended.replace(false)),
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

    fn receive(&self, timeout: Option<Duration>) -> Result<IpcMessage, OsError> {
        let mut others = 0;
        let right = self.right.borrow();
        let Some(right) = &*right else {
            return Err(if self.ended.get() { OsError::Disconnected } else { OsError::moved() });
        };
        let mut patience = Patience::new(timeout);
        loop {
            if self.ended.get() {
                patience = Patience::Over;
            }
            let incoming = Incoming::receive(right, &patience, &mut self.unfinished.borrow_mut());
            match incoming {
                Ok(Incoming::Message(message)) => return Ok(message),
                Ok(Incoming::NoSenders) => self.ended.set(true),
                Ok(Incoming::Other) => {
                    others += 1;
                    // What is there when the senders are gone ends by itself.
                    if !self.ended.get() && patience.is_over(others) {
                        return Err(OsError::Empty);
                    }
                }
                Err(error) if self.ended.get() && error.is_timeout() => {
                    // Nobody is left to finish them.
                    self.unfinished.take();
                    return Err(OsError::Disconnected);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}
