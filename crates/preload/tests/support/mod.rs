//! What the tests of the hooks share.
#![allow(dead_code, unused_imports, reason = "each test program uses its part")]

pub mod calls;
pub mod connection;
pub mod hooked;
pub mod messages;
pub mod watchdog;

pub use calls::Fd;
pub use connection::{Connection, Server};
pub use hooked::{begins_on_ring, hooked, hooked_output, hooked_with};
