//! Receivers that are received from together: a port set.

use super::{
    error::{OsError, OsTrySelectError},
    message::IpcMessage,
    parts::Unfinished,
    receiver::{Incoming, OsIpcReceiver, Patience, Senders},
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

struct Member {
    id: u64,
    right: ReceiveRight,
    unfinished: Unfinished,
}

/// Receivers that are received from together.
pub struct OsIpcReceiverSet {
    set: PortSet,
    /// By the name of the port.
    members: HashMap<u32, Member>,
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
            (Some(right), Senders::Gone, unfinished) => self.close(Member { id, right, unfinished }),
            (Some(right), senders, unfinished) => {
                senders.watch(&right)?;
                self.set.add(&right)?;
                self.members.insert(right.name(), Member { id, right, unfinished });
            }
            (None, Senders::Gone, _) => self.left.push_back(OsIpcSelectionResult::ChannelClosed(id)),
            (None, ..) => return Err(OsError::moved()),
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
        let mut others = 0;
        loop {
            if !self.left.is_empty() {
                return Ok(self.left.drain(..).collect());
            }
            let members = &mut self.members;
            let arrived = self.set.receive_plain(patience.left(), |arrived| {
                let name = arrived.port();
                let Member { id, unfinished, .. } = members.get_mut(&name)?;
                Some((name, *id, Incoming::of(arrived, unfinished)))
            })?;
            match arrived {
                Some((_, id, Incoming::Message(message))) => return Ok(vec![OsIpcSelectionResult::DataReceived(id, message)]),
                Some((name, _, Incoming::NoSenders)) => {
                    if let Some(member) = self.members.remove(&name) {
                        self.set.remove(&member.right)?;
                        self.close(member);
                    }
                }
                _ => {}
            }
            others += 1;
            if self.left.is_empty() && patience.is_over(others) {
                return Err(OsError::Empty);
            }
        }
    }

    /// Takes what a receiver without senders still has.
    fn close(&mut self, member: Member) {
        let Member { id, right, mut unfinished } = member;
        while let Ok(incoming) = Incoming::receive(&right, &Patience::Over, &mut unfinished) {
            if let Incoming::Message(message) = incoming {
                self.left.push_back(OsIpcSelectionResult::DataReceived(id, message));
            }
        }
        self.left.push_back(OsIpcSelectionResult::ChannelClosed(id));
    }
}
