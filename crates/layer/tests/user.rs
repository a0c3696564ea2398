//! What an ordinary user meets. A program of its own: what forks shares locks with the child.

use rustix::{fs::Mode, io::Errno, process::geteuid};
use slipway_layer::{Attribute, Error, Kept, TreePath, View};
use slipway_test_support::Dice;
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process::Command,
};

mod common;
use common::{Bench, as_user, assert_clean, path, tree_of};

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

/// Files of root's with this mode in a directory of a user's; each has one more name, `other` before it, if it is to be linked. `None`: this is
/// not root.
fn files_of_root(names: &[&str], mode: u32, is_linked: bool) -> Option<tempfile::TempDir> {
    if !geteuid().is_root() {
        return None;
    }
    let dir = tempfile::tempdir().expect("directory");
    fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).expect("chmod");
    for name in names {
        fs::write(dir.path().join(name), "theirs").expect("write");
        if is_linked {
            fs::hard_link(dir.path().join(name), dir.path().join(format!("other-{name}"))).expect("link");
        }
    }
    chmod(dir.path(), names, mode);
    Some(dir)
}

/// Moves all names of one directory to another.
fn move_names(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("list").map(|entry| entry.expect("entry")) {
        fs::rename(entry.path(), to.join(entry.file_name())).expect("rename");
    }
}

#[test]
fn another_users_file_is_written_and_a_name_of_it_that_was_replaced_is_not() {
    for is_linked in [false, true] {
        let Some(dir) = files_of_root(&["cut", "appended", "moved", "anew"], 0o666, is_linked) else { return };
        as_user(|| {
            let bench = Bench::over(
                |host| move_names(dir.path(), host),
                |bench, view| {
                    bench.put(view, "cut", "mine");
                    common::linked::on_view(bench, view, "add appended");
                    bench.replace(view, "moved", "mine");
                    bench.unlink(view, "anew");
                    bench.put(view, "anew", "mine");
                },
            );
            let kept = bench.keep(&mut || {});
            assert!(matches!(kept, Ok(Kept::Done(4))), "{is_linked}: {kept:?}");
            assert_clean(&bench.host());
            for (name, owner, text) in
                [("cut", 0, "mine"), ("appended", 0, "theirsmore"), ("moved", 1000, "mine"), ("anew", 1000, "mine")]
            {
                let what = format!("{name}, {is_linked}");
                assert_eq!(fs::metadata(bench.host().join(name)).expect("stat").uid(), owner, "{what}");
                assert_eq!(bench.text(name), text, "{what}");
                if is_linked {
                    let others = if owner == 0 { text } else { "theirs" };
                    assert_eq!(bench.text(&format!("other-{name}")), others, "{what}");
                }
            }
        });
    }
}

#[test]
fn another_users_file_that_may_not_be_written_is_replaced() {
    for is_linked in [false, true] {
        let Some(dir) = files_of_root(&["moved", "anew"], 0o644, is_linked) else { return };
        as_user(|| {
            let bench = Bench::over(
                |host| move_names(dir.path(), host),
                |bench, view| {
                    bench.replace(view, "moved", "mine");
                    bench.unlink(view, "anew");
                    bench.put(view, "anew", "mine");
                },
            );
            let kept = bench.keep(&mut || {});
            assert!(matches!(kept, Ok(Kept::Done(2))), "{is_linked}: {kept:?}");
            assert_clean(&bench.host());
            for name in ["moved", "anew"] {
                assert_eq!(fs::metadata(bench.host().join(name)).expect("stat").uid(), 1000, "{name}, {is_linked}");
                assert_eq!(bench.text(name), "mine", "{name}, {is_linked}");
                if is_linked {
                    assert_eq!(bench.text(&format!("other-{name}")), "theirs");
                }
            }
        });
    }
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

/// A directory that may not be written, with one in it.
fn closed_dirs(host: &Path) {
    fs::create_dir_all(host.join("d/s")).expect("mkdir");
    for name in ["d/f", "d/gone", "d/s/f"] {
        fs::write(host.join(name), "old").expect("write");
    }
    chmod(host, &["d/s", "d"], 0o555);
}

fn chmod(host: &Path, names: &[&str], mode: u32) {
    for name in names {
        fs::set_permissions(host.join(name), PermissionsExt::from_mode(mode)).expect("chmod");
    }
}

/// Names in them are changed, and they have this mode at the end; as has one that is made.
fn change_closed(mode: u32) -> Bench {
    Bench::over(closed_dirs, |bench, view| {
        ["d", "d/s"].iter().for_each(|name| set_mode(view, name, 0o755));
        for name in ["d/f", "d/new", "d/s/f", "d/s/new"] {
            bench.put(view, name, "new");
        }
        bench.unlink(view, "d/gone");
        view.make_dir(&path("n"), Mode::RWXU).expect("mkdir");
        view.make_dir(&path("n/s"), Mode::RWXU).expect("mkdir");
        bench.put(view, "n/s/new", "new");
        ["n/s", "n", "d/s", "d"].iter().for_each(|name| set_mode(view, name, mode));
    })
}

/// What the host has when all is kept.
fn assert_closed_kept(host: &Path, mode: u32, when: &str) {
    for name in ["d", "d/s", "n", "n/s"] {
        assert_eq!(mode_of(&host.join(name)), mode, "{name} {when}");
        chmod(host, &[name], 0o755);
    }
    assert_clean(host);
    for name in ["d/f", "d/new", "d/s/f", "d/s/new", "n/s/new"] {
        assert_eq!(fs::read_to_string(host.join(name)).expect(name), "new", "{name} {when}");
    }
    assert!(!host.join("d/gone").exists(), "{when}");
}

/// Keeps what is within the paths, and dies before the step of this number: whether it came so far.
fn dies_at(bench: &Bench, paths: &[TreePath], number: usize) -> bool {
    let mut left = number;
    let mut step = || {
        assert!(left != 0, "it dies");
        left -= 1;
    };
    let keep = AssertUnwindSafe(|| bench.store.keep("l", &bench.host(), paths, &mut step));
    catch_unwind(keep).map(|kept| kept.expect("keep")).is_err()
}

const CLOSED: [u32; 6] = [0o555, 0o750, 0o500, 0o444, 0o644, 0];

#[test]
fn names_in_a_directory_that_may_not_be_written_on_the_host_or_at_the_end() {
    as_user(|| {
        for mode in CLOSED {
            let bench = change_closed(mode);
            let kept = bench.keep(&mut || {});
            assert!(matches!(kept, Ok(Kept::Done(_))), "{mode:o}: {kept:?}");
            assert_closed_kept(&bench.host(), mode, "");
        }
    });
}

/// Dies before each step, then before another one of the next `keep`, if there is one; then keeps all.
fn die_and_keep(mode: u32, paths: &[TreePath], second: impl Fn(usize) -> Option<usize>) {
    for death in 0.. {
        let bench = change_closed(mode);
        let (host, old) = (bench.host(), tree_of(&bench.host()));
        let is_there = || bench.store.about("l").is_ok();
        if !dies_at(&bench, paths, death) {
            assert!(death > 20, "only {death} steps");
            return;
        }
        let second = second(death).filter(|_| is_there());
        second.map(|second| dies_at(&bench, paths, second));
        let when = format!("{mode:o}, killed before step {death}, then {second:?}");
        if is_there() && !bench.is_at("keep.commit") && !bench.is_at("keep.done") {
            // What opens the layer takes it back, as a `keep` does.
            match death % 3 {
                0 => drop(bench.store.layer("l", true).expect("open")),
                _ => drop(bench.store.recover("l", &host, &mut || {}).expect("recover")),
            }
            // Of a part, the first one may be done.
            if paths.is_empty() {
                assert!(tree_of(&host) == old, "{when}");
                assert_clean(&host);
            }
        }
        assert!(!is_there() || matches!(bench.keep(&mut || {}), Ok(Kept::Done(_))), "{when}");
        assert_closed_kept(&host, mode, &when);
    }
}

#[test]
fn its_mode_is_right_whenever_a_keep_dies() {
    let second = |death: usize| (death % 2 == 1).then_some(death / 3);
    as_user(|| {
        [0o555, 0o444].into_iter().for_each(|mode| die_and_keep(mode, &[], second));
        die_and_keep(0o444, &[path("d/s/new"), path("n/s")], second);
    });
}

#[test]
#[ignore = "long: pairs of deaths"]
fn its_mode_is_right_after_two_deaths() {
    as_user(|| {
        let mut dice = Dice::new(1);
        for mode in CLOSED.repeat(3) {
            let seconds: Vec<usize> = (0..200).map(|_| dice.below(60)).collect();
            die_and_keep(mode, &[], |death| seconds.get(death).copied());
            die_and_keep(mode, &[path("d/s/new"), path("n/s")], |death| seconds.get(death).copied());
        }
    });
}

#[test]
fn its_mode_is_right_where_a_keep_is_undone() {
    as_user(|| {
        for mode in CLOSED {
            let bench = change_closed(mode);
            let (host, old) = (bench.host(), tree_of(&bench.host()));
            let mut step = || {
                if bench.is_at("keep.commit") {
                    let _ = fs::write(host.join("n"), "in the way");
                }
            };
            assert!(bench.keep(&mut step).is_err(), "{mode:o}");
            fs::remove_file(host.join("n")).expect("it was not replaced");
            assert!(tree_of(&host) == old, "{mode:o}");
            assert_clean(&host);
            assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(_))), "{mode:o}");
            assert_closed_kept(&host, mode, "after it was undone");
        }
    });
}

#[test]
fn a_directory_that_somebody_closes_again_after_a_keep_died() {
    as_user(|| {
        let bench = change_closed(0o500);
        bench.die_after("keep.commit", 0);
        chmod(&bench.host(), &["d/s", "d"], 0o555);
        assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(_))));
        assert_closed_kept(&bench.host(), 0o500, "");
    });
}

#[test]
fn a_name_in_a_directory_that_is_not_kept_itself() {
    as_user(|| {
        for mode in CLOSED {
            let bench = change_closed(mode);
            let kept = bench.store.keep("l", &bench.host(), &[path("d/s/new"), path("n/s")], &mut || {});
            assert!(matches!(kept, Ok(Kept::Done(_))), "{mode:o}: {kept:?}");
            assert_eq!(bench.text("d/s/new"), "new");
            for name in ["d", "d/s"] {
                assert_eq!(mode_of(&bench.host().join(name)), 0o555, "{mode:o}: {name}");
            }
            assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(_))), "{mode:o}");
            assert_closed_kept(&bench.host(), mode, "when the rest is kept");
        }
    });
}

#[test]
fn files_that_their_owner_may_not_read() {
    let make = || {
        Bench::over(
            |host| {
                for (name, other) in [("a", "a2"), ("b", "b2"), ("c", "")] {
                    fs::write(host.join(name), "old").expect("write");
                    if !other.is_empty() {
                        fs::hard_link(host.join(name), host.join(other)).expect("link");
                    }
                }
            },
            |bench, view| {
                for (name, mode) in [("a", 0), ("b", 0o200), ("c", 0o300), ("new", 0)] {
                    bench.put(view, name, "new");
                    set_mode(view, name, mode);
                }
                bench.unlink(view, "b");
            },
        )
    };
    as_user(|| {
        for death in 0.. {
            let (bench, mut left) = (make(), death);
            let mut step = || {
                assert!(left != 0, "it dies");
                left -= 1;
            };
            let is_over = catch_unwind(AssertUnwindSafe(|| bench.keep(&mut step))).is_ok();
            if bench.store.about("l").is_ok() {
                let kept = bench.keep(&mut || {});
                assert!(matches!(kept, Ok(Kept::Done(_))), "{death}: {kept:?}");
            }
            assert_clean(&bench.host());
            for (name, mode) in [("a", 0), ("a2", 0), ("b2", 0o200), ("c", 0o300), ("new", 0)] {
                let file = bench.host().join(name);
                assert_eq!(mode_of(&file), mode, "{name}, {death}");
                fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("chmod");
                assert_eq!(fs::read(&file).expect("read"), b"new", "{name}, {death}");
                fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("chmod");
            }
            if is_over {
                assert!(death > 20, "{death}");
                break;
            }
        }
    });
}

#[test]
fn what_may_be_written_and_not_read_is_changed_where_it_can_be_kept() {
    let dir = files_of_root(&["theirs"], 0o622, false);
    as_user(|| {
        let bench = Bench::over(
            |host| {
                dir.iter().for_each(|dir| move_names(dir.path(), host));
                for name in ["alone", "linked"] {
                    fs::write(host.join(name), "old").expect("write");
                }
                fs::hard_link(host.join("linked"), host.join("other")).expect("link");
                chmod(host, &["alone", "linked"], 0o200);
            },
            |bench, view| {
                for name in ["linked", "theirs"] {
                    let Ok(found) = view.find(&path(name)) else { continue };
                    assert_eq!(view.copy_up(&found, true), Err(Errno::ACCESS), "{name}");
                    assert_eq!(view.set_attribute(&found, &Attribute::Size(0)), Err(Errno::ACCESS), "{name}");
                }
                bench.put(view, "alone", "new");
                bench.put(view, "zz", "new");
            },
        );
        let kept = bench.keep(&mut || {});
        assert!(matches!(kept, Ok(Kept::Done(2))), "{kept:?}");
        chmod(&bench.host(), &["alone", "linked"], 0o600);
        assert_eq!(["alone", "linked", "zz"].map(|name| bench.text(name)), ["new", "old", "new"]);
    });
}

#[test]
fn a_keep_that_prepares_in_vain_leaves_directories_their_times() {
    as_user(|| {
        let bench = Bench::over(
            |host| {
                for name in ["written", "made", "removed"] {
                    fs::create_dir(host.join(name)).expect("mkdir");
                    fs::write(host.join(name).join("f"), "old").expect("write");
                }
                fs::copy("/bin/sleep", host.join("prog")).expect("copy");
                fs::hard_link(host.join("prog"), host.join("prog-1.0")).expect("link");
            },
            |bench, view| {
                ["written/f", "made/new", "prog"].iter().for_each(|name| bench.put(view, name, "new"));
                bench.unlink(view, "removed/f");
            },
        );
        let times = || {
            ["", "written", "made", "removed"].map(|name| {
                let stat = fs::metadata(bench.host().join(name)).expect("stat");
                (stat.mtime(), stat.mtime_nsec())
            })
        };
        let old = times();
        let mut program = Command::new(bench.host().join("prog")).arg("1000").spawn().expect("run");
        let (kept, left) = (bench.keep(&mut || {}), times());
        // Somebody else makes a name in a directory that has one of the plan's; at another tick of the clock.
        let (made, theirs) = (bench.host().join("made"), bench.host().join("made/theirs"));
        let mut step = || {
            if common::is_staging(&made) && !theirs.exists() {
                fs::write(&theirs, "theirs").expect("write");
                let dir = fs::File::open(&made).expect("open");
                dir.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000)).expect("set time");
            }
        };
        let (kept_beside, left_beside) = (bench.keep(&mut step), times());
        program.kill().expect("kill");
        program.wait().expect("wait");
        assert!(kept.is_err() && kept_beside.is_err(), "{kept:?}, {kept_beside:?}");
        assert_eq!(left, old);
        assert_eq!(old.iter().zip(&left_beside).map(|(old, new)| old == new).collect::<Vec<_>>(), [true, true, false, true]);
        assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(4))));
        let new = times();
        assert_eq!(old.iter().zip(&new).map(|(old, new)| old == new).collect::<Vec<_>>(), [true, true, false, false]);
    });
}
