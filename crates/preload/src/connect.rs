//! Hooks on making connections, and on the questions a program can ask about them.

use crate::{
    bound,
    descriptor::{follow_signals, is_input},
    epoll::early,
    kernel::Process,
    real::{fail, last_error, real, shield, waiting},
    room::{self, made},
    table::{self, Slot},
};
use libc::{
    AF_UNIX, O_NONBLOCK, SO_TYPE, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_STREAM, SOL_SOCKET, sa_family_t, sockaddr, sockaddr_un,
    socklen_t, ssize_t, timeval,
};
use rustix::io::Errno;
use slipway_fabric::sync::{AtomicU32, ForkMutex, Forked, Ordering::Relaxed, ask_loader};
use slipway_transport::{
    call::{await_client as await_client_of, is_there},
    endpoint::Endpoint,
    hub::{Accepted, Hub},
    ports::{display::Call, office::Office},
    rendezvous::{PREFIX, offer, unname},
    report,
    settings::Settings,
};
use std::{
    ffi::{CStr, OsStr, c_char, c_int, c_void},
    os::unix::ffi::OsStrExt,
    sync::{Arc, Weak},
};

real! {
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int;
    fn bind(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int;
    fn listen(fd: c_int, backlog: c_int) -> c_int;
    fn accept(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    fn accept4(fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int;
    fn getsockname(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    fn getpeername(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, length: socklen_t) -> c_int;
    fn getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, length: *mut socklen_t) -> c_int;
}

/// Where the name begins in a `sockaddr_un`.
const NAME: usize = std::mem::offset_of!(sockaddr_un, sun_path);

/// The path or abstract name in a Unix socket address.
///
/// # Safety
/// `address` points to `length` readable bytes, or is null.
unsafe fn endpoint(address: *const sockaddr, length: socklen_t) -> Option<Endpoint> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { unix_name(address, length) }?;
    Some(match bytes.split_first() {
        Some((0, name)) => Endpoint::Abstract(name.to_vec()),
        _ => Endpoint::Path(OsStr::from_bytes(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into()),
    })
}

/// What follows the family in a Unix socket address.
///
/// # Safety
/// As [`endpoint`].
unsafe fn unix_name<'a>(address: *const sockaddr, length: socklen_t) -> Option<&'a [u8]> {
    let length = (length as usize).min(size_of::<sockaddr_un>());
    if address.is_null() || length <= NAME {
        return None;
    }
    // SAFETY: at least NAME bytes are readable, and the family comes first.
    if c_int::from(unsafe { address.cast::<sa_family_t>().read_unaligned() }) != AF_UNIX {
        return None;
    }
    // SAFETY: `length` bytes are readable.
    Some(unsafe { std::slice::from_raw_parts(address.cast::<u8>().add(NAME), length - NAME) })
}

/// Hides the name that an offer gave a client's socket: programs see it unnamed, as it would be.
///
/// # Safety
/// As the kernel filled them in; either may be null.
pub unsafe fn hide_name(address: *mut sockaddr, length: *mut socklen_t, capacity: socklen_t) {
    if address.is_null() || length.is_null() {
        return;
    }
    // SAFETY: the kernel wrote at most `capacity` bytes of address, and the true length.
    unsafe {
        let Some(name) = unix_name(address, (*length).min(capacity)) else { return };
        if name.strip_prefix(b"\0").is_some_and(|name| name.starts_with(PREFIX)) {
            // Programs look at the name without its length, too.
            let bytes = name.len();
            address.cast::<u8>().add(NAME).write_bytes(0, bytes);
            *length = size_of::<sa_family_t>() as socklen_t;
        }
    }
}

/// A socket option that is an integer.
fn option(fd: c_int, name: c_int) -> Option<c_int> {
    let (mut value, mut size) = (0 as c_int, size_of::<c_int>() as socklen_t);
    // SAFETY: the two out parameters are as getsockopt(2) wants them.
    let done = unsafe { next::getsockopt(fd, SOL_SOCKET, name, (&raw mut value).cast(), &raw mut size) };
    (done == 0).then_some(value)
}

/// A time-out of a socket in microseconds; 0 is none.
fn timeout(fd: c_int, name: c_int) -> u64 {
    let mut time = timeval { tv_sec: 0, tv_usec: 0 };
    let mut size = size_of::<timeval>() as socklen_t;
    // SAFETY: as above.
    unsafe { next::getsockopt(fd, SOL_SOCKET, name, (&raw mut time).cast(), &raw mut size) };
    micros(time)
}

fn micros(time: timeval) -> u64 {
    // The kernel takes a negative time for one that is over.
    if time.tv_sec < 0 { 1 } else { (time.tv_sec as u64).saturating_mul(1_000_000).saturating_add(time.tv_usec as u64) }
}

fn is_stream_socket(fd: c_int) -> bool {
    option(fd, SO_TYPE) == Some(SOCK_STREAM)
}

/// Whether `fd` is a stream socket that may be connected to a local one.
pub fn may_connect(fd: c_int) -> bool {
    Settings::get().on
        && option(fd, libc::SO_DOMAIN) == Some(AF_UNIX)
        && is_stream_socket(fd)
        && option(fd, libc::SO_ACCEPTCONN) == Some(0)
        && table::borrowed(fd, |fd| rustix::net::getpeername(fd)).is_err()
}

/// Whether an option is set that only the kernel can honour.
fn needs_kernel(fd: c_int) -> bool {
    KERNEL_ONLY.iter().any(|(name, unset)| option(fd, *name).is_some_and(|value| value != *unset))
}

fn flags(fd: c_int) -> c_int {
    // SAFETY: no pointers.
    unsafe { libc::fcntl(fd, libc::F_GETFL) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    // SAFETY: no pointers.
    let fd = made(|| unsafe { next::socket(domain, kind, protocol) });
    if fd >= 0 && domain == AF_UNIX && kind & !(SOCK_NONBLOCK | SOCK_CLOEXEC) == SOCK_STREAM {
        shield(|| table::note_own_socket(fd), || {});
        crate::process::watch_forks();
    }
    fd
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: the caller's contract is connect(2)'s.
    let real = || unsafe { next::connect(fd, address, length) };
    // SAFETY: as above.
    let Some(endpoint) = (unsafe { endpoint(address, length) }) else { return real() };
    waiting(|| {
        let settings = Settings::get();
        // What is in an epoll set before it connects stays the kernel's, if the set counts on its events.
        let early = early(fd);
        let plain = || {
            let result = real();
            if result == 0 && (early.is_some() || table::is_own_socket(fd)) {
                table::leave(fd);
            }
            result
        };
        if !settings.on
            || (table::is_used(fd) && !early.as_ref().is_some_and(|early| early.can_be_stream()))
            || table::is_known(fd)
            || !settings.sockets.has(&endpoint)
            || !is_stream_socket(fd)
            || is_input(fd)
            || needs_kernel(fd)
            || !room::for_line(fd)
        {
            return plain();
        }
        // No lock of ours is held here.
        ask_loader();
        if settings.over_ports
            && early.is_none()
            && let Some(call) = shield(|| table::borrowed(fd, |fd| Call::begin(fd, &endpoint)), || None)
        {
            return connect_over_ports(fd, call, real());
        }
        let Some(offer) = shield(|| table::borrowed(fd, |fd| offer(fd, &endpoint)), || None) else {
            return restored(fd, plain());
        };
        let result = restored(fd, real());
        let flags = flags(fd);
        // It is known since, if another thread gave it to others while this one waited.
        if result == 0
            && !table::is_known(fd)
            && let Some(stream) = shield(|| table::borrowed(fd, |x| offer.connected(x, flags & O_NONBLOCK != 0)), || None)
        {
            for (receive, name) in [(true, libc::SO_RCVTIMEO), (false, libc::SO_SNDTIMEO)] {
                stream.set_timeout(receive, timeout(fd, name));
            }
            begin();
            crate::process::watch_exit();
            let stream = Arc::new(stream);
            table::put(fd, Slot::Stream(Arc::clone(&stream)));
            if flags & libc::O_ASYNC != 0 {
                follow_signals(fd, &stream);
            }
            if early.is_some_and(|early| !early.become_stream(fd, &stream)) {
                table::give_back(fd, &stream);
            }
        }
        result
    })
}

/// What connect(2) gave. A socket that it left without a connection may be bound, and has no name, as without hooks.
fn restored(fd: c_int, result: c_int) -> c_int {
    if result == 0 {
        return result;
    }
    let error = last_error();
    // Who is told to try once more mostly does so with the same name, or binds.
    if !matches!(error, Errno::AGAIN | Errno::INTR) {
        unnamed(fd);
    }
    fail(error)
}

/// Takes the name off a socket without a connection that an offer gave it; false if it has none, or keeps it.
fn unnamed(fd: c_int) -> bool {
    // SAFETY: no pointers.
    table::is_own_socket(fd) && unsafe { libc::fcntl(fd, libc::F_GETOWN) } == 0 && table::borrowed(fd, unname).is_some()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bind(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: the caller's contract is bind(2)'s.
    let real = || unsafe { next::bind(fd, address, length) };
    let result = real();
    if result == 0 {
        // SAFETY: as above.
        let endpoint = unsafe { endpoint(address, length) };
        if let Some(Endpoint::Path(path)) = endpoint.filter(|_| Settings::get().any_socket()) {
            shield(
                || {
                    if is_stream_socket(fd) {
                        bound::note(fd, &path)
                    }
                },
                || {},
            );
        }
        return result;
    }
    if last_error() != Errno::INVAL {
        return result;
    }
    if shield(|| unnamed(fd), || false) { real() } else { fail(Errno::INVAL) }
}

/// This process may come to have a connection over shared memory.
fn begin() {
    crate::process::watch_forks();
    slipway_transport::stream::at_segment(crate::signals::watch);
}

/// Goes over ports if it can: `result` is that of the real connect(2).
fn connect_over_ports(fd: c_int, call: Call, result: c_int) -> c_int {
    let error = (result != 0).then(last_error);
    match table::borrowed(fd, |x| call.connected(x, error, flags(fd) & O_NONBLOCK != 0)) {
        Some(stream) => {
            begin();
            crate::signals::watch();
            table::put(fd, Slot::Stream(Arc::new(stream)));
            0
        }
        None => restored(fd, error.map_or(0, fail)),
    }
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
    let mut address = std::mem::MaybeUninit::<sockaddr_un>::zeroed();
    let mut length = size_of::<sockaddr_un>() as socklen_t;
    // SAFETY: the out parameters are as getsockname(2) wants them.
    let named = unsafe { next::getsockname(fd, address.as_mut_ptr().cast(), &raw mut length) } == 0;
    // SAFETY: zeroed, then filled in by the kernel.
    let endpoint = unsafe { endpoint(address.as_ptr().cast(), length) }.map(|endpoint| bound::by_file(fd, endpoint));
    if let Some(endpoint) = endpoint.filter(|endpoint| named && Settings::get().sockets.has(endpoint) && is_stream_socket(fd))
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
        table::put(fd, Slot::Listener(hub));
    }
}

/// A descriptor of which the hooks know nothing: a listening socket that this process inherited or was passed offers
/// shared memory from here on. True if it was looked at before.
pub fn adopt(fd: c_int) -> bool {
    if !table::look(fd) {
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
    if result != 0 || (table::is_used(fd) && early(fd).is_none()) || !Settings::get().on {
        return result;
    }
    shield(|| offer_at(fd, false), || {});
    result
}

/// So often an accept(2) gives another its turn. The other may be the call that a signal handler, which accepts, too, has interrupted.
const TURNS: u32 = 1000;

/// The program's accept(2) on `fd`, which is `real`. One that blocks waits before it, while its hub is served. Of several threads and
/// processes that see one connection, one takes it at a time: the others would wait in the kernel, where nobody serves the hub.
fn take_client(fd: c_int, real: impl Fn() -> c_int) -> c_int {
    if !table::is_used(fd) {
        shield(|| _ = adopt(fd), || {});
    }
    let hub = match table::get(fd) {
        Some(Slot::Listener(hub)) => hub,
        _ => return real(),
    };
    let mut given = 0;
    while given < TURNS {
        // Mostly the program has waited for it in another way.
        let turn = hub.try_accepting();
        if turn.is_some() && table::borrowed(fd, |fd| is_there(fd, &Process)) {
            return real();
        }
        if flags(fd) & O_NONBLOCK != 0 || timeout(fd, libc::SO_RCVTIMEO) != 0 {
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

/// After the real accept gave `new` from `fd`.
unsafe fn accepted(fd: c_int, new: c_int, nonblocking: bool) {
    shield(
        || {
            let Some(Slot::Listener(hub)) = table::get(fd) else { return };
            let over_ports = || {
                let (end, pid) = table::borrowed(new, |fd| Office::get()?.accepted(fd))?;
                let pid = pid.or_else(|| table::borrowed(new, Hub::peer)).unwrap_or(0);
                hub.accepted_over_ports(&end, pid, nonblocking).inspect_err(|_| end.close()).ok()
            };
            if hub.display().is_some()
                && let Some(stream) = over_ports()
            {
                table::put(new, Slot::Stream(stream));
                return;
            }
            let plain = is_input(new) || needs_kernel(new) || !room::for_line(new);
            table::put(
                new,
                match table::borrowed(new, |x| hub.accepted(x, nonblocking, plain)) {
                    Accepted::Line(stream) => {
                        crate::process::watch_exit();
                        Slot::Stream(stream)
                    }
                    Accepted::Plain(client) => Slot::Plain(client),
                },
            );
        },
        || {},
    );
}

/// The size of the buffer for an address as the caller gave it.
///
/// # Safety
/// `length` is null or valid.
pub unsafe fn capacity(length: *mut socklen_t) -> socklen_t {
    // SAFETY: null or a valid pointer, by the contract of the socket calls.
    if length.is_null() { 0 } else { unsafe { *length } }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn accept(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's contract is accept(2)'s.
    unsafe {
        let space = capacity(length);
        let new = waiting(|| take_client(fd, || made(|| next::accept(fd, address, length))));
        if new >= 0 {
            accepted(fd, new, false);
            hide_name(address, length, space);
        }
        new
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn accept4(fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int {
    // SAFETY: the caller's contract is accept4(2)'s.
    unsafe {
        let space = capacity(length);
        let real = || made(|| next::accept4(fd, address, length, flags));
        // With others it fails, whether or not a client is there.
        let may_accept = flags & !(SOCK_NONBLOCK | SOCK_CLOEXEC) == 0;
        let new = if may_accept { waiting(|| take_client(fd, real)) } else { real() };
        if new >= 0 {
            accepted(fd, new, flags & SOCK_NONBLOCK != 0);
            hide_name(address, length, space);
        }
        new
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getsockname(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's contract is getsockname(2)'s.
    unsafe {
        let space = capacity(length);
        let result = next::getsockname(fd, address, length);
        if result == 0 {
            hide_name(address, length, space);
        }
        result
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getpeername(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's contract is getpeername(2)'s.
    unsafe {
        let space = capacity(length);
        let result = next::getpeername(fd, address, length);
        if result == 0 {
            hide_name(address, length, space);
        }
        result
    }
}

/// Options that change what a receive returns in ways that only the kernel does.
/// With the value that they have at first.
const KERNEL_ONLY: [(c_int, c_int); 5] =
    [(libc::SO_PASSCRED, 0), (libc::SO_PASSSEC, 0), (libc::SO_PEEK_OFF, -1), (libc::SO_RCVLOWAT, 1), (SO_PASSPIDFD, 0)];
const SO_PASSPIDFD: c_int = 76;

#[unsafe(no_mangle)]
unsafe extern "C" fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, length: socklen_t) -> c_int {
    // SAFETY: the caller's contract is setsockopt(2)'s.
    let result = unsafe { next::setsockopt(fd, level, name, value, length) };
    if result == 0
        && level == SOL_SOCKET
        && let Some(stream) = table::stream(fd)
    {
        let receive = matches!(name, libc::SO_RCVTIMEO | libc::SO_RCVTIMEO_NEW);
        if receive || matches!(name, libc::SO_SNDTIMEO | libc::SO_SNDTIMEO_NEW) {
            if length as usize >= size_of::<libc::timeval>() {
                // SAFETY: the kernel has just read as much.
                let time = unsafe { value.cast::<libc::timeval>().read_unaligned() };
                stream.set_timeout(receive, micros(time));
            }
        } else if KERNEL_ONLY.iter().any(|(only, _)| *only == name) {
            table::give_back(fd, &stream);
        }
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's contract is getsockopt(2)'s.
    let result = unsafe { next::getsockopt(fd, level, name, value, length) };
    if result == 0
        && (level, name) == (SOL_SOCKET, libc::SO_ERROR)
        && let Some(stream) = table::stream(fd)
    {
        // SAFETY: the kernel has just written the length and as many bytes.
        unsafe {
            let whole = *length as usize >= size_of::<c_int>();
            // Asked in any case: what the kernel told of it here isn't told again.
            let reset = table::borrowed(fd, |x| stream.reports_reset(x));
            if whole && reset && value.cast::<c_int>().read_unaligned() == 0 {
                value.cast::<c_int>().write_unaligned(libc::ECONNRESET);
            }
        }
    }
    result
}

/// For the hooks that say where bytes came from: the peer's address if there were bytes, empty if it has none.
pub unsafe fn sender(fd: c_int, bytes: ssize_t, address: *mut sockaddr, length: *mut socklen_t) {
    if address.is_null() || length.is_null() {
        return;
    }
    // SAFETY: both are the caller's out parameters.
    unsafe {
        let named = bytes > 0 && getpeername(fd, address, length) == 0 && *length as usize > NAME;
        if !named {
            *length = 0;
        }
    }
}

const _: () = assert!(NAME == size_of::<sa_family_t>());
