//! Hooks on poll(2), select(2) and their kin.

use crate::{
    real::{fail, last_error, real, shield},
    signals::Mark,
    table::{self, Slot},
};
use libc::{fd_set, nfds_t, pollfd, sigset_t, timespec, timeval};
use rustix::{
    event::{PollFlags, epoll},
    io::Errno,
};
use slipway_transport::{
    descriptor::Reserved,
    epoll::EpollSet,
    hub::Hub,
    ports::office::Office,
    stream::Stream,
    wait::{Member, PollEntry, wait},
};
use std::{
    collections::HashMap,
    ffi::c_int,
    os::fd::{AsFd, AsRawFd},
    sync::Arc,
    time::{Duration, Instant},
};

real! {
    fn poll(fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int;
    fn ppoll(fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t) -> c_int;
    fn select(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *mut timeval) -> c_int;
    fn pselect(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *const timespec, mask: *const sigset_t) -> c_int;
}

const _: () = assert!(size_of::<PollEntry>() == size_of::<pollfd>() && align_of::<PollEntry>() == align_of::<pollfd>());

/// The kernel's poll with the program's signal mask, for waits inside the transport: a signal that was handled since this
/// call ends them when they would sleep.
pub fn real_poller(mask: Option<*const sigset_t>) -> impl FnMut(&mut [PollEntry], Option<Duration>) -> Result<usize, Errno> {
    let mark = Mark::set();
    move |entries, timeout| {
        if mark.is_past() && timeout != Some(Duration::ZERO) {
            return Err(Errno::INTR);
        }
        let time = timeout.map(|t| timespec { tv_sec: t.as_secs() as libc::time_t, tv_nsec: t.subsec_nanos().into() });
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the entries have pollfd's layout; the mask is the program's own argument.
        let n =
            unsafe { next::ppoll(entries.as_mut_ptr().cast(), entries.len() as nfds_t, time, mask.unwrap_or(std::ptr::null())) };
        match usize::try_from(n).map_err(|_| last_error()) {
            // The kernel takes no more entries than the program may have descriptors; with the lines' there can be more.
            Err(Errno::INVAL) => poll_many(entries, time, mask.unwrap_or(std::ptr::null())),
            result => result,
        }
    }
}

/// poll(2) without a limit, by a set that is made for it.
#[cold]
fn poll_many(entries: &mut [PollEntry], mut time: *const timespec, mask: *const sigset_t) -> Result<usize, Errno> {
    let set = Reserved::make_aside(|| epoll::create(epoll::CreateFlags::CLOEXEC)).map_err(|_| Errno::INVAL)?;
    let now = timespec { tv_sec: 0, tv_nsec: 0 };
    let mut wanted: HashMap<c_int, i16> = HashMap::new();
    for entry in entries.iter().filter(|entry| entry.fd >= 0) {
        *wanted.entry(entry.fd).or_default() |= entry.events;
    }
    let mut found: HashMap<c_int, i16> = HashMap::new();
    for (fd, events) in &wanted {
        let flags = epoll::EventFlags::from_bits_retain(*events as u16 as u32);
        let at_once = match table::borrowed(*fd, |x| epoll::add(&set, x, epoll::EventData::new_u64(*fd as u64), flags)) {
            Ok(()) => continue,
            // A file that is always ready.
            Err(Errno::PERM) => events & (libc::POLLIN | libc::POLLOUT),
            Err(Errno::BADF) => libc::POLLNVAL,
            Err(error) => return Err(error),
        };
        found.insert(*fd, at_once);
        if at_once != 0 {
            time = &raw const now;
        }
    }
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; wanted.len().max(1)];
    let room = c_int::try_from(events.len()).unwrap_or(c_int::MAX);
    // SAFETY: `events` has room for so many; time and mask are null or valid.
    let n = unsafe { crate::epoll::next::epoll_pwait2(set.as_fd().as_raw_fd(), events.as_mut_ptr(), room, time, mask) };
    let n = usize::try_from(n).map_err(|_| last_error())?;
    found.extend(events[..n].iter().map(|event| (event.u64 as c_int, event.events as i16)));
    let always = libc::POLLERR | libc::POLLHUP | libc::POLLNVAL;
    for entry in entries.iter_mut() {
        entry.revents = found.get(&entry.fd).map_or(0, |revents| revents & (entry.events | always));
    }
    Ok(entries.iter().filter(|entry| entry.revents != 0).count())
}

/// A poller that serves hubs while it waits.
pub fn serving(
    hubs: Vec<Arc<Hub>>,
    mut poller: impl FnMut(&mut [PollEntry], Option<Duration>) -> Result<usize, Errno>,
) -> impl FnMut(&mut [PollEntry], Option<Duration>) -> Result<usize, Errno> {
    move |entries, timeout| {
        if hubs.is_empty() {
            return poller(entries, timeout);
        }
        let start = Instant::now();
        loop {
            let gates: Vec<_> = hubs.iter().filter_map(|hub| Some((hub, hub.gate()?))).collect();
            if gates.is_empty() {
                return poller(entries, timeout.map(|timeout| timeout.saturating_sub(start.elapsed())));
            }
            let mut all = entries.to_vec();
            all.extend(gates.iter().map(|(_, gate)| PollEntry {
                fd: gate.as_fd().as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            }));
            poller(&mut all, timeout.map(|timeout| timeout.saturating_sub(start.elapsed())))?;
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
}

/// A thread that may sleep until messages come to the process's ports.
struct Asleep(Option<Arc<Office>>);

impl Asleep {
    fn new(office: Option<Arc<Office>>) -> Self {
        office.iter().for_each(|office| office.lie_down());
        Self(office)
    }
}

impl Drop for Asleep {
    fn drop(&mut self) {
        self.0.iter().for_each(|office| office.get_up());
    }
}

/// A descriptor among those waited for that is not the kernel's alone.
enum Ours {
    Stream(Arc<Stream>),
    Set(Arc<EpollSet>),
    Hub(Arc<Hub>),
}

fn ours(fd: c_int) -> Option<Ours> {
    match &*table::get(fd)? {
        Slot::Stream(stream) if !stream.is_plain() => Some(Ours::Stream(Arc::clone(stream))),
        Slot::Set(set) => Some(Ours::Set(Arc::clone(set))),
        Slot::Listener(hub) => Some(Ours::Hub(Arc::clone(hub))),
        _ => None,
    }
}

/// poll(2) over entries of which some are ours.
fn poll_mixed(entries: &mut [PollEntry], timeout: Option<Duration>, mask: Option<*const sigset_t>) -> Result<usize, Errno> {
    let mut poller = real_poller(mask);
    // The commonest case by far: one connection and nothing else.
    if let [entry] = entries
        && let Some(Ours::Stream(stream)) = ours(entry.fd)
    {
        return table::borrowed(entry.fd, |fd| {
            let want = PollFlags::from_bits_retain(entry.events as u16);
            let mut members = [Member { stream: &stream, fd, want, got: PollFlags::empty() }];
            let count = wait(&mut members, &mut [], timeout, &mut poller)?;
            entry.revents = members[0].got.bits() as i16;
            Ok(count)
        });
    }
    let hubs = entries.iter().filter_map(|entry| match ours(entry.fd)? {
        Ours::Hub(hub) => Some(hub),
        _ => None,
    });
    let mut poller = serving(hubs.collect(), poller);
    let found: Vec<(usize, Arc<Stream>)> = entries
        .iter()
        .enumerate()
        .filter_map(|(i, entry)| match ours(entry.fd)? {
            Ours::Stream(stream) => Some((i, stream)),
            Ours::Set(_) | Ours::Hub(_) => None,
        })
        .collect();
    // Messages at ports stir a set, too, as long as a thread is known to sleep.
    let offices: Vec<_> = entries
        .iter()
        .filter_map(|entry| match ours(entry.fd)? {
            Ours::Set(set) => set.office(),
            _ => None,
        })
        .collect();
    let _asleep = Asleep::new(offices.into_iter().next());
    // A set is ready when something in it is; looking arms its streams, so that a bell shows in the
    // kernel's set.
    let sets: Vec<usize> = (0..entries.len())
        .filter(|i| {
            let entry = &entries[*i];
            entry.events & libc::POLLIN != 0 && matches!(ours(entry.fd), Some(Ours::Set(set)) if set.ready_within())
        })
        .collect();
    let timeout = if sets.is_empty() { timeout } else { Some(Duration::ZERO) };
    let mut members: Vec<Member<'_>> = found
        .iter()
        .map(|(i, stream)| Member {
            stream,
            // SAFETY: the program's descriptor, for the length of its own call.
            fd: unsafe { std::os::fd::BorrowedFd::borrow_raw(entries[*i].fd) },
            want: PollFlags::from_bits_retain(entries[*i].events as u16),
            got: PollFlags::empty(),
        })
        .collect();
    let is_member = |i: usize| found.iter().any(|(m, _)| *m == i);
    let mut others: Vec<PollEntry> =
        entries.iter().enumerate().filter(|(i, _)| !is_member(*i)).map(|(_, e)| PollEntry { revents: 0, ..*e }).collect();
    let result =
        if members.is_empty() { poller(&mut others, timeout) } else { wait(&mut members, &mut others, timeout, &mut poller) };
    result?;
    let got: Vec<i16> = members.iter().map(|m| m.got.bits() as i16).collect();
    let mut others = others.into_iter();
    let mut count = 0;
    for (i, entry) in entries.iter_mut().enumerate() {
        entry.revents = match found.iter().position(|(m, _)| *m == i) {
            Some(member) => got[member],
            None => others.next().map_or(0, |other| other.revents),
        };
        if sets.contains(&i) {
            entry.revents |= libc::POLLIN;
        }
        count += usize::from(entry.revents != 0);
    }
    Ok(count)
}

/// The program's entries if one of them is ours.
unsafe fn entries<'a>(fds: *mut pollfd, count: nfds_t) -> Option<&'a mut [PollEntry]> {
    if fds.is_null() || count == 0 || count > 1 << 20 {
        return None;
    }
    // SAFETY: `count` entries by poll(2)'s contract, of PollEntry's layout.
    let entries = unsafe { std::slice::from_raw_parts_mut(fds.cast::<PollEntry>(), count as usize) };
    entries.iter().any(|e| table::is_used(e.fd) && ours(e.fd).is_some()).then_some(entries)
}

fn answer(result: Result<usize, Errno>) -> c_int {
    match result {
        Ok(count) => count as c_int,
        Err(error) => fail(error),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn poll(fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
    // SAFETY: the caller's contract is poll(2)'s.
    let real = || unsafe { next::poll(fds, count, timeout) };
    // SAFETY: as above.
    let Some(entries) = (unsafe { entries(fds, count) }) else { return real() };
    let timeout = u64::try_from(timeout).ok().map(Duration::from_millis);
    shield(|| answer(poll_mixed(entries, timeout, None)), real)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __poll_chk(fds: *mut pollfd, count: nfds_t, timeout: c_int, capacity: usize) -> c_int {
    if capacity / size_of::<pollfd>() < count as usize {
        std::process::abort();
    }
    // SAFETY: as poll(2).
    unsafe { poll(fds, count, timeout) }
}

/// A time-out as the program gave it: None for ever, or an error.
unsafe fn duration(time: *const timespec) -> Result<Option<Duration>, Errno> {
    // SAFETY: null or the caller's.
    let Some(time) = (unsafe { time.as_ref() }) else { return Ok(None) };
    match (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec)) {
        (Ok(s), Ok(ns)) if ns < 1_000_000_000 => Ok(Some(Duration::new(s, ns))),
        _ => Err(Errno::INVAL),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ppoll(fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t) -> c_int {
    // SAFETY: the caller's contract is ppoll(2)'s.
    let real = || unsafe { next::ppoll(fds, count, timeout, mask) };
    // SAFETY: as above.
    let Some(entries) = (unsafe { entries(fds, count) }) else { return real() };
    // SAFETY: as above.
    let Ok(timeout) = (unsafe { duration(timeout) }) else { return real() };
    shield(|| answer(poll_mixed(entries, timeout, Some(mask))), real)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __ppoll_chk(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
    capacity: usize,
) -> c_int {
    if capacity / size_of::<pollfd>() < count as usize {
        std::process::abort();
    }
    // SAFETY: as ppoll(2).
    unsafe { ppoll(fds, count, timeout, mask) }
}

const READ: i16 = libc::POLLIN | libc::POLLRDNORM | libc::POLLRDBAND | libc::POLLHUP | libc::POLLERR;
const WRITE: i16 = libc::POLLOUT | libc::POLLWRNORM | libc::POLLWRBAND | libc::POLLERR;

/// The three sets of select(2), as the program's memory.
struct Sets {
    count: c_int,
    sets: [*mut fd_set; 3],
}

/// What poll(2) asks for each of them, and what answers make a descriptor ready in it.
const ASK: [(i16, i16); 3] = [(libc::POLLIN, READ), (libc::POLLOUT, WRITE), (libc::POLLPRI, libc::POLLPRI)];

impl Sets {
    /// The word and bit of `fd`. Programs may have sets larger than FD_SETSIZE, so the C macros won't do.
    fn place(fd: c_int) -> (usize, libc::c_ulong) {
        let bits = libc::c_ulong::BITS as usize;
        (fd as usize / bits, 1 << (fd as usize % bits))
    }

    fn has(&self, set: usize, fd: c_int) -> bool {
        let (word, bit) = Self::place(fd);
        // SAFETY: the program's set holds at least `count` bits.
        !self.sets[set].is_null() && unsafe { *self.sets[set].cast::<libc::c_ulong>().add(word) } & bit != 0
    }

    fn clear(&self, set: usize, fd: c_int) {
        let (word, bit) = Self::place(fd);
        // SAFETY: as above, and called only for bits that were found set.
        unsafe { *self.sets[set].cast::<libc::c_ulong>().add(word) &= !bit };
    }

    fn entries(&self) -> Vec<PollEntry> {
        (0..self.count)
            .filter_map(|fd| {
                let events = (0..3).filter(|set| self.has(*set, fd)).fold(0, |events, set| events | ASK[set].0);
                (events != 0).then_some(PollEntry { fd, events, revents: 0 })
            })
            .collect()
    }

    /// Whether one of ours is in the sets.
    fn concern_us(&self) -> bool {
        table::used().take_while(|fd| *fd < self.count).any(|fd| (0..3).any(|set| self.has(set, fd)) && ours(fd).is_some())
    }

    /// select(2) by way of poll(2). The sets are changed only on success.
    fn wait(&self, timeout: Option<Duration>, mask: Option<*const sigset_t>) -> Result<usize, Errno> {
        let mut entries = self.entries();
        poll_mixed(&mut entries, timeout, mask)?;
        if entries.iter().any(|e| e.revents & libc::POLLNVAL != 0) {
            return Err(Errno::BADF);
        }
        let mut count = 0;
        for entry in &entries {
            for set in (0..3).filter(|set| self.has(*set, entry.fd)) {
                if entry.revents & ASK[set].1 != 0 {
                    count += 1;
                } else {
                    self.clear(set, entry.fd);
                }
            }
        }
        Ok(count)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn select(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *mut timeval,
) -> c_int {
    // SAFETY: the caller's contract is select(2)'s.
    let real = || unsafe { next::select(count, read, write, except, timeout) };
    let sets = Sets { count, sets: [read, write, except] };
    if !(0..=1 << 16).contains(&count) || !sets.concern_us() {
        return real();
    }
    // SAFETY: null or the caller's.
    let time = match unsafe { timeout.as_ref() } {
        None => None,
        Some(t) if t.tv_sec >= 0 && t.tv_usec >= 0 => {
            Some(Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64))
        }
        Some(_) => return real(),
    };
    shield(
        || {
            let start = std::time::Instant::now();
            let result = sets.wait(time, None);
            if let Some(time) = time {
                // Linux says how much of the time was left.
                let left = time.saturating_sub(start.elapsed());
                let left = timeval { tv_sec: left.as_secs() as libc::time_t, tv_usec: left.subsec_micros().into() };
                // SAFETY: the caller's, not null.
                unsafe { *timeout = left };
            }
            answer(result)
        },
        real,
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pselect(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's contract is pselect(2)'s.
    let real = || unsafe { next::pselect(count, read, write, except, timeout, mask) };
    let sets = Sets { count, sets: [read, write, except] };
    if !(0..=1 << 16).contains(&count) || !sets.concern_us() {
        return real();
    }
    // SAFETY: null or the caller's.
    let Ok(time) = (unsafe { duration(timeout) }) else { return real() };
    shield(|| answer(sets.wait(time, Some(mask))), real)
}
