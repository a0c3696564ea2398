//! What runs in each way: calls, or commands, timed from inside. This program again, with a hidden subcommand.

use crate::harness::format::median;
use anyhow::{Context, ensure};
use rustix::process::{Resource, Signal, getgid, getpid, getrlimit, kill_process, setrlimit};
use serde::{Deserialize, Serialize};
use slipway_fabric::sync::{AtomicBool, Ordering};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What to time, in the working directory.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// The calls, each for so many seconds.
    Calls(f64),
    /// Commands of the shell, in this order.
    Commands(Vec<(String, String)>),
}

/// Microseconds, by name.
pub type Times = BTreeMap<String, f64>;

/// No batch is shorter; else the clock would be a part of it.
const BATCH: Duration = Duration::from_millis(1);

/// Does the work that `text` describes, and prints the times as JSON.
pub fn run(text: &str) -> anyhow::Result<()> {
    let times = match serde_json::from_str(text).context("work")? {
        Work::Calls(seconds) => calls(seconds)?,
        Work::Commands(commands) => {
            let timed = |(name, script): (String, String)| {
                let start = Instant::now();
                let status = Command::new("sh").args(["-ec", &script]).stdout(Stdio::null()).status().context("sh")?;
                ensure!(status.success(), "{name}: {status}");
                Ok((name, start.elapsed().as_secs_f64() * 1e6))
            };
            commands.into_iter().map(timed).collect::<anyhow::Result<_>>()?
        }
    };
    println!("{}", serde_json::to_string(&times)?);
    Ok(())
}

/// The mean of a call: the median of batches.
fn time(
    seconds: f64,
    mut call: impl FnMut(u64) -> std::io::Result<()>,
    mut after: impl FnMut(u64) -> std::io::Result<()>,
) -> std::io::Result<f64> {
    let (mut each, mut means) = (1, Vec::new());
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    loop {
        let start = Instant::now();
        (0..each).try_for_each(&mut call)?;
        let took = start.elapsed();
        after(each)?;
        if took < BATCH && each < 1 << 20 {
            each *= 2;
            continue;
        }
        means.push(took.as_secs_f64() * 1e6 / each as f64);
        if Instant::now() >= end {
            return Ok(median(&means).unwrap_or_default());
        }
    }
}

/// Each of them goes through the C library where it has a name in it: the libraries that are preloaded see it, too.
fn calls(seconds: f64) -> anyhow::Result<Times> {
    let mut times = Times::new();
    let mut add =
        |name: &str, call: &mut dyn FnMut(u64) -> std::io::Result<()>, after: &mut dyn FnMut(u64) -> std::io::Result<()>| {
            let us = time(seconds, call, after).with_context(|| format!("call {name}"))?;
            times.insert(name.to_owned(), us);
            anyhow::Ok(())
        };
    let none = &mut |_| Ok(());
    fs::write("file", vec![b'x'; 8192])?;
    let file = File::options().read(true).write(true).open("file")?;
    fs::create_dir("list")?;
    (0..20).try_for_each(|number| fs::write(format!("list/{number}"), ""))?;
    let limit = getrlimit(Resource::Nofile);
    let told = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGUSR1, Arc::clone(&told))?;
    let (mut long, mut short) = ([0; 4096], [0; 64]);
    add("getpid", &mut |_| Ok(_ = black_box(getpid())), none)?;
    add("getgid", &mut |_| Ok(_ = black_box(getgid())), none)?;
    add("setrlimit", &mut |_| Ok(setrlimit(Resource::Nofile, limit)?), none)?;
    add("read-4096", &mut |_| file.read_exact_at(&mut long, 0), none)?;
    add("read-64", &mut |_| file.read_exact_at(&mut short, 0), none)?;
    add("write-4096", &mut |_| file.write_all_at(&[1; 4096], 0), none)?;
    add("write-64", &mut |_| file.write_all_at(&[1; 64], 0), none)?;
    add("stat", &mut |_| fs::metadata("file").map(drop), none)?;
    let made = |number: u64| format!("made-{number}");
    add("create", &mut |number| File::create_new(made(number)).map(drop), &mut |count| {
        (0..count).try_for_each(|number| fs::remove_file(made(number)))
    })?;
    add(
        "signal",
        &mut |_| {
            kill_process(getpid(), Signal::USR1)?;
            // It is handled before the call returns.
            if told.swap(false, Ordering::Relaxed) { Ok(()) } else { Err(std::io::Error::other("no signal came")) }
        },
        none,
    )?;
    add("fstat", &mut |_| file.metadata().map(drop), none)?;
    add("stat-missing", &mut |_| if fs::exists("missing")? { Err(std::io::Error::other("it is there")) } else { Ok(()) }, none)?;
    add("open", &mut |_| File::open("file").map(drop), none)?;
    add("list-20", &mut |_| fs::read_dir("list").map(|names| _ = black_box(names.count())), none)?;
    add("exec", &mut |_| Command::new("/bin/true").status().map(drop), none)?;
    Ok(times)
}
