//! Counts the words of files in several processes: `words FILE...`. The program `worker` is beside this one.

use anyhow::{Context, ensure};
use ipc_channel::{
    IpcError,
    ipc::{self, IpcOneShotServer, IpcSender, IpcSharedMemory},
};
use slipway_example_channel::{Count, Job};
use std::{env, fs, process::Command};

/// How many workers count.
const WORKERS: usize = 2;

fn main() -> anyhow::Result<()> {
    let files: Vec<String> = env::args().skip(1).collect();
    ensure!(!files.is_empty(), "usage: words FILE...");
    let program = env::current_exe()?.with_file_name("worker");
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        // The worker finds the name as its argument, connects, and sends what it takes jobs by.
        let (server, name) = IpcOneShotServer::<IpcSender<Job>>::new()?;
        let child = Command::new(&program).arg(name).spawn().with_context(|| format!("can't start {}", program.display()))?;
        workers.push((server.accept()?.1, child));
    }

    let (answer, counts) = ipc::channel::<Count>()?;
    for (number, name) in files.iter().enumerate() {
        let text = fs::read(name).with_context(|| format!("can't read {name}"))?;
        let job = Job { name: name.clone(), text: IpcSharedMemory::from_bytes(&text), answer: answer.clone() };
        workers[number % WORKERS].0.send(job).context("a worker ended")?;
    }
    // From here on only the workers can answer: when they have, or end, so does the channel.
    drop(answer);
    let mut total = 0;
    let mut counted = 0;
    loop {
        match counts.recv() {
            Ok(Count { name, words, worker }) => {
                println!("{words:8} {name} (process {worker})");
                (total, counted) = (total + words, counted + 1);
            }
            Err(IpcError::Disconnected) => break,
            Err(error) => return Err(error.into()),
        }
    }
    println!("{total:8} in all");
    ensure!(counted == files.len(), "{} of {} files were not counted: a worker ended", files.len() - counted, files.len());
    for (jobs, mut child) in workers {
        // A worker ends when nobody can give it a job any more.
        drop(jobs);
        child.wait()?;
    }
    Ok(())
}
