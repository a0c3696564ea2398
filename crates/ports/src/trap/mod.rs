//! Calls in place of messages, between tasks of one process.
//!
//! A server registers routines for a port ([`Task::register_traps`](crate::task::Task::register_traps)); a thread of a task that has a
//! send right to it calls them itself ([`call()`]), and works for the server's task meanwhile.
//!
//! A [`Turn`](slipway_fabric::turn::Turn) says whether a call may come in now; a receiver lends it ([`wait`](crate::wait)).
//!
//! * [`gate`]: what a caller needs to know of a port, which is the state's. * `frame`: a call that a thread is in. * `thread`: the
//!   calling thread's current task, the gates that it has lately used, and its calls. * `end`: how a call ends. * `jump`: leaving
//!   functions without unwinding. * `catch`: where an exception ends. * `call`: the call. * [`leave`]: where `exit` ends one.
//!   * [`scratch`]: memory that does not outlive a call.
//!
//! The way in takes no lock. A thread keeps, by name, the gates that it uses; every change that makes one of them wrong
//! increments the epoch (`gate::EPOCH`), which is compared with every call. A gate that is closed lets no call in, so a call that
//! looked just before has come first or comes too late, and nothing in between. Calls that are in it are counted,
//! and a thread that must know that they are over waits for that.

mod call;
mod catch;
mod end;
mod frame;
mod jump;
pub mod leave;
pub mod scratch;
mod thread;

pub use crate::state::gate;
pub use call::{call, may_call};
pub(crate) use thread::{FIRST, calls_in, current, current_number, for_first, leave_all, set_current};
