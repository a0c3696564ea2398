//! What travels between processes: records, and the messages in them.
//!
//! [`record`] is the layout; [`parse`] turns what came into a checked value, once. What is done with that value (taken
//! in, taken back by its sender, or dropped) is said elsewhere, and reads no bytes.

pub mod parse;
pub mod record;
pub mod spill;

pub use record::*;
