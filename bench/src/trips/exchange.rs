//! One round trip, whatever carries it, and how long it takes.

use super::job::Job;
use super::link::Link;
use anyhow::Context;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The two halves of a round trip of a case. Each process has one, made for its side of the same job.
pub trait Exchange: Sized {
    /// What the bench measures.
    type Case;

    /// Makes this side ready; the other does the same at the other end of `link`.
    ///
    /// # Errors
    /// When something that the way needs can't be had.
    fn prepare(link: &mut Link, job: &Job<Self::Case>) -> anyhow::Result<Self>;

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

    /// Looks, after the client's last round trip, whether they went the way that is measured.
    ///
    /// # Errors
    /// When some did not.
    fn check(&self) -> anyhow::Result<()> {
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
