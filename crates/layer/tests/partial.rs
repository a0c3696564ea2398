//! Keeping a part of a layer: the rest must stay as it was, and be kept later.

use rustix::fs::{Mode, RenameFlags};
use slipway_layer::{Kept, View};
use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
};

mod common;
use common::{Bench, Tree, assert_clean, path, tree_of};

/// A layer that makes a directory anew, and has `z` and `d/f`.
fn made_anew() -> Bench {
    Bench::over(
        |host| {
            fs::create_dir_all(host.join("d/sub")).expect("mkdir");
            for name in ["d/f", "d/old", "d/sub/x"] {
                fs::write(host.join(name), "old").expect("write");
            }
        },
        |bench, view| {
            for name in ["d/f", "d/old", "d/sub/x"] {
                bench.unlink(view, name);
            }
            for name in ["d/sub", "d"] {
                let dir = view.find(&path(name)).expect("find");
                view.remove(&dir, true).expect("rmdir");
            }
            for name in ["d", "d/sub"] {
                view.make_dir(&path(name), Mode::from_raw_mode(0o755)).expect("mkdir");
            }
            for name in ["d/f", "d/g", "d/sub/y", "z"] {
                bench.put(view, name, name);
            }
        },
    )
}

fn keep(bench: &Bench, paths: &[&str]) -> usize {
    let paths: Vec<_> = paths.iter().map(|name| path(name)).collect();
    match bench.store.keep("l", &bench.host(), &paths, &mut || {}).expect("keep") {
        Kept::Done(count) => count,
        Kept::Conflicts(list) => panic!("{list:?}"),
    }
}

fn changed(view: &View) -> Vec<String> {
    view.changes().expect("changes").iter().map(|change| change.path.to_string()).collect()
}

fn listed(view: &View, dir: &str) -> Vec<String> {
    let entries = view.list(&path(dir)).expect("list").into_iter();
    entries.map(|entry| String::from_utf8(entry.name).expect("UTF-8")).collect()
}

fn whole(make: impl Fn() -> Bench) -> Tree {
    let bench = make();
    assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(_))));
    tree_of(&bench.host())
}

#[test]
fn a_directory_that_was_made_anew() {
    let bench = made_anew();
    keep(&bench, &["d"]);
    bench.change(|view| {
        assert_eq!(changed(view), ["/z"]);
        assert_eq!(listed(view, "d"), ["f", "g", "sub"]);
    });
    assert_eq!(keep(&bench, &[]), 1);
    assert!(tree_of(&bench.host()) == whole(made_anew));
}

#[test]
fn a_part_of_a_directory_that_was_made_anew() {
    let parts: [&[&str]; 4] = [&["d/f"], &["d/sub"], &["d/old", "z"], &["d/sub/y", "d/g"]];
    for part in parts {
        let bench = made_anew();
        keep(&bench, part);
        bench.change(|view| {
            let changed = changed(view);
            assert!(part.iter().all(|name| !changed.contains(&format!("/{name}"))), "{part:?}: {changed:?}");
            assert_eq!(listed(view, "d"), ["f", "g", "sub"]);
            assert_eq!(listed(view, "d/sub"), ["y"]);
            // What stays shows the numbers of the host's files.
            for name in ["d/f", "d/g", "d/sub"].iter().filter(|name| part.contains(name)) {
                let host = rustix::fs::stat(bench.host().join(name)).expect("stat");
                assert_eq!(view.shown(&view.find(&path(name)).expect("find")).st_ino, host.st_ino);
            }
        });
        assert_eq!(bench.store.check("l").expect("check"), Vec::<String>::new());
        keep(&bench, &[]);
        assert!(tree_of(&bench.host()) == whole(made_anew), "{part:?}");
        assert_clean(&bench.host());
    }
}

#[test]
fn what_is_kept_and_changed_again() {
    let bench = made_anew();
    keep(&bench, &["d/f"]);
    bench.change(|view| bench.put(view, "d/f", "again"));
    keep(&bench, &[]);
    assert_eq!((bench.text("d/f"), bench.text("d/g")), ("again".to_owned(), "d/g".to_owned()));
    let bench = made_anew();
    keep(&bench, &["d/f"]);
    bench.change(|view| bench.unlink(view, "d/f"));
    fs::write(bench.host().join("d/f"), "mine").expect("write");
    assert_eq!(bench.conflicts(), [("/d/f".to_owned(), "it was changed on the host")]);
}

#[test]
fn a_part_of_a_directory_that_was_renamed() {
    let renamed = || {
        Bench::over(
            |host| {
                fs::create_dir(host.join("d")).expect("mkdir");
                fs::write(host.join("d/a"), "a").expect("write");
                fs::write(host.join("d/b"), "b").expect("write");
            },
            |_, view| {
                let dir = view.find(&path("d")).expect("find");
                view.rename(&dir, &path("e"), RenameFlags::empty()).expect("rename");
            },
        )
    };
    let bench = renamed();
    keep(&bench, &["e/a"]);
    bench.change(|view| {
        assert_eq!((changed(view).join(" "), listed(view, "e").join(" ")), ("/d /d/a /d/b /e/b".into(), "a b".into()))
    });
    keep(&bench, &[]);
    assert!(tree_of(&bench.host()) == whole(renamed));
}

#[test]
fn a_death_at_any_step() {
    let parts: [&[&str]; 3] = [&["d"], &["d/sub"], &["d/f", "d/old"]];
    let whole = whole(made_anew);
    for part in parts {
        let paths: Vec<_> = part.iter().map(|name| path(name)).collect();
        for number in 0.. {
            let bench = made_anew();
            let mut left = number;
            let mut step = || {
                assert!(left > 0, "it dies");
                left -= 1;
            };
            let kept = catch_unwind(AssertUnwindSafe(|| bench.store.keep("l", &bench.host(), &paths, &mut step)));
            bench.store.recover("l", &bench.host(), &mut || {}).expect("recover");
            assert_clean(&bench.host());
            assert_eq!(bench.store.check("l").expect("check"), Vec::<String>::new());
            bench.change(|view| assert_eq!(listed(view, "d"), ["f", "g", "sub"]));
            keep(&bench, &[]);
            assert!(tree_of(&bench.host()) == whole, "{part:?}, killed before step {number}");
            if kept.is_ok() {
                break;
            }
        }
    }
}
