//! What a command looked at.

use rustix::{fs::FileType, io::Errno};
use serde::{Deserialize, Serialize};
use slipway_layer::{Resolved, TreePath};
use std::collections::BTreeSet;

/// Names that a command used, but for those that it made or changed only.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Record {
    /// Files that were opened to read, and links that were read.
    pub read: BTreeSet<TreePath>,
    /// Directories that were listed.
    pub listed: BTreeSet<TreePath>,
    /// Names that were looked for, and were not there.
    pub missed: BTreeSet<TreePath>,
    /// Programs that were run.
    pub run: BTreeSet<TreePath>,
}

impl Record {
    /// A path was followed.
    pub(crate) fn looked(&mut self, resolved: &Result<Resolved, Errno>, start: &TreePath, path: &[u8]) {
        let missed = match resolved {
            Ok(resolved) if resolved.found.is_none() => resolved.path.clone(),
            Err(Errno::NOENT) if path.first() == Some(&b'/') => TreePath::literal(path),
            Err(Errno::NOENT) => TreePath::literal([start.absolute().as_slice(), b"/", path].concat()),
            _ => return,
        };
        self.missed(missed);
    }

    /// A name was not there.
    pub(crate) fn missed(&mut self, path: TreePath) {
        enter(&mut self.missed, path);
    }

    /// A file was opened to read, or a directory to list.
    pub(crate) fn opened(&mut self, path: &TreePath, kind: FileType) {
        enter(if kind == FileType::Directory { &mut self.listed } else { &mut self.read }, path.clone());
    }

    /// A program was run.
    pub(crate) fn ran(&mut self, path: &TreePath) {
        enter(&mut self.run, path.clone());
    }

    pub(crate) fn is_empty(&self) -> bool {
        [&self.read, &self.listed, &self.missed, &self.run].iter().all(|names| names.is_empty())
    }

    /// Adds what an earlier command used.
    pub fn add(&mut self, other: Self) {
        self.read.extend(other.read);
        self.listed.extend(other.listed);
        self.missed.extend(other.missed);
        self.run.extend(other.run);
    }
}

/// The kernel's own names are no provenance.
fn enter(set: &mut BTreeSet<TreePath>, path: TreePath) {
    if !matches!(path.components().next(), Some(b"proc" | b"sys")) {
        set.insert(path);
    }
}
