//! A socket's names and options, as the kernel has them and as the program is to see them.

use crate::{
    real::{fail, real},
    table::{self, Slot},
};
use libc::{AF_UNIX, SO_TYPE, SOCK_STREAM, SOL_SOCKET, sa_family_t, sockaddr, sockaddr_storage, sockaddr_un, socklen_t, ssize_t};
use rustix::io::Errno;
use slipway_transport::{endpoint::Endpoint, options, rendezvous::PREFIX};
use std::{
    ffi::{OsStr, c_int, c_void},
    mem::MaybeUninit,
    os::unix::ffi::OsStrExt,
};

real! {
    fn getsockname(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    fn getpeername(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, length: socklen_t) -> c_int;
    fn getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, length: *mut socklen_t) -> c_int;
}

/// getsockname(2) or getpeername(2).
type NameCall = unsafe fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int;

/// Where the name begins in a `sockaddr_un`.
const NAME: usize = std::mem::offset_of!(sockaddr_un, sun_path);

/// The path or abstract name in a Unix socket address.
///
/// # Safety
/// `address` points to `length` readable bytes, or is null.
pub unsafe fn endpoint(address: *const sockaddr, length: socklen_t) -> Option<Endpoint> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { unix_name(address, length) }?;
    Some(match bytes.split_first() {
        Some((0, name)) => Endpoint::Abstract(name.to_vec()),
        _ => Endpoint::Path(OsStr::from_bytes(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into()),
    })
}

/// What `fd` is bound to.
pub fn bound_to(fd: c_int) -> Option<Endpoint> {
    name(next::getsockname, fd)
}

fn name(call: NameCall, fd: c_int) -> Option<Endpoint> {
    let mut name = Name::default();
    name.ask(call, fd).then(|| name.endpoint())?
}

/// The whole address of a socket, before the program sees of it what it may.
pub struct Name {
    address: MaybeUninit<sockaddr_storage>,
    length: socklen_t,
}

impl Default for Name {
    fn default() -> Self {
        Self { address: MaybeUninit::zeroed(), length: size_of::<sockaddr_storage>() as socklen_t }
    }
}

impl Name {
    /// Where the kernel writes it.
    pub fn parts(&mut self) -> (*mut sockaddr, *mut socklen_t) {
        (self.address.as_mut_ptr().cast(), &raw mut self.length)
    }

    fn ask(&mut self, call: NameCall, fd: c_int) -> bool {
        let (address, length) = self.parts();
        // SAFETY: the out parameters are as getsockname(2) and getpeername(2) want them.
        unsafe { call(fd, address, length) == 0 }
    }

    /// The path or abstract name in it.
    pub fn endpoint(&self) -> Option<Endpoint> {
        // SAFETY: zeroed, then filled in by the kernel.
        unsafe { endpoint(self.address.as_ptr().cast(), self.length) }
    }

    fn is_offers(&self) -> bool {
        // SAFETY: as above.
        unsafe { unix_name(self.address.as_ptr().cast(), self.length) }.is_some_and(is_offers)
    }

    /// Writes it to the program's out parameters as the kernel does, which leaves alone what lies behind its end: a socket that an offer gave its name has none.
    ///
    /// # Errors
    /// `FAULT`: one of them is not there. `INVAL`: the room is negative.
    ///
    /// # Safety
    /// The program lets us write them, unless they are null.
    pub unsafe fn show(&self, address: *mut sockaddr, length: *mut socklen_t) -> Result<(), Errno> {
        let own = if self.is_offers() { NAME } else { self.length as usize };
        // SAFETY: null or the program's.
        let room = unsafe { length.as_mut() }.ok_or(Errno::FAULT)?;
        let fits = usize::try_from(room.cast_signed()).map_err(|_| Errno::INVAL)?.min(own);
        if address.is_null() && fits > 0 {
            return Err(Errno::FAULT);
        }
        // SAFETY: the program's, of so many bytes or more; and no longer than what the kernel has filled in.
        unsafe { address.cast::<u8>().copy_from_nonoverlapping(self.address.as_ptr().cast(), fits) };
        *room = own as socklen_t;
        Ok(())
    }
}

/// Whether an offer gave a socket this name.
fn is_offers(name: &[u8]) -> bool {
    name.strip_prefix(b"\0").is_some_and(|name| name.starts_with(PREFIX))
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

/// Hides the name that an offer gave a client's socket, which the kernel has told the program of: it sees it unnamed, as it would be.
///
/// # Safety
/// As the kernel filled them in; either may be null.
pub unsafe fn hide_name(address: *mut sockaddr, length: *mut socklen_t, capacity: socklen_t) {
    if address.is_null() || length.is_null() {
        return;
    }
    // SAFETY: the kernel wrote at most `capacity` bytes of address, and the true length.
    unsafe {
        let there = (*length).min(capacity);
        if unix_name(address, there).is_some_and(is_offers) {
            // Programs look at the name without its length, too.
            address.cast::<u8>().wrapping_add(NAME).write_bytes(0, there as usize - NAME);
            *length = NAME as socklen_t;
        }
    }
}

/// A socket option that is an integer.
pub fn option(fd: c_int, name: c_int) -> Option<c_int> {
    table::borrowed(fd, |fd| slipway_fabric::options::option(fd, name))
}

/// A time-out of a socket in microseconds; 0 is none.
pub fn timeout(fd: c_int, name: c_int) -> u64 {
    table::borrowed(fd, |fd| slipway_fabric::options::timeout(fd, name))
}

pub fn is_stream_socket(fd: c_int) -> bool {
    option(fd, SO_TYPE) == Some(SOCK_STREAM)
}

/// Whether an option is set that only the kernel can honour.
pub fn needs_kernel(fd: c_int) -> bool {
    table::borrowed(fd, options::needs_kernel)
}

pub fn flags(fd: c_int) -> c_int {
    // SAFETY: no pointers.
    unsafe { libc::fcntl(fd, libc::F_GETFL) }
}

/// The size of the buffer for an address as the caller gave it.
///
/// # Safety
/// `length` is null or valid.
pub unsafe fn capacity(length: *mut socklen_t) -> socklen_t {
    // SAFETY: null or a valid pointer, by the contract of the socket calls.
    if length.is_null() { 0 } else { unsafe { *length } }
}

/// The answer of `call` on an address, in which an offer's name is hidden.
///
/// # Safety
/// The arguments are as getsockname(2) and getpeername(2) want them.
unsafe fn name_by(call: NameCall, fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    let mut name = Name::default();
    // SAFETY: the caller's promise.
    unsafe {
        if name.ask(call, fd) && name.is_offers() {
            return name.show(address, length).map_or_else(fail, |()| 0);
        }
        call(fd, address, length)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getsockname(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's contract is getsockname(2)'s.
    unsafe { name_by(next::getsockname, fd, address, length) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getpeername(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's contract is getpeername(2)'s.
    unsafe { name_by(next::getpeername, fd, address, length) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, length: socklen_t) -> c_int {
    if level == SOL_SOCKET
        && options::is_inherited(name)
        && let Some(hub) = table::listener(fd)
    {
        // Before it counts: another thread may accept a connection that has it at once.
        hub.option_set();
    }
    // SAFETY: the caller's contract is setsockopt(2)'s.
    let result = unsafe { next::setsockopt(fd, level, name, value, length) };
    if result == 0 && level == SOL_SOCKET {
        option_set(fd, name, value, length);
    }
    result
}

/// The program has set a socket option of `fd`, of as many bytes at `value`, which the kernel has read.
fn option_set(fd: c_int, name: c_int, value: *const c_void, length: socklen_t) {
    table::note_option(fd);
    if options::is_secret(name) && matches!(table::get(fd), None | Some(Slot::Early(_))) {
        // When it connects, nothing tells of it.
        table::leave(fd);
    }
    if let Some(stream) = table::stream(fd) {
        let receive = matches!(name, libc::SO_RCVTIMEO | libc::SO_RCVTIMEO_NEW);
        if receive || matches!(name, libc::SO_SNDTIMEO | libc::SO_SNDTIMEO_NEW) {
            if length as usize >= size_of::<libc::timeval>() {
                // SAFETY: the kernel has just read as much.
                let time = unsafe { value.cast::<libc::timeval>().read_unaligned() };
                stream.set_timeout(receive, slipway_fabric::options::micros(time));
            }
        } else if options::is_kernel_only(name) {
            table::give_back(fd, &stream);
        }
    }
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
