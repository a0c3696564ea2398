//! Hooks on sending and receiving with control messages, and the program's buffers for all hooks.

use crate::{
    io::{on_stream, vector},
    kernel::Process,
    real::{fail, real},
    socket::{hide_name, sender},
    table::{self, Slot},
};
use libc::{MSG_CMSG_CLOEXEC, MSG_CTRUNC, SCM_RIGHTS, SOL_SOCKET, cmsghdr, iovec, msghdr, ssize_t};
use rustix::io::Errno;
use slipway_transport::call::{self, Told};
use smallvec::SmallVec;
use std::{
    ffi::{c_int, c_uint},
    io::{IoSlice, IoSliceMut},
    os::fd::{BorrowedFd, IntoRawFd, OwnedFd, RawFd},
    time::{Duration, Instant},
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

/// Whether one of the program's buffers is not there. Of other bad addresses the processor tells.
pub fn lacks_memory(list: &[iovec]) -> bool {
    list.iter().any(|entry| entry.iov_base.is_null() && entry.iov_len != 0)
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

/// The program's buffers to be sent, as Rust takes them, for the length of `act`.
///
/// # Safety
/// Each entry describes memory that the program lets us read.
pub unsafe fn with_slices<T>(from: &[iovec], act: impl FnOnce(&mut [IoSlice<'_>]) -> T) -> T {
    let mut slices: SmallVec<[IoSlice<'_>; 8]> = SmallVec::new();
    slices.extend(from.iter().map(|entry| match entry.iov_base.is_null() || entry.iov_len == 0 {
        true => IoSlice::new(&[]),
        // SAFETY: the caller's promise.
        false => IoSlice::new(unsafe { std::slice::from_raw_parts(entry.iov_base.cast(), entry.iov_len) }),
    }));
    act(&mut slices)
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
unsafe extern "C-unwind" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
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
        |stream, x| {
            if call::finds_nothing(stream, x, flags) {
                return fail(Errno::AGAIN) as ssize_t;
            }
            // SAFETY: the caller's header.
            let header = unsafe { &mut *message };
            // SAFETY: its list of buffers.
            let Some(list) = (unsafe { vector(header.msg_iov, header.msg_iovlen as c_int) }) else { return real() };
            if lacks_memory(list) {
                return fail(Errno::FAULT) as ssize_t;
            }
            let mut list: SmallVec<[iovec; 8]> = SmallVec::from_slice(list);
            // SAFETY: the program's buffers.
            let slices = unsafe { borrowed_slices(&mut list) };
            let has_control = !header.msg_control.is_null() && header.msg_controllen > 0;
            match call::receive(stream, x, slices, flags, Told::Message(has_control), &Process) {
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
unsafe extern "C-unwind" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
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
        |stream, x| {
            // SAFETY: as above.
            let passed = if controlled { unsafe { descriptors(header) } } else { Some(Vec::new()) };
            // SAFETY: the caller's list of buffers.
            let list = unsafe { vector(header.msg_iov, header.msg_iovlen as c_int) };
            let (Some(passed), Some(list)) = (passed, list) else {
                return if table::leave_to_kernel(fd, stream, Duration::ZERO) { real() } else { fail(Errno::AGAIN) as ssize_t };
            };
            if lacks_memory(list) {
                return fail(Errno::FAULT) as ssize_t;
            }
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
            match unsafe { with_slices(list, |list| call::send(stream, x, list, &borrowed, flags, &Process)) } {
                Ok(None) => real(),
                Ok(Some(n)) => n as ssize_t,
                Err(error) => fail(error) as ssize_t,
            }
        },
        real,
    )
}

/// Another process is about to see these descriptors: connections among them go to their socket, and epoll sets tell the kernel all.
fn give_back_passed(passed: &[RawFd]) {
    for fd in passed {
        match table::get(*fd) {
            Some(Slot::Stream(stream)) if !stream.is_plain() => table::hand_over(*fd, &stream),
            Some(Slot::Set(set)) => set.expose(),
            Some(Slot::Early(_)) | None => table::share(*fd),
            _ => {}
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recvmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut libc::timespec,
) -> c_int {
    if table::stream(fd).is_none() {
        // SAFETY: as recvmmsg(2).
        return unsafe { next::recvmmsg(fd, messages, count, flags, timeout) };
    }
    // SAFETY: as recvmmsg(2).
    let patience = unsafe { timeout.as_ref() }
        .map(|time| Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.clamp(0, 999_999_999) as u32));
    let start = Instant::now();
    let one = flags & libc::MSG_WAITFORONE != 0;
    let in_time = |done| done == 0 || patience.is_none_or(|patience| start.elapsed() < patience);
    let receive = |done, header: *mut msghdr| {
        let flags = if one && done > 0 { flags | libc::MSG_DONTWAIT } else { flags } & !libc::MSG_WAITFORONE;
        // SAFETY: as recvmmsg(2).
        unsafe { recvmsg(fd, header, flags) }
    };
    // SAFETY: as recvmmsg(2).
    unsafe { one_by_one(messages, count, in_time, receive) }
}

/// Makes the call for each of the messages until one fails, or it does not go on: how many it was made for.
///
/// # Safety
/// There are `count` of them.
unsafe fn one_by_one(
    messages: *mut libc::mmsghdr,
    count: c_uint,
    goes_on: impl Fn(c_uint) -> bool,
    call: impl Fn(c_uint, *mut msghdr) -> ssize_t,
) -> c_int {
    let mut done = 0;
    while done < count.min(libc::UIO_MAXIOV as c_uint) && goes_on(done) {
        // SAFETY: the caller's promise.
        let message = unsafe { &mut *messages.add(done as usize) };
        let n = call(done, &raw mut message.msg_hdr);
        if n < 0 {
            break;
        }
        message.msg_len = n as c_uint;
        done += 1;
    }
    if done == 0 && count > 0 { -1 } else { done as c_int }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendmmsg(fd: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int) -> c_int {
    if !table::is_used(fd) {
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
        return unsafe { next::sendmmsg(fd, messages, count, flags) };
    }
    // SAFETY: as sendmmsg(2).
    unsafe { one_by_one(messages, count, |_| true, |_, header| sendmsg(fd, header, flags)) }
}
