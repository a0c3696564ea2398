//! Senders that asked to be told when a message is received that found no room (`MACH_SEND_NOTIFY`).

use super::{
    Acceptance, PortId, Right, SpaceId, State,
    message::{Message, Origin},
    notify::body,
};
use crate::abi::{Code, kind, notify, types};

impl State {
    /// Asks for a notification to the port that `notify` receives from, when a message from the space to `port` is received:
    /// the request's number.
    ///
    /// `SEND_INVALID_NOTIFY` if `notify` is no receive right, `SEND_NOTIFY_IN_PROGRESS` if the space has asked for the
    /// port already.
    pub fn request_acceptance(&mut self, space: SpaceId, port: PortId, notify: u32) -> Result<u32, Code> {
        let name = self.name_of(space, port).map(|name| (space, name));
        if name.is_some() && self.acceptances.iter().any(|(_, it)| it.name == name) {
            return Err(Code::SEND_NOTIFY_IN_PROGRESS);
        }
        let entry = self.space(space).get(notify).filter(|entry| entry.has(kind::RECEIVE)).copied();
        let to = entry.and_then(|entry| self.make_send_once(entry.port()?)).ok_or(Code::SEND_INVALID_NOTIFY)?;
        Ok(self.acceptances.insert(Acceptance { name, to }) as u32)
    }

    /// The message was received, or left the queue in another way: the task that asked is told.
    pub fn accepted(&mut self, request: u32) {
        let Some(Acceptance { name, to }) = self.acceptances.try_remove(request as usize) else { return };
        let name = name.map_or(crate::abi::NULL, |(_, name)| name);
        self.notify(to, notify::MSG_ACCEPTED, body(types::PORT_NAME, 32, name), Default::default());
    }

    /// Takes a request back, of a message that was not sent.
    pub fn drop_acceptance(&mut self, request: u32) {
        if let Some(Acceptance { to: Right::SendOnce(port), .. }) = self.acceptances.try_remove(request as usize) {
            self.drop_soright(port);
        }
    }

    /// What was asked for a name belongs to none any more, or to `new`.
    pub(crate) fn rename_acceptance(&mut self, space: SpaceId, name: u32, new: Option<u32>) {
        for (_, it) in self.acceptances.iter_mut().filter(|(_, it)| it.name == Some((space, name))) {
            it.name = new.map(|new| (space, new));
        }
    }

    /// Puts a message into the queue of a port that is here, full as it is, for a request.
    pub fn enqueue_regardless(&mut self, port: PortId, mut message: Box<Message>, request: u32) {
        message.origin = Some(Origin::Notify(request));
        self.enqueue(port, message);
    }
}
