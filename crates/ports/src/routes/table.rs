//! What is kept of ports that more than one process knows: of those elsewhere, and of those here that others send to.

use crate::{
    account::Account,
    objects::{Arrived, Request, leads_to_a_port},
    state::{LineId, PortId, message::Message},
};
use rustix::io::Errno;
use slipway_fabric::descriptor::Reserved;
use smallvec::SmallVec;
use std::sync::Arc;

/// A port whose receive right is elsewhere.
#[derive(Debug, Default)]
pub struct Remote {
    /// Its sending end; a copy comes with the first right.
    pub s: Option<Arc<Reserved>>,
    /// The identity of `s`.
    pub identity: u64,
    /// While nothing is known of it but the word of the task that gave it: the bundle with `s` and `t`, and its number there.
    pub bundled: Option<(u32, u32)>,
    /// Its receiving end, if its receive right was given away from here and no other process had heard of it. For its slot, which keeps
    /// the ends when the port dies, or if the right is taken back.
    pub r: Option<Arc<Reserved>>,
    /// The read end of the pipe that counts the holders that got it from here, if `r` is kept. It moves with the receive right.
    pub watch: Option<Arc<Reserved>>,
    /// Whether other processes may have `s` from here, or this process from others than the port's owner: its slot does not keep it then.
    pub shared: bool,
    /// Whether `s` is known to [lead to a port](leads_to_a_port).
    pub checked: bool,
    /// A pipe's write end that counts this process as a holder.
    pub t: Option<Arc<Reserved>>,
    /// The routes to it. Messages go the first that is [open](Route::is_open).
    pub routes: SmallVec<[Route; 1]>,
    /// The line that all rights came over as its other end's own, if they did.
    pub giver: Option<LineId>,
    /// The owner had no resources for a line: no new one is made before that time, on the monotonic clock.
    pub refused_until: u64,
    /// What the owner was asked.
    pub question: Option<Question>,
    /// Whether its death is the word of a task that may not have been the owner.
    pub hearsay: bool,
    /// Whether the watcher listens for its death.
    pub watched: bool,
    /// Messages that were on their way when the line ended; they go first on the next one.
    pub stranded: Vec<Box<Message>>,
    /// What is kept of its receive right, if that was given away from here and is wanted back.
    pub spare: Option<Spare>,
    /// The lines that the right went over, and the index at which their other ends were asked to [remember](crate::line::remembered) it.
    pub told: SmallVec<[(LineId, u32); 1]>,
}

/// A route to a remote port: a line, and a slot on it.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The line.
    pub line: LineId,
    /// The port's slot on it, in the other end's numbers.
    pub slot: u32,
    /// Rights that were given to this process over it and are still to be given back.
    pub line_rights: u32,
    /// Whether this process attached to the port there, through its sending end.
    pub attached: bool,
    /// Whether it is known to lead to the port.
    pub trust: Trust,
}

/// What is known of a route to a remote port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The port's owner is at the other end.
    Proven,
    /// No task but the other end gave the port to this process.
    Given,
    /// Others gave it too, and its owner has not been asked.
    Contested,
    /// The owner is another task, or has not answered.
    Denied,
}

/// A question to the owner of a port, on its way.
#[derive(Debug)]
pub struct Question {
    /// The route that it is about: line and slot.
    pub about: (LineId, u32),
    /// The answer comes here.
    pub socket: Arc<Reserved>,
}

/// What is kept of a receive right that was given away and is wanted back.
#[derive(Debug)]
pub struct Spare {
    /// A copy of the receiving end.
    pub r: Reserved,
    /// The port that gets the right.
    pub to: PortId,
    /// Tells that from other ports with its number: see [`Serial`](crate::state::Serial).
    pub made: u32,
    /// The queue limit as it was.
    pub qlimit: u32,
}

impl Route {
    /// Whether messages may go over it: the port's owner takes none without a right that is counted there, and no
    /// other task is to have them.
    #[inline]
    pub fn is_open(&self) -> bool {
        (self.attached || self.line_rights > 0) && self.is_trusted()
    }

    /// Whether it leads to the port, as far as this process has to know.
    #[inline]
    pub fn is_trusted(&self) -> bool {
        matches!(self.trust, Trust::Proven | Trust::Given)
    }

    /// The line and the slot.
    pub fn line_and_slot(&self) -> (LineId, u32) {
        (self.line, self.slot)
    }
}

impl Remote {
    /// The sending end, to send something there. Now it is asked what it leads to: most rights that come are kept, passed on
    /// or given back.
    ///
    /// # Errors
    /// `PIPE` if it leads to no port: that is as good as dead.
    pub fn sending_end(&mut self) -> Result<Arc<Reserved>, Errno> {
        let s = self.s.clone().ok_or(Errno::NOTCONN)?;
        self.checked = self.checked || leads_to_a_port(&s);
        if self.checked { Ok(s) } else { Err(Errno::PIPE) }
    }

    /// The route that messages take now. There is none while others wait that have to go first.
    #[inline]
    pub fn route(&self) -> Option<&Route> {
        self.open_route().filter(|_| self.stranded.is_empty())
    }

    /// The first route that leads to the port.
    #[inline]
    pub fn open_route(&self) -> Option<&Route> {
        self.routes.iter().find(|route| route.is_open())
    }

    /// Forgets a route: what was known of it.
    pub fn forget_route(&mut self, line: LineId, slot: u32) -> Option<Trust> {
        let at = self.routes.iter().position(|route| route.line_and_slot() == (line, slot))?;
        if self.giver == Some(line) {
            self.giver = None;
        }
        self.r = None;
        Some(self.routes.remove(at).trust)
    }
}

/// A port here that others may send to.
#[derive(Debug)]
pub struct Exported {
    /// The receiving end: attach requests come here.
    pub r: Arc<Reserved>,
    /// The sending end.
    pub s: Arc<Reserved>,
    /// The identity of `s`.
    pub identity: u64,
    /// Whether any but the other end of one line may have `s`. Until then nothing comes through it, and the watcher does not listen to `r`.
    pub shared: bool,
    /// The write end of this process's own pipe, for rights that third parties get from it, until a task wants to know
    /// when they are gone.
    pub t: Option<Arc<Reserved>>,
    /// The read ends of the pipes of all third parties.
    pub watches: Vec<Reserved>,
    /// Whether the watcher listens to `watches`.
    pub watching: bool,
    /// Lines and slots over which others can send to it.
    pub slots: SmallVec<[(LineId, u32); 2]>,
    /// Requests that were read off `r` while it was looked at on its arrival.
    pub early: Vec<Request>,
}

/// A send-once right to a port elsewhere.
#[derive(Debug)]
pub enum Once {
    /// A token of the other end of a line.
    Token {
        /// The line.
        line: LineId,
        /// The token.
        token: u32,
    },
    /// A socket that takes one message.
    Socket(Arc<Reserved>),
    /// The port is dead.
    Dead,
}

/// The receiving end of a send-once right that a third party holds.
#[derive(Debug)]
pub struct OnceEnd {
    /// The socket.
    pub socket: Reserved,
    /// The port here.
    pub port: PortId,
    /// Descriptors that came ahead of the message.
    pub fds: Vec<Arrived>,
    /// Packets that came ahead of the message.
    pub packets: u32,
    /// What came is charged here.
    pub account: Option<Arc<Account>>,
}

/// Something that the layer above has to do: it takes what routes know nothing of, records and waiting threads. Upcalls are
/// made in order, before the lock is released, and before the state's effects.
#[derive(Debug)]
pub enum Upcall {
    /// The line is new, or has to be looked at as if its bell had rung.
    Stir(LineId),
    /// An answer is expected on the line.
    Heat(LineId),
    /// There may be free space on the line, or its waiting senders have to look for another.
    NotFull(LineId),
    /// The line broke, or is needed no more.
    End(LineId),
    /// Look whether the slot of the line's other end is closed.
    Gate(LineId, u32),
    /// The slot of the line's other end leads to its port no more, whose receive right came here.
    Close(LineId, u32),
    /// Messages that never left this process, to a port that has come here.
    PutBack(PortId, Vec<Box<Message>>),
}

/// Work that the watcher goes on with, once others had the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deferred {
    /// Take what lies in a line.
    Stir(LineId),
    /// Take the requests for lines to a port here.
    Accept(PortId),
    /// Count the holders of a port here.
    Holders(PortId),
    /// Send what was taken back from a line to a remote port.
    Resend(PortId),
    /// Open a bundle of rights.
    Open(u32),
    /// Take what was left in a line's socket for descriptors.
    Unread(LineId),
    /// Have the lines ring that no receiver looks at, for the ports that the library serves.
    Cool,
}
