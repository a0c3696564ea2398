//! The caller's half: a structure with a method for each routine.

use super::names::{camel, snake};
use super::settings;
use super::text::{doc, free, outputs, reply_type};
use super::trap;
use super::view::{self, Passing, given_type, passing, received_type};
use super::writer::Writer;
use crate::emit::trap::is_eligible;
use crate::model::{Arg, Dealloc, Interface, Role, Routine, Wire};

/// Where a request goes.
enum Destination {
    /// To the port of the structure.
    Own,
    /// To an argument, which has this type and is used by this expression.
    Argument(&'static str, &'static str),
}

fn destination(routine: &Routine) -> Destination {
    let port = &routine.args[routine.request_port];
    match passing(&port.ty) {
        None => Destination::Argument("impl Into<mig::Destination>", "@"),
        Some(Passing { disposition: "mig::COPY_SEND", .. }) => Destination::Own,
        Some(Passing { disposition: "mig::MOVE_SEND", .. }) if port.ty.sent == Wire::Polymorphic => Destination::Own,
        Some(Passing { disposition: "mig::MAKE_SEND", .. }) => Destination::Argument("&mig::ReceiveRight", "mig::Carry::Make(@)"),
        Some(Passing { lent: true, .. }) => Destination::Argument("&mig::ReceiveRight", "mig::Carry::MakeOnce(@)"),
        Some(Passing { disposition: "mig::MOVE_SEND", .. }) => Destination::Argument("mig::SendRight", "@"),
        Some(_) => Destination::Argument("mig::SendOnceRight", "@"),
    }
}

/// Writes the structure and its methods.
pub fn client(w: &mut Writer, interface: &Interface, traps: bool) {
    let name = camel(&interface.name);
    let own = interface.routines().any(|r| matches!(destination(r), Destination::Own));
    w.gap();
    if own {
        w.doc(&format!("A server of the subsystem {}: each of its routines is a method.", interface.name));
        w.line("#[derive(Debug)]");
        w.line(format!("pub struct {name}(pub mig::SendRight);"));
    } else {
        w.doc(&format!("The routines of the subsystem {}.", interface.name));
        w.line("#[derive(Debug)]");
        w.line(format!("pub struct {name};"));
    }
    w.gap();
    if interface.routines().next().is_none() {
        return;
    }
    w.block(&format!("impl {name}"), "", |w| {
        for routine in interface.routines() {
            w.gap();
            method(w, interface, routine, traps);
        }
    });
    if traps {
        trap::send(w, interface);
    }
}

/// What the caller passes for an argument beside the request port: names with their types.
pub(super) fn parameters(routine: &Routine, arg: &Arg) -> Vec<(String, String)> {
    let name = snake(&arg.name);
    match arg.role {
        Role::RequestPort | Role::MsgSeqno | Role::Token { .. } | Role::ReplyPort { user: false, .. } => vec![],
        Role::ReplyPort { .. } if !routine.one_way => vec![(name, "&mig::ReceiveRight".to_owned())],
        Role::ReplyPort { .. } => {
            let any = || "impl Into<mig::Carry<'a>>".to_owned();
            vec![(name, passing(&arg.ty).map_or_else(any, Passing::option))]
        }
        Role::WaitTime | Role::SendTime => vec![(name, "Duration".to_owned())],
        Role::MsgOption => vec![(name, "u32".to_owned())],
        Role::Data { request: true, .. } => vec![(name, given_type(arg))],
        Role::Data { .. } if arg.count_in_out => vec![(room(arg), "u32".to_owned())],
        Role::Data { .. } => vec![],
    }
}

/// The name of the parameter with the caller's room for an array.
pub(super) fn room(arg: &Arg) -> String {
    snake(&format!("{}_room", arg.name))
}

fn method(w: &mut Writer, interface: &Interface, routine: &Routine, traps: bool) {
    let port = &routine.args[routine.request_port];
    let (mut list, target) = match destination(routine) {
        Destination::Own => (vec!["&self".to_owned()], "&self.0".to_owned()),
        Destination::Argument(ty, used) => (vec![format!("{}: {ty}", snake(&port.name))], used.replace('@', &snake(&port.name))),
    };
    let others = routine.args.iter().flat_map(|a| parameters(routine, a));
    list.extend(others.map(|(name, ty)| format!("{name}: {ty}")));
    doc(w, routine);
    if traps && is_eligible(routine) {
        many(w, &list);
        trap::method(w, routine, &list);
        return;
    }
    let lifetime = if list.iter().any(|parameter| parameter.contains("<'a")) { "<'a>" } else { "" };
    by_message(w, interface, routine, &format!("pub fn {}{lifetime}", snake(&routine.name)), &list, &target);
}

fn many(w: &mut Writer, list: &[String]) {
    if list.len() > 7 {
        w.line("#[allow(clippy::too_many_arguments)]");
    }
}

/// A function that sends a request to `target`, and receives the reply.
pub(super) fn by_message(w: &mut Writer, interface: &Interface, routine: &Routine, head: &str, list: &[String], target: &str) {
    let port = &routine.args[routine.request_port];
    many(w, list);
    let result = if routine.one_way { "()".to_owned() } else { reply_type(routine, None) };
    w.signature(head, list, &format!(" -> Result<{result}, mig::Error> {{"));
    let mut request = free("request", routine);
    if matches!(destination(routine), Destination::Argument(..)) && snake(&port.name) == request {
        request.push('_');
    }
    let mut body = Writer::deeper();
    let b = &mut body;
    conversions(b, routine);
    let plain = routine.args.iter().all(|a| !a.in_request() && !a.count_in_out) && settings::of(routine).is_plain();
    let mutable = if plain { "" } else { "mut " };
    let what = format!("\"{}.{}\"", interface.name, routine.name);
    b.call(&format!("let {mutable}{request} = mig::Request::new"), &[routine.id.to_string(), what], ";");
    settings::write(b, routine, &request);
    fill(b, routine, &request);
    send(b, routine, &request, target);
    w.nested(body);
    w.line("}");
}

/// Parameters that are taken in more than one form become the one form.
fn conversions(w: &mut Writer, routine: &Routine) {
    for arg in routine.args.iter().filter(|a| a.in_request() && !a.ty.sent.is_right() && !a.ty.string) {
        let form = match arg.dealloc {
            Dealloc::No => continue,
            Dealloc::Yes => "mig::Array",
            Dealloc::Runtime => "mig::Lend",
        };
        let lifetime = if arg.dealloc == Dealloc::Runtime { "'a, " } else { "" };
        let name = snake(&arg.name);
        w.bind(&name, &format!("{form}<{lifetime}{}>", super::types::of(&arg.ty)), &format!("{name}.into()"));
    }
}

fn fill(w: &mut Writer, routine: &Routine, request: &str) {
    for arg in &routine.args {
        let name = snake(&arg.name);
        if arg.in_request() {
            if let Some(owner) = arg.same_count.and_then(|i| routine.args.get(i)) {
                let lengths = [format!("{}.len()", snake(&owner.name)), format!("{name}.len()")];
                w.call(&format!("{request}.same_count"), &lengths, ";");
            }
            let value =
                if given_type(arg).starts_with(['&', 'i', 'u', 'f', 'b']) && is_copied(arg) { format!("&{name}") } else { name };
            let (method, arguments) = view::write(&arg.ty, passing(&arg.ty), &value);
            w.call(&format!("{request}.{method}"), &arguments, ";");
        } else if arg.count_in_out {
            let least = format!("&{}.min({})", room(arg), crate::layout::inline_elements(&arg.ty));
            w.call(&format!("{request}.value"), &["mig::INTEGER_32".to_owned(), least], ";");
        }
    }
}

/// Whether the parameter is a number by itself.
fn is_copied(arg: &Arg) -> bool {
    matches!(view::what(&arg.ty), view::What::Value | view::What::FarValue) && !given_type(arg).starts_with('&')
}

fn send(w: &mut Writer, routine: &Routine, request: &str, target: &str) {
    let own = routine.args.iter().find(|a| matches!(a.role, Role::ReplyPort { user: true, .. }));
    let most = crate::layout::Message::reply(routine).most;
    let (method, extra) = match (routine.one_way, own) {
        (true, None) => ("send", String::new()),
        (true, Some(port)) => match passing(&port.ty) {
            Some(passing) => ("send_from", format!(", {}, {}", passing.disposition, snake(&port.name))),
            None => ("send_from_any", format!(", {}", snake(&port.name))),
        },
        (false, None) => ("call", format!(", {most}")),
        (false, Some(port)) => {
            let once = view::received_right(&port.ty) != Some("mig::SendRight");
            let disposition = if once { "mig::MAKE_SEND_ONCE" } else { "mig::MAKE_SEND" };
            ("call_from", format!(", {most}, {}, {disposition}", snake(&port.name)))
        }
    };
    if routine.one_way {
        w.line(format!("{request}.{method}({target}{extra})"));
        return;
    }
    let outputs = outputs(routine);
    if outputs.is_empty() {
        w.line(format!("{request}.{method}({target}{extra}, |_| Ok(()))"));
        return;
    }
    let reply = free("reply", routine);
    w.block(&format!("{request}.{method}({target}{extra}, |{reply}|"), ")", |w| take(w, routine, &reply));
}

/// Reads the reply.
fn take(w: &mut Writer, routine: &Routine, reply: &str) {
    let outputs = outputs(routine);
    for arg in &outputs {
        let (mut method, mut arguments) = view::read(&arg.ty);
        if arg.count_in_out && method == "list" {
            method = "list_within";
            arguments.push(room(arg));
        }
        w.bind(&snake(&arg.name), &received_type(&arg.ty), &format!("{reply}.{method}({})?", arguments.join(", ")));
        if let Some(owner) = arg.same_count.and_then(|i| routine.args.get(i)) {
            let lengths = [format!("{}.len()", snake(&owner.name)), format!("{}.len()", snake(&arg.name))];
            w.call(&format!("{reply}.same_count"), &lengths, "?;");
        }
    }
    self::reply(w, routine);
}

/// The result, of locals with the names of the arguments.
pub(super) fn reply(w: &mut Writer, routine: &Routine) {
    let names: Vec<_> = outputs(routine).iter().map(|a| snake(&a.name)).collect();
    match names.as_slice() {
        [one] => w.line(format!("Ok({one})")),
        several => w.built(&format!("{}Reply", camel(&routine.name)), several),
    }
}
