//! Tasks as shared objects on the command line.

use std::ffi::OsString;
use std::path::Path;

use slipway_domain::note::{self, Kind};
use slipway_domain::spec::Task;

use crate::failure::{Failure, NOT_EXECUTABLE, NOT_FOUND};
use crate::locate;
use crate::program::Program;

/// The host of tasks, and what it is told, if the words name tasks instead of a program: shared objects, and after `--`
/// the arguments of the last.
///
/// # Errors
/// One of them is no task, or the host is not there.
pub fn host(words: &[OsString]) -> Result<Option<(Program, Vec<OsString>)>, Failure> {
    let Some(first) = words.first() else { return Ok(None) };
    if note::kind(&locate::task(Path::new(first))) == Kind::Other {
        return Ok(None);
    }
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (files, args) = (&words[..end], words.get(end + 1..).unwrap_or_default());
    let mut tasks: Vec<Task> = Vec::new();
    for file in files {
        let path = locate::task(Path::new(file));
        let stem = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let same = tasks.iter().filter(|task| task.name == stem || task.name.starts_with(&format!("{stem}#"))).count();
        let name = if same == 0 { stem } else { format!("{stem}#{}", same + 1) };
        check(&path, tasks.is_empty())?;
        tasks.push(Task { name, file: path, args: Vec::new(), bootstrap: None });
    }
    if let Some(last) = tasks.last_mut() {
        let text = |arg: &OsString| arg.to_str().map(str::to_owned);
        last.args = args
            .iter()
            .map(text)
            .collect::<Option<_>>()
            .ok_or_else(|| Failure::usage(format!("{}: an argument is not in UTF-8", last.file.display())))?;
    }
    let program = program()?;
    let mut told = Vec::new();
    for task in &tasks {
        let json = serde_json::to_string(task).map_err(|error| Failure::own("JSON", error))?;
        told.extend(["--task".into(), json.into()]);
    }
    Ok(Some((program, told)))
}

/// Whether the file can be run as a task. What comes after the first may have been meant as an argument.
fn check(path: &Path, first: bool) -> Result<(), Failure> {
    note::check(path).map_err(|why| {
        let code = if path.exists() { NOT_EXECUTABLE } else { NOT_FOUND };
        let hint = if first || matches!(why, note::Unfit::Abi(_) | note::Unfit::Processor) {
            ""
        } else {
            "; arguments of a task come after --"
        };
        Failure::new(code, format!("{}: {why}{hint}", path.display()))
    })
}

/// The program that hosts tasks.
///
/// # Errors
/// It is not installed.
pub fn program() -> Result<Program, Failure> {
    let path = locate::domain().map_err(|missing| Failure::own("the host of tasks", missing))?;
    Ok(Program { name: "slipway-domain".into(), path })
}
