//! Extended attributes of files that an ordinary user may not write or read. A program of its own: what forks shares locks with the child.

use rustix::{
    fs::{Mode, Timespec, Timestamps, UTIME_NOW, XattrFlags, lgetxattr, lsetxattr},
    io::Errno,
};
use slipway_layer::{Attribute, Kept, View};
use std::{
    cell::Cell,
    ffi::CStr,
    fs,
    io::Write,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    time::{Duration, UNIX_EPOCH},
};

mod common;
use common::{Bench, as_user, assert_clean, path, rights_list};

/// What a layer does with `a`.
fn change(view: &mut View, attribute: &Attribute<'_>) -> Result<(), Errno> {
    let found = view.find(&path("a")).expect("find");
    view.set_attribute(&found, attribute)
}

fn set_mode(view: &mut View, mode: u32) {
    change(view, &Attribute::Mode(Mode::from_raw_mode(mode))).expect("chmod");
}

fn set(view: &mut View, name: &CStr) {
    change(view, &Attribute::SetXattr(name, b"new", XattrFlags::empty())).expect("setxattr");
}

/// `a` and `b` are one file of this mode with an attribute; none if the file system has none.
fn with_attribute(mode: u32, change: impl FnOnce(&Bench, &mut View)) -> Option<Bench> {
    let is_known = Cell::new(true);
    let bench = Bench::over(
        |host| {
            let a = host.join("a");
            fs::write(&a, "both").expect("write");
            fs::hard_link(&a, host.join("b")).expect("link");
            is_known.set(lsetxattr(&a, "user.x", b"old", XattrFlags::empty()).is_ok());
            fs::set_permissions(&a, PermissionsExt::from_mode(mode)).expect("chmod");
        },
        |bench, view| {
            if is_known.get() {
                change(bench, view);
            }
        },
    );
    is_known.get().then_some(bench)
}

/// The mode of a file, and its attributes, which its owner may not be allowed to read.
fn state_of(file: &Path) -> (u32, [String; 2]) {
    let mode = fs::metadata(file).expect("stat").mode() & 0o7777;
    fs::set_permissions(file, PermissionsExt::from_mode(0o600)).expect("chmod");
    let attributes = ["user.x", "user.y"].map(|name| {
        let mut value = [0; 100];
        let len = lgetxattr(file, name, &mut value[..]).unwrap_or(0);
        String::from_utf8_lossy(&value[..len]).into_owned()
    });
    (mode, attributes)
}

const MODES: [(u32, u32); 5] = [(0o444, 0o644), (0o444, 0o444), (0o644, 0o444), (0o644, 0), (0o644, 0o200)];

#[test]
fn attributes_of_a_file_with_several_names_are_kept() {
    as_user(|| {
        for (old, new) in MODES {
            let bench = with_attribute(old, |_, view| {
                set_mode(view, 0o644);
                [c"user.x", c"user.y"].iter().for_each(|name| set(view, name));
                set_mode(view, new);
            });
            let Some(bench) = bench else { return };
            let kept = bench.keep(&mut || {});
            assert!(matches!(kept, Ok(Kept::Done(1))), "{kept:?}");
            assert_clean(&bench.host());
            assert_eq!(state_of(&bench.host().join("b")), (new, ["new", "new"].map(String::from)), "{old:o}, {new:o}");
        }
    });
}

#[test]
fn attributes_of_a_file_with_several_names_are_back_when_that_is_undone() {
    as_user(|| {
        for (old, new) in MODES {
            let bench = with_attribute(old, |bench, view| {
                set_mode(view, 0o644);
                change(view, &Attribute::RemoveXattr(c"user.x")).expect("removexattr");
                set(view, c"user.y");
                set_mode(view, new);
                bench.put(view, "z", "new");
            });
            let Some(bench) = bench else { return };
            let mut step = || {
                if bench.is_at("keep.commit") {
                    let _ = fs::create_dir(bench.host().join("z"));
                }
            };
            bench.keep(&mut step).expect_err("there is something in the way");
            assert_clean(&bench.host());
            assert_eq!(state_of(&bench.host().join("b")), (old, ["old", ""].map(String::from)), "{old:o}, {new:o}");
        }
    });
}

#[test]
fn a_copy_with_a_list_of_rights_that_forbids_to_write_has_all_attributes() {
    as_user(|| {
        let mut is_known = true;
        let bench = Bench::over(
            |host| {
                let a = host.join("a");
                fs::write(&a, "old").expect("write");
                for (name, value) in [("user.x", b"old".to_vec()), ("system.posix_acl_access", rights_list())] {
                    is_known &= lsetxattr(&a, name, &value, XattrFlags::empty()).is_ok();
                }
                fs::set_permissions(&a, PermissionsExt::from_mode(0o444)).expect("chmod");
            },
            |_, view| set_mode(view, 0o755),
        );
        bench.keep(&mut || {}).expect("keep");
        let (mode, attributes) = state_of(&bench.host().join("a"));
        assert_eq!((mode, &*attributes[0]), (0o755, if is_known { "old" } else { "" }));
    });
}

#[test]
fn what_may_not_be_read_loses_no_attributes_by_being_cut() {
    as_user(|| {
        let bench = with_attribute(0o200, |bench, view| {
            fs::remove_file(bench.host().join("b")).expect("remove");
            let found = view.find(&path("a")).expect("find");
            assert_eq!(view.copy_up(&found, true), Err(Errno::ACCESS));
            bench.put(view, "z", "new");
        });
        let Some(bench) = bench else { return };
        bench.keep(&mut || {}).expect("keep");
        assert_eq!(state_of(&bench.host().join("a")), (0o200, ["old", ""].map(String::from)));
    });
}

/// A file of root's that all may write, to be moved to a host's tree; none if this is not root.
fn theirs() -> Option<tempfile::TempDir> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let dir = tempfile::tempdir().expect("directory");
    fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).expect("chmod");
    fs::write(dir.path().join("a"), "theirs").expect("write");
    let file = fs::File::options().write(true).open(dir.path().join("a")).expect("open");
    file.set_modified(UNIX_EPOCH + Duration::from_secs(1000)).expect("set time");
    fs::set_permissions(dir.path().join("a"), PermissionsExt::from_mode(0o666)).expect("chmod");
    Some(dir)
}

fn over_theirs(dir: &tempfile::TempDir, change: impl FnOnce(&Bench, &mut View)) -> Bench {
    Bench::over(|host| fs::rename(dir.path().join("a"), host.join("a")).expect("rename"), change)
}

/// The time of the host's `a`, and its attribute.
fn time_and_attribute(bench: &Bench) -> ((i64, i64), bool) {
    let a = bench.host().join("a");
    let stat = fs::metadata(&a).expect("stat");
    ((stat.mtime(), stat.mtime_nsec()), lgetxattr(&a, "user.x", &mut [0_u8; 10][..]).is_ok())
}

#[test]
fn another_users_file_that_was_only_opened_to_write_is_not_changed() {
    let Some(dir) = theirs() else { return };
    as_user(|| {
        let bench = over_theirs(&dir, |bench, view| {
            let found = view.find(&path("a")).expect("find");
            view.copy_up(&found, false).expect("copy");
            bench.put(view, "z", "new");
            let changes = view.changes().expect("compare");
            assert_eq!(changes.iter().map(|change| change.path.to_string()).collect::<Vec<_>>(), ["/z"]);
        });
        let old = time_and_attribute(&bench);
        let kept = bench.keep(&mut || {});
        assert!(matches!(kept, Ok(Kept::Done(1))), "{kept:?}");
        assert_eq!(time_and_attribute(&bench), old);
    });
}

#[test]
fn another_users_file_gets_an_attribute_or_a_time_and_is_whole_meanwhile() {
    for sets_time in [false, true] {
        let Some(dir) = theirs() else { return };
        as_user(|| {
            let bench = over_theirs(&dir, |_, view| {
                let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
                let times = Timestamps { last_access: now, last_modification: now };
                let xattr = Attribute::SetXattr(c"user.x", b"new", XattrFlags::empty());
                let attribute = if sets_time { Attribute::Times(&times) } else { xattr };
                change(view, &attribute).expect("change");
            });
            let (old, _) = time_and_attribute(&bench);
            let kept = bench.keep(&mut || assert_eq!(bench.text("a"), "theirs"));
            assert!(matches!(kept, Ok(Kept::Done(1))), "{kept:?}");
            let (new, has_attribute) = time_and_attribute(&bench);
            assert_eq!((new > old, has_attribute), (sets_time, !sets_time));
        });
    }
}

#[test]
fn an_attribute_that_was_set_before_a_death_is_taken_back_when_that_is_undone() {
    as_user(|| {
        let Some(bench) = with_attribute(0o600, |bench, view| {
            fs::write(bench.host().join("0"), "old").expect("write");
            bench.put(view, "0", "new");
            set(view, c"user.x");
            bench.put(view, "z", "new");
        }) else {
            return;
        };
        let mut replaced = fs::File::options().append(true).open(bench.host().join("0")).expect("open");
        bench.die(|| bench.is_at("keep.commit") && state_of(&bench.host().join("b")).1[0] == "new");
        // It died before it had noted that it was done.
        let progress = bench.store.dir().join("l/keep.progress");
        let text = fs::read_to_string(&progress).expect("read");
        let (first, done) = text.split_once('\n').expect("a line");
        assert!(first.contains("Writing") && done.contains("Done"), "{text}");
        fs::write(&progress, format!("{first}\n")).expect("write");
        // The step before it finds that somebody has changed what it had taken away.
        replaced.write_all(b"er").expect("write");
        bench.keep(&mut || {}).expect_err("it is undone");
        assert_eq!(state_of(&bench.host().join("b")), (0o600, ["old", ""].map(String::from)));
        assert_eq!(bench.text("0"), "older");
        assert_clean(&bench.host());
    });
}

#[test]
fn who_may_set_a_list_of_rights() {
    let list = rights_list();
    let act = |view: &mut View| {
        let set = change(view, &Attribute::SetXattr(c"system.posix_acl_access", &list, XattrFlags::empty()));
        [set, change(view, &Attribute::RemoveXattr(c"system.posix_acl_access"))]
    };
    let theirs = theirs();
    as_user(|| {
        let mut done = [Ok(()), Ok(())];
        with_attribute(0o444, |_, view| done = act(view));
        assert!(done == [Ok(()); 2] || done[0] == Err(Errno::OPNOTSUPP), "{done:?}");
        let Some(dir) = &theirs else { return };
        over_theirs(dir, |_, view| assert_eq!(act(view), [Err(Errno::PERM); 2]));
    });
}
