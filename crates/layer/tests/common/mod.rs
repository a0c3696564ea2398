//! A tree in memory, the model; and a tree on disk with a layer over it.
#![allow(dead_code, reason = "each test program uses a part")]

use rustix::fs::{Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;
use rustix::process::geteuid;
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use slipway_layer::{About, Error, Kept, PlainLinks, Rules, Store, TreePath, View};
use slipway_test_support::{Dice, forked};
use std::{
    collections::{BTreeMap, HashMap},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{MetadataExt, PermissionsExt, symlink},
    },
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};
use std::{fs, io::Write};

pub mod linked;

/// Does the work in a process of an ordinary user's.
pub fn as_user(work: impl FnOnce()) {
    let code = forked(|| {
        if geteuid().is_root() {
            let (uid, gid) = (Uid::from_raw(1000), Gid::from_raw(1000));
            set_thread_groups(&[]).expect("groups");
            set_thread_res_gid(gid, gid, gid).expect("group");
            set_thread_res_uid(uid, uid, uid).expect("user");
        }
        work();
        0
    });
    assert_eq!(code, 0, "the user's process failed");
}

/// A list of rights, version 2: the owner, user 1000, the group, the mask, and others have a tag, rights, and a number each.
pub fn rights_list() -> Vec<u8> {
    let entries = [(0x01, 6, u32::MAX), (0x02, 6, 1000), (0x04, 4, u32::MAX), (0x10, 6, u32::MAX), (0x20, 4, u32::MAX)];
    let entry = |(tag, rights, id): (u16, u16, u32)| [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat();
    [2_u32.to_le_bytes().to_vec(), entries.map(entry).concat()].concat()
}

/// A child that another test forks would have this one's locks.
pub fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is at a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    Dir {
        mode: u32,
    },
    Link(Vec<u8>),
    /// A file, by its number in the model.
    File(usize),
}

/// A file's mode, contents, and first name.
type Contents = (u32, Vec<u8>, TreePath);

/// A tree; two are equal if names, types, modes, contents are, and which names are of one file.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    nodes: BTreeMap<TreePath, Node>,
    files: Vec<(u32, Vec<u8>)>,
    /// Numbers of files that were read from a tree.
    known: HashMap<(u64, u64), usize>,
}

impl PartialEq for Tree {
    fn eq(&self, other: &Self) -> bool {
        self.flat() == other.flat()
    }
}

impl Tree {
    /// Names, with the contents and the first name of the file that each is of.
    fn flat(&self) -> Vec<(TreePath, Node, Option<Contents>)> {
        let mut first: HashMap<usize, TreePath> = HashMap::new();
        let mut flat = Vec::new();
        for (path, node) in &self.nodes {
            match node {
                Node::File(number) => {
                    let first = first.entry(*number).or_insert_with(|| path.clone()).clone();
                    let (mode, bytes) = self.files[*number].clone();
                    flat.push((path.clone(), Node::File(0), Some((mode, bytes, first))));
                }
                node => flat.push((path.clone(), node.clone(), None)),
            }
        }
        flat
    }

    pub fn set(&mut self, path: &TreePath, node: Node) {
        self.nodes.insert(path.clone(), node);
    }

    /// A file that was read.
    pub fn file(&mut self, path: &TreePath, mode: u32, bytes: Vec<u8>, identity: (u64, u64)) {
        let number = *self.known.entry(identity).or_insert_with(|| {
            self.files.push((mode, bytes));
            self.files.len() - 1
        });
        self.set(path, Node::File(number));
    }

    fn way(&self, path: &TreePath) -> Result<(), Errno> {
        let parent = path.parent();
        if parent.is_root() {
            return Ok(());
        }
        self.way(&parent)?;
        match self.nodes.get(&parent) {
            Some(Node::Dir { .. }) => Ok(()),
            Some(_) => Err(Errno::NOTDIR),
            None => Err(Errno::NOENT),
        }
    }

    pub fn get(&self, path: &TreePath) -> Result<&Node, Errno> {
        self.way(path)?;
        self.nodes.get(path).ok_or(Errno::NOENT)
    }

    pub fn free(&self, path: &TreePath) -> Result<(), Errno> {
        self.way(path)?;
        if self.nodes.contains_key(path) { Err(Errno::EXIST) } else { Ok(()) }
    }

    pub fn write(&mut self, path: &TreePath, bytes: &[u8], append: bool) -> Result<(), Errno> {
        let number = match self.get(path) {
            Ok(Node::File(number)) => *number,
            Ok(_) => return Err(Errno::ISDIR),
            Err(Errno::NOENT) if !append => {
                self.free(path)?;
                self.files.push((0o644, Vec::new()));
                self.set(path, Node::File(self.files.len() - 1));
                self.files.len() - 1
            }
            Err(error) => return Err(error),
        };
        if !append {
            self.files[number].1.clear();
        }
        self.files[number].1.extend_from_slice(bytes);
        Ok(())
    }

    pub fn link(&mut self, from: &TreePath, to: &TreePath) -> Result<(), Errno> {
        let node = self.get(from)?.clone();
        self.free(to)?;
        match node {
            Node::File(number) => self.set(to, Node::File(number)),
            Node::Dir { .. } => return Err(Errno::PERM),
            Node::Link(_) => return Err(Errno::LOOP),
        }
        Ok(())
    }

    fn is_empty(&self, path: &TreePath) -> bool {
        !self.nodes.keys().any(|other| other != path && other.is_within(path))
    }

    pub fn remove(&mut self, path: &TreePath, dir: bool) -> Result<(), Errno> {
        match (self.get(path)?, dir) {
            (Node::Dir { .. }, false) => return Err(Errno::ISDIR),
            (Node::Dir { .. }, true) if !self.is_empty(path) => return Err(Errno::NOTEMPTY),
            (Node::Dir { .. }, true) | (_, false) => {}
            (_, true) => return Err(Errno::NOTDIR),
        }
        self.nodes.remove(path);
        Ok(())
    }

    /// Takes a name with all below it; what was below has paths relative to it.
    fn cut(&mut self, path: &TreePath) -> Vec<(Vec<u8>, Node)> {
        let names: Vec<TreePath> = self.nodes.keys().filter(|other| other.is_within(path)).cloned().collect();
        let cut = |name: TreePath| {
            let below = name.below(path).expect("within").to_vec();
            (below, self.nodes.remove(&name).expect("there"))
        };
        names.into_iter().map(cut).collect()
    }

    fn paste(&mut self, path: &TreePath, nodes: Vec<(Vec<u8>, Node)>) {
        nodes.into_iter().for_each(|(below, node)| self.set(&path.join(&below), node));
    }

    pub fn rename(&mut self, from: &TreePath, to: &TreePath, exchange: bool) -> Result<(), Errno> {
        let node = self.get(from)?.clone();
        let other = match self.get(to) {
            Err(Errno::NOENT) => {
                self.way(to)?;
                None
            }
            other => Some(other?.clone()),
        };
        let is_dir = |node: &Node| matches!(node, Node::Dir { .. });
        if from == to || matches!((&node, &other), (Node::File(one), Some(Node::File(two))) if one == two) {
            return Ok(());
        }
        match &other {
            None if exchange => return Err(Errno::NOENT),
            _ if is_dir(&node) && to.is_within(from) => return Err(Errno::INVAL),
            Some(other) if exchange && is_dir(other) && from.is_within(to) => return Err(Errno::INVAL),
            Some(other) if !exchange => match (is_dir(&node), is_dir(other)) {
                (true, false) => return Err(Errno::NOTDIR),
                (false, true) => return Err(Errno::ISDIR),
                (true, true) if !self.is_empty(to) => return Err(Errno::NOTEMPTY),
                _ => {}
            },
            _ => {}
        }
        let (one, two) = (self.cut(from), self.cut(to));
        self.paste(to, one);
        if exchange {
            self.paste(from, two);
        }
        Ok(())
    }

    pub fn mode(&mut self, path: &TreePath, mode: u32) -> Result<(), Errno> {
        match self.get(path)?.clone() {
            Node::File(number) => self.files[number].0 = mode,
            Node::Dir { .. } => self.set(path, Node::Dir { mode }),
            Node::Link(_) => return Err(Errno::LOOP),
        }
        Ok(())
    }
}

/// The tree of a directory.
pub fn tree_of(dir: &Path) -> Tree {
    let mut tree = Tree::default();
    read(dir, &TreePath::root(), &mut tree);
    tree
}

fn read(dir: &Path, at: &TreePath, tree: &mut Tree) {
    for entry in std::fs::read_dir(dir).expect("list") {
        let entry = entry.expect("entry");
        let path = at.join(entry.file_name().as_bytes());
        let stat = entry.path().symlink_metadata().expect("stat");
        let mode = stat.mode() & 0o7777;
        if stat.is_dir() {
            tree.set(&path, Node::Dir { mode });
            read(&entry.path(), &path, tree);
        } else if stat.is_symlink() {
            tree.set(&path, Node::Link(std::fs::read_link(entry.path()).expect("read link").into_os_string().into_vec()));
        } else {
            tree.file(&path, mode, std::fs::read(entry.path()).expect("read"), (stat.dev(), stat.ino()));
        }
    }
}

/// Fills a directory with files, directories and links.
pub fn fill(dir: &Path, dice: &mut Dice, names: &[&[u8]]) {
    fill_to(dir, dice, names, 2);
}

fn fill_to(dir: &Path, dice: &mut Dice, names: &[&[u8]], depth: usize) {
    for name in names {
        let path = dir.join(std::ffi::OsStr::from_bytes(name));
        match dice.below(5) {
            0 => {}
            1 if depth > 0 => {
                std::fs::create_dir(&path).expect("mkdir");
                fill_to(&path, dice, names, depth - 1);
                std::fs::set_permissions(&path, PermissionsExt::from_mode(dice.of(&[0o755, 0o700]))).expect("chmod");
            }
            2 => symlink(std::ffi::OsStr::from_bytes(dice.of(names)), &path).expect("symlink"),
            _ => {
                let len = dice.below(30);
                std::fs::write(&path, dice.bytes(len)).expect("write");
                std::fs::set_permissions(&path, PermissionsExt::from_mode(dice.of(&[0o644, 0o755]))).expect("chmod");
            }
        }
    }
}

/// Gives files further names.
pub fn link_some(dir: &Path, dice: &mut Dice, names: &[&[u8]]) {
    let mut dirs = vec![dir.to_owned()];
    let mut files = Vec::new();
    let mut at = 0;
    while let Some(next) = dirs.get(at).cloned() {
        for entry in fs::read_dir(next).expect("list").map(|entry| entry.expect("entry")) {
            let kind = entry.file_type().expect("type");
            if kind.is_dir() {
                dirs.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
        at += 1;
    }
    files.sort();
    dirs.sort();
    for _ in 0..if files.is_empty() { 0 } else { 8 } {
        let (file, dir) = (&files[dice.below(files.len())], &dirs[dice.below(dirs.len())]);
        // Some names are taken.
        let _ = fs::hard_link(file, dir.join(std::ffi::OsStr::from_bytes(dice.of(names))));
    }
}

/// A host's tree and a layer.
pub struct Bench {
    pub dir: tempfile::TempDir,
    pub store: Store,
}

/// Gives the owner all rights to directories, as far as that is allowed.
fn open_dirs(dir: &Path) {
    let _ = fs::set_permissions(dir, PermissionsExt::from_mode(0o700));
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_dirs(&entry.path());
        }
    }
}

impl Drop for Bench {
    /// An ordinary user can't empty directories that are closed.
    fn drop(&mut self) {
        if !geteuid().is_root() {
            // By a program, other tests' locks would be shared with it.
            open_dirs(self.dir.path());
        }
    }
}

pub fn path(text: &str) -> TreePath {
    TreePath::literal(text)
}

impl Bench {
    /// A host's tree, and a layer over it that changes most kinds of things.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("directory");
        let host = dir.path().join("host");
        for sub in ["dir/sub", "gone/deep", "moved", "mode"] {
            fs::create_dir_all(host.join(sub)).expect("mkdir");
        }
        for (name, text) in [
            ("file", "old\n"),
            ("removed", "r"),
            ("dir/a", "a"),
            ("dir/sub/b", "b"),
            ("gone/deep/c", "c"),
            ("gone/d", "d"),
            ("moved/e", "e"),
            ("becomes-dir", "x"),
            ("linked", "one file"),
        ] {
            fs::write(host.join(name), text).expect("write");
        }
        fs::hard_link(host.join("linked"), host.join("other-name")).expect("link");
        for (name, other) in [("gone/d", "stays"), ("dir/a", "one-more")] {
            fs::hard_link(host.join(name), host.join(other)).expect("link");
        }
        let store = Store::open(&dir.path().join("layers")).expect("store");
        let bench = Self { dir, store };
        bench.store.create("l", &About::default()).expect("layer");
        bench.change(|view| {
            let find = |view: &View, name: &str| view.find(&path(name)).expect(name);
            bench.put(view, "file", "new\n");
            bench.put(view, "linked", "changed");
            bench.put(view, "dir/new", "n");
            view.make_dir(&path("made"), Mode::from_raw_mode(0o750)).expect("mkdir");
            bench.put(view, "made/one", "1");
            view.link(&find(view, "made/one"), &path("made/two")).expect("link");
            view.symlink(b"one", &path("made/link")).expect("symlink");
            // What is written to a name that goes, and to one that is moved, the other names show.
            bench.put(view, "gone/d", "changed");
            bench.put(view, "dir/a", "changed");
            view.rename(&find(view, "dir/a"), &path("dir/sub/a"), RenameFlags::empty()).expect("rename");
            view.remove(&find(view, "removed"), false).expect("remove");
            view.remove(&find(view, "becomes-dir"), false).expect("remove");
            view.make_dir(&path("becomes-dir"), Mode::RWXU).expect("mkdir");
            bench.put(view, "becomes-dir/f", "f");
            view.rename(&find(view, "moved"), &path("renamed"), RenameFlags::empty()).expect("rename");
            for name in ["gone/deep/c", "gone/d"] {
                view.remove(&find(view, name), false).expect("remove");
            }
            for name in ["gone/deep", "gone"] {
                view.remove(&find(view, name), true).expect("rmdir");
            }
            let mode = slipway_layer::Attribute::Mode(Mode::from_raw_mode(0o711));
            view.set_attribute(&find(view, "mode"), &mode).expect("chmod");
        });
        bench
    }

    /// A host's tree that `fill` makes, and a layer over it with changes.
    pub fn over(fill: impl FnOnce(&Path), change: impl FnOnce(&Self, &mut View)) -> Self {
        let dir = tempfile::tempdir().expect("directory");
        fs::create_dir(dir.path().join("host")).expect("mkdir");
        fill(&dir.path().join("host"));
        let store = Store::open(&dir.path().join("layers")).expect("store");
        let bench = Self { dir, store };
        bench.store.create("l", &About::default()).expect("layer");
        bench.change(|view| change(&bench, view));
        bench
    }

    pub fn host(&self) -> PathBuf {
        self.dir.path().join("host")
    }

    pub fn change(&self, change: impl FnOnce(&mut View)) {
        let layer = self.store.layer("l", true).expect("open");
        change(&mut View::new(&self.host(), vec![layer], Rules::default()).expect("view"));
    }

    pub fn put(&self, view: &mut View, name: &str, text: &str) {
        let resolved = view.resolve(&TreePath::root(), name.as_bytes(), true, &PlainLinks).expect("resolve");
        let file = match resolved.found {
            None => view.create(&resolved.path, OFlags::WRONLY, Mode::from_raw_mode(0o640)).expect("create"),
            Some(found) => {
                view.copy_up(&found, true).expect("copy");
                let found = view.find(&resolved.path).expect("find");
                let flags = OFlags::WRONLY | OFlags::TRUNC;
                rustix::fs::openat(view.root(found.place), found.path.relative(), flags, Mode::empty()).expect("open")
            }
        };
        fs::File::from(file).write_all(text.as_bytes()).expect("write");
    }

    /// Another layer over the first, with changes.
    pub fn change_above(&self, name: &str, change: impl FnOnce(&mut View)) {
        let below = ["l".to_owned()];
        self.store.create(name, &About { below: below.to_vec(), ..About::default() }).expect("layer");
        let layers = self.store.layers(&below, Some(name)).expect("open");
        change(&mut View::new(&self.host(), layers, Rules::default()).expect("view"));
    }

    /// Replaces a name by a new file, as an editor does.
    pub fn replace(&self, view: &mut View, name: &str, text: &str) {
        self.put(view, "saved", text);
        let saved = view.find(&path("saved")).expect("find");
        view.rename(&saved, &path(name), RenameFlags::empty()).expect("rename");
    }

    pub fn unlink(&self, view: &mut View, name: &str) {
        let found = view.find(&path(name)).expect("find");
        view.remove(&found, false).expect("remove");
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.host().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Keeps, and dies before the step at which `is_time`.
    pub fn die(&self, mut is_time: impl FnMut() -> bool) {
        let mut step = || assert!(!is_time(), "it dies");
        assert!(catch_unwind(AssertUnwindSafe(|| self.keep(&mut step))).is_err(), "it came to its end");
    }

    /// Whether a `keep` is in this state.
    pub fn is_at(&self, phase: &str) -> bool {
        self.store.dir().join("l").join(phase).exists()
    }

    /// Dies before the step of this number after a `keep` came to a state.
    pub fn die_after(&self, phase: &str, number: usize) {
        let mut left = number;
        self.die(|| {
            let is_at = self.is_at(phase);
            let is_time = is_at && left == 0;
            left -= usize::from(is_at && left > 0);
            is_time
        });
    }

    pub fn keep(&self, step: &mut dyn FnMut()) -> Result<Kept, Error> {
        self.store.keep("l", &self.host(), &[], step)
    }

    pub fn conflicts(&self) -> Vec<(String, &'static str)> {
        match self.keep(&mut || {}).expect("keep") {
            Kept::Conflicts(list) => list.into_iter().map(|conflict| (conflict.path.to_string(), conflict.why)).collect(),
            Kept::Done(count) => panic!("kept {count}"),
        }
    }
}

/// Whether there is a name of a plan.
pub fn is_staging(dir: &Path) -> bool {
    fs::read_dir(dir).expect("list").any(|entry| entry.expect("entry").file_name().as_bytes().starts_with(b".slipway-keep-"))
}

/// No name of a plan is left.
pub fn assert_clean(dir: &Path) {
    for entry in fs::read_dir(dir).expect("list") {
        let entry = entry.expect("entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(!name.contains("slipway"), "{name} is left");
        if entry.file_type().expect("type").is_dir() {
            assert_clean(&entry.path());
        }
    }
}
