//! A program that is about to filter its system calls (seccomp(2)): the kernel may end it for any that the hooks make and the program does not, so they leave
//! it to itself before.

use crate::{
    real::{real, shield},
    room::leave_all,
    table::{self, Slot},
};
use libc::{PR_SET_SECCOMP, SECCOMP_SET_MODE_FILTER, SECCOMP_SET_MODE_STRICT};
use slipway_transport::stream::Stream;
use std::{
    ffi::{c_int, c_long, c_ulong},
    sync::Arc,
    time::{Duration, Instant},
};

real! {
    fn prctl(option: c_int, second: c_ulong, third: c_ulong, fourth: c_ulong, fifth: c_ulong) -> c_int;
}

/// How long threads that were woken by the end of their line get to be back in calls of the program's own. One that sleeps on its socket is not woken.
const GRACE: Duration = Duration::from_millis(10);

/// Threads that slept on these connections' lines are awake by now, and make calls that a filter for them, too (SECCOMP_FILTER_FLAG_TSYNC), may forbid.
fn await_sleepers(lined: &[Arc<Stream>]) {
    let start = Instant::now();
    while start.elapsed() < GRACE && lined.iter().any(|stream| stream.is_slept_on()) {
        rustix::thread::sched_yield();
    }
}

/// All connections go back to their sockets, and nobody finds the hubs any more.
fn leave() {
    let lined: Vec<_> = table::used().filter_map(table::stream).filter(|stream| stream.line_socket().is_open()).collect();
    leave_all();
    await_sleepers(&lined);
    // With what they have of the hubs, before those end.
    for fd in table::used() {
        if matches!(table::get(fd), Some(Slot::Set(set)) if set.leave()) {
            table::leave(fd);
        }
    }
    for fd in table::used() {
        match table::get(fd) {
            // Kept for good: their ends make calls, in whichever thread has them last.
            Some(Slot::Stream(stream)) => {
                stream.watch_no_more();
                if stream.is_plain() && !stream.line_socket().is_open() {
                    table::leave(fd);
                }
                std::mem::forget(stream);
            }
            Some(Slot::Plain(client)) => {
                table::leave(fd);
                std::mem::forget(client);
            }
            Some(Slot::Listener(hub)) => {
                hub.give_up();
                table::leave(fd);
            }
            _ => {}
        }
    }
}

/// Before seccomp(2) with these arguments. libseccomp asks without a filter what the kernel knows.
pub fn before_seccomp(operation: c_long, filter: c_long) {
    let operation = operation as libc::c_uint;
    if operation == SECCOMP_SET_MODE_STRICT || operation == SECCOMP_SET_MODE_FILTER && filter != 0 {
        shield(leave, || {});
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn prctl(option: c_int, second: c_ulong, third: c_ulong, fourth: c_ulong, fifth: c_ulong) -> c_int {
    if option == PR_SET_SECCOMP && (second == c_ulong::from(libc::SECCOMP_MODE_STRICT) || third != 0) {
        shield(leave, || {});
    }
    // SAFETY: the caller's contract is prctl(2)'s; arguments that it does not have are anything.
    unsafe { next::prctl(option, second, third, fourth, fifth) }
}
