//! Servers and clients of different users (`slipway sockets --users all`), and what others can do to them.

mod harness;

use harness::{
    build::asset,
    place::{HANGS, Place, Serving},
};
use rustix::{
    fd::OwnedFd,
    net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketType, accept, bind, connect, listen, recv, send, socket},
};
use slipway_test_support::{built, succeed, watchdog};
use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const SERVER: u32 = 65_534;
const CLIENT: u32 = 65_533;

/// Places of two users, and the first one's server, which meets `users`; none if this user can't be another.
fn served(users: &str) -> Option<(Place, Place, PathBuf, Serving)> {
    if !rustix::process::getuid().is_root() {
        eprintln!("only root can be two other users");
        return None;
    }
    let (server, client) = (Place::new(Some(SERVER)), Place::new(Some(CLIENT)));
    fs::set_permissions(server.dir.path(), fs::Permissions::from_mode(0o755)).expect("open to the client");
    let path = server.path("socket");
    let serving = Serving::start(echo(&server, users, "serve", &path), &path);
    Some((server, client, path, serving))
}

/// An end of the echo, which may meet these users.
fn echo(place: &Place, users: &str, role: &str, path: &Path) -> Command {
    let mut command = place.command(false, built("slipway"));
    command.args(["sockets", "--users", users, "--", "/usr/bin/python3"]).arg(asset("py/echo.py")).arg(role).arg(path);
    command
}

/// How many of the server's connections are on shared memory while a client has one that works.
fn rings(server: &Place, client: &Place, users: &str, path: &Path) -> usize {
    rings_of("ask", server, client, users, path)
}

/// The same of this kind of client.
fn rings_of(role: &str, server: &Place, client: &Place, users: &str, path: &Path) -> usize {
    let mut asking = echo(client, users, role, path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    let mut said = String::new();
    BufReader::new(asking.stdout.take().expect("a pipe")).read_line(&mut said).expect("reads");
    assert_eq!(said, "done\n");
    let count = server.connections(path, "ring");
    drop(asking.stdin.take());
    assert!(asking.wait().expect("ends").success());
    count
}

/// The name of the hub of the server at a path.
fn hub_of(path: &Path) -> String {
    let file = fs::metadata(path).expect("the socket");
    format!("socket-{:x}-{:x}", file.dev(), file.ino())
}

fn address(kind: &str, hub: &str) -> SocketAddrUnix {
    SocketAddrUnix::new_abstract_name(format!("slipway-{kind}-{hub}").as_bytes()).expect("a name")
}

fn packets() -> OwnedFd {
    socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).expect("a socket")
}

#[test]
fn users_meet_where_both_ask_for_it() {
    let _watchdog = watchdog("users", HANGS);
    for (serves, asks, count) in [("all", "all", 1), ("all", "own", 0), ("own", "all", 0)] {
        let Some((server, client, path, _serving)) = served(serves) else { return };
        assert_eq!(rings(&server, &client, asks, &path), count, "{serves}, {asks}");
    }
}

#[test]
fn a_child_that_listens_again_offers_too() {
    let _watchdog = watchdog("a child that listens", HANGS);
    let place = Place::new(None);
    let path = place.path("socket");
    let _serving = Serving::start(echo(&place, "own", "serve-again", &path), &path);
    assert_eq!(rings(&place, &place, "own", &path), 1);
}

/// Client and server know alike that they are of one user, though the server has become another's since it listened.
#[test]
fn a_server_that_becomes_another_users_takes_descriptors() {
    let _watchdog = watchdog("a server that changes its user", HANGS);
    if !rustix::process::getuid().is_root() {
        return eprintln!("only root can become another user");
    }
    let place = Place::new(None);
    let path = place.path("socket");
    let _serving = Serving::start(echo(&place, "own", "serve-dropped", &path), &path);
    assert_eq!(rings_of("pass", &place, &place, "own", &path), 1);
}

#[test]
fn descriptors_between_users_go_over_the_socket() {
    let _watchdog = watchdog("descriptors", HANGS);
    let Some((server, client, path, _serving)) = served("all") else { return };
    assert_eq!(rings_of("pass", &server, &client, "all", &path), 0);
    assert_eq!(rings_of("pass", &server, &server, "all", &path), 1, "those of one user stay");
}

#[test]
fn what_a_server_has_is_told_to_its_user_only() {
    let _watchdog = watchdog("a question", HANGS);
    let Some((server, client, path, _serving)) = served("all") else { return };
    let ask = |place: &Place| succeed(place.command(false, "/usr/bin/python3").args(["-c", QUESTION, &hub_of(&path)]));
    assert_eq!((ask(&client).as_str(), ask(&server).as_str()), ("False\n", "True\n"));
    // It goes on serving.
    assert_eq!(rings(&server, &client, "all", &path), 1);
}

#[test]
fn who_takes_a_hubs_name_gets_no_connection() {
    let _watchdog = watchdog("a taken name", HANGS);
    let Some((server, client, path, _serving)) = served("own") else { return };
    let hub = hub_of(&path);
    let (taken, beacon) = (packets(), socket(AddressFamily::UNIX, SocketType::DGRAM, None).expect("a socket"));
    bind(&taken, &address("hub", &hub)).and_then(|()| listen(&taken, 8)).expect("the name is free");
    bind(&beacon, &address("beacon", &hub)).expect("the name is free");
    assert_eq!(rings(&server, &client, "all", &path), 0);
    // It came with its offer, and went.
    let offer = accept(&taken).expect("a client");
    let mut heard = [0; 64];
    assert!(recv(&offer, &mut heard, RecvFlags::empty()).expect("an offer").0 > 16);
    assert_eq!(recv(&offer, &mut heard, RecvFlags::empty()).map_or(0, |(count, _)| count), 0);
}

#[test]
fn an_offer_of_another_process_is_none() {
    let _watchdog = watchdog("a stranger's offer", HANGS);
    let Some((server, client, path, _serving)) = served("all") else { return };
    // Another user's process offers for the connection that this one then makes.
    let mut offers = client.command(false, "/usr/bin/python3");
    offers.args(["-c", OFFER, &hub_of(&path)]).stdout(Stdio::piped());
    let mut offers = offers.spawn().expect("starts");
    let mut told = BufReader::new(offers.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    assert_eq!(told.next().as_deref(), Some("sent"));
    let own = socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("a socket");
    let token = format!("slipway-line-{}", "ab".repeat(16));
    bind(&own, &SocketAddrUnix::new_abstract_name(token.as_bytes()).expect("a name")).expect("binds");
    connect(&own, &SocketAddrUnix::new(&path).expect("a path")).expect("connects");
    send(&own, b"x", SendFlags::empty()).expect("sends");
    let mut answer = [0; 8];
    assert_eq!(recv(&own, &mut answer, RecvFlags::empty()).map(|(count, _)| count), Ok(1));
    assert_eq!(server.connections(&path, "ring"), 0);
    offers.kill().and_then(|()| offers.wait()).expect("ends");
    assert_eq!(told.next(), None, "no answer");
}

/// An offer, and what comes of it: see docs/ring-abi.md, "The line's socket".
const OFFER: &str = "
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect('\\0slipway-hub-' + sys.argv[1])
s.send(b'\\1\\2' + (1 << 20).to_bytes(8, 'little') + b'\\xab' * 16)
print('sent', flush=True), print(s.recv(64))";

/// A question for the status, and whether it is answered.
const QUESTION: &str = "
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect('\\0slipway-hub-' + sys.argv[1])
s.send(b'\\2\\2')
print(len(s.recv(9999)) > 9)";
