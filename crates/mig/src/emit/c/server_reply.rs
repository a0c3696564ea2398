//! The server's side of a reply. It is built where it will be sent from: the routine writes into it.

use super::checks::{received_count, times};
use super::helpers::Helper;
use super::messages::{Kind, is_wide, outside_type_word, padding, type_word};
use super::server::{Stub, convert, is_unlimited, local_value};
use super::view::{Side, has_count};
use super::writer::Writer;
use crate::layout::{Complex, Item, inline_elements, is_varying};
use crate::model::{Arg, Count, Dealloc, Role, Wire};

/// Whether the routine writes the argument to a local: because it is converted, or because the stub must see what became of it.
pub fn has_out_local(arg: &Arg) -> bool {
    arg.in_reply() && (arg.ty.out_tran.is_some() || (arg.in_request() && arg.ty.in_tran.is_some()) || is_unlimited(&arg.ty))
}

/// Whether the routine says the kind of right that it gives.
pub fn has_poly_local(arg: &Arg) -> bool {
    arg.in_reply() && (arg.ty.sent == Wire::Polymorphic || (arg.in_request() && arg.ty.received == Wire::Polymorphic))
}

/// The locals beside those of the checks.
pub fn locals(stub: &Stub<'_>) -> Vec<String> {
    let mut locals = Vec::new();
    for arg in &stub.routine.args {
        let unlimited_in = arg.in_request() && is_unlimited(&arg.ty);
        if has_out_local(arg) || local_value(stub, arg).is_some() || unlimited_in {
            locals.push(format!("{} {}Arg;", arg.ty.server_type, arg.name));
        }
    }
    if stub.routine.one_way {
        return locals;
    }
    for index in 1..stub.reply.parts.len() {
        locals.push(format!("{} *{};", Kind::Reply.structure(index), Kind::Reply.pointer(index, Side::Server)));
    }
    for (arg, _) in stub.outputs() {
        if has_poly_local(arg) {
            locals.push(format!("mach_msg_type_name_t {}Poly = MACH_MSG_TYPE_COPY_SEND;", arg.name));
        }
        if arg.ty.varies() && !arg.ty.string {
            locals.push(format!("mach_msg_type_number_t {};", received_count(arg)));
        }
        if arg.dealloc == Dealloc::Runtime {
            locals.push(format!("boolean_t {}Dealloc = FALSE;", arg.name));
        }
        if is_varying(&arg.ty) {
            locals.push(format!("mach_msg_size_t {}Size;", arg.name));
        }
    }
    if stub.reply.parts.len() > 1 {
        locals.push("mach_msg_size_t `mig_at;".to_owned());
    }
    locals
}

/// What the routine will find: converted arguments, packed arrays of rights, InOut values in the reply.
pub fn prepare(w: &mut Writer, stub: &Stub<'_>) {
    w.gap();
    for arg in stub.routine.args.iter().filter(|a| Side::Server.has(a)) {
        if let Some(value) = local_value(stub, arg) {
            w.line(format!("{}Arg = {value};", arg.name));
        }
    }
    for (arg, pointer) in stub.inputs() {
        if !arg.in_reply() {
            input(w, arg, &pointer);
        }
    }
    for index in 1..if stub.routine.one_way { 1 } else { stub.reply.parts.len() } {
        let (structure, part) = (Kind::Reply.structure(index), &stub.reply.parts[index]);
        let pointer = Kind::Reply.pointer(index, Side::Server);
        w.line(format!("{pointer} = ({structure} *) (void *) ((char *) `OutHeadP + {});", part.offset));
    }
    for (arg, pointer) in stub.outputs() {
        if !is_unlimited(&arg.ty) {
            w.line(format!("{pointer}->{}Type = {};", arg.name, type_word(arg, Kind::Reply)));
        }
        if arg.in_request() {
            in_out(w, stub, arg, &pointer);
        } else {
            out(w, stub, arg, &pointer);
        }
    }
}

fn input(w: &mut Writer, arg: &Arg, pointer: &str) {
    let (name, ty) = (&arg.name, &arg.ty);
    let rights = ty.sent.is_right() && ty.inline && ty.count != Count::One;
    if is_unlimited(ty) {
        let c_type = &ty.server_type;
        let data = if rights {
            let narrow = w.call(Helper::Narrow);
            format!("{narrow}({pointer}->{name}.data, {pointer}->{name}.data, {})", received_count(arg))
        } else {
            format!("{pointer}->{name}.data")
        };
        w.line(format!("{name}Arg = {pointer}->{name}Type.msgt_inline"));
        w.line(format!("\t? ({c_type}) (uintptr_t) {data}"));
        w.line(format!("\t: ({c_type}) (uintptr_t) {pointer}->{name}.address;"));
    } else if rights {
        let narrow = w.call(Helper::Narrow);
        let count = if let Count::Fixed(n) = ty.count { n.to_string() } else { received_count(arg) };
        w.line(format!("{narrow}({pointer}->{name}, {pointer}->{name}, {count});"));
    }
}

/// The value of an InOut argument goes where the routine will change it.
fn in_out(w: &mut Writer, stub: &Stub<'_>, arg: &Arg, to: &str) {
    let (name, ty) = (&arg.name, &arg.ty);
    let from = stub.pointer_in(arg);
    if has_poly_local(arg) {
        w.line(format!("{name}Poly = {from}->{name}Type.msgt_name;"));
    }
    if is_unlimited(ty) {
        unlimited_in_out(w, arg, &from, to);
        return;
    }
    if has_out_local(arg) {
        if ty.in_tran.is_none() {
            w.line(format!("{name}Arg = {};", convert(arg, &format!("{from}->{name}"))));
        }
        return;
    }
    if !ty.inline || ty.by_value {
        if is_wide(ty) {
            w.line(format!("{to}->{name}Wide = 0;"));
        }
        w.line(format!("{to}->{name} = {from}->{name};"));
        return;
    }
    let count = if let Count::Fixed(n) = ty.count { n.to_string() } else { received_count(arg) };
    if ty.sent.is_right() {
        let narrow = w.call(Helper::Narrow);
        w.line(format!("{narrow}({to}->{name}, {from}->{name}, {count});"));
    } else {
        let bytes = count.parse::<u32>().map_or_else(|_| times(&count, ty.bytes), |n| (n * ty.bytes).to_string());
        w.line(format!("memcpy({to}->{name}, {from}->{name}, {bytes});"));
    }
}

/// An array that came in the message is copied to where the routine may change it; one that came out of line is there already.
fn unlimited_in_out(w: &mut Writer, arg: &Arg, from: &str, to: &str) {
    let (name, ty) = (&arg.name, &arg.ty);
    let count = received_count(arg);
    let copy = if ty.sent.is_right() {
        let narrow = w.call(Helper::Narrow);
        format!("{narrow}({to}->{name}.data, {from}->{name}.data, {count});")
    } else {
        format!("memcpy({to}->{name}.data, {from}->{name}.data, {});", times(&count, ty.bytes))
    };
    w.either(
        &format!("{from}->{name}Type.msgt_inline"),
        |w| {
            w.line(copy);
            w.line(format!("{name}Arg = ({}) (uintptr_t) {to}->{name}.data;", ty.server_type));
        },
        |w| w.line(format!("{name}Arg = {from}->{name}.address;")),
    );
}

/// An Out argument begins empty, so that nothing of an earlier message can leave with it.
fn out(w: &mut Writer, stub: &Stub<'_>, arg: &Arg, pointer: &str) {
    let (name, ty) = (&arg.name, &arg.ty);
    if ty.varies() && !ty.string {
        let count = received_count(arg);
        let most = inline_elements(ty);
        if arg.count_in_out {
            let request = room_pointer(stub, arg);
            w.line(format!("{count} = {request}->{name}Cnt < {most} ? {request}->{name}Cnt : {most};"));
        } else if ty.inline {
            w.line(format!("{count} = {most};"));
        } else {
            w.line(format!("{count} = 0;"));
        }
    }
    if is_unlimited(ty) {
        w.line(format!("{name}Arg = ({}) (uintptr_t) {pointer}->{name}.data;", ty.server_type));
    } else if has_out_local(arg) {
        w.line(format!("memset(&{name}Arg, 0, sizeof {name}Arg);"));
    } else if is_wide(ty) {
        w.line(format!("{pointer}->{name}Wide = 0;"));
    } else if !ty.inline || ty.by_value {
        w.line(format!("memset(&{pointer}->{name}, 0, sizeof {pointer}->{name});"));
    } else if ty.string {
        w.line(format!("{pointer}->{name}[0] = '\\0';"));
    } else if let Count::Fixed(_) = ty.count {
        w.line(format!("memset({pointer}->{name}, 0, sizeof {pointer}->{name});"));
    }
}

fn room_pointer(stub: &Stub<'_>, arg: &Arg) -> String {
    let is = |item: &Item| matches!(item, Item::Room(i) if stub.routine.args[*i].name == arg.name);
    let part = stub.request.parts.iter().position(|p| p.items.iter().any(is)).unwrap_or(0);
    Kind::Request.pointer(part, Side::Server)
}

/// What the stub took for the routine goes again: conversions, and memory and rights that the routine did not see.
pub fn release(w: &mut Writer, stub: &Stub<'_>) {
    let mut on_success = Vec::new();
    let mut on_failure = Vec::new();
    for arg in stub.routine.args.iter().filter(|a| Side::Server.has(a)) {
        destroy(w, stub, arg);
        let pointer = stub.pointer_in(arg);
        if arg.in_request() && !arg.in_reply() {
            consumed(stub, arg, &pointer, &mut on_success);
            restored(w, arg, &pointer, &mut on_failure);
        } else if arg.in_request() && is_unlimited(&arg.ty) {
            replaced(stub, arg, &pointer, &mut on_success);
        }
    }
    let success = "`OutP->RetCode == KERN_SUCCESS || `OutP->RetCode == MIG_NO_REPLY";
    if !on_success.is_empty() {
        w.block(&format!("if ({success})"), "", |w| w.lines(&on_success));
    }
    if !on_failure.is_empty() {
        // The request will be destroyed: its rights must lie where its type words say.
        w.block("if (`OutP->RetCode != KERN_SUCCESS)", "", |w| w.lines(&on_failure));
    }
}

fn destroy(w: &mut Writer, stub: &Stub<'_>, arg: &Arg) {
    let Some(destructor) = &arg.ty.destructor else { return };
    if matches!(arg.role, Role::Data { request: false, .. }) || arg.in_reply() {
        return;
    }
    let value = if local_value(stub, arg).is_some() {
        format!("{}Arg", arg.name)
    } else {
        match arg.role {
            Role::RequestPort => "`In0P->Head.msgh_local_port".to_owned(),
            Role::ReplyPort { .. } => "`In0P->Head.msgh_remote_port".to_owned(),
            _ => format!("{}->{}", stub.pointer_in(arg), arg.name),
        }
    };
    w.line(format!("{destructor}({value});"));
}

/// Rights that the routine saw only converted, and memory that it can't tell from data in the message.
fn consumed(stub: &Stub<'_>, arg: &Arg, pointer: &str, statements: &mut Vec<String>) {
    let (name, ty) = (&arg.name, &arg.ty);
    if ty.is_port() && ty.in_tran.is_some() {
        let receive = matches!(ty.received, Wire::Known(name) if name.code == 16);
        statements.push(format!("if (MACH_PORT_VALID({pointer}->{name}))"));
        let port = format!("mach_task_self(), {pointer}->{name}");
        statements.push(if receive {
            format!("\t(void) mach_port_mod_refs({port}, MACH_PORT_RIGHT_RECEIVE, -1);")
        } else {
            format!("\t(void) mach_port_deallocate({port});")
        });
        return;
    }
    let bytes = times(&received_count(arg), ty.bytes);
    let free = stub.support("mig_deallocate");
    if is_unlimited(ty) && !arg.server_copy {
        statements.push(format!("if (!{pointer}->{name}Type.msgt_inline)"));
        statements.push(format!("\t{free}((vm_address_t) {pointer}->{name}.address, {bytes});"));
    } else if !ty.inline && arg.auto {
        let bytes = if ty.varies() { bytes } else { (u64::from(ty.bytes) * u64::from(inline_elements(ty))).to_string() };
        statements.push(format!("{free}((vm_address_t) {pointer}->{name}, {bytes});"));
    }
}

/// Memory of an InOut array that would have gone back with the reply.
fn returned(stub: &Stub<'_>, arg: &Arg, statements: &mut Vec<String>) {
    let (name, from) = (&arg.name, stub.pointer_in(arg));
    let units = if arg.ty.units == 1 { String::new() } else { format!(" / {}", arg.ty.units) };
    let bytes = times(&format!("{from}->{name}Type.msgt_number{units}"), arg.ty.bytes);
    let free = stub.support("mig_deallocate");
    statements.insert(1, format!("if (!{from}->{name}Type.msgt_inline && {name}Arg == {from}->{name}.address)"));
    statements.insert(2, format!("\t{free}((vm_address_t) {name}Arg, {bytes});"));
}

/// Memory of an InOut array for which the routine gave other memory.
fn replaced(stub: &Stub<'_>, arg: &Arg, pointer: &str, statements: &mut Vec<String>) {
    let (name, ty) = (&arg.name, &arg.ty);
    let units = if ty.units == 1 { String::new() } else { format!(" / {}", ty.units) };
    let bytes = times(&format!("{pointer}->{name}Type.msgt_number{units}"), ty.bytes);
    let free = stub.support("mig_deallocate");
    statements.push(format!("if (!{pointer}->{name}Type.msgt_inline && {name}Arg != {pointer}->{name}.address)"));
    statements.push(format!("\t{free}((vm_address_t) {pointer}->{name}.address, {bytes});"));
}

fn restored(w: &mut Writer, arg: &Arg, pointer: &str, statements: &mut Vec<String>) {
    let (name, ty) = (&arg.name, &arg.ty);
    if !ty.sent.is_right() || !ty.inline || ty.count == Count::One {
        return;
    }
    let widen = w.call(Helper::Widen);
    if is_unlimited(ty) {
        let data = format!("{pointer}->{name}.data");
        statements.push(format!("if ({pointer}->{name}Type.msgt_inline)"));
        statements.push(format!("\t{widen}({data}, {data}, {});", received_count(arg)));
    } else {
        let count = if let Count::Fixed(n) = ty.count { n.to_string() } else { received_count(arg) };
        statements.push(format!("{widen}({pointer}->{name}, {pointer}->{name}, {count});"));
    }
}

/// Completes the reply around what the routine wrote.
pub fn build(w: &mut Writer, stub: &Stub<'_>) {
    let outputs = stub.outputs();
    if outputs.is_empty() {
        return;
    }
    w.guard(&["`OutP->RetCode != KERN_SUCCESS".to_owned()], &["return;".to_owned()]);
    limits(w, stub);
    w.gap();
    let bits = match stub.reply.complex {
        Complex::Yes => Some("`OutP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;"),
        _ => None,
    };
    w.lines(bits);
    for (arg, pointer) in &outputs {
        item(w, stub, arg, pointer);
    }
    sizes(w, stub);
}

/// Arrays that are longer than the routine was allowed to make them do not leave the server.
fn limits(w: &mut Writer, stub: &Stub<'_>) {
    let mut conditions = Vec::new();
    for (arg, pointer) in stub.outputs() {
        let count = received_count(arg);
        match arg.ty.count {
            Count::UpTo(n) if !arg.ty.string => conditions.push(format!("{count} > {n}")),
            Count::Unlimited if arg.ty.inline => {
                let name = &arg.name;
                let inside = format!("(uintptr_t) {name}Arg == (uintptr_t) {pointer}->{name}.data");
                conditions.push(format!("({inside} && {count} > {})", inline_elements(&arg.ty)));
            }
            _ => {}
        }
    }
    let mut statements = vec!["`OutP->RetCode = MIG_ARRAY_TOO_LARGE;".to_owned(), "return;".to_owned()];
    if stub.request.complex != Complex::No {
        // The routine succeeded, so what was in the request is its own: the caller must not destroy it.
        let clear = "`In0P->Head.msgh_bits &= ~(mach_msg_bits_t) MACH_MSGH_BITS_COMPLEX;";
        statements.insert(0, clear.to_owned());
        for (arg, _) in stub.outputs().iter().filter(|(a, _)| a.in_request() && is_unlimited(&a.ty)) {
            returned(stub, arg, &mut statements);
        }
    }
    w.guard(&conditions, &statements);
}

fn item(w: &mut Writer, stub: &Stub<'_>, arg: &Arg, pointer: &str) {
    let (name, ty) = (&arg.name, &arg.ty);
    if is_unlimited(ty) {
        unlimited(w, stub, arg, pointer);
        return;
    }
    polymorphic(w, arg, pointer);
    if arg.dealloc == Dealloc::Runtime {
        w.line(format!("{pointer}->{name}Type.msgt_deallocate = {name}Dealloc ? 1 : 0;"));
    }
    if has_out_local(arg) {
        let value = ty.out_tran.as_ref().map_or(format!("{name}Arg"), |t| format!("{}({name}Arg)", t.function));
        if is_wide(ty) {
            w.line(format!("{pointer}->{name}Wide = 0;"));
        }
        w.line(format!("{pointer}->{name} = {value};"));
    }
    if ty.string && ty.inline {
        string(w, arg, pointer);
    } else if ty.sent.is_right() && ty.inline && ty.count != Count::One {
        let widen = w.call(Helper::Widen);
        let count = if let Count::Fixed(n) = ty.count { n.to_string() } else { received_count(arg) };
        w.line(format!("{widen}({pointer}->{name}, {pointer}->{name}, {count});"));
    }
    if ty.varies() && !ty.string {
        let count = owner_count(stub, arg);
        w.line(format!("{pointer}->{name}Type.msgt_number = {};", times(&count, ty.units)));
        if is_varying(ty) {
            tail(w, arg, pointer, &count);
        }
    }
    if let Some(pad) = padding(ty) {
        w.line(format!("memset({pointer}->{name}Pad, 0, {pad});"));
    }
}

/// The count of an array, or of the array that it shares its count with.
fn owner_count(stub: &Stub<'_>, arg: &Arg) -> String {
    let owner = arg.same_count.and_then(|i| stub.routine.args.get(i)).unwrap_or(arg);
    debug_assert!(has_count(owner));
    received_count(owner)
}

fn polymorphic(w: &mut Writer, arg: &Arg, pointer: &str) {
    if arg.ty.sent == Wire::Polymorphic {
        w.line(format!("{pointer}->{0}Type.msgt_name = {0}Poly & 0xff;", arg.name));
    }
}

/// Ends the string, whatever the routine wrote, and clears what is behind it.
fn string(w: &mut Writer, arg: &Arg, pointer: &str) {
    let (name, ty) = (&arg.name, &arg.ty);
    let size = inline_elements(ty);
    let field = format!("{pointer}->{name}");
    w.line(format!("{field}[{}] = '\\0';", size - 1));
    if !ty.varies() {
        w.line(format!("memset({field} + strlen({field}), 0, {size} - strlen({field}));"));
        return;
    }
    let clear = w.call(Helper::Clear);
    w.line(format!("{name}Size = (mach_msg_size_t) strlen({field}) + 1;"));
    w.line(format!("{field}Type.msgt_number = {name}Size;"));
    w.line(format!("{name}Size = {clear}({field}, {name}Size);"));
}

fn tail(w: &mut Writer, arg: &Arg, pointer: &str, count: &str) {
    let (name, ty) = (&arg.name, &arg.ty);
    let bytes = times(count, ty.wire_bytes());
    if ty.wire_bytes() % 8 == 0 {
        w.line(format!("{name}Size = {bytes};"));
    } else {
        let clear = w.call(Helper::Clear);
        w.line(format!("{name}Size = {clear}({pointer}->{name}, {bytes});"));
    }
}

/// An array without a limit is in the message if the routine left it where it was put.
fn unlimited(w: &mut Writer, stub: &Stub<'_>, arg: &Arg, pointer: &str) {
    let (name, ty) = (&arg.name, &arg.ty);
    let count = owner_count(stub, arg);
    let inside = format!("(uintptr_t) {name}Arg == (uintptr_t) {pointer}->{name}.data");
    w.either(
        &inside,
        |w| {
            w.line(format!("{pointer}->{name}Type = {};", type_word(arg, Kind::Reply)));
            let data = format!("{pointer}->{name}.data");
            if ty.sent.is_right() {
                let widen = w.call(Helper::Widen);
                w.line(format!("{widen}({data}, {data}, {count});"));
            }
            if ty.wire_bytes() % 8 == 0 {
                w.line(format!("{name}Size = {};", times(&count, ty.wire_bytes())));
            } else {
                let clear = w.call(Helper::Clear);
                w.line(format!("{name}Size = {clear}({data}, {});", times(&count, ty.wire_bytes())));
            }
        },
        |w| {
            w.line(format!("{pointer}->{name}Type = {};", outside_type_word(arg, Kind::Reply)));
            if arg.dealloc == Dealloc::Runtime {
                w.line(format!("{pointer}->{name}Type.msgt_deallocate = {name}Dealloc ? 1 : 0;"));
            }
            if arg.in_request() {
                // The memory that came with the request goes back with the reply.
                let from = stub.pointer_in(arg);
                w.line(format!("if (!{from}->{name}Type.msgt_inline && {name}Arg == {from}->{name}.address)"));
                w.line(format!("\t{pointer}->{name}Type.msgt_deallocate = TRUE;"));
            }
            w.line(format!("{pointer}->{name}.address = {name}Arg;"));
            w.line(format!("{name}Size = 8;"));
            w.line("`OutP->Head.msgh_bits |= MACH_MSGH_BITS_COMPLEX;");
        },
    );
    polymorphic(w, arg, pointer);
    w.line(format!("{pointer}->{name}Type.msgt_number = {};", times(&count, ty.units)));
}

/// Closes the gaps that arrays shorter than their limit left, and sets the message's size.
fn sizes(w: &mut Writer, stub: &Stub<'_>) {
    let parts = &stub.reply.parts;
    let tail_of = |index: usize| {
        let last = parts[index].items.last();
        last.and_then(|item| match item {
            Item::Data(arg) if parts[index].tail > 0 => Some(format!(" + {}Size", stub.routine.args[*arg].name)),
            _ => None,
        })
    };
    let tail = |index: usize| tail_of(index).unwrap_or_default();
    if parts.len() == 1 {
        w.line(format!("`OutP->Head.msgh_size = {}{};", parts[0].fixed, tail(0)));
        return;
    }
    w.line(format!("`mig_at = {}{};", parts[0].fixed, tail(0)));
    for (index, part) in parts.iter().enumerate().skip(1) {
        let pointer = Kind::Reply.pointer(index, Side::Server);
        w.line(format!("memmove((char *) `OutHeadP + `mig_at, {pointer}, {}{});", part.fixed, tail(index)));
        w.line(format!("`mig_at += {}{};", part.fixed, tail(index)));
    }
    w.line("`OutP->Head.msgh_size = `mig_at;");
}
