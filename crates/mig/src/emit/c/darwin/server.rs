//! The server's stubs: check a request, call the routine, build the reply; the demultiplexer and the table of routines.

use super::super::Options;
use super::super::helpers::Helper;
use super::super::names;
use super::super::server::{convert, fallbacks, symbols};
use super::super::text;
use super::super::view::{Side, count_name, has_count, prototype};
use super::super::writer::Writer;
use super::layout::{Data, Message, bytes, padded};
use super::{fields, server_reply, trailer};
use crate::model::{Arg, Dealloc, Interface, Role, Routine, Wire};

/// What the functions for one stub need.
pub(super) struct Stub<'a> {
    pub routine: &'a Routine,
    pub options: &'a Options,
    pub request: Message<'a>,
    pub reply: Message<'a>,
}

impl Stub<'_> {
    /// Name of a routine of libmach.
    pub fn support(&self, name: &str) -> String {
        format!("{}{name}", self.options.support_prefix)
    }

    /// The arguments that are data of the messages.
    pub fn arguments(&self) -> impl Iterator<Item = &Arg> {
        self.routine.args.iter().filter(|arg| arg.in_request() || arg.in_reply())
    }
}

/// What an argument's data is where it is used: the piece that has the argument's name.
pub(super) fn data_of(message: &Message<'_>, arg: &Arg) -> Option<Data> {
    message.data.iter().find(|(it, data)| it.name == arg.name && !matches!(data, Data::Count | Data::Room)).map(|(_, data)| *data)
}

/// The whole file.
pub fn server(interface: &Interface, options: &Options) -> String {
    let interface = &names::for_stubs(interface, options);
    let mut w = Writer::default();
    for routine in interface.routines() {
        let (request, reply) = (Message::request(routine), Message::reply(routine));
        let stub = Stub { routine, options, request, reply };
        w.gap();
        w.line(text::comment(routine));
        w.line(format!("extern {};", prototype(routine, &routine.server_name, Side::Server)));
        w.gap();
        write_stub(&mut w, &stub);
    }
    table(&mut w, interface);
    demux(&mut w, interface);
    fallbacks(&mut w, interface);
    if options.symbols {
        symbols(&mut w, &options.name(interface), interface);
    }
    let includes = "#include <string.h>\n#include <mach/mach_init.h>\n#include <mach/mach_port.h>\n#include <mach/message.h>\n\
        #include <mach/mig.h>\n#include <mach/ndr.h>\n";
    w.finish(&text::head(interface, options, Side::Server, includes), &options.support_prefix, interface)
}

fn write_stub(w: &mut Writer, stub: &Stub<'_>) {
    w.line(format!("static void `_X{}(mach_msg_header_t *`InHeadP, mach_msg_header_t *`OutHeadP)", stub.routine.name));
    w.block("", "", |w| {
        declarations(w, stub);
        check(w, stub);
        take(w, stub);
        call(w, stub);
        server_reply::finish(w, stub);
    });
}

fn declarations(w: &mut Writer, stub: &Stub<'_>) {
    fields::structures(w, Side::Server, &stub.request, (!stub.routine.one_way).then_some(&stub.reply));
    w.line("`Request *const `In0P = (`Request *) (void *) `InHeadP;");
    if stub.request.moves() {
        w.line("`Request *`InV;");
    }
    if stub.request.varying().next().is_some() {
        w.line("mach_msg_size_t `mig_left;");
    }
    if !stub.routine.one_way {
        w.line("`Reply *const `OutP = (`Reply *) (void *) `OutHeadP;");
    }
    w.line("kern_return_t `mig_code;");
    for arg in &stub.routine.args {
        locals(w, stub, arg);
    }
    server_reply::locals(w, stub);
    w.gap();
}

/// Each argument has a local: its value, or where its array lies.
fn locals(w: &mut Writer, stub: &Stub<'_>, arg: &Arg) {
    if !Side::Server.has(arg) {
        return;
    }
    let (name, ty) = (&arg.name, &arg.ty);
    match data_of(if arg.in_reply() { &stub.reply } else { &stub.request }, arg) {
        Some(Data::Array | Data::Varying | Data::Text) => w.line(format!("void *{name};")),
        _ if arg.role == Role::MsgSeqno => w.line(format!("mach_port_seqno_t {name};")),
        _ => w.line(format!("{} {name};", ty.server_type)),
    }
    if (arg.in_request() || arg.in_reply()) && ty.varies() && !ty.string && arg.same_count.is_none() {
        w.line(format!("mach_msg_type_number_t {name}Cnt;"));
    }
    if polymorphic(arg) && arg.in_reply() {
        w.line(format!("mach_msg_type_name_t {name}Poly = MACH_MSG_TYPE_COPY_SEND;"));
    }
    if arg.dealloc == Dealloc::Runtime && arg.in_reply() {
        w.line(format!("boolean_t {name}Dealloc = FALSE;"));
    }
}

/// Whether the argument's kind of right is said at run time on this side.
fn polymorphic(arg: &Arg) -> bool {
    match arg.role {
        Role::Data { request: true, reply: true } => arg.ty.sent == Wire::Polymorphic || arg.ty.received == Wire::Polymorphic,
        Role::Data { reply: true, .. } => arg.ty.sent == Wire::Polymorphic,
        _ => arg.ty.received == Wire::Polymorphic,
    }
}

fn fail(code: &str) -> Vec<String> {
    vec![format!("`mig_reply_code(`OutHeadP, {code});"), "return;".to_owned()]
}

fn check(w: &mut Writer, stub: &Stub<'_>) {
    let wrong = fail("MIG_BAD_ARGUMENTS");
    let message = &stub.request;
    w.guard(&fields::wrong_header(message, "`In0P"), &wrong);
    w.guard(&fields::wrong_descriptors(message, "`In0P"), &wrong);
    let count = |arg: &Arg| count_name(&stub.routine.args, arg);
    fields::data(w, message, ["`In0P", "`InV", "`mig_left"], count, &wrong);
    w.guard(&fields::wrong_counts(message, "`In0P", count), &wrong);
    if let Some(part) = trailer::largest(stub.routine, Side::Server) {
        w.guard(&[part.is_missing("`InHeadP")], &fail("MIG_TRAILER_ERROR"));
    }
}

/// Gives each local its value.
fn take(w: &mut Writer, stub: &Stub<'_>) {
    w.gap();
    for arg in stub.routine.args.iter().filter(|arg| Side::Server.has(arg)) {
        let name = &arg.name;
        match arg.role {
            Role::RequestPort => w.line(format!("{name} = {};", convert(arg, "`In0P->Head.msgh_local_port"))),
            Role::ReplyPort { .. } => w.line(format!("{name} = {};", convert(arg, "`In0P->Head.msgh_remote_port"))),
            _ => w.lines(trailer::part(arg).map(|part| format!("{name} = {};", convert(arg, &part.value("`InHeadP"))))),
        }
    }
    for (arg, _) in &stub.request.descriptors {
        let (name, ty) = (&arg.name, &arg.ty);
        let value =
            if ty.is_port() { format!("`In0P->{name}.name") } else { format!("({}) `In0P->{name}.address", ty.server_type) };
        w.line(format!("{name} = {};", convert(arg, &value)));
        if polymorphic(arg) && arg.in_reply() {
            w.line(format!("{name}Poly = `In0P->{name}.disposition;"));
        }
    }
    if stub.request.moves() {
        w.line("`InV = `In0P;");
    }
    let mut from = "`In0P";
    for (index, (arg, data)) in stub.request.data.iter().enumerate() {
        let (name, ty) = (&arg.name, &arg.ty);
        match data {
            Data::Value => w.line(format!("{name} = {};", convert(arg, &format!("{from}->{name}")))),
            Data::Array | Data::Varying | Data::Text if arg.in_reply() => {
                let length = match data {
                    Data::Array => bytes(ty).to_string(),
                    Data::Text => format!("{from}->{name}Cnt"),
                    _ => fields::times(&format!("{from}->{name}Cnt"), ty.bytes),
                };
                w.line(format!("{name} = `OutP->{name};"));
                w.line(format!("memcpy({name}, {from}->{name}, {length});"));
            }
            Data::Array | Data::Varying | Data::Text => {
                if *data == Data::Array && ty.string {
                    w.line(format!("{from}->{name}[{}] = 0;", bytes(ty) - 1));
                }
                w.line(format!("{name} = {from}->{name};"));
            }
            Data::Room => {
                let most = crate::layout::inline_elements(ty);
                let far = super::layout::is_far(ty);
                let room = format!("{from}->{name}Cnt");
                w.line(format!("{name}Cnt = {};", if far { room } else { format!("{room} < {most} ? {room} : {most}") }));
            }
            Data::Count => {}
        }
        if matches!(data, Data::Varying | Data::Text) && index + 1 < stub.request.data.len() {
            let length = fields::times(&format!("{from}->{name}Cnt"), if *data == Data::Text { 1 } else { ty.bytes });
            w.line(format!("`InV = (void *) ((char *) `InV - {} + `mig_round4({length}));", padded(bytes(ty))));
            from = "`InV";
        }
    }
    server_reply::prepare(w, stub);
}

fn call(w: &mut Writer, stub: &Stub<'_>) {
    let routine = stub.routine;
    let args = routine.args.iter().filter(|a| Side::Server.has(a));
    let list: Vec<String> = args.flat_map(|a| actuals(stub, a)).collect();
    w.gap();
    w.line(if list.is_empty() {
        format!("`mig_code = {}();", routine.server_name)
    } else {
        format!("`mig_code = {}(\n\t\t{});", routine.server_name, list.join(",\n\t\t"))
    });
}

/// What is passed for an argument: itself, and the arguments it brings along.
fn actuals(stub: &Stub<'_>, arg: &Arg) -> Vec<String> {
    let name = &arg.name;
    let reference = if super::super::view::by_reference(arg) { "&" } else { "" };
    let mut list = vec![format!("{reference}{name}")];
    if polymorphic(arg) {
        list.push(match arg.role {
            Role::RequestPort => "MACH_MSGH_BITS_LOCAL(`In0P->Head.msgh_bits)".to_owned(),
            Role::ReplyPort { .. } => "MACH_MSGH_BITS_REMOTE(`In0P->Head.msgh_bits)".to_owned(),
            _ if arg.in_reply() => format!("&{name}Poly"),
            _ => format!("`In0P->{name}.disposition"),
        });
    }
    if has_count(arg) {
        let reference = if arg.in_reply() { "&" } else { "" };
        list.push(format!("{reference}{}", count_name(&stub.routine.args, arg)));
    }
    if arg.dealloc == Dealloc::Runtime && arg.in_reply() {
        list.push(format!("&{name}Dealloc"));
    }
    if arg.server_copy {
        list.push("FALSE".to_owned());
    }
    list
}

/// The name of the table: with the prefix that server routines have.
pub(super) fn subsystem(interface: &Interface) -> String {
    let prefix = interface.routines().find_map(|it| it.server_name.strip_suffix(&it.name)).unwrap_or_default();
    format!("{prefix}{}_subsystem", interface.name)
}

/// The members of the table: those of `struct mig_subsystem`, with room for all routines.
pub(super) fn subsystem_members(interface: &Interface) -> Vec<String> {
    let before = ["mig_server_routine_t server", "mach_msg_id_t start", "mach_msg_id_t end", "mach_msg_size_t maxsize"];
    let members = before.into_iter().chain(["vm_address_t reserved"]).map(|member| format!("{member};"));
    members.chain([format!("mig_routine_descriptor routine[{}];", interface.routines.len().max(1))]).collect()
}

fn table(w: &mut Writer, interface: &Interface) {
    let (name, demux, count) = (subsystem(interface), &interface.demux, interface.routines.len());
    let reply = |routine: &Routine| if routine.one_way { 36 } else { Message::reply(routine).most().max(36) } + 8;
    let most = interface.routines().map(reply).max().unwrap_or(44);
    w.gap();
    w.line("/* The routines, by the distance of the message's identifier from the first one. */");
    w.line(format!("extern mig_routine_t {demux}_routine(mach_msg_header_t *`InHeadP);"));
    w.block(&format!("extern const struct {name}"), &format!(" {name};"), |w| w.lines(subsystem_members(interface)));
    w.line(format!("const struct {name} {name} = {{"));
    let base = interface.base;
    w.line(format!("\t{demux}_routine, {base}, {}, {most}, 0, {{", i64::from(base) + count as i64));
    for routine in &interface.routines {
        w.line(match routine {
            Some(it) => {
                let words =
                    it.args.iter().filter(|a| Side::Server.has(a)).map(|a| super::super::view::parameters(a, Side::Server).len());
                format!("\t\t{{ 0, `_X{}, {}, 0, 0, {} }},", it.name, words.sum::<usize>(), reply(it))
            }
            None => "\t\t{ 0, 0, 0, 0, 0, 0 },".to_owned(),
        });
    }
    if interface.routines.is_empty() {
        w.line("\t\t{ 0, 0, 0, 0, 0, 0 }");
    }
    w.line("\t}");
    w.line("};");
}

fn demux(w: &mut Writer, interface: &Interface) {
    let answer = w.call(Helper::ReplyCode);
    let (demux, base, count) = (&interface.demux, interface.base, interface.routines.len());
    w.gap();
    w.line("/* The stub for a request, or 0. */");
    w.line(format!("mig_routine_t {demux}_routine(mach_msg_header_t *`InHeadP)"));
    let table = subsystem(interface);
    w.block("", "", |w| {
        w.line(format!("const uint32_t index = (uint32_t) `InHeadP->msgh_id - {base}u;"));
        w.gap();
        w.line(format!("return index < {}u ? {table}.routine[index].stub_routine : 0;", count.max(1)));
    });
    w.gap();
    w.line("/*");
    w.line(" * Serves a request and builds its reply; FALSE if no routine has the request's identifier. With a reply that");
    w.line(" * holds an error other than MIG_NO_REPLY the caller destroys the request, as mach_msg_server does.");
    w.line(" */");
    w.line(format!("extern boolean_t {demux}(mach_msg_header_t *`InHeadP, mach_msg_header_t *`OutHeadP);"));
    w.line(format!("boolean_t {demux}(mach_msg_header_t *`InHeadP, mach_msg_header_t *`OutHeadP)"));
    w.block("", "", |w| {
        w.line(format!("const mig_routine_t routine = {demux}_routine(`InHeadP);"));
        w.gap();
        w.line("`OutHeadP->msgh_bits = MACH_MSGH_BITS(MACH_MSGH_BITS_REMOTE(`InHeadP->msgh_bits), 0);");
        w.line("`OutHeadP->msgh_remote_port = `InHeadP->msgh_remote_port;");
        w.line("`OutHeadP->msgh_local_port = MACH_PORT_NULL;");
        w.line("`OutHeadP->msgh_voucher_port = MACH_PORT_NULL;");
        w.line("`OutHeadP->msgh_id = (mach_msg_id_t) ((uint32_t) `InHeadP->msgh_id + 100u);");
        w.block("if (routine == 0)", "", |w| {
            w.line(format!("{answer}(`OutHeadP, MIG_BAD_ID);"));
            w.line("return FALSE;");
        });
        w.line("routine(`InHeadP, `OutHeadP);");
        w.line("return TRUE;");
    });
}
