//! The C programs `stubs/colocate_*.c`.
#![allow(unsafe_code, reason = "functions in C")]

use super::cases::{Method, Test};
use anyhow::{Context, ensure};
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
    way: c_int,
    _stays: PhantomData<*const ()>,
}

static CLIENT: AtomicBool = AtomicBool::new(false);

impl Client {
    /// The client, for whoever asks first.
    ///
    /// # Errors
    /// When somebody has it, or the method is another program's.
    pub fn take(method: Method) -> anyhow::Result<Self> {
        ensure!(!CLIENT.swap(true, Ordering::Relaxed), "there is one already");
        Ok(Self { turn: 0, way: method.number().context("no method of these programs")?, _stays: PhantomData })
    }

    /// Has it call in another way.
    ///
    /// # Errors
    /// When the method is another program's.
    pub fn change(&mut self, method: Method) -> anyhow::Result<()> {
        self.way = method.number().context("no method of these programs")?;
        Ok(())
    }

    /// How many calls it has made.
    pub fn turns(&self) -> u64 {
        self.turn
    }

    /// One call to `server`.
    ///
    /// # Errors
    /// What the stub returned, or that what came back is not what is due.
    #[inline]
    pub fn call(&mut self, test: Test, server: u32) -> anyhow::Result<()> {
        self.turn += 1;
        // SAFETY: this is the only client, so nobody else uses the static buffers.
        let code = unsafe { colocate_call(test as c_int, self.way, server, self.turn as c_int) };
        if code == 0 { Ok(()) } else { outcome("the call", code) }
    }
}

/// Has calls at a port of the calling thread's task made by trap.
///
/// # Errors
/// When the port is not the task's.
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
///
/// # Errors
/// What ended it.
pub fn serve(port: u32) -> anyhow::Result<()> {
    // SAFETY: the routines have no state that two threads would use at once: a process has one that is called.
    outcome("mach_msg_server", unsafe { colocate_serve(port) })
}

pub(super) fn outcome(what: &str, code: c_int) -> anyhow::Result<()> {
    ensure!(code == 0, "{what}: {}", slipway_ports::abi::Code(code));
    Ok(())
}
