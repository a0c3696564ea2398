//! Whose copies the files of a layer are, looked at again when it is opened. Numbers of files that are gone are given to others: two files
//! that have nothing to do with each other would be taken for one.

use crate::{
    log::{Line, Log},
    store::Layer,
    view::{Place, View},
};
use std::collections::HashSet;

/// Forgets those for which this is so. What can't be written is found again the next time.
fn forget(log: &mut Log, is_lost: impl Fn(u64, u64) -> bool) {
    let lost: Vec<u64> = log.copies.iter().filter(|(ino, (_, of))| is_lost(**ino, *of)).map(|(ino, _)| *ino).collect();
    for ino in lost {
        let _ = log.add(Line::Gone { ino });
    }
}

impl Layer {
    /// Forgets copies that the layer doesn't have: whatever made or removed them was killed.
    pub(crate) fn forget_lost_copies(&mut self) {
        forget(&mut self.log, |ino, _| !self.numbers.contains(&ino));
    }
}

impl View {
    /// Has the layers forget originals that are not where they were.
    pub(crate) fn forget_lost_originals(&mut self) {
        // What the layers below show.
        let mut below: HashSet<u64> = HashSet::new();
        for index in 0..self.layers.len() {
            let live = self.live_originals(index);
            let layer = &mut self.layers[index];
            forget(&mut layer.log, |_, of| !live.contains(&of) && !below.contains(&of));
            below.extend(layer.numbers.iter().chain(layer.log.copies.values().map(|(_, of)| of)));
        }
    }

    /// The numbers that the host's files have now where the layer found its originals; those that were in another layer then may be on the host.
    fn live_originals(&self, layer: usize) -> HashSet<u64> {
        let log = &self.layers[layer].log;
        let originals: HashSet<u64> = log.copies.values().map(|(_, of)| *of).collect();
        let has_been = |ino: u64| ino == 0 || originals.contains(&ino);
        let found = log.bases.iter().filter(|(_, base)| base.is_some_and(|base| has_been(base.ino)));
        found.filter_map(|(path, _)| self.at(Place::Host, path).stat().ok()).map(|stat| stat.st_ino).collect()
    }
}
