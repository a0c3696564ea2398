//! Mach IPC: spaces, ports, rights and messages.
//!
//! * [`abi`]: Mach's numbers. * [`state`]: what a process knows of Mach, as bookkeeping without I/O.
//! * [`io`]: that state connected to other processes. * [`msg`]: `mach_msg`. * [`task`]: the calls of a task.
//! * [`rights`]: rights as owned values, for programs in Rust. * [`mig`]: what stubs in Rust are made of.
//! * [`special`]: ports that stand for a task, thread or host. * [`trap`]: calls in place of messages, between tasks of one process.
//! * [`bootstrap`]: the name server as its clients see it. * [`process`]: the one lock, and fork.
//! * [`guest`]: this crate in the file of a task that shares its process with others.

#![allow(clippy::vec_box, clippy::boxed_local, reason = "messages stay boxed on their whole way: a queue moves pointers")]

// What mig makes calls this crate by its name.
extern crate self as slipway_ports;

pub mod abi;
pub mod bootstrap;
pub mod guest;
pub mod io;
pub mod mig;
pub mod msg;
pub mod process;
pub mod rights;
pub mod settings;
mod signals;
pub mod special;
pub mod state;
pub mod task;
pub mod trap;

/// Memory by address, and atomics, for the faces of this crate.
pub use slipway_fabric::sync::{AtomicPtr, AtomicU32, Ordering, pages};
