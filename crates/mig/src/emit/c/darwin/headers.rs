//! Headers: declarations, and the structures of the messages under the names that other compilers of this dialect give them.

use super::super::headers::Audience;
use super::super::names;
use super::super::text;
use super::super::view::{Side, prototype};
use super::super::{Options, writer::Writer};
use super::layout::Message;
use super::{fields, server};
use crate::model::{ImportKind, Interface, Routine};
use std::collections::BTreeSet;

/// A header.
pub fn header(interface: &Interface, options: &Options, audience: Audience) -> String {
    let (what, guard, side, kinds): (_, _, _, &[ImportKind]) = match audience {
        Audience::Users => ("User routines", "user", Side::User, &[ImportKind::All, ImportKind::User]),
        Audience::Servers => ("Server routines", "server", Side::Server, &[ImportKind::All, ImportKind::Server]),
        Audience::Internal => {
            ("Internal declarations", "internal", Side::User, &[ImportKind::All, ImportKind::User, ImportKind::Internal])
        }
        Audience::Definitions => ("Definitions", "defs", Side::User, &[ImportKind::Definitions]),
    };
    let table = server::subsystem(interface);
    let interface = &names::for_headers(interface, options, side);
    let name = options.name(interface);
    let mut out = text::banner(interface, what);
    out.push_str(&format!("#ifndef _mig_{name}_{guard}_h_\n#define _mig_{name}_{guard}_h_\n\n"));
    if audience != Audience::Definitions {
        out.push_str("#include <mach/kern_return.h>\n#include <mach/message.h>\n#include <mach/mig.h>\n#include <mach/ndr.h>\n#include <mach/port.h>\n");
    }
    out.push_str(&text::imports(interface, kinds));
    out.push_str(&format!(
        "\n/* Identifiers of requests begin with this one; those of replies are 100 higher. */\n\
         #define {0}_base_id {1}\n#ifndef {0}_MSG_COUNT\n#define {0}_MSG_COUNT {2}\n#endif\n",
        interface.name,
        interface.base,
        interface.routines.len()
    ));
    if audience != Audience::Definitions {
        out.push_str("\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
        for routine in interface.routines() {
            let name = if side == Side::User { &routine.user_name } else { &routine.server_name };
            out.push_str(&format!("\n#define MIG_RPC_HAVE_{} 1", routine.name));
            let declaration = format!("{}\nextern {};\n", text::comment(routine), prototype(routine, name, side));
            out.push_str(&if names::is_for_c_only(name) {
                format!("\n#ifndef __cplusplus\n{declaration}#endif\n")
            } else {
                format!("\n{declaration}")
            });
        }
        if audience == Audience::Servers {
            out.push_str(&demux(interface, &table));
        }
        out.push_str("\n#ifdef __cplusplus\n}\n#endif\n");
        if audience != Audience::Internal {
            out.push_str(&messages(interface, side));
        }
    }
    out.push_str("\n#endif\n");
    out
}

fn demux(interface: &Interface, table: &str) -> String {
    let demux = &interface.demux;
    format!(
        "\n/* Serves a request and builds its reply; FALSE if no routine has the request's identifier. */\n\
         extern boolean_t {demux}(mach_msg_header_t *InHeadP, mach_msg_header_t *OutHeadP);\n\
         /* The stub for a request, or 0. */\n\
         extern mig_routine_t {demux}_routine(mach_msg_header_t *InHeadP);\n\
         /* The routines, and the size of the largest reply with its trailer. */\n\
         extern const struct {table} {{\n\t{}\n}} {table};\n",
        server::subsystem_members(interface).join("\n\t")
    )
}

/// The members that messages have in any case, and the types of members: C++ lets no member have the name of another's type.
const TAKEN: &str = "Head msgh_body NDR RetCode mach_msg_header_t mach_msg_body_t mach_msg_port_descriptor_t mach_msg_ool_descriptor_t \
    mach_msg_ool_ports_descriptor_t NDR_record_t kern_return_t mach_msg_type_number_t";

/// The interface with names of arguments that their structures can have as members.
fn with_members(interface: &Interface) -> Interface {
    let mut interface = interface.clone();
    for routine in interface.routines.iter_mut().flatten() {
        let mut taken: BTreeSet<_> = TAKEN.split_whitespace().map(str::to_owned).collect();
        for arg in &mut routine.args {
            let members = |name: &str| ["", "Cnt", "Offset", "Pad"].map(|end| format!("{name}{end}"));
            while members(&arg.name).iter().any(|member| taken.contains(member)) {
                arg.name.push('_');
            }
            taken.extend(members(&arg.name));
        }
    }
    interface
}

/// The structures, and unions of them for the buffers of a server. Two headers may declare them.
fn messages(interface: &Interface, side: Side) -> String {
    let interface = &with_members(interface);
    let name = &interface.name;
    let mut w = Writer::default();
    w.gap();
    w.line(format!("#ifndef __mig_{name}_messages_defined"));
    w.line(format!("#define __mig_{name}_messages_defined"));
    w.line("#pragma pack(push, 4)");
    for routine in interface.routines() {
        w.gap();
        fields::structure(&mut w, &Message::request(routine), side, &format!("__Request__{}_t", routine.name));
        if routine.one_way {
            w.line(format!("typedef mig_reply_error_t __Reply__{}_t;", routine.name));
        } else {
            fields::structure(&mut w, &Message::reply(routine), side, &format!("__Reply__{}_t", routine.name));
        }
    }
    w.gap();
    w.line("#pragma pack(pop)");
    for kind in ["Request", "Reply"] {
        w.gap();
        w.block(&format!("union __{kind}Union__{name}_subsystem"), ";", |w| {
            w.line("mig_reply_error_t Error;");
            let member = |routine: &Routine| format!("__{kind}__{0}_t {kind}_{0};", routine.name);
            w.lines(interface.routines().map(member));
        });
    }
    w.line("#endif");
    w.finish("\n", "", interface)
}
