//! The user's stubs: pack a request, send it, check the reply, unpack it.

use super::super::Options;
use super::super::names;
use super::super::text;
use super::super::user::{options_of, timeouts};
use super::super::view::{Side, count_name, prototype};
use super::super::writer::Writer;
use super::layout::{Data, Kind, Message, bytes, is_far, padded};
use super::{fields, texts, trailer, user_receive};
use crate::layout::inline_elements;
use crate::model::{Arg, Consume, Count, Dealloc, ImportKind, Interface, Role, Routine, Wire};

/// What the functions for one stub need.
pub(super) struct Stub<'a> {
    pub routine: &'a Routine,
    pub options: &'a Options,
    pub request: Message<'a>,
    pub reply: Message<'a>,
    /// Whether the message is too large for the stack.
    pub heap: bool,
}

impl Stub<'_> {
    /// Statements that leave the stub with the value of a C expression.
    pub fn leave(&self, value: &str) -> Vec<String> {
        vec![format!("`msg_result = {value};"), "goto `done;".to_owned()]
    }

    /// Bytes that the reply, or one with an error, has at most with its trailer.
    fn room(&self) -> u32 {
        self.reply.most().max(36) + trailer::largest(self.routine, Side::User).map_or(8, |part| part.size)
    }

    /// Name of a routine of libmach.
    pub fn support(&self, name: &str) -> String {
        format!("{}{name}", self.options.support_prefix)
    }

    /// The user's reply port, if the caller gives one.
    fn own_reply_port(&self) -> Option<&Arg> {
        self.routine.args.iter().find(|a| matches!(a.role, Role::ReplyPort { user: true, .. }))
    }
}

/// The file with all stubs.
pub fn user(interface: &Interface, options: &Options) -> String {
    let interface = &names::for_stubs(interface, options);
    one_file(interface, options, interface.routines())
}

/// A file with the stub of one routine.
pub fn user_routine(interface: &Interface, options: &Options, routine: &Routine) -> String {
    let interface = &names::for_stubs(interface, options);
    one_file(interface, options, interface.routines().filter(|r| r.name == routine.name))
}

fn one_file<'a>(interface: &Interface, options: &Options, routines: impl Iterator<Item = &'a Routine>) -> String {
    let mut w = Writer::default();
    let mut any_heap = false;
    for routine in routines {
        let (request, reply) = (Message::request(routine), Message::reply(routine));
        let most = request.most().max(reply.most() + 8);
        let limit = interface.stack_limit.unwrap_or(options.stack_limit);
        let stub = Stub { routine, options, request, reply, heap: most > limit };
        any_heap |= stub.heap;
        w.gap();
        write_stub(&mut w, &stub);
    }
    let mut head = text::banner(interface, "User stubs");
    head.push_str("#include <stddef.h>\n#include <stdint.h>\n");
    head.push_str(if any_heap { "#include <stdlib.h>\n" } else { "" });
    head.push_str("#include <string.h>\n#include <mach/message.h>\n#include <mach/mig.h>\n#include <mach/ndr.h>\n#include <mach/notify.h>\n");
    head.push_str(&text::imports(interface, &[ImportKind::All, ImportKind::User, ImportKind::Internal]));
    if let Some(header) = &options.header {
        head.push_str(&format!("#include {header}\n"));
    }
    head.push('\n');
    if let Some(id) = &interface.rcs_id {
        head.push_str(&text::rcs_id(&format!("mig_{}_user_rcsid", options.name(interface)), id));
    }
    head.push_str(&text::size_checks(interface, Side::User));
    head.push_str(&texts::USER.replace('@', &options.support_prefix));
    w.finish(&head, &options.support_prefix, interface)
}

fn write_stub(w: &mut Writer, stub: &Stub<'_>) {
    let routine = stub.routine;
    w.line(text::comment(routine));
    w.line(prototype(routine, &routine.user_name, Side::User));
    w.block("", "", |w| {
        declarations(w, stub);
        limits(w, stub);
        allocate(w, stub);
        pack(w, stub);
        send(w, stub);
        if !routine.one_way {
            user_receive::reply(w, stub);
        }
        finish(w, stub);
    });
}

fn declarations(w: &mut Writer, stub: &Stub<'_>) {
    let routine = stub.routine;
    w.line("#pragma pack(push, 4)");
    fields::structure(w, &stub.request, Side::User, "`Request");
    if !routine.one_way {
        fields::structure(w, &stub.reply, Side::User, "`Reply");
    }
    w.line("#pragma pack(pop)");
    let tag = if stub.heap { "union message" } else { "union" };
    let variable = if stub.heap { " *`Mess;" } else { " `Mess;" };
    w.block(tag, variable, |w| {
        w.line("`Request In;");
        if !routine.one_way {
            w.line("`Reply Out;");
            w.line("mig_reply_error_t Error;");
            w.line(format!("char Room[{}];", stub.room()));
        }
    });
    if stub.heap {
        w.line("`Request *`InP;");
        w.lines((!routine.one_way).then_some("`Reply *`OutP;"));
    } else {
        w.line("`Request *const `InP = &`Mess.In;");
        w.lines((!routine.one_way).then_some("`Reply *const `OutP = &`Mess.Out;"));
    }
    if stub.request.moves() {
        w.line("`Request *`InV;");
    }
    if stub.request.varying().next().is_some() {
        w.line(format!("mach_msg_size_t `mig_size = {}, `mig_length;", stub.request.least()));
    }
    if !routine.one_way {
        user_receive::locals(w, stub);
        if stub.own_reply_port().is_none() {
            w.line("mach_port_t `mig_reply_port;");
        }
    }
    w.line("kern_return_t `msg_result;");
    w.gap();
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

fn allocate(w: &mut Writer, stub: &Stub<'_>) {
    if stub.heap {
        w.line("/* The message is too large for the stack. */");
        w.line("`Mess = malloc(sizeof *`Mess);");
        w.guard(&["`Mess == NULL".to_owned()], &["return KERN_RESOURCE_SHORTAGE;".to_owned()]);
        w.line("`InP = &`Mess->In;");
        w.lines((!stub.routine.one_way).then_some("`OutP = &`Mess->Out;"));
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
    w.line(format!("`InP->Head.msgh_size = {};", size(stub)));
    w.line(format!("`InP->Head.msgh_remote_port = {};", remote.0));
    w.line(format!("`InP->Head.msgh_local_port = {};", local.0));
    w.line("`InP->Head.msgh_voucher_port = MACH_PORT_NULL;");
    w.line(format!("`InP->Head.msgh_id = {};", routine.id));
}

fn size(stub: &Stub<'_>) -> String {
    if stub.request.varying().next().is_some() { "`mig_size".to_owned() } else { stub.request.most().to_string() }
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
                w.line(format!("(void) `mig_clear_tail({to}->{name}, {most});"));
            }
        }
        Data::Array => {
            w.line(format!("memcpy({to}->{name}, {name}, {most});"));
            if padded(most) > most {
                w.line(format!("(void) `mig_clear_tail({to}->{name}, {most});"));
            }
        }
        Data::Text => {
            w.line(format!("{to}->{name}Offset = 0;"));
            let copied = format!("(mach_msg_type_number_t) {}({to}->{name}, {name}, {most})", stub.support("mig_strncpy"));
            w.line(format!("{to}->{name}Cnt = {copied};"));
            w.line(format!("`mig_length = `mig_clear_tail({to}->{name}, {to}->{name}Cnt);"));
        }
        Data::Varying => {
            let count = count_of(stub, arg);
            let length = fields::times(&count, ty.bytes);
            w.line(format!("{to}->{name}Cnt = {count};"));
            w.line(format!("memcpy({to}->{name}, {name}, {length});"));
            w.line(format!("`mig_length = `mig_clear_tail({to}->{name}, {length});"));
        }
        Data::Count => w.line(format!("{to}->{name}Cnt = {};", count_of(stub, arg))),
        Data::Room if is_far(ty) => w.line(format!("{to}->{name}Cnt = *{name}Cnt;")),
        Data::Room => {
            let room = inline_elements(ty);
            w.line(format!("{to}->{name}Cnt = *{name}Cnt < {room} ? *{name}Cnt : {room};"));
        }
    }
}

fn send(w: &mut Writer, stub: &Stub<'_>) {
    let routine = stub.routine;
    let mach_msg = stub.support("mach_msg");
    let size = size(stub);
    let (send, wait) = timeouts(routine);
    let none = "MACH_MSG_TIMEOUT_NONE".to_owned();
    let port = stub.own_reply_port().map_or("`mig_reply_port".to_owned(), |a| a.name.clone());
    let room = stub.room();
    let trailer = trailer::largest(routine, Side::User).map_or(String::new(), |part| {
        format!(" | MACH_RCV_TRAILER_TYPE(MACH_MSG_TRAILER_FORMAT_0) | MACH_RCV_TRAILER_ELEMENTS(MACH_RCV_TRAILER_{})", part.element)
    });
    w.gap();
    if routine.one_way {
        let options = options_of(routine, "MACH_SEND_MSG", send.is_some(), "MACH_SEND_TIMEOUT");
        let timeout = send.unwrap_or(none);
        w.line(format!("`msg_result = {mach_msg}(&`InP->Head, {options},"));
        w.line(format!("\t{size}, 0, MACH_PORT_NULL, {timeout}, MACH_PORT_NULL);"));
    } else if let (Some(send), Some(wait)) = (&send, &wait) {
        // One call has one time-out, so this takes two.
        let options = options_of(routine, "MACH_SEND_MSG", true, "MACH_SEND_TIMEOUT");
        w.line(format!("`msg_result = {mach_msg}(&`InP->Head, {options},"));
        w.line(format!("\t{size}, 0, MACH_PORT_NULL, {send}, MACH_PORT_NULL);"));
        w.line("if (`msg_result == MACH_MSG_SUCCESS)");
        w.line(format!("\t`msg_result = {mach_msg}(&`OutP->Head, MACH_RCV_MSG | MACH_RCV_TIMEOUT{trailer},"));
        w.line(format!("\t\t0, {room}, {port}, {wait}, MACH_PORT_NULL);"));
    } else {
        let flag = if send.is_some() { "MACH_SEND_TIMEOUT" } else { "MACH_RCV_TIMEOUT" };
        let options = options_of(routine, &format!("MACH_SEND_MSG | MACH_RCV_MSG{trailer}"), send.is_some() || wait.is_some(), flag);
        let timeout = send.or(wait).unwrap_or(none);
        w.line(format!("`msg_result = {mach_msg}(&`InP->Head, {options},"));
        w.line(format!("\t{size}, {room}, {port}, {timeout}, MACH_PORT_NULL);"));
    }
    let destroy = format!("{}(&`InP->Head);", stub.support("mach_msg_destroy"));
    match routine.consume {
        Consume::None => {}
        Consume::Timeout => w.guard(&["`msg_result == MACH_SEND_TIMED_OUT".to_owned()], &[destroy]),
        Consume::Any => {
            let failed = "`msg_result != MACH_MSG_SUCCESS && `msg_result < MACH_RCV_IN_PROGRESS";
            w.guard(&[failed.to_owned()], &[destroy]);
        }
    }
    if routine.one_way {
        return;
    }
    let failed = ["`msg_result != MACH_MSG_SUCCESS".to_owned()];
    if stub.own_reply_port().is_some() {
        w.guard(&failed, &["goto `done;".to_owned()]);
    } else {
        w.guard(&failed, &stub.leave("`mig_call_failed(`mig_reply_port, `msg_result)"));
        w.line(format!("{}(`mig_reply_port);", stub.support("mig_put_reply_port")));
    }
}

fn finish(w: &mut Writer, stub: &Stub<'_>) {
    if !stub.routine.one_way {
        w.gap();
        w.line("`msg_result = KERN_SUCCESS;");
        w.label("`done");
    }
    w.lines(stub.heap.then_some("free(`Mess);"));
    w.line("return `msg_result;");
}
