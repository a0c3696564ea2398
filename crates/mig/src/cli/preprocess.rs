//! The C preprocessor, and what it says about dependencies.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::{Args, Failure};

/// The target that stands in the preprocessor's rule until the names of the written files are known.
const PLACEHOLDER: &str = "mig-outputs";

/// A file behind the preprocessor.
pub struct Input {
    /// The text.
    pub text: String,
    /// The preprocessor's rule, if one was asked for.
    pub dependencies: String,
}

/// Runs the preprocessor on a file.
///
/// # Errors
/// [`Failure::System`] if the file can't be read or the program can't be run; [`Failure::Errors`] if it found errors.
pub fn preprocess(args: &Args, file: &str) -> Result<Input, Failure> {
    if file != "-" {
        readable(file)?;
    }
    let [program, first @ ..] = args.cc.as_slice() else {
        return Err(Failure::Usage("-cc needs a command".to_owned()));
    };
    let mut command = Command::new(program);
    if Path::new(program).file_name().is_some_and(|name| name == "cat") {
        let output = command.args(first).arg(file).stdin(Stdio::inherit()).stderr(Stdio::inherit()).output();
        return finished(program, output, format!("{PLACEHOLDER}: {}\n", if file == "-" { "" } else { file }));
    }
    // Comments are kept: without them the columns of what follows would be wrong. The standard is one without names such as
    // `unix` that are numbers.
    command.args(first).args(["-E", "-x", "c", "-C", "-std=c11", "-Wno-endif-labels"]).args(&args.cpp);
    if let Some(dir) = own_definitions() {
        command.arg("-isystem").arg(dir);
    }
    let rule = if args.dependencies {
        let rule = tempfile::NamedTempFile::new().map_err(|e| Failure::System(format!("can't make a temporary file: {e}")))?;
        command.args(&args.dependency_options).arg("-MD").arg("-MF").arg(rule.path()).args(["-MT", PLACEHOLDER]);
        Some(rule)
    } else {
        None
    };
    let output = command.arg(file).stdin(Stdio::inherit()).stderr(Stdio::inherit()).output();
    let mut input = finished(program, output, String::new())?;
    if let Some(rule) = rule {
        input.dependencies = std::fs::read_to_string(rule.path())
            .map_err(|e| Failure::System(format!("the preprocessor wrote no dependencies: {e}")))?;
    }
    Ok(input)
}

fn finished(program: &str, output: std::io::Result<Output>, dependencies: String) -> Result<Input, Failure> {
    let output = output.map_err(|e| {
        Failure::System(format!("can't run the C preprocessor `{program}`: {e}; install a C compiler or name one with -cc"))
    })?;
    if !output.status.success() {
        return Err(Failure::Errors);
    }
    Ok(Input { text: String::from_utf8_lossy(&output.stdout).into_owned(), dependencies })
}

fn readable(file: &str) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::System(format!("can't read {file}: {e}"));
    let metadata = std::fs::File::open(file).and_then(|f| f.metadata()).map_err(failed)?;
    if metadata.is_dir() {
        return Err(Failure::System(format!("can't read {file}: it is a directory")));
    }
    Ok(())
}

/// The directory with `mach/std_types.defs` that was installed with this program.
fn own_definitions() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let include = program.parent()?.parent()?.join("include");
    include.join("mach/std_types.defs").is_file().then_some(include)
}

/// Writes the make rule that was asked for.
///
/// # Errors
/// [`Failure::System`] if it can't be written.
pub fn write_dependencies(args: &Args, file: &str, rule: &str, written: &[String]) -> Result<(), Failure> {
    if !args.dependencies {
        return Ok(());
    }
    let stem = Path::new(file).file_stem().filter(|_| file != "-");
    let base = stem.map_or_else(|| "stdin".to_owned(), |s| s.to_string_lossy().into_owned());
    let name = args.dependency_file.clone().unwrap_or_else(|| format!("{base}.d"));
    // A rule has a target also where nothing was written that has a name.
    let unnamed = [base];
    let said =
        [&args.dependency_targets[..], written, &unnamed].into_iter().find(|targets| !targets.is_empty()).unwrap_or_default();
    let targets: Vec<String> = said.iter().map(|f| f.replace('$', "$$").replace('#', "\\#").replace(' ', "\\ ")).collect();
    let text = rule.replacen(PLACEHOLDER, &targets.join(" "), 1);
    if name == "-" {
        return super::print(text.as_bytes());
    }
    std::fs::write(&name, text).map_err(|e| Failure::System(format!("can't write {name}: {e}")))
}
