//! The client, which is one of the C programs `stubs/colocate_*.c` or the one in Rust; and the servers in C.
#![allow(unsafe_code, reason = "functions in C")]

use super::rust;
use anyhow::{bail, ensure};
use slipway_fabric::sync::{AtomicBool, Ordering};
use std::ffi::c_int;
use std::marker::PhantomData;

// The library that the C programs call; see `include/mach`.
extern crate mach as _;

unsafe extern "C" {
    fn colocate_call(test: c_int, way: c_int, server: u32, turn: c_int) -> c_int;
    fn colocate_register(port: u32, concurrent: c_int) -> c_int;
    fn colocate_other(port: u32);
    fn colocate_serve(port: u32) -> c_int;
}

/// The only client of this process: its buffers are static. It stays in its thread.
pub struct Client {
    turn: u64,
    way: Way,
    _stays: PhantomData<*const ()>,
}

/// How a client calls.
enum Way {
    /// As C does, in the way of that number.
    C(c_int),
    /// As Rust does, from the first call on.
    Rust(Option<Box<rust::Client>>),
}

impl Way {
    fn of(method: &str) -> anyhow::Result<Self> {
        Ok(match method {
            "trap-rust" => Self::Rust(None),
            "message" | "message-registered" | "message-sleep" | "one-process" => Self::C(0),
            "message-trap-stubs" | "trap" | "trap-concurrent" => Self::C(1),
            "plain" => Self::C(2),
            "virtual" => Self::C(3),
            _ => bail!("no method of these programs: {method}"),
        })
    }
}

static CLIENT: AtomicBool = AtomicBool::new(false);

impl Client {
    /// The client, for whoever asks first.
    pub fn take(method: &str) -> anyhow::Result<Self> {
        ensure!(!CLIENT.swap(true, Ordering::Relaxed), "there is one already");
        Ok(Self { turn: 0, way: Way::of(method)?, _stays: PhantomData })
    }

    /// Has it call in another way.
    pub fn change(&mut self, method: &str) -> anyhow::Result<()> {
        self.way = Way::of(method)?;
        Ok(())
    }

    /// How many calls it has made.
    pub fn turns(&self) -> u64 {
        self.turn
    }

    /// One call to `server`, the same one from a change of the method to the next.
    #[inline]
    pub fn call(&mut self, test: c_int, server: u32) -> anyhow::Result<()> {
        self.turn += 1;
        let turn = self.turn as c_int;
        let way = match &mut self.way {
            Way::C(way) => *way,
            Way::Rust(client) => return client.get_or_insert_with(|| Box::new(rust::Client::new(server))).call(test, turn),
        };
        // SAFETY: this is the only client, so nobody else uses the static buffers.
        let code = unsafe { colocate_call(test, way, server, turn) };
        if code == 0 { Ok(()) } else { outcome("the call", code) }
    }
}

/// Has calls at a port of the calling thread's task made by trap.
pub fn register(port: u32, concurrent: bool) -> anyhow::Result<()> {
    // SAFETY: the table that is registered is a constant, and its routines are those of `colocate.defs`.
    outcome("mach_port_register_traps", unsafe { colocate_register(port, concurrent.into()) })
}

/// Tells the server where to make its own calls: a name in its task.
pub fn tell_other(port: u32) {
    // SAFETY: the server's thread, which alone reads it, starts later.
    unsafe { colocate_other(port) };
}

/// Answers calls at `port`, without end.
pub fn serve(port: u32) -> anyhow::Result<()> {
    // SAFETY: the routines have no state that two threads would use at once: a process has one that is called.
    outcome("mach_msg_server", unsafe { colocate_serve(port) })
}

fn outcome(what: &str, code: c_int) -> anyhow::Result<()> {
    ensure!(code == 0, "{what}: {}", slipway_mach::abi::Code(code));
    Ok(())
}
