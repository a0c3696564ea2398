//! The clients and the servers of the compiler's `trap.defs`, in C and in Rust, in any mix: in two processes, or as two tasks of
//! one. Each writes down what it sees.
//!
//! ```text
//! parties both CLIENT SERVER message|trap|midway CLIENT-FILE SERVER-FILE
//! parties server SERVER FILE       registers "traps" with the name server, and says that it is ready
//! parties client CLIENT FILE
//! ```
//! CLIENT and SERVER are `c`, `rust`, or `old`: Rust, with stubs that know messages only. The outcome is two numbers: routines that
//! were served by message, and arrays of the caller's that the server had itself.
#![allow(unsafe_code, reason = "the parties in C")]

use anyhow::{Context, bail, ensure};
use slipway_fabric::sync::{AtomicBool, AtomicU32, Ordering};
use slipway_ports::{
    abi::{right, types},
    mig::{self, Code, ReceiveRight, Received, SendRight, Served},
    rights::Outgoing,
    task::Task,
};
use std::{
    ffi::{CString, c_char, c_int},
    io::Write,
    mem::ManuallyDrop,
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::mpsc,
    thread,
};
use transcript::Transcript;

// The library that the parties in C call.
extern crate mach as _;

mod new;
mod old;
#[path = "../../mig/tests/matrix/transcript.rs"]
mod transcript;

unsafe extern "C" {
    fn party_client(server: u32, transcript: *const c_char) -> c_int;
    fn party_register(port: u32) -> c_int;
    fn party_open(port: u32, transcript: *const c_char) -> c_int;
    fn party_serve(port: u32) -> c_int;
}

/// Requests of the interface that came as messages.
static MESSAGES: AtomicU32 = AtomicU32::new(0);
/// Whether calls are to be refused now and then.
static MIDWAY: AtomicBool = AtomicBool::new(false);
/// Whether the client is done.
static DONE: AtomicBool = AtomicBool::new(false);

#[unsafe(no_mangle)]
extern "C" fn party_count() {
    MESSAGES.fetch_add(1, Ordering::Relaxed);
}

/// What a party is written in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Language {
    C,
    Rust,
    Old,
}

impl Language {
    fn parse(word: &str) -> anyhow::Result<Self> {
        Ok(match word {
            "c" => Self::C,
            "rust" => Self::Rust,
            "old" => Self::Old,
            _ => bail!("{word:?} is no party: c, rust, old"),
        })
    }
}

/// How calls come to a server in the client's process.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Message,
    Trap,
    /// By calls that are refused now and then.
    Midway,
}

fn c_path(path: &str) -> anyhow::Result<CString> {
    Ok(CString::new(Path::new(path).as_os_str().as_bytes())?)
}

/// Runs a client. How often the server had the caller's own array.
fn call(language: Language, server: SendRight, file: &str) -> anyhow::Result<i32> {
    let create = || Transcript::create(Path::new(file)).with_context(|| format!("create {file}"));
    let lent = match language {
        Language::Rust => new::client::check(&new::traps::Traps(server), create()?),
        Language::Old => old::client::check(&old::traps::Traps(server), create()?),
        // SAFETY: the name is a string, and this is the only client.
        Language::C => unsafe { party_client(server.name(), c_path(file)?.as_ptr()) },
    };
    ensure!(lent >= 0, "the client failed");
    Ok(lent)
}

fn counted<S>(demux: impl Fn(&mut S, Received) -> Served) -> impl Fn(&mut S, Received) -> Served {
    move |server, request| {
        demux(server, request).inspect(|_| {
            MESSAGES.fetch_add(1, Ordering::Relaxed);
        })
    }
}

/// Serves until the process ends. Tells when calls may come.
fn serve(language: Language, port: &ReceiveRight, way: Way, file: &str, ready: impl FnOnce()) -> anyhow::Result<()> {
    let create = || Transcript::create(Path::new(file)).with_context(|| format!("create {file}"));
    let name = port.name();
    if language == Language::C {
        // SAFETY: the name is a string, and this is the only server.
        ensure!(unsafe { party_open(name, c_path(file)?.as_ptr()) } == 0, "open {file}");
    }
    ready();
    match (language, way) {
        (Language::Old, _) => {
            let mut server = old::server::Server::new(create()?, name);
            let demux = counted(old::traps::demux);
            mig::serve(port, |request| demux(&mut server, request))?;
        }
        (Language::Rust, Way::Message) => {
            let mut server = new::server::Server::new(create()?, name);
            let demux = counted(new::traps::demux);
            mig::serve(port, |request| demux(&mut server, request))?;
        }
        (Language::Rust, Way::Trap) => {
            let mut server = new::server::Server::new(create()?, name);
            mig::serve_traps(port, &mut server, new::traps::traps(), counted(new::traps::demux))?;
        }
        (Language::Rust, Way::Midway) => {
            let mut server = new::server::Server::new(create()?, name);
            let demux = counted(new::traps::demux);
            loop {
                mig::with_traps(port, &mut server, new::traps::traps(), |server| {
                    (0..3).try_for_each(|_| server.serve_one(port, None, &demux))
                })??;
                mig::serve_one(port, None, |request| demux(&mut server, request))?;
            }
        }
        (Language::C, _) => {
            if way == Way::Trap {
                register(name)?;
            }
            // SAFETY: the port is this task's.
            let code = unsafe { party_serve(name) };
            bail!("serving in C: {}", Code(code));
        }
    }
    bail!("the server ended");
}

fn register(port: u32) -> anyhow::Result<()> {
    // SAFETY: the port is this task's, and the table a constant.
    let code = unsafe { party_register(port) };
    ensure!(code == 0, "registering traps in C: {}", Code(code));
    Ok(())
}

/// Before every other call of a client whose calls are to be refused now and then: sends requests that no routine has, so
/// that there is a queue.
fn disturb(port: u32) {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    if !MIDWAY.load(Ordering::Relaxed) || CALLS.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
        return;
    }
    let right = ManuallyDrop::new(SendRight::from_name(Task::current(), port));
    for _ in 0..3 {
        right.send(Outgoing::new(1), None).unwrap_or_else(|error| panic!("sending noise: {error}"));
    }
}

#[unsafe(no_mangle)]
extern "C" fn party_disturb(port: u32) {
    disturb(port);
}

/// Takes the table of a server in C back, and registers it again.
fn change(task: Task, port: u32) -> anyhow::Result<()> {
    task.enter();
    while !DONE.load(Ordering::Relaxed) {
        register(port)?;
        thread::yield_now();
        task.withdraw_traps(port)?;
        thread::yield_now();
    }
    Ok(())
}

/// A thread whose failure ends the process.
fn start(what: &'static str, run: impl FnOnce() -> anyhow::Result<()> + Send + 'static) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        if let Err(error) = run() {
            eprintln!("{what}: {error:#}");
            std::process::exit(1);
        }
    })
}

fn both(words: &[String]) -> anyhow::Result<i32> {
    let [client, server, way, client_file, server_file] = words else { bail!("five words are needed") };
    let (client, server) = (Language::parse(client)?, Language::parse(server)?);
    let way = match way.as_str() {
        "message" => Way::Message,
        "trap" => Way::Trap,
        "midway" => Way::Midway,
        _ => bail!("{way:?} is no way: message, trap, midway"),
    };
    let (here, there) = (Task::current(), Task::new());
    let port = there.allocate(right::RECEIVE)?;
    let right = SendRight::from_name(here, there.extract_right(port, types::MAKE_SEND, here)?);
    let (ready, when_ready) = mpsc::channel();
    let file = server_file.clone();
    drop(start("the server", move || {
        there.enter();
        let port = ReceiveRight::from_name(there, port);
        serve(server, &port, way, &file, || ready.send(()).unwrap_or_default())
    }));
    when_ready.recv()?;
    MIDWAY.store(way == Way::Midway, Ordering::Relaxed);
    let changes = (way == Way::Midway && server == Language::C).then(|| start("changes", move || change(there, port)));
    let lent = call(client, right, client_file)?;
    DONE.store(true, Ordering::Relaxed);
    changes.map_or(Ok(()), thread::JoinHandle::join).map_err(|_| anyhow::anyhow!("a thread panicked"))?;
    Ok(lent)
}

fn run() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let lent = match words.first().map(String::as_str) {
        Some("both") => both(&words[1..])?,
        Some("client") if words.len() == 3 => call(Language::parse(&words[1])?, SendRight::look_up("traps")?, &words[2])?,
        Some("server") if words.len() == 3 => {
            let port = ReceiveRight::new()?;
            port.make_send()?.register("traps")?;
            let ready = || {
                println!("ready");
                std::io::stdout().flush().unwrap_or_default();
            };
            serve(Language::parse(&words[1])?, &port, Way::Trap, &words[2], ready)?;
            0
        }
        _ => bail!("usage: parties both|client|server ..."),
    };
    println!("{} {lent}", MESSAGES.load(Ordering::Relaxed));
    Ok(())
}

fn main() {
    if let Err(error) = run() {
        eprintln!("parties: {error:#}");
        std::process::exit(1);
    }
}
