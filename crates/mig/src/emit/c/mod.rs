//! C stubs for the typed dialect, and in [`darwin`] for Darwin's.
//!
//! One module makes one kind of text; they share the C view of arguments ([`view`]), of messages ([`messages`]) and
//! the checks of what was received ([`checks`]).

mod checks;
pub mod darwin;
mod defaults;
mod headers;
mod helpers;
mod messages;
mod names;
mod server;
mod server_reply;
mod text;
mod trap;
mod trap_server;
mod trap_user;
mod user;
mod user_receive;
mod user_send;
mod view;
mod writer;

use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::model::{Interface, Role};
pub use defaults::defaults;
pub use headers::{Audience, header};
pub use server::server;
pub use user::{Typed, user, user_routine};

/// The largest message on the stack where neither the file nor the command line says it, in bytes.
pub const STACK_LIMIT: u32 = 32 * 1024;

/// Reports what of an interface messages of the typed dialect can't carry.
pub fn check(interface: &Interface, diagnostics: &mut Diagnostics) {
    let args = interface.routines().flat_map(|routine| &routine.args);
    for arg in args.filter(|arg| matches!(arg.role, Role::Token { .. })) {
        let message = "this argument is a part of Darwin's message trailers, which the typed dialect does not have";
        let help = "make Darwin's messages with --dialect darwin; or give each client its own port, to learn who sent a message";
        diagnostics.push(Diagnostic::error(arg.span, message).help(help));
    }
}

/// What the command line says about the text.
#[derive(Clone, Debug)]
pub struct Options {
    /// Prefix of the names of all routines, of the demultiplexer and of the tables.
    pub routine_prefix: String,
    /// Prefix of the routines of libmach that stubs call.
    pub support_prefix: String,
    /// The largest message on the stack, in bytes.
    pub stack_limit: u32,
    /// Whether a table of the server's routine names is made.
    pub symbols: bool,
    /// Whether there are traps beside messages.
    pub trap: bool,
    /// The header that the stubs include, as written in the `#include`.
    pub header: Option<String>,
}

impl Options {
    /// The name of something that there is once for the interface.
    fn name(&self, interface: &Interface) -> String {
        format!("{}{}", self.routine_prefix, interface.name)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            routine_prefix: String::new(),
            support_prefix: String::new(),
            stack_limit: STACK_LIMIT,
            symbols: false,
            trap: false,
            header: None,
        }
    }
}
