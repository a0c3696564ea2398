//! Bodies with descriptors, from and to the form that messages have between the ends: there each descriptor is an item of its own, and the data
//! behind the descriptors is an item of bytes. A message of the typed dialect has its rights and memory in front here, and its data behind them,
//! each item's filled up to four bytes.

use super::super::{
    format::Body,
    typed::{self, Items},
};
use crate::{
    abi::{self, Code, call::descriptor as kind, types},
    dispatch::Inner,
    state::{
        SpaceId,
        message::{Item, Memory},
    },
};
use slipway_abi::typed::{DEALLOCATE, Field, INLINE, type_word};
use smallvec::smallvec;

/// The size of `mach_msg_body_t`.
const COUNT: usize = 4;
/// The size of `mach_msg_port_descriptor_t`.
const PORT: usize = 12;
/// The size of the other descriptors.
const OUT_OF_LINE: usize = 16;

/// `MACH_MSG_VIRTUAL_COPY`: received memory is the receiver's own. Sent memory says this or `MACH_MSG_PHYSICAL_COPY`, 0, which is the same here.
const VIRTUAL_COPY: u8 = 1;

fn number(bytes: &[u8], at: usize) -> Result<u32, Code> {
    let place = bytes.get(at..).and_then(<[u8]>::first_chunk).ok_or(Code::SEND_MSG_TOO_SMALL)?;
    Ok(u32::from_le_bytes(*place))
}

/// Takes what the descriptors of a body name out of the sender's space.
pub fn take(inner: &mut Inner, space: SpaceId, body: &[u8], into: &mut Body) -> Result<(), Code> {
    let (count, mut at) = (number(body, 0)?, COUNT);
    for _ in 0..count {
        // Each has its kind at the same place.
        let of = *body.get(at + PORT - 1).ok_or(Code::SEND_MSG_TOO_SMALL)?;
        let len = if of == kind::PORT { PORT } else { OUT_OF_LINE };
        let descriptor = body.get(at..at + len).ok_or(Code::SEND_MSG_TOO_SMALL)?;
        at += len;
        match of {
            kind::PORT => take_port(inner, space, descriptor, into)?,
            kind::OOL | kind::OOL_VOLATILE => take_memory(inner, descriptor, into)?,
            kind::OOL_PORTS => take_ports(inner, space, descriptor, into)?,
            _ => return Err(Code::SEND_INVALID_TYPE),
        }
    }
    typed::check_weight(&into.items)?;
    if let data @ [_, ..] = &body[at..] {
        let len = u32::try_from(data.len()).map_err(|_| Code::SEND_NO_BUFFER)?;
        word(into, type_word(types::BYTE, 8, len));
        into.bytes.extend_from_slice(data);
        into.bytes.resize(into.bytes.len().next_multiple_of(abi::SLOT), 0);
    }
    Ok(())
}

fn word(into: &mut Body, word: u64) {
    into.bytes.extend_from_slice(&word.to_le_bytes());
}

/// Adds an item with one place: where the place is.
fn place(into: &mut Body, of: u64) -> u32 {
    word(into, of);
    let at = into.bytes.len() as u32;
    word(into, 0);
    at
}

fn disposition(descriptor: &[u8]) -> Result<u32, Code> {
    let disposition = u32::from(descriptor[10]);
    let good = (types::MOVE_RECEIVE..=types::MAKE_SEND_ONCE).contains(&disposition);
    if good { Ok(disposition) } else { Err(Code::SEND_INVALID_TYPE) }
}

fn take_port(inner: &mut Inner, space: SpaceId, descriptor: &[u8], into: &mut Body) -> Result<(), Code> {
    let disposition = disposition(descriptor)?;
    let right = typed::take_right(inner, space, number(descriptor, 0)?, disposition)?;
    let at = place(into, type_word(typed::received(disposition), 64, 1));
    into.items.push(Item::Ports { at, rights: smallvec![right] });
    Ok(())
}

/// The address, the size or count, and whether the memory is given away.
fn region(descriptor: &[u8]) -> Result<(usize, u32, bool), Code> {
    let address = u64::from(number(descriptor, 0)?) | u64::from(number(descriptor, 4)?) << 32;
    Ok((address as usize, number(descriptor, 12)?, descriptor[8] != 0))
}

fn take_memory(inner: &Inner, descriptor: &[u8], into: &mut Body) -> Result<(), Code> {
    if descriptor[9] > VIRTUAL_COPY {
        return Err(Code::SEND_INVALID_TYPE);
    }
    let (address, size, deallocate) = region(descriptor)?;
    let memory = typed::take_memory(inner, address, u64::from(size), deallocate)?;
    let at = place(into, type_word(types::BYTE, 8, size) & !INLINE | DEALLOCATE);
    into.items.push(Item::Memory { at, memory });
    Ok(())
}

fn take_ports(inner: &mut Inner, space: SpaceId, descriptor: &[u8], into: &mut Body) -> Result<(), Code> {
    let disposition = disposition(descriptor)?;
    let (address, count, deallocate) = region(descriptor)?;
    let at = place(into, type_word(typed::received(disposition), 32, count) & !INLINE | DEALLOCATE);
    let mut rights = Vec::new();
    let taken = typed::take_rights(inner, space, address, count, disposition, deallocate, &mut rights);
    into.items.push(Item::PortArray { at, rights });
    taken
}

/// The items of a body, up to what is none.
fn fields(body: &[u8]) -> impl Iterator<Item = Field> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let field = Field::at(body, at).ok()?;
        at = field.end;
        Some(field)
    })
}

/// The bytes of a field's descriptors, and those of its data.
fn lengths(field: &Field) -> (usize, usize) {
    match (field.of.is_port(), field.of.inline) {
        (false, true) => (0, field.data.len().next_multiple_of(4)),
        (true, true) => (field.of.number as usize * PORT, 0),
        (_, false) => (OUT_OF_LINE, 0),
    }
}

/// The size of a body in Darwin's form, in bytes.
pub fn size(body: &[u8]) -> usize {
    fields(body).map(|field| lengths(&field)).fold(COUNT, |sum, (descriptors, data)| sum + descriptors + data)
}

/// Writes a body in Darwin's form, with rights and memory put into the receiver's space.
pub fn give(inner: &mut Inner, space: SpaceId, body: &[u8], items: Items, to: &mut [u8]) -> Result<(), Code> {
    let mut data_at = fields(body).fold(COUNT, |sum, field| sum + lengths(&field).0);
    let (mut at, mut count, mut lost) = (COUNT, 0u32, 0);
    let mut items = items.into_iter();
    for field in fields(body) {
        if field.is_plain() {
            let from = &body[field.data.clone()];
            to[data_at..data_at + from.len()].copy_from_slice(from);
            let end = data_at + from.len().next_multiple_of(4);
            to[data_at + from.len()..end].fill(0);
            data_at = end;
            continue;
        }
        let kind = field.of.name as u8;
        match items.next() {
            Some(Item::Ports { rights, .. }) => {
                for right in rights {
                    let name = typed::place_right(inner, space, right, &mut lost, typed::IPC_SPACE);
                    to[at..at + 4].copy_from_slice(&name.to_le_bytes());
                    to[at + 4..at + PORT].copy_from_slice(&[0, 0, 0, 0, 0, 0, kind, kind::PORT]);
                    (at, count) = (at + PORT, count + 1);
                }
            }
            Some(Item::PortArray { rights, .. }) => {
                let address = typed::place_rights(inner, space, rights, &mut lost);
                describe(&mut to[at..at + OUT_OF_LINE], address, [1, VIRTUAL_COPY, kind, kind::OOL_PORTS], field.of.number);
                (at, count) = (at + OUT_OF_LINE, count + 1);
            }
            Some(Item::Memory { memory, .. }) => {
                // What has no size here has no place.
                let size = u32::try_from(field.of.size());
                let memory = if size.is_ok() { memory } else { Memory::Lost(field.of.size()) };
                let address = typed::place_memory(inner, &memory, &mut lost);
                let how = [1, VIRTUAL_COPY, 0, kind::OOL];
                describe(&mut to[at..at + OUT_OF_LINE], address, how, size.unwrap_or(0));
                (at, count) = (at + OUT_OF_LINE, count + 1);
            }
            None => break,
        }
    }
    to[..COUNT].copy_from_slice(&count.to_le_bytes());
    if lost == 0 { Ok(()) } else { Err(Code(Code::RCV_BODY_ERROR.0 | lost)) }
}

fn describe(to: &mut [u8], address: u64, how: [u8; 4], count: u32) {
    to[..8].copy_from_slice(&address.to_le_bytes());
    to[8..12].copy_from_slice(&how);
    to[12..].copy_from_slice(&count.to_le_bytes());
}
