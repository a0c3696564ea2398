//! Renaming: a name that moves takes with it all that shows at it, and hides what is below its new place.

use crate::{
    change::{log_error, mark},
    copy::{self, At, copy_attributes, move_dirs},
    log::Line,
    path::TreePath,
    tree::{Dir, Node, OPAQUE, is_mark},
    view::{Found, Place, View},
};
use rustix::{
    fd::AsFd,
    fs::{Access, AtFlags, FileType, Mode, RenameFlags, accessat, linkat, mkdirat, renameat, renameat_with, unlinkat},
    io::Errno,
};
use std::collections::HashMap;

/// Files with several names that were copied: where one of them is, by device and number, and all of them.
#[derive(Default)]
struct Copied {
    links: HashMap<(u64, u64), TreePath>,
    files: Vec<Found>,
}

impl View {
    /// Renames, replaces, or exchanges two names. The flags are ones that go together.
    ///
    /// # Errors
    /// Of renameat2; EXDEV between the layer and what goes through to the host.
    pub fn rename(&mut self, from: &Found, to: &TreePath, flags: RenameFlags) -> Result<(), Errno> {
        let other = match self.find(to) {
            Err(Errno::NOENT) => None,
            other => Some(other?),
        };
        match (self.is_through(&from.path), self.is_through(to)) {
            (true, true) => return renameat_with(&self.host, from.path.relative(), &self.host, to.relative(), flags),
            (false, false) => {}
            _ => return Err(Errno::XDEV),
        }
        let top = self.top_index()?;
        let exchange = flags.contains(RenameFlags::EXCHANGE);
        if flags.contains(RenameFlags::NOREPLACE) && other.is_some() {
            return Err(Errno::EXIST);
        }
        if is_mark(to.name()) {
            return Err(Errno::INVAL);
        }
        if self.is_hidden(to) {
            return Err(Errno::ACCESS);
        }
        if from.path == *to || other.as_ref().is_some_and(|other| self.is_same_file(from, other)) {
            return Ok(());
        }
        let is_dir = |found: &Found| found.kind() == FileType::Directory;
        if is_dir(from) && to.is_within(&from.path)
            || exchange && other.as_ref().is_some_and(|other| is_dir(other) && from.path.is_within(to))
        {
            return Err(Errno::INVAL);
        }
        if from.path.is_root() || to.is_root() {
            return Err(Errno::BUSY);
        }
        self.may_remove(from)?;
        self.may_change_dir(&to.parent())?;
        self.may_move(from, to)?;
        match &other {
            None if exchange => return Err(Errno::NOENT),
            None => {}
            Some(other) => {
                self.may_remove(other)?;
                if exchange {
                    self.may_move(other, &from.path)?;
                }
                match (is_dir(from), is_dir(other)) {
                    _ if exchange => {}
                    (true, false) => return Err(Errno::NOTDIR),
                    (false, true) => return Err(Errno::ISDIR),
                    (true, true) if !self.is_empty_dir(to)? => return Err(Errno::NOTEMPTY),
                    _ => {}
                }
            }
        }
        let _up = self.elevate();
        self.scaffold(&to.parent())?;
        self.make_movable(from, to)?;
        self.note_base(to)?;
        if exchange {
            if let Some(other) = &other {
                self.make_movable(other, &from.path)?;
            }
            let files = &self.layers[top].files;
            renameat_with(files, from.path.relative(), files, to.relative(), RenameFlags::EXCHANGE)?;
            let tree = &mut self.layers[top].tree;
            if let (Some(one), Some(two)) = (tree.take(&from.path), tree.take(to)) {
                let is_dir = |node: &Node| matches!(node, Node::Dir(_));
                self.layers[top].shared.exchanged((&from.path, is_dir(&one)), (to, is_dir(&two)));
                self.set(to, one);
                self.set(&from.path, two);
            }
            return Ok(());
        }
        self.move_name(top, &from.path, to, flags & RenameFlags::WHITEOUT)
    }

    /// Whether this user may move it there: a directory's `..` changes with the directory that it is in.
    fn may_move(&self, found: &Found, to: &TreePath) -> Result<(), Errno> {
        if found.kind() != FileType::Directory || found.path.parent() == to.parent() {
            return Ok(());
        }
        accessat(self.root(found.place), found.path.relative(), Access::WRITE_OK, AtFlags::EACCESS)
    }

    /// What hides the old name is made first: then nothing that it takes can be missing between the two steps. What a program asks for instead (a
    /// device, `RENAME_WHITEOUT`) the kernel makes in the step itself.
    fn move_name(&mut self, top: usize, from: &TreePath, to: &TreePath, leaves: RenameFlags) -> Result<(), Errno> {
        if let Some(left) = self.layers[top].log.hide.clone() {
            self.layers[top].finish_rename(&left)?;
            self.layers[top].changes.names.push(left);
        }
        if !leaves.is_empty() || !self.shows_below(from) {
            return self.move_node(top, from, to, leaves);
        }
        let whiteout = self.layers[top].temporary_whiteout()?;
        let moved = self.note(Line::Hide(from.clone())).and_then(|()| self.move_node(top, from, to, leaves));
        if self.in_top(from).is_some() {
            let _ = unlinkat(&self.layers[top].work, &whiteout, AtFlags::empty());
        } else {
            renameat(&self.layers[top].work, whiteout, &self.layers[top].files, from.relative())?;
            self.set(from, Node::Whiteout);
        }
        self.note(Line::Hidden)?;
        moved
    }

    fn move_node(&mut self, top: usize, from: &TreePath, to: &TreePath, leaves: RenameFlags) -> Result<(), Errno> {
        let mut replaced = self.in_top(to).is_some().then(|| self.at(Place::Layer(top), to).stat()).transpose()?;
        let moves_dir = matches!(self.in_top(from), Some(Node::Dir(_)));
        if replaced.is_some() && (moves_dir || matches!(self.in_top(to), Some(Node::Dir(_)))) {
            // A whiteout can't be replaced by a directory, nor a directory with marks in it by one.
            let temporary = self.layers[top].temporary();
            let (old, new) = (self.at(Place::Layer(top), from), self.at(Place::Layer(top), to));
            move_dirs(old, new, RenameFlags::EXCHANGE)?;
            if let Err(error) = move_dirs(old, self.in_work(top, &temporary), leaves) {
                move_dirs(old, new, RenameFlags::EXCHANGE)?;
                return Err(error);
            }
            self.set_moved(top, from, to, leaves)?;
            return self.retire(&temporary);
        }
        if let Some(replaced) = &mut replaced {
            // It has two names then.
            replaced.st_nlink += if self.leave_unnamed(to, replaced) { 1 } else { 0 };
        }
        let layer = &self.layers[top];
        renameat_with(&layer.files, from.relative(), &layer.files, to.relative(), leaves)?;
        self.set_moved(top, from, to, leaves)?;
        replaced.map_or(Ok(()), |replaced| self.forget_copy(&replaced))
    }

    fn set_moved(&mut self, top: usize, from: &TreePath, to: &TreePath, leaves: RenameFlags) -> Result<(), Errno> {
        if let Some(node) = self.layers[top].tree.take(from) {
            self.layers[top].shared.moved(from, to, matches!(node, Node::Dir(_)));
            self.set(to, node);
        }
        if leaves.is_empty() {
            return Ok(());
        }
        self.set(from, Node::Leaf);
        self.give(self.at(Place::Layer(top), from), from)
    }

    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ between machines")]
    fn is_same_file(&mut self, one: &Found, other: &Found) -> bool {
        one.place == other.place && (one.stat.st_dev, one.stat.st_ino) == (other.stat.st_dev, other.stat.st_ino)
            || self.is_copy_and_original(one, other)
    }

    /// Brings what is to be renamed into the topmost layer, as a whole: a directory hides what is below its new name.
    fn make_movable(&mut self, found: &Found, to: &TreePath) -> Result<(), Errno> {
        self.note_base(&found.path)?;
        if found.kind() != FileType::Directory {
            return self.copy_up(found, false);
        }
        let top = self.top_index()?;
        let is_whole = matches!(self.in_top(&found.path), Some(Node::Dir(dir)) if dir.opaque || !self.shows_below(&found.path));
        if is_whole {
            // Where it hides nothing, those that watch it see no mark appear.
            if let Some(Node::Dir(dir)) = self.in_top(&found.path)
                && !dir.opaque
                && self.shows_below(to)
            {
                mark(self.at(Place::Layer(top), &found.path), OPAQUE)?;
                if let Some(dir) = self.layers[top].tree.dir_mut(&found.path) {
                    dir.opaque = true;
                }
            }
            return Ok(());
        }
        self.scaffold(&found.path.parent())?;
        let temporary = TreePath::literal(self.layers[top].temporary());
        let mut copied = Copied::default();
        let gathered = self.gather(found, &temporary, &mut copied);
        let gathered = gathered.and_then(|node| mark(self.in_work(top, temporary.relative()), OPAQUE).map(|()| node));
        let node = match gathered {
            Ok(node) => node,
            Err(error) => {
                // What was copied until then is in the way of everything where the disk is full.
                let _ = self.retire(temporary.relative());
                return Err(error);
            }
        };
        let is_replaced = self.in_top(&found.path).is_some();
        let flags = if is_replaced { RenameFlags::EXCHANGE } else { RenameFlags::empty() };
        move_dirs(self.in_work(top, temporary.relative()), self.at(Place::Layer(top), &found.path), flags)?;
        if is_replaced {
            self.retire(temporary.relative())?;
        }
        let Node::Dir(dir) = node else { return Err(Errno::NOTDIR) };
        self.set(&found.path, Node::Dir(Dir { opaque: true, ..dir }));
        copied.files.iter().for_each(|found| self.share(found));
        Ok(())
    }

    /// Copies a tree as it is seen into `work`.
    fn gather(&mut self, found: &Found, to: &TreePath, copied: &mut Copied) -> Result<Node, Errno> {
        let top = self.top_index()?;
        self.note_base(&found.path)?;
        let work = self.layers[top].work.try_clone().map_err(log_error)?;
        let at = At { dir: work.as_fd(), name: to.relative() };
        if found.kind() != FileType::Directory {
            // One of this layer keeps its identity.
            if found.place == Place::Layer(top) {
                let from = self.at(found.place, &found.path);
                linkat(from.dir, from.name, at.dir, at.name, AtFlags::empty())?;
            } else {
                let linked = copy::identity_of_linked(&found.stat);
                let first = linked.and_then(|linked| copied.links.get(&linked)).map(|first| At { name: first.relative(), ..at });
                if first.is_some() || !self.link_shared(found, to.relative()) {
                    copy::copy_linked(
                        self.at(found.place, &found.path),
                        at,
                        &found.stat,
                        true,
                        || self.open_to_read(found),
                        first,
                    )?;
                    self.enter_copy(to.relative(), found)?;
                }
                if let Some(linked) = linked {
                    copied.links.insert(linked, to.clone());
                    copied.files.push(found.clone());
                }
            }
            return Ok(Node::Leaf);
        }
        mkdirat(at.dir, at.name, Mode::RWXU)?;
        let mut dir = Dir { own: true, ..Dir::default() };
        for entry in self.list(&found.path)? {
            let below = self.find(&found.path.join(&entry.name))?;
            let node = self.gather(&below, &to.join(&entry.name), copied)?;
            dir.entries.insert(entry.name, node);
        }
        copy_attributes(self.at(found.place, &found.path), at, &self.shown(found))?;
        self.enter_copy(to.relative(), found)?;
        Ok(Node::Dir(dir))
    }
}
