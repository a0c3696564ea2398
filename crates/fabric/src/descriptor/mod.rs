//! The library's own descriptors: out of the way of the program's, and safe from its clean-ups.
//!
//! Programs close "all" descriptors, keep tables indexed by them, and hold them in `fd_set`s. So ours
//! get high numbers, are closed on exec, and are marked here: the hooks on close(2) and its kin skip them.
//!
//! A descriptor that a peer sent may be of any file, also of one that waits when it is closed (a TCP socket that lingers),
//! or whose file system is a program of the peer's. So it is closed neither under a lock ([`hold_closes`]) nor by a
//! thread that has other things to do ([`Doomed::may_wait`]).

use crate::sync::{AtomicU8, AtomicU32, Ordering};
use rustix::{
    event::epoll,
    fs::{AtFlags, FileType, StatxFlags, fcntl_get_seals, statx},
    io::{Errno, fcntl_dupfd_cloexec},
    net::{AddressFamily, RecvFlags, SocketFlags, SocketType, recv, sockopt},
    process::{Resource, getrlimit},
};
use std::{
    any::Any,
    cell::Cell,
    fmt::Debug,
    io,
    mem::ManuallyDrop,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd},
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
const HEARD: u8 = 2;

/// The number of the epoll set that [`hear`] was last called with.
static SET: AtomicU32 = AtomicU32::new(!0);

/// Whether `fd` is the library's own.
pub fn is_reserved(fd: RawFd) -> bool {
    usize::try_from(fd).ok().and_then(|fd| MARKED.get(fd)).is_some_and(|mark| mark.load(Ordering::Relaxed) != 0)
}

/// A descriptor of the library's own.
#[derive(Debug)]
pub struct Reserved {
    /// None when it was given away.
    fd: Option<OwnedFd>,
    /// Whether it is of a kind of file that may wait when it is closed.
    foreign: bool,
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
/// The number of a socket without another end, which stands for all that were lost.
static GRAVE: AtomicU32 = AtomicU32::new(!0);

/// The program has closed the library's descriptors. From here on those that there were are all a socket whose other end
/// is gone, and are not closed: their numbers may be the program's own by now.
///
/// # Errors
/// As socketpair(2); nothing has changed then.
pub fn lose_all() -> io::Result<()> {
    let (grave, _) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    MARKED.iter().for_each(|mark| mark.store(0, Ordering::Relaxed));
    SET.store(!0, Ordering::Relaxed);
    let grave = ManuallyDrop::new(Reserved::new(grave)?);
    GRAVE.store(grave.as_fd().as_raw_fd() as u32, Ordering::Release);
    LOSSES.fetch_add(1, Ordering::Release);
    Ok(())
}

impl Reserved {
    /// Moves `fd` above the numbers that select(2) can hold, or into the upper half of what
    /// RLIMIT_NOFILE allows where that is less.
    ///
    /// # Errors
    /// Its number is too high to be marked.
    pub fn new(fd: OwnedFd) -> io::Result<Self> {
        Self::of(fd, false)
    }

    /// As [`Reserved::new`], for a descriptor that a peer sent.
    ///
    /// # Errors
    /// As for [`Reserved::new`].
    pub fn received(fd: OwnedFd) -> io::Result<Self> {
        let foreign = is_foreign(&fd);
        Self::of(fd, foreign)
    }

    fn of(fd: OwnedFd, foreign: bool) -> io::Result<Self> {
        let floor = match FLOOR.load(Ordering::Relaxed) {
            0 => look_up_floor(),
            floor => floor,
        };
        // One that is out of the way already stays where it is.
        // So does one for which there is no place above.
        if fd.as_raw_fd() >= floor as RawFd {
            return Self::marked(fd, foreign);
        }
        let high = match fcntl_dupfd_cloexec(&fd, floor as RawFd) {
            // The limit is a lower one by now.
            Err(Errno::INVAL) => fcntl_dupfd_cloexec(&fd, look_up_floor() as RawFd),
            high => high,
        };
        let low = Self::marked(fd, foreign);
        match high {
            Ok(high) => Self::marked(high, foreign),
            Err(_) => low,
        }
    }

    fn marked(fd: OwnedFd, foreign: bool) -> io::Result<Self> {
        let mark = MARKED.get(fd.as_raw_fd() as usize);
        if let Some(mark) = mark {
            mark.store(OWN, Ordering::Relaxed);
        }
        let it = Self { fd: Some(fd), foreign, losses: LOSSES.load(Ordering::Relaxed) as u16, carried: None };
        if mark.is_some() { Ok(it) } else { Err(io::ErrorKind::Other.into()) }
    }
}

/// Whether a file may be of a kind that waits when it is closed. Asks nothing that the file's own code would answer.
fn is_foreign(fd: &OwnedFd) -> bool {
    match sockopt::socket_domain(fd) {
        Ok(domain) => domain != AddressFamily::UNIX,
        Err(_) => !is_pipe(fd) && fcntl_get_seals(fd).is_err(),
    }
}

/// Whether a file is a pipe or FIFO, by what the kernel knows of it: the file system is not asked.
pub fn is_pipe(fd: impl AsFd) -> bool {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    statx(fd, c"", flags, StatxFlags::TYPE).is_ok_and(|stat| FileType::from_raw_mode(stat.stx_mode.into()) == FileType::Fifo)
}

thread_local! {
    /// Without a destructor: it is empty but for the time between [`hold_closes`] and [`release_closes`].
    static CLOSING: Cell<ManuallyDrop<Deferred>> = const { Cell::new(ManuallyDrop::new(Deferred { depth: 0, doomed: Vec::new() })) };
}

/// Descriptors that a thread has dropped and not yet closed.
#[derive(Default)]
struct Deferred {
    /// How often [`hold_closes`] was called and not ended yet.
    depth: usize,
    doomed: Vec<Doomed>,
}

/// Descriptors that wait to be closed, beyond which those are closed at once that don't keep the thread.
const DEFERRED: usize = 256;

impl Deferred {
    /// Keeps it for later; gives it back if it is to be closed now.
    fn keep(&mut self, doomed: Doomed) -> Option<Doomed> {
        if self.depth == 0 || (self.doomed.len() >= DEFERRED && !doomed.may_wait()) {
            return Some(doomed);
        }
        self.doomed.push(doomed);
        None
    }
}

fn with_deferred<T>(run: impl FnOnce(&mut Deferred) -> T) -> T {
    CLOSING.with(|cell| {
        let mut deferred = cell.take();
        let result = run(&mut deferred);
        cell.set(deferred);
        result
    })
}

/// From here on what the thread drops of the library's descriptors stays open. For the holder of a lock.
pub fn hold_closes() {
    with_deferred(|deferred| deferred.depth += 1);
}

/// Ends what [`hold_closes`] began, on the same thread: what was dropped, to be closed, by being dropped, without the lock. Nothing if
/// another lock is held still.
pub fn release_closes() -> Vec<Doomed> {
    with_deferred(|deferred| {
        deferred.depth = deferred.depth.saturating_sub(1);
        if deferred.depth == 0 { std::mem::take(&mut deferred.doomed) } else { Vec::new() }
    })
}

/// A descriptor that nobody uses any more, and that is still open, and the library's own.
#[derive(Debug)]
pub struct Doomed {
    fd: Option<OwnedFd>,
    foreign: bool,
    /// As that of the [`Reserved`] that it was: dropped after the descriptor is closed.
    #[allow(dead_code, reason = "its drop is what counts")]
    carried: Option<Box<dyn Carried>>,
}

impl Doomed {
    /// Whether it is of a kind of file that the library does not use.
    pub fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// Whether closing it may wait, for itself or for a descriptor that lies unread in it: a socket's queue goes with
    /// it. (One that comes into the queue just now is missed.)
    pub fn may_wait(&self) -> bool {
        let Some(fd) = &self.fd else { return false };
        self.foreign
            || !matches!(
                recv(fd, &mut [0u8; 0], RecvFlags::PEEK | RecvFlags::DONTWAIT),
                Err(Errno::WOULDBLOCK | Errno::NOTSOCK | Errno::NOTCONN | Errno::CONNRESET)
            )
    }
}

impl Drop for Doomed {
    #[allow(unsafe_code, reason = "a descriptor that the program may have closed already")]
    fn drop(&mut self) {
        if let Some(fd) = self.fd.take() {
            if let Some(mark) = MARKED.get(fd.as_raw_fd() as usize) {
                mark.store(0, Ordering::Relaxed);
            }
            // SAFETY: it is the owner's last use of the number. `OwnedFd` aborts where the program has closed it before.
            unsafe { libc::close(fd.into_raw_fd()) };
        }
    }
}

impl Reserved {
    fn is_lost(&self) -> bool {
        self.losses != LOSSES.load(Ordering::Acquire) as u16
    }
}

impl AsFd for Reserved {
    #[allow(unsafe_code, reason = "the grave by its number")]
    fn as_fd(&self) -> BorrowedFd<'_> {
        if self.is_lost() {
            // SAFETY: it was never dropped, so it is open.
            return unsafe { BorrowedFd::borrow_raw(GRAVE.load(Ordering::Acquire) as RawFd) };
        }
        match &self.fd {
            Some(fd) => fd.as_fd(),
            None => unreachable!("emptied only by drop"),
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
            unhear(&fd);
            let doomed = Doomed { fd: Some(fd), foreign: self.foreign, carried: self.carried.take() };
            drop(with_deferred(|deferred| deferred.keep(doomed)));
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
    std::mem::forget(with_deferred(std::mem::take));
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
pub fn hear(set: &Reserved, fd: &Reserved, data: epoll::EventData, flags: epoll::EventFlags) -> io::Result<()> {
    match epoll::add(set, fd, data, flags) {
        Err(rustix::io::Errno::EXIST) => epoll::modify(set, fd, data, flags)?,
        other => other?,
    }
    SET.store(set.as_fd().as_raw_fd() as u32, Ordering::Relaxed);
    if let Some(mark) = MARKED.get(fd.as_fd().as_raw_fd() as usize) {
        mark.store(HEARD, Ordering::Relaxed);
    }
    Ok(())
}

/// Takes a descriptor out of the epoll set that it was heard in, if it is in one.
#[allow(unsafe_code, reason = "the set by its number")]
pub fn unhear(fd: impl AsFd) {
    let fd = fd.as_fd();
    let Some(mark) = MARKED.get(fd.as_raw_fd() as usize) else { return };
    let set = SET.load(Ordering::Relaxed) as RawFd;
    if mark.load(Ordering::Relaxed) == HEARD && set >= 0 {
        mark.store(OWN, Ordering::Relaxed);
        // SAFETY: the set that descriptors of this process are heard in is open as long as the process lives; after a
        // fork the marks are gone.
        let _ = epoll::delete(unsafe { BorrowedFd::borrow_raw(set) }, fd);
    }
}

fn unmark(fd: &OwnedFd) {
    unhear(fd);
    if let Some(mark) = MARKED.get(fd.as_raw_fd() as usize) {
        mark.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Rlimit, setrlimit};

    #[test]
    fn descriptors_are_out_of_the_way_under_any_limit() {
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
