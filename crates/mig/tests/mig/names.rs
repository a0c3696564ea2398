//! Names: none of the user's clashes with the stubs' own, with what arguments bring along, or with a word of C.

use std::fmt::Write;

use crate::support::{c_files, compile_strictly, compile_strictly_with, include, mig, run};

/// Words of C and C++, macros, functions and types that stubs use, and all that stubs are made of.
const WORDS: &[&str] = &[
    "int",
    "default",
    "register",
    "auto",
    "new",
    "class",
    "this",
    "typeof",
    "bool",
    "NULL",
    "TRUE",
    "unix",
    "linux",
    "EOF",
    "free",
    "malloc",
    "memcpy",
    "memset",
    "strlen",
    "offsetof",
    "mach_msg",
    "mach_port_t",
    "kern_return_t",
    "uint64_t",
    "uintptr_t",
    "mach_msg_header_t",
    "mach_msg_type_t",
    "InP",
    "In0P",
    "In1P",
    "In2P",
    "OutP",
    "Out1P",
    "InHeadP",
    "OutHeadP",
    "Head",
    "Mess",
    "Room",
    "RetCode",
    "RetCodeType",
    "Request",
    "Request1",
    "Reply",
    "Reply1",
    "Arguments",
    "Rooms",
    "msg_result",
    "done",
    "index",
    "routine",
    "mig_more",
    "mig_at",
    "mig_in",
    "mig_port",
    "mig_room",
    "mig_result",
    "mig_context",
    "mig_arguments",
    "mig_reply_port",
    "mig_type_differs",
    "mig_round8",
    "mig_code_type",
    "mig_find_routine",
    "mig_get_reply_port",
    "mig_trap_free",
    "MIG_VARY_NUMBER",
    "_Xcall",
    "_Tcall",
    "_Mcall",
    "server",
    "server_",
    "_",
    "__",
    "type",
    "self",
];

const SUFFIXES: &[&str] = &[
    "Type",
    "ReplyType",
    "OutOfLineType",
    "Pad",
    "Wide",
    "Size",
    "Number",
    "Memory",
    "Arg",
    "CntType",
    "Cnt",
    "CntWide",
    "Poly",
    "Dealloc",
    "SCopy",
    "_",
    "_Size",
    "_Type",
    "_Cnt",
];

const TYPES: &str = "#include <mach/std_types.defs>\n\
    type list_t = array[*:5] of short;\n\
    type any_t = array[] of int32_t;\n\
    type text_t = c_string[*:9];\n\
    type ports_t = array[] of mach_port_poly_t;\n\
    type odd_t = array[3] of char;\n\
    import \"kinds.h\";\n";

const KINDS: &str = "typedef short list_t[5]; typedef int32_t *any_t; typedef char text_t[9]; typedef char odd_t[3];\n\
    typedef mach_port_t *ports_t;\n";

/// An interface in which each word is the name of an argument, and one argument of each kind stands beside names that end as what it
/// brings along.
fn interface() -> String {
    let mut text = format!("subsystem names 100;\n{TYPES}");
    let kinds = [
        "in NAME : int32_t",
        "out NAME : list_t",
        "inout NAME : any_t",
        "in NAME : any_t, servercopy",
        "out NAME : text_t",
        "in NAME : odd_t",
        "inout NAME : mach_port_poly_t",
        "in NAME : ports_t, dealloc[]",
        "out NAME : list_t, countinout",
    ];
    let all = WORDS.iter().enumerate().map(|(n, word)| kinds[n % kinds.len()].replace("NAME", word)).collect::<Vec<_>>();
    writeln!(text, "routine all(requestport first : mach_port_t; {});", all.join("; ")).unwrap();
    for (turn, kind) in kinds.iter().enumerate() {
        let ends: Vec<_> = SUFFIXES.iter().map(|end| format!("in data{end} : list_t")).collect();
        writeln!(text, "routine ends{turn}(s : mach_port_t; {}; {});", kind.replace("NAME", "data"), ends.join("; ")).unwrap();
    }
    text
}

/// The directories with the headers of a dialect.
fn headers_of(dialect: &str) -> Vec<std::path::PathBuf> {
    if dialect == "darwin" { vec![include().join("darwin"), include()] } else { vec![include()] }
}

#[test]
fn arguments_may_have_any_name() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("names.defs"), interface()).unwrap();
    std::fs::write(dir.path().join("kinds.h"), KINDS).unwrap();
    for (dialect, options) in [("typed", &[][..]), ("typed", &["--trap", "-maxonstack", "100"]), ("darwin", &[])] {
        run(mig()
            .args(options)
            .args(["--dialect", dialect, "-sheader", "s.h", "-defaults", "d.c", "-DSERVERPREFIX=s_", "names.defs"])
            .current_dir(dir.path()));
        compile_strictly_with(&headers_of(dialect), dir.path(), &c_files(dir.path()), &[]);
        headers_are_for_cpp(dialect, dir.path(), &["names.h", "s.h"]);
    }
}

fn headers_are_for_cpp(dialect: &str, dir: &std::path::Path, headers: &[&str]) {
    for header in headers {
        let mut command = std::process::Command::new("g++");
        command.args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++"]);
        command.args(headers_of(dialect).iter().flat_map(|path| [std::ffi::OsStr::new("-I"), path.as_os_str()]));
        run(command.args(["-include", "cstdint", "-include", "mach/mach.h", header]).current_dir(dir));
    }
}

/// Types, functions and routines keep their names, so the stubs' own give way.
#[test]
fn types_functions_and_routines_may_have_any_name() {
    let dir = tempfile::tempdir().unwrap();
    let types: Vec<_> =
        "InP In0P OutP Out1P Request Request1 Reply Mess Rooms Arguments msg_result mig_more mig_round8 mig_at mig_in data_"
            .split(' ')
            .collect();
    let mut text = format!("subsystem int 100;\n{TYPES}");
    let mut header = KINDS.to_owned();
    for name in &types {
        writeln!(text, "type {name} = int32_t;").unwrap();
        writeln!(header, "typedef int32_t {name};").unwrap();
    }
    text += "type token_t = int32_t intran: mig1_OutP OutHeadP(InHeadP) outtran: InHeadP mig_code_type(mig1_OutP) destructor: _X(mig1_OutP);\n";
    header += "typedef int32_t InHeadP; typedef struct { int32_t x; } mig1_OutP; typedef int32_t token_t;\n\
        mig1_OutP OutHeadP(InHeadP x); InHeadP mig_code_type(mig1_OutP x); void _X(mig1_OutP x);\n";
    for name in [
        "default",
        "new",
        "register",
        "mig_type_differs",
        "mig_find_routine",
        "Call",
        "_XCall",
        "_MCall",
        "_TCall",
        "int_server",
        "int_server_routine",
    ] {
        let args: Vec<_> = types.iter().map(|t| format!("in x{t} : {t}; out {t} : {t}; inout y{t} : {t}")).collect();
        // Its message is sent and received by two calls, and so it is not called by trap.
        text += if name == "int_server_routine" { "sendtime 5;\nwaittime 6;\n" } else { "" };
        let lists = "in data : list_t; inout more : list_t; in token : token_t";
        writeln!(text, "routine {name}(s : mach_port_t; {}; {lists});", args.join("; ")).unwrap();
    }
    std::fs::write(dir.path().join("names.defs"), text).unwrap();
    std::fs::write(dir.path().join("kinds.h"), header).unwrap();
    for (dialect, trap) in [("typed", &[][..]), ("typed", &["--trap"]), ("darwin", &[])] {
        let words = ["--dialect", dialect, "-sheader", "s.h", "-defaults", "d.c", "names.defs"];
        run(mig().args(trap).args(words).current_dir(dir.path()));
        compile_strictly_with(&headers_of(dialect), dir.path(), &c_files(dir.path()), &[]);
        headers_are_for_cpp(dialect, dir.path(), &["int.h"]);
    }
}

/// An expression may use an argument.
#[test]
fn settings_may_name_an_argument() {
    let dir = tempfile::tempdir().unwrap();
    let text = "subsystem late 100;\n#include <mach/std_types.defs>\nwaittime seconds * 1000;\nroutine call(s : mach_port_t; seconds : natural_t);\n";
    std::fs::write(dir.path().join("late.defs"), text).unwrap();
    run(mig().arg("late.defs").current_dir(dir.path()));
    compile_strictly(dir.path(), &c_files(dir.path()), &[]);
}
