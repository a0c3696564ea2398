//! A name server of a test's own.

use crate::built;
use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// A name server, killed when this is dropped.
#[derive(Debug)]
pub struct NameServer {
    socket: PathBuf,
    process: Child,
}

impl NameServer {
    /// Starts one that listens at the socket; it does when this returns.
    ///
    /// # Panics
    /// If it can't be started.
    pub fn start(socket: &Path) -> Self {
        let mut command = Command::new(built("slipway-bootstrap"));
        let process = command.arg("--socket").arg(socket).stdout(Stdio::piped()).spawn().expect("start the name server");
        let mut server = Self { socket: socket.to_owned(), process };
        let mut line = String::new();
        BufReader::new(server.process.stdout.take().expect("a pipe")).read_line(&mut line).expect("the name server's first line");
        assert_eq!(line, "ready\n");
        server
    }

    /// Has a command use it.
    pub fn used_by<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("SLIPWAY_BOOTSTRAP", &self.socket)
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
