//! Notifications: messages that the kernel of Mach, here this library, sends to tasks that asked for them.

use super::{
    Effect, Home, PortId, Right, State,
    message::{Item, Message},
};
use crate::abi::{notify, types};
use smallvec::{SmallVec, smallvec};

pub use slipway_abi::typed::type_word;

/// The body of a notification: one word, described by its type.
pub(super) fn body(name: u32, bits: u32, value: u32) -> Vec<u8> {
    let mut body = Vec::with_capacity(16);
    body.extend(type_word(name, bits, 1).to_le_bytes());
    body.extend(u64::from(value).to_le_bytes());
    body
}

impl State {
    /// Sends a notification with the right, which is used up. Null, or one whose port is dead, gets none.
    pub(super) fn notify(&mut self, to: Right, id: i32, body: Vec<u8>, items: SmallVec<[Item; 1]>) {
        let complex = !items.is_empty();
        let message = Box::new(Message {
            id,
            complex,
            dest: to,
            reply: Right::Null,
            body,
            short: false,
            sender: Default::default(),
            items,
            origin: None,
            charge: Default::default(),
        });
        match message.dest {
            Right::SendOnce(port) => match self.port(port).home {
                Home::Here(_) => self.enqueue(port, message),
                Home::Remote => self.effect(Effect::Transmit(message)),
                Home::Dead => self.destroy_message(message),
            },
            Right::RemoteSendOnce(_) => self.effect(Effect::Transmit(message)),
            _ => self.destroy_message(message),
        }
    }

    /// Tells `to` that the name, which had a dead-name request, was given up (`MACH_NOTIFY_PORT_DELETED`).
    pub(crate) fn notify_port_deleted(&mut self, to: Right, name: u32) {
        if to == Right::Null {
            return;
        }
        self.notify(to, notify::PORT_DELETED, body(types::PORT_NAME, 32, name), SmallVec::new());
    }

    /// Tells `to` that the port behind the name died (`MACH_NOTIFY_DEAD_NAME`).
    pub(crate) fn notify_dead_name(&mut self, to: Right, name: u32) {
        self.notify(to, notify::DEAD_NAME, body(types::PORT_NAME, 32, name), SmallVec::new());
    }

    /// Tells `to` that no send right is left, of as many as were made (`MACH_NOTIFY_NO_SENDERS`).
    pub(crate) fn notify_no_senders(&mut self, to: Right, made: u32) {
        if to == Right::Null {
            return;
        }
        self.notify(to, notify::NO_SENDERS, body(types::INTEGER_32, 32, made), SmallVec::new());
    }

    /// Gives `to` a receive right that would have been destroyed (`MACH_NOTIFY_PORT_DESTROYED`).
    pub(crate) fn notify_port_destroyed(&mut self, to: Right, port: PortId) {
        let items = smallvec![Item::Ports { at: 8, rights: smallvec![Right::Receive(port)] }];
        self.notify(to, notify::PORT_DESTROYED, body(types::PORT_RECEIVE, 64, 0), items);
    }

    /// Tells the port that a send-once right to it was destroyed unused (`MACH_NOTIFY_SEND_ONCE`); uses up `right`.
    pub(crate) fn notify_send_once(&mut self, right: Right) {
        self.notify(right, notify::SEND_ONCE, Vec::new(), SmallVec::new());
    }
}
