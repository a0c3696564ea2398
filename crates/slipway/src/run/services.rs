//! `slipway services`: what a name server knows.

use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde::Serialize;
use slipway_mach::bootstrap::contact::{self, Failed};
use slipway_mach::bootstrap::{self, Address, Service, Status};
use slipway_mach::task::Task;

use super::args::ServicesOptions;
use crate::failure::{Failure, NO_SERVER};

/// A name server's answer.
#[derive(Debug, Serialize)]
struct Report {
    socket: String,
    services: Vec<Row>,
}

/// A service.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    status: &'static str,
    /// The program that is started for it; null if none is.
    program: Option<String>,
    /// How that program last failed; null if it didn't.
    note: Option<String>,
}

/// Prints the services of the name server that a program started here would find.
///
/// # Errors
/// There is none, or it does not answer.
pub fn run(options: &ServicesOptions) -> Result<u8, Failure> {
    let none = |why: &dyn std::fmt::Display| Failure::new(NO_SERVER, why.to_string());
    let address = Address::find().map_err(|why| none(&why))?;
    let (s, t) = contact::greet(&address.socket).map_err(|why| match why {
        Failed::Nobody if !address.named => {
            none(&format!("no name server runs at {}; the first program that needs it starts it", address.socket.display()))
        }
        why => none(&address.unreachable(why)),
    })?;
    let task = Task::current();
    let server = task.import(s, t).map_err(|why| none(&address.unreachable(why)))?;
    let services =
        bootstrap::services(task, Some(server)).map_err(|why| none(&format!("{}: {why}", address.socket.display())))?;
    let report = Report { socket: address.socket.display().to_string(), services: services.iter().map(row).collect() };
    if options.json {
        println!("{}", serde_json::to_string(&report).map_err(|error| Failure::own("JSON", error))?);
    } else {
        print!("{}", render(&report));
    }
    Ok(0)
}

fn row(service: &Service) -> Row {
    let text = |bytes: &[u8]| (!bytes.is_empty()).then(|| printable(&String::from_utf8_lossy(bytes)));
    let status = match service.status {
        Status::Inactive => "inactive",
        Status::Active => "active",
        Status::OnDemand => "on-demand",
    };
    Row { name: service.name.to_string(), status, program: text(&service.program), note: text(&service.note) }
}

/// A program chooses these words: they must not control the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn render(report: &Report) -> String {
    if report.services.is_empty() {
        return format!("Name server at {}\nno services\n", report.socket);
    }
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(["service", "status", "program", "last failure"]);
    table.add_rows(report.services.iter().map(|row| {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        [row.name.clone(), row.status.to_owned(), text(&row.program), text(&row.note)]
    }));
    format!("Name server at {}\n{table}\n", report.socket)
}
