//! What the server keeps of a process.

use crate::{
    files::{Dir, Opened},
    system::System,
};
use rustix::{fs::Mode, io::Errno};
use slipway_layer::Entry;
use std::sync::{Arc, Mutex};

/// How many kinds of limits there are.
pub(crate) const LIMITS: usize = 16;
/// RLIMIT_NOFILE.
pub(crate) const NOFILE: usize = 7;
/// `struct linux_dirent64` before the name.
const DIRENT: usize = 19;

/// What a descriptor, and its copies, are open on.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) opened: Opened,
    pub(crate) listing: Mutex<Listing>,
}

/// How far a directory was read: what is to come is what was there at the first read.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    entries: Option<Vec<Entry>>,
    next: usize,
}

impl Listing {
    /// Begins anew.
    pub(crate) fn rewind(&mut self) {
        *self = Self::default();
    }

    /// The next entries that fit, as getdents64 has them.
    pub(crate) fn read(&mut self, room: usize, list: impl FnOnce() -> Result<Vec<Entry>, Errno>) -> Result<Vec<u8>, Errno> {
        let entries = match &mut self.entries {
            Some(entries) => entries,
            none => none.insert(list()?),
        };
        let mut bytes = Vec::new();
        while let Some(entry) = entries.get(self.next) {
            let length = (DIRENT + entry.name.len() + 1).next_multiple_of(8);
            if bytes.len() + length > room {
                return if bytes.is_empty() { Err(Errno::INVAL) } else { Ok(bytes) };
            }
            self.next += 1;
            let end = bytes.len() + length;
            bytes.extend(entry.ino.to_ne_bytes());
            bytes.extend((self.next as u64).to_ne_bytes());
            bytes.extend((length as u16).to_ne_bytes());
            // DT_DIR and the others are the bits of the mode that say the type.
            bytes.push((entry.kind.as_raw_mode() >> 12) as u8);
            bytes.extend(&entry.name);
            bytes.resize(end, 0);
        }
        Ok(bytes)
    }
}

/// A process, on which one thread at a time works.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) system: Arc<System>,
    pub(crate) pid: i32,
    pub(crate) cwd: Dir,
    pub(crate) umask: Mode,
    pub(crate) limits: [(u64, u64); LIMITS],
    files: Vec<Option<Arc<OpenFile>>>,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.system.ended(self.pid);
    }
}

impl Process {
    /// The first.
    pub(crate) fn first(system: Arc<System>) -> Self {
        let mut limits = [(u64::MAX, u64::MAX); LIMITS];
        limits[NOFILE] = (system.most_files, system.most_files);
        Self { system, pid: 1, cwd: Dir::default(), umask: Mode::from_raw_mode(0o022), limits, files: Vec::new() }
    }

    /// A copy, with another number.
    pub(crate) fn fork(&self, pid: i32) -> Self {
        Self {
            system: Arc::clone(&self.system),
            pid,
            cwd: Arc::clone(&self.cwd),
            umask: self.umask,
            limits: self.limits,
            files: self.files.clone(),
        }
    }

    /// What a descriptor is open on.
    pub(crate) fn file(&self, fd: i32) -> Result<&Arc<OpenFile>, Errno> {
        usize::try_from(fd).ok().and_then(|fd| self.files.get(fd)?.as_ref()).ok_or(Errno::BADF)
    }

    /// The lowest number that is free.
    ///
    /// # Errors
    /// EMFILE.
    pub(crate) fn free_fd(&self) -> Result<usize, Errno> {
        let free = self.files.iter().position(Option::is_none).unwrap_or(self.files.len());
        if (free as u64) < self.limits[NOFILE].0 { Ok(free) } else { Err(Errno::MFILE) }
    }

    /// Gives what is open a number that is free.
    pub(crate) fn install(&mut self, fd: usize, file: Arc<OpenFile>) -> i32 {
        if self.files.len() <= fd {
            self.files.resize(fd + 1, None);
        }
        self.files[fd] = Some(file);
        fd as i32
    }

    pub(crate) fn close(&mut self, fd: i32) -> Result<(), Errno> {
        let file = usize::try_from(fd).ok().and_then(|fd| self.files.get_mut(fd)?.take()).ok_or(Errno::BADF)?;
        drop(file);
        while self.files.last().is_some_and(Option::is_none) {
            self.files.pop();
        }
        Ok(())
    }
}
