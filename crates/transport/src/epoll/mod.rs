//! Streams as members of an epoll set that otherwise is the kernel's.
//!
//! For each stream the kernel set holds the real socket and the line's socket, both edge-triggered
//! and under tags of ours. A stream is *active* while its ring is looked at by every wait; before a
//! wait sleeps, it arms the flags of the active streams and lets them rest: from then on a bell
//! makes a stream active again. So a wait costs as much as there are busy streams, not streams.

mod entry;
mod wait;

use crate::{
    descriptor::Reserved,
    hub::Hub,
    ports::office::Office,
    stream::{Stream, locked},
};
use entry::Entry;
use rustix::{
    event::{EventfdFlags, epoll, eventfd},
    io::Errno,
};
use slipway_fabric::{
    sleepers::SetSleepers,
    spin::SpinHistory,
    sync::{AtomicU32, Ordering::SeqCst},
};
use std::{
    collections::HashMap,
    io,
    os::fd::{AsFd, BorrowedFd, RawFd},
    sync::{Arc, Mutex, Weak},
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

/// epoll_wait(2) on the real set: appends at most so many events, waits for so long (None: for ever).
pub type Poller<'p> = &'p mut dyn FnMut(&mut Vec<Event>, usize, Option<Duration>) -> Result<(), Errno>;

#[derive(Debug, Clone)]
enum Tag {
    Socket(RawFd),
    Line(RawFd),
    Hub(Weak<Hub>),
    Office,
    Kick,
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
    first_tag: u64,
    next_tag: u64,
    glanced: u64,
    /// Until then a stream that is read shares the server with others.
    company_until: u64,
    last_reported: Option<RawFd>,
    /// Of a process whose connections go over ports.
    office: Option<Arc<Office>>,
    turn: usize,
}

/// The part of an epoll set that the kernel doesn't know.
#[derive(Debug)]
pub struct EpollSet {
    epfd: RawFd,
    /// The process that made it.
    process: u32,
    kick: Reserved,
    state: Mutex<State>,
    sleepers: SetSleepers,
    spins: SpinHistory,
    /// 1: the set is itself a member of another, whose waits know nothing of rings.
    nested: AtomicU32,
}

impl EpollSet {
    /// For the kernel set `epfd`, into which it puts an eventfd of its own.
    pub fn new(epfd: RawFd) -> io::Result<Arc<Self>> {
        let kick = Reserved::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)?;
        let set = Self {
            epfd,
            process: std::process::id(),
            kick,
            state: Mutex::default(),
            sleepers: SetSleepers::default(),
            spins: SpinHistory::hopeful(),
            nested: AtomicU32::new(0),
        };
        let mut state = locked(&set.state);
        // Numbers that are no addresses and no descriptors, so that no program uses them as data.
        let mut seed = [0u8; 4];
        let _ = rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::NONBLOCK);
        state.next_tag = 0x9c57_0000_0000_0000 | u64::from(u32::from_ne_bytes(seed)) << 16;
        state.first_tag = state.next_tag;
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
        if state.entry(fd).is_some_and(|entry| !Arc::ptr_eq(&entry.stream, stream)) {
            // Closed where no hook saw it.
            self.take_out(&mut state, fd);
        }
        if let Some(entry) = state.entry(fd) {
            if !entry.dormant {
                return Err(Errno::EXIST);
            }
            entry.revive(events, data);
            state.activate(fd);
            drop(state);
            self.rouse();
            return Ok(());
        }
        let (socket_tag, line_tag) = (state.tag(Tag::Socket(fd)), state.tag(Tag::Line(fd)));
        let all = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::PRI | epoll::EventFlags::RDHUP;
        let added = borrow(fd, |fd| self.register(fd, all | epoll::EventFlags::ET, socket_tag));
        if let Err(error) = added {
            state.tags.remove(&socket_tag);
            state.tags.remove(&line_tag);
            return Err(error);
        }
        match stream.office() {
            Some(office) => self.add_office(&mut state, office),
            // A second descriptor of the same connection finds the line there already: its bell is heard once.
            None => _ = self.register(stream.line_socket(), epoll::EventFlags::IN | epoll::EventFlags::ET, line_tag),
        }
        if state.entries.len() <= index {
            state.entries.resize_with(index + 1, || None);
        }
        state.entries[index] = Some(Box::new(Entry::new(stream, fd, (events, data), (socket_tag, line_tag))));
        state.activate(fd);
        drop(state);
        self.rouse();
        Ok(())
    }

    /// Waits on the set take what comes to the process's ports from here on.
    fn add_office(&self, state: &mut State, office: &Arc<Office>) {
        if state.office.is_none() {
            let tag = state.tag(Tag::Office);
            let _ = self.register(office.gate(), epoll::EventFlags::IN, tag);
            state.office = Some(Arc::clone(office));
        }
    }

    /// EPOLL_CTL_MOD; false if the set has no such stream.
    pub fn modify(&self, fd: RawFd, events: u32, data: u64) -> bool {
        let mut state = locked(&self.state);
        let Some(entry) = state.entry(fd).filter(|entry| !entry.dormant) else { return false };
        (entry.events, entry.data) = (events, data);
        (entry.spent, entry.fresh) = (false, true);
        state.activate(fd);
        drop(state);
        self.rouse();
        true
    }

    /// EPOLL_CTL_DEL; false if the set has no such stream. The set keeps it until [`EpollSet::closing`].
    pub fn remove(&self, fd: RawFd) -> bool {
        let mut state = locked(&self.state);
        let Some(entry) = state.entry(fd).filter(|entry| !entry.dormant) else { return false };
        if entry.stream.is_copied() || entry.stream.is_plain() {
            return self.take_out(&mut state, fd).is_some();
        }
        (entry.dormant, entry.active) = (true, false);
        state.active.retain(|active| *active != fd);
        true
    }

    /// The kernel is to decide on `fd` alone: what the program took out leaves its set, too.
    pub fn yield_to_kernel(&self, fd: RawFd) {
        let mut state = locked(&self.state);
        if state.entry(fd).is_some_and(|entry| entry.dormant) {
            self.take_out(&mut state, fd);
        }
    }

    /// The descriptor is about to be closed. A forked child that closes its copy leaves the kernel's
    /// set, which it shares with its parent, as it is.
    pub fn closing(&self, fd: RawFd) {
        let mut state = locked(&self.state);
        if self.process == std::process::id() {
            self.take_out(&mut state, fd);
        } else {
            state.take_out(fd);
        }
    }

    fn take_out(&self, state: &mut State, fd: RawFd) -> Option<Box<Entry>> {
        let entry = state.take_out(fd)?;
        let _ = borrow(self.epfd, |epfd| borrow(fd, |fd| epoll::delete(epfd, fd)));
        let _ = borrow(self.epfd, |epfd| epoll::delete(epfd, entry.stream.line_socket()));
        // Another descriptor of the same connection goes on hearing its bell.
        let twin = state.entries.iter().flatten().find(|e| Arc::ptr_eq(&e.stream, &entry.stream));
        if let Some(twin) = twin {
            let _ = self.register(twin.stream.line_socket(), epoll::EventFlags::IN | epoll::EventFlags::ET, twin.line_tag);
            let fd = twin.fd;
            state.activate(fd);
        }
        Some(entry)
    }

    /// Lets the set serve a hub while its program waits.
    pub fn add_hub(&self, hub: &Arc<Hub>) {
        let mut state = locked(&self.state);
        if state.tags.values().any(|tag| matches!(tag, Tag::Hub(known) if std::ptr::eq(known.as_ptr(), Arc::as_ptr(hub)))) {
            return;
        }
        let tag = state.tag(Tag::Hub(Arc::downgrade(hub)));
        let _ = self.register(hub.as_fd(), epoll::EventFlags::IN, tag);
    }

    /// Whether the set is a member of another.
    pub fn is_nested(&self) -> bool {
        self.nested.load(SeqCst) != 0
    }

    /// The set has become a member of another, in which nobody looks at rings: its streams go back to
    /// their sockets, and no other must come.
    pub fn nest(&self) {
        self.nested.store(1, SeqCst);
        let mut state = locked(&self.state);
        let fds: Vec<_> = state.entries.iter().flatten().map(|e| e.fd).collect();
        for fd in fds {
            match state.entry(fd) {
                Some(entry) if !entry.dormant => {
                    borrow(fd, |fd| entry.stream.return_to_socket(fd));
                    self.retire(&mut state, fd);
                }
                _ => _ = self.take_out(&mut state, fd),
            }
        }
    }

    /// The number of the kernel's set.
    pub fn descriptor(&self) -> RawFd {
        self.epfd
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
        self.sleepers.wake(|| {
            let _ = rustix::io::write(&self.kick, &1u64.to_ne_bytes());
        });
    }

    /// Whether the set would report something of a stream now, or must be asked again when the
    /// kernel's set stirs: for a program that waits for the set itself. Arms what it looked at.
    pub fn ready_within(&self) -> bool {
        let mut state = locked(&self.state);
        state.entries.iter_mut().flatten().filter(|entry| !entry.dormant).any(|entry| {
            entry.stream.arm(entry.want());
            entry.stirs()
        })
    }
}

impl State {
    fn tag(&mut self, tag: Tag) -> u64 {
        self.next_tag += 1;
        self.tags.insert(self.next_tag, tag);
        self.next_tag
    }

    fn take_out(&mut self, fd: RawFd) -> Option<Box<Entry>> {
        let entry = self.entries.get_mut(usize::try_from(fd).ok()?)?.take()?;
        self.tags.remove(&entry.socket_tag);
        self.tags.remove(&entry.line_tag);
        self.active.retain(|active| *active != fd);
        Some(entry)
    }

    fn entry(&mut self, fd: RawFd) -> Option<&mut Entry> {
        self.entries.get_mut(usize::try_from(fd).ok()?)?.as_deref_mut()
    }

    /// The active streams.
    fn busy(&self) -> impl Iterator<Item = &Entry> {
        self.active.iter().filter_map(|fd| self.entries.get(*fd as usize)?.as_deref())
    }

    /// Activates all descriptors of the connection that `fd` is.
    fn activate_twins(&mut self, fd: RawFd) {
        let Some(stream) = self.entry(fd).map(|e| Arc::clone(&e.stream)) else { return };
        let twins: Vec<_> = self.entries.iter().flatten().filter(|e| Arc::ptr_eq(&e.stream, &stream)).map(|e| e.fd).collect();
        for twin in twins {
            self.activate(twin);
        }
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
