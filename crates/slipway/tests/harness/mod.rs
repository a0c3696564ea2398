//! What the tests of real programs share: programs under a watchdog, X servers, screenshots.
//!
//! Nothing here sleeps: a test waits for a line that a program prints, for its end, or asks again,
//! each time with [`process::PATIENCE`] as its limit.

#![allow(dead_code, unused_imports, reason = "each test program uses its part")]

pub mod build;
pub mod drawing;
pub mod process;
pub mod screen;
pub mod server;

pub use drawing::DRAWINGS;
pub use process::{Mode, Running};
pub use screen::Screen;
pub use server::Server;
