//! Values that threads keep by `pthread_key_create`, and the functions that end them: those of a task's file must not be called when
//! the file is gone.
//!
//! A thread of another task may have such a value, because it was in a call, and ends when it likes; Rust's library sets
//! one in every thread that asks who it is. So the C library gets functions of the host, which know whether those of the
//! file are still there.
#![allow(unsafe_code, reason = "functions of the C library, called in its place and in turn")]

use crate::hooks::next;
use std::{
    ffi::{c_int, c_void},
    mem::MaybeUninit,
    sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
};

type End = unsafe extern "C" fn(*mut c_void);
type Create = unsafe extern "C" fn(*mut libc::pthread_key_t, Option<End>) -> c_int;
type Delete = unsafe extern "C" fn(libc::pthread_key_t) -> c_int;

/// A key with a function.
#[derive(Clone, Copy)]
struct Place {
    key: libc::pthread_key_t,
    /// None when it is not to be called any more.
    end: Option<End>,
    /// Threads that are in it.
    inside: usize,
}

struct Places {
    all: [Option<Place>; MOST],
    /// Where to look for a free place: one that was left is not used again before all others.
    next: usize,
}

/// Keys that are looked after. Those of the host and of libmach are among them.
const MOST: usize = 64;

static PLACES: Mutex<Places> = Mutex::new(Places { all: [None; MOST], next: 0 });
static LEFT: Condvar = Condvar::new();

fn places() -> MutexGuard<'static, Places> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the C library calls for a value of the key in place `AT`.
unsafe extern "C" fn ends<const AT: usize>(value: *mut c_void) {
    let end = {
        let mut places = places();
        let Some(Place { end: Some(end), inside, .. }) = &mut places.all[AT] else { return };
        *inside += 1;
        *end
    };
    // SAFETY: it is the key's function, and stays as long as this thread is counted.
    unsafe { end(value) };
    if let Some(place) = &mut places().all[AT] {
        place.inside -= 1;
    }
    LEFT.notify_all();
}

macro_rules! each {
    ($($row:literal)*) => {
        [$(ends::<{ $row * 8 }>, ends::<{ $row * 8 + 1 }>, ends::<{ $row * 8 + 2 }>, ends::<{ $row * 8 + 3 }>,
           ends::<{ $row * 8 + 4 }>, ends::<{ $row * 8 + 5 }>, ends::<{ $row * 8 + 6 }>, ends::<{ $row * 8 + 7 }>),*]
    };
}

static ENDS: [End; MOST] = each!(0 1 2 3 4 5 6 7);

fn create(key: *mut libc::pthread_key_t, end: Option<End>) -> c_int {
    static REAL: OnceLock<Create> = OnceLock::new();
    // SAFETY: the C library's function of this name has this type.
    let real = REAL.get_or_init(|| unsafe { std::mem::transmute::<*mut c_void, Create>(next(b"pthread_key_create\0")) });
    // SAFETY: the key has a place.
    unsafe { real(key, end) }
}

fn delete(key: libc::pthread_key_t) -> c_int {
    static REAL: OnceLock<Delete> = OnceLock::new();
    // SAFETY: the C library's function of this name has this type.
    let real = REAL.get_or_init(|| unsafe { std::mem::transmute::<*mut c_void, Delete>(next(b"pthread_key_delete\0")) });
    // SAFETY: any number may be tried.
    unsafe { real(key) }
}

/// # Safety
/// As for the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_key_create(key: *mut libc::pthread_key_t, end: Option<End>) -> c_int {
    let mut places = places();
    let from = places.next;
    let free = (0..MOST).map(|step| (from + step) % MOST).find(|at| places.all[*at].is_none());
    let (Some(_), Some(at)) = (end, free) else { return create(key, end) };
    let failed = create(key, Some(ENDS[at]));
    if failed == 0 {
        // SAFETY: it was made just now.
        places.all[at] = Some(Place { key: unsafe { key.read() }, end, inside: 0 });
        places.next = at + 1;
    }
    failed
}

/// # Safety
/// As for the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_key_delete(key: libc::pthread_key_t) -> c_int {
    let places = places();
    if let Some(at) = places.all.iter().position(|place| place.is_some_and(|place| place.key == key)) {
        drop(close(places, at));
    }
    delete(key)
}

/// Gives a place up: its function is called no more, and no thread is in it.
fn close(mut places: MutexGuard<'static, Places>, at: usize) -> MutexGuard<'static, Places> {
    if let Some(place) = &mut places.all[at] {
        place.end = None;
    }
    while places.all[at].is_some_and(|place| place.inside > 0) {
        places = LEFT.wait(places).unwrap_or_else(PoisonError::into_inner);
    }
    places.all[at] = None;
    places
}

/// Where the object begins that an address is in.
fn object(address: *const c_void) -> Option<usize> {
    let mut found = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the result has a place, and is read if there is one.
    unsafe { (libc::dladdr(address, found.as_mut_ptr()) != 0).then(|| found.assume_init().dli_fbase.addr()) }
}

/// Deletes the keys whose functions are in the file with this address, which is to be unloaded. Values that
/// threads still have are left as they are.
pub fn forget(address: *const c_void) {
    let file = object(address);
    for at in 0..MOST {
        let places = places();
        if let Some(Place { key, end: Some(end), .. }) = places.all[at]
            && object(end as *const c_void) == file
        {
            // No thread begins with its function behind this, and so none comes to a place that another key has by then.
            delete(key);
            drop(close(places, at));
        }
    }
}
