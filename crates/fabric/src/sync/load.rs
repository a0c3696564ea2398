//! What must be asked of the dynamic loader, while this library is loaded.
//!
//! The first look at the clock or the processor looks a function up, for which it takes the loader's lock. A thread that holds a lock of ours must
//! not wait for that one: dlopen(3) holds it while constructors run, and those may wait for ours.
#![allow(unsafe_code, reason = "an entry for the loader's list of constructors")]

use rustix::{
    thread::sched_getcpu,
    time::{ClockId, clock_gettime},
};

extern "C" fn at_load() {
    let _ = clock_gettime(ClockId::Monotonic);
    let _ = sched_getcpu();
}

// SAFETY: the section is a list of functions without a contract.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;
