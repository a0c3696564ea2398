//! The client in Rust as a program, which has libmach in it; sampler_client_task.rs is the same as a task.
//!
//! `cargo run -p slipway-mig --example sampler-client`

#[path = "sampler_client.rs"]
mod client;

use mach as _;

fn main() -> std::process::ExitCode {
    client::main()
}
