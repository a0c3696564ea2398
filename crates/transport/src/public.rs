//! A server's hub for clients of other users (`SLIPWAY_X11_USERS=all`). It has an abstract name: a directory that all users can open could be
//! filled by any of them.
//!
//! Anybody can come to such a name, or take it. So a client believes only a hub of the process that the kernel names at the real socket, and a
//! server takes only the offer of the process that connected there. Beside the hub is a beacon, a socket for datagrams that takes none: a client
//! sees by it that there is a hub, and wakes nobody.

use crate::descriptor::{Reserved, make_any};
use rustix::{
    io::Errno,
    net::{AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, shutdown, socket_with},
};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

/// A server's, until it is dropped.
#[derive(Debug)]
pub struct Public {
    listening: Reserved,
    _beacon: Reserved,
}

impl Public {
    /// For the hub of that name; the kernel keeps so many newcomers.
    ///
    /// # Errors
    /// Somebody has the name. There are no descriptors.
    pub fn open(hub: &str, newcomers: i32) -> io::Result<Self> {
        let listening = Reserved::make_aside(|| socket(SocketType::SEQPACKET))?;
        bind(&listening, &address(HUB, hub)?)?;
        listen(&listening, newcomers)?;
        let beacon = Reserved::make_aside(|| socket(SocketType::DGRAM))?;
        shutdown(&beacon, Shutdown::Read)?;
        bind(&beacon, &address(BEACON, hub)?)?;
        Ok(Self { listening, _beacon: beacon })
    }
}

impl AsFd for Public {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listening.as_fd()
    }
}

/// The address of a hub of that name, if there is a beacon.
pub fn find(hub: &str) -> Option<SocketAddrUnix> {
    connect(make_any(|| socket(SocketType::DGRAM)).ok()?, &address(BEACON, hub).ok()?).ok()?;
    address(HUB, hub).ok()
}

/// What the names begin with.
const HUB: &str = "slipway-hub-";
const BEACON: &str = "slipway-beacon-";

fn address(kind: &str, hub: &str) -> Result<SocketAddrUnix, Errno> {
    SocketAddrUnix::new_abstract_name(format!("{kind}{hub}").as_bytes())
}

fn socket(kind: SocketType) -> Result<OwnedFd, Errno> {
    socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
}
