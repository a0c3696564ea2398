//! Changes of the tree: each is made in the topmost layer, or on the host where the rules say so.
//!
//! Paths are names that [`View::resolve`] gave: their directories exist. Each change is one step of the host that can be seen; a rename
//! that hides a name below is two, and the log says so between them.

use crate::{
    changes::Scaffold,
    copy::{self, At, RIGHTS, copy_attributes, file_type, move_dirs, remove_tree, set_mode, with_rights},
    log::{Line, Stamp},
    path::TreePath,
    shared::is_linked,
    tree::{Dir, MARKS, Node, OWN, is_mark, open_dir},
    view::{Found, Place, View},
    way::Way,
};
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{
        self, Access, AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, XattrFlags, accessat, mkdirat, openat, renameat,
        unlinkat, utimensat,
    },
    io::Errno,
};
use std::{collections::HashMap, ffi::CStr};

/// A change of a file's attributes.
#[derive(Debug)]
pub enum Attribute<'a> {
    /// Permissions.
    Mode(Mode),
    /// The owner, the group, or both.
    Owner(Option<fs::Uid>, Option<fs::Gid>),
    /// Times.
    Times(&'a fs::Timestamps),
    /// Sets an extended attribute.
    SetXattr(&'a CStr, &'a [u8], XattrFlags),
    /// Removes an extended attribute.
    RemoveXattr(&'a CStr),
    /// The size in bytes.
    Size(u64),
}

pub(crate) fn log_error(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

impl View {
    pub(crate) fn top_index(&self) -> Result<usize, Errno> {
        if self.rules.read_only { Err(Errno::ROFS) } else { self.layers.len().checked_sub(1).ok_or(Errno::ROFS) }
    }

    fn top_place(&self) -> Result<Place, Errno> {
        self.top_index().map(Place::Layer)
    }

    pub(crate) fn in_top(&self, path: &TreePath) -> Option<&Node> {
        self.layers.last()?.tree.look(path).node
    }

    pub(crate) fn set(&mut self, path: &TreePath, node: Node) {
        if let Some(layer) = self.layers.last_mut() {
            layer.tree.set(path, node);
            layer.changes.names.push(path.clone());
        }
    }

    pub(crate) fn note(&mut self, line: Line) -> Result<(), Errno> {
        let layer = self.layers.last_mut().ok_or(Errno::ROFS)?;
        match line {
            Line::Copy { of, ino, .. } => layer.changes.copies.push((ino, Some(of))),
            Line::Gone { ino } => layer.changes.copies.push((ino, None)),
            _ => {}
        }
        layer.log.add(line).map_err(log_error)
    }

    /// Remembers what is below a name before it is changed for the first time.
    pub(crate) fn note_base(&mut self, path: &TreePath) -> Result<(), Errno> {
        if self.layers.last().is_none_or(|layer| layer.log.bases.contains_key(path)) {
            return Ok(());
        }
        let stamp = match self.find_below_top(path) {
            Ok(found) => Some(Stamp::new(&found.stat, found.place == Place::Host)),
            Err(Errno::NOENT | Errno::NOTDIR) => None,
            Err(error) => return Err(error),
        };
        self.note_base_as(path, stamp)
    }

    fn note_base_as(&mut self, path: &TreePath, stamp: Option<Stamp>) -> Result<(), Errno> {
        let is_known = self.layers.last().is_none_or(|layer| layer.log.bases.contains_key(path));
        if is_known { Ok(()) } else { self.note(Line::Base(path.clone(), stamp)) }
    }

    /// Whether something is below the topmost layer at a name, that it doesn't hide by a directory above.
    pub(crate) fn shows_below(&self, path: &TreePath) -> bool {
        let covered = self.layers.last().is_none_or(|layer| layer.tree.look(path).covered);
        !covered && self.find_below_top(path).is_ok()
    }

    fn user(&self) -> u32 {
        self.caller.as_ref().map_or(self.user, |caller| caller.owner().0.as_raw())
    }

    /// Whether this user may add and remove names in a directory.
    pub(crate) fn may_change_dir(&self, dir: &TreePath) -> Result<(), Errno> {
        let place = self.place_of_dir(dir)?;
        accessat(self.root(place), dir.relative(), Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)
    }

    /// Whether this user may look up a name in a directory. A layer's may have other permissions than that below it, where a name may be. The
    /// host's says so when it is asked for the name, but it isn't for these.
    pub(crate) fn may_search(&self, dir: &Found, name: Option<&[u8]>) -> Result<(), Errno> {
        const ALL: u32 = 0o111;
        if dir.place == Place::Host {
            return if matches!(name, Some(b"." | b"..")) { self.enter_on_host(&dir.path) } else { Ok(()) };
        }
        if dir.stat.st_mode & ALL == ALL {
            return Ok(());
        }
        accessat(self.root(dir.place), dir.path.relative(), Access::EXEC_OK, AtFlags::EACCESS)
    }

    /// Whether this user may remove what is there from a directory in which everyone may add names.
    pub(crate) fn may_remove(&self, found: &Found) -> Result<(), Errno> {
        let dir = found.path.parent();
        self.may_change_dir(&dir)?;
        let user = self.user();
        if user == 0 {
            return Ok(());
        }
        let dir = self.find(&dir)?.stat;
        let is_sticky = dir.st_mode & 0o1000 != 0;
        if is_sticky && dir.st_uid != user && found.stat.st_uid != user { Err(Errno::PERM) } else { Ok(()) }
    }

    /// Whether this user may give a file one more name: of another's, only of one that the user could as well read and write (proc_sys_fs(5),
    /// protected_hardlinks).
    pub(crate) fn may_link(&self, found: &Found) -> Result<(), Errno> {
        let (user, mode) = (self.user(), found.stat.st_mode);
        if user == 0
            || user == found.stat.st_uid
            || !std::fs::read("/proc/sys/fs/protected_hardlinks").is_ok_and(|text| text.starts_with(b"1"))
        {
            return Ok(());
        }
        let gains = mode & 0o4000 != 0 || mode & 0o2010 == 0o2010;
        let may_use =
            || accessat(self.root(found.place), found.path.relative(), Access::READ_OK | Access::WRITE_OK, AtFlags::EACCESS);
        if found.kind() == FileType::RegularFile && !gains && may_use().is_ok() { Ok(()) } else { Err(Errno::PERM) }
    }

    /// What a new name needs: a layer that can be changed, a directory that this user may change, and no mark's name.
    pub(crate) fn prepare(&mut self, path: &TreePath) -> Result<usize, Errno> {
        let top = self.top_index()?;
        if is_mark(path.name()) {
            return Err(Errno::INVAL);
        }
        if self.is_hidden(path) {
            return Err(Errno::ACCESS);
        }
        self.may_change_dir(&path.parent())?;
        let _up = self.elevate();
        self.scaffold(&path.parent())?;
        self.note_base(path)?;
        Ok(top)
    }

    /// Makes a directory of the tree one of the topmost layer, too. Its attributes stay those below.
    ///
    /// # Errors
    /// EROFS, and those of mkdir.
    pub fn scaffold(&mut self, path: &TreePath) -> Result<(), Errno> {
        let top = self.top_index()?;
        let _up = self.elevate();
        let (mut missing, mut dir) = (Vec::new(), path.clone());
        while !dir.is_root() && !matches!(self.in_top(&dir), Some(Node::Dir(_))) {
            let parent = dir.parent();
            missing.push(std::mem::replace(&mut dir, parent));
        }
        // Where only the host has something, each is made from the one above it: the way from the root costs more the deeper it is.
        let (mut last, mut is_first): (Option<Pair>, _) = (None, true);
        while let Some(path) = missing.pop() {
            let below = match &last {
                Some(last) => {
                    let stat = At { dir: last.host.as_fd(), name: path.name() }.stat()?;
                    Found { path: path.clone(), place: Place::Host, stat }
                }
                None => self.find(&path)?,
            };
            if below.kind() != FileType::Directory {
                return Err(Errno::NOTDIR);
            }
            // Whether a directory above it is a link below this layer is looked at once.
            if std::mem::take(&mut is_first) {
                self.note_base(&path)?;
            }
            self.note_base_as(&path, Some(Stamp::new(&below.stat, below.place == Place::Host)))?;
            let temporary = self.layers[top].temporary();
            let from = last.as_ref().map_or_else(|| self.at(below.place, &path), |last| last.at(&last.host, &path));
            let to = self.in_work(top, &temporary);
            mkdirat(to.dir, to.name, Mode::RWXU)?;
            match copy_attributes(from, to, &below.stat) {
                // What there is no room for stays below.
                Ok(()) | Err(Errno::NOSPC | Errno::DQUOT | Errno::TOOBIG) => {}
                Err(error) => return Err(error),
            }
            if self.user != 0 {
                set_mode(to, copy::mode(&below.stat) | Mode::RWXU)?;
            }
            let is_hosts = last.is_some() || self.sources(&path) == [Place::Host];
            let next = (is_hosts && !missing.is_empty()).then(|| Pair::open(from, to)).transpose()?;
            let original = if is_hosts { below.stat } else { self.shown(&below) };
            let (host, layer) = self.enter_copy_of(&temporary, &original, false)?;
            match &last {
                Some(last) => {
                    let dir = At { dir: last.layer.as_fd(), name: b"." };
                    self.put(top, &temporary, dir, last.at(&last.layer, &path))?;
                }
                None => {
                    self.put(top, &temporary, self.at(Place::Layer(top), &path.parent()), self.at(Place::Layer(top), &path))?
                }
            }
            self.layers[top].tree.set(&path, Node::Dir(Dir::default()));
            let changes = &mut self.layers[top].changes;
            if is_hosts {
                changes.scaffolds.push(Scaffold { path, host, layer });
            } else {
                changes.names.push(path);
            }
            last = next;
        }
        Ok(())
    }

    /// Moves what was made in `work` to its place, also in a directory that its owner may not write: the name is in it already, so that its
    /// times stay.
    fn put(&self, top: usize, temporary: &[u8], dir: At<'_>, to: At<'_>) -> Result<(), Errno> {
        let stat = dir.stat()?;
        with_rights(dir, || renameat(&self.layers[top].work, temporary, to.dir, to.name))?;
        utimensat(dir.dir, dir.name, &copy::times(&stat), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Remembers whose copy the file of that name in `work` is.
    pub(crate) fn enter_copy(&mut self, temporary: &[u8], original: &Found) -> Result<(), Errno> {
        self.enter_copy_of(temporary, &self.shown(original), is_linked(original)).map(drop)
    }

    /// The same of what shows this: that one, and the copy.
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ between machines")]
    fn enter_copy_of(&mut self, temporary: &[u8], original: &Stat, linked: bool) -> Result<(File, File), Errno> {
        let stat = self.in_work(self.top_index()?, temporary).stat()?;
        let of = (u64::from(original.st_dev), original.st_ino);
        self.note(Line::Copy { of, ino: stat.st_ino, linked })?;
        Ok((of, (stat.st_dev.into(), stat.st_ino)))
    }

    /// Makes a copy of a file in the topmost layer, where it is not one of it already; a directory gets attributes of its own.
    /// `is_empty` leaves the contents out, but of a copy that another name of the file has: that one is for the caller to cut, who may not be
    /// one that may write it.
    ///
    /// # Errors
    /// EROFS; those of reading and writing files, also with `is_empty` where what is written in place when it is kept, or what has attributes, may
    /// not be read; EAGAIN as in [`Self::open_to_read`].
    pub fn copy_up(&mut self, found: &Found, is_empty: bool) -> Result<(), Errno> {
        let top = self.top_index()?;
        let _up = self.elevate();
        let path = &found.path;
        if found.kind() == FileType::Directory {
            self.scaffold(path)?;
            return self.mark_own(found);
        }
        if found.place == Place::Layer(top) {
            return Ok(());
        }
        let has_unreadable = || found.stat.st_mode & 0o400 == 0 && copy::has_user_xattrs(self.at(found.place, path));
        if is_empty && (self.is_kept_in_place(found) || has_unreadable()) && !self.has_copy(found) {
            let at = self.at(found.place, path);
            accessat(at.dir, at.name, Access::READ_OK, AtFlags::EACCESS)?;
        }
        self.scaffold(&path.parent())?;
        self.note_base(path)?;
        let temporary = self.layers[top].temporary();
        if !self.link_shared(found, &temporary) {
            let to = At { dir: self.layers[top].work.as_fd(), name: &temporary };
            let source = || (!is_empty).then(|| self.open_to_read(found)).transpose();
            if let Err(error) = copy::copy_one(self.at(found.place, path), to, &found.stat, true, source) {
                let _ = remove_tree(to);
                return Err(error);
            }
            self.enter_copy(&temporary, found)?;
        }
        let placed = self.put(top, &temporary, self.at(Place::Layer(top), &path.parent()), self.at(Place::Layer(top), path));
        if let Err(error) = placed {
            // A copy would have one name more than are known.
            let _ = self.retire(&temporary);
            return Err(error);
        }
        self.set(path, Node::Leaf);
        self.share(found);
        Ok(())
    }

    /// Whether what an ordinary user writes to a file of the host's is written over it when it is kept: what it had must be known then.
    fn is_kept_in_place(&self, found: &Found) -> bool {
        self.user != 0 && found.place == Place::Host && (found.stat.st_nlink > 1 || found.stat.st_uid != self.user)
    }

    fn mark_own(&mut self, found: &Found) -> Result<(), Errno> {
        let (top, path) = (self.top_index()?, &found.path);
        let dir = if path.is_root() { Some(&self.layers[top].tree) } else { self.layers[top].tree.dir(path) };
        if dir.is_none_or(|dir| dir.own || dir.opaque) || !self.shows_below(path) {
            return Ok(());
        }
        // Until now its user had all rights to it.
        set_mode(self.at(Place::Layer(top), path), copy::mode(&found.stat))?;
        mark(self.at(Place::Layer(top), path), OWN)?;
        if let Some(dir) = self.layers[top].tree.dir_mut(path) {
            dir.own = true;
            self.layers[top].changes.names.push(path.clone());
        }
        Ok(())
    }

    /// Removes a name: a directory, which must be empty, or anything else.
    ///
    /// # Errors
    /// Of unlink and rmdir.
    pub fn remove(&mut self, found: &Found, is_dir: bool) -> Result<(), Errno> {
        let path = &found.path;
        match (found.kind() == FileType::Directory, is_dir) {
            (true, false) => return Err(Errno::ISDIR),
            (false, true) => return Err(Errno::NOTDIR),
            _ => {}
        }
        if self.is_through(path) {
            return unlinkat(&self.host, path.relative(), if is_dir { AtFlags::REMOVEDIR } else { AtFlags::empty() });
        }
        self.top_index()?;
        self.may_remove(found)?;
        if path.is_root() {
            return Err(Errno::BUSY);
        }
        if is_dir && !self.is_empty_dir(path)? {
            return Err(Errno::NOTEMPTY);
        }
        self.drop_name(found)
    }

    /// Whether nothing shows in a directory, also where it may not be read.
    pub(crate) fn is_empty_dir(&self, path: &TreePath) -> Result<bool, Errno> {
        match (self.list(path), self.in_top(path)) {
            (Err(Errno::ACCESS), Some(Node::Dir(dir))) if !self.shows_below(path) => {
                Ok(dir.entries.values().all(|node| *node == Node::Whiteout))
            }
            (entries, _) => Ok(entries?.is_empty()),
        }
    }

    /// Removes a name with all that is below it.
    fn drop_name(&mut self, found: &Found) -> Result<(), Errno> {
        let (top, path) = (self.top_index()?, &found.path);
        let _up = self.elevate();
        self.note_base(path)?;
        if self.in_top(path).is_none() {
            self.scaffold(&path.parent())?;
            self.layers[top].white_out(path)?;
            self.set(path, Node::Whiteout);
            return Ok(());
        }
        let shows_below = self.shows_below(path);
        let stays = found.place == Place::Layer(top) && self.leave_unnamed(path, &found.stat);
        let layer = &mut self.layers[top];
        layer.shared.dropped(path);
        // Neither a tree nor the last name of a copy: nothing is to be forgotten with it.
        if found.kind() != FileType::Directory
            && found.place == Place::Layer(top)
            && (stays || found.stat.st_nlink > 1 || !layer.log.copies.contains_key(&found.stat.st_ino))
        {
            if !shows_below {
                unlinkat(&layer.files, path.relative(), AtFlags::empty())?;
                layer.tree.take(path);
                return Ok(());
            }
            let temporary = layer.temporary_whiteout()?;
            renameat(&layer.work, temporary, &layer.files, path.relative())?;
            self.set(path, Node::Whiteout);
            return Ok(());
        }
        if shows_below {
            let temporary = layer.temporary_whiteout()?;
            move_dirs(self.at(Place::Layer(top), path), self.in_work(top, &temporary), RenameFlags::EXCHANGE)?;
            self.set(path, Node::Whiteout);
            return self.retire(&temporary);
        }
        // The same of an empty directory without marks: those that watch it see it removed, and not moved.
        let is_copy = layer.log.copies.contains_key(&found.stat.st_ino);
        let is_removed = !is_copy && unlinkat(&layer.files, path.relative(), AtFlags::REMOVEDIR).is_ok();
        let temporary = (!is_removed).then(|| layer.temporary());
        if let Some(temporary) = &temporary {
            move_dirs(self.at(Place::Layer(top), path), self.in_work(top, temporary), RenameFlags::empty())?;
        }
        self.layers[top].tree.take(path);
        temporary.map_or(Ok(()), |temporary| self.retire(&temporary))
    }

    pub(crate) fn in_work<'a>(&'a self, layer: usize, name: &'a [u8]) -> At<'a> {
        At { dir: self.layers[layer].work.as_fd(), name }
    }

    /// Removes what was moved to `work`, and forgets whose copies its files were: their numbers are free for others.
    pub(crate) fn retire(&mut self, temporary: &[u8]) -> Result<(), Errno> {
        let work = self.layers[self.top_index()?].work.try_clone().map_err(log_error)?;
        let at = At { dir: work.as_fd(), name: temporary };
        let forgotten = self.forget_below(&mut Way::from(at.dir)?, at.name, &mut HashMap::new());
        remove_tree(at)?;
        forgotten
    }

    /// `met` has its files by number, with as many names as are not gone through: one may have all its names there.
    fn forget_below(&mut self, way: &mut Way, name: &[u8], met: &mut HashMap<u64, Stat>) -> Result<(), Errno> {
        let stat = At { dir: way.here(), name }.stat()?;
        if file_type(&stat) != FileType::Directory {
            let stat = *met.entry(stat.st_ino).and_modify(|met| met.st_nlink -= 1).or_insert(stat);
            return self.forget_copy(&stat);
        }
        self.forget_copy(&stat)?;
        way.within(name, |way| copy::names(way.here())?.iter().try_for_each(|name| self.forget_below(way, name, met)))
    }

    /// A file of the layer loses a name: with the last one its number is free for another file.
    pub(crate) fn forget_copy(&mut self, stat: &Stat) -> Result<(), Errno> {
        let is_last = file_type(stat) == FileType::Directory || stat.st_nlink <= 1;
        let top = self.top_index()?;
        if is_last && self.layers[top].log.copies.contains_key(&stat.st_ino) {
            self.note(Line::Gone { ino: stat.st_ino })?;
        }
        Ok(())
    }

    /// Changes attributes of what is at a name.
    ///
    /// # Errors
    /// EPERM if this user doesn't own it, and those of the calls.
    pub fn set_attribute(&mut self, found: &Found, attribute: &Attribute<'_>) -> Result<(), Errno> {
        let path = &found.path;
        let mut is_copied = false;
        let place = if self.is_through(path) {
            Place::Host
        } else {
            let top = self.top_place()?;
            self.may_set(found, attribute)?;
            is_copied = found.place != top && !self.has_copy(found);
            self.copy_up(found, matches!(attribute, Attribute::Size(0)))?;
            top
        };
        let at = self.at(place, path);
        match attribute {
            Attribute::Mode(mode) => set_mode(at, *mode),
            Attribute::Owner(uid, gid) => fs::chownat(at.dir, at.name, *uid, *gid, AtFlags::SYMLINK_NOFOLLOW),
            Attribute::Times(times) => {
                utimensat(at.dir, at.name, times, AtFlags::SYMLINK_NOFOLLOW)?;
                let sets_time = times.last_modification.tv_nsec != fs::UTIME_OMIT;
                if sets_time && place != Place::Host && found.kind() == FileType::Directory {
                    note_times(at);
                }
                Ok(())
            }
            Attribute::SetXattr(name, value, flags) => at.by_proc(|path| fs::lsetxattr(path, *name, value, *flags)),
            Attribute::RemoveXattr(name) => at.by_proc(|path| fs::lremovexattr(path, *name)),
            // What may be done to the original may be done to its copy, whoever that belongs to.
            Attribute::Size(size) if is_copied => with_rights(at, || truncate(at, *size)),
            Attribute::Size(size) => truncate(at, *size),
        }
    }

    /// Whether this user may do what only a file's owner may, and root.
    ///
    /// # Errors
    /// EPERM.
    pub fn may_own(&self, stat: &Stat) -> Result<(), Errno> {
        let user = self.user();
        if user == 0 || user == stat.st_uid { Ok(()) } else { Err(Errno::PERM) }
    }

    /// What the host would refuse, and doesn't for a copy that belongs to this user.
    fn may_set(&self, found: &Found, attribute: &Attribute<'_>) -> Result<(), Errno> {
        let (user, owner) = (self.user(), found.stat.st_uid);
        let at = self.at(found.place, &found.path);
        let writable = || accessat(at.dir, at.name, Access::WRITE_OK, AtFlags::EACCESS);
        match attribute {
            Attribute::Size(_) => writable(),
            Attribute::SetXattr(name, ..) | Attribute::RemoveXattr(name)
                if file_type(&found.stat) != FileType::Symlink && !name.to_bytes().starts_with(RIGHTS) =>
            {
                writable()
            }
            Attribute::Times(fs::Timestamps { last_access, last_modification })
                if (last_access.tv_nsec, last_modification.tv_nsec) == (fs::UTIME_NOW, fs::UTIME_NOW) && user != owner =>
            {
                writable()
            }
            _ => self.may_own(&found.stat),
        }
    }
}

fn truncate(at: At<'_>, size: u64) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::ftruncate(openat(at.dir, at.name, flags, Mode::empty())?, size)
}

/// Device and number.
type File = (u64, u64);

/// A directory on the host and the one over it in the layer.
struct Pair {
    host: OwnedFd,
    layer: OwnedFd,
}

impl Pair {
    fn open(host: At<'_>, layer: At<'_>) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = |at: At<'_>| openat(at.dir, at.name, flags, Mode::empty());
        Ok(Self { host: open(host)?, layer: open(layer)? })
    }

    fn at<'a>(&'a self, of: &'a OwnedFd, path: &'a TreePath) -> At<'a> {
        At { dir: of.as_fd(), name: path.name() }
    }
}

/// Gives a directory's marks its times, which were set: until a name in it is changed they are the same. What can't be noted is not kept.
fn note_times(dir: At<'_>) {
    let Ok(stat) = dir.stat() else { return };
    for mark in MARKS {
        let name = [dir.name, b"/", mark].concat();
        let _ = with_rights(dir, || utimensat(dir.dir, &name, &copy::times(&stat), AtFlags::SYMLINK_NOFOLLOW));
    }
}

/// Puts a mark into a directory, whose times stay.
pub(crate) fn mark(at: At<'_>, name: &[u8]) -> Result<(), Errno> {
    with_rights(at, || {
        let fd = open_dir(at.dir, at.name)?;
        let stat = fs::fstat(&fd)?;
        let mark = openat(&fd, name, OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?;
        // Nobody has set the directory's times.
        let never = fs::Timespec { tv_sec: 0, tv_nsec: 0 };
        fs::futimens(&mark, &fs::Timestamps { last_access: never, last_modification: never })?;
        fs::futimens(&fd, &copy::times(&stat))
    })
}
