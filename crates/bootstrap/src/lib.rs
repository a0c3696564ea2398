//! What the name server and `slipway run` have in common: how a program is described, started, and started again.
//!
//! * [`config`]: the format of configuration files. * [`supervise`]: processes, how they end, and when they start again.

pub mod config;
pub mod supervise;
