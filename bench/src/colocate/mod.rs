//! `slipway-bench colocate`: calls to a server in another process and to one that shares the caller's, beside what was
//! published for Mach.
//!
//! The tests are those of Lepreau's table (nothing, 64 and 1024 bytes In, 1024 Out, 128 InOut), and calls that a server
//! makes itself. They are made by messages between processes and within one, by traps, as plain calls, and with another
//! library.

mod calls;
mod capnp;
mod rust;

use crate::harness::Code;
use calls::{Calls, calls};

pub const CODE: Code = Code {
    name: "colocate",
    prepare: |link, job| match &*job.case.method.name {
        "plain" | "virtual" => Ok(Box::new(Calls::new(job, 0))),
        "one-process" | "trap" | "trap-concurrent" | "trap-rust" => calls(link, job, true),
        "capnp" => capnp::capnp(link, job),
        _ => calls(link, job, false),
    },
    special: |_, _| Ok(()),
};
