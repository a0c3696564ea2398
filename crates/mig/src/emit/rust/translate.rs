//! Types that the server sees as something else: `intran` and `outtran`. Each is a type of the server's trait, with a method
//! that makes one of what the message has, and one that goes back.

use std::collections::BTreeMap;

use super::names::{snake, translated};
use super::view::received_type;
use super::writer::Writer;
use crate::model::{Arg, Conversion, Interface, Role, Routine};

/// A method of the trait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// What goes in: the name of the parameter, and its type.
    pub from: (&'static str, String),
    /// What comes out.
    pub to: String,
}

/// The trait's name of the type that the argument is received as, if it is translated.
pub fn into_of(arg: &Arg) -> Option<String> {
    let received = arg.in_request() || arg.role == Role::RequestPort;
    arg.ty.in_tran.as_ref().filter(|_| received).map(|t| translated(&t.to))
}

/// The trait's name of the type that the argument is given back as, if it is translated.
pub fn out_of(arg: &Arg) -> Option<String> {
    arg.ty.out_tran.as_ref().filter(|_| arg.in_reply()).map(|t| translated(&t.from))
}

/// Parameters of the structure with what a routine gives back, each with the type that callers see.
pub fn parameters(routine: &Routine) -> Vec<(String, String)> {
    let mut list: Vec<(String, String)> = Vec::new();
    for arg in routine.args.iter().filter(|a| a.in_reply()) {
        if let Some(name) = out_of(arg).filter(|n| list.iter().all(|(known, _)| known != n)) {
            list.push((name, received_type(&arg.ty)));
        }
    }
    list
}

/// What the message has for a translated argument.
fn plain(arg: &Arg) -> String {
    if arg.role == Role::RequestPort { "mig::Target".to_owned() } else { received_type(&arg.ty) }
}

/// The method that makes of what the message has what the server sees.
pub fn into(arg: &Arg) -> Option<(&Conversion, Method)> {
    let (name, tran) = (into_of(arg)?, arg.ty.in_tran.as_ref()?);
    Some((tran, Method { from: ("value", plain(arg)), to: format!("Self::{name}") }))
}

/// The method that goes back.
pub fn out(arg: &Arg) -> Option<(&Conversion, Method)> {
    let (name, tran) = (out_of(arg)?, arg.ty.out_tran.as_ref()?);
    Some((tran, Method { from: ("value", format!("Self::{name}")), to: received_type(&arg.ty) }))
}

/// The methods, by name.
fn methods(interface: &Interface) -> BTreeMap<String, Method> {
    let args = interface.routines().flat_map(|r| &r.args);
    let all = args.flat_map(|arg| [into(arg), out(arg)]).flatten();
    all.map(|(tran, method)| (snake(&tran.function), method)).collect()
}

/// The types, by name.
fn types(interface: &Interface) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for arg in interface.routines().flat_map(|r| &r.args) {
        if let (Some(name), Some(t)) = (into_of(arg), &arg.ty.in_tran) {
            found.entry(name).or_insert_with(|| t.to.clone());
        }
        if let (Some(name), Some(t)) = (out_of(arg), &arg.ty.out_tran) {
            found.entry(name).or_insert_with(|| t.from.clone());
        }
    }
    found
}

/// Declares types and methods in the trait.
pub fn declare(w: &mut Writer, interface: &Interface) {
    for (name, c_type) in types(interface) {
        w.gap();
        w.doc(&format!("What C calls `{c_type}`. Who has one drops it: that is its `destructor`."));
        w.line(format!("type {name};"));
    }
    for (name, method) in methods(interface) {
        w.gap();
        w.doc("Translates what the message has, or is to have.");
        let parameters = ["&mut self".to_owned(), format!("{}: {}", method.from.0, method.from.1)];
        w.declaration(&format!("fn {name}"), &parameters, &format!("-> {};", method.to));
    }
}
