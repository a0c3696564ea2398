//! Where sockets were bound, until they listen: a server may rename the file in between, and the kernel goes on giving the old name.

use slipway_fabric::sync::{ForkMutex, Forked};
use slipway_transport::endpoint::Endpoint;
use std::{os::fd::RawFd, path::Path};

/// So many sockets are remembered.
const MOST: usize = 64;

/// Oldest first. Where it is taken, a signal handler has interrupted the thread that has it, or another thread binds: that is as if nothing was known.
static BOUND: ForkMutex<Vec<(RawFd, Endpoint)>> = ForkMutex::new(Vec::new());

/// The program has bound `fd` to `path`.
pub fn note(fd: RawFd, path: &Path) {
    let Some(endpoint) = Endpoint::bound(path) else { return };
    if let Some(mut bound) = BOUND.try_lock() {
        bound.retain(|(known, _)| *known != fd);
        if bound.len() == MOST {
            bound.remove(0);
        }
        bound.push((fd, endpoint));
    }
}

/// Of the name to which `fd` is bound: the endpoint, by the file that was there then, as far as that is known.
pub fn by_file(fd: RawFd, name: Endpoint) -> Endpoint {
    let was = |(known, bound): &(RawFd, Endpoint)| (*known == fd && bound.shown() == name.shown()).then(|| bound.clone());
    let find = || BOUND.try_lock()?.iter().find_map(was);
    find().unwrap_or(name)
}

/// In the child of a fork.
pub fn after_fork(child: &Forked) {
    BOUND.after_fork(child);
}
