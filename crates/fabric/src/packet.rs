//! Packets off a Unix socket, with their descriptors and the kernel's word on the sender.
//!
//! A peer that holds a copy of a socket can set any option on it, so a packet may come with ancillary data that nobody
//! here asked for: credentials without a process number, a descriptor of the sender's process (SO_PASSPIDFD). Descriptors
//! that were not asked for are closed.
#![allow(unsafe_code, reason = "recvmsg: the safe face can't say that a sender has no number here, and leaves pidfds open")]

use crate::credentials::Credentials;
use rustix::{
    io::Errno,
    net::{
        RecvAncillaryBuffer, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, recvmsg,
        sockopt::set_socket_passcred,
    },
};
use std::{
    io::{IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
};

/// Most descriptors in one packet (SCM_MAX_FD).
pub const DESCRIPTORS: usize = 253;

/// What the kernel calls a descriptor of the sender's process.
const SCM_PIDFD: i32 = 4;

/// Room for the descriptors, the credentials and a process's descriptor.
const CONTROL: usize = {
    // SAFETY: plain arithmetic.
    unsafe {
        (libc::CMSG_SPACE((DESCRIPTORS * size_of::<RawFd>()) as u32)
            + libc::CMSG_SPACE(size_of::<libc::ucred>() as u32)
            + libc::CMSG_SPACE(size_of::<RawFd>() as u32)) as usize
    }
};

/// The buffer for ancillary data, aligned for its headers.
#[repr(C, align(8))]
struct Control([MaybeUninit<u8>; CONTROL]);

/// What came with a packet's bytes.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// The number of bytes; 0 also if the other side is gone.
    pub len: usize,
    /// The packet was larger than the buffer: the rest is lost.
    pub truncated: bool,
    /// Some of the descriptors found no place in this process.
    pub lost: bool,
    /// The process that sent the packet, if the socket has SO_PASSCRED.
    pub sender: Option<Credentials>,
}

/// Takes one packet without waiting. Its descriptors, closed on exec, go to `take` in their order.
///
/// # Errors
/// As recvmsg(2); `WOULDBLOCK` if there is no packet.
pub fn receive(socket: impl AsFd, to: &mut [u8], take: impl FnMut(OwnedFd)) -> Result<Packet, Errno> {
    receive_as(0, socket.as_fd(), to, take)
}

/// As [`receive`], without taking the packet: the next look finds it again. The descriptors are copies.
///
/// # Errors
/// As for [`receive`].
pub fn peek(socket: impl AsFd, to: &mut [u8], take: impl FnMut(OwnedFd)) -> Result<Packet, Errno> {
    receive_as(libc::MSG_PEEK, socket.as_fd(), to, take)
}

fn receive_as(how: i32, socket: BorrowedFd<'_>, to: &mut [u8], mut take: impl FnMut(OwnedFd)) -> Result<Packet, Errno> {
    let mut control = Control([MaybeUninit::uninit(); CONTROL]);
    let mut part = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    // SAFETY: a msghdr is integers and pointers, for which zero is a value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    let fd = socket.as_raw_fd();
    let len = loop {
        header.msg_control = control.0.as_mut_ptr().cast();
        header.msg_controllen = CONTROL as _;
        // SAFETY: the header's pointers are to buffers of the sizes it says, which live until the end of the call, as
        // does the borrowed descriptor.
        let len = unsafe { libc::recvmsg(fd, &raw mut header, how | libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC) };
        if let Ok(len) = usize::try_from(len) {
            break len;
        }
        match std::io::Error::last_os_error() {
            error if error.kind() == std::io::ErrorKind::Interrupted => {}
            error => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
        }
    };
    let mut sender = None;
    // SAFETY: the kernel filled in the ancillary data and its length; the macros stay within that, and what each part's
    // header says of its length and kind is the kernel's. Descriptors in it are new, and owned by nobody else.
    unsafe {
        let mut part = libc::CMSG_FIRSTHDR(&raw const header);
        while !part.is_null() {
            let data = libc::CMSG_DATA(part);
            let size = ((*part).cmsg_len as usize).saturating_sub(libc::CMSG_LEN(0) as usize);
            match ((*part).cmsg_level, (*part).cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_RIGHTS) => (0..size / size_of::<RawFd>())
                    .for_each(|i| take(OwnedFd::from_raw_fd(data.cast::<RawFd>().add(i).read_unaligned()))),
                (libc::SOL_SOCKET, libc::SCM_CREDENTIALS) if size >= size_of::<libc::ucred>() => {
                    let from = data.cast::<libc::ucred>().read_unaligned();
                    sender = Some(Credentials {
                        pid: u32::try_from(from.pid).ok().filter(|pid| *pid != 0),
                        uid: from.uid,
                        gid: from.gid,
                    });
                }
                (libc::SOL_SOCKET, SCM_PIDFD) if size >= size_of::<RawFd>() => {
                    let fd = data.cast::<RawFd>().read_unaligned();
                    // An error's number if there was no place for it.
                    if fd >= 0 {
                        drop(OwnedFd::from_raw_fd(fd));
                    }
                }
                _ => {}
            }
            part = libc::CMSG_NXTHDR(&raw const header, part);
        }
    }
    let flag = |flag| header.msg_flags & flag != 0;
    Ok(Packet { len, truncated: flag(libc::MSG_TRUNC), lost: flag(libc::MSG_CTRUNC), sender })
}

/// Whether a packet lies unread in a socket. It stays there. The socket's packets say from here on which process sent them, as even
/// an empty one differs from the end of all then.
pub fn holds_unread(socket: impl AsFd) -> bool {
    // A first error may be one that the socket has kept.
    set_socket_passcred(&socket, true).is_ok() && matches!(look(&socket).or_else(|_| look(socket)), Ok(Look { holds: true, .. }))
}

/// Drops packets that lie unread in a socket, up to the first with descriptors; 64 at most. For a socket of which no
/// other process has a copy.
pub fn drop_unread(socket: impl AsFd) {
    for _ in 0..64 {
        match look(&socket) {
            Ok(Look { empty: false, holds: false }) => drop(recv(&socket, &mut [0u8; 1], RecvFlags::DONTWAIT)),
            _ => return,
        }
    }
}

/// What a look into a socket tells of its first packet.
struct Look {
    /// It has no bytes, or there is none any more.
    empty: bool,
    /// It has descriptors, or the name of its sender.
    holds: bool,
}

/// Looks without taking descriptors.
fn look(socket: impl AsFd) -> Result<Look, Errno> {
    let mut byte = [0u8; 1];
    let mut control = RecvAncillaryBuffer::new(&mut []);
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    let message = recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, flags)?;
    // There is no room for either: the kernel says so.
    Ok(Look { empty: message.bytes == 0, holds: message.flags.contains(ReturnFlags::CTRUNC) })
}

/// Sends one packet with descriptors, at most [`DESCRIPTORS`]. Never waits, never raises SIGPIPE.
///
/// # Errors
/// As sendmsg(2); `WOULDBLOCK` if there is no room now.
pub fn send(socket: BorrowedFd<'_>, bytes: &[&[u8]], fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let slices: Vec<IoSlice<'_>> = bytes.iter().map(|b| IoSlice::new(b)).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(Errno::INVAL);
    }
    loop {
        match rustix::net::sendmsg(socket, &slices, &mut control, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            other => return other.map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType};

    #[test]
    fn packets_are_dropped_up_to_one_with_descriptors() {
        let (a, b) = pair();
        (0..3).for_each(|_| super::send(a.as_fd(), &[&[1, 2]], &[]).expect("room"));
        drop_unread(&b);
        assert!(!holds_unread(&b));
        set_socket_passcred(&b, false).expect("a socket");
        super::send(a.as_fd(), &[&[1]], &[]).expect("room");
        super::send(a.as_fd(), &[&[1]], &[a.as_fd()]).expect("room");
        drop_unread(&b);
        assert!(holds_unread(&b) && holds_unread(&b));
    }

    #[test]
    fn the_end_is_no_packet_and_an_empty_packet_is_one() {
        for (packets, holds) in [(0, false), (1, true)] {
            let (a, b) = pair();
            (0..packets).for_each(|_| super::send(a.as_fd(), &[], &[]).expect("room"));
            // What it sent and the other end never read is an error that the socket keeps.
            super::send(b.as_fd(), &[&[1]], &[]).expect("room");
            drop(a);
            assert!(holds_unread(&b) == holds && holds_unread(&b) == holds);
        }
    }

    fn pair() -> (OwnedFd, OwnedFd) {
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("sockets")
    }

    fn send(socket: &OwnedFd, fds: &[std::os::fd::BorrowedFd<'_>]) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(fds)));
        rustix::net::sendmsg(socket, &[IoSlice::new(b"abc")], &mut control, SendFlags::empty()).expect("room");
    }

    #[test]
    fn a_packet_comes_with_all_its_descriptors_and_its_sender() {
        let (a, b) = pair();
        rustix::net::sockopt::set_socket_passcred(&b, true).expect("a socket");
        send(&a, &vec![a.as_fd(); DESCRIPTORS]);
        let (mut bytes, mut fds) = ([0; 8], Vec::new());
        let packet = receive(&b, &mut bytes, |fd| fds.push(fd)).expect("a packet");
        assert_eq!((packet.len, packet.truncated, packet.lost, fds.len()), (3, false, false, DESCRIPTORS));
        assert_eq!(packet.sender.and_then(|sender| sender.pid), Some(std::process::id()));
        assert_eq!(receive(&b, &mut bytes, |_| {}).expect_err("nothing"), Errno::WOULDBLOCK);
    }

    #[test]
    fn a_descriptor_that_was_not_asked_for_is_closed() {
        const SO_PASSPIDFD: i32 = 76;
        let (a, b) = pair();
        let on = 1i32;
        // SAFETY: reads an integer that lives until the end of the call.
        let set = unsafe { libc::setsockopt(b.as_raw_fd(), libc::SOL_SOCKET, SO_PASSPIDFD, (&raw const on).cast(), 4) };
        if set != 0 {
            // Before Linux 6.5.
            return;
        }
        let count = || {
            let target = |fd: std::fs::DirEntry| std::fs::read_link(fd.path()).unwrap_or_default();
            let open = std::fs::read_dir("/proc/self/fd").expect("/proc").flatten();
            open.map(target).filter(|it| it.to_string_lossy().contains("pidfd")).count()
        };
        send(&a, &[a.as_fd()]);
        let mut fds = 0;
        receive(&b, &mut [0; 8], |_| fds += 1).expect("a packet");
        assert_eq!((fds, count()), (1, 0));
    }
}
