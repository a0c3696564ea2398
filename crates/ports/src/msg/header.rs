//! The message header: 32 bytes, read and written at fixed places.

use crate::{
    abi::{COMPLEX, Code, HEADER, LOCAL_MASK, REMOTE_MASK, types},
    io::Inner,
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

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Whether a disposition is one that a message can be sent with.
fn sends(disposition: u32) -> bool {
    matches!(
        disposition,
        types::MOVE_SEND | types::MOVE_SEND_ONCE | types::COPY_SEND | types::MAKE_SEND | types::MAKE_SEND_ONCE
    )
}

/// Reads a header; `SEND_INVALID_HEADER` if its bits make no sense. `buffer` has at least [`HEADER`] bytes.
#[inline]
pub fn parse(buffer: &[u8]) -> Result<Header, Code> {
    let bits = u32_at(buffer, 0);
    let header = Header {
        remote_type: bits & REMOTE_MASK,
        local_type: (bits & LOCAL_MASK) >> 8,
        complex: bits & COMPLEX != 0,
        remote: u32_at(buffer, 8),
        local: u32_at(buffer, 16),
        id: u32_at(buffer, 28) as i32,
    };
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
    inner.io.counters.received += 1;
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
    let mut header = [0; HEADER];
    header[0..4].copy_from_slice(&bits.to_le_bytes());
    header[4..8].copy_from_slice(&(message.size as u32).to_le_bytes());
    header[8..16].copy_from_slice(&u64::from(message.reply).to_le_bytes());
    header[16..24].copy_from_slice(&local.to_le_bytes());
    header[24..28].copy_from_slice(&seqno.to_le_bytes());
    header[28..32].copy_from_slice(&message.id.to_le_bytes());
    buffer[..HEADER].copy_from_slice(&header);
}
