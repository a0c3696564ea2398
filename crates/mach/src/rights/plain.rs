//! Messages that carry nothing but data, seen where they lie.

use super::{body::word, owned::is_right, received::Received};
use crate::abi::{COMPLEX, HEADER, LOCAL_MASK, types};

/// A message that carries no rights, asks for no answer, and came by a send right.
#[derive(Debug, Clone, Copy)]
pub struct Plain<'a> {
    /// `msgh_id`.
    pub id: i32,
    /// The name of the port that it came to.
    pub port: u32,
    /// The body; [`Field::at`](crate::abi::typed::Field::at) reads its items.
    pub body: &'a [u8],
}

/// A message that was received.
#[derive(Debug)]
pub enum Arrived<'a> {
    /// A plain one.
    Plain(Plain<'a>),
    /// Another.
    Other(Received),
}

impl Arrived<'_> {
    /// The name of the port that it came to.
    pub fn port(&self) -> u32 {
        match self {
            Self::Plain(plain) => plain.port,
            Self::Other(received) => received.port(),
        }
    }
}

impl<'a> Plain<'a> {
    /// What lies in a buffer, if it is plain.
    pub(super) fn see(buffer: &'a [u8]) -> Option<Self> {
        let first = word(buffer, 0);
        let (bits, size) = (first as u32, (first >> 32) as usize);
        let by_send = (bits & LOCAL_MASK) >> 8 == types::PORT_SEND;
        let plain = bits & COMPLEX == 0 && by_send && !is_right(word(buffer, 8) as u32);
        let body = buffer.get(HEADER..size.min(buffer.len())).filter(|_| plain)?;
        Some(Self { id: (word(buffer, 24) >> 32) as i32, port: word(buffer, 16) as u32, body })
    }
}
