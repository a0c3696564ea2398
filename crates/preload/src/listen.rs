//! Hooks on listening sockets: each has a hub, at which its clients offer shared memory.

use crate::{
    bound,
    descriptor::is_input,
    epoll::early,
    kernel::Process,
    process::begin,
    real::{fail, real, shield, waiting},
    room::{self, made},
    socket::{Name, bound_to, capacity, flags, hide_name, is_stream_socket, option, timeout},
    table::{self, Slot},
};
use libc::{O_NONBLOCK, SOCK_CLOEXEC, SOCK_NONBLOCK, sockaddr, socklen_t};
use rustix::io::Errno;
use slipway_fabric::sync::{AtomicU32, ForkMutex, Forked, Ordering::Relaxed, ask_loader};
use slipway_transport::{
    call::{await_client as await_client_of, is_there},
    endpoint::Endpoint,
    hub::{Accepted, Hub},
    ports::office::Office,
    report,
    settings::Settings,
};
use std::{
    ffi::{CStr, c_char, c_int},
    sync::{Arc, Weak},
};

real! {
    fn listen(fd: c_int, backlog: c_int) -> c_int;
    fn accept(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    fn accept4(fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int;
}

static HUBS: ForkMutex<Vec<Weak<Hub>>> = ForkMutex::new(Vec::new());

/// 1: this process serves an X display.
static DISPLAY: AtomicU32 = AtomicU32::new(0);

/// 1: a hub could not be opened, and the user was told.
static TOLD: AtomicU32 = AtomicU32::new(0);

/// The hub of an endpoint of this process, opened when its first socket listens.
fn hub(endpoint: &Endpoint, inherited: bool) -> Option<Arc<Hub>> {
    let mut hubs = HUBS.lock();
    if let Some(hub) = hubs.iter().filter_map(Weak::upgrade).find(|hub| hub.is_of(endpoint)) {
        return Some(hub);
    }
    match Hub::open(endpoint, inherited) {
        Ok(hub) => {
            if hubs.is_empty() {
                begin();
                // Its connections over ports have no segment. A server may wait for all, and a signal that comes while the wait looks ends it.
                crate::signals::watch();
                crate::process::at_exit(close_hubs);
            }
            DISPLAY.fetch_or(u32::from(hub.display().is_some()), Relaxed);
            hubs.retain(|hub| hub.strong_count() > 0);
            hubs.push(Arc::downgrade(&hub));
            Some(hub)
        }
        Err(error) => {
            let name = endpoint.display().map_or_else(|| endpoint.shown(), |display| format!("display :{display}"));
            let why = format!("no client of {name} can use shared memory: the hub can't be opened ({error})");
            if TOLD.swap(1, Relaxed) == 0 {
                report::warn(format_args!("{why} (said once)"));
            } else {
                report::debug(format_args!("{why}"));
            }
            None
        }
    }
}

extern "C" fn close_hubs() {
    if let Some(hubs) = HUBS.try_lock() {
        hubs.iter().filter_map(Weak::upgrade).for_each(|hub| hub.retire());
    }
}

/// In the child of a fork.
pub fn after_fork(child: &Forked) {
    bound::after_fork(child);
    HUBS.after_fork(child);
}

/// Whether this process serves a display.
pub fn is_display() -> bool {
    DISPLAY.load(Relaxed) != 0
}

/// Makes the listening socket `fd` offer shared memory, if it is one that is chosen. `inherited`: another process made it.
fn offer_at(fd: c_int, inherited: bool) {
    let endpoint = bound_to(fd).map(|endpoint| bound::by_file(fd, endpoint));
    if let Some(endpoint) = endpoint.filter(|endpoint| Settings::get().sockets.has(endpoint) && is_stream_socket(fd))
        && let Some(hub) = {
            // No lock of ours is held yet.
            ask_loader();
            hub(&endpoint, inherited)
        }
    {
        if let (Some(display), Some(office)) = (hub.display(), Office::get()) {
            office.serve(display, &endpoint);
            hub.watch(&office);
        }
        let early = early(fd);
        table::put(fd, Slot::Listener(Arc::clone(&hub)));
        early.iter().for_each(|early| early.become_listener(&hub));
        // All may have been left meanwhile, and this one overlooked.
        if room::are_left() {
            hub.give_up();
            table::leave(fd);
        }
    }
}

/// A descriptor of which the hooks know nothing: a listening socket that this process inherited or was passed offers
/// shared memory from here on. True if it was looked at before.
pub fn adopt(fd: c_int) -> bool {
    if room::are_left() || !table::look(fd) {
        return true;
    }
    if Settings::get().any_socket() && option(fd, libc::SO_ACCEPTCONN) == Some(1) {
        offer_at(fd, true);
    }
    false
}

/// What must be known before the program's first call: its environment, which it may clear, and the listening sockets
/// that systemd passed. Most programs need none of it: so it is short, and calls little.
extern "C" fn start(_: c_int, _: *const *const c_char, environment: *const *const c_char) {
    // SAFETY: the C library passes what main gets: pointers to strings, and a null pointer behind them.
    let at = |n| unsafe { (*environment.add(n)).as_ref() }.map(|entry| unsafe { CStr::from_ptr(entry) });
    if !environment.is_null() && slipway_transport::environment::keep((0..).map_while(at)) {
        return;
    }
    if Settings::get().on {
        slipway_transport::rendezvous::prepare();
    }
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    if number("LISTEN_PID") == Some(std::process::id()) {
        let count = number("LISTEN_FDS").unwrap_or(0).min(1024);
        shield(|| (3..3 + count as c_int).for_each(|fd| _ = adopt(fd)), || {});
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = start;

#[unsafe(no_mangle)]
unsafe extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    // SAFETY: no pointers.
    let result = unsafe { next::listen(fd, backlog) };
    if result != 0 || !Settings::get().on || room::are_left() {
        return result;
    }
    let offer = || match table::get(fd) {
        None | Some(Slot::Early(_)) => offer_at(fd, false),
        Some(Slot::Listener(hub)) => hub.listen_again(),
        Some(_) => {}
    };
    shield(offer, || {});
    result
}

/// So often an accept(2) gives another its turn. The other may be the call that a signal handler, which accepts, too, has interrupted.
const TURNS: u32 = 1000;

/// The program's accept(2) on `fd`, which is `real`. One that blocks waits before it, while its hub is served. Of several threads and
/// processes that see one connection, one takes it at a time: the others would wait in the kernel, where nobody serves the hub.
fn take_client(fd: c_int, real: impl Fn() -> c_int) -> c_int {
    let Some(hub) = table::listener(fd) else { return real() };
    if flags(fd) & O_NONBLOCK != 0 {
        return real();
    }
    let mut given = 0;
    // In a program that filters its calls the socket is the kernel's alone meanwhile.
    while given < TURNS && table::is_used(fd) {
        // Mostly the program has waited for it in another way.
        let turn = hub.try_accepting();
        if turn.is_some() && table::borrowed(fd, |fd| is_there(fd, &Process)) {
            return real();
        }
        if timeout(fd, libc::SO_RCVTIMEO) != 0 {
            break;
        }
        if turn.is_none() {
            given += 1;
            rustix::thread::sched_yield();
        }
        drop(turn);
        if table::borrowed(fd, |fd| await_client_of(fd, &hub, &Process)) == Err(Errno::INTR) {
            return fail(Errno::INTR);
        }
    }
    real()
}

/// After the real accept gave `new` from `fd`, a client whose socket has this abstract `name`.
fn accepted(fd: c_int, new: c_int, name: Option<&[u8]>, nonblocking: bool) {
    shield(
        || {
            let Some(hub) = table::listener(fd) else { return };
            let over_ports = || {
                let (end, pid) = table::borrowed(new, |fd| Office::get()?.accepted(fd))?;
                let pid = pid.or_else(|| table::borrowed(new, Hub::peer)).unwrap_or(0);
                hub.accepted_over_ports(&end, pid, nonblocking).inspect_err(|_| end.close()).ok()
            };
            if hub.display().is_some()
                && !room::are_left()
                && let Some(stream) = over_ports()
            {
                table::put(new, Slot::Stream(stream));
                return;
            }
            let plain = is_input(new) || table::borrowed(new, |new| hub.needs_kernel(new)) || !room::for_line(new);
            table::put(
                new,
                match table::borrowed(new, |x| hub.accepted(x, name, nonblocking, plain)) {
                    Accepted::Line(stream) => {
                        crate::process::watch_exit();
                        Slot::Stream(stream)
                    }
                    Accepted::Plain(client) => Slot::Plain(client),
                },
            );
            room::settle(new);
        },
        || {},
    );
}

/// An accept(2) of the program's on `fd`, which `real` makes; `fails`: it is refused in any case. At a hub the client's whole name is asked for, whatever the
/// program asks.
///
/// # Safety
/// `address` and `length` are as for accept(2).
unsafe fn accept_by(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    nonblocking: bool,
    fails: bool,
    real: impl Fn(*mut sockaddr, *mut socklen_t) -> c_int,
) -> c_int {
    if !table::is_used(fd) {
        shield(|| _ = adopt(fd), || {});
    }
    if fails || table::listener(fd).is_none() {
        // SAFETY: the caller's promise.
        unsafe {
            let space = capacity(length);
            let new = waiting(|| made(|| real(address, length)));
            if new >= 0 {
                hide_name(address, length, space);
            }
            return new;
        }
    }
    let mut name = Name::default();
    let (own, own_length) = name.parts();
    let new = waiting(|| take_client(fd, || made(|| real(own, own_length))));
    if new < 0 {
        return new;
    }
    if !address.is_null()
        // SAFETY: the caller's promise.
        && let Err(error) = unsafe { name.show(address, length) }
    {
        // As the kernel does: the client is lost.
        // SAFETY: it was just made, and nobody has seen it.
        unsafe { rustix::io::close(new) };
        return fail(error);
    }
    accepted(fd, new, name.endpoint().as_ref().and_then(Endpoint::abstract_name), nonblocking);
    new
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn accept(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's contract is accept(2)'s.
    unsafe { accept_by(fd, address, length, false, false, |address, length| next::accept(fd, address, length)) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn accept4(fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int {
    // With others it fails, whether or not a client is there.
    let fails = flags & !(SOCK_NONBLOCK | SOCK_CLOEXEC) != 0;
    // SAFETY: the caller's contract is accept4(2)'s, here and below.
    let real = |address, length| unsafe { next::accept4(fd, address, length, flags) };
    // SAFETY: as above.
    unsafe { accept_by(fd, address, length, flags & SOCK_NONBLOCK != 0, fails, real) }
}
