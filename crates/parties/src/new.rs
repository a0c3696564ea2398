//! Stubs that call where they can.
#![allow(clippy::duplicate_mod, reason = "the parties are the same with other stubs")]

#[path = "client.rs"]
pub mod client;
#[path = "server.rs"]
pub mod server;
#[rustfmt::skip]
#[allow(dead_code)]
pub mod traps {
    include!(concat!(env!("OUT_DIR"), "/traps.rs"));
}
