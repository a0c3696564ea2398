//! A task in Rust that uses the crate `slipway-mach`, as any program does: a service that doubles a number.
//!
//! ```text
//! cargo build -p slipway-domain --example rust_task
//! slipway run --private target/debug/examples/librust_task.so client.so
//! ```

use slipway_mach::rights::{Outgoing, ReceiveRight};
use std::{error::Error, ffi::OsString};

slipway_domain::task_main!(main);

fn main(_arguments: Vec<OsString>) -> i32 {
    match serve() {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("rust_task: {why}");
            1
        }
    }
}

fn serve() -> Result<(), Box<dyn Error>> {
    let port = ReceiveRight::new()?;
    port.make_send()?.register("slipway.example.double")?;
    loop {
        let mut request = port.receive(None)?;
        if let (Some(number), Some(reply)) = (request.next_int(), request.take_reply()) {
            let answer = Outgoing::new(request.id() + 100).ints(&[number * 2]);
            // A client that is gone has no use for an answer.
            let _ = reply.send(answer);
        }
    }
}
