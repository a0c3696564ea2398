//! The library's own descriptors: out of the way of the program's, and safe from its clean-ups.
//!
//! Programs close "all" descriptors, keep tables indexed by them, and hold them in `fd_set`s. So ours
//! get high numbers, are closed on exec, and are marked here: the hooks on close(2) and its kin skip them.
//!
//! A descriptor that a peer sent may be of any file, also of one that waits when it is closed (a TCP socket that lingers),
//! or whose file system is a program of the peer's. So it is closed neither under a lock ([`hold_closes`]) nor by a
//! thread that has other things to do ([`part`]).

mod aside;
mod closing;
mod kind;

pub use aside::{has_plenty, make_any, restore_limit, shortage, with_limit, within};
pub use closing::{Doomed, close, hold_closes, part, release_closes};
use kind::Kinds;
pub use kind::{Kind, is_eventfd};

use crate::sync::{AtomicU8, AtomicU32, Ordering};
use rustix::{
    event::epoll,
    io::{Errno, fcntl_dupfd_cloexec},
    process::{Resource, getrlimit},
};
use std::{
    any::Any,
    fmt::Debug,
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
};

/// One more than the largest descriptor number that can be marked.
const MARKS: usize = 1 << 16;

static MARKED: [AtomicU8; MARKS] = [const { AtomicU8::new(0) }; MARKS];

/// Where the library's own descriptors begin; 0 if that has to be looked up.
static FLOOR: AtomicU32 = AtomicU32::new(0);

/// Looks up where the library's own descriptors begin, by the limit as it is now.
#[cold]
fn look_up_floor() -> u32 {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(MARKS as u64).min(MARKS as u64);
    // It can't be higher; what is lower may rise with the limit.
    let (floor, last) = if limit > 2048 { (1024, 1024) } else { (limit as u32 / 2, 0) };
    FLOOR.store(last, Ordering::Relaxed);
    floor
}

/// A mark: the descriptor is the library's own.
const OWN: u8 = 1;
/// As [`OWN`], and it is in the epoll set [`SET`].
const REGISTERED: u8 = 2;

/// The number of the epoll set that [`register`] was last called with.
static SET: AtomicU32 = AtomicU32::new(!0);

/// Whether `fd` is the library's own.
pub fn is_reserved(fd: RawFd) -> bool {
    usize::try_from(fd).ok().and_then(|fd| MARKED.get(fd)).is_some_and(|mark| mark.load(Ordering::Relaxed) != 0)
}

/// A descriptor of the library's own.
#[derive(Debug)]
pub struct Reserved {
    /// None when it was given away, and of [`Reserved::none`].
    fd: Option<OwnedFd>,
    /// What a peer sent; None if it was made here.
    kind: Option<Kind>,
    /// How often all were lost before it was made.
    losses: u16,
    /// Dropped when the descriptor is closed.
    carried: Option<Box<dyn Carried>>,
}

/// What lasts as long as a descriptor does.
pub trait Carried: Any + Send + Sync + Debug {}

impl<T: Any + Send + Sync + Debug> Carried for T {}

/// How often the program has closed all descriptors, the library's included.
static LOSSES: AtomicU32 = AtomicU32::new(0);

fn losses() -> u16 {
    LOSSES.load(Ordering::Acquire) as u16
}

/// Stands for all descriptors that were lost: a number that none can have. Nothing that the library opened would do, as the
/// program may still be closing numbers.
const LOST: RawFd = RawFd::MAX;

/// The program has closed the library's descriptors. From here on those that there were lead nowhere (`BADF`), and are not
/// closed: their numbers may be the program's own by now.
pub fn lose_all() {
    MARKED.iter().for_each(|mark| mark.store(0, Ordering::Relaxed));
    SET.store(!0, Ordering::Relaxed);
    LOSSES.fetch_add(1, Ordering::Release);
}

impl Reserved {
    /// Moves `fd` above the numbers that select(2) can hold, or into the upper half of what
    /// RLIMIT_NOFILE allows where that is less.
    ///
    /// # Errors
    /// Its number is too high to be marked.
    pub fn new(fd: OwnedFd) -> io::Result<Self> {
        let (it, copy) = Self::moved(fd, None);
        drop(copy);
        it
    }

    /// As [`Reserved::new`], for descriptors that a peer sent. Those whose number is too high are None.
    pub fn received(fds: Vec<OwnedFd>) -> Vec<Option<Self>> {
        let mut received: Vec<Option<Self>> = Vec::with_capacity(fds.len());
        let mut copies = Vec::new();
        let mut kinds = Kinds::default();
        for fd in fds {
            let kind = kinds.next(&fd);
            let (it, copy) = match kind {
                // It does not stay. Some file systems' files wait with each of their descriptors that is closed.
                Kind::Foreign => (Self::marked(fd, Some(kind)), None),
                _ => Self::moved(fd, Some(kind)),
            };
            copies.extend(copy);
            // Not many more numbers are in use at a time than there are descriptors.
            if copies.len() >= COPIES {
                closing::close_copies(std::mem::take(&mut copies));
            }
            received.push(it.ok());
        }
        closing::close_copies(copies);
        received
    }

    /// Drops descriptors that a peer sent and nobody wants, as they are. Whether all are of kinds that are used here.
    pub fn discard(fds: Vec<OwnedFd>) -> bool {
        let mut kinds = Kinds::default();
        fds.into_iter().fold(true, |usual, fd| {
            let kind = kinds.next(&fd);
            drop(Self::marked(fd, Some(kind)));
            usual && kind != Kind::Foreign
        })
    }

    /// A Unix socket that none but this process is to read: what lies in it may be taken out when it is closed.
    #[must_use]
    pub fn as_queue(mut self) -> Self {
        self.kind = Some(Kind::Queue);
        self
    }

    /// What it leads to.
    pub fn kind(&self) -> Kind {
        self.kind.unwrap_or_else(|| Kind::of(self, None))
    }

    /// A descriptor at a number where it stays, and the one that it was, if that is another.
    fn moved(fd: OwnedFd, kind: Option<Kind>) -> (io::Result<Self>, Option<OwnedFd>) {
        let floor = match FLOOR.load(Ordering::Relaxed) {
            0 => look_up_floor(),
            floor => floor,
        };
        // One that is out of the way already stays where it is.
        // So does one for which there is no place above.
        if fd.as_raw_fd() >= floor as RawFd {
            return (Self::marked(fd, kind), None);
        }
        let high = match fcntl_dupfd_cloexec(&fd, floor as RawFd) {
            // The limit is a lower one by now.
            Err(Errno::INVAL) => fcntl_dupfd_cloexec(&fd, look_up_floor() as RawFd),
            high => high,
        };
        match high {
            Ok(high) => (Self::marked(high, kind), Some(fd)),
            Err(_) => (Self::marked(fd, kind), None),
        }
    }

    fn marked(fd: OwnedFd, kind: Option<Kind>) -> io::Result<Self> {
        let mark = MARKED.get(fd.as_raw_fd() as usize);
        if let Some(mark) = mark {
            mark.store(OWN, Ordering::Relaxed);
        }
        let it = Self { fd: Some(fd), kind, losses: losses(), carried: None };
        if mark.is_some() { Ok(it) } else { Err(io::ErrorKind::Other.into()) }
    }
}

/// How many received descriptors are closed at once at the numbers that they came at.
const COPIES: usize = 32;

impl Reserved {
    /// One that leads nowhere, in place of one that was given up.
    pub fn none() -> Self {
        Self { fd: None, kind: None, losses: losses(), carried: None }
    }

    fn is_lost(&self) -> bool {
        self.losses != losses() || self.fd.is_none()
    }

    /// Whether it leads somewhere.
    pub fn is_open(&self) -> bool {
        !self.is_lost()
    }
}

impl AsFd for Reserved {
    #[allow(unsafe_code, reason = "a number that is no descriptor's")]
    fn as_fd(&self) -> BorrowedFd<'_> {
        if self.is_lost() {
            // SAFETY: every call with it fails.
            return unsafe { BorrowedFd::borrow_raw(LOST) };
        }
        match &self.fd {
            Some(fd) => fd.as_fd(),
            None => unreachable!("looked at above"),
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let lost = self.is_lost();
        if let Some(fd) = self.fd.take() {
            if lost {
                return std::mem::forget(fd);
            }
            // The mark stays as long as the number is in use.
            unregister(&fd);
            closing::doom(Doomed::new(fd, self.kind, self.losses, self.carried.take()));
        }
    }
}

/// Closes all of the library's descriptors in a process that was just forked.
///
/// # Safety
/// Nobody uses them: what owns them was abandoned without being dropped.
#[allow(unsafe_code, reason = "the owners of these descriptors live in the parent only")]
pub unsafe fn close_in_child() {
    // By their marks, as all others.
    closing::forget();
    for (fd, mark) in MARKED.iter().enumerate() {
        if mark.swap(0, Ordering::Relaxed) != 0 {
            // SAFETY: the mark says that the descriptor was a `Reserved`; the caller, that its owner is no more.
            drop(unsafe { OwnedFd::from_raw_fd(fd as RawFd) });
        }
    }
}

impl Reserved {
    /// Keeps something as long as the descriptor is open here.
    #[must_use]
    pub fn with(mut self, carried: Box<dyn Carried>) -> Self {
        self.carried = Some(carried);
        self
    }

    /// What is kept as long as the descriptor is open here.
    pub fn carried(&self) -> Option<&dyn Any> {
        self.carried.as_deref().map(|carried| carried as &dyn Any)
    }

    /// Gives the descriptor away: it is not the library's own any more.
    pub fn into_owned(mut self) -> OwnedFd {
        let Some(fd) = self.fd.take() else { unreachable!("emptied only by drop") };
        unmark(&fd);
        fd
    }
}

/// Adds a descriptor to the process's one epoll set, or changes what is heard of it there. It is taken out when it is
/// dropped: where others have copies of it the kernel would go on reporting it, to nobody.
///
/// # Errors
/// As epoll_ctl(2).
pub fn register(set: &Reserved, fd: &Reserved, data: epoll::EventData, flags: epoll::EventFlags) -> io::Result<()> {
    match epoll::add(set, fd, data, flags) {
        Err(rustix::io::Errno::EXIST) => epoll::modify(set, fd, data, flags)?,
        other => other?,
    }
    SET.store(set.as_fd().as_raw_fd() as u32, Ordering::Relaxed);
    if let Some(mark) = MARKED.get(fd.as_fd().as_raw_fd() as usize) {
        mark.store(REGISTERED, Ordering::Relaxed);
    }
    Ok(())
}

/// Takes a descriptor out of the epoll set that it was heard in, if it is in one.
#[allow(unsafe_code, reason = "the set by its number")]
pub fn unregister(fd: impl AsFd) {
    let fd = fd.as_fd();
    let Some(mark) = MARKED.get(fd.as_raw_fd() as usize) else { return };
    let set = SET.load(Ordering::Relaxed) as RawFd;
    if mark.load(Ordering::Relaxed) == REGISTERED && set >= 0 {
        mark.store(OWN, Ordering::Relaxed);
        // SAFETY: the set that descriptors of this process are heard in is open as long as the process lives; after a
        // fork the marks are gone.
        let _ = epoll::delete(unsafe { BorrowedFd::borrow_raw(set) }, fd);
    }
}

fn unmark(fd: &OwnedFd) {
    unregister(fd);
    if let Some(mark) = MARKED.get(fd.as_raw_fd() as usize) {
        mark.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Rlimit, setrlimit};

    /// Held by a test that changes the process's limit.
    pub(super) static LIMIT: std::sync::Mutex<()> = std::sync::Mutex::new(());

    #[test]
    fn descriptors_are_out_of_the_way_under_any_limit() {
        let _alone = LIMIT.lock();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let limited = |limit| {
            setrlimit(Resource::Nofile, Rlimit { current: Some(limit), maximum }).expect("a limit");
            let (file, _) = rustix::pipe::pipe().expect("a pipe");
            Reserved::new(file).expect("room").as_fd().as_raw_fd()
        };
        let most = maximum.unwrap_or(4096).min(4096);
        assert!(most <= 2048 || limited(most) >= 1024);
        assert!((300..600).contains(&limited(600)), "a limit that fell");
        assert!(most <= 2048 || limited(most) >= 1024, "and rose again");
        setrlimit(Resource::Nofile, Rlimit { current, maximum }).expect("as before");
    }
}
