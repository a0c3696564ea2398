//! Which of the program's descriptors are ours to care about.
//!
//! Looked up at every hooked call, so the common answer "none" is one load. Another thread, or a signal handler, may close the descriptor
//! meanwhile: see [`seat`](crate::seat).

use crate::{
    epoll::Early,
    linger, rest,
    seat::{Look, Seat, Taken},
};
use slipway_fabric::{
    sleepers::Unseen,
    sync::{AtomicU8, AtomicU32, Ordering::Relaxed},
};
use slipway_transport::{
    epoll::EpollSet,
    hub::{Hub, PlainClient},
    stream::Stream,
    wait::Ours,
};
use std::{
    ffi::c_uint,
    os::fd::{BorrowedFd, RawFd},
    sync::Arc,
    time::Duration,
};

/// What a descriptor is.
#[derive(Debug, Clone)]
pub enum Slot {
    /// A connection.
    Stream(Arc<Stream>),
    /// An epoll set with streams or hubs in it.
    Set(Arc<EpollSet>),
    /// A listening socket that offers shared memory.
    Listener(Arc<Hub>),
    /// An accepted connection that stays on its socket.
    Plain(Arc<PlainClient>),
    /// A socket without a connection yet, which epoll sets of the kernel have.
    Early(Arc<Early>),
}

/// Descriptors beyond this number are never ours.
const SLOTS: usize = 1 << 16;

/// The place of a descriptor.
struct Place {
    used: AtomicU8,
    /// Waits in it as an epoll set that has no slot yet.
    unseen: Unseen,
    seat: Seat<Slot>,
}

static PLACES: [Place; SLOTS] = [const { Place { used: AtomicU8::new(0), unseen: Unseen::none(), seat: Seat::new() } }; SLOTS];
static HIGHEST: AtomicU32 = AtomicU32::new(0);

/// In `used`: the descriptor has a slot.
const TAKEN: u8 = 1;
/// In `used`: it has none, and it is known that it needs none until it is closed.
const KNOWN: u8 = 2;
/// It is an epoll set without a slot, which this process made, and nobody else has a descriptor of.
const OWN_SET: u8 = 3;
/// It is a local stream socket without a slot, which this process made, and nobody else has a descriptor of.
const OWN_SOCKET: u8 = 4;
/// As [`OWN_SOCKET`], and the program has set options of it.
const OWN_SOCKET_SET: u8 = 5;

/// Whether `fd` has a slot.
#[inline]
pub fn is_used(fd: RawFd) -> bool {
    PLACES.get(fd as usize).is_some_and(|place| place.used.load(Relaxed) == TAKEN)
}

/// The waits in `fd` as an epoll set that has no slot yet.
pub fn unseen(fd: RawFd) -> Option<&'static Unseen> {
    let place = PLACES.get(fd as usize)?;
    reach(fd);
    Some(&place.unseen)
}

/// This process was forked: no other thread waits.
pub fn forget_unseen() {
    numbers(0, c_uint::MAX).for_each(|fd| PLACES[fd as usize].unseen.forget());
}

/// Something is known of `fd`.
fn reach(fd: RawFd) {
    if (fd as u32) > HIGHEST.load(Relaxed) {
        HIGHEST.fetch_max(fd as u32, Relaxed);
    }
}

/// What is known of a descriptor, if its number is not out of range.
fn used_of(fd: RawFd) -> Option<&'static AtomicU8> {
    PLACES.get(fd as usize).map(|place| &place.used)
}

/// Whether this is the first look at `fd`, which has no slot, since it was opened.
pub fn look(fd: RawFd) -> bool {
    let first = |used: u8| matches!(used, 0 | OWN_SET | OWN_SOCKET | OWN_SOCKET_SET).then_some(KNOWN);
    used_of(fd).is_some_and(|used| used.fetch_update(Relaxed, Relaxed, first).is_ok())
}

/// What `fd` is, for the length of a call: found once and handed on.
pub struct Found(Look<'static, Slot>);

impl Found {
    /// The slot.
    #[inline]
    pub fn slot(&self) -> Option<&Slot> {
        self.0.get()
    }

    /// The stream, unless it is on its socket for good.
    pub fn stream(&self) -> Option<&Stream> {
        match self.slot() {
            Some(Slot::Stream(stream)) if !stream.is_plain() => Some(stream),
            _ => None,
        }
    }

    /// The epoll set.
    pub fn set(&self) -> Option<&Arc<EpollSet>> {
        match self.slot() {
            Some(Slot::Set(set)) => Some(set),
            _ => None,
        }
    }

    /// What a wait has to know of it, if it is not the kernel's alone.
    pub fn ours(&self) -> Option<Ours<'_>> {
        match self.slot()? {
            Slot::Stream(stream) if !stream.is_plain() => Some(Ours::Stream(stream)),
            Slot::Set(set) if !set.is_left() => Some(Ours::Set(set)),
            Slot::Listener(hub) => Some(Ours::Hub(hub)),
            _ => None,
        }
    }
}

/// Looks `fd` up.
#[inline]
pub fn find(fd: RawFd) -> Option<Found> {
    let place = PLACES.get(fd as usize).filter(|place| place.used.load(Relaxed) == TAKEN)?;
    Some(Found(place.seat.look()))
}

/// The slot of `fd`.
pub fn get(fd: RawFd) -> Option<Slot> {
    find(fd)?.slot().cloned()
}

/// The stream that `fd` is, unless it is on its socket for good.
#[inline]
pub fn stream(fd: RawFd) -> Option<Arc<Stream>> {
    match find(fd)?.slot() {
        Some(Slot::Stream(stream)) if !stream.is_plain() => Some(Arc::clone(stream)),
        _ => None,
    }
}

/// The hub of the listening socket `fd`.
pub fn listener(fd: RawFd) -> Option<Arc<Hub>> {
    match find(fd)?.slot() {
        Some(Slot::Listener(hub)) => Some(Arc::clone(hub)),
        _ => None,
    }
}

/// Whether `fd` was looked at and has no slot: it may be in an epoll set that the kernel alone keeps.
pub fn is_known(fd: RawFd) -> bool {
    used_of(fd).is_some_and(|used| used.load(Relaxed) == KNOWN)
}

/// Makes `fd` a slot; false if its number is out of range.
pub fn put(fd: RawFd, slot: Slot) -> bool {
    let Some(place) = PLACES.get(fd as usize) else { return false };
    if let Slot::Stream(stream) = &slot {
        stream.gain_descriptor();
    }
    forget(fd);
    place.seat.put(slot);
    place.used.store(TAKEN, Relaxed);
    reach(fd);
    true
}

/// `fd` is about to be closed: empties its slot. What it returns must live until it is closed.
pub fn forget(fd: RawFd) -> Option<Taken<Slot>> {
    let place = PLACES.get(fd as usize).filter(|place| place.used.load(Relaxed) != 0)?;
    place.used.store(0, Relaxed);
    let taken = place.seat.take()?;
    match &*taken {
        Slot::Stream(stream) => {
            stream.leave_sets(fd);
            if stream.lose_descriptor() {
                borrowed(fd, |fd| stream.part(fd));
                if stream.is_returning() {
                    linger::start(fd, stream);
                }
            }
        }
        Slot::Set(set) if set.descriptor() == fd => {
            let is_it = |other: &RawFd| matches!(get(*other), Some(Slot::Set(other)) if Arc::ptr_eq(&other, set));
            self::used().find(is_it).into_iter().for_each(|other| set.move_to(other));
        }
        _ => {}
    }
    Some(taken)
}

/// What `fd` is, is the kernel's alone from here on.
pub fn leave(fd: RawFd) {
    forget(fd);
    look(fd);
}

/// `fd` is an epoll set that this process just made: what was known of the number was another file's.
pub fn note_own_set(fd: RawFd) {
    note(fd, OWN_SET);
}

/// `fd` is a local stream socket that this process just made.
pub fn note_own_socket(fd: RawFd) {
    note(fd, OWN_SOCKET);
}

fn note(fd: RawFd, what: u8) {
    if let Some(used) = used_of(fd) {
        // Memory that is read first, and then written, is found by two faults.
        if used.fetch_or(0, Relaxed) != 0 {
            forget(fd);
        }
        used.store(what, Relaxed);
        reach(fd);
    }
}

/// Whether `fd` is a local stream socket that has no slot, and that nobody else has.
pub fn is_own_socket(fd: RawFd) -> bool {
    used_of(fd).is_some_and(|used| matches!(used.load(Relaxed), OWN_SOCKET | OWN_SOCKET_SET))
}

/// Whether it is one, whose options are as they were when this process made it.
pub fn is_fresh_socket(fd: RawFd) -> bool {
    used_of(fd).is_some_and(|used| used.load(Relaxed) == OWN_SOCKET)
}

/// The program has set an option of `fd`.
pub fn note_option(fd: RawFd) {
    if let Some(used) = used_of(fd) {
        let _ = used.compare_exchange(OWN_SOCKET, OWN_SOCKET_SET, Relaxed, Relaxed);
    }
}

/// Whether others may have `fd`, an epoll set without a slot, as they may wait in it by another number or in another process.
pub fn is_shared_set(fd: RawFd) -> bool {
    used_of(fd).is_none_or(|used| used.load(Relaxed) != OWN_SET)
}

/// Others get descriptors of what `fd` is. A socket that is not connected stays the kernel's: they would know nothing of a ring.
pub fn share(fd: RawFd) {
    let shared = |used: u8| match used {
        OWN_SET => Some(0),
        OWN_SOCKET | OWN_SOCKET_SET => Some(KNOWN),
        _ => None,
    };
    let Some(used) = used_of(fd) else { return };
    if used.fetch_update(Relaxed, Relaxed, shared) == Err(TAKEN) && matches!(get(fd), Some(Slot::Early(_))) {
        leave(fd);
    }
}

/// A child of this process gets all of its descriptors.
pub fn share_all() {
    numbers(0, c_uint::MAX).for_each(share);
}

/// Those of these numbers of which something may be known.
pub fn numbers(first: c_uint, last: c_uint) -> impl Iterator<Item = RawFd> {
    (first..=last.min(HIGHEST.load(Relaxed))).map(|fd| fd as RawFd)
}

/// `new` is now a duplicate of `old`.
pub fn duplicate(old: RawFd, new: RawFd) {
    match get(old) {
        None | Some(Slot::Early(_)) => {}
        Some(slot) => {
            if let Slot::Set(set) = &slot {
                // Who waits by the new number may do so by no hook.
                set.expose();
            }
            put(new, slot);
        }
    }
}

/// Does something with all connections and listening sockets.
pub fn each(mut act: impl FnMut(&Slot)) {
    used().filter_map(get).for_each(|slot| act(&slot));
}

/// All descriptors with a slot.
pub fn used() -> impl Iterator<Item = RawFd> {
    numbers(0, c_uint::MAX).filter(|fd| is_used(*fd))
}

/// All descriptors with a slot, and the epoll sets and sockets without one that nobody else has.
pub fn own() -> impl Iterator<Item = RawFd> {
    numbers(0, c_uint::MAX).filter(|fd| is_used(*fd) || !is_shared_set(*fd) || is_own_socket(*fd))
}

/// Puts the connection that `fd` is on its socket.
pub fn give_back(fd: RawFd, stream: &Stream) {
    borrowed(fd, |fd| stream.return_to_socket(fd));
}

/// As [`give_back`], for others than the hooks, which send over the socket at once: what the peer wants back is there before. Where the program's
/// writes don't wait, this waits for so long; false if that was not enough.
pub fn leave_to_kernel(fd: RawFd, stream: &Stream, patience: Duration) -> bool {
    give_back(fd, stream);
    borrowed(fd, |fd| stream.return_patiently(fd, patience))
}

/// As [`leave_to_kernel`], for others that read what the socket has, too.
pub fn hand_over(fd: RawFd, stream: &Stream) {
    leave_to_kernel(fd, stream, linger::GRACE);
    rest::keep(fd, stream);
}

/// Runs `f` with the program's descriptor `fd`.
pub fn borrowed<T>(fd: RawFd, f: impl FnOnce(BorrowedFd<'_>) -> T) -> T {
    // SAFETY: the number is used for system calls only, as the program's own call would use it.
    f(unsafe { BorrowedFd::borrow_raw(fd) })
}
