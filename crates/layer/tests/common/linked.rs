//! Files with several names, and what is done with them in a layer.

use super::{Bench, path};
use rustix::fs::{Mode, OFlags, RenameFlags, openat};
use slipway_layer::{Attribute, View};
use std::{fs, io::Write, path::Path};

/// `a`, `b` and `sub/c` are one file, `p` and `q` another.
pub fn fill(host: &Path) {
    fs::create_dir(host.join("sub")).expect("mkdir");
    for (name, others) in [("a", ["b", "sub/c"].as_slice()), ("p", &["q"])] {
        fs::write(host.join(name), name).expect("write");
        others.iter().for_each(|other| fs::hard_link(host.join(name), host.join(other)).expect("link"));
    }
}

/// Does it: a word for what, and names.
pub fn on_view(bench: &Bench, view: &mut View, act: &str) {
    let words: Vec<&str> = act.split_whitespace().collect();
    let find = |view: &View| view.find(&path(words[1])).expect(act);
    match words[0] {
        "ln" => view.link(&find(view), &path(words[2])).expect(act),
        "mv" => view.rename(&find(view), &path(words[2]), RenameFlags::empty()).expect(act),
        "rm" | "rmdir" => view.remove(&find(view), words[0] == "rmdir").expect(act),
        "cut" => view.set_attribute(&find(view), &Attribute::Size(0)).expect(act),
        "chmod" => view.set_attribute(&find(view), &Attribute::Mode(Mode::from_raw_mode(0o600))).expect(act),
        "mkdir" => view.make_dir(&path(words[1]), Mode::from_raw_mode(0o755)).expect(act),
        "put" => bench.put(view, words[1], "put"),
        _ => {
            view.copy_up(&find(view), false).expect(act);
            let found = find(view);
            let flags = OFlags::WRONLY | OFlags::APPEND;
            let file = openat(view.root(found.place), found.path.relative(), flags, Mode::empty()).expect(act);
            fs::File::from(file).write_all(b"more").expect(act);
        }
    }
}
