//! Receive rights that would travel to themselves: no task could ever receive them.

use super::Routes;
use crate::{
    objects,
    state::{
        PortId, Right,
        message::{Item, Message},
    },
};
use slipway_fabric::descriptor::Reserved;
use std::os::fd::AsFd;

impl Routes {
    /// The ports whose receive rights go with a message, those that wait in the queues of these included.
    pub(super) fn moving_with(&self, message: &Message) -> Vec<PortId> {
        let received = |message: &Message, ports: &mut Vec<PortId>| {
            let rights = message.items.iter().flat_map(Item::rights);
            ports.extend(rights.filter_map(|right| if let Right::Receive(port) = right { Some(*port) } else { None }));
        };
        let mut moving = Vec::new();
        received(message, &mut moving);
        let mut next = 0;
        while let Some(port) = moving.get(next).copied() {
            next += 1;
            let queue = self.state.port(port).local().map(|local| &local.queue);
            queue.into_iter().flatten().for_each(|message| received(message, &mut moving));
        }
        moving
    }

    /// The port here that a send-once right's socket leads to, if its receive right is about to go into the socket with
    /// `message`. The right is then one of this process's own, and the socket is closed.
    pub(super) fn leads_to_itself(&mut self, socket: &Reserved, message: &Message) -> Option<PortId> {
        if message.items.is_empty() {
            return None;
        }
        let moving = self.moving_with(message);
        if !self.once_ends.iter().any(|(_, end)| moving.contains(&end.port)) {
            return None;
        }
        // Which socket is whose other end the kernel doesn't say: what goes in here must come out there. Elsewhere so
        // short a packet is passed over.
        let mut nonce = [0; PROBE];
        rustix::rand::getrandom(&mut nonce, rustix::rand::GetRandomFlags::empty()).ok()?;
        objects::send(socket.as_fd(), &[&nonce], &[]).ok()?;
        let mut ends = self.once_ends.iter().filter(|(_, end)| moving.contains(&end.port));
        let (id, port) = ends.find(|(_, end)| comes_next(&end.socket, &nonce)).map(|(id, end)| (id, end.port))?;
        self.once_ends.remove(id);
        Some(port)
    }
}

/// The size of a packet that says nothing, in bytes.
const PROBE: usize = 8;

fn comes_next(socket: &Reserved, bytes: &[u8; PROBE]) -> bool {
    use rustix::net::RecvFlags;
    let mut first = [0; PROBE];
    let peeked = rustix::net::recv(socket, &mut first[..], RecvFlags::PEEK | RecvFlags::DONTWAIT | RecvFlags::TRUNC);
    peeked.is_ok_and(|(_, size)| size == PROBE) && first == *bytes
}
