//! Opening files: the server opens, and hands the descriptor over.

use super::{Answer, Reply, Server};
use crate::{
    index::Index,
    names::{PATH_MAX, ProcLinks},
    sys::{by_proc, open_no_link},
    tasks::{Caller, read_bytes, read_string},
};
use rustix::{
    fd::{AsRawFd, BorrowedFd, OwnedFd},
    fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, accessat, fcntl_setfl, fstat, openat, readlinkat},
    io::Errno,
};
use slipway_emulator::layout;
use slipway_layer::{Bounds, Found, Layer, Links, Place, Resolved, Scope, Target, TreePath};
use std::cell::Cell;

/// So many are known by their pages.
const LOADERS: usize = 8;
const RESOLVE_KNOWN: u64 = ResolveFlags::NO_XDEV.bits() | RESOLVE_CACHED | NO_MAGIC_LINKS | NO_SYMLINKS | BENEATH | IN_ROOT;
const RESOLVE_CACHED: u64 = ResolveFlags::CACHED.bits();
const NO_MAGIC_LINKS: u64 = ResolveFlags::NO_MAGICLINKS.bits();
const NO_SYMLINKS: u64 = ResolveFlags::NO_SYMLINKS.bits();
const BENEATH: u64 = ResolveFlags::BENEATH.bits();
const IN_ROOT: u64 = ResolveFlags::IN_ROOT.bits();

/// Who asks for an open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asker {
    /// A program, with a path and flags.
    Program,
    /// A program that says more of the way, and whether the path is therefore another one than the kernel would follow.
    Bound(bool),
    /// The emulation library, and the hash of the name.
    Library(u64),
    /// The emulation library for a dynamic loader, with the C library's path.
    Loader,
}

impl Asker {
    /// Whether it opens a file itself that is made in the layer.
    fn opens(self, path: &TreePath, is_through: bool) -> bool {
        matches!(self, Self::Library(hash) if !is_through && Index::is_of_hash(path, hash))
    }
}

impl Server {
    pub(super) fn open(&mut self, caller: Caller, dir: i32, path: u64, flags: u64, mode: u64) -> Reply {
        let path = read_string(caller.tid, path, PATH_MAX)?;
        self.open_path(caller, dir, &path, flags as u32, mode as u32 & 0o7777, Asker::Program)
    }

    /// An open of the emulation library's, which opens a file of the topmost layer's itself where the name has this hash; without one, a dynamic
    /// loader's.
    pub(super) fn open_for_library(&mut self, caller: Caller, dir: i32, path: u64, how: u64, hash: Option<u64>) -> Reply {
        let path = read_string(caller.tid, path, PATH_MAX)?;
        let asker = hash.map_or(Asker::Loader, Asker::Library);
        match self.open_path(caller, dir, &path, how as u32, (how >> 32) as u32 & 0o7777, asker) {
            Ok(Answer::Continue) => Ok(Answer::Value(layout::AS_IT_IS as i64)),
            reply => reply,
        }
    }

    pub(super) fn open2(&mut self, caller: Caller, dir: i32, path: u64, how: u64, size: u64) -> Reply {
        if size < 24 {
            return Err(Errno::INVAL);
        }
        if size > 4096 {
            return Err(Errno::TOOBIG);
        }
        let bytes = read_bytes(caller.tid, how, size as usize)?;
        let word = |at: usize| bytes[at..at + 8].try_into().map(u64::from_ne_bytes).map_err(|_| Errno::INVAL);
        let (flags, mode, resolve) = (word(0)?, word(8)?, word(16)?);
        if bytes[24..].iter().any(|byte| *byte != 0) {
            return Err(Errno::TOOBIG);
        }
        check_how(flags, mode, resolve)?;
        if resolve & RESOLVE_CACHED != 0 {
            return Err(Errno::AGAIN);
        }
        let said = read_string(caller.tid, path, PATH_MAX)?;
        let mut path = said.clone();
        if resolve & (BENEATH | IN_ROOT | NO_SYMLINKS) != 0 {
            self.check_path(caller, dir, &mut path, resolve, flags)?;
        }
        if resolve & NO_MAGIC_LINKS != 0 && self.has_magic(caller, dir, &path, flags & libc::O_NOFOLLOW as u64 == 0)? {
            return Err(Errno::LOOP);
        }
        let asker = if resolve == 0 { Asker::Program } else { Asker::Bound(path != said) };
        self.open_path(caller, dir, &path, flags as u32, mode as u32, asker)
    }

    /// Whether a path leads over a link of /proc that is an object by itself, whatever text it shows.
    pub(crate) fn has_magic(&self, caller: Caller, dir: i32, path: &[u8], follow: bool) -> Result<bool, Errno> {
        let start = if path.first() == Some(&b'/') { TreePath::root() } else { self.base(caller, dir)? };
        let links = Magic { links: self.links(caller), led: Cell::new(false) };
        // Where it leads to, or why nowhere, is found again.
        let _ = self.view.resolve(&start, path, follow, &links);
        Ok(links.led.get())
    }

    /// What openat2 may be told of the way: component by component.
    fn check_path(&mut self, caller: Caller, dir: i32, path: &mut Vec<u8>, resolve: u64, flags: u64) -> Result<(), Errno> {
        let scope = match resolve & (BENEATH | IN_ROOT) {
            0 => Scope::All,
            BENEATH => Scope::Beneath,
            _ => Scope::Root,
        };
        let is_absolute = path.first() == Some(&b'/');
        if path.is_empty() {
            return Err(Errno::NOENT);
        }
        if is_absolute && scope == Scope::Beneath {
            return Err(Errno::XDEV);
        }
        let start = if is_absolute && scope == Scope::All { TreePath::root() } else { self.base(caller, dir)? };
        if self.view.find(&start)?.kind() != FileType::Directory {
            return Err(Errno::NOTDIR);
        }
        let flags = OFlags::from_bits_retain(flags as u32);
        let follow = !flags.contains(OFlags::NOFOLLOW) && !flags.contains(OFlags::CREATE | OFlags::EXCL);
        let bounds = Bounds { scope, no_links: resolve & NO_SYMLINKS != 0, follow };
        *path = self.view.resolve_within(&start, path, bounds, &self.links(caller))?;
        Ok(())
    }

    fn open_path(&mut self, caller: Caller, dir: i32, path: &[u8], flags: u32, mode: u32, asker: Asker) -> Reply {
        let mut flags = OFlags::from_bits_retain(flags);
        let is_path = flags.contains(OFlags::PATH);
        // The kernel looks at no others then; without O_PATH they would ask for a descriptor that writes.
        if is_path {
            flags &= OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        }
        let cloexec = flags.contains(OFlags::CLOEXEC);
        let writes = writes(flags);
        // Linux 6.4 knows no file that is made as a directory.
        if flags.contains(OFlags::CREATE | OFlags::DIRECTORY)
            && !is_path
            && openat(CWD, "/", OFlags::CREATE | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).err() == Some(Errno::INVAL)
        {
            return Err(Errno::INVAL);
        }
        if flags.contains(OFlags::TMPFILE) && !is_path {
            return self.open_unnamed(caller, dir, path, flags, mode);
        }
        let exclusive = flags.contains(OFlags::CREATE | OFlags::EXCL);
        let follow = !flags.contains(OFlags::NOFOLLOW) && !exclusive;
        if flags.contains(OFlags::CREATE)
            && !is_path
            && let Some(name) = before_slash(path)
        {
            // The directory that it would be in counts first.
            return Err(self.lookup_bytes(caller, dir, name, false).err().unwrap_or(Errno::ISDIR));
        }
        let resolved = if writes || is_path || flags.contains(OFlags::CREATE) {
            self.lookup_bytes(caller, dir, path, follow)?
        } else {
            self.lookup_to_read(caller, dir, path, follow)?
        };
        let path = if asker == Asker::Bound(true) { b"" } else { path };
        // The caller's terminal stays the caller's; the server's own is none of its business.
        flags |= OFlags::CLOEXEC | OFlags::NOCTTY;
        let Some(found) = &resolved.found else {
            if !flags.contains(OFlags::CREATE) || is_path {
                return Err(Errno::NOENT);
            }
            if resolved.must_be_dir {
                return Err(Errno::ISDIR);
            }
            if flags.contains(OFlags::DIRECTORY) {
                return Err(Errno::INVAL);
            }
            self.may_name(&resolved.path)?;
            let mode = self.mode_of_new(caller, &resolved.path.parent(), mode);
            if asker.opens(&resolved.path, self.view.is_through(&resolved.path)) && self.may_open(flags, mode) {
                self.view.make_node(&resolved.path, FileType::RegularFile, mode, 0)?;
                return self.made(&resolved.path, exclusive);
            }
            return Ok(Answer::Fd(self.view.create(&resolved.path, flags - OFlags::TRUNC, mode)?, cloexec));
        };
        if exclusive && !is_path {
            return Err(Errno::EXIST);
        }
        let (kind, may_make) = (found.kind(), flags.contains(OFlags::CREATE));
        if kind == FileType::Directory && (writes || flags.contains(OFlags::CREATE)) && !is_path {
            return Err(Errno::ISDIR);
        }
        if kind != FileType::Directory && flags.contains(OFlags::DIRECTORY) && !resolved.is_magic {
            return Err(Errno::NOTDIR);
        }
        flags -= OFlags::CREATE | OFlags::EXCL;
        if is_path {
            return self.open_path_only(caller, path, &resolved, found, flags, cloexec);
        }
        // A disk has no names in it that the server could look up.
        if writes && (self.is_of_system(&found.path) || kind == FileType::BlockDevice && !self.opened_by_rule(&found.path)) {
            return Err(Errno::ROFS);
        }
        if resolved.is_magic || is_kernels(&found.path) {
            if resolved.is_magic && self.link_behind(&resolved.path).is_some() {
                return Err(Errno::LOOP);
            }
            return self.open_kernels(caller, path, &resolved, flags, cloexec);
        }
        match kind {
            FileType::Symlink => Err(Errno::LOOP),
            FileType::RegularFile if !writes && self.is_for_loader(caller, found, asker) => {
                self.record.opened(&found.path, kind);
                // Where the loader could not be changed, the library maps the memory.
                self.index.iter().for_each(|index| index.tell_start(caller.pid, &self.tasks.cwd(caller.pid)));
                if let Some(fd) = self.index.as_ref().and_then(|index| index.libraries.known(&found.stat)) {
                    return Ok(Answer::Fd(fd, cloexec));
                }
                let flags = flags | OFlags::NOFOLLOW;
                let fd = openat(self.view.root(found.place), found.path.relative(), flags, Mode::empty())?;
                let rewritten = self.index.as_mut().and_then(|index| {
                    let rewritten = index.libraries.rewritten(&fd)?;
                    index.tell_library(&found.stat);
                    Some(rewritten)
                });
                Ok(Answer::Fd(rewritten.unwrap_or(fd), cloexec))
            }
            FileType::RegularFile if writes && !self.view.is_through(&found.path) => {
                check_access(self.view.root(found.place), found.path.relative(), flags)?;
                let copied = self.view.copy_up(found, flags.contains(OFlags::TRUNC));
                if flags.contains(OFlags::NONBLOCK) {
                    // It is the caller that is not to wait.
                    self.view.awaited();
                }
                copied?;
                if !flags.contains(OFlags::TRUNC) && !flags.contains(OFlags::WRONLY) {
                    self.record.opened(&found.path, kind);
                }
                if asker.opens(&found.path, false) {
                    return self.made(&found.path, false);
                }
                let found = self.view.find(&found.path)?;
                self.hand_over(&found, flags, cloexec)
            }
            FileType::Fifo | FileType::CharacterDevice if self.contain && writes && !self.is_own(found) => Err(Errno::ACCESS),
            FileType::Fifo if !flags.contains(OFlags::NONBLOCK) && !flags.contains(OFlags::RDWR) => {
                check_access(self.view.root(found.place), found.path.relative(), flags)?;
                Ok(Answer::Later(Box::new(open_held(self.hold(found)?, flags - OFlags::NOFOLLOW, cloexec))))
            }
            FileType::CharacterDevice | FileType::BlockDevice if !self.contain && self.is_plain(path, found) => {
                Ok(Answer::Continue)
            }
            FileType::CharacterDevice if is_terminals(found) => {
                let terminal = terminal_of(caller.tid).ok_or(Errno::NXIO)?;
                Ok(Answer::Fd(openat(CWD, terminal, flags, Mode::empty())?, cloexec))
            }
            // Handing a descriptor over takes the kernel two more switches of threads than opening it there.
            FileType::RegularFile
                if matches!(asker, Asker::Program | Asker::Loader)
                    && !writes
                    && !may_make
                    && !self.contain
                    && self.is_plain(path, found) =>
            {
                self.record.opened(&found.path, kind);
                Ok(Answer::Continue)
            }
            _ => {
                self.record.opened(&found.path, kind);
                self.hand_over(found, flags, cloexec)
            }
        }
    }

    /// Whether what is written there reaches nobody outside: a FIFO of the layer's; null, zero, full, random, urandom, or what makes a
    /// terminal. Any other device is the same one in a layer.
    fn is_own(&self, found: &Found) -> bool {
        let device = (libc::major(found.stat.st_rdev), libc::minor(found.stat.st_rdev));
        let is_own = match found.kind() {
            FileType::CharacterDevice => matches!(device, (1, 3 | 5 | 7 | 8 | 9) | (5, 2)),
            _ => found.place != Place::Host,
        };
        is_own || self.opened_by_rule(&found.path)
    }

    /// A lease's holder gives it up first, and may need the server for that: so a thread waits.
    fn hand_over(&self, found: &Found, flags: OFlags, cloexec: bool) -> Reply {
        let root = self.view.root(found.place);
        let open = |flags| self.untraced(&found.path, || open_no_link(root, found.path.relative(), flags));
        if found.kind() != FileType::RegularFile || flags.contains(OFlags::NONBLOCK) {
            return Ok(Answer::Fd(open(flags)?, cloexec));
        }
        match open(flags | OFlags::NONBLOCK) {
            Err(Errno::AGAIN) => Ok(Answer::Later(Box::new(open_held(self.hold(found)?, flags - OFlags::NOFOLLOW, cloexec)))),
            fd => {
                let fd = fd?;
                fcntl_setfl(&fd, flags)?;
                Ok(Answer::Fd(fd, cloexec))
            }
        }
    }

    /// The very file that was found, whatever its name leads to by the time that a thread opens it or connects to it.
    pub(super) fn hold(&self, found: &Found) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = openat(self.view.root(found.place), found.path.relative(), flags, Mode::empty())?;
        let file = |stat: &Stat| (stat.st_dev, stat.st_ino, FileType::from_raw_mode(stat.st_mode));
        if file(&fstat(&held)?) == file(&found.stat) { Ok(held) } else { Err(Errno::NOENT) }
    }

    /// Tells the emulation library of a file of the topmost layer's, which it opens; and which one, if no other may take its place.
    fn made(&self, path: &TreePath, exclusive: bool) -> Reply {
        let number = if exclusive { self.view.find(path)?.stat.st_ino } else { 0 };
        Ok(Answer::Value((number | layout::MADE) as i64))
    }

    /// Whether the owner of a file that was made with this mode may open it so once more.
    fn may_open(&self, flags: OFlags, mode: Mode) -> bool {
        let reads = !flags.contains(OFlags::WRONLY);
        let needs = if flags.intersects(OFlags::WRONLY | OFlags::RDWR) { Mode::WUSR } else { Mode::empty() };
        self.view.is_root() || mode.contains(needs | if reads { Mode::RUSR } else { Mode::empty() })
    }

    /// Whether the dynamic loader opens the C library: it maps it, and shows it to nobody.
    fn is_for_loader(&mut self, caller: Caller, found: &Found, asker: Asker) -> bool {
        self.index.is_some() && found.path.name() == b"libc.so.6" && (asker == Asker::Loader || self.is_loader(caller))
    }

    /// Whether a dynamic loader makes the call: from a page that is as that of one which did before, or from where the kernel has put it.
    fn is_loader(&mut self, caller: Caller) -> bool {
        const PAGE: u64 = 4096;
        let page = read_bytes(caller.tid, caller.at & !(PAGE - 1), PAGE as usize).unwrap_or_default();
        if self.loader_pages.contains(&page) {
            return true;
        }
        let is_loader = is_at_loader(caller);
        if is_loader && page.len() == PAGE as usize && self.loader_pages.len() < LOADERS {
            self.loader_pages.push(page);
        }
        is_loader
    }

    /// What sets the whole machine: all that is in /sys, and in /proc but for processes.
    pub(super) fn is_of_system(&self, path: &TreePath) -> bool {
        let mut names = path.components();
        let is_of_system = match (names.next(), names.next()) {
            (Some(b"sys"), Some(_)) => true,
            (Some(b"proc"), Some(name)) => !name.iter().all(u8::is_ascii_digit),
            _ => false,
        };
        is_of_system && !self.opened_by_rule(path)
    }

    /// Whether the user lets changes of a name through, beyond what always goes.
    pub(super) fn opened_by_rule(&self, path: &TreePath) -> bool {
        self.view.rules.through.iter().any(|rule| path.is_within(rule) && *rule != TreePath::literal("proc"))
    }

    /// Whether the kernel follows the path to the same file by itself.
    pub(crate) fn is_plain(&self, path: &[u8], found: &Found) -> bool {
        let finds_it = |rest: &[u8]| {
            // It was found by this path.
            rest == found.path.relative() && found.kind() != FileType::Symlink
                || rustix::fs::statat(CWD, path, AtFlags::empty())
                    .is_ok_and(|stat| (stat.st_dev, stat.st_ino) == (found.stat.st_dev, found.stat.st_ino))
        };
        found.place == Place::Host && path.strip_prefix(b"/").is_some_and(finds_it)
    }

    /// A file of /proc, or an object without a name that a link of /proc leads to: it may depend on its opener.
    fn open_kernels(&mut self, caller: Caller, path: &[u8], resolved: &Resolved, flags: OFlags, cloexec: bool) -> Reply {
        // Landlock lets the kernel open nothing to write there; this process would open what is another's.
        let is_for_kernel = (!self.contain || !writes(flags) && !resolved.is_magic)
            && path.starts_with(b"/proc/")
            && !path.windows(2).any(|two| two == b"..");
        if is_for_kernel && !(writes(flags) && resolved.is_magic) {
            return Ok(Answer::Continue);
        }
        // What is open in another process is not for one that has become another user, and is held with the server's rights.
        let is_own_only = self.contain || resolved.is_magic && self.view.caller.is_some();
        if is_own_only && !self.is_of_command(caller, &resolved.path) {
            return Err(Errno::ACCESS);
        }
        let real = resolved.path.absolute();
        if !resolved.is_magic {
            let open = || openat(CWD, real, flags | OFlags::NOFOLLOW, Mode::empty());
            if let Some(_up) = self.elevate_for(caller, &resolved.path) {
                return Ok(Answer::Fd(open()?, cloexec));
            }
            return Ok(Answer::Fd(self.untraced(&resolved.path, open)?, cloexec));
        }
        // The link may lead elsewhere when it is followed again.
        let flags = flags - OFlags::NOFOLLOW;
        let up = self.view.elevate();
        let held = openat(CWD, real, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        drop(up);
        let stat = fstat(&held)?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if writes(flags)
            && (self.contain || is_file)
            && self.is_hosts_file(&held)?
            && !(is_file && self.is_given(caller, &resolved.path, &stat))
        {
            return Err(Errno::ACCESS);
        }
        if is_for_kernel {
            return Ok(Answer::Continue);
        }
        let waits = !is_file && !flags.contains(OFlags::NONBLOCK);
        if waits {
            // The thread has the server's rights.
            check_access(CWD, by_proc(&held).as_bytes(), flags)?;
        }
        let open = open_held(held, flags, cloexec);
        if waits { Ok(Answer::Later(Box::new(open))) } else { open() }
    }

    /// Whether a file is the host's, deleted or not: others may have it open or mapped still.
    pub(super) fn is_hosts_file(&self, held: &OwnedFd) -> Result<bool, Errno> {
        let text = readlinkat(CWD, by_proc(held), Vec::new())?.into_bytes();
        let is_layers =
            |layer: &Layer| TreePath::literal(&text).is_within(&TreePath::literal(layer.dir().as_os_str().as_encoded_bytes()));
        // Pipes and the like have no slash.
        Ok(text.starts_with(b"/") && !text.starts_with(b"/memfd:") && !self.view.layers().iter().any(is_layers))
    }

    /// Whether a name in /proc is of the caller, or of another process of the command's, or of a thread of one.
    pub(crate) fn is_of_command(&self, caller: Caller, path: &TreePath) -> bool {
        let number = path.components().nth(1).and_then(|part| std::str::from_utf8(part).ok()?.parse().ok());
        number.is_some_and(|id: u32| id == caller.pid || self.tasks.nearest(id).is_some())
    }

    /// O_PATH: the kernel hands no such descriptors over, so that one to read stands for it where the kernel doesn't find the name itself; or one to a
    /// file of memory, where it can't be read, or something would come of that.
    fn open_path_only(
        &mut self,
        caller: Caller,
        path: &[u8],
        resolved: &Resolved,
        found: &Found,
        flags: OFlags,
        cloexec: bool,
    ) -> Reply {
        if resolved.is_magic || self.is_plain(path, found) || path.starts_with(b"/proc/") && is_kernels(&found.path) {
            return Ok(Answer::Continue);
        }
        // The descriptor is one to read, which Landlock may keep from the command.
        if self.contain && is_kernels(&found.path) && !self.is_of_command(caller, &found.path) {
            return Err(Errno::ACCESS);
        }
        let flags = (flags - OFlags::PATH) | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let is_read = matches!(found.kind(), FileType::RegularFile | FileType::Directory);
        match if is_read { self.hand_over(found, flags, cloexec) } else { Err(Errno::ACCESS) } {
            Err(Errno::ACCESS | Errno::PERM | Errno::AGAIN) => Ok(Answer::Fd(self.stand_in(found)?, cloexec)),
            reply => reply,
        }
    }

    /// O_TMPFILE: a file of the topmost layer that has no name.
    fn open_unnamed(&mut self, caller: Caller, dir: i32, path: &[u8], flags: OFlags, mode: u32) -> Reply {
        let resolved = self.lookup_bytes(caller, dir, path, true)?;
        let found = resolved.found.ok_or(Errno::NOENT)?;
        if found.kind() != FileType::Directory {
            return Err(Errno::NOTDIR);
        }
        self.may_name(&found.path)?;
        let place = if self.view.is_through(&found.path) {
            Place::Host
        } else {
            let access = Access::WRITE_OK | Access::EXEC_OK;
            accessat(self.view.root(found.place), found.path.relative(), access, AtFlags::EACCESS)?;
            self.view.scaffold(&found.path)?;
            Place::Layer(self.files.len() - 1)
        };
        let mode = self.mode_of_new(caller, &found.path, mode);
        let fd = openat(self.view.root(place), found.path.relative(), flags | OFlags::CLOEXEC, mode)?;
        Ok(Answer::Fd(fd, flags.contains(OFlags::CLOEXEC)))
    }

    /// A path by which this process's kernel finds what is at a name, however long the layer's own is.
    pub(crate) fn real_path(root: BorrowedFd<'_>, path: &TreePath) -> Result<std::ffi::CString, Errno> {
        let mut real = format!("/proc/self/fd/{}/", root.as_raw_fd()).into_bytes();
        real.extend_from_slice(path.relative());
        std::ffi::CString::new(real).map_err(|_| Errno::INVAL)
    }
}

/// Notes whether one of the links was followed that a process has, other than those to its number.
struct Magic<'a> {
    links: ProcLinks<'a>,
    led: Cell<bool>,
}

impl Links for Magic<'_> {
    fn is_readers(&self, path: &TreePath) -> bool {
        self.links.is_readers(path)
    }

    fn target(&self, path: &TreePath) -> Option<Target> {
        let target = self.links.target(path);
        self.led.set(self.led.get() || target.is_some() && path.components().count() > 2);
        target
    }
}

/// What the descriptor would need, of the file as it is now.
fn check_access(dir: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<(), Errno> {
    let mut access = Access::empty();
    if writes(flags) {
        access |= Access::WRITE_OK;
    }
    if !flags.contains(OFlags::WRONLY) {
        access |= Access::READ_OK;
    }
    accessat(dir, path, access, AtFlags::EACCESS)
}

/// Opens a file that is held, once it can be.
fn open_held(held: OwnedFd, flags: OFlags, cloexec: bool) -> impl Fn() -> Reply + Send {
    move || openat(CWD, by_proc(&held), flags, Mode::empty()).map(|fd| Answer::Fd(fd, cloexec))
}

/// Refuses what openat2 refuses, unlike open.
fn check_how(flags: u64, mode: u64, resolve: u64) -> Result<(), Errno> {
    /// O_LARGEFILE, which libc has as 0 on 64-bit machines.
    const LARGE: i32 = if cfg!(target_arch = "aarch64") { 0o400_000 } else { 0o100_000 };
    /// Without O_DIRECTORY.
    const UNNAMED: i32 = libc::O_TMPFILE & !libc::O_DIRECTORY;
    const OF_PATH: i32 = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    const KNOWN: i32 = OF_PATH
        | libc::O_ACCMODE
        | libc::O_CREAT
        | libc::O_EXCL
        | libc::O_NOCTTY
        | libc::O_TRUNC
        | libc::O_APPEND
        | libc::O_NONBLOCK
        | libc::O_SYNC
        | libc::O_ASYNC
        | libc::O_DIRECT
        | libc::O_NOATIME
        | LARGE
        | UNNAMED;
    let has = |flag: i32| flags & flag as u64 != 0;
    let modes = if has(libc::O_CREAT | UNNAMED) { 0o7777 } else { 0 };
    let is_wrong = flags & !(KNOWN as u64) != 0
        || mode & !modes != 0
        || resolve & !RESOLVE_KNOWN != 0
        || resolve & (BENEATH | IN_ROOT) == BENEATH | IN_ROOT
        || has(libc::O_PATH) && flags & !(OF_PATH as u64) != 0
        || has(UNNAMED) && !(has(libc::O_DIRECTORY) && has(libc::O_WRONLY | libc::O_RDWR));
    if is_wrong { Err(Errno::INVAL) } else { Ok(()) }
}

/// A path that ends in a name and a slash, without that.
fn before_slash(path: &[u8]) -> Option<&[u8]> {
    let end = path.iter().rposition(|byte| *byte != b'/')? + 1;
    let is_name = !matches!(path[..end].rsplit(|byte| *byte == b'/').next(), Some(b"." | b".."));
    (end < path.len() && is_name).then(|| &path[..end])
}

fn is_kernels(path: &TreePath) -> bool {
    path.is_within(&TreePath::literal("proc"))
}

fn writes(flags: OFlags) -> bool {
    flags.intersects(OFlags::WRONLY | OFlags::RDWR) || flags.contains(OFlags::TRUNC)
}

/// Whether it is /dev/tty: another one for each session.
fn is_terminals(found: &Found) -> bool {
    (libc::major(found.stat.st_rdev), libc::minor(found.stat.st_rdev)) == (5, 0)
}

/// The terminal that a thread's session has.
fn terminal_of(tid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{tid}/stat")).ok()?;
    // After the name: state, parent, group, session, terminal.
    let device: u32 = stat.rsplit(')').next()?.split_whitespace().nth(4)?.parse().ok()?;
    let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xf_ff00);
    match (major, minor) {
        (136..=143, _) => Some(format!("/dev/pts/{}", (major - 136) * 256 + minor)),
        (4, 0..64) => Some(format!("/dev/tty{minor}")),
        (4, _) => Some(format!("/dev/ttyS{}", minor - 64)),
        _ => None,
    }
}

/// Whether the call comes from where the process's auxiliary vector says that the loader is.
fn is_at_loader(caller: Caller) -> bool {
    const BASE: u64 = 7;
    /// No loader is larger.
    const MOST: u64 = 1 << 20;
    let mut auxv = [0; 1024];
    let path = format!("/proc/{}/auxv", caller.tid);
    let opened = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let count = opened.and_then(|file| rustix::io::read(file, &mut auxv)).unwrap_or(0);
    let word = |part: &[u8]| part.try_into().map_or(0, u64::from_ne_bytes);
    let base = auxv[..count].chunks_exact(16).find(|pair| word(&pair[..8]) == BASE).map(|pair| word(&pair[8..]));
    base.is_some_and(|base| base != 0 && caller.at.wrapping_sub(base) < MOST)
}
