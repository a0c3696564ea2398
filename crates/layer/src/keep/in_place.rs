//! Steps that change a file or a directory where it is. They can be half done, and somebody else can do the same.

use super::{
    apply::Steps,
    plan::{Attributes, state},
    progress::State,
    rights::{has_mode, open_mode},
};
use crate::{
    change::log_error,
    copies::{SET_GROUP_ID, has_lost_group, time},
    copy::{self, At, Xattrs, mode, set_mode, with_rights},
    diff::read_full,
    log::Stamp,
    path::TreePath,
};
use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, Gid, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_NOW, Uid, chownat, fstat, ftruncate, futimens, openat},
    io::Errno,
    process::geteuid,
};

/// Nobody waits at a FIFO that a file has become.
const AS_IT_IS: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

const NOW: Timestamps = {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    Timestamps { last_access: now, last_modification: now }
};

fn open_to_read(at: At<'_>) -> Result<OwnedFd, Errno> {
    openat(at.dir, at.name, OFlags::RDONLY | AS_IT_IS, Mode::empty())
}

fn open_to_write(at: At<'_>) -> Result<OwnedFd, Errno> {
    openat(at.dir, at.name, OFlags::WRONLY | AS_IT_IS, Mode::empty())
}

/// Whether a file can be written: it may be a program that runs.
pub(super) fn may_write(at: At<'_>, stat: &Stat) -> Result<(), Errno> {
    match open_to_write(at) {
        // Its owner can take the right.
        Err(Errno::ACCESS) if stat.st_uid == geteuid().as_raw() => Ok(()),
        opened => opened.map(drop),
    }
}

impl Steps<'_> {
    /// What the step found when all was prepared, if that was noted.
    fn old(&self, step: usize) -> Option<Stamp> {
        self.journal.olds.get(step).copied().flatten()
    }

    fn progress_of(&self, step: usize) -> Option<State> {
        // Of an older journal it is not known.
        self.progress.of(step).or((self.journal.version == 0).then_some(State::Writing))
    }

    /// Writes over the target.
    ///
    /// # Errors
    /// EAGAIN if somebody else changed it, and those of the calls.
    pub(super) fn rewrite(&mut self, step: usize, target: &TreePath, [new, old]: [&TreePath; 2]) -> Result<(), Errno> {
        let progress = self.progress_of(step);
        let before = match progress {
            Some(State::Done(_)) => return Ok(()),
            Some(State::Undone(before)) => Some(before),
            Some(State::Writing) | None => self.old(step),
        };
        let now = state(self.host.at(target))?;
        let is_untouched = before.is_none_or(|before| now.is_some_and(|now| before.is_still(&now)));
        let is_ours = is_untouched || progress == Some(State::Writing) && self.is_half_written(step, target, [new, old])?;
        if !is_ours {
            return Err(Errno::AGAIN);
        }
        self.progress.note(step, State::Writing).map_err(log_error)?;
        let (from, to, xattrs) = self.open_both(step, new, target).inspect_err(|_| {
            if let (true, Some(now)) = (is_untouched, now) {
                // It has not begun, and need not be undone.
                let _ = self.progress.note(step, State::Undone(now));
            }
        })?;
        let written = self.overwrite((new, &from), (target, &to), xattrs)?;
        self.progress.note(step, State::Done(written)).map_err(log_error)
    }

    /// Writes what was there over the target, unless the step has not begun, or somebody else changed the file since.
    pub(super) fn undo_rewrite(&mut self, step: usize, target: &TreePath, [new, old]: [&TreePath; 2]) -> Result<(), Errno> {
        let Some(now) = state(self.host.at(target))? else { return Ok(()) };
        let is_ours = match self.progress_of(step) {
            None | Some(State::Undone(_)) => false,
            Some(State::Done(stamp)) => stamp.is_still(&now),
            // Where only attributes are written, it may look as before.
            Some(State::Writing) => self.is_half_written(step, target, [new, old])?,
        };
        if !is_ours {
            return Ok(());
        }
        // The file matters more than that this is known after a death.
        let _ = self.progress.note(step, State::Writing);
        let (from, to, xattrs) = self.open_both(step, old, target)?;
        let written = self.overwrite((old, &from), (target, &to), xattrs)?;
        let _ = self.progress.note(step, State::Undone(written));
        Ok(())
    }

    /// Whether it is the file of the step, and has the beginning of one of these, as one that was being written has.
    fn is_half_written(&self, step: usize, target: &TreePath, sources: [&TreePath; 2]) -> Result<bool, Errno> {
        let is_same = state(self.host.at(target))?.is_some_and(|now| self.is_same(step, now.ino));
        if !is_same {
            return Ok(false);
        }
        // The owner may have given up the right, as the last of the step.
        let open = |at: At<'_>| with_rights(at, || open_to_read(at));
        let written = open(self.host.at(target))?;
        sources
            .iter()
            .try_fold(false, |is_known, source| Ok(is_known || is_beginning(&written, &open(self.host.beside(source)?.at())?)?))
    }

    fn is_same(&self, step: usize, ino: u64) -> bool {
        self.old(step).is_none_or(|old| old.ino == ino)
    }

    /// Opens the file that is copied and the one that is written, if that is still the same; the former's extended attributes.
    fn open_both(&self, step: usize, from: &TreePath, to: &TreePath) -> Result<(OwnedFd, OwnedFd, Xattrs), Errno> {
        let (from, to) = (self.host.beside(from)?, self.host.at(to));
        // Its owner may have given up the rights, which attributes take, too.
        let (source, xattrs) = with_rights(from.at(), || Ok((open_to_read(from.at())?, copy::xattrs(from.at()))))?;
        let target = with_rights(to, || open_to_write(to))?;
        if self.is_same(step, fstat(&target)?.st_ino) { Ok((source, target, xattrs)) } else { Err(Errno::AGAIN) }
    }

    /// Copies contents and attributes: how the file is then.
    fn overwrite(
        &mut self,
        (from, source): (&TreePath, &OwnedFd),
        (to, target): (&TreePath, &OwnedFd),
        xattrs: Xattrs,
    ) -> Result<Stamp, Errno> {
        let (mut stat, before) = (fstat(source)?, fstat(target)?);
        if has_lost_group(stat.st_gid, before.st_gid) {
            stat.st_gid = before.st_gid;
            stat.st_mode |= before.st_mode & SET_GROUP_ID;
        }
        let (from, to) = (self.host.beside(from)?, self.host.at(to));
        // Who reads it meanwhile finds it whole then.
        let is_alike = stat.st_size == before.st_size
            && open_to_read(to).is_ok_and(|written| {
                fstat(&written).is_ok_and(|now| now.st_ino == before.st_ino) && is_beginning(&written, source) == Ok(true)
            });
        (self.step)();
        if !is_alike {
            ftruncate(target, 0)?;
            (self.step)();
            copy::copy_contents(source, target, stat.st_size.cast_unsigned())?;
            (self.step)();
        }
        copy::remove_other_xattrs(from.at(), to);
        match copy::give_attributes(to, &stat, xattrs) {
            // Another user's file that this one may write keeps its attributes, and its time is that of now.
            Err(Errno::PERM) if is_alike && time(&stat) != time(&before) => futimens(target, &NOW)?,
            Ok(()) | Err(Errno::PERM) => {}
            Err(error) => return Err(error),
        }
        Ok(Stamp::new(&fstat(target)?, true))
    }

    /// Gives a directory other attributes.
    ///
    /// # Errors
    /// EAGAIN if somebody else changed them, or the directory is another one; those of the calls.
    pub(super) fn attributes(&mut self, step: usize, target: &TreePath, sets: [&Attributes; 2]) -> Result<(), Errno> {
        let stat = self.host.at(target).stat()?;
        if !self.is_between(step, &stat, sets) {
            return Err(Errno::AGAIN);
        }
        self.set_attributes(target, &stat, sets[1])
    }

    /// Gives them back, unless the directory is gone or somebody else changed them.
    pub(super) fn undo_attributes(&mut self, step: usize, target: &TreePath, sets: [&Attributes; 2]) -> Result<(), Errno> {
        match self.host.at(target).stat() {
            Ok(stat) if self.is_between(step, &stat, sets) => self.set_attributes(target, &stat, sets[0]),
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether it is the directory of the step, and each of its attributes is as before the step or after it.
    fn is_between(&self, step: usize, stat: &Stat, sets: [&Attributes; 2]) -> bool {
        self.old(step).is_none_or(|old| old.ino == stat.st_ino && old.mode >> 12 == stat.st_mode >> 12)
            && sets.iter().any(|set| (set.uid, set.gid) == (stat.st_uid, stat.st_gid))
            && sets.iter().any(|set| has_mode(stat, set.mode))
    }

    fn set_attributes(&mut self, target: &TreePath, stat: &Stat, set: &Attributes) -> Result<(), Errno> {
        let at = self.host.at(target);
        if (stat.st_uid, stat.st_gid) != (set.uid, set.gid) {
            (self.step)();
            chownat(at.dir, at.name, Some(Uid::from_raw(set.uid)), Some(Gid::from_raw(set.gid)), AtFlags::SYMLINK_NOFOLLOW)?;
        }
        // What is left to do, and what may be undone, needs the rights.
        let new = open_mode(set);
        if mode(stat) == new {
            return Ok(());
        }
        (self.step)();
        set_mode(at, new)
    }
}

fn is_beginning(part: &OwnedFd, whole: &OwnedFd) -> Result<bool, Errno> {
    let (mut one, mut two) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut at = 0;
    loop {
        let count = read_full(part, &mut one, at)?;
        if read_full(whole, &mut two, at)? < count || one[..count] != two[..count] {
            return Ok(false);
        }
        if count < one.len() {
            return Ok(true);
        }
        at += count as u64;
    }
}
