//! Bringing a layer to the host: all of it or nothing, whatever is killed.
//!
//! 1. What the layer changes is compared with what was there when it changed it: conflicts end it.
//! 2. A plan is written (`keep.plan`); each new file is made beside its place, under a name of the plan. Killed here, the names are removed.
//!    That may take long: then it is compared again.
//! 3. The plan becomes a commitment (`keep.commit`): each step puts a new file in its place by one rename, and the old one in the new one's
//!    name. Killed here, the steps are gone through again; each sees whether it is done. If one fails, or what it took away is not what
//!    was there when all was prepared, those done are undone.
//! 4. It is done (`keep.done`): the old files are removed, then the layer, or what of it was kept.

mod apply;
mod plan;

pub use plan::Conflict;

use crate::{
    path::TreePath,
    store::{Error, Layer, Store, write_whole},
    tree::Node,
    view::{Rules, View},
};
use apply::Host;
use plan::Journal;
use std::{fs, io, path::Path};

/// What came of a `keep`.
#[derive(Debug)]
pub enum Kept {
    /// So many names were changed on the host. The layer is gone, or what was kept of it.
    Done(usize),
    /// Nothing was changed: the host is not what the layer was made over.
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
        if let Recovered::Finished(count) = self.recover(name, root, step)? {
            return Ok(Kept::Done(count));
        }
        let layer = self.open_layer(name, true)?;
        if let Some(below) = layer.about.below.first() {
            return Err(Error::Above(name.to_owned(), below.clone()));
        }
        let dir = layer.dir.clone();
        let view = View::new(root, vec![layer], Rules::default()).map_err(Error::errno(format!("open {}", root.display())))?;
        let mut journal = match plan::plan(&view, name, paths)? {
            Ok(journal) => journal,
            Err(conflicts) => return Ok(Kept::Conflicts(conflicts)),
        };
        let host = Host::open(root)?;
        save(&dir, "keep.plan", &journal, step)?;
        let staged = apply::stage(&host, &view, &mut journal, step).and_then(|()| plan::look_again(&view, name, paths, &journal));
        if !staged.as_ref().is_ok_and(Vec::is_empty) {
            apply::unstage(&host, &journal, step)?;
            remove(&dir, "keep.plan", step)?;
            return staged.map(Kept::Conflicts);
        }
        save(&dir, "keep.plan", &journal, step)?;
        advance(&dir, "keep.plan", "keep.commit", step)?;
        commit(&dir, &host, &journal, step)?;
        drop(view);
        advance(&dir, "keep.commit", "keep.done", step)?;
        self.finish(name, &host, &journal, step)?;
        Ok(Kept::Done(journal.count))
    }

    /// Finishes or undoes a `keep` that was interrupted.
    ///
    /// # Errors
    /// A call failed. If it was decided, and a step can't be done any more, it is undone then.
    pub fn recover(&self, name: &str, root: &Path, step: &mut dyn FnMut()) -> Result<Recovered, Error> {
        let layer = self.open_layer(name, true)?;
        let dir = layer.dir.clone();
        let host = Host::open(root)?;
        if let Some(journal) = load(&dir, "keep.done")? {
            drop(layer);
            self.finish(name, &host, &journal, step)?;
            return Ok(Recovered::Finished(journal.count));
        }
        if let Some(journal) = load(&dir, "keep.commit")? {
            commit(&dir, &host, &journal, step)?;
            advance(&dir, "keep.commit", "keep.done", step)?;
            drop(layer);
            self.finish(name, &host, &journal, step)?;
            return Ok(Recovered::Finished(journal.count));
        }
        if let Some(journal) = load(&dir, "keep.plan")? {
            apply::unstage(&host, &journal, step)?;
            remove(&dir, "keep.plan", step)?;
            return Ok(Recovered::Undone);
        }
        Ok(Recovered::Nothing)
    }

    /// Removes the old files, and from the layer what is on the host now.
    fn finish(&self, name: &str, host: &Host, journal: &Journal, step: &mut dyn FnMut()) -> Result<(), Error> {
        apply::unstage(host, journal, step)?;
        let mut layer = self.open_layer(name, true)?;
        if journal.is_whole {
            step();
            self.forget_below(name)?;
            step();
            return self.remove(&layer);
        }
        for path in journal.kept.iter().rev() {
            step();
            layer.release(path).map_err(Error::errno(format!("remove {path} from layer {name}")))?;
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

/// Goes through the steps; if one fails, those done are undone, and it was never decided.
fn commit(dir: &Path, host: &Host, journal: &Journal, step: &mut dyn FnMut()) -> Result<(), Error> {
    let Err(error) = apply::commit(host, journal, step) else { return Ok(()) };
    apply::undo(host, journal, step)?;
    advance(dir, "keep.commit", "keep.plan", step)?;
    apply::unstage(host, journal, step)?;
    remove(dir, "keep.plan", step)?;
    Err(error)
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
        text => serde_json::from_slice(&text.map_err(fail())?).map(Some).map_err(|error| fail()(error.into())),
    }
}

fn advance(dir: &Path, from: &str, to: &str, step: &mut dyn FnMut()) -> Result<(), Error> {
    step();
    fs::rename(dir.join(from), dir.join(to)).map_err(Error::io(format!("rename {}", dir.join(from).display())))?;
    let sync = fs::File::open(dir).and_then(|dir| dir.sync_all());
    sync.map_err(Error::io(format!("sync {}", dir.display())))
}

fn remove(dir: &Path, phase: &str, step: &mut dyn FnMut()) -> Result<(), Error> {
    step();
    fs::remove_file(dir.join(phase)).map_err(Error::io(format!("remove {}", dir.join(phase).display())))
}
