//! The processes in the net: which thread is whose, working directories, which the kernel doesn't know, and masks of modes, which it tells
//! too slowly.
//!
//! The kernel's own working directory of every process is one of ours, and never changes. A new process has its parent's directory as it was
//! when it was made, and its mask; so before a process changes one of them, or ends, its children are entered.

use crate::sys;
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{Mode, OFlags},
    io::Errno,
    process::{Pid, PidfdFlags, pidfd_open},
};
use slipway_layer::TreePath;
use std::{collections::HashMap, fs, io};

/// A process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) cwd: TreePath,
    /// The mask of modes of new files.
    umask: u32,
    /// Readable when it has ended.
    pub(crate) pidfd: OwnedFd,
}

/// A thread that has made a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) tid: u32,
    /// Its process.
    pub(crate) pid: u32,
    /// The address after the call's instruction.
    pub(crate) at: u64,
}

/// Those that are known.
#[derive(Debug)]
pub(crate) struct Tasks {
    processes: HashMap<u32, Process>,
    /// Threads that are not the first of their process.
    threads: HashMap<u32, u32>,
    /// Where the command was started, and its mask.
    start: (TreePath, u32),
    /// Those that were entered since this was looked at.
    pub(crate) entered: Vec<u32>,
}

/// The status of a process or thread, in two calls of the kernel.
///
/// # Errors
/// ESRCH: it is gone; those of open.
pub(crate) fn status(id: u32) -> Result<String, Errno> {
    let mut bytes = vec![0; 16 << 10];
    let file = rustix::fs::open(format!("/proc/{id}/status"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let file = file.map_err(|error| if error == Errno::NOENT { Errno::SRCH } else { error })?;
    let count = rustix::io::read(&file, &mut bytes)?;
    bytes.truncate(count);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A number of a status.
fn field(status: &str, name: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

/// The parent of a process that is there.
fn parent(pid: u32) -> Option<u32> {
    field(&status(pid).ok()?, "PPid:")
}

/// Whether a process is `ancestor`, its child, or below that.
pub(crate) fn descends(pid: u32, ancestor: u32) -> bool {
    std::iter::successors(Some(pid), |pid| parent(*pid)).take_while(|pid| *pid > 1).any(|pid| pid == ancestor)
}

fn open_process(pid: u32) -> Result<OwnedFd, Errno> {
    pidfd_open(Pid::from_raw(pid.cast_signed()).ok_or(Errno::SRCH)?, PidfdFlags::empty())
}

/// A thread, whose descriptors are its process's also when that one's first thread has ended. Before Linux 6.9 there is no such descriptor.
pub(crate) fn open_thread(tid: u32) -> Result<OwnedFd, Errno> {
    let of_a_thread = PidfdFlags::from_bits_retain(libc::O_EXCL as u32);
    pidfd_open(Pid::from_raw(tid.cast_signed()).ok_or(Errno::SRCH)?, of_a_thread)
}

impl Tasks {
    pub(crate) fn new(start: TreePath) -> Self {
        Self { processes: HashMap::new(), threads: HashMap::new(), start: (start, 0o022), entered: Vec::new() }
    }

    /// The command is started with this mask.
    pub(crate) fn start_with(&mut self, umask: u32) {
        self.start.1 = umask;
    }

    /// The process of a thread, which is entered if it is new.
    ///
    /// # Errors
    /// ESRCH if it is gone; EMFILE and ENFILE where the server can't have more descriptors.
    pub(crate) fn caller(&mut self, tid: u32, at: u64) -> Result<Caller, Errno> {
        if self.processes.contains_key(&tid) {
            return Ok(Caller { tid, pid: tid, at });
        }
        if let Some(pid) = self.threads.get(&tid)
            && fs::exists(format!("/proc/{pid}/task/{tid}")).unwrap_or(false)
        {
            return Ok(Caller { tid, pid: *pid, at });
        }
        // There is one of a process's first thread only.
        let opened = open_process(tid);
        if let Err(error @ (Errno::MFILE | Errno::NFILE)) = opened {
            return Err(error);
        }
        if let Ok(pidfd) = opened
            && let Some(parent) = sys::parent_of(pidfd.as_fd())
        {
            let inherited = self.inherited(Some(parent));
            self.insert(tid, inherited, pidfd);
            return Ok(Caller { tid, pid: tid, at });
        }
        let status = status(tid)?;
        let pid = field(&status, "Tgid:").ok_or(Errno::SRCH)?;
        if pid != tid {
            self.threads.insert(tid, pid);
        }
        if !self.processes.contains_key(&pid) {
            let inherited = self.inherited(field(&status, "PPid:"));
            self.enter(pid, inherited)?;
        }
        Ok(Caller { tid, pid, at })
    }

    /// The directory and the mask of the nearest process that is known, from this one upwards.
    fn inherited(&self, mut parent: Option<u32>) -> (TreePath, u32) {
        while let Some(pid) = parent.filter(|pid| *pid > 1 && *pid != std::process::id()) {
            if let Some(process) = self.processes.get(&pid) {
                return (process.cwd.clone(), process.umask);
            }
            parent = self::parent(pid);
        }
        self.start.clone()
    }

    fn enter(&mut self, pid: u32, inherited: (TreePath, u32)) -> Result<(), Errno> {
        self.insert(pid, inherited, open_process(pid)?);
        Ok(())
    }

    fn insert(&mut self, pid: u32, (cwd, umask): (TreePath, u32), pidfd: OwnedFd) {
        self.processes.insert(pid, Process { cwd, umask, pidfd });
        self.entered.push(pid);
    }

    pub(crate) fn get(&self, pid: u32) -> Option<&Process> {
        self.processes.get(&pid)
    }

    /// The process of a thread that has made a call.
    pub(crate) fn process_of(&self, tid: u32) -> Option<&Process> {
        self.get(self.threads.get(&tid).copied().unwrap_or(tid))
    }

    /// The directory of the process that a number of a process or of a thread means, if it is one of the command's; of one that has made no call, that of
    /// the nearest above it.
    pub(crate) fn nearest(&self, mut id: u32) -> Option<&TreePath> {
        // One that was known may be gone, and its number another's.
        let known = |id| self.get(id).filter(|process| sys::is_there(process.pidfd.as_fd()));
        let mut found = known(id);
        while found.is_none() && id > 1 {
            let status = status(id).ok()?;
            found = known(field(&status, "Tgid:")?);
            id = field(&status, "PPid:")?;
            // Those between have ended: with another directory they would have had it entered.
            if found.is_none() && id == std::process::id() {
                return Some(&self.start.0);
            }
        }
        found.map(|process| &process.cwd)
    }

    pub(crate) fn cwd(&self, pid: u32) -> TreePath {
        self.processes.get(&pid).map_or_else(|| self.start.0.clone(), |process| process.cwd.clone())
    }

    /// The mask of modes of new files.
    pub(crate) fn umask(&self, pid: u32) -> u32 {
        self.processes.get(&pid).map_or(self.start.1, |process| process.umask)
    }

    /// Changes it. Children that are not known have the old one.
    pub(crate) fn set_umask(&mut self, pid: u32, umask: u32) {
        if self.umask(pid) != umask & 0o777 {
            self.adopt_children(pid);
        }
        if let Some(process) = self.processes.get_mut(&pid) {
            process.umask = umask & 0o777;
        }
    }

    /// Whether a process may have its memory in common with its parent.
    pub(crate) fn shares_memory(&self, pid: u32) -> bool {
        let parent = self.get(pid).and_then(|process| sys::parent_of(process.pidfd.as_fd()));
        let parent = parent.or_else(|| self::parent(pid));
        parent.is_none_or(|parent| sys::may_share_memory(pid, parent))
    }

    /// A process ends: what is not known has the directory and the mask that the command was started with, and its children may have others.
    pub(crate) fn ends(&mut self, pid: u32) {
        if (self.cwd(pid), self.umask(pid)) != self.start {
            self.adopt_children(pid);
        }
    }

    /// Enters the children of a process that are not known, and theirs.
    pub(crate) fn adopt_children(&mut self, pid: u32) {
        let inherited = (self.cwd(pid), self.umask(pid));
        let mut parents = vec![pid];
        while let Some(parent) = parents.pop() {
            let Ok(tasks) = fs::read_dir(format!("/proc/{parent}/task")) else { continue };
            for task in tasks.flatten() {
                let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
                for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
                    if !self.processes.contains_key(&child) && self.enter(child, inherited.clone()).is_ok() {
                        parents.push(child);
                    }
                }
            }
        }
    }

    /// Changes a process's working directory.
    pub(crate) fn change_dir(&mut self, pid: u32, to: TreePath) {
        self.adopt_children(pid);
        if let Some(process) = self.processes.get_mut(&pid) {
            process.cwd = to;
        }
    }

    /// Renames working directories that are within a directory that was renamed: a pair of its names, or two where directories were exchanged.
    pub(crate) fn renamed(&mut self, moves: &[(&TreePath, &TreePath)]) {
        let pids: Vec<u32> = self.processes.keys().copied().collect();
        for pid in pids {
            let cwd = self.cwd(pid);
            if moves.iter().any(|(from, _)| cwd.is_within(from)) {
                self.adopt_children(pid);
            }
        }
        for process in self.processes.values_mut() {
            if let Some(new) = moves.iter().find_map(|(from, to)| Some(to.join(process.cwd.below(from)?))) {
                process.cwd = new;
            }
        }
    }

    /// A process ended.
    pub(crate) fn remove(&mut self, pid: u32) {
        self.processes.remove(&pid);
        self.threads.retain(|_, process| *process != pid);
    }
}

/// A path that a thread gave: up to its zero.
///
/// # Errors
/// EFAULT, ENAMETOOLONG.
pub(crate) fn read_string(tid: u32, address: u64, limit: usize) -> Result<Vec<u8>, Errno> {
    const PAGE: usize = 4096;
    let mut bytes = Vec::new();
    while bytes.len() < limit {
        let start = bytes.len();
        let at = address + start as u64;
        // The string may end just before a page that is not there.
        let count = PAGE - at as usize % PAGE;
        bytes.resize(start + if start == 0 { count.min(256) } else { count }, 0);
        let count = sys::read_memory(tid, at, &mut bytes[start..])?;
        bytes.truncate(start + count);
        if let Some(end) = bytes[start..].iter().position(|byte| *byte == 0) {
            bytes.truncate(start + end);
            return if bytes.len() < limit { Ok(bytes) } else { Err(Errno::NAMETOOLONG) };
        }
    }
    Err(Errno::NAMETOOLONG)
}

/// So many bytes.
///
/// # Errors
/// EFAULT.
pub(crate) fn read_bytes(tid: u32, address: u64, count: usize) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; count];
    let mut done = 0;
    while done < count {
        done += sys::read_memory(tid, address + done as u64, &mut bytes[done..])?;
    }
    Ok(bytes)
}

/// A 64-bit number.
///
/// # Errors
/// EFAULT.
pub(crate) fn read_word(tid: u32, address: u64) -> Result<u64, Errno> {
    let bytes = read_bytes(tid, address, 8)?;
    Ok(u64::from_ne_bytes(bytes.try_into().map_err(|_| Errno::FAULT)?))
}

/// Pointers up to a null one, a page at a time.
///
/// # Errors
/// EFAULT; E2BIG for more than the kernel takes.
pub(crate) fn read_pointers(tid: u32, address: u64) -> Result<Vec<u64>, Errno> {
    const MOST: usize = 1 << 22;
    let mut pointers = Vec::new();
    let mut at = address;
    while pointers.len() < MOST {
        // Whole ones, to the end of the page, or the one that lies across it.
        let chunk = read_bytes(tid, at, ((4096 - at as usize % 4096) / 8 * 8).max(8))?;
        for word in chunk.chunks_exact(8) {
            match u64::from_ne_bytes(word.try_into().map_err(|_| Errno::FAULT)?) {
                0 => return Ok(pointers),
                pointer => pointers.push(pointer),
            }
        }
        at += chunk.len() as u64;
    }
    Err(Errno::TOOBIG)
}

/// A thread's memory, to be read, and written also where the thread itself may only read: `/proc/N/mem` can. It stays the same memory when the thread
/// executes a program.
///
/// # Errors
/// Those of open.
pub(crate) fn memory_of(tid: u32) -> io::Result<fs::File> {
    fs::OpenOptions::new().read(true).write(true).open(format!("/proc/{tid}/mem"))
}
