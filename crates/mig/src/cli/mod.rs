//! The command line: `mig [options] file.defs...`, as other compilers of the language take it.

mod args;
mod outputs;
mod preprocess;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

pub use args::{Args, Dialect, Language, Outputs};

use crate::diagnostics::{Diagnostics, render};
use crate::emit::c;
use crate::model::Interface;
use crate::source::Source;

/// The interface has errors, or the preprocessor found some.
const EXIT_ERRORS: u8 = 1;
/// The command line is wrong.
const EXIT_USAGE: u8 = 2;
/// A file can't be read or written, or the preprocessor can't be run.
const EXIT_SYSTEM: u8 = 3;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Errors in the interface; they were shown.
    #[error("the interface has errors")]
    Errors,
    /// A wrong command line.
    #[error("{0}")]
    Usage(String),
    /// Trouble with a file or a program.
    #[error("{0}")]
    System(String),
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Failure::Errors => EXIT_ERRORS,
            Failure::Usage(_) => EXIT_USAGE,
            Failure::System(_) => EXIT_SYSTEM,
        }
    }
}

/// Runs the compiler with the arguments behind the program's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match execute(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !matches!(failure, Failure::Errors) {
                let _ = writeln!(std::io::stderr(), "mig: {failure}");
            }
            ExitCode::from(failure.code())
        }
    }
}

fn execute(arguments: impl IntoIterator<Item = OsString>) -> Result<(), Failure> {
    let args = Args::parse(arguments)?;
    if let Some(text) = args.information() {
        return print(text.as_bytes());
    }
    for note in args.notes.iter().filter(|_| !args.quiet) {
        let _ = writeln!(std::io::stderr(), "mig: note: {note}");
    }
    for file in &args.files {
        compile(&args, file)?;
    }
    Ok(())
}

fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|e| Failure::System(format!("can't write to standard output: {e}")))
}

fn compile(args: &Args, file: &str) -> Result<(), Failure> {
    let input = preprocess::preprocess(args, file)?;
    if args.preprocess_only {
        return print(input.text.as_bytes());
    }
    let source = Source::new(file, input.text);
    let mut diagnostics = Diagnostics::default();
    let tree = crate::syntax::parse(&source, args.grammar, &mut diagnostics);
    let interface = crate::check::check(&tree, &source, &mut diagnostics);
    if let (0, Some(interface)) = (diagnostics.errors(), &interface) {
        match args.dialect {
            Dialect::Darwin => c::darwin::check(interface, &mut diagnostics),
            Dialect::Typed => c::check(interface, &mut diagnostics),
        }
    }
    if let (Language::Rust, 0, Some(interface)) = (args.language, diagnostics.errors(), &interface) {
        crate::emit::rust::check(interface, args.c.trap, &mut diagnostics);
    }
    if args.quiet {
        diagnostics.drop_warnings();
    }
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let _ = std::io::stderr().write_all(render(&diagnostics, &source, colour).as_bytes());
    if diagnostics.errors() > 0 {
        return Err(Failure::Errors);
    }
    if args.check_only {
        return Ok(());
    }
    let Some(interface) = interface else {
        let hint = "begin an interface with `subsystem NAME BASE;`, or use -check for a file of types";
        let _ = writeln!(std::io::stderr(), "{file}: error: there is no subsystem, so there is nothing to generate\n  {hint}");
        return Err(Failure::Errors);
    };
    if args.verbose {
        describe(&interface);
    }
    let written = outputs::write(args, &interface)?;
    preprocess::write_dependencies(args, file, &input.dependencies, &written)
}

fn describe(interface: &Interface) {
    for routine in interface.routines() {
        let kind = if routine.one_way { "simpleroutine" } else { "routine" };
        let _ = writeln!(std::io::stderr(), "{kind} {} ({}), message {}", routine.name, routine.place, routine.id);
    }
}
