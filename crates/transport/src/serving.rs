//! The kernel's poll(2) as a wait uses it: with hubs served meanwhile, and without a limit of entries.

use crate::{
    descriptor::Reserved,
    epoll::{Event, borrow},
    hub::Hub,
    wait::{Kernel, PollEntry},
};
use libc::{POLLERR, POLLHUP, POLLIN, POLLNVAL, POLLOUT};
use rustix::{event::epoll, io::Errno};
use smallvec::SmallVec;
use std::{
    collections::HashMap,
    os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd},
    time::{Duration, Instant},
};

/// The kernel, with hubs served during poll(2).
pub struct Serving<'a> {
    /// The hubs.
    pub hubs: &'a [&'a Hub],
    /// The kernel.
    pub kernel: &'a mut dyn Kernel,
}

impl Kernel for Serving<'_> {
    fn poll(&mut self, entries: &mut [PollEntry], timeout: Option<Duration>) -> Result<usize, Errno> {
        poll_serving(self.hubs, entries, timeout, self.kernel)
    }

    fn epoll(&mut self, set: BorrowedFd<'_>, out: &mut Vec<Event>, most: usize, timeout: Option<Duration>) -> Result<(), Errno> {
        self.kernel.epoll(set, out, most, timeout)
    }

    fn restarts(&mut self) -> bool {
        self.kernel.restarts()
    }
}

/// The kernel's poll(2), during which hubs are served.
///
/// # Errors
/// As poll(2).
pub fn poll_serving(
    hubs: &[&Hub],
    entries: &mut [PollEntry],
    timeout: Option<Duration>,
    kernel: &mut dyn Kernel,
) -> Result<usize, Errno> {
    if hubs.is_empty() {
        return poll_any(entries, timeout, kernel);
    }
    let start = Instant::now();
    let left = || timeout.map(|timeout| timeout.saturating_sub(start.elapsed()));
    loop {
        let gates: SmallVec<[_; 1]> = hubs.iter().filter_map(|hub| Some((hub, hub.gate()?))).collect();
        if gates.is_empty() {
            return poll_any(entries, left(), kernel);
        }
        let mut all: SmallVec<[PollEntry; 8]> = SmallVec::from_slice(entries);
        all.extend(gates.iter().map(|(_, gate)| PollEntry { fd: gate.as_fd().as_raw_fd(), events: POLLIN, revents: 0 }));
        poll_any(&mut all, left(), kernel)?;
        let (asked, answers) = all.split_at(entries.len());
        entries.copy_from_slice(asked);
        for ((hub, _), _) in gates.iter().zip(answers).filter(|(_, answer)| answer.revents != 0) {
            hub.serve();
        }
        let count = entries.iter().filter(|entry| entry.revents != 0).count();
        if count > 0 || timeout.is_some_and(|timeout| start.elapsed() >= timeout) {
            return Ok(count);
        }
    }
}

/// The kernel takes no more entries than the program may have descriptors; with the lines' there can be more.
fn poll_any(entries: &mut [PollEntry], timeout: Option<Duration>, kernel: &mut dyn Kernel) -> Result<usize, Errno> {
    match kernel.poll(entries, timeout) {
        Err(Errno::INVAL) => poll_many(entries, timeout, kernel),
        result => result,
    }
}

/// poll(2) without a limit, by a set that is made for it.
#[cold]
fn poll_many(entries: &mut [PollEntry], mut timeout: Option<Duration>, kernel: &mut dyn Kernel) -> Result<usize, Errno> {
    let set = Reserved::make_aside(|| epoll::create(epoll::CreateFlags::CLOEXEC)).map_err(|_| Errno::INVAL)?;
    let mut wanted: HashMap<RawFd, i16> = HashMap::new();
    for entry in entries.iter().filter(|entry| entry.fd >= 0) {
        *wanted.entry(entry.fd).or_default() |= entry.events;
    }
    let mut found: HashMap<RawFd, i16> = HashMap::new();
    for (fd, events) in &wanted {
        let flags = epoll::EventFlags::from_bits_retain(*events as u16 as u32);
        let at_once = match borrow(*fd, |x| epoll::add(&set, x, epoll::EventData::new_u64(*fd as u64), flags)) {
            Ok(()) => continue,
            // A file that is always ready.
            Err(Errno::PERM) => events & (POLLIN | POLLOUT),
            Err(Errno::BADF) => POLLNVAL,
            Err(error) => return Err(error),
        };
        found.insert(*fd, at_once);
        if at_once != 0 {
            timeout = Some(Duration::ZERO);
        }
    }
    let mut events = Vec::with_capacity(wanted.len());
    kernel.epoll(set.as_fd(), &mut events, wanted.len().max(1), timeout)?;
    found.extend(events.iter().map(|event| (event.data as RawFd, event.events as i16)));
    for entry in entries.iter_mut() {
        entry.revents = found.get(&entry.fd).map_or(0, |revents| revents & (entry.events | POLLERR | POLLHUP | POLLNVAL));
    }
    Ok(entries.iter().filter(|entry| entry.revents != 0).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        stream::pair::{Itself, unforked},
        wait::poll,
    };
    use rustix::pipe::pipe;

    /// The kernel with a limit of two entries; it must not be asked to wait.
    struct Small;

    impl Kernel for Small {
        fn poll(&mut self, entries: &mut [PollEntry], _: Option<Duration>) -> Result<usize, Errno> {
            if entries.len() > 2 { Err(Errno::INVAL) } else { Ok(0) }
        }

        fn restarts(&mut self) -> bool {
            false
        }

        fn epoll(&mut self, set: BorrowedFd<'_>, out: &mut Vec<Event>, most: usize, _: Option<Duration>) -> Result<(), Errno> {
            Itself::default().epoll(set, out, most, Some(Duration::ZERO))
        }
    }

    #[test]
    fn more_entries_than_the_kernel_takes() {
        let _guard = unforked();
        let (reading, writing) = pipe().expect("a pipe");
        let file = std::fs::File::open("/dev/null").expect("a file");
        let ask = |fd, events| PollEntry { fd, events, revents: 0 };
        let (r, w) = (reading.as_raw_fd(), writing.as_raw_fd());
        let mut entries =
            [ask(r, POLLIN), ask(w, POLLOUT), ask(-1, POLLIN), ask(9999, POLLIN), ask(file.as_raw_fd(), POLLIN), ask(r, 0)];
        assert_eq!(poll(&mut entries, &[], None, &mut Small), Ok(3));
        assert_eq!(entries.map(|entry| entry.revents), [0, POLLOUT, 0, POLLNVAL, POLLIN, 0]);
        rustix::io::write(&writing, b"x").expect("room");
        assert_eq!(poll(&mut entries, &[], None, &mut Small), Ok(4));
        assert_eq!(entries[0].revents, POLLIN);
        drop(writing);
        entries[1].fd = -1;
        assert_eq!(poll(&mut entries, &[], None, &mut Small), Ok(4));
        assert_eq!((entries[0].revents, entries[5].revents), (POLLIN | POLLHUP, POLLHUP), "asked for or not");
    }
}
