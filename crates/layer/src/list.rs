//! Listing a directory: of all that show in it.

use crate::{
    path::TreePath,
    tree::{Node, is_mark, open_dir},
    view::{Place, View},
};
use rustix::{
    fd::OwnedFd,
    fs::{Dir, FileType},
    io::Errno,
};
use std::collections::BTreeMap;

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: Vec<u8>,
    /// Its type; unknown where the file system doesn't tell.
    pub kind: FileType,
    /// The number that stat shows.
    pub ino: u64,
}

impl View {
    /// What is in a directory, by name, without `.` and `..`.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, EACCES.
    pub fn list(&self, path: &TreePath) -> Result<Vec<Entry>, Errno> {
        self.list_in(path, self.layers.len())
    }

    /// The same, of so many layers only, from the lowest on.
    pub(crate) fn list_in(&self, path: &TreePath, layers: usize) -> Result<Vec<Entry>, Errno> {
        let mut entries: BTreeMap<Vec<u8>, Entry> = BTreeMap::new();
        let mut is_first = true;
        // The lowest first: those above it replace and hide.
        let sources = self.sources_below(path, layers);
        let is_alone = sources.len() == 1;
        if sources.is_empty() {
            return Err(Errno::NOENT);
        }
        for place in sources.into_iter().rev() {
            match open_dir(self.root(place), path.relative()) {
                Ok(dir) => {
                    is_first = false;
                    self.add_entries(place, path, dir, &mut entries)?;
                }
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if place == Place::Host && !is_alone => {}
                // A link or a file below a directory.
                Err(Errno::NOTDIR | Errno::LOOP) if !is_first => entries.clear(),
                Err(error) => return Err(error),
            }
        }
        entries.retain(|name, _| !self.rules.hidden.contains(&path.join(name)));
        Ok(entries.into_values().collect())
    }

    fn add_entries(
        &self,
        place: Place,
        path: &TreePath,
        dir: OwnedFd,
        entries: &mut BTreeMap<Vec<u8>, Entry>,
    ) -> Result<(), Errno> {
        let says = match place {
            Place::Host => None,
            Place::Layer(index) => self.layers[index].tree.dir(path),
        };
        // Not `read_from`, which enters the directory again: reading needs no right to do that.
        for entry in Dir::new(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." || is_mark(name) {
                continue;
            }
            if says.is_some_and(|dir| matches!(dir.entries.get(name), Some(Node::Whiteout))) {
                entries.remove(name);
                continue;
            }
            let mut ino = entry.ino();
            if let Place::Layer(index) = place {
                let copies = &self.layers[index].log.copies;
                // A directory shows the number of the one below it.
                ino = copies.get(&ino).map_or(ino, |(_, original)| *original);
            }
            entries.insert(name.to_vec(), Entry { name: name.to_vec(), kind: entry.file_type(), ino });
        }
        Ok(())
    }
}
