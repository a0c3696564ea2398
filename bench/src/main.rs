//! `slipway-bench`: measures Slipway against what it replaces. One subcommand a table.
//!
//! Exit codes: 0 measured (targets met or not), 1 something failed, 2 bad options, 3 something
//! that is needed is missing, 4 the hooks were not in effect, 130 interrupted.

#[cfg(feature = "mach")]
mod channel;
#[cfg(feature = "mach")]
mod colocate;
#[cfg_attr(not(feature = "mach"), allow(dead_code, reason = "the bench of X11 uses some of it"))]
mod harness;
#[cfg(feature = "mach")]
mod ipc;
#[cfg(feature = "mach")]
mod meet;
#[cfg(feature = "mach")]
mod rpc;
mod sockets;
mod unix;
#[cfg(feature = "mach")]
mod unix_server;
mod x11;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use harness::failure::{Failure, exit_code};
#[cfg(feature = "mach")]
use harness::options::Options;
use harness::options::complete;
use harness::{Bench, Code, job};
// The library that the programs in C call; see `include/mach`.
#[cfg(feature = "mach")]
use mach as _;
use std::process::ExitCode;
use std::sync::LazyLock;

/// Those of round trips.
static BENCHES: LazyLock<Vec<Bench>> =
    LazyLock::new(|| CODES.iter().map(|code| Bench::load(*code).expect("benches.toml is tested")).collect());

#[cfg(feature = "mach")]
const CODES: &[Code] = &[ipc::CODE, rpc::CODE, colocate::CODE, channel::CODE, unix_server::CODE];
#[cfg(not(feature = "mach"))]
const CODES: &[Code] = &[];

/// The bench of that name.
#[cfg(feature = "mach")]
fn bench(name: &str) -> &'static Bench {
    BENCHES.iter().find(|bench| bench.code.name == name).expect("there is such a bench")
}

/// Measures Slipway against what it replaces.
#[derive(Parser)]
#[command(name = "slipway-bench", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Mach messages, sockets, pipes and other libraries: messages and rights, there and back
    #[cfg(feature = "mach")]
    Ipc(Options),
    /// Calls by mig's stubs, beside bare messages
    #[cfg(feature = "mach")]
    Rpc(Options),
    /// Calls to a server in another process and to one that shares the caller's
    #[cfg(feature = "mach")]
    Colocate(Options),
    /// The crate ipc-channel, and slipway-ipc-channel in its place: messages, sets, channels that are sent, memory
    #[cfg(feature = "mach")]
    Channel(Options),
    /// Unix's calls to a server of them: by messages between processes and in one, by trap, and on the host
    #[cfg(feature = "mach")]
    UnixServer(Options),
    /// X11: x11perf over the socket and over shared memory, side by side
    X11(x11::Args),
    /// Databases, caches, a bus and a proxy: over AF_UNIX, TCP and shared memory, side by side
    Sockets(sockets::Args),
    /// Calls and commands in `slipway unix`, on the host, and under proot, fakechroot and bubblewrap, side by side
    Unix(unix::Args),
    /// One of the two processes of a measurement
    #[command(hide = true)]
    Peer {
        /// A job as JSON
        job: String,
    },
    /// Makes connections to the X server of DISPLAY, and prints the microseconds of one
    #[command(hide = true)]
    Connect {
        /// How many
        count: u32,
    },
    /// Runs a program of the seed's table on DISPLAY, and prints what it found as JSON
    #[command(hide = true, name = "x11-client")]
    X11Client {
        program: x11::Program,
        /// How long, seconds
        seconds: f64,
    },
    /// Times calls or commands in the working directory, and prints the times as JSON
    #[command(hide = true)]
    UnixWork {
        /// Which, as JSON
        work: String,
    },
    /// Keeps one CPU busy until its parent ends
    #[command(hide = true)]
    Hog,
}

fn main() -> ExitCode {
    let matches = complete(Cli::command(), &BENCHES).get_matches();
    let outcome = match Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()).command {
        #[cfg(feature = "mach")]
        Command::Ipc(options) => harness::run::run(bench("ipc"), &options),
        #[cfg(feature = "mach")]
        Command::Rpc(options) => harness::run::run(bench("rpc"), &options),
        #[cfg(feature = "mach")]
        Command::Colocate(options) => harness::run::run(bench("colocate"), &options),
        #[cfg(feature = "mach")]
        Command::Channel(options) => harness::run::run(bench("channel"), &options),
        #[cfg(feature = "mach")]
        Command::UnixServer(options) => harness::run::run(bench("unix-server"), &options),
        Command::X11(args) => x11::run(&args),
        Command::Sockets(args) => sockets::run(&args),
        Command::Peer { job } => job::run(&job),
        Command::Connect { count } => x11::connect(count),
        Command::X11Client { program, seconds } => x11::client(program, seconds),
        Command::Unix(args) => unix::run(&args),
        Command::UnixWork { work } => unix::work(&work),
        Command::Hog => job::hog(),
    };
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    match error.downcast_ref() {
        // What it interrupted is no failure of its own.
        Some(failure @ Failure::Interrupted) => eprintln!("slipway-bench: {failure}"),
        _ => eprintln!("slipway-bench: {error:#}"),
    }
    ExitCode::from(exit_code(&error))
}
