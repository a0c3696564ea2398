//! Layers whose `keep` was interrupted, and names beside those that are kept.

use slipway_layer::{Error, Kept};
use std::{fs, path::PathBuf};

mod common;
use common::{Bench, assert_clean, path, tree_of};

/// Two files are changed, and one is made.
fn changed() -> Bench {
    Bench::over(
        |host| {
            fs::write(host.join("a"), "old").expect("write");
            fs::write(host.join("b"), "old").expect("write");
        },
        |bench, view| {
            for name in ["a", "b", "new"] {
                bench.put(view, name, "new");
            }
        },
    )
}

#[test]
fn a_layer_that_is_half_kept_is_not_changed() {
    for phase in ["keep.commit", "keep.done"] {
        let bench = changed();
        bench.die_after(phase, 0);
        assert!(matches!(bench.store.layer("l", true), Err(Error::Unfinished(_))), "{phase}");
        assert!(matches!(bench.store.discard("l"), Err(Error::Unfinished(_))), "{phase}");
        assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(3))), "{phase}");
        assert_clean(&bench.host());
        assert_eq!(bench.text("a"), "new");
    }
}

#[test]
fn what_opens_a_layer_removes_what_was_prepared() {
    let discard = |bench: &Bench| bench.store.discard("l").expect("discard");
    let open = |bench: &Bench| drop(bench.store.layer("l", true).expect("open"));
    for act in [&discard as &dyn Fn(&Bench), &open] {
        let bench = changed();
        let old = tree_of(&bench.host());
        bench.die(|| common::is_staging(&bench.host()));
        act(&bench);
        assert_clean(&bench.host());
        assert!(tree_of(&bench.host()) == old);
        assert!(!bench.is_at("keep.plan"));
    }
}

#[test]
fn nobody_changes_a_layer_while_it_is_kept() {
    let bench = changed();
    let mut states = 0;
    let mut step = || {
        states += 1;
        assert!(matches!(bench.store.layer("l", true), Err(Error::Busy(_) | Error::Missing(_))), "step {states}");
    };
    assert!(matches!(bench.store.keep("l", &bench.host(), &[path("a")], &mut step), Ok(Kept::Done(1))));
    assert!(matches!(bench.keep(&mut step), Ok(Kept::Done(2))));
}

#[test]
fn what_was_not_chosen_then_is_kept_after_that_is_finished() {
    let bench = changed();
    let keep = |step: &mut dyn FnMut()| bench.store.keep("l", &bench.host(), &[path("a")], step);
    let mut step = || assert!(!bench.is_at("keep.done"), "it dies");
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| keep(&mut step))).is_err());
    assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(3))));
    assert_eq!((bench.text("a"), bench.text("b")), ("new".to_owned(), "new".to_owned()));
    assert!(bench.store.about("l").is_err());
}

/// The names that a plan will make.
fn planned(bench: &Bench) -> Vec<PathBuf> {
    let text = fs::read_to_string(bench.store.dir().join("l/keep.plan")).expect("read");
    let plan: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let staged = plan["staged"].as_array().expect("a list").iter();
    staged.map(|pair| bench.host().join(pair[1].as_str().expect("a name"))).collect()
}

#[test]
fn a_file_of_the_users_is_not_removed() {
    let bench = changed();
    let mut mine = Vec::new();
    let mut step = || {
        if bench.is_at("keep.plan") && mine.is_empty() {
            mine = planned(&bench);
            fs::write(&mine[1], "mine").expect("write");
        }
    };
    match bench.keep(&mut step) {
        Err(Error::Io { what, .. }) => assert!(what.contains("nothing was changed"), "{what}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(fs::read_to_string(&mine[1]).expect("it is there"), "mine");
    fs::remove_file(&mine[1]).expect("remove");
    assert_clean(&bench.host());
    assert_eq!(bench.text("a"), "old");
    // Another time there are other names.
    bench.die(|| bench.is_at("keep.plan"));
    assert!(planned(&bench).iter().all(|name| !mine.contains(name)));
}
