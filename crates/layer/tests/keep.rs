//! Keeping a layer: conflicts, chosen paths, steps that fail.

use rustix::{fs::RenameFlags, io::Errno};
use slipway_layer::{About, Error, Kept, Rules, View};
use std::{
    fs,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

mod common;
use common::{Bench, Tree, assert_clean, path, tree_of};

#[test]
fn all_of_it() {
    let bench = Bench::new();
    let host = bench.host();
    let mode = fs::metadata(host.join("other-name")).expect("stat").mode();
    assert!(matches!(bench.keep(&mut || {}).expect("keep"), Kept::Done(_)));
    assert_clean(&host);
    let text = |name: &str| fs::read_to_string(host.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(text("file"), "new\n");
    assert_eq!(text("renamed/e"), "e");
    assert_eq!(text("made/two"), "1");
    assert_eq!(text("becomes-dir/f"), "f");
    for name in ["other-name", "stays", "one-more", "dir/sub/a"] {
        assert_eq!(text(name), "changed", "{name}: a file with several names stays one");
    }
    assert_eq!(fs::metadata(host.join("made/one")).expect("stat").nlink(), 2);
    assert_eq!(fs::metadata(host.join("made")).expect("stat").mode() & 0o777, 0o750);
    assert_eq!(fs::metadata(host.join("mode")).expect("stat").mode() & 0o777, 0o711);
    assert_eq!(fs::metadata(host.join("other-name")).expect("stat").mode(), mode);
    for gone in ["removed", "gone", "moved"] {
        assert!(!host.join(gone).exists(), "{gone}");
    }
    assert!(matches!(bench.store.about("l"), Err(Error::Missing(_))));
}

#[test]
fn a_device_that_a_rename_left() {
    let fill = |host: &Path| {
        fs::write(host.join("file"), "text").expect("write");
        fs::create_dir_all(host.join("dir/sub")).expect("mkdir");
    };
    let bench = Bench::over(fill, |_, _| {});
    let left = |from: &str, to: &str| {
        let mut done = Ok(());
        bench.change(|view| done = view.rename(&view.find(&path(from)).expect("find"), &path(to), RenameFlags::WHITEOUT));
        done
    };
    let done = left("file", "new");
    if done == Err(Errno::INVAL) {
        // overlayfs has none.
        return;
    }
    assert_eq!((done, left("dir", "moved")), (Ok(()), Ok(())));
    // Opened again, the layer has them still.
    bench.change(|view| assert_eq!(view.find(&path("dir")).expect("find").kind(), rustix::fs::FileType::CharacterDevice));
    assert!(matches!(bench.keep(&mut || {}).expect("keep"), Kept::Done(_)));
    for name in ["file", "dir"] {
        let stat = fs::symlink_metadata(bench.host().join(name)).expect("stat");
        assert!(stat.file_type().is_char_device() && stat.rdev() == 0 && stat.mode() & 0o7777 == 0, "{name}");
    }
    assert!(bench.text("new") == "text" && bench.host().join("moved/sub").is_dir());
}

#[test]
fn what_changed_on_the_host_is_a_conflict() {
    type Meddle = fn(&Path);
    let cases: [(Meddle, &str, &str); 6] = [
        (|host| fs::write(host.join("file"), "mine, longer").expect("write"), "/file", "it was changed on the host"),
        (|host| fs::remove_file(host.join("file")).expect("remove"), "/file", "it was removed on the host"),
        (|host| fs::write(host.join("dir/new"), "mine").expect("write"), "/dir/new", "it was made on the host, too"),
        (
            |host| fs::write(host.join("gone/surprise"), "mine").expect("write"),
            "/gone/surprise",
            "it was made in a directory that the layer removes",
        ),
        (|host| fs::write(host.join("removed"), "mine").expect("write"), "/removed", "it was changed on the host"),
        (
            |host| {
                fs::write(host.join("moved/e"), "mine").expect("write");
            },
            "/moved/e",
            "it was changed on the host",
        ),
    ];
    for (meddle, name, why) in cases {
        let bench = Bench::new();
        meddle(&bench.host());
        let before = tree_of(&bench.host());
        assert_eq!(bench.conflicts(), [(name.to_owned(), why)]);
        assert_eq!(tree_of(&bench.host()), before);
        assert_clean(&bench.host());
    }
}

#[test]
fn chosen_paths() {
    let bench = Bench::new();
    let host = bench.host();
    let whole = {
        let other = Bench::new();
        other.keep(&mut || {}).expect("keep");
        tree_of(&other.host())
    };
    assert!(matches!(bench.store.keep("l", &host, &[path("made/one"), path("gone")], &mut || {}).expect("keep"), Kept::Done(_)));
    assert!(host.join("made/one").exists() && !host.join("made/two").exists() && !host.join("gone").exists());
    assert_eq!(fs::read_to_string(host.join("file")).expect("read"), "old\n");
    assert_eq!(bench.store.check("l").expect("check"), Vec::<String>::new());
    bench.change(|view| {
        assert!(view.find(&path("made/two")).is_ok() && view.find(&path("gone")).is_err());
        let changes = view.changes().expect("changes");
        assert!(changes.iter().all(|change| change.path != path("gone") && change.path != path("made/one")));
    });
    assert!(matches!(bench.keep(&mut || {}).expect("keep the rest"), Kept::Done(_)));
    // The second name of a file whose first was kept before is a copy.
    fs::remove_file(host.join("made/two")).expect("remove");
    fs::hard_link(host.join("made/one"), host.join("made/two")).expect("link");
    assert!(tree_of(&host) == whole);
}

#[test]
fn a_chosen_path_leads_through_no_link() {
    let bench = Bench::new();
    let host = bench.host();
    fs::rename(host.join("dir"), host.join("elsewhere")).expect("rename");
    symlink("elsewhere", host.join("dir")).expect("symlink");
    match bench.store.keep("l", &host, &[path("dir/new")], &mut || {}).expect("keep") {
        Kept::Conflicts(list) => assert_eq!(list[0].why, "a directory above it is a link on the host now"),
        Kept::Done(count) => panic!("kept {count}"),
    }
    assert!(!host.join("elsewhere/new").exists());
}

#[test]
fn a_layer_below_another_is_kept_first() {
    let bench = Bench::new();
    bench.store.create("above", &About { below: vec!["l".to_owned()], ..About::default() }).expect("layer");
    let layers = vec![bench.store.layer("l", false).expect("open"), bench.store.layer("above", true).expect("open")];
    let mut view = View::new(&bench.host(), layers, Rules::default()).expect("view");
    bench.put(&mut view, "made/one", "again");
    bench.put(&mut view, "dir/a", "A");
    drop(view);
    assert!(matches!(bench.store.keep("above", &bench.host(), &[], &mut || {}), Err(Error::Above(..))));
    assert!(matches!(bench.store.discard("l"), Err(Error::Below(..))));
    bench.keep(&mut || {}).expect("keep");
    let above = bench.store.keep("above", &bench.host(), &[], &mut || {}).expect("keep");
    assert!(matches!(above, Kept::Done(_)), "{above:?}");
    assert_eq!(fs::read_to_string(bench.host().join("made/one")).expect("read"), "again");
}

/// The names that hosts are changed at, to how.
const MEDDLED: [(&str, &str, &str); 3] = [
    // Written over, replaced, and replaced where it is to be removed.
    ("file", "file", "it was changed on the host"),
    ("becomes-dir", "another", "it was changed on the host"),
    ("removed", "another", "it was changed on the host"),
];

/// Keeps while the host is changed before the first step at which `is_time`; what came of that, when nothing of it is on the host.
fn meddled(name: &str, through: &str, is_time: impl Fn(&Bench) -> bool) -> (Bench, Result<Kept, Error>) {
    let bench = Bench::new();
    let host = bench.host();
    let mut is_done = false;
    let mut step = || {
        if !is_done && is_time(&bench) {
            is_done = true;
            fs::write(host.join(through), "mine, longer").expect("write");
            fs::rename(host.join(through), host.join(name)).expect("rename");
        }
    };
    let kept = bench.keep(&mut step);
    assert!(is_done);
    assert_clean(&host);
    assert_eq!(fs::read_to_string(host.join(name)).expect("read"), "mine, longer");
    fs::write(host.join(name), "").expect("write");
    let other = Bench::new();
    fs::write(other.host().join(name), "").expect("write");
    assert!(tree_of(&host) == tree_of(&other.host()), "half of it is on the host");
    (bench, kept)
}

#[test]
fn what_changes_on_the_host_while_files_are_prepared_is_a_conflict() {
    for (name, through, why) in MEDDLED {
        let (bench, kept) = meddled(name, through, |bench| common::is_staging(&bench.host()));
        match kept.expect("keep") {
            Kept::Conflicts(list) => assert_eq!((list[0].path.clone(), list[0].why), (path(name), why)),
            Kept::Done(count) => panic!("kept {count}"),
        }
        assert_eq!(bench.conflicts(), [(format!("/{name}"), why)]);
    }
}

#[test]
fn what_changes_on_the_host_while_names_are_changed_is_put_back() {
    for (name, through, why) in MEDDLED {
        // The first step after the last comparison.
        let is_time = |bench: &Bench| {
            let plan = fs::read_to_string(bench.store.dir().join("l/keep.plan")).unwrap_or_default();
            bench.store.dir().join("l/keep.commit").exists() || plan.contains("\"marks\":[") && !plan.contains("\"marks\":[]")
        };
        let (bench, kept) = meddled(name, through, is_time);
        match kept {
            Err(Error::Io { what, .. }) => assert!(what.contains(name) && what.contains("meanwhile"), "{what}"),
            other => panic!("{name}: {other:?}"),
        }
        assert_eq!(bench.conflicts(), [(format!("/{name}"), why)]);
    }
}

#[test]
fn what_is_prepared_in_a_directory_that_is_made_anew_is_no_conflict() {
    let bench = Bench::new();
    bench.change(|view| {
        let dir = view.find(&path("dir")).expect("find");
        view.rename(&dir, &path("away"), rustix::fs::RenameFlags::empty()).expect("rename");
        view.make_dir(&path("dir"), rustix::fs::Mode::RWXU).expect("mkdir");
        bench.put(view, "dir/a", "another");
    });
    assert!(matches!(bench.keep(&mut || {}).expect("keep"), Kept::Done(_)));
    assert_clean(&bench.host());
    assert_eq!(fs::read_to_string(bench.host().join("dir/a")).expect("read"), "another");
    assert!(!bench.host().join("dir/sub").exists() && bench.host().join("away/sub/b").exists());
}

/// The keep failed at what is in its way, and left the host as it was; without that it succeeds.
fn assert_undone(bench: &Bench, kept: Result<Kept, Error>, old: &Tree) {
    let host = bench.host();
    match kept {
        Err(Error::Io { what, .. }) => assert!(what.contains("/renamed"), "{what}"),
        other => panic!("{other:?}"),
    }
    fs::remove_file(host.join("renamed")).expect("it was not replaced");
    assert!(tree_of(&host) == *old, "half of it is on the host");
    assert_clean(&host);
    assert!(matches!(bench.keep(&mut || {}).expect("keep"), Kept::Done(_)));
}

#[test]
fn a_step_that_fails_undoes_those_before_it() {
    if rustix::process::geteuid().is_root() {
        // Root's steps fail where nobody may write.
        let bench = Bench::new();
        let old = tree_of(&bench.host());
        let host = bench.host();
        let mut count = 0;
        let mut step = || {
            count += 1;
            // After it was decided, the name that a step must leave free is taken.
            if bench.store.dir().join("l/keep.commit").exists() {
                let _ = fs::write(host.join("renamed"), "in the way");
            }
        };
        let kept = bench.keep(&mut step);
        assert!(count > 0);
        assert_undone(&bench, kept, &old);
    }
}

#[test]
fn a_step_that_fails_when_a_keep_is_finished_undoes_it() {
    let bench = Bench::new();
    let (old, host, journal) = (tree_of(&bench.host()), bench.host(), bench.store.dir().join("l/keep.commit"));
    let mut left = 3;
    let mut step = || {
        left -= i32::from(journal.exists());
        // As if it were killed.
        assert!(left > 0, "the third step after it was decided");
    };
    assert!(catch_unwind(AssertUnwindSafe(|| bench.keep(&mut step))).is_err());
    assert!(tree_of(&host) != old, "steps were done");
    fs::write(host.join("renamed"), "in the way").expect("write");
    assert_undone(&bench, bench.keep(&mut || {}), &old);
}

#[test]
fn a_layer_outlives_the_numbers_of_devices() {
    let bench = Bench::new();
    let log = bench.store.dir().join("l/log");
    let text = fs::read_to_string(&log).expect("read");
    let dev = format!("\"dev\":{},", fs::metadata(bench.host()).expect("stat").dev());
    assert!(text.contains(&dev), "{text}");
    fs::write(&log, text.replace(&dev, "\"dev\":4242,")).expect("write");
    assert!(matches!(bench.keep(&mut || {}).expect("keep"), Kept::Done(_)));
}

#[test]
fn one_command_at_a_time_changes_a_layer() {
    let bench = Bench::new();
    let layer = bench.store.layer("l", true).expect("open");
    assert!(matches!(bench.store.layer("l", false), Err(Error::Busy(_))));
    assert!(matches!(bench.keep(&mut || {}), Err(Error::Busy(_))));
    drop(layer);
    let reader = bench.store.layer("l", false).expect("open");
    assert!(bench.store.layer("l", false).is_ok() && bench.store.layer("l", true).is_err());
    drop(reader);
    assert_eq!(fs::metadata(bench.store.dir()).expect("stat").permissions().mode() & 0o777, 0o700);
    for wrong in ["", "../x", ".x", "a/b", "-x"] {
        assert!(matches!(bench.store.create(wrong, &About::default()), Err(Error::Name(_))), "{wrong:?}");
    }
    assert!(matches!(bench.store.create("l", &About::default()), Err(Error::Exists(_))));
}
