//! A place of something that every call looks at, and that hardly any puts there or takes.
//!
//! What is taken lives until the calls that look at it have ended. Where there are several threads, a look counts a reference. In a process with
//! one thread it counts itself at the place, without locked instructions: only a signal handler can come between, and all looks that it begins
//! end before it does.

use arc_swap::{ArcSwapOption, Guard};
use slipway_fabric::sync::{
    AtomicPtr, AtomicU32,
    Ordering::{AcqRel, Relaxed},
};
use std::{ops::Deref, ptr, sync::Arc};

unsafe extern "C" {
    /// The C library's word for it that this process has no other thread; null if it has none.
    safe fn slipway_single_threaded() -> *const u8;
}

/// See [`slipway_single_threaded`]. Null until something is put into a first place, and for good once one of several threads has put something into a place or
/// taken it: two that do so at the same time may leave `bare` at a freed entry.
static SINGLE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
/// 1: one of several threads has.
static WERE_SEVERAL: AtomicU32 = AtomicU32::new(0);

/// Whether the word says that there is one thread.
#[inline]
fn says_one(single: *const u8) -> bool {
    // SAFETY: the C library's, which writes it where it makes a thread.
    !single.is_null() && unsafe { single.read_volatile() } != 0
}

/// Something is about to be put into a place or taken.
fn note_threads() {
    let single = slipway_single_threaded();
    if !says_one(single) {
        WERE_SEVERAL.store(1, Relaxed);
    }
    let single = if WERE_SEVERAL.load(Relaxed) == 0 { single } else { ptr::null() };
    SINGLE.store(single.cast_mut(), Relaxed);
}

/// The place.
pub struct Seat<T> {
    entry: ArcSwapOption<Entry<T>>,
    /// The same, for looks of a process with one thread; how many there are; and what was taken from here since one of them began.
    bare: AtomicPtr<Entry<T>>,
    looks: AtomicU32,
    left: AtomicPtr<Entry<T>>,
}

/// What is there.
#[derive(Debug)]
pub struct Entry<T> {
    value: T,
    /// Looks at the place that are older than this. They end in the reverse order: when there are no more, nobody looks at this. One that a
    /// handler jumped out of never ends, and so keeps what it was at.
    older: u32,
    /// The next of those that were taken from the place.
    next: AtomicPtr<Entry<T>>,
}

/// What was taken from a place.
#[derive(Debug)]
pub struct Taken<T>(Arc<Entry<T>>);

impl<T> Deref for Taken<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T> Seat<T> {
    /// An empty one.
    pub const fn new() -> Self {
        Self {
            entry: ArcSwapOption::const_empty(),
            bare: AtomicPtr::new(ptr::null_mut()),
            looks: AtomicU32::new(0),
            left: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Puts something there. It must be empty.
    pub fn put(&self, value: T) {
        note_threads();
        let entry = Arc::new(Entry { value, older: self.looks.load(Relaxed), next: AtomicPtr::default() });
        self.bare.store(Arc::as_ptr(&entry).cast_mut(), Relaxed);
        self.entry.store(Some(entry));
    }

    /// Takes what is there.
    pub fn take(&self) -> Option<Taken<T>> {
        note_threads();
        self.bare.store(ptr::null_mut(), Relaxed);
        let entry = self.entry.swap(None)?;
        if self.looks.load(Relaxed) > entry.older {
            self.leave(Arc::into_raw(Arc::clone(&entry)).cast_mut());
        }
        Some(Taken(entry))
    }

    /// Looks at what is there.
    #[inline]
    pub fn look(&self) -> Look<'_, T> {
        if says_one(SINGLE.load(Relaxed)) { Look::Bare(self.look_bare()) } else { Look::Counted(self.entry.load()) }
    }

    #[inline]
    fn look_bare(&self) -> Bare<'_, T> {
        self.looks.store(self.looks.load(Relaxed).wrapping_add(1), Relaxed);
        Bare { seat: self, entry: self.bare.load(Relaxed) }
    }

    fn leave(&self, entry: *mut Entry<T>) {
        let mut next = self.left.load(Relaxed);
        loop {
            // SAFETY: a count of its references is the list's.
            unsafe { (*entry).next.store(next, Relaxed) };
            match self.left.compare_exchange(next, entry, AcqRel, Relaxed) {
                Ok(_) => return,
                Err(now) => next = now,
            }
        }
    }

    /// Lets go of what was taken from here, where no look is left that may be at it.
    #[cold]
    fn tidy(&self) {
        let mut entry = self.left.swap(ptr::null_mut(), AcqRel);
        while !entry.is_null() {
            // SAFETY: as above.
            let (older, next) = unsafe { ((*entry).older, (*entry).next.load(Relaxed)) };
            if self.looks.load(Relaxed) > older {
                self.leave(entry);
            } else {
                // SAFETY: it was the list's count.
                drop(unsafe { Arc::from_raw(entry) });
            }
            entry = next;
        }
    }
}

/// A look at a place: what it is at lives as long.
pub enum Look<'a, T> {
    /// Of a process with one thread.
    Bare(Bare<'a, T>),
    /// With a reference of its own.
    Counted(Guard<Option<Arc<Entry<T>>>>),
}

impl<T> Look<'_, T> {
    /// What is there.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        let entry = match self {
            // SAFETY: as long as the look is counted, it lives.
            Self::Bare(look) => unsafe { look.entry.as_ref() },
            Self::Counted(guard) => guard.as_deref(),
        };
        entry.map(|entry| &entry.value)
    }
}

/// See [`Look::Bare`].
pub struct Bare<'a, T> {
    seat: &'a Seat<T>,
    entry: *const Entry<T>,
}

impl<T> Drop for Bare<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.seat.looks.store(self.seat.looks.load(Relaxed).wrapping_sub(1), Relaxed);
        if !self.seat.left.load(Relaxed).is_null() {
            self.seat.tidy();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look<T>(seat: &Seat<T>) -> Look<'_, T> {
        Look::Bare(seat.look_bare())
    }

    #[test]
    fn what_is_taken_lives_as_long_as_looks_at_it() {
        let (seat, values) = (Seat::new(), [Arc::new(1), Arc::new(2)]);
        let lives = || values.each_ref().map(|value| Arc::strong_count(value) > 1);
        seat.put(Arc::clone(&values[0]));
        let first = look(&seat);
        let inner = look(&seat);
        drop(seat.take());
        // As a handler does it that comes between.
        seat.put(Arc::clone(&values[1]));
        let second = look(&seat);
        drop(seat.take());
        assert!(look(&seat).get().is_none());
        assert_eq!((first.get().map(|it| **it), second.get().map(|it| **it)), (Some(1), Some(2)));
        drop(second);
        assert_eq!(lives(), [true, false]);
        drop(inner);
        assert_eq!((lives(), first.get().map(|it| **it)), ([true, false], Some(1)));
        drop(first);
        assert_eq!(lives(), [false, false]);
    }

    #[test]
    fn a_look_that_never_ends_keeps_what_it_was_at_and_no_more() {
        let (seat, values) = (Seat::new(), [Arc::new(1), Arc::new(2)]);
        seat.put(Arc::clone(&values[0]));
        std::mem::forget(look(&seat));
        drop(seat.take());
        seat.put(Arc::clone(&values[1]));
        drop(look(&seat));
        drop(seat.take());
        assert_eq!(values.each_ref().map(Arc::strong_count), [2, 1]);
    }
}
