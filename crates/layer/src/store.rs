//! Layers on disk: a directory for each, below one that belongs to the user alone.
//!
//! A layer's directory has `files` (the tree), `work` (what is being made), `unnamed` (see [`crate::shared`]), `log`, `about.json`, `lock`, and while it is kept a
//! journal (`keep.plan`, `keep.commit` or `keep.done`).

use crate::{
    changes::Changes,
    log::{Line, Log},
    path::TreePath,
    remains::clear,
    shared::Shared,
    tree::{Dir, WHITEOUT, open_dir},
};
use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, FlockOperation, Mode, OFlags, flock, fstat, linkat, open, stat, symlinkat},
    io::Errno,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashSet,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};
use thiserror::Error;

/// What can go wrong with layers.
#[derive(Debug, Error)]
pub enum Error {
    /// There is none of this name.
    #[error("there is no layer {0}; `slipway unix list` shows those that there are")]
    Missing(String),
    /// A name that is in use.
    #[error("there is a layer {0} already; choose another name, or discard it")]
    Exists(String),
    /// A name that no layer can have.
    #[error("{0:?} can't be a layer's name: use letters, digits, and . _ - after the first")]
    Name(String),
    /// A running command, or another `slipway unix`, has it.
    #[error("the layer {0} is in use by a running command; wait until that ends")]
    Busy(String),
    /// Others lie on it.
    #[error("the layer {0} is below {1}; keep or discard that first")]
    Below(String, String),
    /// It lies on others.
    #[error("the layer {0} lies on {1}; keep that first")]
    Above(String, String),
    /// Half of a `keep` is on the host, or what it prepared there.
    #[error("keeping the layer {0} was interrupted; run `slipway unix keep {0}`, which finishes it")]
    Unfinished(String),
    /// Neither variable says where the user's layers are.
    #[error("there is no place for layers: set HOME or XDG_STATE_HOME")]
    Nowhere,
    /// A call of the host failed.
    #[error("{what}: {error}")]
    Io {
        /// What was tried, on what.
        what: String,
        /// How it failed.
        error: io::Error,
    },
}

impl Error {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = shortened(what.into());
        move |error| Self::Io { what, error }
    }

    pub(crate) fn errno(what: impl Into<String>) -> impl FnOnce(Errno) -> Self {
        let io = Self::io(what);
        move |error| io(error.into())
    }
}

/// Without the middle of what nobody would read.
fn shortened(what: String) -> String {
    const ENDS: usize = 200;
    match what.chars().count().checked_sub(3 * ENDS) {
        None => what,
        Some(more) => {
            let (start, end) = (what.chars().take(ENDS), what.chars().skip(more + 2 * ENDS));
            start.chain("...".chars()).chain(end).collect()
        }
    }
}

/// What a layer says of itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct About {
    /// The command that it was made for.
    pub command: Vec<String>,
    /// Seconds since 1970.
    pub created: u64,
    /// Layers below it, the lowest first.
    pub below: Vec<String>,
}

/// The directory of a user's layers.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) dir: PathBuf,
}

/// A layer that is open.
#[derive(Debug)]
pub struct Layer {
    pub(crate) name: String,
    pub(crate) dir: PathBuf,
    pub(crate) files: OwnedFd,
    pub(crate) work: OwnedFd,
    pub(crate) tree: Dir,
    /// What its files and directories had when it was opened.
    pub(crate) numbers: HashSet<u64>,
    pub(crate) log: Log,
    pub(crate) about: About,
    /// Number of the next name in `work`.
    pub(crate) next: u64,
    /// A whiteout in `work`, of which others are further names.
    pub(crate) whiteout: Option<Vec<u8>>,
    pub(crate) shared: Shared,
    /// What was set and noted since somebody asked.
    pub(crate) changes: Changes,
    /// Held as long as the layer is open.
    _lock: OwnedFd,
}

impl Layer {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What it says of itself.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.tree.entries.is_empty()
    }

    /// A name in `work` that is free.
    pub(crate) fn temporary(&mut self) -> Vec<u8> {
        self.next += 1;
        format!("{}", self.next).into_bytes()
    }

    /// Makes a whiteout: a further name of the first one, which takes less than a file of its own; one of its own where that can't be, or has
    /// as many names as it can.
    pub(crate) fn white_out(&mut self, path: &TreePath) -> Result<(), Errno> {
        let path = path.relative();
        let first = self.whiteout.as_ref();
        if first.is_some_and(|first| linkat(&self.work, first, &self.files, path, AtFlags::empty()).is_ok()) {
            return Ok(());
        }
        symlinkat(WHITEOUT, &self.files, path)?;
        let first = self.temporary();
        self.whiteout = linkat(&self.files, path, &self.work, &first, AtFlags::empty()).is_ok().then_some(first);
        Ok(())
    }

    /// The same in `work`: its name.
    pub(crate) fn temporary_whiteout(&mut self) -> Result<Vec<u8>, Errno> {
        let (name, first) = (self.temporary(), self.whiteout.as_ref());
        if first.is_none_or(|first| linkat(&self.work, first, &self.work, &name, AtFlags::empty()).is_err()) {
            symlinkat(WHITEOUT, &self.work, &name)?;
            let first = self.temporary();
            self.whiteout = linkat(&self.work, &name, &self.work, &first, AtFlags::empty()).is_ok().then_some(first);
        }
        Ok(name)
    }
}

/// A directory of the user's for files of a kind: what the variable says, else `below_home` in HOME. Neither counts where it is relative (XDG Base
/// Directory Specification).
pub fn base_directory(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable).or_else(|| Some(absolute("HOME")?.join(below_home)))
}

impl Store {
    /// Where the user's layers are: below `slipway/unix` in XDG_STATE_HOME, or in `~/.local/state`.
    ///
    /// # Errors
    /// As [`Self::open`], and [`Error::Nowhere`].
    pub fn of_user() -> Result<Self, Error> {
        Self::open(&base_directory("XDG_STATE_HOME", ".local/state").ok_or(Error::Nowhere)?.join("slipway/unix"))
    }

    /// Below this directory, which is made if it is not there.
    ///
    /// # Errors
    /// It can't be made, or belongs to another user.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let fail = || Error::io(format!("make {}", dir.display()));
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(fail())?;
        // Names that programs see are compared with it.
        let dir = fs::canonicalize(dir).map_err(fail())?;
        let stat = rustix::fs::stat(&dir).map_err(Error::errno(format!("look at {}", dir.display())))?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            let error = io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user; set XDG_STATE_HOME");
            return Err(Error::Io { what: format!("use {}", dir.display()), error });
        }
        if stat.st_mode & 0o077 != 0 {
            rustix::fs::chmod(&dir, Mode::RWXU).map_err(Error::errno(format!("chmod {}", dir.display())))?;
        }
        Ok(Self { dir })
    }

    /// Where it is, without links.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn place(&self, name: &str) -> Result<PathBuf, Error> {
        let fits = |(at, c): (usize, char)| c.is_ascii_alphanumeric() || c == '_' || at > 0 && (c == '-' || c == '.');
        if name.is_empty() || name.len() > 100 || !name.chars().enumerate().all(fits) {
            return Err(Error::Name(name.to_owned()));
        }
        Ok(self.dir.join(name))
    }

    /// The names of all layers, in order.
    ///
    /// # Errors
    /// The directory can't be read.
    pub fn names(&self) -> Result<Vec<String>, Error> {
        let fail = || Error::io(format!("list {}", self.dir.display()));
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(fail())? {
            let entry = entry.map_err(fail())?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if self.place(&name).is_ok_and(|dir| dir.join("about.json").exists()) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Makes a layer of a name that is free, the word and a number: its name.
    ///
    /// # Errors
    /// A call failed.
    pub fn create_free(&self, word: &str, about: &About) -> Result<String, Error> {
        let word: String = word.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect();
        let word = if word.is_empty() { "run" } else { &word };
        for name in (1..=u64::MAX).map(|n| format!("{word}-{n}")).filter(|name| !self.dir.join(name).exists()) {
            match self.create(&name, about) {
                // Another command took it meanwhile.
                Err(Error::Exists(_)) => {}
                made => return made.map(|()| name),
            }
        }
        Err(Error::Exists(word.to_owned()))
    }

    /// Makes a layer.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::Exists`], or a call failed.
    pub fn create(&self, name: &str, about: &About) -> Result<(), Error> {
        self.place(name)?;
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        let fill = |dir: &Path| -> io::Result<()> {
            builder.create(dir)?;
            for part in ["files", "work"] {
                builder.create(dir.join(part))?;
            }
            rustix::fs::chmod(dir.join("files"), Mode::from_raw_mode(0o755))?;
            // It has no set-group-ID bit of the directory above.
            rustix::fs::chmod(dir.join("work"), Mode::RWXU)?;
            File::create(dir.join("lock"))?;
            // Nothing is in it yet that should outlive the machine.
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(dir.join("about.json"))?;
            file.write_all(&serde_json::to_vec(about)?)
        };
        let lock = self.lock()?;
        let made = self.put(name, fill);
        drop(lock);
        self.sweep();
        made
    }

    /// What a layer says of itself.
    ///
    /// # Errors
    /// [`Error::Missing`], or it can't be read.
    pub fn about(&self, name: &str) -> Result<About, Error> {
        let path = self.place(name)?.join("about.json");
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Error::Missing(name.to_owned())),
            text => text.map_err(Error::io(format!("read {}", path.display())))?,
        };
        // As a machine that stopped may leave it.
        if text.is_empty() {
            return Ok(About::default());
        }
        serde_json::from_slice(&text).map_err(|error| Error::io(format!("read {}", path.display()))(error.into()))
    }

    /// Opens a layer: to change it, which one process at a time may; or to read it.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Busy`], [`Error::Unfinished`], or a call failed.
    pub fn layer(&self, name: &str, change: bool) -> Result<Layer, Error> {
        let layer = self.open_layer(name, change)?;
        let is_at = |phase: &str| layer.dir.join(phase).exists();
        // What is changed after it was decided would be lost when it is finished.
        if is_at("keep.commit") || change && (is_at("keep.done") || layer.take_plan_back().is_err()) {
            return Err(Error::Unfinished(name.to_owned()));
        }
        Ok(layer)
    }

    /// A layer as it is now, though a command may be changing it.
    ///
    /// # Errors
    /// [`Error::Missing`], or a call failed.
    pub fn look_at(&self, name: &str) -> Result<Layer, Error> {
        self.open_with(name, false, false)
    }

    /// The same, also where a `keep` was interrupted.
    pub(crate) fn open_layer(&self, name: &str, change: bool) -> Result<Layer, Error> {
        self.open_with(name, change, true)
    }

    fn open_with(&self, name: &str, change: bool, locked: bool) -> Result<Layer, Error> {
        let about = self.about(name)?;
        let dir = self.place(name)?;
        let fail = |part: &str| format!("open {}", dir.join(part).display());
        let lock = match open(dir.join("lock"), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
            // Discarded since.
            Err(Errno::NOENT) => return Err(Error::Missing(name.to_owned())),
            lock => lock.map_err(Error::errno(fail("lock")))?,
        };
        let how = if change { FlockOperation::NonBlockingLockExclusive } else { FlockOperation::NonBlockingLockShared };
        match if locked { flock(&lock, how) } else { Ok(()) } {
            Err(Errno::WOULDBLOCK) => return Err(Error::Busy(name.to_owned())),
            locked => locked.map_err(Error::errno(fail("lock")))?,
        }
        // It may have been discarded before the lock was taken, and another one made.
        let now = stat(dir.join("lock")).ok().zip(fstat(&lock).ok());
        if now.is_none_or(|(now, locked)| (now.st_dev, now.st_ino) != (locked.st_dev, locked.st_ino))
            || !dir.join("about.json").exists()
        {
            return self.open_with(name, change, locked);
        }
        let part = |part: &str| {
            open_dir(rustix::fs::CWD, dir.join(part).as_os_str().as_encoded_bytes()).map_err(Error::errno(fail(part)))
        };
        let (files, work) = (part("files")?, part("work")?);
        if change {
            let emptied = crate::copy::remove_below(&work);
            emptied.map_err(Error::errno(format!("empty {}", dir.join("work").display())))?;
        }
        let mut numbers = HashSet::new();
        let tree = Dir::read(&files, &mut numbers).map_err(Error::errno(fail("files")))?;
        let log = Log::open(&dir.join("log"), change);
        let log = match log {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Log::open(Path::new("/dev/null"), false),
            log => log,
        };
        let log = log.map_err(Error::io(fail("log")))?;
        let mut layer = Layer {
            name: name.to_owned(),
            dir,
            files,
            work,
            tree,
            numbers,
            log,
            about,
            next: 0,
            whiteout: None,
            shared: Shared::default(),
            changes: Changes::default(),
            _lock: lock,
        };
        layer.read_unnamed(change);
        layer.forget_lost_copies();
        if change && let Some(path) = layer.log.hide.clone() {
            layer.finish_rename(&path).map_err(Error::errno(format!("finish a rename in layer {name}")))?;
        }
        Ok(layer)
    }

    /// Layers with those that they lie on, the lowest first.
    ///
    /// # Errors
    /// As [`Store::about`].
    pub fn with_below(&self, layers: &[String]) -> Result<Vec<String>, Error> {
        let mut all: Vec<String> = Vec::new();
        for layer in layers {
            for below in self.about(layer)?.below.iter().chain([layer]) {
                if !all.contains(below) {
                    all.push(below.clone());
                }
            }
        }
        Ok(all)
    }

    /// Opens layers for a view: these, in this order, and above them the one that is changed, if there is one.
    ///
    /// # Errors
    /// As [`Store::layer`].
    pub fn layers(&self, below: &[String], top: Option<&str>) -> Result<Vec<Layer>, Error> {
        let below = below.iter().map(String::as_str).filter(|layer| Some(*layer) != top).map(|layer| (layer, false));
        below.chain(top.map(|top| (top, true))).map(|(layer, change)| self.layer(layer, change)).collect()
    }

    /// Those that lie on a layer directly.
    ///
    /// # Errors
    /// Of [`Store::names`].
    pub fn above(&self, name: &str) -> Result<Vec<String>, Error> {
        let mut above = self.names()?;
        above.retain(|other| self.about(other).is_ok_and(|about| about.below.iter().any(|below| below == name)));
        Ok(above)
    }

    /// Removes a layer and all that is in it.
    ///
    /// # Errors
    /// [`Error::Below`] if others lie on it, those of [`Store::layer`], or a call failed.
    pub fn discard(&self, name: &str) -> Result<(), Error> {
        let layer = match self.layer(name, true) {
            Err(Error::Missing(_)) if self.lock().and_then(|_lock| self.take_remains(name))? => {
                self.sweep();
                return Ok(());
            }
            layer => layer?,
        };
        if let Some(above) = self.above(name)?.first() {
            return Err(Error::Below(name.to_owned(), above.clone()));
        }
        self.remove(&layer)
    }

    pub(crate) fn remove(&self, layer: &Layer) -> Result<(), Error> {
        let fail = || format!("remove {}", layer.dir.display());
        let dir = open_dir(rustix::fs::CWD, layer.dir.as_os_str().as_encoded_bytes()).map_err(Error::errno(fail()))?;
        let gone = self.retire(&layer.dir)?;
        clear(&dir, &gone).map_err(Error::errno(fail()))?;
        self.sweep();
        Ok(())
    }

    /// Has the layers above forget one that is on the host now.
    pub(crate) fn forget_below(&self, name: &str) -> Result<(), Error> {
        for other in self.above(name)? {
            let mut about = self.about(&other)?;
            about.below.retain(|below| below != name);
            let path = self.place(&other)?.join("about.json");
            let text = serde_json::to_vec(&about).map_err(|error| Error::io("write JSON")(error.into()))?;
            write_whole(&path, &text).map_err(Error::io(format!("write {}", path.display())))?;
        }
        Ok(())
    }
}

/// Writes a file so that it is there as a whole or as before.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

impl Layer {
    /// Carries out what a rename that was interrupted has left.
    pub(crate) fn finish_rename(&mut self, path: &TreePath) -> Result<(), Errno> {
        let look = self.tree.look(path);
        if look.node.is_none() && !look.covered && self.tree.dir(&path.parent()).is_some() {
            symlinkat(WHITEOUT, &self.files, path.relative())?;
            self.tree.set(path, crate::tree::Node::Whiteout);
        }
        self.log.add(Line::Hidden).map_err(|_| Errno::IO)
    }
}
