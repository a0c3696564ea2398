//! What the layers say of names, for those that keep a copy of it: all of it, and what is new since they looked.

use crate::{
    path::TreePath,
    store::Layer,
    tree::{Dir, Node},
    view::{Place, View},
};

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

/// What a layer began to say.
#[derive(Debug, Default)]
pub struct Changes {
    /// Of these names, and of those below them.
    pub names: Vec<TreePath>,
    /// The file with the second number in the layer is the copy of the first: device and number.
    pub copies: Vec<((u64, u64), u64)>,
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
    pub fn copies(&self) -> impl Iterator<Item = ((u64, u64), u64)> {
        self.log.copies.iter().map(|(ino, of)| (*of, *ino))
    }
}

impl View {
    /// What the topmost layer began to say since this was called.
    pub fn take_changes(&mut self) -> Changes {
        self.layers.last_mut().map(|layer| std::mem::take(&mut layer.changes)).unwrap_or_default()
    }

    /// What is at names in a directory of which no layer says anything: what the host has, or nothing. None if rules hide the directory.
    pub fn rest_of(&self, dir: &TreePath) -> Option<Option<Place>> {
        // A name that is too long to be one.
        let other = dir.join(&[b'x'; 256]);
        (!self.is_hidden(dir)).then(|| self.sources(&other).first().copied())
    }
}
