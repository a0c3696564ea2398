//! What tests of many parts share: a watchdog, random numbers, waiting for a thing to come about, and counts
//! of what a process holds.

use slipway_ports::{abi::kind, task::Task};
use std::{
    sync::mpsc::{Sender, channel},
    time::{Duration, Instant},
};

/// A wait this long is one that nothing will end.
pub const WATCHDOG: Duration = Duration::from_secs(60);

/// Ends the process if it is not dropped in time: a thread that hangs can't be joined.
#[derive(Debug)]
pub struct Watchdog(#[allow(dead_code, reason = "its drop is the news")] Sender<()>);

/// Watches over what follows. `what` is named if it hangs.
pub fn watchdog(what: &str, limit: Duration) -> Watchdog {
    let (tell, told) = channel();
    let what = what.to_owned();
    std::thread::spawn(move || {
        if told.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            eprintln!("{what}: hangs (process {})", std::process::id());
            for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
                let call = std::fs::read_to_string(task.path().join("syscall")).unwrap_or_default();
                eprintln!("  thread {:?} in {}", task.file_name(), call.trim());
            }
            std::process::abort();
        }
    });
    Watchdog(tell)
}

/// A small generator of random numbers whose whole state is the seed that a failure prints.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        dice.any();
        dice
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number less than `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.any() >> 33) as usize % n
    }

    /// One of some.
    pub fn of<T: Copy>(&mut self, some: &[T]) -> T {
        some[self.below(some.len())]
    }
}

/// The seed of a random test: `SLIPWAY_FUZZ_SEED`, or one of its own.
pub fn seed() -> u64 {
    let given = std::env::var("SLIPWAY_FUZZ_SEED").ok().and_then(|s| s.parse().ok());
    given.unwrap_or_else(|| u64::from(std::process::id()) << 20)
}

/// How long an open-ended random test goes on: `SLIPWAY_FUZZ_SECONDS`.
pub fn fuzz_time() -> Duration {
    let seconds = std::env::var("SLIPWAY_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    Duration::from_secs(seconds.unwrap_or(5))
}

/// Says the seed if the test fails.
#[derive(Debug)]
pub struct Named(pub u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("repeat this with SLIPWAY_FUZZ_SEED={}", self.0);
        }
    }
}

/// Looks until something has come about, which others are about to bring.
pub fn until(what: &str, mut come: impl FnMut() -> bool) {
    let start = Instant::now();
    while !come() {
        assert!(start.elapsed() < WATCHDOG, "{what}: not in {WATCHDOG:?}");
        std::thread::yield_now();
    }
}

/// Waits until a thread of this process sleeps, or has ended.
pub fn until_asleep(thread: i32) {
    let stat = format!("/proc/self/task/{thread}/stat");
    let mut times = 0;
    until("the thread sleeps", || {
        // One that is done already waits for nothing any more.
        let Ok(text) = std::fs::read_to_string(&stat) else { return true };
        let asleep = text.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'));
        times = if asleep { times + 1 } else { 0 };
        // It may be for a lock that somebody else holds for a moment: taking it, and giving it back, wakes who waits
        // for that.
        let _ = Task::current().kind(slipway_ports::abi::NULL);
        times > 20
    });
}

/// Runs `wait` on a thread of its own and `change` once that sleeps: what `wait` came to.
pub fn woken_by<T: Send>(wait: impl FnOnce() -> T + Send, change: impl FnOnce()) -> T {
    std::thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        let waiter = scope.spawn(move || {
            tell.send(thread_number()).expect("the test waits");
            wait()
        });
        until_asleep(told.recv().expect("its number"));
        change();
        waiter.join().expect("no panic")
    })
}

/// The kernel's number of the calling thread.
pub fn thread_number() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// What a process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holdings {
    /// Open descriptors.
    pub fds: usize,
    /// Mappings of lines' segments and of memory files.
    pub maps: usize,
    /// Names in the current task's space.
    pub names: usize,
}

/// Open descriptors of this process.
pub fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("/proc").count()
}

/// Mappings of memory files: the heap's come and go as they like.
pub fn mappings() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("/proc");
    maps.lines().filter(|line| line.contains("memfd:slipway")).count()
}

/// What this process holds now.
pub fn holdings() -> Holdings {
    Holdings { fds: descriptors(), maps: mappings(), names: Task::current().names().expect("a live task").len() }
}

/// What each open descriptor is, for a message about a leak.
pub fn descriptor_list(process: &str) -> Vec<String> {
    let mut all: Vec<String> = std::fs::read_dir(format!("/proc/{process}/fd"))
        .expect("/proc")
        .flatten()
        .map(|fd| format!("{:?} {:?}", fd.file_name(), std::fs::read_link(fd.path()).unwrap_or_default()))
        .collect();
    all.sort();
    all
}

/// Waits until this process holds what it held before: deaths are heard of a moment later.
pub fn until_held(before: Holdings) {
    let start = Instant::now();
    loop {
        // A thread that waited last on a line keeps that mapped until it waits again.
        let port = super::receive_right();
        let _ = super::receive_within(port, 1);
        Task::current().destroy(port).expect("a port of ours");
        let now = holdings();
        if now.fds <= before.fds && now.maps <= before.maps && now.names <= before.names {
            return;
        }
        assert!(start.elapsed() < WATCHDOG / 3, "held {before:?} before, {now:?} now: {:#?}", descriptor_list("self"));
        std::thread::yield_now();
    }
}

/// Destroys all names of this task but those in `keep` and those that it was born with.
pub fn destroy_all_but(keep: &[u32]) {
    let task = Task::current();
    let own = task.self_name();
    for (name, _) in task.names().expect("a live task") {
        if name != own && !keep.contains(&name) {
            let _ = task.destroy(name);
        }
    }
}

/// Whether a name is a dead name.
pub fn is_dead(name: u32) -> bool {
    Task::current().kind(name).is_ok_and(|it| it & kind::DEAD_NAME != 0)
}

/// The CPU time that this process has used so far.
pub fn cpu_time() -> Duration {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}
