//! The watcher's set of descriptors, and the work that is deferred to it.

use super::table::Deferred;
use crate::state::LineId;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use slipway_fabric::{
    descriptor::{Reserved, register},
    spin::now,
};
use std::{collections::VecDeque, io, sync::Arc};

/// The body of the watcher's thread, which is given its set. The layer above the lock has it.
pub type Body = fn(Arc<Reserved>) -> io::Result<()>;

/// The watcher's set, and what wakes it.
#[derive(Debug, Default)]
pub struct Watch {
    /// Starts the watcher's thread. Without one nothing is heard, as in a test of the routes alone.
    pub start: Option<Body>,
    pub(super) watcher: Option<Watcher>,
}

/// The set.
#[derive(Debug)]
pub(super) struct Watcher {
    pub epoll: Arc<Reserved>,
    /// Tells the thread that something was deferred.
    pub nudge: Reserved,
}

impl Watch {
    /// Forgets the set, which is closed: the next use makes another.
    pub(crate) fn forget(&mut self) {
        self.watcher = None;
    }

    /// Starts the watcher, if it does not run yet.
    pub(super) fn run(&mut self) -> io::Result<()> {
        if self.watcher.is_some() {
            return Ok(());
        }
        let epoll = Arc::new(Reserved::new(epoll::create(epoll::CreateFlags::CLOEXEC)?)?);
        let nudge = Reserved::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)?;
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        register(&epoll, &nudge, key(Source::Deferred, 0), flags)?;
        if let Some(start) = self.start {
            start(Arc::clone(&epoll))?;
        }
        self.watcher = Some(Watcher { epoll, nudge });
        Ok(())
    }

    /// Wakes the watcher for what was deferred.
    pub(super) fn nudge(&mut self) {
        if self.run().is_ok()
            && let Some(watcher) = &self.watcher
        {
            let _ = rustix::io::write(&watcher.nudge, &1u64.to_ne_bytes());
        }
    }

    /// One that can't listen to anything.
    #[cfg(test)]
    pub(super) fn deaf() -> Self {
        let none = || Reserved::new(crate::objects::socket_pair().expect("sockets").0).expect("a descriptor");
        Self { start: None, watcher: Some(Watcher { epoll: Arc::new(none()), nudge: none() }) }
    }

    /// Whether there is a watcher.
    pub fn is_running(&self) -> bool {
        self.watcher.is_some()
    }
}

/// What a socket is, in the watcher's set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A line's bell.
    Line,
    /// The receiving end of a port here.
    Receiving,
    /// The receiving end of a send-once right.
    OnceEnd,
    /// A pipe that counts holders of a port here.
    Senders,
    /// The sending end of a remote port.
    Death,
    /// The sending end of a remote send-once right.
    OnceDeath,
    /// A pipe of which the holder of a receive right has the read end.
    Holder,
    /// The socket of the inspector.
    Inspect,
    /// Something was deferred.
    Deferred,
}

const SOURCES: [Source; 9] = [
    Source::Line,
    Source::Receiving,
    Source::OnceEnd,
    Source::Senders,
    Source::Death,
    Source::OnceDeath,
    Source::Holder,
    Source::Inspect,
    Source::Deferred,
];

/// Bits of what a source is about: a number, or a line's place and, above it, its serial.
const ABOUT: u32 = 60;
/// Bits of a line's place.
const PLACE: u32 = ABOUT - u32::BITS;

/// What a source is about.
#[derive(Debug, Clone, Copy)]
pub struct About(u64);

impl From<u32> for About {
    fn from(id: u32) -> Self {
        Self(u64::from(id))
    }
}

impl From<LineId> for About {
    fn from(line: LineId) -> Self {
        // There are no more places than descriptors.
        Self(u64::from(line.serial) << PLACE | u64::from(line.index))
    }
}

impl About {
    /// The number.
    pub fn id(self) -> u32 {
        self.0 as u32
    }

    /// The line.
    pub fn line(self) -> LineId {
        let serial = (self.0 >> PLACE) as u32;
        LineId { index: (self.0 & ((1 << PLACE) - 1)) as u32, serial }
    }
}

/// What the kernel gives back with an event of a source.
pub fn key(source: Source, about: impl Into<About>) -> epoll::EventData {
    let index = SOURCES.iter().position(|it| *it == source).unwrap_or(0);
    epoll::EventData::new_u64((index as u64) << ABOUT | about.into().0)
}

/// What [`key`] was made of.
pub fn of_key(key: u64) -> Option<(Source, About)> {
    Some((*SOURCES.get((key >> ABOUT) as usize)?, About(key & ((1 << ABOUT) - 1))))
}

/// What was deferred.
#[derive(Debug, Default)]
pub struct DeferredWork {
    /// To be done when others had the lock.
    pub(super) ready: VecDeque<Deferred>,
    /// To be tried again, and when.
    pub(super) short: Vec<Deferred>,
    pub(super) due: u64,
}

/// The time between two tries of what lacks resources, in nanoseconds.
pub const PAUSE: u64 = 20_000_000;

impl DeferredWork {
    /// How long the watcher may sleep.
    pub fn rest(&self) -> Option<Timespec> {
        let ns = match (self.ready.is_empty(), self.short.is_empty()) {
            (true, true) => return None,
            (true, false) => self.due.saturating_sub(now()).next_multiple_of(1_000_000),
            (false, _) => 0,
        };
        Some(Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 })
    }

    /// Whether it is still to be done.
    pub fn holds(&self, what: Deferred) -> bool {
        self.ready.contains(&what) || self.short.contains(&what)
    }

    /// The next piece of work that can be done now.
    pub fn take_ready(&mut self) -> Option<Deferred> {
        if !self.short.is_empty() && now() >= self.due {
            self.ready.extend(std::mem::take(&mut self.short));
        }
        self.ready.pop_front()
    }
}
