//! What of an interface messages of this dialect can't carry.

use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::model::{Arg, Count, Interface};

/// Reports it.
pub fn check(interface: &Interface, diagnostics: &mut Diagnostics) {
    for arg in interface.routines().flat_map(|routine| &routine.args).filter(|arg| arg.in_request() || arg.in_reply()) {
        if let Some((message, help)) = unfit(arg) {
            diagnostics.push(Diagnostic::error(arg.span, message).help(help));
        }
    }
}

/// Why an argument can't be expressed, and what to do.
fn unfit(arg: &Arg) -> Option<(&'static str, &'static str)> {
    let ty = &arg.ty;
    if ty.sent.is_right() && ty.inline && !matches!(ty.count, Count::One | Count::Unlimited) {
        return Some((
            "Darwin's messages have no arrays of rights in their bodies",
            "use an array out of line: `^array[] of mach_port_t`",
        ));
    }
    if arg.overwrite {
        return Some((
            "`overwrite` is not in Darwin's dialect here",
            "leave the flag out: the memory is the caller's to deallocate",
        ));
    }
    None
}
