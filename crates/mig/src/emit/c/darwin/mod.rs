//! C stubs for Darwin's dialect: descriptors in front, an NDR record, and data in units of four bytes.
//!
//! [`layout`] says where everything lies; `user` and `server` write what is within the stubs, whose frames and files are those of the typed
//! dialect.

mod check;
mod fields;
mod headers;
mod layout;
mod server;
mod server_reply;
mod trailer;
mod user;
mod user_receive;

pub use check::check;
pub use headers::header;
pub use server::server;

/// Darwin's dialect.
pub struct Darwin;
