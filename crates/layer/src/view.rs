//! The tree that a program sees: the host's, layers over it, and rules for some names.

use crate::{
    copy::{At, file_type},
    looks::Looks,
    path::TreePath,
    store::Layer,
    tree::{Look, Node, open_dir},
};
use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::{FileType, Gid, Stat, Uid, fstat, readlinkat},
    io::Errno,
    process::geteuid,
};

use std::{borrow::Cow, cell::RefCell, sync::Arc};

/// Rules for names.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Changes below these go to the host.
    pub through: Vec<TreePath>,
    /// These, and what is below them, don't exist.
    pub hidden: Vec<TreePath>,
    /// Nothing may be changed, but below `through`.
    pub read_only: bool,
}

/// What holds a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The host's tree.
    Host,
    /// A layer, by its number from the lowest on.
    Layer(usize),
}

/// A name that exists.
#[derive(Debug, Clone)]
pub struct Found {
    /// The name.
    pub path: TreePath,
    /// Where the file is that stands for it.
    pub place: Place,
    /// What the host says of that file.
    pub stat: Stat,
}

impl Found {
    /// Its type.
    pub fn kind(&self) -> FileType {
        file_type(&self.stat)
    }
}

/// What a path leads to.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The name, whose directory exists.
    pub path: TreePath,
    /// What is there, if anything.
    pub found: Option<Found>,
    /// The path can only mean a directory.
    pub must_be_dir: bool,
    /// The last link led to an object without a name: the host must follow it.
    pub is_magic: bool,
}

/// What a link on the host leads to, where that is not what it contains.
#[derive(Debug)]
pub enum Target {
    /// This path.
    Path(Vec<u8>),
    /// An object that has no name.
    Object,
}

/// Links on the host whose contents depend on the reader.
pub trait Links {
    /// What the link at that name leads to, if that isn't what it contains.
    fn target(&self, path: &TreePath) -> Option<Target>;
    /// Whether the reader finds that name on the host whatever rights its user has there.
    fn is_readers(&self, _path: &TreePath) -> bool {
        false
    }
}

/// None such.
#[derive(Debug)]
pub struct PlainLinks;

impl Links for PlainLinks {
    fn target(&self, _: &TreePath) -> Option<Target> {
        None
    }
}

/// Whom the tree is changed for, where that is not this process's user: it acts with that one's rights, except while it is elevated.
pub trait Identity: std::fmt::Debug + Send + Sync {
    /// Takes this process's own rights.
    fn elevate(&self);
    /// Gives them up again, as many times as they were taken.
    fn lower(&self);
    /// To whom new files belong.
    fn owner(&self) -> (Uid, Gid);
}

/// This process's own rights, until it is dropped.
#[derive(Debug)]
pub struct Elevated(Option<Arc<dyn Identity>>);

impl Drop for Elevated {
    fn drop(&mut self) {
        self.0.iter().for_each(|identity| identity.lower());
    }
}

/// A path is no longer, with the zero at its end.
pub const PATH_MAX: usize = 4096;
/// A name is no longer.
const NAME_MAX: usize = 255;
/// A path has no more links in it.
pub(crate) const LINKS_MAX: usize = 40;

/// The host's tree and layers over it.
#[derive(Debug)]
pub struct View {
    pub(crate) host: OwnedFd,
    /// The lowest first. The last is changed.
    pub(crate) layers: Vec<Layer>,
    /// See [`Rules`].
    pub rules: Rules,
    /// See [`Identity`]; none: this process's user.
    pub caller: Option<Arc<dyn Identity>>,
    /// This process's user.
    pub(crate) user: u32,
    pub(crate) looks: RefCell<Looks>,
    /// See [`Self::keep_entered`].
    pub(crate) keeps_entered: bool,
    /// See [`Self::wait_elsewhere`], and what was to be waited for.
    pub(crate) waits_elsewhere: bool,
    pub(crate) awaited: RefCell<Option<OwnedFd>>,
}

impl View {
    /// Over the tree of this directory. The last of the layers is the one that is changed.
    ///
    /// # Errors
    /// The directory can't be opened.
    pub fn new(host: &std::path::Path, layers: Vec<Layer>, rules: Rules) -> Result<Self, Errno> {
        let host = open_dir(rustix::fs::CWD, host.as_os_str().as_encoded_bytes())?;
        let mut view = Self {
            host,
            layers,
            rules,
            caller: None,
            user: geteuid().as_raw(),
            looks: RefCell::default(),
            keeps_entered: false,
            waits_elsewhere: false,
            awaited: RefCell::default(),
        };
        view.forget_lost_originals();
        Ok(view)
    }

    /// This process's own rights, for what the layers need.
    pub fn elevate(&self) -> Elevated {
        self.caller.iter().for_each(|identity| identity.elevate());
        Elevated(self.caller.clone())
    }

    /// Whether this process's user is root.
    pub fn is_root(&self) -> bool {
        self.user == 0
    }

    /// The layer that is changed.
    pub fn top(&self) -> Option<&Layer> {
        self.layers.last()
    }

    /// The layers, the lowest first.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The layers again, with what they remember.
    pub fn into_layers(self) -> Vec<Layer> {
        self.layers
    }

    /// A descriptor of the tree that a place names.
    pub fn root(&self, place: Place) -> BorrowedFd<'_> {
        match place {
            Place::Host => self.host.as_fd(),
            Place::Layer(index) => self.layers[index].files.as_fd(),
        }
    }

    pub(crate) fn at<'a>(&'a self, place: Place, path: &'a TreePath) -> At<'a> {
        At { dir: self.root(place), name: path.relative() }
    }

    /// Whether changes of a name go to the host.
    pub fn is_through(&self, path: &TreePath) -> bool {
        self.rules.through.iter().any(|through| path.is_within(through))
    }

    pub(crate) fn is_hidden(&self, path: &TreePath) -> bool {
        self.rules.hidden.iter().any(|hidden| path.is_within(hidden))
    }

    pub(crate) fn look(&self, layer: usize, path: &TreePath) -> Look<'_> {
        self.layers[layer].tree.look(path)
    }

    /// Where something may be at a name, the topmost first; those after the first show in it if all are directories. The host is among
    /// them if it is not hidden, whether it has something there or not.
    pub(crate) fn sources_below(&self, path: &TreePath, layers: usize) -> Vec<Place> {
        if self.is_hidden(path) {
            return Vec::new();
        }
        if self.is_through(path) {
            return vec![Place::Host];
        }
        let mut sources = Vec::new();
        for index in (0..layers).rev() {
            if path.is_root() {
                sources.push(Place::Layer(index));
                continue;
            }
            let look = self.look(index, path);
            if matches!(look.node, Some(Node::Leaf | Node::Dir(_))) {
                sources.push(Place::Layer(index));
            }
            if look.closed() {
                return sources;
            }
        }
        sources.push(Place::Host);
        sources
    }

    pub(crate) fn sources(&self, path: &TreePath) -> Vec<Place> {
        self.sources_below(path, self.layers.len())
    }

    /// Whether a layer says something of a name, or of one below it.
    pub fn is_touched(&self, path: &TreePath) -> bool {
        self.is_hidden(path) || self.sources(path) != [Place::Host]
    }

    /// What is at a name.
    ///
    /// # Errors
    /// ENOENT, and those of stat.
    pub fn find(&self, path: &TreePath) -> Result<Found, Errno> {
        self.find_in(path, &self.sources(path))
    }

    /// What the host has at a name of which no layer says anything.
    pub fn find_on_host(&self, path: &TreePath) -> Option<Found> {
        let stat = if self.is_touched(path) { None } else { self.stat_in(Place::Host, path).ok() }?;
        Some(Found { path: path.clone(), place: Place::Host, stat })
    }

    /// What is at a name below the layer that is changed.
    pub(crate) fn find_below_top(&self, path: &TreePath) -> Result<Found, Errno> {
        if self.layers.len() <= 1 && !path.is_root() && !self.is_hidden(path) {
            let stat = match self.stat_on_host(path) {
                // A directory of the layer is a link there.
                Err(Errno::LOOP) => return Err(Errno::NOTDIR),
                stat => stat?,
            };
            return Ok(Found { path: path.clone(), place: Place::Host, stat });
        }
        // What is a directory in the layer may be a link below, which the host would follow.
        if !path.parent().is_root() && self.find_below_top(&path.parent())?.kind() != FileType::Directory {
            return Err(Errno::NOTDIR);
        }
        self.find_in(path, &self.sources_below(path, self.layers.len().saturating_sub(1)))
    }

    fn find_in(&self, path: &TreePath, sources: &[Place]) -> Result<Found, Errno> {
        let first = *sources.first().ok_or(Errno::NOENT)?;
        let found = |place: Place| Ok(Found { path: path.clone(), place, stat: self.stat_in(place, path)? });
        if self.is_own(first, path) {
            return found(first);
        }
        // The attributes are those of the first directory below that has its own.
        for place in &sources[1..] {
            match found(*place) {
                Ok(below) if below.kind() != FileType::Directory => break,
                Ok(below) if self.is_own(*place, path) => return Ok(below),
                Ok(_) => {}
                Err(Errno::NOENT | Errno::NOTDIR) => break,
                Err(error) => return Err(error),
            }
        }
        found(first)
    }

    /// Whether what is there has attributes of its own.
    fn is_own(&self, place: Place, path: &TreePath) -> bool {
        let Place::Layer(index) = place else { return true };
        let tree = &self.layers[index].tree;
        if path.is_root() {
            return tree.own;
        }
        !matches!(tree.look(path).node, Some(Node::Dir(dir)) if !dir.own && !dir.opaque)
    }

    /// What a program sees of a file: the number is that of the file whose copy it is; a directory's times are the latest of its parts, and
    /// its count of names is 1 where it has several, as with overlayfs: no part knows how many directories are in it, and fts(3) looks for no
    /// more than a larger count says.
    pub fn shown(&self, found: &Found) -> Stat {
        let mut stat = found.stat;
        if let Place::Layer(index) = found.place {
            as_original_in(&self.layers[index], &mut stat);
        }
        if found.kind() != FileType::Directory {
            return stat;
        }
        let sources = self.sources(&found.path);
        if self.is_merged(&found.path, &sources) {
            stat.st_nlink = 1;
        }
        if sources.first() != Some(&found.place) {
            for place in sources {
                if place != found.place
                    && place != Place::Host
                    && let Ok(other) = self.at(place, &found.path).stat()
                    && (other.st_mtime, other.st_mtime_nsec) > (stat.st_mtime, stat.st_mtime_nsec)
                {
                    (stat.st_mtime, stat.st_mtime_nsec) = (other.st_mtime, other.st_mtime_nsec);
                    (stat.st_ctime, stat.st_ctime_nsec) = (other.st_ctime, other.st_ctime_nsec);
                }
            }
        }
        stat
    }

    /// Whether a directory shows names of several places. What can't be looked at may have some.
    fn is_merged(&self, path: &TreePath, sources: &[Place]) -> bool {
        let is_empty = |place: Place| matches!(place, Place::Layer(index) if path.is_root() && self.layers[index].is_empty());
        let mut parts = sources.iter().filter(|place| !is_empty(**place));
        let first = parts.next();
        first.is_some() && parts.any(|place| !matches!(self.stat_in(*place, path), Err(Errno::NOENT | Errno::NOTDIR)))
    }

    /// Gives a file of a layer the number of that whose copy it is, if it is one.
    pub fn as_original(&self, stat: &mut Stat) {
        let of_layer = |layer: &&Layer| fstat(&layer.files).is_ok_and(|files| files.st_dev == stat.st_dev);
        if let Some(layer) = self.layers.iter().rev().find(|layer| layer.log.copies.contains_key(&stat.st_ino) && of_layer(layer))
        {
            as_original_in(layer, stat);
        }
    }

    /// What the link contains.
    ///
    /// # Errors
    /// Of readlink.
    pub fn read_link(&self, found: &Found) -> Result<Vec<u8>, Errno> {
        Ok(readlinkat(self.root(found.place), found.path.relative(), Vec::new())?.into_bytes())
    }

    /// Follows a path from a directory, as the kernel does in the tree that is seen.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EACCES.
    pub fn resolve(&self, start: &TreePath, path: &[u8], follow: bool, links: &dyn Links) -> Result<Resolved, Errno> {
        if path.is_empty() {
            return Err(Errno::NOENT);
        }
        if path.len() >= PATH_MAX {
            return Err(Errno::NAMETOOLONG);
        }
        let mut at = if path[0] == b'/' { TreePath::root() } else { start.clone() };
        let mut must_be_dir = false;
        let mut rest: Vec<Cow<'_, [u8]>> = Vec::new();
        push(&mut rest, path, &mut must_be_dir, Cow::Borrowed);
        let mut followed = 0;
        if let Some(known) = self.scaffolded(&at, &rest) {
            rest.truncate(rest.len() + at.components().count() - known.components().count());
            at = known;
        } else if self.sources(&at) != [Place::Host] && !(at.is_root() && self.is_hosts(&at)) {
            self.may_search(&self.find(&at)?, None)?;
        }
        // A link lies ahead that the kernel was not to follow.
        let mut is_linked = false;
        while let Some(name) = rest.pop() {
            match &*name {
                b"." => continue,
                b".." => {
                    at = at.parent();
                    continue;
                }
                _ => {}
            }
            if name.len() > NAME_MAX {
                return Err(Errno::NAMETOOLONG);
            }
            let mut next = at.join(&name);
            let up = links.is_readers(&next).then(|| self.elevate());
            let mut known = None;
            if !rest.is_empty() && !is_linked {
                match self.at_once(&next, &rest, follow || must_be_dir, must_be_dir)? {
                    AtOnce::Resolved(resolved) => return Ok(resolved),
                    AtOnce::Link(link) => {
                        (at, next) = (link.path.parent(), link.path.clone());
                        rest.clear();
                        known = Some(link);
                    }
                    AtOnce::Linked => is_linked = true,
                    AtOnce::Unknown => {}
                }
            }
            let is_last = rest.is_empty();
            let found = match known.map_or_else(|| self.find(&next), Ok) {
                Err(Errno::NOENT) if is_last => return Ok(Resolved { path: next, found: None, must_be_dir, is_magic: false }),
                found => found?,
            };
            match found.kind() {
                FileType::Symlink if !is_last || follow || must_be_dir => {
                    drop(up);
                    followed += 1;
                    is_linked = false;
                    if followed > LINKS_MAX {
                        return Err(Errno::LOOP);
                    }
                    let target = match (found.place == Place::Host).then(|| links.target(&next)).flatten() {
                        Some(Target::Path(target)) => target,
                        Some(Target::Object) if is_last => {
                            return Ok(Resolved { path: next, found: Some(found), must_be_dir, is_magic: true });
                        }
                        Some(Target::Object) => return Err(Errno::NOTDIR),
                        None => self.read_link(&found)?,
                    };
                    if target.is_empty() {
                        return Err(Errno::NOENT);
                    }
                    if target[0] == b'/' {
                        at = TreePath::root();
                    }
                    let mut ends_in_dir = false;
                    push(&mut rest, &target, &mut ends_in_dir, owned);
                    must_be_dir |= is_last && ends_in_dir;
                }
                FileType::Directory if !is_last => {
                    self.may_search(&found, rest.last().map(AsRef::as_ref))?;
                    at = next;
                }
                kind if kind != FileType::Directory && (!is_last || must_be_dir) => return Err(Errno::NOTDIR),
                _ => return Ok(Resolved { path: next, found: Some(found), must_be_dir, is_magic: false }),
            }
        }
        let found = self.find(&at)?;
        Ok(Resolved { path: at, found: Some(found), must_be_dir, is_magic: false })
    }

    /// Whether no layer hides or replaces what the host has at a name, nor its attributes: those are the host's if it has a directory there.
    pub(crate) fn is_hosts(&self, path: &TreePath) -> bool {
        let sources = self.sources(path);
        sources.last() == Some(&Place::Host) && sources.iter().all(|place| *place == Place::Host || !self.is_own(*place, path))
    }

    /// Whether this is so of a directory and of all above it.
    pub fn is_hosts_way(&self, dir: &TreePath) -> bool {
        // What goes through is the host's with all that is below it.
        let through = self.rules.through.iter().filter(|rule| dir.is_within(rule)).map(|rule| rule.components().count());
        let mut names: Vec<&[u8]> = dir.components().collect();
        names.truncate(through.min().map_or(names.len(), |count| count.saturating_sub(1)));
        !self.is_hidden(dir) && self.layers.iter().all(|layer| !layer.tree.scaffold_depth(&names).1)
    }

    /// Whether a name is that of a directory of the host's, without links on the way, with one of the topmost layer over it that has no
    /// attributes of its own.
    pub fn shows_hosts_dir(&self, path: &TreePath) -> bool {
        let is_of_two = matches!(self.sources(path)[..], [Place::Layer(top), Place::Host] if top + 1 == self.layers.len());
        is_of_two && self.is_hosts_way(path) && self.enter_on_host(path).is_ok()
    }

    /// The longest part of a path, without its last component, in which the layers have nothing but directories that show those of the
    /// host. One look at the last of these, without links, checks the whole part.
    fn scaffolded(&self, at: &TreePath, rest: &[Cow<'_, [u8]>]) -> Option<TreePath> {
        let is_known = |name: &[u8]| self.layers.iter().any(|layer| layer.tree.entries.contains_key(name));
        if at.components().next().or_else(|| rest.last().map(AsRef::as_ref)).is_none_or(|first| !is_known(first))
            || rest.iter().any(|name| matches!(&**name, b"." | b"..") || name.len() > NAME_MAX)
        {
            return None;
        }
        let names: Vec<&[u8]> = at.components().chain(rest.iter().rev().map(AsRef::as_ref)).collect();
        let (names, started) = (names.split_last()?.1, at.components().count());
        // How far each layer has such directories, and whether it has something else there.
        let depths: Vec<(usize, bool)> = self.layers.iter().map(|layer| layer.tree.scaffold_depth(names)).collect();
        let limit = depths.iter().filter(|(_, ends)| *ends).map(|(depth, _)| *depth).min().unwrap_or(names.len());
        let depth = depths.iter().map(|(depth, _)| *depth).max()?.min(limit);
        // One look is no less than one look.
        if depth < 2 || depth < started {
            return None;
        }
        let path = TreePath::root().join_all(names[..depth].iter().copied());
        let is_ruled = self.is_hidden(&path) || self.is_through(&path);
        (!is_ruled && self.enter_on_host(&path).is_ok()).then_some(path)
    }

    /// Where one place has all that there is, the kernel follows the rest by itself, if no links are in it.
    fn at_once(&self, next: &TreePath, rest: &[Cow<'_, [u8]>], follow: bool, must_be_dir: bool) -> Result<AtOnce, Errno> {
        let is_rule = |rule: &TreePath| rule.is_within(next) || next.is_within(rule);
        if rest.iter().any(|name| matches!(&**name, b"." | b"..") || name.len() > NAME_MAX)
            || self.rules.hidden.iter().chain(&self.rules.through).any(is_rule)
        {
            return Ok(AtOnce::Unknown);
        }
        let is_missing = || matches!(self.stat_in(Place::Host, next), Err(Errno::NOENT | Errno::NOTDIR));
        let place = match self.sources(next)[..] {
            [place] => place,
            [place, Place::Host] if is_missing() => place,
            _ => return Ok(AtOnce::Unknown),
        };
        let path = next.join_all(rest.iter().rev().map(AsRef::as_ref));
        match self.enter(place, &path.parent()) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(Errno::NOENT),
            Err(Errno::LOOP) => return Ok(AtOnce::Linked),
            Err(_) => return Ok(AtOnce::Unknown),
        }
        let found = match self.find(&path) {
            Ok(found) => Some(found),
            Err(Errno::NOENT) => None,
            Err(_) => return Ok(AtOnce::Unknown),
        };
        match found {
            Some(link) if follow && link.kind() == FileType::Symlink => Ok(AtOnce::Link(link)),
            Some(other) if must_be_dir && other.kind() != FileType::Directory => Err(Errno::NOTDIR),
            found => Ok(AtOnce::Resolved(Resolved { path, found, must_be_dir, is_magic: false })),
        }
    }
}

/// What the kernel found of a path without following links.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once")]
enum AtOnce {
    /// What it leads to.
    Resolved(Resolved),
    /// It ends in this link, which is to be followed.
    Link(Found),
    /// There is a link on the way.
    Linked,
    /// It must be gone through name by name.
    Unknown,
}

#[allow(clippy::useless_conversion, reason = "the types differ between machines")]
fn as_original_in(layer: &Layer, stat: &mut Stat) {
    if let Some((dev, ino)) = layer.log.copies.get(&stat.st_ino)
        && let Ok(dev) = (*dev).try_into()
    {
        (stat.st_dev, stat.st_ino) = (dev, *ino);
    }
}

/// Puts the components of a path before those that are left; says whether it can only mean a directory. A `.` is one at the end: what is before
/// it must be there. `as_left` makes of a component what is kept of it.
pub(crate) fn push<'a, 'p>(
    rest: &mut Vec<Cow<'a, [u8]>>,
    path: &'p [u8],
    must_be_dir: &mut bool,
    as_left: fn(&'p [u8]) -> Cow<'a, [u8]>,
) {
    let components = path.rsplit(|byte| *byte == b'/').filter(|component| !component.is_empty()).enumerate();
    rest.extend(components.filter(|(at, component)| *at == 0 || *component != b".").map(|(_, component)| as_left(component)));
    *must_be_dir |= matches!(path.rsplit(|byte| *byte == b'/').next(), Some(b"" | b"." | b".."));
}

/// A component of a link, which is not there for as long as the path.
pub(crate) fn owned<'a>(component: &[u8]) -> Cow<'a, [u8]> {
    Cow::Owned(component.to_vec())
}
