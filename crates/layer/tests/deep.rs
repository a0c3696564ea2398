//! Names that are as long as a path can be: those that a `keep` makes beside them and below are longer.

use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, CWD, FileType, Mode, OFlags, XattrFlags, fgetxattr, fsetxattr, linkat, lsetxattr, mkdirat, openat, statat},
    io::{Errno, write},
};
use slipway_layer::{Attribute, Error, Kept, TreePath, View};
use std::{fs, path::Path};

mod common;
use common::{Bench, is_staging, path};

const LENGTH: usize = 4087;
const NOTE: &std::ffi::CStr = c"user.note";

/// A directory's name of this length, and those above it.
fn deep(first: &str) -> Vec<TreePath> {
    let mut dirs = vec![path(first)];
    let mut length = first.len();
    while length < LENGTH {
        let name = vec![b'a'; (LENGTH - length - 1).min(if LENGTH - length > 220 { 200 } else { 255 })];
        length += 1 + name.len();
        let dir = dirs.last().expect("one").join(&name);
        dirs.push(dir);
    }
    dirs
}

fn in_deep(first: &str, name: &[u8]) -> TreePath {
    deep(first).pop().expect("one").join(name)
}

fn open(dir: &Path) -> OwnedFd {
    openat(CWD, dir, OFlags::PATH, Mode::empty()).expect("open")
}

fn make(host: &Path) {
    let host = open(host);
    for dir in deep("y") {
        mkdirat(&host, dir.relative(), Mode::RWXU).expect("mkdir");
    }
    for name in [b"old", b"two", b"bye"] {
        let flags = OFlags::WRONLY | OFlags::CREATE;
        let file = openat(&host, in_deep("y", name).relative(), flags, Mode::RUSR | Mode::WUSR).expect("create");
        write(&file, name).expect("write");
        let _ = fsetxattr(&file, NOTE, name, XattrFlags::empty());
    }
    linkat(&host, in_deep("y", b"two").relative(), &host, "other", AtFlags::empty()).expect("link");
}

/// Whether the file system does.
fn knows_notes(dir: &Path) -> bool {
    lsetxattr(dir, NOTE, b"", XattrFlags::empty()).is_ok()
}

fn change(bench: &Bench, view: &mut View) {
    for dir in deep("z") {
        view.make_dir(&dir, Mode::RWXU).expect("mkdir");
    }
    let put =
        |view: &mut View, name: TreePath, text: &str| bench.put(view, std::str::from_utf8(name.relative()).expect("text"), text);
    put(view, in_deep("z", b"one"), "new");
    let one = view.find(&in_deep("z", b"one")).expect("find");
    let note = Attribute::SetXattr(NOTE, b"new", XattrFlags::empty());
    assert_eq!(view.set_attribute(&one, &note).is_ok(), knows_notes(&bench.host()));
    view.link(&one, &in_deep("z", b"too")).expect("link");
    put(view, in_deep("y", b"old"), "new");
    put(view, in_deep("y", b"two"), "new");
    let bye = view.find(&in_deep("y", b"bye")).expect("find");
    view.remove(&bye, false).expect("remove");
    bench.put(view, "zz", "last");
}

fn size(bench: &Bench, name: &TreePath) -> Result<i64, Errno> {
    statat(open(&bench.host()), name.relative(), AtFlags::empty()).map(|stat| stat.st_size)
}

fn count_in(bench: &Bench, first: &str) -> usize {
    let far = deep(first).pop().expect("one");
    let dir = openat(open(&bench.host()), far.relative(), OFlags::RDONLY, Mode::empty()).expect("open");
    rustix::fs::Dir::new(dir)
        .expect("list")
        .filter(|entry| entry.as_ref().expect("entry").file_type() != FileType::Directory)
        .count()
}

fn assert_old(bench: &Bench) {
    assert!(!is_staging(&bench.host()) && !bench.host().join("z").exists());
    assert_eq!((count_in(bench, "y"), fs::read(bench.host().join("other")).expect("read")), (3, b"two".to_vec()));
    assert_eq!(size(bench, &in_deep("y", b"bye")), Ok(3));
}

fn assert_kept(bench: &Bench) {
    assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(_))));
    assert!(!is_staging(&bench.host()));
    assert_eq!((count_in(bench, "y"), count_in(bench, "z")), (2, 2));
    let one = statat(open(&bench.host()), in_deep("z", b"one").relative(), AtFlags::empty()).expect("stat");
    let notes = [("z", "one", b"new"), ("y", "old", b"old"), ("y", "two", b"two")];
    for (first, name, value) in notes.into_iter().filter(|_| knows_notes(&bench.host())) {
        let (dir, mut note) = (open(&bench.host()), [0; 3]);
        let file = openat(dir, in_deep(first, name.as_bytes()).relative(), OFlags::RDONLY, Mode::empty()).expect("open");
        assert_eq!((fgetxattr(file, NOTE, &mut note[..]), &note), (Ok(3), value), "{name}");
    }
    assert_eq!((one.st_nlink, fs::read(bench.host().join("other")).expect("read")), (2, b"new".to_vec()));
}

#[test]
fn they_are_kept_also_if_that_dies() {
    let bench = Bench::over(make, change);
    assert_kept(&bench);
    for phase in ["keep.plan", "keep.commit", "keep.done"] {
        for number in [0, 3] {
            let bench = Bench::over(make, change);
            bench.die_after(phase, number);
            assert_kept(&bench);
        }
    }
}

#[test]
fn what_was_done_is_undone() {
    let bench = Bench::over(make, change);
    let mut is_made = false;
    let mut step = || {
        if bench.is_at("keep.commit") && !std::mem::replace(&mut is_made, true) {
            fs::write(bench.host().join("zz"), "mine").expect("write");
        }
    };
    let Err(Error::Io { what, .. }) = bench.keep(&mut step) else { panic!("it was kept") };
    assert!(what.contains("/zz on the host"), "{what}");
    assert_old(&bench);
}

#[test]
fn an_error_does_not_print_all_of_it() {
    let bench = Bench::over(make, change);
    let mut is_made = false;
    let mut step = || {
        if bench.is_at("keep.commit") && !std::mem::replace(&mut is_made, true) {
            rustix::fs::unlinkat(open(&bench.host()), in_deep("y", b"bye").relative(), AtFlags::empty()).expect("unlink");
        }
    };
    let Err(Error::Io { what, .. }) = bench.keep(&mut step) else { panic!("it was kept") };
    assert!(what.starts_with("change /y/aaa") && what.contains("/bye on the host") && what.len() < 600, "{what}");
}
