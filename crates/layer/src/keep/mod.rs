//! Bringing a layer to the host: all of it or nothing, whatever is killed.
//!
//! 1. What the layer changes is compared with what was there when it changed it: conflicts end it.
//! 2. A plan is written (`keep.plan`); each new file is made beside its place, under a name of the plan. Killed here, the names are removed.
//!    That may take long: then it is compared again.
//! 3. The plan becomes a commitment (`keep.commit`): each step puts a new file in its place by one rename, and the old one in the new one's
//!    name. Killed here, the steps are gone through again; each sees whether it is done. If one fails, or what it took away is not what
//!    was there when all was prepared, those done are undone. A step that writes over a file can be half done: it says so before
//!    (`keep.progress`).
//! 4. It is done (`keep.done`): the old files are removed, then the layer, or what of it was kept.

mod apply;
mod in_place;
mod linked;
mod plan;
mod progress;
mod release;
mod rights;

pub use plan::Conflict;

use crate::{
    path::TreePath,
    store::{Error, Layer, Store, write_whole},
    tree::Node,
    view::{Place, Rules, View},
};
use apply::{Host, Made, Steps};
use plan::Journal;
use progress::Progress;
use rustix::fd::{AsFd, BorrowedFd};
use std::{fs, io, path::Path};

/// How far the steps of a journal have come that can be half done.
const PROGRESS: &str = "keep.progress";

/// What came of a `keep`.
#[derive(Debug)]
pub enum Kept {
    /// So many names were changed on the host. The layer is gone, or what was kept of it.
    Done(usize),
    /// Nothing was changed, except where an interrupted one was finished before: the host is not what the layer was made over.
    Conflicts(Vec<Conflict>),
}

/// What was left of an interrupted `keep`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovered {
    /// Nothing.
    Nothing,
    /// It was not decided: what it had made is removed.
    Undone,
    /// It was decided, and is finished: so many names.
    Finished(usize),
}

impl Store {
    /// Applies what a layer changes within `paths` (all of it, if there are none) to the host, whose root is `root`. One that was
    /// interrupted is finished first. `step` is called before each call that changes the host or the journal.
    ///
    /// # Errors
    /// [`Error::Above`] if the layer lies on others; a call failed, and nothing is changed.
    pub fn keep(&self, name: &str, root: &Path, paths: &[TreePath], step: &mut dyn FnMut()) -> Result<Kept, Error> {
        let mut layer = self.open_layer(name, true)?;
        let finished = match self.resume(&mut layer, root, step)? {
            // That was all of it.
            Recovered::Finished(count) if self.about(name).is_err() => return Ok(Kept::Done(count)),
            Recovered::Finished(count) => count,
            Recovered::Nothing | Recovered::Undone => 0,
        };
        if let Some(below) = layer.about.below.first() {
            return Err(Error::Above(name.to_owned(), below.clone()));
        }
        let dir = layer.dir.clone();
        let view = View::new(root, vec![layer], Rules::default()).map_err(Error::errno(format!("open {}", root.display())))?;
        let mut journal = match plan::plan(&view, name, paths)? {
            Ok(journal) => journal,
            Err(conflicts) => return Ok(Kept::Conflicts(conflicts)),
        };
        journal.root = Some(place_of(root)?);
        let host = Host::open(root)?;
        save(&dir, "keep.plan", &journal, step)?;
        let (files, mut made) = (view.root(Place::Layer(0)), Made::new(&journal));
        rights::take(&host.root, &journal.before(), step);
        rights::take(files, &journal.closed, step);
        let staged = apply::stage(&host, &view, &mut journal, &mut made, step);
        let staged = staged.and(rights::give_up(files, &journal.closed, step));
        let staged = staged.and_then(|()| plan::look_again(&view, name, paths, &journal));
        if !staged.as_ref().is_ok_and(Vec::is_empty) {
            let dirs = made.dirs(&host, &journal);
            take_back(&dir, files, &host, &journal, made.names.iter(), step)?;
            apply::set_times_back(&host, &dirs, step);
            return staged.map(Kept::Conflicts);
        }
        save(&dir, "keep.plan", &journal, step)?;
        step();
        // Before it is decided, where a full disk does no harm.
        fs::write(dir.join(PROGRESS), "").map_err(Error::io(format!("write {}", dir.join(PROGRESS).display())))?;
        advance(&dir, "keep.plan", "keep.commit", step)?;
        commit(&dir, files, &host, &journal, step)?;
        advance(&dir, "keep.commit", "keep.done", step)?;
        for mut layer in view.into_layers() {
            self.finish(&mut layer, &host, &journal, step)?;
        }
        Ok(Kept::Done(finished + journal.count))
    }

    /// Finishes or undoes a `keep` that was interrupted.
    ///
    /// # Errors
    /// A call failed. If it was decided, and a step can't be done any more, it is undone then.
    pub fn recover(&self, name: &str, root: &Path, step: &mut dyn FnMut()) -> Result<Recovered, Error> {
        self.resume(&mut self.open_layer(name, true)?, root, step)
    }

    fn resume(&self, layer: &mut Layer, root: &Path, step: &mut dyn FnMut()) -> Result<Recovered, Error> {
        let dir = layer.dir.clone();
        let host = Host::open(root)?;
        if let Some(journal) = load(&dir, "keep.done")? {
            self.finish(layer, &host, &journal, step)?;
            return Ok(Recovered::Finished(journal.count));
        }
        if let Some(journal) = load(&dir, "keep.commit")? {
            commit(&dir, layer.files.as_fd(), &host, &journal, step)?;
            advance(&dir, "keep.commit", "keep.done", step)?;
            self.finish(layer, &host, &journal, step)?;
            return Ok(Recovered::Finished(journal.count));
        }
        if let Some(journal) = load(&dir, "keep.plan")? {
            take_back(&dir, layer.files.as_fd(), &host, &journal, journal.temporaries(), step)?;
            return Ok(Recovered::Undone);
        }
        Ok(Recovered::Nothing)
    }

    /// Removes the old files, and from the layer what is on the host now.
    fn finish(&self, layer: &mut Layer, host: &Host, journal: &Journal, step: &mut dyn FnMut()) -> Result<(), Error> {
        rights::take(&host.root, &journal.after(), step);
        let finished = apply::unstage(host, journal.temporaries(), step).and_then(|()| {
            apply::set_times(host, journal, step);
            if journal.is_whole { Ok(()) } else { layer.release_kept(host, journal, step) }
        });
        rights::give_up(&host.root, &journal.after(), step)?;
        finished?;
        if journal.is_whole {
            step();
            self.forget_below(&layer.name)?;
            step();
            return self.remove(layer);
        }
        remove(&layer.dir, "keep.done", step)
    }

    /// Whether a layer is sound: what of it is not, in words; nothing if it is.
    ///
    /// # Errors
    /// It can't be read.
    pub fn check(&self, name: &str) -> Result<Vec<String>, Error> {
        let layer = self.open_layer(name, false)?;
        let mut wrong = Vec::new();
        for phase in ["keep.plan", "keep.commit", "keep.done"] {
            if layer.dir.join(phase).exists() {
                wrong.push(format!("a keep was interrupted ({phase}); `slipway unix keep {name}` finishes or undoes it"));
            }
        }
        if let Some(path) = &layer.log.hide {
            wrong.push(format!("a rename of {path} was interrupted; the next command in the layer finishes it"));
        }
        for below in &layer.about.below {
            if self.about(below).is_err() {
                wrong.push(format!("the layer {below}, which it lies on, is not there"));
            }
        }
        layer.tree.each(&TreePath::root(), &mut |path, node| {
            let is_known = layer.log.bases.contains_key(path) || layer.tree.look(path).covered || is_in_new_dir(&layer, path);
            if !is_known && *node == Node::Whiteout {
                wrong.push(format!("the log does not say what was at {path} before it was removed"));
            }
        });
        Ok(wrong)
    }
}

impl Layer {
    /// Removes what a `keep` made on the host that was interrupted before it was decided.
    ///
    /// # Errors
    /// A call failed, or an older version began it.
    pub(crate) fn take_plan_back(&self) -> Result<(), Error> {
        let Some(journal) = load(&self.dir, "keep.plan")? else { return Ok(()) };
        let root = journal.root.as_ref().ok_or_else(|| Error::Unfinished(self.name.clone()))?;
        let host = Host::open(&root.to_path())?;
        take_back(&self.dir, self.files.as_fd(), &host, &journal, journal.temporaries(), &mut || {})
    }
}

/// Goes through the steps; if one fails, those done are undone, and it was never decided.
fn commit(dir: &Path, files: BorrowedFd<'_>, host: &Host, journal: &Journal, step: &mut dyn FnMut()) -> Result<(), Error> {
    let path = dir.join(PROGRESS);
    let progress = Progress::open(&path).map_err(Error::io(format!("open {}", path.display())))?;
    // Somebody may have given them up again since it was killed.
    rights::take(&host.root, &journal.before(), step);
    let rewritten = journal.rewrites().filter_map(|(_, old)| old).map(|old| (old.dev, old.ino)).collect();
    let mut steps = Steps { host, journal, progress, rewritten, step };
    let Err(error) = steps.commit() else { return Ok(()) };
    steps.undo()?;
    advance(dir, "keep.commit", "keep.plan", step)?;
    take_back(dir, files, host, journal, journal.temporaries(), step)?;
    Err(error)
}

/// Removes what was made before it was decided; directories of the host and of the layer have their modes then.
fn take_back<'a>(
    dir: &Path,
    files: BorrowedFd<'_>,
    host: &Host,
    journal: &Journal,
    names: impl Iterator<Item = &'a TreePath>,
    step: &mut dyn FnMut(),
) -> Result<(), Error> {
    let removed = apply::unstage(host, names, step);
    rights::give_up(&host.root, &journal.before(), step)?;
    rights::give_up(files, &journal.closed, step)?;
    removed?;
    remove(dir, "keep.plan", step)
}

/// Where the host's root is, from whatever directory the next process has.
fn place_of(root: &Path) -> Result<TreePath, Error> {
    let root = fs::canonicalize(root).map_err(Error::io(format!("look at {}", root.display())))?;
    Ok(TreePath::literal(root.as_os_str().as_encoded_bytes()))
}

/// Whether a directory above was made by the layer.
fn is_in_new_dir(layer: &Layer, path: &TreePath) -> bool {
    let mut above = path.parent();
    while !above.is_root() {
        if matches!(layer.log.bases.get(&above), Some(None)) {
            return true;
        }
        above = above.parent();
    }
    false
}

fn save(dir: &Path, phase: &str, journal: &Journal, step: &mut dyn FnMut()) -> Result<(), Error> {
    let path = dir.join(phase);
    let text = serde_json::to_vec(journal).map_err(|error| Error::io("write JSON")(error.into()))?;
    step();
    write_whole(&path, &text).map_err(Error::io(format!("write {}", path.display())))
}

fn load(dir: &Path, phase: &str) -> Result<Option<Journal>, Error> {
    let path = dir.join(phase);
    let fail = || Error::io(format!("read {}", path.display()));
    match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => {
            let journal: Journal = serde_json::from_slice(&text.map_err(fail())?).map_err(|error| fail()(error.into()))?;
            if journal.version > plan::VERSION {
                return Err(fail()(io::Error::other("a newer slipway wrote it, and can go on with it")));
            }
            Ok(Some(journal))
        }
    }
}

fn advance(dir: &Path, from: &str, to: &str, step: &mut dyn FnMut()) -> Result<(), Error> {
    step();
    fs::rename(dir.join(from), dir.join(to)).map_err(Error::io(format!("rename {}", dir.join(from).display())))?;
    let sync = fs::File::open(dir).and_then(|dir| dir.sync_all());
    sync.map_err(Error::io(format!("sync {}", dir.display())))
}

/// Ends the `keep` that this is the journal of.
fn remove(dir: &Path, phase: &str, step: &mut dyn FnMut()) -> Result<(), Error> {
    step();
    fs::remove_file(dir.join(phase)).map_err(Error::io(format!("remove {}", dir.join(phase).display())))?;
    match fs::remove_file(dir.join(PROGRESS)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(format!("remove {}", dir.join(PROGRESS).display()))(error))
        }
        _ => Ok(()),
    }
}
