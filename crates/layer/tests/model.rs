//! Random changes of a view and of a model in memory must look the same; and so must the host after the layer was kept, while before that it
//! must be as it was.

use rustix::fs::{FileType, Mode, OFlags, RenameFlags, Timespec, Timestamps};
use rustix::io::Errno;
use slipway_layer::{About, Attribute, Kept, Layer, PlainLinks, Rules, Store, TreePath, View};
use slipway_test_support::{Dice, NamedSeed, fuzz_time, seed};
use std::{
    collections::BTreeMap,
    io::{Read, Write},
    os::unix::fs::MetadataExt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    time::Instant,
};

mod common;
use common::{Node, Tree, tree_of};

const NAMES: [&[u8]; 5] = [b"a", b"b", b"c", b"d e", b"\xff"];
const LAYER: &str = "layer";

/// A name up to three levels deep.
fn any_path(dice: &mut Dice) -> TreePath {
    (0..=dice.below(3)).fold(TreePath::root(), |path, _| path.join(dice.of(&NAMES)))
}

/// What is done, on the view and on the model: the error or none.
#[derive(Debug, Clone)]
enum Step {
    Write(TreePath, Vec<u8>),
    Append(TreePath, Vec<u8>),
    MakeDir(TreePath),
    Link(TreePath, TreePath),
    Symlink(Vec<u8>, TreePath),
    Remove(TreePath),
    RemoveDir(TreePath),
    Rename(TreePath, TreePath),
    Exchange(TreePath, TreePath),
    Mode(TreePath, u32),
    Times(TreePath, i64),
}

fn any_step(dice: &mut Dice) -> Step {
    let path = any_path(dice);
    let len = dice.below(20);
    match dice.below(14) {
        0..3 => Step::Write(path, dice.bytes(len)),
        3 => Step::Append(path, dice.bytes(len)),
        4..6 => Step::MakeDir(path),
        6 => Step::Link(path, any_path(dice)),
        7 => Step::Symlink(any_path(dice).absolute()[1..].to_vec(), path),
        8 => Step::Remove(path),
        9 => Step::RemoveDir(path),
        10 => Step::Rename(path, any_path(dice)),
        11 => Step::Exchange(path, any_path(dice)),
        // What it may be given is a directory, which its owner goes on searching.
        12 => Step::Mode(path, dice.of(&[0o700, 0o710, 0o744, 0o755])),
        _ => Step::Times(path, 1_000_000 + dice.below(1000) as i64),
    }
}

fn found(view: &View, path: &TreePath) -> Result<slipway_layer::Found, Errno> {
    // As a program names it: every directory on the way is looked at.
    view.resolve(&TreePath::root(), &path.absolute(), false, &PlainLinks)
        .and_then(|resolved| if resolved.path == *path { resolved.found.ok_or(Errno::NOENT) } else { Err(Errno::LOOP) })
}

/// The name, if it is free and its directory is there.
fn free(view: &View, path: &TreePath) -> Result<(), Errno> {
    let resolved = view.resolve(&TreePath::root(), &path.absolute(), false, &PlainLinks)?;
    match resolved.found {
        _ if resolved.path != *path => Err(Errno::LOOP),
        Some(_) => Err(Errno::EXIST),
        None => Ok(()),
    }
}

fn write(view: &mut View, path: &TreePath, bytes: &[u8], append: bool) -> Result<(), Errno> {
    let file = match found(view, path) {
        Err(Errno::NOENT) if !append => {
            free(view, path)?;
            view.create(path, OFlags::WRONLY, Mode::from_raw_mode(0o644))?
        }
        Err(error) => return Err(error),
        Ok(found) if found.kind() == FileType::Directory => return Err(Errno::ISDIR),
        Ok(found) if found.kind() != FileType::RegularFile => return Err(Errno::LOOP),
        Ok(found) => {
            view.copy_up(&found, !append)?;
            let found = view.find(path)?;
            let flags = OFlags::WRONLY | if append { OFlags::APPEND } else { OFlags::TRUNC };
            rustix::fs::openat(view.root(found.place), path.relative(), flags, Mode::empty())?
        }
    };
    std::fs::File::from(file).write_all(bytes).expect("write");
    Ok(())
}

/// Does a step on the view.
fn act(view: &mut View, step: &Step) -> Result<(), Errno> {
    match step {
        Step::Write(path, bytes) => write(view, path, bytes, false),
        Step::Append(path, bytes) => write(view, path, bytes, true),
        Step::MakeDir(path) => free(view, path).and_then(|()| view.make_dir(path, Mode::from_raw_mode(0o755))),
        Step::Symlink(target, path) => free(view, path).and_then(|()| view.symlink(target, path)),
        Step::Link(from, to) => {
            let from = found(view, from)?;
            // Two names of one link are not told from two links.
            if from.kind() == FileType::Symlink {
                return Err(Errno::LOOP);
            }
            free(view, to)?;
            view.link(&from, to)
        }
        Step::Remove(path) => found(view, path).and_then(|found| view.remove(&found, false)),
        Step::RemoveDir(path) => found(view, path).and_then(|found| view.remove(&found, true)),
        Step::Rename(from, to) | Step::Exchange(from, to) => {
            let from = found(view, from)?;
            match free(view, to) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            let flags = if matches!(step, Step::Exchange(..)) { RenameFlags::EXCHANGE } else { RenameFlags::empty() };
            view.rename(&from, to, flags)
        }
        Step::Mode(path, mode) => {
            let found = found(view, path)?;
            if found.kind() == FileType::Symlink {
                return Err(Errno::LOOP);
            }
            view.set_attribute(&found, &Attribute::Mode(Mode::from_raw_mode(*mode)))
        }
        Step::Times(path, seconds) => {
            let found = found(view, path)?;
            let time = Timespec { tv_sec: *seconds, tv_nsec: 7 };
            view.set_attribute(&found, &Attribute::Times(&Timestamps { last_access: time, last_modification: time }))
        }
    }
}

/// Does the same on the model.
fn model(tree: &mut Tree, step: &Step) -> Result<(), Errno> {
    match step {
        Step::Write(path, bytes) => tree.write(path, bytes, false),
        Step::Append(path, bytes) => tree.write(path, bytes, true),
        Step::MakeDir(path) => tree.free(path).map(|()| tree.set(path, Node::Dir { mode: 0o755 })),
        Step::Symlink(target, path) => tree.free(path).map(|()| tree.set(path, Node::Link(target.clone()))),
        Step::Link(from, to) => tree.link(from, to),
        Step::Remove(path) => tree.remove(path, false),
        Step::RemoveDir(path) => tree.remove(path, true),
        Step::Rename(from, to) => tree.rename(from, to, false),
        Step::Exchange(from, to) => tree.rename(from, to, true),
        Step::Mode(path, mode) => tree.mode(path, *mode),
        Step::Times(path, _) => tree.get(path).map(drop),
    }
}

/// The tree as the view shows it.
fn seen(view: &View, at: &TreePath, tree: &mut Tree) {
    for entry in view.list(at).expect("list") {
        let path = at.join(&entry.name);
        let found = view.find(&path).unwrap_or_else(|error| panic!("{path} is listed: {error}"));
        let shown = view.shown(&found);
        assert!(entry.ino == shown.st_ino, "{path}: listed as {}, shown as {}", entry.ino, shown.st_ino);
        let mode = found.stat.st_mode & 0o7777;
        match found.kind() {
            FileType::Directory => {
                tree.set(&path, Node::Dir { mode });
                seen(view, &path, tree);
            }
            FileType::Symlink => tree.set(&path, Node::Link(view.read_link(&found).expect("read link"))),
            _ => {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                let file = rustix::fs::openat(view.root(found.place), path.relative(), flags, Mode::empty()).expect("open");
                let mut bytes = Vec::new();
                std::fs::File::from(file).read_to_end(&mut bytes).expect("read");
                tree.file(&path, mode, bytes, (shown.st_dev, shown.st_ino));
            }
        }
    }
}

/// Number, size and times of all files: what must not change.
fn fingerprint(dir: &Path) -> BTreeMap<std::path::PathBuf, Vec<i64>> {
    let mut prints = BTreeMap::new();
    for entry in std::fs::read_dir(dir).expect("list") {
        let path = entry.expect("entry").path();
        let stat = path.symlink_metadata().expect("stat");
        prints.insert(
            path.clone(),
            vec![stat.ino() as i64, stat.size() as i64, stat.mtime_nsec(), stat.ctime_nsec(), stat.mode().into()],
        );
        if stat.is_dir() {
            prints.append(&mut fingerprint(&path));
        }
    }
    prints
}

/// Keeps it; sometimes that dies before.
fn keep(store: &Store, name: &str, host: &Path, dice: &mut Dice) {
    for _ in 0..dice.below(3) {
        let mut left = dice.below(60);
        let mut step = || {
            assert!(left > 0, "it dies");
            left -= 1;
        };
        let _ = catch_unwind(AssertUnwindSafe(|| store.keep(name, host, &[], &mut step)));
    }
    if store.about(name).is_ok() {
        match store.keep(name, host, &[], &mut || {}).expect("keep") {
            Kept::Done(_) => {}
            Kept::Conflicts(conflicts) => panic!("conflicts: {conflicts:?}"),
        }
    }
    common::assert_clean(host);
}

/// One with files that have several names on the host is compared when it is kept: what is written to one of these names, the others show then.
fn one_life(dice: &mut Dice, is_linked: bool) {
    let dir = tempfile::tempdir().expect("directory");
    let host = dir.path().join("host");
    std::fs::create_dir(&host).expect("make the host's tree");
    common::fill(&host, dice, &NAMES);
    if is_linked {
        common::link_some(&host, dice, &NAMES);
    }
    let store = Store::open(&dir.path().join("layers")).expect("store");
    let mut below = Vec::new();
    let before = fingerprint(&host);
    let mut tree = tree_of(&host);
    // Sometimes there is a layer between.
    let count = if is_linked { 1 } else { 1 + dice.below(2) };
    for index in 0..count {
        let name = if index + 1 == count { LAYER.to_owned() } else { format!("below-{index}") };
        store.create(&name, &About { below: below.clone(), ..About::default() }).expect("make a layer");
        below.push(name);
        for round in 0..3 {
            let open = |name: &String, change| -> Layer { store.layer(name, change).expect("open the layer") };
            let layers = below.iter().map(|name| open(name, *name == below[index])).collect();
            let mut view = View::new(&host, layers, Rules::default()).expect("view");
            for _ in 0..if round == 0 { 0 } else { 25 } {
                let step = any_step(dice);
                // A copy of a file that has other names below is one of its own.
                if matches!(step, Step::Link(..)) && index + 1 < count {
                    continue;
                }
                // As in a call of a program, which looks at nothing twice; or not.
                view.remember_looks(dice.below(2) == 0);
                let (real, expected) = (act(&mut view, &step), model(&mut tree, &step));
                view.remember_looks(false);
                assert_eq!(real.is_ok(), expected.is_ok(), "{step:?}: {real:?}, the model says {expected:?}");
            }
            let mut shown = Tree::default();
            seen(&view, &TreePath::root(), &mut shown);
            assert!(is_linked || shown == tree, "round {round}: {shown:?}, the model says {tree:?}");
            assert_eq!(fingerprint(&host), before, "the host");
        }
        assert_eq!(store.check(&below[index]).expect("check"), Vec::<String>::new());
    }
    for name in &below {
        keep(&store, name, &host, dice);
    }
    assert_eq!(tree_of(&host), tree, "the host after it was kept");
    assert_eq!(store.names().expect("names"), Vec::<String>::new());
}

#[test]
fn a_view_is_a_tree() {
    let (seed, given) = seed();
    let start = Instant::now();
    for life in 0.. {
        let seed = NamedSeed(seed + life);
        one_life(&mut Dice::new(seed.0), seed.0.is_multiple_of(2));
        if given || start.elapsed() > fuzz_time() {
            break;
        }
    }
}

#[test]
#[ignore = "long: hundreds of random lives"]
fn a_view_is_a_tree_in_hundreds_of_lives() {
    for life in 0..500 {
        let seed = NamedSeed(life);
        one_life(&mut Dice::new(seed.0), seed.0.is_multiple_of(2));
    }
}
