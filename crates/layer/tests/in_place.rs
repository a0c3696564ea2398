//! Files that are written in place when a layer is kept: those with several names.

use rustix::fs::{Mode, XattrFlags, lgetxattr, lsetxattr};
use slipway_layer::{Attribute, Error, Kept, View};
use std::{
    fs,
    os::unix::fs::{MetadataExt, symlink},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

mod common;
use common::{Bench, assert_clean, path, rights_list, tree_of};

fn assert_kept(bench: &Bench) {
    let kept = bench.keep(&mut || {});
    assert!(matches!(kept, Ok(Kept::Done(_))), "{kept:?}");
    assert_clean(&bench.host());
}

/// `h` and `h2` are one file; the layer changes `a` and `h`, and makes `z`.
fn linked() -> Bench {
    Bench::over(
        |host| {
            fs::write(host.join("a"), "old a").expect("write");
            fs::write(host.join("h"), "old h").expect("write");
            fs::hard_link(host.join("h"), host.join("h2")).expect("link");
        },
        |bench, view| {
            bench.put(view, "a", "new");
            bench.put(view, "h", "new h");
            bench.put(view, "z", "new");
        },
    )
}

#[test]
fn a_name_that_was_replaced_leaves_the_files_other_names() {
    let bench = Bench::over(
        |host| {
            fs::create_dir(host.join("repo")).expect("mkdir");
            fs::write(host.join("repo/f"), "old").expect("write");
            fs::hard_link(host.join("repo/f"), host.join("backup")).expect("link");
        },
        |bench, view| bench.replace(view, "repo/f", "new"),
    );
    assert_kept(&bench);
    assert_eq!((bench.text("repo/f"), bench.text("backup")), ("new".to_owned(), "old".to_owned()));
}

#[test]
fn two_names_that_were_made_anew_are_two_files() {
    let bench = two_names(|bench, view| {
        for (name, text) in [("a", "A"), ("b", "B")] {
            bench.unlink(view, name);
            bench.put(view, name, text);
        }
    });
    assert_kept(&bench);
    assert_eq!((bench.text("a"), bench.text("b")), ("A".to_owned(), "B".to_owned()));
}

#[test]
fn a_file_that_was_written_stays_one_with_its_other_names() {
    let bench = linked();
    assert_kept(&bench);
    assert_eq!(bench.text("h2"), "new h");
    assert_eq!(fs::metadata(bench.host().join("h")).expect("stat").nlink(), 2);
}

#[test]
fn what_a_layer_above_wrote_stays_one_with_its_other_names() {
    let bench = Bench::over(
        |host| fs::write(host.join("old"), "old").expect("write"),
        |bench, view| {
            for name in ["a", "c"] {
                bench.put(view, name, "below");
                let found = view.find(&path(name)).expect("find");
                view.link(&found, &path(&format!("{name}2"))).expect("link");
            }
        },
    );
    bench.change_above("above", |view| {
        bench.put(view, "a", "above");
        // As the next one, but no copy of what was there.
        bench.replace(view, "c", "another");
    });
    assert_kept(&bench);
    let kept = bench.store.keep("above", &bench.host(), &[], &mut || {});
    assert!(matches!(kept, Ok(Kept::Done(2))), "{kept:?}");
    assert_eq!(["a", "a2", "c", "c2"].map(|name| bench.text(name)), ["above", "above", "another", "below"]);
}

/// `a` and `b` are one file.
fn two_names(change: impl FnOnce(&Bench, &mut View)) -> Bench {
    Bench::over(
        |host| {
            fs::write(host.join("a"), "both").expect("write");
            fs::hard_link(host.join("a"), host.join("b")).expect("link");
        },
        change,
    )
}

#[test]
fn both_names_that_get_another_mode_stay_one_file() {
    let bench = two_names(|_, view| {
        for name in ["a", "b"] {
            let found = view.find(&path(name)).expect("find");
            view.set_attribute(&found, &Attribute::Mode(Mode::from_raw_mode(0o600))).expect("chmod");
        }
    });
    assert_kept(&bench);
    let stat = fs::metadata(bench.host().join("b")).expect("stat");
    assert_eq!((stat.nlink(), stat.mode() & 0o7777), (2, 0o600));
}

#[test]
fn both_names_that_were_written_are_one_file() {
    let bench = two_names(|bench, view| {
        bench.put(view, "a", "A");
        bench.put(view, "b", "B");
    });
    assert_kept(&bench);
    assert_eq!((bench.text("a"), bench.text("b")), ("B".to_owned(), "B".to_owned()));
}

#[test]
fn one_name_is_written_and_the_other_removed_or_replaced() {
    for is_replaced in [false, true] {
        // Killed at each step, also at none.
        for number in (0..5).map(Some).chain([None]) {
            let bench = two_names(|bench, view| {
                bench.put(view, "a", "new");
                if is_replaced { bench.replace(view, "b", "another") } else { bench.unlink(view, "b") }
            });
            if let Some(number) = number {
                bench.die_after("keep.commit", number);
            }
            assert_kept(&bench);
            assert_eq!((bench.text("a"), bench.host().join("b").exists()), ("new".to_owned(), is_replaced), "{number:?}");
        }
    }
}

#[test]
fn an_edit_meanwhile_is_not_written_over() {
    // Before `a` is put in its place, and before `h` is cut off, written, and gets its attributes.
    for number in 0..4 {
        let bench = linked();
        let old = tree_of(&bench.host());
        bench.die_after("keep.commit", number);
        fs::write(bench.host().join("h"), "my edit").expect("write");
        match bench.keep(&mut || {}) {
            Err(Error::Io { what, .. }) => assert!(what.contains("/h on the host, where it was changed meanwhile"), "{what}"),
            other => panic!("{number}: {other:?}"),
        }
        assert_eq!(bench.text("h2"), "my edit");
        assert_eq!(bench.conflicts(), [("/h".to_owned(), "it was changed on the host")]);
        fs::write(bench.host().join("h"), "old h").expect("write");
        assert!(tree_of(&bench.host()) == old, "half of it is on the host");
        assert_clean(&bench.host());
    }
}

#[test]
fn a_file_that_is_half_written_is_written_again() {
    for number in 0..5 {
        let bench = linked();
        bench.die_after("keep.commit", number);
        assert_eq!(bench.text("h").is_empty(), number == 2);
        assert_kept(&bench);
        assert_eq!((bench.text("a"), bench.text("h2")), ("new".to_owned(), "new h".to_owned()));
    }
    for number in 0..5 {
        let bench = linked();
        let mut old = tree_of(&bench.host());
        bench.die_after("keep.commit", number);
        // What is in the way of the last step, so that the others are undone.
        fs::create_dir(bench.host().join("z")).expect("mkdir");
        match bench.keep(&mut || {}) {
            Err(Error::Io { what, .. }) => assert!(what.contains("/z"), "{what}"),
            other => panic!("{number}: {other:?}"),
        }
        old.set(&path("z"), common::Node::Dir { mode: 0o755 });
        assert!(tree_of(&bench.host()) == old, "{number}: half of it is on the host");
        assert_clean(&bench.host());
    }
}

#[test]
fn an_undoing_that_is_interrupted_is_finished() {
    for number in 0.. {
        let bench = linked();
        let mut old = tree_of(&bench.host());
        // `a` and `h` are done; then there is something in the way of `z`.
        bench.die_after("keep.commit", 4);
        fs::create_dir(bench.host().join("z")).expect("mkdir");
        old.set(&path("z"), common::Node::Dir { mode: 0o755 });
        let mut left = number;
        let mut step = || {
            assert!(left > 0, "it dies");
            left -= 1;
        };
        let undone = catch_unwind(AssertUnwindSafe(|| bench.keep(&mut step)));
        if bench.is_at("keep.commit") {
            assert!(bench.keep(&mut || {}).is_err(), "{number}");
        } else if bench.is_at("keep.plan") {
            assert_eq!(bench.conflicts(), [("/z".to_owned(), "it was made on the host, too")]);
        }
        assert!(tree_of(&bench.host()) == old, "{number}: half of it is on the host");
        assert_clean(&bench.host());
        if undone.is_ok() {
            assert!(number > 6, "{number} steps");
            break;
        }
    }
}

#[test]
fn a_journal_of_an_older_version_is_finished() {
    for number in 0..5 {
        let bench = linked();
        bench.die_after("keep.commit", number);
        let journal = bench.store.dir().join("l/keep.commit");
        let mut json: serde_json::Value = serde_json::from_slice(&fs::read(&journal).expect("read")).expect("JSON");
        let fields = json.as_object_mut().expect("fields");
        fields.remove("version").and(fields.remove("root")).expect("they are new");
        fs::write(&journal, json.to_string()).expect("write");
        let _ = fs::remove_file(bench.store.dir().join("l/keep.progress"));
        assert_kept(&bench);
        assert_eq!((bench.text("a"), bench.text("h2")), ("new".to_owned(), "new h".to_owned()));
    }
}

#[test]
fn an_edit_of_a_name_that_is_kept_already_stays() {
    for is_replaced in [false, true] {
        let bench = linked();
        bench.die(|| bench.text("a") == "new");
        let (saved, a) = (bench.host().join("saved"), bench.host().join("a"));
        fs::write(if is_replaced { &saved } else { &a }, "my edit").expect("write");
        if is_replaced {
            fs::rename(saved, a).expect("rename");
        }
        assert_kept(&bench);
        assert_eq!((bench.text("a"), bench.text("h2")), ("my edit".to_owned(), "new h".to_owned()));
    }
}

#[test]
fn a_step_that_could_not_begin_needs_no_undoing() {
    let bench = linked();
    let mut old = tree_of(&bench.host());
    // Decided, and then what is to be written becomes a link: it can neither be written nor be put back.
    let mut step = || {
        if bench.is_at("keep.commit") && bench.host().join("h").is_file() {
            fs::remove_file(bench.host().join("h")).expect("remove");
            symlink("loop", bench.host().join("h")).expect("symlink");
        }
    };
    match bench.keep(&mut step) {
        Err(Error::Io { what, .. }) => assert!(what.contains("/h"), "{what}"),
        other => panic!("{other:?}"),
    }
    old.set(&path("h"), common::Node::Link(b"loop".to_vec()));
    assert!(tree_of(&bench.host()) == old, "half of it is on the host");
    assert_clean(&bench.host());
    bench.store.discard("l").expect("it is as before");
}

#[test]
fn a_directory_that_is_gone_meanwhile_keeps_nothing_half() {
    let mode = slipway_layer::Attribute::Mode(rustix::fs::Mode::from_raw_mode(0o711));
    let bench = Bench::over(
        |host| {
            fs::write(host.join("a"), "old a").expect("write");
            fs::create_dir(host.join("d")).expect("mkdir");
        },
        |bench, view| {
            bench.put(view, "a", "new");
            let dir = view.find(&path("d")).expect("find");
            view.set_attribute(&dir, &mode).expect("chmod");
        },
    );
    bench.die(|| bench.text("a") == "new");
    fs::remove_dir(bench.host().join("d")).expect("rmdir");
    assert!(matches!(bench.keep(&mut || {}), Err(Error::Io { .. })));
    assert_eq!(bench.text("a"), "old a");
    assert_clean(&bench.host());
    bench.store.discard("l").expect("it is as before");
}

const RIGHTS: &str = "system.posix_acl_access";
const ATTRIBUTES: [&str; 3] = ["user.stays", "user.goes", RIGHTS];

/// Those of them that a file has.
fn attributes_of(file: &Path) -> Vec<&'static str> {
    ATTRIBUTES.into_iter().filter(|name| lgetxattr(file, *name, &mut [0_u8; 100][..]).is_ok()).collect()
}

/// `a` and `b` are one file with attributes, of which the layer removes two, and makes `z`; none if the file system has none.
fn with_attributes(mode: u32) -> Option<Bench> {
    let mut is_known = true;
    let bench = Bench::over(
        |host| {
            fs::write(host.join("a"), "both").expect("write");
            fs::hard_link(host.join("a"), host.join("b")).expect("link");
            let mut set = |name, value: &[u8]| is_known &= lsetxattr(host.join("a"), name, value, XattrFlags::empty()).is_ok();
            ["user.stays", "user.goes"].into_iter().for_each(|name| set(name, b"1"));
            set(RIGHTS, &rights_list());
        },
        |bench, view| {
            let found = view.find(&path("a")).expect("find");
            for name in [c"user.goes", c"system.posix_acl_access"] {
                // It may have none.
                let _ = view.set_attribute(&found, &Attribute::RemoveXattr(name));
            }
            let found = view.find(&path("a")).expect("find");
            view.set_attribute(&found, &Attribute::Mode(Mode::from_raw_mode(mode))).expect("chmod");
            bench.put(view, "z", "new");
        },
    );
    is_known.then_some(bench)
}

#[test]
fn attributes_that_were_removed_are_gone_from_a_file_with_several_names() {
    for mode in [0o644, 0o444, 0o600] {
        let Some(bench) = with_attributes(mode) else { return };
        assert_kept(&bench);
        assert_eq!(attributes_of(&bench.host().join("b")), ["user.stays"], "{mode:o}");
        let stat = fs::metadata(bench.host().join("b")).expect("stat");
        assert_eq!((stat.nlink(), stat.mode() & 0o7777), (2, mode));
    }
}

#[test]
fn attributes_that_were_removed_are_back_when_that_is_undone() {
    for number in 0..2 {
        let Some(bench) = with_attributes(0o600) else { return };
        let mode = fs::metadata(bench.host().join("b")).expect("stat").mode();
        bench.die_after("keep.commit", number);
        fs::create_dir(bench.host().join("z")).expect("mkdir");
        bench.keep(&mut || {}).expect_err("there is something in the way");
        assert_eq!(attributes_of(&bench.host().join("b")), ATTRIBUTES, "{number}");
        assert_eq!(fs::metadata(bench.host().join("b")).expect("stat").mode(), mode, "{number}");
    }
}

#[test]
fn what_its_directory_gives_to_new_files_is_not_given_to_one_that_is_written() {
    for is_undone in [false, true] {
        let bench = Bench::over(
            |host| {
                fs::write(host.join("a"), "both").expect("write");
                fs::hard_link(host.join("a"), host.join("b")).expect("link");
                let _ = lsetxattr(host, "system.posix_acl_default", &rights_list(), XattrFlags::empty());
            },
            |bench, view| {
                bench.put(view, "a", "new");
                bench.put(view, "z", "new");
            },
        );
        if is_undone {
            bench.die_after("keep.commit", 3);
            fs::create_dir(bench.host().join("z")).expect("mkdir");
            bench.keep(&mut || {}).expect_err("there is something in the way");
        } else {
            assert_kept(&bench);
        }
        assert_eq!(bench.text("b"), if is_undone { "both" } else { "new" });
        assert!(attributes_of(&bench.host().join("b")).is_empty(), "{is_undone}");
    }
}
