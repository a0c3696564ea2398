//! Streams as members of an epoll set that otherwise is the kernel's.
//!
//! For each stream the kernel set holds the real socket and the line's socket, both edge-triggered
//! and under tags of ours. A stream is *active* while its ring is looked at by every wait; before a
//! wait sleeps, it arms the flags of the active streams and lets them rest: from then on a bell
//! makes a stream active again. So a wait costs as much as there are busy streams, not streams.

use crate::{
    descriptor::Reserved,
    hub::Hub,
    stream::{Stream, Won, locked, now},
    wait::{Outlook, Patience, current_cpu, may_spin},
};
use rustix::{
    event::{EventfdFlags, PollFlags, epoll, eventfd},
    io::Errno,
};
use slipway_fabric::{
    spin::Habit,
    sync::{AtomicU32, Ordering::SeqCst},
};
use std::{
    collections::HashMap,
    io,
    os::fd::{AsFd, BorrowedFd, RawFd},
    sync::{Arc, Mutex},
    time::Duration,
};

/// An event as epoll_wait(2) gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// EPOLLIN and its like.
    pub events: u32,
    /// What the program registered.
    pub data: u64,
}

/// EPOLLET.
const EDGE: u32 = 1 << 31;
/// EPOLLONESHOT.
const ONCE: u32 = 1 << 30;
/// The conditions among the events, which have poll(2)'s values.
const CONDITIONS: u32 = 0x3fff;

/// Between two looks at the kernel's part of a set while rings keep the program busy, nanoseconds.
const GLANCE: u64 = 5_000;

/// epoll_wait(2) on the real set: appends at most so many events, waits for so long (None: for ever).
pub type Poller<'p> = &'p mut dyn FnMut(&mut Vec<Event>, usize, Option<Duration>) -> Result<(), Errno>;

#[derive(Debug, Clone)]
enum Tag {
    Socket(RawFd),
    Line(RawFd),
    Hub(Arc<Hub>),
    Kick,
}

/// A stream in a set.
#[derive(Debug)]
struct Entry {
    stream: Arc<Stream>,
    fd: RawFd,
    events: u32,
    data: u64,
    socket_tag: u64,
    line_tag: u64,
    active: bool,
    /// EPOLLONESHOT has reported and waits for EPOLL_CTL_MOD.
    spent: bool,
    /// Added or modified since the last report: whatever is ready is news.
    fresh: bool,
    /// The kernel reported an edge since the last report.
    kernel_news: bool,
    arrival_reported: u64,
    blocked_reported: u32,
    bells: u32,
}

impl Entry {
    fn want(&self) -> PollFlags {
        PollFlags::from_bits_retain((self.events & CONDITIONS) as u16)
    }

    fn news(&self) -> bool {
        let want = self.want();
        self.fresh
            || self.kernel_news
            || (want.contains(PollFlags::IN) && self.stream.arrival_mark() != self.arrival_reported)
            || (want.contains(PollFlags::OUT) && self.stream.blocked_mark() != self.blocked_reported)
    }

    /// Whether a report is likely: the cheap look, for spinning and before sleeping.
    fn stirs(&self) -> bool {
        if self.spent {
            return false;
        }
        if self.events & EDGE != 0 && !self.news() {
            return false;
        }
        self.stream.stirs(self.want()) || self.fresh || self.kernel_news
    }

    /// The event to report now, if any.
    fn report(&mut self) -> Option<Event> {
        if self.spent {
            return None;
        }
        let (arrival, blocked) = (self.stream.arrival_mark(), self.stream.blocked_mark());
        let news = self.events & EDGE == 0 || self.news();
        if !news {
            return None;
        }
        let ready = borrow(self.fd, |fd| self.stream.look(fd, self.want(), None));
        // Only a look that found the socket settled uses the kernel's news up.
        self.kernel_news = false;
        self.fresh = false;
        self.arrival_reported = arrival;
        if ready.contains(PollFlags::OUT) {
            self.blocked_reported = blocked;
        }
        if ready.is_empty() {
            return None;
        }
        self.spent = self.events & ONCE != 0;
        Some(Event { events: u32::from(ready.bits()), data: self.data })
    }
}

/// Runs `f` with the program's descriptor.
fn borrow<T>(fd: RawFd, f: impl FnOnce(BorrowedFd<'_>) -> T) -> T {
    #[allow(unsafe_code, reason = "the program's descriptors come as numbers")]
    // SAFETY: used for system calls during `f` only; should the program close it meanwhile, they fail
    // with EBADF or act as the program's own call would.
    f(unsafe { BorrowedFd::borrow_raw(fd) })
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<Option<Box<Entry>>>,
    active: Vec<RawFd>,
    tags: HashMap<u64, Tag>,
    next_tag: u64,
    glanced: u64,
    turn: usize,
}

/// The part of an epoll set that the kernel doesn't know.
#[derive(Debug)]
pub struct EpollSet {
    epfd: RawFd,
    kick: Reserved,
    state: Mutex<State>,
    sleeping: AtomicU32,
    habit: Habit,
}

impl EpollSet {
    /// For the kernel set `epfd`, into which it puts an eventfd of its own.
    pub fn new(epfd: RawFd) -> io::Result<Arc<Self>> {
        let kick = Reserved::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)?;
        let set = Self { epfd, kick, state: Mutex::default(), sleeping: AtomicU32::new(0), habit: Habit::hopeful() };
        let mut state = locked(&set.state);
        // Numbers that are no addresses and no descriptors, so that no program uses them as data.
        let mut seed = [0u8; 4];
        let _ = rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::NONBLOCK);
        state.next_tag = 0x9c57_0000_0000_0000 | u64::from(u32::from_ne_bytes(seed)) << 16;
        let tag = state.tag(Tag::Kick);
        set.register(set.kick.as_fd(), epoll::EventFlags::IN | epoll::EventFlags::ET, tag)?;
        drop(state);
        Ok(Arc::new(set))
    }

    fn register(&self, fd: BorrowedFd<'_>, flags: epoll::EventFlags, tag: u64) -> Result<(), Errno> {
        borrow(self.epfd, |epfd| epoll::add(epfd, fd, epoll::EventData::new_u64(tag), flags))
    }

    /// EPOLL_CTL_ADD of a stream.
    pub fn add(self: &Arc<Self>, fd: RawFd, stream: &Arc<Stream>, events: u32, data: u64) -> Result<(), Errno> {
        // First, so that no sleeper in poll(2) lowers a flag that this set rests on.
        stream.join(self);
        let mut state = locked(&self.state);
        let index = usize::try_from(fd).map_err(|_| Errno::BADF)?;
        let (socket_tag, line_tag) = (state.tag(Tag::Socket(fd)), state.tag(Tag::Line(fd)));
        let all = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::PRI | epoll::EventFlags::RDHUP;
        let added = borrow(fd, |fd| self.register(fd, all | epoll::EventFlags::ET, socket_tag));
        if let Err(error) = added {
            state.tags.remove(&socket_tag);
            state.tags.remove(&line_tag);
            return Err(error);
        }
        // A second descriptor of the same connection finds the line there already: its bell is heard once.
        let _ = self.register(stream.line_socket(), epoll::EventFlags::IN | epoll::EventFlags::ET, line_tag);
        if state.entries.len() <= index {
            state.entries.resize_with(index + 1, || None);
        }
        state.entries[index] = Some(Box::new(Entry {
            stream: Arc::clone(stream),
            fd,
            events,
            data,
            socket_tag,
            line_tag,
            active: false,
            spent: false,
            fresh: true,
            kernel_news: true,
            arrival_reported: 0,
            blocked_reported: stream.blocked_mark().wrapping_sub(1),
            bells: 0,
        }));
        state.activate(fd);
        drop(state);
        self.rouse();
        Ok(())
    }

    /// EPOLL_CTL_MOD; false if the set has no such stream.
    pub fn modify(&self, fd: RawFd, events: u32, data: u64) -> bool {
        let mut state = locked(&self.state);
        let Some(entry) = state.entry(fd) else { return false };
        (entry.events, entry.data) = (events, data);
        (entry.spent, entry.fresh) = (false, true);
        state.activate(fd);
        drop(state);
        self.rouse();
        true
    }

    /// EPOLL_CTL_DEL, or the descriptor is being closed; false if the set has no such stream.
    pub fn remove(&self, fd: RawFd) -> bool {
        let mut state = locked(&self.state);
        self.take_out(&mut state, fd).is_some()
    }

    fn take_out(&self, state: &mut State, fd: RawFd) -> Option<Box<Entry>> {
        let entry = state.entries.get_mut(usize::try_from(fd).ok()?)?.take()?;
        state.tags.remove(&entry.socket_tag);
        state.tags.remove(&entry.line_tag);
        state.active.retain(|active| *active != fd);
        let _ = borrow(self.epfd, |epfd| borrow(fd, |fd| epoll::delete(epfd, fd)));
        let _ = borrow(self.epfd, |epfd| epoll::delete(epfd, entry.stream.line_socket()));
        Some(entry)
    }

    /// Lets the set serve a hub while its program waits.
    pub fn add_hub(&self, hub: &Arc<Hub>) {
        let mut state = locked(&self.state);
        let tag = state.tag(Tag::Hub(Arc::clone(hub)));
        let _ = self.register(hub.as_fd(), epoll::EventFlags::IN, tag);
    }

    /// The number of the kernel's set.
    pub fn descriptor(&self) -> RawFd {
        self.epfd
    }

    /// Whether a wait has anything to do that the kernel's epoll_wait wouldn't.
    pub fn is_idle(&self) -> bool {
        locked(&self.state).tags.len() <= 1
    }

    /// Somebody else took the bell of `stream`: looks at it from now on.
    pub fn alert(&self, stream: &Stream) {
        let mut state = locked(&self.state);
        let fds: Vec<_> =
            state.entries.iter().flatten().filter(|e| std::ptr::eq(Arc::as_ptr(&e.stream), stream)).map(|e| e.fd).collect();
        for fd in fds {
            state.activate(fd);
        }
        drop(state);
        self.rouse();
    }

    fn rouse(&self) {
        if self.sleeping.load(SeqCst) != 0 {
            let _ = rustix::io::write(&self.kick, &1u64.to_ne_bytes());
        }
    }

    /// Whether the set would report something of a stream now, or must be asked again when the
    /// kernel's set stirs: for a program that waits for the set itself. Arms what it looked at.
    pub fn ready_within(&self) -> bool {
        let mut state = locked(&self.state);
        state.entries.iter_mut().flatten().any(|entry| {
            entry.stream.arm(entry.want());
            entry.stirs()
        })
    }

    /// epoll_wait(2): appends at most `max` events to `out`.
    pub fn wait(&self, out: &mut Vec<Event>, max: usize, timeout: Option<Duration>, poller: Poller<'_>) -> Result<(), Errno> {
        let mut deadline = None;
        let mut won = Won::Looking;
        let mut scratch = Vec::new();
        loop {
            let mut state = locked(&self.state);
            self.gather(&mut state, out, max, won);
            let time = now();
            if deadline.is_none() {
                deadline = Some(timeout.map(|t| time.saturating_add(u64::try_from(t.as_nanos()).unwrap_or(u64::MAX))));
            }
            let expired = deadline.flatten().is_some_and(|d| time >= d);
            if !out.is_empty() && (out.len() >= max || time.wrapping_sub(state.glanced) < GLANCE) {
                return Ok(());
            }
            if !out.is_empty() || expired {
                // Nobody on a ring keeps the others waiting: the kernel's part has its turn.
                state.glanced = time;
                drop(state);
                scratch.clear();
                poller(&mut scratch, max - out.len(), Some(Duration::ZERO))?;
                let mut state = locked(&self.state);
                self.sort(&mut state, &scratch, out);
                if out.is_empty() {
                    self.gather(&mut state, out, max, won);
                }
                return Ok(());
            }
            if won == Won::Looking && self.spin(&mut state, deadline.flatten(), poller, &mut scratch, out, max)? {
                if !out.is_empty() {
                    return Ok(());
                }
                won = Won::Spinning;
                continue;
            }
            if !self.lie_down(&mut state) {
                continue;
            }
            self.sleeping.fetch_add(1, SeqCst);
            drop(state);
            let remaining = deadline.flatten().map(|d| Duration::from_nanos(d.saturating_sub(now())));
            scratch.clear();
            let result = poller(&mut scratch, max, remaining);
            self.sleeping.fetch_sub(1, SeqCst);
            result?;
            let mut state = locked(&self.state);
            state.glanced = now();
            self.sort(&mut state, &scratch, out);
            won = Won::Sleeping;
            if !out.is_empty() {
                self.gather(&mut state, out, max, won);
                return Ok(());
            }
        }
    }

    /// Reports of the active streams, beginning with another one each time.
    fn gather(&self, state: &mut State, out: &mut Vec<Event>, max: usize, won: Won) {
        let count = state.active.len();
        if count == 0 {
            return;
        }
        state.turn = state.turn.wrapping_add(1);
        let mut retired = Vec::new();
        for i in 0..count {
            if out.len() >= max {
                break;
            }
            let fd = state.active[(state.turn + i) % count];
            let Some(entry) = state.entry(fd) else { continue };
            if entry.stream.is_plain() {
                retired.push(fd);
            } else if let Some(event) = entry.report() {
                out.push(event);
                entry.stream.count_wait(won);
            }
        }
        for fd in retired {
            self.retire(state, fd);
        }
    }

    /// Hands a stream that is back on its socket to the kernel, as the program registered it.
    fn retire(&self, state: &mut State, fd: RawFd) {
        if let Some(entry) = self.take_out(state, fd) {
            let events = if entry.spent { 0 } else { entry.events };
            let flags = epoll::EventFlags::from_bits_retain(events);
            let _ = borrow(fd, |fd| self.register(fd, flags, entry.data));
        }
    }

    /// Sorts the kernel's events into the program's, which go out, and ours.
    fn sort(&self, state: &mut State, events: &[Event], out: &mut Vec<Event>) {
        for event in events {
            match state.tags.get(&event.data).cloned() {
                None => out.push(*event),
                Some(Tag::Kick) => {
                    let _ = rustix::io::read(&self.kick, &mut [0u8; 8]);
                }
                Some(Tag::Hub(hub)) => hub.serve(),
                Some(Tag::Socket(fd)) => {
                    if let Some(entry) = state.entry(fd) {
                        entry.kernel_news = true;
                        entry.stream.note_socket_event();
                        state.activate(fd);
                    }
                }
                Some(Tag::Line(fd)) => {
                    if let Some(entry) = state.entry(fd) {
                        entry.bells += 1;
                        let hang_up = event.events & u32::from(PollFlags::HUP.bits()) != 0;
                        if hang_up || entry.bells.is_multiple_of(32) {
                            entry.stream.heard_in_set();
                        }
                        // What the bell is for may be known to the kernel only (a return to the socket).
                        entry.kernel_news |= entry.stream.needs_kernel();
                        state.activate(fd);
                    }
                }
            }
        }
    }

    /// Spins while it may win. True when a stream stirs, or the kernel's part had events for `out`.
    #[allow(clippy::too_many_arguments, reason = "the parts of one wait")]
    fn spin(
        &self,
        state: &mut State,
        deadline: Option<u64>,
        poller: Poller<'_>,
        scratch: &mut Vec<Event>,
        out: &mut Vec<Event>,
        max: usize,
    ) -> Result<bool, Errno> {
        if state.active.is_empty() || !may_spin() {
            return Ok(false);
        }
        let cpu = current_cpu();
        let outlook = state.busy().filter(|e| !e.spent).map(|e| e.stream.outlook(cpu)).max();
        let Some(outlook) = outlook.filter(|o| *o != Outlook::Sleep && self.habit.spins(now())) else { return Ok(false) };
        let mut patience = Patience::new(outlook, deadline);
        loop {
            if let Some(stirring) = patience.round(|| state.busy().any(Entry::stirs)) {
                self.habit.learn(patience.outcome(stirring), now());
                return Ok(stirring);
            }
            let time = now();
            if time.wrapping_sub(state.glanced) >= GLANCE {
                state.glanced = time;
                scratch.clear();
                poller(scratch, max, Some(Duration::ZERO))?;
                if !scratch.is_empty() {
                    self.sort(state, scratch, out);
                    return Ok(true);
                }
            }
        }
    }

    /// Arms the active streams and lets them rest. False if one of them stirs after all.
    fn lie_down(&self, state: &mut State) -> bool {
        let mut stirring = false;
        for fd in std::mem::take(&mut state.active) {
            let Some(entry) = state.entry(fd) else { continue };
            if !entry.spent {
                entry.stream.arm(entry.want());
            }
            if entry.stirs() {
                entry.stream.disarm();
                stirring = true;
                state.active.push(fd);
            } else {
                entry.active = false;
            }
        }
        !stirring
    }
}

impl State {
    fn tag(&mut self, tag: Tag) -> u64 {
        self.next_tag += 1;
        self.tags.insert(self.next_tag, tag);
        self.next_tag
    }

    fn entry(&mut self, fd: RawFd) -> Option<&mut Entry> {
        self.entries.get_mut(usize::try_from(fd).ok()?)?.as_deref_mut()
    }

    /// The active streams.
    fn busy(&self) -> impl Iterator<Item = &Entry> {
        self.active.iter().filter_map(|fd| self.entries.get(*fd as usize)?.as_deref())
    }

    fn activate(&mut self, fd: RawFd) {
        if let Some(entry) = self.entry(fd)
            && !entry.active
        {
            entry.active = true;
            self.active.push(fd);
        }
    }
}
