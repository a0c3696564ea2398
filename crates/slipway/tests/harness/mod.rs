//! What all tests here share: programs under a watchdog, a clean environment, X servers, screenshots.
//!
//! Nothing here sleeps: a test waits for a line that a program prints, for its end, or asks again,
//! each time with [`process::PATIENCE`] as its limit.

#![allow(dead_code, unused_imports, reason = "each test program uses its part")]

pub mod bench;
pub mod build;
pub mod drawing;
pub mod mach;
pub mod outcome;
pub mod place;
pub mod process;
pub mod screen;
pub mod server;
pub mod tasks;

pub use bench::Bench;
pub use drawing::DRAWINGS;
pub use outcome::Outcome;
pub use process::{Mode, Running, SLIPWAY};
pub use screen::Screen;
pub use server::Server;
