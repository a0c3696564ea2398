//! What differs between the dialects: the one face behind which a program's format of messages is known.
//!
//! Between the ends a message has one form ([`Message`]): a plain body is its bytes, and one with rights or memory
//! describes itself as the typed dialect does. [`Typed`](super::header::Typed) and [`Darwin`](super::darwin::Darwin) read and write the two formats. What is
//! generic in [`Format`] is compiled for each of them.

use super::typed::Items;
use crate::{
    abi::Code,
    dialect::Dialect,
    dispatch::Inner,
    state::{
        SpaceId,
        message::{Message, Sender},
    },
};

/// A header as the sender wrote it.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    /// The destination's disposition.
    pub remote_type: u32,
    /// The reply port's disposition; 0 for none.
    pub local_type: u32,
    /// Whether the body carries rights or memory.
    pub complex: bool,
    /// The destination.
    pub remote: u32,
    /// The reply port.
    pub local: u32,
    /// The message's id.
    pub id: i32,
}

/// What a received header says.
#[derive(Debug, Clone, Copy)]
pub struct Delivered {
    /// The whole message's size in bytes.
    pub size: usize,
    /// The message's id.
    pub id: i32,
    /// Whether the body carries rights or memory.
    pub complex: bool,
    /// The type of the right that it was sent with.
    pub dest_type: u32,
    /// The reply right's name.
    pub reply: u32,
    /// The reply right's type; 0 for none.
    pub reply_type: u32,
}

/// What a received header says of the port that the message came to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Local {
    /// The port's name, or its payload.
    pub local: u64,
    /// Which of them.
    pub local_type: u32,
    /// The message's number.
    pub seqno: u32,
}

/// Where a message comes from and came to, for a [tail](Format::Tail).
#[derive(Debug, Clone, Copy, Default)]
pub struct Origin {
    /// The process that sent it.
    pub sender: Sender,
    /// The context of the port, if that is [asked for](Format::asks_for_context).
    pub context: u64,
}

/// A body between sender and receiver.
#[derive(Debug, Default)]
pub struct Body {
    /// As [`Message::body`].
    pub bytes: Vec<u8>,
    /// As [`Message::short`].
    pub short: bool,
    /// As [`Message::items`].
    pub items: Items,
}

/// A dialect's format of messages.
pub trait Format: Copy {
    /// What is behind a received message.
    type Tail: Copy;
    /// The size of a header in bytes.
    const HEADER: usize;
    /// What a message's size is a multiple of, in bytes.
    const UNIT: usize;
    /// Whether a record may say that its body is filled up.
    const SHORT: bool;

    /// What most ask for.
    const USUAL: Self::Tail;

    /// Whether it is that.
    fn is_usual(tail: Self::Tail) -> bool;

    /// What a receive asks for by its options.
    fn tail(option: u32) -> Self::Tail;

    /// The room that it takes, in bytes.
    fn room(tail: Self::Tail) -> usize;

    /// Whether it has the port's context.
    fn asks_for_context(tail: Self::Tail) -> bool;

    /// The dialect, for what is not compiled for each.
    fn dialect(tail: Self::Tail) -> Dialect;

    /// The header of a message, whether or not it makes sense, its bits, and its body. None if there is no whole header.
    fn read(message: &[u8]) -> Option<(Header, u32, &[u8])>;

    /// Whether the header makes sense.
    ///
    /// # Errors
    /// `SEND_INVALID_HEADER`, or what else is wrong with it.
    fn check(header: &Header, bits: u32, message: &[u8]) -> Result<(), Code>;

    /// Takes the rights and the memory that a body names out of the sender's space.
    ///
    /// # Errors
    /// What is wrong with the body. `into` then has what was taken before, to be destroyed with the message.
    fn take(inner: &mut Inner, space: SpaceId, complex: bool, body: &[u8], into: &mut Body) -> Result<(), Code>;

    /// The size of a message in this format, in bytes.
    fn size(message: &Message) -> usize;

    /// Writes a body into a buffer, behind the place of the header, with rights and memory put into the receiver's space.
    ///
    /// # Errors
    /// `RCV_BODY_ERROR` with a resource bit; the rest is there all the same.
    fn give(inner: &mut Inner, space: SpaceId, id: i32, complex: bool, body: Body, buffer: &mut [u8]) -> Result<(), Code>;

    /// The size of a plain message whose body of `len` bytes lies in the buffer, where it may have to change.
    fn settle(buffer: &mut [u8], id: i32, len: usize) -> usize;

    /// Writes a header to the front of the buffer.
    fn put_header(buffer: &mut [u8], message: &Delivered, local: &Local);

    /// Writes what comes behind a message of `size` bytes.
    fn put_tail(buffer: &mut [u8], size: usize, seqno: u32, tail: Self::Tail, origin: impl FnOnce() -> Origin);

    /// Writes header and tail of a message whose body is in the buffer.
    #[inline(always)]
    fn write(buffer: &mut [u8], message: &Delivered, local: &Local, tail: Self::Tail, origin: impl FnOnce() -> Origin) {
        Self::put_header(buffer, message, local);
        Self::put_tail(buffer, message.size, local.seqno, tail, origin);
    }
}
