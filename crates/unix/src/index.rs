//! The index: what the emulation library in the command's processes reads of the view, in memory that it maps.
//!
//! It says less than the view, never something else: names and files that a layer has to do with, and directories that the server has
//! looked up. A change is in it before the call that made it returns. What the library looked at by itself comes back in a log, which the
//! processes write: any of it may be wrong, and it is recorded only.

use crate::{
    known,
    libraries::{Libraries, memory},
    record::Record,
    sys::signals_wait,
};
use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, CWD, FileType, Stat, ftruncate, statat},
};
use slipway_emulator::{MEMORY, TEXT, layout as at};
use slipway_fabric::sync::{
    AtomicU64, Mapping,
    Ordering::{Acquire, Relaxed, Release},
    Shared, fence,
};
use slipway_layer::{Changes, Links, Place, PlainLinks, Said, Scaffold, TreePath, View};
use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    fs::File,
    io::{self, Write},
    os::{
        fd::{AsFd, AsRawFd},
        unix::{ffi::OsStrExt, fs::symlink},
    },
    path::{Path, PathBuf},
    sync::Arc,
};

const fn words(bytes: u64) -> usize {
    (bytes / 8) as usize
}

/// A program's path of a directory is no longer here, nor a name in the index.
const LONGEST: usize = 1024;
/// How many different paths are looked up for the index between two changes of directories.
const MOST_OFFERED: usize = 1 << 16;

pub(crate) struct Index {
    file: Arc<OwnedFd>,
    header: Shared<[AtomicU64; words(at::HEADER_SIZE)]>,
    names: Shared<[AtomicU64; at::places(at::NAMES_COUNT) as usize]>,
    files: Shared<[AtomicU64; at::places(at::FILES_COUNT) as usize]>,
    shown: Shared<[AtomicU64; at::places(at::FILES_COUNT) as usize]>,
    dirs: Shared<[AtomicU64; words(at::places(at::DIRS_COUNT) * at::DIR_SIZE)]>,
    starts: Shared<[AtomicU64; words(at::STARTS_COUNT * at::DIR_SIZE)]>,
    log: Shared<[AtomicU64; words(at::LOG_SIZE)]>,
    /// Bytes of the log that were read.
    read: u64,
    /// Paths of directories that were looked up; those that have a place, by place; and the places of those that a name is missing for.
    offered: HashSet<Vec<u8>>,
    placed: Vec<Option<Vec<u8>>>,
    missing: HashMap<TreePath, Vec<usize>>,
    /// What programs get in place of the C library.
    pub(crate) libraries: Libraries,
}

fn hash(start: u64, text: &[u8]) -> u64 {
    text.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(at::HASH_FACTOR))
}

/// The hash of a name from the root on; that of the root is of no text.
fn name_hash(path: &TreePath) -> u64 {
    hash(at::HASH_START, &text_of(path))
}

fn text_of(path: &TreePath) -> Vec<u8> {
    if path.is_root() { Vec::new() } else { path.absolute() }
}

fn file_hash(dev: u64, ino: u64) -> u64 {
    let hash = (ino ^ dev.rotate_left(32)).wrapping_mul(at::SPREAD);
    hash ^ hash >> 29
}

/// The places of a table for a hash, in its three and with so many in the last, in their order.
fn places(hash: u64, count: u64, probes: u64) -> impl Iterator<Item = usize> {
    let (first, second) = (count >> at::FIRST_SHIFT, count >> at::SECOND_SHIFT);
    let tables = [(0, first, at::FIRST_PROBES), (first, second, at::FIRST_PROBES), (first + second, count, probes)];
    tables.into_iter().flat_map(move |(start, size, probes)| {
        let near = hash.wrapping_mul(at::SPREAD) >> (64 - size.trailing_zeros());
        (0..probes).map(move |n| (start + ((near + n) & (size - 1))) as usize)
    })
}

/// The place in a table that has this hash, or can take it.
fn place_for(table: &[AtomicU64], count: u64, hash: u64) -> Option<usize> {
    places(hash, count, at::PROBES).find(|place| {
        let word = table[*place].load(Relaxed);
        word == 0 || (word ^ hash) >> at::KIND_BITS == 0
    })
}

/// Where a directory's path may be, by its hash.
fn dir_places(key: u64) -> impl Iterator<Item = usize> {
    places(key, at::DIRS_COUNT, at::DIR_PROBES)
}

impl Index {
    /// Of a view whose topmost layer has its files there. None where there is no emulation library, or it can't be had.
    pub(crate) fn new(view: &mut View, files: Option<&TreePath>, store: PathBuf) -> Option<Self> {
        if TEXT.is_empty() {
            return None;
        }
        let file = memory("slipway-unix").ok()?;
        ftruncate(&file, at::SIZE).ok()?;
        File::from(file.try_clone().ok()?).write_all(TEXT).ok()?;
        rustix::fs::fcntl_add_seals(&file, rustix::fs::SealFlags::SHRINK | rustix::fs::SealFlags::GROW).ok()?;
        let mapping = map(&file).ok()?;
        let mut index = Self {
            header: mapping.view(at::HEADER as usize)?,
            names: mapping.view(at::NAMES as usize)?,
            files: mapping.view(at::FILES as usize)?,
            shown: mapping.view(at::SHOWN as usize)?,
            dirs: mapping.view(at::DIRS as usize)?,
            starts: mapping.view(at::STARTS as usize)?,
            log: mapping.view(at::LOG as usize)?,
            file: Arc::new(file),
            read: 0,
            offered: HashSet::new(),
            placed: vec![None; at::places(at::DIRS_COUNT) as usize],
            missing: HashMap::new(),
            libraries: Libraries::new(store),
        };
        let prefix = files.map(TreePath::absolute).unwrap_or_default();
        if prefix.len() as u64 > at::PREFIX_MAX {
            return None;
        }
        index.header[words(at::PREFIX_LEN)].store(prefix.len() as u64, Relaxed);
        let above = prefix
            .strip_prefix(index.libraries.store().as_os_str().as_encoded_bytes())
            .filter(|rest| rest.first() == Some(&b'/'));
        index.header[words(at::STORE_LEN)].store(above.map_or(0, |rest| prefix.len() - rest.len()) as u64, Relaxed);
        for (n, part) in prefix.chunks(8).enumerate() {
            index.header[words(at::PREFIX) + n].store(word_of(part), Relaxed);
        }
        let proc_dev = statat(CWD, "/proc", AtFlags::empty()).ok()?.st_dev;
        index.header[words(at::PROC_DEV)].store(proc_dev, Relaxed);
        for hidden in view.rules.hidden.clone() {
            index.say(&hidden, at::NAME_SERVED);
            index.serve_dir(view, &hidden.parent(), None);
        }
        view.rules.through.iter().for_each(|through| index.say(through, at::NAME_SERVED));
        index.header[words(at::WRITES_ARE_OFF)].store(view.rules.read_only.into(), Relaxed);
        index.header[words(at::SIGNALS_WAIT)].store(signals_wait().into(), Relaxed);
        let top = view.layers().len().wrapping_sub(1);
        for (number, layer) in view.layers().iter().enumerate() {
            let mut said = Vec::new();
            layer.each(&TreePath::root(), &mut |path, what| said.push((path.clone(), what)));
            index.enter(view, said, number == top);
            let copies = layer.copies().collect();
            index.enter_copies(view, copies, number == top);
        }
        if view.layers().iter().any(|layer| !layer.is_empty()) {
            index.serve_root(view);
        }
        view.take_changes();
        Some(index)
    }

    /// The memory, for a process that maps it.
    pub(crate) fn memory(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.file)
    }

    /// Has processes find the memory by a name in this directory, which is the kernel's working directory of all.
    pub(crate) fn link_memory(&self, dir: &Path) {
        let target = format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd());
        // Those that don't find it ask.
        let _ = symlink(target, dir.join(OsStr::from_bytes(&MEMORY[..MEMORY.len() - 1])));
    }

    /// Tells a process that is about to map the memory in which directory it is.
    pub(crate) fn tell_start(&self, pid: u32, cwd: &TreePath) {
        let path = cwd.absolute();
        if (path.len() as u64) < at::DIR_NAME_MAX {
            let changes = self.header[words(at::CWDS) + (u64::from(pid) % at::CWDS_COUNT) as usize].load(Relaxed);
            let start = (u64::from(pid) % at::STARTS_COUNT) as usize * words(at::DIR_SIZE);
            write(&self.starts[start..][..words(at::DIR_SIZE)], |entry| {
                entry[words(at::DIR_KEY)].store(pid.into(), Relaxed);
                entry[words(at::DIR_WHAT)].store(changes << at::START_SHIFT | path.len() as u64, Relaxed);
                write_name(entry, name_hash(cwd), &path);
            });
        }
    }

    /// Tells dynamic loaders where the rewritten library of a file is. They know of one: most programs have the same.
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ between machines")]
    pub(crate) fn tell_library(&self, file: &Stat) {
        let word = |n: u64| &self.header[words(at::LIBRARY + 8 * n)];
        if word(0).load(Relaxed) != 0 {
            return;
        }
        let Some(path) = self.libraries.place(file) else { return };
        let path = path.as_os_str().as_encoded_bytes();
        if path.len() as u64 >= at::LIBRARY_PATH_MAX {
            return;
        }
        for (n, part) in path.chunks(8).enumerate() {
            self.header[words(at::LIBRARY_PATH) + n].store(word_of(part), Relaxed);
        }
        word(1).store(file.st_ino as u64, Relaxed);
        word(2).store(file.st_size as u64, Relaxed);
        word(3).store(file.st_mtime as u64, Relaxed);
        word(0).store(file.st_dev as u64, Release);
    }

    /// Whether the library answers calls.
    pub(crate) fn is_on(&self) -> bool {
        self.header[words(at::IS_OFF)].load(Relaxed) == 0
    }

    /// Whether a name is that which a program means by a hash.
    pub(crate) fn is_of_hash(path: &TreePath, hash: u64) -> bool {
        name_hash(path) == hash
    }

    /// From here on the server answers every call.
    pub(crate) fn off(&self) {
        self.header[words(at::IS_OFF)].store(1, Release);
    }

    /// Puts what is known of a hash into a table.
    fn put(&self, table: &[AtomicU64], count: u64, hash: u64, what: u64) {
        match place_for(table, count, hash) {
            Some(place) => table[place].store((hash >> at::KIND_BITS << at::KIND_BITS) | what, Release),
            None => self.off(),
        }
    }

    fn say(&self, path: &TreePath, what: u64) {
        self.put(&*self.names, at::NAMES_COUNT, name_hash(path), what);
    }

    fn is_alone(&self, path: &TreePath) -> bool {
        let word = place_for(&*self.names, at::NAMES_COUNT, name_hash(path)).map_or(0, |place| self.names[place].load(Relaxed));
        matches!(word & ((1 << at::KIND_BITS) - 1), at::NAME_OVER | at::NAME_CLOSED)
    }

    /// What is at a name is the server's until a change says otherwise.
    pub(crate) fn serve(&self, path: &TreePath) {
        self.say(path, at::NAME_SERVED);
    }

    /// What is known of a file; `shown` is the number that programs see, if that is not its own.
    fn say_file(&self, (dev, ino): (u64, u64), what: u64, shown: Option<u64>) {
        let hash = file_hash(dev, ino);
        // First: the library reads the number of what it finds.
        if let Some(place) = place_for(&*self.files, at::FILES_COUNT, hash)
            && (shown.is_some() || what != at::FILE_SERVED || self.shown[place].load(Relaxed) == 0)
        {
            self.shown[place].store(shown.unwrap_or(ino), Relaxed);
        }
        self.put(&*self.files, at::FILES_COUNT, hash, what);
    }

    /// What is open on a file is looked at by the server.
    pub(crate) fn serve_file(&self, file: (u64, u64)) {
        self.say_file(file, at::FILE_SERVED, None);
    }

    /// What is open on a directory that layers have to do with is looked at by the server, in whichever of them it is.
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ between machines")]
    fn serve_dir(&self, view: &View, path: &TreePath, shown: Option<u64>) {
        let places = (0..view.layers().len()).map(Place::Layer).chain([Place::Host]);
        for place in places {
            if let Ok(stat) = statat(view.root(place), path.relative(), AtFlags::SYMLINK_NOFOLLOW) {
                self.say_file((stat.st_dev as u64, stat.st_ino as u64), at::FILE_SERVED, shown);
            }
        }
    }

    fn serve_root(&self, view: &View) {
        let root = TreePath::root();
        self.serve_dir(view, &root, view.find(&root).ok().map(|found| view.shown(&found).st_ino));
    }

    /// A directory of the topmost layer: it is the kernel's to look at where nothing below shows in it, and the way there is free.
    fn enter_dir(&self, view: &View, path: &TreePath) {
        let is_reached = || {
            let above = path.parent();
            self.is_alone(&above)
                || above.is_root()
                || view.resolve(&TreePath::root(), &above.absolute(), true, &PlainLinks).is_ok_and(|there| there.path == above)
        };
        match view.is_alone(path).filter(|_| is_reached()) {
            Some((is_closed, file)) => {
                self.say_file(file, at::FILE_ALONE, None);
                self.say(path, if is_closed { at::NAME_CLOSED } else { at::NAME_OVER });
            }
            None => {
                self.say(path, if view.shows_hosts_dir(path) { at::NAME_BOTH } else { at::NAME_SERVED });
                self.serve_dir(view, path, None);
            }
        }
    }

    fn enter(&mut self, view: &View, said: Vec<(TreePath, Said)>, is_top: bool) {
        // What goes through to the host is the host's, whatever a layer has there.
        for (path, what) in said.into_iter().filter(|(path, _)| !view.is_through(path)) {
            self.forget_missing(&path);
            match what {
                Said::Leaf if is_top => self.say(&path, at::NAME_LEAF),
                Said::Dir if is_top => self.enter_dir(view, &path),
                Said::Dir => {
                    self.serve(&path);
                    self.serve_dir(view, &path, None);
                }
                Said::Leaf | Said::Gone => self.serve(&path),
            }
            // The host has got the directory meanwhile.
            let above = path.parent();
            if what == Said::Gone && is_top && self.is_alone(&above) {
                self.enter_dir(view, &above);
            }
        }
    }

    fn enter_copies(&self, view: &View, copies: Vec<(u64, Option<(u64, u64)>)>, is_top: bool) {
        if copies.is_empty() {
            return;
        }
        let devs: HashSet<u64> =
            view.layers().iter().filter_map(|layer| Some(statat(CWD, layer.dir(), AtFlags::empty()).ok()?.st_dev)).collect();
        for (copy, of) in copies {
            of.iter().for_each(|of| self.say_file(*of, at::FILE_SERVED, None));
            for dev in &devs {
                let (what, shown) = match of {
                    // The number of one that is gone is free for others.
                    None => (0, copy),
                    // What is open on a copy of another layer's may be another file by its name.
                    Some((of_dev, ino)) => (if is_top && of_dev == *dev { at::FILE_COPY } else { at::FILE_SERVED }, ino),
                };
                self.say_file((*dev, copy), what, Some(shown));
            }
        }
    }

    /// Takes over what the topmost layer began to say.
    pub(crate) fn update(&mut self, view: &View, mut changes: Changes) {
        let Some(top) = view.top() else { return };
        let (mut said, mut shown) = (Vec::new(), Vec::<Scaffold>::new());
        // Where one shows the host's directory, those above it do, and none of them is looked at from the root on.
        while let Some(dir) = changes.scaffolds.pop() {
            if shown.last().is_some_and(|deeper| deeper.path.is_within(&dir.path)) || view.shows_hosts_dir(&dir.path) {
                shown.push(dir);
            } else {
                changes.names.push(dir.path);
            }
        }
        // What is below another of them is said with that one: of a deep directory that is new in the layer, each above it may be among them.
        changes.names.sort_by(|one, other| one.components().cmp(other.components()));
        changes.names.dedup_by(|name, kept| name.is_within(kept));
        for name in changes.names {
            top.each(&name, &mut |path, what| said.push((path.clone(), what)));
            if name.parent().is_root() {
                self.serve_root(view);
            }
        }
        // One that has permissions of its own now, over the host's.
        let is_own = |path: &TreePath| {
            view.rest_of(path) == Some(Some(Place::Host))
                && view.find(path).is_ok_and(|found| found.place != Place::Host)
                && !known::is_missing_on_host(view, path)
        };
        if said.iter().any(|(path, what)| *what == Said::Dir && is_own(path)) {
            self.forget_dirs();
        }
        // Before their names: the library shows the number of what it finds.
        self.enter_copies(view, changes.copies, true);
        self.enter(view, said, true);
        for Scaffold { path, host, layer } in shown {
            self.forget_missing(&path);
            self.say(&path, at::NAME_BOTH);
            [host, layer].iter().for_each(|file| self.say_file(*file, at::FILE_SERVED, None));
            if path.parent().is_root() {
                self.serve_root(view);
            }
        }
    }

    /// A name was removed from the topmost layer. Where no layer says anything of it any more, the index forgets it: it is the host's.
    pub(crate) fn vacate(&self, view: &View, path: &TreePath) {
        let mut is_said = view.is_through(path);
        for layer in view.layers() {
            layer.each(path, &mut |_, _| is_said = true);
        }
        if !is_said {
            self.say(path, 0);
        }
    }

    /// A directory or a link was removed or renamed, or may have been: what was looked up is looked up again.
    pub(crate) fn forget_dirs(&mut self) {
        if self.offered.is_empty() {
            return;
        }
        self.missing.clear();
        for place in 0..self.placed.len() {
            self.forget_place(place);
        }
        self.offered.clear();
    }

    fn entry(&self, place: usize) -> &[AtomicU64] {
        &self.dirs[place * words(at::DIR_SIZE)..][..words(at::DIR_SIZE)]
    }

    /// Frees a place: the directory there is looked up again when it is asked for.
    fn forget_place(&mut self, place: usize) {
        if let Some(dir) = self.placed[place].take() {
            self.offered.remove(&dir);
            write(self.entry(place), |entry| entry[words(at::DIR_KEY)].store(0, Relaxed));
        }
    }

    /// Frees the places of directories that this name was missing for.
    fn forget_missing(&mut self, name: &TreePath) {
        for place in self.missing.remove(name).unwrap_or_default() {
            self.forget_place(place);
        }
    }

    /// A directory was removed, or is about to be renamed: neither it nor those below it are found by their names alone any more.
    pub(crate) fn leave(&self, view: &View, dir: &TreePath) {
        self.serve(dir);
        let leave = &mut |path: &TreePath, what| {
            if what == Said::Dir {
                self.serve(path);
            }
        };
        view.top().iter().for_each(|top| top.each(dir, leave));
    }

    /// What is open may be a directory of the host's that is no more where it was, or hidden: descriptors are the server's.
    pub(crate) fn serve_descriptors(&self) {
        self.header[words(at::DIRS_ARE_OFF)].store(1, Release);
    }

    /// A process changed its working directory; without a number they all may have.
    pub(crate) fn moved(&self, pid: Option<u32>) {
        for n in 0..at::CWDS_COUNT {
            if pid.is_none_or(|pid| u64::from(pid) % at::CWDS_COUNT == n) {
                self.header[words(at::CWDS + 8 * n)].fetch_add(1, Release);
            }
        }
    }

    /// Looks up what a program calls a directory, once.
    pub(crate) fn offer(&mut self, view: &View, links: &dyn Links, dir: &[u8]) {
        if dir.len() > LONGEST || self.offered.contains(dir) {
            return;
        }
        if self.offered.len() >= MOST_OFFERED {
            self.forget_dirs();
        }
        self.offered.insert(dir.to_vec());
        let is_short = |(name, _): &(TreePath, u64)| text_of(name).len() as u64 <= at::DIR_NAME_MAX;
        let known = known::directory(view, links, dir).filter(is_short);
        // Those that the library need not ask for again.
        let (name, what) = known.unwrap_or((TreePath::root(), at::DIR_SERVED));
        let text = text_of(&name);
        let plain = if text == dir { at::DIR_IS_PLAIN } else { 0 };
        let key = hash(at::HASH_START, dir);
        let free = dir_places(key).find(|place| self.placed[*place].is_none());
        let chosen =
            free.or_else(|| dir_places(key).nth((2 * at::FIRST_PROBES + key % at::DIR_PROBES) as usize)).unwrap_or_default();
        self.forget_place(chosen);
        if what == at::DIR_MISSING {
            self.missing.entry(name).or_default().push(chosen);
        }
        self.placed[chosen] = Some(dir.to_vec());
        write(self.entry(chosen), |entry| {
            entry[words(at::DIR_KEY)].store(key, Relaxed);
            entry[words(at::DIR_WHAT)].store((text.len() as u64) << at::DIR_LEN_SHIFT | plain | what, Relaxed);
            write_name(entry, hash(at::HASH_START, &text), &text);
        });
    }

    /// The directory of the host's that a path leads to, where that was looked up, as the library takes it.
    pub(crate) fn dir(&self, path: &[u8]) -> Option<TreePath> {
        let place = dir_places(hash(at::HASH_START, path)).find(|place| self.placed[*place].as_deref() == Some(path))?;
        let entry = self.entry(place);
        let what = entry[words(at::DIR_WHAT)].load(Relaxed);
        let (kind, len) = (what & (at::DIR_MISSING | at::DIR_IS_OVER), (what >> at::DIR_LEN_SHIFT) as usize);
        let name = entry[words(at::DIR_NAME)..].iter().flat_map(|word| word.load(Relaxed).to_ne_bytes());
        (kind == at::DIR_HOST).then(|| TreePath::literal(name.take(len).collect::<Vec<u8>>()))
    }

    /// Takes what the processes looked at by themselves.
    pub(crate) fn drain(&mut self, view: &View, record: &mut Record) {
        let end = self.log[0].load(Acquire).min(at::LOG_SIZE - at::LOG_STEP);
        while self.read < end {
            let start = words(at::LOG_STEP + self.read);
            let head = self.log[start].load(Acquire);
            let (len, kind) = (head >> 8, head & 0xff);
            let size = (8 + len).next_multiple_of(at::LOG_STEP);
            if head == 0 || len > at::LOG_STEP * 512 || self.read + size > end {
                // Its writer was killed, or something else wrote there.
                self.read += at::LOG_STEP;
                continue;
            }
            self.read += size;
            let bytes: Vec<u8> =
                (0..words(len.next_multiple_of(8))).flat_map(|n| self.log[start + 1 + n].load(Relaxed).to_ne_bytes()).collect();
            let path = TreePath::literal(&bytes[..len as usize]);
            match kind {
                at::LOG_OPENED => {
                    let kind = view.find(&path).map_or(FileType::RegularFile, |found| found.kind());
                    record.opened(&path, kind);
                }
                at::LOG_LISTED => record.opened(&path, FileType::Directory),
                at::LOG_LINK => record.opened(&path, FileType::Symlink),
                at::LOG_MISSED => record.missed(path),
                at::LOG_RAN => record.ran(&path),
                _ => {}
            }
        }
    }
}

fn word_of(part: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..part.len()].copy_from_slice(part);
    u64::from_ne_bytes(word)
}

/// Changes an entry that may be read meanwhile: its count is odd then.
fn write(entry: &[AtomicU64], change: impl FnOnce(&[AtomicU64])) {
    let count = entry[words(at::DIR_COUNT)].load(Relaxed);
    entry[words(at::DIR_COUNT)].store(count + 1, Relaxed);
    fence(Release);
    change(entry);
    entry[words(at::DIR_COUNT)].store(count + 2, Release);
}

fn write_name(entry: &[AtomicU64], hash: u64, text: &[u8]) {
    entry[words(at::DIR_HASH)].store(hash, Relaxed);
    for (n, part) in text.chunks(8).enumerate() {
        entry[words(at::DIR_NAME) + n].store(word_of(part), Relaxed);
    }
}

#[allow(unsafe_code, reason = "the file is sealed, and this process's own")]
fn map(file: &OwnedFd) -> io::Result<std::sync::Arc<Mapping>> {
    // SAFETY: the file has that size and is sealed against shrinking.
    unsafe { Mapping::of_file(file.as_fd(), at::SIZE as usize) }
}
