//! A message that came, parsed once.
//!
//! The parser checks everything that needs no table of a line: lengths, places in the body, the kinds of descriptors, and that the body
//! says of its rights and memory just what came with it. So the code behind it meets a value that is in order, and
//! decides only what the rights lead to.
//!
//! The order of descriptors is that of the record: the file with body and items, if they are spilled; those of the reply right;
//! those of each item.

use super::{
    record::{BUNDLE, ItemHead, Luggage, QUEUED, Record, WireRight, flag, form, item, kind, take, take_bytes},
    spill::Spilled,
};
use crate::{
    abi::{self, types},
    account::Account,
    objects::{self, Arrived},
    state::message::{Charge, Memory},
};
use slipway_fabric::{
    Corrupt,
    descriptor::{Kind, Reserved},
};
use smallvec::SmallVec;
use std::sync::Arc;
use zerocopy::FromBytes;

/// How deep receive rights can travel in the queues of others that travel: the parser and what comes after it are recursive.
pub const NESTING: u32 = 32;

/// A message: what it says, without what its rights lead to.
#[derive(Debug)]
pub struct ParsedMessage {
    /// `msgh_id`.
    pub id: i32,
    /// `MACH_MSGH_BITS_COMPLEX`.
    pub complex: bool,
    /// Whether it was sent with a send-once right.
    pub once: bool,
    /// The reply right, which is no receive right.
    pub reply: ParsedRight,
    /// The body.
    pub body: Vec<u8>,
    /// Whether its last four bytes are no part of it.
    pub short: bool,
    /// Its rights and memory, as the body describes them.
    pub items: SmallVec<[ParsedItem; 1]>,
    /// Those of its rights that came as one descriptor.
    pub bundle: Option<Box<ParsedBundle>>,
    /// What it is charged as; None if its sender has left more unreceived than it may: it is lost.
    pub charge: Option<Charge>,
    /// The bytes of body and items.
    pub len: usize,
}

/// Send rights whose descriptors are not among the rights' own.
#[derive(Debug)]
pub struct ParsedBundle {
    /// Their descriptors.
    pub packed: Packed,
    /// The identities of their ports, as the writer says, or their indices among those that are remembered.
    pub words: Vec<u64>,
}

impl ParsedBundle {
    /// How many descriptors are still to be taken.
    pub fn unread(&self) -> usize {
        if matches!(self.packed, Packed::Socket(_) | Packed::Queued) { 2 * self.words.len() } else { 0 }
    }
}

/// The descriptors of a bundle.
#[derive(Debug)]
pub enum Packed {
    /// They lie in a socket, if that found a place here.
    Socket(Arrived),
    /// They lie in the line's own socket.
    Queued,
    /// They came with the record, and are to be remembered.
    Remember(Vec<Arrived>),
    /// They are remembered.
    Remembered,
    /// They came with the record: it was taken back.
    Here(Vec<Arrived>),
}

/// Rights or memory of a message.
#[derive(Debug)]
pub enum ParsedItem {
    /// Rights in the body.
    Ports {
        /// The place of the first.
        at: u32,
        /// The rights.
        rights: SmallVec<[ParsedRight; 1]>,
    },
    /// Rights out of line.
    PortArray {
        /// The place of their address.
        at: u32,
        /// The rights.
        rights: Vec<ParsedRight>,
    },
    /// Memory out of line.
    Memory {
        /// The place of its address.
        at: u32,
        /// The memory.
        memory: Memory,
    },
}

/// A right, in the numbers of the record's reader. A descriptor that found no place in this process is None.
#[derive(Debug)]
pub enum ParsedRight {
    /// No right.
    Null,
    /// A right to a dead port.
    Dead,
    /// A send right to the writer's port at a slot that is known.
    LineRight(u32),
    /// The same at a new slot, with the port's sending end.
    FirstLineRight(u32, Arrived),
    /// The same at a slot whose sending end the reader has kept.
    KeptLineRight(u32),
    /// A send-once right to a port of the writer's.
    Token(u32),
    /// A send right to the reader's port at a slot.
    Back(u32),
    /// The reader's own token.
    TokenBack(u32),
    /// A send right to a third party's port: its sending end, and a pipe that counts its holders.
    Send(Option<(Reserved, Reserved)>),
    /// A send right to a third party's port: its number in the message's bundle.
    Bundled(u32),
    /// A send-once right to a third party's port; None also if it leads to no port.
    Once(Arrived),
    /// A receive right.
    Receive(Box<ParsedReceive>),
}

/// A receive right, and what travels with it.
#[derive(Debug)]
pub struct ParsedReceive {
    /// The slot that the writer has named for the port; 0 for none.
    pub slot: u32,
    /// Limits, counts and the payload.
    pub luggage: Luggage,
    /// The receiving end and the sending end.
    pub ends: ParsedEnds,
    /// The read ends of holders' pipes. Those that found no place are left out.
    pub watches: Vec<Reserved>,
    /// The receiving ends of send-once rights.
    pub onces: Vec<Arrived>,
    /// The right of the no-senders request.
    pub nsrequest: ParsedRight,
    /// The right of the port-destroyed request.
    pub pdrequest: ParsedRight,
    /// The messages in its queue.
    pub messages: Vec<ParsedMessage>,
}

/// The ends of a port whose receive right came.
#[derive(Debug)]
pub enum ParsedEnds {
    /// The receiving end and the sending end.
    Here(Reserved, Reserved),
    /// They found no place here.
    Lost,
    /// The slot has kept them.
    Kept,
}

impl ParsedItem {
    /// The rights that are here.
    pub fn rights(&self) -> &[ParsedRight] {
        match self {
            Self::Ports { rights, .. } => rights,
            Self::PortArray { rights, .. } => rights,
            Self::Memory { .. } => &[],
        }
    }
}

impl ParsedRight {
    /// A right that has no descriptors; None if it may have some.
    #[inline]
    pub fn numbered(code: WireRight) -> Option<Self> {
        Some(match code.form {
            form::NULL => Self::Null,
            form::DEAD => Self::Dead,
            form::LINE_RIGHT => Self::LineRight(code.value),
            form::KEPT_LINE_RIGHT => Self::KeptLineRight(code.value),
            form::TOKEN => Self::Token(code.value),
            form::BACK => Self::Back(code.value),
            form::TOKEN_BACK => Self::TokenBack(code.value),
            _ => return None,
        })
    }

    /// The type that a receiver sees; None for one that may have been any.
    fn received_type(&self) -> Option<u32> {
        match self {
            Self::Null | Self::Dead => None,
            Self::LineRight(_)
            | Self::FirstLineRight(..)
            | Self::KeptLineRight(_)
            | Self::Back(_)
            | Self::Send(_)
            | Self::Bundled(_) => Some(types::PORT_SEND),
            Self::Token(_) | Self::TokenBack(_) | Self::Once(_) => Some(types::PORT_SEND_ONCE),
            Self::Receive(_) => Some(types::PORT_RECEIVE),
        }
    }
}

fn wrong(what: &'static str) -> Corrupt {
    Corrupt { what }
}

/// Descriptors that came with a record, in order.
type Descriptors = std::vec::IntoIter<Arrived>;

/// Reads a message: what a record says, the body and the items behind it, and its descriptors. If they lie in a file
/// that found no place in this process, or that the account has no memory left for, the reply right is all that there is. The
/// memory is charged to `account`, unless the message is this process's own or not to be kept.
///
/// # Errors
/// What no correct peer sends. Nothing of the message is left then but descriptors, which are closed.
pub fn message(
    record: &Record,
    mut body: Vec<u8>,
    mut items: Vec<u8>,
    fds: Vec<Arrived>,
    account: Option<&Arc<Account>>,
) -> Result<Parsed, Corrupt> {
    let mut parser = Parser { fds: fds.into_iter(), account, depth: 0, bundle: None };
    let mut charge = None;
    if record.flags & flag::SPILLED != 0 {
        if let Some(file) = parser.descriptor("memory file")? {
            let spilled = Spilled::open(file).ok_or_else(|| wrong("memory file"))?;
            // Before it is copied.
            charge = parser.charge(spilled.len());
            if charge.is_some() {
                (body, items) = spilled.read().ok_or_else(|| wrong("memory file"))?;
            }
        }
        if charge.is_none() {
            return parser.reply(record).map(Parsed::Lost);
        }
    } else {
        charge = parser.charge(body.len() + items.len());
    }
    let reply = parser.reply(record)?;
    let parsed = parser.message(record, reply, body, &items)?;
    Ok(Parsed::Whole(ParsedMessage { charge, ..parsed }))
}

/// What came of a record.
#[derive(Debug)]
pub enum Parsed {
    /// A message.
    Whole(ParsedMessage),
    /// The file with the message found no place in this process, or there is no memory for it: the reply right is all that there is.
    Lost(ParsedRight),
}

struct Parser<'a> {
    fds: Descriptors,
    /// What is kept is charged here.
    account: Option<&'a Arc<Account>>,
    /// How many receive rights are around what is read.
    depth: u32,
    /// The message's bundle, which has the last of its descriptors.
    bundle: Option<Box<ParsedBundle>>,
}

impl Parser<'_> {
    /// Charges the bytes of a message; None if the account may not have so many.
    fn charge(&self, bytes: usize) -> Option<Charge> {
        match self.account {
            Some(account) if bytes > 0 => account.take(0, bytes).map(Charge::new),
            _ => Some(Charge::default()),
        }
    }

    /// The next descriptor; None if it found no place here.
    fn descriptor(&mut self, what: &'static str) -> Result<Arrived, Corrupt> {
        self.fds.next().ok_or_else(|| wrong(what))
    }

    fn reply(&mut self, record: &Record) -> Result<ParsedRight, Corrupt> {
        match self.right(record.reply, &mut &[][..])? {
            ParsedRight::Receive(_) | ParsedRight::Bundled(_) => Err(wrong("right")),
            reply => Ok(reply),
        }
    }

    fn message(&mut self, record: &Record, reply: ParsedRight, body: Vec<u8>, items: &[u8]) -> Result<ParsedMessage, Corrupt> {
        // The next reader of a message that is passed on takes whole words.
        if !body.len().is_multiple_of(abi::SLOT) {
            return Err(wrong("body"));
        }
        let mut rest = items;
        let mut parsed = SmallVec::new();
        while !rest.is_empty() {
            parsed.extend(self.item(&mut rest, body.len())?);
        }
        let complex = record.flags & flag::COMPLEX != 0;
        let short = record.flags & flag::SHORT != 0;
        let consistent =
            if complex { describes(&body, &parsed) && !short } else { parsed.is_empty() && !(short && body.is_empty()) };
        if !consistent {
            return Err(wrong("body"));
        }
        let (once, len) = (record.kind == kind::ONCE, body.len() + items.len());
        let bundle = if self.depth == 0 { self.bundle.take() } else { None };
        Ok(ParsedMessage { id: record.id, complex, once, reply, body, short, items: parsed, bundle, charge: None, len })
    }

    /// The next item; None if that is the bundle.
    fn item(&mut self, rest: &mut &[u8], body: usize) -> Result<Option<ParsedItem>, Corrupt> {
        let head: ItemHead = take(rest).ok_or_else(|| wrong("item"))?;
        let count = usize::try_from(head.count).map_err(|_| wrong("item"))?;
        if matches!(head.kind, item::BUNDLE | item::QUEUED | item::REMEMBER | item::REMEMBERED) {
            self.bundle(head.kind, count, rest)?;
            return Ok(None);
        }
        let at = head.at as usize;
        let places = if head.kind == item::PORTS { count.checked_mul(abi::SLOT) } else { Some(abi::SLOT) };
        if !at.is_multiple_of(abi::SLOT) || places.and_then(|size| at.checked_add(size)).is_none_or(|end| end > body) {
            return Err(wrong("item"));
        }
        let at = head.at;
        Ok(Some(match head.kind {
            item::PORTS => ParsedItem::Ports { at, rights: self.rights(count, rest)? },
            item::PORT_ARRAY => ParsedItem::PortArray { at, rights: self.rights(count, rest)?.into_vec() },
            _ => ParsedItem::Memory { at, memory: self.memory(&head, count, rest)? },
        }))
    }

    fn bundle(&mut self, kind: u32, count: usize, rest: &mut &[u8]) -> Result<(), Corrupt> {
        if self.depth > 0 || self.bundle.is_some() || count > if kind == item::QUEUED { QUEUED } else { BUNDLE } {
            return Err(wrong("bundle"));
        }
        let words = take_bytes(rest, count * size_of::<u64>()).ok_or_else(|| wrong("bundle"))?;
        let words = words.as_chunks().0.iter().map(|it| u64::from_ne_bytes(*it)).collect();
        let packed = match kind {
            item::BUNDLE => Packed::Socket(self.bundle_socket()?),
            _ => {
                let here: Vec<Arrived> = self.fds.by_ref().collect();
                match (kind, here.len()) {
                    (item::QUEUED, 0) if count > 0 => Packed::Queued,
                    (item::REMEMBERED, 0) if count > 0 => Packed::Remembered,
                    (_, len) if len != 2 * count => return Err(wrong("bundle")),
                    (item::REMEMBER, _) => Packed::Remember(here),
                    _ => Packed::Here(here),
                }
            }
        };
        self.bundle = Some(Box::new(ParsedBundle { packed, words }));
        Ok(())
    }

    fn bundle_socket(&mut self) -> Result<Arrived, Corrupt> {
        let socket = self.socket()?;
        if socket.as_ref().is_some_and(|socket| !objects::is_pair(socket)) { Err(wrong("bundle")) } else { Ok(socket) }
    }

    fn memory(&mut self, head: &ItemHead, count: usize, rest: &mut &[u8]) -> Result<Memory, Corrupt> {
        Ok(match head.kind {
            item::BYTES => Memory::Bytes(take_bytes(rest, count).ok_or_else(|| wrong("item"))?.to_vec()),
            item::PAGES => match self.descriptor("item")? {
                Some(file) if objects::is_sealed(&file, head.count) => Memory::Pages(Arc::new(file), head.count),
                Some(_) => return Err(wrong("memory file")),
                None => Memory::Lost(head.count),
            },
            item::LOST => Memory::Lost(head.count),
            _ => return Err(wrong("item")),
        })
    }

    /// The codes of the rights lie together; what belongs to receive rights among them comes after.
    fn rights(&mut self, count: usize, rest: &mut &[u8]) -> Result<SmallVec<[ParsedRight; 1]>, Corrupt> {
        let codes = count.checked_mul(size_of::<WireRight>()).and_then(|n| take_bytes(rest, n)).ok_or_else(|| wrong("right"))?;
        // A count costs its writer nothing.
        let mut rights = SmallVec::with_capacity(count.min(1024));
        for code in codes.chunks_exact(size_of::<WireRight>()) {
            let code = WireRight::read_from_bytes(code).map_err(|_| wrong("right"))?;
            rights.push(self.right(code, rest)?);
        }
        Ok(rights)
    }

    fn right(&mut self, code: WireRight, rest: &mut &[u8]) -> Result<ParsedRight, Corrupt> {
        if let Some(numbered) = ParsedRight::numbered(code) {
            return Ok(numbered);
        }
        Ok(match code.form {
            form::FIRST_LINE_RIGHT => ParsedRight::FirstLineRight(code.value, self.unix_socket()?),
            form::SEND => {
                let (s, t) = (self.unix_socket()?, self.descriptor("right")?);
                if t.as_ref().is_some_and(|t| t.kind() != Kind::Pipe) {
                    return Err(wrong("pipe"));
                }
                ParsedRight::Send(s.zip(t))
            }
            form::BUNDLED if self.depth == 0 => ParsedRight::Bundled(code.value),
            // An honest giver may not know: it is the holder of the other end that could have named it.
            form::ONCE => ParsedRight::Once(self.socket()?.filter(objects::is_pair)),
            form::RECEIVE | form::KEPT_RECEIVE => ParsedRight::Receive(Box::new(self.receive(code, rest)?)),
            _ => return Err(wrong("right")),
        })
    }

    /// The next descriptor, which is a port's socket or found no place.
    fn socket(&mut self) -> Result<Arrived, Corrupt> {
        let fd = self.descriptor("right")?;
        if fd.as_ref().is_some_and(|fd| !objects::is_socket(fd)) { Err(wrong("socket")) } else { Ok(fd) }
    }

    /// The next descriptor, which is probably a port's sending end: that is asked when something is first sent there.
    fn unix_socket(&mut self) -> Result<Arrived, Corrupt> {
        let fd = self.descriptor("right")?;
        if fd.as_ref().is_some_and(|fd| fd.kind() != Kind::Unix) { Err(wrong("socket")) } else { Ok(fd) }
    }

    fn receive(&mut self, code: WireRight, rest: &mut &[u8]) -> Result<ParsedReceive, Corrupt> {
        let luggage: Luggage = take(rest).ok_or_else(|| wrong("receive right"))?;
        self.depth += 1;
        if self.depth > NESTING {
            return Err(wrong("depth of receive rights"));
        }
        let ends = match code.form {
            form::KEPT_RECEIVE => ParsedEnds::Kept,
            _ => {
                let (r, s) = (self.socket()?, self.socket()?);
                r.zip(s).map_or(ParsedEnds::Lost, |(r, s)| ParsedEnds::Here(r, s))
            }
        };
        let mut watches = Vec::new();
        for _ in 0..luggage.watches {
            match self.descriptor("pipe")? {
                Some(pipe) if !objects::is_holder_pipe(&pipe) => return Err(wrong("pipe")),
                pipe => watches.extend(pipe),
            }
        }
        let onces = (0..luggage.onces).map(|_| self.socket()).collect::<Result<_, _>>()?;
        let nsrequest = self.right(luggage.nsrequest, rest)?;
        let pdrequest = self.right(luggage.pdrequest, rest)?;
        let messages = (0..luggage.messages).map(|_| self.queued(rest)).collect::<Result<_, _>>()?;
        self.depth -= 1;
        Ok(ParsedReceive { slot: code.value, luggage, ends, watches, onces, nsrequest, pdrequest, messages })
    }

    /// A message of a queue that moves: it has a record of its own, and its descriptors among those of the whole.
    fn queued(&mut self, rest: &mut &[u8]) -> Result<ParsedMessage, Corrupt> {
        let record: Record = take(rest).ok_or_else(|| wrong("record"))?;
        let body = take_bytes(rest, record.body as usize).ok_or_else(|| wrong("record length"))?.to_vec();
        let items = take_bytes(rest, record.items as usize).ok_or_else(|| wrong("record length"))?;
        let fds: Vec<Arrived> = self.fds.by_ref().take(record.fds as usize).collect();
        let outer = std::mem::replace(&mut self.fds, fds.into_iter());
        let charge = self.charge(body.len() + items.len());
        let parsed = self.reply(&record).and_then(|reply| self.message(&record, reply, body, items));
        self.fds = outer;
        parsed.map(|parsed| ParsedMessage { charge, ..parsed })
    }
}

/// Whether a body says of its rights and memory just what came with it: else its receiver would take any name for a
/// right that it was given, and any address for memory of its own.
fn describes(body: &[u8], items: &[ParsedItem]) -> bool {
    let mut items = items.iter();
    for field in slipway_abi::typed::carried(body) {
        let (Ok(field), Some(item)) = (field, items.next()) else { return false };
        let descriptor = field.of;
        let (at, fits) = match item {
            ParsedItem::Ports { at, .. } => (*at, descriptor.is_port() && descriptor.inline),
            ParsedItem::PortArray { at, .. } => (*at, descriptor.is_port() && !descriptor.inline),
            ParsedItem::Memory { at, memory } => (*at, !descriptor.is_port() && memory.len() == descriptor.size()),
        };
        let as_said = |right: &ParsedRight| right.received_type().is_none_or(|kind| kind == descriptor.name);
        let rights = item.rights();
        let counted = matches!(item, ParsedItem::Memory { .. }) || rights.len() == descriptor.number as usize;
        if !fits || at as usize != field.data.start || !counted || !rights.iter().all(as_said) {
            return false;
        }
    }
    items.next().is_none()
}
