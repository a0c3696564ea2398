//! Faults: a thread's signals that its own instructions raised, held until somebody says what becomes of them.
//!
//! The signal may have come anywhere, in `malloc` or with any lock held, so its handler only puts the fault into a slot and sleeps on that. A
//! thread of the library's own takes it from there ([`super::tell`]). If that does not come as far as to tell somebody, which it can't when the
//! faulting thread holds a lock that it needs, the signal is as if nobody had asked for it.
#![allow(unsafe_code, reason = "signal handlers")]

use super::registers::{self, Frame};
use crate::suspend;
use slipway_ports::{
    AtomicPtr, AtomicU32, FutexWord, Ordering, Slept,
    abi::Code,
    process::{in_children, start_thread},
    task::Task,
};
use std::{
    mem::zeroed,
    ptr::{null, null_mut, without_provenance_mut},
    sync::LazyLock,
};

/// The signals that are told, and the kinds of exceptions they are.
const SIGNALS: [(i32, i32); 5] =
    [(libc::SIGSEGV, BAD_ACCESS), (libc::SIGBUS, BAD_ACCESS), (libc::SIGILL, 2), (libc::SIGFPE, 3), (libc::SIGTRAP, 6)];
const BAD_ACCESS: i32 = 1;

/// How many threads can have a fault at a time; a further one is not told.
const SLOTS: usize = 64;
/// How long a fault waits until it is told, in nanoseconds.
const PATIENCE: u64 = 5_000_000_000;

/// States of a slot. FREE to FILLED and back: the faulting thread. FILLED to TAKEN to TOLD to an outcome: the library's.
const FREE: u32 = 0;
const FILLING: u32 = 1;
const FILLED: u32 = 2;
const TAKEN: u32 = 3;
/// The faulting thread stays until there is an outcome.
const TOLD: u32 = 4;
/// It has gone on, and the one that took it gives the slot back.
const GONE: u32 = 5;
const HANDLED: u32 = 6;
const UNHANDLED: u32 = 7;

/// A fault, and what became of it.
#[derive(Debug, Default)]
pub(super) struct Slot {
    state: FutexWord,
    thread: AtomicU32,
    task: AtomicU32,
    kind: AtomicU32,
    code: AtomicU32,
    /// By address; in its thread's stack.
    address: AtomicPtr<u8>,
    frame: AtomicPtr<Frame>,
}

/// Faults, and the word that changes for each.
#[derive(Debug)]
struct Faults {
    slots: [Slot; SLOTS],
    news: FutexWord,
}

/// There before the first handler is.
static FAULTS: LazyLock<Faults> =
    LazyLock::new(|| Faults { slots: std::array::from_fn(|_| Slot::default()), news: FutexWord::default() });
/// The process whose faults are told: a forked child has no thread for that at first.
static SERVED: AtomicU32 = AtomicU32::new(0);
/// What was done about each signal before.
static BEFORE: [AtomicPtr<libc::sigaction>; SIGNALS.len()] = [const { AtomicPtr::new(null_mut()) }; SIGNALS.len()];

/// What is known of a fault.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub thread: u32,
    /// The number of the task that the thread works for.
    pub task: u32,
    /// `EXC_*`.
    pub kind: i32,
    pub code: i32,
    pub subcode: i64,
}

impl Slot {
    /// The fault of a slot that was taken.
    pub fn fault(&self) -> Fault {
        let number = |word: &AtomicU32| word.load(Ordering::Relaxed);
        Fault {
            thread: number(&self.thread),
            task: number(&self.task),
            kind: number(&self.kind) as i32,
            code: number(&self.code) as i32,
            subcode: self.address.load(Ordering::Relaxed).addr() as i64,
        }
    }

    /// Before it is told: whether its thread still waits. It waits for the outcome from here on.
    pub fn stays(&self) -> bool {
        self.state.claim(TAKEN, TOLD).is_ok() || self.state.load(Ordering::Relaxed) == TOLD
    }

    /// Runs `run` on the thread's registers. For a slot that [stays](Self::stays).
    pub fn frame<T>(&self, run: impl FnOnce(&mut Frame) -> T) -> T {
        let _guard = suspend::lock();
        // SAFETY: the frame lies still until the outcome is told, and the lock says that nobody else looks at it.
        run(unsafe { &mut *self.frame.load(Ordering::Relaxed) })
    }

    /// Tells what became of it.
    pub fn end(&self, handled: bool) {
        let _guard = suspend::lock();
        if self.stays() {
            self.state.store(if handled { HANDLED } else { UNHANDLED }, Ordering::Release);
            let _ = self.state.wake(1, false);
        } else {
            self.state.store(FREE, Ordering::Release);
        }
    }

    /// In the handler: sleeps until there is an outcome, or for as long as the patience lasts. Whether it was handled.
    fn outcome(&self) -> bool {
        loop {
            let state = self.state.load(Ordering::Acquire);
            match state {
                HANDLED | UNHANDLED => {
                    self.state.store(FREE, Ordering::Release);
                    return state == HANDLED;
                }
                TOLD => drop(self.state.sleep(TOLD, None, false)),
                _ => {
                    let slept = self.state.sleep(state, Some(PATIENCE), false);
                    if slept == Slept::TimedOut
                        && (self.state.claim(FILLED, FREE).is_ok() || self.state.claim(TAKEN, GONE).is_ok())
                    {
                        return false;
                    }
                }
            }
        }
    }
}

/// The registers of a thread whose exception somebody is told of, or that is suspended: `FAILURE` for another.
fn registers_of<T>(thread: u32, run: impl FnOnce(&mut Frame) -> Result<T, Code>) -> Result<T, Code> {
    let guard = suspend::lock();
    let told = |slot: &&Slot| slot.state.load(Ordering::Acquire) == TOLD && slot.thread.load(Ordering::Relaxed) == thread;
    // One that is suspended in the handler has those of its exception.
    let slot = FAULTS.slots.iter().find(told).map(|slot| slot.frame.load(Ordering::Relaxed));
    let frame = slot.or_else(|| guard.frame(thread)).ok_or(Code::FAILURE)?;
    // SAFETY: as for `Slot::frame`.
    run(unsafe { &mut *frame })
}

/// `thread_get_state`.
pub(crate) fn get_state(thread: u32, flavor: i32) -> Result<Vec<u32>, Code> {
    registers_of(thread, |frame| registers::get(frame, flavor).ok_or(Code::INVALID_ARGUMENT))
}

/// `thread_set_state`.
pub(crate) fn set_state(thread: u32, flavor: i32, state: &[u32]) -> Result<(), Code> {
    registers_of(thread, |frame| registers::set(frame, flavor, state).ok_or(Code::INVALID_ARGUMENT))
}

/// The code of a signal's exception, and its address.
fn code_of(signal: i32, info: &libc::siginfo_t) -> (i32, usize) {
    const KERNEL: i32 = 0x80;
    const X86: bool = cfg!(target_arch = "x86_64");
    // SAFETY: these signals have one.
    let address = unsafe { info.si_addr() }.addr();
    match (signal, info.si_code) {
        // SEGV_MAPERR; a general protection fault, whose address the processor does not tell.
        (libc::SIGSEGV, 1) => (Code::INVALID_ADDRESS.0, address),
        (libc::SIGSEGV, KERNEL) if X86 => (13, 0),
        (libc::SIGSEGV, _) => (Code::PROTECTION_FAILURE.0, address),
        // BUS_ADRALN: EXC_I386_ALIGNFLT, EXC_ARM_DA_ALIGN; KERN_MEMORY_ERROR.
        (libc::SIGBUS, 1) => (if X86 { 17 } else { 0x101 }, address),
        (libc::SIGBUS, _) => (10, address),
        // EXC_I386_INVOP, EXC_ARM_UNDEFINED.
        (libc::SIGILL, _) => (1, 0),
        // FPE_INTDIV, FPE_INTOVF, others: EXC_I386_DIV, _INTO, _EXTERR.
        (libc::SIGFPE, 1) => (1, 0),
        (libc::SIGFPE, 2) => (2, 0),
        (libc::SIGFPE, _) => (5, 0),
        // TRAP_TRACE, TRAP_HWBKPT: EXC_I386_SGL; EXC_I386_BPT, EXC_ARM_BREAKPOINT.
        (_, 2 | 4) if X86 => (1, 0),
        _ => (if X86 { 2 } else { 1 }, 0),
    }
}

/// The handler.
unsafe extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system passes them.
    let (told, frame) = unsafe { (&*info, context.cast::<Frame>()) };
    let kind = SIGNALS.into_iter().find(|(it, _)| *it == signal).map_or(0, |(_, kind)| kind);
    // SAFETY: the calling thread's.
    let error = unsafe { *libc::__errno_location() };
    // One that somebody has sent is no exception.
    if told.si_code > 0 && is_handled(kind, code_of(signal, told), frame) {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = error };
        return;
    }
    // SAFETY: what the system passed.
    unsafe { as_before(signal, info, context) };
}

/// Has the fault told; whether somebody handled it.
fn is_handled(kind: i32, (code, address): (i32, usize), frame: *mut Frame) -> bool {
    if SERVED.load(Ordering::Acquire) != std::process::id() {
        return false;
    }
    let Some(slot) = FAULTS.slots.iter().find(|slot| slot.state.claim(FREE, FILLING).is_ok()) else { return false };
    slot.thread.store(suspend::own_number(), Ordering::Relaxed);
    slot.task.store(Task::current().number(), Ordering::Relaxed);
    slot.kind.store(kind as u32, Ordering::Relaxed);
    slot.code.store(code as u32, Ordering::Relaxed);
    slot.address.store(without_provenance_mut(address), Ordering::Relaxed);
    slot.frame.store(frame, Ordering::Relaxed);
    slot.state.store(FILLED, Ordering::Release);
    FAULTS.news.fetch_add(1, Ordering::Release);
    FAULTS.news.wake_one_private();
    slot.outcome()
}

/// What would have been done about the signal without this library.
///
/// # Safety
/// The arguments are those of the handler.
unsafe fn as_before(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    type Handler = unsafe extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
    let index = SIGNALS.into_iter().position(|(it, _)| it == signal).unwrap_or_default();
    // SAFETY: a pointer that was stored there is good for ever.
    let before = unsafe { BEFORE[index].load(Ordering::Acquire).as_ref() };
    // SAFETY: the caller's promise.
    let sent = unsafe { (*info).si_code } <= 0;
    match before {
        Some(before) if before.sa_sigaction == libc::SIG_IGN && sent => {}
        Some(before) if !matches!(before.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) => {
            if before.sa_flags & libc::SA_RESETHAND != 0 {
                // The default from now on.
                BEFORE[index].store(null_mut(), Ordering::Release);
            }
            // SAFETY: with the mask that it would have had; it is a handler, which any number of arguments are passed to.
            unsafe {
                let mut mask = (*context.cast::<Frame>()).uc_sigmask;
                for it in (1..=64).filter(|it| libc::sigismember(&before.sa_mask, *it) == 1) {
                    libc::sigaddset(&mut mask, it);
                }
                if before.sa_flags & libc::SA_NODEFER == 0 {
                    libc::sigaddset(&mut mask, signal);
                }
                libc::pthread_sigmask(libc::SIG_SETMASK, &mask, null_mut());
                std::mem::transmute::<usize, Handler>(before.sa_sigaction)(signal, info, context);
            }
        }
        _ => {
            // The default, which waits until this handler has returned, as the signal is blocked now. It is the same signal, so
            // that a core file has it.
            // SAFETY: a structure of numbers; the information is the system's.
            unsafe {
                let mut default: libc::sigaction = zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const default, null_mut());
                libc::syscall(libc::SYS_rt_tgsigqueueinfo, libc::getpid(), libc::gettid(), signal, info);
            }
        }
    }
}

/// Has faults told from here on: handlers for the signals, in front of those that are there now, and a thread.
pub(crate) fn begin() -> Result<(), Code> {
    // One at a time, which is not stopped meanwhile.
    let _guard = suspend::lock();
    LazyLock::force(&FAULTS);
    in_children(start_in_child);
    start()?;
    for (index, (signal, _)) in SIGNALS.into_iter().enumerate() {
        // SAFETY: structures of numbers; the handler is a function of this library, which is never unloaded: it has threads.
        unsafe {
            let mut old: libc::sigaction = zeroed();
            libc::sigaction(signal, null(), &raw mut old);
            if old.sa_sigaction == on_fault as *const () as usize {
                continue;
            }
            BEFORE[index].store(Box::into_raw(Box::new(old)), Ordering::Release);
            let mut new: libc::sigaction = zeroed();
            new.sa_sigaction = on_fault as *const () as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            // The thread does nothing else until it is known what becomes of it; it can be suspended.
            libc::sigfillset(&raw mut new.sa_mask);
            libc::sigdelset(&raw mut new.sa_mask, suspend::signal());
            libc::sigaction(signal, &raw const new, null_mut());
        }
    }
    Ok(())
}

/// The thread, if it does not run.
fn start() -> Result<(), Code> {
    let own = std::process::id();
    if SERVED.load(Ordering::Acquire) == own {
        return Ok(());
    }
    start_thread("slipway-faults", serve).map_err(|_| Code::RESOURCE_SHORTAGE)?;
    SERVED.store(own, Ordering::Release);
    Ok(())
}

/// A child's only thread is no other that had a fault.
pub(crate) fn start_in_child() {
    suspend::forget();
    if SERVED.load(Ordering::Acquire) == 0 {
        return;
    }
    FAULTS.slots.iter().for_each(|slot| slot.state.store(FREE, Ordering::Relaxed));
    // Without the thread faults are as if nobody had asked for them.
    let _ = start();
}

/// Takes faults, each for a thread of its own: what is told of one may wait for another.
fn serve() {
    let own = Task::new();
    own.set_label("exceptions");
    loop {
        let seen = FAULTS.news.load(Ordering::Acquire);
        for slot in FAULTS.slots.iter().filter(|slot| slot.state.claim(FILLED, TAKEN).is_ok()) {
            if start_thread("slipway-fault", move || super::tell::tell(own, slot)).is_err() {
                slot.end(false);
            }
        }
        FAULTS.news.wait_private(seen);
    }
}
