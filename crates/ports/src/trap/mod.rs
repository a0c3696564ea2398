//! Calls in place of messages, between tasks of one process.
//!
//! A server registers routines for a port ([`Task::register_traps`](crate::task::Task::register_traps)); a thread of a task that has a
//! send right to it calls them itself ([`call()`]), and works for the server's task meanwhile.
//!
//! A [`Turn`](slipway_fabric::turn::Turn) says whether a call may come in now; a receiver lends it ([`wait`](crate::wait)).
//!
//! * `frame`: a call that a thread is in. * `thread`: the calling thread's current task, the call entries that it has lately used,
//!   and its calls. * `end`: how a call ends. * `jump`: leaving functions without unwinding. * `catch`: where an exception ends.
//!   * `call`: the call. * [`leave`]: where `exit` ends one. * [`scratch`]: memory that does not outlive a call.
//!
//! A call takes no lock. A thread keeps, by name, the call entries (`state::call_entry`) that it uses. Every change that makes one
//! of them wrong increments the epoch, which is compared at every call. A turn that is closed lets no call in: a call that looked
//! just before is counted in it already, or is refused. A thread that must know that those calls are over waits for them.

mod call;
mod catch;
mod end;
mod frame;
mod jump;
pub mod leave;
pub mod scratch;
mod thread;

pub use crate::state::call_entry::Table;
pub use call::{call, may_call};
pub(crate) use thread::{FIRST, calls_in, current, current_number, for_first, leave_all, set_current};
