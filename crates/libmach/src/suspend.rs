//! Suspending threads: a signal whose handler sleeps until the thread is resumed.
//!
//! The library's own threads are never suspended, so a suspended task still answers for its ports, as the kernel does in Mach. A thread stops
//! while the caller holds the library's lock, so it holds that itself in no case; the lines that it looked at ring bells from then on. It may
//! hold any other lock, such as malloc's.
#![allow(unsafe_code, reason = "a signal handler")]

use crate::{
    exceptions::{fault, registers::Frame},
    procfs,
};
use slipway_ports::{
    AtomicPtr, AtomicU32, FutexWord, Mutex, MutexGuard, Ordering,
    abi::Code,
    process::{between_calls, in_children, is_own_thread},
};
use std::{
    collections::{HashMap, hash_map::Entry},
    mem::zeroed,
    ptr::{null, null_mut},
};

/// How many threads can be suspended at a time.
const STOPS: usize = 1024;
/// How often a thread is asked to stop, and how long it is waited for each time, in nanoseconds. One that takes no signals is not stopped.
const TRIES: usize = 50;
const PATIENCE: u64 = 20_000_000;

/// States of a stop. FREE to ASKED and back: the suspender; ASKED to STOPPED: the thread; from there to GOES: the call that resumes it.
const FREE: u32 = 0;
const TAKEN: u32 = 1;
const ASKED: u32 = 2;
const STOPPED: u32 = 3;
const GOES: u32 = 4;

/// A thread that is suspended, or asked to stop.
#[derive(Debug, Default)]
struct Stop {
    state: FutexWord,
    thread: AtomicU32,
    frame: AtomicPtr<Frame>,
}

/// What is known of suspended threads.
#[derive(Debug)]
struct All {
    stops: Box<[Stop]>,
    suspended: Mutex<Suspended>,
}

/// Made at the first use, and not freed. A forked child makes its own: another thread of the parent may have had the lock.
static ALL: AtomicPtr<All> = AtomicPtr::new(null_mut());

fn all() -> &'static All {
    if ALL.load(Ordering::Acquire).is_null() {
        let stops = (0..STOPS).map(|_| Stop::default()).collect();
        let fresh = Box::into_raw(Box::new(All { stops, suspended: Mutex::default() }));
        if ALL.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: nobody else has seen it.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }
    // SAFETY: it was made, and is not freed.
    unsafe { &*ALL.load(Ordering::Acquire) }
}

/// The suspended threads.
#[derive(Debug, Default)]
pub(crate) struct Suspended {
    /// By their numbers: their stops, and how often each was suspended itself.
    threads: HashMap<u32, (usize, i32)>,
    /// How often the task was.
    task: i32,
}

/// Held by a caller that looks at a stopped thread's registers, stops a thread or lets it go on.
pub(crate) fn lock() -> MutexGuard<'static, Suspended> {
    let guard = all().suspended.lock();
    // The thread that the last release woke may have been stopped before it took the lock.
    guard.contend();
    guard
}

impl Suspended {
    /// The registers of a thread that has stopped.
    pub(crate) fn frame(&self, thread: u32) -> Option<*mut Frame> {
        let stop = &all().stops[self.threads.get(&thread)?.0];
        (stop.state.load(Ordering::Acquire) == STOPPED).then(|| stop.frame.load(Ordering::Relaxed))
    }

    /// Stops a thread, if it is not stopped.
    fn stop(&mut self, thread: u32) -> Result<&mut i32, Code> {
        match self.threads.entry(thread) {
            Entry::Occupied(it) => Ok(&mut it.into_mut().1),
            Entry::Vacant(it) => Ok(&mut it.insert((stop(thread)?, 0)).1),
        }
    }

    /// Has threads go on that nothing suspends any more.
    fn release(&mut self) {
        if self.task > 0 {
            return;
        }
        let before = self.threads.len();
        self.threads.retain(|_, (index, count)| {
            if *count == 0 {
                all().stops[*index].goes();
            }
            *count > 0
        });
        let gone = before - self.threads.len();
        if gone > 0 {
            between_calls(|| -(gone as isize));
        }
    }
}

impl Stop {
    /// Lets the thread go on.
    fn goes(&self) {
        // One that is asked may stop at any moment, and not the other way round.
        if self.state.claim(ASKED, FREE).is_err() {
            self.state.store(GOES, Ordering::Release);
            let _ = self.state.wake(1, false);
        }
    }
}

/// The calling thread's number in the system.
pub(crate) fn own_number() -> u32 {
    // SAFETY: it takes nothing and gives a number.
    unsafe { libc::gettid() as u32 }
}

/// The signal, which programs leave alone.
pub(crate) fn signal() -> i32 {
    libc::SIGRTMAX() - 3
}

/// Sends the signal to a thread of this process, with the number of a stop.
fn send(thread: u32, stop: usize) -> Result<(), Code> {
    /// `siginfo_t`, as far as a sender fills it in.
    #[repr(C)]
    struct Info {
        signal: i32,
        error: i32,
        code: i32,
        _pad: i32,
        process: i32,
        user: u32,
        value: usize,
        rest: [u64; 12],
    }
    // SAFETY: a structure of numbers, as large as the system's.
    let sent = unsafe {
        let info = Info {
            signal: signal(),
            error: 0,
            code: libc::SI_QUEUE,
            _pad: 0,
            process: libc::getpid(),
            user: libc::getuid(),
            value: stop,
            rest: [0; 12],
        };
        libc::syscall(libc::SYS_rt_tgsigqueueinfo, libc::getpid(), thread, signal(), &raw const info)
    };
    match sent {
        0 => Ok(()),
        _ if std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN) => Err(Code::RESOURCE_SHORTAGE),
        _ => Err(Code::INVALID_ARGUMENT),
    }
}

/// Whether a thread has the signal to take yet.
fn is_pending(thread: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status")).unwrap_or_default();
    let pending = status.lines().find_map(|line| line.strip_prefix("SigPnd:"));
    let pending = pending.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    pending & 1 << (signal() - 1) != 0
}

/// The handler: stops if somebody of this process asks for it.
unsafe extern "C" fn on_stop(_: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system passes it; a queued signal has a sender and a value.
    let (code, sender, index) = unsafe { ((*info).si_code, (*info).si_pid(), (*info).si_value().sival_ptr.addr()) };
    // SAFETY: it takes nothing and gives a number.
    if code != libc::SI_QUEUE || sender != unsafe { libc::getpid() } {
        return;
    }
    // SAFETY: it is not freed.
    let Some(all) = (unsafe { ALL.load(Ordering::Acquire).as_ref() }) else { return };
    let Some(stop) = all.stops.get(index).filter(|stop| stop.thread.load(Ordering::Acquire) == own_number()) else { return };
    // SAFETY: the calling thread's.
    let error = unsafe { *libc::__errno_location() };
    stop.frame.store(context.cast(), Ordering::Relaxed);
    if stop.state.compare_exchange(ASKED, STOPPED, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        let _ = stop.state.wake(1, false);
        while stop.state.load(Ordering::Acquire) == STOPPED {
            stop.state.sleep(STOPPED, None, false);
        }
        stop.state.store(FREE, Ordering::Release);
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = error };
}

/// The handler is there from here on. `FAILURE` if the program has one of its own for the signal.
fn begin() -> Result<(), Code> {
    in_children(fault::start_in_child);
    // SAFETY: structures of numbers; the handler is a function of this library, which is never unloaded: it has threads.
    unsafe {
        let mut old: libc::sigaction = zeroed();
        libc::sigaction(signal(), null(), &raw mut old);
        if old.sa_sigaction == on_stop as *const () as usize {
            return Ok(());
        }
        if old.sa_sigaction != libc::SIG_DFL {
            return Err(Code::FAILURE);
        }
        let mut new: libc::sigaction = zeroed();
        new.sa_sigaction = on_stop as *const () as usize;
        new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigfillset(&raw mut new.sa_mask);
        libc::sigaction(signal(), &raw const new, null_mut());
    }
    Ok(())
}

/// Stops a thread of this process: the number of its stop. The calling one is only prepared for that.
fn stop(thread: u32) -> Result<usize, Code> {
    let free = |stop: &Stop| stop.state.claim(FREE, TAKEN).is_ok();
    let index = all().stops.iter().position(free).ok_or(Code::RESOURCE_SHORTAGE)?;
    let stop = &all().stops[index];
    stop.thread.store(thread, Ordering::Relaxed);
    if thread == own_number() {
        if is_blocked() {
            stop.state.store(FREE, Ordering::Release);
            return Err(Code::FAILURE);
        }
        stop.state.store(ASKED, Ordering::Release);
        between_calls(|| 1);
        return Ok(index);
    }
    for _ in 0..TRIES {
        let mut asked = Ok(false);
        between_calls(|| {
            asked = ask(stop, index);
            isize::from(matches!(asked, Ok(true)))
        });
        match asked {
            Ok(true) => return Ok(index),
            Ok(false) => std::thread::yield_now(),
            Err(code) => {
                stop.state.store(FREE, Ordering::Release);
                return Err(code);
            }
        }
    }
    stop.state.store(FREE, Ordering::Release);
    Err(Code::FAILURE)
}

/// Whether the calling thread takes no such signal.
fn is_blocked() -> bool {
    // SAFETY: the set has a place, and a signal mask belongs to the calling thread.
    unsafe {
        let mut blocked: libc::sigset_t = zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, null(), &raw mut blocked);
        libc::sigismember(&raw const blocked, signal()) == 1
    }
}

/// Asks a thread to stop; whether it has within the patience. If not, it will not.
fn ask(stop: &Stop, index: usize) -> Result<bool, Code> {
    stop.state.store(ASKED, Ordering::Release);
    send(stop.thread.load(Ordering::Relaxed), index)?;
    while stop.state.load(Ordering::Acquire) == ASKED {
        if stop.state.sleep(ASKED, Some(PATIENCE), false) == slipway_ports::Slept::TimedOut {
            return Ok(stop.state.compare_exchange(ASKED, TAKEN, Ordering::AcqRel, Ordering::Acquire).is_err());
        }
    }
    Ok(true)
}

/// Stops the calling thread, if it is among those that are to stop.
fn stop_self() {
    let own = own_number();
    let index = lock().threads.get(&own).map(|(index, _)| *index);
    if let Some(index) = index {
        // It returns when the thread was resumed.
        let _ = send(own, index);
    }
}

/// `thread_suspend`.
pub(crate) fn suspend_thread(thread: u32) -> Result<(), Code> {
    begin()?;
    if is_own_thread(thread) {
        return Err(Code::FAILURE);
    }
    *lock().stop(thread)? += 1;
    if thread == own_number() {
        stop_self();
    }
    Ok(())
}

/// `thread_resume`: `FAILURE` for a thread that is not suspended.
pub(crate) fn resume_thread(thread: u32) -> Result<(), Code> {
    let mut all = lock();
    let (_, count) = all.threads.get_mut(&thread).filter(|(_, count)| *count > 0).ok_or(Code::FAILURE)?;
    *count -= 1;
    all.release();
    Ok(())
}

/// `task_suspend`: all threads of the process but the library's own. `FAILURE`, and none is, if one can't be stopped.
pub(crate) fn suspend_task() -> Result<(), Code> {
    begin()?;
    let mut all = lock();
    if all.task == 0 {
        all.stop_all().inspect_err(|_| all.release())?;
    }
    all.task += 1;
    drop(all);
    stop_self();
    Ok(())
}

impl Suspended {
    fn stop_all(&mut self) -> Result<(), Code> {
        // Until there are no others: one that was not stopped yet may have made one.
        loop {
            let threads = procfs::threads().map_err(|_| Code::RESOURCE_SHORTAGE)?;
            let others = threads.into_iter().filter(|it| !is_own_thread(*it) && !self.threads.contains_key(it));
            let others: Vec<u32> = others.collect();
            if others.is_empty() {
                return Ok(());
            }
            for thread in others {
                match self.stop(thread) {
                    Ok(_) => {}
                    Err(_) if procfs::has_ended(thread) || is_own_thread(thread) => {}
                    Err(code) => return Err(code),
                }
            }
        }
    }
}

/// `task_resume`: `FAILURE` for a task that is not suspended.
pub(crate) fn resume_task() -> Result<(), Code> {
    let mut all = lock();
    if all.task == 0 {
        return Err(Code::FAILURE);
    }
    all.task -= 1;
    all.release();
    Ok(())
}

/// `thread_abort`: ends a wait of the thread that a signal ends.
pub(crate) fn abort_thread(thread: u32) -> Result<(), Code> {
    begin()?;
    match thread {
        // It takes no signals, which would pile up.
        _ if is_own_thread(thread) => Err(Code::FAILURE),
        _ if thread == own_number() => Ok(()),
        // It will end the wait; more would fill the queue, which all of the user's processes share.
        _ if is_pending(thread) => Ok(()),
        _ => send(thread, STOPS),
    }
}

/// How often the task is suspended, or of a thread its own count.
pub(crate) fn count(thread: Option<u32>) -> i32 {
    let all = lock();
    match thread {
        Some(thread) => all.threads.get(&thread).map_or(0, |(_, count)| *count),
        None => all.task,
    }
}

/// In a forked child, whose only thread runs.
pub(crate) fn forget() {
    ALL.store(null_mut(), Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::Barrier,
        thread,
        time::{Duration, Instant},
    };

    /// However late it comes to that.
    #[test]
    fn no_thread_stops_that_was_to_go_on() {
        const ROUNDS: usize = 100_000;
        // A round takes two slices of time where there is one processor.
        let enough = Instant::now() + Duration::from_secs(10);
        let stops: Vec<Stop> = (0..ROUNDS).map(|_| Stop::default()).collect();
        let (first, turn, over) = (Barrier::new(2), AtomicU32::new(0), AtomicU32::new(0));
        let both = |run: &dyn Fn(&Stop)| {
            first.wait();
            for (round, stop) in stops.iter().enumerate() {
                // Each stop is met by both threads at about the same time, or by none.
                if Instant::now() > enough {
                    return over.store(1, Ordering::Release);
                }
                let both = 2 * (round as u32 + 1);
                turn.fetch_add(1, Ordering::AcqRel);
                while turn.load(Ordering::Acquire) < both {
                    if over.load(Ordering::Acquire) == 1 && turn.load(Ordering::Acquire) < both {
                        return;
                    }
                    std::hint::spin_loop();
                }
                run(stop);
            }
        };
        stops.iter().for_each(|stop| stop.state.store(ASKED, Ordering::Relaxed));
        thread::scope(|scope| {
            scope.spawn(|| both(&|stop| _ = stop.state.claim(ASKED, STOPPED)));
            both(&Stop::goes);
        });
        assert_eq!(stops.iter().filter(|stop| stop.state.load(Ordering::Relaxed) == STOPPED).count(), 0);
    }
}
