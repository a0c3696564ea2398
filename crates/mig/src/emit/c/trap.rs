//! Traps: the block of arguments, which callers' stubs and servers' trap functions have in common.

pub use crate::emit::trap::{arguments, is_eligible, signature, word};

use super::view::has_count;
use super::writer::Writer;
use crate::model::Routine;

/// Defines the structure of the block. Its members do not depend on C's types, which the two sides may know by
/// different names.
pub fn structure(w: &mut Writer, routine: &Routine) {
    w.block("typedef struct", " `Arguments;", |w| {
        for arg in arguments(routine) {
            let name = &arg.name;
            w.line(match word(arg) {
                Some(bytes) => format!("uint{}_t {name};", bytes * 8),
                None if arg.in_reply() => format!("void *{name};"),
                None => format!("const void *{name};"),
            });
            if has_count(arg) {
                let pointer = if arg.in_reply() { "*" } else { "" };
                w.line(format!("mach_msg_type_number_t {pointer}{name}Cnt;"));
            }
        }
    });
}
