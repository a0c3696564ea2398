//! A Mach port in a tokio event loop: a server that answers each request with its text in capitals, and a client.
//!
//! `cargo run -p slipway-mach --example tokio`

use mach as _;
use slipway_mach::rights::{Outgoing, ReceiveRight};
use std::time::Duration;
use tokio::io::unix::AsyncFd;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = ReceiveRight::new()?;
    let service = port.make_send()?;
    let client = std::thread::spawn(move || {
        for word in ["mach", "ports", "in", "tokio"] {
            let mut answer = service.call(Outgoing::new(1).bytes(word.as_bytes()), None).expect("the server answers");
            println!("{word} -> {}", String::from_utf8_lossy(&answer.next_bytes().unwrap_or_default()));
        }
    });

    // Readable while there may be a message; then receive until there is none.
    #[allow(deprecated, reason = "safe here: the descriptor stays open as long as it is registered")]
    let events = AsyncFd::new(port.descriptor()?)?;
    let mut served = 0;
    while served < 4 {
        let mut ready = events.readable().await?;
        while let Ok(mut request) = port.receive(Some(Duration::ZERO)) {
            let text = request.next_bytes().unwrap_or_default().to_ascii_uppercase();
            if let Some(reply) = request.take_reply() {
                reply.send(Outgoing::new(101).bytes(&text))?;
            }
            served += 1;
        }
        ready.clear_ready();
    }
    client.join().expect("the client ends");
    Ok(())
}
