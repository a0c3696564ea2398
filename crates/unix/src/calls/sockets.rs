//! Names of local sockets.

use super::{Answer, Reply, Server};
use crate::{
    sys::{self, by_proc, write_memory},
    tasks::{Caller, read_bytes},
};
use rustix::{
    fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    fs::{Access, AtFlags, Mode, OFlags, accessat, openat},
    io::Errno,
    net::{SocketAddrUnix, bind, connect},
    process::{chdir, fchdir, umask},
};
use slipway_layer::{Found, Place, TreePath};
use std::{cell::Cell, collections::HashMap};

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

/// What programs called their sockets, by what the kernel calls these, and in which order.
///
/// The kernel goes on to call a socket what it was told when this was bound; it is told a name relative to the socket's directory, where the server
/// is at that moment. That is the program's own where this is a mere name, also for accept and recvfrom. Else it is one that no other socket is called by, with
/// dots and slashes before it that lead nowhere else, and short enough whatever the directory is called.
#[derive(Debug, Default)]
pub(crate) struct Bound {
    paths: HashMap<Vec<u8>, (u64, Vec<u8>)>,
    count: u64,
}

impl Bound {
    /// So many are remembered.
    const MOST: usize = 4096;

    /// What the kernel is to be told of a socket that has this name in its directory, and that its program calls by the path. Where nothing is left
    /// that is no other socket's, it is what was told longest ago.
    fn address(&self, name: &[u8], path: &[u8]) -> Vec<u8> {
        let ways = (1..).map(|slashes| [b".", &b"/".repeat(slashes)[..], name].concat());
        let fits = |address: &Vec<u8>| name != path && address.len() <= ADDRESS_MAX as usize - PATH_AT;
        let age = |address: &Vec<u8>| match self.paths.get(address) {
            Some((_, known)) if known == path => 0,
            known => 1 + known.map_or(0, |(number, _)| *number),
        };
        ways.take_while(fits).min_by_key(age).unwrap_or_else(|| name.to_vec())
    }

    fn remember(&mut self, address: Vec<u8>, path: Vec<u8>) {
        if address == path {
            self.paths.remove(&address);
            return;
        }
        self.count += 1;
        self.paths.insert(address, (self.count, path));
        if self.paths.len() > Self::MOST {
            let oldest = self.count - Self::MOST as u64;
            self.paths.retain(|_, (number, _)| *number > oldest);
        }
    }

    /// What a program called a socket, or the one at its other end.
    fn path(&self, socket: &OwnedFd, of_peer: bool) -> Option<&[u8]> {
        let address = kernels_name(socket, of_peer)?;
        let is_local = address.get(..PATH_AT)? == (libc::AF_UNIX as u16).to_ne_bytes();
        let name = address[PATH_AT..].split(|byte| *byte == 0).next().filter(|_| is_local)?;
        self.paths.get(name).map(|(_, path)| path.as_slice())
    }
}

/// getsockname(2) and getpeername(2).
#[allow(unsafe_code, reason = "rustix takes no local address that fills its structure")]
fn kernels_name(socket: &OwnedFd, of_peer: bool) -> Option<Vec<u8>> {
    let mut bytes = vec![0_u8; ANY_ADDRESS_MAX as usize];
    let mut len = bytes.len() as libc::socklen_t;
    let call = if of_peer { libc::getpeername } else { libc::getsockname };
    // SAFETY: writes no more than the length into the bytes.
    let result = unsafe { call(socket.as_raw_fd(), bytes.as_mut_ptr().cast(), &raw mut len) };
    bytes.truncate(len as usize);
    (result == 0).then_some(bytes)
}

fn open_parent(root: BorrowedFd<'_>, path: &TreePath) -> Result<OwnedFd, Errno> {
    openat(root, path.parent().relative(), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

impl Server {
    pub(super) fn bind(&mut self, caller: Caller, fd: i32, address: u64, len: i32) -> Reply {
        let Some(path) = path(caller, address, len)? else { return Ok(Answer::Continue) };
        let socket = self.fetch(caller, fd)?;
        let free = self.free_path(caller, libc::AT_FDCWD, &path, false);
        let free = free.map_err(|error| if error == Errno::EXIST { Errno::ADDRINUSE } else { error })?;
        let mask = self.tasks.umask(caller.pid);
        let (bound, home) = (&mut self.bound, &self.execs.dir);
        self.view.make_with(&free, |root, name| {
            let name = TreePath::literal(name);
            let address = bound.address(name.name(), &path);
            let to = SocketAddrUnix::new(address.as_slice())?;
            // No other thread of the server's uses relative names.
            fchdir(open_parent(root, &name)?)?;
            let old = umask(Mode::from_raw_mode(mask));
            let result = bind(&socket, &to);
            umask(old);
            let _ = chdir(home);
            result.map(|()| bound.remember(address, path))
        })?;
        Ok(Answer::Value(0))
    }

    /// getsockname and getpeername: of a socket that was bound here, what the program called it.
    pub(super) fn socket_name(&self, caller: Caller, fd: i32, address: u64, len: u64, of_peer: bool) -> Reply {
        let socket = if self.bound.paths.is_empty() { None } else { self.fetch(caller, fd).ok() };
        let Some(path) = socket.as_ref().and_then(|socket| self.bound.path(socket, of_peer)) else { return Ok(Answer::Continue) };
        let room = i32::from_ne_bytes(read_bytes(caller.tid, len, 4)?.try_into().map_err(|_| Errno::FAULT)?);
        let room = usize::try_from(room).map_err(|_| Errno::INVAL)?;
        let bytes = [&(libc::AF_UNIX as u16).to_ne_bytes(), path, &[0]].concat();
        write_memory(caller.tid, address, &bytes[..room.min(bytes.len())])?;
        write_memory(caller.tid, len, &(bytes.len() as u32).to_ne_bytes())?;
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
        let actor = Cell::new(self.actor()?);
        Ok(Answer::Later(Box::new(move || {
            // The peer is told whose thread it is. A call that was interrupted is made again.
            actor.take().map_or(Ok(()), |actor| actor.act())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_has_its_own_address() {
        let mut bound = Bound::default();
        assert_eq!(bound.address(b"name", b"name"), b"name");
        let paths: Vec<Vec<u8>> = (0..200).map(|number| format!("{number}/name").into_bytes()).collect();
        for path in &paths {
            let address = bound.address(b"name", path);
            assert!(address.len() <= 108 && address.starts_with(b"./") && address.ends_with(b"/name"));
            bound.remember(address.clone(), path.clone());
            assert_eq!(bound.address(b"name", path), address, "again");
        }
        // One that was forgotten takes the next place of those.
        let known = paths.iter().filter(|path| bound.paths.values().any(|(_, known)| known == *path));
        assert!(known.eq(&paths[200 - 103..]));
    }

    #[test]
    fn long_names_fit_and_old_ones_are_forgotten() {
        let mut bound = Bound::default();
        for (len, expected) in [(108, 108), (107, 107), (106, 108), (105, 107)] {
            assert_eq!(bound.address(&vec![b'n'; len], b"another").len(), expected, "{len}");
        }
        for number in 0..5000 {
            let name = number.to_string().into_bytes();
            bound.remember(bound.address(&name, b"d/name"), b"d/name".to_vec());
        }
        assert_eq!(bound.paths.len(), Bound::MOST);
        assert!(bound.paths.contains_key(&b"./4999"[..]) && !bound.paths.contains_key(&b"./0"[..]));
        // The kernel calls it so itself.
        bound.remember(b"./4999".to_vec(), b"./4999".to_vec());
        assert!(!bound.paths.contains_key(&b"./4999"[..]));
    }
}
