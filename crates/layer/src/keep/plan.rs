//! What a `keep` will do, and what speaks against it.

use super::{
    linked::{Linked, identity_of},
    rights::{self, Closed},
};
use crate::{
    copies::{is_of_another_user, time},
    copy::{At, file_type},
    diff::{Change, Kind},
    log::Stamp,
    path::TreePath,
    store::Error,
    tree::Node,
    view::{Found, Place, View},
};
use rustix::{
    fs::{FileType, Mode, OFlags, ResolveFlags, Stat, openat2},
    io::Errno,
    rand::{GetRandomFlags, getrandom},
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

/// A name for which the host is not what the layer was made over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The name.
    pub path: TreePath,
    /// What is so.
    pub why: &'static str,
}

/// A step on the host. `temp` is a name beside the target.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Op {
    /// Puts what was staged at `temp` in the target's place, and what was there at `temp`.
    Put { target: TreePath, temp: TreePath, replaces: bool },
    /// Moves the target to `temp`.
    Remove { target: TreePath, temp: TreePath },
    /// Writes the contents and attributes of `temp` over those of the target, which stays the same file; `old` has those from before.
    Rewrite { target: TreePath, temp: TreePath, old: TreePath },
    /// Gives a directory other attributes.
    Attributes { target: TreePath, new: Attributes, old: Attributes },
}

/// Of a directory.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Attributes {
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    /// When its names were changed last (seconds, ns), if a program has set that.
    #[serde(default)]
    pub(super) time: Option<(i64, i64)>,
}

/// Of the newest journals: with files without names in `closed`.
pub(super) const VERSION: u32 = 3;

/// Of those without.
const VERSION_WITHOUT_UNNAMED: u32 = 2;

/// A plan, and how far it is identified on the host.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Journal {
    /// 0 where nothing is noted before a file is written over.
    #[serde(default)]
    pub(super) version: u32,
    /// Where the host's root is.
    #[serde(default)]
    pub(super) root: Option<TreePath>,
    pub(super) ops: Vec<Op>,
    /// What is staged: from the layer's name to where it is made, a directory before what is in it.
    pub(super) staged: Vec<(TreePath, TreePath)>,
    /// Where what is staged is another name of a file of the host's: one that it has.
    #[serde(skip)]
    pub(super) links: HashMap<TreePath, TreePath>,
    /// Names of the host's of which those are others, or by which files are written, also if they are not chosen: as they were when it was planned.
    #[serde(skip)]
    pub(super) expected: HashMap<TreePath, Stamp>,
    /// The numbers of the files that the steps bring or take away; made when all is staged. Devices may have others when it is finished.
    pub(super) marks: Vec<u64>,
    /// What the steps replace or take away, as it was then.
    #[serde(default)]
    pub(super) olds: Vec<Option<Stamp>>,
    /// Directories and files of the layer to which their owner lacks rights.
    #[serde(default)]
    pub(super) closed: Vec<Closed>,
    /// Directories in which names were changed, also if all are as before: their numbers, and when that was (seconds, ns).
    #[serde(default)]
    pub(super) touched: Vec<Timed>,
    /// Directories in which names come and go for the time of the steps only: their numbers and times. After a death others may have changed names there.
    #[serde(skip)]
    pub(super) passed: Vec<Timed>,
    /// The same of those in which names are made or removed: where nothing comes of the steps they have their times again, too.
    #[serde(skip)]
    pub(super) changing: Vec<Timed>,
    /// Names of the layer that are on the host then, a directory before what is in it.
    pub(super) kept: Vec<TreePath>,
    /// Nothing of the layer is left then.
    pub(super) is_whole: bool,
    /// Number of changed names.
    pub(super) count: usize,
}

impl Journal {
    /// The targets that steps write over, as they were then.
    pub(super) fn rewrites(&self) -> impl Iterator<Item = (&TreePath, Option<Stamp>)> {
        let steps = self.ops.iter().zip(&self.olds);
        steps.filter_map(|(op, old)| matches!(op, Op::Rewrite { .. }).then_some((op.target(), *old)))
    }

    /// What a file of the layer is called in messages, and where it is staged: one without a name by what it is written to.
    pub(super) fn shown<'a>(&'a self, path: &'a TreePath, temp: &TreePath) -> &'a TreePath {
        let is_its = |op: &&Op| path.is_beside_root() && op.temporaries().contains(&temp);
        self.ops.iter().find(is_its).map_or(path, Op::target)
    }

    /// The names beside the targets that the steps use.
    pub(super) fn temporaries(&self) -> impl Iterator<Item = &TreePath> {
        self.ops.iter().flat_map(Op::temporaries)
    }

    /// The directories that have steps of their own, as they were.
    pub(super) fn before(&self) -> Vec<Closed> {
        self.modes(|_, old| old.mode)
    }

    /// The same, as they will be.
    pub(super) fn after(&self) -> Vec<Closed> {
        self.modes(|new, _| new.mode)
    }

    fn modes(&self, of: fn(&Attributes, &Attributes) -> u32) -> Vec<Closed> {
        let mode = |op: &Op| match op {
            Op::Attributes { target, new, old } => Some((target.clone(), of(new, old))),
            _ => None,
        };
        self.ops.iter().filter_map(mode).collect()
    }
}

/// Whether there are links in a name of the host. When the layer was made there were none.
fn leads_elsewhere(view: &View, path: &TreePath) -> Result<bool, Error> {
    let (flags, resolve) = (OFlags::PATH | OFlags::CLOEXEC, ResolveFlags::NO_SYMLINKS);
    match openat2(&view.host, path.relative(), flags, Mode::empty(), resolve) {
        Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
        Err(Errno::LOOP) => Ok(true),
        Err(error) => Err(Error::errno(format!("look at {path}"))(error)),
    }
}

/// What is at a name of the host.
fn now(view: &View, path: &TreePath) -> Result<Option<Stamp>, Error> {
    state(view.at(Place::Host, path)).map_err(Error::errno(format!("look at {path}")))
}

fn conflict(view: &View, change: &Change) -> Result<Option<&'static str>, Error> {
    let base = view.top().and_then(|top| top.log.bases.get(&change.path).copied()).flatten();
    let is_dir = change.after.as_ref().is_some_and(|after| after.kind() == FileType::Directory);
    if leads_elsewhere(view, &change.path.parent())? {
        return Ok(Some("a directory above it is a link on the host now"));
    }
    Ok(match (base, now(view, &change.path)?) {
        (None, None) => None,
        (None, Some(now)) if is_dir && now.is_same_dir(&now) => None,
        (None, Some(_)) if change.kind == Kind::Deleted => Some("it was made in a directory that the layer removes"),
        (None, Some(_)) => Some("it was made on the host, too"),
        (Some(_), None) => Some("it was removed on the host"),
        (Some(base), Some(now)) if base.is_same_dir(&now) || base.is_still(&now) => None,
        (Some(_), Some(_)) => Some("it was changed on the host"),
    })
}

/// The plan for what is within the paths, or what speaks against it.
pub(super) fn plan(view: &View, name: &str, paths: &[TreePath]) -> Result<Result<Journal, Vec<Conflict>>, Error> {
    let changes = view.changes().map_err(Error::errno(format!("compare layer {name}")))?;
    // A directory that a chosen name is in must be made, too.
    let is_chosen = |change: &Change| {
        let is_new_dir =
            change.kind == Kind::Created && change.after.as_ref().is_some_and(|after| after.kind() == FileType::Directory);
        paths.is_empty() || paths.iter().any(|path| change.path.is_within(path) || is_new_dir && path.is_within(&change.path))
    };
    let mut journal = Journal { is_whole: paths.is_empty(), ..Journal::default() };
    let (mut conflicts, mut attributes_last) = (Vec::new(), Vec::new());
    // No file of the user's has such a name, nor has one of another `keep`, whose layer may have the same name in another store.
    let mut random = [0; 8];
    getrandom(&mut random, GetRandomFlags::empty()).map_err(Error::errno("get random bytes"))?;
    let prefix = format!(".slipway-keep-{name}-{:016x}", u64::from_ne_bytes(random));
    // The last tree that is made as a whole, and the last that is moved away as one.
    let (mut made, mut gone): (Option<(TreePath, TreePath)>, Option<TreePath>) = (None, None);
    let mut linked = Linked::of(view, &prefix)?;
    for change in changes.iter().filter(|change| is_chosen(change)) {
        let path = &change.path;
        journal.kept.push(path.clone());
        journal.count += 1;
        if let Some((root, temp)) = &made
            && let Some(rest) = path.below(root)
        {
            // In a new tree nothing is in the way, and what the old one had is checked with the rest.
            if let Some(after) = &change.after {
                let temp = temp.join(rest);
                journal.staged.push((path.clone(), temp.clone()));
                journal.links.extend(linked.name_for(after)?.map(|name| (temp, name)));
            } else if let Some(why) = conflict(view, change)? {
                conflicts.push(Conflict { path: path.clone(), why });
            }
            continue;
        }
        if let Some(why) = conflict(view, change)? {
            conflicts.push(Conflict { path: path.clone(), why });
            continue;
        }
        if gone.as_ref().is_some_and(|gone| path.is_within(gone)) {
            continue;
        }
        let number = journal.ops.len();
        let temp = |part: &str| path.parent().join(format!("{prefix}-{number}{part}").as_bytes());
        let Some(after) = &change.after else {
            gone = Some(path.clone());
            journal.ops.push(Op::Remove { target: path.clone(), temp: temp("") });
            continue;
        };
        let before = view.at(Place::Host, path).stat().ok();
        let put = |journal: &mut Journal, temp: TreePath| {
            journal.staged.push((path.clone(), temp.clone()));
            journal.ops.push(Op::Put { target: path.clone(), temp, replaces: before.is_some() });
        };
        let is_dir = after.kind() == FileType::Directory;
        match &before {
            Some(before) if is_dir && file_type(before) == FileType::Directory => {
                let (mut new, old) = (Attributes::of(&after.stat), Attributes::of(before));
                new.time = view.has_set_time(after).then(|| time(&after.stat));
                attributes_last.push(Op::Attributes { target: path.clone(), new, old });
            }
            Some(before) if is_in_place(view, &linked, after, before) => match linked.written.get(&identity_of(before)) {
                // Another name of a file that is written already.
                Some(first) if view.is_alike(first, after).map_err(Error::errno(format!("compare {path}")))? => {}
                Some(_) => put(&mut journal, temp("")),
                None if !linked.is_changed(after).map_err(Error::errno(format!("compare {path}")))? => {}
                None => {
                    journal.staged.push((path.clone(), temp("")));
                    journal.ops.push(Op::Rewrite { target: path.clone(), temp: temp(""), old: temp("-old") });
                    linked.written.insert(identity_of(before), after.clone());
                }
            },
            _ => {
                made = Some((path.clone(), temp("")));
                journal.links.extend(linked.name_for(after)?.map(|name| (temp(""), name)));
                put(&mut journal, temp(""));
            }
        }
    }
    linked.write_unnamed(|path| paths.is_empty() || paths.iter().any(|chosen| path.is_within(chosen)))?;
    journal.staged.append(&mut linked.staged);
    journal.expected = linked.expected;
    journal.ops.splice(0..0, linked.writes);
    // What the layer has within the paths is on the host then, also where it changes nothing.
    if let Some(top) = view.top() {
        top.tree.each(&TreePath::root(), &mut |path, node| {
            if matches!(node, Node::Dir(_)) && (paths.is_empty() || paths.iter().any(|chosen| path.is_within(chosen))) {
                journal.touched.extend(touched(view, path));
            }
            if paths.iter().any(|chosen| path.is_within(chosen)) {
                journal.kept.push(path.clone());
            }
        });
    }
    journal.kept.sort();
    journal.kept.dedup();
    (journal.passed, journal.changing) = passed(view, &journal.ops);
    attributes_last.extend(read_only(view, &journal.ops, &attributes_last));
    attributes_last.sort_by(|one, other| one.target().cmp(other.target()));
    // A directory may be one that its owner can't write then; what is in it comes before it.
    journal.ops.extend(attributes_last.into_iter().rev());
    let closed = changes.iter().rev().filter_map(|change| change.after.as_ref()).filter(|after| rights::is_closed(&after.stat));
    journal.closed = closed.map(|closed| (closed.path.clone(), closed.stat.st_mode)).chain(linked.closed).collect();
    let has_unnamed = journal.closed.iter().any(|(path, _)| path.is_beside_root());
    journal.version = if has_unnamed { VERSION } else { VERSION_WITHOUT_UNNAMED };
    Ok(if conflicts.is_empty() { Ok(journal) } else { Err(conflicts) })
}

/// A directory of both whose names the layer has changed after the host.
fn touched(view: &View, path: &TreePath) -> Option<Timed> {
    let host = view.stat_on_host(path).ok().filter(|host| file_type(host) == FileType::Directory)?;
    let layer = view.at(Place::Layer(0), path).stat().ok()?;
    (time(&layer) > time(&host)).then(|| (path.clone(), Stamp::new(&host, true).ino, time(&layer)))
}

/// A directory, its number, and its time (seconds, ns).
pub(super) type Timed = (TreePath, u64, (i64, i64));

/// Directories in which files are written or replaced, and no name is made or removed; and the other ones in which the steps use names.
fn passed(view: &View, ops: &[Op]) -> (Vec<Timed>, Vec<Timed>) {
    let is_lasting = |op: &&Op| matches!(op, Op::Put { replaces: false, .. } | Op::Remove { .. });
    let changed: BTreeSet<TreePath> = ops.iter().filter(is_lasting).map(|op| op.target().parent()).collect();
    let dirs: BTreeSet<TreePath> = ops.iter().flat_map(Op::temporaries).map(TreePath::parent).collect();
    let as_it_is = |dir: TreePath| {
        let stat = view.at(Place::Host, &dir).stat().ok()?;
        Some((dir, Stamp::new(&stat, true).ino, time(&stat)))
    };
    dirs.into_iter().filter_map(as_it_is).partition(|(dir, ..)| !changed.contains(dir))
}

/// Steps that leave directories as they are, in which the others change names and this user may not: so the journal has their modes.
fn read_only(view: &View, ops: &[Op], attributes: &[Op]) -> Vec<Op> {
    let given: BTreeSet<&TreePath> = attributes.iter().map(Op::target).collect();
    let names = ops.iter().flat_map(|op| op.temporaries().into_iter().chain([op.target()]));
    let dirs: BTreeSet<TreePath> = names.map(TreePath::parent).filter(|dir| !given.contains(dir)).collect();
    let unchanged = |target: TreePath| {
        let stat = view.at(Place::Host, &target).stat().ok().filter(rights::can_be_taken)?;
        // One that goes, in which a file is written before.
        let goes = |op: &Op| matches!(op, Op::Put { .. } | Op::Remove { .. }) && target.is_within(op.target());
        if ops.iter().any(goes) {
            return None;
        }
        Some(Op::Attributes { target, new: Attributes::of(&stat), old: Attributes::of(&stat) })
    };
    dirs.into_iter().filter_map(unchanged).collect()
}

/// What speaks against a plan when all is prepared. The names that it made itself do not.
pub(super) fn look_again(view: &View, name: &str, paths: &[TreePath], journal: &Journal) -> Result<Vec<Conflict>, Error> {
    let mut conflicts = plan(view, name, paths)?.err().unwrap_or_default();
    let is_own = |path: &TreePath| journal.temporaries().any(|temp| path.is_within(temp));
    conflicts.retain(|conflict| !is_own(&conflict.path));
    let known: BTreeSet<TreePath> = conflicts.iter().map(|conflict| conflict.path.clone()).collect();
    // What is linked or written need not be chosen. It is what was planned at each moment that counts: now, and when its old state was noted.
    let noted: HashMap<_, _> = journal.rewrites().collect();
    for (path, expected) in &journal.expected {
        let is_as_planned = noted.get(path).is_none_or(|old| *old == Some(*expected))
            && now(view, path)? == Some(*expected)
            && !leads_elsewhere(view, &path.parent())?;
        if !is_as_planned && !known.contains(path) {
            conflicts.push(Conflict { path: path.clone(), why: "it was changed on the host" });
        }
    }
    conflicts.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(conflicts)
}

/// Whether the file on the host is written, and not replaced: its other names show what was written to one of them, but not what replaces that.
/// Another user's could not be given to its owner again.
/// Devices may have other numbers by now.
fn is_in_place(view: &View, linked: &Linked<'_>, after: &Found, before: &Stat) -> bool {
    let of = view.top().and_then(|top| top.log.copies.get(&after.stat.st_ino));
    let base = view.top().and_then(|top| top.log.bases.get(&after.path).copied()).flatten();
    let base = base.map(|base| (base.dev, base.ino));
    let is_original = |of: &(u64, u64)| base == Some(*of) || identity_of(before) == *of || linked.is_original(*of, before);
    let is_copy = of.is_some_and(|of| of.1 == before.st_ino && is_original(of));
    file_type(before) == FileType::RegularFile
        && after.kind() == FileType::RegularFile
        && is_copy
        && (before.st_nlink > 1 || is_of_another_user(before))
}

impl Attributes {
    fn of(stat: &Stat) -> Self {
        Self { mode: stat.st_mode, uid: stat.st_uid, gid: stat.st_gid, time: None }
    }
}

impl Op {
    /// The names beside the target that it uses.
    fn temporaries(&self) -> Vec<&TreePath> {
        match self {
            Self::Put { temp, .. } | Self::Remove { temp, .. } => vec![temp],
            Self::Rewrite { temp, old, .. } => vec![temp, old],
            Self::Attributes { .. } => Vec::new(),
        }
    }

    /// What the step acts on.
    pub(super) fn target(&self) -> &TreePath {
        match self {
            Self::Put { target, .. }
            | Self::Remove { target, .. }
            | Self::Rewrite { target, .. }
            | Self::Attributes { target, .. } => target,
        }
    }
}

/// The state of a file, if it is there.
pub(super) fn state(at: At<'_>) -> Result<Option<Stamp>, Errno> {
    match at.stat() {
        Ok(stat) => Ok(Some(Stamp::new(&stat, true))),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The number of a file; 0 if it is not there.
pub(super) fn identity(at: At<'_>) -> Result<u64, Errno> {
    Ok(state(at)?.map_or(0, |state| state.ino))
}
