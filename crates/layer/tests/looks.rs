//! Looking names up in directories that a layer and the host both have, while the host's change.

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};
use slipway_layer::{About, Attribute, Found, Place, PlainLinks, Rules, Store, TreePath, View};
use std::{
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::Path,
};
use tempfile::TempDir;

fn look(view: &View, path: &str) -> Result<Found, Errno> {
    view.resolve(&TreePath::root(), path.as_bytes(), true, &PlainLinks)?.found.ok_or(Errno::NOENT)
}

/// A view of a tree in which the layer has `a/b/c/made`.
fn view(dir: &Path, rules: Rules) -> View {
    let host = dir.join("host");
    fs::create_dir_all(host.join("a/b/c/d")).expect("directories");
    fs::create_dir_all(host.join("other/c")).expect("directories");
    fs::write(host.join("a/b/c/old"), "old").expect("write");
    fs::write(host.join("other/c/old"), "another").expect("write");
    let store = Store::open(&dir.join("store")).expect("a store");
    store.create("l", &About::default()).expect("a layer");
    let mut view = View::new(&host, store.layers(&[], Some("l")).expect("layers"), Rules::default()).expect("a view");
    view.create(&TreePath::literal("a/b/c/made"), OFlags::WRONLY, Mode::RUSR).expect("create");
    view.rules = rules;
    view
}

#[test]
fn both_are_found() {
    let dir = TempDir::new().expect("a directory");
    let view = view(dir.path(), Rules::default());
    assert_eq!(look(&view, "/a/b/c/made").expect("made").place, Place::Layer(0));
    assert_eq!(look(&view, "/a/b/c/old").expect("old").stat.st_size, 3);
    assert_eq!(look(&view, "/a/b/c/d").expect("d").place, Place::Host);
    assert_eq!(look(&view, "/a/b/c/made/x").map(drop), Err(Errno::NOTDIR));
    assert_eq!(look(&view, "/a/b/c/none").map(drop), Err(Errno::NOENT));
    assert_eq!(look(&view, "/a/b/none/x").map(drop), Err(Errno::NOENT));
    let from = |at: &str, path: &str| {
        view.resolve(&TreePath::literal(at), path.as_bytes(), true, &PlainLinks).expect("it resolves").path
    };
    for (at, name) in [("a", "b/c/made"), ("a/b", "c/made"), ("a/b/c", "made"), ("a/b/c/d", "../made"), ("other", "/a/b/c/made")]
    {
        assert_eq!(from(at, name), TreePath::literal("a/b/c/made"), "{name} from {at}");
    }
}

#[test]
fn a_layers_directory_stays_one_where_the_hosts_became_a_link() {
    let dir = TempDir::new().expect("a directory");
    let view = view(dir.path(), Rules::default());
    fs::rename(dir.path().join("host/a/b"), dir.path().join("host/moved")).expect("rename");
    symlink("../other", dir.path().join("host/a/b")).expect("a link");
    // The layer's directories are directories, whatever is below.
    assert_eq!(look(&view, "/a/b/c/made").expect("made").place, Place::Layer(0));
    assert_eq!(look(&view, "/a/b").expect("b").kind(), rustix::fs::FileType::Directory);
}

#[test]
fn what_a_layer_removed_or_made_anew_hides_the_hosts() {
    let dir = TempDir::new().expect("a directory");
    let mut view = view(dir.path(), Rules::default());
    let found = look(&view, "/a/b/c/d").expect("d");
    view.remove(&found, true).expect("remove");
    assert_eq!(look(&view, "/a/b/c/d/x").map(drop), Err(Errno::NOENT));
    view.make_dir(&TreePath::literal("a/b/c/d"), Mode::RWXU).expect("make");
    fs::write(dir.path().join("host/a/b/c/d/x"), "of the host").expect("write");
    assert_eq!(look(&view, "/a/b/c/d/x").map(drop), Err(Errno::NOENT));
}

#[test]
fn what_a_rule_hides_is_not_there() {
    let dir = TempDir::new().expect("a directory");
    let view = view(dir.path(), Rules { hidden: vec![TreePath::literal("a/b")], ..Rules::default() });
    for path in ["/a/b", "/a/b/c/made", "/a/b/c/old"] {
        assert_eq!(look(&view, path).map(drop), Err(Errno::NOENT), "{path}");
    }
    assert!(look(&view, "/a").is_ok());
}

#[test]
fn directories_of_the_host_are_entered_where_no_link_is() {
    let dir = TempDir::new().expect("a directory");
    let mut view = view(dir.path(), Rules::default());
    symlink("a", dir.path().join("host/link")).expect("a link");
    let enter = |view: &View, path: &str| view.enter_on_host(&TreePath::literal(path));
    let expected = [
        ("", Ok(())),
        ("a/b", Ok(())),
        ("link", Err(Errno::LOOP)),
        ("link/b", Err(Errno::LOOP)),
        ("a/b/c/old", Err(Errno::NOTDIR)),
        ("a/none", Err(Errno::NOENT)),
        ("a/none/x", Err(Errno::NOENT)),
        // The layer's alone.
        ("a/b/c/made", Err(Errno::NOENT)),
    ];
    for (path, expected) in expected {
        assert_eq!(enter(&view, path), expected, "{path}");
    }
    // As it is now, and not as it was.
    fs::rename(dir.path().join("host/a/b"), dir.path().join("host/moved")).expect("rename");
    assert_eq!(enter(&view, "a/b"), Err(Errno::NOENT));
    fs::rename(dir.path().join("host/moved"), dir.path().join("host/a/b")).expect("rename");
    assert_eq!(enter(&view, "a/b"), Ok(()));

    let is_hosts_way = |view: &View, path: &str| view.is_hosts_way(&TreePath::literal(path));
    assert!(is_hosts_way(&view, "") && is_hosts_way(&view, "a/b/c") && is_hosts_way(&view, "other/c"));
    let found = view.find(&TreePath::literal("a/b")).expect("b");
    view.set_attribute(&found, &Attribute::Mode(Mode::RWXU)).expect("chmod");
    assert!(is_hosts_way(&view, "a") && !is_hosts_way(&view, "a/b") && !is_hosts_way(&view, "a/b/c"));
}

#[test]
fn links_at_the_end_of_the_hosts_paths() {
    let dir = TempDir::new().expect("a directory");
    let view = view(dir.path(), Rules::default());
    let links =
        [("old", "near"), ("/a/b/c/made", "far"), ("../../a/b/c", "up"), ("near", "two"), ("round", "round"), ("none", "none2")];
    for (target, name) in links {
        symlink(target, dir.path().join("host/other/c").join(name)).expect("a link");
    }
    let name = |path: &str| look(&view, path).map(|found| (found.path, found.place));
    let at = |path: &str, place| Ok((TreePath::literal(path), place));
    assert_eq!(name("/other/c/near"), at("other/c/old", Place::Host));
    assert_eq!(name("/other/c/two"), at("other/c/old", Place::Host));
    assert_eq!(name("/other/c/far"), at("a/b/c/made", Place::Layer(0)));
    assert_eq!(name("/other/c/up/"), at("a/b/c", Place::Host));
    assert_eq!(name("/other/c/up/made"), at("a/b/c/made", Place::Layer(0)));
    assert_eq!(name("/other/c/near/"), Err(Errno::NOTDIR));
    assert_eq!(name("/other/c/near/x"), Err(Errno::NOTDIR));
    assert_eq!(name("/other/c/round"), Err(Errno::LOOP));
    assert_eq!(name("/other/c/none2"), Err(Errno::NOENT));
    let missing = view.resolve(&TreePath::root(), b"/other/c/none2", true, &PlainLinks).expect("it resolves");
    assert_eq!((missing.path, missing.found.is_none()), (TreePath::literal("other/c/none"), true));
    let link = view.resolve(&TreePath::root(), b"/other/c/two", false, &PlainLinks).expect("it resolves");
    assert_eq!(link.found.expect("two").kind(), rustix::fs::FileType::Symlink);
}

#[test]
fn one_call_looks_at_the_host_once() {
    let dir = TempDir::new().expect("a directory");
    let view = view(dir.path(), Rules { through: vec![TreePath::literal("other")], ..Rules::default() });
    let size = |path: &str| look(&view, path).map(|found| found.stat.st_size);
    view.remember_looks(true);
    assert_eq!((size("/a/b/c/old"), size("/a/b/c/none"), size("/other/c/old")), (Ok(3), Err(Errno::NOENT), Ok(7)));
    for name in ["a/b/c/old", "a/b/c/none", "other/c/old"] {
        fs::write(dir.path().join("host").join(name), "changed meanwhile").expect("write");
    }
    // What goes through to the host, the call itself may change.
    assert_eq!((size("/a/b/c/old"), size("/a/b/c/none"), size("/other/c/old")), (Ok(3), Err(Errno::NOENT), Ok(17)));
    view.remember_looks(false);
    assert_eq!((size("/a/b/c/old"), size("/a/b/c/none"), size("/other/c/old")), (Ok(17), Ok(17), Ok(17)));
}

#[test]
fn directories_that_were_entered_are_again_in_another_tick() {
    let dir = TempDir::new().expect("a directory");
    let mut view = view(dir.path(), Rules::default());
    view.keep_entered();
    let enter = |path: &str| {
        view.remember_looks(true);
        let entered = view.enter_on_host(&TreePath::literal(path));
        view.remember_looks(false);
        entered
    };
    assert_eq!(enter("a/b/c"), Ok(()));
    fs::rename(dir.path().join("host/a/b"), dir.path().join("host/moved")).expect("rename");
    // Of another name nothing is known.
    assert_eq!(enter("a/b"), Err(Errno::NOENT));
    let start = std::time::Instant::now();
    while enter("a/b/c").is_ok() {
        assert!(start.elapsed() < std::time::Duration::from_secs(60), "it is kept for ever");
    }
    assert_eq!(enter("a/b/c"), Err(Errno::NOENT));
}

#[test]
fn removed_names_share_one_file() {
    let dir = TempDir::new().expect("a directory");
    let mut view = view(dir.path(), Rules::default());
    let names = ["a/b/c/old", "a/b/c/d", "other/c/old"];
    for name in names {
        let found = look(&view, &format!("/{name}")).expect("it is there");
        let is_dir = found.kind() == rustix::fs::FileType::Directory;
        view.remove(&found, is_dir).expect("remove");
    }
    let files = dir.path().join("store/l/files");
    let number = |name: &str| fs::symlink_metadata(files.join(name)).expect("a whiteout").ino();
    assert!(names.iter().all(|name| number(name) == number(names[0])));
    // Each of them is one by itself.
    view.create(&TreePath::literal("a/b/c/old"), OFlags::WRONLY, Mode::RUSR).expect("create");
    let made = look(&view, "/a/b/c/old").expect("made");
    view.remove(&made, false).expect("remove");
    assert!(names.iter().all(|name| look(&view, &format!("/{name}")).is_err() && number(name) == number(names[0])));
}

#[test]
fn what_a_change_says_of_the_directories_above_it() {
    const DEEP: usize = 300;
    let dir = TempDir::new().expect("a directory");
    let deep = |count: usize| TreePath::literal("d/".repeat(count));
    let mut view = view(dir.path(), Rules::default());
    fs::create_dir_all(dir.path().join("host").join("d/".repeat(DEEP))).expect("directories");
    view.take_changes();
    let (first, second) = (deep(DEEP).join(b"first"), deep(DEEP).join(b"second"));
    view.create(&first, OFlags::WRONLY, Mode::RUSR).expect("create");
    let changes = view.take_changes();
    // The numbers are with each of them: nobody has to look it up.
    assert_eq!((changes.names, changes.scaffolds.len()), (vec![first], DEEP));
    let numbers = |tree: &str, path: &TreePath| {
        let stat = fs::symlink_metadata(dir.path().join(tree).join(&path.to_path().to_string_lossy()[1..])).expect("a directory");
        (stat.dev(), stat.ino())
    };
    for (said, count) in changes.scaffolds.iter().zip(1..) {
        assert_eq!(said.path, deep(count));
        assert_eq!((said.host, said.layer), (numbers("host", &said.path), numbers("store/l/files", &said.path)));
    }
    assert!(view.shows_hosts_dir(&deep(DEEP)));
    view.create(&second, OFlags::WRONLY, Mode::RUSR).expect("create");
    assert!(view.take_changes().scaffolds.is_empty());
}
