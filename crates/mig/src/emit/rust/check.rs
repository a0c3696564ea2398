//! What of an interface Rust can't express, or not without doubt.

use std::collections::BTreeMap;

use super::names::{camel, snake};
use super::view::{What, is_later, passing, received_right, what};
use super::{settings, text, trap, types, unique};
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::emit::trap::is_eligible;
use crate::model::{Arg, Interface, Role, Routine, Wire};
use crate::source::Span;

/// Reports it; `traps`: for a module whose routines are called where they can be.
pub fn check(interface: &Interface, traps: bool, diagnostics: &mut Diagnostics) {
    let interface = &unique::named(interface);
    for routine in interface.routines() {
        values(routine, diagnostics);
        arguments(routine, diagnostics);
    }
    type_names(interface, traps, diagnostics);
    routine_names(interface, diagnostics);
}

/// Settings that are C expressions.
fn values(routine: &Routine, diagnostics: &mut Diagnostics) {
    let all = [("msgoption", &routine.msg_option), ("waittime", &routine.wait_time), ("sendtime", &routine.send_time)];
    for (setting, text) in all {
        let Some(text) = text.as_deref().filter(|t| settings::value(t).is_none()) else { continue };
        let message = format!("`{setting} {text}` is an expression of C, which Rust stubs can't have");
        let help = format!("write a number or `MACH_SEND_...`, or make it an argument: `{setting} x : natural_t`");
        diagnostics.push(Diagnostic::error(routine.span, message).help(help));
    }
}

fn arguments(routine: &Routine, diagnostics: &mut Diagnostics) {
    for arg in &routine.args {
        if let Some((message, help)) = unfit(arg) {
            diagnostics.push(Diagnostic::error(arg.span, message).help(help));
        }
    }
}

/// Why an argument can't be expressed, and what to do.
fn unfit(arg: &Arg) -> Option<(String, &'static str)> {
    let ty = &arg.ty;
    let rights = ty.sent.is_right();
    let said = passing(ty).is_none() || received_right(ty).is_none();
    match arg.role {
        Role::RequestPort if matches!(passing(ty), Some(p) if p.disposition == "mig::MOVE_RECEIVE") => {
            Some(("a request can't go to a receive right".to_owned(), "use a send right: `mach_port_t`"))
        }
        Role::ReplyPort { .. } if ty.in_tran.is_some() => {
            Some(("Rust stubs do not translate reply ports".to_owned(), "use a type without `intran`"))
        }
        Role::ReplyPort { .. } if matches!(ty.received, Wire::Known(name) if name.code == 16) => {
            Some(("a reply can't go to a receive right".to_owned(), "use `mach_port_make_send_once_t`"))
        }
        Role::Data { .. } if rights && said && !matches!(what(ty), What::Right(false)) => Some((
            "an array of rights whose kind is said at run time has no Rust type".to_owned(),
            "use an array of `mach_port_send_t`, `mach_port_receive_t` or another kind of right",
        )),
        Role::Data { .. } if rights && said && (ty.in_tran.is_some() || ty.out_tran.is_some()) => Some((
            "a right whose kind is said at run time can't be translated by Rust stubs".to_owned(),
            "use `mach_port_send_t` or another kind of right",
        )),
        _ => None,
    }
}

/// Each type, structure and trait of the module must have a name of its own.
fn type_names(interface: &Interface, traps: bool, diagnostics: &mut Diagnostics) {
    let name = camel(&interface.name);
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    let mut add = |name: String, what: String, span: Span| {
        if let Some(other) = taken.insert(name.clone(), what.clone()) {
            let message = format!("{what} and {other} both need the Rust name `{name}`");
            diagnostics.push(Diagnostic::error(span, message).help("rename one of them"));
        }
    };
    let first = interface.routines().next().map_or(Span::default(), |r| r.span);
    add(name.clone(), "the client of the subsystem".to_owned(), first);
    add(format!("{name}Server"), "the trait of the server".to_owned(), first);
    for routine in interface.routines() {
        if let Some(name) = text::structure(routine) {
            add(name, format!("the reply of `{}`", routine.name), routine.span);
        }
        if traps && is_eligible(routine) {
            add(trap::type_name(routine), format!("the call of `{}`", routine.name), routine.span);
        }
        if routine.args.iter().any(|a| is_later(a, routine.one_way)) {
            let name = format!("{}ReplyPort", camel(&routine.name));
            add(name, format!("the reply port of `{}`", routine.name), routine.span);
        }
    }
    let structures = types::structures(interface);
    for (rust, part) in &structures {
        let user = |a: &&Arg| types::is_data(a) && types::of(&a.ty).contains(rust.as_str());
        let span = interface.routines().flat_map(|r| &r.args).find(user).map_or(first, |a| a.ty.span);
        add(rust.clone(), format!("the type `{}`", part.name), span);
    }
    // Two C types can have one Rust name; they were put into one place above.
    let mut by_name: BTreeMap<String, &crate::model::Element> = BTreeMap::new();
    for arg in interface.routines().flat_map(|r| &r.args).filter(|a| types::is_data(a)) {
        let rust = types::of(&arg.ty);
        let Some(known) = structures.get(&rust) else { continue };
        let first = *by_name.entry(rust.clone()).or_insert(known);
        if *first != arg.ty.part {
            let message = format!("the types `{}` and `{}` both need the Rust name `{rust}`", first.name, arg.ty.part.name);
            diagnostics.push(Diagnostic::error(arg.span, message).help("rename one of them"));
        }
    }
}

fn routine_names(interface: &Interface, diagnostics: &mut Diagnostics) {
    let mut names: BTreeMap<String, Span> = BTreeMap::new();
    for routine in interface.routines() {
        let name = snake(&routine.name);
        if let Some(first) = names.insert(name.clone(), routine.span) {
            let message = format!("two routines have the Rust name `{name}`");
            diagnostics.push(Diagnostic::error(routine.span, message).related(first, "the first is here"));
        }
    }
}
