//! Working directories, and listing directories.

use super::{Answer, Reply, Server};
use crate::{
    names::Object,
    sys::{add_watch, by_proc, write_memory},
    tasks::{Caller, open_thread},
};
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{Access, AtFlags, FileType, SeekFrom, accessat, seek},
    io::Errno,
    process::{PidfdGetfdFlags, pidfd_getfd},
};
use slipway_emulator::layout as at;
use slipway_layer::{Entry, Place, TreePath};
use std::{collections::HashMap, ffi::CString};

/// Listings that are being read, by process and descriptor. Where a reader is, is the descriptor's own position.
#[derive(Debug, Default)]
pub(crate) struct Listings(HashMap<(u32, i32), (TreePath, Vec<Entry>)>);

impl Listings {
    pub(crate) fn forget(&mut self, pid: u32) {
        self.0.retain(|(owner, _), _| *owner != pid);
    }
}

/// Bytes of `struct linux_dirent64` and of the older `struct linux_dirent` before the name.
const HEADER: usize = 19;
const OLD_HEADER: usize = 18;

impl Server {
    pub(super) fn getcwd(&mut self, caller: Caller, buffer: u64, size: u64) -> Reply {
        let cwd = self.tasks.cwd(caller.pid);
        self.view.find(&cwd)?;
        let mut path = cwd.absolute();
        path.push(0);
        if path.len() as u64 > size {
            return Err(Errno::RANGE);
        }
        write_memory(caller.tid, buffer, &path)?;
        Ok(Answer::Value(path.len() as i64))
    }

    pub(super) fn chdir(&mut self, caller: Caller, path: u64) -> Reply {
        let resolved = self.lookup(caller, libc::AT_FDCWD, path, true)?;
        self.enter_dir(caller, &resolved.path)
    }

    pub(super) fn fchdir(&mut self, caller: Caller, fd: i32) -> Reply {
        let path = self.base(caller, fd)?;
        self.enter_dir(caller, &path)
    }

    fn enter_dir(&mut self, caller: Caller, path: &TreePath) -> Reply {
        let up = self.elevate_for(caller, path);
        let found = self.view.find(path)?;
        if found.kind() != FileType::Directory {
            return Err(Errno::NOTDIR);
        }
        accessat(self.view.root(found.place), path.relative(), Access::EXEC_OK, AtFlags::EACCESS)?;
        drop(up);
        self.tasks.change_dir(caller.pid, path.clone());
        self.index.iter().for_each(|index| index.moved(Some(caller.pid)));
        Ok(Answer::Value(0))
    }

    /// The caller's descriptor, here.
    ///
    /// # Errors
    /// EBADF, also for a number that none can have; ESRCH.
    pub(crate) fn fetch(&self, caller: Caller, fd: i32) -> Result<OwnedFd, Errno> {
        if fd < 0 {
            return Err(Errno::BADF);
        }
        if caller.tid != caller.pid
            && let Ok(thread) = open_thread(caller.tid)
        {
            return pidfd_getfd(thread.as_fd(), fd, PidfdGetfdFlags::empty());
        }
        let process = self.tasks.get(caller.pid).ok_or(Errno::SRCH)?;
        pidfd_getfd(process.pidfd.as_fd(), fd, PidfdGetfdFlags::empty())
    }

    pub(super) fn getdents(&mut self, caller: Caller, fd: i32, buffer: u64, size: u32, is_old: bool) -> Reply {
        let key = (caller.pid, fd);
        let path = match self.object(caller, fd)? {
            Object::StandIn(_) => return Err(Errno::BADF),
            Object::Named(path, _) if self.view.is_touched(&path) => path,
            Object::Named(path, _) if self.view.rules.hidden.iter().any(|hidden| hidden.parent() == path) => path,
            _ => return Ok(Answer::Continue),
        };
        let open = self.fetch(caller, fd)?;
        let position = match seek(&open, SeekFrom::Current(0))? {
            0 => 0,
            ours if ours & !at::LIST_NUMBER == at::LIST_OURS => ours & at::LIST_NUMBER,
            ours if ours & !at::LIST_NUMBER == at::LIST_OURS | at::LIST_END => return Ok(Answer::Value(0)),
            _ => return Ok(Answer::Continue),
        };
        if position == 0 || self.listings.0.get(&key).is_none_or(|(of, _)| *of != path) {
            if self.view.find(&path)?.kind() != FileType::Directory {
                return Err(Errno::NOTDIR);
            }
            let mut entries = Vec::new();
            for (name, of) in [(b".".as_slice(), path.clone()), (b"..", path.parent())] {
                let ino = self.view.find(&of).map_or(1, |found| self.view.shown(&found).st_ino);
                entries.push(Entry { name: name.to_vec(), kind: FileType::Directory, ino });
            }
            entries.extend(self.view.list(&path)?);
            self.listings.0.insert(key, (path, entries));
        }
        let entries = self.listings.0.get(&key).map_or(&[][..], |(_, entries)| entries);
        let mut bytes = Vec::new();
        let mut next = position as usize;
        while let Some(entry) = entries.get(next) {
            if !put_entry(&mut bytes, entry, at::LIST_OURS | (next as u64 + 1), size as usize, is_old) {
                if bytes.is_empty() {
                    return Err(Errno::INVAL);
                }
                break;
            }
            next += 1;
        }
        write_memory(caller.tid, buffer, &bytes)?;
        let is_end = next >= entries.len();
        seek(&open, SeekFrom::Start(at::LIST_OURS | next as u64 | if is_end { at::LIST_END } else { 0 }))?;
        if is_end {
            self.listings.0.remove(&key);
        }
        Ok(Answer::Value(bytes.len() as i64))
    }

    /// inotify_add_watch: a directory of the tree is watched where it changes, in the topmost layer.
    pub(super) fn watch(&mut self, caller: Caller, fd: i32, path: u64, mask: u32) -> Reply {
        let follow = mask & libc::IN_DONT_FOLLOW == 0;
        let resolved = self.lookup(caller, libc::AT_FDCWD, path, follow)?;
        let mut found = resolved.found.ok_or(Errno::NOENT)?;
        let changes = !self.view.is_through(&found.path) && !self.view.rules.read_only;
        if changes && found.kind() == FileType::Directory {
            self.view.scaffold(&found.path)?;
            found.place = Place::Layer(self.files.len() - 1);
        }
        let open = self.fetch(caller, fd)?;
        if resolved.is_magic {
            // The caller's right to what is open counts, and not that to the link.
            let held = self.hold_link(caller, &found.path)?;
            let path = CString::new(by_proc(&held)).map_err(|_| Errno::INVAL)?;
            return add_watch(open.as_fd(), &path, mask).map(Answer::Value);
        }
        let real = Self::real_path(self.view.root(found.place), &found.path)?;
        let _up = self.elevate_for(caller, &found.path).filter(|_| found.kind() == FileType::Directory);
        add_watch(open.as_fd(), &real, mask).map(Answer::Value)
    }
}

/// Appends an entry if there is room for it.
fn put_entry(bytes: &mut Vec<u8>, entry: &Entry, next: u64, size: usize, is_old: bool) -> bool {
    let kind = match entry.kind {
        FileType::Fifo => libc::DT_FIFO,
        FileType::CharacterDevice => libc::DT_CHR,
        FileType::Directory => libc::DT_DIR,
        FileType::BlockDevice => libc::DT_BLK,
        FileType::RegularFile => libc::DT_REG,
        FileType::Symlink => libc::DT_LNK,
        FileType::Socket => libc::DT_SOCK,
        FileType::Unknown => libc::DT_UNKNOWN,
    };
    let header = if is_old { OLD_HEADER } else { HEADER };
    // The older one has its type after the name's zero.
    let len = (header + entry.name.len() + 1 + usize::from(is_old)).next_multiple_of(8);
    if bytes.len() + len > size {
        return false;
    }
    let end = bytes.len() + len;
    bytes.extend_from_slice(&entry.ino.to_ne_bytes());
    bytes.extend_from_slice(&next.to_ne_bytes());
    bytes.extend_from_slice(&(len as u16).to_ne_bytes());
    if !is_old {
        bytes.push(kind);
    }
    bytes.extend_from_slice(&entry.name);
    bytes.resize(end, 0);
    if is_old {
        bytes[end - 1] = kind;
    }
    true
}
