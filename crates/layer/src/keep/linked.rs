//! Files of the host's that have several names: a further name is a link to the file, and not to a copy of it; what was written to its copy
//! is written to it by one of the names that it had, also if that goes then.

use super::{
    plan::{Op, state},
    rights::{Closed, is_closed},
};
use crate::{
    copy::At,
    log::Stamp,
    path::TreePath,
    store::Error,
    view::{Found, Place, View},
};
use rustix::{
    fs::{FileType, Mode, OFlags, Stat, fstatfs, openat},
    io::Errno,
};
use std::collections::{HashMap, HashSet};

/// Device and number.
type Identity = (u64, u64);

/// Of a file on the host, for as long as one process looks at it.
pub(super) fn identity_of(stat: &Stat) -> Identity {
    let now = Stamp::new(stat, true);
    (now.dev, now.ino)
}

struct File {
    /// Of those that the layer has to do with, the first of which is the best to write by.
    names: Vec<(Rank, TreePath)>,
    stat: Stat,
    now: Stamp,
}

/// What becomes of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// It stays one of the file.
    Stays,
    /// Its directory stays.
    Goes,
    /// It is in one that goes.
    GoesWithDir,
}

impl File {
    fn name(&self) -> &TreePath {
        &self.names[0].1
    }

    /// Whether it has names when all is kept, if the layer has none of its own for it.
    #[allow(clippy::useless_conversion, reason = "the types differ between machines")]
    fn remains(&self) -> bool {
        self.names[0].0 == Rank::Stays || (self.names.len() as u64) < u64::from(self.stat.st_nlink)
    }
}

pub(super) struct Linked<'a> {
    view: &'a View,
    prefix: &'a str,
    files: HashMap<Identity, File>,
    /// What is written over files, by what they are on the host now.
    pub(super) written: HashMap<Identity, Found>,
    /// What is linked or written, as it is now: nothing else may be, when that is done.
    pub(super) expected: HashMap<TreePath, Stamp>,
    /// Steps that come before all that change names.
    pub(super) writes: Vec<Op>,
    /// What is staged for them.
    pub(super) staged: Vec<(TreePath, TreePath)>,
    /// Of that, what its owner may not read.
    pub(super) closed: Vec<Closed>,
}

impl<'a> Linked<'a> {
    /// Those that are as they were when they were copied.
    pub(super) fn of(view: &'a View, prefix: &'a str) -> Result<Self, Error> {
        let (written, writes, staged, closed) = (HashMap::new(), Vec::new(), Vec::new(), Vec::new());
        let (files, expected) = (HashMap::new(), HashMap::new());
        let mut linked = Self { view, prefix, files, written, expected, writes, staged, closed };
        let Some(log) = view.top().map(|top| &top.log) else { return Ok(linked) };
        let originals: HashSet<Identity> = log.copies.values().copied().collect();
        let numbers: HashSet<u64> = originals.iter().map(|of| of.1).collect();
        let mut by_other_devices = Vec::new();
        for (path, base) in &log.bases {
            let Some(base) = base.filter(|base| FileType::from_raw_mode(base.mode) == FileType::RegularFile) else { continue };
            if base.ino != 0 && !numbers.contains(&base.ino) {
                continue;
            }
            // What can't be looked at, or is another file now, is a conflict if it is to be changed.
            let Ok(stat) = view.stat_on_host(path) else { continue };
            let Ok(Some(now)) = state(view.at(Place::Host, path)) else { continue };
            if stat.st_nlink <= 1 || !base.is_still(&now) {
                continue;
            }
            let of = if base.ino == 0 { (now.dev, now.ino) } else { (base.dev, base.ino) };
            if base.ino != 0 && !originals.contains(&of) {
                by_other_devices.push((path, stat));
            } else {
                let file = linked.files.entry(of).or_insert_with(|| File { names: Vec::new(), stat, now });
                file.names.push((rank(view, path, &stat), path.clone()));
            }
        }
        // Names that were copied when the device had another number.
        let now: HashMap<Identity, Identity> = linked.files.iter().map(|(of, file)| (identity_of(&file.stat), *of)).collect();
        for (path, stat) in by_other_devices {
            if let Some(file) = now.get(&identity_of(&stat)).and_then(|of| linked.files.get_mut(of)) {
                file.names.push((rank(view, path, &stat), path.clone()));
            }
        }
        linked.files.values_mut().for_each(|file| file.names.sort());
        Ok(linked)
    }

    fn identity_of(&self, copy: &Found) -> Option<Identity> {
        let of = self.view.top()?.log.copies.get(&copy.stat.st_ino).copied()?;
        (copy.kind() == FileType::RegularFile && self.files.contains_key(&of)).then_some(of)
    }

    /// The name of the host's of which a name of the layer's is to be another one, if it is.
    pub(super) fn name_for(&mut self, copy: &Found) -> Result<Option<TreePath>, Error> {
        let Some(of) = self.identity_of(copy) else { return Ok(None) };
        let fits = match self.differs(of, copy) {
            // Who may not read it may not give it names either.
            Err(Errno::ACCESS | Errno::PERM) => Ok(false),
            Ok(false) => keeps_number(self.view.at(Place::Host, self.files[&of].name())),
            Ok(true) => self.write(of, copy),
            Err(error) => Err(error),
        };
        let fits = fits.map_err(Error::errno(format!("compare {}", copy.path)))?;
        Ok(fits.then(|| self.expect(of)))
    }

    /// What was written to files that have no name in the layer any more, and one on the host, where one of those that they had is chosen.
    pub(super) fn write_unnamed(&mut self, is_chosen: impl Fn(&TreePath) -> bool) -> Result<(), Error> {
        for (path, stat) in self.view.top().map(|top| top.unnamed()).unwrap_or_default() {
            let copy = Found { path, place: Place::Layer(0), stat };
            let Some(of) = self.identity_of(&copy) else { continue };
            let file = &self.files[&of];
            if !file.remains() || !is_chosen(file.name()) || self.written.contains_key(&identity_of(&file.stat)) {
                continue;
            }
            let what = format!("compare {}", file.name());
            if self.is_changed(&copy).map_err(Error::errno(what.clone()))? {
                self.write(of, &copy).map_err(Error::errno(what))?;
            }
        }
        Ok(())
    }

    /// Whether a file of the host's is the one that had this identity when it was copied.
    pub(super) fn is_original(&self, of: Identity, now: &Stat) -> bool {
        self.files.get(&of).is_some_and(|file| identity_of(&file.stat) == identity_of(now))
    }

    /// Whether a copy has anything that its original is to get: if that may not be read, whether it looks so.
    pub(super) fn is_changed(&self, copy: &Found) -> Result<bool, Errno> {
        let Some(of) = self.identity_of(copy) else { return Ok(true) };
        match self.differs(of, copy) {
            Err(Errno::ACCESS) => Ok(!Stamp::new(&self.view.shown(copy), true).is_still(&self.files[&of].now)),
            differs => differs,
        }
    }

    fn differs(&self, of: Identity, copy: &Found) -> Result<bool, Errno> {
        let file = &self.files[&of];
        let original = Found { path: file.name().clone(), place: Place::Host, stat: file.stat };
        Ok(self.view.compare_copy(&original, copy)?.is_some())
    }

    /// Has it written over its original: whether that gets its contents.
    fn write(&mut self, of: Identity, copy: &Found) -> Result<bool, Errno> {
        let file = &self.files[&of];
        if let Some(first) = self.written.get(&identity_of(&file.stat)) {
            return self.view.is_alike(first, copy);
        }
        let (target, identity) = (file.name(), identity_of(&file.stat));
        // One that goes with its directory may be in one that may not be written.
        let mut going = target.clone();
        while !self.view.find(&going.parent()).is_ok_and(|dir| dir.kind() == FileType::Directory) {
            going = going.parent();
        }
        let beside = |part: &str| going.parent().join(format!("{}-w{}{part}", self.prefix, self.writes.len()).as_bytes());
        let (temp, old) = (beside(""), beside("-old"));
        self.staged.push((copy.path.clone(), temp.clone()));
        if is_closed(&copy.stat) {
            self.closed.push((copy.path.clone(), copy.stat.st_mode));
        }
        self.writes.push(Op::Rewrite { target: target.clone(), temp, old });
        self.written.insert(identity, copy.clone());
        self.expect(of);
        Ok(true)
    }

    /// The name by which a file is linked or written.
    fn expect(&mut self, of: Identity) -> TreePath {
        let file = &self.files[&of];
        self.expected.insert(file.name().clone(), file.now);
        file.name().clone()
    }
}

/// Whether a file stays the same one when it is linked: overlayfs may make another one of that name then.
fn keeps_number(file: At<'_>) -> Result<bool, Errno> {
    const OVERLAYFS: u64 = 0x794c_7630;
    let fd = openat(file.dir, file.name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    #[allow(clippy::unnecessary_cast, reason = "the types differ between machines")]
    let kind = fstatfs(&fd)?.f_type as u64;
    Ok(kind != OVERLAYFS)
}

fn rank(view: &View, path: &TreePath, now: &Stat) -> Rank {
    match view.find(path) {
        Ok(found) if view.shown(&found).st_ino == now.st_ino => Rank::Stays,
        _ if view.find(&path.parent()).is_ok_and(|dir| dir.kind() == FileType::Directory) => Rank::Goes,
        _ => Rank::GoesWithDir,
    }
}
