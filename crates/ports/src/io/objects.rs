//! The kernel objects behind rights: sockets, pipes, memory files; and the passing of descriptors.

use rustix::{
    event::{PollFd, PollFlags, Timespec},
    fs::{MemfdFlags, SealFlags},
    io::Errno,
    net::{AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType},
    pipe::PipeFlags,
};
use slipway_fabric::descriptor::Reserved;
use std::{
    io::{self, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

pub use slipway_fabric::packet::send;

/// Most descriptors in one packet (SCM_MAX_FD).
pub const PARCEL: usize = 253;

/// Two connected SEQPACKET sockets.
pub fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?)
}

/// A pipe that carries nothing: its read end hangs up when the last copy of the write end is closed.
/// Read end first.
pub fn holder_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?)
}

/// Whether a descriptor that a peer sent is a pipe's read end: anything else might never hang up.
pub fn is_holder_pipe(fd: impl AsFd) -> bool {
    use rustix::fs::{FileType, OFlags};
    rustix::fs::fstat(&fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo)
        && rustix::fs::fcntl_getfl(&fd).is_ok_and(|flags| flags & OFlags::RWMODE == OFlags::RDONLY)
}

/// The number that identifies a socket: the kernel gives no number twice.
pub fn identity(socket: impl AsFd) -> io::Result<u64> {
    Ok(rustix::net::sockopt::socket_cookie(socket)?)
}

/// The number that identifies a memory file among those that are open.
pub fn file_identity(file: impl AsFd) -> io::Result<u64> {
    Ok(rustix::fs::fstat(file)?.st_ino)
}

/// Whether the other side of a socket or pipe is gone for good.
pub fn hung_up(fd: impl AsFd) -> bool {
    let mut fds = [PollFd::new(&fd, PollFlags::empty())];
    let ready = rustix::event::poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    ready.is_ok_and(|n| n > 0) && fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

/// Whether a packet can be sent now.
pub fn writable(fd: impl AsFd) -> bool {
    let mut fds = [PollFd::new(&fd, PollFlags::OUT)];
    let ready = rustix::event::poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    ready.is_ok_and(|n| n > 0) && fds[0].revents().intersects(PollFlags::OUT)
}

/// Whether so many more descriptors can be opened now. `fd` is any that is open.
pub fn room_for(fd: impl AsFd, many: usize) -> bool {
    let places: Vec<io::Result<OwnedFd>> = (0..many).map(|_| Ok(rustix::io::fcntl_dupfd_cloexec(&fd, 0)?)).collect();
    places.iter().all(Result::is_ok)
}

/// Takes one packet: its size (0: the other side is gone), and its descriptors, which go to `fds`.
/// `WOULDBLOCK` if there is none; `MSGSIZE` if the packet is larger than `to`, or lost descriptors.
pub fn receive(socket: BorrowedFd<'_>, to: &mut [u8], fds: &mut impl Extend<Reserved>) -> Result<usize, Errno> {
    let mut some = Vec::new();
    let (size, mut lost) = receive_some(socket, to, &mut some)?;
    lost |= some.iter().any(Option::is_none);
    fds.extend(some.into_iter().flatten());
    if lost { Err(Errno::MSGSIZE) } else { Ok(size) }
}

/// A descriptor that came with a packet; None if there was no place for it here.
pub type Arrived = Option<Reserved>;

/// As [`receive`], for a packet that may lose descriptors: the size, and whether it lost some of the last.
pub fn receive_some(socket: BorrowedFd<'_>, to: &mut [u8], fds: &mut impl Extend<Arrived>) -> Result<(usize, bool), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PARCEL))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let message = loop {
        match rustix::net::recvmsg(
            socket,
            &mut [IoSliceMut::new(to)],
            &mut control,
            RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC,
        ) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = part {
            fds.extend(received.map(|fd| Reserved::new(fd).ok()));
        }
    }
    if message.flags.contains(rustix::net::ReturnFlags::TRUNC) {
        return Err(Errno::MSGSIZE);
    }
    Ok((message.bytes, message.flags.contains(rustix::net::ReturnFlags::CTRUNC)))
}

/// A new memory file, to be filled and then sealed with [`seal`].
pub fn memory_file(len: u64) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create(c"slipway-memory", flags | MemfdFlags::NOEXEC_SEAL)
        .or_else(|_| rustix::fs::memfd_create(c"slipway-memory", flags))?;
    rustix::fs::ftruncate(&file, len)?;
    Ok(file)
}

/// Makes a memory file unchangeable for good.
pub fn seal(file: impl AsFd) -> io::Result<()> {
    let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    Ok(rustix::fs::fcntl_add_seals(file, seals)?)
}

/// Whether a file that a peer sent is a memory file that nobody can change, of at least `len` bytes.
pub fn is_sealed(file: impl AsFd, len: u64) -> bool {
    rustix::fs::fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SealFlags::WRITE | SealFlags::SHRINK))
        && rustix::fs::fstat(&file).is_ok_and(|stat| u64::try_from(stat.st_size).is_ok_and(|size| size >= len))
        && slipway_fabric::segment::is_plain_memory(&file)
}

/// Whether a descriptor that a peer sent is a socket: nothing else is used as a port.
pub fn is_socket(fd: impl AsFd) -> bool {
    rustix::net::sockopt::socket_type(fd).is_ok_and(|kind| kind == SocketType::SEQPACKET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_sealed_and_plain() {
        let file = memory_file(5000).expect("a file");
        assert!(!is_sealed(&file, 5000), "it can change");
        seal(&file).expect("seals");
        assert!(is_sealed(&file, 5000) && !is_sealed(&file, 5001));
    }

    /// Its pages may not be there when they are touched.
    #[test]
    fn huge_pages_are_refused() {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB;
        // Without huge pages in the kernel nobody can make such a file.
        let Ok(file) = rustix::fs::memfd_create(c"huge", flags) else { return };
        rustix::fs::ftruncate(&file, 1 << 30).expect("a size");
        seal(&file).expect("seals");
        assert!(!is_sealed(&file, 4096));
        assert!(slipway_fabric::segment::Segment::open_with(file.as_fd(), 4096, 4096).is_err());
    }

    #[test]
    fn sockets_are_told_apart() {
        let ((a, b), c) = (socket_pair().expect("sockets"), holder_pipe().expect("a pipe").0);
        let copy = a.try_clone().expect("a copy");
        assert_eq!(identity(&a).ok(), identity(&copy).ok());
        assert_ne!(identity(&a).ok(), identity(&b).ok());
        assert!(identity(&c).is_err(), "no socket");
    }
}
