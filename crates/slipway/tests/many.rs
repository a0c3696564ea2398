//! Many clients of one server: 200 programs that draw at once, and 1,000 connections that idle.

mod harness;

use harness::build::{c_program, scratch};
use harness::{Mode, Running, Server};
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test at a time: they measure the system's memory.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A command that starts `program` with room for as many descriptors as the system lets it have.
fn with_descriptors(mode: Mode, program: &str) -> std::process::Command {
    let mut command = mode.command("sh");
    command.args(["-c", r#"ulimit -n "$(ulimit -H -n)"; exec "$@""#, "sh", program]);
    command
}

/// Xvfb for `clients` clients.
fn server_for(mode: Mode, clients: &str) -> Server {
    Server::try_displays(|number| {
        let mut command = with_descriptors(mode, "Xvfb");
        command.args([&format!(":{number}"), "-noreset", "-maxclients", clients]);
        command
    })
}

/// A number of kibibytes, after `key` in the text of a file of /proc.
fn kib(file: &str, key: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("read {file}: {e}"));
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or_else(|| panic!("{file} has no {key}"))
}

/// Memory in use, in KiB: of the server, of it shared with its clients, of the system.
struct Memory {
    server: u64,
    shared: u64,
    system: u64,
}

impl Memory {
    fn now(server: u32) -> Memory {
        let status = format!("/proc/{server}/status");
        Memory {
            server: kib(&status, "VmRSS"),
            shared: kib(&status, "RssShmem"),
            system: kib("/proc/meminfo", "MemTotal") - kib("/proc/meminfo", "MemAvailable"),
        }
    }
}

fn report(what: &str, before: &Memory, after: &Memory) {
    println!("{what}, MiB before and with them:");
    let rows = [
        ("server", before.server, after.server),
        ("  of it shared", before.shared, after.shared),
        ("system", before.system, after.system),
    ];
    for (name, before, after) in rows {
        println!("  {name:15} {:7.1} {:7.1}", before as f64 / 1024.0, after as f64 / 1024.0);
    }
}

/// How many of the connections are on shared memory.
fn rings(server: &Server) -> usize {
    server.connections().iter().filter(|c| c.ring && c.name == "idle").count()
}

#[test]
fn two_hundred_programs_at_once() {
    const PROGRAMS: usize = 200;
    let _alone = alone();
    let dir = scratch();
    let idle = c_program("idle", dir.path(), &["-lX11"]);
    let idle = idle.to_str().expect("a path in UTF-8");
    for mode in [Mode::Plain, Mode::Hooked] {
        let server = server_for(mode, "512");
        let mut programs: Vec<Running> = (0..PROGRAMS).map(|_| server.run(mode, idle, &["1", "50"])).collect();
        programs.iter_mut().for_each(|program| drop(program.wait_line("ready")));
        if mode == Mode::Hooked {
            assert_eq!(rings(&server), PROGRAMS, "programs on shared memory");
        }
        // All of them at once.
        programs.iter_mut().for_each(|program| program.say("again"));
        programs.iter_mut().for_each(|program| drop(program.wait_line("ready")));
        programs.into_iter().for_each(|program| drop(program.succeed()));
        assert!(server.output(mode, "xdpyinfo", &[]).contains("MIT-SHM"), "it serves on, {mode:?}");
    }
}

#[test]
fn a_thousand_idle_connections() {
    const PROGRAMS: usize = 10;
    const EACH: usize = 100;
    let _alone = alone();
    let dir = scratch();
    let idle = c_program("idle", dir.path(), &["-lX11"]);
    for mode in [Mode::Plain, Mode::Hooked] {
        let server = server_for(mode, "2048");
        let before = Memory::now(server.pid());
        let mut programs: Vec<Running> = (0..PROGRAMS)
            .map(|_| {
                let mut command = with_descriptors(mode, idle.to_str().expect("a path in UTF-8"));
                command.args([EACH.to_string(), "1".to_owned()]);
                server.address(&mut command);
                Running::start(command)
            })
            .collect();
        programs.iter_mut().for_each(|program| drop(program.wait_line("ready")));
        let after = Memory::now(server.pid());
        report(&format!("{} idle connections, {mode:?}", PROGRAMS * EACH), &before, &after);
        if mode == Mode::Hooked {
            assert_eq!(rings(&server), PROGRAMS * EACH, "connections on shared memory");
        }
        // They have kept their places, and one more is served among them.
        programs.iter_mut().for_each(|program| program.say("again"));
        programs.iter_mut().for_each(|program| drop(program.wait_line("ready")));
        assert!(server.output(mode, "xdpyinfo", &[]).contains("MIT-SHM"), "it serves on, {mode:?}");
        programs.into_iter().for_each(|program| drop(program.succeed()));
    }
}

#[test]
#[ignore = "long: four servers, with as many clients as they have descriptors for"]
fn as_many_clients_as_without_hooks() {
    const LIMIT: usize = 300;
    let _alone = alone();
    let dir = scratch();
    let idle = c_program("idle", dir.path(), &["-lX11"]);
    // Above the server's own limit there is room, or none.
    for limit in ["-S -n", "-n"] {
        for mode in [Mode::Plain, Mode::Hooked] {
            let server = Server::try_displays(|number| {
                let mut command = mode.command("sh");
                command.args(["-c", &format!(r#"ulimit {limit} {LIMIT}; exec "$@""#), "sh", "Xvfb"]);
                command.args([&format!(":{number}"), "-noreset", "-maxclients", "512"]);
                command
            });
            // What the server has at its start, and a few that stay free.
            let clients = LIMIT - 15;
            let mut command = with_descriptors(mode, idle.to_str().expect("a path in UTF-8"));
            command.args([clients.to_string(), "2".to_owned()]);
            server.address(&mut command);
            let mut program = Running::start(command);
            let _ = program.wait_line("ready");
            if (mode, limit) == (Mode::Hooked, "-S -n") {
                assert_eq!(rings(&server), clients, "all on shared memory");
            }
            assert!(server.output(mode, "xdpyinfo", &[]).contains("MIT-SHM"), "it serves on, {mode:?}, {limit}");
            program.say("again");
            let _ = program.wait_line("ready");
            let _ = program.succeed();
        }
    }
}
