//! Starting the user's own name server, when a task is the first to need it.

use super::contact;
use slipway_fabric::trust;
use std::{
    env,
    ffi::OsStr,
    fs,
    io::{self, Read},
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

/// The variable that names the server's program.
pub const PROGRAM_VARIABLE: &str = "SLIPWAY_BOOTSTRAP_SERVER";
/// The server's program.
pub const PROGRAM: &str = "slipway-bootstrap";
/// Where a program that carries the server's inside has put it, before it asks for it.
pub static CARRIED: OnceLock<PathBuf> = OnceLock::new();
/// What the server writes to standard output once it, or another one at the same socket, can be connected to.
pub const READY: &str = "ready";
/// The search path of a server that a set-uid program starts, which is all of its environment.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How long a server may take until then.
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts a server of its own session at `socket` and waits until somebody listens there. When several tasks do so at
/// once, one of the servers stays.
///
/// The error says what to tell a person.
pub fn launch(socket: &Path) -> Result<(), String> {
    let program = find()?;
    let shown = program.display();
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|error| error.to_string())?;
    let mut child = command(&program, socket, write).spawn().map_err(|error| format!("cannot run {shown}: {error}"))?;
    let said = hear(&read);
    if said.is_err() {
        let _ = child.kill();
    }
    // The program that was started is gone once the server runs on its own. Somebody else may have waited for it,
    // or may have asked the kernel to.
    let _ = child.wait();
    match said {
        Ok(said) if said.trim_end() == READY => Ok(()),
        Ok(said) if said.trim().is_empty() => Err(format!("{shown} ended at once")),
        Ok(said) => Err(format!("{shown}: {}", said.trim())),
        Err(error) => Err(format!("{shown}: {error}")),
    }
}

/// Without a pre-exec closure, so that no fork handler runs in the program that this library is part of.
fn command(program: &Path, socket: &Path, ready: OwnedFd) -> Command {
    let mut command = Command::new(program);
    if trust::is_elevated() {
        // It is the caller's, and the server belongs to another user.
        command.env_clear().env("PATH", PATH);
    }
    command
        .args(["--detach", "--socket"])
        .arg(socket)
        .current_dir("/")
        // It outlives the program, and what is preloaded there is none of its business.
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::null())
        .stdout(ready)
        .stderr(Stdio::null());
    command
}

/// What the server says until it closes its output or has said a line.
fn hear(output: &OwnedFd) -> io::Result<String> {
    let deadline = Instant::now() + PATIENCE;
    let mut said = Vec::new();
    let mut some = [0; 512];
    let mut file = fs::File::from(output.try_clone()?);
    while !said.ends_with(b"\n") {
        if !contact::readable(output.as_fd(), deadline)? {
            return Err(io::Error::new(io::ErrorKind::TimedOut, format!("not ready within {} seconds", PATIENCE.as_secs())));
        }
        match file.read(&mut some)? {
            0 => break,
            n => said.extend(&some[..n]),
        }
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// The server's program: what SLIPWAY_BOOTSTRAP_SERVER names, else the one that is [`CARRIED`], that was installed with the program or
/// with the library that asks, else the first in PATH. None that another user could replace; and the caller of a set-uid
/// program chooses nothing.
///
/// # Errors
/// There is no such program, in words for a person.
pub fn find() -> Result<PathBuf, String> {
    if !trust::is_elevated()
        && let Some(path) = env::var_os(PROGRAM_VARIABLE).filter(|path| !path.is_empty())
    {
        let path = PathBuf::from(path);
        let Some(named) = path.canonicalize().ok().filter(|path| path.is_file()) else {
            return Err(format!("{PROGRAM_VARIABLE} names {}, where no file is", path.display()));
        };
        let is_safe = std::path::absolute(&path).is_ok_and(|path| trust::is_safe(&path));
        return is_safe
            .then_some(named)
            .ok_or_else(|| format!("{PROGRAM_VARIABLE} names {}, which another user could replace", path.display()));
    }
    let places = places();
    let files = places.iter().filter(|path| path.is_file());
    files.clone().filter(|path| trust::is_safe(path)).find_map(|path| path.canonicalize().ok()).ok_or_else(|| {
        let tried: Vec<_> = places.iter().map(|path| path.display().to_string()).collect();
        let refused = files.map(|path| format!("; another user could replace {}", path.display())).collect::<String>();
        format!("{PROGRAM} is not installed (tried {}{refused}); set {PROGRAM_VARIABLE} to its path", tried.join(", "))
    })
}

/// The places of a program in a search path.
fn in_path(program: &OsStr, path: &OsStr) -> Vec<PathBuf> {
    env::split_paths(path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(program)).collect()
}

/// The first program with a name in a search path that can be executed and that no other user could replace.
pub fn search(program: &OsStr, path: &OsStr) -> Option<PathBuf> {
    let can = |file: &PathBuf| file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok();
    in_path(program, path).into_iter().find(|file| can(file) && trust::is_safe(file))
}

fn places() -> Vec<PathBuf> {
    let mut places: Vec<_> = CARRIED.get().cloned().into_iter().collect();
    let executable = env::current_exe().ok();
    let library = mapped_library();
    for file in executable.iter().chain(&library) {
        let Some(dir) = file.parent() else { continue };
        places.push(dir.join(PROGRAM));
        // bin/ and lib/ are one below the prefix, lib/x86_64-linux-gnu/ two.
        for prefix in dir.ancestors().skip(1).take(2) {
            places.push(prefix.join("libexec/slipway").join(PROGRAM));
        }
    }
    if !trust::is_elevated() {
        places.extend(in_path(PROGRAM.as_ref(), &env::var_os("PATH").unwrap_or_default()));
    }
    let mut seen = Vec::new();
    places.retain(|place| {
        !seen.contains(place) && {
            seen.push(place.clone());
            true
        }
    });
    places
}

/// The file of libmach.so, if this process has mapped it.
fn mapped_library() -> Option<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let files = maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])));
    let mut libraries =
        files.filter(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libmach.so")));
    libraries.next().map(Path::to_path_buf)
}
