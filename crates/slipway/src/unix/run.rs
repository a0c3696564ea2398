//! Running a command over layers.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use slipway_layer::{About, Kind, Rules, Store, View};
use slipway_unix::{FileLimit, Outcome, Program, start};

use super::args::UnixOptions;
use super::{ROOT, name, own};
use crate::failure::{Failure, NOT_EXECUTABLE, NOT_FOUND, OWN};

/// Runs the command. What it started may go on; the layer is in use until then.
///
/// # Errors
/// It could not be run.
pub fn run(store: &Store, options: &UnixOptions, program: &[OsString]) -> Result<u8, Failure> {
    let file_limit = &FileLimit::lift();
    let (command, args) = program.split_first().ok_or_else(|| Failure::usage("no command"))?;
    let below = store.with_below(&options.layer).map_err(own)?;
    let is_new = !options.read_only && (options.new.is_some() || options.layer.is_empty());
    let about = || About {
        command: program.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        created: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        below: below.clone(),
    };
    let top = match (&options.new, is_new) {
        _ if options.read_only => None,
        (Some(name), true) => Some(store.create(name, &about()).map(|()| name.clone()).map_err(own)?),
        (None, true) => {
            let word = Path::new(command).file_name().unwrap_or(command).to_string_lossy();
            Some(store.create_free(&word, &about()).map_err(own)?)
        }
        _ => below.last().cloned(),
    };
    if let Some(top) = top.as_ref().filter(|_| !is_new)
        && let Some(above) = store.above(top).map_err(own)?.first()
    {
        let hint = format!("the layer {top} is below {above}, and must not change; use --new to make one above it");
        return Err(Failure::usage(hint));
    }
    let ran = run_over(
        store,
        options,
        &below,
        top.as_deref(),
        &Program {
            name: command,
            args,
            network: !options.no_network,
            contain: options.contain,
            file_limit,
            net_only: options.net_only,
        },
    );
    let Some(top) = top else { return end(ran?.0, command) };
    let is_empty = || store.look_at(&top).is_ok_and(|layer| layer.is_empty());
    // One that was asked for by name stays, for what the command read.
    let is_asked_for = |outcome: &Outcome| options.new.is_some() && !matches!(outcome, Outcome::NotRun(_));
    let (outcome, goes_on) = ran.inspect_err(|_| {
        // What was changed until then is worth a look.
        if is_new && is_empty() {
            let _ = store.discard(&top);
        }
    })?;
    let discards = is_new && options.discard;
    if discards || is_new && !goes_on && !is_asked_for(&outcome) && is_empty() {
        store.discard(&top).map_err(own)?;
        if !discards && !options.quiet && !matches!(outcome, Outcome::NotRun(_)) {
            eprintln!("slipway: nothing was changed");
        }
    } else if !options.quiet {
        summary(store, &top, goes_on)?;
    }
    end(outcome, command)
}

fn run_over(
    store: &Store,
    options: &UnixOptions,
    below: &[String],
    top: Option<&str>,
    program: &Program<'_>,
) -> Result<(Outcome, bool), Failure> {
    let layers = store.layers(below, top).map_err(own)?;
    let record = top.and(layers.last()).map(|layer| layer.dir().join("reads.json"));
    let names = |paths: &[std::path::PathBuf]| paths.iter().map(|path| name(path)).collect::<Result<Vec<_>, _>>();
    let rules = Rules { through: names(&options.allow_write)?, hidden: names(&options.hide)?, read_only: options.read_only };
    let view = View::new(Path::new(ROOT), layers, rules).map_err(|error| Failure::own("open /", error))?;
    let running = start(view, store.dir(), record.as_deref(), program);
    let running = running.map_err(|error| Failure::own("make the net for system calls (seccomp)", error))?;
    running.wait(options.discard).map_err(|error| Failure::own("run the command", error))
}

fn end(outcome: Outcome, command: &std::ffi::OsStr) -> Result<u8, Failure> {
    match outcome {
        Outcome::Exit(code) => Ok(u8::try_from(code).unwrap_or(OWN)),
        Outcome::Signal(_) => outcome.end(),
        Outcome::NotRun(error) => {
            let error = io::Error::from_raw_os_error(error);
            let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
            Err(Failure::new(code, format!("{}: cannot execute: {error}", command.display())))
        }
    }
}

/// Says in a line what the layer changes.
fn summary(store: &Store, top: &str, goes_on: bool) -> Result<(), Failure> {
    let below = store.about(top).map_err(own)?.below;
    let mut layers = below.iter().map(|layer| store.look_at(layer)).collect::<Result<Vec<_>, _>>().map_err(own)?;
    layers.push(store.look_at(top).map_err(own)?);
    let view = View::new(Path::new(ROOT), layers, Rules::default()).map_err(|error| Failure::own("open /", error))?;
    let changes = view.changes().map_err(|error| Failure::own(format!("compare layer {top}"), error))?;
    let count = |kind: Kind| changes.iter().filter(|change| change.kind == kind).count();
    let mut parts = Vec::new();
    for (kind, word) in [
        (Kind::Created, "created"),
        (Kind::Changed, "changed"),
        (Kind::Attributes, "with other attributes"),
        (Kind::Deleted, "deleted"),
    ] {
        if count(kind) > 0 {
            parts.push(format!("{} {word}", count(kind)));
        }
    }
    let what = if parts.is_empty() { "no change".to_owned() } else { parts.join(", ") };
    let look = if changes.is_empty() { "reads" } else { "diff" };
    eprintln!("slipway: layer {top}: {what}; see: slipway unix {look} {top}; then: slipway unix keep {top}, or discard {top}");
    if goes_on {
        eprintln!("slipway: layer {top} is in use until all processes that the command left have ended");
    }
    Ok(())
}
