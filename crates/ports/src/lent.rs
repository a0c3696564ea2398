//! Memory that is lent to messages: they take it along without a copy of it.
//!
//! Its bytes are those of a sealed memory file, mapped where the program has them, and the program does not change them while the memory is
//! lent. A message with all of it out of line has the file, which its receiver maps as it maps every file of large memory: pages of its own. So nobody
//! sees what anybody writes later.

use slipway_fabric::descriptor::Reserved;
use std::{collections::HashMap, sync::Arc};

/// The memory that the process has lent, by its addresses.
#[derive(Debug, Default)]
pub struct Lent(HashMap<usize, (Arc<Reserved>, usize)>);

impl Lent {
    /// The `len` bytes at `at` are those of a sealed file.
    pub fn insert(&mut self, at: usize, file: Arc<Reserved>, len: usize) {
        self.0.insert(at, (file, len));
    }

    /// The memory may change from here on: the file.
    pub fn remove(&mut self, at: usize) -> Option<Arc<Reserved>> {
        self.0.remove(&at).map(|(file, _)| file)
    }

    /// The file with just the `len` bytes at `at`, unless the program has closed it.
    pub fn file(&self, at: usize, len: usize) -> Option<Arc<Reserved>> {
        let (file, lent) = self.0.get(&at)?;
        (*lent == len && file.is_open()).then(|| Arc::clone(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_is_all_of_it_while_its_file_is_open() {
        let file = || Arc::new(Reserved::new(rustix::pipe::pipe().expect("a pipe").0).expect("a descriptor"));
        let mut lent = Lent::default();
        lent.insert(4096, file(), 100);
        assert!(lent.file(4096, 100).is_some());
        assert!([(4096, 99), (4096, 101), (4097, 99), (0, 100)].iter().all(|(at, len)| lent.file(*at, *len).is_none()));
        // The program has closed the library's descriptors.
        lent.insert(4096, Arc::new(Reserved::none()), 100);
        assert!(lent.file(4096, 100).is_none());
        assert!(lent.remove(4096).is_some() && lent.remove(4096).is_none());
    }
}
