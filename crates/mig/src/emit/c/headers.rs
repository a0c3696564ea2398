//! Headers, and the list of routines.

use super::Options;
use super::names;
use super::text;
use super::view::{Side, prototype};
use crate::layout::Message;
use crate::model::{ImportKind, Interface};

/// The programs that include a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Callers of the user stubs.
    Users,
    /// Programs that are a server.
    Servers,
    /// The stubs' own files.
    Internal,
    /// Programs that need the numbers only.
    Definitions,
}

/// What differs between the dialects in headers.
pub struct Dialect {
    /// What all but the definitions include.
    pub includes: &'static str,
    /// Numbers about messages.
    pub numbers: fn(&Interface) -> String,
    /// What a server's author calls.
    pub demux: fn(&Interface) -> String,
    /// What stands behind the declarations.
    pub messages: fn(&Interface, Side) -> String,
}

/// A header of the typed dialect.
pub fn header(interface: &Interface, options: &Options, audience: Audience) -> String {
    let includes =
        "#include <mach/kern_return.h>\n#include <mach/port.h>\n#include <mach/message.h>\n#include <mach/mig_errors.h>\n";
    header_of(&Dialect { includes, numbers, demux, messages: |_, _| String::new() }, interface, options, audience)
}

/// A header.
pub fn header_of(dialect: &Dialect, interface: &Interface, options: &Options, audience: Audience) -> String {
    let (what, guard, side, kinds): (_, _, _, &[ImportKind]) = match audience {
        Audience::Users => ("User routines", "user", Side::User, &[ImportKind::All, ImportKind::User]),
        Audience::Servers => ("Server routines", "server", Side::Server, &[ImportKind::All, ImportKind::Server]),
        Audience::Internal => {
            ("Internal declarations", "internal", Side::User, &[ImportKind::All, ImportKind::User, ImportKind::Internal])
        }
        Audience::Definitions => ("Definitions", "defs", Side::User, &[ImportKind::Definitions]),
    };
    let interface = &names::for_headers(interface, options, side);
    let mut out = text::banner(interface, what);
    let name = options.name(interface);
    out.push_str(&format!("#ifndef _mig_{name}_{guard}_h_\n#define _mig_{name}_{guard}_h_\n\n"));
    if audience != Audience::Definitions {
        out.push_str(dialect.includes);
        if options.trap && audience == Audience::Servers {
            out.push_str("#include <mach/trap.h>\n");
        }
    }
    out.push_str(&text::imports(interface, kinds));
    out.push_str(&(dialect.numbers)(interface));
    if audience != Audience::Definitions {
        out.push_str("#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
        for routine in interface.routines() {
            let name = match side {
                Side::User => &routine.user_name,
                Side::Server => &routine.server_name,
            };
            out.push_str(&format!("\n#define MIG_RPC_HAVE_{} 1", routine.name));
            let declaration = format!("{}\nextern {};\n", text::comment(routine), prototype(routine, name, side));
            out.push_str(&if names::is_for_c_only(name) {
                format!("\n#ifndef __cplusplus\n{declaration}#endif\n")
            } else {
                format!("\n{declaration}")
            });
        }
        if audience == Audience::Servers {
            out.push_str(&(dialect.demux)(interface));
            if options.trap {
                out.push_str("/* The routines that can be called by trap, for mach_port_register_traps. */\n");
                out.push_str(&format!("extern const mach_trap_table_t {}_traps;\n", options.name(interface)));
            }
        }
        out.push_str("\n#ifdef __cplusplus\n}\n#endif\n");
        if audience != Audience::Internal {
            out.push_str(&(dialect.messages)(interface, side));
        }
    }
    out.push_str("\n#endif\n");
    out
}

/// The sizes that a server's buffers need.
fn numbers(interface: &Interface) -> String {
    let most = |size: fn(&crate::model::Routine) -> u32| interface.routines().map(size).max().unwrap_or(48);
    let request = most(|r| Message::request(r).most);
    let reply = most(|r| if r.one_way { 48 } else { Message::reply(r).most });
    let name = &interface.name;
    let count = interface.routines.len();
    format!(
        "\n/* Identifiers of requests begin with this one; those of replies are 100 higher. */\n\
         #define {name}_base_id {base}\n#define {name}_routine_count {count}\n\
         /* The largest request and reply, in bytes: what the buffers of a server must hold. */\n\
         #define {name}_max_request_size {request}\n#define {name}_max_reply_size {reply}\n\n",
        base = interface.base,
    )
}

fn demux(interface: &Interface) -> String {
    let demux = &interface.demux;
    format!(
        "\n/* Serves a request and builds its reply; FALSE if no routine has the request's identifier. */\n\
         extern boolean_t {demux}(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP);\n\
         /* The stub for a request, or 0. */\n\
         extern mig_routine_t {demux}_routine(const mach_msg_header_t *InHeadP);\n\
         extern const mig_routine_t {demux}_routines[];\n"
    )
}
