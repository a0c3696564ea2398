//! Making layers' directories and taking them away, whatever is killed: what has a layer's name is a whole layer.
//!
//! One is made as `.new`, by one process at a time, and gets its name when it is whole. One that goes becomes `.gone-N` first, which its
//! lock belongs to until it is empty. What was left by a process that was killed, the next one removes. Older versions left directories
//! with a layer's name that lack `about.json`.

use crate::{
    copy::{self, At, remove_tree},
    store::{Error, Store},
    tree::open_dir,
};
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, flock, open, openat, unlinkat},
    io::Errno,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The layer that is being made.
const NEW: &str = ".new";
/// Those that are being removed.
const GONE: &str = ".gone-";

impl Store {
    /// Waits until no other process makes a layer; none does before this is closed.
    pub(crate) fn lock(&self) -> Result<OwnedFd, Error> {
        let path = self.dir.join(".lock");
        let fail = || Error::errno(format!("lock {}", path.display()));
        let lock = open(&path, OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR).map_err(fail())?;
        rustix::io::retry_on_intr(|| flock(&lock, FlockOperation::LockExclusive)).map_err(fail())?;
        Ok(lock)
    }

    /// Has a layer made by `fill`, beside its place and then there, where no other may be. Needs the lock.
    pub(crate) fn put(&self, name: &str, fill: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), Error> {
        let (new, dir) = (self.dir.join(NEW), self.dir.join(name));
        let fail = || Error::errno(format!("remove {}", new.display()));
        let store = open_dir(CWD, self.dir.as_os_str().as_encoded_bytes()).map_err(fail())?;
        let clear = || remove_tree(At { dir: store.as_fd(), name: NEW.as_bytes() });
        clear().map_err(fail())?;
        self.take_remains(name)?;
        let put = fill(&new).and_then(|()| fs::rename(&new, &dir));
        put.map_err(|error| {
            let _ = clear();
            match Errno::from_io_error(&error) {
                Some(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Error::Exists(name.to_owned()),
                _ => Error::io(format!("make {}", dir.display()))(error),
            }
        })
    }

    /// Takes away what has a layer's name and is none any more: whether there was something. Needs the lock.
    pub(crate) fn take_remains(&self, name: &str) -> Result<bool, Error> {
        let dir = self.dir.join(name);
        let has = |part: &str| dir.join(part).exists();
        // Without a lock nobody can have it open; an older version that is just making one loses it.
        if has("about.json") || !["files", "work", "lock", "log", "reads.json"].into_iter().any(has) || !is_free(&dir) {
            return Ok(false);
        }
        self.retire(&dir).map(|_| true)
    }

    /// Takes its name from a layer's directory: where it is then.
    pub(crate) fn retire(&self, dir: &Path) -> Result<PathBuf, Error> {
        let mut number = 1;
        loop {
            let gone = self.dir.join(format!("{GONE}{number}"));
            match fs::rename(dir, &gone).map_err(|error| (Errno::from_io_error(&error), error)) {
                // Another one that goes, or did before its process was killed.
                Err((Some(Errno::NOTEMPTY | Errno::EXIST), _)) => number += 1,
                Err((_, error)) => return Err(Error::io(format!("remove {}", dir.display()))(error)),
                Ok(()) => return Ok(gone),
            }
        }
    }

    /// Removes what is left of layers whose removal was killed. What can't be removed is tried again the next time.
    pub(crate) fn sweep(&self) {
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(GONE.as_bytes()) {
                let _ = clear_if_free(&entry.path());
            }
        }
    }
}

/// Whether nobody has the layer there open. Where it has no lock, nobody can.
fn is_free(dir: &Path) -> bool {
    open_dir(CWD, dir.as_os_str().as_encoded_bytes())
        .is_ok_and(|dir| !matches!(lock_of(&dir), Err(error) if error != Errno::NOENT))
}

/// The lock of a layer, which nobody has.
fn lock_of(dir: &OwnedFd) -> Result<OwnedFd, Errno> {
    let lock = openat(dir, "lock", OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    Ok(lock)
}

fn clear_if_free(gone: &Path) -> Result<(), Errno> {
    let dir = open_dir(CWD, gone.as_os_str().as_encoded_bytes())?;
    // Another one may get its name as soon as it is empty.
    match lock_of(&dir) {
        Err(error) if error != Errno::NOENT => Err(error),
        _lock => clear(&dir, gone),
    }
}

/// Removes a layer's directory that has no layer's name any more, and whose lock is held.
pub(crate) fn clear(dir: &OwnedFd, gone: &Path) -> Result<(), Errno> {
    let names = copy::names(dir)?;
    // The lock is the last, so that nobody else removes it meanwhile.
    names.iter().filter(|name| *name != b"lock").try_for_each(|name| remove_tree(At { dir: dir.as_fd(), name }))?;
    for (dir, name, flags) in
        [(dir.as_fd(), b"lock".as_slice(), AtFlags::empty()), (CWD, gone.as_os_str().as_encoded_bytes(), AtFlags::REMOVEDIR)]
    {
        match unlinkat(dir, name, flags) {
            // Somebody found it empty, and removed it; or gave its name to another one that goes.
            Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => {}
            removed => removed?,
        }
    }
    Ok(())
}
