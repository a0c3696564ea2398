//! The user's side of a reply.

use super::super::helpers::Helper;
use super::super::view::{Side, count_name};
use super::super::writer::Writer;
use super::layout::{Data, Kind, bytes, is_far, padded};
use super::user::Stub;
use super::{fields, trailer};
use crate::model::{Arg, Wire};

/// The variable in which a received count is kept until all is checked.
fn kept(stub: &Stub<'_>, arg: &Arg) -> String {
    format!("{}Got", count_name(&stub.routine.args, arg))
}

/// The locals that [`reply`] uses.
pub fn locals(stub: &Stub<'_>) -> Vec<String> {
    let mut locals = Vec::new();
    locals.extend(stub.reply.moves().then(|| "`Reply *`OutV;".to_owned()));
    locals.extend(stub.reply.varying().next().map(|_| "mach_msg_size_t `mig_left;".to_owned()));
    for (arg, data) in &stub.reply.data {
        if matches!(data, Data::Varying | Data::Count) && arg.same_count.is_none() {
            locals.push(format!("mach_msg_type_number_t {};", kept(stub, arg)));
        }
    }
    locals
}

/// Checks the reply, and gives the caller what is in it.
pub fn reply(w: &mut Writer, stub: &Stub<'_>) {
    let message = &stub.reply;
    w.gap();
    let id = stub.routine.id + 100;
    let mut unlike = vec![format!("`OutP->Head.msgh_id != {id}")];
    unlike.extend(fields::wrong_header(message, "`OutP"));
    if message.code {
        unlike.push("`OutP->RetCode != KERN_SUCCESS".to_owned());
    }
    let (fault, reject) = (w.call(Helper::FaultWords), w.call(Helper::Reject));
    w.guard(&unlike, &stub.leave(&format!("{fault}(&`OutP->Head, {id})")));
    let reject = stub.leave(&format!("{reject}(&`OutP->Head, MIG_TYPE_ERROR)"));
    w.guard(&fields::wrong_descriptors(message, "`OutP"), &reject);
    fields::data(w, message, ["`OutP", "`OutV", "`mig_left"], |arg| kept(stub, arg), &reject);
    w.guard(&fields::wrong_counts(message, "`OutP", |arg| kept(stub, arg)), &reject);
    room(w, stub);
    if let Some(part) = trailer::largest(stub.routine, Side::User) {
        w.guard(&[part.is_missing("(&`OutP->Head)")], &stub.leave("`mig_reply_reject(&`OutP->Head, MIG_TRAILER_ERROR)"));
    }
    for arg in stub.routine.args.iter().filter(|arg| Side::User.has(arg)) {
        w.lines(trailer::part(arg).map(|part| format!("*{} = {};", arg.name, part.value("(&`OutP->Head)"))));
    }
    for (arg, kind) in &message.descriptors {
        match kind {
            Kind::Port => w.line(format!("*{0} = `OutP->{0}.name;", arg.name)),
            _ => w.line(format!("*{0} = ({1}) `OutP->{0}.address;", arg.name, arg.ty.user_type)),
        }
        if arg.ty.received == Wire::Polymorphic {
            w.line(format!("*{0}Poly = `OutP->{0}.disposition;", arg.name));
        }
    }
    if message.moves() {
        w.line("`OutV = `OutP;");
    }
    let mut from = "`OutP";
    for (index, (arg, data)) in message.data.iter().enumerate() {
        take(w, stub, arg, *data, from);
        if matches!(data, Data::Varying | Data::Text) && index + 1 < message.data.len() {
            let length = fields::times(&format!("{from}->{}Cnt", arg.name), if *data == Data::Text { 1 } else { arg.ty.bytes });
            w.line(format!("`OutV = (void *) ((char *) `OutV - {} + `mig_round4({length}));", padded(bytes(&arg.ty))));
            from = "`OutV";
        }
    }
}

/// An array that is longer than the caller's room is not taken.
fn room(w: &mut Writer, stub: &Stub<'_>) {
    for (arg, data) in &stub.reply.data {
        if *data == Data::Varying && arg.count_in_out && !is_far(&arg.ty) {
            let count = count_name(&stub.routine.args, arg);
            let mut statements = Vec::new();
            // The caller is told how much there would be.
            statements.push(format!("*{count} = {};", kept(stub, arg)));
            statements.extend(stub.leave("`mig_reply_reject(&`OutP->Head, MIG_ARRAY_TOO_LARGE)"));
            w.guard(&[format!("{} > *{count}", kept(stub, arg))], &statements);
        }
    }
}

fn take(w: &mut Writer, stub: &Stub<'_>, arg: &Arg, data: Data, from: &str) {
    let (name, ty) = (&arg.name, &arg.ty);
    let count = |w: &mut Writer| {
        if arg.same_count.is_none() {
            w.line(format!("*{} = {};", count_name(&stub.routine.args, arg), kept(stub, arg)));
        }
    };
    match data {
        Data::Value => w.line(format!("*{name} = {from}->{name};")),
        Data::Array if ty.string => {
            let copy = stub.support("mig_strncpy");
            w.line(format!("(void) {copy}({name}, {from}->{name}, {});", bytes(ty)));
        }
        Data::Array => w.line(format!("memcpy({name}, {from}->{name}, {});", bytes(ty))),
        Data::Text => w.line(format!("memcpy({name}, {from}->{name}, {from}->{name}Cnt);")),
        Data::Varying => {
            w.line(format!("memcpy({name}, {from}->{name}, {});", fields::times(&kept(stub, arg), ty.bytes)));
            count(w);
        }
        Data::Count => count(w),
        Data::Room => {}
    }
}
