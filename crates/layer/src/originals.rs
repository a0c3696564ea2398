//! Whose copies the files of a layer are, looked at again when it is opened. Numbers of files that are gone are given to others: two files
//! that have nothing to do with each other would be taken for one.

use crate::{
    log::{Line, Log, Stamp},
    store::Layer,
    view::{Place, View},
};
use std::collections::{HashMap, HashSet};

/// Takes down what became of copies, where something did. What can't be written is found again the next time.
fn correct(log: &mut Log, becomes: impl Fn(u64, u64) -> Option<Line>) {
    let lines: Vec<Line> = log.copies.iter().filter_map(|(ino, (_, of))| becomes(*ino, *of)).collect();
    for line in lines {
        let _ = log.add(line);
    }
}

impl Layer {
    /// Forgets copies that the layer doesn't have: whatever made or removed them was killed.
    pub(crate) fn forget_lost_copies(&mut self) {
        let numbers = &self.numbers;
        correct(&mut self.log, |ino, _| (!numbers.contains(&ino)).then_some(Line::Gone { ino }));
    }
}

/// What the host has where a layer found originals.
#[derive(Default)]
struct OnHost {
    /// The files' numbers.
    numbers: HashSet<u64>,
    /// Originals that were in another layer, which was kept since, by their numbers there: their devices and numbers now.
    kept: HashMap<u64, (u64, u64)>,
}

impl View {
    /// Has the layers forget originals that are not where they were, and learn where those are that were kept.
    pub(crate) fn forget_lost_originals(&mut self) {
        // What the layers below show.
        let mut below: HashSet<u64> = HashSet::new();
        for index in 0..self.layers.len() {
            let OnHost { numbers, kept } = self.originals_on_host(index);
            let layer = &mut self.layers[index];
            let is_lost = |of: u64| !numbers.contains(&of) && !below.contains(&of);
            let of_now = |ino, of| kept.get(&of).map_or(Line::Gone { ino }, |of| Line::Copy { of: *of, ino, linked: false });
            correct(&mut layer.log, |ino, of| is_lost(of).then(|| of_now(ino, of)));
            below.extend(layer.numbers.iter().chain(layer.log.copies.values().map(|(_, of)| of)));
        }
    }

    /// Those that were in another layer then may be on the host.
    fn originals_on_host(&self, layer: usize) -> OnHost {
        let log = &self.layers[layer].log;
        let originals: HashSet<u64> = log.copies.values().map(|(_, of)| *of).collect();
        let mut found = OnHost::default();
        for (path, base) in &log.bases {
            let Some(base) = base.filter(|base| base.ino == 0 || originals.contains(&base.ino)) else { continue };
            let Ok(stat) = self.at(Place::Host, path).stat() else { continue };
            found.numbers.insert(stat.st_ino);
            let now = Stamp::new(&stat, true);
            if base.below != 0 && base.is_still(&now) {
                found.kept.insert(base.below, (now.dev, now.ino));
            }
        }
        found
    }
}
