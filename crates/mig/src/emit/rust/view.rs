//! How Rust sees arguments: types, and the calls that write and read them.

use super::types;
use crate::layout::inline_elements;
use crate::model::{Arg, Count, Dealloc, Role, Type, Wire};

/// Which form of a string a type is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    Varying,
    Fixed,
    Unit,
}

/// What an argument is in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A value or an array of fixed length.
    Value,
    /// One out of line.
    FarValue,
    /// An array of at most so many elements.
    List(u32),
    /// An array without a limit, with so many elements in the message at most.
    Array(u32),
    /// At most so many elements out of line; `u32::MAX` without a limit.
    Memory(u32),
    /// Just so many out of line.
    Block(u32),
    /// A string in a field of that size.
    Text(Text, u32),
    /// A right, in the message or out of line.
    Right(bool),
    /// Just so many rights, in the message or out of line.
    RightBlock(u32, bool),
    /// At most so many rights, in the message or out of line.
    Rights(u32, bool),
    /// Rights without a limit, with so many in the message at most.
    RightArray(u32),
}

/// What the type is in a message.
pub fn what(ty: &Type) -> What {
    let (right, far) = (ty.sent.is_right(), !ty.inline);
    match ty.count {
        Count::One if right => What::Right(far),
        Count::Fixed(n) if right => What::RightBlock(n, far),
        Count::UpTo(n) if right => What::Rights(n, far),
        Count::Unlimited if right && far => What::Rights(u32::MAX, true),
        Count::Unlimited if right => What::RightArray(inline_elements(ty)),
        Count::Fixed(n) if ty.string && !far => What::Text(if ty.bits == 8 { Text::Fixed } else { Text::Unit }, n),
        Count::UpTo(n) if ty.string && !far => What::Text(Text::Varying, n),
        Count::One if far => What::FarValue,
        Count::One => What::Value,
        Count::Fixed(n) if far => What::Block(n),
        Count::Fixed(_) => What::Value,
        Count::UpTo(n) if far => What::Memory(n),
        Count::UpTo(n) => What::List(n),
        Count::Unlimited if far => What::Memory(u32::MAX),
        Count::Unlimited => What::Array(inline_elements(ty)),
    }
}

/// The kind of right that is received, as a type; `None` if the message says it.
pub fn received_right(ty: &Type) -> Option<&'static str> {
    match ty.received {
        Wire::Known(name) if name.code == 16 => Some("mig::ReceiveRight"),
        Wire::Known(name) if name.code == 18 => Some("mig::SendOnceRight"),
        Wire::Known(_) => Some("mig::SendRight"),
        Wire::Polymorphic => None,
    }
}

/// How a sender passes a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing {
    /// `mig::COPY_SEND` and its kin.
    pub disposition: &'static str,
    /// The type of the right.
    pub right: &'static str,
    /// Whether the caller keeps it.
    pub lent: bool,
}

/// How the caller passes a right; `None` if it says so at run time.
pub fn passing(ty: &Type) -> Option<Passing> {
    let given = |disposition, right| Some(Passing { disposition, right, lent: false });
    let lent = |disposition, right| Some(Passing { disposition, right, lent: true });
    match ty.sent {
        Wire::Known(name) => match name.code {
            16 => given("mig::MOVE_RECEIVE", "mig::ReceiveRight"),
            17 => given("mig::MOVE_SEND", "mig::SendRight"),
            18 => given("mig::MOVE_SEND_ONCE", "mig::SendOnceRight"),
            19 => lent("mig::COPY_SEND", "mig::SendRight"),
            20 => lent("mig::MAKE_SEND", "mig::ReceiveRight"),
            _ => lent("mig::MAKE_SEND_ONCE", "mig::ReceiveRight"),
        },
        Wire::Polymorphic => moved(ty),
    }
}

/// How a right that was received is passed on: by moving it.
pub fn moved(ty: &Type) -> Option<Passing> {
    let disposition = match received_right(ty)? {
        "mig::ReceiveRight" => "mig::MOVE_RECEIVE",
        "mig::SendOnceRight" => "mig::MOVE_SEND_ONCE",
        _ => "mig::MOVE_SEND",
    };
    Some(Passing { disposition, right: received_right(ty)?, lent: false })
}

impl Passing {
    /// The type of a parameter for one right, or none.
    pub fn option(self) -> String {
        format!("Option<{}{}>", if self.lent { "&" } else { "" }, self.right)
    }
}

/// `[T; N]`, or `T`.
fn value(ty: &Type) -> String {
    let element = types::of(ty);
    if let Count::Fixed(n) = ty.count { format!("[{element}; {n}]") } else { element }
}

/// The type of the caller's parameter for data that goes in.
pub fn given_type(arg: &Arg) -> String {
    let ty = &arg.ty;
    let element = types::of(ty);
    match what(ty) {
        What::Value | What::FarValue if types::is_number(ty) && ty.count == Count::One => element,
        What::Value | What::FarValue => format!("&{}", value(ty)),
        What::List(_) => format!("&[{element}]"),
        What::Array(_) | What::Memory(_) | What::Block(_) if arg.dealloc == Dealloc::Yes => {
            format!("impl Into<mig::Array<{element}>>")
        }
        What::Array(_) | What::Memory(_) | What::Block(_) if arg.dealloc == Dealloc::Runtime => {
            format!("impl Into<mig::Lend<'a, {element}>>")
        }
        What::Array(_) | What::Memory(_) => format!("&[{element}]"),
        What::Block(n) => format!("&[{element}; {n}]"),
        What::Text(..) => "&CStr".to_owned(),
        rights => match (passing(ty), rights) {
            (None, _) => "impl Into<mig::Carry<'a>>".to_owned(),
            (Some(p), What::Right(_)) => p.option(),
            (Some(p), What::RightBlock(n, _)) if p.lent => format!("&[{}; {n}]", p.option()),
            (Some(p), What::RightBlock(n, _)) => format!("[{}; {n}]", p.option()),
            (Some(p), _) if p.lent => format!("&[{}]", p.option()),
            (Some(p), _) => format!("Vec<{}>", p.option()),
        },
    }
}

/// The type of data that was received, and of what a server's routine gives back.
pub fn received_type(ty: &Type) -> String {
    let element = types::of(ty);
    match what(ty) {
        What::Value => types::kept(ty, &value(ty)),
        What::FarValue => value(ty),
        What::List(_) => format!("Vec<{element}>"),
        What::Array(_) | What::Memory(_) | What::Block(_) => format!("mig::Array<{element}>"),
        What::Text(..) => "CString".to_owned(),
        rights => match (received_right(ty), rights) {
            (None, _) => "mig::AnyRight".to_owned(),
            (Some(right), What::Right(_)) => format!("Option<{right}>"),
            (Some(right), What::RightBlock(n, _)) => format!("[Option<{right}>; {n}]"),
            (Some(right), _) => format!("Vec<Option<{right}>>"),
        },
    }
}

/// The name of the constant with the transmission type.
pub fn kind_name(wire: Wire) -> &'static str {
    match wire {
        Wire::Known(name) => match name.name {
            "STRING_C" => "STRING",
            "REAL" => "REAL_32",
            other => other,
        },
        Wire::Polymorphic => "PORT_NAME",
    }
}

/// The constant with the transmission type of an argument's elements, or of the whole if their number is fixed.
fn kind(ty: &Type, wire: Wire) -> String {
    let name = kind_name(wire);
    let whole = ty.inline && !ty.varies();
    let units = if let (Count::Fixed(n), true) = (ty.count, whole) { n * ty.units } else { ty.units };
    let times = if units == 1 { String::new() } else { format!(".times({units})") };
    let long = if ty.is_long() { ".long()" } else { "" };
    format!("mig::{name}{times}{long}")
}

/// The method that writes or reads an argument, and its arguments before the value.
fn method(ty: &Type, wire: Wire) -> (&'static str, Vec<String>) {
    let kind = || kind(ty, wire);
    let limited = |n: u32| if n == u32::MAX { "u32::MAX".to_owned() } else { n.to_string() };
    match what(ty) {
        What::Value => ("value", vec![kind()]),
        What::FarValue => ("far_value", vec![kind()]),
        What::List(n) => ("list", vec![kind(), n.to_string()]),
        What::Array(n) => ("array", vec![kind(), n.to_string()]),
        What::Memory(n) => ("memory", vec![kind(), limited(n)]),
        What::Block(n) => ("block", vec![kind(), n.to_string()]),
        What::Text(Text::Varying, n) => ("string", vec![n.to_string()]),
        What::Text(Text::Fixed, n) => ("fixed_string", vec![n.to_string()]),
        What::Text(Text::Unit, n) => ("unit_string", vec![n.to_string()]),
        What::Right(false) => ("right", vec![]),
        What::Right(true) => ("far_right", vec![]),
        What::RightBlock(n, false) => ("rights", vec![n.to_string()]),
        What::RightBlock(n, true) => ("far_rights", vec![n.to_string()]),
        What::Rights(n, false) => ("rights", vec![n.to_string()]),
        What::Rights(n, true) => ("far_rights", vec![limited(n)]),
        What::RightArray(n) => ("right_array", vec![n.to_string()]),
    }
}

/// The call that writes an argument: the method, and its arguments. `passing` is how a right is passed.
pub fn write(ty: &Type, passing: Option<Passing>, value: &str) -> (&'static str, Vec<String>) {
    let (name, mut arguments) = method(ty, ty.sent);
    if ty.sent.is_right() {
        let Some(passing) = passing else { return ("any_right", vec![value.to_owned()]) };
        arguments.insert(0, passing.disposition.to_owned());
        if what(ty) == What::Right(true) {
            arguments.extend(["1".to_owned(), format!("[{value}]")]);
            return ("far_rights", arguments);
        }
    }
    arguments.push(value.to_owned());
    (name, arguments)
}

/// The call that reads an argument: the method, and its arguments.
pub fn read(ty: &Type) -> (&'static str, Vec<String>) {
    if ty.sent.is_right() {
        match (what(ty), received_right(ty)) {
            (_, None) => return ("any_right", vec![]),
            (What::RightBlock(_, false), _) => return ("right_block", vec![]),
            (What::RightBlock(_, true), _) => return ("far_right_block", vec![]),
            _ => {}
        }
    }
    method(ty, ty.received)
}

/// Whether the value is written by a reference to it.
pub fn by_reference(ty: &Type) -> bool {
    matches!(what(ty), What::Value | What::FarValue | What::List(_) | What::Text(..))
}

/// Whether the argument is the server's way to answer later.
pub fn is_later(arg: &Arg, one_way: bool) -> bool {
    !one_way && matches!(arg.role, Role::ReplyPort { server: true, .. })
}
