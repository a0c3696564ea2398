//! `slipway x11 status`: what a running server says of its connections.

mod display;
mod table;

use std::env;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use serde::Serialize;
use slipway_transport::status::{ServerStatus, displays, query};

use crate::args::StatusOptions;
use crate::failure::{Failure, NO_SERVER};
use crate::session::process::wait;

/// What `--json` prints. Byte counts are from the first byte of the connection on.
#[derive(Debug, Serialize)]
struct Report {
    /// One for each server that answered.
    servers: Vec<ServerStatus>,
}

/// Time between two looks of `--watch`.
const INTERVAL: Duration = Duration::from_secs(1);
/// Cursor to the upper left, and the screen cleared.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Prints the state of the servers that `options` choose.
///
/// # Errors
/// No such server, or standard output can't be written.
pub fn run(options: &StatusOptions) -> Result<u8, Failure> {
    let chosen = choose(options)?;
    let first = ask(chosen)?;
    let printed = if options.watch { watch(options, chosen, first) } else { print(options, &first, &mut io::stdout()) };
    match printed {
        // Whoever read it has seen enough, as in `status | head`.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::own("status: standard output", error)),
        _ => Ok(0),
    }
}

/// The display to ask; none for all.
fn choose(options: &StatusOptions) -> Result<Option<u32>, Failure> {
    if let Some(text) = &options.display {
        return display::parse(text).map(Some).map_err(|why| Failure::usage(format!("status: display {text}: {why}")));
    }
    let Some(text) = env::var_os("DISPLAY").filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let text = text.to_string_lossy();
    display::parse(&text).map(Some).map_err(|why| Failure::new(NO_SERVER, format!("status: DISPLAY={text}: {why}")))
}

fn ask(chosen: Option<u32>) -> Result<Report, Failure> {
    if let Some(display) = chosen {
        return match query(display) {
            Ok(status) => Ok(Report { servers: vec![status] }),
            Err(error) => Err(Failure::new(NO_SERVER, format!("status: display :{display}: {error}"))),
        };
    }
    let displays = displays();
    let answers: Vec<_> = displays.iter().map(|&display| (display, query(display))).collect();
    let mut errors = Vec::new();
    let mut servers = Vec::new();
    for (display, answer) in answers {
        match answer {
            Ok(status) => servers.push(status),
            Err(error) => errors.push(format!(":{display}: {error}")),
        }
    }
    if !servers.is_empty() {
        return Ok(Report { servers });
    }
    let why = if errors.is_empty() { "none runs under slipway x11".to_owned() } else { errors.join("; ") };
    Err(Failure::new(NO_SERVER, format!("status: no server to ask: {why}")))
}

fn watch(options: &StatusOptions, chosen: Option<u32>, first: Report) -> io::Result<()> {
    let mut out = io::stdout();
    let redraws = out.is_terminal() && !options.json;
    let mut report = first;
    loop {
        if redraws {
            out.write_all(CLEAR.as_bytes())?;
        }
        print(options, &report, &mut out)?;
        if !redraws && !options.json {
            writeln!(out)?;
        }
        out.flush()?;
        wait(&mut [], Some(Instant::now() + INTERVAL))?;
        // The end of the server is the end of the watch, not a failure of it.
        let Ok(next) = ask(chosen) else { return Ok(()) };
        report = next;
    }
}

fn print(options: &StatusOptions, report: &Report, out: &mut impl Write) -> io::Result<()> {
    if !options.json {
        return out.write_all(table::render(report).as_bytes());
    }
    if options.watch {
        serde_json::to_writer(&mut *out, report)?
    } else {
        serde_json::to_writer_pretty(&mut *out, report)?
    }
    writeln!(out)
}
