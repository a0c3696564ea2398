//! Calls in place of messages, for stubs in Rust.
//!
//! A routine is a type with the trait [`Trap`]: its name and its arguments as [`Item`]s. From these come the signature, by
//! which caller and server know each other, and the layout of the block of arguments, which both walk item by item. So what
//! is in a block always fits the signature that it is passed with, whatever a stub does: an item that is put or
//! taken as something else than it is leads to a message, or to an error. The other side may be in C.
//!
//! * [`item`]: routines, their arguments, their offsets in the block, the signature. * [`buffer`]: memory for what the other side reads and
//!   writes. * [`call`]: the caller. * [`called`]: the server's routine. * [`serve`]: the server. * `service`: servers of
//!   many ports. * `server_ref`: where calls find a server.
//!
//! Tasks of one process trust each other with their memory. What is unsafe here rests on the other side's keeping to what
//! the signature says, and on nothing that a stub or a program in Rust does by mistake. The signature is a hash of 64 bits that
//! anybody can compute: two declarations that differ don't have the same one by chance, but two that do can be made on purpose.

mod buffer;
mod call;
mod called;
mod item;
mod serve;
mod server_ref;
mod service;

pub use buffer::{Buffer, FarSlot, List, Packed, Slot, Text};
pub use call::{Call, may_call};
pub use called::{Called, Results, Trapped};
pub use item::{COUNT_IN_OUT, Count, IN, Item, OUT, SAME_COUNT, TEXT, Trap};
pub use serve::{Behind, Exclusive, Shared, Traps, Way, serve_shared_traps, serve_traps, with_shared_traps, with_traps};
pub use service::Service;
