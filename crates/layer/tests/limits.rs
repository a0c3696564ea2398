//! Full disks, and few descriptors. A program of its own: what forks shares locks with the child.
#![allow(unsafe_code, reason = "a process that has limits, and mounts a small file system")]

use rustix::{
    fs::{Mode, RenameFlags},
    io::Errno,
    process::{Resource, Rlimit, getrlimit, setrlimit},
};
use slipway_layer::{About, Store, View};
use slipway_test_support::forked;
use std::{ffi::CString, fs, path::Path};

mod common;
use common::{Bench, one_at_a_time, path};

/// Runs `work` in a child that may write no file beyond so many bytes.
fn with_full_disk(bytes: u64, work: impl FnOnce()) {
    let code = forked(|| {
        // SAFETY: this process only.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        limit(Some(bytes));
        work();
        0
    });
    assert_eq!(code, 0);
}

fn limit(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: bytes.or(maximum), maximum }).expect("limit");
}

#[test]
fn a_line_that_the_disk_had_no_room_for() {
    let _one = one_at_a_time();
    let bench = Bench::new();
    let log = fs::metadata(bench.store.dir().join("l/log")).expect("stat").len();
    with_full_disk(log + 20, || {
        bench.change(|view| {
            let mode = Mode::RWXU;
            assert!(view.make_dir(&path("full"), mode).is_err());
            limit(None);
            view.make_dir(&path("room"), mode).expect("mkdir");
        });
    });
    bench.change(|view| assert!(view.find(&path("room")).is_ok() && view.find(&path("full")).is_err()));
}

#[test]
fn a_copy_whose_end_the_disk_had_no_room_for() {
    let _one = one_at_a_time();
    let bench = Bench::new();
    let log = bench.store.dir().join("l/log");
    with_full_disk(fs::metadata(&log).expect("stat").len(), || {
        bench.change(|view| {
            let count = |view: &View| view.top().expect("a layer").copies().count();
            let (found, before) = (view.find(&path("file")).expect("find"), count(view));
            view.remove(&found, false).expect("it is gone");
            assert_eq!(count(view), before - 1, "its number is free");
            limit(None);
            view.make_dir(&path("room"), Mode::RWXU).expect("mkdir");
        });
    });
    let text = fs::read_to_string(log).expect("read");
    let last: Vec<&str> = text.lines().rev().take(2).collect();
    assert!(last[0].contains("room") && last[1].contains("Gone"), "{last:?}");
}

#[test]
fn a_directory_that_the_disk_has_no_room_for() {
    let _one = one_at_a_time();
    let bench = Bench::new();
    fs::write(bench.host().join("dir/z"), vec![1; 1 << 20]).expect("write");
    with_full_disk(1 << 19, || {
        bench.change(|view| {
            let from = view.find(&path("dir")).expect("find");
            assert_eq!(view.rename(&from, &path("to"), RenameFlags::empty()), Err(Errno::FBIG));
            // Nothing of it takes room.
            assert_eq!(fs::read_dir(bench.store.dir().join("l/work")).expect("list").count(), 0);
            assert!(view.find(&path("dir/sub/b")).is_ok() && view.find(&path("to")).is_err());
        });
    });
}

#[test]
fn a_deep_directory_takes_few_descriptors() {
    let _one = one_at_a_time();
    let deep = "d/".repeat(600);
    let bench = Bench::over(
        |_| {},
        |_, view| {
            for (at, _) in deep.match_indices('/') {
                view.make_dir(&path(&deep[..at]), Mode::RWXU).expect("mkdir");
            }
        },
    );
    let code = forked(|| {
        let maximum = getrlimit(Resource::Nofile).maximum;
        setrlimit(Resource::Nofile, Rlimit { current: Some(100), maximum }).expect("limit");
        bench.change(|view| assert_eq!(view.changes().expect("changes").len(), 600));
        bench.store.discard("l").expect("discard");
        0
    });
    assert_eq!(code, 0);
}

#[test]
fn a_layer_has_longer_names_than_a_path() {
    let _one = one_at_a_time();
    let long = |top: &str, count| format!("{top}{}", format!("/{}", "d".repeat(200)).repeat(count));
    let bench = Bench::over(
        |_| {},
        |_, view| {
            for top in ["a", "b"] {
                for count in 0..=15 {
                    view.make_dir(&path(&long(top, count)), Mode::RWXU).expect("mkdir");
                }
            }
            let moved = view.find(&path("a")).expect("find");
            view.rename(&moved, &path(&format!("{}/a", long("b", 15))), RenameFlags::empty()).expect("rename");
        },
    );
    bench.change(|view| assert!(view.find(&path(&long("b", 15))).is_ok() && view.find(&path("a")).is_err()));
    bench.store.discard("l").expect("discard");
}

/// Calls with a directory on a file system that has so many files more, in a process of its own; not where none can be mounted.
fn with_few_files(count: usize, work: impl FnOnce(&Path)) {
    let dir = tempfile::tempdir().expect("directory");
    let place = CString::new(dir.path().as_os_str().as_encoded_bytes()).expect("a path");
    let options = CString::new(format!("nr_inodes={count}")).expect("options");
    let code = forked(|| {
        let tmpfs = c"tmpfs".as_ptr();
        // SAFETY: the strings live until the calls return; what is mounted is this process's alone, and gone with it.
        let mounted = unsafe {
            libc::unshare(libc::CLONE_NEWNS) == 0
                && libc::mount(
                    std::ptr::null(),
                    c"/".as_ptr(),
                    std::ptr::null(),
                    libc::MS_REC | libc::MS_PRIVATE,
                    std::ptr::null(),
                ) == 0
                && libc::mount(tmpfs, place.as_ptr(), tmpfs, 0, options.as_ptr().cast()) == 0
        };
        if mounted {
            work(dir.path());
        }
        0
    });
    assert_eq!(code, 0);
}

#[test]
fn a_rename_that_there_is_no_room_to_hide() {
    let _one = one_at_a_time();
    with_few_files(64, |dir| {
        let mut bench =
            Bench::over(|host| ["a", "b"].iter().for_each(|name| fs::write(host.join(name), "old").expect("write")), |_, _| {});
        // The same layers, where there is room for one file more: the copy.
        bench.store = Store::open(&dir.join("layers")).expect("store");
        bench.store.create("l", &About::default()).expect("layer");
        bench.change(|view| {
            bench.put(view, "log-is-there", "");
            let files = (0..).map(|number| dir.join(format!("full-{number}")));
            let made: Vec<_> = files.take_while(|name| fs::write(name, "").is_ok()).collect();
            let (last, rest) = made.split_last().expect("some");
            fs::remove_file(last).expect("remove");
            let mut rename = |from: &str, to: &str| {
                let found = view.find(&path(from)).expect("find");
                view.rename(&found, &path(to), RenameFlags::empty())
            };
            assert_eq!(rename("a", "to"), Err(Errno::NOSPC));
            rest.iter().for_each(|name| fs::remove_file(name).expect("remove"));
            rename("b", "other").expect("rename");
            assert!(view.find(&path("a")).is_ok() && view.find(&path("to")).is_err());
        });
        bench.change(|view| {
            let is_there = |name: &str| view.find(&path(name)).is_ok();
            assert!(is_there("a") && is_there("other") && !is_there("to") && !is_there("b"));
        });
    });
}
