//! The name server: services by name, and the programs that serve them.
//!
//! A task like any other: what it is asked and answers are Mach messages (`slipway_mach::bootstrap::interface`). It
//! starts by itself when a program first needs it.

mod clients;
mod handler;
mod job;
mod mach;
mod registry;
mod server;
mod services;
mod socket;
mod view;

use ::mach as _;
use anyhow::{Context, Result, bail};
use clap::Parser;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use server::Server;
use services::{Directory, Service};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use socket::ServerSocket;

use slipway_mach::bootstrap::{Address, launch};
use std::{
    env,
    fs::OpenOptions,
    io::{self, Write},
    os::unix::{fs::OpenOptionsExt, net::UnixStream},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

const HELP: &str = "\
It prints \"ready\" once it, or another server at the same socket, can be connected to.

Services are configured by files in $XDG_CONFIG_HOME/slipway/services, one a file:
  name = \"org.example.kv\"            the service
  program = \"/usr/libexec/kvd\"       started by the first message; checks in
  args = [\"--db\", \"/var/kv\"]         (optional, as all that follows)
  directory = \"/var\"                 where it runs
  output = \"/var/log/kvd.log\"        where its output goes
  restart = \"on-failure\"             or on-demand, with the next message [default]
  pause = 0.5                        seconds before it starts again; twice as long each time ...
  longest-pause = 60                 ... up to this
  [env]                              variables
  KEY = \"value\"
Only this user and root may be able to write the files and their directory.
New files are found when their service is asked for; SIGHUP has all files read again.

Exit status: 0 ended by SIGTERM or SIGINT, or another server listens; 1 it can't serve; 2 wrong options.";

/// The name server of Mach IPC on Linux. Programs start it by themselves
#[derive(Debug, Parser)]
#[command(version, after_help = HELP)]
struct Options {
    /// Listen here [default: $SLIPWAY_BOOTSTRAP, else bootstrap in the runtime directory]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Run in the background, in a session of its own; messages go to PATH.log
    #[arg(long)]
    detach: bool,
    /// Serve NAME by PROGRAM, started by the first message; may be repeated
    #[arg(long, value_name = "NAME=PROGRAM", value_parser = Service::parse)]
    service: Vec<Service>,
    /// Read service files in this directory too; may be repeated
    #[arg(long, value_name = "DIR")]
    services: Vec<PathBuf>,
    /// Listen at a further socket, whose clients may ask for some services only: JSON with the fields socket,
    /// look-up and provide, the last two lists of names and of beginnings that end in *; may be repeated
    #[arg(long, value_name = "JSON", value_parser = view::Options::parse)]
    view: Vec<view::Options>,
    /// Read the service files, say what is wrong with them, and end (with 1 if something is)
    #[arg(long)]
    check: bool,
    /// Become a session of its own (started by --detach, never by hand)
    #[arg(long, hide = true)]
    session: bool,
}

fn main() -> ExitCode {
    if let Err(error) = become_owner() {
        eprintln!("slipway-bootstrap: cannot become the user that the name server is for: {error}");
        return ExitCode::FAILURE;
    }
    let options = Options::parse();
    let session = options.session;
    match run(options) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("slipway-bootstrap: {error:#}");
            if session {
                // The process that waits for the server reads this one's standard output.
                println!("{error:#}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Makes the effective user this process's only one, before it has other threads. A server that a set-uid program started
/// could be sent signals by that program's caller, and what the server starts would have the caller as its real user.
fn become_owner() -> io::Result<()> {
    use rustix::{
        fs::Mode,
        process::{Gid, getegid, geteuid, getgid, getuid, umask},
        thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid},
    };
    let user = geteuid();
    if user == getuid() && getegid() == getgid() {
        return Ok(());
    }
    // A set-gid program's group is not this user's; root's own is known.
    let group = if user.is_root() { Gid::ROOT } else { getgid() };
    if user.is_root() {
        set_thread_groups(&[group])?;
    }
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)?;
    umask(Mode::WGRP | Mode::WOTH);
    Ok(())
}

fn run(options: Options) -> Result<ExitCode> {
    let address = match &options.socket {
        Some(path) => {
            let socket = std::path::absolute(path).context("--socket")?;
            Address { named: Address::own().ok().is_none_or(|own| own.socket != socket), socket }
        }
        None => Address::find()?,
    };
    // A private server knows what it is told only.
    let mut directories: Vec<Directory> = options.services.iter().cloned().map(Directory::new).collect();
    if !address.named {
        directories.extend(Directory::of_user());
    }
    if options.check {
        return Ok(check(directories));
    }
    if options.detach {
        return detach(&address.socket);
    }
    if options.session {
        rustix::process::setsid().context("setsid")?;
    }
    serve(&address, options, directories)
}

fn check(directories: Vec<Directory>) -> ExitCode {
    let mut wrong = Vec::new();
    for mut directory in directories {
        let (services, errors) = directory.read();
        services.iter().for_each(|service| println!("{}: {}", service.name, service.program.shown()));
        wrong.extend(errors);
    }
    wrong.iter().for_each(|text| eprintln!("slipway-bootstrap: {text}"));
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Starts this program again with the same options, as a process that none waits for.
fn detach(socket: &Path) -> Result<ExitCode> {
    let mut path = socket.as_os_str().to_owned();
    path.push(".log");
    let log = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    let mut command = Command::new(env::current_exe().context("/proc/self/exe")?);
    command.args(env::args_os().skip(1).filter(|argument| argument != "--detach")).arg("--session");
    // Of a program that starts its user's server in passing, nothing may stay open as long as the server runs: a listening socket would go on
    // taking connections.
    #[allow(unsafe_code, reason = "close_range")]
    // SAFETY: marks descriptors only; those that this program has of its own are closed on exec already.
    unsafe {
        libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int);
    }
    command.stdin(Stdio::null()).stderr(log.map_or_else(|_| Stdio::null(), Stdio::from));
    command.spawn().context("cannot start in the background")?;
    Ok(ExitCode::SUCCESS)
}

fn serve(address: &Address, options: Options, directories: Vec<Directory>) -> Result<ExitCode> {
    let (stop, reload) = (signals(&[SIGTERM, SIGINT])?, signals(&[SIGHUP])?);
    raise_limit();
    let Some(own) = ServerSocket::take(&address.socket)? else {
        if !options.session {
            eprintln!("slipway-bootstrap: another server listens at {}", address.socket.display());
        }
        say_ready()?;
        return Ok(ExitCode::SUCCESS);
    };
    if options.session {
        // The log is this server's now. It may be no file, and then needs no emptying.
        let _ = rustix::fs::ftruncate(io::stderr(), 0);
    }
    let mut server = Server::new(own, directories, options.service, options.view)?;
    say_ready()?;
    let socket = address.named.then_some(address.socket.as_os_str());
    server.run(&stop, &reload, socket, !options.session)?;
    Ok(ExitCode::SUCCESS)
}

/// Readable when one of the signals came.
fn signals(numbers: &[i32]) -> Result<UnixStream> {
    let (read, write) = UnixStream::pair().context("signals")?;
    read.set_nonblocking(true).context("signals")?;
    for number in numbers {
        signal_hook::low_level::pipe::register(*number, write.try_clone().context("signals")?).context("signals")?;
    }
    Ok(read)
}

/// A few descriptors for each client: as many as allowed.
fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Tells the process that started the server that clients can connect, and lets go of the pipe that says so.
fn say_ready() -> Result<()> {
    let mut out = io::stdout();
    match writeln!(out, "{}", launch::READY).and_then(|()| out.flush()) {
        // Nobody waits for it any more.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        other => other.context("standard output")?,
    }
    let Ok(null) = OpenOptions::new().write(true).open("/dev/null") else { bail!("cannot open /dev/null") };
    rustix::stdio::dup2_stdout(&null).context("standard output")
}
