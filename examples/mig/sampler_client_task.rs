//! The client in Rust as a task: see sampler_server_task.rs.

#[path = "sampler_client.rs"]
mod client;

use std::{ffi::OsString, process::ExitCode};

slipway_domain::task_main!(run);

fn run(_arguments: Vec<OsString>) -> i32 {
    i32::from(client::main() != ExitCode::SUCCESS)
}
