//! What the layers say of names, for those that keep a copy of it: all of it, and what is new since they looked.

use crate::{
    path::TreePath,
    store::Layer,
    tree::{Dir, Node},
    view::{Place, View},
};
use rustix::io::Errno;

/// What a layer says of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// There is nothing.
    Gone,
    /// All that is no directory.
    Leaf,
    /// A directory.
    Dir,
}

/// A directory that a layer got because something below it was changed, over one that only the host has.
#[derive(Debug)]
pub struct Scaffold {
    /// Its name.
    pub path: TreePath,
    /// Device and number of the host's.
    pub host: (u64, u64),
    /// Those of the layer's.
    pub layer: (u64, u64),
}

/// What a layer began to say.
#[derive(Debug, Default)]
pub struct Changes {
    /// Of these names, and of those below them.
    pub names: Vec<TreePath>,
    /// Of these, each before those below it.
    pub scaffolds: Vec<Scaffold>,
    /// The file with this number in the layer is the copy of that (device, number), or is none any more.
    pub copies: Vec<(u64, Option<(u64, u64)>)>,
}

impl Layer {
    /// Calls with each name that the layer says something of, from `at` on.
    pub fn each(&self, at: &TreePath, f: &mut dyn FnMut(&TreePath, Said)) {
        let mut tell = |path: &TreePath, node: &Node| {
            f(
                path,
                match node {
                    Node::Whiteout => Said::Gone,
                    Node::Leaf => Said::Leaf,
                    Node::Dir(_) => Said::Dir,
                },
            );
        };
        if at.is_root() {
            return self.tree.each(at, &mut tell);
        }
        if let Some(node) = self.tree.look(at).node {
            tell(at, node);
            if let Node::Dir(dir) = node {
                Dir::each(dir, at, &mut tell);
            }
        }
    }

    /// Files of the layer that are copies, as in [`Changes`].
    pub fn copies(&self) -> impl Iterator<Item = (u64, Option<(u64, u64)>)> {
        self.log.copies.iter().map(|(ino, of)| (*ino, Some(*of)))
    }
}

impl View {
    /// What the topmost layer began to say since this was called.
    pub fn take_changes(&mut self) -> Changes {
        self.layers.last_mut().map(|layer| std::mem::take(&mut layer.changes)).unwrap_or_default()
    }

    /// Whether a directory is the topmost layer's alone: what the kernel says of it there, and lists but for marks, is what is seen. If so: whether the
    /// layer hides what is below, so that nothing made there later shows; and the directory's device and number.
    pub fn is_alone(&self, path: &TreePath) -> Option<(bool, (u64, u64))> {
        let (top, rules) = (self.layers.last()?, &self.rules);
        if rules.hidden.iter().chain(&rules.through).any(|rule| rule.is_within(path))
            || self.is_hidden(path)
            || self.is_through(path)
        {
            return None;
        }
        let look = top.tree.look(path);
        let (Some(Node::Dir(_)), closed) = (look.node, look.closed()) else { return None };
        let at = |place| self.at(place, path).stat();
        let below = self.sources_below(path, self.layers.len() - 1);
        if !closed && !below.into_iter().all(|place| matches!(at(place), Err(Errno::NOENT | Errno::NOTDIR))) {
            return None;
        }
        let stat = at(Place::Layer(self.layers.len() - 1)).ok()?;
        #[allow(clippy::useless_conversion, reason = "the types differ between machines")]
        (!top.log.copies.contains_key(&stat.st_ino)).then_some((closed, (stat.st_dev.into(), stat.st_ino)))
    }

    /// What is at names in a directory of which no layer says anything: what the host has, or nothing. None if rules hide the directory.
    pub fn rest_of(&self, dir: &TreePath) -> Option<Option<Place>> {
        // A name that is too long to be one.
        let other = dir.join(&[b'x'; 256]);
        (!self.is_hidden(dir)).then(|| self.sources(&other).first().copied())
    }
}
