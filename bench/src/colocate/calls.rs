//! Calls of the client, which is one of the C programs `stubs/colocate_*.c` or the one in Rust, to servers, which are threads
//! that end with their process.
#![allow(unsafe_code, reason = "functions in C")]

use super::rust;
use crate::harness::exchange::Exchange;
use crate::harness::job::Job;
use crate::harness::link::Link;
use crate::meet::{Ends, outcome, serve_beside, served};
use anyhow::{Context, bail, ensure};
use std::ffi::c_int;

// SAFETY: the functions of `stubs/`. They take any number, and what they share with other threads is atomic.
unsafe extern "C" {
    /// A call to `server`, in the way of that number.
    safe fn colocate_call(test: c_int, way: c_int, server: u32, turn: c_int) -> c_int;
    /// Has calls at a port of the calling thread's task made by trap.
    safe fn colocate_register(port: u32, concurrent: c_int) -> c_int;
    /// Tells the server where to make its own calls: a name in its task.
    safe fn colocate_other(port: u32);
    /// Answers calls at `port`, without end.
    safe fn colocate_serve(port: u32) -> c_int;
}

/// How a client calls.
enum Way {
    /// As C does: by stubs, by those that ask for a trap first, plainly, through a table.
    C(c_int),
    /// As Rust does.
    Rust(Box<rust::Client>),
}

/// The client's end.
pub struct Calls {
    way: Way,
    server: u32,
    test: c_int,
    turn: u64,
    /// Calls that must be traps.
    traps: Option<Traps>,
}

impl Calls {
    /// Those of a job to `server`.
    pub fn new(job: &Job, server: u32) -> Self {
        let way = match &*job.case.method.name {
            "trap-rust" => Way::Rust(Box::new(rust::Client::new(server))),
            "message-trap-stubs" | "trap" | "trap-concurrent" => Way::C(1),
            "plain" => Way::C(2),
            "virtual" => Way::C(3),
            _ => Way::C(0),
        };
        Self { way, server, test: job.case.bench.number(job.case.test), turn: 0, traps: None }
    }
}

impl Exchange for Calls {
    #[inline]
    fn round_trip(&mut self) -> anyhow::Result<()> {
        self.turn += 1;
        let turn = self.turn as c_int;
        let way = match &mut self.way {
            Way::C(way) => *way,
            Way::Rust(client) => return client.call(self.test, turn),
        };
        let code = colocate_call(self.test, way, self.server, turn);
        if code == 0 { Ok(()) } else { outcome("the call", code) }
    }

    fn check(&self) -> anyhow::Result<()> {
        self.traps.as_ref().map_or(Ok(()), |traps| traps.check(self.turn))
    }
}

/// Calls to another task, of this process or of the other.
pub fn calls(link: &mut Link, job: &Job, in_one_process: bool) -> anyhow::Result<Box<dyn Exchange>> {
    let answers = |method: String| {
        move |ends: Ends| {
            match &*method {
                // What is not asked for does not matter to stubs that don't ask.
                "trap" | "message-trap-stubs" | "message-registered" => register(ends.own, false)?,
                "trap-concurrent" => register(ends.own, true)?,
                "trap-rust" => return rust::serve(ends.own),
                _ => {}
            }
            outcome("mach_msg_server", colocate_serve(ends.own))
        }
    };
    let (method, test) = (&job.case.method.name, job.case.test);
    let serve = answers(method.clone());
    served(
        (link, job, in_one_process),
        |_, ends| Ok(ends),
        move |ends| {
            colocate_other(ends.other);
            serve(ends)
        },
        |ends, server| {
            // The server's own calls come here.
            let own_calls = (test.name == "own-call").then_some((ends, u64::from(test.each)));
            if own_calls.is_some() {
                let serve = answers(method.clone());
                serve_beside(ends.task, job.cpu, move || serve(ends))?;
            }
            let mut calls = Calls::new(job, ends.other);
            let Some(server) = server else { return Ok(Box::new(calls)) };
            // A few calls by message, after which the servers' threads wait: a trap needs that.
            let way = std::mem::replace(&mut calls.way, Way::C(0));
            for _ in 0..100 {
                std::thread::yield_now();
                calls.round_trip()?;
            }
            calls.way = way;
            if method != "one-process" {
                settle(&mut calls, &[Some((server, 1)), own_calls])?;
            }
            Ok(Box::new(calls))
        },
    )
}

fn register(port: u32, concurrent: bool) -> anyhow::Result<()> {
    outcome("mach_port_register_traps", colocate_register(port, concurrent.into()))
}

/// The ports that are called by trap, with what they had when the client had made so many calls.
struct Traps {
    ports: Vec<Trapped>,
    turns: u64,
}

struct Trapped {
    ends: Ends,
    /// Calls in each of the client's.
    each: u64,
    before: u64,
}

/// Waits until all calls are traps: from the first one on, if nobody else sends messages.
fn settle(calls: &mut Calls, called: &[Option<(Ends, u64)>]) -> anyhow::Result<()> {
    let port = |&(ends, each): &(Ends, u64)| Ok(Trapped { ends, each, before: trap_calls(ends)? });
    for _ in 0..10_000 {
        let ports = called.iter().flatten().map(port).collect::<anyhow::Result<_>>()?;
        calls.traps = Some(Traps { ports, turns: calls.turn });
        calls.round_trip()?;
        if calls.check().is_ok() {
            return Ok(());
        }
        std::thread::yield_now();
    }
    bail!("the server does not come to wait for calls")
}

impl Traps {
    /// Fails unless all calls of a client that has made so many were traps.
    fn check(&self, turns: u64) -> anyhow::Result<()> {
        let made = turns - self.turns;
        for Trapped { ends, each, before } in &self.ports {
            let (due, traps) = (made * each, trap_calls(*ends)? - before);
            ensure!(traps == due, "{traps} of {due} calls were traps, so that something else was measured");
        }
        Ok(())
    }
}

/// How many traps were made at a port of this process.
fn trap_calls(ends: Ends) -> anyhow::Result<u64> {
    ends.task.trap_calls(ends.own).context("nothing is registered at the port")
}
