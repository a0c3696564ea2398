//! What the tests of several crates have in common: what the workspace builds, commands that must succeed, a name server of a test's
//! own, forked processes, messages as they lie in memory, random numbers with a seed, waiting under a watchdog, and which files of a
//! crate need which.

mod built;
mod command;
mod fork;
mod message;
mod name_server;
mod random;
mod source;
mod wait;

pub use built::{built, example};
pub use command::{output, repository, succeed, symlink};
pub use fork::forked;
pub use message::Msg;
pub use name_server::NameServer;
pub use random::{Dice, NamedSeed, fuzz_time, seed};
pub use source::{Files, Needs, Spread, cycles, needs};
pub use wait::{WATCHDOG, Watchdog, until, watchdog};
