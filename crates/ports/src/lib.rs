//! Mach IPC: spaces, ports, rights and messages.
//!
//! The modules are layers, each of which knows those before it: docs/architecture.md lists them, and `tests/layers` holds it.
//!
//! Programs don't use this crate: they call it through libmach, in C or by `slipway-mach`. There is one copy of it in a process.

#![allow(clippy::vec_box, clippy::boxed_local, reason = "messages stay boxed on their whole way: a queue moves pointers")]

pub mod account;
mod at_end;
pub mod attributes;
pub mod cancellation;
mod closer;
mod descriptors;
pub mod dialect;
pub mod dispatch;
pub mod exceptions;
pub mod inspect;
mod lending;
pub mod lent;
pub mod line;
pub mod lock;
pub mod mapped;
pub mod msg;
pub mod objects;
pub mod process;
pub mod routes;
pub mod semaphore;
mod semaphores;
pub mod settings;
mod signals;
pub mod special;
pub mod state;
pub mod task;
pub mod trap;
mod traps;
pub mod wait;
pub mod waiting;
mod watcher;
pub mod wire;

pub use slipway_abi as abi;
/// Memory by address, and atomics, for the faces of this crate.
pub use slipway_fabric::sync::{AtomicPtr, AtomicU32, FutexWord, Mutex, MutexGuard, Ordering, Slept, pages};
