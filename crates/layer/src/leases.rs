//! Files that other processes have leases on: an open waits until its holder gives it up, or the kernel takes it away.

use crate::{
    copy,
    view::{Found, View},
};
use rustix::{
    fd::OwnedFd,
    fs::{Mode, OFlags, openat},
    io::Errno,
};

impl View {
    /// From now on nothing here waits for another process to give up its lease on a file: what comes to one fails with EAGAIN, has changed
    /// nothing, and can be asked for again when [`Self::awaited`] could be opened.
    pub fn wait_elsewhere(&mut self) {
        self.waits_elsewhere = true;
    }

    /// The file that somebody has a lease on, if there was one: opened with `O_PATH`.
    pub fn awaited(&self) -> Option<OwnedFd> {
        self.awaited.take()
    }

    /// Opens a regular file to read.
    ///
    /// # Errors
    /// Of open; EAGAIN where a lease would have to be waited for elsewhere.
    pub fn open_to_read(&self, found: &Found) -> Result<OwnedFd, Errno> {
        let at = self.at(found.place, &found.path);
        if !self.waits_elsewhere {
            return copy::source(at);
        }
        let open = |how| openat(at.dir, at.name, how | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
        let opened = open(OFlags::RDONLY | OFlags::NONBLOCK);
        if opened.as_ref().err() == Some(&Errno::AGAIN) {
            *self.awaited.borrow_mut() = Some(open(OFlags::PATH)?);
        }
        opened
    }
}
