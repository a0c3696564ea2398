//! Pieces of C that both sides write.

use super::super::helpers::Helper;
use super::super::view::Side;
use super::super::writer::Writer;
use super::layout::{Data, Kind, Message, bytes, padded};
use crate::model::{Arg, Wire};

/// The structure of a message, under a name.
pub fn structure(w: &mut Writer, message: &Message<'_>, side: Side, name: &str) {
    w.block("typedef struct", &format!(" {name};"), |w| w.lines(message.members(side)));
}

/// The structures of a side's request and reply.
pub fn structures(w: &mut Writer, side: Side, request: &Message<'_>, reply: Option<&Message<'_>>) {
    w.line("#pragma pack(push, 4)");
    structure(w, request, side, "`Request");
    if let Some(reply) = reply {
        structure(w, reply, side, "`Reply");
    }
    w.line("#pragma pack(pop)");
}

/// Clears what fills up the data of a member, which has that length; `before` takes the length with it.
pub fn clear(w: &mut Writer, before: &str, to: &str, name: &str, length: &str) {
    let clear = w.call(Helper::ClearWords);
    w.line(format!("{before} {clear}({to}->{name}, {length});"));
}

/// How a right is passed: a macro, or the variable that says it.
pub fn disposition(arg: &Arg, wire: Wire) -> String {
    match wire {
        Wire::Known(name) => name.c_macro(),
        Wire::Polymorphic => format!("{}Poly", arg.name),
    }
}

/// What a right arrives as; None if it may be any.
pub fn received(wire: Wire) -> Option<String> {
    match wire {
        Wire::Known(name) => name.right.map(|right| format!("MACH_MSG_TYPE_{right}")),
        Wire::Polymorphic => None,
    }
}

/// Fills a descriptor in: of a right with that name, passed as is said, or of what is at that address, with so many elements.
pub fn describe(w: &mut Writer, to: &str, arg: &Arg, kind: Kind, [what, how, count, deallocate]: [&str; 4]) {
    let to = format!("{to}->{}", arg.name);
    match kind {
        Kind::Port => {
            w.line(format!("{to}.name = {what};"));
            w.line(format!("{to}.pad1 = 0;"));
            w.line(format!("{to}.pad2 = 0;"));
            w.line(format!("{to}.disposition = ({how}) & 0xff;"));
            w.line(format!("{to}.type = MACH_MSG_PORT_DESCRIPTOR;"));
        }
        Kind::Memory | Kind::Rights => {
            w.line(format!("{to}.address = (void *) (uintptr_t) {what};"));
            w.line(format!("{to}.deallocate = {deallocate} ? 1 : 0;"));
            w.line(format!("{to}.copy = MACH_MSG_VIRTUAL_COPY;"));
            if kind == Kind::Rights {
                w.line(format!("{to}.disposition = ({how}) & 0xff;"));
                w.line(format!("{to}.type = MACH_MSG_OOL_PORTS_DESCRIPTOR;"));
                w.line(format!("{to}.count = {count};"));
            } else {
                w.line(format!("{to}.pad1 = 0;"));
                w.line(format!("{to}.type = MACH_MSG_OOL_DESCRIPTOR;"));
                w.line(format!("{to}.size = {};", times(count, arg.ty.bytes)));
            }
        }
    }
}

/// So many elements in bytes.
pub fn times(count: &str, each: u32) -> String {
    match count.parse::<u64>() {
        Ok(count) => format!("{}u", count * u64::from(each)),
        Err(_) if each == 1 => format!("(mach_msg_size_t) {count}"),
        Err(_) => format!("(mach_msg_size_t) {count} * {each}u"),
    }
}

/// The conditions under which a received message's descriptors are not those of the interface.
pub fn wrong_descriptors(message: &Message<'_>, from: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if message.is_complex() {
        wrong.push(format!("{from}->msgh_body.msgh_descriptor_count != {}", message.descriptors.len()));
    }
    for (arg, kind) in &message.descriptors {
        let at = format!("{from}->{}", arg.name);
        let name = match kind {
            Kind::Port => "PORT",
            Kind::Memory => "OOL",
            Kind::Rights => "OOL_PORTS",
        };
        wrong.push(format!("{at}.type != MACH_MSG_{name}_DESCRIPTOR"));
        if let (Kind::Port | Kind::Rights, Some(right)) = (kind, received(arg.ty.received)) {
            let null = if *kind == Kind::Port { format!("{at}.name != MACH_PORT_NULL && ") } else { String::new() };
            wrong.push(format!("({null}{at}.disposition != {right})"));
        }
        if let crate::model::Count::Fixed(n) = arg.ty.count {
            wrong.push(match kind {
                Kind::Rights => format!("{at}.count != {n}"),
                _ => format!("{at}.size != {}u", u64::from(n) * u64::from(arg.ty.bytes)),
            });
        }
    }
    wrong
}

/// The conditions under which a received message's header is not the interface's.
pub fn wrong_header(message: &Message<'_>, from: &str) -> Vec<String> {
    let complex = format!("MACH_MSGH_BITS_IS_COMPLEX({from}->Head.msgh_bits)");
    let length = match message.varying().next() {
        None => format!("{from}->Head.msgh_size != {}", message.most()),
        Some(_) => format!("{from}->Head.msgh_size < {}", message.least()),
    };
    vec![if message.is_complex() { format!("!{complex}") } else { complex }, length]
}

/// Checks the lengths and counts of a received message's data, without moving: `at` is a pointer that does move. What is wrong leads to
/// `fail`. The count of each array is in a local that `count` names.
pub fn data(w: &mut Writer, message: &Message<'_>, pointers: [&str; 3], count: impl Fn(&Arg) -> String, fail: &[String]) {
    let [head, at, left] = pointers;
    if message.varying().next().is_none() {
        counts(w, message, head, &count, fail);
        return;
    }
    w.line(format!("{left} = {head}->Head.msgh_size - {};", message.least()));
    // Where lengths are used again, too.
    let round = w.call(Helper::RoundWords);
    let moves = message.moves();
    if moves {
        w.line(format!("{at} = {head};"));
    }
    let mut from = head;
    for (arg, data) in &message.data {
        let (name, ty) = (&arg.name, &arg.ty);
        if matches!(data, Data::Varying | Data::Text) {
            let most = bytes(ty);
            let length = times(&format!("{from}->{name}Cnt"), if *data == Data::Text { 1 } else { ty.bytes });
            let mut wrong = vec![format!("{from}->{name}Cnt > {}", if *data == Data::Text { most } else { most / ty.bytes })];
            wrong.push(format!("{round}({length}) > {left}"));
            if *data == Data::Text {
                wrong.push(format!("memchr({from}->{name}, 0, {from}->{name}Cnt) == NULL"));
            }
            w.guard(&wrong, fail);
            note(w, arg, from, &count, fail);
            w.line(format!("{left} -= {round}({length});"));
            if moves && !std::ptr::eq(*arg, message.data[message.data.len() - 1].0) {
                let full = padded(most);
                w.line(format!("{at} = (void *) ((char *) {at} - {full} + {round}({length}));"));
                from = at;
            }
        } else {
            one_count(w, arg, *data, from, &count, fail);
        }
    }
    w.guard(&[format!("{left} != 0")], fail);
}

fn counts(w: &mut Writer, message: &Message<'_>, from: &str, count: &impl Fn(&Arg) -> String, fail: &[String]) {
    for (arg, data) in &message.data {
        one_count(w, arg, *data, from, count, fail);
    }
}

/// The count of what is out of line is the one of its descriptor.
fn one_count(w: &mut Writer, arg: &Arg, data: Data, from: &str, count: &impl Fn(&Arg) -> String, fail: &[String]) {
    if data != Data::Count {
        return;
    }
    note(w, arg, from, count, fail);
}

/// Keeps an array's count, or compares it with the one that it shares.
fn note(w: &mut Writer, arg: &Arg, from: &str, count: &impl Fn(&Arg) -> String, fail: &[String]) {
    let value = format!("{from}->{}Cnt", arg.name);
    if arg.ty.string {
        return;
    }
    match arg.same_count {
        None => w.line(format!("{} = {value};", count(arg))),
        Some(_) => w.guard(&[format!("{value} != {}", count(arg))], fail),
    }
}

/// The conditions under which the counts of what is out of line differ from those of the descriptors.
pub fn wrong_counts(message: &Message<'_>, head: &str, count: impl Fn(&Arg) -> String) -> Vec<String> {
    let far = message.descriptors.iter().filter(|(arg, _)| arg.ty.varies());
    far.map(|(arg, kind)| match kind {
        Kind::Rights => format!("{head}->{}.count != {}", arg.name, count(arg)),
        _ => format!("{head}->{}.size != (uint64_t) {} * {}u", arg.name, count(arg), arg.ty.bytes),
    })
    .collect()
}
