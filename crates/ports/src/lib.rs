//! Mach IPC: spaces, ports, rights and messages.
//!
//! * [`abi`]: what libmach and its callers agree on. * [`state`]: what a process knows of Mach, as bookkeeping without I/O.
//! * [`io`]: that state connected to other processes. * [`msg`]: `mach_msg`. * [`task`]: the calls of a task.
//! * [`special`]: ports that stand for a task, thread or host. * [`trap`]: calls in place of messages, between tasks of one process.
//! * [`process`]: the one lock, and fork.
//!
//! Programs don't use this crate: they call it through libmach, in C or by `slipway-mach`. There is one copy of it in a process.

#![allow(clippy::vec_box, clippy::boxed_local, reason = "messages stay boxed on their whole way: a queue moves pointers")]

pub mod io;
pub mod msg;
pub mod process;
pub mod settings;
mod signals;
pub mod special;
pub mod state;
pub mod task;
pub mod trap;

pub use slipway_abi as abi;
/// Memory by address, and atomics, for the faces of this crate.
pub use slipway_fabric::sync::{AtomicPtr, AtomicU32, Ordering, pages};
