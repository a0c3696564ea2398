//! What `--json` prints: what the processes said, with what only all of them together tell.

use std::collections::HashMap;

use serde::Serialize;
use slipway_ports::inspect::{Line, Member, Port, Snapshot, Task};

use super::look::Look;
use super::peers::Peers;

/// The whole output.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Seconds since the last look, which rates are of; None for the first.
    pub seconds: Option<f64>,
    /// The processes that answered, by number.
    pub processes: Vec<Process>,
    /// Those that did not.
    pub unanswered: Vec<Unanswered>,
}

/// A process that did not answer.
#[derive(Debug, Serialize)]
pub struct Unanswered {
    pub pid: u32,
    pub why: String,
}

/// One process, as it describes itself.
#[derive(Debug, Serialize)]
pub struct Process {
    pub pid: u32,
    pub command: String,
    pub watcher: bool,
    pub sent: u64,
    pub received: u64,
    /// Messages a second to other processes.
    pub sent_rate: Option<f64>,
    /// Messages a second that the program received.
    pub received_rate: Option<f64>,
    pub tasks: Vec<Task>,
    pub ports_total: u64,
    pub ports: Vec<PortView>,
    pub lines_total: u64,
    pub lines: Vec<Line>,
    pub truncated: bool,
}

/// A port, and the processes that have rights to it.
#[derive(Debug, Serialize)]
pub struct PortView {
    #[serde(flatten)]
    pub port: Port,
    /// Messages a second: received from a port here, sent to one elsewhere.
    pub rate: Option<f64>,
    /// Holders of send rights to a port here; the receiver of one elsewhere.
    pub peers: Vec<Peer>,
}

/// Another process with a right to a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Peer {
    pub pid: u32,
    pub command: String,
    /// Its tasks' names for the port; none if it did not answer.
    pub names: Vec<Member>,
}

/// The report of `chosen` processes, with rates since `before`.
pub fn report(look: &Look, chosen: &[u32], before: Option<&Look>) -> Report {
    let seconds = before.map(|before| (look.at - before.at).as_secs_f64());
    let peers = Peers::of(look);
    let processes = chosen
        .iter()
        .filter_map(|pid| look.snapshots.get(pid))
        .map(|snapshot| {
            let since = before.and_then(|before| before.snapshots.get(&snapshot.pid)).zip(seconds);
            process(snapshot, since, &peers)
        })
        .collect();
    let unanswered = look.unanswered.iter().map(|(pid, why)| Unanswered { pid: *pid, why: why.to_string() }).collect();
    Report { seconds, processes, unanswered }
}

fn process(snapshot: &Snapshot, since: Option<(&Snapshot, f64)>, peers: &Peers<'_>) -> Process {
    let total = |count: fn(&Snapshot) -> u64| {
        let (before, seconds) = since?;
        Some(count(snapshot).checked_sub(count(before))? as f64 / seconds)
    };
    let before: HashMap<u32, &Port> = since.iter().flat_map(|(before, _)| &before.ports).map(|port| (port.port, port)).collect();
    let ports = snapshot.ports.iter().map(|port| PortView {
        rate: since.zip(before.get(&port.port)).and_then(|((_, seconds), before)| rate(port, before, seconds)),
        peers: peers.of_port(snapshot, port),
        port: port.clone(),
    });
    let lines = snapshot.lines.iter().map(|line| Line { peer: peers.of_line(snapshot.pid, line), ..line.clone() });
    Process {
        pid: snapshot.pid,
        command: snapshot.command.clone(),
        watcher: snapshot.watcher,
        sent: snapshot.sent,
        received: snapshot.received,
        sent_rate: total(|snapshot| snapshot.sent),
        received_rate: total(|snapshot| snapshot.received),
        tasks: snapshot.tasks.clone(),
        ports_total: snapshot.ports_total,
        ports: ports.collect(),
        lines_total: snapshot.lines_total,
        lines: lines.collect(),
        truncated: snapshot.truncated,
    }
}

/// Messages a second at a port, if it is the one that had its number before.
fn rate(port: &Port, before: &Port, seconds: f64) -> Option<f64> {
    if before.home != port.home || before.names != port.names {
        return None;
    }
    let (now, then) = (messages(port)?, messages(before)?);
    // The counts wrap; one that went back is another port's.
    let more = now.wrapping_sub(then);
    (more < 1 << 31).then(|| f64::from(more) / seconds)
}

/// Messages received from a port here, or sent to one elsewhere over the route that is used now.
pub fn messages(port: &Port) -> Option<u32> {
    port.here.as_ref().map(|here| here.received).or(port.routes.first().map(|route| route.sent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipway_ports::inspect::{Here, Home, Route};
    use std::collections::BTreeMap;
    use std::time::{Duration, Instant};

    fn here(received: u32) -> Port {
        let names = vec![Member { task: 0, name: 0x101 }];
        Port { port: 3, names, here: Some(Here { received, ..Here::default() }), ..Port::default() }
    }

    fn far(sent: u32) -> Port {
        Port { port: 4, home: Home::Remote, routes: vec![Route { sent, ..Route::default() }], ..Port::default() }
    }

    #[test]
    fn a_rate_is_of_the_time_between() {
        assert_eq!(rate(&here(5), &here(u32::MAX - 4), 2.0), Some(5.0), "counts wrap");
        assert_eq!(rate(&far(40), &far(10), 0.5), Some(60.0));
    }

    #[test]
    fn another_port_has_no_rate_yet() {
        let before = here(10);
        assert_eq!(rate(&here(9), &before, 1.0), None, "fewer than before");
        let renamed = Port { names: vec![Member { task: 0, name: 0x201 }], ..here(11) };
        assert_eq!(rate(&renamed, &before, 1.0), None, "another name");
        assert_eq!(rate(&Port { home: Home::Dead, here: None, ..here(11) }, &before, 1.0), None, "it died");
    }

    #[test]
    fn rates_are_of_the_same_process() {
        let look = |at, snapshots: Vec<Snapshot>| {
            let snapshots = snapshots.into_iter().map(|snapshot| (snapshot.pid, snapshot)).collect();
            Look { at, snapshots, unanswered: BTreeMap::new() }
        };
        let snapshot =
            |pid, received: u32| Snapshot { pid, received: received.into(), ports: vec![here(received)], ..Snapshot::default() };
        let start = Instant::now();
        let first = look(start, vec![snapshot(1, 100)]);
        let second = look(start + Duration::from_secs(4), vec![snapshot(1, 108), snapshot(2, 500)]);
        let report = report(&second, &[1, 2], Some(&first));
        let rates: Vec<_> = report.processes.iter().map(|process| (process.received_rate, process.ports[0].rate)).collect();
        assert_eq!((report.seconds, rates), (Some(4.0), vec![(Some(2.0), Some(2.0)), (None, None)]));
    }
}
