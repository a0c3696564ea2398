//! The user's side of a request.

use super::super::user::{self, Dialect};
use super::super::view::{Side, count_name};
use super::super::writer::Writer;
use super::layout::{Data, Kind, Message, bytes, is_far, padded};
use super::{Darwin, fields, trailer, user_receive};
use crate::layout::inline_elements;
use crate::model::{Arg, Count, Dealloc, Routine, Wire};

pub type Stub<'a> = user::Stub<'a, Darwin>;

impl Dialect for Darwin {
    type Message<'a> = Message<'a>;
    const INCLUDES: &'static str =
        "#include <mach/message.h>\n#include <mach/mig.h>\n#include <mach/ndr.h>\n#include <mach/notify.h>\n";
    const JUMPS: bool = true;

    fn messages(routine: &Routine) -> [Message<'_>; 2] {
        [Message::request(routine), Message::reply(routine)]
    }

    fn most(message: &Message<'_>) -> u32 {
        message.most()
    }

    /// The reply may be one with an error, too, and has a trailer.
    fn room(stub: &Stub<'_>) -> (u32, String) {
        let part = trailer::largest(stub.routine, Side::User);
        let options = part.map_or(String::new(), |part| {
            let elements = format!("MACH_RCV_TRAILER_ELEMENTS(MACH_RCV_TRAILER_{})", part.element);
            format!(" | MACH_RCV_TRAILER_TYPE(MACH_MSG_TRAILER_FORMAT_0) | {elements}")
        });
        (stub.reply.most().max(36) + part.map_or(8, |part| part.size), options)
    }

    fn types(w: &mut Writer, stub: &Stub<'_>) {
        fields::structures(w, Side::User, &stub.request, (!stub.routine.one_way).then_some(&stub.reply));
    }

    fn members(stub: &Stub<'_>) -> Vec<String> {
        if stub.routine.one_way {
            return Vec::new();
        }
        vec!["mig_reply_error_t Error;".to_owned(), format!("char Room[{}];", Self::room(stub).0)]
    }

    fn locals(_: &mut Writer, stub: &Stub<'_>) -> Vec<String> {
        let mut locals = Vec::new();
        locals.extend(stub.request.moves().then(|| "`Request *`InV;".to_owned()));
        if stub.request.varying().next().is_some() {
            locals.push(format!("mach_msg_size_t `mig_size = {}, `mig_length;", stub.request.least()));
        }
        if !stub.routine.one_way {
            locals.extend(user_receive::locals(stub));
            locals.extend(stub.reply_port());
        }
        locals.push("kern_return_t `msg_result;".to_owned());
        locals
    }

    fn limits(w: &mut Writer, stub: &Stub<'_>) {
        limits(w, stub);
    }

    fn pack(w: &mut Writer, stub: &Stub<'_>) {
        pack(w, stub);
    }

    fn size(stub: &Stub<'_>) -> String {
        if stub.request.varying().next().is_some() { "`mig_size".to_owned() } else { stub.request.most().to_string() }
    }

    fn unpack(w: &mut Writer, stub: &Stub<'_>) {
        user_receive::reply(w, stub);
    }
}

/// Arrays that are too long for their message are not sent.
fn limits(w: &mut Writer, stub: &Stub<'_>) {
    for (arg, data) in &stub.request.data {
        if *data == Data::Varying {
            let too_long = format!("{} > {}", count_name(&stub.routine.args, arg), inline_elements(&arg.ty));
            let value = if arg.in_reply() { format!("*{too_long}") } else { too_long };
            w.guard(&[value], &["return MIG_ARRAY_TOO_LARGE;".to_owned()]);
        }
    }
}

/// The number of elements that the caller has.
fn count_of(stub: &Stub<'_>, arg: &Arg) -> String {
    match arg.ty.count {
        Count::Fixed(n) => n.to_string(),
        _ if arg.in_reply() => format!("*{}", count_name(&stub.routine.args, arg)),
        _ => count_name(&stub.routine.args, arg),
    }
}

fn pack(w: &mut Writer, stub: &Stub<'_>) {
    let routine = stub.routine;
    let message = &stub.request;
    if message.is_complex() {
        w.line(format!("`InP->msgh_body.msgh_descriptor_count = {};", message.descriptors.len()));
    }
    for (arg, kind) in &message.descriptors {
        let value = if arg.in_reply() { format!("*{}", arg.name) } else { arg.name.clone() };
        let count = if *kind == Kind::Port { String::new() } else { count_of(stub, arg) };
        let deallocate = match arg.dealloc {
            Dealloc::No => "FALSE".to_owned(),
            Dealloc::Yes => "TRUE".to_owned(),
            Dealloc::Runtime => format!("{}Dealloc", arg.name),
        };
        let pointer = if arg.in_reply() && arg.ty.sent == Wire::Polymorphic { "*" } else { "" };
        let how = format!("{pointer}{}", fields::disposition(arg, arg.ty.sent));
        fields::describe(w, "`InP", arg, *kind, [&value, &how, &count, &deallocate]);
    }
    if message.has_ndr() {
        w.line("`InP->NDR = NDR_record;");
    }
    if message.moves() {
        w.line("`InV = `InP;");
    }
    let mut to = "`InP";
    for (index, (arg, data)) in message.data.iter().enumerate() {
        one(w, stub, arg, *data, to);
        if matches!(data, Data::Varying | Data::Text) {
            w.line("`mig_size += `mig_length;");
            if index + 1 < message.data.len() {
                w.line(format!("`InV = (void *) ((char *) `InV - {} + `mig_length);", padded(bytes(&arg.ty))));
                to = "`InV";
            }
        }
    }
    let port = routine.args.get(routine.request_port);
    let (mut remote, mut local) = (("MACH_PORT_NULL".to_owned(), "0".to_owned()), ("MACH_PORT_NULL".to_owned(), "0".to_owned()));
    if let Some(port) = port {
        remote = (port.name.clone(), fields::disposition(port, port.ty.sent));
    }
    if let Some(reply) = stub.own_reply_port() {
        local = (reply.name.clone(), fields::disposition(reply, reply.ty.sent));
    } else if !routine.one_way {
        w.line(format!("`mig_reply_port = {}();", stub.support("mig_get_reply_port")));
        local = ("`mig_reply_port".to_owned(), "MACH_MSG_TYPE_MAKE_SEND_ONCE".to_owned());
    }
    let other = if message.is_complex() { "MACH_MSGH_BITS_COMPLEX" } else { "0" };
    w.line(format!("`InP->Head.msgh_bits = MACH_MSGH_BITS_SET({}, {}, 0, {other});", remote.1, local.1));
    w.line(format!("`InP->Head.msgh_size = {};", Darwin::size(stub)));
    w.line(format!("`InP->Head.msgh_remote_port = {};", remote.0));
    w.line(format!("`InP->Head.msgh_local_port = {};", local.0));
    w.line("`InP->Head.msgh_voucher_port = MACH_PORT_NULL;");
    w.line(format!("`InP->Head.msgh_id = {};", routine.id));
}

fn one(w: &mut Writer, stub: &Stub<'_>, arg: &Arg, data: Data, to: &str) {
    let (name, ty) = (&arg.name, &arg.ty);
    let most = bytes(ty);
    match data {
        Data::Value => {
            w.line(format!("{to}->{name} = {}{name};", if arg.in_reply() { "*" } else { "" }));
            if padded(most) > most {
                w.line(format!("memset({to}->{name}Pad, 0, sizeof {to}->{name}Pad);"));
            }
        }
        Data::Array if ty.string => {
            w.line(format!("(void) {}({to}->{name}, {name}, {most});", stub.support("mig_strncpy_zerofill")));
            if padded(most) > most {
                fields::clear(w, "(void)", to, name, &most.to_string());
            }
        }
        Data::Array => {
            w.line(format!("memcpy({to}->{name}, {name}, {most});"));
            if padded(most) > most {
                fields::clear(w, "(void)", to, name, &most.to_string());
            }
        }
        Data::Text => {
            w.line(format!("{to}->{name}Offset = 0;"));
            let copied = format!("(mach_msg_type_number_t) {}({to}->{name}, {name}, {most})", stub.support("mig_strncpy"));
            w.line(format!("{to}->{name}Cnt = {copied};"));
            fields::clear(w, "`mig_length =", to, name, &format!("{to}->{name}Cnt"));
        }
        Data::Varying => {
            let count = count_of(stub, arg);
            let length = fields::times(&count, ty.bytes);
            w.line(format!("{to}->{name}Cnt = {count};"));
            w.line(format!("memcpy({to}->{name}, {name}, {length});"));
            fields::clear(w, "`mig_length =", to, name, &length);
        }
        Data::Count => w.line(format!("{to}->{name}Cnt = {};", count_of(stub, arg))),
        Data::Room if is_far(ty) => w.line(format!("{to}->{name}Cnt = *{name}Cnt;")),
        Data::Room => {
            let room = inline_elements(ty);
            w.line(format!("{to}->{name}Cnt = *{name}Cnt < {room} ? *{name}Cnt : {room};"));
        }
    }
}
