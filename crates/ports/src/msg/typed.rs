//! The typed dialect: message bodies that describe themselves, in the 64-bit layout.

use crate::{
    abi::{self, Code, SLOT, types},
    dispatch::Inner,
    line::INLINE,
    objects,
    routes::Once,
    state::{
        Right, SpaceId,
        message::{Item, Memory},
    },
};
use slipway_abi::typed::{DEALLOCATE, Descriptor, Field, NAME_MASK, set_word, word};
use slipway_fabric::sync::pages;
use smallvec::SmallVec;
use std::sync::Arc;

/// `MACH_MSG_IPC_SPACE`: there was no name for a right.
pub(super) const IPC_SPACE: i32 = 0x2000;
/// `MACH_MSG_VM_SPACE`: there was no room for memory.
pub(super) const VM_SPACE: i32 = 0x1000;

/// The rights and memory of a body, taken out of a space.
pub type Items = SmallVec<[Item; 1]>;

/// Takes the rights and the memory that `body` names out of the sender's space, and marks their places.
///
/// # Errors
/// `SEND_INVALID_TYPE`, `SEND_INVALID_RIGHT`, `SEND_INVALID_MEMORY`, `SEND_MSG_TOO_SMALL` for a body that ends within an
/// item, `SEND_NO_BUFFER`. `items` then has what was taken before, to be destroyed with the message.
pub fn copyin(inner: &mut Inner, space: SpaceId, body: &mut [u8], items: &mut Items) -> Result<(), Code> {
    let mut at = 0;
    while at < body.len() {
        let field = Field::at(body, at)?;
        let (descriptor, type_at, place, end) = (field.of, field.type_at(), field.data.start, field.end);
        match (descriptor.is_port(), descriptor.inline) {
            (false, true) => {}
            (true, true) => {
                let mut rights = SmallVec::new();
                let taken = inline_rights(inner, space, &descriptor, &mut body[place..end], &mut rights);
                items.push(Item::Ports { at: place as u32, rights });
                taken?;
                received_as(body, type_at, &descriptor);
            }
            (true, false) => {
                let mut rights = Vec::new();
                let address = word(body, place).unwrap_or(0) as usize;
                let Descriptor { number, name, deallocate, .. } = descriptor;
                let taken = take_rights(inner, space, address, number, name, deallocate, &mut rights);
                items.push(Item::PortArray { at: place as u32, rights });
                taken?;
                received_as(body, type_at, &descriptor);
                set_word(body, place, 0);
            }
            (false, false) => {
                let address = word(body, place).unwrap_or(0) as usize;
                let memory = take_memory(inner, address, descriptor.size(), descriptor.deallocate)?;
                items.push(Item::Memory { at: place as u32, memory });
                set_word(body, type_at, word(body, type_at).unwrap_or(0) | DEALLOCATE);
                set_word(body, place, 0);
            }
        }
        at = end;
    }
    check_weight(items)
}

/// Whether rights and memory beside a message are no more than there may be.
///
/// # Errors
/// `SEND_NO_BUFFER`.
pub(super) fn check_weight(items: &Items) -> Result<(), Code> {
    let weight = items.iter().map(|item| crate::wire::weight(item).0).sum::<usize>();
    if weight > abi::ITEMS_MAX { Err(Code::SEND_NO_BUFFER) } else { Ok(()) }
}

/// The type of the right that the receiver of one passed with `disposition` has.
pub(super) fn received(disposition: u32) -> u32 {
    match disposition {
        types::MOVE_RECEIVE => types::PORT_RECEIVE,
        types::MOVE_SEND_ONCE | types::MAKE_SEND_ONCE => types::PORT_SEND_ONCE,
        _ => types::PORT_SEND,
    }
}

/// Rewrites a type word as the receiver sees it.
fn received_as(body: &mut [u8], at: usize, descriptor: &Descriptor) {
    let old = word(body, at).unwrap_or(0) & !NAME_MASK;
    set_word(body, at, old | u64::from(received(descriptor.name)) | if descriptor.inline { 0 } else { DEALLOCATE });
}

/// Takes one right out of a space.
pub(super) fn take_right(inner: &mut Inner, space: SpaceId, name: u32, disposition: u32) -> Result<Right, Code> {
    inner.state.copyin(space, name, disposition).map_err(|_| Code::SEND_INVALID_RIGHT)
}

fn inline_rights(
    inner: &mut Inner,
    space: SpaceId,
    descriptor: &Descriptor,
    places: &mut [u8],
    rights: &mut SmallVec<[Right; 1]>,
) -> Result<(), Code> {
    rights.reserve(places.len() / SLOT);
    for place in places.chunks_exact_mut(SLOT) {
        let name = u32::from_le_bytes([place[0], place[1], place[2], place[3]]);
        rights.push(take_right(inner, space, name, descriptor.name)?);
        place.fill(0);
    }
    Ok(())
}

/// Takes the `count` rights out of a space whose names lie at an address.
pub(super) fn take_rights(
    inner: &mut Inner,
    space: SpaceId,
    at: usize,
    count: u32,
    disposition: u32,
    deallocate: bool,
    rights: &mut Vec<Right>,
) -> Result<(), Code> {
    let len = count as usize * 4;
    if len > abi::MESSAGE_MAX {
        return Err(Code::SEND_NO_BUFFER);
    }
    let mut names = vec![0; len];
    pages::read(at, &mut names).map_err(|_| Code::SEND_INVALID_MEMORY)?;
    for name in names.chunks_exact(4) {
        let name = u32::from_le_bytes([name[0], name[1], name[2], name[3]]);
        rights.push(take_right(inner, space, name, disposition)?);
    }
    if deallocate {
        give_back(at, len);
    }
    Ok(())
}

/// The pages that the sender gives away with their contents.
fn give_back(at: usize, len: usize) {
    if let Some(len) = pages::whole_pages(len + at % pages::page_size()).filter(|len| *len > 0) {
        #[allow(unsafe_code, reason = "the sender gives the memory away")]
        // SAFETY: the sender of a message with the deallocate bit says so: see `mach_msg`.
        let _ = unsafe { pages::deallocate(at - at % pages::page_size(), len) };
    }
}

/// Copies out-of-line memory as it is now. What is large goes in a memory file, which the receiver maps:
/// one copy instead of two; or none, if the memory is lent.
pub(super) fn take_memory(inner: &Inner, at: usize, len: u64, deallocate: bool) -> Result<Memory, Code> {
    let size = usize::try_from(len).map_err(|_| Code::SEND_INVALID_MEMORY)?;
    let memory = if let Some(file) = inner.lent.file(at, size) {
        Memory::Pages(file, len)
    } else if size <= INLINE / 2 {
        let mut bytes = vec![0; size];
        if size > 0 {
            pages::read(at, &mut bytes).map_err(|_| Code::SEND_INVALID_MEMORY)?;
        }
        Memory::Bytes(bytes)
    } else {
        let file = objects::copied(at, size).map_err(|error| match error.raw_os_error() {
            Some(libc::EFAULT) => Code::SEND_INVALID_MEMORY,
            _ => Code::SEND_NO_BUFFER,
        })?;
        Memory::Pages(Arc::new(file), len)
    };
    if deallocate && size > 0 {
        give_back(at, size);
    }
    Ok(memory)
}

/// Puts rights and memory into the receiver's space, and their names and addresses into `body`. What finds no
/// place is destroyed; the code says so (`RCV_BODY_ERROR` with a resource bit).
pub fn copyout(inner: &mut Inner, space: SpaceId, body: &mut [u8], items: Items) -> Result<(), Code> {
    let mut lost = 0;
    for item in items {
        match item {
            Item::Ports { at, rights } => {
                for (i, right) in rights.into_iter().enumerate() {
                    let name = place_right(inner, space, right, &mut lost, IPC_SPACE);
                    set_word(body, at as usize + i * SLOT, u64::from(name));
                }
            }
            Item::PortArray { at, rights } => set_word(body, at as usize, place_rights(inner, space, rights, &mut lost)),
            Item::Memory { at, memory } => set_word(body, at as usize, place_memory(inner, &memory, &mut lost)),
        }
    }
    if lost == 0 { Ok(()) } else { Err(Code(Code::RCV_BODY_ERROR.0 | lost)) }
}

/// Puts rights into a space, and their names into fresh memory: its address.
pub(super) fn place_rights(inner: &mut Inner, space: SpaceId, rights: Vec<Right>, lost: &mut i32) -> u64 {
    let mut names = Vec::with_capacity(rights.len() * 4);
    for right in rights {
        names.extend(place_right(inner, space, right, lost, IPC_SPACE).to_le_bytes());
    }
    place(inner, &names).unwrap_or_else(|| note(lost, VM_SPACE))
}

/// Puts bytes into fresh memory of this process: its address.
pub(super) fn place_memory(inner: &mut Inner, memory: &Memory, lost: &mut i32) -> u64 {
    let address = match memory {
        Memory::Bytes(bytes) => place(inner, bytes),
        Memory::Lost(_) => None,
        Memory::Pages(file, len) => {
            let len = pages::whole_pages(*len as usize);
            len.and_then(|len| inner.mapped.place(file, len).ok()).map(|at| at as u64)
        }
    };
    address.unwrap_or_else(|| note(lost, VM_SPACE))
}

fn note(lost: &mut i32, bit: i32) -> u64 {
    *lost |= bit;
    0
}

/// Puts one right into a space; null, with `bit` noted, if there is no name for it.
pub fn place_right(inner: &mut Inner, space: SpaceId, right: Right, lost: &mut i32, bit: i32) -> u32 {
    let right = living(inner, right);
    inner.state.copyout(space, right).unwrap_or_else(|right| {
        *lost |= bit;
        inner.state.destroy_right(right);
        abi::NULL
    })
}

/// A send-once right whose port died while the right waited in a message is dead.
#[inline]
fn living(inner: &mut Inner, right: Right) -> Right {
    match right {
        Right::RemoteSendOnce(once) if matches!(inner.onces.get(once.0 as usize), Some(Once::Dead)) => {
            inner.onces.remove(once.0 as usize);
            Right::Dead
        }
        right => right,
    }
}

/// Fresh memory of this process with the bytes in it; null for none.
fn place(inner: &mut Inner, bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() {
        return Some(0);
    }
    let at = pages::allocate(None, pages::whole_pages(bytes.len())?).ok()?;
    inner.mapped.forget(at);
    #[allow(unsafe_code, reason = "fresh memory")]
    // SAFETY: it was just made, and nobody has its address.
    unsafe { pages::write(at, bytes) }.ok()?;
    Some(at as u64)
}
