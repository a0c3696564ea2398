//! Whose a port is: proof for routes of which a peer says that they lead to it.
//!
//! A line that was made through a port's sending end leads to the task with the receiving end. A right that came over
//! another line as its giver's own (FIRST_LINE_RIGHT) proves nothing: any holder of a right could give it away so, and
//! catch what is sent to the port. As long as no other task gave the port to this process, that is no harm: the giver
//! could as well have given a port of its own. From the second giver on no such route is used before the holder of the
//! receiving end, asked through the sending end, has said that the line is its own and the port at that slot. The question
//! tells by which port's sending end the line was made and which of its two ends asks, and the holder compares: so no task can make
//! one line of two, or of one that was made to itself, and have it taken for another's. If the answer is no, a
//! line of the port's own is made.

use super::{
    Routes,
    table::{Question, Trust},
};
use crate::{
    objects,
    state::{LineId, PortId},
};
use rustix::io::Errno;
use slipway_fabric::descriptor::Reserved;
use std::{os::fd::AsFd, sync::Arc};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The protocol's name and version.
pub(super) const MAGIC: u32 = 0x534d_0007;

/// Asks the holder of a port's receiving end whether a line is its own, and the port at a slot of it. Goes through the
/// sending end. Its descriptor: a socket for the answer, one byte, 1 for yes.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Ask {
    /// [`MAGIC`].
    magic: u32,
    /// The slot, in the owner's numbers.
    slot: u32,
    /// The identity of the bell of the line's client.
    bell: u64,
    /// The identity of the sending end that the line was made through.
    through: u64,
    /// 1 if the asking end made the line, 0 if it is its client.
    maker: u64,
}

impl Routes {
    /// A right to a remote port has come: over the line `by` as its giver's own, or as descriptors. With a second giver what
    /// one of them says is not enough any more.
    pub(crate) fn also_given(&mut self, port: PortId, by: Option<LineId>) {
        let Some(remote) = self.remote_mut(port) else { return };
        if by.is_some() && remote.giver == by {
            return;
        }
        remote.giver = None;
        for route in remote.routes.iter_mut().filter(|route| route.trust == Trust::Given) {
            route.trust = Trust::Contested;
        }
    }

    /// The port with the identity, of which `s` is a sending end. One that died by the word of a task that may not
    /// have been its owner is another if it is found to live.
    pub(crate) fn identified(&mut self, identity: u64, s: &Reserved) -> Option<PortId> {
        let port = self.port_with(identity)?;
        if self.is_gone(port)
            && let Some(remote) = self.remote_mut(port).filter(|remote| remote.hearsay)
            && !objects::hung_up(s)
        {
            remote.identity = 0;
            self.identities.remove(&identity);
            return None;
        }
        Some(port)
    }

    /// A route that is not known to lead to the port ended with the news that the port is dead: whether it is.
    pub(crate) fn doubt_death(&mut self, port: PortId, trust: Trust) -> bool {
        let Some(remote) = self.remote_mut(port) else { return true };
        match trust {
            Trust::Proven => true,
            Trust::Given => {
                remote.hearsay = true;
                true
            }
            Trust::Contested | Trust::Denied => {
                if remote.s.as_ref().is_none_or(|s| objects::hung_up(&**s)) {
                    return true;
                }
                // An owner closes the receiving end a moment later.
                self.watch_death(port);
                false
            }
        }
    }

    pub(super) fn ask(&mut self, port: PortId, number: LineId, slot: u32) -> Result<(), Errno> {
        let line = self.lines.get(number).ok_or(Errno::NOTCONN)?;
        let ask = Ask { magic: MAGIC, slot, bell: line.client_bell, through: line.through, maker: u64::from(line.maker) };
        let remote = self.remote_mut(port).ok_or(Errno::NOTCONN)?;
        let s = remote.sending_end()?;
        let short = |error| Errno::from_io_error(&error).unwrap_or(Errno::MFILE);
        let (socket, theirs) = objects::socket_pair().map_err(short)?;
        let socket = Arc::new(Reserved::new(socket).map_err(short)?);
        objects::send((*s).as_fd(), &[ask.as_bytes()], &[theirs.as_fd()])?;
        remote.question = Some(Question { about: (number, slot), socket });
        Ok(())
    }

    /// Answers a question that came to a port here.
    pub(crate) fn answer_ask(&self, port: PortId, ask: Ask, socket: &Reserved) {
        if ask.magic != MAGIC || !objects::is_pair(socket) {
            return;
        }
        let yes = self.lines.iter().any(|(_, line)| {
            let here = line.ins.get(ask.slot as usize).and_then(Option::as_ref);
            line.client_bell == ask.bell
                && line.through == ask.through
                && line.maker == (ask.maker == 0)
                && here.is_some_and(|slot| !slot.closed && slot.port == port)
        });
        let _ = objects::send(socket.as_fd(), &[&[u8::from(yes)]], &[]);
    }

    /// Where the answer comes to a question about a remote port's owner, if one was asked.
    pub(crate) fn awaited_answer(&self, port: PortId) -> Option<Arc<Reserved>> {
        self.remote(port)?.question.as_ref().map(|question| Arc::clone(&question.socket))
    }
}
