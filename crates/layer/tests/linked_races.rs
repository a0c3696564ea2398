//! Files of the host's that have several names, where others change them meanwhile, or may not be changed as they are.

use rustix::fs::{Mode, RenameFlags, XattrFlags};
use rustix::io::Errno;
use slipway_layer::{About, Attribute, Error, Kept, Rules, Store, View};
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process::Command,
};

mod common;
use common::{
    Bench, as_user, assert_clean,
    linked::{fill, on_view},
    one_at_a_time, path,
};

fn bench(life: &str) -> Bench {
    let bench = Bench::over(
        |host| {
            fill(host);
            fs::create_dir(host.join("other")).expect("mkdir");
            fs::write(host.join("other/c"), "not chosen").expect("write");
        },
        |_, _| {},
    );
    bench.change(|view| life.split("; ").for_each(|act| on_view(&bench, view, act)));
    bench
}

/// Keeps a name, and does something on the host before a step: what came of it, and whether it was decided then; none if there is no such step.
fn race(bench: &Bench, chosen: &str, at: usize, mut act: impl FnMut(usize)) -> Option<(Result<Kept, Error>, bool)> {
    let (mut step, mut decided) = (0, false);
    let kept = bench.store.keep("l", &bench.host(), &[path(chosen)], &mut || {
        if step == at {
            decided = bench.is_at("keep.commit") || bench.is_at("keep.done");
        }
        act(step);
        step += 1;
    });
    (step > at).then_some((kept, decided))
}

#[test]
fn a_link_that_a_directory_above_has_become_is_not_followed() {
    let _one = one_at_a_time();
    for (life, stays) in [("add sub/c; mv sub/c d", true), ("add sub/c; mv sub/c d", false), ("mv sub/c d", false)] {
        for at in 0.. {
            let bench = bench(life);
            let host = bench.host();
            let name = |name: &str| host.join(name);
            let raced = race(&bench, "d", at, |step| {
                if step == at {
                    fs::rename(name("sub"), name("sub.old")).expect("rename");
                    symlink("other", name("sub")).expect("symlink");
                }
                if step == at + 1 && !stays {
                    fs::remove_file(name("sub")).expect("remove");
                    fs::rename(name("sub.old"), name("sub")).expect("rename");
                }
            });
            assert_eq!(bench.text("other/c"), "not chosen", "{life} {at}: {raced:?}");
            let is_linked = fs::metadata(name("other/c")).expect("stat").nlink() > 1;
            assert!(!is_linked, "{life} {at}: {raced:?}");
            if raced.is_none() {
                break;
            }
        }
    }
}

#[test]
fn what_is_changed_on_the_host_before_it_is_decided_is_not_written_over() {
    let _one = one_at_a_time();
    for at in 0.. {
        let bench = bench("add a; mv a d");
        let edit = |step| {
            if step == at {
                fs::write(bench.host().join("b"), "my edit").expect("write");
            }
        };
        let Some((kept, decided)) = race(&bench, "d", at, edit) else { break };
        // In the instant in which files are written it is not seen.
        assert!(decided || bench.text("a") == "my edit", "{at}: {kept:?}");
        assert!(decided || !matches!(kept, Ok(Kept::Done(_))), "{at}: {kept:?}");
    }
    for (life, now) in [("add a; mv a d", "amore"), ("ln a d", "a"), ("mv a d", "a")] {
        for at in 0.. {
            let bench = bench(life);
            let replace = |step| {
                if step == at {
                    fs::write(bench.host().join("new"), "unrelated").expect("write");
                    fs::rename(bench.host().join("new"), bench.host().join("a")).expect("rename");
                }
            };
            let Some((kept, _)) = race(&bench, "d", at, replace) else { break };
            assert_eq!(bench.text("a"), "unrelated", "{life} {at}: {kept:?}");
            if matches!(kept, Ok(Kept::Done(_))) {
                assert_eq!(bench.text("d"), now, "{life} {at}");
            }
            assert!(at > 1 || kept.is_ok_and(|kept| matches!(kept, Kept::Conflicts(_))), "{life} {at}");
        }
    }
}

#[test]
fn an_edit_after_a_keep_that_died_is_none_of_the_layers() {
    let _one = one_at_a_time();
    for life in ["add a; add b", "add a; add b; rm b", "add a; mv b n"] {
        for edits in [true, false] {
            let bench = bench(life);
            let mut step = || assert!(!bench.is_at("keep.done"), "it dies");
            let keep = |step: &mut dyn FnMut()| bench.store.keep("l", &bench.host(), &[path("a")], step);
            assert!(catch_unwind(AssertUnwindSafe(|| keep(&mut step))).is_err());
            if edits {
                fs::write(bench.host().join("sub/c"), "my later edit").expect("write");
            }
            assert!(matches!(keep(&mut || {}), Ok(Kept::Done(1))), "{life}");
            if edits {
                assert_eq!(bench.conflicts(), [("/b".to_owned(), "it was changed on the host")], "{life}");
                assert_eq!(bench.text("sub/c"), "my later edit", "{life}");
            } else {
                let kept = bench.keep(&mut || {});
                assert!(matches!(kept, Ok(Kept::Done(_))), "{life}: {kept:?}");
            }
        }
    }
}

/// Whether mounts can be made here: a test that needs some runs itself again where it can.
fn can_mount(test: &str) -> bool {
    const INSIDE: &str = "SLIPWAY_TEST_MOUNTS";
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let args = ["--user", "--map-root-user", "--mount"];
    let args = if rustix::process::geteuid().is_root() { &args[2..] } else { &args[..] };
    let unshare = |command: &mut Command| command.env(INSIDE, "1").output().expect("unshare");
    if !unshare(Command::new("unshare").args(args).arg("true")).status.success() {
        eprintln!("skipped: no mounts can be made here");
        return false;
    }
    let program = std::env::current_exe().expect("program");
    let out = unshare(Command::new("unshare").args(args).arg(program).args(["--exact", test, "--nocapture"]));
    assert!(out.status.success(), "{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    false
}

fn mount(program: &str, args: &[&str], at: &Path) {
    assert!(Command::new(program).args(args).arg(at).status().expect(program).success(), "{program}");
}

/// Two file systems number their files alike.
#[test]
fn files_of_two_file_systems_with_the_same_number() {
    let _one = one_at_a_time();
    if !can_mount("files_of_two_file_systems_with_the_same_number") {
        return;
    }
    for (life, expected) in [
        ("put m1/a; put m2/a", ["m1/a=put", "m1/b=put", "m2/a=put", "m2/b=put"].as_slice()),
        ("add m1/a; mv m1/a m1/d; add m2/a; mv m2/a m2/d", &["m1/d=xmore", "m1/b=xmore", "m2/d=xmore", "m2/b=xmore"]),
        ("add m1/a; rm m1/a; add m2/a; rm m2/a", &["m1/b=xmore", "m2/b=xmore"]),
        ("put m1/a; add m2/a", &["m1/a=put", "m1/b=put", "m2/a=xmore", "m2/b=xmore"]),
        ("add m1/a; mv m1/a m2/a", &["m1/b=xmore", "m2/a=xmore", "m2/b=x"]),
    ] {
        let dirs = ["m1", "m2"];
        let make = |host: &Path| {
            for dir in dirs.map(|dir| host.join(dir)) {
                fs::create_dir(&dir).expect("mkdir");
                mount("mount", &["-t", "tmpfs", "none"], &dir);
                fs::write(dir.join("a"), "x").expect("write");
                fs::hard_link(dir.join("a"), dir.join("b")).expect("link");
            }
        };
        let bench = Bench::over(make, |_, _| {});
        let number = |name: &str| fs::metadata(bench.host().join(name)).expect("stat").ino();
        assert_eq!(number("m1/a"), number("m2/a"));
        bench.change(|view| life.split("; ").for_each(|act| on_view(&bench, view, act)));
        let kept = bench.keep(&mut || {});
        assert!(matches!(kept, Ok(Kept::Done(_))), "{life}: {kept:?}");
        for (name, text) in expected.iter().map(|each| each.split_once('=').expect("a text")) {
            assert_eq!(bench.text(name), text, "{life}: {name}");
        }
        dirs.iter().for_each(|dir| mount("umount", &[], &bench.host().join(dir)));
    }
}

#[test]
fn a_file_of_a_group_that_its_owner_is_not_in_keeps_that() {
    let _one = one_at_a_time();
    // Only root can make one.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    for (life, mode, is_written) in [
        ("mv a d", 0o664, false),
        ("ln a d", 0o664, false),
        ("mv a d", 0o2755, false),
        ("mv a d", 0o4755, false),
        ("add a; mv a d", 0o664, true),
        ("add a; rm a", 0o664, true),
        ("add a; add b", 0o664, true),
    ] {
        let dir = tempfile::tempdir().expect("directory");
        let made = dir.path().join("made");
        fs::create_dir(&made).expect("mkdir");
        fs::write(made.join("a"), "a").expect("write");
        fs::hard_link(made.join("a"), made.join("b")).expect("link");
        std::os::unix::fs::chown(made.join("a"), Some(1000), Some(12)).expect("chown");
        fs::set_permissions(made.join("a"), PermissionsExt::from_mode(mode)).expect("chmod");
        std::os::unix::fs::chown(&made, Some(1000), Some(1000)).expect("chown");
        fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).expect("chmod");
        as_user(|| {
            let take = |host: &Path| {
                fs::remove_dir(host).expect("rmdir");
                fs::rename(&made, host).expect("rename");
            };
            let bench = Bench::over(take, |_, _| {});
            bench.change(|view| life.split("; ").for_each(|act| on_view(&bench, view, act)));
            assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(_))), "{life}");
            let stat = fs::metadata(bench.host().join("b")).expect("stat");
            assert_eq!((stat.mode() & 0o7777, stat.uid(), stat.gid()), (mode, 1000, 12), "{life}");
            assert_eq!(bench.text("b").starts_with("amore"), is_written, "{life}");
        });
    }
}

#[test]
fn a_file_is_written_that_goes_with_a_directory_which_is_read_only() {
    let _one = one_at_a_time();
    as_user(|| {
        for (life, text) in [
            ("open sub; add sub/c; rm sub/c; rmdir sub", "amore"),
            ("open sub; add sub/c; mv sub/c d; rmdir sub", "amore"),
            ("open sub; add sub/c; mv sub/c d", "amore"),
            ("open sub; mv sub t; add t/c", "amore"),
            ("open sub; open sub/c; rm sub/c; rmdir sub", "a"),
        ] {
            let make = |host: &Path| {
                fill(host);
                fs::set_permissions(host.join("a"), PermissionsExt::from_mode(0o444)).expect("chmod");
                fs::set_permissions(host.join("sub"), PermissionsExt::from_mode(0o555)).expect("chmod");
            };
            let bench = Bench::over(make, |_, _| {});
            bench.change(|view| {
                for act in life.split("; ") {
                    match act.strip_prefix("open ") {
                        Some(name) => {
                            let mode = Attribute::Mode(Mode::from_raw_mode(0o755));
                            view.set_attribute(&view.find(&path(name)).expect("find"), &mode).expect("chmod");
                        }
                        None => {
                            if let Some(name) = act.strip_prefix("add ") {
                                let mode = Attribute::Mode(Mode::from_raw_mode(0o644));
                                view.set_attribute(&view.find(&path(name)).expect("find"), &mode).expect("chmod");
                            }
                            on_view(&bench, view, act);
                        }
                    }
                }
            });
            let kept = bench.keep(&mut || {});
            assert!(matches!(kept, Ok(Kept::Done(_))), "{life}: {kept:?}");
            assert_eq!(bench.text("b"), text, "{life}");
            assert_clean(&bench.host());
        }
    });
}

/// On overlayfs a file of the lower directory becomes another one by being linked, and is none that keep knows any more.
#[test]
fn on_overlayfs_a_further_name_is_a_copy() {
    let _one = one_at_a_time();
    if !can_mount("on_overlayfs_a_further_name_is_a_copy") {
        return;
    }
    for (life, expected) in [("ln a d", ["a=a", "b=a", "d=a"]), ("ln a d; rm d; ln a e", ["a=a", "b=a", "e=a"])] {
        let make = |host: &Path| {
            let dir = host.parent().expect("a directory").join("mounted");
            fs::create_dir(&dir).expect("mkdir");
            mount("mount", &["-t", "tmpfs", "none"], &dir);
            ["lower", "upper", "work"].iter().for_each(|name| fs::create_dir(dir.join(name)).expect("mkdir"));
            fill(&dir.join("lower"));
            let dir = dir.display();
            let options = format!("lowerdir={dir}/lower,upperdir={dir}/upper,workdir={dir}/work");
            mount("mount", &["-t", "overlay", "overlay", "-o", &options], host);
        };
        let bench = Bench::over(make, |_, _| {});
        bench.change(|view| life.split("; ").for_each(|act| on_view(&bench, view, act)));
        let kept = bench.keep(&mut || {});
        assert!(matches!(kept, Ok(Kept::Done(_))), "{life}: {kept:?}");
        for (name, text) in expected.iter().map(|each| each.split_once('=').expect("a text")) {
            assert_eq!(bench.text(name), text, "{life}: {name}");
        }
        assert_clean(&bench.host());
        [bench.host(), bench.dir.path().join("mounted")].iter().for_each(|dir| mount("umount", &[], dir));
    }
}

/// The numbers of copies that go are free for other files.
#[test]
fn a_file_of_which_all_names_were_in_a_rename_that_failed_is_not_written() {
    let _one = one_at_a_time();
    as_user(|| {
        let make = |host: &Path| {
            fill(host);
            fs::hard_link(host.join("a"), host.join("sub/d")).expect("link");
            fs::write(host.join("sub/z"), "secret").expect("write");
            fs::set_permissions(host.join("sub/z"), PermissionsExt::from_mode(0o000)).expect("chmod");
        };
        let bench = Bench::over(make, |_, _| {});
        bench.change(|view| {
            let found = view.find(&path("sub")).expect("find");
            assert_eq!(view.rename(&found, &path("moved"), RenameFlags::empty()), Err(Errno::ACCESS));
            assert_eq!(view.top().expect("a layer").copies().count(), 0);
            (0..8).for_each(|number| bench.put(view, &format!("new{number}"), "new"));
        });
        assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(8))));
        assert_eq!((bench.text("a"), fs::metadata(bench.host().join("new0")).expect("stat").nlink()), ("a".to_owned(), 1));
    });
}

#[test]
fn what_may_not_be_written_by_one_name_is_not_cut_by_another() {
    let _one = one_at_a_time();
    as_user(|| {
        let bench = Bench::over(fill, |_, view| {
            let find = |view: &View, name: &str| view.find(&path(name)).expect("find");
            let mode = Attribute::Mode(Mode::from_raw_mode(0o444));
            view.set_attribute(&find(view, "a"), &mode).expect("chmod");
            // An open is to cut it itself.
            view.copy_up(&find(view, "b"), true).expect("copy");
            for size in [0, 3] {
                assert_eq!(view.set_attribute(&find(view, "sub/c"), &Attribute::Size(size)), Err(Errno::ACCESS));
            }
        });
        assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(_))));
        assert_eq!(bench.text("b"), "a");
    });
}

fn chosen(bench: &Bench, name: &str) -> Result<Kept, Error> {
    bench.store.keep("l", &bench.host(), &[path(name)], &mut || {})
}

fn changed(bench: &Bench) -> Vec<String> {
    let mut names = Vec::new();
    bench.change(|view| names.extend(view.changes().expect("changes").iter().map(|change| change.path.to_string())));
    names
}

#[test]
fn what_nobody_may_read_on_the_host_is_in_the_way_of_nothing_else() {
    let _one = one_at_a_time();
    as_user(|| {
        for death in 0.. {
            // Also where the copy has a new name, which needs the others for nothing then.
            let life = ["add b; add a; add p; put new", "add b; ln a n; add a; add p; put new"][death % 2];
            let bench = bench(life);
            bench.change(|view| {
                let mode = Attribute::Mode(Mode::from_raw_mode(0o200));
                view.set_attribute(&view.find(&path("a")).expect("find"), &mode).expect("chmod");
            });
            let dies = AssertUnwindSafe(|| race(&bench, "a", death, |step| assert!(step != death, "it dies")));
            let is_over = catch_unwind(dies).is_ok();
            assert!(matches!(chosen(&bench, "a"), Ok(Kept::Done(_))));
            // By its other name it is as on the host, too.
            if death % 2 == 1 {
                assert_eq!(changed(&bench), ["/n", "/new", "/p"], "{death}");
                assert!(matches!(chosen(&bench, "n"), Ok(Kept::Done(1))));
            }
            assert_eq!(changed(&bench), ["/new", "/p"], "{death}");
            fs::set_permissions(bench.host().join("p"), PermissionsExt::from_mode(0o200)).expect("chmod");
            assert_eq!(changed(&bench), ["/new", "/p"]);
            assert!(matches!(chosen(&bench, "new"), Ok(Kept::Done(1))));
            assert_eq!(bench.conflicts(), [("/p".to_owned(), "it was changed on the host")]);
            if is_over {
                assert!(death > 10, "{death}");
                break;
            }
        }
    });
}

#[test]
fn what_was_kept_in_a_directory_that_hides_another_is_no_change_if_nobody_may_read_it() {
    let _one = one_at_a_time();
    as_user(|| {
        let bench = bench("put new");
        bench.change(|view| {
            let found = view.find(&path("sub")).expect("find");
            view.rename(&found, &path("other"), RenameFlags::EXCHANGE).expect("rename");
            let mode = Attribute::Mode(Mode::from_raw_mode(0o200));
            view.set_attribute(&view.find(&path("other/c")).expect("find"), &mode).expect("chmod");
            view.link(&view.find(&path("other/c")).expect("find"), &path("n")).expect("link");
        });
        for name in ["other/c", "n"] {
            assert!(matches!(chosen(&bench, name), Ok(Kept::Done(1))));
        }
        assert_eq!(changed(&bench), ["/new", "/sub/c"]);
        assert!(matches!(bench.keep(&mut || {}), Ok(Kept::Done(2))));
        assert_eq!((bench.text("new"), bench.text("sub/c")), ("put".to_owned(), "not chosen".to_owned()));
    });
}

#[test]
fn two_copies_of_one_file_that_nobody_may_read() {
    let _one = one_at_a_time();
    as_user(|| {
        let bench = bench("put new");
        let set_mode = |view: &mut View, name: &str, mode| {
            let mode = Attribute::Mode(Mode::from_raw_mode(mode));
            view.set_attribute(&view.find(&path(name)).expect("find"), &mode).expect("chmod");
        };
        bench.change(|view| {
            let found = view.find(&path("sub")).expect("find");
            view.rename(&found, &path("other"), RenameFlags::EXCHANGE).expect("rename");
        });
        // It stays in the layer, as a copy of its own.
        assert!(matches!(chosen(&bench, "other/c"), Ok(Kept::Done(1))));
        bench.change(|view| ["b", "other/c"].iter().for_each(|name| set_mode(view, name, 0o200)));
        let kept = bench.keep(&mut || {});
        assert!(matches!(kept, Ok(Kept::Done(_))), "{kept:?}");
        for name in ["a", "b", "other/c"] {
            assert_eq!(fs::metadata(bench.host().join(name)).expect("stat").mode() & 0o777, 0o200, "{name}");
        }
    });
}

#[test]
fn a_copy_without_names_of_what_nobody_may_read_any_more() {
    let _one = one_at_a_time();
    as_user(|| {
        let bench = bench("add a; add b; put new");
        bench.change(|view| {
            let mode = Attribute::Mode(Mode::from_raw_mode(0o200));
            view.set_attribute(&view.find(&path("a")).expect("find"), &mode).expect("chmod");
            ["rm a", "rm b"].iter().for_each(|act| on_view(&bench, view, act));
        });
        assert!(matches!(chosen(&bench, "a"), Ok(Kept::Done(1))));
        let kept = bench.keep(&mut || {});
        assert!(matches!(kept, Ok(Kept::Done(2))), "{kept:?}");
        assert_eq!(fs::metadata(bench.host().join("sub/c")).expect("stat").mode() & 0o777, 0o200);
    });
}

/// What only root gives to files.
const CAPABILITY: (&str, [u8; 20]) = ("security.capability", *b"\x01\0\0\x02\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0");

#[test]
fn a_file_that_is_only_renamed_or_linked_is_not_written() {
    let _one = one_at_a_time();
    // Only root of the host gives files to another user.
    if !rustix::process::geteuid().is_root() || !can_mount("a_file_that_is_only_renamed_or_linked_is_not_written") {
        return;
    }
    for (life, knows_capabilities) in [("mv a d", true), ("ln a d", true), ("mv a d", false), ("ln a d", false)] {
        let capability = |file: &Path| {
            let mut value = [0; 64];
            rustix::fs::getxattr(file, CAPABILITY.0, &mut value[..]).map(|len| value[..len].to_vec())
        };
        let dir = tempfile::tempdir().expect("directory");
        let (made, layers) = (dir.path().join("made"), dir.path().join("layers"));
        [&made, &layers].iter().for_each(|dir| fs::create_dir(dir).expect("mkdir"));
        if !knows_capabilities {
            // It has no extended attributes at all.
            mount("mount", &["-t", "ramfs", "none"], &layers);
        }
        fill(&made);
        let give = |file: &Path| std::os::unix::fs::chown(file, Some(1000), Some(1000)).expect("chown");
        ["", "a", "sub", "p"].iter().for_each(|name| give(&made.join(name)));
        give(&layers);
        let flags = XattrFlags::empty();
        rustix::fs::setxattr(made.join("a"), CAPABILITY.0, &CAPABILITY.1, flags).expect("setxattr");
        let _ = rustix::fs::setxattr(made.join("a"), "user.note", b"mine", flags);
        let before = fs::metadata(made.join("b")).expect("stat");
        fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).expect("chmod");
        as_user(|| {
            let store = Store::open(&layers).expect("store");
            store.create("l", &About::default()).expect("layer");
            let view = || View::new(&made, vec![store.layer("l", true).expect("open")], Rules::default()).expect("view");
            let mut view = view();
            let found = view.find(&path("a")).expect("find");
            match life {
                "ln a d" => view.link(&found, &path("d")).expect(life),
                _ => view.rename(&found, &path("d"), RenameFlags::empty()).expect(life),
            }
            drop(view);
            assert!(matches!(store.keep("l", &made, &[], &mut || {}), Ok(Kept::Done(_))), "{life}");
            for name in ["b", "d"] {
                let file = made.join(name);
                let now = fs::metadata(&file).expect("stat");
                assert_eq!((now.ino(), now.mtime_nsec()), (before.ino(), before.mtime_nsec()), "{life}");
                assert_eq!(capability(&file).as_deref(), Ok(&CAPABILITY.1[..]), "{life}");
            }
        });
        if !knows_capabilities {
            mount("umount", &[], &layers);
        }
    }
}

#[test]
fn what_a_layer_could_not_have_stays_when_its_file_is_written() {
    let _one = one_at_a_time();
    if !can_mount("what_a_layer_could_not_have_stays_when_its_file_is_written") {
        return;
    }
    let dir = tempfile::tempdir().expect("directory");
    let (made, layers) = (dir.path().join("made"), dir.path().join("layers"));
    [&made, &layers].iter().for_each(|dir| fs::create_dir(dir).expect("mkdir"));
    // It has no extended attributes at all.
    mount("mount", &["-t", "ramfs", "none"], &layers);
    fill(&made);
    let is_known = rustix::fs::setxattr(made.join("a"), "user.note", b"mine", XattrFlags::empty()).is_ok();
    let store = Store::open(&layers).expect("store");
    store.create("l", &About::default()).expect("layer");
    let mut view = View::new(&made, vec![store.layer("l", true).expect("open")], Rules::default()).expect("view");
    view.set_attribute(&view.find(&path("a")).expect("find"), &Attribute::Size(0)).expect("cut");
    drop(view);
    assert!(matches!(store.keep("l", &made, &[], &mut || {}), Ok(Kept::Done(1))));
    assert_eq!(fs::read(made.join("b")).expect("read"), b"");
    assert_eq!(rustix::fs::getxattr(made.join("b"), "user.note", &mut [0; 64][..]).is_ok(), is_known);
    mount("umount", &[], &layers);
}
