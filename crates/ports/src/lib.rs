//! Mach IPC: spaces, ports, rights and messages.
//!
//! * [`abi`]: Mach's numbers. * [`state`]: what a process knows of Mach, as bookkeeping without I/O.
//! * [`io`]: that state connected to other processes. * [`msg`]: `mach_msg`. * [`task`]: the calls of a task.
//! * [`process`]: the one lock, and fork.

pub mod abi;
pub mod io;
pub mod msg;
pub mod process;
pub mod settings;
mod signals;
pub mod state;
pub mod task;
