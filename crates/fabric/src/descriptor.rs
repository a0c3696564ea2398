//! The library's own descriptors: out of the way of the program's, and safe from its clean-ups.
//!
//! Programs close "all" descriptors, keep tables indexed by them, and hold them in `fd_set`s. So ours
//! get high numbers, are closed on exec, and are marked here: the hooks on close(2) and its kin skip them.

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
    fd: Option<OwnedFd>,
    /// Dropped when the descriptor is closed.
    carried: Option<Box<dyn Carried>>,
}

/// What lasts as long as a descriptor does.
pub trait Carried: Any + Send + Sync + Debug {}

impl<T: Any + Send + Sync + Debug> Carried for T {}

impl Reserved {
    /// Moves `fd` above the numbers that select(2) can hold, or into the upper half of what
    /// RLIMIT_NOFILE allows where that is less.
    pub fn new(fd: OwnedFd) -> io::Result<Self> {
        let floor = match FLOOR.load(Ordering::Relaxed) {
            0 => look_up_floor(),
            floor => floor,
        };
        // One that is out of the way already stays where it is.
        // So does one for which there is no place above.
        let high = if fd.as_raw_fd() >= floor as RawFd {
            fd
        } else {
            match fcntl_dupfd_cloexec(&fd, floor as RawFd) {
                // The limit is a lower one by now.
                Err(Errno::INVAL) => fcntl_dupfd_cloexec(&fd, look_up_floor() as RawFd).unwrap_or(fd),
                high => high.unwrap_or(fd),
            }
        };
        let mark = MARKED.get(high.as_raw_fd() as usize).ok_or(io::ErrorKind::Other)?;
        mark.store(OWN, Ordering::Relaxed);
        Ok(Self { fd: Some(high), carried: None })
    }
}

impl AsFd for Reserved {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.fd {
            Some(fd) => fd.as_fd(),
            None => unreachable!("emptied only by drop"),
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Some(fd) = self.fd.take() {
            unmark(&fd);
            drop(fd);
        }
    }
}

/// Closes all of the library's descriptors in a process that was just forked, where nobody uses them.
#[allow(unsafe_code, reason = "the owners of these descriptors live in the parent only")]
pub fn close_in_child() {
    for (fd, mark) in MARKED.iter().enumerate() {
        if mark.swap(0, Ordering::Relaxed) != 0 {
            // SAFETY: the mark says that the descriptor was a `Reserved`; its owner belongs to state that
            // the child has abandoned without dropping it.
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
