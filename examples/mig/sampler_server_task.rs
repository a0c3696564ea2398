//! The server in Rust as a task, which may share its process with others. `slipway run --config` runs it beside its client with
//!
//! ```toml
//! main = "client"
//! [task.server]
//! file = "libsampler_server_task.so"  # from target/debug/examples, after cargo build -p slipway-mig --examples
//! process = "one"
//! provides = ["sampler"]
//! [task.client]
//! file = "libsampler_client_task.so"
//! process = "one"
//! after = ["server"]
//! ```

#[path = "sampler_server.rs"]
#[allow(dead_code, reason = "a program's main function is not used")]
mod server;

use std::ffi::OsString;

slipway_domain::task_main!(run);

fn run(_arguments: Vec<OsString>) -> i32 {
    // It serves until that fails.
    if let Err(why) = server::main() {
        eprintln!("sampler server: {why}");
    }
    1
}
