//! The user's side of a request: limits, header, items.

use super::checks::{sent_count, times};
use super::helpers::Helper;
use super::messages::{Kind, is_wide};
use super::text::is_integer;
use super::user::Stub;
use super::view::Side;
use super::writer::Writer;
use crate::layout::{Complex, Item, inline_elements, is_varying};
use crate::model::{Arg, Count, Dealloc, Wire};

/// The locals that packing needs.
pub fn locals(stub: &Stub<'_>) -> Vec<String> {
    let parts = 1..stub.request.parts.len();
    let mut locals: Vec<_> =
        parts.map(|i| format!("{} *{};", Kind::Request.structure(i), Kind::Request.pointer(i, Side::User))).collect();
    for arg in stub.routine.args.iter().filter(|a| a.in_request() && is_varying(&a.ty)) {
        locals.push(format!("mach_msg_size_t {}Size;", arg.name));
    }
    locals
}

/// Refuses arrays that are too long, before anything is done.
pub fn limits(w: &mut Writer, stub: &Stub<'_>) {
    let mut conditions = Vec::new();
    for arg in stub.routine.args.iter().filter(|a| a.in_request() && a.ty.varies() && !a.ty.string) {
        let most = match arg.ty.count {
            Count::UpTo(n) => n.to_string(),
            _ if arg.ty.units > 1 => format!("UINT32_MAX / {}", arg.ty.units),
            _ => continue,
        };
        conditions.push(format!("{} > {most}", sent_count(stub.routine, arg)));
    }
    w.guard(&conditions, &["return MIG_ARRAY_TOO_LARGE;".to_owned()]);
    if !conditions.is_empty() {
        w.gap();
    }
}

/// The C expression of the message's size.
pub fn size(stub: &Stub<'_>) -> String {
    let mut terms = vec![stub.request.least().to_string()];
    let varying = stub.routine.args.iter().filter(|a| a.in_request() && is_varying(&a.ty));
    terms.extend(varying.map(|a| format!("{}Size", a.name)));
    terms.join(" + ")
}

/// Writes the message.
pub fn pack(w: &mut Writer, stub: &Stub<'_>) {
    header(w, stub);
    for (index, part) in stub.request.parts.iter().enumerate() {
        let pointer = Kind::Request.pointer(index, Side::User);
        for item in &part.items {
            match item {
                Item::Data(arg) => {
                    let arg = &stub.routine.args[*arg];
                    data(w, stub, arg, &pointer);
                    if is_varying(&arg.ty) && index + 1 < stub.request.parts.len() {
                        next_part(w, arg, index, &pointer);
                    }
                }
                Item::Room(arg) => {
                    let name = &stub.routine.args[*arg].name;
                    w.line(format!("{pointer}->{name}CntType = {name}CntType;"));
                    // More than the array can have is no use to the server.
                    let most = inline_elements(&stub.routine.args[*arg].ty);
                    w.line(format!("{pointer}->{name}CntWide = *{name}Cnt < {most} ? *{name}Cnt : {most};"));
                }
                Item::RetCode => {}
            }
        }
    }
    reply_port(w, stub);
}

fn next_part(w: &mut Writer, arg: &Arg, index: usize, pointer: &str) {
    let (here, next) = (Kind::Request.structure(index), Kind::Request.structure(index + 1));
    let target = Kind::Request.pointer(index + 1, Side::User);
    let at = format!("(char *) {pointer} + offsetof({here}, {0}) + {0}Size", arg.name);
    w.line(format!("{target} = ({next} *) (void *) ({at});"));
}

fn disposition(arg: &Arg) -> String {
    match arg.ty.sent {
        Wire::Known(name) => name.c_macro(),
        Wire::Polymorphic => format!("{}Poly", arg.name),
    }
}

fn header(w: &mut Writer, stub: &Stub<'_>) {
    let routine = stub.routine;
    let request = &routine.args[routine.request_port];
    let reply_bits = match stub.own_reply_port() {
        Some(arg) => disposition(arg),
        None if routine.one_way => "0".to_owned(),
        None => "MACH_MSG_TYPE_MAKE_SEND_ONCE".to_owned(),
    };
    let complex = if stub.request.complex == Complex::Yes { "MACH_MSGH_BITS_COMPLEX | " } else { "" };
    w.line(format!("`InP->Head.msgh_bits = {complex}MACH_MSGH_BITS({}, {reply_bits});", disposition(request)));
    // The sizes that vary are known only later; mach_msg goes by its argument.
    w.line(format!("`InP->Head.msgh_size = {};", stub.request.least()));
    w.line(format!("`InP->Head.msgh_remote_slot = {};", request.name));
    w.line("`InP->Head.msgh_seqno = 0;");
    w.line(format!("`InP->Head.msgh_id = {};", routine.id));
}

/// The reply port comes last: until it is got, nothing of the message has to be kept in registers.
fn reply_port(w: &mut Writer, stub: &Stub<'_>) {
    w.gap();
    let reply = match stub.own_reply_port() {
        Some(arg) => arg.name.clone(),
        None if stub.routine.one_way => "MACH_PORT_NULL".to_owned(),
        None => {
            w.line(format!("`mig_reply_port = {}();", stub.support("mig_get_reply_port")));
            "`mig_reply_port".to_owned()
        }
    };
    w.line(format!("`InP->Head.msgh_protected_payload = {reply};"));
}

/// The C expression of an argument's value: InOut arguments are passed by reference.
fn value(arg: &Arg) -> String {
    if super::view::by_reference(arg) { format!("*{}", arg.name) } else { arg.name.clone() }
}

fn data(w: &mut Writer, stub: &Stub<'_>, arg: &Arg, pointer: &str) {
    let (name, ty) = (&arg.name, &arg.ty);
    w.gap();
    if ty.inline && ty.count == Count::Unlimited {
        unlimited(w, stub, arg, pointer);
        return;
    }
    w.line(format!("{pointer}->{name}Type = {name}Type;"));
    if ty.sent == Wire::Polymorphic {
        let poly = if arg.in_reply() { format!("*{name}Poly") } else { format!("{name}Poly") };
        w.line(format!("{pointer}->{name}Type.msgt_name = {poly} & 0xff;"));
    }
    if !ty.inline {
        out_of_line(w, stub, arg, pointer);
        return;
    }
    match ty.count {
        Count::One if is_wide(ty) && is_integer(&ty.user_type) => {
            w.line(format!("{pointer}->{name}Wide = (uint32_t) {};", value(arg)));
        }
        Count::One => {
            if is_wide(ty) {
                w.line(format!("{pointer}->{name}Wide = 0;"));
            }
            w.line(format!("{pointer}->{name} = {};", value(arg)));
        }
        Count::Fixed(n) if ty.string => {
            w.line(format!("{}({pointer}->{name}, {name}, {n});", stub.support("mig_strncpy_zerofill")))
        }
        Count::Fixed(n) if ty.sent.is_right() => {
            let widen = w.call(Helper::Widen);
            w.line(format!("{widen}({pointer}->{name}, {name}, {n});"));
        }
        Count::Fixed(n) => w.line(format!("memcpy({pointer}->{name}, {name}, {});", n * ty.bytes)),
        Count::UpTo(n) if ty.string => string(w, stub, name, n, pointer),
        Count::UpTo(_) | Count::Unlimited => {
            let count = sent_count(stub.routine, arg);
            w.line(format!("{pointer}->{name}Type.msgt_number = {};", times(&count, ty.units)));
            elements(w, arg, &count, &format!("{pointer}->{name}"), name);
        }
    }
    if let Some(pad) = super::messages::padding(ty) {
        w.line(format!("memset({pointer}->{name}Pad, 0, {pad});"));
    }
}

fn string(w: &mut Writer, stub: &Stub<'_>, name: &str, size: u32, pointer: &str) {
    let (copy, clear) = (stub.support("mig_strncpy"), w.call(Helper::Clear));
    w.line(format!("{name}Size = (mach_msg_size_t) {copy}({pointer}->{name}, {name}, {size}) + 1;"));
    w.line(format!("{pointer}->{name}Type.msgt_number = {name}Size;"));
    w.line(format!("{name}Size = {clear}({pointer}->{name}, {name}Size);"));
}

/// Copies the elements of an array that varies, and sets its size.
fn elements(w: &mut Writer, arg: &Arg, count: &str, to: &str, from: &str) {
    let (name, ty) = (&arg.name, &arg.ty);
    let bytes = times(count, ty.wire_bytes());
    if ty.sent.is_right() {
        let widen = w.call(Helper::Widen);
        w.line(format!("{widen}({to}, {from}, {count});"));
    } else {
        // Without elements there may be no array.
        w.line(format!("if ({count} != 0)"));
        w.line(format!("\tmemcpy({to}, {from}, {bytes});"));
    }
    if ty.wire_bytes() % 8 == 0 {
        w.line(format!("{name}Size = {bytes};"));
    } else {
        let clear = w.call(Helper::Clear);
        w.line(format!("{name}Size = {clear}({to}, {bytes});"));
    }
}

fn out_of_line(w: &mut Writer, stub: &Stub<'_>, arg: &Arg, pointer: &str) {
    let (name, ty) = (&arg.name, &arg.ty);
    if ty.varies() {
        let count = sent_count(stub.routine, arg);
        w.line(format!("{pointer}->{name}Type.msgt_number = {};", times(&count, ty.units)));
    }
    if arg.dealloc == Dealloc::Runtime {
        w.line(format!("{pointer}->{name}Type.msgt_deallocate = {name}Dealloc ? 1 : 0;"));
    }
    w.line(format!("{pointer}->{name} = {};", value(arg)));
}

/// An array without a limit: in the message if it is short.
fn unlimited(w: &mut Writer, stub: &Stub<'_>, arg: &Arg, pointer: &str) {
    let (name, ty) = (&arg.name, &arg.ty);
    let count = sent_count(stub.routine, arg);
    let most = inline_elements(ty);
    let source = format!("(const void *) (uintptr_t) {}", value(arg));
    let bytes = times(&count, ty.bytes);
    let free = format!("{}((vm_address_t) {}, {bytes});", stub.support("mig_deallocate"), value(arg));
    w.either(
        &format!("{count} <= {most}"),
        |w| {
            w.line(format!("{pointer}->{name}Type = {name}Type;"));
            elements(w, arg, &count, &format!("{pointer}->{name}.data"), &source);
            // The data has been copied: what was to leave this task has left it.
            match arg.dealloc {
                Dealloc::No => {}
                Dealloc::Yes => w.line(free),
                Dealloc::Runtime => w.guard(&[format!("{name}Dealloc")], &[free]),
            }
        },
        |w| {
            w.line(format!("{pointer}->{name}Type = {name}OutOfLineType;"));
            if arg.dealloc == Dealloc::Runtime {
                w.line(format!("{pointer}->{name}Type.msgt_deallocate = {name}Dealloc ? 1 : 0;"));
            }
            w.line(format!("{pointer}->{name}.address = {};", value(arg)));
            w.line(format!("{name}Size = 8;"));
            w.line("`InP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;");
        },
    );
    if ty.sent == Wire::Polymorphic {
        let poly = if arg.in_reply() { format!("*{name}Poly") } else { format!("{name}Poly") };
        w.line(format!("{pointer}->{name}Type.msgt_name = {poly} & 0xff;"));
    }
    w.line(format!("{pointer}->{name}Type.msgt_number = {};", times(&count, ty.units)));
}
