//! Send rights to third parties' ports that go over a line again and again: their ends go with the second, and the reader may remember them.
//!
//! The writer says which, by an index in a table of the reader's, and the reader answers whether it has them there. The writer also says
//! when the table is to forget one: at the latest when it has no right to the
//! port itself. Until then the pipe in the table counts the reader as a holder, beside the writer, so no port hears late that it
//! has no senders.

use crate::{
    objects,
    wire::{BUNDLE, Record, flag, kind},
};
use slipway_fabric::{Corrupt, descriptor::Reserved};
use std::sync::Arc;

/// How many rights each end of a line remembers for the other at most.
pub const REMEMBERED: usize = BUNDLE;

/// Stands for no index: the right went over the line, and is not remembered.
pub const WENT: u32 = !0;

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

/// What the writer knows of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It may be given out.
    Free,
    /// The reader has yet to answer.
    Asked,
    /// The reader remembers the right there.
    Told,
    /// The reader did not: it is not asked again. Either what it may hold is used up, or it could do nothing with the right.
    Refused,
}

/// An index, at the writer.
#[derive(Debug)]
struct Index {
    state: State,
    /// The port's identity; 0 for nothing, also where the reader was told to forget it before it answered.
    identity: u64,
    /// The last message to be remembered with it.
    message: u64,
}

/// What the ends of a line know about rights that the reader remembers.
#[derive(Debug, Default)]
pub struct Remembered {
    /// What the other end was asked to remember.
    told: Vec<Index>,
    /// Those of `told` that are free.
    free: Vec<u32>,
    /// How many of `told` are asked or refused.
    unusable: usize,
    /// The index after the last that was taken from another right.
    next: usize,
    /// Counts the messages to be remembered.
    messages: u64,
    /// What this end remembers for the other.
    kept: Vec<Option<Pair>>,
}

/// A right that goes over the line.
#[derive(Debug, Clone, Copy)]
pub struct Passed {
    /// The port's identity, which is not 0.
    pub identity: u64,
    /// Where it was to be remembered when it went before, or [`WENT`]; None if it did not go before.
    pub index: Option<u32>,
}

/// How the rights of a message go.
#[derive(Debug, PartialEq, Eq)]
pub enum Passing {
    /// Their ends go with them.
    Anew,
    /// Their ends go with them, and are to be remembered at their indices.
    Remember,
    /// They are remembered at their indices.
    Remembered,
}

impl Remembered {
    fn index(&mut self, right: &Passed) -> Option<&mut Index> {
        self.told.get_mut(right.index? as usize).filter(|index| index.identity == right.identity && right.identity != 0)
    }

    /// How rights to different ports go over the line now. The caller sends them so, and notes the indices.
    pub fn pass(&mut self, rights: &mut [Passed]) -> Passing {
        if rights.iter().all(|right| self.index(right).is_some_and(|index| index.state == State::Told)) {
            return Passing::Remembered;
        }
        let asked = |it: &mut Self, right: &Passed| it.index(right).is_some_and(|index| index.state != State::Told);
        if rights.len() + self.unusable > REMEMBERED || rights.iter().any(|right| right.index.is_none() || asked(self, right)) {
            rights.iter_mut().for_each(|right| right.index = right.index.or(Some(WENT)));
            return Passing::Anew;
        }
        self.messages += 1;
        let message = self.messages;
        for right in rights.iter() {
            self.index(right).into_iter().for_each(|index| index.message = message);
        }
        for right in rights.iter_mut() {
            let at = right.index.filter(|_| self.index(right).is_some()).unwrap_or_else(|| self.give_out());
            self.told[at as usize] = Index { state: State::Asked, identity: right.identity, message };
            right.index = Some(at);
        }
        self.unusable += rights.len();
        Passing::Remember
    }

    /// An index that is free, or that of another right, which does not go with the same message. There is one.
    fn give_out(&mut self) -> u32 {
        if let Some(free) = self.free.pop() {
            return free;
        }
        if self.told.len() < REMEMBERED {
            self.told.push(Index { state: State::Free, identity: 0, message: 0 });
            return self.told.len() as u32 - 1;
        }
        loop {
            let at = self.next;
            self.next = (at + 1) % REMEMBERED;
            if self.told[at].state == State::Told && self.told[at].message != self.messages {
                return at as u32;
            }
        }
    }

    /// The other end is to forget a right, if it was asked to remember it there: the record that says so.
    pub fn untell(&mut self, identity: u64, index: u32) -> Option<Record> {
        let it = self.index(&Passed { identity, index: Some(index) })?;
        if it.state == State::Refused {
            return None;
        }
        it.identity = 0;
        if it.state == State::Told {
            it.state = State::Free;
            self.free.push(index);
        }
        Some(Record { kind: kind::FORGET, target: index, ..Record::default() })
    }

    /// The other end remembers what it was asked to, or does not.
    ///
    /// # Errors
    /// It was not asked.
    pub fn answered(&mut self, index: u32, remembers: bool) -> Result<(), Corrupt> {
        let it = self.told.get_mut(index as usize).filter(|it| it.state == State::Asked);
        let it = it.ok_or(Corrupt { what: "index of a right" })?;
        if !remembers {
            it.state = State::Refused;
            return Ok(());
        }
        self.unusable -= 1;
        it.state = State::Told;
        if it.identity == 0 {
            it.state = State::Free;
            self.free.push(index);
        }
        Ok(())
    }

    /// Remembers a right for the other end, in place of what was there, or does not: the record that says which.
    ///
    /// # Errors
    /// There is no such index.
    pub fn keep(&mut self, index: u64, pair: Option<Pair>) -> Result<Record, Corrupt> {
        let target = u32::try_from(index).ok().filter(|index| (*index as usize) < REMEMBERED);
        let target = target.ok_or(Corrupt { what: "index of a right" })?;
        if self.kept.len() <= target as usize {
            self.kept.resize_with(target as usize + 1, || None);
        }
        let flags = if pair.is_some() { 0 } else { flag::LOST };
        self.kept[target as usize] = pair;
        Ok(Record { kind: kind::REMEMBERS, target, flags, ..Record::default() })
    }

    /// What is remembered for the other end at an index.
    ///
    /// # Errors
    /// Nothing is.
    pub fn recall(&self, index: u64) -> Result<Pair, Corrupt> {
        let pair = usize::try_from(index).ok().and_then(|index| self.kept.get(index)?.clone());
        pair.ok_or(Corrupt { what: "index of a right" })
    }

    /// Forgets what was to be remembered for the other end.
    ///
    /// # Errors
    /// Nothing was.
    pub fn forget(&mut self, index: u32) -> Result<(), Corrupt> {
        self.kept.get_mut(index as usize).map(|pair| *pair = None).ok_or(Corrupt { what: "index of a right" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rights to the ports of these identities, which went before as the table `of` says.
    fn rights(of: &[(u64, u32)]) -> Vec<Passed> {
        of.iter().map(|(identity, index)| Passed { identity: *identity, index: Some(*index) }).collect()
    }

    fn pass(table: &mut Remembered, rights: &mut [Passed], how: Passing) -> Vec<u32> {
        assert_eq!(table.pass(rights), how);
        rights.iter().filter_map(|right| right.index).collect()
    }

    fn answer(table: &mut Remembered, indices: &[u32], remembers: bool) {
        indices.iter().for_each(|index| table.answered(*index, remembers).expect("it was asked"));
    }

    #[test]
    fn a_right_is_remembered_from_the_second_time_on() {
        let mut table = Remembered::default();
        let mut it = [Passed { identity: 7, index: None }];
        assert_eq!(pass(&mut table, &mut it, Passing::Anew), [WENT]);
        assert_eq!(pass(&mut table, &mut it, Passing::Remember), [0]);
        assert_eq!(pass(&mut table, &mut it, Passing::Anew), [0]);
        answer(&mut table, &[0], true);
        assert_eq!(pass(&mut table, &mut it, Passing::Remembered), [0]);
        assert!(table.untell(7, 0).is_some() && table.untell(7, 0).is_none());
        assert_eq!(pass(&mut table, &mut rights(&[(8, WENT), (9, WENT)]), Passing::Remember), [0, 1]);
        assert!(table.answered(2, true).is_err());
    }

    /// An index is another right's only once the first has been answered for.
    #[test]
    fn what_is_forgotten_before_it_is_remembered_is_free_after_the_answer() {
        let mut table = Remembered::default();
        pass(&mut table, &mut rights(&[(7, WENT)]), Passing::Remember);
        assert!(table.untell(7, 0).is_some());
        assert_eq!(pass(&mut table, &mut rights(&[(8, WENT)]), Passing::Remember), [1]);
        answer(&mut table, &[0], true);
        assert_eq!(pass(&mut table, &mut rights(&[(9, WENT)]), Passing::Remember), [0]);
    }

    #[test]
    fn what_was_refused_is_not_asked_again() {
        let mut table = Remembered::default();
        let mut many: Vec<Passed> = rights(&[WENT; 300].map(|went| (1, went)));
        many.iter_mut().zip(1..).for_each(|(right, identity)| right.identity = identity);
        let indices = pass(&mut table, &mut many, Passing::Remember);
        answer(&mut table, &indices, false);
        pass(&mut table, &mut many, Passing::Anew);
        assert!(table.untell(1, 0).is_none() && table.answered(0, true).is_err());
        let fewer = pass(&mut table, &mut many.split_off(88), Passing::Anew);
        assert_eq!(fewer.len(), 212);
        let mut others: Vec<Passed> = (1000..1212).map(|identity| Passed { identity, index: Some(WENT) }).collect();
        pass(&mut table, &mut others, Passing::Remember);
        pass(&mut table, &mut rights(&[(2000, WENT)]), Passing::Anew);
    }

    #[test]
    fn rights_of_one_message_have_indices_of_their_own() {
        let mut table = Remembered::default();
        let mut all: Vec<Passed> = (1..=REMEMBERED as u64).map(|identity| Passed { identity, index: Some(WENT) }).collect();
        let indices = pass(&mut table, &mut all, Passing::Remember);
        assert!(indices.iter().copied().eq(0..REMEMBERED as u32));
        pass(&mut table, &mut rights(&[(5000, WENT)]), Passing::Anew);
        answer(&mut table, &indices, true);
        assert_eq!(pass(&mut table, &mut rights(&[(5000, WENT)]), Passing::Remember), [0]);
        answer(&mut table, &[0], true);
        // The first has lost its index to that one, and gets another.
        let mut again = pass(&mut table, &mut all, Passing::Remember);
        again.sort_unstable();
        assert_eq!(again, indices);
    }

    #[test]
    fn an_end_forgets_what_it_was_to_remember_and_nothing_else() {
        let mut table = Remembered::default();
        assert!(table.forget(0).is_err() && table.recall(0).is_err() && table.keep(REMEMBERED as u64, None).is_err());
        assert_eq!(table.keep(3, None).map(|record| record.flags), Ok(flag::LOST));
        assert!(table.forget(3).is_ok() && table.recall(3).is_err() && table.keep(u64::MAX, None).is_err());
    }
}
