//! Looks at the host's tree. One call of a program needs no second look at the same name: it acts on what it has found.

use crate::{
    copy::At,
    path::TreePath,
    view::{Found, Place, View},
};
use rustix::{
    fs::{Mode, OFlags, ResolveFlags, Stat, openat2},
    io::Errno,
    time::{ClockId, Timespec, clock_gettime},
};
use std::collections::HashSet;

/// What was found since it was cleared.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    is_on: bool,
    /// Directories that were entered without links on the way.
    entered: HashSet<TreePath>,
    /// In which tick of the clock, where they are kept from one call to the next.
    tick: Option<Timespec>,
    stats: Vec<(TreePath, Result<Stat, Errno>)>,
}

impl View {
    /// Begins to remember what the host has, or ends that: between the two its names are looked at once. Whoever else changes them at that
    /// time has done so before or after.
    pub fn remember_looks(&self, is_on: bool) {
        let mut looks = self.looks.borrow_mut();
        looks.is_on = is_on;
        looks.stats.clear();
        let tick = self.keeps_entered.then(|| clock_gettime(ClockId::MonotonicCoarse));
        if tick.is_none() || looks.tick != tick {
            looks.entered.clear();
            looks.tick = tick;
        }
    }

    /// Directories of the host's that were entered need not be entered again in the same tick of the kernel's clock, some milliseconds: a link
    /// that another program puts there meanwhile would be followed on the host, and not in the view.
    pub fn keep_entered(&mut self) {
        self.keeps_entered = true;
    }

    /// What goes through to the host may be changed by the call itself; what one user may see, another may not.
    fn remembers(&self, path: &TreePath) -> bool {
        self.looks.borrow().is_on && self.caller.is_none() && !self.is_through(path)
    }

    fn has_entered(&self, dir: &TreePath) -> bool {
        self.remembers(dir) && self.looks.borrow().entered.contains(dir)
    }

    /// As [`Self::enter`], of the host's.
    ///
    /// # Errors
    /// ELOOP for a link; ENOENT, ENOTDIR, EACCES.
    pub fn enter_on_host(&self, dir: &TreePath) -> Result<(), Errno> {
        self.enter(Place::Host, dir)
    }

    /// Whether a name is that of a directory in a place, without links on the way, in which this user may look names up. A directory can't be
    /// opened to write: the kernel says so when it has found it, and there is no descriptor to close.
    pub(crate) fn enter(&self, place: Place, dir: &TreePath) -> Result<(), Errno> {
        let is_host = place == Place::Host;
        if is_host && self.has_entered(dir) {
            return Ok(());
        }
        let flags = OFlags::WRONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat2(self.root(place), [dir.relative(), b"/."].concat(), flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Ok(_) | Err(Errno::ISDIR) => {}
            Err(error) => return Err(error),
        }
        if is_host && self.remembers(dir) {
            self.looks.borrow_mut().entered.insert(dir.clone());
        }
        Ok(())
    }

    /// What a place has at a name, whatever leads there.
    pub(crate) fn stat_in(&self, place: Place, path: &TreePath) -> Result<Stat, Errno> {
        let at = At { dir: self.root(place), name: path.relative() };
        if place != Place::Host || !self.remembers(path) {
            return at.stat();
        }
        let known = self.looks.borrow().stats.iter().find(|(known, _)| known == path).map(|(_, stat)| *stat);
        known.unwrap_or_else(|| {
            let stat = at.stat();
            self.looks.borrow_mut().stats.push((path.clone(), stat));
            stat
        })
    }

    /// What the host has at a name, without links on the way.
    pub(crate) fn stat_on_host(&self, path: &TreePath) -> Result<Stat, Errno> {
        let dir = path.parent();
        if !dir.is_root() {
            self.enter_on_host(&dir)?;
        }
        self.stat_in(Place::Host, path)
    }

    /// Where the directory of that name is whose permissions count.
    ///
    /// # Errors
    /// ENOTDIR, and those of looking names up.
    pub(crate) fn place_of_dir(&self, dir: &TreePath) -> Result<Place, Errno> {
        if self.has_entered(dir) && self.is_hosts(dir) {
            return Ok(Place::Host);
        }
        let found: Found = self.find(dir)?;
        if found.kind() == rustix::fs::FileType::Directory { Ok(found.place) } else { Err(Errno::NOTDIR) }
    }
}
