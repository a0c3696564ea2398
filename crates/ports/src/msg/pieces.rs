//! Large plain messages, whose bodies lie in pieces: they go into a ring from where they are, and one that finds no room there waits for it
//! before anything of it is copied.
//!
//! Of messages that their sender sends one behind another, because only all of them are of use, a reader on this very processor is woken for the last, or when the
//! ring is full: it could do nothing before but take the processor, for each.

use super::fast::lost_or_closed;
use crate::{
    abi::{Code, HEADER, SLOT},
    dispatch::Inner,
    line::{INLINE, Stall},
    lock::Process,
    state::{LineId, SpaceId},
    wait::{self, Need},
    wire::{self, RECORD, Record},
};

/// What became of a message.
enum Fate {
    Sent,
    /// Its line, or the port's queue, has no room for so many bytes now.
    Full(LineId, u32, usize),
    /// There is another way for it, or none.
    Other,
}

/// Sends a message with a copy of the send right `dest`, waiting for room if need be, if it goes over a line. None, and nothing has happened, if not.
/// `behind`: the bytes that the sender sends behind it at once.
pub fn send_pieces(
    process: &'static Process,
    space: SpaceId,
    dest: u32,
    id: i32,
    pieces: &[&[u8]],
    behind: usize,
) -> Option<Code> {
    let len = pieces.iter().map(|piece| piece.len()).sum::<usize>();
    if len > INLINE - HEADER || !len.is_multiple_of(SLOT) {
        return None;
    }
    let mut guard = process.lock();
    loop {
        match try_send(guard.quietly(), space, dest, id, (pieces, len), behind > 0) {
            Fate::Sent => return Some(Code::SUCCESS),
            Fate::Other => return None,
            Fate::Full(number, slot, len) => {
                guard.settle();
                guard = wait::for_line(guard, number, slot, Need { len, behind, fds: 0 }, None);
            }
        }
    }
}

/// As [`fast::send`](super::fast::send) does it.
fn try_send(inner: &mut Inner, space: SpaceId, dest: u32, id: i32, (pieces, len): (&[&[u8]], usize), more: bool) -> Fate {
    let Some((number, slot)) = inner.route_to(space, dest) else { return Fate::Other };
    let Some(line) = inner.routes.lines.get_mut(number) else { return Fate::Other };
    // What is flushed may drop descriptors.
    if !line.backlog.is_empty() {
        line.wake_reader();
        return Fate::Other;
    }
    let room = RECORD + len;
    // First the slot: one that is closed takes nothing, however much room there may be.
    match line.credit(slot).and_then(|()| line.check_space(room, 0)) {
        Ok(()) => {}
        stalled => {
            // It may sleep although it was sent something.
            line.wake_reader();
            return if matches!(stalled, Err(Stall::Ring | Stall::Queue)) { Fate::Full(number, slot, room) } else { Fate::Other };
        }
    }
    let Ok(out) = line.credited(slot) else { return Fate::Other };

    // Past this point nothing can fail but the line itself, whose loss is as good as a delivery to a dead port.
    out.count.add();
    let record = Record { body: len as u32, kind: wire::kind::MESSAGE, target: slot, id, ..Record::default() };
    let lost = line.write_pieces(&record, pieces).is_err();
    let closed = line.credit.closed(slot).is_some();
    if !more || lost || closed || !line.shares_processor() {
        line.wake_reader();
    }
    inner.routes.sent += 1;
    if lost || closed {
        lost_or_closed(inner, number, lost);
    }
    Fate::Sent
}
