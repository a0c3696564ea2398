//! What must be asked of the dynamic loader before a lock of ours is held.
//!
//! The first look at the clock or the processor looks a function up, for which it takes the loader's lock. A thread that holds a lock of ours must
//! not wait for that one: dlopen(3) holds it while constructors run, and those may wait for ours.

use rustix::{
    thread::sched_getcpu,
    time::{ClockId, clock_gettime},
};

/// Asks for it, once. For a thread that holds no lock: that of a constructor of the library, or one that is about to use it for the first time.
pub fn ask_loader() {
    let _ = clock_gettime(ClockId::Monotonic);
    let _ = sched_getcpu();
}
