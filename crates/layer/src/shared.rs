//! Copies of files of the host's that have several names: what is copied by another name is one more name of the same copy. One that has lost
//! its names stays, as `unnamed/NUMBER`, for the original may have others: they show then what was written to it.

use crate::{
    copy::{At, file_type},
    log::Stamp,
    path::TreePath,
    store::Layer,
    tree::{Node, open_dir},
    view::{Found, Place, View},
};
use rustix::{
    fs::{AtFlags, FileType, Mode, Stat, linkat, mkdirat, unlinkat},
    io::Errno,
};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    os::fd::AsFd,
};

/// Where those without names are, beside the tree.
const UNNAMED: &str = "unnamed";

/// Where the copies are, as far as that is known.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    is_known: bool,
    /// By device and number of the originals.
    copies: HashMap<(u64, u64), Shareable>,
    /// By name.
    names: HashMap<TreePath, (u64, u64)>,
}

#[derive(Debug)]
struct Shareable {
    /// The original when it was copied.
    base: Stamp,
    /// The copy's number.
    ino: u64,
    /// Its names, and some that it had: one that is not its own any more is seen when it is used. If there is none, the tree is gone through.
    names: BTreeSet<TreePath>,
}

impl Shared {
    fn add_name(&mut self, of: (u64, u64), name: TreePath) {
        if let Some(copy) = self.copies.get_mut(&of) {
            copy.names.insert(name.clone());
            self.names.insert(name, of);
        }
    }

    fn take_name(&mut self, name: &TreePath) -> Option<(u64, u64)> {
        let of = self.names.remove(name)?;
        if let Some(copy) = self.copies.get_mut(&of) {
            copy.names.remove(name);
        }
        Some(of)
    }

    /// A name is gone.
    pub(crate) fn dropped(&mut self, name: &TreePath) {
        self.take_name(name);
    }

    /// A name is one more of the file of another.
    pub(crate) fn linked(&mut self, from: &TreePath, to: &TreePath) {
        self.take_name(to);
        if let Some(of) = self.names.get(from).copied() {
            self.add_name(of, to.clone());
        }
    }

    /// Takes the names of a file or of what is in a directory, as they will be.
    fn take(&mut self, from: &TreePath, to: &TreePath, is_dir: bool) -> Vec<(TreePath, (u64, u64))> {
        let names: Vec<TreePath> =
            if is_dir { self.names.keys().filter(|name| name.is_within(from)).cloned().collect() } else { vec![from.clone()] };
        names.iter().filter_map(|name| Some((to.join(name.below(from)?), self.take_name(name)?))).collect()
    }

    fn put(&mut self, names: Vec<(TreePath, (u64, u64))>) {
        for (name, of) in names {
            self.take_name(&name);
            self.add_name(of, name);
        }
    }

    /// Two names are exchanged.
    pub(crate) fn exchanged(&mut self, (one, is_dir): (&TreePath, bool), (other, other_is_dir): (&TreePath, bool)) {
        let (first, second) = (self.take(one, other, is_dir), self.take(other, one, other_is_dir));
        self.put(first);
        self.put(second);
    }

    /// A name of a file or a directory is another one now.
    pub(crate) fn moved(&mut self, from: &TreePath, to: &TreePath, is_dir: bool) {
        self.take_name(to);
        let names = self.take(from, to, is_dir);
        self.put(names);
    }
}

/// Whether it is a file of the host's with several names.
pub(crate) fn is_linked(found: &Found) -> bool {
    found.place == Place::Host && found.kind() == FileType::RegularFile && found.stat.st_nlink > 1
}

fn unnamed(ino: u64) -> TreePath {
    TreePath::beside_root(&format!("{UNNAMED}/{ino}"))
}

impl Layer {
    fn at<'a>(&'a self, path: &'a TreePath) -> At<'a> {
        At { dir: self.files.as_fd(), name: path.relative() }
    }

    /// The copies without names, each under the one that it has beside the tree.
    pub(crate) fn unnamed(&self) -> Vec<(TreePath, Stat)> {
        let dir = TreePath::beside_root(UNNAMED);
        let names = open_dir(&self.files, dir.relative()).and_then(crate::copy::names).unwrap_or_default();
        let found = |name: &Vec<u8>| {
            let path = dir.join(name);
            self.at(&path).stat().ok().map(|stat| (path, stat))
        };
        names.iter().filter_map(found).collect()
    }

    /// Notes which of them there are, without those that have names again or were made by what was killed.
    pub(crate) fn read_unnamed(&mut self, change: bool) {
        for (path, stat) in self.unnamed() {
            if stat.st_nlink == 1 && self.log.linked.contains(&stat.st_ino) {
                self.numbers.insert(stat.st_ino);
            } else if change {
                let _ = unlinkat(&self.files, path.relative(), AtFlags::empty());
            }
        }
    }

    fn learn_shared(&mut self, on_host: impl Fn(&TreePath) -> Option<Stamp>) {
        let mut shared = Shared { is_known: true, ..Shared::default() };
        let originals: HashMap<(u64, u64), u64> =
            self.log.linked.iter().filter_map(|ino| Some((*self.log.copies.get(ino)?, *ino))).collect();
        let (mut copies, mut differ) = (HashMap::new(), HashSet::new());
        for (path, base) in self.log.bases.iter().filter_map(|(path, base)| Some((path, (*base)?))) {
            let Some(ino) = originals.get(&(base.dev, base.ino)) else { continue };
            let (of, first) = copies.entry(*ino).or_insert(((base.dev, base.ino), base));
            if *first != base {
                // It was changed on the host after it was copied by the first name.
                differ.insert(*ino);
            }
            // Devices may have other numbers by now.
            if let Some(now) = on_host(path).filter(|now| base.is_still(now)) {
                *of = (now.dev, now.ino);
            }
        }
        copies.retain(|ino, _| !differ.contains(ino));
        let numbers: HashMap<u64, (u64, u64)> = copies.iter().map(|(ino, (of, _))| (*ino, *of)).collect();
        let copies = copies.into_iter().map(|(ino, (of, base))| (of, Shareable { base, ino, names: BTreeSet::new() }));
        shared.copies = copies.collect();
        self.tree.each(&TreePath::root(), &mut |path, node| {
            if *node == Node::Leaf
                && let Ok(stat) = self.at(path).stat()
                && let Some(of) = numbers.get(&stat.st_ino)
            {
                shared.add_name(*of, path.clone());
            }
        });
        for (path, stat) in self.unnamed() {
            if let Some(of) = numbers.get(&stat.st_ino) {
                shared.add_name(*of, path);
            }
        }
        self.shared = shared;
    }

    /// The copy of a file of the host's: a name, and its number.
    fn shared_copy(&mut self, now: &Stamp, on_host: impl Fn(&TreePath) -> Option<Stamp>) -> Option<(TreePath, u64)> {
        let of = (now.dev, now.ino);
        for _ in 0..2 {
            if !self.shared.is_known {
                self.learn_shared(&on_host);
            }
            // The host may have given its number to another file.
            let copy = self.shared.copies.get(&of).filter(|copy| copy.base.is_still(now))?;
            let (ino, base) = (copy.ino, copy.base);
            // So may the layer's file system.
            if self.log.copies.get(&ino) != Some(&(base.dev, base.ino)) || !self.log.linked.contains(&ino) {
                self.shared.copies.remove(&of);
                return None;
            }
            while let Some(name) = self.shared.copies.get(&of).and_then(|copy| copy.names.first()).cloned() {
                if self.at(&name).stat().is_ok_and(|stat| stat.st_ino == ino) {
                    return Some((name, ino));
                }
                self.shared.copies.get_mut(&of)?.names.remove(&name);
            }
            self.shared.is_known = false;
        }
        None
    }
}

impl View {
    /// Whether a file of the layer is the copy of one that had several names.
    pub(crate) fn is_copy_of_linked(&self, found: &Found) -> bool {
        matches!(found.place, Place::Layer(index) if self.layers[index].log.linked.contains(&found.stat.st_ino))
    }

    /// Makes what is to be a copy in `work` a further name of the one that there is: whether there is one.
    pub(crate) fn link_shared(&mut self, found: &Found, temporary: &[u8]) -> bool {
        let Some((copy, _)) = self.copy_of_linked(found) else { return false };
        let Some(layer) = self.layers.last() else { return false };
        linkat(&layer.files, copy.relative(), &layer.work, temporary, AtFlags::empty()).is_ok()
    }

    /// The copy of a file of the host's that has several names.
    fn copy_of_linked(&mut self, found: &Found) -> Option<(TreePath, u64)> {
        let _up = self.elevate();
        let layer = self.layers.last_mut().filter(|layer| is_linked(found) && !layer.log.linked.is_empty())?;
        let host = self.host.as_fd();
        let on_host = |path: &TreePath| Some(Stamp::new(&At { dir: host, name: path.relative() }.stat().ok()?, true));
        layer.shared_copy(&Stamp::new(&found.stat, true), on_host)
    }

    /// Whether the layer has a copy of this file of the host's, under another name of it.
    pub(crate) fn has_copy(&mut self, found: &Found) -> bool {
        self.copy_of_linked(found).is_some()
    }

    /// Whether two names are of one file of the host's, of which the layer has a copy under one of them.
    pub(crate) fn is_copy_and_original(&mut self, one: &Found, other: &Found) -> bool {
        let mut is_copy = |copy: &Found, original: &Found| {
            self.is_copy_of_linked(copy) && self.copy_of_linked(original).is_some_and(|(_, ino)| ino == copy.stat.st_ino)
        };
        is_copy(one, other) || is_copy(other, one)
    }

    /// What was found on the host has a copy under its name now.
    pub(crate) fn share(&mut self, found: &Found) {
        let Some(layer) = self.layers.last_mut().filter(|_| is_linked(found)) else { return };
        let Ok(stat) = layer.at(&found.path).stat() else { return };
        let base = Stamp::new(&found.stat, true);
        if layer.shared.is_known {
            let of = (base.dev, base.ino);
            if layer.shared.copies.get(&of).is_none_or(|copy| !copy.base.is_still(&base) || copy.ino != stat.st_ino) {
                layer.shared.copies.insert(of, Shareable { base, ino: stat.st_ino, names: BTreeSet::new() });
            }
            layer.shared.take_name(&found.path);
            layer.shared.add_name(of, found.path.clone());
        }
        if stat.st_nlink > 1 {
            let _ = unlinkat(&layer.files, unnamed(stat.st_ino).relative(), AtFlags::empty());
        }
    }

    /// Has a copy stay that is about to lose its last name, if its original had several: whether it does. Without room for that it is lost.
    pub(crate) fn leave_unnamed(&mut self, path: &TreePath, stat: &Stat) -> bool {
        let is_last = file_type(stat) == FileType::RegularFile && stat.st_nlink == 1;
        let Some(layer) = self.layers.last_mut().filter(|layer| is_last && layer.log.linked.contains(&stat.st_ino)) else {
            return false;
        };
        let (dir, name) = (TreePath::beside_root(UNNAMED), unnamed(stat.st_ino));
        let link = || linkat(&layer.files, path.relative(), &layer.files, name.relative(), AtFlags::empty());
        let left = link().or_else(|_| {
            let _ = mkdirat(&layer.files, dir.relative(), Mode::RWXU);
            link()
        });
        if let Some(of) = layer.shared.names.get(path).copied() {
            layer.shared.add_name(of, name.clone());
        }
        matches!(left, Ok(()) | Err(Errno::EXIST))
    }
}
