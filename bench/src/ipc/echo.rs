//! Bytes that go there and come back as they are, and rights that are given there and back.

use crate::harness::exchange::Exchange;
use crate::harness::job::Job;
use crate::harness::link::Link;
use anyhow::ensure;

/// What moves bytes from one process to the other and keeps the messages apart.
pub trait Carrier: Sized {
    /// Makes this side ready.
    fn new(link: &mut Link, job: &Job) -> anyhow::Result<Self>;

    fn send(&mut self, message: &[u8]) -> anyhow::Result<()>;

    /// Waits for one message of just the length of `into`.
    fn receive(&mut self, into: &mut [u8]) -> anyhow::Result<()>;
}

/// Messages of the test's length, each answered by the same bytes.
struct Echo<C> {
    carrier: C,
    sent: Message,
    got: Vec<u8>,
}

/// One end of such a carrier.
pub fn echo<C: Carrier + 'static>(link: &mut Link, job: &Job) -> anyhow::Result<Box<dyn Exchange>> {
    let sent = Message::new(job.case.test.bytes.0);
    let got = vec![0; sent.bytes.len()];
    Ok(Box::new(Echo { carrier: C::new(link, job)?, sent, got }))
}

impl<C: Carrier> Exchange for Echo<C> {
    fn round_trip(&mut self) -> anyhow::Result<()> {
        self.carrier.send(self.sent.next())?;
        self.carrier.receive(&mut self.got)?;
        self.sent.check(&self.got)
    }

    fn answer(&mut self) -> anyhow::Result<()> {
        self.carrier.receive(&mut self.got)?;
        self.carrier.send(&self.got)
    }
}

/// What moves rights from one process to the other.
pub trait Rights: Sized {
    type Right;
    /// What its owner keeps.
    type Kept;

    /// Most of them in one message.
    const MOST: usize;

    /// Makes this side ready.
    fn new(link: &mut Link, job: &Job) -> anyhow::Result<Self>;

    fn make() -> anyhow::Result<(Self::Right, Self::Kept)>;

    fn send(&mut self, rights: &[Self::Right]) -> anyhow::Result<()>;

    /// Waits for one message and drops the rights in it: how many there were.
    fn receive(&mut self) -> anyhow::Result<usize>;
}

/// Gives rights of its own and drops those that it gets. More of them than one message takes go in several.
struct PassedRights<C: Rights> {
    carrier: C,
    rights: Vec<C::Right>,
    _kept: Vec<C::Kept>,
}

/// One end of such a carrier.
pub fn passed_rights<C: Rights + 'static>(link: &mut Link, job: &Job) -> anyhow::Result<Box<dyn Exchange>> {
    let made = (0..job.case.test.ports).map(|_| C::make()).collect::<anyhow::Result<Vec<_>>>()?;
    let (rights, kept) = made.into_iter().unzip();
    Ok(Box::new(PassedRights { carrier: C::new(link, job)?, rights, _kept: kept }))
}

impl<C: Rights> PassedRights<C> {
    fn give(&mut self) -> anyhow::Result<()> {
        self.rights.chunks(C::MOST).try_for_each(|piece| self.carrier.send(piece))
    }

    fn take(&mut self) -> anyhow::Result<()> {
        let mut taken = 0;
        while taken < self.rights.len() {
            taken += self.carrier.receive()?;
        }
        ensure!(taken == self.rights.len(), "{taken} rights where {} were due", self.rights.len());
        Ok(())
    }
}

impl<C: Rights> Exchange for PassedRights<C> {
    fn round_trip(&mut self) -> anyhow::Result<()> {
        self.give()?;
        self.take()
    }

    fn answer(&mut self) -> anyhow::Result<()> {
        self.take()?;
        self.give()
    }
}

/// A message that differs from the one before, at both of its ends, so that a late or a partial answer
/// is not taken for the right one.
pub struct Message {
    bytes: Vec<u8>,
    turn: u32,
}

impl Message {
    /// A message of `length` bytes, at least 8.
    pub fn new(length: usize) -> Self {
        Self { bytes: (0..length).map(|at| at as u8).collect(), turn: 0 }
    }

    /// The next one to send.
    pub fn next(&mut self) -> &[u8] {
        self.turn = self.turn.wrapping_add(1);
        let mark = self.turn.to_le_bytes();
        let end = self.bytes.len() - mark.len();
        self.bytes[..mark.len()].copy_from_slice(&mark);
        self.bytes[end..].copy_from_slice(&mark);
        &self.bytes
    }

    /// Whether `answer` is the one to the message that was sent last.
    pub fn check(&self, answer: &[u8]) -> anyhow::Result<()> {
        let mark = self.turn.to_le_bytes();
        let right = answer.len() == self.bytes.len() && answer.starts_with(&mark) && answer.ends_with(&mark);
        ensure!(right, "the answer is not that to the request");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_to_the_last_request_passes() {
        let mut message = Message::new(40);
        let first = message.next().to_vec();
        message.check(&first).unwrap();
        let second = message.next().to_vec();
        assert!(message.check(&first).is_err());
        assert!(message.check(&second[..32]).is_err());
        let mut torn = second.clone();
        torn[36..].copy_from_slice(&first[36..]);
        assert!(message.check(&torn).is_err());
        message.check(&second).unwrap();
    }
}
