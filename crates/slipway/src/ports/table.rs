//! The tables for people.

use std::collections::HashMap;
use std::fmt::Write;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use slipway_ports::inspect::{Held, Home, Line, Name, Role, Serves, Task};

use super::model::{Peer, PortView, Process, Report, messages};
use crate::size::bytes;

const NAMES: [&str; 9] = ["name", "right", "urefs", "queue", "limit", "messages", "per s", "asked", "peers"];
/// Columns of numbers among them.
const NAME_NUMBERS: std::ops::Range<usize> = 2..7;
const LINES: [&str; 9] = ["line", "peer", "made", "ports in", "ports out", "once in", "once out", "waiting in", "waiting out"];
/// Peers, members and silent processes that are named before the rest is only counted.
const NAMED: usize = 8;

/// All processes, each with a line about itself, a table of each task's names and one of its lines.
pub fn render(report: &Report) -> String {
    let mut text = report.processes.iter().map(process).collect::<Vec<_>>().join("\n");
    if report.processes.is_empty() {
        text.push_str("no process has Mach ports that other processes know\n");
    }
    for silent in report.unanswered.iter().take(NAMED) {
        writeln!(text, "process {}: {}", silent.pid, silent.why).expect("writing to a string can't fail");
    }
    if let Some(more) = report.unanswered.len().checked_sub(NAMED).filter(|more| *more > 0) {
        writeln!(text, "{more} more did not answer").expect("writing to a string can't fail");
    }
    text
}

fn process(process: &Process) -> String {
    let mut text = format!(
        "{}, {} sent, {} received",
        shown_process(process.pid, &process.command),
        count(process.sent, "message"),
        process.received
    );
    if let (Some(sent), Some(received)) = (process.sent_rate, process.received_rate) {
        write!(text, " ({} and {} a second)", rate(sent), rate(received)).expect("writing to a string can't fail");
    }
    if !process.watcher {
        text.push_str(", no watcher");
    }
    text.push('\n');
    let ports: HashMap<u32, &PortView> = process.ports.iter().map(|port| (port.port.port, port)).collect();
    for task in &process.tasks {
        if process.tasks.len() > 1 {
            writeln!(text, "{}", task_line(task, &ports)).expect("writing to a string can't fail");
        }
        names(&mut text, task, &ports, process);
    }
    lines(&mut text, process);
    if process.truncated {
        let listed: usize = process.tasks.iter().map(|task| task.names.len()).sum();
        let total: u64 = process.tasks.iter().map(|task| task.names_total).sum();
        writeln!(text, "Not all is shown: {listed} of {total} names, {} of {} lines.", process.lines.len(), process.lines_total)
            .expect("writing to a string can't fail");
    }
    text
}

/// A task among others of its process: its name, and how calls reach the ports for which it has registered routines.
fn task_line(task: &Task, ports: &HashMap<u32, &PortView>) -> String {
    let mut text = format!("task {}", task.task);
    if !task.label.is_empty() {
        write!(text, " {}", printable(&task.label)).expect("writing to a string can't fail");
    }
    let received = task.names.iter().filter(|name| name.rights.contains(&Held::Receive));
    let heres = received.filter_map(|name| ports.get(&name.port?)?.port.here.as_ref());
    let counts = heres.filter_map(|here| Some((here.trap_calls?, u64::from(here.received))));
    if let Some((calls, messages)) = counts.reduce(|sum, some| (sum.0 + some.0, sum.1 + some.1)) {
        write!(text, ": {} by trap, {messages} by message", count(calls, "call")).expect("writing to a string can't fail");
    }
    text
}

fn names(text: &mut String, task: &Task, ports: &HashMap<u32, &PortView>, process: &Process) {
    if task.names.is_empty() {
        return text.push_str("no names\n");
    }
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(NAMES);
    table.add_rows(task.names.iter().map(|name| row(name, name.port.and_then(|port| ports.get(&port)).copied(), process)));
    for (_, column) in table.column_iter_mut().enumerate().filter(|(index, _)| NAME_NUMBERS.contains(index)) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(text, "{table}").expect("writing to a string can't fail");
}

fn row(name: &Name, port: Option<&PortView>, process: &Process) -> [String; 9] {
    let none = || "-".to_owned();
    let here = port.and_then(|port| port.port.here.as_ref());
    // What a receiver knows of its port belongs to the receive right.
    let here = here.filter(|_| name.rights.contains(&Held::Receive));
    let route = port.filter(|port| port.port.home == Home::Remote).and_then(|port| port.port.routes.first());
    let counted = port.filter(|_| here.is_some() || route.is_some());
    [
        hex(name.name),
        rights(name, port),
        if name.urefs > 0 { name.urefs.to_string() } else { none() },
        here.map(|here| here.queued).or(route.map(|route| route.waiting)).map_or_else(none, |queued| queued.to_string()),
        here.map_or_else(none, |here| here.qlimit.to_string()),
        counted.and_then(|port| messages(&port.port)).map_or_else(none, |messages| messages.to_string()),
        counted.and_then(|port| port.rate).map_or_else(none, rate),
        asked(name, port),
        others(name, port, process),
    ]
}

fn rights(name: &Name, port: Option<&PortView>) -> String {
    let held = |held: &Held| match held {
        Held::Receive => "receive",
        Held::Send => "send",
        Held::SendOnce => "send-once",
        Held::PortSet => "port-set",
        Held::DeadName => "dead-name",
    };
    let mut text = name.rights.iter().map(held).collect::<Vec<_>>().join(", ");
    let serves = port.and_then(|port| port.port.here.as_ref()?.serves);
    if let Some(serves) = serves {
        text.push_str(match serves {
            Serves::Task => " (task)",
            Serves::Thread => " (thread)",
            Serves::Host => " (host)",
            Serves::Semaphore => " (semaphore)",
        });
    }
    text
}

fn asked(name: &Name, port: Option<&PortView>) -> String {
    let here = port.and_then(|port| port.port.here.as_ref()).filter(|_| name.rights.contains(&Held::Receive));
    let letters = [
        (name.dead_name_request, 'd'),
        (here.is_some_and(|here| here.no_senders_request), 'n'),
        (here.is_some_and(|here| here.port_destroyed_request), 'p'),
    ];
    let letters: String = letters.iter().filter(|(asked, _)| *asked).map(|(_, letter)| letter).collect();
    if letters.is_empty() { "-".to_owned() } else { letters }
}

fn others(name: &Name, port: Option<&PortView>, process: &Process) -> String {
    let mut some: Vec<String> = name.members.iter().map(|member| hex(*member)).collect();
    let home = port.map(|port| port.port.home);
    // A process with a send right to a port here need not be told which others have one.
    if home == Some(Home::Remote) || name.rights.contains(&Held::Receive) {
        some.extend(port.iter().flat_map(|port| &port.peers).map(peer));
    }
    if let Some(number) = name.line {
        let line = process.lines.iter().find(|line| line.line == number);
        some.extend(line.and_then(|line| line.peer).map(|pid| known(pid, process)));
    }
    match some.len() {
        0 if home == Some(Home::Dead) => "dead".to_owned(),
        0 if home == Some(Home::Remote) || name.line.is_some() => "?".to_owned(),
        0 => "-".to_owned(),
        n if n > NAMED => format!("{}, {} more", some[..NAMED].join(", "), n - NAMED),
        _ => some.join(", "),
    }
}

fn peer(peer: &Peer) -> String {
    match peer.names.first() {
        Some(member) => format!("{} {}", shown_process(peer.pid, &peer.command), hex(member.name)),
        None => shown_process(peer.pid, &peer.command),
    }
}

/// A process by its number, and its name if some port of this one tells it.
fn known(pid: u32, process: &Process) -> String {
    let peer = process.ports.iter().flat_map(|port| &port.peers).find(|peer| peer.pid == pid);
    shown_process(pid, peer.map_or("", |peer| &peer.command))
}

fn lines(text: &mut String, process: &Process) {
    if process.lines.is_empty() {
        return;
    }
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(LINES);
    table.add_rows(process.lines.iter().map(|line| {
        let made = match line.role {
            Role::Maker => "here",
            Role::Client => "there",
        };
        [
            format!("{}{}", line.line, state(line)),
            line.peer.map_or_else(|| "?".to_owned(), |pid| known(pid, process)),
            made.to_owned(),
            line.slots_in.to_string(),
            line.slots_out.to_string(),
            line.tokens_given.to_string(),
            line.tokens_held.to_string(),
            bytes(line.bytes_in),
            bytes(line.bytes_out),
        ]
    }));
    for (_, column) in table.column_iter_mut().enumerate().filter(|(index, _)| *index > 2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(text, "{table}").expect("writing to a string can't fail");
}

fn state(line: &Line) -> &'static str {
    match (line.ended, line.hot) {
        (true, _) => " ended",
        (false, true) => " hot",
        (false, false) => "",
    }
}

fn shown_process(pid: u32, command: &str) -> String {
    if command.is_empty() { pid.to_string() } else { format!("{pid} {}", printable(command)) }
}

fn hex(name: u32) -> String {
    format!("{name:#x}")
}

fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn rate(rate: f64) -> String {
    if rate == 0.0 || rate >= 100.0 { format!("{rate:.0}") } else { format!("{rate:.1}") }
}

/// A process chooses its own name: it must not reach the terminal as an escape sequence.
fn printable(name: &str) -> String {
    name.chars().map(|character| if character.is_control() { '?' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::model::Unanswered;
    use super::*;
    use slipway_ports::inspect::{Here, Member, Port, Route};

    fn name(name: u32, rights: &[Held], port: Option<u32>) -> Name {
        Name { name, rights: rights.to_vec(), port, ..Name::default() }
    }

    fn view(port: Port, rate: Option<f64>, peers: &[(u32, &str, u32)]) -> PortView {
        let peers = peers.iter().map(|(pid, command, name)| Peer {
            pid: *pid,
            command: (*command).to_owned(),
            names: vec![Member { task: 0, name: *name }],
        });
        PortView { port, rate, peers: peers.collect() }
    }

    fn process(names: Vec<Name>, ports: Vec<PortView>, lines: Vec<Line>) -> Process {
        Process {
            pid: 4242,
            command: "server".into(),
            watcher: true,
            sent: 1,
            received: 99,
            sent_rate: Some(0.0),
            received_rate: Some(12.25),
            tasks: vec![Task { task: 0, names_total: names.len() as u64, names, ..Task::default() }],
            ports_total: ports.len() as u64,
            ports,
            lines_total: lines.len() as u64,
            lines,
            truncated: false,
        }
    }

    /// The cells of all tables.
    fn rows(text: &str) -> Vec<Vec<&str>> {
        let rows = text.lines().filter(|line| line.starts_with('│'));
        rows.map(|line| line.trim_matches('│').split('┆').map(str::trim).collect()).collect()
    }

    #[test]
    fn everything_is_shown() {
        let here = Here { queued: 3, qlimit: 7, received: 5, no_senders_request: true, ..Here::default() };
        let own = Port { port: 1, here: Some(here), ..Port::default() };
        let routes = vec![Route { sent: 40, waiting: 2, ..Route::default() }];
        let far = Port { port: 2, home: Home::Remote, routes, ..Port::default() };
        let task = Port { port: 3, here: Some(Here { serves: Some(Serves::Task), ..Here::default() }), ..Port::default() };
        let names = vec![
            name(0x101, &[Held::Send], Some(3)),
            Name { urefs: 2, ..name(0x201, &[Held::Receive, Held::Send], Some(1)) },
            Name { urefs: 1, dead_name_request: true, ..name(0x301, &[Held::Send], Some(2)) },
            Name { members: vec![0x201], ..name(0x401, &[Held::PortSet], None) },
            Name { urefs: 1, line: Some(6), ..name(0x501, &[Held::SendOnce], None) },
            Name { urefs: 4, ..name(0x601, &[Held::DeadName], None) },
        ];
        let ports = vec![
            view(own, Some(12.25), &[(77, "client", 0xa01), (78, "", 0xb01)]),
            view(far, Some(1000.4), &[(77, "client", 0xc01)]),
            view(task, None, &[]),
        ];
        let line = Line {
            line: 6,
            role: Role::Client,
            peer: Some(77),
            slots_in: 1,
            slots_out: 2,
            tokens_given: 3,
            tokens_held: 4,
            hot: true,
            bytes_in: 2048,
            ..Line::default()
        };
        let text = render(&Report { seconds: None, processes: vec![process(names, ports, vec![line])], unanswered: Vec::new() });
        assert!(text.starts_with("4242 server, 1 message sent, 99 received (0 and 12.2 a second)\n"), "{text}");
        let expected: [&[&str]; 9] = [
            &NAMES,
            &["0x101", "send (task)", "-", "-", "-", "-", "-", "-", "-"],
            &["0x201", "receive, send", "2", "3", "7", "5", "12.2", "n", "77 client 0xa01, 78 0xb01"],
            &["0x301", "send", "1", "2", "-", "40", "1000", "d", "77 client 0xc01"],
            &["0x401", "port-set", "-", "-", "-", "-", "-", "-", "0x201"],
            &["0x501", "send-once", "1", "-", "-", "-", "-", "-", "77 client"],
            &["0x601", "dead-name", "4", "-", "-", "-", "-", "-", "-"],
            &LINES,
            &["6 hot", "77 client", "there", "1", "2", "3", "4", "2.0 KiB", "0 B"],
        ];
        assert_eq!(rows(&text), expected, "{text}");
    }

    #[test]
    fn tasks_that_share_a_process_are_told_apart() {
        let here = Here { received: 5, trap_calls: Some(995), ..Here::default() };
        let own = Port { port: 1, here: Some(here), ..Port::default() };
        let mut shared = process(vec![name(0x201, &[Held::Receive], Some(1))], vec![view(own, None, &[])], Vec::new());
        shared.tasks[0].label = "kv".into();
        shared.tasks.push(Task { task: 1, label: "client\x1b".into(), ..Task::default() });
        let text = render(&Report { seconds: None, processes: vec![shared], unanswered: Vec::new() });
        assert!(text.contains("task 0 kv: 995 calls by trap, 5 by message\n") && text.contains("task 1 client?\n"), "{text}");
    }

    #[test]
    fn what_is_unknown_is_said_to_be() {
        let far = Port { port: 2, home: Home::Remote, ..Port::default() };
        let dead = Port { port: 3, home: Home::Dead, ..Port::default() };
        let names = [(0x301, 2), (0x302, 9), (0x303, 3)].map(|(it, port)| name(it, &[Held::Send], Some(port)));
        let mut short = process(names.into(), vec![view(far, None, &[]), view(dead, None, &[])], vec![Line::default()]);
        (short.truncated, short.watcher, short.tasks[0].names_total) = (true, false, 5000);
        let unanswered = (1..=10).map(|pid| Unanswered { pid, why: "it is stopped".into() }).collect();
        let text = render(&Report { seconds: None, processes: vec![short], unanswered });
        let rows = rows(&text);
        assert_eq!([rows[1][8], rows[2][8], rows[3][8], rows[5][1]], ["?", "-", "dead", "?"], "{text}");
        assert!(text.contains("no watcher") && text.contains("3 of 5000 names, 1 of 1 lines"), "{text}");
        assert!(text.contains("process 8: it is stopped") && text.contains("2 more did not answer"), "{text}");
    }

    #[test]
    fn a_name_is_no_escape_sequence() {
        let own = Port { port: 1, here: Some(Here::default()), ..Port::default() };
        let peers = [(5, "\x1b[2J", 1)];
        let mut evil = process(vec![name(1, &[Held::Receive], Some(1))], vec![view(own, None, &peers)], Vec::new());
        evil.command = "\x1b[31m\n".into();
        let text = render(&Report { seconds: None, processes: vec![evil], unanswered: Vec::new() });
        assert!(!text.contains('\x1b') && text.contains("?[31m?") && text.contains("5 ?[2J"), "{text}");
    }

    #[test]
    fn many_peers_are_counted() {
        let own = Port { port: 1, here: Some(Here::default()), ..Port::default() };
        let peers: Vec<_> = (1..=20).map(|pid| (pid, "x", 0x100)).collect();
        let crowded = process(vec![name(1, &[Held::Receive], Some(1))], vec![view(own, None, &peers)], Vec::new());
        let text = render(&Report { seconds: None, processes: vec![crowded], unanswered: Vec::new() });
        assert!(text.contains("8 x 0x100, 12 more") && !text.contains("9 x 0x100"), "{text}");
    }

    #[test]
    fn nobody_is_no_silence() {
        let text = render(&Report { seconds: None, processes: Vec::new(), unanswered: Vec::new() });
        assert!(text.contains("no process"), "{text}");
    }
}
