//! Streams as members of an epoll set that otherwise is the kernel's.
//!
//! For each stream the kernel set holds the real socket and the line's socket, both edge-triggered
//! and under tags of ours. A stream is *active* while its ring is looked at by every wait; before a
//! wait sleeps, it arms the flags of the active streams and lets them rest: from then on a bell
//! makes a stream active again. So a wait costs as much as there are busy streams, not streams.

mod deferred;
mod entry;
mod left;
mod polled;
mod wait;

pub use deferred::UNSEEN;

use crate::{
    descriptor::Reserved,
    hub::Hub,
    ports::office::Office,
    stream::{Stream, locked},
};
use arc_swap::ArcSwap;
use entry::{Entry, IDLE_BELLS};
use rustc_hash::FxHashMap;
use rustix::{
    event::{EventfdFlags, epoll, eventfd},
    io::Errno,
};
use slipway_fabric::{
    sleepers::{SetSleepers, Unseen},
    spin::SpinHistory,
    sync::{AtomicU32, ForkMutex, Forked, Ordering::SeqCst},
};
use std::{
    io,
    ops::DerefMut,
    os::fd::{AsFd, BorrowedFd, RawFd},
    sync::{Arc, OnceLock, Weak},
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

/// A child's tags begin so far behind its parent's.
const CHILDS: u64 = 1 << 40;

#[derive(Debug, Clone)]
enum Tag {
    Socket(RawFd),
    Line(RawFd),
    Hub(Weak<Hub>),
    Office,
    Kick,
}

/// Runs `f` with the program's descriptor.
pub(crate) fn borrow<T>(fd: RawFd, f: impl FnOnce(BorrowedFd<'_>) -> T) -> T {
    #[allow(unsafe_code, reason = "the program's descriptors come as numbers")]
    // SAFETY: used for system calls during `f` only; should the program close it meanwhile, they fail
    // with EBADF or act as the program's own call would.
    f(unsafe { BorrowedFd::borrow_raw(fd) })
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<Option<Box<Entry>>>,
    active: Vec<RawFd>,
    /// Entries that are not lent to the kernel.
    decided: usize,
    /// Lent streams of which the kernel's set may not know all: see [`deferred`].
    behind: Vec<RawFd>,
    /// Their numbers are not the program's to choose.
    tags: FxHashMap<u64, Tag>,
    next_tag: u64,
    glanced: u64,
    /// When the kernel last told of all that is the kernel's to tell: what it said nothing of had no news then.
    vouched: u64,
    /// Until then a stream that is read shares the server with others.
    company_until: u64,
    /// As `company_until`, where the others are plain descriptors.
    plain_until: u64,
    last_reported: Option<RawFd>,
    /// Streams whose bells this set took though others hear them, too; they are to be told.
    drained: Vec<Arc<Stream>>,
    /// When it last took over a stream of which the kernel had told the program until then.
    took_over_at: u64,
    /// Of a process whose connections go over ports.
    office: Option<Arc<Office>>,
    /// Hubs that the set serves from its first wait on.
    hubs: Vec<Weak<Hub>>,
    turn: usize,
    /// Doorbells were taken out of the kernel's set, which the next thread that sleeps in it is to hear.
    doorless: bool,
}

/// The part of an epoll set that the kernel doesn't know.
#[derive(Debug)]
pub struct EpollSet {
    /// One of the numbers by which the program has it.
    epfd: AtomicU32,
    /// The process that made it.
    process: u32,
    /// All tags are above it.
    first_tag: u64,
    /// None while there are no streams, if the program wanted its descriptor.
    kick: ArcSwap<Reserved>,
    state: ForkMutex<State>,
    sleepers: SetSleepers,
    /// Waits that are not among them, if there were any.
    unseen: OnceLock<&'static Unseen>,
    spins: SpinHistory,
    /// 1: the set is itself a member of another, whose waits know nothing of rings.
    nested: AtomicU32,
    /// 1: others than those that wait by the hooks may look at the kernel's set. See [`deferred`].
    exposed: AtomicU32,
    /// 1: there is something in [`State::drained`].
    has_drained: AtomicU32,
    /// 1: others have waited for the set's descriptor and were misled: see [`polled`].
    polled: AtomicU32,
    /// 1: the program has waited for it by the hooks. Until then the kernel's set reports no descriptor of the library, unless a stream came with its line: the
    /// program may wait by system calls of its own.
    waited: AtomicU32,
    /// 1: see [`EpollSet::is_left`].
    left: AtomicU32,
}

impl EpollSet {
    /// For the kernel set `epfd`, into which it puts an eventfd of its own.
    pub fn new(epfd: RawFd) -> io::Result<Arc<Self>> {
        // Numbers that are no addresses and no descriptors, so that no program uses them as data.
        let mut seed = [0u8; 4];
        let _ = rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::NONBLOCK);
        let set = Self {
            epfd: AtomicU32::new(epfd.cast_unsigned()),
            process: std::process::id(),
            first_tag: 0x9c57_0000_0000_0000 | u64::from(u32::from_ne_bytes(seed)) << 16,
            kick: ArcSwap::from_pointee(Reserved::none()),
            state: ForkMutex::default(),
            sleepers: SetSleepers::default(),
            unseen: OnceLock::new(),
            spins: SpinHistory::hopeful(),
            nested: AtomicU32::new(0),
            exposed: AtomicU32::new(0),
            has_drained: AtomicU32::new(0),
            polled: AtomicU32::new(0),
            waited: AtomicU32::new(0),
            left: AtomicU32::new(0),
        };
        let mut state = locked(&set.state);
        state.next_tag = set.first_tag;
        let tag = state.tag(Tag::Kick);
        set.make_kick(tag)?;
        drop(state);
        Ok(Arc::new(set))
    }

    fn make_kick(&self, tag: u64) -> io::Result<()> {
        let kick = Reserved::make_aside(|| eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK))?;
        self.register(kick.as_fd(), epoll::EventFlags::IN | epoll::EventFlags::ET, tag)?;
        self.kick.store(Arc::new(kick));
        Ok(())
    }

    /// This process was forked. If another thread was at the set just then, nothing is known here of what is registered there, and what the kernel says of that is
    /// for nobody.
    pub fn after_fork(&self, child: &Forked) {
        self.sleepers.forget();
        if self.state.after_fork(child) {
            let mut state = locked(&self.state);
            state.tags.insert(self.first_tag + 1, Tag::Kick);
            // Above all that the parent gives.
            state.next_tag = self.first_tag + CHILDS;
        }
    }

    /// Whether no thread is at it now: not one that this one has interrupted, and none of another process that has the set.
    pub fn is_at_rest(&self) -> bool {
        self.process == std::process::id() && self.state.try_lock().is_some()
    }

    /// A stream of the set has given up its line, whose socket is closed when this returns.
    pub fn without_line(&self, stream: &Stream, line: BorrowedFd<'_>) {
        let mut state = locked(&self.state);
        self.forget_line(stream, line);
        for fd in state.descriptors_of(stream) {
            state.entry(fd).into_iter().for_each(|entry| entry.at_door = false);
            match state.entry(fd) {
                Some(entry) if entry.dormant => _ = self.take_out(&mut state, fd),
                Some(entry) if stream.is_plain() && !entry.rests() => self.retire(&mut state, fd),
                _ => state.activate(fd),
            }
        }
        drop(state);
        self.rouse();
    }

    /// The program wants every descriptor: closes what the set has of its own, if it can do without.
    pub fn give_up(&self) {
        if self.process == std::process::id()
            && let Some(state) = self.state.try_lock()
            && state.entries.iter().all(Option::is_none)
        {
            self.kick.store(Arc::new(Reserved::none()));
        }
    }

    fn register(&self, fd: BorrowedFd<'_>, flags: epoll::EventFlags, tag: u64) -> Result<(), Errno> {
        borrow(self.descriptor(), |epfd| epoll::add(epfd, fd, epoll::EventData::new_u64(tag), flags))
    }

    /// EPOLL_CTL_ADD of a stream. `MFILE`: there is no descriptor for the set's own use.
    pub fn add(self: &Arc<Self>, fd: RawFd, stream: &Arc<Stream>, events: u32, data: u64) -> Result<(), Errno> {
        let index = usize::try_from(fd).map_err(|_| Errno::BADF)?;
        let mut state = locked(&self.state);
        if state.entry(fd).is_none_or(|entry| !Arc::ptr_eq(&entry.stream, stream)) {
            drop(state);
            // First, so that no sleeper in poll(2) lowers a flag that this set rests on.
            stream.join(self);
            state = locked(&self.state);
        }
        if state.entry(fd).is_some_and(|entry| !Arc::ptr_eq(&entry.stream, stream)) {
            // Closed where no hook saw it.
            self.take_out(&mut state, fd);
        }
        if let Some(entry) = state.entry(fd) {
            if !entry.dormant {
                return Err(Errno::EXIST);
            }
            if !self.lends(stream, events) {
                self.take_over(&mut state, fd);
            }
            let Some(entry) = state.entry(fd) else { return Err(Errno::NOENT) };
            entry.revive(events, data);
            if std::mem::take(&mut entry.away) {
                let (flags, tag) = entry.registration();
                entry.known = (events, data);
                if let Err(error) = borrow(fd, |fd| self.register(fd, flags, tag)) {
                    self.take_out(&mut state, fd);
                    return Err(error);
                }
            } else if entry.lent {
                self.follow(&mut state, fd);
            }
            self.renew(state, fd);
            return Ok(());
        }
        if !self.kick.load().is_open() {
            let tag = self.first_tag + 1;
            self.make_kick(tag).map_err(|_| Errno::MFILE)?;
        }
        let (socket_tag, line_tag) = (state.tag(Tag::Socket(fd)), state.tag(Tag::Line(fd)));
        let mut entry = Entry::new(stream, fd, (events, data), (socket_tag, line_tag), self.lends(stream, events));
        let lent = entry.lent;
        entry.asked = Some(self.needs(&entry));
        let (flags, tag) = entry.registration();
        let added = borrow(fd, |fd| self.register(fd, flags, tag));
        if let Err(error) = added {
            state.tags.remove(&socket_tag);
            state.tags.remove(&line_tag);
            return Err(error);
        }
        match stream.office() {
            Some(office) => self.add_office(&mut state, office),
            None if lent && stream.is_server() => {}
            // A second descriptor of the same connection finds the line there already: its bell is heard once.
            None => self.hear_line(&mut entry),
        }
        if state.entries.len() <= index {
            state.entries.resize_with(index + 1, || None);
        }
        state.entries[index] = Some(Box::new(entry));
        state.decided += usize::from(!lent);
        if !lent {
            self.renew(state, fd);
        }
        Ok(())
    }

    /// The kernel reports the stream no longer as the program registered it: it is decided, or registered otherwise.
    fn take_over(&self, state: &mut State, fd: RawFd) {
        let Some(entry) = state.entry(fd).filter(|entry| entry.lent) else { return };
        entry.lent = false;
        state.decided += 1;
        state.took_over_at = crate::stream::now();
        let Some(entry) = state.entry(fd) else { return };
        let (tag, needed) = (epoll::EventData::new_u64(entry.socket_tag), self.needs(entry));
        entry.asked = Some(needed);
        let _ = borrow(self.descriptor(), |epfd| borrow(fd, |fd| epoll::modify(epfd, fd, tag, needed)));
        self.hear_line(entry);
        state.activate(fd);
    }

    /// Has the kernel's set tell of the line's bells, if there is a line, and of the doorbell.
    fn hear_line(&self, entry: &mut Entry) {
        let line = entry.stream.line_socket();
        if line.is_open() && entry.stream.office().is_none() {
            let _ = self.register(line.as_fd(), epoll::EventFlags::IN | epoll::EventFlags::ET, entry.line_tag);
            if let Some(door) = entry.stream.door() {
                // Each read of it is an edge for those that wait for room to write.
                let added = self.register(door.as_fd(), epoll::EventFlags::OUT | epoll::EventFlags::ET, entry.line_tag);
                entry.at_door = matches!(added, Ok(()) | Err(Errno::EXIST));
            }
        }
    }

    /// The kernel's set tells of the line and its doorbell no longer.
    fn forget_line(&self, stream: &Stream, line: BorrowedFd<'_>) {
        let door = stream.door();
        for fd in [Some(line), door.as_ref().map(|door| door.as_fd())].into_iter().flatten() {
            let _ = borrow(self.descriptor(), |epfd| epoll::delete(epfd, fd));
        }
    }

    /// Waits on the set take what comes to the process's ports from here on.
    fn add_office(&self, state: &mut State, office: &Arc<Office>) {
        if state.office.is_none() {
            let tag = state.tag(Tag::Office);
            let _ = self.register(office.gate(), epoll::EventFlags::IN, tag);
            state.office = Some(Arc::clone(office));
            if self.is_nested() {
                office.watch();
            }
        }
    }

    /// What the program has registered for the stream `fd`, if the set has it.
    pub fn events(&self, fd: RawFd) -> Option<u32> {
        locked(&self.state).entry(fd).filter(|entry| !entry.dormant).map(|entry| entry.events)
    }

    /// EPOLL_CTL_MOD; false if the set has no such stream.
    pub fn modify(&self, fd: RawFd, events: u32, data: u64) -> bool {
        let mut state = locked(&self.state);
        let Some(entry) = state.entry(fd).filter(|entry| !entry.dormant) else { return false };
        (entry.events, entry.data) = (events, data);
        entry.spent = false;
        entry.renew();
        if entry.lent && self.lends(&entry.stream, events) {
            self.follow(&mut state, fd);
            return true;
        }
        self.take_over(&mut state, fd);
        self.renew(state, fd);
        true
    }

    /// The program wants something else of `fd`. Threads that sleep in the set are woken if that is there, and otherwise sleep on: its bell rings from now on.
    fn renew(&self, mut state: impl DerefMut<Target = State>, fd: RawFd) {
        if let Some(entry) = state.entry(fd)
            && std::mem::take(&mut entry.idle_bells) > IDLE_BELLS
        {
            self.hear_line(entry);
        }
        // The kernel reports what is lent. To one that waits for the set's own descriptor a kick is an event.
        let is_quiet = |entry: &mut Entry| {
            self.ask(entry);
            // One that is on its socket is handed to the kernel by the thread that sleeps.
            entry.lent || entry.stream.office().is_none() && !entry.stream.is_plain() && !entry.is_ready()
        };
        let waits = self.is_slept_in() && state.entry(fd).is_some_and(is_quiet);
        if !waits {
            state.activate(fd);
            drop(state);
            self.rouse();
        }
    }

    /// EPOLL_CTL_DEL; false if the set has no such stream. The set keeps it until [`EpollSet::closing`].
    pub fn remove(&self, fd: RawFd) -> bool {
        let mut state = locked(&self.state);
        let Some(entry) = state.entry(fd).filter(|entry| !entry.dormant) else { return false };
        if entry.stream.is_copied() || entry.stream.is_plain() {
            return self.take_out(&mut state, fd).is_some();
        }
        entry.dormant = true;
        if entry.lent {
            self.follow(&mut state, fd);
        }
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
        if self.process == std::process::id() {
            self.take_out(&mut locked(&self.state), fd);
        } else if let Some(mut state) = self.state.try_lock() {
            // Else a signal handler had interrupted it, which forked.
            state.take_out(fd);
        }
    }

    fn take_out(&self, state: &mut State, fd: RawFd) -> Option<Box<Entry>> {
        let entry = state.take_out(fd)?;
        let _ = borrow(self.descriptor(), |epfd| borrow(fd, |fd| epoll::delete(epfd, fd)));
        let line = entry.stream.line_socket();
        if line.is_open() {
            self.forget_line(&entry.stream, line.as_fd());
        }
        // Another descriptor of the same connection goes on hearing its bells.
        let twins = if entry.stream.is_copied() { &mut state.entries[..] } else { &mut [] };
        if let Some(twin) = twins.iter_mut().flatten().find(|e| Arc::ptr_eq(&e.stream, &entry.stream)) {
            self.hear_line(twin);
            let fd = twin.fd;
            state.activate(fd);
        }
        Some(entry)
    }

    /// Lets the set serve a hub while its program waits.
    pub fn add_hub(self: &Arc<Self>, hub: &Arc<Hub>) {
        hub.join(self);
        let mut state = locked(&self.state);
        state.hubs.retain(|known| !std::ptr::eq(known.as_ptr(), Arc::as_ptr(hub)));
        state.hubs.push(Arc::downgrade(hub));
        if self.is_waited_for() {
            self.take_hubs(&mut state);
        }
    }

    fn take_hubs(&self, state: &mut State) {
        for hub in std::mem::take(&mut state.hubs).iter().filter_map(Weak::upgrade) {
            if state.hub_tag(&hub).is_none() {
                let tag = state.tag(Tag::Hub(Arc::downgrade(&hub)));
                let gate = hub.gate();
                gate.iter().for_each(|gate| _ = self.register(gate.as_fd(), epoll::EventFlags::IN, tag));
            }
        }
    }

    /// A hub that the set serves has a new gate.
    pub fn wait_for(&self, hub: &Hub, gate: BorrowedFd<'_>) {
        if let Some(tag) = locked(&self.state).hub_tag(hub) {
            let _ = self.register(gate, epoll::EventFlags::IN, tag);
        }
    }

    /// Whether the set is a member of another.
    pub fn is_nested(&self) -> bool {
        self.nested.load(SeqCst) != 0
    }

    /// Whether a stream can be a member: what goes over ports tells a set in another one, as a ring can't.
    pub fn takes(&self, stream: &Stream) -> bool {
        !self.is_nested() || stream.office().is_some()
    }

    /// The set has become a member of another, in which nobody looks at rings: its streams go back to
    /// their sockets, and no other must come. What comes to ports stirs the set's descriptor, also while nobody waits for the set itself.
    pub fn nest(&self) {
        self.nested.store(1, SeqCst);
        self.expose();
        let mut state = locked(&self.state);
        let fds: Vec<_> = state.entries.iter().flatten().map(|e| e.fd).collect();
        state.office.iter().for_each(|office| office.watch());
        for fd in fds {
            match state.entry(fd) {
                Some(entry) if entry.stream.office().is_some() => {}
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
        self.epfd.load(SeqCst).cast_signed()
    }

    /// The number is about to be closed, and the program has the set by another one, too.
    pub fn move_to(&self, other: RawFd) {
        self.epfd.store(other.cast_unsigned(), SeqCst);
    }

    /// Somebody else took the bell of `stream`: looks at it from now on.
    pub fn alert(&self, stream: &Stream) {
        self.look_at(stream, false);
    }

    /// The stream has a line that the set may not hear yet, and perhaps a segment: looks at it from now on.
    pub fn welcome(&self, stream: &Stream) {
        self.look_at(stream, true);
    }

    fn look_at(&self, stream: &Stream, new: bool) {
        let mut state = locked(&self.state);
        for fd in state.descriptors_of(stream) {
            if !stream.is_undecided() {
                self.take_over(&mut state, fd);
            }
            if new && let Some(entry) = state.entry(fd) {
                self.hear_line(entry);
            }
            state.activate(fd);
        }
        drop(state);
        self.rouse();
    }

    /// Wakes a thread that sleeps in the set. Called after its lock was let go.
    fn rouse(&self) {
        if self.is_slept_in() {
            let _ = rustix::io::write(self.kick.load().as_fd(), &1u64.to_ne_bytes());
        }
    }
}

impl State {
    fn tag(&mut self, tag: Tag) -> u64 {
        self.next_tag += 1;
        self.tags.insert(self.next_tag, tag);
        self.next_tag
    }

    fn hub_tag(&self, hub: &Hub) -> Option<u64> {
        let is_it = |tag: &Tag| matches!(tag, Tag::Hub(known) if std::ptr::eq(known.as_ptr(), hub));
        self.tags.iter().find(|(_, tag)| is_it(tag)).map(|(number, _)| *number)
    }

    fn take_out(&mut self, fd: RawFd) -> Option<Box<Entry>> {
        let entry = self.entries.get_mut(usize::try_from(fd).ok()?)?.take()?;
        self.decided -= usize::from(!entry.lent);
        self.tags.remove(&entry.socket_tag);
        self.tags.remove(&entry.line_tag);
        if let Some(at) = self.active.iter().position(|active| *active == fd) {
            self.active.swap_remove(at);
        }
        Some(entry)
    }

    fn entry(&mut self, fd: RawFd) -> Option<&mut Entry> {
        self.entries.get_mut(usize::try_from(fd).ok()?)?.as_deref_mut()
    }

    fn at(&self, fd: RawFd) -> Option<&Entry> {
        self.entries.get(usize::try_from(fd).ok()?)?.as_deref()
    }

    fn descriptors_of(&self, stream: &Stream) -> Vec<RawFd> {
        self.entries.iter().flatten().filter(|e| std::ptr::eq(Arc::as_ptr(&e.stream), stream)).map(|e| e.fd).collect()
    }

    /// The active streams.
    fn busy(&self) -> impl Iterator<Item = &Entry> {
        self.active.iter().filter_map(|fd| self.at(*fd)).filter(|entry| !entry.dormant)
    }

    /// Activates all descriptors of the connection that `fd` is.
    fn activate_twins(&mut self, fd: RawFd) {
        let Some(stream) = self.entry(fd).map(|e| Arc::clone(&e.stream)) else { return };
        for twin in self.descriptors_of(&stream) {
            self.activate(twin);
        }
    }

    fn activate(&mut self, fd: RawFd) {
        if let Some(entry) = self.entry(fd)
            && !entry.active
            && !entry.lent
        {
            entry.active = true;
            self.active.push(fd);
        }
    }
}
