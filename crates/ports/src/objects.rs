//! The kernel objects behind rights: sockets, pipes, memory files; and the passing of descriptors.

use rustix::{
    event::{PollFd, PollFlags, Timespec},
    fs::{MemfdFlags, SealFlags},
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType},
    pipe::PipeFlags,
};
use slipway_fabric::{
    credentials::{Credentials, End, unnamed},
    descriptor::{Kind, Reserved},
    packet::{self, Packet},
    sync::pages,
};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

/// Most descriptors in one packet.
pub const FD_BATCH: usize = packet::DESCRIPTORS;

pub use slipway_fabric::packet::send;

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
pub fn is_holder_pipe(fd: &Reserved) -> bool {
    use rustix::fs::OFlags;
    fd.kind() == Kind::Pipe && rustix::fs::fcntl_getfl(fd).is_ok_and(|flags| flags & OFlags::RWMODE == OFlags::RDONLY)
}

/// The number that identifies a socket: the kernel gives no number twice.
pub fn identity(socket: impl AsFd) -> io::Result<u64> {
    Ok(rustix::net::sockopt::socket_cookie(socket)?)
}

/// Whether the other side of a socket or pipe is gone for good, or this one: the program has closed it.
pub fn hung_up(fd: impl AsFd) -> bool {
    let mut fds = [PollFd::new(&fd, PollFlags::empty())];
    let ready = rustix::event::poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    ready.is_ok_and(|n| n > 0) && fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
}

/// Whether a packet can be sent now.
pub fn writable(fd: impl AsFd) -> bool {
    let mut fds = [PollFd::new(&fd, PollFlags::OUT)];
    let ready = rustix::event::poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    ready.is_ok_and(|n| n > 0) && fds[0].revents().intersects(PollFlags::OUT)
}

/// Whether so many more descriptors can be opened now. `fd` is any that is open.
pub fn can_open(fd: impl AsFd, many: usize) -> bool {
    let opened: Vec<io::Result<OwnedFd>> = (0..many).map(|_| Ok(rustix::io::fcntl_dupfd_cloexec(&fd, 0)?)).collect();
    opened.iter().all(Result::is_ok)
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
    let mut some = Vec::new();
    let packet = packet::receive(socket, to, |fd| some.push(fd))?;
    fds.extend(Reserved::received(some));
    arrived(packet)
}

/// As [`receive`], without taking the packet: the next look finds it again. The descriptors are copies.
///
/// # Errors
/// As for [`receive`].
pub fn peek(socket: BorrowedFd<'_>, to: &mut [u8], fds: &mut Vec<Reserved>) -> Result<usize, Errno> {
    let mut some = Vec::new();
    let packet = packet::peek(socket, to, |fd| some.push(fd))?;
    let some = Reserved::received(some);
    let (size, lost) = arrived(packet)?;
    let lost = lost || some.iter().any(Option::is_none);
    fds.extend(some.into_iter().flatten());
    if lost { Err(Errno::MSGSIZE) } else { Ok(size) }
}

/// Takes a packet of descriptors that nobody wants. Whether it is one of so many, all of kinds that are used here.
pub fn discard(socket: BorrowedFd<'_>, many: usize) -> bool {
    let (mut count, mut fds) = ([0; 1], Vec::new());
    let packet = packet::receive(socket, &mut count, |fd| fds.push(fd));
    let counted = fds.len() <= many && usize::from(count[0]) == many;
    Reserved::discard(fds) && counted && packet.is_ok_and(|packet| packet.len == 1 && !packet.truncated)
}

/// The size of a packet, and whether it lost descriptors.
pub(crate) fn arrived(packet: Packet) -> Result<(usize, bool), Errno> {
    if packet.truncated { Err(Errno::MSGSIZE) } else { Ok((packet.len, packet.lost)) }
}

/// A packet that came through the sending end of a port.
#[derive(Debug)]
pub struct Request {
    /// What it says.
    pub bytes: Vec<u8>,
    /// The descriptors with it.
    pub fds: Vec<Reserved>,
    /// The process that sent it, if the receiving end [asked](name_senders) for that.
    pub sender: Option<Credentials>,
}

/// Takes a request.
///
/// # Errors
/// As recvmsg(2); `MSGSIZE` if it is longer than any, or lost descriptors.
pub fn receive_request(socket: BorrowedFd<'_>) -> Result<Request, Errno> {
    let (mut bytes, mut fds) = ([0; 64], Vec::new());
    let packet = packet::receive(socket, &mut bytes, |fd| fds.push(fd))?;
    let fds = Reserved::received(fds);
    if packet.truncated || packet.lost || fds.iter().any(Option::is_none) {
        return Err(Errno::MSGSIZE);
    }
    Ok(Request { bytes: bytes[..packet.len].to_vec(), fds: fds.into_iter().flatten().collect(), sender: packet.sender })
}

/// Has the kernel say of each packet that a socket receives which process sent it. Other holders of the socket could
/// have it say nothing: its new holder asks again.
///
/// # Errors
/// As setsockopt(2).
pub fn name_senders(socket: impl AsFd) -> io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_passcred(socket, true)?)
}

/// A new memory file, to be filled and then sealed with [`seal`].
pub fn memory_file(len: u64) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create(c"slipway-memory", flags | MemfdFlags::NOEXEC_SEAL)
        .or_else(|_| rustix::fs::memfd_create(c"slipway-memory", flags))?;
    slipway_fabric::segment::set_size(&file, len)?;
    Ok(file)
}

/// A sealed memory file with the `len` bytes of this process's memory at `at`.
///
/// # Errors
/// `EFAULT` if they are not all there; no memory or descriptor can be had.
pub fn copied(at: usize, len: usize) -> io::Result<Reserved> {
    let file = memory_file(len as u64)?;
    pages::write_to_file(file.as_fd(), 0, at, len)?;
    seal(&file)?;
    Reserved::new(file)
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

/// Whether a descriptor that a peer sent is a socket as [`socket_pair`] makes them: nothing else is used as a port. Those of
/// other families may wait where these don't.
pub fn is_socket(fd: &Reserved) -> bool {
    fd.kind() == Kind::Unix && rustix::net::sockopt::socket_type(fd) == Ok(SocketType::SEQPACKET)
}

/// Whether what is sent into a socket goes to no service that would take it for this process's word: its credentials go
/// with it. The receiving end of a port has no name, and only the port's owner could give it one. A sending end may have
/// been given one by any of its holders.
pub fn leads_to_a_port(fd: &Reserved) -> bool {
    is_socket(fd) && unnamed(fd, End::Other)
}

/// As [`leads_to_a_port`], for a socket that has one holder at a time: it has no name at either end.
pub fn is_pair(fd: &Reserved) -> bool {
    leads_to_a_port(fd) && unnamed(fd, End::This)
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
        assert!(slipway_fabric::segment::Segment::open(file.as_fd(), 4096).is_err());
    }

    fn reserved(fd: OwnedFd) -> Reserved {
        Reserved::new(fd).expect("a descriptor")
    }

    #[test]
    fn sockets_are_told_apart() {
        let ((a, b), c) = (socket_pair().expect("sockets"), reserved(holder_pipe().expect("a pipe").0));
        let (a, b, copy) = (reserved(a.try_clone().expect("a copy")), reserved(b), a);
        assert_eq!(identity(&a).ok(), identity(&copy).ok());
        assert_ne!(identity(&a).ok(), identity(&b).ok());
        assert!(identity(&c).is_err(), "no socket");
        assert!(is_pair(&a) && is_pair(&b) && is_socket(&a) && !is_socket(&c));
        drop(b);
        assert!(is_pair(&a) && leads_to_a_port(&a), "the other end of a pair is gone");
        // Any holder could do that to a sending end, and must not make it useless to the others.
        let name = rustix::net::SocketAddrUnix::new_abstract_name(format!("slipway-end-{}", std::process::id()).as_bytes());
        rustix::net::bind(&a, &name.expect("a name")).expect("a free name");
        assert!(!is_pair(&a) && leads_to_a_port(&a));
    }

    /// A service would take what comes over a connection for this process's word.
    #[test]
    fn a_connection_is_no_pair() {
        use rustix::net::{SocketAddrUnix, bind, connect, listen, socket};
        let new = |kind| reserved(socket(AddressFamily::UNIX, kind, None).expect("a socket"));
        let at = SocketAddrUnix::new_abstract_name(format!("slipway-test-{}", std::process::id()).as_bytes()).expect("a name");
        let (service, client) = (new(SocketType::SEQPACKET), new(SocketType::SEQPACKET));
        assert!(!leads_to_a_port(&client), "connected to nothing");
        bind(&service, &at).and_then(|()| listen(&service, 1)).and_then(|()| connect(&client, &at)).expect("a service");
        assert!(!leads_to_a_port(&service) && !leads_to_a_port(&client));
        assert!(!is_pair(&reserved(rustix::net::accept(&service).expect("a client"))));
        let (datagram, stream) = (new(SocketType::DGRAM), new(SocketType::STREAM));
        assert!(!is_socket(&datagram) && !is_socket(&stream));
    }
}
