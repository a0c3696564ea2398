//! Calls in place of messages: a type for each routine that can be called, by which caller and server know its arguments.

use super::client;
use super::names::{camel, plain_snake, snake};
use super::server;
use super::text::{doc, free, outputs, reply_type};
use super::translate::out_of;
use super::types;
use super::view::{What, by_reference, given_type, kind_name, received_type, what};
use super::writer::Writer;
use crate::emit::trap::{arguments, block_words, flags, is_eligible, word};
use crate::model::{Arg, Count, Interface, Routine, Type, Wire};

/// The most bytes of a value that a caller's stub has on its stack.
const STACK: u32 = 4096;

/// The type that stands for a routine.
pub fn type_name(routine: &Routine) -> String {
    format!("{}Trap", camel(&routine.name))
}

/// Defines the types.
pub fn define(w: &mut Writer, interface: &Interface) {
    for routine in interface.routines().filter(|r| is_eligible(r)) {
        let name = type_name(routine);
        w.gap();
        w.line(format!("/// `{}`, as it is called within a process.", routine.name));
        w.line(format!("enum {name} {{}}"));
        w.gap();
        w.block(&format!("impl mig::Trap for {name}"), "", |w| {
            w.line(format!("const ID: i32 = {};", routine.id));
            w.line(format!("const NAME: &'static str = \"{}\";", routine.name));
            w.line(format!("const TRIED: &'static str = \"{}.{}\";", interface.name, routine.name));
            if arguments(routine).next().is_none() {
                w.line("const ITEMS: &'static [mig::Item] = &[];");
                return;
            }
            w.line("const ITEMS: &'static [mig::Item] = &[");
            w.indented(|w| {
                for arg in arguments(routine) {
                    w.line(format!("// {}", arg.name));
                    w.call("mig::Item::new", &item(arg), ",");
                }
            });
            w.line("];");
        });
    }
}

/// The arguments of the constructor of an argument.
fn item(arg: &Arg) -> [String; 5] {
    let ty = &arg.ty;
    let names = ["IN", "OUT", "TEXT", "COUNT_IN_OUT", "SAME_COUNT"].iter().zip(flags(arg));
    let flags: Vec<_> = names.filter(|(_, set)| *set).map(|(name, _)| format!("mig::{name}")).collect();
    let count = match ty.count {
        Count::One => "mig::Count::One".to_owned(),
        Count::Fixed(n) => format!("mig::Count::Fixed({n})"),
        Count::UpTo(n) => format!("mig::Count::UpTo({n})"),
        Count::Unlimited => unreachable!("an array without a limit has no place in a block"),
    };
    [flags.join(" | "), kind(arg), count, ty.bytes.to_string(), ty.align.to_string()]
}

/// The kind of an element.
fn kind(arg: &Arg) -> String {
    let ty = &arg.ty;
    let Wire::Known(wire) = ty.sent else { unreachable!("rights have no place in a block") };
    let one = if ty.bits == wire.bits.max(8) || (wire.name == "REAL_64" && ty.bits == 64) {
        format!("mig::{}", kind_name(ty.sent))
    } else {
        format!("mig::Kind::new({}, {})", wire.code, ty.bits)
    };
    if ty.units == 1 { one } else { format!("{one}.times({})", ty.units) }
}

/// The name of a local for what an argument's data is in during the call.
fn memory(routine: &Routine, arg: &Arg) -> String {
    free(&format!("{}_memory", plain_snake(&arg.name)), routine)
}

/// A caller's method that calls where it can, and else sends.
pub fn method(w: &mut Writer, routine: &Routine, list: &[String]) {
    let head = format!("pub fn {}", snake(&routine.name));
    w.signature(&head, list, &format!(" -> Result<{}, mig::Error> {{", reply_type(routine, None)));
    let mut body = Writer::deeper();
    let b = &mut body;
    let name = type_name(routine);
    let send = |b: &mut Writer| {
        let all = routine.args.iter().flat_map(|a| client::parameters(routine, a)).map(|(name, _)| name);
        let all: Vec<_> = ["self".to_owned()].into_iter().chain(all).collect();
        b.call(&format!("return {name}::send"), &all, ";");
    };
    if arguments(routine).any(takes_memory) {
        b.block(&format!("if !mig::may_call::<{name}>(&self.0)"), "", send);
    }
    for arg in arguments(routine) {
        if let Some((mutable, value)) = room(arg) {
            let mutable = if mutable { "mut " } else { "" };
            b.line(format!("let {mutable}{} = {value};", memory(routine, arg)));
        }
    }
    let call = free("call", routine);
    let mutable = if arguments(routine).next().is_some() { "mut " } else { "" };
    b.line(format!("let {mutable}{call} = mig::Call::<{name}, {}>::new();", block_words(routine)));
    for arg in arguments(routine) {
        let (method, values) = put(routine, arg);
        b.call(&format!("{call}.{method}"), &values, ";");
    }
    let made = free("made", routine);
    b.block(&format!("let Some({made}) = {call}.make(&self.0) else"), ";", send);
    results(b, routine, &made);
    w.nested(body);
    w.line("}");
}

/// The words of a value that the block points to.
fn words(ty: &Type) -> u32 {
    (if let Count::Fixed(n) = ty.count { n * ty.bytes } else { ty.bytes }).div_ceil(8)
}

fn is_far(ty: &Type) -> bool {
    words(ty) * 8 > STACK
}

/// Whether an argument takes memory for as much as it may be, which a message doesn't.
fn takes_memory(arg: &Arg) -> bool {
    match what(&arg.ty) {
        What::Text(..) | What::List(_) => arg.in_reply(),
        _ if !arg.in_reply() && arg.ty.count != Count::One => false,
        _ => word(arg).is_none() && is_far(&arg.ty),
    }
}

/// What data is in during the call that is not the caller's own: whether it changes, and its value.
fn room(arg: &Arg) -> Option<(bool, String)> {
    let ty = &arg.ty;
    let name = snake(&arg.name);
    let (goes_in, comes_out) = (arg.in_request(), arg.in_reply());
    if word(arg).is_some() {
        return None;
    }
    Some(match what(ty) {
        What::Text(..) if !comes_out => return None,
        What::Text(_, n) if goes_in => (true, format!("mig::Text::of({name}, {n})")),
        What::Text(_, n) => (true, format!("mig::Text::new({n})")),
        What::List(n) if goes_in && comes_out => (true, format!("mig::List::of({name}, {n})")),
        What::List(n) if comes_out => {
            let element = types::of(ty);
            let made = if arg.count_in_out { format!("within({n}, {})", client::room(arg)) } else { format!("new({n})") };
            (true, format!("mig::List::<{element}>::{made}"))
        }
        _ if !comes_out && ty.count != Count::One => (false, format!("mig::Packed::new({name})")),
        _ => {
            let words = words(ty);
            (true, if is_far(ty) { format!("mig::FarSlot::new({words})") } else { format!("mig::Slot::<{words}>::new()") })
        }
    })
}

/// The method that puts an argument into the call, and its arguments.
fn put(routine: &Routine, arg: &Arg) -> (&'static str, Vec<String>) {
    let name = snake(&arg.name);
    let given = given_type(arg).starts_with('&');
    let reference = if given { name.clone() } else { format!("&{name}") };
    let mutable = format!("&mut {}", memory(routine, arg));
    if word(arg).is_some() {
        return ("value", vec![reference]);
    }
    match (what(&arg.ty), arg.in_request(), arg.in_reply()) {
        (What::Text(..), _, false) => ("text", vec![name]),
        (What::Text(..), ..) => ("room", vec![mutable]),
        (What::List(_), _, true) => ("list", vec![mutable]),
        (_, true, false) if arg.ty.count != Count::One => ("array", vec![format!("&{}", memory(routine, arg))]),
        (_, true, _) => ("input", vec![mutable, reference]),
        _ => ("output", vec![mutable]),
    }
}

/// What came back.
fn results(w: &mut Writer, routine: &Routine, made: &str) {
    let outputs = outputs(routine);
    if outputs.is_empty() {
        w.line(made);
        return;
    }
    w.line(format!("{made}?;"));
    for arg in &outputs {
        let memory = memory(routine, arg);
        let owner = arg.same_count.and_then(|i| routine.args.get(i));
        let taken = match (what(&arg.ty), owner) {
            (What::List(_), Some(owner)) => format!("{memory}.take_same({}.len())?", snake(&owner.name)),
            (What::List(_) | What::Text(..), _) => format!("{memory}.take()?"),
            _ => format!("{memory}.get()"),
        };
        w.bind(&snake(&arg.name), &received_type(&arg.ty), &taken);
    }
    client::reply(w, routine);
}

/// How the types send messages, where there is no call.
pub fn send(w: &mut Writer, interface: &Interface) {
    for routine in interface.routines().filter(|r| is_eligible(r)) {
        w.gap();
        w.block(&format!("impl {}", type_name(routine)), "", |w| {
            let client = free("client", routine);
            let parameters = routine.args.iter().flat_map(|a| client::parameters(routine, a));
            let parameters = parameters.map(|(name, ty)| format!("{name}: {ty}"));
            let list: Vec<_> = [format!("{client}: &{}", camel(&interface.name))].into_iter().chain(parameters).collect();
            doc(w, routine);
            // A call does without the frame that a message needs.
            w.line("#[inline(never)]");
            client::by_message(w, interface, routine, "fn send", &list, &format!("&{client}.0"));
        });
    }
}

/// How a server does what the types stand for.
pub fn serve(w: &mut Writer, interface: &Interface, trait_name: &str) {
    for routine in interface.routines().filter(|r| is_eligible(r)) {
        w.gap();
        w.block(&format!("impl<S: {trait_name}> mig::Trapped<S> for {}", type_name(routine)), "", |w| {
            let (server, call) = (free("server", routine), free("call", routine));
            let list = [format!("{server}: &mut S"), format!("{call}: &mut mig::Called<Self>")];
            w.signature("fn serve", &list, " -> Result<(), mig::Code> {");
            let mut body = Writer::deeper();
            take(&mut body, routine, &call);
            server::convert(&mut body, routine, &server, &call);
            work(&mut body, routine, &server, &call);
            w.nested(body);
            w.line("}");
        });
    }
    table(w, interface, trait_name);
}

fn take(w: &mut Writer, routine: &Routine, call: &str) {
    for arg in arguments(routine) {
        let name = snake(&arg.name);
        if arg.in_request() {
            let method = match what(&arg.ty) {
                What::List(_) => "list",
                What::Text(..) => "text",
                _ => "value",
            };
            w.bind(&name, &received_type(&arg.ty), &format!("{call}.{method}()?"));
        } else if arg.count_in_out {
            w.bind(&server::room(arg), "u32", &format!("{call}.room()?"));
        }
    }
}

fn work(w: &mut Writer, routine: &Routine, server: &str, call: &str) {
    let list: Vec<_> = routine.args.iter().filter_map(|a| server::actual(routine, a, call)).collect();
    let head = format!("{server}.{}", snake(&routine.name));
    let outputs = outputs(routine);
    if outputs.is_empty() {
        w.call(&head, &list, "");
        return;
    }
    let (one, out) = (outputs.len() == 1, free("out", routine));
    let local = if one { snake(&outputs[0].name) } else { out.clone() };
    w.call(&format!("let {local} = {head}"), &list, "?;");
    let place = |arg: &Arg| if one { local.clone() } else { format!("{out}.{}", snake(&arg.name)) };
    let mut values = Vec::new();
    for arg in &outputs {
        let mut value = place(arg);
        if let (Some(_), Some(tran)) = (out_of(arg), &arg.ty.out_tran) {
            let name = format!("{}_value", plain_snake(&arg.name));
            w.call(&format!("let {name} = {server}.{}", snake(&tran.function)), &[value], ";");
            value = name;
        }
        let method = match what(&arg.ty) {
            What::List(_) => "list",
            What::Text(..) => "text",
            _ => "value",
        };
        debug_assert!(by_reference(&arg.ty), "what is in a block is written from where it is");
        values.push((method, value));
    }
    let results = free("results", routine);
    w.block(&format!("{call}.give(|{results}|"), ")", |w| {
        values.iter().for_each(|(method, value)| w.line(format!("{results}.{method}(&{value});")));
    });
}

/// The routines for programs that register them.
fn table(w: &mut Writer, interface: &Interface, trait_name: &str) {
    w.gap();
    w.doc("The routines that can be called within a process, for `mig::serve_traps` and its kin.");
    let head = format!("pub fn traps<S: {trait_name}, W: mig::Way<S>>");
    w.signature(&head, &[], " -> mig::Traps<S, W> {");
    w.indented(|w| {
        let new = format!("mig::Traps::new({}, {})", interface.base, interface.routines.len());
        let mut names = interface.routines().filter(|r| is_eligible(r)).map(type_name).peekable();
        if names.peek().is_none() {
            w.line(new);
            return;
        }
        w.line(format!("let mut table = {new};"));
        names.for_each(|name| w.line(format!("table.add::<{name}>();")));
        w.line("table");
    });
    w.line("}");
}
