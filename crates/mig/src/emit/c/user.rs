//! The user's stubs: pack a request, send it, check the reply, unpack it.

use super::Options;
use super::checks::Received;
use super::helpers::Helper;
use super::messages::{self, Kind};
use super::names;
use super::text;
use super::trap;
use super::trap_user;
use super::user_receive;
use super::user_send;
use super::view::{Side, prototype};
use super::writer::Writer;
use crate::layout::Message;
use crate::model::{Consume, ImportKind, Interface, Role, Routine};

/// What the functions for one stub need.
pub(super) struct Stub<'a> {
    pub routine: &'a Routine,
    pub options: &'a Options,
    pub request: Message,
    pub reply: Message,
    /// Whether the message is too large for the stack.
    pub heap: bool,
}

impl Stub<'_> {
    /// Statements that leave the stub with the value of a C expression.
    pub fn leave(&self, value: &str) -> Vec<String> {
        match (self.heap, value) {
            (true, "`msg_result") => vec!["goto done;".to_owned()],
            (true, _) => vec![format!("`msg_result = {value};"), "goto done;".to_owned()],
            (false, _) => vec![format!("return {value};")],
        }
    }

    /// Whether a trap is tried before the message is sent.
    pub fn traps(&self) -> bool {
        self.options.trap && trap::is_eligible(self.routine)
    }

    /// Name of a routine of libmach.
    pub fn support(&self, name: &str) -> String {
        format!("{}{name}", self.options.support_prefix)
    }

    /// The reply, as it is checked.
    pub fn received(&self, w: &mut Writer) -> Received<'_> {
        let reject = if self.routine.one_way { "" } else { w.call(Helper::Reject) };
        Received {
            routine: self.routine,
            message: &self.reply,
            kind: Kind::Reply,
            side: Side::User,
            fail: self.leave(&format!("{reject}(&`OutP->Head, MIG_TYPE_ERROR)")),
        }
    }

    /// The user's reply port, if the caller gives one.
    pub fn own_reply_port(&self) -> Option<&crate::model::Arg> {
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
        let most = if routine.one_way { request.most } else { request.most.max(reply.most) };
        let limit = interface.stack_limit.unwrap_or(options.stack_limit);
        let stub = Stub { routine, options, request, reply, heap: most > limit };
        any_heap |= stub.heap;
        w.gap();
        write_stub(&mut w, &stub);
    }
    let mut head = text::banner(interface, "User stubs");
    head.push_str("#include <stddef.h>\n#include <stdint.h>\n");
    head.push_str(if any_heap { "#include <stdlib.h>\n" } else { "" });
    head.push_str("#include <string.h>\n#include <mach/message.h>\n#include <mach/mig_errors.h>\n");
    head.push_str("#include <mach/mig_support.h>\n#include <mach/notify.h>\n");
    head.push_str(if options.trap { "#include <mach/trap.h>\n" } else { "" });
    head.push_str(&text::imports(interface, &[ImportKind::All, ImportKind::User, ImportKind::Internal]));
    if let Some(header) = &options.header {
        head.push_str(&format!("#include {header}\n"));
    }
    head.push('\n');
    if let Some(id) = &interface.rcs_id {
        head.push_str(&text::rcs_id(&format!("mig_{}_user_rcsid", options.name(interface)), id));
    }
    head.push_str(&text::size_checks(interface, Side::User));
    w.finish(&head, &options.support_prefix, interface)
}

fn write_stub(w: &mut Writer, stub: &Stub<'_>) {
    let routine = stub.routine;
    w.line(text::comment(routine));
    let name = &routine.user_name;
    let traps = stub.traps();
    if traps {
        w.line(format!("static __attribute__((noinline)) {}", prototype(routine, &trap_user::message_name(stub), Side::User)));
    } else {
        w.line(prototype(routine, name, Side::User));
    }
    w.block("", "", |w| {
        declarations(w, stub);
        if !traps {
            user_send::limits(w, stub);
        }
        allocate(w, stub);
        user_send::pack(w, stub);
        send(w, stub);
        if !routine.one_way {
            user_receive::reply(w, stub);
        }
        finish(w, stub);
    });
    if traps {
        w.gap();
        trap_user::front(w, stub);
    }
}

fn declarations(w: &mut Writer, stub: &Stub<'_>) {
    let routine = stub.routine;
    messages::structures(w, routine, &stub.request, Kind::Request, Side::User);
    if !routine.one_way {
        messages::structures(w, routine, &stub.reply, Kind::Reply, Side::User);
    }
    messages::templates(w, routine, &stub.request, Kind::Request, Side::User);
    if !routine.one_way {
        messages::templates(w, routine, &stub.reply, Kind::Reply, Side::User);
    }
    w.gap();
    let most = if routine.one_way { stub.request.most } else { stub.request.most.max(stub.reply.most) };
    let tag = if stub.heap { "union message" } else { "union" };
    let variable = if stub.heap { " *`Mess;" } else { " `Mess;" };
    w.block(tag, variable, |w| {
        w.line("`Request In;");
        if !routine.one_way {
            w.line("`Reply Out;");
        }
        w.line(format!("char Room[{most}];"));
    });
    if stub.heap {
        w.line("`Request *`InP;");
        w.lines((!routine.one_way).then_some("`Reply *`OutP;"));
    } else {
        w.line("`Request *const `InP = &`Mess.In;");
        w.lines((!routine.one_way).then_some("`Reply *const `OutP = &`Mess.Out;"));
    }
    let mut locals = user_send::locals(stub);
    if !routine.one_way {
        if stub.own_reply_port().is_none() {
            locals.push("mach_port_t `mig_reply_port;".to_owned());
        }
        locals.extend(stub.received(w).locals());
        locals.extend(user_receive::locals(stub));
    }
    locals.push("mach_msg_return_t `msg_result;".to_owned());
    let mut seen = std::collections::BTreeSet::new();
    w.lines(locals.into_iter().filter(|l| seen.insert(l.clone())));
    w.gap();
}

fn allocate(w: &mut Writer, stub: &Stub<'_>) {
    if !stub.heap {
        return;
    }
    w.line("/* The message is too large for the stack. */");
    w.line("`Mess = malloc(sizeof *`Mess);");
    w.guard(&["`Mess == NULL".to_owned()], &["return KERN_RESOURCE_SHORTAGE;".to_owned()]);
    w.line("`InP = &`Mess->In;");
    w.lines((!stub.routine.one_way).then_some("`OutP = &`Mess->Out;"));
    w.gap();
}

/// The time-outs of the call: of the send and of the receive.
pub(super) fn timeouts(routine: &Routine) -> (Option<String>, Option<String>) {
    let named = |role| routine.args.iter().find(|a| a.role == role).map(|a| a.name.clone());
    let send = named(Role::SendTime).or_else(|| routine.send_time.clone());
    let wait = named(Role::WaitTime).or_else(|| routine.wait_time.clone());
    // Without a reply there is nothing to wait for but room in the queue.
    if routine.one_way { (send.or(wait), None) } else { (send, wait) }
}

pub(super) fn options_of(routine: &Routine, base: &str, timeout: bool, flag: &str) -> String {
    let mut options = vec![base.to_owned()];
    if timeout {
        options.push(flag.to_owned());
    }
    options.extend(routine.msg_option.as_ref().map(|o| format!("({o})")));
    options.extend(routine.args.iter().find(|a| a.role == Role::MsgOption).map(|a| a.name.clone()));
    options.join(" | ")
}

fn send(w: &mut Writer, stub: &Stub<'_>) {
    let routine = stub.routine;
    let mach_msg = stub.support("mach_msg");
    let size = user_send::size(stub);
    let (send, wait) = timeouts(routine);
    let none = "MACH_MSG_TIMEOUT_NONE".to_owned();
    let port = stub.own_reply_port().map_or("`mig_reply_port".to_owned(), |a| a.name.clone());
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
        w.line(format!("\t`msg_result = {mach_msg}(&`OutP->Head, MACH_RCV_MSG | MACH_RCV_TIMEOUT,"));
        w.line(format!("\t\t0, {}, {port}, {wait}, MACH_PORT_NULL);", stub.reply.most));
    } else {
        let flag = if send.is_some() { "MACH_SEND_TIMEOUT" } else { "MACH_RCV_TIMEOUT" };
        let options = options_of(routine, "MACH_SEND_MSG | MACH_RCV_MSG", send.is_some() || wait.is_some(), flag);
        let timeout = send.or(wait).unwrap_or(none);
        w.line(format!("`msg_result = {mach_msg}(&`InP->Head, {options},"));
        w.line(format!("\t{size}, {}, {port}, {timeout}, MACH_PORT_NULL);", stub.reply.most));
    }
    unsent(w, stub);
}

fn unsent(w: &mut Writer, stub: &Stub<'_>) {
    let routine = stub.routine;
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
    let failed = "`msg_result != MACH_MSG_SUCCESS".to_owned();
    if stub.own_reply_port().is_some() {
        w.guard(&[failed], &stub.leave("`msg_result"));
        return;
    }
    let call = w.call(Helper::Failed);
    w.guard(&[failed], &stub.leave(&format!("{call}(`mig_reply_port, `msg_result)")));
    w.line(format!("{}(`mig_reply_port);", stub.support("mig_put_reply_port")));
}

fn finish(w: &mut Writer, stub: &Stub<'_>) {
    w.gap();
    if stub.heap {
        if !stub.routine.one_way {
            w.line("`msg_result = KERN_SUCCESS;");
            w.label("done");
        }
        w.line("free(`Mess);");
        w.line("return `msg_result;");
    } else {
        w.line(if stub.routine.one_way { "return `msg_result;" } else { "return KERN_SUCCESS;" });
    }
}
