//! What both halves have in common: comments, names of locals, and the type of a reply.

use super::names::{camel, plain_snake, snake};
use super::translate;
use super::view::received_type;
use super::writer::Writer;
use crate::model::{Arg, Interface, Role, Routine};

/// The routine's declaration as its documentation.
pub fn doc(w: &mut Writer, routine: &Routine) {
    w.doc(&format!("{}, message {}:", routine.place, routine.id));
    w.doc(&format!("`{}`", routine.text.replace('`', "'")));
}

/// A name for a local that no argument has. Where the request goes is no local.
pub fn free(name: &str, routine: &Routine) -> String {
    let mut name = name.to_owned();
    let locals = || routine.args.iter().filter(|a| a.role != Role::RequestPort);
    while locals().any(|a| plain_snake(&a.name) == name) {
        name.push('_');
    }
    name
}

/// What comes back.
pub fn outputs(routine: &Routine) -> Vec<&Arg> {
    routine.args.iter().filter(|a| a.in_reply()).collect()
}

/// The name of the structure with what comes back, if that is more than one value.
pub fn structure(routine: &Routine) -> Option<String> {
    (outputs(routine).len() > 1).then(|| format!("{}Reply", camel(&routine.name)))
}

/// The type of what comes back. For a server's routine, translated types are those behind `translated`.
pub fn reply_type(routine: &Routine, translated: Option<&str>) -> String {
    let outputs = outputs(routine);
    let of = |arg: &Arg| match (translated, translate::out_of(arg)) {
        (Some(prefix), Some(name)) => format!("{prefix}{name}"),
        _ => received_type(&arg.ty),
    };
    match (structure(routine), outputs.as_slice()) {
        (None, []) => "()".to_owned(),
        (None, [one, ..]) => of(one),
        (Some(name), _) => {
            let parameters = translate::parameters(routine);
            match translated {
                Some(prefix) if !parameters.is_empty() => {
                    let list: Vec<_> = parameters.iter().map(|(name, _)| format!("{prefix}{name}")).collect();
                    format!("{name}<{}>", list.join(", "))
                }
                _ => name,
            }
        }
    }
}

/// Defines the structures with what comes back.
pub fn replies(w: &mut Writer, interface: &Interface) {
    for routine in interface.routines() {
        let Some(name) = structure(routine) else { continue };
        let parameters: Vec<_> =
            translate::parameters(routine).into_iter().map(|(name, plain)| format!("{name} = {plain}")).collect();
        let generic = if parameters.is_empty() { String::new() } else { format!("<{}>", parameters.join(", ")) };
        w.gap();
        w.doc(&format!("What `{}` gives back.", routine.name));
        w.line("#[derive(Debug)]");
        w.block(&format!("pub struct {name}{generic}"), "", |w| {
            for arg in outputs(routine) {
                let ty = translate::out_of(arg).unwrap_or_else(|| received_type(&arg.ty));
                w.doc(&format!("`{}`.", arg.name));
                w.line(format!("pub {}: {ty},", snake(&arg.name)));
            }
        });
    }
}
