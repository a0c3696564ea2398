//! How far the steps have come that write over a file. From outside, one that was killed half way looks like an edit of somebody else's.

use crate::log::Stamp;
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// How far a step has come that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    /// It writes, or was killed while it did.
    Writing,
    /// It is done, and left the file so.
    Done(Stamp),
    /// It is undone, and left the file so.
    Undone(Stamp),
}

/// What is known of the steps, by number; appended to a file line by line.
#[derive(Debug)]
pub(super) struct Progress {
    file: File,
    /// Bytes of whole lines.
    len: u64,
    states: HashMap<usize, State>,
}

impl Progress {
    /// Reads the file, which is made if it is not there. A last line that was cut off never happened.
    ///
    /// # Errors
    /// Of open, read and write; a line that is none.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64)?;
        let lines = text[..whole].lines().map(|line| serde_json::from_str(line).map_err(io::Error::other));
        Ok(Self { file, len: whole as u64, states: lines.collect::<io::Result<_>>()? })
    }

    /// How far a step has come.
    pub(super) fn of(&self, step: usize) -> Option<State> {
        self.states.get(&step).copied()
    }

    /// Has all that was noted on the disk.
    ///
    /// # Errors
    /// Of fdatasync.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Notes it: that a step writes, on the disk before it does.
    ///
    /// # Errors
    /// Of write; it is known until this process ends.
    pub(super) fn note(&mut self, step: usize, state: State) -> io::Result<()> {
        self.states.insert(step, state);
        let mut line = serde_json::to_vec(&(step, state)).map_err(io::Error::other)?;
        line.push(b'\n');
        let sync = |()| if state == State::Writing { self.file.sync_data() } else { Ok(()) };
        if let Err(error) = (&self.file).write_all(&line).and_then(sync) {
            // A part of the line may be there, and the next one must not follow it.
            self.file.set_len(self.len)?;
            return Err(error);
        }
        self.len += line.len() as u64;
        Ok(())
    }
}
