//! The C programs of `stubs/`: calls by mig's stubs, and bare messages.
#![allow(unsafe_code, reason = "functions in C")]

use anyhow::{Context, ensure};
use slipway_fabric::sync::{AtomicBool, Ordering};
use std::ffi::c_int;
use std::marker::PhantomData;

// The library that the C programs call; see `include/mach`.
extern crate mach as _;

unsafe extern "C" {
    fn rpc_call(test: c_int, server: u32, turn: c_int) -> c_int;
    fn rpc_serve(port: u32) -> c_int;
    fn rpc_bare_call(server: u32, own: u32, once: c_int, there: u32, back: u32, turn: c_int) -> c_int;
    fn rpc_bare_serve(own: u32, client: u32, once: c_int, there: u32, back: u32) -> c_int;
    fn rpc_loop(test: c_int, turn: c_int, times: c_int) -> c_int;
}

/// What a bare message is like.
#[derive(Debug, Clone, Copy)]
pub struct Bare {
    /// Whether it is answered by a send-once right that it brings.
    pub once: bool,
    /// Bytes there and back.
    pub bytes: (usize, usize),
}

/// The only client of this process: its buffers are static. It stays in its thread.
pub struct Client {
    turn: c_int,
    _stays: PhantomData<*const ()>,
}

/// The only server of this process, likewise; it may be taken to another thread before it serves.
pub struct Server(());

static CLIENT: AtomicBool = AtomicBool::new(false);
static SERVER: AtomicBool = AtomicBool::new(false);

fn only(taken: &AtomicBool) -> anyhow::Result<()> {
    ensure!(!taken.swap(true, Ordering::Relaxed), "there is one already");
    Ok(())
}

impl Client {
    /// The client, for whoever asks first.
    pub fn take() -> anyhow::Result<Self> {
        only(&CLIENT)?;
        Ok(Self { turn: 0, _stays: PhantomData })
    }

    fn next(&mut self) -> c_int {
        self.turn = self.turn.wrapping_add(1) & c_int::MAX;
        self.turn
    }

    /// One call to `server`.
    pub fn call(&mut self, test: c_int, server: u32) -> anyhow::Result<()> {
        let turn = self.next();
        // SAFETY: this is the only client, so nobody else uses the static buffers.
        outcome("the call", unsafe { rpc_call(test, server, turn) })
    }

    /// One message to `server`, and its answer at `own`.
    pub fn message(&mut self, server: u32, own: u32, bare: Bare) -> anyhow::Result<()> {
        let turn = self.next();
        let (there, back) = (bare.bytes.0 as u32, bare.bytes.1 as u32);
        // SAFETY: as above; the buffer has room for the longest of the tests' messages, which the tests give.
        outcome("mach_msg", unsafe { rpc_bare_call(server, own, bare.once.into(), there, back, turn) })
    }
}

impl Server {
    /// The server, for whoever asks first.
    pub fn take() -> anyhow::Result<Self> {
        only(&SERVER)?;
        Ok(Self(()))
    }

    /// Answers calls at `port`, without end.
    pub fn serve(self, port: u32) -> anyhow::Result<()> {
        // SAFETY: this is the only server, so nobody else uses the static variables.
        outcome("mach_msg_server", unsafe { rpc_serve(port) })
    }

    /// Answers messages at `own` with others to `client`, or by the rights that they bring, without end.
    pub fn answer(self, own: u32, client: u32, bare: Bare) -> anyhow::Result<()> {
        let (there, back) = (bare.bytes.0 as u32, bare.bytes.1 as u32);
        // SAFETY: as above; the buffer has room for the longest of the tests' messages.
        outcome("mach_msg", unsafe { rpc_bare_serve(own, client, bare.once.into(), there, back) })
    }
}

/// Both, with a mach_msg that takes a reply that lies ready. All is done [`TIMES`] times over.
pub struct Looped {
    client: Client,
    _server: Server,
    test: c_int,
}

/// How often.
pub const TIMES: c_int = 1000;

/// Beside the tests' numbers: what that mach_msg does, and nothing else; and the server's stub.
const COPY: c_int = 10;
const SERVE: c_int = -1;

impl Looped {
    /// Both of them, and calls of `test`, so that there is a request and a reply.
    pub fn take(test: c_int) -> anyhow::Result<Self> {
        let mut looped = Self { client: Client::take()?, _server: Server::take()?, test };
        looped.client.next();
        looped.call().context("the first calls")?;
        Ok(looped)
    }

    fn run(&mut self, what: &str, number: c_int) -> anyhow::Result<()> {
        // Each reply is the first one, so is each turn.
        let turn = self.client.turn;
        // SAFETY: these are the only client and the only server, so nobody else uses the static buffers.
        outcome(what, unsafe { rpc_loop(number, turn, TIMES) })
    }

    /// Calls.
    pub fn call(&mut self) -> anyhow::Result<()> {
        self.run("the call", self.test)
    }

    /// What that mach_msg does, for a reply as long as the last.
    pub fn copy(&mut self) -> anyhow::Result<()> {
        self.run("the copy", COPY)
    }

    /// The server's stub, for a request like the last.
    pub fn serve(&mut self) -> anyhow::Result<()> {
        self.run("the server's stub", SERVE)
    }
}

fn outcome(what: &str, code: c_int) -> anyhow::Result<()> {
    ensure!(code == 0, "{what}: {}", slipway_mach::abi::Code(code));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meet::{serve_beside, two_tasks};

    /// Every call, every bare message, and both without messages: the one test, as there is one client in a process.
    #[test]
    fn calls_and_messages_are_answered() {
        let mut looped = Looped::take(0).unwrap();
        for test in 0..COPY {
            looped.test = test;
            for _ in 0..3 {
                looped.call().unwrap_or_else(|error| panic!("{test}: {error:#}"));
                looped.copy().unwrap();
                looped.serve().unwrap();
            }
        }
        assert!(Client::take().is_err() && Server::take().is_err());

        let Looped { mut client, _server: server, .. } = looped;
        let (ours, theirs) = two_tasks().unwrap();
        let cpu = crate::harness::machine::Cores::choose().unwrap().first;
        serve_beside(theirs.task, cpu, move || server.serve(theirs.own)).unwrap();
        ours.task.enter();
        for test in 0..COPY {
            client.call(test, ours.other).unwrap_or_else(|error| panic!("{test}: {error:#}"));
        }
        let error = client.call(0, ours.own + 0x1000).unwrap_err().to_string();
        assert!(error.contains("INVALID_DEST"), "{error}");
    }
}
