//! A connection as Mach messages between two ports, in place of a ring: X11 as the Mach X server of 1991 had it.
//!
//! The server registers its display with the name server as `x11.N`. A client looks it up and sends a connection message with a send
//! right to a port of its own; when the server accepts, it answers with a send right to another. The stream goes in messages
//! with its bytes inline. A process has one port set for all of its connections, and one [`office`] that takes the messages off it.
//!
//! * [`libmach`]: the functions of the process's libmach, found or loaded when the first connection needs them.
//! * [`message`]: what the messages look like.
//! * [`end`]: one end of a connection: its two rights, and what has come and is not read.
//! * [`office`]: the port set, and waiting for it. * [`display`]: serving a display, and connecting to one.
//!
//! Without `SLIPWAY_X11_OVER=ports` nothing here runs. [docs/x11-ports.md](../../../docs/x11-ports.md) has the protocol.

pub mod display;
pub mod end;
pub mod libmach;
pub mod message;
pub mod office;
