//! The typed dialect's messages: a header of 32 bytes, read and written at fixed places, and a body that [describes itself](super::typed).

use super::{
    format::{Body, Delivered, Format, Header, Local, Origin},
    typed,
};
use crate::{
    abi::{COMPLEX, Code, HEADER, LOCAL_MASK, REMOTE_MASK, SLOT, types},
    dialect::Dialect,
    dispatch::Inner,
    state::{PortId, SpaceId, message::Message},
};

/// The typed dialect.
#[derive(Debug, Clone, Copy)]
pub struct Typed;

/// Whether a disposition is one that a message can be sent with.
pub(super) fn sends(disposition: u32) -> bool {
    const SENDS: u32 = 1 << types::MOVE_SEND
        | 1 << types::MOVE_SEND_ONCE
        | 1 << types::COPY_SEND
        | 1 << types::MAKE_SEND
        | 1 << types::MAKE_SEND_ONCE;
    disposition < 32 && SENDS >> disposition & 1 != 0
}

/// Whether the dispositions of a header make sense.
pub(super) fn sensible(header: &Header) -> bool {
    let reply = if header.local_type == 0 { header.local == 0 } else { sends(header.local_type) };
    sends(header.remote_type) && reply
}

impl Format for Typed {
    type Tail = ();
    const HEADER: usize = HEADER;
    const UNIT: usize = SLOT;
    const SHORT: bool = false;
    const USUAL: () = ();

    #[inline(always)]
    fn is_usual((): ()) -> bool {
        true
    }

    #[inline(always)]
    fn tail(_: u32) {}

    #[inline(always)]
    fn room((): ()) -> usize {
        0
    }

    #[inline(always)]
    fn asks_for_context((): ()) -> bool {
        false
    }

    #[inline(always)]
    fn dialect((): ()) -> Dialect {
        Dialect::Typed
    }

    #[inline(always)]
    fn read(message: &[u8]) -> Option<(Header, u32, &[u8])> {
        let (front, body) = message.split_first_chunk::<HEADER>()?;
        let words: [u32; HEADER / 4] = zerocopy::transmute!(*front);
        let bits = words[0];
        let header = Header {
            remote_type: bits & REMOTE_MASK,
            local_type: (bits & LOCAL_MASK) >> 8,
            complex: bits & COMPLEX != 0,
            remote: words[2],
            local: words[4],
            id: words[7] as i32,
        };
        Some((header, bits, body))
    }

    fn check(header: &Header, bits: u32, _: &[u8]) -> Result<(), Code> {
        let unknown = bits & !(REMOTE_MASK | LOCAL_MASK | COMPLEX) != 0;
        if sensible(header) && !unknown { Ok(()) } else { Err(Code::SEND_INVALID_HEADER) }
    }

    fn take(inner: &mut Inner, space: SpaceId, complex: bool, body: &[u8], into: &mut Body) -> Result<(), Code> {
        into.bytes = body.to_vec();
        if complex { typed::copyin(inner, space, &mut into.bytes, &mut into.items) } else { Ok(()) }
    }

    fn size(message: &Message) -> usize {
        HEADER + message.body.len()
    }

    fn give(inner: &mut Inner, space: SpaceId, _: i32, _: bool, body: Body, buffer: &mut [u8]) -> Result<(), Code> {
        let Body { mut bytes, items, .. } = body;
        let copied = if items.is_empty() { Ok(()) } else { typed::copyout(inner, space, &mut bytes, items) };
        buffer[HEADER..HEADER + bytes.len()].copy_from_slice(&bytes);
        copied
    }

    #[inline(always)]
    fn settle(_: &mut [u8], _: i32, len: usize) -> usize {
        HEADER + len
    }

    #[inline(always)]
    fn put_tail(_: &mut [u8], _: usize, _: u32, (): (), _: impl FnOnce() -> Origin) {}

    #[inline(always)]
    fn put_header(buffer: &mut [u8], message: &Delivered, local: &Local) {
        let bits = message.reply_type | local.local_type << 8 | if message.complex { COMPLEX } else { 0 };
        let [low, high] = [local.local as u32, (local.local >> 32) as u32];
        let words = [bits, message.size as u32, message.reply, 0, low, high, local.seqno, message.id as u32];
        let header: [u8; HEADER] = zerocopy::transmute!(words);
        if let Some(place) = buffer.first_chunk_mut::<HEADER>() {
            *place = header;
        }
    }
}

/// What the header of a message received from `port` says of it. Counts the message.
#[inline]
pub fn arrived(inner: &mut Inner, port: PortId, dest_type: u32) -> Local {
    inner.received += 1;
    let mut local = Local { local_type: dest_type, ..Local::default() };
    if let Some(it) = inner.state.port_mut(port).local_mut() {
        local.seqno = it.seqno;
        it.seqno = it.seqno.wrapping_add(1);
        (local.local, local.local_type) = it.address(dest_type);
    }
    local
}
