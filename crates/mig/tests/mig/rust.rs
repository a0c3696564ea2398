//! Rust modules: without a warning of the compiler or clippy, as rustfmt has them, and what they can't express is said.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{golden, include, mig, output, root, run, rustfmt};

/// What no other interface here has.
const CORNERS: &str = "
subsystem corner_cases 9000;
#include <mach/std_types.defs>
#include <mach/mach_types.defs>
type nested_t = struct { char c; mach_port_status_t status; int64 last; };
type nest_t = struct { nested_t one; int64 four; boolean_t flag; };
type thing_t = mach_port_t intran: thing_ref_t find_thing(mach_port_t) intranpayload: thing_ref_t find_by_payload
    destructor: thing_done(thing_ref_t);
type vec_t = array[*:9] of nest_t;
type pairs_t = array[3] of struct[2] of int;
type opaque_t = (MACH_MSG_TYPE_UNSTRUCTURED, 8*12);
type words_t = array[*:4] of c_string[8];
type far_text_t = ^c_string[40];
type far_any_t = ^array[*:20] of opaque_t;
type moved_three_t = array[3] of mach_port_move_send_t;
type moved_some_t = array[*:3] of mach_port_make_send_once_t;
type said_some_t = ^array[] of mach_port_send_once_t;
type far_one_t = ^mach_port_make_send_t;
type names_t = c_string[9];
type large_t = array[5000] of int;
type back_t = int cservertype: back_t outtran: int number_of_back(struct back);
waittime 250;
msgoption (MACH_SEND_INTERRUPT | 0x400);
routine type(self : thing_t; match : nest_t; out impl : vec_t; inout fn : pairs_t);
routine newThing(thing : thing_t; msgseqno crate : natural_t; request : int; out reply : int; server : int; inout out_ : opaque_t);
routine request(server : mach_port_t; in names : words_t; out text : far_text_t; inout list : far_any_t);
routine back(server : mach_port_t; out one : back_t; out two : back_t);
skip 3;
routine gives(server : mach_port_t; three : moved_three_t; inout some : moved_some_t; inout said : said_some_t; far : far_one_t);
routine made(requestport maker : mach_port_make_send_t; sreplyport later : mach_port_make_send_t; out a : int; out b : int);
routine once(requestport to : mach_port_move_send_once_t; replyport back : mach_port_t; out x : int);
routine any(requestport to : mach_port_poly_t; inout right : mach_port_poly_t; waittime time : natural_t);
simpleroutine sent(requestport request : mach_port_move_send_t; ureplyport r : mach_port_copy_send_t; sreplyport s : mach_port_t;
    waittime time : natural_t; x : int);
waittime 0;
msgoption MACH_MSG_OPTION_NONE;
routine called(self : thing_t; match : nest_t; out impl : vec_t; inout fn : pairs_t; client : opaque_t; out call : words_t;
    inout made : names_t; large : large_t; out back : large_t; flag : boolean_t; out room : vec_t, countinout; inout money : back_t);
";

/// Interfaces by the names of their modules: where what each includes is found, and its file.
fn interfaces(dir: &Path) -> Vec<(String, PathBuf, PathBuf)> {
    let corners = dir.join("corners.defs");
    std::fs::write(&corners, CORNERS).unwrap();
    let mut list = vec![("corners".to_owned(), include(), corners)];
    for name in ["mach_port", "notify", "exc", "bootstrap"] {
        list.push((name.to_owned(), include(), include().join(format!("mach/{name}.defs"))));
    }
    for name in ["sampler", "tidy"] {
        list.push((name.to_owned(), include(), root().join(format!("examples/mig/{name}.defs"))));
    }
    let gnumach = crate::gnumach::directory();
    let mut files = Vec::new();
    ["mach", "device", "mach_debug"].iter().for_each(|part| crate::gnumach::collect(&gnumach.join(part), &mut files));
    files.retain(|file| std::fs::read_to_string(file).is_ok_and(|text| text.contains("\nsubsystem")));
    // Two of them have one name, in two directories.
    for (number, file) in files.into_iter().enumerate() {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        list.push((format!("gnu{number}_{name}"), gnumach.clone(), file));
    }
    list
}

#[test]
#[ignore = "long: a crate of a hundred modules under clippy"]
fn modules_are_clean() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("modules");
    std::fs::create_dir_all(dir.join("src")).unwrap();
    let crates = root().join("crates").canonicalize().unwrap();
    let crates = crates.display();
    let manifest = format!(
        "[package]\nname = \"modules\"\nedition = \"2024\"\n[dependencies]\nslipway-mach = {{ path = '{crates}/mach' }}\n[workspace]\n"
    );
    std::fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    std::fs::copy(root().join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
    let mut text = String::from("//! Generated modules.\n#![forbid(unsafe_code)]\n#![deny(warnings, missing_docs)]\n");
    for (name, include, defs) in interfaces(&dir) {
        let file = |half: &str| dir.join(format!("src/{name}{half}.rs"));
        let mut command = Command::new(mig().get_program());
        command
            .arg("-I")
            .arg(&include)
            .args(["--lang", "rust", "-DSERVERPREFIX=s_"])
            .arg("-rust")
            .arg(file(""))
            .arg("-user")
            .arg(file("_user"));
        run(command.arg("-server").arg(file("_server")).arg(&defs));
        let mut command = Command::new(mig().get_program());
        command.args(["--lang", "rust", "--trap", "-DSERVERPREFIX=s_", "-I"]).arg(&include).arg("-rust").arg(file("_trap"));
        command.arg("-user").arg(file("_trap_user")).arg("-server").arg(file("_trap_server"));
        run(command.arg(&defs));
        for half in ["", "_user", "_server", "_trap", "_trap_user", "_trap_server"] {
            run(rustfmt().arg(file(half)));
            write!(text, "/// A module.\npub mod {name}{half};\n").unwrap();
        }
    }
    std::fs::write(dir.join("src/lib.rs"), text).unwrap();
    let mut clippy = Command::new(env!("CARGO"));
    clippy.args(["clippy", "--offline", "--quiet", "--target-dir"]).arg(dir.join("target"));
    run(clippy.args(["--", "-D", "warnings"]).current_dir(&dir));
}

#[test]
fn what_rust_lacks_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics/rust");
    std::fs::copy(file.with_extension("defs.in"), dir.path().join("rust.defs")).unwrap();
    // Nothing is wrong with it in C.
    run(mig().args(["-user", "/dev/null", "-server", "/dev/null", "-header", "/dev/null", "rust.defs"]).current_dir(dir.path()));
    let output = output(mig().args(["--lang", "rust", "rust.defs"]).current_dir(dir.path()));
    assert_eq!(output.status.code(), Some(1));
    assert!(!dir.path().join("rust_only.rs").exists());
    golden(&file.with_extension("txt"), &String::from_utf8_lossy(&output.stderr));
}

#[test]
fn options_for_c_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(include().join("mach/exc.defs"), dir.path().join("exc.defs")).unwrap();
    let refused = output(mig().args(["--lang", "rust", "-sheader", "s.h", "exc.defs"]).current_dir(dir.path()));
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("-sheader is for C"));
    let list = run(mig().args(["--lang", "rust", "-header", "/dev/null", "-list", "-", "exc.defs"]).current_dir(dir.path()));
    assert_eq!(list.lines().next(), Some("exc 2400 exception_raise 0 2400 2500"));
    let module = std::fs::read_to_string(dir.path().join("exc.rs")).unwrap();
    assert!(module.contains("pub trait ExcServer") && module.contains("impl Exc {"));
}

#[test]
fn the_types_of_calls_have_names_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let text = "subsystem s 100;\n#include <mach/std_types.defs>\ntype add_trap_t = struct { int a; };\n\
                routine add(p : mach_port_t; x : add_trap_t);\n";
    std::fs::write(dir.path().join("s.defs"), text).unwrap();
    run(mig().args(["--lang", "rust", "s.defs"]).current_dir(dir.path()));
    let refused = output(mig().args(["--lang", "rust", "--trap", "s.defs"]).current_dir(dir.path()));
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("both need the Rust name `AddTrap`"), "{said}");
}
