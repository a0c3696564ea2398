//! Messages as C structures, and the constant type words.

use super::view::Side;
use super::writer::Writer;
use crate::layout::{Item, Message, inline_elements};
use crate::model::{Arg, Count, Dealloc, Routine, Type, Wire};

/// Which message of a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From the user to the server.
    Request,
    /// Back.
    Reply,
}

impl Kind {
    /// The C name of the structure of a part.
    pub fn structure(self, part: usize) -> String {
        let name = if self == Kind::Request { "`Request" } else { "`Reply" };
        if part == 0 { name.to_owned() } else { format!("{name}{part}") }
    }

    /// The C name of the pointer to a part. The server's request is `In0P`, as in other compilers' stubs.
    pub fn pointer(self, part: usize, side: Side) -> String {
        match (self, part, side) {
            (Kind::Request, 0, Side::User) => "`InP".to_owned(),
            (Kind::Request, n, _) => format!("`In{n}P"),
            (Kind::Reply, 0, _) => "`OutP".to_owned(),
            (Kind::Reply, n, _) => format!("`Out{n}P"),
        }
    }
}

/// Defines the structures of a message's parts.
pub fn structures(w: &mut Writer, routine: &Routine, message: &Message, kind: Kind, side: Side) {
    for (index, part) in message.parts.iter().enumerate() {
        w.block("typedef struct", &format!(" {};", kind.structure(index)), |w| {
            if index == 0 {
                w.line("mach_msg_header_t Head;");
            }
            for item in &part.items {
                members(w, routine, *item, side);
            }
        });
    }
}

fn members(w: &mut Writer, routine: &Routine, item: Item, side: Side) {
    match item {
        Item::RetCode => {
            w.lines(["mach_msg_type_t RetCodeType;", "kern_return_t RetCode;", "char RetCodePad[4];"]);
        }
        Item::Room(index) => {
            let name = &routine.args[index].name;
            w.line(format!("mach_msg_type_t {name}CntType;"));
            w.line(format!("__extension__ union {{ mach_msg_type_number_t {name}Cnt; uint64_t {name}CntWide; }};"));
        }
        Item::Data(index) => {
            let arg = &routine.args[index];
            w.line(format!("mach_msg_type_t {}Type;", arg.name));
            if is_wide(&arg.ty) {
                let c_type = side.message_type(&arg.ty);
                w.line(format!("__extension__ union {{ {c_type} {0}; uint64_t {0}Wide; }};", arg.name));
                return;
            }
            w.line(data_member(arg, side));
            if let Some(pad) = padding(&arg.ty) {
                w.line(format!("char {}Pad[{pad}];", arg.name));
            }
        }
    }
}

fn data_member(arg: &Arg, side: Side) -> String {
    let (name, ty) = (&arg.name, &arg.ty);
    let element = if ty.sent.is_right() { "uint64_t" } else { &ty.element };
    if !ty.inline {
        return format!("{} {name};", side.message_type(ty));
    }
    match ty.count {
        Count::One => format!("{} {name};", side.message_type(ty)),
        Count::Fixed(n) | Count::UpTo(n) => format!("{element} {name}[{n}];"),
        Count::Unlimited => {
            let n = inline_elements(ty);
            format!("union {{ {element} data[{n}]; {} address; }} {name};", side.message_type(ty))
        }
    }
}

/// Whether the data is one number or port of 4 bytes. Its member is a union with the whole 8 bytes, which are written
/// at once.
pub fn is_wide(ty: &Type) -> bool {
    ty.inline && ty.count == Count::One && ty.bytes == 4
}

/// Bytes between the end of fixed data and the next item.
pub fn padding(ty: &Type) -> Option<u32> {
    if !ty.inline || ty.varies() || is_wide(ty) {
        return None;
    }
    let bytes = inline_elements(ty) * ty.wire_bytes();
    let pad = bytes.next_multiple_of(8) - bytes;
    (pad > 0).then_some(pad)
}

/// The constant with the type word of an argument. An InOut argument has one for each way.
pub fn type_word(arg: &Arg, kind: Kind) -> String {
    let way = if kind == Kind::Reply && arg.in_request() { "Reply" } else { "" };
    format!("{}{way}Type", arg.name)
}

/// The same for an array without a limit that is out of line.
pub fn outside_type_word(arg: &Arg, kind: Kind) -> String {
    let way = if kind == Kind::Reply && arg.in_request() { "Reply" } else { "" };
    format!("{}{way}OutOfLineType", arg.name)
}

/// Defines the type words of a message as constants.
pub fn templates(w: &mut Writer, routine: &Routine, message: &Message, kind: Kind, side: Side) {
    for item in message.parts.iter().flat_map(|p| &p.items) {
        match item {
            Item::RetCode => {}
            Item::Room(index) => {
                let name = format!("{}CntType", routine.args[*index].name);
                w.line(template(&name, "MACH_MSG_TYPE_INTEGER_32", 32, true, false, Some(1), false));
            }
            Item::Data(index) => data_templates(w, &routine.args[*index], kind, side),
        }
    }
}

fn data_templates(w: &mut Writer, arg: &Arg, kind: Kind, side: Side) {
    let ty = &arg.ty;
    let sends = (kind == Kind::Request) == (side == Side::User);
    let name = match side.wire(arg, sends) {
        Wire::Known(name) => name.c_macro(),
        Wire::Polymorphic => "0".to_owned(),
    };
    let number = match ty.count {
        Count::One => Some(ty.units),
        // A string of the older form is one unit as large as itself.
        Count::Fixed(_) if ty.string && ty.bits != 8 => Some(1),
        Count::Fixed(n) => Some(n * ty.units),
        Count::UpTo(_) | Count::Unlimited => None,
    };
    let frees = sends && arg.dealloc == Dealloc::Yes;
    w.line(template(&type_word(arg, kind), &name, ty.bits, ty.inline, ty.is_long(), number, frees && !ty.inline));
    if ty.inline && ty.count == Count::Unlimited {
        let bits = if ty.sent.is_right() { 32 } else { ty.bits };
        w.line(template(&outside_type_word(arg, kind), &name, bits, false, ty.is_long(), None, frees));
    }
}

fn template(variable: &str, name: &str, bits: u32, inline: bool, long: bool, number: Option<u32>, deallocate: bool) -> String {
    let mut fields = vec![format!(".msgt_name = {name}"), format!(".msgt_size = {bits}")];
    if inline {
        fields.push(".msgt_inline = TRUE".to_owned());
    }
    if long {
        fields.push(".msgt_longform = TRUE".to_owned());
    }
    if deallocate {
        fields.push(".msgt_deallocate = TRUE".to_owned());
    }
    if let Some(number) = number {
        fields.push(format!(".msgt_number = {number}"));
    }
    format!("static const mach_msg_type_t {variable} = {{ {} }};", fields.join(", "))
}
