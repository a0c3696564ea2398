//! What a layer remembers beside its files, appended line by line: what was below a name before the layer changed it, whose copy a
//! file is, and a step that is under way.

use crate::path::{TreePath, escape, unescape};
use rustix::fs::{FileType, Stat};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs::{File, OpenOptions},
    io::{self, Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// What identifies a file's state from the outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// The file system's number.
    pub dev: u64,
    /// The file's number; 0 if it is in another layer, where it will change by being kept.
    pub ino: u64,
    /// The file's number if it is in another layer: nothing on the host is compared with it.
    #[serde(default)]
    pub below: u64,
    /// In bytes; 0 for directories.
    pub size: u64,
    /// Last change of the contents, ns since 1970; 0 for directories and links.
    pub mtime: i64,
    /// Type and permissions.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

fn ns(seconds: i64, ns: u64) -> i64 {
    seconds.wrapping_mul(1_000_000_000).wrapping_add(ns.cast_signed())
}

impl Stamp {
    /// Of a file on the host, or of one in another layer.
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ between machines")]
    pub fn new(stat: &Stat, is_host: bool) -> Self {
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_dir = kind == FileType::Directory;
        // Nobody looks at a link's time, and its contents don't change.
        let is_timeless = is_dir || kind == FileType::Symlink;
        let unless = |no: bool, value: i64| if no { 0 } else { value };
        Self {
            dev: if is_host { stat.st_dev.into() } else { 0 },
            ino: if is_host { stat.st_ino } else { 0 },
            below: if is_host { 0 } else { stat.st_ino },
            size: if is_dir { 0 } else { stat.st_size.cast_unsigned() },
            mtime: unless(is_timeless, ns(stat.st_mtime.into(), stat.st_mtime_nsec)),
            mode: stat.st_mode,
            uid: stat.st_uid,
            gid: stat.st_gid,
        }
    }

    /// Whether a file on the host is still as it was when this was taken. File systems have other numbers after a start of the machine.
    pub fn is_still(&self, now: &Self) -> bool {
        let ino = if self.ino == 0 { 0 } else { now.ino };
        *self == Self { dev: self.dev, ino, below: self.below, ..*now }
    }

    fn is_dir(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::Directory
    }

    /// Whether both are directories, the same one if that can be told.
    pub fn is_same_dir(&self, now: &Self) -> bool {
        self.is_dir() && now.is_dir() && (self.ino == 0 || self.ino == now.ino)
    }
}

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Line {
    /// What was at a name before it was changed; none: nothing.
    Base(TreePath, Option<Stamp>),
    /// The name is as on the host again.
    Forget(TreePath),
    /// The file or directory with this number in the layer is the copy of that (device, number).
    Copy {
        of: (u64, u64),
        ino: u64,
        /// That one is the host's, and had several names.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        linked: bool,
    },
    /// The file with this number in the layer is gone, or is none's copy.
    Gone { ino: u64 },
    /// A rename is under way: when the name is gone here, what is below it must be hidden.
    Hide(TreePath),
    /// The rename is done.
    Hidden,
}

/// The log of a layer.
#[derive(Debug)]
pub(crate) struct Log {
    file: Option<File>,
    /// Bytes of whole lines.
    len: u64,
    /// Lines that the disk had no room for, of what is so already; they come before the next one.
    owed: Vec<Line>,
    pub(crate) bases: BTreeMap<TreePath, Option<Stamp>>,
    /// By number in the layer.
    pub(crate) copies: HashMap<u64, (u64, u64)>,
    /// Those of files of the host's that had several names.
    pub(crate) linked: HashSet<u64>,
    /// A rename that was not finished.
    pub(crate) hide: Option<TreePath>,
}

impl Log {
    /// Reads the log, and opens it to append if it is to be written. A last line that was cut off never happened.
    ///
    /// # Errors
    /// Of open, read and write; a line that is none.
    pub(crate) fn open(path: &Path, write: bool) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).append(write).create(write).mode(0o600).open(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if write && whole < text.len() {
            file.set_len(whole as u64)?;
            file.seek(io::SeekFrom::End(0))?;
        }
        let file = write.then_some(file);
        let mut log = Self {
            file,
            len: whole as u64,
            owed: Vec::new(),
            bases: BTreeMap::new(),
            copies: HashMap::new(),
            linked: HashSet::new(),
            hide: None,
        };
        for line in text[..whole].lines() {
            log.note(serde_json::from_str(line).map_err(io::Error::other)?);
        }
        Ok(log)
    }

    fn note(&mut self, line: Line) {
        match line {
            Line::Base(path, stamp) => {
                self.bases.entry(path).or_insert(stamp);
            }
            Line::Forget(path) => {
                let below: Vec<TreePath> = self.bases.range(path.range_below()).map(|(below, _)| below.clone()).collect();
                for path in below.iter().chain([&path]) {
                    self.bases.remove(path);
                }
            }
            Line::Copy { of, ino, linked } => {
                self.copies.insert(ino, of);
                if linked {
                    self.linked.insert(ino)
                } else {
                    self.linked.remove(&ino)
                };
            }
            Line::Gone { ino } => {
                self.copies.remove(&ino);
                self.linked.remove(&ino);
            }
            Line::Hide(path) => self.hide = Some(path),
            Line::Hidden => self.hide = None,
        }
    }

    /// What is below a name is this now.
    ///
    /// # Errors
    /// Of write; nothing is changed then.
    pub(crate) fn rebase(&mut self, path: TreePath, now: Stamp) -> io::Result<()> {
        // Both lines are written at once.
        let (owed, before) = (self.owed.len(), self.bases.remove(&path));
        self.owed.push(Line::Forget(path.clone()));
        self.add(Line::Base(path.clone(), Some(now))).inspect_err(|_| {
            self.owed.truncate(owed);
            before.and_then(|before| self.bases.insert(path, before));
        })
    }

    /// Appends a line.
    ///
    /// # Errors
    /// Of write, but for lines that undo others: those are written later.
    pub(crate) fn add(&mut self, line: Line) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            let mut text = Vec::new();
            for line in self.owed.iter().chain([&line]) {
                serde_json::to_writer(&mut text, line)?;
                text.push(b'\n');
            }
            match file.write_all(&text) {
                Ok(()) => {
                    self.len += text.len() as u64;
                    self.owed.clear();
                }
                Err(error) => {
                    // On a full disk a part of the line may be there, and the next one must not follow it.
                    file.set_len(self.len)?;
                    if !matches!(line, Line::Gone { .. } | Line::Hidden) {
                        return Err(error);
                    }
                    self.owed.push(line.clone());
                }
            }
        }
        self.note(line);
        Ok(())
    }
}

/// A path as in the log, for messages of programs.
pub fn escaped(path: &[u8]) -> String {
    escape(path)
}

/// The path of what [`escaped`] made.
pub fn unescaped(text: &str) -> Option<Vec<u8>> {
    unescape(text)
}
