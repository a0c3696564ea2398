//! The process's port set: what comes to its connections, and waiting for it.

use super::{
    display::Displays,
    end::End,
    libmach::{Mach, Name},
    message::{ACCEPT, BEFORE, DATA, END, Received, WORDS},
};
use crate::{descriptor::Reserved, report, settings::Settings, stream::locked};
use rustix::event::{EventfdFlags, epoll, eventfd};
use slipway_abi::{Code, HEADER, notify, option};
use slipway_fabric::sync::{AtomicU32, ForkMutex, Forked, Ordering::SeqCst};
use std::{
    collections::HashMap,
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
    time::Duration,
};
use zerocopy::IntoBytes;

/// Messages that are taken off the set in one go: a peer that never stops sending doesn't keep its reader there.
const MOST: usize = 256;

/// The bits of a receive error that say what was short.
const SHORT: i32 = 0x3c00;

/// How long a thread that waits for ports alone waits in `mach_msg`, which looks before it sleeps and is woken directly, before it sleeps in the
/// kernel among all that it waits for. A signal or another descriptor is noticed so much later.
pub const DIRECTLY: Duration = Duration::from_millis(1);

/// The one of the process.
#[derive(Debug)]
pub struct Office {
    /// The process's libmach.
    pub mach: Mach,
    /// Has every port that a connection receives from, and those where clients ask for one.
    pub set: Name,
    /// Where the library tells that a full queue has room. Not at the connection's own port, which is not in the set while its reader lags.
    pub notices: Name,
    ends: ForkMutex<HashMap<Name, Arc<End>>>,
    /// The displays that this process serves.
    pub displays: Displays,
    turn: Turn,
    /// The message that is being received.
    buffer: ForkMutex<Vec<u64>>,
    /// Readable while a message may be there, for those that sleep.
    gate: Reserved,
    /// Part of it: a message came to another thread.
    stirred: Reserved,
    /// Threads that sleep, or are about to; changed with `ends` held, as whether the set's descriptor is polled follows from both.
    sleepers: AtomicU32,
    /// 1: a set that has connections is a member of another, on which a thread may sleep at any time.
    watched: AtomicU32,
    /// [`FORKS`] when it was opened.
    generation: u32,
}

static OFFICE: ForkMutex<Option<Result<Arc<Office>, ()>>> = ForkMutex::new(None);

/// The forks that this process comes from, as far as they were of an office's process: the rights of an older one are a parent's.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// 1: what a signal handler has interrupted, which then forked, holds [`OFFICE`].
static STUCK: AtomicU32 = AtomicU32::new(0);

impl Office {
    /// The process's office, if connections go over ports; opened when it is first wanted.
    pub fn get() -> Option<Arc<Self>> {
        if !Settings::get().over_ports || STUCK.load(SeqCst) != 0 {
            return None;
        }
        let made = locked(&OFFICE)
            .get_or_insert_with(|| {
                Self::open().map_err(|why| {
                    report::warn(format_args!("no connection can go over Mach ports: {why}; they stay on their sockets"));
                })
            })
            .clone();
        made.ok()
    }

    pub(super) fn open() -> Result<Arc<Self>, String> {
        let mach = Mach::find()?;
        let set = mach.set().map_err(|code| code.to_string())?;
        let notices = mach.receive_right(set).map_err(|code| code.to_string())?;
        let descriptor = mach.descriptor(set).map_err(|code| code.to_string())?;
        let gate = || -> io::Result<(Reserved, Reserved)> {
            let gate = Reserved::make_aside(|| epoll::create(epoll::CreateFlags::CLOEXEC))?;
            let stirred = Reserved::make_aside(|| eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK))?;
            let descriptor = Reserved::aside(descriptor)?;
            epoll::add(&gate, &descriptor, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
            epoll::add(&gate, &stirred, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
            // As long as the gate is open, so is what it watches.
            std::mem::forget(descriptor);
            Ok((gate, stirred))
        };
        let (gate, stirred) = gate().map_err(|error| error.to_string())?;
        Ok(Arc::new(Self {
            mach,
            set,
            notices,
            ends: ForkMutex::default(),
            displays: Displays::default(),
            turn: Turn::default(),
            buffer: ForkMutex::new(vec![0; WORDS]),
            gate,
            stirred,
            sleepers: AtomicU32::new(0),
            watched: AtomicU32::new(0),
            generation: FORKS.load(SeqCst),
        }))
    }

    /// A child of fork has no rights: its parent's connections are none of its own.
    pub fn after_fork(child: &Forked) {
        FORKS.fetch_add(1, SeqCst);
        OFFICE.after_fork(child);
        match OFFICE.try_lock() {
            Some(mut office) => {
                if let Some(Ok(office)) = office.take()
                    && let Some(mut ends) = office.ends.try_lock()
                {
                    ends.clear();
                }
            }
            None => STUCK.store(1, SeqCst),
        }
    }

    /// Whether it is the parent's of this process, which was forked.
    pub fn is_lost(&self) -> bool {
        FORKS.load(SeqCst) != self.generation
    }

    /// An end receives from here on.
    pub fn enter(&self, name: Name, end: &Arc<End>) {
        let mut ends = locked(&self.ends);
        ends.insert(name, Arc::clone(end));
        if ends.len() == 1 {
            self.decide(&ends);
        }
    }

    /// An end receives no more.
    pub fn leave(&self, name: Name) {
        let mut ends = locked(&self.ends);
        ends.remove(&name);
        if ends.is_empty() {
            self.decide(&ends);
        }
    }

    /// Whether the set's descriptor is polled: while somebody sleeps; and a server without clients may wait in any way for the first.
    fn decide(&self, ends: &HashMap<Name, Arc<End>>) {
        if !self.is_lost() {
            self.mach.poll(self.set, ends.is_empty() || self.has_sleepers());
        }
    }

    fn has_sleepers(&self) -> bool {
        self.sleepers.load(SeqCst) != 0 || self.watched.load(SeqCst) != 0
    }

    /// Takes what has come to the ports. If another thread does just now, that one looks once more.
    pub fn collect(&self) {
        self.receive(|buffer| self.drain(buffer));
    }

    /// Does `act` if no thread takes messages; else that one looks once more, after this call has begun.
    fn receive<T>(&self, act: impl FnOnce(&mut [u64]) -> T) -> Option<T> {
        self.turn.take(|| act(&mut locked(&self.buffer)), || self.drain(&mut locked(&self.buffer)))
    }

    fn drain(&self, buffer: &mut [u64]) {
        for _ in 0..MOST {
            if !self.take(buffer, 0) {
                return;
            }
        }
        // The set's descriptor may not tell of what is left.
        self.stir();
    }

    /// Whoever sleeps is to look once more.
    fn stir(&self) {
        if self.has_sleepers() {
            let _ = rustix::io::write(&self.stirred, &1u64.to_ne_bytes());
        }
    }

    /// Waits for a message, [`DIRECTLY`] at most, and takes what has come. False if nothing has, or another thread waits so.
    pub fn wait(&self) -> bool {
        let came = self.receive(|buffer| {
            let came = self.take(buffer, DIRECTLY.as_millis() as u32);
            if came {
                self.drain(buffer);
            }
            came
        });
        came == Some(true)
    }

    /// Takes one message off the set, and gives it to whom it is for.
    fn take(&self, buffer: &mut [u64], timeout: u32) -> bool {
        if self.is_lost() {
            return false;
        }
        let receive = |buffer: &mut [u64], options| {
            #[allow(unsafe_code, reason = "mach_msg")]
            // SAFETY: the buffer is as long as is said.
            unsafe {
                self.mach.message(buffer, option::RCV_MSG | option::RCV_TIMEOUT | options, 0, self.set, timeout, 0)
            }
        };
        match receive(buffer, option::RCV_LARGE) {
            Ok(()) => {}
            Err(Code::RCV_TOO_LARGE) => {
                // Nothing that an end of ours sends: taken to find out whose it is.
                let words = Received::read(buffer).size.div_ceil(8).max(WORDS);
                let mut large = vec![0; words];
                if receive(&mut large, 0).is_ok() {
                    self.sort(&mut large);
                }
                return true;
            }
            Err(code) if code.0 & !SHORT == Code::RCV_BODY_ERROR.0 => {
                // It is taken, and part of it did not come: of that end's stream, bytes are lost.
                let end = locked(&self.ends).get(&Received::read(buffer).at).cloned();
                self.mach.destroy_message(buffer);
                report::warn(format_args!("no memory is left for a message; its connection is closed"));
                end.iter().for_each(|end| end.lose_peer());
                self.stir();
                return true;
            }
            Err(_) => return false,
        }
        self.sort(buffer);
        true
    }

    fn sort(&self, buffer: &mut [u64]) {
        let front = Received::read(buffer);
        let end = locked(&self.ends).get(&front.at).cloned();
        let known = match &end {
            Some(end) => self.of_end(end, &front, buffer),
            None if front.at == self.notices => self.has_room(&front, buffer),
            None => self.displays.hear(&self.mach, &front, buffer),
        };
        if !known {
            self.mach.destroy_message(buffer);
            if let Some(end) = &end
                && !front.by_send_once
            {
                report::warn(format_args!(
                    "a peer sent a message that means nothing ({:#x}); the connection is closed",
                    front.id
                ));
                end.lose_peer();
            }
        }
        // Also after a message that came to no end: a connection may have been accepted by it.
        self.stir();
    }

    /// The notification that a port's queue has room: its body is an item with the name of the right.
    fn has_room(&self, front: &Received, buffer: &[u64]) -> bool {
        let accepted = front.id == notify::MSG_ACCEPTED && front.by_send_once;
        if accepted {
            let sends = buffer[HEADER / 8 + 1] as Name;
            locked(&self.ends).values().filter(|end| end.sends_to(sends)).for_each(|end| end.has_room());
        }
        accepted
    }

    /// Whether the message is one that an end understands.
    fn of_end(&self, end: &Arc<End>, front: &Received, buffer: &[u64]) -> bool {
        match front.id {
            DATA if !front.complex && front.reply == 0 && front.size >= BEFORE && front.size <= size_of_val(buffer) => {
                let body = buffer[BEFORE / 8..].as_bytes();
                match usize::try_from(buffer[HEADER / 8]).ok().filter(|n| *n <= front.size - BEFORE).and_then(|n| body.get(..n)) {
                    Some(bytes) => end.deliver(bytes),
                    None => return false,
                }
            }
            ACCEPT if !front.complex && front.reply != 0 && !end.has_met() => end.meet(front.reply),
            END if !front.complex && front.reply == 0 => end.finish(),
            notify::NO_SENDERS if front.by_send_once => end.lose_peer(),
            _ => return false,
        }
        true
    }

    /// What a thread sleeps on between [`Self::lie_down`] and [`Self::get_up`], for reading.
    pub fn gate(&self) -> BorrowedFd<'_> {
        self.gate.as_fd()
    }

    /// A thread is about to sleep. It looks at what it waits for once more.
    pub fn lie_down(&self) {
        if self.is_lost() {
            return;
        }
        {
            let ends = locked(&self.ends);
            if self.sleepers.fetch_add(1, SeqCst) == 0 {
                self.decide(&ends);
            }
        }
        // Nothing may be left there of which the descriptor doesn't tell. A thread that takes messages just now sees the sleeper after each, and
        // looks once more.
        self.collect();
    }

    /// The thread is awake again. What another thread took, others may not have seen yet: the last to get up puts the news away.
    pub fn get_up(&self) {
        if self.is_lost() {
            return;
        }
        {
            let ends = locked(&self.ends);
            if self.sleepers.fetch_sub(1, SeqCst) == 1 {
                self.decide(&ends);
                let _ = rustix::io::read(&self.stirred, &mut [0u8; 8]);
            }
        }
        self.collect();
    }

    /// A set that has connections, and the gate, is a member of another: whoever waits for that does not lie down here.
    pub fn watch(&self) {
        let ends = locked(&self.ends);
        if self.watched.swap(1, SeqCst) == 0 {
            self.decide(&ends);
        }
        drop(ends);
        self.collect();
    }

    /// As [`Self::collect`], for the wait on such a set, which puts the news away if nobody sleeps.
    pub fn collect_watched(&self) {
        let ends = locked(&self.ends);
        if self.sleepers.load(SeqCst) == 0 && self.watched.load(SeqCst) != 0 {
            let _ = rustix::io::read(&self.stirred, &mut [0u8; 8]);
        }
        drop(ends);
        self.collect();
    }
}

/// Which thread takes messages off the set. None waits for another here: that may be the one that its signal handler has interrupted.
#[derive(Debug, Default)]
struct Turn(AtomicU32);

impl Turn {
    /// No thread does.
    const IDLE: u32 = 0;
    /// One does.
    const BUSY: u32 = 1;
    /// It does, and is to look once more when it has done.
    const ONCE_MORE: u32 = 2;

    /// Runs `act` if no other thread has the turn, and `again` for each that has asked meanwhile. Else has the other do so, after
    /// this call has begun.
    fn take<T>(&self, act: impl FnOnce() -> T, mut again: impl FnMut()) -> Option<T> {
        let step = |from, to| self.0.compare_exchange(from, to, SeqCst, SeqCst);
        while let Err(now) = step(Self::IDLE, Self::BUSY) {
            if now == Self::ONCE_MORE || now == Self::BUSY && step(Self::BUSY, Self::ONCE_MORE).is_ok() {
                return None;
            }
        }
        let back = GivenBack(self);
        let result = act();
        while step(Self::BUSY, Self::IDLE).is_err() {
            self.0.store(Self::BUSY, SeqCst);
            again();
        }
        std::mem::forget(back);
        Some(result)
    }
}

/// The turn of a thread that can't go on ends, too.
struct GivenBack<'a>(&'a Turn);

impl Drop for GivenBack<'_> {
    fn drop(&mut self) {
        self.0.0.store(Turn::IDLE, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn whoever_comes_in_between_is_looked_for_once_more() {
        let turn = Turn::default();
        let looks = Cell::new(0);
        let asks = || turn.take(|| unreachable!("it is another's turn"), || {});
        // A signal handler twice, and one that comes while the thread looks for it.
        let act = || (asks().is_none(), asks().is_none());
        let again = || {
            looks.set(looks.get() + 1);
            if looks.get() == 1 {
                assert_eq!(asks(), None::<()>);
            }
        };
        assert_eq!(turn.take(act, again), Some((true, true)));
        assert_eq!(looks.get(), 2);
        assert_eq!(turn.take(|| 7, || unreachable!("nobody asked")), Some(7));
        let panics = || -> () { panic!("on purpose") };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| turn.take(panics, || {}))).is_err());
        assert_eq!(turn.take(|| 8, || {}), Some(8));
    }

    /// With threads: what was there when a call begins has been looked at when the turn is idle again.
    #[test]
    fn nothing_that_was_announced_is_left() {
        let turn = Turn::default();
        let (there, taken) = (AtomicU32::new(0), AtomicU32::new(0));
        let look = || _ = taken.fetch_add(there.swap(0, SeqCst), SeqCst);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        there.fetch_add(1, SeqCst);
                        turn.take(look, look);
                    }
                });
            }
        });
        assert_eq!((there.load(SeqCst), taken.load(SeqCst)), (0, 80_000));
    }
}
