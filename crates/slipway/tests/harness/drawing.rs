//! Drawing sessions whose last picture is always the same.

use super::build::asset;
use super::process::{Mode, Running};
use super::server::Server;

/// A program that draws, says "ready", and stays until its input ends.
pub struct Drawing {
    /// The interpreter.
    pub program: &'static str,
    /// The script, below the tests directory.
    pub script: &'static str,
    /// How the status names it.
    pub name: &'static str,
}

/// All of them.
pub const DRAWINGS: [Drawing; 2] = [
    Drawing { program: "wish", script: "tk/draw.tcl", name: "wish" },
    // Debian's own: another python3 on PATH may have no tkinter.
    Drawing { program: "/usr/bin/python3", script: "tk/draw.py", name: "python3" },
];

impl Drawing {
    /// Starts it.
    pub fn run(&self, server: &Server, mode: Mode) -> Running {
        let script = asset(self.script);
        server.run(mode, self.program, &[script.to_str().expect("a path in UTF-8")])
    }

    /// Starts it and waits until its picture is complete.
    pub fn start(&self, server: &Server, mode: Mode) -> Running {
        let mut running = self.run(server, mode);
        running.wait_line("ready");
        running
    }
}
