//! Waiting: for a message, for room in a queue, on a line or at a socket, for the end of a call. Each wait releases the lock.
//!
//! `thread`: what a thread keeps between its waits. * `follow`: waiting for other threads of this process. * `lead`: for a message.
//! * `line`, `socket`: for free space. * [`turn`]: a receiver's, whose turn calls may take meanwhile.

mod follow;
mod lead;
mod line;
mod socket;
mod thread;
pub(crate) mod turn;

pub use follow::{for_queue, for_turn};
pub use lead::{Hands, for_message, for_next};
pub use line::{Need, for_line};
pub use socket::for_socket;
pub(crate) use thread::leave_all;
pub use thread::{Ended, HasMessage};
