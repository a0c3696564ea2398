//! Making what was not there: files, directories, links, further names.

use crate::{
    change::{log_error, mark},
    copy::{self, At, copy_attributes, file_type, move_dirs, remove_tree, set_mode},
    path::TreePath,
    store::Layer,
    tree::{Dir, Node, OPAQUE, WHITEOUT},
    view::{Found, Place, View},
};
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{self, AtFlags, FileType, Mode, OFlags, RenameFlags, linkat, mkdirat, openat, renameat, symlinkat, unlinkat},
    io::Errno,
};

impl View {
    /// Gives what was made to the caller; to the group of its directory where that is asked for.
    pub(crate) fn give(&self, at: At<'_>, path: &TreePath) -> Result<(), Errno> {
        let Some(caller) = &self.caller else { return Ok(()) };
        let (uid, gid) = caller.owner();
        let inherits = self.find(&path.parent())?.stat.st_mode & 0o2000 != 0;
        // A file with several names has its owner already.
        if at.stat()?.st_nlink > 1 && file_type(&at.stat()?) != FileType::Directory {
            return Ok(());
        }
        fs::chownat(at.dir, at.name, Some(uid), (!inherits).then_some(gid), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Makes something at a free name: `make` makes it at the name that it is given.
    fn place<T>(&mut self, path: &TreePath, node: Node, make: impl FnOnce(At<'_>) -> Result<T, Errno>) -> Result<T, Errno> {
        if self.is_through(path) {
            return make(self.at(Place::Host, path));
        }
        let top = self.prepare(path)?;
        let _up = self.elevate();
        let made = if matches!(self.in_top(path), Some(Node::Whiteout)) {
            self.in_nest(top, path, |view, at| {
                let made = make(at)?;
                view.give(at, path)?;
                renameat(at.dir, at.name, &view.layers[top].files, path.relative())?;
                Ok(made)
            })?
        } else {
            let made = make(self.at(Place::Layer(top), path))?;
            self.give(self.at(Place::Layer(top), path), path)?;
            made
        };
        self.set(path, node);
        // Its number may be one of a copy that went without being noticed. A further name of a copy has others.
        let stat = self.at(Place::Layer(top), path).stat()?;
        self.forget_copy(&stat)?;
        Ok(made)
    }

    /// Has something made in `work` that is to replace what is at a name: in a directory that gives new files what that of the name does.
    fn in_nest<T>(
        &mut self,
        top: usize,
        path: &TreePath,
        make: impl FnOnce(&mut Self, At<'_>) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        const SET_GROUP: u32 = 0o2000;
        let nest = self.layers[top].temporary();
        let work = self.layers[top].work.try_clone().map_err(log_error)?;
        let (parent, at) = (path.parent(), At { dir: work.as_fd(), name: &nest });
        let dir = self.at(Place::Layer(top), &parent);
        let stat = dir.stat()?;
        let default = dir.by_proc(|path| fs::lgetxattr(path, c"system.posix_acl_default", &mut [0_u8; 0][..]));
        if stat.st_mode & SET_GROUP == 0 && default.is_err() {
            return make(self, at).inspect_err(|_| {
                let _ = remove_tree(at);
            });
        }
        mkdirat(at.dir, at.name, Mode::RWXU)?;
        copy_attributes(dir, at, &stat)?;
        set_mode(at, copy::mode(&stat) | Mode::RWXU)?;
        let made = make(self, At { name: &[nest.as_slice(), b"/made"].concat(), ..at });
        // What is left is removed the next time.
        let _ = remove_tree(at);
        made
    }

    /// Creates a regular file at a free name and opens it. The mode is not changed by a umask but this process's.
    ///
    /// # Errors
    /// Of open with O_CREAT and O_EXCL.
    pub fn create(&mut self, path: &TreePath, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        // By these no link is followed, and F_GETFL doesn't say them.
        let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        self.place(path, Node::Leaf, |at| openat(at.dir, at.name, flags, mode))
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// Of symlink; EINVAL for contents that a layer's marks have.
    pub fn symlink(&mut self, target: &[u8], path: &TreePath) -> Result<(), Errno> {
        if target == WHITEOUT {
            return Err(Errno::INVAL);
        }
        self.place(path, Node::Leaf, |at| symlinkat(target, at.dir, at.name))
    }

    /// Makes a FIFO, a socket, a device, or an empty file.
    ///
    /// # Errors
    /// Of mknod.
    pub fn make_node(&mut self, path: &TreePath, kind: FileType, mode: Mode, dev: u64) -> Result<(), Errno> {
        self.place(path, Node::Leaf, |at| fs::mknodat(at.dir, at.name, kind, mode, dev))
    }

    /// Has the caller make something at the name relative to the descriptor that it is given, such as a socket by bind.
    ///
    /// # Errors
    /// Those of `make`, EROFS, EACCES.
    pub fn make_with<T>(
        &mut self,
        path: &TreePath,
        make: impl FnOnce(rustix::fd::BorrowedFd<'_>, &[u8]) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        self.place(path, Node::Leaf, |at| make(at.dir, at.name))
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// Of mkdir.
    pub fn make_dir(&mut self, path: &TreePath, mode: Mode) -> Result<(), Errno> {
        if self.is_through(path) {
            return mkdirat(&self.host, path.relative(), mode);
        }
        let top = self.prepare(path)?;
        let _up = self.elevate();
        let mut dir = Dir { own: true, ..Dir::default() };
        if matches!(self.in_top(path), Some(Node::Whiteout)) {
            dir.opaque = true;
            self.in_nest(top, path, |view, at| {
                mkdirat(at.dir, at.name, mode)?;
                mark(at, OPAQUE)?;
                view.give(at, path)?;
                // It may be one that its owner can't write.
                move_dirs(at, view.at(Place::Layer(top), path), RenameFlags::EXCHANGE)?;
                unlinkat(at.dir, at.name, AtFlags::empty())
            })?;
        } else {
            mkdirat(&self.layers[top].files, path.relative(), mode)?;
            self.give(self.at(Place::Layer(top), path), path)?;
        }
        self.set(path, Node::Dir(dir));
        Ok(())
    }

    /// Gives a file one more name.
    ///
    /// # Errors
    /// Of link; EXDEV between the layer and what goes through to the host.
    pub fn link(&mut self, found: &Found, path: &TreePath) -> Result<(), Errno> {
        match (self.is_through(&found.path), self.is_through(path)) {
            (true, true) => return linkat(&self.host, found.path.relative(), &self.host, path.relative(), AtFlags::empty()),
            (false, false) => {}
            _ => return Err(Errno::XDEV),
        }
        self.top_index()?;
        self.may_link(found)?;
        self.may_change_dir(&path.parent())?;
        if found.kind() == FileType::Directory {
            return Err(Errno::PERM);
        }
        self.copy_up(found, false)?;
        let top = self.layers.last().ok_or(Errno::ROFS)?.files.try_clone().map_err(log_error)?;
        self.place(path, Node::Leaf, |at| linkat(&top, found.path.relative(), at.dir, at.name, AtFlags::empty()))?;
        self.layers.last_mut().into_iter().for_each(|layer| layer.shared.linked(&found.path, path));
        Ok(())
    }

    /// Makes an empty file without a name in the topmost layer, with the owner, mode and times of another.
    ///
    /// # Errors
    /// EROFS, and those of open.
    pub fn make_unnamed(&mut self, like: &fs::Stat) -> Result<OwnedFd, Errno> {
        let top = self.top_index()?;
        let _up = self.elevate();
        let temporary = self.layers[top].temporary();
        let work = &self.layers[top].work;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(work, &temporary, flags, Mode::RUSR | Mode::WUSR)?;
        unlinkat(work, &temporary, AtFlags::empty())?;
        let _ = fs::fchown(&file, Some(fs::Uid::from_raw(like.st_uid)), Some(fs::Gid::from_raw(like.st_gid)));
        fs::fchmod(&file, copy::mode(like))?;
        fs::futimens(&file, &copy::times(like))?;
        Ok(file)
    }

    /// Gives a file that is open a name.
    ///
    /// # Errors
    /// Of linkat; EXDEV if it is not in the layer's file system, or has names and is not the layer's: they may be the host's, which writing to the new
    /// one would change.
    pub fn link_open(&mut self, fd: &OwnedFd, path: &TreePath) -> Result<(), Errno> {
        use rustix::fd::AsRawFd;
        let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
        if fs::fstat(fd)?.st_nlink != 0 {
            // Where it was opened, also if it has lost that name, or never had it.
            let name = TreePath::literal(fs::readlinkat(fs::CWD, &link, Vec::new())?.as_bytes());
            let is_in = |layer: &Layer| name.is_within(&TreePath::literal(layer.dir.as_os_str().as_encoded_bytes()));
            let fits = if self.is_through(path) { self.is_through(&name) } else { self.layers.last().is_some_and(is_in) };
            if !fits {
                return Err(Errno::XDEV);
            }
        }
        self.place(path, Node::Leaf, |at| linkat(fs::CWD, link, at.dir, at.name, AtFlags::SYMLINK_FOLLOW))
    }
}
