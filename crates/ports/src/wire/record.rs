//! What travels in a line's rings: records, and rights within them.
//!
//! All numbers are in the machine's own byte order: a line never leaves the machine. Every field is the
//! peer's word and checked where it is used.

use crate::state::message::{Item, Memory};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The head of every record.
#[derive(Debug, Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Record {
    /// Bytes of body that follow, a multiple of 8.
    pub body: u32,
    /// Bytes of items that follow the body, a multiple of 8.
    pub items: u32,
    /// What it is: a constant of [`kind`].
    pub kind: u8,
    /// Bits of [`flag`].
    pub flags: u8,
    /// Descriptors that go with it, on the line's socket for descriptors.
    pub fds: u16,
    /// The slot or token it is about.
    pub target: u32,
    /// `msgh_id` of a message.
    pub id: i32,
    /// A number that some records carry.
    pub count: u32,
    /// The reply right of a message.
    pub reply: WireRight,
}

/// The size of a record's head in bytes.
pub const RECORD: usize = 32;
const _: () = assert!(size_of::<Record>() == RECORD);

impl Record {
    /// The record as it lies in the ring.
    #[inline(always)]
    pub fn words(&self) -> [u64; RECORD / 8] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let what = u32::from(self.kind) | u32::from(self.flags) << 8 | u32::from(self.fds) << 16;
        [
            pair(self.body, self.items),
            pair(what, self.target),
            pair(self.id as u32, self.count),
            pair(self.reply.form, self.reply.value),
        ]
    }

    /// What [`Record::words`] was made of.
    #[inline(always)]
    pub fn from_words(words: [u64; RECORD / 8]) -> Self {
        let high = |word: u64| (word >> 32) as u32;
        let [lengths, what, id, reply] = words;
        Self {
            body: lengths as u32,
            items: high(lengths),
            kind: what as u8,
            flags: (what >> 8) as u8,
            fds: (what >> 16) as u16,
            target: high(what),
            id: id as i32,
            count: high(id),
            reply: WireRight { form: reply as u32, value: high(reply) },
        }
    }
}

// `words` are the fields in their order, the lower half first.
#[cfg(target_endian = "big")]
compile_error!("slipway runs on little-endian machines");

/// Kinds of records.
pub mod kind {
    /// A message to the port at the reader's slot `target`.
    pub const MESSAGE: u8 = 1;
    /// A message for the reader's token `target`, which is used up.
    pub const ONCE: u8 = 2;
    /// The writer gives up `count` of the rights that the reader gave it for the reader's slot `target`.
    pub const RELEASE: u8 = 3;
    /// The writer dropped the reader's token `target` unused.
    pub const TOKEN_DROPPED: u8 = 4;
    /// The writer passed the reader's token `target` on: its messages come from the descriptor. In a send-once right's
    /// socket: what it stands for goes on there.
    pub const TOKEN_MOVED: u8 = 5;
    /// The writer passed a right for the reader's slot `target` on to other processes, which hold it as long as
    /// the descriptor, the read end of a pipe, does not hang up.
    pub const WATCH: u8 = 6;
    /// The port at the *writer's* slot `target` moved away. The descriptor is a pipe's write end that counts as a
    /// holder of it, for the rights that the reader has.
    pub const MOVED: u8 = 7;
    /// The send-once right `target` that the writer gave now leads to the descriptor.
    pub const TOKEN_REROUTED: u8 = 8;
    /// The writer's port at slot `target` died, or gate says more: look.
    pub const LOOK: u8 = 9;
    /// The writer needs the line no more. Its maker asks so, and closes it when the other end has said the same.
    pub const BYE: u8 = 11;
    /// The writer needs the slot `target`, which it attached to, no more.
    pub const DETACH: u8 = 10;
    /// The writer attaches to the reader's slot `target`, which it knows already. The descriptor is the port's sending end.
    pub const ATTACH: u8 = 12;
    /// The writer has read that the token `target`, which it was given, was rerouted or died.
    pub const TOKEN_SEEN: u8 = 13;
    /// The port of the send-once right `target` that the writer gave is dead.
    pub const TOKEN_DEAD: u8 = 14;
    /// The reader is to forget what it remembers for the writer at index `target`.
    pub const FORGET: u8 = 15;
    /// The writer remembers what it was to remember for the reader at index `target`. With [`LOST`](super::flag::LOST): it does not, and is not
    /// to be asked to at that index again.
    pub const REMEMBERS: u8 = 16;
}

/// Flags of a record.
pub mod flag {
    /// `MACH_MSGH_BITS_COMPLEX`.
    pub const COMPLEX: u8 = 1;
    /// Body and items lie in a memory file, which is the first descriptor.
    pub const SPILLED: u8 = 2;
    /// The last four bytes of the body are no part of it.
    pub const SHORT: u8 = 8;
    /// Of a RELEASE: the port's sending end did not arrive, and has to come again with the next right. Of a REMEMBERS: as said there.
    pub const LOST: u8 = 4;
    /// Of a RELEASE: the port is dead, and the writer names the slot no more until it comes with a right again. The count may be 0.
    pub const LAST: u8 = 16;
    /// Of a RELEASE with `LAST`: the writer has kept the port's sending end, which no other process had from it. The next port at the slot
    /// may have the same.
    pub const KEPT: u8 = 32;
}

/// A right within a record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct WireRight {
    /// What it is: a constant of [`form`].
    pub form: u32,
    /// The slot, token or number of descriptors, as the form says.
    pub value: u32,
}

/// Forms of rights, seen from the reader of the record.
pub mod form {
    /// No right.
    pub const NULL: u32 = 0;
    /// A right to a dead port.
    pub const DEAD: u32 = 1;
    /// A send right to the writer's port at slot `value`; one more that the reader holds.
    pub const LINE_RIGHT: u32 = 2;
    /// As `LINE_RIGHT`, for a slot that is new: the port's sending end is the next descriptor.
    pub const FIRST_LINE_RIGHT: u32 = 3;
    /// A send-once right to a port of the writer's: token `value`.
    pub const TOKEN: u32 = 4;
    /// A send right to the reader's own port at slot `value`.
    pub const BACK: u32 = 5;
    /// The reader's own token `value` comes home.
    pub const TOKEN_BACK: u32 = 6;
    /// A send right to a third party's port: its sending end and a pipe's write end are the next descriptors.
    pub const SEND: u32 = 7;
    /// A send-once right to a third party's port: the next descriptor.
    pub const ONCE: u32 = 8;
    /// A receive right: `value` bytes of what belongs to it follow in the items, and descriptors.
    pub const RECEIVE: u32 = 9;
    /// A send right to a third party's port: the one of number `value` in the message's bundle.
    pub const BUNDLED: u32 = 10;
    /// As `FIRST_LINE_RIGHT`, for a slot of which the reader has `KEPT` the sending end: the port has the same.
    pub const KEPT_LINE_RIGHT: u32 = 11;
    /// As `RECEIVE`, at a slot that has kept its ends: the port has the same.
    pub const KEPT_RECEIVE: u32 = 12;
}

/// The most rights of a bundle.
pub const BUNDLE: usize = 512;

/// The most rights whose descriptors are left in the line's own socket.
pub const QUEUED: usize = BUNDLE_LEAST - 1;

/// The fewest rights of a message that go as a bundle with a socket of its own.
pub const BUNDLE_LEAST: usize = 16;

/// Kinds of items. An item is a head ([`ItemHead`]) and what belongs to it, padded to 8 bytes.
pub mod item {
    /// `count` inline rights.
    pub const PORTS: u32 = 1;
    /// `count` rights out of line.
    pub const PORT_ARRAY: u32 = 2;
    /// `count` bytes of memory, which follow.
    pub const BYTES: u32 = 3;
    /// `count` bytes of memory in the next descriptor, a sealed memory file.
    pub const PAGES: u32 = 4;
    /// `count` bytes of memory that were lost on the way.
    pub const LOST: u32 = 5;
    /// `count` send rights in the next descriptor, a socket: the identities of their sending ends follow. In its queue lie
    /// sending end and pipe of each, 253 descriptors in each packet but the last. It is no part of the body.
    pub const BUNDLE: u32 = 6;
    /// As `BUNDLE`, the last item. The sending ends and pipes lie in the line's own socket for descriptors, in one packet behind the
    /// record's own, which do not count them.
    pub const QUEUED: u32 = 7;
    /// `count` send rights that the reader is to remember, the last item: the index of each follows. Their sending ends and pipes are the record's last
    /// descriptors.
    pub const REMEMBER: u32 = 8;
    /// `count` send rights that the reader remembers, the last item: the index of each follows.
    pub const REMEMBERED: u32 = 9;
}

/// The head of an item.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ItemHead {
    /// A constant of [`item`].
    pub kind: u32,
    /// Its place in the body.
    pub at: u32,
    /// How many.
    pub count: u64,
}

/// The bytes that an item takes beside the body, without what belongs to receive rights, and whether it may need descriptors.
pub fn weight(item: &Item) -> (usize, usize) {
    let (bytes, fds) = match item {
        Item::Ports { .. } | Item::PortArray { .. } => (item.rights().len() * size_of::<WireRight>(), 1),
        Item::Memory { memory: Memory::Bytes(bytes), .. } => (bytes.len().next_multiple_of(8), 0),
        Item::Memory { memory: Memory::Pages(..), .. } => (0, 1),
        Item::Memory { memory: Memory::Lost(_), .. } => (0, 0),
    };
    (size_of::<ItemHead>() + bytes, fds)
}

/// What a moved receive right's state is, at the front of what belongs to it.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Luggage {
    /// The queue limit.
    pub qlimit: u32,
    /// The number of the next message.
    pub seqno: u32,
    /// The make-send count.
    pub mscount: u32,
    /// Send-once rights that lead to descriptors which follow.
    pub onces: u32,
    /// Pipes of holders, which follow.
    pub watches: u32,
    /// Bits of [`luggage`].
    pub flags: u32,
    /// The protected payload.
    pub payload: u64,
    /// Messages in the queue, each a record with body and items, which follow.
    pub messages: u64,
    /// The no-senders request's right.
    pub nsrequest: WireRight,
    /// The port-destroyed request's right.
    pub pdrequest: WireRight,
}

/// Flags of a [`Luggage`].
pub mod luggage {
    /// There is a protected payload.
    pub const PROTECTED: u32 = 1;
    /// No process but the writer and the reader has an end of the port. The writer's rights are counted at the slot that it names, as one.
    pub const COUNTED: u32 = 2;
}

/// Takes a value off the front of `bytes`.
pub fn take<T: FromBytes>(bytes: &mut &[u8]) -> Option<T> {
    let (value, rest) = T::read_from_prefix(bytes).ok()?;
    *bytes = rest;
    Some(value)
}

/// Takes `n` bytes, and what pads them to 8, off the front of `bytes`.
pub fn take_bytes<'a>(bytes: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let padded = n.checked_next_multiple_of(8)?;
    if padded > bytes.len() {
        return None;
    }
    let (taken, rest) = bytes.split_at(padded);
    *bytes = rest;
    Some(&taken[..n])
}

/// Appends `bytes`, padded to 8 with zeroes.
pub fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend_from_slice(bytes);
    to.resize(to.len().next_multiple_of(8), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_bytes_of_a_record_are_the_same() {
        let bytes: [u8; RECORD] = std::array::from_fn(|at| at as u8 + 1);
        let record = Record::read_from_bytes(&bytes).unwrap();
        assert_eq!(record.words().map(u64::to_ne_bytes).as_flattened(), bytes);
        assert_eq!(Record::from_words(record.words()).as_bytes(), bytes);
    }
}
