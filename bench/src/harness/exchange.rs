//! One round trip, whatever carries it, and how long it takes.

use super::link::Link;
use anyhow::Context;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// The two halves of a round trip. Each process has one, made for its side of the same job.
///
/// What is provided is compiled for each implementation, so that nothing but the round trip is in its loop.
pub trait Exchange {
    /// The client's half: sends, and waits for the answer. An answer that is not the one that was due is an error.
    fn round_trip(&mut self) -> anyhow::Result<()>;

    /// The server's half. By default nothing: a thread of its own answers, or nobody needs to.
    fn answer(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    /// Looks, after the client's last round trip, whether they went the way that is measured.
    fn check(&self) -> anyhow::Result<()> {
        Ok(())
    }

    fn repeat(&mut self, count: u64) -> anyhow::Result<()> {
        (0..count).try_for_each(|_| self.round_trip())
    }

    fn serve(&mut self, count: u64) -> anyhow::Result<()> {
        (0..count).try_for_each(|_| self.answer())
    }

    /// Does as many round trips as `histogram` is to have, and records the nanoseconds of each.
    fn one_by_one(&mut self, count: u64, histogram: &mut Histogram<u64>) -> anyhow::Result<()> {
        for _ in 0..count {
            let start = Instant::now();
            self.round_trip()?;
            histogram.saturating_record(start.elapsed().as_nanos() as u64);
        }
        Ok(())
    }
}

/// What has no state to look at, and no server's half.
impl<F: FnMut() -> anyhow::Result<()>> Exchange for F {
    fn round_trip(&mut self) -> anyhow::Result<()> {
        self()
    }
}

/// The end of a process that makes no round trips, nor answers any: it lends its CPU to one of its threads, or to the other process.
pub fn idle() -> anyhow::Result<Box<dyn Exchange>> {
    Ok(Box::new(|| Ok(())))
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
pub fn time(exchange: &mut dyn Exchange, link: &mut Link, seconds: f64) -> anyhow::Result<Timing> {
    let mut count = 10;
    let mut took = run(exchange, link, count)?;
    while took < seconds / 10.0 {
        let growth = (seconds / 5.0 / took).clamp(2.0, 50.0);
        count = (count as f64 * growth) as u64;
        took = run(exchange, link, count)?;
    }
    let count = (seconds / took * count as f64).clamp(20.0, MOST) as u64;
    let took = run(exchange, link, count)?;
    let mut histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3).context("histogram")?;
    let timed = count.min(MOST_TIMED);
    warm_up(exchange, link, timed)?;
    exchange.one_by_one(timed, &mut histogram)?;
    let quantile = |share| histogram.value_at_quantile(share) as f64 / 1e3;
    Ok(Timing { mean_us: took * 1e6 / count as f64, p50_us: quantile(0.5), p99_us: quantile(0.99) })
}

/// Brings both ends up to speed before a run of `count`, which the server is told of.
fn warm_up(exchange: &mut dyn Exchange, link: &mut Link, count: u64) -> anyhow::Result<()> {
    let before = (count / 20).clamp(2, 1000);
    link.announce(before + count)?;
    exchange.repeat(before)
}

fn run(exchange: &mut dyn Exchange, link: &mut Link, count: u64) -> anyhow::Result<f64> {
    warm_up(exchange, link, count)?;
    let start = Instant::now();
    exchange.repeat(count)?;
    Ok(start.elapsed().as_secs_f64())
}
