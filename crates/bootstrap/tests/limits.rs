//! What the server holds for one client is bounded, and what it holds for those that are gone.

mod support;

use mach as _;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept, bind, listen as listen_at, socket_with};
use slipway_mach::{
    abi::{Code, types},
    bootstrap::{self, contact::Failed, protocol},
};
use std::fs;
use support::*;

/// An eighth of the descriptors that the server may open, which [`limited`] sets.
const EACH: usize = 256;

/// A task that may open few descriptors, as may the server that it starts.
fn limited(user: &User, role: &str) -> Running {
    let task = user.task(role);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &format!("ulimit -n {} && exec \"$0\" \"$@\"", 8 * EACH)]).arg(task.get_program()).args(task.get_args());
    for (name, value) in task.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Running::start(command)
}

/// How many services can be made until the server refuses one more.
fn fill(make: impl Fn(usize) -> Result<u32, bootstrap::Error>) -> usize {
    (0..)
        .find(|i| {
            make(*i).is_err_and(|error| {
                assert_eq!(error.code(), protocol::NO_MEMORY);
                true
            })
        })
        .expect("a limit")
}

#[test]
fn a_clients_names_are_bounded_and_go_with_it() {
    match role().as_deref() {
        Some("registers") => {
            let port = receive_right();
            let register = |i| bootstrap::register(me(), None, format!("r{i}"), port, types::MAKE_SEND).map(|()| port);
            assert_eq!(fill(register), EACH);
            // A name that is given back makes room for another.
            bootstrap::register(me(), None, "r0", 0, types::MAKE_SEND).expect("forgotten");
            bootstrap::create_service(me(), None, "created").expect("room for one");
            assert_eq!(refused(register(0)), protocol::NO_MEMORY);
            say("full");
            listen();
        }
        Some("honest") => {
            let port = registered("honest");
            assert_eq!(found("honest"), port);
            me().destroy(port).expect("dead");
        }
        // What it creates stays when it ends, as long as not too much of the kind is there.
        Some("creates") => {
            let prefix = std::process::id();
            assert_eq!(fill(|i| bootstrap::create_service(me(), None, format!("{prefix}.{i}"))), EACH);
        }
        Some("counts") => say(&bootstrap::services(me(), None).expect("the services").len().to_string()),
        _ => {
            let user = User::new("a_clients_names_are_bounded_and_go_with_it");
            let mut full = limited(&user, "registers");
            full.hears("full");
            user.run("honest");
            full.tell("end");
            full.succeeds();
            let count = || -> usize {
                let mut task = user.start("counts");
                let count = task.hear().parse().expect("a number");
                task.succeeds();
                count
            };
            // The kernel tells the server that a client is gone, which nothing here can wait for.
            eventually("what it registered is gone, what it created is not", || count() == 1);
            for _ in 0..4 {
                user.run("creates");
                // Before that the server may still hold all of them for a client.
                eventually("few services of clients that are gone", || count() <= EACH);
            }
            limited(&user, "registers").kill();
            user.run("honest");
        }
    }
}

#[test]
fn clients_are_bounded() {
    /// A sixteenth of the server's descriptors.
    const CLIENTS: usize = EACH / 2;
    if role().is_some() {
        match bootstrap::port(me()) {
            Ok(_) => say("in"),
            Err(error) => {
                assert_eq!(error.code(), Code::SEND_INVALID_DEST);
                say(&error.to_string());
            }
        }
        listen();
        return;
    }
    let user = User::new("clients_are_bounded");
    let mut all = vec![limited(&user, "asks")];
    all[0].hears("in");
    while all.len() < CLIENTS {
        all.push(user.start("asks"));
        all.last_mut().expect("a task").hears("in");
    }
    let mut refused = user.start("asks");
    let said = refused.hear();
    assert!(said.contains("as many clients as it may"), "{said}");
    refused.succeeds();
    // One that ends makes room, once the server has heard of it.
    all.pop().expect("a task").succeeds();
    eventually("there is room", || {
        let mut task = user.start("asks");
        let said = task.hear();
        task.succeeds();
        assert!(said == "in" || said.contains("as many clients as it may"), "{said}");
        said == "in"
    });
}

/// A process that connects again and again, and keeps all it gets, is one client.
#[test]
fn a_process_is_one_client() {
    /// More than the server's descriptors would allow.
    const TIMES: usize = 10 * EACH;
    match role().as_deref() {
        Some("again") => {
            let address = bootstrap::Address::find().expect("an address");
            let _right = bootstrap::port(me()).expect("the name server");
            let mut got = Vec::new();
            let refused = (0..TIMES).find_map(|_| match bootstrap::contact::greet(&address.socket) {
                Ok(right) => {
                    got.push(right);
                    None
                }
                Err(error) => Some(error.to_string()),
            });
            let refused = refused.expect("a limit");
            assert!(!got.is_empty() && refused.contains("as many clients as it may"), "{refused}");
            say("refused");
            listen();
            // What is given up makes room.
            drop(got);
            eventually("there is room", || bootstrap::contact::greet(&address.socket).is_ok());
        }
        Some("honest") => assert!(registered("honest") > 0),
        Some(_) => {
            bootstrap::port(me()).expect("the name server");
        }
        None => {
            let user = User::new("a_process_is_one_client");
            limited(&user, "starts the server").succeeds();
            let mut again = user.start("again");
            again.hears("refused");
            assert!(user.descriptors() < 4 * EACH, "{} descriptors", user.descriptors());
            user.run("honest");
            again.tell("give up");
            again.succeeds();
        }
    }
}

/// It may lack descriptors: a second server must not take its socket. One that ended is gone.
#[test]
fn a_server_that_drops_connections_is_there() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("socket");
    let listener = || {
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("a socket");
        bind(&socket, &SocketAddrUnix::new(&path).expect("a path")).expect("a name");
        listen_at(&socket, 8).expect("it listens");
        socket
    };
    let greet = || bootstrap::contact::greet(&path).expect_err("nobody answers");
    let (drops, ends) = std::thread::scope(|threads| {
        let server = listener();
        threads.spawn(move || (0..2).for_each(|_| drop(accept(&server).expect("a connection"))));
        let drops = greet();
        fs::remove_file(&path).expect("its name");
        let server = listener();
        threads.spawn(|| {
            let connection = accept(&server).expect("a connection");
            fs::remove_file(&path).expect("its name");
            drop((server, connection));
        });
        (drops, greet())
    });
    assert!(matches!(drops, Failed::Other(_)), "{drops}");
    assert!(matches!(ends, Failed::Nobody), "{ends}");
}
