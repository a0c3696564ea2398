//! Values that threads keep by `pthread_key_create`, and the functions that end them: those of a task's file must not be called when
//! the file is gone.
//!
//! A thread of another task may have such a value, because it was in a call, and ends when it likes; Rust's library sets
//! one in every thread that asks for its identity. So the C library gets functions of the host, which know whether those of the
//! file are still there.
#![allow(unsafe_code, reason = "functions of the C library, called in its slot and in turn")]

use crate::hooks::next;
use std::{
    cell::Cell,
    ffi::{c_int, c_void},
    mem::{ManuallyDrop, MaybeUninit},
    sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

/// The function that ends a value.
pub type End = unsafe extern "C" fn(*mut c_void);
type Create = unsafe extern "C" fn(*mut libc::pthread_key_t, Option<End>) -> c_int;
type Delete = unsafe extern "C" fn(libc::pthread_key_t) -> c_int;

/// A key with a function.
#[derive(Clone, Copy)]
struct Slot {
    key: libc::pthread_key_t,
    /// None when the key is deleted: the last thread in the function gives the slot up.
    end: Option<End>,
    /// Threads that are in it.
    inside: usize,
}

struct Slots {
    all: [Option<Slot>; MOST],
    /// Where to look for a free slot: one that was left is not used again before all others.
    next: usize,
    /// A file is being unloaded: no thread goes into any function until it is known which of them are left.
    barred: bool,
    /// There was a key too many once: its function is not known, nor when it is called.
    full: bool,
}

/// Keys whose functions are known here. With more of them no file is unloaded any more.
const MOST: usize = 128;

/// How long the threads that are in functions may keep a file from being unloaded.
const PATIENCE: Duration = Duration::from_secs(1);

static SLOTS: Mutex<Slots> = Mutex::new(Slots { all: [None; MOST], next: 0, barred: false, full: false });
static CHANGED: Condvar = Condvar::new();

fn slots() -> MutexGuard<'static, Slots> {
    SLOTS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slots {
    /// The function in the slot is called no more, by threads that come from here on.
    fn give_up(&mut self, at: usize) {
        if let Some(slot) = &mut self.all[at] {
            slot.end = None;
            if slot.inside == 0 {
                self.all[at] = None;
            }
        }
    }
}

/// What the C library calls for a value of the key in slot `AT`.
unsafe extern "C" fn ends<const AT: usize>(value: *mut c_void) {
    let end = {
        let mut slots = slots();
        while slots.barred {
            slots = CHANGED.wait(slots).unwrap_or_else(PoisonError::into_inner);
        }
        let Some(Slot { end: Some(end), inside, .. }) = &mut slots.all[AT] else { return };
        *inside += 1;
        *end
    };
    // SAFETY: it is the key's function, and stays as long as this thread is counted.
    unsafe { end(value) };
    let mut slots = slots();
    if let Some(slot) = &mut slots.all[AT] {
        // In a child of fork others' are not counted.
        slot.inside = slot.inside.saturating_sub(1);
        if slot.end.is_none() {
            slots.give_up(AT);
        }
    }
    CHANGED.notify_all();
}

macro_rules! sixteen {
    ($($from:literal)*) => {
        [$([
            ends::<{ $from }>, ends::<{ $from + 1 }>, ends::<{ $from + 2 }>, ends::<{ $from + 3 }>,
            ends::<{ $from + 4 }>, ends::<{ $from + 5 }>, ends::<{ $from + 6 }>, ends::<{ $from + 7 }>,
            ends::<{ $from + 8 }>, ends::<{ $from + 9 }>, ends::<{ $from + 10 }>, ends::<{ $from + 11 }>,
            ends::<{ $from + 12 }>, ends::<{ $from + 13 }>, ends::<{ $from + 14 }>, ends::<{ $from + 15 }>,
        ]),*]
    };
}

/// One for each slot: the C library passes a function nothing but the value.
static ENDS: [[End; 16]; MOST / 16] = sixteen!(0 16 32 48 64 80 96 112);

fn create(key: *mut libc::pthread_key_t, end: Option<End>) -> c_int {
    static REAL: OnceLock<Create> = OnceLock::new();
    // SAFETY: the C library's function of this name has this type.
    let real = REAL.get_or_init(|| unsafe { std::mem::transmute::<*mut c_void, Create>(next(c"pthread_key_create")) });
    // SAFETY: the key has a slot.
    unsafe { real(key, end) }
}

fn delete(key: libc::pthread_key_t) -> c_int {
    static REAL: OnceLock<Delete> = OnceLock::new();
    // SAFETY: the C library's function of this name has this type.
    let real = REAL.get_or_init(|| unsafe { std::mem::transmute::<*mut c_void, Delete>(next(c"pthread_key_delete")) });
    // SAFETY: any number may be tried.
    unsafe { real(key) }
}

/// # Safety
/// As for the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_key_create(key: *mut libc::pthread_key_t, end: Option<End>) -> c_int {
    let mut slots = slots();
    let from = slots.next;
    let free = (0..MOST).map(|step| (from + step) % MOST).find(|at| slots.all[*at].is_none());
    if end.is_none() {
        return create(key, end);
    }
    let Some(at) = free else {
        slots.full = true;
        return create(key, end);
    };
    let failed = create(key, Some(ENDS[at / 16][at % 16]));
    if failed == 0 {
        // SAFETY: it was made just now.
        slots.all[at] = Some(Slot { key: unsafe { key.read() }, end, inside: 0 });
        slots.next = at + 1;
    }
    failed
}

/// # Safety
/// As for the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_key_delete(key: libc::pthread_key_t) -> c_int {
    let mut slots = slots();
    let failed = delete(key);
    let is_it = |slot: &Slot| slot.key == key && slot.end.is_some();
    if failed == 0
        && let Some(at) = slots.all.iter().position(|slot| slot.as_ref().is_some_and(is_it))
    {
        slots.give_up(at);
    }
    failed
}

/// Whether a function is in a file that is loaded.
fn is_loaded(end: End) -> bool {
    let mut found = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the result has a slot.
    unsafe { libc::dladdr(end as *const c_void, found.as_mut_ptr()) != 0 }
}

/// Unloads a file while no thread is in any function, and deletes the keys whose functions are gone with it, or with a library
/// that it alone had. Values that threads still have of them are left as they are. None, and nothing is done, if a thread
/// stays in a function, or if there was a key too many.
pub fn unloading<T>(unload: impl FnOnce() -> T) -> Option<T> {
    let busy = |slots: &mut Slots| slots.all.iter().flatten().any(|slot| slot.inside > 0);
    let waited = CHANGED.wait_timeout_while(slots(), PATIENCE, busy);
    let (mut slots, late) = waited.unwrap_or_else(PoisonError::into_inner);
    if late.timed_out() || slots.full {
        return None;
    }
    slots.barred = true;
    let before = slots.all;
    // What the file does at its end may make and delete keys. The loader is asked without the lock, as others come
    // from the loader to the lock.
    drop(slots);
    let result = unload();
    let is_gone = |slot: &Option<Slot>| slot.and_then(|slot| slot.end).is_some_and(|end| !is_loaded(end));
    let gone: Vec<usize> = (0..MOST).filter(|at| is_gone(&before[*at])).collect();
    let mut slots = self::slots();
    for at in gone {
        if let (Some(Slot { key, end: Some(end), .. }), Some(old)) = (slots.all[at], before[at])
            && (key, Some(end as usize)) == (old.key, old.end.map(|end| end as usize))
        {
            delete(key);
            slots.give_up(at);
        }
    }
    slots.barred = false;
    CHANGED.notify_all();
    Some(result)
}

thread_local! {
    /// The lock, while the thread forks.
    static HELD: Cell<Option<ManuallyDrop<MutexGuard<'static, Slots>>>> = const { Cell::new(None) };
}

/// Takes the lock, so that a child finds it free.
pub fn hold() {
    HELD.set(Some(ManuallyDrop::new(slots())));
}

/// Gives it back.
pub fn release() {
    drop(HELD.take().map(ManuallyDrop::into_inner));
}

/// In a child, with the lock held: the threads that were in functions are not here.
pub fn begin_anew() {
    if let Some(mut held) = HELD.take() {
        held.barred = false;
        held.all.iter_mut().flatten().for_each(|slot| slot.inside = 0);
        held.all.iter_mut().filter(|slot| slot.is_some_and(|slot| slot.end.is_none())).for_each(|slot| *slot = None);
        HELD.set(Some(held));
    }
}
