//! Names of local sockets.

use super::{Answer, Reply, Server};
use crate::{
    sys::{self, by_proc},
    tasks::{Caller, read_bytes},
};
use rustix::{
    fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    fs::{Access, AtFlags, Mode, OFlags, accessat, openat},
    io::Errno,
    net::{SocketAddrUnix, bind, connect},
};
use slipway_layer::{Found, Place, TreePath};

/// `struct sockaddr_un` is no longer, and its path begins here.
const ADDRESS_MAX: i32 = 110;
const PATH_AT: usize = 2;
/// No address is longer.
const ANY_ADDRESS_MAX: i32 = 128;

/// The path in an address; none for one that has none, or is not local.
fn path(caller: Caller, address: u64, len: i32) -> Result<Option<Vec<u8>>, Errno> {
    if len < 0 {
        return Err(Errno::INVAL);
    }
    if !(3..=ADDRESS_MAX).contains(&len) {
        return Ok(None);
    }
    let bytes = read_bytes(caller.tid, address, len as usize)?;
    let is_local = bytes[..PATH_AT] == (libc::AF_UNIX as u16).to_ne_bytes();
    let path = bytes[PATH_AT..].split(|byte| *byte == 0).next().unwrap_or_default();
    Ok((is_local && !path.is_empty()).then(|| path.to_vec()))
}

/// An address that this process's kernel finds: short, whatever the directory's name is.
fn short(dir: &OwnedFd, name: &[u8]) -> Result<SocketAddrUnix, Errno> {
    let mut path = format!("/proc/self/fd/{}/", dir.as_raw_fd()).into_bytes();
    path.extend_from_slice(name);
    SocketAddrUnix::new(path)
}

fn open_parent(root: BorrowedFd<'_>, path: &TreePath) -> Result<OwnedFd, Errno> {
    openat(root, path.parent().relative(), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

impl Server {
    pub(super) fn bind(&mut self, caller: Caller, fd: i32, address: u64, len: i32) -> Reply {
        let Some(path) = path(caller, address, len)? else { return Ok(Answer::Continue) };
        let socket = self.fetch(caller, fd)?;
        let resolved = self.lookup_bytes(caller, libc::AT_FDCWD, &path, false)?;
        if resolved.found.is_some() {
            return Err(Errno::ADDRINUSE);
        }
        let mask = self.tasks.umask(caller.pid);
        self.view.make_with(&resolved.path, |root, name| {
            let name = TreePath::literal(name);
            let address = short(&open_parent(root, &name)?, name.name());
            let old = rustix::process::umask(Mode::from_raw_mode(mask));
            let dir = open_parent(root, &name);
            let bound = address.and(dir).and_then(|dir| bind(&socket, &short(&dir, name.name())?));
            rustix::process::umask(old);
            bound
        })?;
        Ok(Answer::Value(0))
    }

    pub(super) fn connect(&mut self, caller: Caller, fd: i32, address: u64, len: i32) -> Reply {
        if self.contain {
            return self.connect_contained(caller, fd, address, len);
        }
        let Some(path) = path(caller, address, len)? else { return Ok(Answer::Continue) };
        let socket = self.fetch(caller, fd)?;
        let resolved = self.lookup_bytes(caller, libc::AT_FDCWD, &path, true)?;
        let found = resolved.found.ok_or(Errno::NOENT)?;
        // The kernel tells the peer whose call it is.
        if self.is_plain(&path, &found) {
            return Ok(Answer::Continue);
        }
        self.connect_to(&found, socket)
    }

    fn connect_to(&self, found: &Found, socket: OwnedFd) -> Reply {
        accessat(self.view.root(found.place), found.path.relative(), Access::WRITE_OK, AtFlags::EACCESS)?;
        let held = self.hold(found)?;
        Ok(Answer::Later(Box::new(move || {
            connect(socket.as_fd(), &SocketAddrUnix::new(by_proc(&held))?).map(|()| Answer::Value(0))
        })))
    }

    /// The address is read once, here, and so this process connects. Of local sockets only those that the command made can be meant: the others'
    /// owners would act for it outside.
    fn connect_contained(&mut self, caller: Caller, fd: i32, address: u64, len: i32) -> Reply {
        if !(2..=ANY_ADDRESS_MAX).contains(&len) {
            return Err(Errno::INVAL);
        }
        let socket = self.fetch(caller, fd)?;
        let bytes = read_bytes(caller.tid, address, len as usize)?;
        if bytes[..PATH_AT] != (libc::AF_UNIX as u16).to_ne_bytes() {
            return Ok(Answer::Later(Box::new(move || sys::connect(socket.as_fd(), &bytes).map(|()| Answer::Value(0)))));
        }
        let path = bytes[PATH_AT..].split(|byte| *byte == 0).next().unwrap_or_default();
        if path.is_empty() {
            return Err(Errno::CONNREFUSED);
        }
        let resolved = self.lookup_bytes(caller, libc::AT_FDCWD, path, true)?;
        let found = resolved.found.ok_or(Errno::NOENT)?;
        if found.place == Place::Host {
            return Err(Errno::ACCESS);
        }
        self.connect_to(&found, socket)
    }
}
