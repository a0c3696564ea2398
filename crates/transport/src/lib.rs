//! A Unix connection's byte stream over a fabric line, used as a socket is used.
//!
//! A connection begins on its real socket, moves to a shared-memory line when both ends can, and can
//! go back to the socket at any time, in order and with nothing lost. This crate has all the logic
//! and interposes nothing: `slipway-preload` calls it from its hooks.
//!
//! * [`settings`], [`report`]: the environment variables; messages for the person at the terminal.
//! * [`endpoint`]: the sockets that programs meet at, and which of them are chosen.
//! * [`rendezvous`]: the client's side of finding out, beside the connection, whether the server can.
//! * [`hub`]: the server's side: offers, limits, grants, and the answers to `slipway sockets status`.
//! * [`pool`]: offers that any process of a server may have heard.
//! * [`ledger`]: what a server's processes have granted, and to whom.
//! * [`mod@line`]: messages on the line's own socket: bells, descriptors, grants.
//! * [`stream`]: the stream itself: receiving, sending, readiness, giving back.
//! * [`wait`]: waiting on streams among other descriptors, as poll(2) does.
//! * [`epoll`]: streams as members of epoll sets.
//! * [`call`]: a socket call on a stream, with what its flags, time-outs and signals mean.
//! * [`select`]: select(2) by way of poll(2). * [`serving`]: the kernel's part of a wait.
//! * [`handlers`], [`lazy_timer`]: a program's signal handlers as it sees them; an X server's interval timer.
//! * [`ports`]: the stream as messages between Mach ports, in place of a line.
//! * [`status`]: what a running server says about its connections.

pub mod call;
pub mod endpoint;
pub mod environment;
pub mod epoll;
pub mod gate;
pub mod handlers;
pub mod hub;
pub mod lazy_timer;
pub mod ledger;
pub mod line;
pub mod options;
pub mod pool;
pub mod ports;
mod public;
pub mod rendezvous;
pub mod report;
pub mod select;
pub mod serving;
pub mod settings;
pub mod status;
pub mod stream;
pub mod wait;

pub use slipway_fabric::descriptor;
