//! The watcher: one thread of the library's own, asleep until a socket has news.
//!
//! It hears of bells, deaths and requests, so that the program's own threads need to look at memory only. It starts
//! when the process first has to do with another one, or has a descriptor to poll. What it listens to is said in [`listen`](crate::routes::watch),
//! what is done with the news in [`news`](crate::dispatch::news).

use crate::{
    closer::Spawn,
    inspect::{self, Inspector},
    lock::Process,
    routes::watch::{About, Source, key, of_key},
};
use rustix::{
    event::{Timespec, epoll},
    io::Errno,
};
use slipway_fabric::descriptor::{Reserved, register};
use std::{io, mem::MaybeUninit, sync::Arc, thread::Builder};

/// Starts the thread with `spawn`, and gives it its set.
///
/// # Errors
/// Those of pthread_create(3).
pub(crate) fn start(set: Arc<Reserved>, spawn: Spawn) -> io::Result<()> {
    // Without it no process can ask what ports there are, and all else works.
    let inspector = Inspector::open().ok();
    if let Some(inspector) = &inspector {
        register(&set, inspector.socket(), key(Source::Inspect, 0), epoll::EventFlags::IN)?;
    }
    let events = Events { epoll: set, inspector, muted: false, news: Vec::new() };
    let thread = Builder::new().name("slipway-watcher".into()).stack_size(256 << 10);
    spawn(thread, Box::new(move || run(events)))
}

/// How long the watcher sleeps at most: the kernel does not wake it when the program closes its set.
const GLANCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

fn run(mut events: Events) {
    let mut rest = None;
    loop {
        let goes_on = events.wait(rest.as_ref().or(Some(&GLANCE)));
        let Some(process) = Process::made() else { return };
        if !goes_on {
            // The set was closed. Another watcher takes over, with a set of its own.
            return process.lock().lose_descriptors();
        }
        for (source, about) in &events.news {
            process.lock().hear_news(*source, *about);
            process.let_others_in();
        }
        let mut guard = process.lock();
        guard.go_on();
        guard.settle();
        rest = guard.deferred.rest();
        drop(guard);
        process.let_others_in();
        events.answer(&|| process.lock().snapshot());
    }
}

/// What the watcher's thread sleeps on and takes its news from.
#[derive(Debug)]
pub struct Events {
    epoll: Arc<Reserved>,
    /// Where other processes ask what ports there are.
    inspector: Option<Inspector>,
    /// Whether no connection could be accepted there for want of resources. Pending ones would not let the watcher
    /// sleep, so they are tried again with the next event of any kind.
    muted: bool,
    /// What the last wait brought.
    news: Vec<(Source, About)>,
}

impl Events {
    /// Sleeps until there is something, or for as long as `rest` says. False if that is over for good.
    pub(crate) fn wait(&mut self, rest: Option<&Timespec>) -> bool {
        self.news.clear();
        let mut events = [const { MaybeUninit::uninit() }; 64];
        match epoll::wait(&self.epoll, &mut events, rest) {
            Ok((events, _)) => self.news.extend(events.iter().filter_map(|event| of_key(event.data.u64()))),
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
        true
    }

    /// Answers processes that ask what ports there are. Not to be called with the lock held.
    pub(crate) fn answer(&mut self, snapshot: &dyn Fn() -> inspect::Snapshot) {
        let Some(inspector) = &self.inspector else { return };
        if !self.muted && !self.news.iter().any(|(source, _)| *source == Source::Inspect) {
            return;
        }
        let fails = inspect::answer(inspector.socket(), snapshot).is_err();
        if fails != self.muted {
            let flags = if fails { epoll::EventFlags::IN | epoll::EventFlags::ET } else { epoll::EventFlags::IN };
            let _ = epoll::modify(&self.epoll, inspector.socket(), key(Source::Inspect, 0), flags);
        }
        self.muted = fails;
    }
}
