//! The memory that `mach_msg` is given: whether it is there, before it is touched.
//!
//! Mach's kernel copies messages and returns a code where that fails; here a wrong address would be a fault in the
//! program. So an address that was not seen before is looked at by the kernel once. A buffer on the caller's own
//! stack, where most of them are, needs no look, and what was found of others is kept by each thread.

use slipway_ports::{AtomicU32, Ordering, pages};
use std::cell::Cell;

/// A buffer so close above the stack pointer, in bytes, lies in the stack.
const NEAR: usize = 64 << 10;
/// The most of a buffer to be received into that is looked at: what is behind is taken to be there, as is usual for
/// programs that name a size without limit. Looking has the kernel provide the memory.
pub(crate) const LOOKED_AT: usize = 64 << 10;
/// Places for findings.
const KEPT: usize = 16;

/// The number of times that the program changed its memory by `vm_*` calls: findings of before don't count.
static CHANGES: AtomicU32 = AtomicU32::new(1);

/// The bytes from `start` to `end` are there.
#[derive(Debug, Clone, Copy)]
struct Finding {
    start: usize,
    end: usize,
    write: bool,
    changes: u32,
}

thread_local! {
    static FINDINGS: [Cell<Finding>; KEPT] =
        const { [const { Cell::new(Finding { start: 0, end: 0, write: false, changes: 0 }) }; KEPT] };
}

/// The program gives back or protects memory.
pub(crate) fn forget() {
    CHANGES.fetch_add(1, Ordering::Relaxed);
}

/// How many of the `len` bytes from `at` on can be read, or read and written.
#[inline]
pub(crate) fn reach(at: usize, len: usize, write: bool) -> usize {
    let here = 0u8;
    let above = at.wrapping_sub(std::ptr::from_ref(std::hint::black_box(&here)).addr());
    if above < NEAR && len <= NEAR {
        return len;
    }
    far(at, len, write)
}

fn far(at: usize, len: usize, write: bool) -> usize {
    if len == 0 {
        return 0;
    }
    let changes = CHANGES.load(Ordering::Relaxed);
    let place = at / 64 % KEPT;
    let kept = FINDINGS.try_with(|findings| findings[place].get()).ok();
    let known = kept.filter(|it| it.changes == changes && it.start <= at && at < it.end && it.write >= write);
    if known.is_some_and(|found| found.end - at >= len) {
        return len;
    }
    let found = found(at, len, write);
    let finding = Finding { start: at, end: at.saturating_add(found), write, changes };
    let _ = FINDINGS.try_with(|findings| findings[place].set(finding));
    found
}

/// Asks the kernel.
#[cold]
fn found(at: usize, len: usize, write: bool) -> usize {
    if pages::populate(at, len, write).is_ok() {
        return len;
    }
    let page = pages::page_size();
    let mut found = 0;
    while found < len && at.checked_add(found).is_some() {
        let step = (page - (at + found) % page).min(len - found);
        if pages::populate(at + found, step, write).is_err() {
            break;
        }
        found += step;
    }
    found
}
