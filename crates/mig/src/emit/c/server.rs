//! The server's stubs: check a request, call the routine, build the reply; and the demultiplexer.

use super::Options;
use super::checks::{Received, received_count};
use super::defaults;
use super::helpers::Helper;
use super::messages::{self, Kind};
use super::names;
use super::server_reply;
use super::text;
use super::trap;
use super::trap_server;
use super::view::{Side, has_count, prototype};
use super::writer::Writer;
use crate::layout::{Item, Message};
use crate::model::{Arg, Count, Dealloc, Interface, Role, Routine, Type, Wire};

/// What the functions for one stub need.
pub(super) struct Stub<'a> {
    pub routine: &'a Routine,
    pub options: &'a Options,
    pub request: Message,
    pub reply: Message,
    /// The most that is put on the stack, in bytes.
    pub stack_limit: u32,
}

impl<'a> Stub<'a> {
    /// Arguments in the body of the request, each with the pointer to its part.
    pub fn inputs(&self) -> Vec<(&'a Arg, String)> {
        self.placed(&self.request, Kind::Request)
    }

    /// Arguments in the body of the reply, each with the pointer to its part.
    pub fn outputs(&self) -> Vec<(&'a Arg, String)> {
        if self.routine.one_way { Vec::new() } else { self.placed(&self.reply, Kind::Reply) }
    }

    fn placed(&self, message: &Message, kind: Kind) -> Vec<(&'a Arg, String)> {
        let mut list = Vec::new();
        for (index, part) in message.parts.iter().enumerate() {
            for item in &part.items {
                if let Item::Data(arg) = item {
                    list.push((&self.routine.args[*arg], kind.pointer(index, Side::Server)));
                }
            }
        }
        list
    }

    pub fn pointer_in(&self, arg: &Arg) -> String {
        self.inputs().into_iter().find(|(a, _)| a.name == arg.name).map_or(String::new(), |(_, p)| p)
    }

    pub fn pointer_out(&self, arg: &Arg) -> String {
        self.outputs().into_iter().find(|(a, _)| a.name == arg.name).map_or(String::new(), |(_, p)| p)
    }

    /// Name of a routine of libmach.
    pub fn support(&self, name: &str) -> String {
        format!("{}{name}", self.options.support_prefix)
    }

    fn received(&self) -> Received<'_> {
        Received {
            routine: self.routine,
            message: &self.request,
            kind: Kind::Request,
            side: Side::Server,
            fail: vec!["`OutP->RetCode = MIG_BAD_ARGUMENTS;".to_owned(), "return;".to_owned()],
        }
    }
}

/// Whether it lies in the message or behind a pointer, as the type word says.
pub(super) fn is_unlimited(ty: &Type) -> bool {
    ty.inline && ty.count == Count::Unlimited
}

/// The whole file.
pub fn server(interface: &Interface, options: &Options) -> String {
    let interface = &names::for_stubs(interface, options);
    let mut w = Writer::default();
    for routine in interface.routines() {
        let (request, reply) = (Message::request(routine), Message::reply(routine));
        let stack_limit = interface.stack_limit.unwrap_or(options.stack_limit);
        let stub = Stub { routine, options, request, reply, stack_limit };
        w.gap();
        w.line(text::comment(routine));
        w.line(format!("extern {};", prototype(routine, &routine.server_name, Side::Server)));
        w.gap();
        write_stub(&mut w, &stub);
        if options.trap && trap::is_eligible(routine) {
            trap_server::function(&mut w, &stub);
        }
    }
    table(&mut w, interface);
    demux(&mut w, interface);
    fallbacks(&mut w, interface);
    if options.trap {
        trap_server::table(&mut w, interface, options);
    }
    if options.symbols {
        symbols(&mut w, &options.name(interface), interface);
    }
    let mut includes =
        "#include <string.h>\n#include <mach/message.h>\n#include <mach/mig_errors.h>\n#include <mach/mig_support.h>\n\
        #include <mach/mach_port.h>\n"
            .to_owned();
    includes.push_str(if options.trap { "#include <mach/trap.h>\n" } else { "" });
    let gives_up = |arg: &Arg| arg.in_request() && !arg.in_reply() && arg.ty.is_port() && arg.ty.in_tran.is_some();
    if interface.routines().flat_map(|r| &r.args).any(gives_up) {
        includes.push_str("#include <mach/mach_init.h>\n");
    }
    w.finish(&text::head(interface, options, Side::Server, &includes), &options.support_prefix, interface)
}

fn write_stub(w: &mut Writer, stub: &Stub<'_>) {
    w.line(format!("static void `_X{}(mach_msg_header_t *`InHeadP, mach_msg_header_t *`OutHeadP)", stub.routine.name));
    w.block("", "", |w| {
        declarations(w, stub);
        check(w, stub);
        server_reply::prepare(w, stub);
        call(w, stub);
        server_reply::release(w, stub);
        server_reply::build(w, stub);
    });
}

fn declarations(w: &mut Writer, stub: &Stub<'_>) {
    let routine = stub.routine;
    messages::structures(w, routine, &stub.request, Kind::Request, Side::Server);
    let has_reply = !stub.outputs().is_empty();
    if has_reply {
        messages::structures(w, routine, &stub.reply, Kind::Reply, Side::Server);
    }
    messages::templates(w, routine, &stub.request, Kind::Request, Side::Server);
    if has_reply {
        messages::templates(w, routine, &stub.reply, Kind::Reply, Side::Server);
    }
    w.gap();
    w.line("`Request *const `In0P = (`Request *) (void *) `InHeadP;");
    let reply = if has_reply { "`Reply" } else { "mig_reply_header_t" };
    w.line(format!("{reply} *const `OutP = ({reply} *) (void *) `OutHeadP;"));
    let mut locals = stub.received().locals();
    locals.extend(server_reply::locals(stub));
    let mut seen = std::collections::BTreeSet::new();
    w.lines(locals.into_iter().filter(|l| seen.insert(l.clone())));
    w.gap();
}

fn check(w: &mut Writer, stub: &Stub<'_>) {
    let received = stub.received();
    w.guard(&received.header_conditions(), &received.fail);
    received.body(w);
}

/// The request port as the routine wants it: converted from the port's name or from its payload.
fn request_port(arg: &Arg) -> String {
    let port = convert(arg, "`In0P->Head.msgh_local_port");
    let Some(payload) = &arg.ty.payload_tran else { return port };
    let by_payload = "MACH_MSGH_BITS_LOCAL(`In0P->Head.msgh_bits) == MACH_MSG_TYPE_PROTECTED_PAYLOAD";
    format!("{by_payload} ? {}(`In0P->Head.msgh_protected_payload) : {port}", payload.function)
}

/// A value from the message, as the routine wants it.
pub(super) fn convert(arg: &Arg, value: &str) -> String {
    match &arg.ty.in_tran {
        Some(tran) => format!("{}({value})", tran.function),
        None => value.to_owned(),
    }
}

/// The C expression of a converted or looked-up argument that has a local of its own, if it needs one.
pub(super) fn local_value(stub: &Stub<'_>, arg: &Arg) -> Option<String> {
    match arg.role {
        Role::RequestPort if arg.ty.in_tran.is_some() || arg.ty.payload_tran.is_some() => Some(request_port(arg)),
        Role::ReplyPort { server: true, .. } if arg.ty.in_tran.is_some() => Some(convert(arg, "`In0P->Head.msgh_remote_port")),
        Role::Data { request: true, .. } if arg.ty.in_tran.is_some() => {
            Some(convert(arg, &format!("{}->{}", stub.pointer_in(arg), arg.name)))
        }
        _ => None,
    }
}

fn call(w: &mut Writer, stub: &Stub<'_>) {
    let routine = stub.routine;
    let args = routine.args.iter().filter(|a| Side::Server.has(a));
    let list: Vec<String> = args.flat_map(|a| actuals(stub, a)).collect();
    w.gap();
    if list.is_empty() {
        w.line(format!("`OutP->RetCode = {}();", routine.server_name));
    } else {
        w.line(format!("`OutP->RetCode = {}(\n\t\t{});", routine.server_name, list.join(",\n\t\t")));
    }
}

/// What is passed for an argument: itself, and the arguments it brings along.
fn actuals(stub: &Stub<'_>, arg: &Arg) -> Vec<String> {
    let name = &arg.name;
    let mut list = vec![own(stub, arg)];
    if let Some(poly) = polymorphic(stub, arg) {
        list.push(poly);
    }
    if has_count(arg) {
        let reference = if arg.in_reply() { "&" } else { "" };
        list.push(format!("{reference}{}", received_count(arg)));
    }
    if arg.dealloc == Dealloc::Runtime && arg.in_reply() {
        list.push(format!("&{name}Dealloc"));
    }
    if arg.server_copy {
        list.push(format!("{}->{name}Type.msgt_inline ? TRUE : FALSE", stub.pointer_in(arg)));
    }
    list
}

fn own(stub: &Stub<'_>, arg: &Arg) -> String {
    let (name, ty) = (&arg.name, &arg.ty);
    match arg.role {
        _ if server_reply::has_out_local(arg) => format!("&{name}Arg"),
        _ if !arg.in_reply() && local_value(stub, arg).is_some() => format!("{name}Arg"),
        Role::RequestPort => "`In0P->Head.msgh_local_port".to_owned(),
        Role::ReplyPort { .. } => "`In0P->Head.msgh_remote_port".to_owned(),
        Role::MsgSeqno => "`In0P->Head.msgh_seqno".to_owned(),
        Role::Data { reply: true, .. } => {
            let pointer = stub.pointer_out(arg);
            if ty.by_value || !ty.inline { format!("&{pointer}->{name}") } else { array(&pointer, arg) }
        }
        _ => {
            let pointer = stub.pointer_in(arg);
            if is_unlimited(ty) {
                return format!("{name}Arg");
            }
            if ty.inline && !ty.by_value { array(&pointer, arg) } else { format!("{pointer}->{name}") }
        }
    }
}

/// An array in a message. Rights lie there in 8 bytes each, and were packed for the routine.
fn array(pointer: &str, arg: &Arg) -> String {
    let cast = if arg.ty.sent.is_right() { "(void *) " } else { "" };
    format!("{cast}{pointer}->{}", arg.name)
}

fn polymorphic(stub: &Stub<'_>, arg: &Arg) -> Option<String> {
    let name = &arg.name;
    match arg.role {
        Role::RequestPort if arg.ty.received == Wire::Polymorphic => {
            Some("MACH_MSGH_BITS_LOCAL(`In0P->Head.msgh_bits)".to_owned())
        }
        Role::ReplyPort { .. } if arg.ty.received == Wire::Polymorphic => {
            Some("MACH_MSGH_BITS_REMOTE(`In0P->Head.msgh_bits)".to_owned())
        }
        Role::Data { reply: true, .. } if server_reply::has_poly_local(arg) => Some(format!("&{name}Poly")),
        Role::Data { request: true, reply: false } if arg.ty.received == Wire::Polymorphic => {
            Some(format!("{}->{name}Type.msgt_name", stub.pointer_in(arg)))
        }
        _ => None,
    }
}

fn table(w: &mut Writer, interface: &Interface) {
    w.gap();
    w.line(format!("/* The stubs, by the distance of the message's identifier from {}. */", interface.base));
    w.line(format!("extern const mig_routine_t {}_routines[];", interface.demux));
    w.block(&format!("const mig_routine_t {}_routines[] =", interface.demux), ";", |w| {
        for routine in &interface.routines {
            w.line(routine.as_ref().map_or("0,".to_owned(), |r| format!("`_X{},", r.name)));
        }
        if interface.routines.is_empty() {
            w.line("0");
        }
    });
}

fn demux(w: &mut Writer, interface: &Interface) {
    // The table has an entry in any case.
    let (demux, base, count) = (&interface.demux, interface.base, interface.routines.len().max(1));
    w.gap();
    w.line("/* The stub for a request, or 0. */");
    w.line("static inline mig_routine_t `mig_find_routine(const mach_msg_header_t *`InHeadP)");
    w.block("", "", |w| {
        w.line(format!("const uint32_t index = (uint32_t) `InHeadP->msgh_id - {base}u;"));
        w.gap();
        w.line(format!("return index < {count} ? {demux}_routines[index] : 0;"));
    });
    w.gap();
    w.line("/* The same for others. */");
    w.line(format!("extern mig_routine_t {demux}_routine(const mach_msg_header_t *`InHeadP);"));
    w.line(format!("mig_routine_t {demux}_routine(const mach_msg_header_t *`InHeadP)"));
    w.block("", "", |w| w.line("return `mig_find_routine(`InHeadP);"));
    let code = w.call(Helper::CodeType);
    w.gap();
    w.line("/*");
    w.line(" * Serves a request and builds its reply; FALSE if no routine has the request's identifier. With a reply that");
    w.line(" * holds an error other than MIG_NO_REPLY the caller destroys the request, as mach_msg_server does.");
    w.line(" */");
    w.line(format!("extern boolean_t {demux}(mach_msg_header_t *`InHeadP, mach_msg_header_t *`OutHeadP);"));
    w.line(format!("boolean_t {demux}(mach_msg_header_t *`InHeadP, mach_msg_header_t *`OutHeadP)"));
    w.block("", "", |w| {
        w.line("mig_reply_header_t *const `OutP = (mig_reply_header_t *) (void *) `OutHeadP;");
        w.line("const mig_routine_t routine = `mig_find_routine(`InHeadP);");
        w.gap();
        w.line("`OutP->Head.msgh_bits = MACH_MSGH_BITS(MACH_MSGH_BITS_REMOTE(`InHeadP->msgh_bits), 0);");
        w.line("`OutP->Head.msgh_size = sizeof *`OutP;");
        w.line("`OutP->Head.msgh_remote_slot = `InHeadP->msgh_remote_port;");
        w.line("`OutP->Head.msgh_protected_payload = MACH_PORT_NULL;");
        w.line("`OutP->Head.msgh_seqno = 0;");
        w.line("`OutP->Head.msgh_id = (mach_msg_id_t) ((uint32_t) `InHeadP->msgh_id + 100u);");
        w.line(format!("`OutP->RetCodeType = {code};"));
        w.line("memset((char *) `OutHeadP + 44, 0, 4); /* what is behind the return code */");
        w.block("if (routine == 0)", "", |w| {
            w.line("`OutP->RetCode = MIG_BAD_ID;");
            w.line("return FALSE;");
        });
        w.line("routine(`InHeadP, `OutHeadP);");
        w.line("return TRUE;");
    });
}

/// Routines that the server's author leaves out, if the file is compiled so.
pub(super) fn fallbacks(w: &mut Writer, interface: &Interface) {
    w.gap();
    w.line("#ifdef MIG_EOPNOTSUPP");
    w.line("/* Routines that the server does not have return this code. */");
    defaults::definitions(w, interface, "MIG_EOPNOTSUPP");
    w.line("#endif");
}

pub(super) fn symbols(w: &mut Writer, name: &str, interface: &Interface) {
    w.gap();
    w.line("/* The routines' names, for tools. */");
    w.line(format!("extern const mig_symtab_t _{name}_symtab[];"));
    w.block(&format!("const mig_symtab_t _{name}_symtab[] ="), ";", |w| {
        for routine in interface.routines() {
            w.line(format!(
                "{{ \"{0}\", {1}, (void (*)(void)) {2} }},",
                routine.name,
                routine.id - interface.base,
                routine.server_name
            ));
        }
        w.line("{ 0, 0, 0 }");
    });
}
