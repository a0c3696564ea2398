//! Calls in place of messages, between tasks of one process.
//!
//! A server registers routines for a port ([`Task::register_traps`](crate::task::Task::register_traps)); who has a
//! send right to it calls them on his own thread ([`call()`]), which works for the server's task meanwhile.
//!
//! Whether a call may come in now a [`Turn`](slipway_fabric::turn::Turn) says. * [`gate`]: what a caller needs to know of a port, from below. * `thread`: the
//!   calling thread's current task, the gates that it has lately used, and the calls that it is in. * `call`: the call.
//!   * `catch`: where an exception ends. * [`leave`]: where `exit` does. * [`room`]: memory that does not outlive a call. * `register`: a task's side.
//!   * `wait`: a receiver's.
//!
//! The way in takes no lock. A thread keeps, by name, the gates that it uses; whatever makes one of them wrong moves
//! the epoch (`gate::EPOCH`) on, which is compared with every call. A gate that is closed lets nobody in, so a call that
//! looked just before has come first or comes too late, and nothing in between. Calls that are in it are counted,
//! and who must know that they are over waits for that.

mod call;
mod catch;
pub mod leave;
mod register;
pub mod room;
mod thread;
pub(crate) mod wait;

pub use crate::state::gate;
pub use call::{call, may_call};
pub(crate) use thread::{FIRST, current, current_number, for_first, leave_all, set_current};
