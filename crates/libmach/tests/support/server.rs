//! A name server of a test's own.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
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

/// The name server of this build, built now if it is not there.
fn server() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let profile = test.ancestors().nth(2).expect("a directory");
    let program = profile.join("slipway-bootstrap");
    if !program.exists() {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--locked", "-p", "slipway-bootstrap", "--target-dir"]);
        cargo.arg(profile.parent().expect("a target directory"));
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        super::support::succeed(&mut cargo);
    }
    program
}

/// Starts one that listens at the socket; it does when this returns.
pub fn start(socket: &Path) -> Server {
    let mut command = Command::new(server());
    let mut child = command.arg("--socket").arg(socket).stdout(Stdio::piped()).spawn().expect("start the name server");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("the name server's first line");
    let server = Server(child);
    assert_eq!(line, "ready\n");
    server
}
