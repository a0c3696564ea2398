//! Send rights to third parties' ports that go over a line again and again: their ends go with the second, and the reader remembers them.
//!
//! The writer says which, by an index in a table of the reader's, and when the table is to forget one: at the latest when it has no right to the
//! port itself. Until then the pipe in the table counts the reader as a holder, beside the writer, so no port hears late that it
//! has no senders.

use crate::{
    objects,
    wire::{Record, kind},
};
use slipway_fabric::{Corrupt, descriptor::Reserved};
use smallvec::SmallVec;
use std::sync::Arc;

/// How many rights each end of a line remembers for the other.
pub const REMEMBERED: usize = 8;

/// What a send right to a third party's port is, outside of all lines.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The port's sending end.
    pub s: Arc<Reserved>,
    /// The write end of a pipe that counts holders.
    pub t: Arc<Reserved>,
    /// The identity of `s`, once it was asked.
    pub identity: Option<u64>,
}

impl Pair {
    /// Of descriptors that came.
    pub fn new(s: Reserved, t: Reserved) -> Self {
        Self { s: Arc::new(s), t: Arc::new(t), identity: None }
    }

    /// The same, with the identity; None if that can't be had.
    pub fn identified(self) -> Option<Self> {
        let identity = objects::identity(&*self.s).ok()?;
        Some(Self { identity: Some(identity), ..self })
    }
}

/// What a reader has at an index.
#[derive(Debug, Default)]
enum Entry {
    /// Nothing: no correct writer names it.
    #[default]
    Empty,
    /// A right that did not arrive.
    Lost,
    /// A right.
    Kept(Pair),
}

/// What the ends of a line know about rights that the reader remembers.
#[derive(Debug, Default)]
pub struct Remembered {
    /// What the other end was told to remember: the ports' identities, by index; 0 for nothing.
    told: [u64; REMEMBERED],
    /// Ports whose rights went over the line once, lately.
    once: [u64; REMEMBERED],
    /// The index after the last that was given out.
    next: usize,
    /// As `next`, of `once`.
    next_once: usize,
    /// What this end remembers for the other.
    kept: [Entry; REMEMBERED],
}

/// How the rights of a message go.
#[derive(Debug, PartialEq, Eq)]
pub enum Passing {
    /// Their ends go with them.
    Anew,
    /// Their ends go with them, and are remembered at these indices.
    Remember(Vec<u64>),
    /// Their ends are remembered at these indices.
    Remembered(Vec<u64>),
}

impl Remembered {
    fn told(&self, identity: u64) -> Option<u64> {
        self.told.iter().position(|told| *told == identity && identity != 0).map(|at| at as u64)
    }

    /// How rights to ports with these identities, all different and none 0, go over the line now. The caller sends them so.
    pub fn pass(&mut self, identities: &[u64]) -> Passing {
        if let Some(indices) = identities.iter().map(|identity| self.told(*identity)).collect() {
            return Passing::Remembered(indices);
        }
        let went = |it: &Self, identity: &u64| it.once.contains(identity) || it.told.contains(identity);
        if identities.len() <= REMEMBERED && identities.iter().all(|identity| went(self, identity)) {
            return Passing::Remember(identities.iter().map(|identity| self.index(*identity, identities)).collect());
        }
        let new: SmallVec<[u64; REMEMBERED]> = identities.iter().copied().filter(|identity| !went(self, identity)).collect();
        for identity in new.into_iter().take(REMEMBERED) {
            self.once[self.next_once] = identity;
            self.next_once = (self.next_once + 1) % REMEMBERED;
        }
        Passing::Anew
    }

    /// The index of a port: its own, or one of another that does not go with the same message.
    fn index(&mut self, identity: u64, with: &[u64]) -> u64 {
        self.told(identity).unwrap_or_else(|| {
            while with.contains(&self.told[self.next]) {
                self.next = (self.next + 1) % REMEMBERED;
            }
            let index = self.next;
            self.next = (self.next + 1) % REMEMBERED;
            self.told[index] = identity;
            index as u64
        })
    }

    /// The other end is to forget a port, if it was told to remember it: the index.
    pub fn untell(&mut self, identity: u64) -> Option<u32> {
        let index = self.told(identity)?;
        self.told[index as usize] = 0;
        Some(index as u32)
    }

    /// The other end has nothing at the index: what it was told to remember there did not arrive. False if it was told nothing.
    pub fn is_lost(&mut self, index: u32) -> bool {
        self.told.get_mut(index as usize).is_some_and(|told| std::mem::take(told) != 0)
    }

    /// Remembers a right for the other end; None if it did not arrive.
    ///
    /// # Errors
    /// There is no such index.
    pub fn keep(&mut self, index: u64, pair: Option<Pair>) -> Result<(), Corrupt> {
        *self.entry(index)? = pair.map_or(Entry::Lost, Entry::Kept);
        Ok(())
    }

    /// What is remembered for the other end at an index; None if it did not arrive.
    ///
    /// # Errors
    /// Nothing was to be remembered there.
    pub fn recall(&mut self, index: u64) -> Result<Option<Pair>, Corrupt> {
        match self.entry(index)? {
            Entry::Empty => Err(Corrupt { what: "index of a right" }),
            Entry::Lost => Ok(None),
            Entry::Kept(pair) => Ok(Some(pair.clone())),
        }
    }

    /// Forgets what was to be remembered for the other end.
    ///
    /// # Errors
    /// There is no such index.
    pub fn forget(&mut self, index: u32) -> Result<(), Corrupt> {
        self.entry(index.into()).map(|entry| *entry = Entry::Empty)
    }

    fn entry(&mut self, index: u64) -> Result<&mut Entry, Corrupt> {
        let index = usize::try_from(index).ok();
        index.and_then(|index| self.kept.get_mut(index)).ok_or(Corrupt { what: "index of a right" })
    }
}

/// The record that says what is to be forgotten.
pub fn forget(index: u32) -> Record {
    Record { kind: kind::FORGET, target: index, ..Record::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_is_remembered_from_the_second_time_on() {
        let mut table = Remembered::default();
        assert_eq!(table.pass(&[7]), Passing::Anew);
        assert_eq!(table.pass(&[7]), Passing::Remember(vec![0]));
        assert_eq!(table.pass(&[7]), Passing::Remembered(vec![0]));
        assert_eq!((table.untell(7), table.untell(7)), (Some(0), None));
        assert_eq!(table.pass(&[7, 8]), Passing::Anew);
        assert_eq!(table.pass(&[7, 8]), Passing::Remember(vec![1, 2]));
        assert_eq!(table.pass(&[8]), Passing::Remembered(vec![2]));
        assert!(table.is_lost(1) && !table.is_lost(1) && !table.is_lost(0) && !table.is_lost(8));
        assert_eq!(table.pass(&[8, 7]), Passing::Remember(vec![2, 3]));
    }

    #[test]
    fn rights_of_one_message_have_indices_of_their_own() {
        let mut table = Remembered::default();
        let all: Vec<u64> = (1..=REMEMBERED as u64).collect();
        for passing in [Passing::Anew, Passing::Remember((0..REMEMBERED as u64).collect())] {
            assert_eq!(table.pass(&all), passing);
        }
        assert_eq!((table.pass(&[99]), table.pass(&[99])), (Passing::Anew, Passing::Remember(vec![0])));
        // The first has lost its index to that one, and gets another.
        let Passing::Remember(indices) = ({
            table.pass(&all);
            table.pass(&all)
        }) else {
            panic!("they have all gone before")
        };
        assert!((0..REMEMBERED as u64).all(|index| indices.contains(&index)), "{indices:?}");
        assert_eq!(table.pass(&[&all[..], &[99]].concat()), Passing::Anew);
    }
}
