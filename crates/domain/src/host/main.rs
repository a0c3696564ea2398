//! The host of tasks: loads shared objects into this process, each as a task of its own.
//!
//! `slipway run` starts it. With `--control FD` it does what is said there, line by line; without, it runs the tasks
//! given as `--task JSON` until the last of them ends, and ends with that one's code.
//!
//! * [`together`]: the tasks of a command line. * [`library`]: the one libmach. * [`load`]: a task's file. * [`task`]: a task, from its start to its end.
//! * [`hooks`]: the functions of the C library that know of tasks. * [`keys`]: those for values of threads. * [`report`]: those
//!   that call `exit`. * [`flush`]: its streams.
//! * [`base`]: where a task's part of a thread begins. * [`fork`]: a task's children. * [`crash`]: which file is to blame for a crash.

mod base;
mod crash;
mod flush;
mod fork;
mod hooks;
mod keys;
mod library;
mod load;
mod report;
mod task;
mod together;

use library::Library;
use rustix::fd::{FromRawFd, OwnedFd};
use slipway_domain::spec::{Command, Event};
use std::{
    env,
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    process::ExitCode,
    sync::mpsc,
};

/// The host could not do its part.
const OWN: u8 = 125;
/// A task's file was found and could not be loaded.
const NOT_LOADABLE: u8 = 126;

/// What the host hears of.
enum News {
    /// A task ended, or is out of the way altogether.
    Task(task::News),
    /// Its supervisor said something.
    Command(Command),
    /// Its supervisor is gone.
    Alone,
}

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err((code, why)) => {
            eprintln!("slipway: {why}");
            code.into()
        }
    }
}

fn run() -> Result<ExitCode, (u8, String)> {
    let (mut tasks, mut control) = (Vec::new(), None);
    let mut args = env::args().skip(1);
    while let Some(option) = args.next() {
        let value = args.next().ok_or_else(|| (2, format!("slipway-domain: {option} wants a value; use slipway run")))?;
        match option.as_str() {
            "--task" => tasks.push(serde_json::from_str(&value).map_err(|why| (2, format!("slipway-domain: --task: {why}")))?),
            "--control" => control = Some(value.parse().map_err(|_| (2, "slipway-domain: --control wants a number".to_owned()))?),
            _ => return Err((2, format!("slipway-domain: {option} is no option; use slipway run"))),
        }
    }
    let library = Library::load().map_err(|why| (OWN, why))?;
    hooks::install(library);
    let (send, receive) = mpsc::channel();
    match control {
        None => together::run(tasks, library, &send, &receive).map_err(|why| (NOT_LOADABLE, why)),
        Some(fd) => controlled(fd, library, &send, &receive),
    }
}

/// Does what the supervisor says.
fn controlled(
    fd: i32,
    library: &'static Library,
    send: &mpsc::Sender<News>,
    receive: &mpsc::Receiver<News>,
) -> Result<ExitCode, (u8, String)> {
    let mut control = adopt(fd).map_err(|why| (OWN, format!("slipway-domain: --control: {why}")))?;
    let lines = BufReader::new(control.try_clone().map_err(|why| (OWN, why.to_string()))?).lines();
    let commands = send.clone();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if let Ok(command) = serde_json::from_str(&line) {
                let _ = commands.send(News::Command(command));
            }
        }
        let _ = commands.send(News::Alone);
    });
    let mut names = std::collections::BTreeMap::new();
    let mut say = |event: &Event| {
        let line = serde_json::to_string(event).unwrap_or_default();
        // A supervisor that is gone is heard of on the other way.
        let _ = writeln!(control, "{line}");
    };
    for news in receive {
        match news {
            News::Task(task::News::Ended(number, code)) => {
                if let Some(name) = names.get(&number) {
                    say(&Event::Ended(String::clone(name), code));
                }
            }
            // As with a process: its entry has left by pthread_exit.
            News::Task(task::News::Alone(number)) => task::end(number, 0),
            News::Task(task::News::Over(number)) => {
                names.remove(&number);
                task::unload(number);
            }
            News::Command(Command::Start(task)) => {
                let name = task.name.clone();
                let send = send.clone();
                match task::start(task, library, move |news| drop(send.send(News::Task(news)))) {
                    Ok(number) => {
                        names.insert(number, name.clone());
                        say(&Event::Started(name));
                    }
                    Err(why) => say(&Event::Failed(name, why)),
                }
            }
            News::Command(Command::Quit) | News::Alone => break,
        }
    }
    hooks::end(0)
}

#[allow(unsafe_code, reason = "a descriptor that is handed over by number")]
fn adopt(fd: i32) -> std::io::Result<UnixStream> {
    // SAFETY: only flags are asked for.
    if fd < 3 || unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: it is open, and was inherited for this.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC)?;
    Ok(fd.into())
}
