//! Running programs.
//!
//! The kernel reads the path of execve itself. Where it finds the same file by it as the server, it goes on. It looks up a relative path in its own
//! working directory, which is ours for every process: there a link of that name leads to the file while the kernel looks. Any other path is
//! replaced in the caller's memory, for as long as the kernel reads it, by a short one that leads to such a link. That is never longer than the one
//! that it replaces, so that nothing else is touched. A child of vfork has that memory from its parent, which goes on, and may use it for something
//! else, as soon as the program has memory of its own. So it first gets a stub that the kernel can't open until the path is put back.

use crate::{
    calls::{Answer, Reply, Server},
    names::{Object, PATH_MAX},
    stub,
    sys::{self, write_memory},
    tasks::{Caller, memory_of, read_pointers, read_string, read_word},
};
use rustix::{
    fd::AsFd,
    fs::{Access, AtFlags, CWD, FileType, Timespec, Timestamps, accessat, statat, utimensat},
    io::Errno,
};
use slipway_emulator::layout as at;
use slipway_layer::{Found, PlainLinks, TreePath};
use std::{
    collections::HashMap,
    env,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{DirBuilderExt, FileExt, PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Where the link is, in the kernel's working directory. A path that is too short for that is the name of a link beside it, which no program
/// should have in common with these.
const LINKS: &str = "\x01";
const STUB: &str = "\x01stub";
/// The kernel reads no more of a file to see what it is.
const HEAD: usize = 256;
/// Scripts of scripts.
const DEPTH: usize = 4;
/// How long a path may be replaced where the file system doesn't tell that a link was read, and where it does.
const BLIND: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(5);

/// Strings by their numbers.
type Shared = HashMap<u64, Vec<u8>>;

/// What the stub will be told to run.
struct Run {
    program: Vec<u8>,
    /// In place of the first argument: a script's interpreter, its argument, and the script.
    first: Option<Vec<Vec<u8>>>,
    /// Arguments that the replaced path shares memory with, by number; and what of the environment does.
    shared: Shared,
    environment: Shared,
}

/// The kernel's working directory, and scripts that are about to run.
pub(crate) struct Execs {
    pub(crate) dir: PathBuf,
    /// Links tell when they are read.
    is_told: bool,
    /// By process.
    runs: HashMap<u32, Run>,
}

impl Execs {
    /// In this directory, which is empty.
    ///
    /// # Errors
    /// Of making files.
    pub(crate) fn new(dir: &Path) -> io::Result<Self> {
        fs::create_dir(dir.join(LINKS))?;
        fs::write(dir.join(STUB), stub::program())?;
        for (path, mode) in [(dir.join(STUB), 0o755), (dir.join(LINKS), 0o711), (dir.to_owned(), 0o711)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
        }
        let mut execs = Self { dir: dir.to_owned(), is_told: true, runs: HashMap::new() };
        let link = dir.join(LINKS).join("try");
        execs.link(&link, dir.join(STUB).as_os_str())?;
        fs::metadata(&link)?;
        execs.is_told = was_read(&link);
        fs::remove_file(&link)?;
        Ok(execs)
    }

    fn link(&self, link: &Path, to: &OsStr) -> io::Result<()> {
        match symlink(to, link) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(link)?;
                symlink(to, link)?;
            }
            made => made?,
        }
        // Reading it brings this up to date, also where that is done once a day.
        let (never, now) = (Timespec { tv_sec: 1, tv_nsec: 0 }, Timespec { tv_sec: 2, tv_nsec: 0 });
        let times = Timestamps { last_access: never, last_modification: now };
        Ok(utimensat(CWD, link, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Makes the name that a relative path has in the kernel's working directory a link: what is to be removed when the kernel has followed
    /// it, the link first. None where the path leads out of there, or to what is ours.
    fn place(&self, path: &[u8], to: &OsStr) -> io::Result<Option<Vec<PathBuf>>> {
        let mut made = Vec::new();
        let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b".")).collect();
        let Some((last, above)) = names.split_last() else { return Ok(None) };
        if path[0] == b'/' || names.contains(&b"..".as_slice()) || names[0].starts_with(LINKS.as_bytes()) {
            return Ok(None);
        }
        let mut at = self.dir.clone();
        for name in above {
            at.push(OsStr::from_bytes(name));
            match fs::DirBuilder::new().mode(0o711).create(&at) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => made.push(at.clone()),
            }
        }
        at.push(OsStr::from_bytes(last));
        self.link(&at, to)?;
        made.push(at);
        made.reverse();
        Ok(Some(made))
    }

    /// A stub of its own for one program, and a lease on it; none where the file system knows no leases.
    fn held_stub(&self) -> io::Result<Option<(PathBuf, File)>> {
        let path = self.dir.join(LINKS).join(STUB);
        fs::write(&path, stub::program())?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        let file = File::open(&path)?;
        Ok(sys::lease(file.as_fd()).is_ok().then_some((path, file)))
    }

    /// Waits until the kernel has followed a link for a thread, or the thread is gone.
    fn wait_for(&self, link: PathBuf, tid: u32) -> impl FnOnce() + use<> {
        let limit = if self.is_told { PATIENCE } else { BLIND };
        move || wait_until(tid, limit, || was_read(&link))
    }

    pub(crate) fn forget(&mut self, pid: u32) {
        self.runs.remove(&pid);
    }
}

fn was_read(link: &Path) -> bool {
    statat(CWD, link, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| stat.st_atime > 1)
}

/// Waits until something has come about by a thread, or the thread is gone.
fn wait_until(tid: u32, limit: Duration, has_come: impl Fn() -> bool) {
    let start = Instant::now();
    while !has_come() && start.elapsed() < limit && fs::exists(format!("/proc/{tid}/exe")).unwrap_or(false) {
        std::thread::yield_now();
    }
}

/// The interpreter and its argument, from a script's first line.
fn parse_script(head: &[u8]) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = line.trim_ascii();
    let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t' | 0)).unwrap_or(line.len());
    let argument = line[end..].trim_ascii();
    (end > 0).then(|| (line[..end].to_vec(), (!argument.is_empty()).then(|| argument.to_vec())))
}

impl Server {
    pub(crate) fn exec(&mut self, caller: Caller, dir: i32, address: u64, (argv, envp): (u64, u64), flags: i32) -> Reply {
        // The new program knows of no children, and may end without a call of the server.
        if self.index.is_some() {
            self.tasks.ends(caller.pid);
        }
        let path = read_string(caller.tid, address, PATH_MAX)?;
        if path.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
            match self.object(caller, dir) {
                Ok(Object::Named(name, _)) => self.record.ran(&name),
                Err(Errno::STALE) => return Err(Errno::STALE),
                _ => {}
            }
            return Ok(Answer::Continue);
        }
        let resolved = self.lookup_to_read(caller, dir, &path, flags & libc::AT_SYMLINK_NOFOLLOW == 0)?;
        if resolved.is_magic {
            // /proc/self/fd/N of a file without a name, such as a memfd.
            return Ok(Answer::Continue);
        }
        let found = resolved.found.ok_or(Errno::NOENT)?;
        let head = self.head(&found)?;
        self.record.ran(&found.path);
        let is_relative = dir != libc::AT_FDCWD && path.first() != Some(&b'/');
        let is_plain = if is_relative {
            // The kernel goes from the caller's descriptor, which no short path can lead away from.
            let real = [format!("/proc/{}/fd/{dir}/", caller.tid).as_bytes(), &path].concat();
            if !self.is_plain(&real, &found) {
                return Err(Errno::NOEXEC);
            }
            return Ok(Answer::Continue);
        } else {
            self.is_plain(&by_number(caller, &path), &found)
        };
        let script = parse_script(&head);
        match &script {
            None if is_plain => return Ok(Answer::Continue),
            None if !head.starts_with(b"\x7fELF") => return Err(Errno::NOEXEC),
            _ => {}
        }
        let is_for_kernel = match &script {
            Some((interpreter, _)) => self.find_interpreter(caller, interpreter, 0)?,
            None => true,
        };
        if is_for_kernel && is_plain {
            return Ok(Answer::Continue);
        }
        if is_for_kernel && let Some(answer) = self.exec_by_link(caller, &path, &real_name(self, &found))? {
            return Ok(answer);
        }
        // For the stub, a link of its own process would lead to itself.
        let program = if self.has_magic(caller, dir, &path, true)? { found.path.absolute() } else { path.clone() };
        let shared = shared_strings(caller, address, path.len(), argv)?;
        let environment = shared_strings(caller, address, path.len(), envp)?;
        let returns = !is_of_library(caller) && self.tasks.shares_memory(caller.pid);
        let run = match script {
            None if shared.is_empty() && environment.is_empty() && !returns => {
                let real = real_name(self, &found);
                return self.exec_as(caller, address, &path, &real, None);
            }
            None => Run { program, first: None, shared, environment },
            Some((interpreter, argument)) => {
                // The interpreter opens it by the name that it is told.
                let first = [Some(interpreter.clone()), argument, Some(path.clone())].into_iter().flatten().collect();
                Run { program: interpreter, first: Some(first), shared, environment }
            }
        };
        self.execs.runs.insert(caller.pid, run);
        let up = self.view.elevate();
        let held = if returns { self.execs.held_stub().map_err(|_| Errno::ACCESS)? } else { None };
        let stub = held.as_ref().map_or_else(|| self.execs.dir.join(STUB), |(stub, _)| stub.clone());
        drop(up);
        self.exec_as(caller, address, &path, stub.as_os_str().as_bytes(), held)
    }

    /// What a program's name means in PATH, as execvp(3) finds it, without a call for each directory that has no such name. None where that can't
    /// be told.
    pub(crate) fn in_path(&mut self, name: &OsStr) -> Option<OsString> {
        let dirs = env::var_os("PATH").filter(|_| !name.is_empty() && !name.as_bytes().contains(&b'/'))?;
        for dir in dirs.as_bytes().split(|byte| *byte == b':') {
            let path = [dir, b"/", name.as_bytes()].concat();
            // What is there depends on the process that looks.
            if dir.first() != Some(&b'/') || dir.starts_with(b"/proc") {
                return None;
            }
            let resolved = self.view.resolve(&TreePath::root(), &path, true, &PlainLinks);
            self.record.looked(&resolved, &TreePath::root(), &path);
            match resolved {
                Ok(resolved) if resolved.found.is_none() => {}
                Ok(_) => return Some(OsString::from_vec(path)),
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(_) => return None,
            }
        }
        None
    }

    /// What the file begins with, if it may be executed.
    fn head(&self, found: &Found) -> Result<Vec<u8>, Errno> {
        if found.kind() != FileType::RegularFile {
            return Err(Errno::ACCESS);
        }
        let root = self.view.root(found.place);
        accessat(root, found.path.relative(), Access::EXEC_OK, AtFlags::EACCESS)?;
        let mut head = [0; HEAD];
        match self.view.open_to_read(found) {
            Ok(fd) => {
                let count = rustix::io::pread(fd, &mut head, 0)?;
                Ok(head[..count].to_vec())
            }
            // It may be executed and not read: the kernel knows what it is.
            Err(Errno::ACCESS) => Ok(b"\x7fELF".to_vec()),
            Err(error) => Err(error),
        }
    }

    /// Whether the kernel finds a script's interpreter, and its, as the server does.
    ///
    /// # Errors
    /// It can't be executed.
    fn find_interpreter(&mut self, caller: Caller, path: &[u8], depth: usize) -> Result<bool, Errno> {
        if depth > DEPTH {
            return Err(Errno::LOOP);
        }
        let resolved = self.lookup_to_read(caller, libc::AT_FDCWD, path, true)?;
        let found = resolved.found.ok_or(Errno::NOENT)?;
        let head = self.head(&found)?;
        self.record.ran(&found.path);
        let is_plain = self.is_plain(path, &found);
        match parse_script(&head) {
            Some((next, _)) => Ok(self.find_interpreter(caller, &next, depth + 1)? && is_plain),
            None => Ok(is_plain),
        }
    }

    /// Has the kernel find `real` by the path as it is, if that can be.
    fn exec_by_link(&mut self, caller: Caller, path: &[u8], real: &[u8]) -> Result<Option<Answer>, Errno> {
        let _up = self.view.elevate();
        let Some(made) = self.execs.place(path, OsStr::from_bytes(real)).map_err(|_| Errno::ACCESS)? else { return Ok(None) };
        let wait = self.execs.wait_for(made[0].clone(), caller.tid);
        Ok(Some(Answer::ContinueThen(Box::new(move || {
            wait();
            let _ = fs::remove_file(&made[0]);
            made[1..].iter().for_each(|dir| drop(fs::remove_dir(dir)));
        }))))
    }

    /// Has the kernel execute `real` in place of the path at the address, which is put back before `real` can be opened if that is `held`.
    fn exec_as(&mut self, caller: Caller, address: u64, path: &[u8], real: &[u8], held: Option<(PathBuf, File)>) -> Reply {
        let name = TreePath::literal(path).name().to_vec();
        let name = if name.is_empty() || name == b".." { b"x".to_vec() } else { name };
        let mut short = [LINKS.as_bytes(), b"/", &name].concat();
        if short.len() > path.len() {
            short = name[..name.len().min(path.len())].to_vec();
        }
        let link = self.execs.dir.join(OsStr::from_bytes(&short));
        let _up = self.view.elevate();
        self.execs.link(&link, OsStr::from_bytes(real)).map_err(|_| Errno::ACCESS)?;
        // Opened before the program gets memory of its own: what it had may be another process's, too.
        let memory = memory_of(caller.tid).map_err(|_| Errno::ACCESS)?;
        let with_zero = [short.as_slice(), b"\0"].concat();
        memory.write_all_at(&with_zero, address).map_err(|_| Errno::ACCESS)?;
        let old = [&path[..short.len()], path.get(short.len()..=short.len()).unwrap_or(b"\0")].concat();
        let wait = self.execs.wait_for(link.clone(), caller.tid);
        Ok(Answer::ContinueThen(Box::new(move || {
            match &held {
                Some((_, stub)) => wait_until(caller.tid, PATIENCE, || sys::is_lease_awaited(stub.as_fd())),
                None => wait(),
            }
            if !is_of_library(caller) {
                let _ = memory.write_all_at(&old, address);
            }
            let _ = fs::remove_file(&link);
            held.iter().for_each(|(stub, _)| drop(fs::remove_file(stub)));
        })))
    }

    /// The stub asks what to run: the interpreter's path is put at the start of the buffer, then the strings and the arguments, whose offset
    /// is returned.
    pub(crate) fn script(&mut self, caller: Caller, buffer: u64, size: u64, stack: u64) -> Reply {
        let run = self.execs.runs.remove(&caller.pid).ok_or(Errno::BADF)?;
        let count = read_word(caller.tid, stack)?;
        let mut bytes = [run.program.as_slice(), b"\0"].concat();
        let mut arguments = Vec::new();
        let mut put = |text: &[u8]| {
            let at = buffer + bytes.len() as u64;
            bytes.extend_from_slice(text);
            bytes.push(0);
            at
        };
        let kept = u64::from(run.first.is_some());
        arguments.extend(run.first.iter().flatten().map(|text| put(text)));
        for at in kept..count {
            arguments.push(match run.shared.get(&at) {
                Some(text) => put(text),
                None => read_word(caller.tid, stack + 8 + 8 * at)?,
            });
        }
        arguments.push(0);
        let environment: Vec<(u64, u64)> = run.environment.iter().map(|(at, text)| (*at, put(text))).collect();
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let offset = bytes.len() as i64;
        arguments.iter().for_each(|pointer| bytes.extend_from_slice(&pointer.to_ne_bytes()));
        if bytes.len() as u64 > size {
            return Err(Errno::TOOBIG);
        }
        write_memory(caller.tid, buffer, &bytes)?;
        // The stub's own environment comes after its arguments.
        for (at, pointer) in environment {
            write_memory(caller.tid, stack + 8 * (count + 2 + at), &pointer.to_ne_bytes())?;
        }
        Ok(Answer::Value(offset))
    }
}

/// A path that means the same here as for the caller: /proc has links to the process that looks.
fn by_number(caller: Caller, path: &[u8]) -> Vec<u8> {
    let Caller { tid, pid, .. } = caller;
    let own = [("/proc/self/", format!("/proc/{pid}/")), ("/proc/thread-self/", format!("/proc/{pid}/task/{tid}/"))];
    let found = own.iter().find_map(|(link, to)| Some([to.as_bytes(), path.strip_prefix(link.as_bytes())?].concat()));
    found.unwrap_or_else(|| path.to_vec())
}

/// Whether it is the emulation library's call, whose path is a copy that nothing else reads.
fn is_of_library(caller: Caller) -> bool {
    (at::BASE..at::BASE + at::TEXT_SIZE).contains(&caller.at)
}

/// The arguments, or strings of the environment, that lie where the path does: a shell's first argument is often the path itself.
fn shared_strings(caller: Caller, address: u64, len: usize, argv: u64) -> Result<Shared, Errno> {
    let mut shared = HashMap::new();
    if argv == 0 {
        return Ok(shared);
    }
    for (at, pointer) in read_pointers(caller.tid, argv)?.into_iter().enumerate() {
        // One that begins before the path may reach into it.
        if pointer <= address + len as u64 && pointer + PATH_MAX as u64 > address {
            match read_string(caller.tid, pointer, PATH_MAX) {
                Ok(text) if pointer + (text.len() as u64) < address => {}
                text => {
                    shared.insert(at as u64, text?);
                }
            }
        }
    }
    Ok(shared)
}

/// What a file is called on the host.
fn real_name(server: &Server, found: &Found) -> Vec<u8> {
    match found.place {
        slipway_layer::Place::Host => found.path.absolute(),
        slipway_layer::Place::Layer(index) => [server.files[index].absolute().as_slice(), b"/", found.path.relative()].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines() {
        assert_eq!(parse_script(b"#! /bin/sh -e x \nrest"), Some((b"/bin/sh".to_vec(), Some(b"-e x".to_vec()))));
        assert_eq!(parse_script(b"#!/bin/sh\n"), Some((b"/bin/sh".to_vec(), None)));
        assert_eq!(parse_script(b"#!\n"), None);
        assert_eq!(parse_script(b"\x7fELF"), None);
    }

    #[test]
    fn the_stub_is_a_program() {
        let dir = tempfile::tempdir().expect("directory");
        let execs = Execs::new(dir.path()).expect("links");
        assert!(execs.runs.is_empty());
        // Without a server it is told nothing, and says so.
        let ended = std::process::Command::new(dir.path().join(STUB)).status().expect("execute the stub");
        assert_eq!(ended.code(), Some(126));
    }
}
