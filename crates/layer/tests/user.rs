//! What an ordinary user meets. A program of its own: what forks shares locks with the child.

use rustix::{
    fs::{Gid, Mode, Uid},
    process::geteuid,
    thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};
use slipway_layer::{Attribute, Error, Kept, View};
use slipway_test_support::forked;
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::Command,
};

mod common;
use common::{Bench, assert_clean, path, tree_of};

/// Does the work in a process of an ordinary user's.
fn as_user(work: impl FnOnce()) {
    let code = forked(|| {
        if geteuid().is_root() {
            let (uid, gid) = (Uid::from_raw(1000), Gid::from_raw(1000));
            set_thread_groups(&[]).expect("groups");
            set_thread_res_gid(gid, gid, gid).expect("group");
            set_thread_res_uid(uid, uid, uid).expect("user");
        }
        work();
        0
    });
    assert_eq!(code, 0, "the user's process failed");
}

fn set_mode(view: &mut View, name: &str, mode: u32) {
    let found = view.find(&path(name)).expect("find");
    view.set_attribute(&found, &Attribute::Mode(Mode::from_raw_mode(mode))).expect("chmod");
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).expect("stat").mode() & 0o7777
}

fn dir_with_file(host: &Path) {
    fs::create_dir(host.join("d")).expect("mkdir");
    fs::write(host.join("d/f"), "old").expect("write");
}

#[test]
fn a_directory_that_its_owner_may_not_write_any_more() {
    as_user(|| {
        let bench = Bench::over(dir_with_file, |bench, view| {
            bench.put(view, "zz", "new");
            set_mode(view, "d", 0o555);
        });
        let kept = bench.store.keep("l", &bench.host(), &[path("d")], &mut || {});
        assert!(matches!(kept, Ok(Kept::Done(1))), "{kept:?}");
        assert_eq!(mode_of(&bench.host().join("d")), 0o555);
        let kept = bench.keep(&mut || {});
        assert!(matches!(kept, Ok(Kept::Done(1))), "{kept:?}");
        assert_eq!(bench.text("zz"), "new");
    });
}

#[test]
fn what_is_in_a_directory_comes_before_its_mode() {
    as_user(|| {
        let make = || {
            Bench::over(dir_with_file, |bench, view| {
                bench.put(view, "d/f", "changed");
                bench.put(view, "d/new", "new");
                set_mode(view, "d", 0o555);
            })
        };
        let is_kept = |bench: &Bench| {
            let kept = bench.keep(&mut || {});
            assert!(matches!(kept, Ok(Kept::Done(3))), "{kept:?}");
            assert_clean(&bench.host());
            assert_eq!((bench.text("d/new"), mode_of(&bench.host().join("d"))), ("new".to_owned(), 0o555));
        };
        is_kept(&make());
        // Killed when old files were to be removed, at the one moment at which their directory can be written.
        let bench = make();
        bench.die_after("keep.done", 0);
        fs::set_permissions(bench.host().join("d"), PermissionsExt::from_mode(0o755)).expect("chmod");
        is_kept(&bench);
    });
}

#[test]
fn what_cant_be_removed_is_not_replaced() {
    if !geteuid().is_root() {
        return;
    }
    let dir = tempfile::tempdir().expect("directory");
    fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).expect("chmod");
    // In a directory of the user's is one of another user's, which is not empty.
    fs::create_dir_all(dir.path().join("d/theirs")).expect("mkdir");
    fs::write(dir.path().join("d/theirs/file"), "theirs").expect("write");
    std::os::unix::fs::chown(dir.path().join("d"), Some(1000), Some(1000)).expect("chown");
    as_user(|| {
        let mut host = std::path::PathBuf::new();
        let bench = Bench::over(
            |made| {
                host = made.to_owned();
                fs::write(made.join("a"), "old").expect("write");
                fs::rename(dir.path().join("d"), made.join("d")).expect("rename");
            },
            |bench, view| {
                bench.put(view, "a", "new");
                let found = view.find(&path("d")).expect("find");
                view.rename(&found, &path("e"), rustix::fs::RenameFlags::empty()).expect("rename");
            },
        );
        let old = tree_of(&host);
        match bench.keep(&mut || {}) {
            Err(Error::Io { what, .. }) => assert!(what.contains("/d on the host; nothing was changed"), "{what}"),
            other => panic!("{other:?}"),
        }
        assert!(tree_of(&host) == old);
        assert_clean(&host);
        bench.store.discard("l").expect("it is as before");
    });
}

#[test]
fn a_directory_that_its_owner_may_not_write_is_made_anew() {
    as_user(|| {
        let bench = Bench::over(
            |host| fs::create_dir_all(host.join("d/s")).expect("mkdir"),
            |_, view| {
                let found = view.find(&path("d/s")).expect("find");
                view.remove(&found, true).expect("rmdir");
                view.make_dir(&path("d/s"), Mode::from_raw_mode(0o555)).expect("mkdir");
                view.make_dir(&path("d/fresh"), Mode::from_raw_mode(0o555)).expect("mkdir");
            },
        );
        bench.change(|view| {
            for name in ["d/s", "d/fresh"] {
                assert_eq!(view.find(&path(name)).expect("find").stat.st_mode & 0o7777, 0o555, "{name}");
            }
        });
        bench.keep(&mut || {}).expect("keep");
        assert_eq!(mode_of(&bench.host().join("d/s")), 0o555);
    });
}

#[test]
fn a_program_that_runs_is_in_the_way_before_anything_is_changed() {
    as_user(|| {
        let bench = Bench::over(
            |host| {
                fs::write(host.join("a"), "old").expect("write");
                fs::copy("/bin/sleep", host.join("prog")).expect("copy");
                fs::hard_link(host.join("prog"), host.join("prog-1.0")).expect("link");
            },
            |bench, view| {
                bench.put(view, "a", "new");
                bench.put(view, "prog", "new");
            },
        );
        let old = tree_of(&bench.host());
        let mut program = Command::new(bench.host().join("prog")).arg("1000").spawn().expect("run");
        let kept = bench.keep(&mut || {});
        program.kill().expect("kill");
        program.wait().expect("wait");
        match kept {
            Err(Error::Io { what, .. }) => assert!(what.contains("/prog on the host; nothing was changed"), "{what}"),
            other => panic!("{other:?}"),
        }
        assert!(tree_of(&bench.host()) == old);
        assert_clean(&bench.host());
        assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(2))));
    });
}

#[test]
fn a_file_with_several_names_that_its_owner_made_read_only() {
    as_user(|| {
        let bench = Bench::over(
            |host| {
                fs::write(host.join("h"), "old").expect("write");
                fs::set_permissions(host.join("h"), PermissionsExt::from_mode(0o444)).expect("chmod");
                fs::hard_link(host.join("h"), host.join("h2")).expect("link");
            },
            |bench, view| {
                set_mode(view, "h", 0o644);
                bench.put(view, "h", "new");
                set_mode(view, "h", 0o444);
            },
        );
        let kept = bench.keep(&mut || {});
        assert!(matches!(kept, Ok(Kept::Done(1))), "{kept:?}");
        assert_eq!((bench.text("h2"), mode_of(&bench.host().join("h"))), ("new".to_owned(), 0o444));
    });
}
