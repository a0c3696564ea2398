//! An X server's interval timer, set lazily: what is done of what the program asks.
//!
//! The server stops its scheduling timer before each wait and starts it after: two system calls for
//! each request of a client in a hurry. Here a stop is remembered, and the next tick does it; a start
//! that finds the timer still running only moves the time at which it is due. Ticks that come while
//! the timer is stopped, or early, never reach the server's handler. So the
//! handler runs when it would have run, and never when it would not have. What remains visible is
//! that the first tick after a stop, at most one interval later, can interrupt a wait (EINTR) once.

use slipway_fabric::sync::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A tick this little early counts as in time, in nanoseconds: the kernel's own timers are not finer.
const SLACK: u64 = 50_000;

/// The timer. Times are in nanoseconds, of the monotonic clock.
#[derive(Debug, Default)]
pub struct LazyTimer {
    /// The kernel's timer runs, with `interval` between ticks.
    running: AtomicBool,
    interval: AtomicU64,
    /// When the program's timer ticks next; 0 is never.
    due: AtomicU64,
}

/// What to do at a tick of the kernel's timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tick {
    /// The program has stopped it, and nothing more.
    Nothing,
    /// The program has stopped it: stop the kernel's.
    Stop,
    /// It is early: set the kernel's to tick after `first`, and then every `interval`.
    Later {
        /// From now.
        first: u64,
        /// See there.
        interval: u64,
    },
    /// Call the program's handler.
    Call,
}

impl LazyTimer {
    /// One that is stopped.
    pub const fn new() -> Self {
        Self { running: AtomicBool::new(false), interval: AtomicU64::new(0), due: AtomicU64::new(0) }
    }

    /// The program stops it.
    pub fn stop(&self) {
        self.due.store(0, Relaxed);
    }

    /// Whether a timer can be left running: only one that ticks on, and whose next tick can't be late.
    pub fn suits(first: u64, interval: u64) -> bool {
        first == interval
    }

    /// The program starts it, to tick `interval` after `time` and every `interval` from then on. Whether the kernel's must be set.
    pub fn start(&self, time: u64, interval: u64) -> bool {
        let kept = self.running.load(Relaxed) && self.interval.load(Relaxed) == interval;
        self.due.store(time.saturating_add(interval), Relaxed);
        if !kept {
            self.interval.store(interval, Relaxed);
            self.running.store(true, Relaxed);
        }
        !kept
    }

    /// The kernel's timer has ticked, at `time`.
    pub fn tick(&self, time: u64) -> Tick {
        let (due, interval) = (self.due.load(Relaxed), self.interval.load(Relaxed));
        if due == 0 {
            return if self.settle() { Tick::Stop } else { Tick::Nothing };
        }
        if time.saturating_add(SLACK) < due {
            return Tick::Later { first: due - time, interval };
        }
        self.due.store(time.saturating_add(interval), Relaxed);
        Tick::Call
    }

    /// Whether the kernel's timer must be stopped, for it to be what the program thinks it is; the caller stops it.
    pub fn settle(&self) -> bool {
        self.due.load(Relaxed) == 0 && self.running.swap(false, Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_and_starts_between_two_ticks_cost_nothing() {
        let timer = LazyTimer::new();
        let ms = 1_000_000;
        assert!(LazyTimer::suits(20 * ms, 20 * ms) && !LazyTimer::suits(ms, 20 * ms));
        assert!(timer.start(100 * ms, 20 * ms), "the kernel's is not set yet");
        timer.stop();
        assert!(!timer.start(110 * ms, 20 * ms), "it still runs");
        assert_eq!(timer.tick(120 * ms), Tick::Later { first: 10 * ms, interval: 20 * ms }, "of the first start");
        assert_eq!(timer.tick(130 * ms - SLACK), Tick::Call);
        assert_eq!(timer.tick(150 * ms), Tick::Call, "and on");
        assert!(timer.start(150 * ms, 30 * ms), "another interval");
        timer.stop();
        assert_eq!([timer.tick(180 * ms), timer.tick(210 * ms)], [Tick::Stop, Tick::Nothing]);
        assert!(!timer.settle());
        assert!(timer.start(300 * ms, 30 * ms));
        assert!(!timer.settle(), "it is to run");
        timer.stop();
        assert!(timer.settle() && !timer.settle());
    }
}
