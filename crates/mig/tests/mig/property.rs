//! Random interfaces, generated, compiled and run: what goes in comes out again.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::{compile_strictly, include, mig, run};

/// A type of the interface: how it is declared there and in C, and how an array of it is passed.
#[derive(Clone, Debug)]
pub struct Kind {
    /// As the interface says it.
    pub defs: String,
    c: String,
    /// How it is passed.
    pub form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// By value.
    Value,
    /// An array of fixed length.
    Fixed(u32),
    /// A string with its room.
    Text(u32),
    /// An array of at most so many elements.
    UpTo(u32),
    /// An array without a limit, in the message or not.
    Unlimited,
    /// An array out of line.
    Far,
}

const ELEMENTS: [(&str, &str); 6] =
    [("char", "char"), ("short", "short"), ("int", "int"), ("int64", "int64_t"), ("pair_t", "pair_t"), ("mixed_t", "mixed_t")];

/// Any type.
pub fn kind() -> impl Strategy<Value = Kind> {
    let form = prop_oneof![
        3 => Just(Form::Value),
        1 => (1..40u32).prop_map(Form::Fixed),
        1 => (1..90u32).prop_map(Form::Text),
        2 => (1..300u32).prop_map(Form::UpTo),
        1 => Just(Form::Unlimited),
        1 => Just(Form::Far),
    ];
    (0..ELEMENTS.len(), form, any::<bool>()).prop_map(|(element, form, varying)| {
        let (e, c) = ELEMENTS[element];
        let (defs, c) = match form {
            Form::Value => (e.to_owned(), format!("typedef {c} @")),
            Form::Fixed(n) => (format!("array[{n}] of {e}"), format!("typedef {c} @[{n}]")),
            Form::Text(n) if varying => (format!("c_string[*:{n}]"), format!("typedef char @[{n}]")),
            Form::Text(n) => (format!("c_string[{n}]"), format!("typedef char @[{n}]")),
            Form::UpTo(n) => (format!("array[*:{n}] of {e}"), format!("typedef {c} *@")),
            Form::Unlimited => (format!("array[] of {e}"), format!("typedef {c} *@")),
            Form::Far => (format!("^array[] of {e}"), format!("typedef {c} *@")),
        };
        Kind { defs, c, form }
    })
}

/// A routine: its arguments, each with whether it is one InOut argument rather than an In and an Out.
pub type Shape = Vec<(Kind, bool)>;

struct Text {
    defs: String,
    types: String,
    server: String,
    client: String,
}

fn interface(routines: &[Shape]) -> Text {
    let mut text = Text {
        defs: "subsystem random 3000;\n#include <mach/std_types.defs>\nimport \"random_types.h\";\nuserprefix u_;\nserverprefix s_;\n\
               type pair_t = struct[2] of short;\ntype mixed_t = struct { int64 a; int b; short c; char d; char e; };\n"
            .to_owned(),
        types: "#ifndef RANDOM_TYPES\n#define RANDOM_TYPES\n#include <stdint.h>\ntypedef struct { short v[2]; } pair_t;\n\
                typedef struct { int64_t a; int b; short c; char d, e; } mixed_t;\n"
            .to_owned(),
        server: "#include \"randomServer.h\"\n#include <string.h>\n#include <mach/mig_support.h>\n".to_owned(),
        client: "#include \"random.h\"\n#include \"property.h\"\n".to_owned(),
    };
    let mut calls = String::new();
    for (r, shape) in routines.iter().enumerate() {
        routine(&mut text, r, shape).unwrap();
        writeln!(calls, "\tif (check_{r}() != 0)\n\t\treturn {};", r + 1).unwrap();
    }
    text.types.push_str("#endif\n");
    write!(text.client, "\nint property_check(void)\n{{\n{calls}\treturn 0;\n}}\n").unwrap();
    text
}

fn routine(text: &mut Text, r: usize, shape: &Shape) -> std::fmt::Result {
    let (mut defs, mut parameters, mut body) = (Vec::new(), vec!["mach_port_t server".to_owned()], String::new());
    let (mut locals, mut actuals, mut before, mut after) =
        (String::new(), vec!["FAKE_SERVER".to_owned()], String::new(), String::new());
    for (i, (kind, both)) in shape.iter().enumerate() {
        let ty = format!("t{r}_{i}_t");
        writeln!(text.defs, "type {ty} = {};", kind.defs)?;
        writeln!(text.types, "{};", kind.c.replace('@', &ty))?;
        // Out-of-line and unlimited arrays go one way each: ownership is the sampler's business.
        let both = *both && !matches!(kind.form, Form::Unlimited | Form::Far);
        let element = if matches!(kind.form, Form::Value) { ty.clone() } else { format!("__typeof__(*({ty}) {{0}})") };
        let element = if matches!(kind.form, Form::UpTo(_) | Form::Unlimited | Form::Far) {
            format!("__typeof__(*({ty}) 0)")
        } else {
            element
        };
        let (a, b) = (format!("a{i}"), format!("b{i}"));
        defs.push(if both { format!("inout {a} : {ty}") } else { format!("{a} : {ty}; out {b} : {ty}") });
        let out = if both { a.clone() } else { b.clone() };
        match kind.form {
            Form::Value => {
                writeln!(locals, "\t{ty} {a}, {b};")?;
                writeln!(before, "\tproperty_fill(&{a}, sizeof {a});\n\t{b} = {a};")?;
                writeln!(after, "\tif (property_differs(&{a}, &{b}, sizeof {a}, {}))\n\t\treturn 1;", u8::from(both))?;
                parameters.push(if both { format!("{ty} *{a}") } else { format!("{ty} {a}, {ty} *{b}") });
                actuals.push(if both { format!("&{a}") } else { format!("{a}, &{b}") });
                if both {
                    writeln!(body, "\tproperty_flip({a}, sizeof *{a});")?;
                } else {
                    writeln!(body, "\t*{b} = {a};")?;
                }
            }
            Form::Fixed(_) | Form::Text(_) => {
                let string = matches!(kind.form, Form::Text(_));
                writeln!(locals, "\t{ty} {a}, {b};")?;
                let fill = if string { "property_string" } else { "property_fill" };
                writeln!(before, "\t{fill}({a}, sizeof {a});\n\tmemcpy({b}, {a}, sizeof {b});")?;
                let size = if string { format!("strlen({a}) + 1") } else { format!("sizeof {a}") };
                let flips = both && !string;
                writeln!(after, "\tif (property_differs({a}, {b}, {size}, {}))\n\t\treturn 1;", u8::from(flips))?;
                parameters.push(if both { format!("{ty} {a}") } else { format!("{ty} {a}, {ty} {b}") });
                actuals.push(if both { a.clone() } else { format!("{a}, {b}") });
                match (both, string) {
                    (true, true) => writeln!(body, "\t(void) {a};")?,
                    (true, false) => writeln!(body, "\tproperty_flip({a}, sizeof({ty}));")?,
                    (false, true) => writeln!(body, "\tstrcpy({b}, {a});")?,
                    (false, false) => writeln!(body, "\tmemcpy({b}, {a}, sizeof({ty}));")?,
                }
            }
            Form::UpTo(n) => {
                writeln!(
                    locals,
                    "\tstatic {element} {a}[{n}], {b}[{n}];\n\tmach_msg_type_number_t {a}n = property_count({n}), {b}n = {n};"
                )?;
                writeln!(before, "\tproperty_fill({a}, sizeof {a});\n\tmemcpy({b}, {a}, sizeof {b});")?;
                parameters.push(if both {
                    format!("{ty} {a}, mach_msg_type_number_t *{a}n")
                } else {
                    format!("{ty} {a}, mach_msg_type_number_t {a}n, {ty} {b}, mach_msg_type_number_t *{b}n")
                });
                actuals.push(if both { format!("{a}, &{a}n") } else { format!("{a}, {a}n, {b}, &{b}n") });
                if both {
                    writeln!(before, "\t{b}n = {a}n;")?;
                    writeln!(body, "\tproperty_flip({a}, *{a}n * sizeof *{a});")?;
                } else {
                    writeln!(body, "\tmemcpy({b}, {a}, {a}n * sizeof *{a});\n\t*{b}n = {a}n;")?;
                }
                writeln!(
                    after,
                    "\tif ({a}n != {b}n || property_differs({a}, {b}, {a}n * sizeof *{a}, {}))\n\t\treturn 1;",
                    u8::from(both)
                )?;
            }
            Form::Unlimited | Form::Far => {
                let unlimited = kind.form == Form::Unlimited;
                let most = if unlimited { 3000 } else { 700 };
                writeln!(locals, "\tmach_msg_type_number_t {a}n = property_count({most}), {b}n = 5;")?;
                writeln!(locals, "\t{ty} {a} = property_memory({a}n * sizeof *{a}), {b};\n\t{element} {b}room[5];")?;
                writeln!(before, "\t{b} = {b}room;")?;
                writeln!(after, "\tif ({a}n != {b}n || property_differs({a}, {b}, {a}n * sizeof *{a}, 0))\n\t\treturn 1;")?;
                writeln!(after, "\tif ({b} != {b}room)\n\t\tmig_deallocate((vm_address_t) {b}, {b}n * sizeof *{b});")?;
                writeln!(after, "\tmig_deallocate((vm_address_t) {a}, {a}n * sizeof *{a});")?;
                parameters.push(format!("{ty} {a}, mach_msg_type_number_t {a}n, {ty} *{b}, mach_msg_type_number_t *{b}n"));
                actuals.push(format!("{a}, {a}n, &{b}, &{b}n"));
                if unlimited {
                    writeln!(body, "\tif ({a}n > *{b}n)\n\t\tmig_allocate((vm_address_t *) {b}, {a}n * sizeof *{a});")?;
                    writeln!(body, "\tmemcpy(*{b}, {a}, {a}n * sizeof *{a});\n\t*{b}n = {a}n;")?;
                    // Without `dealloc' the memory stays the server's.
                    defs.pop();
                    defs.push(format!("{a} : {ty}; out {b} : {ty}, dealloc"));
                } else {
                    writeln!(body, "\t*{b} = {a};\n\t*{b}n = {a}n;")?;
                    defs.pop();
                    defs.push(format!("{a} : {ty}; out {b} : {ty}, dealloc"));
                }
            }
        }
        let _ = out;
    }
    writeln!(text.defs, "routine r{r}(server : mach_port_t; {});", defs.join("; "))?;
    writeln!(
        text.server,
        "\nextern void property_flip(void *data, size_t size);\n\nkern_return_t s_r{r}({})\n{{\n\t(void) server;\n{body}\treturn KERN_SUCCESS;\n}}",
        parameters.join(", ")
    )?;
    writeln!(
        text.client,
        "\nstatic int check_{r}(void)\n{{\n{locals}\n{before}\tif (u_r{r}({}) != KERN_SUCCESS)\n\t\treturn 1;\n{after}\treturn 0;\n}}",
        actuals.join(", ")
    )
}

fn round_trip(routines: &[Shape], trap: bool) {
    let dir = tempfile::tempdir().unwrap();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
    let text = interface(routines);
    for (name, text) in
        [("random.defs", &text.defs), ("random_types.h", &text.types), ("server.c", &text.server), ("client.c", &text.client)]
    {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let options = trap.then_some("--trap");
    run(mig().args(["-sheader", "randomServer.h", "random.defs"]).args(options).current_dir(dir.path()));
    let stubs = ["randomUser.c", "randomServer.c"].map(|f| dir.path().join(f));
    compile_strictly(dir.path(), &stubs, &[]);
    let mut command = Command::new("cc");
    command.args(["-std=gnu99", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-o", "random"]);
    for place in [include(), tests.clone(), dir.path().to_owned()] {
        command.arg("-I").arg(place);
    }
    command.args(trap.then_some("-DWITH_TRAPS"));
    command.args(["randomUser.c", "randomServer.c", "server.c", "client.c"]);
    command.args(["fake_mach.c", "property.c"].map(|f| tests.join(f)));
    run(command.current_dir(dir.path()));
    run(&mut Command::new(dir.path().join("random")));
}

#[test]
fn what_goes_in_comes_out() {
    interfaces(1);
}

#[test]
#[ignore = "long: eight interfaces, each a program with sanitizers"]
fn what_goes_in_comes_out_again_and_again() {
    interfaces(8);
}

fn interfaces(cases: u32) {
    let routines = prop::collection::vec(prop::collection::vec((kind(), any::<bool>()), 1..7), 12);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 40, ..Config::default() };
    TestRunner::new(config)
        .run(&(routines, any::<bool>()), |(routines, trap)| {
            round_trip(&routines, trap);
            Ok(())
        })
        .unwrap();
}
