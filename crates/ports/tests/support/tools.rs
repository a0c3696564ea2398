//! What tests of many parts share: waiting for a thing to come about, and counts of what a process holds.

use slipway_ports::{abi::kind, task::Task};
pub use slipway_test_support::{Dice, NamedSeed, WATCHDOG, fuzz_time, until, watchdog};
use std::time::{Duration, Instant};

/// The seed of a random test: `SLIPWAY_FUZZ_SEED`, or one of its own.
pub fn seed() -> u64 {
    slipway_test_support::seed().0
}

/// Waits until a thread of this process sleeps, or has ended.
pub fn until_asleep(thread: i32) {
    // It may be for a lock that somebody else holds for a moment: taking it, and giving it back, wakes who waits for that.
    until_asleep_with(thread, || _ = Task::current().kind(slipway_ports::abi::NULL));
}

/// As [`until_asleep`], with something that is done at each look.
pub fn until_asleep_with(thread: i32, act: impl Fn()) {
    let stat = format!("/proc/self/task/{thread}/stat");
    let mut times = 0;
    until("the thread sleeps", || {
        // One that is done already waits for nothing any more.
        let Ok(text) = std::fs::read_to_string(&stat) else { return true };
        let asleep = text.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'));
        times = if asleep { times + 1 } else { 0 };
        act();
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
        assert!(start.elapsed() < WATCHDOG / 2, "held {before:?} before, {now:?} now: {:#?}", descriptor_list("self"));
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
