//! The caller's side of a trap: tried before the message.

use super::trap;
use super::user::Stub;
use super::user_send;
use super::view::{Side, has_count, parameters, prototype};
use super::writer::Writer;
use crate::model::Role;

/// The stub's declaration, and the name of the function that sends the message.
///
/// They are two functions, because a message's buffer makes a frame that a trap does without.
pub fn message_name(stub: &Stub<'_>) -> String {
    format!("`_M{}", stub.routine.user_name)
}

/// The stub that callers see: the trap if it can be had, else the message.
pub fn front(w: &mut Writer, stub: &Stub<'_>) {
    let routine = stub.routine;
    w.line(prototype(routine, &routine.user_name, Side::User));
    w.block("", "", |w| {
        let has_arguments = trap::arguments(routine).next().is_some();
        if has_arguments {
            trap::structure(w, routine);
            w.gap();
            w.line("`Arguments `mig_arguments;");
        }
        w.line("kern_return_t `mig_result;");
        w.gap();
        user_send::limits(w, stub);
        for arg in trap::arguments(routine) {
            let name = &arg.name;
            w.line(match trap::word(arg) {
                Some(_) => format!("memcpy(&`mig_arguments.{name}, &{name}, sizeof `mig_arguments.{name});"),
                None if arg.in_reply() || !arg.ty.by_value => format!("`mig_arguments.{name} = {name};"),
                None => format!("`mig_arguments.{name} = &{name};"),
            });
            if has_count(arg) {
                w.line(format!("`mig_arguments.{name}Cnt = {name}Cnt;"));
            }
        }
        let port = routine.args.iter().find(|a| a.role == Role::RequestPort).map_or("", |a| &a.name);
        let block = if has_arguments { "&`mig_arguments" } else { "NULL" };
        let signature = trap::signature(routine);
        w.line(format!("if (mach_trap({port}, {}, UINT64_C({signature:#018x}), {block}, &`mig_result))", routine.id));
        w.line("\treturn `mig_result;");
        let names = routine.args.iter().filter(|a| Side::User.has(a)).flat_map(|a| parameters(a, Side::User));
        let names: Vec<_> = names.map(|(_, name)| name).collect();
        w.line(format!("return {}({});", message_name(stub), names.join(", ")));
    });
}
