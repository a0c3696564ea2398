//! `slipway-bench rpc`: calls by mig's stubs, beside bare messages and what was published for Mach.
//!
//! The tests are those of Hohmuth and Rudolph's table (null: an integer that is passed back; arrays of 16, 256 and 4095
//! longwords that are passed back) and of Lepreau's (nothing, 64 and 1024 bytes In, 1024 Out, 128 InOut), and four
//! integers each way. They are made between two processes and between two tasks in one process.
#![allow(unsafe_code, reason = "functions in C")]

use crate::harness::Code;
use crate::harness::exchange::{Exchange, idle};
use crate::harness::job::{Job, Side};
use crate::harness::link::Link;
use crate::meet::{Ends, outcome, served};
use anyhow::Context;
use std::ffi::c_int;

pub const CODE: Code = Code { name: "rpc", prepare, special: |_, _| Ok(()) };

// SAFETY: the functions of `stubs/`. They take any number; their buffers are a thread's own, and they look at lengths.
unsafe extern "C" {
    /// A call to `server`.
    safe fn rpc_call(test: c_int, server: u32, turn: c_int) -> c_int;
    /// Answers calls at `port`, without end.
    safe fn rpc_serve(port: u32) -> c_int;
    /// A message to `server`, and its answer at `own`, or by a send-once right.
    safe fn rpc_bare_call(server: u32, own: u32, once: c_int, there: u32, back: u32, turn: c_int) -> c_int;
    /// Answers messages at `own` with others to `client`, or by the rights that they bring, without end.
    safe fn rpc_bare_serve(own: u32, client: u32, once: c_int, there: u32, back: u32) -> c_int;
    /// A call with a mach_msg that takes a reply that lies ready, so many times; or one of the works below.
    safe fn rpc_loop(test: c_int, turn: c_int, times: c_int) -> c_int;
}

/// How often that is done; benches.toml divides by it.
const TIMES: c_int = 1000;
/// What that mach_msg does, and nothing else, for a reply as long as the last.
const COPY: c_int = 10;
/// The server's stub, for a request like the last.
const SERVE: c_int = -1;

fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Box<dyn Exchange>> {
    let method = &*job.case.method.name;
    let test = job.case.bench.number(job.case.test);
    match method {
        "client-stub" => return looped(job, test, test),
        "server-stub" => return looped(job, test, SERVE),
        "ready" => return looped(job, test, COPY),
        _ => {}
    }
    let bare = !method.starts_with("stubs");
    let once = c_int::from(method == "once");
    let (there, back) = (job.case.test.bytes.0 as u32, job.case.test.bytes.1 as u32);
    served(
        (link, job, method.ends_with("one-process")),
        |_, ends| Ok(ends),
        move |Ends { own, other, .. }| match bare {
            false => outcome("mach_msg_server", rpc_serve(own)),
            true => outcome("mach_msg", rpc_bare_serve(own, other, once, there, back)),
        },
        |Ends { own, other, .. }, _| {
            let mut turn: c_int = 0;
            let mut next = move || {
                turn = turn.wrapping_add(1) & c_int::MAX;
                turn
            };
            Ok(match bare {
                false => Box::new(move || outcome("the call", rpc_call(test, other, next()))),
                true => Box::new(move || outcome("mach_msg", rpc_bare_call(other, own, once, there, back, next()))),
            })
        },
    )
}

/// Stubs that need no message. The server's process lends its CPU.
fn looped(job: &Job, test: c_int, work: c_int) -> anyhow::Result<Box<dyn Exchange>> {
    if job.side == Side::Server {
        return idle();
    }
    // Each reply is the first one, so is each turn.
    let run = |work| move || outcome("the stubs", rpc_loop(work, 1, TIMES));
    run(test)().context("the first calls")?;
    Ok(Box::new(run(work)))
}
