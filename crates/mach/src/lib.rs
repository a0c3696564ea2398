//! Mach for programs in Rust, above libmach's C functions.
//!
//! * [`rights`]: rights as owned values. * [`mig`]: what stubs in Rust are made of. * [`bootstrap`]: the name server as its clients see it.
//! * [`task`]: a task's calls. * [`trap`]: calls in place of messages. * [`sys`]: libmach's functions, as C has them.
//! * [`abi`]: Mach's numbers.
//!
//! libmach itself is not in this crate. A program depends on `slipway-libmach`, too, and links it with one line in any of its modules:
//!
//! ```ignore
//! use mach as _;
//! ```
//!
//! A task (`slipway_domain::task_main!`) must not have that line: its functions are found in its process when it is loaded, and are the
//! same for all tasks there. A file with a libmach of its own is not loaded as a task. A feature of this crate in place of the line would not do:
//! Cargo gives it to all crates of a workspace that are built together, tasks included.

// What mig makes calls this crate by its name.
extern crate self as slipway_mach;

#[cfg(test)]
use mach as _;

pub mod bootstrap;
pub mod mig;
pub mod rights;
pub mod sys;
pub mod task;
pub mod trap;

pub use slipway_abi as abi;
pub use slipway_abi::call::{Request, Special};
