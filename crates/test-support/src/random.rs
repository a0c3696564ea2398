//! Random numbers that a seed repeats.

use std::time::Duration;

/// A small generator of random numbers whose whole state is the seed that a failure prints.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        dice.any();
        dice
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number less than `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.any() >> 33) as usize % n
    }

    /// One of some.
    pub fn of<T: Copy>(&mut self, some: &[T]) -> T {
        some[self.below(some.len())]
    }

    /// So many bytes.
    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.any() as u8).collect()
    }
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is not a number: {value}")))
}

/// The seed that `SLIPWAY_FUZZ_SEED` asks for, or one of this process's own; and whether it was asked for.
///
/// # Panics
/// If the variable is not a number.
pub fn seed() -> (u64, bool) {
    let given = from_environment("SLIPWAY_FUZZ_SEED");
    (given.unwrap_or_else(|| u64::from(std::process::id()) << 20), given.is_some())
}

/// How long an open-ended random test goes on: `SLIPWAY_FUZZ_SECONDS`, or two.
///
/// # Panics
/// If the variable is not a number.
pub fn fuzz_time() -> Duration {
    Duration::from_secs(from_environment("SLIPWAY_FUZZ_SECONDS").unwrap_or(2))
}

/// Says its seed if the test fails.
#[derive(Debug)]
pub struct NamedSeed(pub u64);

impl Drop for NamedSeed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("repeat this with SLIPWAY_FUZZ_SEED={}", self.0);
        }
    }
}
