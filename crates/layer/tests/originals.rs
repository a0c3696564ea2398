//! Whose copies files are: which numbers they show.

use rustix::fs::{Mode, RenameFlags, Stat};
use slipway_layer::{Kept, View};
use std::{fs, io::Write, os::unix::fs::MetadataExt};

mod common;
use common::{Bench, path};

/// The layer has a copy of `a`.
fn copied() -> Bench {
    Bench::over(
        |host| {
            fs::create_dir(host.join("dir")).expect("mkdir");
            fs::write(host.join("dir/a"), "one").expect("write");
        },
        |bench, view| bench.put(view, "dir/a", "changed"),
    )
}

fn shown(view: &View, name: &str) -> Stat {
    view.shown(&view.find(&path(name)).expect("find"))
}

#[test]
fn a_copy_shows_the_number_of_its_original() {
    let bench = copied();
    let original = fs::metadata(bench.host().join("dir/a")).expect("stat").ino();
    bench.change(|view| assert_eq!(shown(view, "dir/a").st_ino, original));
}

#[test]
fn a_number_that_the_host_gave_to_another_file_is_that_files_alone() {
    let bench = copied();
    let host = bench.host();
    // As where a file system gives the number of a file that is gone to the next one.
    fs::rename(host.join("dir/a"), host.join("dir/b")).expect("rename");
    fs::write(host.join("dir/a"), "saved by an editor").expect("write");
    for _ in 0..2 {
        bench.change(|view| {
            let (a, b) = (shown(view, "dir/a"), shown(view, "dir/b"));
            assert_eq!(b.st_ino, fs::metadata(host.join("dir/b")).expect("stat").ino());
            assert!((a.st_dev, a.st_ino) != (b.st_dev, b.st_ino), "two files show one number");
            let listed = view.list(&path("dir")).expect("list");
            assert_eq!(listed.iter().map(|entry| entry.ino).collect::<Vec<_>>(), [a.st_ino, b.st_ino]);
        });
    }
}

#[test]
fn a_copy_that_was_not_put_in_its_place_is_none() {
    let bench = copied();
    let log = bench.store.dir().join("l/log");
    // As if it was killed before that; the next file of the layer may get the number.
    let mut file = fs::OpenOptions::new().append(true).open(&log).expect("open");
    writeln!(file, r#"{{"Copy":{{"of":[1,2],"ino":4242424242}}}}"#).expect("write");
    let has = || bench.store.layer("l", true).expect("open").copies().any(|(ino, _)| ino == 4_242_424_242);
    assert!(!has());
    assert!(fs::read_to_string(&log).expect("read").contains(r#"{"Gone":{"ino":4242424242}}"#));
    bench.change(|view| assert_eq!(view.top().expect("a layer").copies().count(), 2, "the directory and the file"));
}

#[test]
fn a_layer_above_one_that_was_kept_shows_the_hosts_numbers() {
    let bench = copied();
    let about = slipway_layer::About { below: vec!["l".to_owned()], ..Default::default() };
    bench.store.create("above", &about).expect("layer");
    let open = |layers: &[&str]| {
        let last = layers.len() - 1;
        let layers = layers.iter().enumerate().map(|(at, name)| bench.store.layer(name, at == last).expect("open")).collect();
        View::new(&bench.host(), layers, slipway_layer::Rules::default()).expect("view")
    };
    let number = {
        let mut view = open(&["l", "above"]);
        bench.put(&mut view, "dir/a", "changed again");
        shown(&view, "dir/a").st_ino
    };
    assert_eq!(shown(&open(&["l", "above"]), "dir/a").st_ino, number);
    bench.keep(&mut || {}).expect("keep");
    let kept = fs::metadata(bench.host().join("dir/a")).expect("stat").ino();
    let shown = shown(&open(&["above"]), "dir/a").st_ino;
    assert!(kept != number && shown != number, "the number is free");
}

#[test]
fn a_directory_that_is_the_layers_is_moved_and_not_copied() {
    let bench = copied();
    bench.change(|view| {
        let find = |view: &View, name: &str| view.find(&path(name)).expect("find");
        let number = |view: &View, name: &str| find(view, name).stat.st_ino;
        // It hides the host's.
        view.remove(&find(view, "dir/a"), false).expect("remove");
        view.remove(&find(view, "dir"), true).expect("rmdir");
        view.make_dir(&path("dir"), Mode::RWXU).expect("mkdir");
        bench.put(view, "dir/new", "new");
        view.make_dir(&path("other"), Mode::RWXU).expect("mkdir");
        let (dir, other) = (number(view, "dir"), number(view, "other"));
        for _ in 0..2 {
            view.rename(&find(view, "dir"), &path("other"), RenameFlags::EXCHANGE).expect("exchange");
        }
        assert_eq!([number(view, "dir"), number(view, "other")], [dir, other]);
        view.rename(&find(view, "dir"), &path("moved"), RenameFlags::empty()).expect("rename");
        assert_eq!(number(view, "moved"), dir);
        assert!(view.find(&path("dir")).is_err());
    });
    assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(_))));
    assert_eq!(bench.text("moved/new"), "new");
    assert!(!bench.host().join("dir").exists() && bench.host().join("other").exists());
}
