//! The server in Rust as a program, which has libmach in it; sampler_server_task.rs is the same as a task.
//!
//! `cargo run -p slipway-mig --example sampler-server`

#[path = "sampler_server.rs"]
mod server;

use mach as _;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    server::main()
}
