//! Helper processes that cost little: one is started, and forks the others, whose bootstrap port is the starter's.
#![allow(unsafe_code, reason = "fork has no safe face")]

use super::*;
use rustix::process::{Pid, Signal};
use std::path::PathBuf;

/// A process that makes others.
#[derive(Debug)]
pub struct Nursery {
    process: Child,
    port: u32,
    reply: u32,
    hello: u32,
}

/// Where the children of the nursery with this process number say what went wrong with them.
fn complaints(nursery: u32) -> PathBuf {
    std::env::temp_dir().join(format!("slipway-test-complaints-{nursery}"))
}

impl Nursery {
    /// Starts the test `test` of this binary again as a nursery: it calls [`serve`] when it has a role. The children's
    /// bootstrap port is `hello`.
    pub fn start(test: &str, hello: u32) -> Self {
        let process = start(test, "nursery", hello);
        // Of an earlier process with its number, whose test was ended.
        let _ = std::fs::remove_file(complaints(process.id()));
        let port = receive(hello).reply();
        Self { process, port, reply: receive_right(), hello }
    }

    /// A new process that plays the part `part`, with a seed.
    pub fn spawn(&self, part: i32, seed: u64) -> Pid {
        let answer = rpc(part, self.port, self.reply, |msg| msg.int(seed));
        assert_eq!(answer.id(), 1, "the nursery lives");
        Pid::from_raw(answer.u64(40) as i32).expect("a process number")
    }

    /// Ends it; fails if one of its children complained.
    pub fn end(mut self) {
        assert_eq!(send(&Msg::new(0, (self.port, types::COPY_SEND), (0, 0))), Code::SUCCESS);
        let pid = self.process.id();
        assert!(self.process.wait().expect("the nursery's end").success());
        let task = Task::current();
        for port in [self.reply, self.hello] {
            task.mod_refs(port, right::RECEIVE, -1).expect("a port of ours");
        }
        tools::until("the nursery's port is dead", || tools::is_dead(self.port));
        task.deallocate(self.port).expect("a dead name");
        let said = std::fs::read_to_string(complaints(pid)).unwrap_or_default();
        let _ = std::fs::remove_file(complaints(pid));
        assert!(said.is_empty(), "a helper process failed: {said}");
    }
}

/// Kills a process at once.
pub fn kill(pid: Pid) {
    rustix::process::kill_process(pid, Signal::KILL).expect("it lives until now");
}

/// The nursery's own part: forks a process for each request, which calls `play` with part and seed.
pub fn serve(play: fn(i32, u64)) {
    // SAFETY: no handler is installed; ended children are forgotten by the kernel.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    let parent = inherited();
    let own = receive_right();
    assert_eq!(send(&Msg::new(1, (parent, types::COPY_SEND), (own, types::MAKE_SEND))), Code::SUCCESS);
    Task::current().set_bootstrap(parent).expect("a send right");
    loop {
        let Ok(msg) = receive_within(own, 10 * SOON) else { return };
        if msg.id() == 0 {
            return;
        }
        // SAFETY: the child goes on in this thread alone, as fork(2) allows a process that forks by the C library.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
        if pid == 0 {
            child(play, msg.id(), msg.u64(40));
        }
        let answer = Msg::new(1, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0)).int(pid as u64);
        assert_eq!(send(&answer), Code::SUCCESS);
    }
}

fn child(play: fn(i32, u64), part: i32, seed: u64) -> ! {
    let nursery = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let path = complaints(nursery as u32);
    std::panic::set_hook(Box::new(move |panic| {
        use std::io::Write as _;
        if let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(&path) {
            let _ = writeln!(file, "part {part}, seed {seed}: {panic}");
        }
    }));
    let played = std::panic::catch_unwind(|| play(part, seed));
    // SAFETY: ends the process; nothing that the parent shares with it is flushed twice.
    unsafe { libc::_exit(i32::from(played.is_err())) }
}

/// In a child: a send right to the starter's `hello` port.
pub fn bootstrap() -> u32 {
    Task::current().bootstrap().expect("it was inherited")
}
