//! The sampler in C and in Rust: each client with each server, in two processes that find each other by a name server,
//! and as tasks wherever the server may be.

#![allow(clippy::duplicate_mod, reason = "client and server are programs of their own, here in one")]

#[path = "../../../../examples/mig/sampler_client.rs"]
mod client;
mod damage;
mod placements;
mod programs;
mod replies;
mod same;
#[path = "../../../../examples/mig/sampler_server.rs"]
mod server;

use mach as _;
use programs::{Party, c_program, c_programs};
use slipway_test_support::NameServer;
use std::process::ExitCode;

/// The variable that tells a helper process its part.
const ROLE: &str = "SLIPWAY_TEST_ROLE";

/// In a helper: plays its part, and does not come back.
fn play() {
    match std::env::var(ROLE).as_deref() {
        Ok("client") => std::process::exit(i32::from(client::main() != ExitCode::SUCCESS)),
        Ok("damage") => {
            damage::report().iter().for_each(|line| println!("said {line}"));
            std::process::exit(0);
        }
        Ok("liar") => replies::serve(),
        Ok("caller") => {
            replies::call();
            std::process::exit(0);
        }
        Ok("server") => {
            let error = server::main();
            eprintln!("the server ended: {error:?}");
            std::process::exit(1);
        }
        _ => {}
    }
}

/// This program as one of the parties.
fn rust(role: &str) -> Party {
    Party::this_test("every_client_talks_to_every_server", ROLE, role)
}

#[test]
fn every_client_talks_to_every_server() {
    play();
    let directory = tempfile::tempdir().expect("make a directory");
    let (c_server, c_client) = c_programs(directory.path());
    for server in [&c_server, &rust("server")] {
        let names = NameServer::start(&directory.path().join("bootstrap"));
        let mut running = server.start(&names);
        for client in [&c_client, &rust("client")] {
            client.succeed(&names);
        }
        // Whatever was called, it still answers.
        c_client.succeed(&names);
        running.must_still_run();
    }
}

/// What a server says to damaged requests, line by line.
fn said_by(server: &Party, names: &NameServer) -> Vec<String> {
    let mut running = server.start(names);
    let said = rust("damage").output(names);
    running.must_still_run();
    said.lines().filter(|line| line.starts_with("said")).map(str::to_owned).collect()
}

#[test]
fn both_servers_say_the_same_of_damaged_requests() {
    let directory = tempfile::tempdir().expect("make a directory");
    let (c_server, _) = c_programs(directory.path());
    let names = |name| NameServer::start(&directory.path().join(name));
    let by_c = said_by(&c_server, &names("c"));
    let by_rust = said_by(&rust("server"), &names("rust"));
    assert!(by_c.len() > 1000 && by_c.len() == by_rust.len(), "{} and {} answers", by_c.len(), by_rust.len());
    for (c, rust) in by_c.iter().zip(&by_rust) {
        assert_eq!(c, rust, "C, and Rust");
    }
    // MIG_BAD_ARGUMENTS, as the reply has it.
    let refused = by_c.iter().filter(|line| line.ends_with("d0feffff00000000")).count();
    assert!((500..by_c.len() - 500).contains(&refused), "{refused} of {} were refused", by_c.len());
}

/// What a caller makes of damaged replies, line by line.
fn made_by(caller: &Party, names: &NameServer) -> Vec<String> {
    let mut running = rust("liar").start(names);
    let said = caller.output(names);
    running.must_still_run();
    let from = |line: &str| line.find("said").map(|at| line[at..].to_owned());
    said.lines().filter_map(from).collect()
}

#[test]
fn both_clients_make_the_same_of_damaged_replies() {
    let directory = tempfile::tempdir().expect("make a directory");
    let caller = c_program(directory.path(), &replies::ROUNDS.to_string());
    let names = |name| NameServer::start(&directory.path().join(name));
    let by_c = made_by(&caller, &names("c"));
    let by_rust = made_by(&rust("caller"), &names("rust"));
    assert!(by_c.len() == 12 * replies::ROUNDS && by_c.len() == by_rust.len(), "{} and {} calls", by_c.len(), by_rust.len());
    for (c, rust) in by_c.iter().zip(&by_rust) {
        assert_eq!(c, rust, "C, and Rust");
    }
    // Success, MIG_TYPE_ERROR, MIG_REPLY_MISMATCH, MIG_SERVER_DIED.
    for code in ["0", "-300", "-301", "-308"] {
        let found = by_c.iter().filter(|line| line.split(' ').nth(2) == Some(code)).count();
        assert!(found > 20, "{code} only {found} times");
    }
}
