//! X servers for tests, and what Slipway says of them.

use super::build::{scratch, set_mode};
use super::process::{self, Mode, PATIENCE, Running};
use serde_json::Value;
use slipway_test_support::NameServer;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;
use tempfile::TempDir;

/// Displays are taken upwards from SLIPWAY_TEST_DISPLAY, or from this one.
const FIRST_DISPLAY: u32 = 400;
/// Bytes that a client has sent, at most, before its first request: its set-up with a cookie.
const SET_UP: u64 = 48;
/// How many displays are tried, in case others use some of them.
const TRIES: u32 = 64;

/// An X server of a test's own. Dropping it ends it, and fails the test if it didn't end well.
pub struct Server {
    number: u32,
    running: Running,
    // For its hub socket.
    runtime: Arc<TempDir>,
    /// The name server that it and its clients use, if they go over ports.
    pub names: Option<(NameServer, TempDir)>,
    /// It has ended as a test wanted it to.
    over: bool,
}

/// One connection, as `slipway x11 status --json` gives it.
#[derive(Debug, PartialEq)]
pub struct Connection {
    pub pid: u32,
    pub name: String,
    pub ring: bool,
    pub ports: bool,
    pub bytes_in: u64,
    pub bytes_out: u64,
}

impl Server {
    /// Xvfb with a 640x480 screen, which stays as it is between clients.
    pub fn start(mode: Mode) -> Server {
        Server::with(mode, &["-noreset"])
    }

    /// Xvfb with these arguments.
    pub fn with(mode: Mode, args: &[&str]) -> Server {
        let names = (mode == Mode::Ports).then(|| {
            let dir = scratch();
            (NameServer::start(&dir.path().join("names")), dir)
        });
        let mut server = Server::try_displays(|number| {
            let mut command = mode.command("Xvfb");
            command.arg(format!(":{number}")).args(["-screen", "0", "640x480x24"]).args(args);
            names.iter().for_each(|(names, _)| _ = names.used_by(&mut command));
            command
        });
        server.names = names;
        server
    }

    /// The X server that `make` gives a command for, on the first free display.
    pub fn try_displays(make: impl Fn(u32) -> Command) -> Server {
        let runtime = runtime_dir();
        let mut last = None;
        for _ in 0..TRIES {
            let number = next_display();
            let mut command = make(number);
            command.args(["-displayfd", "1"]).env("SLIPWAY_RUNTIME_DIR", runtime.path());
            let mut running = Running::start(command);
            // It says its number once clients may connect.
            if running.next_line().is_some_and(|line| line == number.to_string()) {
                return Server { number, running, runtime, names: None, over: false };
            }
            last = Some(running);
        }
        match last {
            Some(mut running) => running.fail("found no free display"),
            None => unreachable!("at least one display is tried"),
        }
    }

    /// Its DISPLAY.
    pub fn display(&self) -> String {
        format!(":{}", self.number)
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Its process id: `slipway x11` becomes the program that it starts.
    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Waits until it has ended, which a client has asked it to do, or a signal has done.
    pub fn ends(&mut self) -> bool {
        self.over = true;
        self.running.ends().success()
    }

    /// Gives it a line of input.
    pub fn say(&mut self, line: &str) {
        self.running.say(line);
    }

    /// What it, or its hooks, printed to standard error.
    pub fn errors(&mut self) -> &str {
        self.running.errors()
    }

    /// A command for a client of this server.
    pub fn client(&self, mode: Mode, program: &str) -> Command {
        let mut command = mode.command(program);
        self.address(&mut command);
        command
    }

    /// Sets the environment by which a program finds this server and its hub.
    pub fn address(&self, command: &mut Command) {
        command.env("DISPLAY", self.display()).env("SLIPWAY_RUNTIME_DIR", self.runtime.path());
        self.names.iter().for_each(|(names, _)| _ = names.used_by(command));
    }

    /// Starts a client of this server.
    pub fn run(&self, mode: Mode, program: &str, args: &[&str]) -> Running {
        let mut command = self.client(mode, program);
        command.args(args);
        Running::start(command)
    }

    /// Runs a client to its end and gives what it printed.
    pub fn output(&self, mode: Mode, program: &str, args: &[&str]) -> String {
        self.run(mode, program, args).succeed()
    }

    /// What `slipway x11 status --json` says of this server.
    pub fn status(&self) -> Value {
        let mut command = process::slipway();
        command.args(["x11", "status", "--json"]);
        self.address(&mut command);
        let printed = Running::start(command).succeed();
        let status = serde_json::from_str(&printed);
        status.unwrap_or_else(|e| panic!("status --json is not JSON: {e}\n{printed}"))
    }

    /// Its connections.
    pub fn connections(&self) -> Vec<Connection> {
        let status = self.status();
        let list = status["servers"][0]["connections"].as_array();
        let list = list.unwrap_or_else(|| panic!("status without connections: {status}"));
        list.iter().map(connection).collect()
    }

    /// The connection of a client named `name`, which `client` is or has started. A client may
    /// print before it has a connection, so this asks until there is one.
    pub fn connection_of(&self, client: &mut Running, name: &str) -> Connection {
        self.connection_where(client, name, |_| true)
    }

    /// Asks until the client has a connection that is as `wanted`.
    fn connection_where(&self, client: &mut Running, name: &str, wanted: impl Fn(&Connection) -> bool) -> Connection {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let connections = self.connections();
            let found = connections.iter().position(|c| c.name.starts_with(name) && wanted(c));
            if let Some(at) = found {
                return connections.into_iter().nth(at).expect("it was found there");
            }
            if !client.alive() || Instant::now() > deadline {
                client.fail(&format!("has no such connection '{name}' in {connections:?}"));
            }
        }
    }

    /// Fails unless the client named `name` goes over ports.
    pub fn expect_ports(&self, client: &mut Running, name: &str) {
        self.connection_where(client, name, |c| c.ports && c.bytes_in > 0 && c.bytes_out > 0);
    }

    /// Fails unless the client named `name` has a ring, or has none, as `ring` says.
    pub fn expect_ring(&self, client: &mut Running, name: &str, ring: bool) {
        if ring {
            // Every connection begins on its socket and moves over with its first requests, which
            // are counted before they are answered.
            self.connection_where(client, name, |c| c.ring && c.bytes_in > 0 && c.bytes_out > 0);
        } else {
            let found = self.connection_where(client, name, |c| c.bytes_in > SET_UP);
            if found.ring {
                client.fail(&format!("should have no ring: {found:?}"));
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.over {
            let status = self.running.terminate();
            assert!(status.success(), "the server: {status}\n{}", self.running.errors());
        }
    }
}

fn connection(from: &Value) -> Connection {
    let number = |key: &str| from[key].as_u64().unwrap_or_else(|| panic!("connection without the number {key}: {from}"));
    let text = |key: &str| from[key].as_str().unwrap_or_else(|| panic!("connection without the text {key}: {from}"));
    let ring = match text("transport") {
        "ring" => true,
        "socket" | "ports" => false,
        other => panic!("unknown transport {other}"),
    };
    Connection {
        pid: number("pid").try_into().expect("a process id"),
        name: text("name").to_owned(),
        ring,
        ports: text("transport") == "ports",
        bytes_in: number("bytes_in"),
        bytes_out: number("bytes_out"),
    }
}

/// Where all servers of this process have their hub sockets, so that one can be the client of
/// another: a directory apart from the user's own, removed with the last of them.
fn runtime_dir() -> Arc<TempDir> {
    static DIR: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());
    let mut dir = DIR.lock().unwrap_or_else(PoisonError::into_inner);
    dir.upgrade().unwrap_or_else(|| {
        let made = Arc::new(scratch());
        // The hooks refuse a directory that others can look into.
        set_mode(made.path(), 0o700);
        *dir = Arc::downgrade(&made);
        made
    })
}

/// A display that no other run of these tests has, for a server that can't be tried on one after the other. `n` below 10 is the
/// test's own in its program.
pub fn own_display(n: u32) -> u32 {
    1000 + 10 * (std::process::id() % 5000) + n
}

fn next_display() -> u32 {
    static NEXT: Mutex<Option<u32>> = Mutex::new(None);
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    let first = || {
        let given = std::env::var("SLIPWAY_TEST_DISPLAY").ok();
        given.map_or(FIRST_DISPLAY, |n| n.parse().expect("SLIPWAY_TEST_DISPLAY is a number"))
    };
    let number = next.unwrap_or_else(first);
    *next = Some(number + 1);
    number
}
