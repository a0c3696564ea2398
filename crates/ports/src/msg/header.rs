//! The message header: 32 bytes, read and written at fixed places.

use crate::{
    abi::{COMPLEX, Code, HEADER, LOCAL_MASK, REMOTE_MASK, types},
    dispatch::Inner,
    state::PortId,
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

/// Whether a disposition is one that a message can be sent with.
fn sends(disposition: u32) -> bool {
    const SENDS: u32 = 1 << types::MOVE_SEND
        | 1 << types::MOVE_SEND_ONCE
        | 1 << types::COPY_SEND
        | 1 << types::MAKE_SEND
        | 1 << types::MAKE_SEND_ONCE;
    disposition < 32 && SENDS >> disposition & 1 != 0
}

/// What a header says, whether or not it makes sense; and its bits.
#[inline(always)]
pub fn read(bytes: &[u8; HEADER]) -> (Header, u32) {
    let words: [u32; HEADER / 4] = zerocopy::transmute!(*bytes);
    let bits = words[0];
    let header = Header {
        remote_type: bits & REMOTE_MASK,
        local_type: (bits & LOCAL_MASK) >> 8,
        complex: bits & COMPLEX != 0,
        remote: words[2],
        local: words[4],
        id: words[7] as i32,
    };
    (header, bits)
}

/// Reads a header; `SEND_INVALID_HEADER` if its bits make no sense. `buffer` has at least [`HEADER`] bytes.
pub fn parse(buffer: &[u8]) -> Result<Header, Code> {
    let (header, bits) = read(buffer.first_chunk::<HEADER>().ok_or(Code::SEND_MSG_TOO_SMALL)?);
    let reply = if header.local_type == 0 { header.local == 0 } else { sends(header.local_type) };
    let unknown = bits & !(REMOTE_MASK | LOCAL_MASK | COMPLEX) != 0;
    if sends(header.remote_type) && reply && !unknown { Ok(header) } else { Err(Code::SEND_INVALID_HEADER) }
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

/// Writes the header of a message received from `port` into the front of `buffer`, and counts the message.
#[inline]
pub fn deliver(inner: &mut Inner, port: PortId, buffer: &mut [u8], message: &Delivered) {
    inner.received += 1;
    let (mut local, mut local_type, mut seqno) = (0u64, message.dest_type, 0);
    if let Some(it) = inner.state.port_mut(port).local_mut() {
        seqno = it.seqno;
        it.seqno = it.seqno.wrapping_add(1);
        local = it.receiver.map_or(0, |(_, name)| u64::from(name));
        if let Some(payload) = it.payload {
            (local, local_type) = (payload, types::PROTECTED_PAYLOAD);
        }
    }
    write(buffer, message, local, local_type, seqno);
}

/// Writes a received header.
#[inline]
pub fn write(buffer: &mut [u8], message: &Delivered, local: u64, local_type: u32, seqno: u32) {
    let bits = message.reply_type | local_type << 8 | if message.complex { COMPLEX } else { 0 };
    let words = [bits, message.size as u32, message.reply, 0, local as u32, (local >> 32) as u32, seqno, message.id as u32];
    let header: [u8; HEADER] = zerocopy::transmute!(words);
    if let Some(place) = buffer.first_chunk_mut::<HEADER>() {
        *place = header;
    }
}
