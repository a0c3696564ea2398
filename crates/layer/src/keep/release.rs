//! Removing from a layer what is on the host now.

use super::{
    PROGRESS,
    apply::Host,
    plan::{Journal, Op, state},
    progress::{Progress, State},
    rights::{self, Closed},
};
use crate::{
    change::log_error,
    copy::{self, At, remove_tree, set_mode, with_rights},
    log::{Line, Stamp},
    path::TreePath,
    store::{Error, Layer},
    tree::{MARKS, Node, open_dir},
};
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{AtFlags, FileType, Mode, unlinkat, utimensat},
    io::Errno,
};
use std::collections::{HashMap, HashSet};

/// A file of the host's that was written in place: from what, and how it was before and after.
struct Written<'a> {
    target: &'a TreePath,
    temp: &'a TreePath,
    old: Stamp,
    now: Stamp,
}

impl Layer {
    /// Removes the names that were kept. What is in a directory that stays, and hides the host's, must stay: it is a copy then.
    pub(super) fn release_kept(&mut self, host: &Host, journal: &Journal, step: &mut dyn FnMut()) -> Result<(), Error> {
        let files = self.files.try_clone().map_err(Error::io("open the layer's files"))?;
        let kept: HashSet<&TreePath> = journal.kept.iter().collect();
        let is_covered = |layer: &Self, path: &TreePath| {
            let mut above = path.clone();
            while !above.is_root() {
                above = above.parent();
                if !kept.contains(&above) && layer.tree.dir(&above).is_some_and(|dir| dir.opaque) {
                    return true;
                }
            }
            false
        };
        let (covered, released): (Vec<_>, Vec<_>) = journal.kept.iter().partition(|path| is_covered(self, path));
        let written = self.written(journal)?;
        let mut others = self.others_of_written(host, &files, journal, &written);
        others.retain(|path| !is_covered(self, path));
        let stays = |(path, _): &&Closed| released.binary_search(&path).is_err() && !others.contains(path);
        let stay: Vec<Closed> = journal.closed.iter().filter(stays).cloned().collect();
        // To remove a file takes none to itself; another name of it may stay, and have its mode.
        let is_dir = |(_, mode): &&Closed| FileType::from_raw_mode(*mode) == FileType::Directory;
        rights::take(&files, &journal.closed.iter().filter(is_dir).cloned().collect::<Vec<_>>(), step);
        let fail = |path: &TreePath, error| Error::errno(format!("remove {path} from the layer"))(error);
        // By those that were kept the others are known, also after a death.
        for path in others.iter().chain(released.into_iter().rev()) {
            step();
            self.release(&files, path).map_err(|error| fail(path, error))?;
        }
        // A directory before what is in it: to forget it forgets that, too.
        for path in covered {
            step();
            self.base_on(host, &files, path).map_err(|error| fail(path, error))?;
        }
        self.base_on_written(host, &written)?;
        rights::give_up(&files, &stay, step)
    }

    /// The files of the host's that were written.
    fn written<'a>(&self, journal: &'a Journal) -> Result<Vec<Written<'a>>, Error> {
        let path = self.dir.join(PROGRESS);
        let progress = Progress::open(&path).map_err(Error::io(format!("open {}", path.display())))?;
        let steps = journal.ops.iter().zip(&journal.olds).enumerate();
        let written = |(step, (op, old)): (usize, (&'a Op, &Option<Stamp>))| match (op, old, progress.of(step)) {
            (Op::Rewrite { target, temp, .. }, Some(old), Some(State::Done(now))) => {
                Some(Written { target, temp, old: *old, now })
            }
            _ => None,
        };
        Ok(steps.filter_map(written).collect())
    }

    /// Names that were not chosen of the copies that were written, if they are as on the host: perhaps nobody may read them there any more.
    /// A new name of a copy needs them, to become one of the file; if that may not be read, it becomes none.
    fn others_of_written(&self, host: &Host, files: &OwnedFd, journal: &Journal, written: &[Written<'_>]) -> Vec<TreePath> {
        let staged: HashMap<_, _> = journal.staged.iter().map(|(path, temp)| (temp, path)).collect();
        let stat = |written: &Written<'_>| at(files, staged.get(written.temp)?).stat().ok().filter(|copy| copy.st_nlink > 1);
        let copies: HashMap<u64, &Written<'_>> = written.iter().filter_map(|each| Some((stat(each)?.st_ino, each))).collect();
        let (mut others, mut is_needed) = (Vec::new(), HashSet::new());
        if copies.is_empty() {
            return Vec::new();
        }
        self.tree.each(&TreePath::root(), &mut |path, node| {
            if *node == Node::Leaf
                && let Ok(stat) = at(files, path).stat()
                && let Some(written) = copies.get(&stat.st_ino)
                && journal.kept.binary_search(path).is_err()
            {
                let was = self.log.bases.get(path).copied().flatten();
                let now = state(host.at(path)).ok().flatten();
                if was.is_some_and(|was| was.is_still(&written.old)) && now.is_some_and(|now| written.now.is_still(&now)) {
                    others.push((stat.st_ino, path.clone()));
                } else {
                    is_needed.insert(stat.st_ino);
                }
            }
        });
        let may_not_read = |path: &TreePath| copy::source(host.at(path)).is_err_and(|error| error == Errno::ACCESS);
        others.retain(|(ino, path)| !is_needed.contains(ino) || may_not_read(path));
        others.into_iter().map(|(_, path)| path).collect()
    }

    /// What was written to a file of the host's is no conflict for its other names. What somebody else has written there since is one.
    fn base_on_written(&mut self, host: &Host, written: &[Written<'_>]) -> Result<(), Error> {
        // What `Stamp::is_still` compares.
        let looks = |stamp: &Stamp, ino| Stamp { dev: 0, below: 0, ino, ..*stamp };
        let mut bases: HashMap<Stamp, Vec<(TreePath, Stamp)>> = HashMap::new();
        for (path, base) in self.log.bases.iter().filter_map(|(path, base)| Some((path, (*base)?))) {
            bases.entry(looks(&base, base.ino)).or_default().push((path.clone(), base));
        }
        for Written { target, old, now: written, .. } in written {
            let others = [looks(old, old.ino), looks(old, 0)];
            for (path, base) in others.iter().filter_map(|looks| bases.get(looks)).flatten() {
                if let Ok(Some(now)) = state(host.at(path))
                    && written.is_still(&now)
                {
                    // The log knows the file by the device that it had.
                    let noted = self.log.rebase(path.clone(), Stamp { dev: base.dev, ..*written });
                    noted.map_err(Error::io(format!("note what {target} is on the host")))?;
                }
            }
        }
        Ok(())
    }

    /// Removes a name, without whose help it is as it was on the host now. What is below it is released before.
    fn release(&mut self, files: &OwnedFd, path: &TreePath) -> Result<(), Errno> {
        let parent = path.parent();
        let (dir, at) = (at(files, &parent), at(files, path));
        let remove = || keeping_times(dir, || with_rights(dir, || remove_tree(at)));
        match self.tree.look(path).node {
            Some(Node::Whiteout | Node::Leaf) => {
                if let Ok(stat) = at.stat()
                    && stat.st_nlink <= 1
                {
                    self.log.add(Line::Gone { ino: stat.st_ino }).map_err(log_error)?;
                }
                remove()?;
                self.tree.take(path);
            }
            Some(Node::Dir(dir)) => {
                let (is_empty, is_marked) = (dir.entries.is_empty(), dir.own || dir.opaque);
                let unmark = |mark| match unlinkat(open_dir(at.dir, at.name)?, mark, AtFlags::empty()) {
                    Err(Errno::NOENT) => Ok(()),
                    unlinked => unlinked,
                };
                keeping_times(at, || with_rights(at, || MARKS.into_iter().try_for_each(unmark)))?;
                let stat = at.stat()?;
                if is_empty {
                    self.log.add(Line::Gone { ino: stat.st_ino }).map_err(log_error)?;
                    remove()?;
                    self.tree.take(path);
                } else if let Some(dir) = self.tree.dir_mut(path) {
                    (dir.own, dir.opaque) = (false, false);
                    if is_marked {
                        // As a directory has it that shows the attributes of the one below.
                        set_mode(at, copy::mode(&stat) | Mode::RWXU)?;
                    }
                }
            }
            None => {}
        }
        self.log.add(Line::Forget(path.clone())).map_err(log_error)
    }

    /// Takes what the host has now for what the layer was made over: what the layer has there is the copy of it.
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ between machines")]
    fn base_on(&mut self, host: &Host, files: &OwnedFd, path: &TreePath) -> Result<(), Errno> {
        self.log.add(Line::Forget(path.clone())).map_err(log_error)?;
        if !matches!(self.tree.look(path).node, Some(Node::Leaf | Node::Dir(_))) {
            return Ok(());
        }
        let Some(base) = state(host.at(path))? else { return Ok(()) };
        self.log.add(Line::Base(path.clone(), Some(base))).map_err(log_error)?;
        let ino = at(files, path).stat()?.st_ino;
        self.log.add(Line::Copy { of: (base.dev, base.ino), ino, linked: false }).map_err(log_error)
    }
}

/// Changes names in a directory of the layer, whose times say when a program did: that counts when the rest is kept.
fn keeping_times(dir: At<'_>, act: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
    let before = dir.stat();
    act()?;
    if let Ok(before) = before {
        let _ = utimensat(dir.dir, dir.name, &copy::times(&before), AtFlags::SYMLINK_NOFOLLOW);
    }
    Ok(())
}

fn at<'a>(files: &'a OwnedFd, path: &'a TreePath) -> At<'a> {
    At { dir: files.as_fd(), name: path.relative() }
}
