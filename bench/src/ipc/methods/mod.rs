//! The ways a message can cross.

pub mod floors;
pub mod futex;
pub mod iceoryx;
pub mod ipc_channel;
pub mod line;
pub mod mach;
pub mod pipe;
pub mod socket;
mod words;
