//! Plain messages whose bodies lie in pieces: they go into a ring from where they are, and one that finds no room there waits for it
//! before anything of it is copied.
//!
//! Of messages that their sender sends one behind another, because only all of them are of use, a reader on this very processor is woken for the last, or when the
//! ring is full: it could do nothing before but take the processor, for each.

use super::{Request, fast::lost_or_closed, header::Typed, send_slowly};
use crate::{
    abi::{Code, HEADER, SLOT, option, types},
    dispatch::Inner,
    line::{INLINE, Line, Stall},
    lock::{Guard, Process},
    routes::Routes,
    state::{LineId, SpaceId},
    wait::{self, Need},
    wire::{self, RECORD, Record},
};

/// A plain body: words, and bytes behind them that are filled up to whole words.
#[derive(Debug, Clone, Copy)]
pub struct Pieces<'a> {
    /// The words.
    pub words: &'a [u64],
    /// The bytes.
    pub bytes: &'a [u8],
    /// The bytes of the bodies that the sender sends at once behind this one.
    pub behind: usize,
}

impl Pieces<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        size_of_val(self.words) + self.bytes.len().next_multiple_of(SLOT)
    }
}

/// What became of a message.
enum Fate {
    Sent,
    /// Its line, or the port's queue, has no room for so many bytes now.
    Full(LineId, u32, usize),
    /// There is another way for it, or none.
    Other,
}

/// Sends a message with a copy of the send right `dest`, waiting for room if need be.
#[inline]
pub fn send(process: &'static Process, space: SpaceId, dest: u32, id: i32, body: &Pieces<'_>) -> Code {
    let mut guard = process.lock();
    match try_send(guard.quietly(), space, dest, id, body) {
        Fate::Sent => {
            guard.release();
            Code::SUCCESS
        }
        fate => send_in_time(guard, fate, space, dest, id, body),
    }
}

/// As [`send`], when the message could not be sent at once.
#[inline(never)]
fn send_in_time(mut guard: Guard<'_>, mut fate: Fate, space: SpaceId, dest: u32, id: i32, body: &Pieces<'_>) -> Code {
    while let Fate::Full(number, slot, len) = fate {
        guard.settle();
        guard = wait::for_line(guard, number, slot, Need { len, behind: body.behind, fds: 0 }, None);
        fate = try_send(guard.quietly(), space, dest, id, body);
    }
    if let Fate::Sent = fate {
        return Code::SUCCESS;
    }
    let mut message = Vec::with_capacity(HEADER + body.len());
    for half in [types::COPY_SEND, 0, dest, 0, 0, 0, 0, id as u32] {
        message.extend_from_slice(&half.to_le_bytes());
    }
    body.words.iter().for_each(|word| message.extend_from_slice(&word.to_le_bytes()));
    message.extend_from_slice(body.bytes);
    message.resize(HEADER + body.len(), 0);
    let request = Request { option: option::SEND_MSG, send_size: message.len(), ..Request::default() };
    send_slowly::<Typed>(guard, space, &mut message, &request)
}

/// As [`fast::send`](super::fast::send) does it.
#[inline(always)]
fn try_send(inner: &mut Inner, space: SpaceId, dest: u32, id: i32, body: &Pieces<'_>) -> Fate {
    let len = body.len();
    if len > INLINE - HEADER {
        return Fate::Other;
    }
    let Some((number, slot)) = inner.route_to(space, dest) else { return Fate::Other };
    let Routes { lines, sent, .. } = &mut inner.routes;
    let Some(line) = lines.known(number) else { return Fate::Other };
    let room = RECORD + len;
    // What is flushed may drop descriptors.
    if !line.backlog.is_empty() || line.check_space(room, 0).is_err() {
        return stalled(line, number, slot, room);
    }
    let Ok(out) = line.credited(slot) else { return stalled(line, number, slot, room) };

    // Past this point nothing can fail but the line itself, whose loss is as good as a delivery to a dead port.
    out.count.add();
    *sent += 1;
    let record = Record { body: len as u32, kind: wire::kind::MESSAGE, target: slot, id, ..Record::default() };
    let lost = line.write_behind(&record, body.words, body.bytes, len - size_of_val(body.words) - body.bytes.len()).is_err();
    let closed = line.credit.closed(slot).is_some();
    if body.behind == 0 || lost || closed || !line.shares_processor() {
        line.wake_reader();
    }
    if lost || closed {
        lost_or_closed(inner, number, lost);
    }
    Fate::Sent
}

/// What becomes of a message that can't be written now.
#[cold]
fn stalled(line: &mut Line, number: LineId, slot: u32, room: usize) -> Fate {
    // It may sleep although it was sent something.
    line.wake_reader();
    if !line.backlog.is_empty() {
        return Fate::Other;
    }
    // First the slot: one that is closed takes nothing, however much room there may be.
    match line.credit(slot).and_then(|()| line.check_space(room, 0)) {
        Ok(()) | Err(Stall::Ring | Stall::Queue) => Fate::Full(number, slot, room),
        Err(_) => Fate::Other,
    }
}
