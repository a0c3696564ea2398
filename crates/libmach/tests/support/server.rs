//! A name server of a test's own.

use super::support::built::built;
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

/// A name server, killed at the end of the test.
pub struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts one that listens at the socket; it does when this returns.
pub fn start(socket: &Path) -> Server {
    let mut command = Command::new(built("slipway-bootstrap"));
    let mut child = command.arg("--socket").arg(socket).stdout(Stdio::piped()).spawn().expect("start the name server");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("the name server's first line");
    let server = Server(child);
    assert_eq!(line, "ready\n");
    server
}
