//! What a layer changes, for people and programs.

use std::fmt::Write;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, openat};
use serde_json::{Value, json};
use similar::TextDiff;
use slipway_layer::{Change, Found, Kind, Rules, Store, View};

use super::args::DiffOptions;
use super::show::printable;
use super::{ROOT, name, own, print};
use crate::failure::Failure;

/// Contents longer than this, in bytes, are not compared line by line.
const LONGEST: u64 = 4 << 20;

/// Opens a layer over those that it lies on, as it is now.
///
/// # Errors
/// There is none, or it can't be read.
pub fn view(store: &Store, layer: &str) -> Result<View, Failure> {
    let mut layers = Vec::new();
    for below in store.about(layer).map_err(own)?.below.iter().map(String::as_str).chain([layer]) {
        layers.push(store.look_at(below).map_err(own)?);
    }
    View::new(Path::new(ROOT), layers, Rules::default()).map_err(|error| Failure::own("open /", error))
}

/// Prints what a layer changes.
///
/// # Errors
/// It can't be read.
pub fn diff(store: &Store, options: &DiffOptions) -> Result<u8, Failure> {
    let view = view(store, &options.layer)?;
    let mut changes = view.changes().map_err(|error| Failure::own(format!("compare layer {}", options.layer), error))?;
    if let Some(path) = &options.path {
        let within = name(path)?;
        changes.retain(|change| change.path.is_within(&within));
    }
    if options.json {
        let list: Vec<Value> = changes.iter().map(|change| as_json(&view, change)).collect();
        print(&format!("{}\n", json!({ "layer": options.layer, "changes": list })))?;
        return Ok(0);
    }
    let mut text = String::new();
    for change in &changes {
        let _ = writeln!(text, "{}", line(&view, change));
        if options.contents || options.path.is_some() {
            text.push_str(&contents(&view, change));
        }
    }
    print(&text)?;
    Ok(0)
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Created => "created",
        Kind::Changed => "changed",
        Kind::Attributes => "attributes",
        Kind::Deleted => "deleted",
    }
}

fn type_word(found: &Found) -> &'static str {
    match found.kind() {
        FileType::Directory => "directory",
        FileType::Symlink => "link",
        FileType::RegularFile => "file",
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        _ => "device",
    }
}

/// `changed     file  /etc/hosts  mode 644 -> 600`
fn line(view: &View, change: &Change) -> String {
    let shown = change.after.as_ref().or(change.before.as_ref());
    let mut text =
        format!("{:<11} {:<10} {}", word(change.kind), shown.map_or("", type_word), printable(&change.path.to_string()));
    if let Some(after) = change.after.as_ref().filter(|after| after.kind() == FileType::Symlink)
        && let Ok(target) = view.read_link(after)
    {
        let _ = write!(text, " -> {}", printable(&String::from_utf8_lossy(&target)));
    }
    if let (Some(before), Some(after)) = (&change.before, &change.after) {
        let (old, new) = (&before.stat, &after.stat);
        if old.st_mode & 0o7777 != new.st_mode & 0o7777 {
            let _ = write!(text, "  mode {:o} -> {:o}", old.st_mode & 0o7777, new.st_mode & 0o7777);
        }
        if before.kind() != after.kind() {
            let _ = write!(text, "  was a {}", type_word(before));
        }
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid) {
            let _ = write!(text, "  owner {}:{} -> {}:{}", old.st_uid, old.st_gid, new.st_uid, new.st_gid);
        }
        if change.kind == Kind::Attributes && old.st_nlink < new.st_nlink && after.kind() != FileType::Directory {
            let _ = write!(text, "  names {} -> {}", old.st_nlink, new.st_nlink);
        }
        if change.kind == Kind::Attributes
            && (after.kind() != FileType::Directory || view.has_set_time(after))
            && (old.st_mtime, old.st_mtime_nsec) != (new.st_mtime, new.st_mtime_nsec)
        {
            text.push_str("  time");
        }
    }
    text
}

fn as_json(view: &View, change: &Change) -> Value {
    let side = |found: &Option<Found>| {
        found.as_ref().map(|found| {
            let link = (found.kind() == FileType::Symlink).then(|| view.read_link(found).ok()).flatten();
            json!({
                "type": type_word(found),
                "mode": found.stat.st_mode & 0o7777,
                "uid": found.stat.st_uid,
                "gid": found.stat.st_gid,
                "size": found.stat.st_size,
                "target": link.map(|target| String::from_utf8_lossy(&target).into_owned()),
            })
        })
    };
    json!({
        "path": change.path.to_string(),
        "kind": change.kind,
        "before": side(&change.before),
        "after": side(&change.after),
    })
}

/// The contents that changed, as `diff -u` shows them.
fn contents(view: &View, change: &Change) -> String {
    let is_file = |found: &&Found| found.kind() == FileType::RegularFile;
    let (before, after) = (change.before.as_ref().filter(is_file), change.after.as_ref().filter(is_file));
    if before.is_none() && after.is_none() || change.kind == Kind::Attributes {
        return String::new();
    }
    let read = |found: Option<&Found>| found.map_or(Ok(String::new()), |found| text_of(view, found));
    match (read(before), read(after)) {
        (Ok(old), Ok(new)) => {
            let side = |found: Option<&Found>, letter: char| {
                found.map_or_else(|| "/dev/null".to_owned(), |found| format!("{letter}{}", printable(&found.path.to_string())))
            };
            TextDiff::from_lines(&old, &new).unified_diff().header(&side(before, 'a'), &side(after, 'b')).to_string()
        }
        (Err(why), _) | (_, Err(why)) => format!("    {why}\n"),
    }
}

fn text_of(view: &View, found: &Found) -> Result<String, String> {
    if found.stat.st_size.cast_unsigned() > LONGEST {
        return Err(format!("{} bytes, too long to compare here", found.stat.st_size));
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(view.root(found.place), found.path.relative(), flags, Mode::empty()).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut std::fs::File::from(file), &mut bytes).map_err(|error| error.to_string())?;
    if bytes.contains(&0) {
        return Err("not text".to_owned());
    }
    String::from_utf8(bytes).map_err(|_| "not text".to_owned())
}
