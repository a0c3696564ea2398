//! Tasks' ports as ports: a task of another process is asked by messages to its port, and this process's tasks are served for others.
//!
//! `names`, `memory`, `memory_server` and `exceptions` are made by mig, of `names.defs`, `<mach/mach.defs>` and `exceptions.defs`. * [`serve`]: what the library's own thread does.
//! * [`ask`]: the other side.

pub mod ask;
#[rustfmt::skip]
#[allow(missing_docs, clippy::missing_errors_doc, reason = "made by mig, and compared with what mig makes")]
pub mod exceptions;
#[rustfmt::skip]
#[allow(missing_docs, clippy::missing_errors_doc, reason = "made by mig, and compared with what mig makes")]
pub mod memory;
#[rustfmt::skip]
#[allow(missing_docs, clippy::missing_errors_doc, reason = "made by mig, and compared with what mig makes")]
pub mod memory_server;
#[rustfmt::skip]
#[allow(missing_docs, clippy::missing_errors_doc, reason = "made by mig, and compared with what mig makes")]
pub mod names;
pub mod serve;
