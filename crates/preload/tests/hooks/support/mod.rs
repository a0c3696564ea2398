//! What all these tests share.

pub mod calls;
pub mod connection;
pub mod hooked;
pub mod messages;
pub mod watchdog;

pub use calls::Fd;
pub use connection::{Connection, Server};
pub use hooked::{hooked, hooked_output, hooked_with};
