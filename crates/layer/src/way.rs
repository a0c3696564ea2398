//! Going through trees that may be deeper than there are descriptors, and than a path is long.

use crate::{
    copy::{At, mode, set_mode},
    tree::open_dir,
    view::PATH_MAX,
};
use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::{Mode, OFlags, Stat, fstat, openat},
    io::{Errno, fcntl_dupfd_cloexec},
    process::geteuid,
};

/// So many of the directories above are kept open; those above them are found again by `..`.
const OPEN: usize = 32;

/// A name from a directory on, which may be longer than a call takes.
pub(crate) struct Far<'a> {
    root: BorrowedFd<'a>,
    /// A directory on the way, from which on it is short.
    dir: Option<OwnedFd>,
    name: &'a [u8],
}

impl<'a> Far<'a> {
    /// Goes as far as it must.
    pub(crate) fn of(at: At<'a>) -> Result<Self, Errno> {
        /// The descriptor's own name in /proc may come before it.
        const MOST: usize = PATH_MAX - 32;
        let mut far = Self { root: at.dir, dir: None, name: at.name };
        while far.name.len() >= MOST {
            let end = far.name[..MOST].iter().rposition(|byte| *byte == b'/').ok_or(Errno::NAMETOOLONG)?;
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            far.dir = Some(openat(far.at().dir, &far.name[..end], flags, Mode::empty())?);
            far.name = &far.name[end + 1..];
        }
        Ok(far)
    }

    pub(crate) fn at(&self) -> At<'_> {
        At { dir: self.dir.as_ref().map_or(self.root, AsFd::as_fd), name: self.name }
    }
}

/// The way from a directory down to one in it.
pub(crate) struct Way {
    here: OwnedFd,
    stat: Stat,
    above: Vec<(Option<OwnedFd>, Stat)>,
}

impl Way {
    /// Begins in this directory.
    pub(crate) fn from(dir: impl AsFd) -> Result<Self, Errno> {
        let here = fcntl_dupfd_cloexec(dir, 0)?;
        Ok(Self { stat: fstat(&here)?, here, above: Vec::new() })
    }

    /// The directory that it leads to.
    pub(crate) fn here(&self) -> BorrowedFd<'_> {
        self.here.as_fd()
    }

    /// What it is.
    pub(crate) fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Acts in a directory that is here, to which its owner may have given up the rights; they are given up again then.
    ///
    /// # Errors
    /// Of `act`, open and chmod; ESTALE where the directory was moved meanwhile.
    pub(crate) fn within<T>(&mut self, name: &[u8], act: impl FnOnce(&mut Self) -> Result<T, Errno>) -> Result<T, Errno> {
        let was = self.enter(name)?;
        let done = act(self);
        self.leave()?;
        was.map_or(Ok(()), |was| set_mode(At { dir: self.here(), name }, was))?;
        done
    }

    /// Its mode, if that was changed.
    fn enter(&mut self, name: &[u8]) -> Result<Option<Mode>, Errno> {
        let at = At { dir: self.here(), name };
        let (dir, stat) = match open_dir(at.dir, name) {
            Err(Errno::ACCESS) => (None, at.stat()?),
            dir => dir.and_then(|dir| fstat(&dir).map(|stat| (Some(dir), stat)))?,
        };
        let was = mode(&stat);
        let is_closed = dir.is_none() || !was.contains(Mode::RUSR | Mode::XUSR) && !geteuid().is_root();
        let taken = if is_closed { set_mode(at, was | Mode::RWXU) } else { Ok(()) };
        let dir = match dir {
            Some(dir) => dir,
            None => taken.and_then(|()| open_dir(at.dir, name))?,
        };
        let above = (Some(std::mem::replace(&mut self.here, dir)), std::mem::replace(&mut self.stat, stat));
        self.above.push(above);
        // The first may be several names above.
        if let Some(far) = self.above.len().checked_sub(OPEN + 1).filter(|far| *far > 0) {
            self.above[far].0 = None;
        }
        Ok((is_closed && taken.is_ok()).then_some(was))
    }

    fn leave(&mut self) -> Result<(), Errno> {
        let (dir, stat) = self.above.pop().ok_or(Errno::INVAL)?;
        let dir = match dir {
            Some(dir) => dir,
            None => {
                let dir = open_dir(&self.here, b"..")?;
                let found = fstat(&dir)?;
                if (found.st_dev, found.st_ino) != (stat.st_dev, stat.st_ino) {
                    return Err(Errno::STALE);
                }
                dir
            }
        };
        (self.here, self.stat) = (dir, stat);
        Ok(())
    }
}
