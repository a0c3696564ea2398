//! Files of the host's that have several names: what a layer does with them is kept as it would have been on the host.

use rustix::fs::{CWD, Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use slipway_layer::{Error, Kept, TreePath};
use slipway_test_support::forked;
use std::{
    fs,
    os::unix::fs::MetadataExt,
    panic::{AssertUnwindSafe, catch_unwind},
};

mod common;
use common::{
    Bench, Node, Tree, assert_clean,
    linked::{fill, on_view},
    one_at_a_time, path, tree_of,
};

/// What is done with `a`, `b` and `sub/c`, which are one file, and with `p` and `q`, which are another.
const LIVES: [&str; 25] = [
    "ln a d",
    "mv a d",
    "mv a d; mv d a; add a",
    "mv b n; ln n d",
    "add a; rm a",
    "add a; mv a d",
    "mv a d; add d",
    "cut a; mv a d",
    "chmod a; rm a",
    "add a; add b",
    "add a; chmod b; rm a; rm b",
    "add a; rm a; rm b; rm sub/c",
    "add a; rm a; ln b a",
    "add a; rm a; add b; mv b sub/d",
    "ln a d; add d; rm a; rm b; rm sub/c",
    "mv a p",
    "add p; mv a p",
    "add a; mv p a",
    "mv a b",
    "add a; mv a b; mv p n",
    "mv sub gone; add gone/c",
    "add sub/c; rm sub/c; rmdir sub; put sub",
    "mv sub other; mv p other/c; mkdir sub; mv a sub/c",
    "rm a; put a; ln a d",
    "add a; mv a x; add p; mv p a; mv x p; add b",
];

fn on_tree(tree: &mut Tree, act: &str) {
    let names: Vec<TreePath> = act.split_whitespace().skip(1).map(path).collect();
    let done = match act.split_whitespace().next().expect("a word") {
        "ln" => tree.link(&names[0], &names[1]),
        "mv" => tree.rename(&names[0], &names[1], false),
        "rm" => tree.remove(&names[0], false),
        "rmdir" => tree.remove(&names[0], true),
        "cut" => tree.write(&names[0], b"", false),
        "chmod" => tree.mode(&names[0], 0o600),
        "mkdir" => {
            tree.set(&names[0], Node::Dir { mode: 0o755 });
            Ok(())
        }
        "put" => tree.write(&names[0], b"put", false).and_then(|()| tree.mode(&names[0], 0o640)),
        _ => tree.write(&names[0], b"more", true),
    };
    done.expect(act);
}

/// Whether the layer is opened again before each.
fn bench(life: &str, reopens: bool) -> Bench {
    let bench = Bench::over(fill, |_, _| {});
    let acts: Vec<&str> = life.split("; ").chain(["put zz"]).collect();
    for acts in acts.chunks(if reopens { 1 } else { 100 }) {
        bench.change(|view| acts.iter().for_each(|act| on_view(&bench, view, act)));
    }
    bench
}

fn assert_kept(bench: &Bench, life: &str) {
    let mut tree = tree_of(&Bench::over(fill, |_, _| {}).host());
    life.split("; ").chain(["put zz"]).for_each(|act| on_tree(&mut tree, act));
    if bench.store.about("l").is_ok() {
        let kept = bench.keep(&mut || {});
        assert!(matches!(kept, Ok(Kept::Done(_))), "{life}: {kept:?}");
    }
    let now = tree_of(&bench.host());
    assert!(now == tree, "{life}: {now:?}, not {tree:?}");
    assert_clean(&bench.host());
}

#[test]
fn they_are_kept_as_on_the_host() {
    let _one = one_at_a_time();
    for life in LIVES {
        assert_kept(&bench(life, false), life);
        assert_kept(&bench(life, true), life);
    }
}

/// Has the log say that the devices had other numbers until now, as after a start of the machine.
fn renumber(bench: &Bench, before: u64) {
    let log = bench.store.dir().join("l/log");
    let (text, dev) = (fs::read_to_string(&log).expect("read"), fs::metadata(bench.host()).expect("stat").dev());
    let at = |word: &str, dev: u64| format!("{word}{dev},");
    let text = text.replace(&at(r#""dev":"#, dev), &at(r#""dev":"#, before));
    fs::write(&log, text.replace(&at(r#""of":["#, dev), &at(r#""of":["#, before))).expect("write");
}

#[test]
fn the_device_has_another_number_each_time() {
    let _one = one_at_a_time();
    for life in LIVES {
        let bench = Bench::over(fill, |_, _| {});
        for (act, before) in life.split("; ").chain(["put zz"]).zip(7777..) {
            bench.change(|view| on_view(&bench, view, act));
            renumber(&bench, before);
        }
        assert_kept(&bench, life);
    }
}

#[test]
fn an_ordinary_user_keeps_them() {
    let _one = one_at_a_time();
    let code = forked(|| {
        if rustix::process::geteuid().is_root() {
            set_thread_groups(&[]).expect("groups");
            let (uid, gid) = (Uid::from_raw(1000), Gid::from_raw(1000));
            set_thread_res_gid(gid, gid, gid).expect("group");
            set_thread_res_uid(uid, uid, uid).expect("user");
        }
        LIVES.iter().for_each(|life| assert_kept(&bench(life, true), life));
        0
    });
    assert_eq!(code, 0);
}

#[test]
fn when_a_keep_dies() {
    let _one = one_at_a_time();
    LIVES.iter().enumerate().for_each(|(at, life)| dies(life, (at % 5..).step_by(7)));
}

#[test]
#[ignore = "long: a death before each step"]
fn whenever_a_keep_dies() {
    let _one = one_at_a_time();
    LIVES.iter().for_each(|life| dies(life, 0..));
}

fn dies(life: &str, deaths: impl Iterator<Item = usize>) {
    for death in deaths {
        let bench = bench(life, false);
        let mut left = death;
        let mut step = || {
            assert!(left > 0, "it dies");
            left -= 1;
        };
        let is_over = catch_unwind(AssertUnwindSafe(|| bench.keep(&mut step))).is_ok();
        assert_kept(&bench, life);
        if is_over {
            assert!(death > 5, "{life}: {death} steps");
            break;
        }
    }
}

#[test]
fn all_is_undone_if_a_step_fails() {
    let _one = one_at_a_time();
    for life in LIVES {
        let bench = bench(life, false);
        let mut old = tree_of(&bench.host());
        let mut step = || {
            if bench.is_at("keep.commit") {
                let _ = fs::create_dir(bench.host().join("zz"));
            }
        };
        let kept = bench.keep(&mut step);
        assert!(matches!(kept, Err(Error::Io { .. })), "{life}: {kept:?}");
        old.set(&path("zz"), Node::Dir { mode: 0o755 });
        let now = tree_of(&bench.host());
        assert!(now == old, "{life}: {now:?}, not {old:?}");
        assert_clean(&bench.host());
        fs::remove_dir(bench.host().join("zz")).expect("rmdir");
        assert_kept(&bench, life);
    }
}

#[test]
fn an_edit_by_another_name_is_a_conflict() {
    let _one = one_at_a_time();
    for life in ["mv a d", "ln a d; add d", "add a; rm a"] {
        let bench = bench(life, false);
        fs::write(bench.host().join("b"), "my edit").expect("write");
        assert_eq!(bench.conflicts(), [("/a".to_owned(), "it was changed on the host")], "{life}");
        assert_eq!(bench.text("sub/c"), "my edit");
    }
}

#[test]
fn a_number_that_the_host_gave_to_another_file() {
    let _one = one_at_a_time();
    let bench = bench("add a", false);
    bench.change(|view| {
        // As another file with the same number looks.
        fs::write(bench.host().join("b"), "other").expect("write");
        on_view(&bench, view, "add b");
        on_view(&bench, view, "mv b d");
        for (name, text) in [("a", "amore"), ("d", "othermore")] {
            let found = view.find(&path(name)).expect("find");
            let mut file = fs::File::from(view.open_to_read(&found).expect("open"));
            assert_eq!(std::io::read_to_string(&mut file).expect("read"), text);
        }
    });
}

#[test]
fn parts_are_kept_one_after_the_other() {
    let _one = one_at_a_time();
    for (life, first) in [("add a; mv a d", "d"), ("add a; mv b d", "a"), ("mv a d", "d"), ("add a; rm a; mv b d", "d")] {
        let bench = bench(life, false);
        let kept = bench.store.keep("l", &bench.host(), &[path(first)], &mut || {});
        assert!(matches!(kept, Ok(Kept::Done(1))), "{life}: {kept:?}");
        assert_kept(&bench, life);
    }
}

#[test]
fn what_a_death_left_of_a_copy_that_loses_its_name() {
    let _one = one_at_a_time();
    for (act, life) in [("rm a", "add a; rm a"), ("add b", "add a; add b")] {
        let bench = Bench::over(fill, |bench, view| on_view(bench, view, "add a"));
        // It has both names, and keeps the one in the tree.
        let layer = bench.store.dir().join("l");
        let unnamed = layer.join("unnamed");
        fs::create_dir(&unnamed).expect("mkdir");
        let unnamed = unnamed.join(fs::metadata(layer.join("files/a")).expect("stat").ino().to_string());
        fs::hard_link(layer.join("files/a"), &unnamed).expect("link");
        bench.change(|view| {
            assert!(!unnamed.exists());
            on_view(&bench, view, act);
            on_view(&bench, view, "put zz");
            assert_eq!(unnamed.exists(), act == "rm a");
        });
        assert_kept(&bench, life);
    }
}

#[test]
fn a_new_file_with_the_number_of_a_copy_is_none() {
    let _one = one_at_a_time();
    let bench = Bench::over(fill, |bench, view| on_view(bench, view, "add a"));
    let aside = bench.dir.path().join("aside");
    bench.change(|view| {
        // As if the file system had given the number to it.
        fs::rename(bench.store.dir().join("l/files/a"), &aside).expect("rename");
        let made = view.make_with(&path("new"), |dir, name| rustix::fs::renameat(CWD, &aside, dir, name));
        made.expect("make");
        let new = view.find(&path("new")).expect("find");
        assert_eq!(view.shown(&new).st_ino, new.stat.st_ino);
    });
}

#[test]
fn a_name_that_cant_be_put_in_place_leaves_the_copy_none() {
    let _one = one_at_a_time();
    let bench = Bench::over(fill, |_, _| {});
    bench.change(|view| {
        ["add a", "put sub/new", "rm sub/new"].iter().for_each(|act| on_view(&bench, view, act));
        let files = bench.store.dir().join("l/files");
        fs::rename(files.join("sub"), files.join("aside")).expect("rename");
        let found = view.find(&path("sub/c")).expect("find");
        view.copy_up(&found, false).expect_err("it has no place");
        assert_eq!(fs::metadata(files.join("a")).expect("stat").nlink(), 1);
        fs::rename(files.join("aside"), files.join("sub")).expect("rename");
        ["rm a", "put zz"].iter().for_each(|act| on_view(&bench, view, act));
    });
    assert_kept(&bench, "add a; rm a");
}
