//! Times of directories that were there before: what a program set is a change, what follows from changes of names is none.

use rustix::fs::{Mode, RenameFlags, Stat, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use slipway_layer::{Attribute, Kept, Kind, View};
use std::{
    fs,
    os::unix::fs::MetadataExt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    time::UNIX_EPOCH,
};

mod common;
use common::{Bench, path};

fn set(view: &mut View, name: &str, seconds: i64) {
    let time = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
    let times = Timestamps { last_access: time(0, UTIME_OMIT), last_modification: time(seconds, 5) };
    view.set_attribute(&view.find(&path(name)).expect("find"), &Attribute::Times(&times)).expect("set");
}

/// What is shown as changed: directories.
fn changed(bench: &Bench) -> Vec<String> {
    let mut names = Vec::new();
    bench.change(|view| {
        let changes = view.changes().expect("changes");
        assert!(changes.iter().all(|change| change.kind != Kind::Changed));
        let dirs = changes.iter().filter(|change| change.kind == Kind::Attributes);
        names = dirs.map(|change| change.path.to_string()).collect();
    });
    names
}

fn fill(host: &Path) {
    for name in ["set", "before", "after", "twice", "mode", "again/sub", "only-name"] {
        fs::create_dir_all(host.join(name)).expect("mkdir");
        fs::write(host.join(name).join("file"), "old").expect("write");
    }
}

fn act(bench: &Bench, view: &mut View) {
    set(view, "set", 10);
    bench.put(view, "before/new", "new");
    set(view, "before", 11);
    set(view, "after", 12);
    bench.put(view, "after/new", "new");
    set(view, "twice", 13);
    let found = view.find(&path("twice/file")).expect("find");
    view.copy_up(&found, false).expect("copy");
    view.remove(&view.find(&path("before/file")).expect("find"), false).expect("remove");
    set(view, "before", 11);
    set(view, "twice", 14);
    set(view, "mode", 15);
    let mode = view.find(&path("mode")).expect("find");
    view.set_attribute(&mode, &Attribute::Mode(Mode::from_raw_mode(0o700))).expect("chmod");
    bench.put(view, "only-name/new", "new");
    // What is set is another time than that which counts.
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let access = Timestamps { last_access: now, last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT } };
    view.set_attribute(&view.find(&path("only-name")).expect("find"), &Attribute::Times(&access)).expect("set");
    // One that replaces the host's.
    for (name, is_dir) in [("again/sub/file", false), ("again/sub", true), ("again", true)] {
        view.remove(&view.find(&path(name)).expect("find"), is_dir).expect("remove");
    }
    view.make_dir(&path("again"), Mode::from_raw_mode(0o755)).expect("mkdir");
    bench.put(view, "again/new", "new");
    set(view, "again", 16);
}

const TIMES: [(&str, i64); 5] = [("set", 10), ("before", 11), ("twice", 14), ("mode", 15), ("again", 16)];

fn assert_kept(bench: &Bench) {
    for (name, time) in TIMES {
        let stat = fs::metadata(bench.host().join(name)).expect("stat");
        assert_eq!((stat.mtime(), stat.mtime_nsec()), (time, 5), "{name}");
    }
    for name in ["after", "only-name"] {
        assert!(fs::metadata(bench.host().join(name)).expect("stat").mtime() > 1_000_000, "{name}");
    }
}

#[test]
fn a_time_that_was_set_is_kept() {
    let bench = Bench::over(fill, act);
    assert_eq!(changed(&bench), ["/again", "/before", "/mode", "/set", "/twice"]);
    assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(_))));
    assert_kept(&bench);
}

#[test]
fn also_if_the_keep_dies() {
    for death in 0.. {
        let bench = Bench::over(fill, act);
        let mut left = death;
        let mut step = || {
            assert!(left != 0, "it dies");
            left -= 1;
        };
        if catch_unwind(AssertUnwindSafe(|| bench.keep(&mut step))).is_ok() {
            assert!(death > 20, "only {death} steps");
            break;
        }
        assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(_))), "{death}");
        assert_kept(&bench);
    }
}

#[test]
fn a_part_is_kept_with_its_time() {
    let bench = Bench::over(fill, act);
    let keep = |name: &str| bench.store.keep("l", &bench.host(), &[path(name)], &mut || {});
    assert!(matches!(keep("before"), Ok(Kept::Done(3))));
    assert!(matches!(keep("set"), Ok(Kept::Done(1))));
    assert_eq!(changed(&bench), ["/again", "/mode", "/twice"]);
    assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(_))));
    assert_kept(&bench);
}

#[test]
fn one_whose_names_are_as_before_has_the_time_of_their_change() {
    let old = |dir: &Path| {
        let time = UNIX_EPOCH + std::time::Duration::from_secs(1000);
        fs::File::open(dir).and_then(|dir| dir.set_modified(time)).expect("set");
    };
    let make = || {
        Bench::over(
            |host| {
                fill(host);
                ["set", "before", "after", "twice"].iter().for_each(|name| old(&host.join(name)));
            },
            |bench, view| {
                bench.put(view, "set/new", "new");
                bench.unlink(view, "set/new");
                let file = view.find(&path("before/file")).expect("find");
                view.rename(&file, &path("before/other"), RenameFlags::empty()).expect("rename");
                let file = view.find(&path("before/other")).expect("find");
                view.rename(&file, &path("before/file"), RenameFlags::empty()).expect("rename");
                // What is copied changes no name, and what is written no directory.
                let file = view.find(&path("after/file")).expect("find");
                view.copy_up(&file, false).expect("copy");
                bench.put(view, "twice/new", "new");
                set(view, "twice", 2000);
            },
        )
    };
    for death in 0.. {
        let bench = make();
        assert_eq!(changed(&bench), ["/twice"]);
        let (mut shown, mut left) = (Vec::new(), death);
        let names = ["set", "before", "after", "twice"];
        let time = |stat: Stat| (stat.st_mtime, stat.st_mtime_nsec as i64);
        bench.change(|view| {
            shown = names.map(|name| time(view.shown(&view.find(&path(name)).expect("find")))).to_vec();
        });
        let mut step = || {
            assert!(left != 0, "it dies");
            left -= 1;
        };
        let is_over = catch_unwind(AssertUnwindSafe(|| bench.keep(&mut step))).is_ok();
        if bench.store.about("l").is_ok() {
            assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(_))), "{death}");
        }
        let stat = |name: &str| fs::metadata(bench.host().join(name)).expect("stat");
        assert_eq!(names.map(|name| (stat(name).mtime(), stat(name).mtime_nsec())).to_vec(), shown, "{death}");
        assert!(shown[0].0 > 1_000_000 && shown[1].0 > 1_000_000 && shown[2].0 == 1000 && shown[3].0 == 2000, "{shown:?}");
        if is_over {
            break;
        }
    }
}

#[test]
fn a_directory_that_was_changed_and_moves_keeps_the_time_that_it_showed() {
    let bench = Bench::over(
        |host| {
            fill(host);
            fs::File::open(host.join("again")).and_then(|dir| dir.set_modified(UNIX_EPOCH)).expect("set");
        },
        |bench, view| bench.put(view, "again/new", "new"),
    );
    bench.change(|view| {
        let dir = view.find(&path("again")).expect("find");
        let time = |stat: Stat| (stat.st_mtime, stat.st_mtime_nsec);
        let shown = time(view.shown(&dir));
        assert!(shown.0 > 0);
        view.rename(&dir, &path("moved"), RenameFlags::empty()).expect("rename");
        assert_eq!(time(view.shown(&view.find(&path("moved")).expect("find"))), shown);
    });
}

#[test]
fn what_is_kept_by_parts_gives_no_time_to_a_directory_whose_names_stay() {
    let make = |host: &Path| {
        for name in ["d/one", "d/two"] {
            fs::create_dir_all(host.join(name)).expect("mkdir");
            fs::write(host.join(name).join("file"), "old").expect("write");
        }
        for name in ["d/one", "d/two", "d"] {
            let time = UNIX_EPOCH + std::time::Duration::from_secs(1000);
            fs::File::open(host.join(name)).and_then(|dir| dir.set_modified(time)).expect("set");
        }
    };
    let bench = Bench::over(make, |bench, view| {
        for name in ["d/one/file", "d/two/file"] {
            bench.put(view, name, "new");
        }
        bench.put(view, "d/new", "new");
        bench.unlink(view, "d/new");
        set(view, "d", 2000);
    });
    let time = |name: &str| fs::metadata(bench.host().join(name)).expect("stat").mtime();
    for chosen in ["d/one", "d/two/file"] {
        let kept = bench.store.keep("l", &bench.host(), &[path(chosen)], &mut || {});
        assert!(matches!(kept, Ok(Kept::Done(1))), "{kept:?}");
    }
    assert_eq!(time("d"), 1000);
    assert_eq!(changed(&bench), ["/d"]);
    assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(1))));
    assert_eq!(time("d"), 2000);
    assert_eq!(time("d/one"), 1000, "a file was written in it");

    let bench = Bench::over(make, |bench, view| {
        ["d/one/file", "d/two/file"].iter().for_each(|name| bench.put(view, name, "new"));
    });
    let kept = bench.store.keep("l", &bench.host(), &[path("d/one")], &mut || {});
    assert!(matches!(kept, Ok(Kept::Done(1))), "{kept:?}");
    assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(1))));
    assert_eq!(fs::metadata(bench.host().join("d")).expect("stat").mtime(), 1000);
}

#[test]
fn a_directory_in_which_files_are_written_keeps_its_time() {
    let make = |host: &Path| {
        for name in ["written", "linked", "replaced", "made"] {
            fs::create_dir(host.join(name)).expect("mkdir");
            fs::write(host.join(name).join("file"), "old").expect("write");
        }
        fs::hard_link(host.join("linked/file"), host.join("linked/other")).expect("link");
        for name in ["written", "linked", "replaced", "made"] {
            let time = UNIX_EPOCH + std::time::Duration::from_secs(1000);
            fs::File::open(host.join(name)).and_then(|dir| dir.set_modified(time)).expect("set");
        }
    };
    let bench = Bench::over(make, |bench, view| {
        ["written/file", "linked/file", "made/file", "made/new"].iter().for_each(|name| bench.put(view, name, "new"));
        bench.replace(view, "replaced/file", "new");
    });
    assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(_))));
    let times =
        ["written", "linked", "replaced", "made"].map(|name| fs::metadata(bench.host().join(name)).expect("stat").mtime());
    assert_eq!(times.map(|time| time == 1000), [true, true, false, false], "{times:?}");
}

#[test]
fn a_round_time_of_a_file_with_several_names() {
    let original = UNIX_EPOCH + std::time::Duration::new(5, 123_456_789);
    for ns in [0, 100_000_000, 123_456_000] {
        let bench = Bench::over(
            |host| {
                fs::write(host.join("a"), "text").expect("write");
                fs::File::open(host.join("a")).and_then(|file| file.set_modified(original)).expect("set");
                fs::hard_link(host.join("a"), host.join("b")).expect("link");
            },
            |_, view| {
                let time = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
                let times = Timestamps { last_access: time(0, UTIME_OMIT), last_modification: time(5, ns) };
                view.set_attribute(&view.find(&path("a")).expect("find"), &Attribute::Times(&times)).expect("set");
            },
        );
        let kept = bench.keep(&mut || {});
        assert!(matches!(kept, Ok(Kept::Done(1))), "{kept:?}");
        let stat = fs::metadata(bench.host().join("b")).expect("stat");
        assert_eq!((stat.mtime(), stat.mtime_nsec()), (5, ns));
    }
}
