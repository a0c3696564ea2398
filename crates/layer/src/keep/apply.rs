//! The steps of a `keep` on the host: staging, putting in place, taking back.

use super::{
    in_place::may_write,
    plan::{Attributes, Journal, Op, Timed, identity, state},
    progress::Progress,
};
use crate::{
    copies::time,
    copy::{self, At, copy_attributes, copy_linked, file_type, remove_tree, with_rights},
    log::Stamp,
    path::TreePath,
    store::Error,
    tree::open_dir,
    view::{Place, View},
    way::Far,
};
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{
        Access, AtFlags, FileType, Mode, RenameFlags, Stat, Timespec, Timestamps, UTIME_OMIT, accessat, linkat, mkdirat,
        renameat_with, syncfs, unlinkat, utimensat,
    },
    io::Errno,
    process::geteuid,
};
use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

/// The host's tree.
pub(super) struct Host {
    pub(super) root: OwnedFd,
}

impl Host {
    pub(super) fn open(root: &Path) -> Result<Self, Error> {
        let fd = open_dir(rustix::fs::CWD, root.as_os_str().as_encoded_bytes());
        Ok(Self { root: fd.map_err(Error::errno(format!("open {}", root.display())))? })
    }

    pub(super) fn at<'a>(&'a self, path: &'a TreePath) -> At<'a> {
        At { dir: self.root.as_fd(), name: path.relative() }
    }

    /// A name beside a target, or below one: that may be too long for a path.
    pub(super) fn beside<'a>(&'a self, temp: &'a TreePath) -> Result<Far<'a>, Errno> {
        Far::of(self.at(temp))
    }

    /// Whether the file at a name is the one with this mark.
    fn is(&self, path: &TreePath, mark: u64) -> Result<bool, Errno> {
        Ok(mark != 0 && identity(self.beside(path)?.at())? == mark)
    }

    fn rename(&self, from: &TreePath, to: &TreePath, flags: RenameFlags) -> Result<(), Errno> {
        let (from, to) = (self.beside(from)?, self.beside(to)?);
        renameat_with(from.at().dir, from.at().name, to.at().dir, to.at().name, flags)
    }
}

/// What was prepared.
pub(super) struct Made {
    /// Names that were made, or begun.
    pub(super) names: Vec<TreePath>,
    /// The times of directories in which they are (seconds, ns), as the last of them left them.
    times: HashMap<TreePath, (i64, i64)>,
}

impl Made {
    /// Nothing is yet.
    pub(super) fn new(journal: &Journal) -> Self {
        let dirs = journal.passed.iter().chain(&journal.changing);
        Self { names: Vec::new(), times: dirs.map(|(dir, _, time)| (dir.clone(), *time)).collect() }
    }

    fn note_time(&mut self, host: &Host, dir: &TreePath) {
        if let Some(at) = self.times.get_mut(dir)
            && let Ok(stat) = host.at(dir).stat()
        {
            *at = time(&stat);
        }
    }

    /// The directories, as they were before, in which nobody else has changed names meanwhile.
    pub(super) fn dirs<'a>(&self, host: &Host, journal: &'a Journal) -> Vec<&'a Timed> {
        let is_left = |dir: &TreePath| host.at(dir).stat().is_ok_and(|stat| self.times.get(dir) == Some(&time(&stat)));
        journal.passed.iter().chain(&journal.changing).filter(|(dir, ..)| is_left(dir)).collect()
    }
}

/// Makes all new files beside their places.
pub(super) fn stage(
    host: &Host,
    view: &View,
    journal: &mut Journal,
    made: &mut Made,
    step: &mut dyn FnMut(),
) -> Result<(), Error> {
    let top = Place::Layer(0);
    let mut links: HashMap<(u64, u64), &TreePath> = HashMap::new();
    let fail = |path: &TreePath| Error::errno(format!("prepare {path} on the host; nothing was changed"));
    let mut make = |temp: &TreePath, make: &mut dyn FnMut() -> Result<(), Errno>| {
        let done = make();
        if done != Err(Errno::EXIST) {
            made.names.push(temp.clone());
        }
        made.note_time(host, &temp.parent());
        done
    };
    let is_copy = |stat: &Stat| view.top().is_some_and(|top| top.log.copies.contains_key(&stat.st_ino));
    let mut dirs = Vec::new();
    let modes: HashMap<_, _> = journal.closed.iter().map(|(path, mode)| (path, *mode)).collect();
    for (path, temp) in &journal.staged {
        let from = view.at(top, path);
        let shown = journal.shown(path, temp);
        let mut stat = from.stat().map_err(fail(shown))?;
        // Its rights are taken for now.
        stat.st_mode = modes.get(path).copied().unwrap_or(stat.st_mode);
        step();
        if file_type(&stat) == FileType::Directory {
            let made = host.beside(temp).and_then(|to| {
                make(temp, &mut || mkdirat(to.at().dir, to.at().name, Mode::RWXU))?;
                // Also for what is made in it, which would get them, too.
                copy::remove_given_rights(from, to.at(), is_copy(&stat))
            });
            made.map_err(fail(shown))?;
            dirs.push((path, temp, stat));
        } else if let Some(name) = journal.links.get(temp)
            && host
                .beside(temp)
                .and_then(|to| make(temp, &mut || link(host.at(name), to.at(), journal.expected.get(name))))
                .is_ok()
        {
            // It is one of the host's file; where that can't have it, it is one of a copy.
        } else {
            let linked = copy::identity_of_linked(&stat);
            let copied = linked.and_then(|linked| links.get(&linked)).map(|copied| host.beside(copied)).transpose();
            let made = copied.and_then(|copied| {
                let (to, copied) = (host.beside(temp)?, copied.as_ref().map(Far::at));
                make(temp, &mut || copy_linked(from, to.at(), &stat, is_copy(&stat), || copy::source(from), copied))
            });
            made.map_err(fail(shown))?;
            linked.and_then(|linked| links.insert(linked, temp));
        }
    }
    for (path, temp, stat) in dirs.into_iter().rev() {
        step();
        let given = host.beside(temp).and_then(|to| copy_attributes(view.at(top, path), to.at(), &stat));
        given.map_err(fail(path))?;
    }
    let staged: HashMap<_, _> = journal.staged.iter().map(|(path, temp)| (temp, path)).collect();
    for op in &journal.ops {
        let at = host.at(op.target());
        let mark = match op {
            Op::Put { temp, replaces, .. } => {
                if *replaces { may_remove(at) } else { Ok(()) }.and_then(|()| identity(host.beside(temp)?.at()))
            }
            Op::Remove { .. } => may_remove(at).and_then(|()| identity(at)),
            Op::Rewrite { temp, old, .. } => {
                step();
                let stat = at.stat().map_err(fail(op.target()))?;
                let copied = host.beside(old).and_then(|old_at| {
                    make(old, &mut || copy::copy_one(at, old_at.at(), &stat, true, || copy::source(at).map(Some)))
                });
                let given = copied.and_then(|()| {
                    let Some(path) = staged.get(temp) else { return Ok(()) };
                    copy::give_unknown_xattrs(at, view.at(top, path), host.beside(temp)?.at())
                });
                given.and_then(|()| may_write(at, &stat)).map(|()| 0)
            }
            Op::Attributes { .. } => Ok(0),
        };
        journal.marks.push(mark.map_err(fail(op.target()))?);
        journal.olds.push(state(at).map_err(fail(op.target()))?);
    }
    let _ = syncfs(&host.root);
    Ok(())
}

/// Makes a link to the file that was there when it was planned.
fn link(from: At<'_>, to: At<'_>, expected: Option<&Stamp>) -> Result<(), Errno> {
    linkat(from.dir, from.name, to.dir, to.name, AtFlags::empty())?;
    if state(to)?.as_ref() == expected {
        return Ok(());
    }
    unlinkat(to.dir, to.name, AtFlags::empty())?;
    Err(Errno::AGAIN)
}

/// Whether this user can remove what is there with all that is in it, as far as that can be told: directories of other users may be in it.
fn may_remove(at: At<'_>) -> Result<(), Errno> {
    const STICKY: u32 = 0o1000;
    let (user, stat) = match at.stat() {
        // Then it is a conflict.
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
        stat => (geteuid(), stat?),
    };
    if user.is_root() || file_type(&stat) != FileType::Directory {
        return Ok(());
    }
    let is_own = stat.st_uid == user.as_raw();
    let dir = match open_dir(at.dir, at.name) {
        // Its owner may take the rights back.
        Err(Errno::ACCESS) if is_own => return Ok(()),
        dir => dir?,
    };
    let names = copy::names(&dir)?;
    if !is_own && !names.is_empty() {
        accessat(&dir, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)?;
    }
    names.iter().try_for_each(|name| {
        let below = At { dir: dir.as_fd(), name };
        if !is_own && stat.st_mode & STICKY != 0 && below.stat()?.st_uid != user.as_raw() {
            return Err(Errno::PERM);
        }
        may_remove(below)
    })
}

/// The steps that change names and files of the host, and how far they have come.
pub(super) struct Steps<'a> {
    pub(super) host: &'a Host,
    pub(super) journal: &'a Journal,
    pub(super) progress: Progress,
    /// Device and number of the files that steps write over.
    pub(super) rewritten: HashSet<(u64, u64)>,
    /// Called before each call that changes something.
    pub(super) step: &'a mut dyn FnMut(),
}

impl Steps<'_> {
    /// Goes through all of them. One that is done already is left.
    pub(super) fn commit(&mut self) -> Result<(), Error> {
        for (number, (op, mark)) in self.journal.ops.iter().zip(&self.journal.marks).enumerate() {
            self.apply(number, op, *mark).map_err(|error| {
                let why = if error == Errno::AGAIN { ", where it was changed meanwhile" } else { "" };
                Error::errno(format!("change {} on the host{why}", op.target()))(error)
            })?;
        }
        let _ = syncfs(&self.host.root);
        // What was written is told from later edits by it.
        let _ = self.progress.sync();
        Ok(())
    }

    fn apply(&mut self, number: usize, op: &Op, mark: u64) -> Result<(), Errno> {
        let (host, old) = (self.host, self.journal.olds.get(number).copied().flatten());
        match op {
            Op::Put { target, .. } if host.is(target, mark)? => {}
            // Somebody has put another file there since.
            Op::Put { temp, replaces: true, .. } if host.is(temp, old.map_or(0, |old| old.ino))? => {}
            Op::Put { target, temp, replaces } => {
                (self.step)();
                host.rename(temp, target, if *replaces { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE })?;
            }
            Op::Remove { temp, .. } if host.is(temp, mark)? => {}
            Op::Remove { target, temp } => {
                (self.step)();
                host.rename(target, temp, RenameFlags::NOREPLACE)?;
            }
            Op::Rewrite { target, temp, old } => return self.rewrite(number, target, [temp, old]),
            Op::Attributes { target, new, old } => return self.attributes(number, target, [old, new]),
        }
        let (Op::Put { temp, replaces: true, .. } | Op::Remove { temp, .. }, Some(old)) = (op, old) else { return Ok(()) };
        let is_as_it_was = match state(host.beside(temp)?.at())? {
            // A step that writes over it by another name looks at the rest.
            Some(now) if self.rewritten.contains(&(old.dev, old.ino)) => now.ino == old.ino,
            now => now.is_some_and(|now| old.is_still(&now)),
        };
        if is_as_it_was { Ok(()) } else { Err(Errno::AGAIN) }
    }

    /// Takes back the steps that are done, the last first, as many as can be.
    ///
    /// # Errors
    /// Of the first that can't.
    pub(super) fn undo(&mut self) -> Result<(), Error> {
        let mut all = Ok(());
        for (number, (op, mark)) in self.journal.ops.iter().zip(&self.journal.marks).enumerate().rev() {
            if let Err(error) = self.undo_one(number, op, *mark)
                && all.is_ok()
            {
                let what = format!("put {} back on the host; `slipway unix keep` tries again", op.target());
                all = Err(Error::errno(what)(error));
            }
        }
        all
    }

    fn undo_one(&mut self, number: usize, op: &Op, mark: u64) -> Result<(), Errno> {
        let host = self.host;
        match op {
            Op::Put { target, temp, replaces } if host.is(target, mark)? => {
                (self.step)();
                host.rename(target, temp, if *replaces { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE })
            }
            Op::Put { .. } => Ok(()),
            // It may have taken away another file than it was to.
            Op::Remove { target, temp } => match (identity(host.beside(temp)?.at())?, identity(host.at(target))?) {
                (0, _) => Ok(()),
                (number, other) if number != mark && other != 0 => Ok(()),
                _ => {
                    (self.step)();
                    host.rename(temp, target, RenameFlags::NOREPLACE)
                }
            },
            Op::Rewrite { target, temp, old } => self.undo_rewrite(number, target, [temp, old]),
            Op::Attributes { target, new, old } => self.undo_attributes(number, target, [old, new]),
        }
    }
}

/// Removes what is at the plan's own names: new files that are not in place, or old ones that were replaced.
pub(super) fn unstage<'a>(host: &Host, names: impl Iterator<Item = &'a TreePath>, step: &mut dyn FnMut()) -> Result<(), Error> {
    for name in names {
        step();
        let dir = name.parent();
        let removed =
            host.beside(&dir).and_then(|dir| with_rights(dir.at(), || host.beside(name).and_then(|name| remove_tree(name.at()))));
        match removed {
            // Its directory may have gone.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            removed => removed.map_err(Error::errno(format!("remove {name}")))?,
        }
    }
    Ok(())
}

/// Gives a directory a time, if it is the one that is meant.
fn set_time(host: &Host, dir: &TreePath, time: (i64, i64), is_it: impl FnOnce(&Stat) -> bool, step: &mut dyn FnMut()) {
    let at = host.at(dir);
    if at.stat().is_ok_and(|stat| is_it(&stat)) {
        let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        let last_modification = Timespec { tv_sec: time.0, tv_nsec: time.1 };
        step();
        let _ = utimensat(at.dir, at.name, &Timestamps { last_access, last_modification }, AtFlags::SYMLINK_NOFOLLOW);
    }
}

/// Gives directories in which names came and went their times again, where nothing came of it.
pub(super) fn set_times_back(host: &Host, dirs: &[&Timed], step: &mut dyn FnMut()) {
    for (dir, ino, old) in dirs {
        set_time(host, dir, *old, |stat| stat.st_ino == *ino, step);
    }
}

/// Gives directories the times that were set: what was put or removed in them has changed those. Those whose names are the same ones have theirs
/// again, or, where they were changed and are as before, the time of that, unless they have a later one. Another user's keep theirs.
pub(super) fn set_times(host: &Host, journal: &Journal, step: &mut dyn FnMut()) {
    for (dir, ino, old) in &journal.passed {
        set_time(host, dir, *old, |stat| stat.st_ino == *ino, step);
    }
    for (dir, ino, new) in &journal.touched {
        set_time(host, dir, *new, |stat| stat.st_ino == *ino && time(stat) < *new, step);
    }
    for (op, old) in journal.ops.iter().zip(&journal.olds) {
        if let Op::Attributes { target, new: Attributes { time: Some(new), .. }, .. } = op {
            set_time(host, target, *new, |stat| old.is_some_and(|old| old.ino == stat.st_ino), step);
        }
    }
}
