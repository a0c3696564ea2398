//! Receivers that are received from together: a port set.

use super::{
    error::{OsError, OsTrySelectError},
    message::IpcMessage,
    receiver::{Incoming, OsIpcReceiver, Patience},
};
use slipway_mach::rights::{PortSet, ReceiveRight};
use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

/// What happened at a receiver of a set, which its number tells.
#[derive(Debug)]
pub enum OsIpcSelectionResult {
    /// A message came.
    DataReceived(u64, IpcMessage),
    /// All its senders are gone, and it is not in the set any more.
    ChannelClosed(u64),
}

impl OsIpcSelectionResult {
    /// The receiver's number and the message.
    ///
    /// # Panics
    /// If the channel was closed.
    pub fn unwrap(self) -> (u64, IpcMessage) {
        match self {
            Self::DataReceived(id, message) => (id, message),
            Self::ChannelClosed(id) => panic!("channel {id} closed"),
        }
    }
}

/// Receivers that are received from together.
pub struct OsIpcReceiverSet {
    set: PortSet,
    /// By the name of the port.
    members: HashMap<u32, (u64, ReceiveRight)>,
    next: u64,
    /// What happened at receivers that are not in the set any more.
    left: VecDeque<OsIpcSelectionResult>,
}

impl OsIpcReceiverSet {
    /// An empty set.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new() -> Result<Self, OsError> {
        Ok(Self { set: PortSet::new()?, members: HashMap::new(), next: 0, left: VecDeque::new() })
    }

    /// Moves a receiver into the set: its number there.
    ///
    /// # Errors
    /// It was moved into a message.
    pub fn add(&mut self, receiver: OsIpcReceiver) -> Result<u64, OsError> {
        let id = self.next;
        match receiver.into_right() {
            (Some(right), false) => {
                self.set.add(&right)?;
                self.members.insert(right.name(), (id, right));
            }
            (Some(right), true) => self.close(id, &right),
            (None, true) => self.left.push_back(OsIpcSelectionResult::ChannelClosed(id)),
            (None, false) => return Err(OsError::moved()),
        }
        self.next += 1;
        Ok(id)
    }

    /// Waits until something happens at a receiver. What one call gives is as much as there is without waiting, up to a limit.
    ///
    /// # Errors
    /// A code of Mach that should not occur.
    pub fn select(&mut self) -> Result<Vec<OsIpcSelectionResult>, OsError> {
        self.wait(None)
    }

    /// What has happened.
    ///
    /// # Errors
    /// `Empty` if nothing has; as [`Self::select`].
    pub fn try_select(&mut self) -> Result<Vec<OsIpcSelectionResult>, OsTrySelectError> {
        Ok(self.wait(Some(Duration::ZERO))?)
    }

    /// Waits until something happens, for some time.
    ///
    /// # Errors
    /// `Empty` if nothing did; as [`Self::select`].
    pub fn try_select_timeout(&mut self, duration: Duration) -> Result<Vec<OsIpcSelectionResult>, OsTrySelectError> {
        Ok(self.wait(Some(duration))?)
    }

    fn wait(&mut self, timeout: Option<Duration>) -> Result<Vec<OsIpcSelectionResult>, OsError> {
        let patience = Patience::new(timeout);
        loop {
            if !self.left.is_empty() {
                return Ok(self.left.drain(..).collect());
            }
            let received = self.set.receive(patience.left())?;
            let name = received.port();
            match Incoming::from(received) {
                Incoming::Message(message) => {
                    if let Some((id, _)) = self.members.get(&name) {
                        return Ok(vec![OsIpcSelectionResult::DataReceived(*id, message)]);
                    }
                }
                Incoming::NoSenders => {
                    if let Some((id, right)) = self.members.remove(&name) {
                        self.set.remove(&right)?;
                        self.close(id, &right);
                    }
                }
                Incoming::Other => {}
            }
        }
    }

    /// Takes what a receiver without senders still has.
    fn close(&mut self, id: u64, right: &ReceiveRight) {
        while let Ok(received) = right.receive(Some(Duration::ZERO)) {
            if let Incoming::Message(message) = Incoming::from(received) {
                self.left.push_back(OsIpcSelectionResult::DataReceived(id, message));
            }
        }
        self.left.push_back(OsIpcSelectionResult::ChannelClosed(id));
    }
}
