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
    spin::{Outcome, SpinStrategy, look, processor},
    sync::FutexWord,
};

/// Waits until the other end of a line has taken something, if a record of `len` bytes with `fds` descriptors
/// still doesn't fit. The line's own word is the other end's to write: it may wake the thread sooner, but what must
/// wake it in any case comes to the thread's own word.
pub fn for_line(mut guard: Guard<'_>, number: LineId, slot: u32, (len, fds): (usize, usize), deadline: Option<u64>) -> Guard<'_> {
    let Some(line) = guard.lines.get_mut(number) else { return guard };
    let (ring, credit) = (line.segment.tx.clone(), line.credit.clone());
    // A reader that needs this very processor has it while the writer sleeps. To yield could give a third party a whole turn, each time.
    let strategy = match line.segment.strategy(processor()) {
        SpinStrategy::Spin => SpinStrategy::Spin,
        SpinStrategy::Yield | SpinStrategy::Sleep => SpinStrategy::Sleep,
    };
    let consumed = Line::consumption_of(&ring, &credit, slot);
    // What was taken between the refusal and this mark would be no news to it.
    let refused = if slot == NO_SLOT { Ok(()) } else { line.credit(slot) };
    if !matches!(refused.and_then(|()| line.check_space(len, fds)), Err(Stall::Ring | Stall::Queue)) {
        return guard;
    }
    let me = Me::get(&mut guard);
    guard.waiting.list.push(Wait::of_nothing(me.number, For::Line(number.index)));
    drop(guard);
    at_line(&me, &ring, strategy, &|| Line::consumption_of(&ring, &credit, slot) != consumed, deadline);
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

/// Waits until the reader of the ring has `moved` on, or the thread is woken.
fn at_line(me: &Me, ring: &Ring, strategy: SpinStrategy, moved: &dyn Fn() -> bool, deadline: Option<u64>) {
    let stirs = || moved() || me.waiter.is_woken();
    if look(strategy, settings::spin_ns(), deadline, stirs) != Outcome::Won {
        ring.arm_writer_on_futex();
        let words = [(ring.writer_word(), FUTEX_WAIT), (&me.waiter.word, ASLEEP)];
        let sleep = || match FutexWord::can_wait_any() && !signals::are_held() {
            true => me.waiter.sleep_on(&words, remaining(deadline)),
            // An old kernel, or a thread that polls: its own word or event has to be heard, so the line's word is looked at
            // now and then.
            false => me.sleep(Some(remaining(deadline).unwrap_or(GLANCE).min(GLANCE))),
        };
        if !stirs() {
            sleep();
        }
    }
}
