//! The user's side of a reply: all checks, then the copies to the caller.

use super::checks::{received_count, times};
use super::helpers::Helper;
use super::messages::Kind;
use super::user::Stub;
use super::view::{Side, count_name, has_count};
use super::writer::Writer;
use crate::layout::Item;
use crate::model::{Arg, Count, Dealloc, Wire};

fn outputs<'a>(stub: &Stub<'a>) -> Vec<(&'a Arg, String)> {
    let mut list = Vec::new();
    for (index, part) in stub.reply.parts.iter().enumerate() {
        for item in &part.items {
            if let Item::Data(arg) = item {
                list.push((&stub.routine.args[*arg], Kind::Reply.pointer(index, Side::User)));
            }
        }
    }
    list
}

fn is_unlimited(arg: &Arg) -> bool {
    arg.ty.inline && arg.ty.count == Count::Unlimited
}

/// Whether the caller's array went away with the request.
fn gave_room(arg: &Arg) -> bool {
    arg.in_request() && arg.dealloc != Dealloc::No
}

/// The locals beside those of the checks.
pub fn locals(stub: &Stub<'_>) -> Vec<String> {
    let unlimited = outputs(stub).into_iter().filter(|(arg, _)| is_unlimited(arg));
    unlimited.map(|(arg, _)| format!("vm_address_t {}Memory = 0;", arg.name)).collect()
}

/// Checks the reply and takes it apart.
pub fn reply(w: &mut Writer, stub: &Stub<'_>) {
    let id = stub.routine.id + 100;
    let received = stub.received(w);
    let (differs, code) = (w.call(Helper::Differs), w.call(Helper::CodeType));
    let fault = w.call(Helper::Fault);
    w.gap();
    let mut conditions = vec![format!("`OutP->Head.msgh_id != {id}")];
    conditions.extend(received.header_conditions());
    conditions.push(format!("{differs}(&`OutP->RetCodeType, &{code}, 0)"));
    conditions.push("`OutP->RetCode != KERN_SUCCESS".to_owned());
    w.guard(&conditions, &stub.leave(&format!("{fault}(&`OutP->Head, {id})")));
    received.body(w);
    room(w, stub);
    memory(w, stub);
    if stub.reply.parts.iter().any(|p| p.items.len() > 1) || stub.reply.parts.len() > 1 {
        w.gap();
    }
    for (arg, pointer) in outputs(stub) {
        take(w, stub, arg, &pointer);
    }
}

/// Refuses arrays for which the caller has no room.
fn room(w: &mut Writer, stub: &Stub<'_>) {
    let limited = outputs(stub).into_iter().filter(|(a, _)| a.count_in_out && !is_unlimited(a) || a.overwrite);
    let conditions: Vec<_> =
        limited.map(|(a, _)| format!("{} > *{}", received_count(a), count_name(&stub.routine.args, a))).collect();
    if !conditions.is_empty() {
        let reject = w.call(Helper::Reject);
        w.guard(&conditions, &stub.leave(&format!("{reject}(&`OutP->Head, MIG_ARRAY_TOO_LARGE)")));
    }
}

/// Gets memory for arrays that came in the message and for which the caller has no room.
fn memory(w: &mut Writer, stub: &Stub<'_>) {
    let mut earlier: Vec<String> = Vec::new();
    for (arg, pointer) in outputs(stub).into_iter().filter(|(arg, _)| is_unlimited(arg)) {
        let name = &arg.name;
        let count = received_count(arg);
        let bytes = times(&count, arg.ty.bytes);
        let reject = w.call(Helper::Reject);
        let owner = count_name(&stub.routine.args, arg);
        // What was given away with the request has no room any more.
        let no_room = if gave_room(arg) { format!("{count} != 0") } else { format!("{count} > *{owner}") };
        w.block(&format!("if ({pointer}->{name}Type.msgt_inline && {no_room})"), "", |w| {
            w.line(format!("{}(&{name}Memory, {bytes});", stub.support("mig_allocate")));
            w.block(&format!("if ({name}Memory == 0)"), "", |w| {
                w.lines(&earlier);
                w.lines(stub.leave(&format!("{reject}(&`OutP->Head, KERN_RESOURCE_SHORTAGE)")));
            });
        });
        let free = stub.support("mig_deallocate");
        earlier.push(format!("if ({name}Memory != 0)"));
        earlier.push(format!("\t{free}({name}Memory, {bytes});"));
    }
}

fn take(w: &mut Writer, stub: &Stub<'_>, arg: &Arg, pointer: &str) {
    let (name, ty) = (&arg.name, &arg.ty);
    if ty.received == Wire::Polymorphic {
        w.line(format!("*{name}Poly = {pointer}->{name}Type.msgt_name;"));
    }
    if is_unlimited(arg) {
        unlimited(w, arg, pointer);
    } else if arg.overwrite {
        overwrite(w, stub, arg, pointer);
    } else if !ty.inline || ty.count == Count::One {
        w.line(format!("*{name} = {pointer}->{name};"));
    } else if ty.string {
        let length = format!("strlen({pointer}->{name}) + 1");
        w.line(format!("memcpy({name}, {pointer}->{name}, {length});"));
    } else {
        let count = if let Count::Fixed(n) = ty.count { n.to_string() } else { received_count(arg) };
        copy(w, arg, name, &format!("{pointer}->{name}"), &count);
    }
    if has_count(arg) {
        w.line(format!("*{name}Cnt = {};", received_count(arg)));
    }
}

fn copy(w: &mut Writer, arg: &Arg, to: &str, from: &str, count: &str) {
    if arg.ty.sent.is_right() {
        let narrow = w.call(Helper::Narrow);
        w.line(format!("{narrow}({to}, {from}, {count});"));
    } else {
        let bytes = match count.parse::<u32>() {
            Ok(n) => (n * arg.ty.bytes).to_string(),
            Err(_) => {
                // Without elements there may be no array.
                w.line(format!("if ({count} != 0)"));
                w.line(format!("\tmemcpy({to}, {from}, {});", times(count, arg.ty.bytes)));
                return;
            }
        };
        w.line(format!("memcpy({to}, {from}, {bytes});"));
    }
}

fn unlimited(w: &mut Writer, arg: &Arg, pointer: &str) {
    let name = &arg.name;
    let c_type = &arg.ty.user_type;
    w.either(
        &format!("{pointer}->{name}Type.msgt_inline"),
        |w| {
            if gave_room(arg) {
                w.line(format!("*{name} = ({c_type}) {name}Memory;"));
            } else {
                w.line(format!("if ({name}Memory != 0)"));
                w.line(format!("\t*{name} = ({c_type}) {name}Memory;"));
            }
            let to = format!("(void *) (uintptr_t) *{name}");
            copy(w, arg, &to, &format!("{pointer}->{name}.data"), &received_count(arg));
        },
        |w| w.line(format!("*{name} = {pointer}->{name}.address;")),
    );
}

/// Out-of-line data that goes to the caller's own memory.
fn overwrite(w: &mut Writer, stub: &Stub<'_>, arg: &Arg, pointer: &str) {
    let name = &arg.name;
    let bytes = times(&received_count(arg), arg.ty.bytes);
    w.line(format!("if ({} != 0)", received_count(arg)));
    w.line(format!("\tmemcpy((void *) (uintptr_t) *{name}, (const void *) (uintptr_t) {pointer}->{name}, {bytes});"));
    w.line(format!("{}((vm_address_t) {pointer}->{name}, {bytes});", stub.support("mig_deallocate")));
}
