//! The server's side of a reply. Arrays are written by the routine where they would lie with all arrays full, and moved forward.

use super::super::view::{Side, count_name};
use super::super::writer::Writer;
use super::layout::{Data, Kind, bytes, is_far, padded};
use super::server::{Stub, data_of};
use super::{fields, trailer};
use crate::layout::inline_elements;
use crate::model::{Arg, Count, Dealloc, Wire};

/// The locals that [`finish`] uses.
pub fn locals(w: &mut Writer, stub: &Stub<'_>) {
    if stub.routine.one_way {
        return;
    }
    if stub.reply.moves() {
        w.line("`Reply *`OutV;");
    }
    if stub.reply.varying().next().is_some() {
        w.line(format!("mach_msg_size_t `mig_size = {}, `mig_length;", stub.reply.least()));
    }
}

/// What goes out begins empty, so that nothing of an earlier message can leave with it.
pub fn prepare(w: &mut Writer, stub: &Stub<'_>) {
    for arg in stub.arguments().filter(|arg| arg.in_reply() && !arg.in_request()) {
        let (name, ty) = (&arg.name, &arg.ty);
        let counted = ty.varies() && !ty.string && !arg.count_in_out && arg.same_count.is_none();
        match data_of(&stub.reply, arg) {
            Some(Data::Array) => {
                w.line(format!("{name} = `OutP->{name};"));
                w.line(format!("memset({name}, 0, {});", padded(bytes(ty))));
            }
            Some(Data::Text) => {
                w.line(format!("{name} = `OutP->{name};"));
                w.line(format!("`OutP->{name}[0] = 0;"));
            }
            Some(Data::Varying) => {
                w.line(format!("{name} = `OutP->{name};"));
                w.lines(counted.then(|| format!("{name}Cnt = {};", inline_elements(ty))));
            }
            _ => {
                w.line(format!("memset(&{name}, 0, sizeof {name});"));
                w.lines(counted.then(|| format!("{name}Cnt = 0;")));
            }
        }
    }
}

/// What the stub took for the routine goes again, and the reply is made.
pub fn finish(w: &mut Writer, stub: &Stub<'_>) {
    w.gap();
    release(w, stub);
    if stub.routine.one_way {
        w.line("`mig_reply_code(`OutHeadP, `mig_code == KERN_SUCCESS ? MIG_NO_REPLY : `mig_code);");
        return;
    }
    let wrong = ["`mig_reply_code(`OutHeadP, `mig_code);".to_owned(), "return;".to_owned()];
    w.guard(&["`mig_code != KERN_SUCCESS".to_owned()], &wrong);
    too_long(w, stub);
    let message = &stub.reply;
    if message.is_complex() {
        w.line("`OutHeadP->msgh_bits |= MACH_MSGH_BITS_COMPLEX;");
        w.line(format!("`OutP->msgh_body.msgh_descriptor_count = {};", message.descriptors.len()));
    }
    for (arg, kind) in &message.descriptors {
        let count = match arg.ty.count {
            _ if *kind == Kind::Port => String::new(),
            Count::Fixed(n) => n.to_string(),
            _ => count_name(&stub.routine.args, arg),
        };
        let deallocate = match arg.dealloc {
            Dealloc::No => "FALSE".to_owned(),
            Dealloc::Yes => "TRUE".to_owned(),
            Dealloc::Runtime => format!("{}Dealloc", arg.name),
        };
        let how = fields::disposition(arg, arg.ty.sent);
        fields::describe(w, "`OutP", arg, *kind, [&out(arg), &how, &count, &deallocate]);
    }
    if message.has_ndr() {
        w.line("`OutP->NDR = NDR_record;");
    }
    if message.code {
        w.line("`OutP->RetCode = KERN_SUCCESS;");
    }
    if message.moves() {
        w.line("`OutV = `OutP;");
    }
    let mut to = "`OutP";
    for (index, (arg, data)) in message.data.iter().enumerate() {
        one(w, stub, arg, *data, to);
        if matches!(data, Data::Varying | Data::Text) {
            w.line("`mig_size += `mig_length;");
            if index + 1 < message.data.len() {
                w.line(format!("`OutV = (void *) ((char *) `OutV - {} + `mig_length);", padded(bytes(&arg.ty))));
                to = "`OutV";
            }
        }
    }
    let size = if message.varying().next().is_some() { "`mig_size".to_owned() } else { message.most().to_string() };
    w.line(format!("`OutHeadP->msgh_size = {size};"));
}

/// The value of what goes out.
fn out(arg: &Arg) -> String {
    match &arg.ty.out_tran {
        Some(tran) => format!("{}({})", tran.function, arg.name),
        None => arg.name.clone(),
    }
}

/// A routine that says that it wrote more than there is room for.
fn too_long(w: &mut Writer, stub: &Stub<'_>) {
    for (arg, data) in &stub.reply.data {
        if *data == Data::Varying {
            let count = count_name(&stub.routine.args, arg);
            let wrong = ["`mig_reply_code(`OutHeadP, MIG_ARRAY_TOO_LARGE);".to_owned(), "return;".to_owned()];
            w.guard(&[format!("{count} > {}", inline_elements(&arg.ty))], &wrong);
        }
    }
}

fn one(w: &mut Writer, stub: &Stub<'_>, arg: &Arg, data: Data, to: &str) {
    let (name, ty) = (&arg.name, &arg.ty);
    let most = bytes(ty);
    let moved = to != "`OutP";
    match data {
        Data::Value => {
            w.line(format!("{to}->{name} = {};", out(arg)));
            if padded(most) > most {
                w.line(format!("memset({to}->{name}Pad, 0, sizeof {to}->{name}Pad);"));
            }
        }
        Data::Array => {
            w.lines(moved.then(|| format!("memmove({to}->{name}, {name}, {most});")));
            if padded(most) > most {
                fields::clear(w, "(void)", to, name, &most.to_string());
            }
        }
        Data::Text => {
            // It ends within its room whatever the routine wrote.
            w.line(format!("`OutP->{name}[{}] = 0;", most - 1));
            w.line(format!("`mig_length = (mach_msg_size_t) strlen({name}) + 1;"));
            w.lines(moved.then(|| format!("memmove({to}->{name}, {name}, `mig_length);")));
            w.line(format!("{to}->{name}Offset = 0;"));
            w.line(format!("{to}->{name}Cnt = `mig_length;"));
            fields::clear(w, "`mig_length =", to, name, "`mig_length");
        }
        Data::Varying => {
            let count = count_name(&stub.routine.args, arg);
            let length = fields::times(&count, ty.bytes);
            w.lines(moved.then(|| format!("memmove({to}->{name}, {name}, {length});")));
            w.line(format!("{to}->{name}Cnt = {count};"));
            fields::clear(w, "`mig_length =", to, name, &length);
        }
        Data::Count => w.line(format!("{to}->{name}Cnt = {};", count_name(&stub.routine.args, arg))),
        Data::Room => {}
    }
}

/// Destructors, rights that the routine saw only converted, and memory that it can't tell from data in the message.
fn release(w: &mut Writer, stub: &Stub<'_>) {
    let mut on_success = Vec::new();
    for arg in stub.routine.args.iter().filter(|a| Side::Server.has(a)) {
        let (name, ty) = (&arg.name, &arg.ty);
        if let Some(destructor) = ty.destructor.as_ref().filter(|_| trailer::part(arg).is_none() && !arg.in_reply()) {
            w.line(format!("{destructor}({name});"));
        }
        if !arg.in_request() || arg.in_reply() {
            continue;
        }
        if ty.is_port() && ty.in_tran.is_some() {
            let port = format!("mach_task_self(), `In0P->{name}.name");
            on_success.push(format!("if (MACH_PORT_VALID(`In0P->{name}.name))"));
            on_success.push(match ty.received {
                Wire::Known(wire) if wire.code == 16 => {
                    format!("\t(void) mach_port_mod_refs({port}, MACH_PORT_RIGHT_RECEIVE, -1);")
                }
                _ => format!("\t(void) mach_port_deallocate({port});"),
            });
        } else if is_far(ty) && (arg.auto || ty.inline && !arg.server_copy) {
            let count = match ty.count {
                Count::Fixed(n) => n.to_string(),
                _ => count_name(&stub.routine.args, arg),
            };
            let free = stub.support("mig_deallocate");
            on_success.push(format!("{free}((vm_address_t) `In0P->{name}.address, {});", fields::times(&count, ty.bytes)));
        }
    }
    if !on_success.is_empty() {
        w.block("if (`mig_code == KERN_SUCCESS || `mig_code == MIG_NO_REPLY)", "", |w| w.lines(&on_success));
    }
}
