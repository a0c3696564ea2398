//! `slipway x11 status` and `slipway sockets status`: what a running server says of its connections.

mod display;
mod table;

use std::env;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use serde::Serialize;
use slipway_transport::endpoint::Endpoint;
use slipway_transport::status::{ServerStatus, StatusError, displays, hubs, query, query_endpoint, query_hub};

use crate::args::{SocketStatusOptions, StatusForm, StatusOptions};
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

/// The servers to ask.
#[derive(Debug)]
enum Chosen {
    Display(u32),
    Displays,
    Endpoint(Endpoint),
    Endpoints,
}

/// Prints the state of the X servers that `options` choose.
///
/// # Errors
/// No such server, or standard output can't be written.
pub fn run_x11(options: &StatusOptions) -> Result<u8, Failure> {
    run(&choose(options)?.map_or(Chosen::Displays, Chosen::Display), &options.form)
}

/// Prints the state of the servers that `options` choose.
///
/// # Errors
/// As [`run_x11`].
pub fn run_sockets(options: &SocketStatusOptions) -> Result<u8, Failure> {
    let endpoint = options.socket.as_deref().map(Endpoint::from_shown);
    run(&endpoint.map_or(Chosen::Endpoints, Chosen::Endpoint), &options.form)
}

fn run(chosen: &Chosen, form: &StatusForm) -> Result<u8, Failure> {
    let first = ask(chosen)?;
    let printed = if form.watch { watch(form, chosen, first) } else { print(form, &first, &mut io::stdout()) };
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

fn ask(chosen: &Chosen) -> Result<Report, Failure> {
    let one = |name: String, answer: Result<ServerStatus, StatusError>| match answer {
        Ok(status) => Ok(Report { servers: vec![status] }),
        Err(error) => Err(Failure::new(NO_SERVER, format!("status: {name}: {error}"))),
    };
    let answers: Vec<_> = match chosen {
        Chosen::Display(display) => return one(format!("display :{display}"), query(*display)),
        Chosen::Endpoint(endpoint) => return one(endpoint.shown(), query_endpoint(endpoint)),
        Chosen::Displays => displays().into_iter().map(|display| (format!(":{display}"), query(display))).collect(),
        Chosen::Endpoints => {
            hubs().into_iter().map(|hub| (hub.clone(), query_hub(&hub, "slipway sockets -- SERVER".to_owned()))).collect()
        }
    };
    let mut errors = Vec::new();
    let mut servers = Vec::new();
    for (name, answer) in answers {
        match answer {
            Ok(status) => servers.push(status),
            Err(error) => errors.push(format!("{name}: {error}")),
        }
    }
    if !servers.is_empty() {
        return Ok(Report { servers });
    }
    let command = if matches!(chosen, Chosen::Displays) { "slipway x11" } else { "slipway sockets" };
    let why = if errors.is_empty() { format!("none runs under {command}") } else { errors.join("; ") };
    Err(Failure::new(NO_SERVER, format!("status: no server to ask: {why}")))
}

fn watch(options: &StatusForm, chosen: &Chosen, first: Report) -> io::Result<()> {
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

fn print(options: &StatusForm, report: &Report, out: &mut impl Write) -> io::Result<()> {
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
