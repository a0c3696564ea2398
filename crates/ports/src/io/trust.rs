//! Whose a port is: proof for ways that somebody says lead to it.
//!
//! A line that was made through a port's sending end leads to who has the receiving end. A right that came over
//! another line as its giver's own (FIRST_GIFT) proves nothing: whoever holds a right could give it away so, and
//! catch what is sent to the port. As long as nobody else gave the port to this process, that is no harm: the giver
//! could as well have given a port of his own. From the second giver on no such way is used before the holder of the
//! receiving end, asked through the sending end, has said that the line is his and the port at that slot. He is
//! told by which port's sending end the line was made and which of its two ends asks, and compares: so nobody can make
//! one line of two, or of one that was made to himself, and have it taken for another's. If the answer is no, a
//! line of the port's own is made.

use super::{Far, Inner, attach::MAGIC, objects};
use crate::state::{Home, PortId};
use rustix::io::Errno;
use slipway_fabric::descriptor::Reserved;
use std::{os::fd::AsFd, sync::Arc};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// What is known of a way to a far port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The port's owner is at the other end.
    Proven,
    /// Nobody but the other end gave the port to this process.
    Given,
    /// Others gave it too, and its owner has not been asked.
    Contested,
    /// The owner is somebody else, or has not answered.
    Denied,
}

/// A question to the owner of a port, on its way.
#[derive(Debug)]
pub struct Question {
    /// The way that it is about: line and slot.
    about: (u32, u32),
    /// The answer comes here.
    socket: Arc<Reserved>,
}

/// Asks the holder of a port's receiving end whether a line is his, and the port at a slot of it. Goes through the
/// sending end. Its descriptor: a socket for the answer, one byte, 1 for yes.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Ask {
    /// [`MAGIC`].
    magic: u32,
    /// The slot, in the owner's numbers.
    slot: u32,
    /// The identity of the bell of the line's guest.
    bell: u64,
    /// The identity of the sending end that the line was made through.
    through: u64,
    /// 1 if who asks made the line, 0 if he is its guest.
    maker: u64,
}

impl Inner {
    /// A right to a far port has come: over the line as its giver's own, or as descriptors. With a second giver what
    /// one of them says is not enough any more.
    pub(crate) fn also_given(&mut self, port: PortId, by: Option<u32>) {
        let Some(far) = self.io.far_mut(port) else { return };
        if by.is_some() && far.giver == by {
            return;
        }
        far.giver = None;
        for route in far.routes.iter_mut().filter(|route| route.trust == Trust::Given) {
            route.trust = Trust::Contested;
        }
    }

    /// The port with the identity, of which `s` is a sending end. One that died by the word of somebody who may not
    /// have been its owner is another if it is found to live.
    pub(crate) fn identified(&mut self, identity: u64, s: &Reserved) -> Option<PortId> {
        let port = self.io.identities.get(&identity).copied()?;
        if self.is_gone(port)
            && let Some(far) = self.io.far_mut(port).filter(|far| far.hearsay)
            && !objects::hung_up(s)
        {
            far.identity = 0;
            self.io.identities.remove(&identity);
            return None;
        }
        Some(port)
    }

    /// A way that is not known to lead to the port ended with the news that the port is dead: whether it is.
    pub(crate) fn doubt_death(&mut self, port: PortId, trust: Trust) -> bool {
        let Some(far) = self.io.far_mut(port) else { return true };
        match trust {
            Trust::Proven => true,
            Trust::Given => {
                far.hearsay = true;
                true
            }
            Trust::Contested | Trust::Denied => {
                if far.s.as_ref().is_none_or(|s| objects::hung_up(&**s)) {
                    return true;
                }
                // An owner closes the receiving end a moment later.
                self.watch_death(port);
                false
            }
        }
    }

    /// A way to a port none of whose ways is known to lead there: asks its owner, takes note of the answer, or attaches.
    /// `WOULDBLOCK` while there is no answer yet, or the port is not far any more.
    pub(crate) fn find_way(&mut self, port: PortId) -> Result<(u32, u32), Errno> {
        loop {
            if !matches!(self.state.port(port).home, Home::Far) {
                return Err(Errno::WOULDBLOCK);
            }
            let far = self.io.far_mut(port).ok_or(Errno::NOTCONN)?;
            if let Some(route) = far.way() {
                return Ok((route.line, route.slot));
            }
            let contested = far.routes.iter().find(|route| route.trust == Trust::Contested);
            let Some((number, slot)) = contested.map(|route| (route.line, route.slot)) else {
                far.question = None;
                return self.attach(port);
            };
            match far.question.take_if(|question| question.about == (number, slot)) {
                None => {
                    far.question = None;
                    if !self.look_at_gate(number, slot) {
                        self.ask(port, number, slot)?;
                        return Err(Errno::WOULDBLOCK);
                    }
                }
                Some(question) => {
                    let mut byte = [0; 1];
                    let answer = objects::receive(question.socket.as_fd(), &mut byte, &mut Vec::new());
                    if answer == Err(Errno::WOULDBLOCK) {
                        far.question = Some(question);
                        return Err(Errno::WOULDBLOCK);
                    }
                    let yes = answer == Ok(1) && byte[0] == 1;
                    // A port that moved closed the gate first, and what it did not accept comes before all else.
                    if yes || !self.look_at_gate(number, slot) {
                        self.settle_trust(port, number, slot, if yes { Trust::Proven } else { Trust::Denied });
                    }
                }
            }
        }
    }

    fn settle_trust(&mut self, port: PortId, number: u32, slot: u32, trust: Trust) {
        let Some(far) = self.io.far_mut(port) else { return };
        for route in far.routes.iter_mut().filter(|route| (route.line, route.slot) == (number, slot)) {
            route.trust = trust;
        }
        if trust == Trust::Proven {
            self.send_stranded(port);
        }
    }

    fn ask(&mut self, port: PortId, number: u32, slot: u32) -> Result<(), Errno> {
        let line = self.io.lines.get(number as usize).ok_or(Errno::NOTCONN)?;
        let ask = Ask { magic: MAGIC, slot, bell: line.guest_bell, through: line.through, maker: u64::from(line.maker) };
        let far = self.io.far_mut(port).ok_or(Errno::NOTCONN)?;
        let s = far.s.clone().ok_or(Errno::NOTCONN)?;
        let short = |error| Errno::from_io_error(&error).unwrap_or(Errno::MFILE);
        let (socket, theirs) = objects::socket_pair().map_err(short)?;
        let socket = Arc::new(Reserved::new(socket).map_err(short)?);
        objects::send((*s).as_fd(), &[ask.as_bytes()], &[theirs.as_fd()])?;
        far.question = Some(Question { about: (number, slot), socket });
        Ok(())
    }

    /// Answers a question that came to a port here.
    pub(crate) fn answer_ask(&self, port: PortId, ask: Ask, socket: &Reserved) {
        if ask.magic != MAGIC || !objects::is_socket(socket) || !objects::is_pair(socket) {
            return;
        }
        let yes = self.io.lines.iter().any(|(_, line)| {
            let here = line.ins.get(ask.slot as usize).and_then(Option::as_ref);
            line.guest_bell == ask.bell
                && line.through == ask.through
                && line.maker == (ask.maker == 0)
                && here.is_some_and(|slot| !slot.closed && slot.port == port)
        });
        let _ = objects::send(socket.as_fd(), &[&[u8::from(yes)]], &[]);
    }

    /// Where the answer comes to a question about a far port's owner, if one was asked.
    pub(crate) fn awaited_answer(&self, port: PortId) -> Option<Arc<Reserved>> {
        self.io.far(port)?.question.as_ref().map(|question| Arc::clone(&question.socket))
    }
}

impl Far {
    /// Forgets a way: what was known of it.
    pub(crate) fn forget_way(&mut self, number: u32, slot: u32) -> Option<Trust> {
        let at = self.routes.iter().position(|route| (route.line, route.slot) == (number, slot))?;
        if self.giver == Some(number) {
            // The number may be another line's next.
            self.giver = None;
        }
        Some(self.routes.remove(at).trust)
    }
}
