//! What is left of layers whose making or removal was killed, by this version or an older one. A program of its own: what forks shares locks
//! with the child.
#![allow(unsafe_code, reason = "a process that is killed")]

use rustix::fs::{FlockOperation, flock};
use slipway_layer::{About, Error, Store};
use std::{fs, path::Path, sync::MutexGuard};

mod common;
use common::one_at_a_time;

fn store() -> (MutexGuard<'static, ()>, tempfile::TempDir, Store) {
    let one = one_at_a_time();
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::open(dir.path()).expect("open");
    (one, dir, store)
}

fn create(store: &Store, name: &str) -> Result<(), Error> {
    store.create(name, &About { command: vec!["true".to_owned()], ..About::default() })
}

/// Everything in the store but its lock.
fn names(store: &Store) -> Vec<String> {
    let entries = fs::read_dir(store.dir()).expect("list");
    let mut names: Vec<String> = entries.map(|entry| entry.expect("list").file_name().into_string().expect("a name")).collect();
    names.retain(|name| name != ".lock");
    names.sort();
    names
}

/// A layer with so many files.
fn fill(store: &Store, name: &str, count: usize) {
    create(store, name).expect("create");
    let dir = store.dir().join(name).join("files/dir");
    fs::create_dir(&dir).expect("mkdir");
    (0..count).for_each(|number| fs::write(dir.join(number.to_string()), "").expect("write"));
}

#[test]
fn a_removal_that_was_killed_frees_the_name() {
    let (_one, _dir, store) = store();
    let mut left = 0;
    for _ in 0..4 {
        fill(&store, "l", 1000);
        // SAFETY: the child goes on with this thread, and ends here.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0);
        if pid == 0 {
            let discarded = store.discard("l").is_ok();
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!discarded)) };
        }
        let (mut status, mut has_ended) = (0, false);
        while store.dir().join("l").exists() && !has_ended {
            std::thread::yield_now();
            // SAFETY: the child of this function.
            has_ended = unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG) } == pid;
        }
        if !has_ended {
            // SAFETY: the same.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            // SAFETY: the same.
            assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        }
        left += names(&store).len();
        assert!(store.names().expect("names").is_empty());
        assert!(matches!(store.check("l"), Err(Error::Missing(_))));
        create(&store, "l").expect("the name is free");
        assert_eq!(names(&store), ["l"]);
        store.discard("l").expect("discard");
        assert_eq!(names(&store), [""; 0]);
    }
    assert!(left > 0, "none was killed in time");
}

#[test]
fn a_layer_that_was_half_made_is_none() {
    let (_one, _dir, store) = store();
    for parts in 0..4 {
        let new = store.dir().join(".new");
        fs::create_dir(&new).expect("mkdir");
        ["files", "work"].iter().take(parts).for_each(|part| fs::create_dir(new.join(part)).expect("mkdir"));
        if parts == 3 {
            fs::write(new.join("about.json"), "{").expect("write");
        }
        assert!(store.names().expect("names").is_empty());
        create(&store, "l").expect("create");
        assert_eq!((names(&store), store.names().expect("names")), (vec!["l".to_owned()], vec!["l".to_owned()]));
        assert!(matches!(create(&store, "l"), Err(Error::Exists(_))));
        store.discard("l").expect("discard");
    }
}

/// Older versions removed `about.json` first, and made it last.
#[test]
fn what_an_older_version_left() {
    let (_one, _dir, store) = store();
    let orphan = || {
        fill(&store, "l", 3);
        fs::remove_file(store.dir().join("l/about.json")).expect("remove");
    };
    orphan();
    create(&store, "l").expect("create");
    assert_eq!(names(&store), ["l"]);
    store.discard("l").expect("discard");
    orphan();
    store.discard("l").expect("discard");
    assert_eq!(names(&store), [""; 0]);
    assert!(matches!(store.discard("l"), Err(Error::Missing(_))));
    // One that is at work on it, or something else.
    orphan();
    let lock = fs::File::open(store.dir().join("l/lock")).expect("open");
    flock(&lock, FlockOperation::LockShared).expect("lock");
    assert!(matches!(create(&store, "l"), Err(Error::Exists(_))));
    assert!(matches!(store.discard("l"), Err(Error::Missing(_))));
    drop(lock);
    create(&store, "l").expect("create");
    let mine = |path: &Path| fs::create_dir_all(path.join("mine")).expect("mkdir");
    mine(&store.dir().join("other"));
    assert!(matches!(create(&store, "other"), Err(Error::Exists(_))));
    assert!(matches!(store.discard("other"), Err(Error::Missing(_))));
    assert_eq!(names(&store), ["l", "other"]);
}

#[test]
fn what_another_process_removes_is_left_to_it() {
    let (_one, _dir, store) = store();
    fill(&store, "l", 3);
    let gone = store.dir().join(".gone-1");
    fs::rename(store.dir().join("l"), &gone).expect("rename");
    let lock = fs::File::open(gone.join("lock")).expect("open");
    flock(&lock, FlockOperation::LockExclusive).expect("lock");
    fill(&store, "l", 3);
    store.discard("l").expect("discard");
    assert_eq!(names(&store), [".gone-1"]);
    assert!(gone.join("files/dir/2").exists());
    drop(lock);
    create(&store, "l").expect("create");
    assert_eq!(names(&store), ["l"]);
}

#[test]
fn many_at_once() {
    let (_one, _dir, store) = store();
    let lives = |seed: usize| {
        for number in 0..60 {
            let name = ["a", "b"][(number + seed) % 2];
            match create(&store, name) {
                Ok(()) => fs::write(store.dir().join(name).join("files/by"), seed.to_string()).unwrap_or_default(),
                Err(Error::Exists(_)) => {}
                Err(error) => panic!("{error}"),
            }
            match store.layer(name, false) {
                Ok(_) | Err(Error::Missing(_) | Error::Busy(_)) => {}
                Err(error) => panic!("{error}"),
            }
            match store.discard(name) {
                Ok(()) | Err(Error::Missing(_) | Error::Busy(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    };
    std::thread::scope(|scope| {
        let lives = &lives;
        (0..4).for_each(|seed| drop(scope.spawn(move || lives(seed))));
    });
    for name in ["a", "b"] {
        if store.about(name).is_ok() {
            store.discard(name).expect("discard");
        }
        create(&store, name).expect("create");
        assert_eq!(store.layer(name, true).expect("open").name(), name);
    }
    assert_eq!(names(&store), ["a", "b"]);
}

#[test]
fn commands_that_start_together_have_layers_of_their_own() {
    let (_one, _dir, store) = store();
    let starts = || (0..20).map(|_| store.create_free("make -j", &About::default()).expect("create")).collect::<Vec<_>>();
    let mut made: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(starts)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a thread")).collect()
    });
    made.sort();
    assert_eq!(made, names(&store));
    assert!(made.contains(&"makej-1".to_owned()) && made.contains(&"makej-80".to_owned()), "{made:?}");
}
