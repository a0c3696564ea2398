//! The steps of a `keep` on the host: staging, putting in place, taking back.

use super::plan::{Attributes, Journal, Op, identity, state};
use crate::{
    copy::{self, At, copy_attributes, copy_linked, file_type, remove_tree, set_mode},
    path::TreePath,
    store::{Error, Layer},
    tree::{Node, OPAQUE, OWN, open_dir},
    view::{Place, View},
};
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Uid, chownat, mkdirat, openat, renameat_with, syncfs, unlinkat},
    io::Errno,
};
use std::{collections::HashMap, path::Path};

/// The host's tree.
pub(super) struct Host {
    root: OwnedFd,
}

impl Host {
    pub(super) fn open(root: &Path) -> Result<Self, Error> {
        let fd = open_dir(rustix::fs::CWD, root.as_os_str().as_encoded_bytes());
        Ok(Self { root: fd.map_err(Error::errno(format!("open {}", root.display())))? })
    }

    fn at<'a>(&'a self, path: &'a TreePath) -> At<'a> {
        At { dir: self.root.as_fd(), name: path.relative() }
    }

    /// Whether the file at a name is the one with this mark.
    fn is(&self, path: &TreePath, mark: u64) -> Result<bool, Errno> {
        Ok(mark != 0 && identity(self.at(path))? == mark)
    }
}

/// Makes all new files beside their places.
pub(super) fn stage(host: &Host, view: &View, journal: &mut Journal, step: &mut dyn FnMut()) -> Result<(), Error> {
    let top = Place::Layer(0);
    let mut links = HashMap::new();
    let fail = |path: &TreePath| Error::errno(format!("prepare {path} on the host; nothing was changed"));
    let mut dirs = Vec::new();
    for (path, temp) in &journal.staged {
        let (from, to) = (view.at(top, path), host.at(temp));
        let stat = from.stat().map_err(fail(path))?;
        step();
        if file_type(&stat) == FileType::Directory {
            mkdirat(to.dir, to.name, Mode::RWXU).map_err(fail(path))?;
            dirs.push((from, to, stat));
        } else {
            copy_linked(from, to, &stat, &mut links).map_err(fail(path))?;
        }
    }
    for (from, to, stat) in dirs.into_iter().rev() {
        step();
        copy_attributes(from, to, &stat).map_err(Error::errno("prepare a directory on the host; nothing was changed"))?;
    }
    for op in &journal.ops {
        let mark = match op {
            Op::Put { temp, .. } => identity(host.at(temp)),
            Op::Remove { target, .. } => identity(host.at(target)),
            Op::Rewrite { target, old, .. } => {
                step();
                let from = host.at(target);
                from.stat().and_then(|stat| copy::copy_one(from, host.at(old), &stat, false)).map(|()| 0)
            }
            Op::Attributes { .. } => Ok(0),
        };
        journal.marks.push(mark.map_err(fail(op.target()))?);
        journal.olds.push(state(host.at(op.target())).map_err(fail(op.target()))?);
    }
    let _ = syncfs(&host.root);
    Ok(())
}

/// Goes through all steps. One that is done already is left.
pub(super) fn commit(host: &Host, journal: &Journal, step: &mut dyn FnMut()) -> Result<(), Error> {
    for (number, (op, mark)) in journal.ops.iter().zip(&journal.marks).enumerate() {
        let fail = |why| Error::errno(format!("change {} on the host{why}", op.target()));
        apply(host, op, *mark, step).map_err(fail(""))?;
        if let (Op::Put { temp, replaces: true, .. } | Op::Remove { temp, .. }, Some(Some(old))) = (op, journal.olds.get(number))
            && !state(host.at(temp)).map_err(fail(""))?.is_some_and(|now| old.is_still(&now))
        {
            return Err(fail(", where it was changed meanwhile")(Errno::AGAIN));
        }
    }
    let _ = syncfs(&host.root);
    Ok(())
}

fn apply(host: &Host, op: &Op, mark: u64, step: &mut dyn FnMut()) -> Result<(), Errno> {
    let rename =
        |from: &TreePath, to: &TreePath, flags| renameat_with(&host.root, from.relative(), &host.root, to.relative(), flags);
    match op {
        Op::Put { target, .. } if host.is(target, mark)? => Ok(()),
        Op::Put { target, temp, replaces } => {
            step();
            rename(temp, target, if *replaces { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE })
        }
        Op::Remove { temp, .. } if host.is(temp, mark)? => Ok(()),
        Op::Remove { target, temp } => {
            step();
            rename(target, temp, RenameFlags::NOREPLACE)
        }
        Op::Rewrite { target, temp, .. } => rewrite(host, temp, target, step),
        Op::Attributes { target, new, .. } => attributes(host, target, new, step),
    }
}

/// Takes back the steps that are done, the last first.
pub(super) fn undo(host: &Host, journal: &Journal, step: &mut dyn FnMut()) -> Result<(), Error> {
    for (op, mark) in journal.ops.iter().zip(&journal.marks).rev() {
        let rename =
            |from: &TreePath, to: &TreePath, flags| renameat_with(&host.root, from.relative(), &host.root, to.relative(), flags);
        let undone = match op {
            Op::Put { target, temp, replaces } => match host.is(target, *mark) {
                Ok(true) => {
                    step();
                    rename(target, temp, if *replaces { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE })
                }
                is => is.map(drop),
            },
            // It may have taken away another file than it was to.
            Op::Remove { target, temp } => match (identity(host.at(temp)), identity(host.at(target))) {
                (Ok(0), _) => Ok(()),
                (Ok(number), Ok(other)) if number != *mark && other != 0 => Ok(()),
                (Ok(_), Ok(_)) => {
                    step();
                    rename(temp, target, RenameFlags::NOREPLACE)
                }
                (number, other) => number.and(other).map(drop),
            },
            Op::Rewrite { target, old, .. } => rewrite(host, old, target, step),
            Op::Attributes { target, old, .. } => attributes(host, target, old, step),
        };
        undone.map_err(Error::errno(format!("put {} back on the host; `slipway unix keep` tries again", op.target())))?;
    }
    Ok(())
}

fn rewrite(host: &Host, from: &TreePath, to: &TreePath, step: &mut dyn FnMut()) -> Result<(), Errno> {
    let (from, to) = (host.at(from), host.at(to));
    let stat = from.stat()?;
    step();
    let source = openat(from.dir, from.name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let target = openat(to.dir, to.name, OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    step();
    copy::copy_contents(&source, &target, stat.st_size.cast_unsigned())?;
    step();
    match copy_attributes(from, to, &stat) {
        // Another user's file that this one may write keeps its attributes.
        Err(Errno::PERM) => Ok(()),
        copied => copied,
    }
}

fn attributes(host: &Host, target: &TreePath, new: &Attributes, step: &mut dyn FnMut()) -> Result<(), Errno> {
    let at = host.at(target);
    let stat = at.stat()?;
    if (stat.st_uid, stat.st_gid) != (new.uid, new.gid) {
        step();
        chownat(at.dir, at.name, Some(Uid::from_raw(new.uid)), Some(Gid::from_raw(new.gid)), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    step();
    set_mode(at, Mode::from_raw_mode(new.mode & 0o7777))
}

/// Removes what is at the plan's own names: new files that are not in place, or old ones that were replaced.
pub(super) fn unstage(host: &Host, journal: &Journal, step: &mut dyn FnMut()) -> Result<(), Error> {
    for temp in journal.ops.iter().flat_map(Op::temporaries) {
        step();
        match remove_tree(host.at(temp)) {
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            removed => removed.map_err(Error::errno(format!("remove {temp}")))?,
        }
    }
    Ok(())
}

impl Layer {
    /// Removes a name from the layer, without whose help it is as it was on the host now. What is below it is released before.
    pub(super) fn release(&mut self, path: &TreePath) -> Result<(), Errno> {
        let files = self.files.try_clone().map_err(|_| Errno::MFILE)?;
        let at = At { dir: files.as_fd(), name: path.relative() };
        match self.tree.look(path).node {
            Some(Node::Whiteout | Node::Leaf) => {
                if let Ok(stat) = at.stat()
                    && stat.st_nlink <= 1
                {
                    self.log.add(crate::log::Line::Gone { ino: stat.st_ino }).map_err(|_| Errno::IO)?;
                }
                remove_tree(at)?;
                self.tree.take(path);
            }
            Some(Node::Dir(dir)) => {
                let is_empty = dir.entries.is_empty();
                for mark in [OPAQUE, OWN] {
                    match unlinkat(open_dir(at.dir, at.name)?, mark, AtFlags::empty()) {
                        Ok(()) | Err(Errno::NOENT) => {}
                        Err(error) => return Err(error),
                    }
                }
                if is_empty {
                    let stat = at.stat()?;
                    self.log.add(crate::log::Line::Gone { ino: stat.st_ino }).map_err(|_| Errno::IO)?;
                    remove_tree(at)?;
                    self.tree.take(path);
                } else if let Some(dir) = self.tree.dir_mut(path) {
                    (dir.own, dir.opaque) = (false, false);
                }
            }
            None => {}
        }
        self.log.add(crate::log::Line::Forget(path.clone())).map_err(|_| Errno::IO)
    }
}
