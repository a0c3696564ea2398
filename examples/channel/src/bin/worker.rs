//! Counts words for the program `words`, which starts it: `worker NAME`, with the name of a one-shot server.

use anyhow::Context;
use ipc_channel::ipc::{self, IpcSender};
use slipway_example_channel::{Count, Job};
use std::env;

fn main() -> anyhow::Result<()> {
    let name = env::args().nth(1).context("usage: worker NAME; the program words starts it")?;
    let (sender, jobs) = ipc::channel::<Job>()?;
    IpcSender::connect(name)?.send(sender)?;
    while let Ok(Job { name, text, answer }) = jobs.recv() {
        let words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count() as u64;
        answer.send(Count { name, words, worker: std::process::id() })?;
    }
    Ok(())
}
