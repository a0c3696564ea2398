//! Stubs that call where they can.
#![allow(clippy::duplicate_mod, reason = "the parties are the same with other stubs")]

#[path = "../../mig/tests/matrix/plain/client.rs"]
pub mod client;
#[path = "../../mig/tests/matrix/plain/server.rs"]
pub mod server;
#[rustfmt::skip]
#[allow(dead_code)]
pub mod traps {
    include!(concat!(env!("OUT_DIR"), "/traps.rs"));
}
