//! What new files get from their directory, also where the layer had removed another of their name.

use rustix::{
    fs::{CWD, FileType, Gid, Mode, OFlags, RenameFlags, XattrFlags, chown, lgetxattr, lsetxattr, openat},
    process::geteuid,
};
use slipway_layer::{Attribute, Rules, View};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

mod common;
use common::{Bench, path, rights_list};

/// The second of each pair is a name that was never there.
const PAIRS: [(&str, &str); 3] = [("d/f", "d/g"), ("d/p", "d/q"), ("d/s", "d/t")];

/// A layer that makes names anew in `d`, and others.
fn made_anew(prepare: impl FnOnce(&Path)) -> Bench {
    Bench::over(
        |host| {
            fs::create_dir_all(host.join("d/s")).expect("mkdir");
            for name in ["d/f", "d/p"] {
                fs::write(host.join(name), "old").expect("write");
            }
            prepare(&host.join("d"));
        },
        |bench, view| {
            bench.unlink(view, "d/f");
            bench.unlink(view, "d/p");
            let found = view.find(&path("d/s")).expect("find");
            view.remove(&found, true).expect("rmdir");
            for name in ["d/f", "d/g"] {
                view.create(&path(name), OFlags::WRONLY, Mode::from_raw_mode(0o664)).expect("create");
            }
            for name in ["d/p", "d/q"] {
                view.make_node(&path(name), FileType::Fifo, Mode::from_raw_mode(0o664), 0).expect("mkfifo");
            }
            for name in ["d/s", "d/t"] {
                view.make_dir(&path(name), Mode::from_raw_mode(0o775)).expect("mkdir");
            }
            let left = fs::read_dir(bench.store.dir().join("l/work")).expect("list").count();
            assert!(left <= 1, "only the whiteout that others are names of");
        },
    )
}

/// Group, mode, and lists of rights of a file in the layer.
fn traits(view: &View, name: &str) -> (u32, u32, Vec<Vec<u8>>) {
    let found = view.find(&path(name)).expect("find");
    let real = view.top().expect("a layer").dir().join("files").join(name);
    (found.stat.st_gid, found.stat.st_mode, lists_of(&real))
}

/// The list of rights of a file, and that for new ones.
fn lists_of(file: &Path) -> Vec<Vec<u8>> {
    let rights = |which: &str| {
        let mut value = vec![0; 1000];
        let len = lgetxattr(file, which, &mut value[..]).unwrap_or(0);
        value[..len].to_vec()
    };
    vec![rights("system.posix_acl_access"), rights("system.posix_acl_default")]
}

/// Has a directory give new files a list of rights: whether it can.
fn give_list(dir: &Path) -> bool {
    // Version 2; the owner, user 1000, the group, the mask, and others: a tag, rights, and a number each.
    let entry =
        |tag: u16, rights: u16, id: u32| [tag.to_le_bytes().as_slice(), &rights.to_le_bytes(), &id.to_le_bytes()].concat();
    let nobody = u32::MAX;
    let entries = [(0x01, 7, nobody), (0x02, 6, 1000), (0x04, 5, nobody), (0x10, 7, nobody), (0x20, 0, nobody)];
    let list = [2_u32.to_le_bytes().to_vec(), entries.map(|(tag, rights, id)| entry(tag, rights, id)).concat()].concat();
    lsetxattr(dir, "system.posix_acl_default", &list, XattrFlags::empty()).is_ok()
}

fn assert_alike(bench: &Bench) {
    bench.change(|view| {
        for (anew, fresh) in PAIRS {
            assert_eq!(traits(view, anew), traits(view, fresh), "{anew} and {fresh}");
        }
    });
}

#[test]
fn the_group_of_the_directory() {
    // Another group than this process's takes root.
    let group = if geteuid().is_root() { 1000 } else { rustix::process::getegid().as_raw() };
    let bench = made_anew(|dir| {
        chown(dir, None, Some(Gid::from_raw(group))).expect("chown");
        fs::set_permissions(dir, PermissionsExt::from_mode(0o2775)).expect("chmod");
    });
    assert_alike(&bench);
    bench.change(|view| {
        let (gid, mode, _) = traits(view, "d/s");
        assert_eq!((gid, mode & 0o2000), (group, 0o2000));
    });
}

#[test]
fn the_directorys_list_of_rights() {
    let mut is_known = true;
    let bench = made_anew(|dir| is_known = give_list(dir));
    assert_alike(&bench);
    bench.change(|view| assert_eq!(traits(view, "d/f").2[0].is_empty(), !is_known));
}

#[test]
fn nothing_where_it_gives_nothing() {
    let bench = made_anew(|_| {});
    assert_alike(&bench);
    bench.keep(&mut || {}).expect("keep");
    let fifo = openat(CWD, bench.host().join("d/p"), OFlags::PATH, Mode::empty()).expect("open");
    assert_eq!(FileType::from_raw_mode(rustix::fs::fstat(fifo).expect("stat").st_mode), FileType::Fifo);
}

#[test]
fn what_is_kept_has_the_rights_that_it_has_in_the_layer() {
    const NAMES: [&str; 8] = ["d/f", "d/other", "d/g", "d/t", "d/t/h", "d/bare", "d/new", "d/new-dir"];
    let mut is_known = true;
    let bench = Bench::over(
        |host| {
            fs::create_dir_all(host.join("d/s")).expect("mkdir");
            for name in ["d/f", "d/moved", "d/s/g", "d/s/h"] {
                fs::write(host.join(name), "old").expect("write");
            }
            is_known = give_list(&host.join("d"));
        },
        |bench, view| {
            bench.put(view, "d/f", "new");
            for (from, to) in [("d/moved", "d/other"), ("d/s/g", "d/g"), ("d/s", "d/t")] {
                let found = view.find(&path(from)).expect("find");
                view.rename(&found, &path(to), RenameFlags::empty()).expect("rename");
            }
            for name in ["d/bare", "d/new-dir"] {
                view.make_dir(&path(name), Mode::RWXU).expect("mkdir");
            }
            for list in [c"system.posix_acl_access", c"system.posix_acl_default"] {
                let found = view.find(&path("d/bare")).expect("find");
                let _ = view.set_attribute(&found, &Attribute::RemoveXattr(list));
            }
            bench.put(view, "d/new", "new");
        },
    );
    let files = bench.store.dir().join("l/files");
    let lists = NAMES.map(|name| lists_of(&files.join(name)));
    let has_list = NAMES.into_iter().zip(&lists).filter_map(|(name, lists)| (!lists[0].is_empty()).then_some(name));
    assert_eq!(has_list.collect::<Vec<_>>(), if is_known { &["d/new", "d/new-dir"][..] } else { &[] });
    bench.keep(&mut || {}).expect("keep");
    for (name, lists) in NAMES.into_iter().zip(lists) {
        assert_eq!(lists_of(&bench.host().join(name)), lists, "{name}");
    }
}

#[test]
fn what_is_prepared_has_no_rights_of_its_directorys() {
    let mut is_known = true;
    let bench = Bench::over(
        |host| {
            fs::create_dir_all(host.join("d/s")).expect("mkdir");
            fs::write(host.join("d/s/f"), "old").expect("write");
            is_known = give_list(&host.join("d"));
        },
        |_, view| {
            let found = view.find(&path("d/s")).expect("find");
            view.rename(&found, &path("d/t"), RenameFlags::empty()).expect("rename");
        },
    );
    let mut seen = 0;
    let mut step = || {
        let mut dirs = vec![bench.host().join("d")];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).expect("list").map(|entry| entry.expect("entry").path()) {
                if entry.to_string_lossy().contains("/.slipway-keep-") {
                    assert!(lists_of(&entry).iter().all(Vec::is_empty), "{}", entry.display());
                    seen += 1;
                }
                dirs.extend(entry.is_dir().then_some(entry));
            }
        }
    };
    bench.keep(&mut step).expect("keep");
    assert!(seen > 1 || !is_known, "{seen}");
}

/// Where the layer's file system has no room for an attribute that the host's directory has.
#[test]
fn a_directorys_rights_do_not_need_room_for_its_other_attributes() {
    let Ok(dir) = tempfile::tempdir_in("/dev/shm") else { return };
    let d = dir.path().join("d");
    fs::create_dir(&d).expect("mkdir");
    let list = rights_list();
    let set = |name: &str, value: &[u8]| lsetxattr(&d, name, value, XattrFlags::empty()).is_ok();
    let lists = ["system.posix_acl_access", "system.posix_acl_default"];
    if !(set("user.x", &[0; 5000]) && set("user.y", &[0; 4000]) && lists.iter().all(|name| set(name, &list))) {
        return;
    }
    let bench = Bench::over(|_| {}, |_, _| {});
    let layer = bench.store.layer("l", true).expect("open");
    let mut view = View::new(dir.path(), vec![layer], Rules::default()).expect("view");
    view.make_dir(&path("d/new"), Mode::RWXU).expect("mkdir");
    let copy = bench.store.dir().join("l/files/d");
    for name in lists {
        let mut value = [0; 100];
        assert_eq!(lgetxattr(&copy, name, &mut value[..]).map(|len| value[..len].to_vec()), Ok(list.clone()), "{name}");
    }
}
