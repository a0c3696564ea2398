//! Types: what each name stands for.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::numbers;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::model::{Conversion, Count, Element, Form, Member, Type, WIRE_NAMES, Wire, WireName, wire_name};
use crate::source::Span;
use crate::spelling::nearest;
use crate::syntax::ast::{ArrayLen, Expr, Field, Ident, OptionKind, TypeBody, TypeDecl, TypeOption, TypeSpec};

/// The most bytes of one argument, in the message or out of line.
const MOST_BYTES: u64 = 1 << 28;

/// What both grammars know without a declaration. A file may say the same again, as Apple's do.
const BUILT_IN: [(&str, &str, &str); 6] = [
    ("char", "CHAR", "char"),
    ("short", "INTEGER_16", "short"),
    ("int", "INTEGER_32", "int"),
    ("int64", "INTEGER_64", "int64_t"),
    ("uintptr_t", "INTEGER_64", "uintptr_t"),
    ("intptr_t", "INTEGER_64", "intptr_t"),
];

/// The types known so far.
#[derive(Debug)]
pub struct Types {
    known: HashMap<String, Type>,
    built_in: HashSet<String>,
    /// Names whose declaration had an error. Their uses are not reported again.
    broken: HashSet<String>,
}

impl Default for Types {
    fn default() -> Self {
        let known = BUILT_IN.iter().filter_map(|(name, wire, c_type)| {
            let mut ty = scalar(wire_name(wire)?, Span::default());
            ty.set_name(c_type);
            Some(((*name).to_owned(), ty))
        });
        let known: HashMap<_, _> = known.collect();
        Self { built_in: known.keys().cloned().collect(), known, broken: HashSet::new() }
    }
}

impl Types {
    /// Adds what `type name = spec;` declares.
    pub fn declare(&mut self, decl: &TypeDecl, diagnostics: &mut Diagnostics) {
        let name = &decl.name.text;
        let Some(ty) = self.named(&decl.name, &decl.spec, diagnostics) else {
            self.broken.insert(name.clone());
            return;
        };
        if let Some(old) = self.known.get(name) {
            if self.built_in.contains(name) {
                if (old.sent, old.bits, old.count) != (ty.sent, ty.bits, ty.count) {
                    let message = format!("`{name}` is built in, as another type");
                    diagnostics.push(Diagnostic::error(decl.name.span, message).help("choose another name"));
                }
            } else {
                let diagnostic = Diagnostic::error(decl.name.span, format!("the type `{name}` is defined twice"))
                    .related(old.span, "previously defined here");
                diagnostics.push(diagnostic);
            }
            return;
        }
        self.known.insert(name.clone(), ty);
    }

    /// The type that `name = spec` describes, called `name` in C unless its options say otherwise.
    pub fn named(&self, name: &Ident, spec: &TypeSpec, diagnostics: &mut Diagnostics) -> Option<Type> {
        let mut ty = self.resolve(spec, diagnostics)?;
        ty.set_name(&name.text);
        ty.span = name.span;
        apply(&mut ty, &spec.options, diagnostics);
        Some(ty)
    }

    /// A type by its name.
    pub fn find(&self, name: &Ident, diagnostics: &mut Diagnostics) -> Option<Type> {
        if let Some(ty) = self.known.get(&name.text) {
            return Some(ty.clone());
        }
        if !self.broken.contains(&name.text) {
            let mut diagnostic = Diagnostic::error(name.span, format!("unknown type `{}`", name.text));
            let known: BTreeSet<_> = self.known.keys().map(String::as_str).collect();
            if let Some(near) = nearest(&name.text, known) {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            } else if !self.known.contains_key("mach_port_t") {
                diagnostic = diagnostic.help("the usual types come from `#include <mach/std_types.defs>`");
            }
            diagnostics.push(diagnostic);
        }
        None
    }

    fn resolve(&self, spec: &TypeSpec, diagnostics: &mut Diagnostics) -> Option<Type> {
        match &spec.body {
            TypeBody::Wire { sent, received, bits } => wire(spec.span, sent, received.as_ref(), bits.as_ref(), diagnostics),
            TypeBody::Named(name) => {
                let mut ty = self.find(name, diagnostics)?;
                (ty.in_tran, ty.out_tran, ty.payload_tran, ty.destructor) = (None, None, None, None);
                Some(ty)
            }
            TypeBody::OutOfLine(inner) => self.out_of_line(spec.span, inner, diagnostics),
            TypeBody::Array(len, element) => self.array(spec.span, len, element, diagnostics),
            TypeBody::StructOf(count, element) => {
                let element = self.element(element, diagnostics)?;
                let count = numbers::in_range(count, 1, MOST_BYTES, "the number of fields", diagnostics)?;
                let mut ty = repeated(spec.span, &element, count, diagnostics)?;
                ty.by_value = true;
                ty.string = false;
                Some(ty)
            }
            TypeBody::Struct(fields) => self.structure(spec.span, fields, diagnostics),
            TypeBody::CString { varying, size } => c_string(spec.span, *varying, size, diagnostics),
        }
    }

    fn out_of_line(&self, span: Span, inner: &TypeSpec, diagnostics: &mut Diagnostics) -> Option<Type> {
        let mut ty = self.resolve(inner, diagnostics)?;
        if !ty.inline {
            diagnostics.push(Diagnostic::error(span, "this is out of line already"));
            return None;
        }
        ty.inline = false;
        ty.by_value = false;
        if ty.sent.is_right() {
            ty.bits = 32;
        }
        Some(ty)
    }

    fn array(&self, span: Span, len: &ArrayLen, element: &TypeSpec, diagnostics: &mut Diagnostics) -> Option<Type> {
        let element = self.element(element, diagnostics);
        let what = "the number of elements";
        let most = u64::from(u32::MAX);
        let count = match len {
            ArrayLen::Fixed(expr) => Count::Fixed(numbers::in_range(expr, 1, most, what, diagnostics)? as u32),
            ArrayLen::UpTo(expr) => Count::UpTo(numbers::in_range(expr, 1, most, what, diagnostics)? as u32),
            ArrayLen::Unlimited => Count::Unlimited,
        };
        let element = element?;
        if let Count::Fixed(n) | Count::UpTo(n) = count {
            fits(span, u64::from(n) * u64::from(element.wire_bytes()), diagnostics)?;
        }
        let ty = as_element(&element, span);
        Some(Type { count, by_value: false, string: false, ..ty })
    }

    /// The type of an array's or structure's elements: they must have a fixed size and lie in the message.
    fn element(&self, spec: &TypeSpec, diagnostics: &mut Diagnostics) -> Option<Type> {
        let ty = self.resolve(spec, diagnostics)?;
        if ty.varies() || !ty.inline {
            let message = if ty.inline { "an element can't vary in length" } else { "an element can't be out of line" };
            diagnostics.push(Diagnostic::error(spec.span, message));
            return None;
        }
        Some(ty)
    }

    fn structure(&self, span: Span, fields: &[Field], diagnostics: &mut Diagnostics) -> Option<Type> {
        let mut seen: HashMap<&str, Span> = HashMap::new();
        let mut members = Vec::new();
        let mut good = true;
        for field in fields {
            if let Some(first) = seen.insert(&field.name.text, field.name.span) {
                let diagnostic = Diagnostic::error(field.name.span, format!("two fields are called `{}`", field.name.text))
                    .related(first, "the first is here");
                diagnostics.push(diagnostic);
                good = false;
            }
            match self.find(&field.ty, diagnostics) {
                Some(ty) => {
                    good &= check_field(field, &ty, diagnostics);
                    members.push(ty);
                }
                None => good = false,
            }
        }
        if fields.is_empty() {
            diagnostics.push(Diagnostic::error(span, "a structure needs a field"));
        }
        (good && !fields.is_empty()).then(|| laid_out(span, fields, &members, diagnostics))?
    }
}

impl Type {
    fn set_name(&mut self, name: &str) {
        self.name = name.to_owned();
        self.user_type = name.to_owned();
        self.server_type = name.to_owned();
        self.message_type = name.to_owned();
        if self.count == Count::One && self.inline {
            self.element = name.to_owned();
            // Another name for a structure is no other structure.
            if self.part.name.is_empty() || !matches!(self.part.form, Form::Fields(_)) {
                self.part.name = name.to_owned();
            }
            self.part.set_sign(name);
        }
    }

    /// Bytes of a fixed-size type in C.
    fn total_bytes(&self) -> u64 {
        let count = if let Count::Fixed(n) = self.count { n } else { 1 };
        u64::from(self.bytes) * u64::from(count)
    }
}

/// What C types of this name that are none of the interface's say of their sign.
fn sign_of(name: &str) -> Option<bool> {
    const UNSIGNED: [&str; 8] =
        ["natural_t", "size_t", "mach_port_t", "mach_port_name_t", "vm_offset_t", "vm_size_t", "vm_address_t", "boolean_t"];
    let (unsigned, signed) = (name.starts_with("uint") || name.starts_with("unsigned"), name.starts_with("int"));
    (unsigned || signed || UNSIGNED.contains(&name)).then_some(signed)
}

impl Element {
    fn set_sign(&mut self, name: &str) {
        if let (Form::Unit { signed, .. }, Some(sign)) = (&mut self.form, sign_of(name)) {
            *signed = sign;
        }
    }

    fn repeated(self, count: u32) -> Self {
        Self { name: String::new(), form: Form::Repeat(Box::new(self), count) }
    }
}

fn fits(span: Span, bytes: u64, diagnostics: &mut Diagnostics) -> Option<()> {
    if bytes <= MOST_BYTES {
        return Some(());
    }
    let message = format!("this is {bytes} bytes; an argument has at most {MOST_BYTES}");
    diagnostics.push(Diagnostic::error(span, message).help("send large data out of line: `^array[] of ...`"));
    None
}

fn scalar(name: &'static WireName, span: Span) -> Type {
    let bytes = if name.right.is_some() { 4 } else { name.bits / 8 };
    let mut ty = blank(Wire::Known(name), Wire::Known(name), name.bits, bytes, name.c_type, span);
    ty.part.set_sign(name.c_type);
    ty
}

fn blank(sent: Wire, received: Wire, bits: u32, bytes: u32, c_type: &str, span: Span) -> Type {
    Type {
        name: String::new(),
        span,
        sent,
        received,
        part: Element { name: String::new(), form: Form::Unit { wire: sent, bits, signed: true } },
        bits,
        units: 1,
        long: None,
        count: Count::One,
        inline: true,
        by_value: true,
        string: false,
        bytes,
        align: bytes.max(1),
        element: c_type.to_owned(),
        element_named: false,
        user_type: c_type.to_owned(),
        server_type: c_type.to_owned(),
        message_type: c_type.to_owned(),
        in_tran: None,
        out_tran: None,
        payload_tran: None,
        destructor: None,
    }
}

/// `MACH_MSG_TYPE_X`, `X|Y`, `polymorphic`, `(X, bits)`
fn wire(span: Span, sent: &Ident, received: Option<&Ident>, bits: Option<&Expr>, diagnostics: &mut Diagnostics) -> Option<Type> {
    let first = wire_of(sent, diagnostics);
    let second = received.map(|name| wire_of(name, diagnostics));
    let bits = match bits {
        Some(expr) => Some((numbers::in_range(expr, 1, u64::from(u16::MAX), "the size in bits", diagnostics)? as u32, expr.span)),
        None => None,
    };
    let first = first?;
    let second = match second {
        Some(wire) => Some(wire?),
        None => None,
    };
    if second.is_some_and(|s| s.is_right() != first.is_right()) {
        diagnostics.push(Diagnostic::error(span, "a right can't become something else on its way"));
        return None;
    }
    // What is said by its name at the receiver can be sent in more than one way: the sender says which.
    let ends = |wire: Wire| match wire {
        Wire::Known(name) if name.name.starts_with("PORT_") && name.right.is_some() => (Wire::Polymorphic, wire),
        Wire::Known(name) => (wire, name.right.and_then(wire_name).map_or(wire, Wire::Known)),
        Wire::Polymorphic => (wire, wire),
    };
    let (sent_as, received_as) = (ends(first).0, ends(second.unwrap_or(first)).1);
    let Wire::Known(name) = first else {
        return Some(blank(sent_as, received_as, 64, 4, "mach_port_t", span));
    };
    let ty = Type { sent: sent_as, received: received_as, ..scalar(name, span) };
    match bits {
        Some((bits, at)) => sized(ty, name.name, bits, at, diagnostics),
        None if name.bits == 0 => {
            let diagnostic = Diagnostic::error(sent.span, format!("`{}` does not say its size", sent.text))
                .help(format!("write `({}, BITS)`, or `c_string[N]` for a string", sent.text));
            diagnostics.push(diagnostic);
            None
        }
        None => Some(ty),
    }
}

fn wire_of(name: &Ident, diagnostics: &mut Diagnostics) -> Option<Wire> {
    if name.text.eq_ignore_ascii_case("polymorphic") {
        return Some(Wire::Polymorphic);
    }
    let known = name.text.get(14..).and_then(wire_name);
    if known.is_none() {
        let mut diagnostic = Diagnostic::error(name.span, format!("unknown transmission type `{}`", name.text));
        if name.text.ends_with("_PORT_OWNERSHIP") {
            diagnostic = diagnostic.help("Mach 3 has no ownership of ports apart from the receive right");
        }
        let all = WIRE_NAMES.iter().map(|w| w.name);
        let short = name.text.get(14..).unwrap_or("").to_ascii_uppercase();
        if let Some(near) = nearest(&short, all) {
            diagnostic = diagnostic.help(format!("did you mean `MACH_MSG_TYPE_{near}`?"));
        }
        diagnostics.push(diagnostic);
    }
    known.map(Wire::Known)
}

/// The form with a size: strings keep it in the type word, other data becomes a number of units.
fn sized(ty: Type, name: &str, bits: u32, at: Span, diagnostics: &mut Diagnostics) -> Option<Type> {
    let unit = if ty.bits == 0 { 8 } else { ty.bits };
    if !bits.is_multiple_of(unit) {
        let message = format!("{bits} bits are no whole number of units of {unit} bits");
        diagnostics.push(Diagnostic::error(at, message));
        return None;
    }
    if name.starts_with("STRING") {
        let count = Count::Fixed(bits / 8);
        return Some(Type { bits, bytes: 1, align: 1, count, string: true, by_value: false, ..ty });
    }
    if ty.sent.is_right() {
        return Some(ty);
    }
    let (units, bytes) = (bits / unit, bits / 8);
    let one = Element { name: String::new(), form: Form::Unit { wire: ty.sent, bits: unit, signed: true } };
    let part = if units == 1 { one } else { one.repeated(units) };
    Some(Type { bits: unit, units, bytes, align: unit / 8, part, ..ty })
}

fn c_string(span: Span, varying: bool, size: &Expr, diagnostics: &mut Diagnostics) -> Option<Type> {
    let n = numbers::in_range(size, 1, u64::from(u32::MAX), "the size of the string", diagnostics)?;
    fits(span, n, diagnostics)?;
    let mut ty = scalar(wire_name("STRING_C")?, span);
    (ty.bits, ty.bytes, ty.align) = (8, 1, 1);
    (ty.string, ty.by_value) = (true, false);
    ty.count = if varying { Count::UpTo(n as u32) } else { Count::Fixed(n as u32) };
    Some(ty)
}

/// The type as an element: a fixed array becomes one element of that many units.
fn as_element(ty: &Type, span: Span) -> Type {
    let count = if let Count::Fixed(n) = ty.count { n } else { 1 };
    let element = if ty.name.is_empty() { ty.element.clone() } else { ty.message_type.clone() };
    let (bits, units) = if ty.string { (8, count) } else { (ty.bits, ty.units * count) };
    let element_named = ty.element_named || !ty.name.is_empty();
    let part = if let Count::Fixed(n) = ty.count { ty.part.clone().repeated(n) } else { ty.part.clone() };
    Type { bits, units, bytes: ty.bytes * count, element, element_named, part, count: Count::One, ..Type { span, ..ty.clone() } }
}

fn repeated(span: Span, element: &Type, count: u64, diagnostics: &mut Diagnostics) -> Option<Type> {
    let one = as_element(element, span);
    if one.sent.is_right() {
        let diagnostic = Diagnostic::error(span, "a structure can't hold rights: they would not be translated")
            .help("pass each right as an argument, or use `array[N] of`");
        diagnostics.push(diagnostic);
        return None;
    }
    fits(span, u64::from(one.bytes) * count, diagnostics)?;
    let count = count as u32;
    let part = one.part.clone().repeated(count);
    Some(Type { units: one.units * count, bytes: one.bytes * count, part, ..one })
}

fn check_field(field: &Field, ty: &Type, diagnostics: &mut Diagnostics) -> bool {
    let message = if ty.varies() {
        "a field can't vary in length"
    } else if !ty.inline {
        "a field can't be out of line"
    } else if ty.sent.is_right() {
        "a structure can't hold rights: they would not be translated"
    } else {
        return true;
    };
    let diagnostic = Diagnostic::error(field.ty.span, message).related(ty.span, format!("`{}` is defined here", field.ty.text));
    diagnostics.push(diagnostic);
    false
}

/// A structure, laid out as the C compiler does. Its units are integers as wide as its alignment.
fn laid_out(span: Span, fields: &[Field], members: &[Type], diagnostics: &mut Diagnostics) -> Option<Type> {
    let (mut size, mut align) = (0u64, 1u64);
    let mut parts = Vec::new();
    for (field, member) in fields.iter().zip(members) {
        let own = u64::from(member.align);
        align = align.max(own);
        size = size.next_multiple_of(own);
        let element = as_element(member, span).part;
        parts.push(Member { name: field.name.text.clone(), offset: size as u32, element });
        size += member.total_bytes();
        fits(span, size, diagnostics)?;
    }
    size = size.next_multiple_of(align);
    let (name, bits) = match align {
        2 => ("INTEGER_16", 16),
        4 => ("INTEGER_32", 32),
        8 => ("INTEGER_64", 64),
        _ => ("BYTE", 8),
    };
    let wire = Wire::Known(wire_name(name)?);
    let units = (size * 8 / u64::from(bits)) as u32;
    let ty = blank(wire, wire, bits, size as u32, "char", span);
    let part = Element { name: String::new(), form: Form::Fields(parts) };
    Some(Type { units, align: align as u32, part, ..ty })
}

/// Options: the C types and the conversions.
fn apply(ty: &mut Type, options: &[TypeOption], diagnostics: &mut Diagnostics) {
    for option in options {
        match &option.kind {
            OptionKind::CType(c) => {
                (ty.user_type, ty.server_type, ty.message_type) = (c.clone(), c.clone(), c.clone());
                if ty.count == Count::One && ty.inline {
                    ty.element = c.clone();
                    ty.part.set_sign(c);
                }
            }
            OptionKind::CUserType(c) => ty.user_type = c.clone(),
            OptionKind::CServerType(c) => (ty.server_type, ty.message_type) = (c.clone(), c.clone()),
            _ => {}
        }
    }
    for option in options {
        convert(ty, option, diagnostics);
    }
}

fn convert(ty: &mut Type, option: &TypeOption, diagnostics: &mut Diagnostics) {
    match &option.kind {
        OptionKind::InTran { to, function, from } => {
            ty.in_tran = Some(Conversion { function: function.clone(), to: to.clone(), from: from.clone() });
            (ty.server_type, ty.message_type) = (to.clone(), from.clone());
        }
        OptionKind::OutTran { to, function, from } => {
            ty.out_tran = Some(Conversion { function: function.clone(), to: to.clone(), from: from.clone() });
            (ty.server_type, ty.message_type) = (from.clone(), to.clone());
        }
        OptionKind::InTranPayload { to, function } => {
            let from = "rpc_uintptr_t".to_owned();
            ty.payload_tran = Some(Conversion { function: function.clone(), to: to.clone(), from });
        }
        OptionKind::Destructor { function, of } => {
            ty.destructor = Some(function.clone());
            let _ = of;
        }
        OptionKind::Foreign(_) => {
            let message = "this option belongs to Darwin's untyped dialect and has no effect";
            diagnostics.push(Diagnostic::warning(option.span, message));
            return;
        }
        _ => return,
    }
    let (converts, whole) = (ty.by_value && ty.inline, matches!(option.kind, OptionKind::Destructor { .. }));
    if !converts && !whole {
        let message = "only a number, a structure or a port can be converted, not an array or out-of-line data";
        diagnostics.push(Diagnostic::error(option.span, message));
    }
}
