//! Sending and receiving for all hooks: waiting where the program's socket would, and the hooks with
//! control messages.

use crate::{
    connect::{hide_name, sender},
    io::{on_stream, vector},
    poll::real_poller,
    real::{fail, real},
    signals::FAULTS,
    table,
};
use libc::{
    MSG_CMSG_CLOEXEC, MSG_CTRUNC, MSG_DONTWAIT, MSG_ERRQUEUE, MSG_NOSIGNAL, MSG_OOB, MSG_PEEK, MSG_WAITALL, SCM_RIGHTS,
    SOL_SOCKET, cmsghdr, iovec, msghdr, ssize_t,
};
use rustix::{event::PollFlags, io::Errno};
use slipway_transport::{
    stream::{How, Received, Stream},
    wait::{Member, wait},
};
use std::{
    ffi::{c_int, c_uint},
    io::{IoSlice, IoSliceMut},
    os::fd::{BorrowedFd, IntoRawFd, OwnedFd, RawFd},
    time::Duration,
};

real! {
    fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t;
    fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t;
    fn recvmmsg(fd: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int, timeout: *mut libc::timespec) -> c_int;
    fn sendmmsg(fd: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int) -> c_int;
}

/// Which way a call moves bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the program.
    In,
    /// From the program.
    Out,
}

/// The program's buffers as Rust takes them.
///
/// # Safety
/// Each entry describes memory that the program lets us write.
pub unsafe fn borrowed_slices(list: &mut [iovec]) -> &mut [IoSliceMut<'_>] {
    for entry in list.iter_mut() {
        if entry.iov_base.is_null() || entry.iov_len == 0 {
            *entry = iovec { iov_base: std::ptr::NonNull::<u8>::dangling().as_ptr().cast(), iov_len: 0 };
        }
    }
    // SAFETY: IoSliceMut is guaranteed to have the layout of iovec, and no base is null.
    unsafe { std::slice::from_raw_parts_mut(list.as_mut_ptr().cast(), list.len()) }
}

/// Waits until `stream` is ready for `want`: as a blocking call on its socket would.
fn block(stream: &Stream, fd: c_int, want: PollFlags, timeout_us: u64) -> Result<(), Errno> {
    let timeout = (timeout_us != 0).then(|| Duration::from_micros(timeout_us));
    loop {
        let result = table::borrowed(fd, |x| {
            let mut members = [Member { stream, fd: x, want, got: PollFlags::empty() }];
            wait(&mut members, &mut [], timeout, &mut real_poller(None))
        });
        match result {
            Ok(0) => return Err(Errno::AGAIN),
            Ok(_) => return Ok(()),
            // A blocking read or write goes on after a handler with SA_RESTART; poll(2) never does.
            Err(Errno::INTR) if timeout.is_none() && handlers_restart() => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether every signal handler of the program was set up to restart interrupted calls.
pub fn handlers_restart() -> bool {
    (1..=64).filter(|signal| !FAULTS.contains(signal)).all(|signal| {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: asks only; the out parameter is zeroed.
        unsafe {
            libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) != 0 || {
                let action = action.assume_init();
                matches!(action.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) || action.sa_flags & libc::SA_RESTART != 0
            }
        }
    })
}

/// Receives as recvmsg(2) does on the socket. None: the kernel must do it, on the socket.
pub fn receive(
    stream: &Stream,
    fd: c_int,
    slices: &mut [IoSliceMut<'_>],
    flags: c_int,
    descriptors: bool,
) -> Result<Option<Received>, Errno> {
    if flags & (MSG_OOB | MSG_ERRQUEUE) != 0 {
        if flags & MSG_OOB != 0 {
            table::give_back(fd, stream);
        }
        return Ok(None);
    }
    let how = How { peek: flags & MSG_PEEK != 0, descriptors };
    let waits = flags & MSG_DONTWAIT == 0 && !stream.nonblocking();
    let all = flags & MSG_WAITALL != 0 && !how.peek;
    let want: usize = slices.iter().map(|s| s.len()).sum();
    let mut total = Received::default();
    let mut rest = slices;
    loop {
        match table::borrowed(fd, |x| stream.receive(x, rest, how)) {
            Ok(got) => {
                let over = got.bytes == 0 || !got.descriptors.is_empty() || got.dropped;
                total.bytes += got.bytes;
                total.dropped |= got.dropped;
                total.descriptors.extend(got.descriptors);
                if over || !all || total.bytes >= want {
                    return Ok(Some(total));
                }
                IoSliceMut::advance_slices(&mut rest, got.bytes);
            }
            Err(Errno::AGAIN) if waits => {
                let result = block(stream, fd, PollFlags::IN, stream.timeouts().0);
                if let Err(error) = result {
                    return if total.bytes > 0 { Ok(Some(total)) } else { Err(error) };
                }
            }
            Err(_) if total.bytes > 0 => return Ok(Some(total)),
            Err(error) => return Err(error),
        }
    }
}

/// Sends as sendmsg(2) does on the socket. None: the kernel must do it, on the socket.
///
/// # Safety
/// Each entry of `from` describes memory that the program lets us read.
pub unsafe fn send(
    stream: &Stream,
    fd: c_int,
    from: &[iovec],
    descriptors: &[BorrowedFd<'_>],
    flags: c_int,
) -> Result<Option<usize>, Errno> {
    if flags & MSG_OOB != 0 {
        table::give_back(fd, stream);
        return Ok(None);
    }
    let mut few = [IoSlice::new(&[]); 8];
    let mut many;
    let mut rest = match few.get_mut(..from.len()) {
        Some(few) => few,
        None => {
            many = vec![IoSlice::new(&[]); from.len()];
            &mut many[..]
        }
    };
    for (slice, entry) in rest.iter_mut().zip(from) {
        if !entry.iov_base.is_null() && entry.iov_len != 0 {
            // SAFETY: the caller's promise.
            *slice = IoSlice::new(unsafe { std::slice::from_raw_parts(entry.iov_base.cast(), entry.iov_len) });
        }
    }
    let want: usize = from.iter().map(|entry| entry.iov_len).sum();
    let waits = flags & MSG_DONTWAIT == 0 && !stream.nonblocking();
    let mut sent = 0;
    let result = loop {
        // Descriptors went with the first byte.
        let with: &[BorrowedFd<'_>] = if sent == 0 { descriptors } else { &[] };
        match table::borrowed(fd, |x| stream.send(x, rest, with)) {
            Ok(n) => {
                sent += n;
                if sent >= want || !waits {
                    break Ok(sent);
                }
                IoSlice::advance_slices(&mut rest, n);
            }
            Err(Errno::AGAIN) if waits => {
                if let Err(error) = block(stream, fd, PollFlags::OUT, stream.timeouts().1) {
                    break Err(error);
                }
            }
            Err(error) => break Err(error),
        }
    };
    match result {
        Err(_) if sent > 0 => Ok(Some(sent)),
        Err(Errno::PIPE) => {
            if flags & MSG_NOSIGNAL == 0 {
                // SAFETY: raises SIGPIPE in this thread, as write(2) does.
                unsafe { libc::raise(libc::SIGPIPE) };
            }
            Err(Errno::PIPE)
        }
        Err(error) => Err(error),
        Ok(n) => Ok(Some(n)),
    }
}

/// Writes received descriptors into the program's control buffer, as many as fit.
unsafe fn store_descriptors(message: &mut msghdr, received: Vec<OwnedFd>, cloexec: bool) -> bool {
    let header = size_of::<cmsghdr>();
    let capacity = message.msg_controllen;
    if received.is_empty() {
        message.msg_controllen = 0;
        return false;
    }
    let fit = if message.msg_control.is_null() || capacity < header { 0 } else { (capacity - header) / size_of::<c_int>() };
    let truncated = fit < received.len();
    let kept: Vec<RawFd> = received.into_iter().take(fit).map(IntoRawFd::into_raw_fd).collect();
    if kept.is_empty() {
        message.msg_controllen = 0;
        return truncated;
    }
    if !cloexec {
        for fd in &kept {
            // SAFETY: no pointers.
            unsafe { libc::fcntl(*fd, libc::F_SETFD, 0) };
        }
    }
    let bytes = size_of_val(&kept[..]);
    // SAFETY: the header and `kept` fit into the caller's `capacity` bytes.
    unsafe {
        let control = message.msg_control.cast::<cmsghdr>();
        (&raw mut (*control).cmsg_len).write_unaligned(libc::CMSG_LEN(bytes as u32) as _);
        (&raw mut (*control).cmsg_level).write_unaligned(SOL_SOCKET);
        (&raw mut (*control).cmsg_type).write_unaligned(SCM_RIGHTS);
        std::ptr::copy_nonoverlapping(kept.as_ptr().cast::<u8>(), message.msg_control.cast::<u8>().add(header), bytes);
        message.msg_controllen = capacity.min(libc::CMSG_SPACE(bytes as u32) as usize);
    }
    truncated
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    let real = || {
        // SAFETY: the caller's contract is recvmsg(2)'s.
        unsafe {
            let space = message.as_ref().map_or(0, |message| message.msg_namelen);
            let n = next::recvmsg(fd, message, flags);
            if n >= 0
                && space > 0
                && let Some(header) = message.as_mut()
            {
                hide_name(header.msg_name.cast(), &raw mut header.msg_namelen, space);
            }
            n
        }
    };
    if !table::is_used(fd) || message.is_null() {
        return real();
    }
    on_stream(
        fd,
        Direction::In,
        |stream| {
            // SAFETY: the caller's header.
            let header = unsafe { &mut *message };
            // SAFETY: its list of buffers.
            let Some(list) = (unsafe { vector(header.msg_iov, header.msg_iovlen as c_int) }) else { return real() };
            let (mut one, mut many);
            let list = if let [only] = list {
                one = [*only];
                &mut one[..]
            } else {
                many = list.to_vec();
                &mut many[..]
            };
            // SAFETY: the program's buffers.
            let slices = unsafe { borrowed_slices(list) };
            let has_control = !header.msg_control.is_null() && header.msg_controllen > 0;
            match receive(stream, fd, slices, flags, has_control) {
                Ok(None) => real(),
                Ok(Some(got)) => {
                    let bytes = got.bytes as ssize_t;
                    // SAFETY: the caller's out parameters.
                    unsafe { sender(fd, bytes, header.msg_name.cast(), &raw mut header.msg_namelen) };
                    let mut result = if got.dropped { MSG_CTRUNC } else { 0 };
                    // SAFETY: the caller's control buffer.
                    if unsafe { store_descriptors(header, got.descriptors, flags & MSG_CMSG_CLOEXEC != 0) } {
                        result |= MSG_CTRUNC;
                    }
                    header.msg_flags = result | (flags & MSG_CMSG_CLOEXEC);
                    bytes
                }
                Err(error) => fail(error) as ssize_t,
            }
        },
        real,
    )
}

/// The descriptors in a message's control part; None if it has other parts, which the kernel must
/// read itself.
///
/// # Safety
/// The control part is as the header says, as for sendmsg(2).
unsafe fn descriptors(message: &msghdr) -> Option<Vec<RawFd>> {
    let mut found = Vec::new();
    // SAFETY: walks the caller's control buffer by the macros that are made for it.
    unsafe {
        let mut part = libc::CMSG_FIRSTHDR(message);
        while !part.is_null() {
            if (*part).cmsg_level != SOL_SOCKET || (*part).cmsg_type != SCM_RIGHTS {
                return None;
            }
            let bytes = ((*part).cmsg_len as usize).checked_sub(libc::CMSG_LEN(0) as usize)?;
            let data = libc::CMSG_DATA(part).cast::<c_int>();
            found.extend((0..bytes / size_of::<c_int>()).map(|i| data.add(i).read_unaligned()));
            part = libc::CMSG_NXTHDR(message, part);
        }
    }
    Some(found)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the caller's contract is sendmsg(2)'s.
    let real = || unsafe { next::sendmsg(fd, message, flags) };
    // SAFETY: as above.
    let Some(header) = (unsafe { message.as_ref() }) else { return real() };
    let controlled = !header.msg_control.is_null() && header.msg_controllen > 0;
    // SAFETY: as above.
    if controlled && let Some(passed) = unsafe { descriptors(header) } {
        give_back_passed(&passed);
    }
    if !table::is_used(fd) {
        return real();
    }
    on_stream(
        fd,
        Direction::Out,
        |stream| {
            // SAFETY: as above.
            let passed = if controlled { unsafe { descriptors(header) } } else { Some(Vec::new()) };
            // SAFETY: the caller's list of buffers.
            let list = unsafe { vector(header.msg_iov, header.msg_iovlen as c_int) };
            let (Some(passed), Some(list)) = (passed, list) else {
                table::give_back(fd, stream);
                return real();
            };
            if !header.msg_name.is_null() && header.msg_namelen != 0 {
                return fail(Errno::ISCONN) as ssize_t;
            }
            // A bad descriptor is the kernel's to refuse.
            // SAFETY: no pointers.
            if passed.iter().any(|fd| *fd < 0 || unsafe { libc::fcntl(*fd, libc::F_GETFD) } < 0) {
                return fail(Errno::BADF) as ssize_t;
            }
            // SAFETY: open just now, and the program's to keep open during its call.
            let borrowed: Vec<_> = passed.iter().map(|fd| unsafe { BorrowedFd::borrow_raw(*fd) }).collect();
            // SAFETY: the program's buffers, as its call gave them.
            match unsafe { send(stream, fd, list, &borrowed, flags) } {
                Ok(None) => real(),
                Ok(Some(n)) => n as ssize_t,
                Err(error) => fail(error) as ssize_t,
            }
        },
        real,
    )
}

/// Another process is about to see these descriptors: connections among them go to their socket.
fn give_back_passed(passed: &[RawFd]) {
    for fd in passed {
        if let Some(stream) = table::stream(*fd) {
            table::give_back(*fd, &stream);
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut libc::timespec,
) -> c_int {
    if let Some(stream) = table::stream(fd) {
        table::give_back(fd, &stream);
    }
    // SAFETY: as recvmmsg(2).
    unsafe { next::recvmmsg(fd, messages, count, flags, timeout) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmmsg(fd: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int) -> c_int {
    if let Some(stream) = table::stream(fd) {
        table::give_back(fd, &stream);
    }
    for i in 0..count as usize {
        // SAFETY: `count` headers, by the contract of sendmmsg(2).
        let header = unsafe { &(*messages.add(i)).msg_hdr };
        if !header.msg_control.is_null()
            // SAFETY: as above.
            && let Some(passed) = unsafe { descriptors(header) }
        {
            give_back_passed(&passed);
        }
    }
    // SAFETY: as sendmmsg(2).
    unsafe { next::sendmmsg(fd, messages, count, flags) }
}
