//! Lists of layers, and of what commands used.

use std::fs;
use std::io;
use std::path::Path;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use slipway_layer::{Error, Store};
use slipway_unix::Record;

use super::args::{ListOptions, ReadsOptions};
use super::{own, print};
use crate::failure::Failure;
use crate::size::bytes;

/// Names are whatever programs choose: none must reach the terminal as an escape sequence.
pub fn printable(name: &str) -> String {
    name.chars().map(|character| if character.is_control() { '?' } else { character }).collect()
}

/// Prints all layers.
///
/// # Errors
/// They can't be read.
pub fn list(store: &Store, options: &ListOptions) -> Result<u8, Failure> {
    let mut layers = Vec::new();
    for name in store.names().map_err(own)? {
        let about = store.about(&name).map_err(own)?;
        let in_use = match store.layer(&name, true) {
            Ok(_) => "",
            Err(Error::Busy(_)) => "in use",
            Err(Error::Unfinished(_)) => "half kept",
            Err(error) => return Err(own(error)),
        };
        let size = used(&store.dir().join(&name).join("files")).map_err(|error| Failure::own(&name, error))?;
        layers.push((name, about, in_use, size));
    }
    if options.json {
        let list: Vec<_> = layers
            .iter()
            .map(|(name, about, state, size)| {
                json!({ "name": name, "command": about.command, "created": about.created, "below": about.below,
                        "state": state, "bytes": size })
            })
            .collect();
        print(&format!("{}\n", json!({ "layers": list })))?;
        return Ok(0);
    }
    if layers.is_empty() {
        print("no layers\n")?;
        return Ok(0);
    }
    let now = clock_gettime(ClockId::Realtime).tv_sec.cast_unsigned();
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(["layer", "age", "size", "on", "state", "command"]);
    for (name, about, state, size) in layers {
        let command = printable(&about.command.join(" "));
        table.add_row([
            name,
            age(now.saturating_sub(about.created)),
            bytes(size),
            about.below.join(" "),
            state.to_owned(),
            command,
        ]);
    }
    for column in table.column_iter_mut().skip(1).take(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    print(&format!("{table}\n"))?;
    Ok(0)
}

fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86400),
    }
}

/// Bytes of the files below.
fn used(dir: &Path) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut sum = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        sum += if metadata.is_dir() { used(&entry.path()).unwrap_or(0) } else { metadata.blocks() * 512 };
    }
    Ok(sum)
}

/// Prints what commands in a layer used.
///
/// # Errors
/// It can't be read.
pub fn reads(store: &Store, options: &ReadsOptions) -> Result<u8, Failure> {
    let layer = store.look_at(&options.layer).map_err(own)?;
    let path = layer.dir().join("reads.json");
    let record: Record = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Record::default(),
        text => serde_json::from_slice(&text.map_err(|error| Failure::own(path.display(), error))?)
            .map_err(|error| Failure::own(path.display(), error))?,
    };
    let parts = [("run", &record.run), ("read", &record.read), ("listed", &record.listed), ("missed", &record.missed)];
    if options.json {
        let mut object = serde_json::Map::from_iter([("layer".to_owned(), json!(options.layer))]);
        for (word, names) in parts {
            object.insert(word.to_owned(), names.iter().map(ToString::to_string).collect());
        }
        print(&format!("{}\n", serde_json::Value::Object(object)))?;
        return Ok(0);
    }
    let mut text = String::new();
    for (word, names) in parts {
        names.iter().for_each(|name| text.push_str(&format!("{word:<7} {}\n", printable(&name.to_string()))));
    }
    print(&text)?;
    Ok(0)
}
