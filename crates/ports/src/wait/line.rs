//! Waiting for free space on a line, or for credit.

use super::thread::{Me, remaining};
use crate::{
    line::{Line, NO_SLOT, Stall},
    lock::Guard,
    settings, signals,
    state::LineId,
    waiting::{ASLEEP, For, GLANCE, Wait},
};
use slipway_fabric::{
    ring::{FUTEX_WAIT, Ring},
    spin::{Outcome, SpinStrategy, look},
    sync::FutexWord,
};

/// What a record needs that is to be written to a line.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// Its bytes in the ring.
    pub len: usize,
    /// The bytes of those behind it, of which nobody has anything before the last is written. A writer that waits for free space waits for more of it then.
    pub behind: usize,
    /// Its descriptors.
    pub fds: usize,
}

/// Waits until the other end of a line has taken something, if a record still doesn't fit. The line's own word is the other end's
/// to write: it may wake the thread sooner, but what must wake it in any case comes to the thread's own word.
pub fn for_line(mut guard: Guard<'_>, number: LineId, slot: u32, need: Need, deadline: Option<u64>) -> Guard<'_> {
    let Some(line) = guard.lines.get_mut(number) else { return guard };
    let (ring, credit) = (line.segment.tx.clone(), line.credit.clone());
    // A reader that needs this very processor has it while the writer sleeps. To yield could give a third party a whole turn, each time.
    let strategy = if line.shares_processor() { SpinStrategy::Sleep } else { SpinStrategy::Spin };
    let consumed = Line::consumption_of(&ring, &credit, slot);
    // What was taken between the refusal and this mark would be no news to it.
    let refused = if slot == NO_SLOT { Ok(()) } else { line.credit(slot) };
    let stall = match refused.and_then(|()| line.check_space(need.len, need.fds)) {
        Err(stall @ (Stall::Ring | Stall::Queue)) => stall,
        _ => return guard,
    };
    // On one processor the reader may as well take all, on two both work while half is free.
    let most = if strategy == SpinStrategy::Spin { ring.size() / 2 } else { ring.size() };
    let for_space = stall == Stall::Ring && need.fds == 0 && line.backlog.is_empty();
    let room = for_space.then(|| need.len.saturating_add(need.behind).min(most).max(need.len));
    let tail = line.tx.tail;
    let me = Me::get(&mut guard);
    guard.waiting.list.push(Wait::of_nothing(me.number, For::Line(number.index)));
    drop(guard);
    let moved = || Line::consumption_of(&ring, &credit, slot) != consumed;
    let enough = || moved() && room.is_none_or(|room| ring.has_room(tail, room) || credit.closed(slot).is_some());
    at_line(&me, &ring, strategy, [&moved, &enough], room, deadline);
    guard = me.process.lock();
    guard.waiting.forget(me.number);
    me.keep();
    if let Some(line) = guard.lines.get_mut(number) {
        // The flag was up for the records that were kept, too, and may be down now.
        line.release_kept();
        if !line.backlog.is_empty() {
            line.segment.tx.arm_writer();
            line.ring_bell();
        }
    }
    guard
}

/// Waits until the reader of the ring has moved on, or the thread is woken. It looks for any news, and sleeps until there are enough.
fn at_line(
    me: &Me,
    ring: &Ring,
    strategy: SpinStrategy,
    [moved, enough]: [&dyn Fn() -> bool; 2],
    room: Option<usize>,
    deadline: Option<u64>,
) {
    if look(strategy, settings::spin_ns(), deadline, || moved() || me.waiter.is_woken()) != Outcome::Won {
        let flag = match room {
            Some(room) => ring.arm_writer_for_room(room),
            None => {
                ring.arm_writer_on_futex();
                FUTEX_WAIT
            }
        };
        let words = [(ring.writer_word(), flag), (&me.waiter.word, ASLEEP)];
        let sleep = || match FutexWord::can_wait_any() && !signals::are_held() {
            true => me.waiter.sleep_on(&words, remaining(deadline)),
            // An old kernel, or a thread that polls: its own word or event has to be heard, so the line's word is looked at
            // now and then.
            false => me.sleep(Some(remaining(deadline).unwrap_or(GLANCE).min(GLANCE))),
        };
        if !(enough() || me.waiter.is_woken()) {
            sleep();
        }
    }
}
