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
use crate::model::{Consume, Interface, Role, Routine};

/// What differs between the dialects in a user's stub. Its frame is the same for all.
pub trait Dialect: Sized {
    /// Where everything lies in a message.
    type Message<'a>;
    /// The `#include`s of the stubs' file, behind that of `<string.h>`.
    const INCLUDES: &'static str;
    /// Whether every stub has its end in one place, to which it jumps.
    const JUMPS: bool;

    /// The request of a routine, and its reply.
    fn messages(routine: &Routine) -> [Self::Message<'_>; 2];
    /// Bytes of a message at most.
    fn most(message: &Self::Message<'_>) -> u32;
    /// Bytes that the reply's buffer needs, and what the receive is asked for beside the message, as options in C.
    fn room(stub: &Stub<'_, Self>) -> (u32, String);
    /// Declares the types of the messages.
    fn types(w: &mut Writer, stub: &Stub<'_, Self>);
    /// Members of the buffer beside request and reply.
    fn members(stub: &Stub<'_, Self>) -> Vec<String>;
    /// The locals behind the pointers to the messages.
    fn locals(w: &mut Writer, stub: &Stub<'_, Self>) -> Vec<String>;
    /// Refuses arrays that are too long.
    fn limits(w: &mut Writer, stub: &Stub<'_, Self>);
    /// Writes the request.
    fn pack(w: &mut Writer, stub: &Stub<'_, Self>);
    /// The C expression of the request's size.
    fn size(stub: &Stub<'_, Self>) -> String;
    /// Checks the reply, and gives the caller what is in it.
    fn unpack(w: &mut Writer, stub: &Stub<'_, Self>);

    /// The stub of a routine.
    fn whole(w: &mut Writer, stub: &Stub<'_, Self>) {
        w.line(prototype(stub.routine, &stub.routine.user_name, Side::User));
        body(w, stub);
    }
}

/// The typed dialect.
pub struct Typed;

/// What the functions for one stub need.
pub struct Stub<'a, D: Dialect = Typed> {
    pub routine: &'a Routine,
    pub options: &'a Options,
    pub request: D::Message<'a>,
    pub reply: D::Message<'a>,
    /// Whether the message is too large for the stack.
    pub heap: bool,
}

impl<D: Dialect> Stub<'_, D> {
    /// Statements that leave the stub with the value of a C expression.
    pub fn leave(&self, value: &str) -> Vec<String> {
        match (self.heap || D::JUMPS, value) {
            (true, "`msg_result") => vec!["goto done;".to_owned()],
            (true, _) => vec![format!("`msg_result = {value};"), "goto done;".to_owned()],
            (false, _) => vec![format!("return {value};")],
        }
    }

    /// Name of a routine of libmach.
    pub fn support(&self, name: &str) -> String {
        format!("{}{name}", self.options.support_prefix)
    }

    /// The user's reply port, if the caller gives one.
    pub fn own_reply_port(&self) -> Option<&crate::model::Arg> {
        self.routine.args.iter().find(|a| matches!(a.role, Role::ReplyPort { user: true, .. }))
    }

    /// Bytes of the larger message.
    fn most(&self) -> u32 {
        let request = D::most(&self.request);
        if self.routine.one_way { request } else { request.max(D::most(&self.reply)) }
    }

    /// The local for the thread's reply port, if that is used.
    pub fn reply_port(&self) -> Option<String> {
        self.own_reply_port().is_none().then(|| "mach_port_t `mig_reply_port;".to_owned())
    }
}

impl Stub<'_> {
    /// Whether a trap is tried before the message is sent.
    pub fn traps(&self) -> bool {
        self.options.trap && trap::is_eligible(self.routine)
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
}

impl Dialect for Typed {
    type Message<'a> = Message;
    const INCLUDES: &'static str =
        "#include <mach/message.h>\n#include <mach/mig_errors.h>\n#include <mach/mig_support.h>\n#include <mach/notify.h>\n";
    const JUMPS: bool = false;

    fn messages(routine: &Routine) -> [Message; 2] {
        [Message::request(routine), Message::reply(routine)]
    }

    fn most(message: &Message) -> u32 {
        message.most
    }

    fn room(stub: &Stub<'_>) -> (u32, String) {
        (stub.reply.most, String::new())
    }

    fn types(w: &mut Writer, stub: &Stub<'_>) {
        let routine = stub.routine;
        let sides = [(&stub.request, Kind::Request), (&stub.reply, Kind::Reply)];
        let sides = &sides[..if routine.one_way { 1 } else { 2 }];
        sides.iter().for_each(|(message, kind)| messages::structures(w, routine, message, *kind, Side::User));
        sides.iter().for_each(|(message, kind)| messages::templates(w, routine, message, *kind, Side::User));
        w.gap();
    }

    fn members(stub: &Stub<'_>) -> Vec<String> {
        vec![format!("char Room[{}];", stub.most())]
    }

    fn locals(w: &mut Writer, stub: &Stub<'_>) -> Vec<String> {
        let mut locals = user_send::locals(stub);
        if !stub.routine.one_way {
            locals.extend(stub.reply_port());
            locals.extend(stub.received(w).locals());
            locals.extend(user_receive::locals(stub));
        }
        locals.push("mach_msg_return_t `msg_result;".to_owned());
        locals
    }

    fn limits(w: &mut Writer, stub: &Stub<'_>) {
        if !stub.traps() {
            user_send::limits(w, stub);
        }
    }

    fn pack(w: &mut Writer, stub: &Stub<'_>) {
        user_send::pack(w, stub);
    }

    fn size(stub: &Stub<'_>) -> String {
        user_send::size(stub)
    }

    fn unpack(w: &mut Writer, stub: &Stub<'_>) {
        user_receive::reply(w, stub);
    }

    fn whole(w: &mut Writer, stub: &Stub<'_>) {
        let routine = stub.routine;
        if !stub.traps() {
            w.line(prototype(routine, &routine.user_name, Side::User));
            return body(w, stub);
        }
        w.line(format!("static __attribute__((noinline)) {}", prototype(routine, &trap_user::message_name(stub), Side::User)));
        body(w, stub);
        w.gap();
        trap_user::front(w, stub);
    }
}

/// The file with all stubs.
pub fn user<D: Dialect>(interface: &Interface, options: &Options) -> String {
    let interface = &names::for_stubs(interface, options);
    one_file::<D>(interface, options, interface.routines())
}

/// A file with the stub of one routine.
pub fn user_routine<D: Dialect>(interface: &Interface, options: &Options, routine: &Routine) -> String {
    let interface = &names::for_stubs(interface, options);
    one_file::<D>(interface, options, interface.routines().filter(|r| r.name == routine.name))
}

fn one_file<'a, D: Dialect>(interface: &Interface, options: &Options, routines: impl Iterator<Item = &'a Routine>) -> String {
    let mut w = Writer::default();
    let mut any_heap = false;
    for routine in routines {
        let [request, reply] = D::messages(routine);
        let mut stub = Stub::<D> { routine, options, request, reply, heap: false };
        stub.heap = stub.most() > interface.stack_limit.unwrap_or(options.stack_limit);
        any_heap |= stub.heap;
        w.gap();
        w.line(text::comment(routine));
        D::whole(&mut w, &stub);
    }
    let heap = if any_heap { "#include <stdlib.h>\n" } else { "" };
    let trap = if options.trap { "#include <mach/trap.h>\n" } else { "" };
    let includes = format!("{heap}#include <string.h>\n{}{trap}", D::INCLUDES);
    w.finish(&text::head(interface, options, Side::User, &includes), &options.support_prefix, interface)
}

/// What is between the braces.
fn body<D: Dialect>(w: &mut Writer, stub: &Stub<'_, D>) {
    w.block("", "", |w| {
        declarations(w, stub);
        D::limits(w, stub);
        allocate(w, stub);
        D::pack(w, stub);
        send(w, stub);
        if !stub.routine.one_way {
            D::unpack(w, stub);
        }
        finish(w, stub);
    });
}

fn declarations<D: Dialect>(w: &mut Writer, stub: &Stub<'_, D>) {
    let replies = !stub.routine.one_way;
    D::types(w, stub);
    let tag = if stub.heap { "union message" } else { "union" };
    let variable = if stub.heap { " *`Mess;" } else { " `Mess;" };
    w.block(tag, variable, |w| {
        w.line("`Request In;");
        w.lines(replies.then_some("`Reply Out;"));
        w.lines(D::members(stub));
    });
    if stub.heap {
        w.line("`Request *`InP;");
        w.lines(replies.then_some("`Reply *`OutP;"));
    } else {
        w.line("`Request *const `InP = &`Mess.In;");
        w.lines(replies.then_some("`Reply *const `OutP = &`Mess.Out;"));
    }
    let locals = D::locals(w, stub);
    let mut seen = std::collections::BTreeSet::new();
    w.lines(locals.into_iter().filter(|l| seen.insert(l.clone())));
    w.gap();
}

fn allocate<D: Dialect>(w: &mut Writer, stub: &Stub<'_, D>) {
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
fn timeouts(routine: &Routine) -> (Option<String>, Option<String>) {
    let named = |role| routine.args.iter().find(|a| a.role == role).map(|a| a.name.clone());
    let send = named(Role::SendTime).or_else(|| routine.send_time.clone());
    let wait = named(Role::WaitTime).or_else(|| routine.wait_time.clone());
    // Without a reply there is nothing to wait for but room in the queue.
    if routine.one_way { (send.or(wait), None) } else { (send, wait) }
}

fn options_of(routine: &Routine, base: &str, timeout: bool, flag: &str) -> String {
    let mut options = vec![base.to_owned()];
    if timeout {
        options.push(flag.to_owned());
    }
    options.extend(routine.msg_option.as_ref().map(|o| format!("({o})")));
    options.extend(routine.args.iter().find(|a| a.role == Role::MsgOption).map(|a| a.name.clone()));
    options.join(" | ")
}

fn send<D: Dialect>(w: &mut Writer, stub: &Stub<'_, D>) {
    let routine = stub.routine;
    let mach_msg = stub.support("mach_msg");
    let size = D::size(stub);
    let (room, trailer) = D::room(stub);
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
        w.line(format!("\t`msg_result = {mach_msg}(&`OutP->Head, MACH_RCV_MSG | MACH_RCV_TIMEOUT{trailer},"));
        w.line(format!("\t\t0, {room}, {port}, {wait}, MACH_PORT_NULL);"));
    } else {
        let flag = if send.is_some() { "MACH_SEND_TIMEOUT" } else { "MACH_RCV_TIMEOUT" };
        let options =
            options_of(routine, &format!("MACH_SEND_MSG | MACH_RCV_MSG{trailer}"), send.is_some() || wait.is_some(), flag);
        let timeout = send.or(wait).unwrap_or(none);
        w.line(format!("`msg_result = {mach_msg}(&`InP->Head, {options},"));
        w.line(format!("\t{size}, {room}, {port}, {timeout}, MACH_PORT_NULL);"));
    }
    unsent(w, stub);
}

fn unsent<D: Dialect>(w: &mut Writer, stub: &Stub<'_, D>) {
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

fn finish<D: Dialect>(w: &mut Writer, stub: &Stub<'_, D>) {
    let replies = !stub.routine.one_way;
    if replies || !D::JUMPS {
        w.gap();
    }
    if replies && (stub.heap || D::JUMPS) {
        w.line("`msg_result = KERN_SUCCESS;");
        w.label("done");
    }
    w.lines(stub.heap.then_some("free(`Mess);"));
    w.line(if replies && !stub.heap && !D::JUMPS { "return KERN_SUCCESS;" } else { "return `msg_result;" });
}
