//! Descriptors are the program's. Those of the library go when the program comes near its limit, and all of them when
//! a call of the program finds none: then it is made once more.
//!
//! Calls that the C library makes inside itself are not seen: a reserve of free numbers is for them.

use crate::{
    real::{fail, last_error, real, shield},
    table::{self, Slot},
};
use libc::{DIR, FILE, clockid_t, mode_t, pid_t, rlimit, sigset_t};
use rustix::io::Errno;
use slipway_fabric::sync::{AtomicU32, Ordering::Relaxed};
use slipway_transport::{descriptor, stream::Stream};
use std::{
    ffi::{c_char, c_int, c_uint},
    os::fd::{AsFd, AsRawFd, RawFd},
    sync::Arc,
};

/// 1: the connections of this process stay on their sockets from here on.
static LEFT: AtomicU32 = AtomicU32::new(0);

/// All connections go back to their sockets, and none that comes leaves its own.
pub fn leave_all() {
    LEFT.store(1, Relaxed);
    give_up_lines(usize::MAX);
    // Those that another thread is at, too.
    table::used().for_each(stay);
}

/// Whether no connection leaves its socket any more.
pub fn are_left() -> bool {
    LEFT.load(Relaxed) != 0
}

/// Puts the connection that `fd` is back on its socket.
fn stay(fd: RawFd) {
    if let Some(stream) = table::stream(fd) {
        table::give_back(fd, &stream);
    }
}

/// The connection `fd` has just got its place: if all were left meanwhile, it is, too.
pub fn settle(fd: RawFd) {
    if are_left() {
        stay(fd);
    }
}

/// Whether there is room for a line of the program's descriptor `fd`, which is new. Where there is none, others give theirs up.
pub fn for_line(fd: RawFd) -> bool {
    if are_left() {
        return false;
    }
    let missing = descriptor::shortage(fd);
    if missing > 0 {
        // A few more, so that not every connection looks through all of them.
        give_up_lines(missing + 8);
    }
    missing == 0
}

/// Puts connections on their sockets until `count` lines are given up; idle ones first, of these the latest.
fn give_up_lines(count: usize) {
    let mut lines: Vec<(bool, RawFd, RawFd, Arc<Stream>)> = table::used()
        .filter_map(|fd| match table::get(fd)? {
            Slot::Stream(stream) => {
                let line = stream.line_socket();
                let number = line.is_open().then(|| line.as_fd().as_raw_fd())?;
                Some((!stream.is_idle(), number, fd, stream))
            }
            _ => None,
        })
        .collect();
    lines.sort_unstable_by_key(|(busy, number, fd, _)| (*busy, *number, *fd));
    lines.dedup_by_key(|(_, number, ..)| *number);
    let given = lines.into_iter().filter(|(.., fd, stream)| table::borrowed(*fd, |fd| stream.give_up(fd)));
    given.take(count).for_each(drop);
}

/// How often all are asked for: another thread may use some of them at that moment.
const TRIES: usize = 20;

/// A call of the program has found no descriptor: gives up all of the library's that are in its way. True if that made room.
#[cold]
fn relieve() -> bool {
    let error = last_error();
    let relieved = shield(
        || {
            let before = descriptor::within();
            // The program's table may not be what is full: inotify_init1(2) says the same of the user's instances.
            let has_room = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).is_ok();
            if before == 0 || has_room() {
                return false;
            }
            for _ in 0..TRIES {
                give_up_lines(usize::MAX);
                table::each(|slot| match slot {
                    Slot::Set(set) => set.give_up(),
                    Slot::Listener(hub) => hub.give_up(),
                    Slot::Stream(_) | Slot::Plain(_) | Slot::Early(_) => {}
                });
                if descriptor::within() == 0 {
                    break;
                }
                rustix::thread::sched_yield();
            }
            descriptor::within() < before
        },
        || false,
    );
    fail(error);
    relieved
}

/// What a call returns that makes a descriptor.
pub trait Made {
    /// Whether it failed, for the reason in errno.
    fn failed(&self) -> bool;

    /// Whether the program would get the number of one of the library's descriptors next.
    fn meets_ours(&self) -> bool {
        false
    }
}

impl Made for c_int {
    fn failed(&self) -> bool {
        *self < 0
    }

    fn meets_ours(&self) -> bool {
        descriptor::is_reserved(self + 1) && descriptor::shortage(*self) > 0
    }
}

impl<T> Made for *mut T {
    fn failed(&self) -> bool {
        self.is_null()
    }
}

/// Makes a call of the program that makes a descriptor.
pub fn made<T: Made>(call: impl Fn() -> T) -> T {
    let result = call();
    if result.failed() && last_error() == Errno::MFILE && relieve() {
        return call();
    }
    if result.meets_ours() {
        relieve();
    }
    result
}

/// Hooks that do so, and nothing else.
macro_rules! make {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $ret:ty;)*) => {
        real! { $(fn $name($($arg: $type),*) -> $ret;)* }
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $type),*) -> $ret {
                // SAFETY: the caller's contract is the function's.
                made(|| unsafe { next::$name($($arg),*) })
            }
        )*
    };
}

// Where C has a variable argument, see `descriptor::fcntl`.
make! {
    fn open(path: *const c_char, flags: c_int, mode: usize) -> c_int;
    fn open64(path: *const c_char, flags: c_int, mode: usize) -> c_int;
    fn openat(at: c_int, path: *const c_char, flags: c_int, mode: usize) -> c_int;
    fn openat64(at: c_int, path: *const c_char, flags: c_int, mode: usize) -> c_int;
    fn __open_2(path: *const c_char, flags: c_int) -> c_int;
    fn __open64_2(path: *const c_char, flags: c_int) -> c_int;
    fn __openat_2(at: c_int, path: *const c_char, flags: c_int) -> c_int;
    fn __openat64_2(at: c_int, path: *const c_char, flags: c_int) -> c_int;
    fn creat(path: *const c_char, mode: mode_t) -> c_int;
    fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE;
    fn fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE;
    fn opendir(path: *const c_char) -> *mut DIR;
    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int;
    fn pipe(ends: *mut c_int) -> c_int;
    fn pipe2(ends: *mut c_int, flags: c_int) -> c_int;
    fn eventfd(value: c_uint, flags: c_int) -> c_int;
    fn timerfd_create(clock: clockid_t, flags: c_int) -> c_int;
    fn signalfd(fd: c_int, signals: *const sigset_t, flags: c_int) -> c_int;
    fn inotify_init() -> c_int;
    fn inotify_init1(flags: c_int) -> c_int;
    fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
    fn shm_open(name: *const c_char, flags: c_int, mode: mode_t) -> c_int;
}

/// Hooks on the limit, which is not the program's own while a descriptor is put above it.
macro_rules! limit {
    ($(fn $name:ident($($arg:ident: $type:ty),*);)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $type),*) -> c_int {
                // SAFETY: the caller's contract is the function's.
                descriptor::with_limit(|| unsafe { limits::next::$name($($arg),*) })
            }
        )*
        mod limits {
            use super::*;
            real! { $(fn $name($($arg: $type),*) -> c_int;)* }
        }
    };
}

limit! {
    fn getrlimit(resource: c_int, limit: *mut rlimit);
    fn getrlimit64(resource: c_int, limit: *mut rlimit);
    fn setrlimit(resource: c_int, limit: *const rlimit);
    fn setrlimit64(resource: c_int, limit: *const rlimit);
    fn prlimit(pid: pid_t, resource: c_int, new: *const rlimit, old: *mut rlimit);
    fn prlimit64(pid: pid_t, resource: c_int, new: *const rlimit, old: *mut rlimit);
}
