//! The parties in Rust as a task, which is what its first argument says: `server`, `client`, each with the arguments of their
//! counterparts in party.c; `old-server`, `old-client`, the same where the stubs of trap.defs know messages only; `damage`,
//! which sends damaged requests; `liar`, which answers with damaged replies; `caller`, which calls that one.

#![allow(clippy::duplicate_mod, reason = "client and server are programs of their own, here in one")]

#[path = "../../../../examples/mig/sampler_client.rs"]
#[allow(dead_code, reason = "a program's main function is not used")]
mod client;
mod damage;
mod replies;
#[path = "../../../../examples/mig/sampler_server.rs"]
#[allow(dead_code, reason = "a program's main function is not used")]
mod server;
mod transcript;
/// What party.c has from trap.defs.
mod plain {
    pub mod client;
    pub mod server;
    pub use slipway_mig_interfaces::traps;
}

/// The same with stubs that were made without traps.
#[path = "plain"]
mod old {
    pub mod client;
    pub mod server;
    pub use slipway_mig_interfaces::traps_by_message as traps;
}

use slipway_fabric::sync::{AtomicU32, Ordering};
use slipway_mach::{
    mig::{self, Code, Reader, ReceiveRight, Received, SendRight, Served, Writer},
    rights::Outgoing,
    task::Task,
};
use std::{error::Error, ffi::OsString, mem::ManuallyDrop, path::Path, thread};
use transcript::Transcript;

slipway_domain::task_main!(run);

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Asks a server what it has.
const REPORT: i32 = 9900;

/// Whether calls are to be disturbed.
static NOISE: AtomicU32 = AtomicU32::new(0);

/// In front of half of the calls of trap.defs: requests that no routine has, so that there is a queue.
fn disturb(port: u32) {
    static STATE: AtomicU32 = AtomicU32::new(1);
    let state = STATE.load(Ordering::Relaxed).wrapping_mul(1_103_515_245).wrapping_add(12345);
    STATE.store(state, Ordering::Relaxed);
    if NOISE.load(Ordering::Relaxed) == 0 || (state >> 16).is_multiple_of(2) {
        return;
    }
    let right = ManuallyDrop::new(SendRight::from_name(Task::current(), port));
    for _ in 0..3 {
        right.send(Outgoing::new(1), None).unwrap_or_else(|error| panic!("sending noise: {error}"));
    }
}

fn run(arguments: Vec<OsString>) -> i32 {
    let words: Option<Vec<&str>> = arguments.iter().skip(1).map(|word| word.to_str()).collect();
    let done = match words.as_deref().unwrap_or_default() {
        ["server", mode, file] => serve(mode, Path::new(file)),
        ["client", rounds, file] => call(rounds, Path::new(file)),
        ["client", rounds, file, "noise"] => {
            NOISE.store(1, Ordering::Relaxed);
            call(rounds, Path::new(file))
        }
        ["old-server", _, file] => serve_old(Path::new(file)),
        ["old-client", rounds, file] => call_old(rounds, Path::new(file)),
        ["damage"] => {
            damage::report().iter().for_each(|line| println!("said {line}"));
            Ok(())
        }
        ["liar"] => replies::serve(),
        ["caller"] => {
            replies::call();
            Ok(())
        }
        words => Err(format!("no such party: {words:?}").into()),
    };
    match done {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("party: {error}");
            1
        }
    }
}

/// How many names the task has.
fn names_here() -> Result<i32, Code> {
    Ok(Task::current().names()?.len() as i32)
}

/// The size of the process's memory, in pages.
fn pages_here() -> i32 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(-1)
}

/// The messages that were served.
static MESSAGES: AtomicU32 = AtomicU32::new(0);

/// Serves a request, and counts it if a routine has it; or tells what the task has.
fn counted<S>(server: &mut S, request: Received, demux: impl FnOnce(&mut S, Received) -> Served) -> Served {
    if request.id() != REPORT {
        return demux(server, request).inspect(|_| {
            MESSAGES.fetch_add(1, Ordering::Relaxed);
        });
    }
    fn report<S>(_: &mut S, request: &mut Reader, reply: &mut Writer<'static>) -> Result<(), Code> {
        request.finish()?;
        reply.value(mig::INTEGER_32.times(4), &[names_here()?, 0, pages_here(), MESSAGES.load(Ordering::Relaxed) as i32]);
        Ok(())
    }
    Ok(mig::answer(request, server, report))
}

/// Serves in one of the ways, without end.
fn serve_port<S: Send>(
    mode: &str,
    port: &ReceiveRight,
    server: &mut S,
    traps: fn() -> mig::Traps<S, mig::Exclusive>,
    demux: fn(&mut S, Received) -> Served,
) -> Outcome<()> {
    let demux = |server: &mut S, request: Received| counted(server, request, demux);
    match mode {
        "message" => match mig::serve(port, |request| demux(server, request))? {},
        "trap" => match mig::serve_traps(port, server, traps(), demux)? {},
        // By trap until a few messages have come, and then none for a while.
        "midway" => loop {
            mig::with_traps(port, server, traps(), |server| (0..3).try_for_each(|_| server.serve_one(port, None, demux)))??;
            mig::serve_one(port, None, |request| demux(server, request))?;
        },
        _ => Err(format!("no way to serve: {mode}").into()),
    }
}

/// A server of sampler.defs and tidy.defs at one port, and of trap.defs at another.
fn serve(mode: &str, file: &Path) -> Outcome<()> {
    let (sampler, plain) = (ReceiveRight::new()?, ReceiveRight::new()?);
    let mut other = plain::server::Server::new(Transcript::create(file)?, plain.name());
    plain.make_send()?.register("traps")?;
    let way = mode.to_owned();
    thread::spawn(move || {
        let done = serve_port(&way, &plain, &mut other, plain::traps::traps, plain::traps::demux);
        panic!("serving trap.defs: {done:?}");
    });
    sampler.make_send()?.register("sampler")?;
    serve_port(mode, &sampler, &mut server::Server::default(), server::Server::traps, server::Server::serve)
}

/// The same where the stubs of trap.defs know messages only.
fn serve_old(file: &Path) -> Outcome<()> {
    let (sampler, port) = (ReceiveRight::new()?, ReceiveRight::new()?);
    let mut other = old::server::Server::new(Transcript::create(file)?, port.name());
    port.make_send()?.register("traps")?;
    thread::spawn(move || {
        let done = mig::serve(&port, |request| counted(&mut other, request, old::traps::demux));
        panic!("serving trap.defs: {done:?}");
    });
    sampler.make_send()?.register("sampler")?;
    serve_port("message", &sampler, &mut server::Server::default(), server::Server::traps, server::Server::serve)
}

/// What a server says of itself: names, references, pages, messages.
fn report_of(server: &SendRight) -> Result<[i32; 4], mig::Error> {
    mig::Request::new(REPORT, "report").call(server, 1024, |reply| reply.value(mig::INTEGER_32.times(4)))
}

/// Rounds of calls, each of which tells how often the server had an array of the client's own.
fn rounds_of(rounds: &str, file: &Path, server: &SendRight, round: impl Fn(&Path) -> Outcome<i32>) -> Outcome<()> {
    let (rounds, nowhere): (u32, _) = (rounds.parse()?, Path::new("/dev/null"));
    (0..rounds).try_for_each(|_| round(nowhere).map(drop))?;
    let (before, names, pages) = (report_of(server)?, names_here()?, pages_here());
    let mut lent = round(file)?;
    for _ in 1..rounds {
        lent += round(nowhere)?;
    }
    let grown = pages_here() - pages;
    let (after, now) = (report_of(server)?, names_here()?);
    if now != names || after[0] != before[0] || after[1] != 0 {
        return Err(format!("the client has {now} names and had {names}, the server {after:?} and {before:?}").into());
    }
    println!("{} {grown} {} {lent}", after[3] - before[3], after[2] - before[2]);
    Ok(())
}

fn call(rounds: &str, file: &Path) -> Outcome<()> {
    let (sampler, traps) = (client::sampler::Sampler(SendRight::look_up("sampler")?), SendRight::look_up("traps")?);
    let traps = plain::traps::Traps(traps);
    rounds_of(rounds, file, &traps.0, |file| {
        client::sampler_check(&sampler).map_err(|error| error.to_string())?;
        Ok(plain::client::check(&traps, Transcript::create(file)?))
    })
}

/// A client of trap.defs that knows messages only.
fn call_old(rounds: &str, file: &Path) -> Outcome<()> {
    let traps = old::traps::Traps(SendRight::look_up("traps")?);
    rounds_of(rounds, file, &traps.0, |file| Ok(old::client::check(&traps, Transcript::create(file)?)))
}
