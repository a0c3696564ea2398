//! The stream against a model: the same random operations on a hooked connection and on a plain
//! socketpair give the same results. PROPTEST_CASES says how many connections live. The seed is fixed, so
//! that a check of one change doesn't fail for another's sake; PROPTEST_RNG_SEED sets another for a hunt.
//! What failed before is kept in `regressions.txt`.
//!
//! Amounts stay below what either buffer holds: [`crate::capacity`] has the rest.

mod operation;
mod run;
mod world;

use proptest::test_runner::{Config, FileFailurePersistence, RngSeed, TestRunner};

use crate::support::{Server, begins_on_ring, calls::hold_sigpipe, hooked, hooked_with};

const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hooks/property/regressions.txt");

/// What the lives are drawn from.
const SEED: u64 = 2000;

/// Runs so many lives, if PROPTEST_CASES doesn't say otherwise, on a server's connections.
fn lives(cases: u32) {
    hold_sigpipe();
    let server = Server::listen();
    if begins_on_ring() {
        run::assert_on_ring(&server);
    }
    let config = Config {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        max_shrink_iters: 20_000,
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(cases),
        rng_seed: RngSeed::Fixed(std::env::var("PROPTEST_RNG_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(SEED)),
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let result = runner.run(&operation::life(), |life| run::live(&server, &life));
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn a_connection_is_as_a_socketpair() {
    hooked(|| lives(1500));
}

#[test]
fn so_it_is_without_spinning() {
    hooked_with(&[("SLIPWAY_X11_STAGE", "2b")], || lives(300));
}

#[test]
fn so_it_is_with_a_bell_for_every_write() {
    hooked_with(&[("SLIPWAY_X11_STAGE", "1")], || lives(300));
}

#[test]
fn so_it_is_when_the_ring_comes_late() {
    hooked_with(&[("SLIPWAY_X11_AFTER", "5")], || lives(600));
}
