//! One round trip, whatever carries it, and how long it takes.

use super::link::Link;
use super::peer::Job;
use anyhow::{Context, ensure};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The two halves of a round trip. Each process has one, made for its side of the same job.
pub trait Exchange: Sized {
    /// Makes this side ready; the other does the same at the other end of `link`.
    ///
    /// # Errors
    /// When something that the way needs can't be had.
    fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Self>;

    /// The client's half: sends, and waits for the answer.
    ///
    /// # Errors
    /// When it can't, or when the answer is not the one that was due.
    fn round_trip(&mut self) -> anyhow::Result<()>;

    /// The server's half: waits for a request, and answers it.
    ///
    /// # Errors
    /// When it can't.
    fn serve(&mut self) -> anyhow::Result<()>;

    /// The server's half of `count` round trips, for what answers one and waits for the next with one call.
    ///
    /// # Errors
    /// As [`Exchange::serve`].
    fn serve_all(&mut self, count: u64) -> anyhow::Result<()> {
        (0..count).try_for_each(|_| self.serve())
    }
}

/// What moves bytes from one process to the other and keeps the messages apart.
pub trait Carrier: Sized {
    /// As [`Exchange::prepare`].
    ///
    /// # Errors
    /// As there.
    fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Self>;

    /// Sends one message.
    ///
    /// # Errors
    /// When the other end is gone.
    fn send(&mut self, message: &[u8]) -> anyhow::Result<()>;

    /// Waits for one message of just the length of `into`.
    ///
    /// # Errors
    /// When the other end is gone, or the message has another length.
    fn receive(&mut self, into: &mut [u8]) -> anyhow::Result<()>;
}

/// Messages of the test's length, each answered by the same bytes.
pub struct Echo<C> {
    carrier: C,
    sent: Message,
    got: Vec<u8>,
}

impl<C: Carrier> Exchange for Echo<C> {
    fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        let sent = Message::new(job.case.test.bytes());
        let got = vec![0; sent.bytes.len()];
        Ok(Self { carrier: C::prepare(link, job)?, sent, got })
    }

    fn round_trip(&mut self) -> anyhow::Result<()> {
        self.carrier.send(self.sent.next())?;
        self.carrier.receive(&mut self.got)?;
        self.sent.check(&self.got)
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        self.carrier.receive(&mut self.got)?;
        self.carrier.send(&self.got)
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
    ///
    /// # Errors
    /// When it is not.
    pub fn check(&self, answer: &[u8]) -> anyhow::Result<()> {
        let mark = self.turn.to_le_bytes();
        let right = answer.len() == self.bytes.len() && answer.starts_with(&mark) && answer.ends_with(&mark);
        ensure!(right, "the answer is not that to the request");
        Ok(())
    }
}

/// How long round trips take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The mean of a run in which nothing but its start and end was timed, microseconds.
    pub mean_us: f64,
    /// The median of round trips timed one by one, microseconds; two readings of the clock included.
    pub p50_us: f64,
    /// The 99th percentile, likewise.
    pub p99_us: f64,
}

/// Most round trips in a run: enough for any percentile, and short of a wrapped counter.
const MOST: f64 = 50e6;

/// Most round trips that are timed one by one.
const MOST_TIMED: u64 = 1_000_000;

/// Longest single round trip that is told from longer ones, nanoseconds.
const LONGEST_NS: u64 = 10_000_000_000;

/// Times round trips, in runs of about `seconds`.
///
/// # Errors
/// What a round trip says.
pub fn time(exchange: &mut impl Exchange, link: &mut Link, seconds: f64) -> anyhow::Result<Timing> {
    let mut count = 10;
    let mut took = run(exchange, link, count)?;
    while took.as_secs_f64() < seconds / 10.0 {
        let growth = (seconds / 5.0 / took.as_secs_f64()).clamp(2.0, 50.0);
        count = (count as f64 * growth) as u64;
        took = run(exchange, link, count)?;
    }
    let wanted = seconds / took.as_secs_f64() * count as f64;
    let count = wanted.clamp(20.0, MOST) as u64;
    let took = run(exchange, link, count)?;
    let histogram = one_by_one(exchange, link, count.min(MOST_TIMED))?;
    let quantile = |share| histogram.value_at_quantile(share) as f64 / 1e3;
    Ok(Timing { mean_us: took.as_secs_f64() * 1e6 / count as f64, p50_us: quantile(0.5), p99_us: quantile(0.99) })
}

/// Round trips that bring both ends up to speed before a run of `count` is timed.
fn warm_up(count: u64) -> u64 {
    (count / 20).clamp(2, 1000)
}

fn run(exchange: &mut impl Exchange, link: &mut Link, count: u64) -> anyhow::Result<Duration> {
    let before = warm_up(count);
    link.announce(before + count)?;
    repeat(exchange, before)?;
    let start = Instant::now();
    repeat(exchange, count)?;
    Ok(start.elapsed())
}

/// Does `count` round trips.
///
/// # Errors
/// What a round trip says.
pub fn repeat(exchange: &mut impl Exchange, count: u64) -> anyhow::Result<()> {
    for _ in 0..count {
        exchange.round_trip()?;
    }
    Ok(())
}

fn one_by_one(exchange: &mut impl Exchange, link: &mut Link, count: u64) -> anyhow::Result<Histogram<u64>> {
    let mut histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3).context("histogram")?;
    let before = warm_up(count);
    link.announce(before + count)?;
    repeat(exchange, before)?;
    for _ in 0..count {
        let start = Instant::now();
        exchange.round_trip()?;
        histogram.saturating_record(start.elapsed().as_nanos() as u64);
    }
    Ok(histogram)
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
