//! C libraries with the emulation library's jumps in them, made once of each file.

use rustix::{
    fd::{AsRawFd, OwnedFd},
    fs::{MemfdFlags, Mode, OFlags, Stat, fstat, memfd_create, open},
    io::Errno,
};
use serde::{Deserialize, Serialize};
use slipway_emulator::loader::{self, Look, Patch};
use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
};

const LIBRARY: &str = ".libc-";
/// What all may read.
const ALL: u32 = 0o444;

/// A file's device, number, size and time.
type Key = (u64, u64, i64, i64);

/// The rewritten libraries of a server.
#[derive(Debug)]
pub(crate) struct Libraries {
    /// None: it can't be rewritten.
    made: HashMap<Key, Option<OwnedFd>>,
    /// Where they are kept.
    store: PathBuf,
}

impl Libraries {
    /// Kept in this directory.
    pub(crate) fn new(store: PathBuf) -> Self {
        Self { made: HashMap::new(), store }
    }

    /// Where they are kept.
    pub(crate) fn store(&self) -> &Path {
        &self.store
    }

    /// A file that was looked at, rewritten, if that was done before, and all may read it.
    pub(crate) fn known(&self, stat: &Stat) -> Option<OwnedFd> {
        let made = self.made.get(&key(stat)).filter(|_| stat.st_mode & ALL == ALL)?;
        one_more(made.as_ref()?)
    }

    /// Where the rewritten library of a file is that was looked at, if all may read the file, and it is kept.
    pub(crate) fn place(&self, stat: &Stat) -> Option<PathBuf> {
        let place = place(&self.store, key(stat)).filter(|_| stat.st_mode & ALL == ALL)?;
        place.exists().then_some(place)
    }

    /// The C library that the descriptor is open on, rewritten: a descriptor to read it.
    pub(crate) fn rewritten(&mut self, fd: &OwnedFd) -> Option<OwnedFd> {
        let key = key(&fstat(fd).ok()?);
        let made = self.made.entry(key).or_insert_with(|| kept(&self.store, key, fd).or_else(|| in_memory(&rewritten(fd)?)));
        one_more(made.as_ref()?)
    }
}

#[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ between machines")]
fn key(stat: &Stat) -> Key {
    (stat.st_dev as u64, stat.st_ino as u64, stat.st_size as i64, stat.st_mtime as i64)
}

/// A descriptor of the same file with a position of its own.
fn one_more(made: &OwnedFd) -> Option<OwnedFd> {
    open(format!("/proc/self/fd/{}", made.as_raw_fd()), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// What is known of the dynamic loader of most programs.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Loader {
    /// How it looks at what it has opened.
    pub(crate) look: Option<Look>,
    /// What has it open files by the emulation library.
    pub(crate) patch: Option<Patch>,
}

impl Loader {
    /// Found out once for each, and kept in the store.
    pub(crate) fn of_most(store: &Path) -> Option<Self> {
        const PREFIX: &str = ".loader-";
        let file = fs::metadata(loader::PATH).ok()?;
        let build = build()?;
        let (size, time) = (file.size(), file.mtime_nsec() ^ file.mtime());
        let kept = store.join(format!("{PREFIX}{:x}-{:x}-{size:x}-{time:x}-{build}", file.dev(), file.ino()));
        if let Some(known) = fs::read(&kept).ok().and_then(|text| serde_json::from_slice(&text).ok()) {
            return Some(known);
        }
        let elf = fs::read(loader::PATH).ok()?;
        let found = Self { look: Look::new(&elf), patch: Patch::new(&elf) };
        // Next time it is found out again, where it can't be kept.
        if let Ok(text) = serde_json::to_vec(&found) {
            let _ = keep(store, PREFIX, &kept, &text);
        }
        Some(found)
    }
}

/// What tells one build of Slipway from another.
fn build() -> Option<String> {
    let build = fs::metadata("/proc/self/exe").ok()?;
    Some(format!("{:x}-{:x}", build.len(), build.mtime_nsec() ^ build.mtime()))
}

/// Puts a file into the store, in place of those of other builds, and of files that are no more.
fn keep(store: &Path, prefix: &str, path: &Path, bytes: &[u8]) -> io::Result<()> {
    remove_all(store, prefix);
    let mut beside = tempfile::Builder::new().prefix(prefix).tempfile_in(store)?;
    beside.write_all(bytes)?;
    beside.persist(path).map(drop).map_err(|error| error.error)
}

/// Removes what a prefix says was made of files, of which some are no more.
fn remove_all(store: &Path, prefix: &str) {
    let old = fs::read_dir(store).into_iter().flatten().flatten();
    for old in old.filter(|old| old.file_name().as_encoded_bytes().starts_with(prefix.as_bytes())) {
        let _ = fs::remove_file(old.path());
    }
}

/// Memory that the processes map. They execute a part of it, which some systems forbid unless it is asked for.
pub(crate) fn memory(name: &str) -> Result<OwnedFd, Errno> {
    const EXEC: MemfdFlags = MemfdFlags::from_bits_retain(0x10);
    match memfd_create(name, MemfdFlags::CLOEXEC | EXEC | MemfdFlags::ALLOW_SEALING) {
        Err(Errno::INVAL) => memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING),
        made => made,
    }
}

fn rewritten(fd: &OwnedFd) -> Option<Vec<u8>> {
    const MOST: u64 = 16 << 20;
    let file = File::from(fd.try_clone().ok()?);
    let size = file.metadata().ok()?.len();
    if size > MOST {
        return None;
    }
    let mut bytes = vec![0; size as usize];
    file.read_exact_at(&mut bytes, 0).ok()?;
    slipway_emulator::rewrite(&bytes)
}

fn in_memory(bytes: &[u8]) -> Option<OwnedFd> {
    let made = memory("libc.so.6").ok()?;
    File::from(made.try_clone().ok()?).write_all(bytes).ok()?;
    let all = rustix::fs::SealFlags::SHRINK | rustix::fs::SealFlags::GROW | rustix::fs::SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&made, all | rustix::fs::SealFlags::SEAL).ok()?;
    Some(made)
}

/// Where the rewritten library of a file is kept: that of this build of Slipway.
fn place(store: &Path, (dev, ino, size, time): Key) -> Option<PathBuf> {
    Some(store.join(format!("{LIBRARY}{dev:x}-{ino:x}-{size:x}-{time:x}-{}", build()?)))
}

/// The rewritten library in the store, made if it is not there. None where files there can't be executed.
fn kept(store: &Path, key: Key, fd: &OwnedFd) -> Option<OwnedFd> {
    if rustix::fs::statvfs(store).ok()?.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC) {
        return None;
    }
    let path = place(store, key)?;
    let made = || open(&path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok();
    if let Some(made) = made() {
        return Some(made);
    }
    keep(store, LIBRARY, &path, &rewritten(fd)?).ok()?;
    made()
}
