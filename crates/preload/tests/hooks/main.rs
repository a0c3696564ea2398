//! The hooks, as unmodified programs meet them: each test runs in a process of its own that carries
//! the library, and makes its calls through the C library.
//!
//! * [`property`]: random operations on a connection and on a plain socketpair, with the same results.
//! * [`capacity`]: what a full ring does, where a model has other sizes.
//! * [`waiting`]: threads, time-outs, signals, epoll in its variants.
//! * [`polled`]: epoll sets that others wait for by their descriptors.
//! * [`waking`]: random waits, each ending as on a plain socketpair.
//! * [`forks`], [`execs`]: the connection in other processes, with and without hooks.
//! * [`fallbacks`]: calls that put a connection back on its socket.
//! * [`returns`]: going back to the socket while both ends send.
//! * [`left`]: what is on its way when a connection ends, or the kernel moves it.
//! * [`references`]: sockets that others have before they connect.
//! * [`raw`]: calls by number, and past the C library.
//! * [`filters`]: programs that filter their system calls.
//! * [`names`]: what a program sees of its peer.
//! * [`servers`]: servers that accept in threads and in processes, at any socket.
//! * [`signals`]: signals for what comes.
//! * [`limits`]: what a server refuses.
//! * [`interrupts`]: threads that are cancelled, interrupted or jump.
//! * [`descriptors`]: a program that runs out of descriptors.

mod capacity;
mod descriptors;
mod execs;
mod fallbacks;
mod filters;
mod forks;
mod heirs;
mod interrupts;
mod left;
mod limits;
mod names;
mod polled;
mod property;
mod raw;
mod references;
mod returns;
mod servers;
mod signals;
mod sleepers;
#[path = "../support/mod.rs"]
mod support;
mod waiting;
mod waking;
