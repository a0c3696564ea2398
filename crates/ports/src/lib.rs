//! Mach IPC: spaces, ports, rights and messages.
//!
//! The modules are layers, each of which knows those before it (`tests/layers` holds that):
//!
//! * [`abi`]: what libmach and its callers agree on; [`settings`]; [`dialect`]; [`semaphore`].
//! * [`state`]: what a process knows of Mach, as bookkeeping without I/O.
//! * [`objects`]: the kernel's objects behind rights; [`lent`]: memory that messages take along without a copy; [`account`]: what is held for a peer; [`mapped`]: memory of its that came before. * [`wire`]: what travels. * [`mod@line`]: one line. * [`routes`]: ports
//!   between processes. * [`waiting`]: which threads wait. * [`dispatch`]: what arrives. * [`inspect`]: what a process tells of its ports.
//! * [`lock`]: the process's one lock. * [`wait`]: waiting, which releases it; `watcher`: the library's own thread.
//! * [`msg`]: `mach_msg`. * [`trap`]: calls in place of messages, between tasks of one process.
//! * [`process`]: start, fork and exit.
//! * [`task`]: the calls of a task; [`attributes`]: contexts, guards; [`special`]: its special ports, and those of its threads and the host; `lending`; `traps`: its routines; `semaphores`.
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
