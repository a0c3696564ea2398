//! select(2) by way of poll(2).

use crate::wait::PollEntry;
use libc::{POLLERR, POLLHUP, POLLIN, POLLNVAL, POLLOUT, POLLPRI, POLLRDBAND, POLLRDNORM, POLLWRBAND, POLLWRNORM, c_ulong};
use rustix::io::Errno;
use smallvec::SmallVec;
use std::{cell::Cell, os::fd::RawFd};

/// What poll(2) asks for each of the three sets, and what answers make a descriptor ready in it.
const ASK: [(i16, i16); 3] = [
    (POLLIN, POLLIN | POLLRDNORM | POLLRDBAND | POLLHUP | POLLERR),
    (POLLOUT, POLLOUT | POLLWRNORM | POLLWRBAND | POLLERR),
    (POLLPRI, POLLPRI),
];

/// Bits of a word of a set.
const BITS: usize = c_ulong::BITS as usize;

/// The three sets of select(2): for reading, writing and exceptions. The program may pass one as several.
#[derive(Debug)]
pub struct Sets<'a>([&'a [Cell<c_ulong>]; 3]);

impl<'a> Sets<'a> {
    /// How many words hold the bits of `count` descriptors.
    pub fn words(count: usize) -> usize {
        count.div_ceil(BITS)
    }

    /// Of sets that are there, as so many words; others are empty.
    pub fn new(sets: [&'a [Cell<c_ulong>]; 3]) -> Self {
        Self(sets)
    }

    fn word(&self, set: usize, word: usize) -> c_ulong {
        self.0[set].get(word).map_or(0, Cell::get)
    }

    /// What poll(2) is asked for the descriptors below `count`.
    pub fn entries(&self, count: usize) -> SmallVec<[PollEntry; 16]> {
        let mut entries = SmallVec::new();
        for word in 0..Self::words(count) {
            let words = [0, 1, 2].map(|set| self.word(set, word));
            let mut any = words[0] | words[1] | words[2];
            while any != 0 {
                let bit = any.trailing_zeros();
                any &= any - 1;
                let fd = word * BITS + bit as usize;
                let asked = words.iter().zip(ASK).filter(|(word, _)| **word >> bit & 1 != 0);
                if fd < count {
                    entries.push(PollEntry {
                        fd: fd as RawFd,
                        events: asked.fold(0, |events, (_, (ask, _))| events | ask),
                        revents: 0,
                    });
                }
            }
        }
        entries
    }

    /// Whether an answer makes its descriptor ready in one of the sets: poll(2) also says what was not asked for.
    pub fn counts(&self, entry: &PollEntry) -> bool {
        let (word, bit) = Self::place(entry);
        let ready = ASK.iter().enumerate().filter(|(set, _)| self.word(*set, word) & bit != 0).map(|(_, (_, ready))| ready);
        ready.fold(POLLNVAL, |all, ready| all | ready) & entry.revents != 0
    }

    /// The word and the bit of a descriptor.
    fn place(entry: &PollEntry) -> (usize, c_ulong) {
        (entry.fd as usize / BITS, 1 << (entry.fd as usize % BITS))
    }

    /// Leaves those in the sets that are ready by the answers to [`Sets::entries`]; how many bits they are.
    ///
    /// # Errors
    /// `BADF`: one of the descriptors is not open. The sets are as they were.
    pub fn settle(&self, entries: &[PollEntry]) -> Result<usize, Errno> {
        if entries.iter().any(|entry| entry.revents & POLLNVAL != 0) {
            return Err(Errno::BADF);
        }
        let mut count = 0;
        for entry in entries {
            let (word, bit) = Self::place(entry);
            for (set, (_, ready)) in self.0.iter().zip(ASK) {
                let Some(word) = set.get(word).filter(|word| word.get() & bit != 0) else { continue };
                if entry.revents & ready != 0 {
                    count += 1;
                } else {
                    word.set(word.get() & !bit);
                }
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_become_entries_and_answers_bits() {
        let words = |bits: &[usize]| {
            let mut words = [0; 3];
            bits.iter().for_each(|bit| words[bit / BITS] |= 1 << (bit % BITS));
            words.map(Cell::new)
        };
        let (read, write) = (words(&[0, 63, 64, 130]), words(&[0, 70, 131]));
        let sets = Sets::new([&read, &write, &[]]);
        let mut entries = sets.entries(131);
        let asked: Vec<_> = entries.iter().map(|entry| (entry.fd, entry.events)).collect();
        assert_eq!(asked, [(0, POLLIN | POLLOUT), (63, POLLIN), (64, POLLIN), (70, POLLOUT), (130, POLLIN)]);
        for (entry, revents) in entries.iter_mut().zip([POLLOUT, POLLHUP, 0, POLLERR, POLLIN]) {
            entry.revents = revents;
        }
        assert_eq!(sets.settle(&entries), Ok(4));
        assert_eq!((read, write), (words(&[63, 130]), words(&[0, 70, 131])), "one beyond the count stays");
        let except = words(&[63]);
        let sets = Sets::new([&[], &[], &except]);
        let told = |revents| sets.counts(&PollEntry { fd: 63, events: POLLPRI, revents });
        assert_eq!([POLLHUP | POLLERR, POLLPRI, POLLNVAL].map(told), [false, true, true]);
        entries[1].revents = POLLNVAL;
        let before = words(&[63]);
        assert_eq!(Sets::new([&before, &[], &[]]).settle(&entries), Err(Errno::BADF));
        assert_eq!(before, words(&[63]));
    }
}
