//! `slipway unix`: commands on a copy-on-write view of the files.

mod args;
mod diff;
mod export;
mod run;
mod show;

pub use args::{Unix, UnixCommand};

use std::env;
use std::io::{self, Write};
use std::path::Path;

use slipway_layer::{Error, Kept, Store, TreePath};
use slipway_unix::FileLimit;

use crate::failure::{Failure, OWN, USAGE};

/// The host's tree.
const ROOT: &str = "/";
/// Conflicts, or a layer that is not sound.
const NOT_SOUND: u8 = 1;

/// Does what was asked for: the exit code.
///
/// # Errors
/// It could not be done.
pub fn run(unix: Unix) -> Result<u8, Failure> {
    let store = Store::of_user().map_err(own)?;
    match unix.command {
        None => run::run(&store, &unix.options, &unix.program),
        Some(UnixCommand::Shell(options)) => {
            let shell = env::var_os("SHELL").unwrap_or_else(|| "sh".into());
            run::run(&store, &args::UnixOptions { layer: vec![options.layer], ..Default::default() }, &[shell])
        }
        Some(UnixCommand::Diff(options)) => diff::diff(&store, &options),
        Some(UnixCommand::Keep(options)) => keep(&store, &options),
        Some(UnixCommand::Discard(options)) => {
            options.layer.iter().try_for_each(|layer| store.discard(layer)).map_err(own)?;
            Ok(0)
        }
        Some(UnixCommand::List(options)) => show::list(&store, &options),
        Some(UnixCommand::Reads(options)) => show::reads(&store, &options),
        Some(UnixCommand::Export(options)) => export::export(&store, &options),
        Some(UnixCommand::Check(options)) => check(&store, &options),
    }
}

fn own(error: Error) -> Failure {
    let code = match error {
        Error::Missing(_) | Error::Name(_) | Error::Exists(_) => USAGE,
        _ => OWN,
    };
    Failure::new(code, error.to_string())
}

/// A name in the tree, from one of this process's directory.
fn name(path: &Path) -> Result<TreePath, Failure> {
    let absolute = std::path::absolute(path).map_err(|error| Failure::own(path.display(), error))?;
    Ok(TreePath::literal(absolute.as_os_str().as_encoded_bytes()))
}

/// Writes to standard output; nobody there is no failure.
fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::own("standard output", error)),
        _ => Ok(()),
    }
}

fn keep(store: &Store, options: &args::KeepOptions) -> Result<u8, Failure> {
    // A limit on the size of files that ends programs would end this one half way. One that can't be lifted is an error, and nothing is kept.
    let _ = FileLimit::lift();
    let paths = options.paths.iter().map(|path| name(path)).collect::<Result<Vec<_>, _>>()?;
    match store.keep(&options.layer, Path::new(ROOT), &paths, &mut || {}).map_err(own)? {
        Kept::Done(count) => {
            let is_gone = paths.is_empty() || is_used_up(store, &options.layer) && store.discard(&options.layer).is_ok();
            let rest = if is_gone { "the layer is gone" } else { "the layer has what was not chosen" };
            let text = serde_json::json!({ "kept": count, "conflicts": [] });
            print(&if options.json {
                format!("{text}\n")
            } else {
                format!("{}; {rest}\n", plural(count, "name changed", "names changed"))
            })?;
            Ok(0)
        }
        Kept::Conflicts(conflicts) => {
            let mut text = String::new();
            if options.json {
                let list: Vec<_> = conflicts
                    .iter()
                    .map(|conflict| serde_json::json!({ "path": conflict.path.to_string(), "why": conflict.why }))
                    .collect();
                text = format!("{}\n", serde_json::json!({ "kept": 0, "conflicts": list }));
            } else {
                for conflict in &conflicts {
                    text.push_str(&format!("{}: {}\n", show::printable(&conflict.path.to_string()), conflict.why));
                }
            }
            print(&text)?;
            Err(Failure::new(
                NOT_SOUND,
                format!(
                    "{}: nothing was kept; look at the files, then name the paths to keep, or run the command again in a new layer",
                    plural(conflicts.len(), "conflict", "conflicts")
                ),
            ))
        }
    }
}

/// Whether a layer changes nothing any more, and no other lies on it.
fn is_used_up(store: &Store, layer: &str) -> bool {
    let changes = diff::view(store, layer).ok().and_then(|view| view.changes().ok());
    changes.is_some_and(|changes| changes.is_empty()) && store.above(layer).is_ok_and(|above| above.is_empty())
}

fn check(store: &Store, options: &args::LayerOptions) -> Result<u8, Failure> {
    let mut code = 0;
    for layer in &options.layer {
        for wrong in store.check(layer).map_err(own)? {
            code = NOT_SOUND;
            print(&format!("{layer}: {wrong}\n"))?;
        }
    }
    Ok(code)
}

fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
