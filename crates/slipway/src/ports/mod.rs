//! `slipway ports`: the Mach ports of running programs.

mod look;
mod model;
mod peers;
mod table;

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::args::PortsOptions;
use crate::failure::{Failure, NO_ANSWER, NO_SERVER};
use crate::session::process::wait;
use look::Look;
use model::Report;

/// Cursor to the upper left, and the screen cleared.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Prints the ports of the processes that `options` choose.
///
/// # Errors
/// The process can't be asked, or standard output can't be written.
pub fn run(options: &PortsOptions) -> Result<u8, Failure> {
    let look = Look::take()?;
    let chosen = look.choose(options.pid)?;
    let first = model::report(&look, &chosen, None);
    let printed = match options.watch {
        Some(interval) => watch(options, interval, look, first),
        None => print(options, &first, &mut io::stdout()).map_err(Stop::from),
    };
    match printed {
        Ok(()) => Ok(0),
        // Whoever read it has seen enough, as in `ports | head`.
        Err(Stop::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        Err(Stop::Output(error)) => Err(Failure::own("ports: standard output", error)),
        Err(Stop::Look(failure)) => Err(failure),
    }
}

/// Why nothing more is printed.
enum Stop {
    Output(io::Error),
    Look(Failure),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Look(failure)
    }
}

fn watch(options: &PortsOptions, interval: Duration, first: Look, report: Report) -> Result<(), Stop> {
    let mut out = io::stdout();
    let redraws = out.is_terminal() && !options.json;
    let (mut look, mut report) = (first, report);
    loop {
        if redraws {
            out.write_all(CLEAR.as_bytes())?;
        }
        print(options, &report, &mut out)?;
        if !redraws && !options.json {
            writeln!(out)?;
        }
        out.flush()?;
        let (next, chosen) = loop {
            wait(&mut [], Some(Instant::now() + interval))?;
            let next = Look::take()?;
            match next.choose(options.pid) {
                Ok(chosen) => break (next, chosen),
                // The end of the process is the end of the watch, not a failure of it.
                Err(failure) if failure.code == NO_SERVER => return Ok(()),
                // It answered before, and may be stopped or busy for a while.
                Err(failure) if failure.code == NO_ANSWER => eprintln!("slipway: {}; looking again", failure.message),
                Err(failure) => return Err(failure.into()),
            }
        };
        report = model::report(&next, &chosen, Some(&look));
        look = next;
    }
}

fn print(options: &PortsOptions, report: &Report, out: &mut impl Write) -> io::Result<()> {
    if !options.json {
        return out.write_all(table::render(report).as_bytes());
    }
    if options.watch.is_some() {
        serde_json::to_writer(&mut *out, report)?
    } else {
        serde_json::to_writer_pretty(&mut *out, report)?
    }
    writeln!(out)
}
