//! Darwin's messages: a header of 24 bytes, sizes in units of four, descriptors in front of a body's data, a trailer behind what is received.
//!
//! * `body`: the bodies that carry something. * `trailer`.

mod body;
mod trailer;

use super::{
    format::{Body, Delivered, Format, Header, Local, Origin},
    header::sensible,
};
use crate::{
    abi::{self, COMPLEX, Code, notify, types},
    dialect::{Dialect, Trailer},
    dispatch::Inner,
    state::{SpaceId, message::Message, notify::type_word},
};
use slipway_abi::typed::word;

/// Darwin's dialect.
#[derive(Debug, Clone, Copy)]
pub struct Darwin;

/// The size of `mach_msg_header_t`.
const HEADER: usize = 24;
/// `MACH_MSGH_BITS_REMOTE_MASK`.
const REMOTE: u32 = 0x1f;
/// `MACH_MSGH_BITS_LOCAL_MASK`.
const LOCAL: u32 = 0x1f00;
/// `MACH_MSGH_BITS_VOUCHER_MASK`.
const VOUCHER: u32 = 0x001f_0000;
/// `MACH_MSGH_BITS_RAISEIMP`: says something of a task's importance, of which there is none here.
const IMPORTANCE: u32 = 0x2000_0000;
/// `MACH_SEND_INVALID_VOUCHER`.
const INVALID_VOUCHER: Code = Code(0x1000_0005);
/// `NDR_record` of this machine.
const NDR: u64 = 0x0000_0001_0000_0000;

impl Format for Darwin {
    type Tail = Trailer;
    const HEADER: usize = HEADER;
    const UNIT: usize = 4;
    const SHORT: bool = true;
    const USUAL: Trailer = Trailer::NONE;

    #[inline(always)]
    fn is_usual(tail: Trailer) -> bool {
        tail == Trailer::NONE
    }

    #[inline(always)]
    fn tail(option: u32) -> Trailer {
        Trailer::of(option)
    }

    #[inline(always)]
    fn room(tail: Trailer) -> usize {
        tail.size()
    }

    #[inline(always)]
    fn asks_for_context(tail: Trailer) -> bool {
        tail.has_context()
    }

    #[inline(always)]
    fn dialect(tail: Trailer) -> Dialect {
        Dialect::Darwin(tail)
    }

    #[inline(always)]
    fn read(message: &[u8]) -> Option<(Header, u32, &[u8])> {
        let (front, body) = message.split_first_chunk::<HEADER>()?;
        let [bits, _, remote, local, _, id]: [u32; HEADER / 4] = zerocopy::transmute!(*front);
        let header = Header {
            remote_type: bits & REMOTE,
            local_type: (bits & LOCAL) >> 8,
            complex: bits & COMPLEX != 0,
            remote,
            local,
            id: id as i32,
        };
        Some((header, bits, body))
    }

    fn check(header: &Header, bits: u32, message: &[u8]) -> Result<(), Code> {
        if !sensible(header) || bits & !(REMOTE | LOCAL | VOUCHER | COMPLEX | IMPORTANCE) != 0 {
            return Err(Code::SEND_INVALID_HEADER);
        }
        let voucher = message.get(16..20).and_then(<[u8]>::first_chunk).map_or(0, |name| u32::from_le_bytes(*name));
        if bits & VOUCHER != 0 && voucher != abi::NULL { Err(INVALID_VOUCHER) } else { Ok(()) }
    }

    fn take(inner: &mut Inner, space: SpaceId, complex: bool, body: &[u8], into: &mut Body) -> Result<(), Code> {
        if complex {
            return body::take(inner, space, body, into);
        }
        into.bytes = body.to_vec();
        into.bytes.resize(body.len().next_multiple_of(abi::SLOT), 0);
        into.short = into.bytes.len() > body.len();
        Ok(())
    }

    fn size(message: &Message) -> usize {
        if message.complex {
            return HEADER + body::size(&message.body);
        }
        let short = message.short || is_notification(message.id, &message.body);
        HEADER + message.body.len() - if short { 4 } else { 0 }
    }

    fn give(inner: &mut Inner, space: SpaceId, id: i32, complex: bool, body: Body, buffer: &mut [u8]) -> Result<(), Code> {
        if complex {
            return body::give(inner, space, &body.bytes, body.items, &mut buffer[HEADER..]);
        }
        let len = body.bytes.len() - if body.short { 4 } else { 0 };
        let len = if is_notification(id, &body.bytes) { 12 } else { len };
        buffer[HEADER..HEADER + len].copy_from_slice(&body.bytes[..len]);
        if len < body.bytes.len() && !body.short {
            buffer[HEADER..HEADER + 8].copy_from_slice(&NDR.to_le_bytes());
        }
        Ok(())
    }

    #[inline(always)]
    fn settle(buffer: &mut [u8], id: i32, len: usize) -> usize {
        if may_notify(id) { settle_notification(buffer, id, len) } else { HEADER + len }
    }

    #[inline(always)]
    fn put_header(buffer: &mut [u8], message: &Delivered, local: &Local) {
        let bits = message.reply_type | local.local_type << 8 | if message.complex { COMPLEX } else { 0 };
        let words = [bits, message.size as u32, message.reply, local.local as u32, 0, message.id as u32];
        let header: [u8; HEADER] = zerocopy::transmute!(words);
        if let Some(place) = buffer.first_chunk_mut::<HEADER>() {
            *place = header;
        }
    }

    #[inline(always)]
    fn put_tail(buffer: &mut [u8], size: usize, seqno: u32, tail: Trailer, origin: impl FnOnce() -> Origin) {
        let Some(behind) = buffer.get_mut(size..) else { return };
        if let (Trailer::NONE, Some(place)) = (tail, behind.first_chunk_mut::<8>()) {
            *place = trailer::FRONT;
        } else {
            trailer::write(behind, tail, seqno, origin);
        }
    }
}

/// Whether a message of this id may be a notification with a body that has to change.
#[inline(always)]
fn may_notify(id: i32) -> bool {
    (notify::PORT_DELETED..=notify::DEAD_NAME).contains(&id)
}

#[cold]
#[inline(never)]
fn settle_notification(buffer: &mut [u8], id: i32, len: usize) -> usize {
    if !is_notification(id, &buffer[HEADER..HEADER + len]) {
        return HEADER + len;
    }
    buffer[HEADER..HEADER + 8].copy_from_slice(&NDR.to_le_bytes());
    HEADER + len - 4
}

/// Whether a message is a notification in the typed dialect's form, about a name or a count: Darwin has an NDR record where the type is. The rest
/// is the same, without what fills it up.
fn is_notification(id: i32, body: &[u8]) -> bool {
    let expected = match id {
        notify::PORT_DELETED | notify::DEAD_NAME => type_word(types::PORT_NAME, 32, 1),
        notify::NO_SENDERS => type_word(types::INTEGER_32, 32, 1),
        _ => return false,
    };
    body.len() == 16 && word(body, 0) == Some(expected)
}
