//! Memory files of other processes that stay mapped for a while after the program has given their memory back unchanged.
//!
//! Most of what a message with large memory costs is to map it, to find its pages, and to unmap it. Memory that is sent again and again has one
//! file: when that comes once more, its receiver gets the pages that it had before.
//!
//! A file is known by its device and its number, which no other file has as long as this one is mapped. What is mapped can't change: the file was sealed
//! when it was mapped, and the pages were not written to since. A peer gets only what came from itself, so it can pass nobody else's memory for its own.

use crate::account::{Account, Charge};
use slipway_fabric::{descriptor::Reserved, sync::pages};
use std::{
    collections::VecDeque,
    io,
    os::fd::AsFd,
    sync::{Arc, Weak},
};

/// The most bytes that stay mapped, of all peers together.
const IDLE_BYTES: usize = 16 << 20;
/// The most files that do, and the most files of which it is known where the program has them.
const FILES: usize = 32;

/// A file, mapped from its start.
#[derive(Debug)]
struct Map {
    at: usize,
    len: usize,
    file: (u64, u64),
    from: Weak<Account>,
}

impl Map {
    /// Of what came from no peer, nothing is known.
    fn of(file: &Reserved, len: usize) -> Option<Self> {
        let from = Arc::downgrade(&Charge::of(file)?);
        let stat = rustix::fs::fstat(file).ok()?;
        Some(Self { at: 0, len, file: (stat.st_dev, stat.st_ino), from })
    }

    fn is_same(&self, other: &Self) -> bool {
        self.file == other.file && self.len == other.len && self.from.ptr_eq(&other.from)
    }
}

/// Where files are mapped: whole pages, by their addresses.
#[derive(Debug, Default)]
pub struct Mapped {
    /// What the program has.
    used: VecDeque<Map>,
    /// What it has given back.
    idle: VecDeque<Map>,
}

impl Mapped {
    /// Maps the first `len` bytes of a sealed file, or finds them mapped: their address.
    ///
    /// # Errors
    /// As mmap(2).
    pub fn place(&mut self, file: &Reserved, len: usize) -> io::Result<usize> {
        let map = Map::of(file, len);
        if let Some(map) = &map
            && let Some(found) = self.idle.iter().position(|idle| idle.is_same(map))
            && let Some(idle) = self.idle.remove(found)
        {
            let at = idle.at;
            self.use_again(idle);
            return Ok(at);
        }
        let at = pages::map_private(file.as_fd(), len)?;
        self.forget(at);
        if let Some(map) = map {
            self.use_again(Map { at, ..map });
        }
        Ok(at)
    }

    fn use_again(&mut self, map: Map) {
        if self.used.len() >= FILES {
            self.used.pop_front();
        }
        self.used.push_back(map);
    }

    /// What is at the address from here on is no file of this value's.
    pub fn forget(&mut self, at: usize) {
        self.used.retain(|used| used.at != at);
    }

    /// The program gives memory back: what is to be unmapped now, by addresses and lengths. `clean`: it was received, and not written to.
    pub fn give_back(&mut self, at: usize, len: usize, clean: bool) -> Vec<(usize, usize)> {
        let mut unmapped = Vec::new();
        let used = self.used.iter().position(|used| used.at == at).and_then(|found| self.used.remove(found));
        match used.filter(|used| clean && used.len == len && len <= IDLE_BYTES) {
            Some(used) => self.idle.push_back(used),
            None => unmapped.push((at, len)),
        }
        while self.idle.len() > FILES || self.idle.iter().map(|idle| idle.len).sum::<usize>() > IDLE_BYTES {
            unmapped.extend(self.idle.pop_front().map(|idle| (idle.at, idle.len)));
        }
        unmapped
    }

    /// Unmaps what came from those for whom nothing is held any more.
    pub fn forget_gone(&mut self) {
        #[allow(unsafe_code, reason = "memory that the program gave back")]
        self.idle.retain(|idle| {
            let held = idle.from.strong_count() > 0;
            if !held {
                // SAFETY: the program has no use for it any more, as it said.
                let _ = unsafe { pages::deallocate(idle.at, idle.len) };
            }
            held
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{account::Ledger, objects};

    const LEN: usize = 1 << 20;

    /// A file as a peer sends it.
    fn file(account: &Arc<Account>) -> Reserved {
        let bytes = vec![7u8; LEN];
        let file = objects::copied(bytes.as_ptr().addr(), LEN).expect("a file");
        held(&file, account)
    }

    /// Another descriptor of a file, as it comes with another message.
    fn held(file: &Reserved, account: &Arc<Account>) -> Reserved {
        let copy = Reserved::new(file.as_fd().try_clone_to_owned().expect("a copy")).expect("a descriptor");
        copy.with(Box::new(account.take(1, 0).expect("within the limit")))
    }

    fn accounts() -> [Arc<Account>; 2] {
        let ledger = Ledger::default();
        [ledger.apart(), ledger.apart()]
    }

    #[test]
    fn a_file_that_comes_again_is_where_it_was() {
        let ([peer, other], mut mapped) = (accounts(), Mapped::default());
        let first = file(&peer);
        let at = mapped.place(&first, LEN).expect("a mapping");
        let twice = mapped.place(&held(&first, &peer), LEN).expect("a mapping");
        assert_ne!(at, twice, "the program has both");
        assert_eq!((mapped.give_back(at, LEN, true), mapped.give_back(twice, LEN, true)), (vec![], vec![]));
        let places = [at, twice];
        assert!(!places.contains(&mapped.place(&held(&first, &other), LEN).expect("a mapping")), "it came from another");
        assert!(!places.contains(&mapped.place(&held(&first, &peer), LEN / 2).expect("a mapping")), "it is another part");
        assert!(!places.contains(&mapped.place(&file(&peer), LEN).expect("a mapping")), "it is another file");
        let again: Vec<usize> = (0..3).map(|_| mapped.place(&held(&first, &peer), LEN).expect("a mapping")).collect();
        assert!(again[..2] == places && !places.contains(&again[2]), "{again:?}, {places:?}");
        // Without a peer there is nothing to go by.
        let own = objects::copied(vec![1u8; LEN].as_ptr().addr(), LEN).expect("a file");
        let at = mapped.place(&own, LEN).expect("a mapping");
        assert_eq!(mapped.give_back(at, LEN, true), [(at, LEN)]);
    }

    #[test]
    fn what_was_written_to_is_not_kept() {
        let ([peer, _], mut mapped) = (accounts(), Mapped::default());
        let file = file(&peer);
        let place = |mapped: &mut Mapped| mapped.place(&held(&file, &peer), LEN).expect("a mapping");
        let at = place(&mut mapped);
        assert_eq!(mapped.give_back(at, LEN, false), [(at, LEN)]);
        // Other memory is there meanwhile, or its program has told nothing.
        let at = place(&mut mapped);
        mapped.forget(at);
        assert_eq!(mapped.give_back(at, LEN, true), [(at, LEN)]);
        let at = place(&mut mapped);
        assert_eq!(mapped.give_back(at, LEN / 2, true), [(at, LEN / 2)]);
        assert_eq!(mapped.give_back(0x1000, LEN, true), [(0x1000, LEN)], "what was never a file's");
    }

    /// Whether a memory file is mapped, by its number: what is at its address may be another test's.
    fn is_mapped(file: u64) -> bool {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
        let number = file.to_string();
        maps.lines().any(|map| map.contains("memfd:slipway-memory") && map.split_whitespace().nth(4) == Some(&number))
    }

    #[test]
    fn little_stays_mapped_and_nothing_of_a_peer_that_is_gone() {
        let ([peer, other], mut mapped) = (accounts(), Mapped::default());
        let fits = IDLE_BYTES / LEN;
        let places: Vec<usize> = (0..fits + 2).map(|_| mapped.place(&file(&peer), LEN).expect("a mapping")).collect();
        let unmapped: Vec<_> = places.iter().flat_map(|at| mapped.give_back(*at, LEN, true)).collect();
        assert_eq!(unmapped, [(places[0], LEN), (places[1], LEN)], "those that lay there for the longest time");
        let last = mapped.place(&file(&other), LEN).expect("a mapping");
        assert_eq!(mapped.give_back(last, LEN, true).len(), 1);
        let mut files: Vec<u64> = mapped.idle.iter().map(|idle| idle.file.1).collect();
        mapped.forget_gone();
        assert!(files.len() == fits && files.iter().all(|file| is_mapped(*file)));
        drop(peer);
        mapped.forget_gone();
        let last = files.pop().expect("the other's");
        assert!(!files.iter().any(|file| is_mapped(*file)) && is_mapped(last));
        assert_eq!(mapped.idle.len(), 1);
        // Of more than are noted the first are not known.
        let [peer, _] = accounts();
        let places: Vec<usize> = (0..=FILES).map(|_| mapped.place(&file(&peer), LEN).expect("a mapping")).collect();
        assert_eq!(mapped.give_back(places[0], LEN, true), [(places[0], LEN)]);
        assert_eq!(mapped.give_back(places[1], LEN, true), []);
    }
}
