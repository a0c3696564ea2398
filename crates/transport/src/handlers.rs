//! Whether a signal was handled. One that comes while a wait looks, before it sleeps, has to end the wait as it ends the
//! kernel's, or the program doesn't see what its handler has noted until something else comes. So the process calls the program's handlers by one of its
//! own, which counts for its thread; what the program is told of its handlers is here.

use libc::{SIG_DFL, SIG_ERR, SIG_IGN, c_int, sighandler_t};
use slipway_fabric::sync::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::cell::Cell;

/// Signals that a program's own faults raise: their handlers are left alone, and don't tell how it takes the others.
pub const FAULTS: [c_int; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// The numbers of signals are below this.
const SIGNALS: usize = 65;

/// Signals that a thread has handled, and those of them that end an interrupted call (wrap).
#[derive(Debug, Default)]
pub struct Handled {
    all: Cell<u32>,
    ending: Cell<u32>,
}

/// The signals that a thread had handled at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    all: u32,
    ending: u32,
}

impl Mark {
    /// Whether a call that was interrupted between this mark and a later one goes on; None if no signal was counted.
    pub fn restarts(self, later: Self) -> Option<bool> {
        (self != later).then_some(self.ending == later.ending)
    }
}

impl Handled {
    /// None so far.
    pub const fn new() -> Self {
        Self { all: Cell::new(0), ending: Cell::new(0) }
    }

    /// One more, whose handler lets an interrupted call go on or not.
    pub fn count(&self, restarts: bool) {
        self.all.set(self.all.get().wrapping_add(1));
        self.ending.set(self.ending.get().wrapping_add(u32::from(!restarts)));
    }

    /// Those up to now: equal to an earlier mark if there was none since.
    pub fn mark(&self) -> Mark {
        Mark { all: self.all.get(), ending: self.ending.get() }
    }
}

/// Whether a handler is a function, and no word for something else.
pub fn is_function(handler: sighandler_t) -> bool {
    !matches!(handler, SIG_DFL | SIG_IGN | SIG_ERR)
}

/// The program's handlers, by signal, where one of the process's own stands before them.
#[derive(Debug)]
pub struct Handlers {
    watched: AtomicBool,
    kept: [AtomicUsize; SIGNALS],
}

impl Handlers {
    /// None is stood before.
    pub const fn new() -> Self {
        Self { watched: AtomicBool::new(false), kept: [const { AtomicUsize::new(0) }; SIGNALS] }
    }

    /// From here on handlers are stood before; true the first time. The caller sets those that are there once more.
    pub fn watch(&self) -> bool {
        !self.watched.swap(true, Relaxed)
    }

    /// Where the program's handler for a signal is kept, if one may stand before it.
    fn place(&self, signal: c_int) -> Option<&AtomicUsize> {
        let place = self.kept.get(usize::try_from(signal).ok()?)?;
        (self.watched.load(Relaxed) && !FAULTS.contains(&signal)).then_some(place)
    }

    /// The program's handler to be called for a signal that came to `ours`.
    pub fn to_call(&self, signal: c_int) -> Option<sighandler_t> {
        self.place(signal).map(|place| place.load(Relaxed)).filter(|handler| is_function(*handler))
    }

    /// The program sets a handler. `set` is passed what the kernel is to call, `ours` if it is a function, and gives what it called before, or None if
    /// it fails. Gives what the program had set before.
    pub fn set(
        &self,
        signal: c_int,
        handler: sighandler_t,
        ours: sighandler_t,
        set: impl FnOnce(sighandler_t) -> Option<sighandler_t>,
    ) -> Option<sighandler_t> {
        let Some(place) = self.place(signal) else { return set(handler) };
        let before = place.load(Relaxed);
        // What is no function leaves the table as it is: a child between vfork and exec sets such, and shares this memory.
        let stands = is_function(handler);
        if stands && handler != ours {
            place.store(handler, Relaxed);
        }
        let old = set(if stands { ours } else { handler });
        if old.is_none() {
            place.store(before, Relaxed);
        }
        old.map(|old| if old == ours { before } else { old })
    }

    /// What the program is told of a handler that the kernel has.
    pub fn shown(&self, signal: c_int, handler: sighandler_t, ours: sighandler_t) -> sighandler_t {
        match self.place(signal) {
            Some(place) if handler == ours => place.load(Relaxed),
            _ => handler,
        }
    }
}

impl Default for Handlers {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use libc::{SIGSEGV, SIGUSR1};

    const OURS: sighandler_t = 1000;

    /// The kernel's handler of one signal.
    fn setting(handlers: &Handlers, kernel: &Cell<sighandler_t>, signal: c_int, handler: sighandler_t) -> Option<sighandler_t> {
        handlers.set(signal, handler, OURS, |new| Some(kernel.replace(new)))
    }

    #[test]
    fn the_program_sees_its_own_handlers() {
        let (handlers, kernel) = (Handlers::new(), Cell::new(SIG_DFL));
        assert_eq!(setting(&handlers, &kernel, SIGUSR1, 7), Some(SIG_DFL));
        assert_eq!((kernel.get(), handlers.to_call(SIGUSR1)), (7, None), "not watched");
        assert!(handlers.watch() && !handlers.watch());
        assert_eq!(setting(&handlers, &kernel, SIGUSR1, 7), Some(7), "set once more");
        assert_eq!((kernel.get(), handlers.to_call(SIGUSR1)), (OURS, Some(7)));
        assert_eq!(handlers.shown(SIGUSR1, kernel.get(), OURS), 7);
        assert_eq!(setting(&handlers, &kernel, SIGUSR1, 8), Some(7));
        assert_eq!(handlers.set(SIGUSR1, 9, OURS, |_| None), None);
        assert_eq!(handlers.to_call(SIGUSR1), Some(8), "what failed changes nothing");
        assert_eq!(setting(&handlers, &kernel, SIGUSR1, SIG_IGN), Some(8));
        assert_eq!((kernel.get(), handlers.shown(SIGUSR1, kernel.get(), OURS)), (SIG_IGN, SIG_IGN));
        assert_eq!(setting(&handlers, &kernel, SIGSEGV, 5), Some(SIG_IGN));
        assert_eq!(kernel.get(), 5, "a fault's is the program's alone");
    }

    #[test]
    fn a_mark_tells_of_what_came_after_it() {
        let handled = Handled::new();
        let mark = handled.mark();
        assert_eq!(mark, handled.mark());
        assert_eq!(mark.restarts(handled.mark()), None);
        handled.count(true);
        assert_ne!(mark, handled.mark());
        assert_eq!(mark.restarts(handled.mark()), Some(true));
        handled.count(false);
        handled.count(true);
        assert_eq!(mark.restarts(handled.mark()), Some(false), "one of them is enough");
    }
}
