//! C stubs for Darwin's dialect: descriptors in front, an NDR record, and data in units of four bytes.
//!
//! [`layout`] says where everything lies; `user` and `server` write the stubs, which share the C view of arguments with those of the typed
//! dialect.

mod check;
mod fields;
mod headers;
mod layout;
mod server;
mod server_reply;
mod texts;
mod trailer;
mod user;
mod user_receive;

pub use check::check;
pub use headers::header;
pub use server::server;
pub use user::{user, user_routine};
