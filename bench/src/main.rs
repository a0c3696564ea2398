//! `slipway-bench`: measures Slipway against what it replaces. One subcommand a table.
//!
//! Exit codes: 0 measured (targets met or not), 1 something failed, 2 bad options, 3 something
//! that is needed is missing, 4 the hooks were not in effect, 130 interrupted.

mod colocate;
mod cores;
mod failure;
mod hog;
mod ipc;
mod machine;
mod process;
mod report;
mod rpc;
mod stats;
mod targets;
mod trips;
mod x11;

use clap::{Parser, Subcommand};
use mach as _;
use std::process::ExitCode;

/// Measures Slipway against what it replaces.
#[derive(Parser)]
#[command(name = "slipway-bench", version)]
struct Cli {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// Mach messages, sockets, pipes and other libraries: messages and rights, there and back
    Ipc(ipc::cli::Args),
    /// Calls by mig's stubs, beside bare messages
    Rpc(rpc::cli::Args),
    /// Calls to a server in another process and to one that shares the caller's
    Colocate(colocate::cli::Args),
    /// X11: x11perf over the socket and over shared memory, side by side
    X11(x11::cli::Args),
    /// One of the two processes of a measurement
    #[command(hide = true)]
    IpcPeer(trips::job::Args),
    /// One of the two processes of a measurement
    #[command(hide = true)]
    RpcPeer(trips::job::Args),
    /// One of the two processes of a measurement
    #[command(hide = true)]
    ColocatePeer(trips::job::Args),
    /// One of the two processes of a measurement
    #[command(hide = true)]
    ColocateProbe(trips::job::Args),
    /// Keeps one CPU busy until its parent ends
    #[command(hide = true)]
    Hog,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().bench {
        Bench::Ipc(args) => ipc::run(&args),
        Bench::IpcPeer(args) => ipc::peer::run(&args),
        Bench::Rpc(args) => rpc::run(&args),
        Bench::RpcPeer(args) => rpc::peer::run(&args),
        Bench::Colocate(args) => colocate::run(&args),
        Bench::ColocatePeer(args) => colocate::peer::run(&args),
        Bench::ColocateProbe(args) => colocate::stages::probe::run(&args),
        Bench::X11(args) => x11::run(args),
        Bench::Hog => hog::spin(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            match error.downcast_ref() {
                // What it interrupted is no failure of its own.
                Some(failure @ failure::Failure::Interrupted) => {
                    eprintln!("slipway-bench: {failure}")
                }
                _ => eprintln!("slipway-bench: {error:#}"),
            }
            ExitCode::from(failure::exit_code(&error))
        }
    }
}
