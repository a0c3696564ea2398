//! Looking names up in directories that a layer and the host both have, while the host's change.

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};
use slipway_layer::{About, Found, Place, PlainLinks, Rules, Store, TreePath, View};
use std::{fs, os::unix::fs::symlink, path::Path};
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
