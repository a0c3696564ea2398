//! Hooks on epoll.

use crate::{
    connect::may_connect,
    kernel::Waiting,
    listen::adopt,
    process::watch_forks,
    real::{fail, last_error, real, shield, waiting},
    room::made,
    table::{self, Found, Slot},
};
use libc::{EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD, epoll_event, sigset_t, timespec};
use rustix::io::Errno;
use slipway_fabric::sync::{ForkMutex, Forked};
use slipway_transport::{
    epoll::{EpollSet, Event, UNSEEN},
    hub::Hub,
    stream::Stream,
    wait::Kernel,
};
use std::{cell::Cell, ffi::c_int, sync::Arc, time::Duration};

real! {
    fn epoll_create(size: c_int) -> c_int;
    fn epoll_create1(flags: c_int) -> c_int;
    fn epoll_ctl(epfd: c_int, operation: c_int, fd: c_int, event: *mut epoll_event) -> c_int;
    fn epoll_wait(epfd: c_int, events: *mut epoll_event, max: c_int, timeout: c_int) -> c_int;
    fn epoll_pwait(epfd: c_int, events: *mut epoll_event, max: c_int, timeout: c_int, mask: *const sigset_t) -> c_int;
    fn epoll_pwait2(epfd: c_int, events: *mut epoll_event, max: c_int, timeout: *const timespec, mask: *const sigset_t) -> c_int;
}

fn set_of(epfd: c_int) -> Option<Arc<EpollSet>> {
    table::find(epfd)?.set().cloned()
}

/// Two threads that register the first streams at once make one set.
static MAKING: ForkMutex<()> = ForkMutex::new(());

/// In the child of a fork.
pub fn after_fork(child: &Forked) {
    MAKING.after_fork(child);
    UNSEEN.forget();
    table::forget_unseen();
}

/// The epoll set `epfd`, which is known from here on; none where it can't be.
pub fn set_or_new(epfd: c_int) -> Option<Arc<EpollSet>> {
    set_of(epfd).or_else(|| {
        let _guard = MAKING.lock();
        if let Some(set) = set_of(epfd) {
            return Some(set);
        }
        let set = EpollSet::new(epfd).ok()?;
        let shared = table::is_shared_set(epfd);
        table::unseen(epfd).into_iter().for_each(|unseen| set.count_unseen(unseen));
        let put = table::put(epfd, Slot::Set(Arc::clone(&set)));
        if shared || UNSEEN.may_wait() {
            set.expose();
        }
        if UNSEEN.may_wait() {
            set.begin_waiting();
        }
        set.note_unseen();
        put.then_some(set)
    })
}

/// A number that is a set's now: what was known of it was another file's.
fn created(epfd: c_int) -> c_int {
    if epfd >= 0 {
        shield(|| table::note_own_set(epfd), || {});
        watch_forks();
    }
    epfd
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_create(size: c_int) -> c_int {
    // SAFETY: no pointers.
    created(made(|| unsafe { next::epoll_create(size) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_create1(flags: c_int) -> c_int {
    // SAFETY: no pointers.
    created(made(|| unsafe { next::epoll_create1(flags) }))
}

/// After `fd` became a member of `epfd`: what that means if it is a set itself.
fn nest(epfd: c_int, fd: c_int) {
    // Takes out what isn't in: a set says so, and anything else that it is no set.
    // SAFETY: no event is passed, as this operation wants none.
    let is_set = unsafe { next::epoll_ctl(fd, EPOLL_CTL_DEL, epfd, std::ptr::null_mut()) } < 0 && last_error() == Errno::NOENT;
    if is_set && let Some(set) = set_or_new(fd) {
        set.nest();
    }
}

/// Where a socket is registered that has no connection yet: when it gets one that uses shared memory, its sets are told.
#[derive(Debug)]
pub struct Early {
    process: u32,
    registrations: ForkMutex<Vec<Registration>>,
}

#[derive(Debug, Clone, Copy)]
struct Registration {
    epfd: c_int,
    events: u32,
    data: u64,
}

impl Early {
    /// The program has registered the socket, changed that or taken it back.
    fn note(&self, operation: c_int, epfd: c_int, wanted: Option<(u32, u64)>) {
        let mut registrations = self.registrations.lock();
        registrations.retain(|registration| registration.epfd != epfd);
        if let Some((events, data)) = wanted.filter(|_| operation != EPOLL_CTL_DEL) {
            registrations.push(Registration { epfd, events, data });
        }
    }

    /// In the child of a fork.
    pub fn after_fork(&self, child: &Forked) {
        self.registrations.after_fork(child);
    }

    /// Whether its sets can have a stream in its place. One that reports once may have reported.
    pub fn can_be_stream(&self) -> bool {
        self.process == std::process::id()
            && self
                .registrations
                .lock()
                .iter()
                .all(|it| it.events & ALONE as u32 == 0 && set_or_new(it.epfd).is_some_and(|set| !set.is_nested()))
    }

    /// The socket listens now: its sets serve its hub.
    pub fn become_listener(&self, hub: &Arc<Hub>) {
        // In a child they are its parent's, too, which would hear of the hub.
        if self.process == std::process::id() {
            let sets = self.registrations.lock().iter().filter_map(|it| set_or_new(it.epfd)).collect::<Vec<_>>();
            sets.iter().filter(|set| !set.is_nested()).for_each(|set| set.add_hub(hub));
        }
    }

    /// The socket `fd` is `stream` now: its sets have that from here on. False if one of them can't.
    pub fn become_stream(&self, fd: c_int, stream: &Arc<Stream>) -> bool {
        self.registrations.lock().iter().all(|it| {
            // SAFETY: no event is passed, as this operation wants none.
            let was_there = unsafe { next::epoll_ctl(it.epfd, EPOLL_CTL_DEL, fd, std::ptr::null_mut()) } == 0;
            // A set that was closed meanwhile has nothing.
            if !was_there || set_or_new(it.epfd).is_some_and(|set| set.add(fd, stream, it.events, it.data).is_ok()) {
                return true;
            }
            let mut event = epoll_event { events: it.events, u64: it.data };
            // SAFETY: an event of this call's.
            unsafe { next::epoll_ctl(it.epfd, EPOLL_CTL_ADD, fd, &raw mut event) };
            false
        })
    }
}

/// What only the kernel does for a registration: EPOLLONESHOT, EPOLLWAKEUP and EPOLLEXCLUSIVE.
const ALONE: c_int = libc::EPOLLONESHOT | libc::EPOLLWAKEUP | libc::EPOLLEXCLUSIVE;

const EXCLUSIVE: u32 = libc::EPOLLEXCLUSIVE as u32;

/// All that the kernel takes with EPOLLEXCLUSIVE, see epoll_ctl(2).
const BESIDE_EXCLUSIVE: u32 =
    (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLERR | libc::EPOLLHUP | libc::EPOLLWAKEUP | libc::EPOLLET | libc::EPOLLEXCLUSIVE)
        as u32;

/// The registrations of `fd`, if it has no connection yet.
pub fn early(fd: c_int) -> Option<Arc<Early>> {
    match table::get(fd) {
        Some(Slot::Early(early)) => Some(early),
        _ => None,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_ctl(epfd: c_int, operation: c_int, fd: c_int, event: *mut epoll_event) -> c_int {
    // SAFETY: the caller's contract is epoll_ctl(2)'s.
    let real = || unsafe { next::epoll_ctl(epfd, operation, fd, event) };
    if !table::is_used(fd) {
        let known = operation != EPOLL_CTL_ADD || shield(|| adopt(fd), || true);
        if known || !table::is_used(fd) {
            let result = real();
            if result == 0 && !known {
                shield(
                    || {
                        if may_connect(fd) {
                            let early = Early { process: std::process::id(), registrations: ForkMutex::default() };
                            // SAFETY: the caller's, which the kernel has read.
                            early.note(operation, epfd, unsafe { event.as_ref() }.map(|e| (e.events, e.u64)));
                            table::put(fd, Slot::Early(Arc::new(early)));
                        } else {
                            nest(epfd, fd);
                        }
                    },
                    || {},
                );
            }
            return result;
        }
    }
    shield(
        || {
            // SAFETY: null or the caller's.
            let wanted = unsafe { event.as_ref() }.map(|e| (e.events, e.u64));
            let (found, set) = (table::find(fd), table::find(epfd));
            let set = set.as_ref().and_then(Found::set);
            let yielding = || {
                if let Some(set) = set {
                    set.yield_to_kernel(fd);
                }
                real()
            };
            match (operation, found.as_ref().and_then(Found::slot), wanted) {
                // The kernel refuses it before it looks for the registration.
                (EPOLL_CTL_ADD | EPOLL_CTL_MOD, _, Some((events, _)))
                    if events & EXCLUSIVE != 0 && (operation == EPOLL_CTL_MOD || events & !BESIDE_EXCLUSIVE != 0) =>
                {
                    real()
                }
                (EPOLL_CTL_ADD, Some(Slot::Stream(stream)), Some((events, data))) if !stream.is_plain() => {
                    let add = |set: &Arc<EpollSet>| set.takes(stream).then(|| set.add(fd, stream, events, data));
                    match set.map_or_else(|| add(&set_or_new(epfd)?), add) {
                        Some(Ok(())) => 0,
                        Some(Err(error)) if error != Errno::MFILE => fail(error),
                        _ => {
                            // The set can't be ours, so the connection can't be either.
                            table::give_back(fd, stream);
                            real()
                        }
                    }
                }
                (EPOLL_CTL_ADD, Some(Slot::Listener(hub)), _) => {
                    let result = real();
                    if result == 0
                        && let Some(set) = set_or_new(epfd)
                    {
                        set.add_hub(hub);
                    }
                    result
                }
                (EPOLL_CTL_ADD, Some(Slot::Set(set)), _) => {
                    let result = real();
                    if result == 0 {
                        set.nest();
                    }
                    result
                }
                (EPOLL_CTL_MOD, Some(Slot::Stream(_)), Some((events, data))) => match set {
                    Some(set) if set.events(fd).is_some_and(|before| before & EXCLUSIVE != 0) => fail(Errno::INVAL),
                    Some(set) if set.modify(fd, events, data) => 0,
                    _ => yielding(),
                },
                (EPOLL_CTL_DEL, Some(Slot::Stream(_)), _) => match set {
                    Some(set) if set.remove(fd) => 0,
                    _ => yielding(),
                },
                (_, Some(Slot::Early(early)), _) => {
                    let result = real();
                    if result == 0 {
                        early.note(operation, epfd, wanted);
                    }
                    result
                }
                _ => yielding(),
            }
        },
        real,
    )
}

thread_local! {
    /// Events on their way from the kernel to the program, kept to save an allocation a wait.
    static BUFFERS: Cell<(Vec<Event>, Vec<epoll_event>)> = const { Cell::new((Vec::new(), Vec::new())) };
}

fn wait(found: &Found, events: *mut epoll_event, max: c_int, timeout: Option<Duration>, mask: *const sigset_t) -> c_int {
    let Some(set) = found.set() else { return fail(Errno::BADF) };
    let max = usize::try_from(max).unwrap_or(0).min(4096);
    // A signal handler that waits, too, finds none and makes its own.
    let (mut out, raw) = BUFFERS.try_with(Cell::take).unwrap_or_default();
    out.clear();
    let mut kernel = Waiting::new(mask);
    kernel.raw = raw;
    let result = table::borrowed(set.descriptor(), |epfd| {
        // No more than the program has space for, events for ourselves among them: the kernel reports edges once.
        set.wait(&mut out, max, timeout, &mut |found, most, time| kernel.epoll(epfd, found, most.max(1), time))
    });
    let answer = match result {
        Err(error) => fail(error),
        Ok(()) => {
            for (i, event) in out.iter().take(max).enumerate() {
                // SAFETY: the caller's array has `max` entries.
                unsafe { events.add(i).write_unaligned(epoll_event { events: event.events, u64: event.data }) };
            }
            out.len().min(max) as c_int
        }
    };
    let _ = BUFFERS.try_with(|kept| kept.set((out, kernel.raw)));
    answer
}

/// What `epfd` is, a set, if a wait on it concerns us and its arguments make sense. Also a set whose last stream has gone: the kernel may
/// still have an event of ours for it.
fn concerned(epfd: c_int, events: *mut epoll_event, max: c_int) -> Option<Found> {
    let is_sound = max > 0 && !events.is_null();
    table::find(epfd).filter(|found| is_sound && found.set().is_some())
}

/// In a set that is left to the kernel, by the program's own call: it may make no other.
fn wait_left(found: &Found, events: *mut epoll_event, real: impl Fn() -> c_int) -> c_int {
    loop {
        let told = real();
        let mut kept = 0;
        for i in 0..usize::try_from(told).unwrap_or(0) {
            // SAFETY: the kernel has written so many.
            let event = unsafe { events.add(i).read_unaligned() };
            if found.set().is_none_or(|set| !set.is_its_makers(event.u64)) {
                // SAFETY: they are no more than the kernel's.
                unsafe { events.add(kept).write_unaligned(event) };
                kept += 1;
            }
        }
        // The time that has passed is not counted.
        if told <= 0 || kept > 0 {
            return if told < 0 { told } else { kept as c_int };
        }
    }
}

/// A wait of any kind, of which `real` is the kernel's own. Another thread may give the set its first stream while the kernel waits:
/// what the kernel reports then may be ours.
fn wait_or(
    epfd: c_int,
    events: *mut epoll_event,
    max: c_int,
    timeout: Option<Duration>,
    mask: *const sigset_t,
    real: impl Fn() -> c_int,
) -> c_int {
    let known = || concerned(epfd, events, max);
    let overlooked = || match table::unseen(epfd) {
        // It may be known by another number.
        Some(unseen) => UNSEEN.wait(|| unseen.wait(|| known().map_or_else(|| Ok(real()), Err))),
        None => Ok(real()),
    };
    let found = match known().map_or_else(overlooked, Err) {
        Ok(found) => found,
        Err(set) if set.set().is_some_and(|set| set.is_left()) => return wait_left(&set, events, &real),
        Err(set) => return waiting(|| wait(&set, events, max, timeout, mask)),
    };
    let Some(ours) = concerned(epfd, events, max).filter(|_| found > 0) else { return found };
    let sift = || {
        let at = |i| events.wrapping_add(i);
        // SAFETY: the kernel has written so many.
        let all = (0..found as usize).map(|i| unsafe { at(i).read_unaligned() });
        let sift = |events: &[Event]| ours.set().map_or_else(Vec::new, |set| set.sift(events));
        let theirs = sift(&all.map(|e| Event { events: e.events, data: e.u64 }).collect::<Vec<_>>());
        for (i, event) in theirs.iter().enumerate() {
            // SAFETY: they are no more than the kernel's.
            unsafe { at(i).write_unaligned(epoll_event { events: event.events, u64: event.data }) };
        }
        // The time that has passed is not counted.
        if theirs.is_empty() { wait(&ours, events, max, timeout, mask) } else { theirs.len() as c_int }
    };
    waiting(sift)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_wait(epfd: c_int, events: *mut epoll_event, max: c_int, timeout: c_int) -> c_int {
    // SAFETY: the caller's contract is epoll_wait(2)'s.
    let real = || unsafe { next::epoll_wait(epfd, events, max, timeout) };
    wait_or(epfd, events, max, u64::try_from(timeout).ok().map(Duration::from_millis), std::ptr::null(), real)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_pwait(
    epfd: c_int,
    events: *mut epoll_event,
    max: c_int,
    timeout: c_int,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's contract is epoll_pwait(2)'s.
    let real = || unsafe { next::epoll_pwait(epfd, events, max, timeout, mask) };
    wait_or(epfd, events, max, u64::try_from(timeout).ok().map(Duration::from_millis), mask, real)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_pwait2(
    epfd: c_int,
    events: *mut epoll_event,
    max: c_int,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's contract is epoll_pwait2(2)'s.
    let real = || unsafe { next::epoll_pwait2(epfd, events, max, timeout, mask) };
    // SAFETY: null or the caller's.
    let time = unsafe { timeout.as_ref() }.map(|t| Duration::new(t.tv_sec.max(0) as u64, t.tv_nsec.clamp(0, 999_999_999) as u32));
    wait_or(epfd, events, max, time, mask, real)
}
