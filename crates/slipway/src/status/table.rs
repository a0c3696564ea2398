//! The table for people.

use std::fmt::Write;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};

use slipway_transport::status::{Connection, ServerStatus, Transport};

use super::Report;
use crate::size::bytes;

const HEADER: [&str; 11] = ["pid", "client", "transport", "ring", "in", "out", "looked", "spun", "slept", "rung", "heard"];
/// Columns from here on are numbers.
const FIRST_NUMBER: usize = 3;

/// All servers, each with a line about itself and a table of its connections.
pub fn render(report: &Report) -> String {
    let servers: Vec<String> = report.servers.iter().map(server).collect();
    servers.join("\n")
}

fn server(server: &ServerStatus) -> String {
    let limits = &server.limits;
    let rings = server.connections.iter().filter(|connection| connection.transport == Transport::Ring).count();
    let mut text = format!(
        "{}, server pid {}\n{} of {} clients on shared memory, {} of {} in use, rings of {} to {} a direction\n",
        server.display.map_or_else(|| printable(&server.endpoint), |display| format!("Display :{display}")),
        server.pid,
        rings,
        limits.clients,
        bytes(server.granted_bytes),
        bytes(limits.total),
        bytes(limits.min_ring),
        bytes(limits.max_ring),
    );
    if server.connections.is_empty() {
        text.push_str("no connections\n");
        return text;
    }
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(HEADER);
    table.add_rows(server.connections.iter().map(row));
    for (index, column) in table.column_iter_mut().enumerate() {
        if index == 0 || index >= FIRST_NUMBER {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    writeln!(text, "{table}").expect("writing to a string can't fail");
    text
}

fn row(connection: &Connection) -> Vec<String> {
    let waits = &connection.waits;
    let transport = match connection.transport {
        Transport::Ring => "shared memory",
        Transport::Ports => "Mach ports",
        Transport::Socket => "socket",
    };
    let mut row = vec![connection.pid.to_string(), printable(&connection.name), transport.to_owned()];
    let sizes = [connection.ring_bytes, connection.bytes_in, connection.bytes_out];
    let rung = connection.doorbells_rung;
    let counts = [waits.looked, waits.spun, waits.slept, rung, connection.doorbells_heard];
    let numbers = sizes.map(|size| (size, bytes(size))).into_iter();
    row.extend(numbers.chain(counts.map(|count| (count, count.to_string()))).map(|(number, text)| {
        match (connection.transport, number) {
            // What the kernel carries is not counted; a connection that went back to its socket
            // keeps the counts from before.
            (Transport::Socket, 0) => "-".to_owned(),
            _ => text,
        }
    }));
    row
}

/// A client chooses its own name: it must not reach the terminal as an escape sequence.
fn printable(name: &str) -> String {
    name.chars().map(|character| if character.is_control() { '?' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipway_transport::status::{Limits, Waits};

    fn connection(transport: Transport, name: &str) -> Connection {
        Connection {
            pid: 77,
            name: name.to_owned(),
            transport,
            ring_bytes: 1 << 20,
            bytes_in: 5 << 30,
            bytes_out: 1000,
            waits: Waits { looked: 11, spun: 22, slept: 33 },
            doorbells_rung: 44,
            doorbells_heard: 55,
        }
    }

    fn report(connections: Vec<Connection>) -> Report {
        let limits = Limits { min_ring: 64 << 10, max_ring: 16 << 20, total: 1 << 30, clients: 1024 };
        Report {
            servers: vec![ServerStatus {
                endpoint: "/tmp/.X11-unix/X99".to_owned(),
                display: Some(99),
                pid: 4242,
                limits,
                granted_bytes: 2 << 20,
                connections,
            }],
        }
    }

    #[test]
    fn everything_is_shown() {
        let text = render(&report(vec![connection(Transport::Ring, "xterm"), connection(Transport::Socket, "xclock")]));
        for part in [
            ":99",
            "4242",
            "1 of 1024",
            "2.0 MiB of 1.0 GiB",
            "64.0 KiB to 16.0 MiB",
            "77",
            "xterm",
            "xclock",
            "5.0 GiB",
            "1000 B",
            "11",
            "22",
            "33",
            "44",
            "55",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }

    #[test]
    fn a_name_is_no_escape_sequence() {
        let text = render(&report(vec![connection(Transport::Ring, "\x1b[2Jx\n")]));
        assert!(text.contains("?[2Jx?"), "{text}");
    }

    #[test]
    fn json_keeps_every_field() {
        let json = serde_json::to_value(report(vec![connection(Transport::Ring, "xterm")])).expect("JSON");
        let connection = &json["servers"][0]["connections"][0];
        assert_eq!(connection["transport"], "ring");
        assert_eq!(connection["waits"]["slept"], 33);
        assert_eq!(json["servers"][0]["limits"]["clients"], 1024);
    }
}
