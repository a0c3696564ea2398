//! What arrives: records of lines, requests of ports, news of the watcher. It is taken to the routes below, and what these and the
//! state leave to do is done.
//!
//! From the bottom: `inner` is what the lock guards, and waking threads; [`records`] takes records off lines, and makes the routes' upcalls, which
//! may end lines or take from others; `hot` are the lines that receivers look at; `settle` carries out the state's effects; `once` takes messages off the
//! sockets of send-once rights; `served` is the library's own task; `spare` receive rights that come back; `lone` are rights that
//! are given up in few steps; [`news`] is what the watcher hears, `lost` descriptors that the
//! program closed; [`shortcuts`] what the last names led to.

mod hot;
mod inner;
mod lone;
mod lost;
pub mod news;
mod once;
pub mod records;
mod served;
mod settle;
pub mod shortcuts;
mod spare;

pub use inner::Inner;
