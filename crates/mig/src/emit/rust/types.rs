//! Data as Rust types, and the structures that a module defines.

use std::collections::BTreeMap;

use super::names::{camel, snake};
use super::writer::Writer;
use crate::model::{Arg, Element, Form, Interface, Type, Wire};

/// Arrays of a fixed length above so many bytes are not kept on the stack.
const STACK: u32 = 4096;

/// The number that a unit is.
fn unit(wire: Wire, bits: u32, signed: bool) -> &'static str {
    let Wire::Known(wire) = wire else { return "u32" };
    match (wire.name, bits, signed) {
        // One that C has as an `int` has more values than two.
        ("BOOLEAN", _, true) => "i32",
        ("BOOLEAN", ..) => "bool",
        ("CHAR" | "BYTE" | "BIT" | "UNSTRUCTURED" | "STRING" | "STRING_C", ..) => "u8",
        ("REAL_64", ..) => "f64",
        ("REAL" | "REAL_32", ..) => "f32",
        ("PORT_NAME", ..) => "u32",
        (_, 8, true) => "i8",
        (_, 8, false) => "u8",
        (_, 16, true) => "i16",
        (_, 16, false) => "u16",
        (_, 64, true) => "i64",
        (_, 64, false) => "u64",
        (_, _, true) => "i32",
        (_, _, false) => "u32",
    }
}

/// The Rust type of an element. A structure without a name is called `fallback`.
pub fn element(part: &Element, fallback: &str) -> String {
    match &part.form {
        Form::Unit { wire, bits, signed } => unit(*wire, *bits, *signed).to_owned(),
        Form::Repeat(one, count) => format!("[{}; {count}]", element(one, fallback)),
        Form::Fields(_) if part.name.is_empty() => fallback.to_owned(),
        Form::Fields(_) => camel(&part.name),
    }
}

/// What a structure without a name is called: by the type that has it.
pub fn fallback(ty: &Type) -> String {
    format!("{}Element", camel(&ty.name))
}

/// The Rust type of a type's elements.
pub fn of(ty: &Type) -> String {
    element(&ty.part, &fallback(ty))
}

/// Whether a value of the element is a plain number.
pub fn is_number(ty: &Type) -> bool {
    matches!(ty.part.form, Form::Unit { .. })
}

/// An array of fixed length as it is kept: on the stack only if it is short.
pub fn kept(ty: &Type, array: &str) -> String {
    let total = if let crate::model::Count::Fixed(n) = ty.count { n * ty.bytes } else { ty.bytes };
    if total > STACK && array.starts_with('[') { format!("Box<{array}>") } else { array.to_owned() }
}

/// The structures of an interface by their Rust names.
pub fn structures(interface: &Interface) -> BTreeMap<String, &Element> {
    let mut found = BTreeMap::new();
    for arg in interface.routines().flat_map(|r| &r.args).filter(|a| is_data(a)) {
        collect(&arg.ty.part, &fallback(&arg.ty), &mut found);
    }
    found
}

/// Whether the argument is data in a message, and no right.
pub fn is_data(arg: &Arg) -> bool {
    (arg.in_request() || arg.in_reply()) && !arg.ty.sent.is_right()
}

fn collect<'a>(part: &'a Element, fallback: &str, found: &mut BTreeMap<String, &'a Element>) {
    match &part.form {
        Form::Unit { .. } => {}
        Form::Repeat(one, _) => collect(one, fallback, found),
        Form::Fields(members) => {
            found.insert(element(part, fallback), part);
            for member in members {
                collect(&member.element, &format!("{fallback}{}", camel(&member.name)), found);
            }
        }
    }
}

/// Bytes of an element in a message.
fn size(part: &Element) -> u32 {
    match &part.form {
        Form::Unit { wire: Wire::Known(wire), bits, .. } => {
            if *bits == 0 {
                wire.bits.max(8) / 8
            } else {
                bits / 8
            }
        }
        Form::Unit { .. } => 4,
        Form::Repeat(one, count) => size(one) * count,
        Form::Fields(members) => {
            let end = members.iter().map(|m| m.offset + size(&m.element)).max().unwrap_or(0);
            end.next_multiple_of(align(part))
        }
    }
}

fn align(part: &Element) -> u32 {
    match &part.form {
        Form::Unit { .. } => size(part),
        Form::Repeat(one, _) => align(one),
        Form::Fields(members) => members.iter().map(|m| align(&m.element)).max().unwrap_or(1),
    }
}

/// Defines the structures.
pub fn define(w: &mut Writer, interface: &Interface) {
    for (name, part) in structures(interface) {
        let Form::Fields(members) = &part.form else { continue };
        let field_type = |m: &crate::model::Member| element(&m.element, &format!("{name}{}", camel(&m.name)));
        w.gap();
        let c_name = if part.name.is_empty() { "an array's elements" } else { &part.name };
        w.doc(&format!("`{c_name}`, of {} bytes.", size(part)));
        w.line("#[derive(Clone, Copy, Debug, PartialEq)]");
        w.block(&format!("pub struct {name}"), "", |w| {
            for member in members {
                w.doc(&format!("At byte {}.", member.offset));
                w.line(format!("pub {}: {},", snake(&member.name), field_type(member)));
            }
        });
        w.gap();
        w.block(&format!("impl mig::Plain for {name}"), "", |w| {
            w.line(format!("const SIZE: usize = {};", size(part)));
            w.gap();
            w.block("fn load(from: &[u8]) -> Self", "", |w| {
                let fields: Vec<_> =
                    members.iter().map(|m| format!("{}: mig::field(from, {})", snake(&m.name), m.offset)).collect();
                w.line("Self {");
                fields.iter().for_each(|field| w.line(format!("    {field},")));
                w.line("}");
            });
            w.gap();
            w.block("fn store(&self, to: &mut [u8])", "", |w| {
                for member in members {
                    let arguments = ["to".to_owned(), member.offset.to_string(), format!("&self.{}", snake(&member.name))];
                    w.call("mig::set_field", &arguments, ";");
                }
            });
        });
    }
}
