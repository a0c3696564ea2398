//! Headers: declarations, and the structures of the messages under the names that other compilers of this dialect give them.

use super::super::headers::{Audience, Dialect, header_of};
use super::super::view::Side;
use super::super::{Options, writer::Writer};
use super::layout::Message;
use super::{fields, server};
use crate::model::{Interface, Routine};
use std::collections::BTreeSet;

/// A header.
pub fn header(interface: &Interface, options: &Options, audience: Audience) -> String {
    let includes = "#include <mach/kern_return.h>\n#include <mach/message.h>\n#include <mach/mig.h>\n#include <mach/ndr.h>\n#include <mach/port.h>\n";
    header_of(&Dialect { includes, numbers, demux, messages }, interface, options, audience)
}

fn numbers(interface: &Interface) -> String {
    format!(
        "\n/* Identifiers of requests begin with this one; those of replies are 100 higher. */\n\
         #define {0}_base_id {1}\n#ifndef {0}_MSG_COUNT\n#define {0}_MSG_COUNT {2}\n#endif\n\n",
        interface.name,
        interface.base,
        interface.routines.len()
    )
}

fn demux(interface: &Interface) -> String {
    let (demux, table) = (&interface.demux, server::subsystem(interface));
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
