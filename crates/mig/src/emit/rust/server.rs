//! The server's half: a trait with the routines, and the function that serves requests by it.

use super::names::{camel, plain_snake, snake};
use super::text::{doc, free, outputs, reply_type};
use super::translate::{self, into_of, out_of};
use super::trap;
use super::view::{self, by_reference, is_later, moved, received_type};
use super::writer::Writer;
use crate::model::{Arg, Interface, Role, Routine};

/// Writes the trait, the stubs and the demultiplexer.
pub fn server(w: &mut Writer, interface: &Interface, traps: bool) {
    let name = format!("{}Server", camel(&interface.name));
    for routine in interface.routines().filter(|r| later(r).is_some()) {
        reply_port(w, routine);
    }
    w.gap();
    w.doc(&format!("A server of the subsystem {}. An error that a routine returns is its caller's result.", interface.name));
    w.block(&format!("pub trait {name}"), "", |w| {
        translate::declare(w, interface);
        for routine in interface.routines() {
            w.gap();
            declaration(w, routine);
        }
    });
    demux(w, interface, &name);
    for routine in interface.routines() {
        w.gap();
        stub(w, routine, &name);
    }
    if traps {
        trap::serve(w, interface, &name);
    }
}

/// The argument by which the server answers later.
fn later(routine: &Routine) -> Option<&Arg> {
    routine.args.iter().find(|a| is_later(a, routine.one_way))
}

fn reply_port_name(routine: &Routine) -> String {
    format!("{}ReplyPort", camel(&routine.name))
}

/// What the server's routine is passed for an argument: a name and its type.
fn parameters(routine: &Routine, arg: &Arg) -> Vec<(String, String)> {
    let name = snake(&arg.name);
    let own = |ty: String| into_of(arg).map_or(ty, |t| format!("Self::{t}"));
    match arg.role {
        Role::RequestPort => vec![(name, own("mig::Target".to_owned()))],
        Role::MsgSeqno => vec![(name, "u32".to_owned())],
        Role::ReplyPort { server: true, .. } if routine.one_way => vec![(name, "Option<mig::ReplyRight>".to_owned())],
        Role::ReplyPort { server: true, .. } => vec![(name, reply_port_name(routine))],
        Role::ReplyPort { .. } | Role::WaitTime | Role::SendTime | Role::MsgOption | Role::Token { .. } => vec![],
        Role::Data { request: true, .. } => vec![(name, own(received_type(&arg.ty)))],
        Role::Data { .. } if arg.count_in_out => vec![(room(arg), "u32".to_owned())],
        Role::Data { .. } => vec![],
    }
}

/// The name of the parameter with the caller's room for an array.
pub(super) fn room(arg: &Arg) -> String {
    snake(&format!("{}_room", arg.name))
}

fn declaration(w: &mut Writer, routine: &Routine) {
    doc(w, routine);
    let mut list = vec!["&mut self".to_owned()];
    let parameters = routine.args.iter().flat_map(|a| parameters(routine, a));
    list.extend(parameters.map(|(name, ty)| format!("{name}: {ty}")));
    if list.len() > 7 {
        w.line("#[allow(clippy::too_many_arguments)]");
    }
    let result = match later(routine) {
        Some(_) => ";".to_owned(),
        None => format!("-> Result<{}, mig::Code>;", reply_type(routine, Some("Self::"))),
    };
    w.declaration(&format!("fn {}", snake(&routine.name)), &list, &result);
}

fn demux(w: &mut Writer, interface: &Interface, name: &str) {
    w.gap();
    w.doc("Serves a request, and makes the answer, which is to be sent.");
    w.doc("");
    w.line("/// # Errors");
    w.doc("The request itself, if no routine has its identifier.");
    let parameters = ["server: &mut S".to_owned(), "request: mig::Received".to_owned()];
    w.signature(&format!("pub fn demux<S: {name} + ?Sized>"), &parameters, " -> mig::Served {");
    w.indented(|w| {
        if interface.routines().next().is_none() {
            w.line("let _ = server;");
            w.line("Err(Box::new(request))");
            return;
        }
        w.block("let routine: mig::Routine<S> = match request.id()", ";", |w| {
            for routine in interface.routines() {
                w.line(format!("{} => {},", routine.id, stub_name(routine)));
            }
            w.line("_ => return Err(Box::new(request)),");
        });
        w.line("Ok(mig::answer(request, server, routine))");
    });
    w.line("}");
}

fn stub_name(routine: &Routine) -> String {
    format!("serve_{}", plain_snake(&routine.name))
}

fn stub(w: &mut Writer, routine: &Routine, name: &str) {
    let fills = !outputs(routine).is_empty() && later(routine).is_none();
    let (server, request, reply) = (free("server", routine), free("request", routine), free("reply", routine));
    let underscore = if fills { "" } else { "_" };
    w.line(format!("fn {}<S: {name} + ?Sized>(", stub_name(routine)));
    w.line(format!("    {server}: &mut S,"));
    w.line(format!("    {request}: &mut mig::Reader,"));
    w.line(format!("    {underscore}{reply}: &mut mig::Writer<'static>,"));
    w.block(") -> Result<(), mig::Code>", "", |w| {
        take(w, routine, &request);
        w.line(format!("{request}.finish()?;"));
        convert(w, routine, &server, &request);
        call(w, routine, &server, &request, &reply);
    });
}

/// Reads the request. Nothing is passed to the server before all of it was read.
fn take(w: &mut Writer, routine: &Routine, request: &str) {
    for arg in &routine.args {
        let name = snake(&arg.name);
        if arg.in_request() {
            let (method, arguments) = view::read(&arg.ty);
            w.bind(&name, &received_type(&arg.ty), &format!("{request}.{method}({})?", arguments.join(", ")));
            if let Some(owner) = arg.same_count.and_then(|i| routine.args.get(i)) {
                let lengths = [format!("{}.len()", snake(&owner.name)), format!("{name}.len()")];
                w.call(&format!("{request}.same_count"), &lengths, "?;");
            }
        } else if arg.count_in_out {
            w.bind(&room(arg), "u32", &format!("{request}.value(mig::INTEGER_32)?"));
            let most = crate::layout::inline_elements(&arg.ty);
            w.line(format!("let {0} = {0}.min({most});", room(arg)));
        }
    }
}

/// What the server sees otherwise.
pub(super) fn convert(w: &mut Writer, routine: &Routine, server: &str, request: &str) {
    for arg in &routine.args {
        let (Some(_), Some(tran)) = (into_of(arg), &arg.ty.in_tran) else { continue };
        let (name, function) = (snake(&arg.name), snake(&tran.function));
        let name = if arg.role == Role::RequestPort { free("target", routine) } else { name };
        let value = if arg.role == Role::RequestPort { format!("{request}.target()") } else { name.clone() };
        w.call(&format!("let {name} = {server}.{function}"), &[value], ";");
    }
}

/// What is passed for an argument.
pub(super) fn actual(routine: &Routine, arg: &Arg, request: &str) -> Option<String> {
    let name = parameters(routine, arg).pop()?.0;
    Some(match arg.role {
        Role::RequestPort if into_of(arg).is_some() => free("target", routine),
        Role::RequestPort => format!("{request}.target()"),
        Role::MsgSeqno => format!("{request}.sequence()"),
        Role::ReplyPort { .. } if routine.one_way => format!("{request}.take_reply()"),
        _ => name,
    })
}

fn call(w: &mut Writer, routine: &Routine, server: &str, request: &str, reply: &str) {
    if let Some(port) = later(routine) {
        let wrapped = format!("{}(mig::Later::new({request}, {}))", reply_port_name(routine), routine.id);
        w.line(format!("let {} = {wrapped};", snake(&port.name)));
    }
    let list: Vec<_> = routine.args.iter().filter_map(|a| actual(routine, a, request)).collect();
    let head = format!("{server}.{}", snake(&routine.name));
    if later(routine).is_some() {
        w.call(&head, &list, ";");
        w.line("Err(mig::Code::MIG_NO_REPLY)");
        return;
    }
    let outputs = outputs(routine);
    let one = outputs.len() == 1;
    if outputs.is_empty() {
        w.call(&head, &list, "");
        return;
    }
    let out = free("out", routine);
    let local = if one { snake(&outputs[0].name) } else { out.clone() };
    w.call(&format!("let {local} = {head}"), &list, "?;");
    let place = |arg: &Arg| if one { local.clone() } else { format!("{out}.{}", snake(&arg.name)) };
    for arg in &outputs {
        give(w, routine, arg, reply, &place, Some(server));
    }
    w.line("Ok(())");
}

/// Writes one value of the reply; `server` translates.
fn give(w: &mut Writer, routine: &Routine, arg: &Arg, reply: &str, place: &dyn Fn(&Arg) -> String, server: Option<&str>) {
    let mut value = place(arg);
    if let (Some(server), Some(_), Some(tran)) = (server, out_of(arg), &arg.ty.out_tran) {
        let name = format!("{}_value", plain_snake(&arg.name));
        w.call(&format!("let {name} = {server}.{}", snake(&tran.function)), &[value], ";");
        value = name;
    }
    if let Some(owner) = arg.same_count.and_then(|i| routine.args.get(i)) {
        let lengths = [format!("{}.len()", place(owner)), format!("{}.len()", place(arg))];
        w.call(&format!("{reply}.same_count"), &lengths, ";");
    }
    let value = if by_reference(&arg.ty) { format!("&{value}") } else { value };
    let (method, arguments) = view::write(&arg.ty, moved(&arg.ty), &value);
    w.call(&format!("{reply}.{method}"), &arguments, ";");
}

/// The type of the reply port of a routine whose server answers when it wants.
fn reply_port(w: &mut Writer, routine: &Routine) {
    let (name, outputs) = (reply_port_name(routine), outputs(routine));
    w.gap();
    w.doc(&format!("The right to answer a `{}`. Dropped, it tells the caller that nobody will answer.", routine.name));
    w.line("#[derive(Debug)]");
    w.line(format!("pub struct {name}(mig::Later);"));
    w.gap();
    w.block(&format!("impl {name}"), "", |w| {
        w.doc("Sends the answer.");
        let ty = reply_type(routine, None);
        let parameters = ["self".to_owned(), format!("answer: Result<{ty}, mig::Code>")];
        w.signature("pub fn answer", &parameters, " -> Result<(), mig::Error> {");
        let mut body = Writer::deeper();
        if outputs.is_empty() {
            body.line("self.0.answer(answer, |(), _| {})");
        } else {
            body.block("self.0.answer(answer, |out, reply|", ")", |w| {
                let one = outputs.len() == 1;
                let place = |arg: &Arg| if one { "out".to_owned() } else { format!("out.{}", snake(&arg.name)) };
                for arg in &outputs {
                    give(w, routine, arg, "reply", &place, None);
                }
            });
        }
        w.nested(body);
        w.line("}");
    });
}
