//! What stubs in Rust are made of.
//!
//! `mig --lang rust` writes modules that call this one: a [`Request`] is filled, sent, and its reply read ([`Request::call`]); a
//! server's stub reads a request and fills the reply ([`answer`]). Messages are those of stubs in C to the byte, and so are
//! the checks and the codes. Rights and memory belong to values, so nothing here says what frees what.
//!
//! | in a message | sent | received |
//! |---|---|---|
//! | a number, an array of fixed length, a structure | [`Plain`] | the same |
//! | an array with a limit | `&[T]` | `Vec<T>` |
//! | an array without a limit, or out of line | [`Lend`] | [`Array`] |
//! | a string | `&CStr` | `CString` |
//! | a right | an `Option` of a right or of a reference to one ([`Give`]), [`Carry`] | an `Option` of a [`Right`], [`AnyRight`] |

mod array;
mod call;
mod kind;
mod plain;
mod reader;
mod right;
mod serve;
mod trap;
mod writer;

pub use array::{Array, Lend};
pub(crate) use call::without_kept_port;
pub use call::{Destination, Request};
pub use kind::*;
pub use plain::{Plain, field, set_field};
pub use reader::Reader;
pub use right::*;
pub use serve::{Answer, Later, Receive, Routine, Served, answer, refuse, serve, serve_one};
pub use trap::*;
pub use writer::Writer;

pub use crate::{
    abi::Code,
    rights::{Error, PortSet, ReceiveRight, Received, Region, ReplyRight, SendOnceRight, SendRight, Target},
};
