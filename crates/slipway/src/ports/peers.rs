//! Which process is at the other end, found by putting the answers of all processes together.
//!
//! A port has the same identity in all processes, and the ends of a line know each other's bells.

use std::collections::HashMap;

use slipway_ports::inspect::{Home, Line, Port, Role, Snapshot};

use super::look::Look;
use super::model::Peer;

/// An index of all answers.
pub struct Peers<'a> {
    look: &'a Look,
    /// By a port's identity.
    ports: HashMap<u64, Vec<(&'a Snapshot, &'a Port)>>,
    /// The client's process and the host's, as the kernel told the client, by the client's bell.
    clients: HashMap<u64, Vec<(u32, Option<u32>)>>,
}

impl<'a> Peers<'a> {
    pub fn of(look: &'a Look) -> Self {
        let mut ports: HashMap<u64, Vec<_>> = HashMap::new();
        let mut clients: HashMap<u64, Vec<_>> = HashMap::new();
        for snapshot in look.snapshots.values() {
            for port in &snapshot.ports {
                if let Some(identity) = port.identity {
                    ports.entry(identity).or_default().push((snapshot, port));
                }
            }
            for line in snapshot.lines.iter().filter(|line| line.role == Role::Client) {
                clients.entry(line.bell).or_default().push((snapshot.pid, line.peer));
            }
        }
        Self { look, ports, clients }
    }

    /// The process at the other end of a line of `pid`.
    pub fn of_line(&self, pid: u32, line: &Line) -> Option<u32> {
        match line.role {
            Role::Client => line.peer,
            // Both have to say so.
            Role::Maker => {
                self.clients.get(&line.peer_bell?)?.iter().find(|(_, host)| *host == Some(pid)).map(|(client, _)| *client)
            }
        }
    }

    /// The processes that hold send rights to a port of `snapshot` that is there; the receiver of one that is elsewhere.
    pub fn of_port(&self, snapshot: &Snapshot, port: &Port) -> Vec<Peer> {
        let others = port.identity.and_then(|identity| self.ports.get(&identity)).into_iter().flatten();
        let others = others.filter(|(other, _)| other.pid != snapshot.pid);
        let wanted = |it: &Port| match port.home {
            Home::Here => it.home == Home::Remote && it.send_rights > 0,
            Home::Remote => it.home == Home::Here,
            Home::Dead => false,
        };
        let mut peers: Vec<Peer> = others
            .filter(|(_, it)| wanted(it))
            .map(|(other, it)| Peer { pid: other.pid, command: other.command.clone(), names: it.names.clone() })
            .collect();
        // A process that did not answer is known by its lines.
        let holders = port.here.iter().flat_map(|here| &here.holders).filter(|holder| holder.attached || holder.given > 0);
        let routes = port.routes.iter().filter(|_| port.home == Home::Remote && peers.is_empty());
        let lines = holders.map(|holder| holder.line).chain(routes.map(|route| route.line));
        let silent: Vec<u32> = lines
            .filter_map(|number| snapshot.lines.iter().find(|line| line.line == number))
            .filter_map(|line| self.of_line(snapshot.pid, line))
            .collect();
        for pid in silent {
            if peers.iter().all(|peer| peer.pid != pid) {
                peers.push(self.by_number(pid));
            }
        }
        peers.sort_by_key(|peer| peer.pid);
        peers
    }

    /// What is known of a process by its number alone.
    fn by_number(&self, pid: u32) -> Peer {
        let command = self.look.snapshots.get(&pid).map_or_else(String::new, |snapshot| snapshot.command.clone());
        Peer { pid, command, names: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipway_ports::inspect::{Here, Holder, Member, Route};
    use std::collections::BTreeMap;
    use std::time::Instant;

    fn look(snapshots: Vec<Snapshot>) -> Look {
        let snapshots = snapshots.into_iter().map(|snapshot| (snapshot.pid, snapshot)).collect();
        Look { at: Instant::now(), snapshots, unanswered: BTreeMap::new() }
    }

    fn names(name: u32) -> Vec<Member> {
        vec![Member { task: 0, name }]
    }

    fn server(lines: Vec<Line>) -> Snapshot {
        let holders = lines.iter().map(|line| Holder { line: line.line, attached: true, given: 0 }).collect();
        let here = Some(Here { holders, ..Here::default() });
        let port = Port { port: 1, identity: Some(77), names: names(0x101), here, ..Port::default() };
        Snapshot { pid: 10, command: "server".into(), ports: vec![port], lines, ..Snapshot::default() }
    }

    fn client(pid: u32) -> Snapshot {
        let routes = vec![Route { line: 5, ..Route::default() }];
        let port = Port {
            port: 9,
            home: Home::Remote,
            identity: Some(77),
            send_rights: 1,
            names: names(0x201),
            routes,
            ..Port::default()
        };
        let line = Line { line: 5, bell: 501, peer_bell: Some(502), ..Line::default() };
        Snapshot { pid, command: "client".into(), ports: vec![port], lines: vec![line], ..Snapshot::default() }
    }

    fn client_of(peer: u32) -> Line {
        Line { line: 3, role: Role::Client, peer: Some(peer), bell: 502, ..Line::default() }
    }

    #[test]
    fn sender_and_receiver_find_each_other() {
        let look = look(vec![server(vec![client_of(20)]), client(20)]);
        let peers = Peers::of(&look);
        let (server, client) = (&look.snapshots[&10], &look.snapshots[&20]);
        let expected = Peer { pid: 20, command: "client".into(), names: names(0x201) };
        assert_eq!(peers.of_port(server, &server.ports[0]), [expected]);
        let expected = Peer { pid: 10, command: "server".into(), names: names(0x101) };
        assert_eq!(peers.of_port(client, &client.ports[0]), [expected]);
        assert_eq!(peers.of_line(20, &client.lines[0]), Some(10));
        assert_eq!(peers.of_line(10, &server.lines[0]), Some(20));
    }

    #[test]
    fn who_does_not_answer_is_known_by_its_line() {
        let look = look(vec![server(vec![client_of(20)])]);
        let server = &look.snapshots[&10];
        let expected = Peer { pid: 20, command: String::new(), names: Vec::new() };
        assert_eq!(Peers::of(&look).of_port(server, &server.ports[0]), [expected]);
    }

    #[test]
    fn both_ends_of_a_line_say_so() {
        let other = Snapshot { pid: 30, lines: vec![client_of(31)], ..Snapshot::default() };
        let alone = look(vec![other.clone(), client(20)]);
        assert_eq!(Peers::of(&alone).of_line(20, &alone.snapshots[&20].lines[0]), None);
        let both = look(vec![other, client(20), server(vec![client_of(20)])]);
        assert_eq!(Peers::of(&both).of_line(20, &both.snapshots[&20].lines[0]), Some(10));
    }
}
