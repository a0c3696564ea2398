//! The watcher: one thread of the library's own, asleep until a socket has news.
//!
//! It hears of bells, deaths and requests, so that the program's own threads need to look at memory only. It starts
//! when the process first has to do with another one.

use super::{
    Exported, Far, Inner,
    inspect::{self, Inspector},
    later::Later,
    pump::Pumped,
    wait::MANY,
};
use crate::{
    process::Process,
    state::{FarOnce, Home, PortId},
};
use rustix::{buffer::spare_capacity, event::epoll, io::Errno};
use slipway_fabric::descriptor::{Reserved, hear, unhear};
use std::{
    io,
    os::fd::{AsFd, AsRawFd, RawFd},
    sync::Arc,
};

/// The watcher's side that the rest of the process sees.
#[derive(Debug)]
pub struct Watcher {
    epoll: Arc<Reserved>,
    /// Tells it that something was put off.
    nudge: Reserved,
}

/// What a socket is, in the watcher's set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Line,
    Receiving,
    OnceEnd,
    Senders,
    Death,
    OnceDeath,
    Holder,
    Inspect,
    PutOff,
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
    Source::PutOff,
];

fn key(source: Source, id: u32) -> epoll::EventData {
    let index = SOURCES.iter().position(|it| *it == source).unwrap_or(0);
    epoll::EventData::new_u64((index as u64) << 32 | u64::from(id))
}

impl Inner {
    /// Starts the watcher, if it does not run yet.
    pub(crate) fn start_watcher(&mut self) -> io::Result<()> {
        if self.io.watcher.is_some() {
            return Ok(());
        }
        let epoll = Arc::new(Reserved::new(epoll::create(epoll::CreateFlags::CLOEXEC)?)?);
        let own = Arc::clone(&epoll);
        // Without it nobody can ask what ports there are, and all else works.
        let inspector = Inspector::open().ok();
        let desk = inspector.as_ref().map(Inspector::listener);
        use rustix::event::{EventfdFlags, eventfd};
        let nudge = Reserved::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)?;
        spawn(move || watch(&own, desk.as_deref()))?;
        self.io.watcher = Some(Watcher { epoll, nudge });
        if let Some(watcher) = &self.io.watcher {
            let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
            hear(&watcher.epoll, &watcher.nudge, key(Source::PutOff, 0), flags)?;
        }
        self.io.inspector = inspector;
        if let Some(inspector) = &self.io.inspector {
            listen(&self.io.watcher, inspector.socket(), Source::Inspect, 0, epoll::EventFlags::IN)?;
        }
        Ok(())
    }

    /// Wakes the watcher for what was put off.
    pub(super) fn nudge_watcher(&mut self) {
        if self.start_watcher().is_ok()
            && let Some(watcher) = &self.io.watcher
        {
            let _ = rustix::io::write(&watcher.nudge, &1u64.to_ne_bytes());
        }
    }

    pub(crate) fn listen_line(&mut self, number: u32) -> io::Result<()> {
        self.start_watcher()?;
        let line = self.io.lines.get(number as usize).ok_or(io::ErrorKind::NotFound)?;
        listen(&self.io.watcher, &line.bell, Source::Line, number, epoll::EventFlags::IN)
    }

    pub(crate) fn listen_receiving_end(&mut self, port: PortId) -> io::Result<()> {
        self.start_watcher()?;
        let exported = self.io.exported(port).ok_or(io::ErrorKind::NotFound)?;
        listen(&self.io.watcher, &exported.r, Source::Receiving, port.0, epoll::EventFlags::IN)
    }

    /// Hears of no requests to a port here for now.
    pub(super) fn mute(&self, port: PortId) {
        if let Some(exported) = self.io.exported(port) {
            let _ = listen(&self.io.watcher, &exported.r, Source::Receiving, port.0, epoll::EventFlags::empty());
        }
    }

    /// Hears of requests to a port here again.
    pub(super) fn hear(&mut self, port: PortId) {
        let _ = self.listen_receiving_end(port);
    }

    pub(crate) fn listen_once_end(&mut self, id: u32) -> io::Result<()> {
        self.start_watcher()?;
        let end = self.io.once_ends.get(id as usize).ok_or(io::ErrorKind::NotFound)?;
        listen(&self.io.watcher, &end.socket, Source::OnceEnd, id, epoll::EventFlags::IN)
    }

    /// Listens to a pipe that counts a port's holders.
    pub(crate) fn listen_watch(&mut self, port: PortId, pipe: &Reserved) {
        if self.start_watcher().is_ok() {
            let _ = listen(&self.io.watcher, pipe, Source::Senders, port.0, epoll::EventFlags::empty());
        }
    }

    /// Listens to all pipes that count a port's holders.
    pub(crate) fn listen_watches(&mut self, port: PortId) {
        let _ = self.start_watcher();
        if let Some(exported) = self.io.exported(port) {
            for pipe in &exported.watches {
                let _ = listen(&self.io.watcher, pipe, Source::Senders, port.0, epoll::EventFlags::empty());
            }
        }
    }

    /// Somebody wants to know when a port here has no senders: nobody here keeps a pipe open any more, and the
    /// watcher listens to those of others.
    pub(crate) fn watch_senders(&mut self, port: PortId) {
        let Some(exported) = self.io.exported_mut(port) else { return };
        exported.t = None;
        exported.watching = true;
        self.refresh_watches(port);
        self.listen_watches(port);
    }

    /// Forgets the pipes that nobody holds any more.
    fn refresh_watches(&mut self, port: PortId) {
        if let Some(Exported { watches, .. }) = self.io.exported_mut(port) {
            watches.retain(|pipe| !super::objects::hung_up(pipe));
            self.count_abroad(port);
        }
    }

    /// As [`Inner::refresh_watches`], when no record of a line is being read: what holders sent while they held
    /// the right comes before its end.
    pub(super) fn refresh_holders(&mut self, port: PortId) {
        let Some(Exported { watches, slots, .. }) = self.io.exported(port) else { return };
        let gone: Vec<RawFd> =
            watches.iter().filter(|pipe| super::objects::hung_up(*pipe)).map(|pipe| pipe.as_fd().as_raw_fd()).collect();
        if !gone.is_empty() {
            let readable =
                |number: &u32| self.io.lines.get(*number as usize).is_some_and(|line| line.segment.rx.readable(line.rx.head));
            let lines: Vec<u32> = slots.iter().map(|(line, _)| *line).filter(readable).collect();
            let more = lines.iter().take(MANY).filter(|line| self.pump(**line, None) == Pumped::More).count();
            if more > 0 || lines.len() > MANY {
                return self.put_off(Later::Holders(port));
            }
            self.accept_lines(port);
        }
        if let Some(Exported { watches, .. }) = self.io.exported_mut(port) {
            watches.retain(|pipe| !gone.contains(&pipe.as_fd().as_raw_fd()));
            self.count_abroad(port);
        }
    }

    /// Finds out how many hold rights to a port here, before somebody asks the state.
    pub(crate) fn refresh_senders(&mut self, port: PortId) {
        if let Some(exported) = self.io.exported_mut(port) {
            exported.t = None;
            self.refresh_holders(port);
        }
    }

    /// Listens for the death of a far port.
    pub(crate) fn watch_death(&mut self, port: PortId) {
        if self.start_watcher().is_err() {
            return;
        }
        let Some(far) = self.io.far_mut(port) else { return };
        if std::mem::replace(&mut far.watched, true) {
            return;
        }
        let Some(s) = far.s.clone() else { return };
        if super::objects::hung_up(&*s) {
            return self.state.far_port_died(port);
        }
        let _ = listen(&self.io.watcher, &s, Source::Death, port.0, epoll::EventFlags::empty());
    }

    /// Listens for the death of the port of a far send-once right.
    pub(crate) fn watch_once(&mut self, once: FarOnce) {
        if self.start_watcher().is_err() {
            return;
        }
        if let Some(super::Once::Socket(socket)) = self.io.onces.get(once.0 as usize) {
            // Once: others' copies of a dead socket would keep it in the set.
            let _ = listen(&self.io.watcher, socket, Source::OnceDeath, once.0, epoll::EventFlags::ONESHOT);
        }
    }

    /// Looks whether the port of a far send-once right has died since anybody last looked.
    pub(crate) fn refresh_once(&mut self, once: FarOnce) {
        let Some(super::Once::Socket(socket)) = self.io.onces.get(once.0 as usize) else { return };
        if super::objects::hung_up(&**socket) && self.state.far_once_died(once) {
            self.io.onces.try_remove(once.0 as usize);
        }
    }

    /// Looks whether a far port has died since anybody last looked.
    pub(crate) fn refresh_far(&mut self, port: PortId) {
        if matches!(self.state.port(port).home, Home::Far)
            && let Some(far) = self.io.far(port)
            && far.s.as_ref().is_some_and(|s| super::objects::hung_up(&**s))
        {
            self.state.far_port_died(port);
            self.bury_far(port);
        }
    }

    /// Listens for the death of who has a receive right that is wanted back.
    pub(crate) fn listen_holder(&mut self, port: PortId) {
        let Some(Far { spare: Some(_), t: Some(t), .. }) = self.io.far(port) else { return };
        // Once: other holders' copies of the pipe's end keep it in the set.
        let _ = listen(&self.io.watcher, t, Source::Holder, port.0, epoll::EventFlags::ONESHOT);
    }

    /// Stops listening to a descriptor that goes to another process.
    pub(crate) fn unlisten(&self, fd: &Reserved) {
        unhear(fd);
    }

    /// Nobody can send to the port's receiving end any more.
    pub(crate) fn deafen(&mut self, port: PortId) {
        if let Some(exported) = self.io.exported(port) {
            unhear(&exported.r);
        }
    }

    /// A line rang, or is new: everything on it that does not wait for a receiver is done.
    pub(crate) fn line_stirs(&mut self, number: u32) {
        let Some(line) = self.io.lines.get_mut(number as usize) else { return };
        line.blocked = false;
        line.release_kept();
        if line.lapsed {
            self.io.stirred.push(number);
        }
        let closed: Vec<u32> = line
            .outs
            .iter()
            .enumerate()
            .filter(|(slot, out)| {
                out.is_some_and(|out| !out.closed)
                    && line.theirs.gate[*slot].load(slipway_fabric::sync::Ordering::Acquire) >= super::line::GATE_MOVED
            })
            .map(|(slot, _)| slot as u32)
            .collect();
        if line.hurry().is_err() {
            return self.end_line(number);
        }
        for slot in closed {
            self.look_at_gate(number, slot);
        }
        self.look_at_forced(number);
        // The bell may be for room that a thread dozed for, when a backlog took the flag over.
        self.wake_line_senders(number);
        self.heat(number);
        if self.pump(number, None) == Pumped::More {
            self.put_off(Later::Stir(number));
        }
        self.hand_over();
    }

    fn news(&mut self, source: Source, id: u32) {
        match source {
            Source::Line => match self.io.lines.get_mut(id as usize).map(super::line::Line::drain_bells) {
                Some(true) => self.line_stirs(id),
                // What lies in the ring was sent while the sender lived. This is heard again as long as the line is there.
                Some(false) if self.pump(id, None) == Pumped::More => {}
                Some(false) => self.end_line(id),
                None => {}
            },
            Source::Receiving => self.accept_lines(PortId(id)),
            Source::OnceEnd => self.pump_once_end(id),
            Source::Senders => self.refresh_holders(PortId(id)),
            Source::Death => self.refresh_far_port(PortId(id)),
            Source::OnceDeath => self.refresh_once(FarOnce(id)),
            Source::Holder => self.regain(PortId(id)),
            // Done after this.
            Source::Inspect | Source::PutOff => {}
        }
    }

    fn refresh_far_port(&mut self, port: PortId) {
        if self.state.ports.contains(port.0 as usize) {
            self.refresh_far(port);
        }
    }
}

fn listen(watcher: &Option<Watcher>, fd: &Reserved, source: Source, id: u32, flags: epoll::EventFlags) -> io::Result<()> {
    let Some(watcher) = watcher else { return Ok(()) };
    hear(&watcher.epoll, fd, key(source, id), flags)
}

/// Starts a thread that no signal of the program's is delivered to.
fn spawn(run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("slipway-watcher".into()).stack_size(256 << 10);
    crate::signals::without(|| crate::trap::for_first(|| thread.spawn(run).map(drop)))
}

fn watch(own: &Reserved, desk: Option<&Reserved>) {
    let mut events: Vec<epoll::Event> = Vec::with_capacity(64);
    let mut muted = false;
    let mut rest = None;
    loop {
        events.clear();
        match epoll::wait(own, spare_capacity(&mut events), rest.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        let process = Process::get();
        for event in &events {
            let key = event.data.u64();
            if let Some(source) = SOURCES.get((key >> 32) as usize) {
                // Any of them may take long.
                process.lock().news(*source, key as u32);
                process.let_others_in();
            }
        }
        let mut inner = process.lock();
        inner.go_on();
        inner.settle();
        rest = inner.io.put_off.rest();
        drop(inner);
        process.let_others_in();
        if let Some(desk) = desk {
            muted = answer(own, desk, muted, &events);
        }
    }
}

/// Answers who asks what ports there are. Whether the desk is now muted: while there are no descriptors to accept
/// anybody with, those who wait would not let the watcher sleep. It is tried again with the next event of any kind.
fn answer(own: &Reserved, desk: &Reserved, muted: bool, events: &[epoll::Event]) -> bool {
    let inspects = key(Source::Inspect, 0).u64();
    if !muted && !events.iter().any(|event| event.data.u64() == inspects) {
        return false;
    }
    let fails = inspect::answer(desk).is_err();
    if fails != muted {
        let flags = if fails { epoll::EventFlags::IN | epoll::EventFlags::ET } else { epoll::EventFlags::IN };
        let _ = epoll::modify(own, desk, key(Source::Inspect, 0), flags);
    }
    fails
}
