//! Which tasks a host runs, and what it and its supervisor say to each other: lines of JSON.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A task that a host runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// What it is called.
    pub name: String,
    /// The shared object.
    pub file: PathBuf,
    /// Its arguments, without the first, which is the file.
    pub args: Vec<String>,
    /// The socket of its name server; None for the one that the process's environment names.
    pub bootstrap: Option<PathBuf>,
}

/// What a supervisor tells a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Load and run this task.
    Start(Task),
    /// End every task, and the process.
    Quit,
}

/// What a host tells its supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The task runs.
    Started(String),
    /// The task could not be loaded, and why.
    Failed(String, String),
    /// The task ended, with this code.
    Ended(String, i32),
}
