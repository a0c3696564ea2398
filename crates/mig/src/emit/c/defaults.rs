//! Default routines of a server: those that its author leaves out answer that they do not exist.

use super::Options;
use super::names;
use super::text;
use super::view::{Side, parameters, prototype};
use super::writer::Writer;
use crate::model::{ImportKind, Interface};

/// A file with a weak definition of each server routine.
pub fn defaults(interface: &Interface, options: &Options) -> String {
    let interface = &names::for_stubs(interface, options);
    let mut w = Writer::default();
    definitions(&mut w, interface, "MIG_BAD_ID");
    let mut head = text::banner(interface, "Default server routines");
    head.push_str("#include <mach/message.h>\n#include <mach/mig_errors.h>\n#include <mach/mig_support.h>\n");
    head.push_str(&text::imports(interface, &[ImportKind::All, ImportKind::Server, ImportKind::Internal]));
    head.push('\n');
    w.finish(&head, &options.support_prefix, interface)
}

/// Weak definitions of the routines, which return `code`.
pub(super) fn definitions(w: &mut Writer, interface: &Interface, code: &str) {
    for routine in interface.routines() {
        w.gap();
        let prototype = prototype(routine, &routine.server_name, Side::Server);
        w.line(format!("extern {prototype};"));
        w.line(format!("__attribute__((weak)) {prototype}"));
        w.block("", "", |w| {
            let args = routine.args.iter().filter(|a| Side::Server.has(a));
            for (_, name) in args.flat_map(|a| parameters(a, Side::Server)) {
                w.line(format!("(void) {name};"));
            }
            w.line(format!("return {code};"));
        });
    }
}
