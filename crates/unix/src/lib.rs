//! A command in a net: every system call of its processes that has a file's name in it is answered by a server of names, which looks
//! them up in a view of the file system with layers over it.
//!
//! The names are the server's, the descriptors stay the host's: what an open gives is a descriptor of a real file, so that reading, writing,
//! mapping and waiting are the kernel's own. The net is a seccomp filter that the command's processes inherit (`filter`); the server's
//! process gets each caught call with its numbers (`supervise`), reads what they point to once (`tasks`), and answers it (`calls`).

mod calls;
mod exec;
mod filter;
mod index;
mod known;
mod launch;
mod libraries;
mod limit;
mod loader;
mod names;
mod record;
mod stand_in;
mod stub;
mod supervise;
mod sys;
mod tasks;
mod user;

pub use launch::{Outcome, Program, Running, start};
pub use limit::FileLimit;
pub use record::Record;
