//! The C program `stubs/colocate_stamps.c`.
#![allow(unsafe_code, reason = "functions in C")]

use crate::colocate::cases::Test;
use crate::colocate::stubs::{Client, outcome};
use std::ffi::c_int;
use std::fs;
use std::time::{Duration, Instant};

unsafe extern "C" {
    fn stamps_begin(counter: c_int, halves: c_int);
    fn stamps_now() -> u64;
    fn stamps_cost(readings: *mut u64);
    fn stamps_of(server: c_int, readings: *mut u64);
    fn stamped_calls(test: c_int, server: u32) -> c_int;
    fn stamped_serve(port: u32) -> c_int;
    fn loop_calls(what: c_int, test: c_int, server: u32, times: c_int) -> c_int;
}

/// Calls in a go, and readings of each on either side: as `stubs/colocate_stamps.h` has them.
pub const CALLS: usize = 400;
const STAMPS: usize = 5;

/// The readings of a go.
pub type Readings = Vec<[u64; STAMPS]>;

/// What is called in a loop; the numbers are those of `stubs/colocate_stamps.c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looped {
    /// Nothing at all.
    Nothing,
    /// The server's routine.
    Routine,
    /// The server's trap function, which calls the routine.
    Function,
    /// `mach_trap`, which calls that.
    Trap,
    /// The client's stub, which calls that.
    Stub,
}

/// The clock of the readings.
pub struct Clock {
    /// Nanoseconds of one count.
    pub ns: f64,
}

/// How long the counter's rate is measured.
const RATE: Duration = Duration::from_millis(20);

impl Clock {
    /// Has this process read its clock: the processor's counter where the kernel trusts it on all processors.
    pub fn begin(halves: bool) -> Self {
        let source = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
        let counter = cfg!(target_arch = "x86_64") && source.is_ok_and(|source| source.trim() == "tsc");
        // SAFETY: sets variables of a program that does nothing yet.
        unsafe { stamps_begin(counter.into(), halves.into()) };
        Self { ns: if counter { rate() } else { 1.0 } }
    }
}

fn now() -> u64 {
    // SAFETY: reads a clock.
    unsafe { stamps_now() }
}

fn rate() -> f64 {
    let (start, from) = (Instant::now(), now());
    while start.elapsed() < RATE {}
    let (took, to) = (start.elapsed(), now());
    took.as_nanos() as f64 / to.saturating_sub(from).max(1) as f64
}

/// What one reading takes, in counts: the differences between many in a row.
pub fn costs() -> Vec<f64> {
    let mut readings = vec![0; CALLS];
    // SAFETY: there is room for so many.
    unsafe { stamps_cost(readings.as_mut_ptr()) };
    readings.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]) as f64).collect()
}

/// The readings of the last go. The last call's are not all there yet, so it is left out.
pub fn readings(server: bool) -> Readings {
    let mut readings: Readings = vec![[0; STAMPS]; CALLS];
    // SAFETY: there is room for all. The server's thread writes no readings but the last call's meanwhile.
    unsafe { stamps_of(server.into(), readings.as_mut_ptr().cast()) };
    readings.truncate(CALLS - 1);
    readings
}

/// Makes a go of calls, as the client of this process.
///
/// # Errors
/// What a stub returned.
pub fn go(_: &mut Client, test: Test, server: u32) -> anyhow::Result<()> {
    // SAFETY: there is one client, so nobody else uses the readings and buffers.
    outcome("the call", unsafe { stamped_calls(test as c_int, server) })
}

/// Makes calls in a loop, of what is within a call by trap to `server`.
///
/// # Errors
/// What was returned, or that no trap was possible.
pub fn repeat(_: &mut Client, what: Looped, test: Test, server: u32, times: u32) -> anyhow::Result<()> {
    // SAFETY: as for `go`; the routines take what is passed.
    outcome("the call", unsafe { loop_calls(what as c_int, test as c_int, server, times as c_int) })
}

/// Answers calls at `port`, without end.
///
/// # Errors
/// What ended it.
pub fn serve(port: u32) -> anyhow::Result<()> {
    // SAFETY: a process has one server, which alone writes its readings.
    outcome("mach_msg", unsafe { stamped_serve(port) })
}
