//! From what a thread says to names in the tree: paths, descriptors, and the links of /proc.

use crate::{
    calls::{Answer, Reply, Server},
    stand_in::said,
    sys::by_proc,
    tasks::{Caller, read_string},
};
use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fcntl_getfl, fstat, openat, readlinkat, statat},
    io::Errno,
};
pub(crate) use slipway_layer::PATH_MAX;
use slipway_layer::{Elevated, Found, Links, Resolved, Target, TreePath};
use std::cell::Cell;

/// What follows the name of a file that has lost it.
const DELETED: &[u8] = b" (deleted)";

/// So many links at the end of a path are followed by the index.
const LINKS: usize = 8;

/// What a descriptor is open on.
#[derive(Debug)]
pub(crate) enum Object {
    /// A file of this name; and whether it is the topmost layer's.
    Named(TreePath, bool),
    /// What it stands for: it is open on something else.
    StandIn(Found),
    /// What has no name: a pipe, a socket, a file that was removed.
    Unnamed,
}

/// The links of /proc, as the calling thread sees them.
pub(crate) struct ProcLinks<'a> {
    server: &'a Server,
    caller: Caller,
    /// One of them was another process's, and not for the caller.
    is_refused: Cell<bool>,
}

impl Links for ProcLinks<'_> {
    fn is_readers(&self, path: &TreePath) -> bool {
        is_of_descriptors(self.caller, path)
    }

    fn target(&self, path: &TreePath) -> Option<Target> {
        let parts: Vec<&[u8]> = path.components().collect();
        let number = |part: &[u8]| std::str::from_utf8(part).ok().and_then(|text| text.parse::<u32>().ok());
        let Caller { tid, pid, .. } = self.caller;
        // The server would follow it with rights that go beyond the caller's.
        let look = || readlinkat(CWD, path.absolute(), Vec::new()).map(drop);
        if let [b"proc", process, _, ..] = parts.as_slice()
            && number(process).is_some_and(|process| process != pid && process != tid)
            && (self.server.contain && !self.server.is_of_command(self.caller, path)
                || self.server.untraced(path, look) == Err(Errno::ACCESS))
        {
            self.is_refused.set(true);
            return Some(Target::Object);
        }
        match parts.as_slice() {
            [b"proc", b"self"] => Some(Target::Path(pid.to_string().into_bytes())),
            [b"proc", b"thread-self"] => Some(Target::Path(format!("{pid}/task/{tid}").into_bytes())),
            [b"proc", process, .., link @ (b"cwd" | b"root")] => {
                let process = number(process)?;
                let _up = self.server.view.elevate();
                // One that has ended has none. Of one that keeps others out, the caller sees its own.
                if look() == Err(Errno::NOENT) {
                    return None;
                }
                let cwd = || self.server.tasks.nearest(process).map(TreePath::absolute);
                Some(Target::Path(if *link == b"root" { b"/".to_vec() } else { cwd()? }))
            }
            [b"proc", process, .., b"ns", _] if number(process).is_some() => Some(Target::Object),
            [b"proc", process, .., b"exe" | b"fd" | b"map_files"] | [b"proc", process, .., b"fd" | b"map_files", _] => {
                number(process)?;
                let _up = self.server.view.elevate();
                match self.server.object_at(path) {
                    Ok(Object::Named(name, is_top)) if self.server.leads_by_name(self.caller, path, &name, is_top) => {
                        Some(Target::Path(name.absolute()))
                    }
                    // By its name, a link itself would be followed.
                    Ok(Object::StandIn(found)) if found.kind() != FileType::Symlink => Some(Target::Path(found.path.absolute())),
                    Ok(_) | Err(Errno::STALE) => Some(Target::Object),
                    Err(_) => None,
                }
            }
            _ => None,
        }
    }
}

impl ProcLinks<'_> {
    /// Refuses what a process's link led to if that is not for the caller.
    ///
    /// # Errors
    /// EACCES.
    pub(crate) fn check(&self) -> Result<(), Errno> {
        if self.is_refused.get() { Err(Errno::ACCESS) } else { Ok(()) }
    }

    /// What a program reads of a link.
    ///
    /// # Errors
    /// The same.
    pub(crate) fn text(&self, path: &TreePath) -> Result<Option<Vec<u8>>, Errno> {
        let target = self.target(path);
        self.check()?;
        let _up = self.server.view.elevate();
        Ok(target.and_then(|target| match target {
            _ if path.name() == b"exe" || [b"fd".as_slice(), b"map_files"].contains(&path.parent().name()) => {
                self.server.text_of(path)
            }
            Target::Path(cwd) if path.name() == b"cwd" => match self.server.view.find(&TreePath::literal(&cwd)) {
                Err(Errno::NOENT | Errno::NOTDIR) => Some([&cwd, DELETED].concat()),
                _ => Some(cwd),
            },
            Target::Path(text) => Some(text),
            Target::Object => None,
        }))
    }
}

/// Whether a name is that of the directory in /proc of the caller's own descriptors, or in that. The kernel lets a process in there also where it is
/// another user's than the process: it is root's once one has become another user, until that one executes a program.
fn is_of_descriptors(caller: Caller, path: &TreePath) -> bool {
    let parts: Vec<&[u8]> = path.components().take(5).collect();
    let ([b"proc", process, b"fd", ..] | [b"proc", process, b"task", _, b"fd", ..]) = parts.as_slice() else { return false };
    [caller.pid, caller.tid].iter().any(|id| id.to_string().as_bytes() == *process)
}

impl Server {
    /// The server's own rights, to find one of the caller's own descriptors by its name.
    pub(crate) fn elevate_for(&self, caller: Caller, path: &TreePath) -> Option<Elevated> {
        is_of_descriptors(caller, path).then(|| self.view.elevate())
    }

    /// What a link of /proc leads to, without any right to it.
    ///
    /// # Errors
    /// Those of open.
    pub(crate) fn hold_link(&self, caller: Caller, link: &TreePath) -> Result<OwnedFd, Errno> {
        let _up = self.elevate_for(caller, link);
        openat(CWD, link.absolute(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
    }

    pub(crate) fn links(&self, caller: Caller) -> ProcLinks<'_> {
        ProcLinks { server: self, caller, is_refused: Cell::new(false) }
    }

    /// The name of a file that /proc calls so.
    fn name_of(&self, link: &[u8], stat: impl FnOnce() -> Result<Stat, Errno>) -> Object {
        if link.first() != Some(&b'/') {
            return Object::Unnamed;
        }
        // The text is the same for a file of that name and one that was removed.
        if link.ends_with(DELETED) && stat().is_ok_and(|stat| stat.st_nlink == 0) || link.starts_with(b"/memfd:") {
            return Object::Unnamed;
        }
        let path = TreePath::literal(link);
        let top = self.files.len().wrapping_sub(1);
        for (index, files) in self.files.iter().enumerate() {
            if let Some(rest) = path.below(files) {
                return Object::Named(TreePath::literal(rest), index == top);
            }
        }
        if path.is_within(&self.store) { Object::Unnamed } else { Object::Named(path, false) }
    }

    /// What a thread's descriptor is open on.
    ///
    /// # Errors
    /// EBADF; ESTALE of one that stands for what is gone.
    pub(crate) fn object(&self, caller: Caller, fd: i32) -> Result<Object, Errno> {
        // A process that became another user doesn't own its own part of /proc until it executes a program.
        let _up = self.view.elevate();
        self.object_at(&TreePath::literal(format!("proc/{}/fd/{fd}", caller.tid)))
    }

    /// What a descriptor of this process is open on.
    ///
    /// # Errors
    /// The same.
    pub(crate) fn object_here(&self, fd: &OwnedFd) -> Result<Object, Errno> {
        self.object_at(&TreePath::literal(by_proc(fd)))
    }

    fn object_at(&self, link: &TreePath) -> Result<Object, Errno> {
        let text = readlinkat(CWD, link.absolute(), Vec::new()).map_err(|_| Errno::BADF)?;
        if let Some(found) = self.stood_for(link, text.to_bytes())? {
            return Ok(Object::StandIn(found));
        }
        Ok(self.name_of(text.to_bytes(), || statat(CWD, link.absolute(), AtFlags::empty())))
    }

    /// What a program reads of a link of /proc to what is open: the name that it has in the tree, or the one that it had.
    fn text_of(&self, link: &TreePath) -> Option<Vec<u8>> {
        let text = readlinkat(CWD, link.absolute(), Vec::new()).ok()?.into_bytes();
        let object = match self.object_at(link) {
            Err(Errno::STALE) => return Some([&said(link)?.1, DELETED].concat()),
            object => object.ok()?,
        };
        if let Object::Named(name, is_top) = &object
            && (*is_top || !self.view.is_touched(name))
        {
            return Some(name.absolute());
        }
        let open = statat(CWD, link.absolute(), AtFlags::empty()).ok();
        // Where the kernel's name leads elsewhere by itself, it is no matter of the layer's.
        let is_there = |open: &Stat| {
            statat(CWD, &text[..], AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|there| (there.st_dev, there.st_ino) == (open.st_dev, open.st_ino))
        };
        match object {
            Object::StandIn(found) => Some(found.path.absolute()),
            Object::Named(name, _) => {
                let Some(open) = open.filter(is_there) else { return Some(name.absolute()) };
                let found = self.found_still(open, &name).or_else(|| self.found_elsewhere(open));
                Some(found.map_or_else(|| [&name.absolute(), DELETED].concat(), |found| found.path.absolute()))
            }
            Object::Unnamed => {
                let was = TreePath::literal(text.strip_suffix(DELETED).filter(|text| text.first() == Some(&b'/'))?);
                let below = || self.files.iter().find_map(|files| was.below(files)).map(TreePath::literal);
                // What the layer itself has taken away.
                let taken = || {
                    open.and_then(|open| self.nameless.name_of(&open).cloned()).unwrap_or_else(|| TreePath::literal(was.name()))
                };
                let name = below().or_else(|| was.is_within(&self.store).then(taken))?;
                Some([&name.absolute(), DELETED].concat())
            }
        }
    }

    /// Whether what a link of /proc leads to is opened by its name. That may be another file's by now; and of a file of the host's that the command
    /// was given to write to, the name leads to a copy in the layer.
    fn leads_by_name(&self, caller: Caller, link: &TreePath, name: &TreePath, is_top: bool) -> bool {
        let Ok(stat) = statat(CWD, link.absolute(), AtFlags::empty()) else { return true };
        // By its name, the link itself would be followed.
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return false;
        }
        let is_given = || FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && self.is_given(caller, link, &stat);
        FileType::from_raw_mode(stat.st_mode) == FileType::Directory
            || self.found_still(stat, name).is_some() && (is_top || self.view.is_through(name) || !is_given())
    }

    /// What has a name in the tree of the object that a link of /proc led to.
    pub(crate) fn named_by(&self, resolved: &Resolved) -> Option<Found> {
        let _up = self.view.elevate();
        let link = resolved.is_magic.then_some(&resolved.path)?;
        let name = match self.object_at(link).ok()? {
            Object::Named(name, _) => name,
            Object::StandIn(found) => return Some(found),
            Object::Unnamed => return None,
        };
        let open = statat(CWD, link.absolute(), AtFlags::empty()).ok()?;
        self.found_still(open, &name).or_else(|| self.found_elsewhere(open))
    }

    /// The link of the tree that a link of /proc leads to, by a descriptor which stands for that.
    pub(crate) fn link_behind(&self, link: &TreePath) -> Option<Found> {
        let _up = self.view.elevate();
        match self.object_at(link).ok()? {
            Object::StandIn(found) if found.kind() == FileType::Symlink => Some(found),
            _ => None,
        }
    }

    /// Whether a link of /proc is of a descriptor that writes to that file of the host's. No open in the net gives such a one: it was inherited.
    pub(crate) fn is_given(&self, caller: Caller, link: &TreePath, file: &Stat) -> bool {
        let parts: Vec<&[u8]> = link.components().collect();
        let number = |part: &[u8]| std::str::from_utf8(part).ok()?.parse::<i32>().ok();
        let [b"proc", process, .., b"fd", fd] = parts.as_slice() else { return false };
        let (Some(process), Some(fd)) = (number(process), number(fd)) else { return false };
        let of_caller = process.cast_unsigned() == caller.pid;
        let caller =
            if of_caller { caller } else { Caller { tid: process.cast_unsigned(), pid: process.cast_unsigned(), ..caller } };
        self.fetch(caller, fd).is_ok_and(|fd| {
            let writes = fcntl_getfl(&fd).is_ok_and(|flags| flags.intersects(OFlags::WRONLY | OFlags::RDWR));
            writes && fstat(&fd).is_ok_and(|stat| (stat.st_dev, stat.st_ino) == (file.st_dev, file.st_ino))
        })
    }

    /// The directory that a path is relative to.
    ///
    /// # Errors
    /// EBADF, ENOENT if it was removed, ENOTDIR, ESTALE.
    pub(crate) fn base(&self, caller: Caller, dir: i32) -> Result<TreePath, Errno> {
        if dir == libc::AT_FDCWD {
            return Ok(self.tasks.cwd(caller.pid));
        }
        match self.object(caller, dir)? {
            Object::Named(path, _) | Object::StandIn(Found { path, .. }) => Ok(path),
            Object::Unnamed => {
                let _up = self.view.elevate();
                let stat = statat(CWD, format!("/proc/{}/fd/{dir}", caller.tid), AtFlags::empty()).map_err(|_| Errno::BADF)?;
                let is_dir = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
                Err(if is_dir { Errno::NOENT } else { Errno::NOTDIR })
            }
        }
    }

    /// Reads a path and follows it.
    ///
    /// # Errors
    /// EFAULT, and those of looking names up.
    pub(crate) fn lookup(&mut self, caller: Caller, dir: i32, path: u64, follow: bool) -> Result<Resolved, Errno> {
        let path = read_string(caller.tid, path, PATH_MAX)?;
        self.lookup_bytes(caller, dir, &path, follow)
    }

    /// The same of a path that was read.
    ///
    /// # Errors
    /// Those of looking names up.
    pub(crate) fn lookup_bytes(&mut self, caller: Caller, dir: i32, path: &[u8], follow: bool) -> Result<Resolved, Errno> {
        let start = if path.first() == Some(&b'/') {
            TreePath::root()
        } else if path.is_empty() {
            return Err(Errno::NOENT);
        } else {
            let start = self.base(caller, dir)?;
            // A name in what is no directory.
            if dir != libc::AT_FDCWD && self.view.find(&start)?.kind() != FileType::Directory {
                return Err(Errno::NOTDIR);
            }
            start
        };
        let links = self.links(caller);
        let resolved = self.view.resolve(&start, path, follow, &links);
        links.check()?;
        self.record.looked(&resolved, &start, path);
        // Of one that no layer has to do with, the library asks the kernel by the descriptor.
        if dir == libc::AT_FDCWD || path.first() == Some(&b'/') || self.view.is_touched(&start) {
            self.offer(caller, &start, path, false);
        }
        let resolved = resolved?;
        if resolved.is_magic {
            let _up = self.view.elevate();
            if let Err(Errno::STALE) = self.object_at(&resolved.path) {
                return Err(Errno::STALE);
            }
        }
        if resolved.is_magic && resolved.must_be_dir {
            // What is open may be no directory.
            let _up = self.elevate_for(caller, &resolved.path);
            statat(CWD, [resolved.path.absolute().as_slice(), b"/"].concat(), AtFlags::empty())?;
        }
        Ok(resolved)
    }

    /// The same of a path that will only be read: where its directory was looked up before, it is that one, as for the emulation library.
    ///
    /// # Errors
    /// Those of looking names up.
    pub(crate) fn lookup_to_read(&mut self, caller: Caller, dir: i32, path: &[u8], follow: bool) -> Result<Resolved, Errno> {
        match self.found_by_index(path, LINKS).filter(|_| follow) {
            Some(found) => Ok(Resolved { path: found.path.clone(), found: Some(found), must_be_dir: false, is_magic: false }),
            None => self.lookup_bytes(caller, dir, path, follow),
        }
    }

    /// A file of the host's in a directory that is in the index.
    fn found_by_index(&self, path: &[u8], links: usize) -> Option<Found> {
        let (above, last) = path.split_at(path.iter().rposition(|byte| *byte == b'/')?);
        let is_of_server = path[0] == b'/' && self.view.caller.is_none();
        let dir = self.index.as_ref().filter(|_| is_of_server && !matches!(last, b"/" | b"/." | b"/.."))?.dir(above)?;
        let found = self.view.find_on_host(&dir.join(&last[1..]))?;
        if found.kind() != FileType::Symlink {
            return Some(found);
        }
        let target = if links > 0 { self.view.read_link(&found).ok()? } else { return None };
        let target = if target.first() == Some(&b'/') { target } else { [&dir.absolute(), b"/".as_slice(), &target].concat() };
        self.found_by_index(&target, links - 1)
    }

    /// The emulation library has found a path in a directory that it doesn't know.
    pub(crate) fn look_up_dir(&mut self, caller: Caller, dir: i32, path: u64) -> Reply {
        let path = read_string(caller.tid, path, PATH_MAX)?;
        let start = if path.first() == Some(&b'/') { TreePath::root() } else { self.base(caller, dir)? };
        self.offer(caller, &start, &path, true);
        Ok(Answer::Value(0))
    }

    /// Looks up the directory of a path for those that will ask for others in it; and the one that it is in, whose other directories the library
    /// then needs not ask for.
    fn offer(&mut self, caller: Caller, start: &TreePath, path: &[u8], with_parent: bool) {
        let Some(mut index) = self.index.take() else { return };
        let above = path.iter().rposition(|byte| *byte == b'/').map_or(&[][..], |slash| &path[..slash]);
        let base = if path.first() == Some(&b'/') || start.is_root() { Vec::new() } else { start.absolute() };
        let between: &[u8] = if path.first() == Some(&b'/') || !path.contains(&b'/') { b"" } else { b"/" };
        let dir = [base.as_slice(), between, above].concat();
        index.offer(&self.view, &self.links(caller), &dir);
        if let Some(slash) = dir.iter().rposition(|byte| *byte == b'/').filter(|_| with_parent) {
            index.offer(&self.view, &self.links(caller), &dir[..slash]);
        }
        self.index = Some(index);
    }
}
