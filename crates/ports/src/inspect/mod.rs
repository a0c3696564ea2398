//! What a process tells others of its ports: see `slipway ports`.
//!
//! Each process with a watcher listens on an abstract socket, which goes with the process however it ends. A
//! connection is the whole request, so that nothing of the asker's is read. The answer is one packet, which holds
//! a sealed memory file with a [`Snapshot`] as JSON: sending it never waits, and a
//! slow reader delays no other. Each side looks at the other's credentials before it does anything else.

mod model;
mod query;
mod snapshot;

#[cfg(test)]
mod tests;

pub use model::{Held, Here, Holder, Home, Line, Member, Name, Port, Role, Route, Serves, Snapshot, Task};
pub use query::{Address, Failure, addresses, ask};

use crate::objects;
use model::{HELLO, PREFIX};
use rustix::{
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType},
};
use slipway_fabric::credentials;
use slipway_fabric::descriptor::Reserved;
use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

/// Connections that wait to be accepted; more are refused.
const BACKLOG: i32 = 16;

/// Connections that are accepted before the watcher looks at anything else.
const ACCEPTED: u32 = 8;

/// Names that are tried: strangers can take one, since an abstract name belongs to nobody.
const TRIES: u32 = 16;

/// The user that stands for all that have no number in this user namespace.
const NOBODY: u32 = 65534;

/// The socket that answers.
#[derive(Debug)]
pub struct Inspector {
    socket: Reserved,
}

impl Inspector {
    pub(crate) fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = Reserved::new(rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)?;
        let user = rustix::process::geteuid().as_raw();
        let pid = rustix::process::getpid().as_raw_nonzero();
        let mut bound = Err(Errno::ADDRINUSE);
        for n in 0..TRIES {
            let name = if n == 0 { format!("{PREFIX}{user}/{pid}") } else { format!("{PREFIX}{user}/{pid}.{n}") };
            bound = rustix::net::bind(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?);
            if bound != Err(Errno::ADDRINUSE) {
                break;
            }
        }
        bound?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok(Self { socket })
    }

    pub(crate) fn socket(&self) -> &Reserved {
        &self.socket
    }
}

/// Answers those that have connected with what `snapshot` gives. To be called without the lock, by one thread at a time.
///
/// # Errors
/// Nobody can be accepted for now, as there are no descriptors or no memory left.
pub(crate) fn answer(listener: &Reserved, snapshot: &dyn Fn() -> Snapshot) -> io::Result<()> {
    for _ in 0..ACCEPTED {
        match rustix::net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            // A process that is refused, or can't be answered, sees the connection close.
            Ok(socket) => drop(answer_one(socket, snapshot)),
            Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(Errno::WOULDBLOCK) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn answer_one(socket: OwnedFd, snapshot: &dyn Fn() -> Snapshot) -> io::Result<()> {
    let socket = Reserved::new(socket)?;
    let asker = credentials::peer(&socket)?.uid;
    if !may_ask(asker, rustix::process::geteuid().as_raw()) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let answer = Reserved::new(file_of(&snapshot())?)?;
    Ok(objects::send(socket.as_fd(), &[HELLO], &[answer.as_fd()])?)
}

/// Whether a process of the user `owner` answers one of the user `asker`.
fn may_ask(asker: u32, owner: u32) -> bool {
    asker == 0 || (asker == owner && owner != NOBODY)
}

/// A sealed memory file with the snapshot as JSON.
fn file_of(snapshot: &Snapshot) -> io::Result<OwnedFd> {
    let json = serde_json::to_vec(snapshot)?;
    let file = objects::memory_file(json.len() as u64)?;
    let mut done = 0;
    while done < json.len() {
        done += rustix::io::pwrite(&file, &json[done..], done as u64)?;
    }
    objects::seal(&file)?;
    Ok(file)
}
