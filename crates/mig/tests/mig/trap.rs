//! Traps: whichever way a call goes, its two sides see the same.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::same::assert_same;
use crate::support::{COMPILERS, c_files, compile_strictly, include, mig, root, run};

/// The sanitizers of the C compiler, each of whose complaints ends the program.
pub const SANITIZERS: [&str; 2] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"];

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c")
}

/// Makes the stubs of a file in a directory.
fn generate(dir: &Path, defs: &Path, server_header: &str, options: &[&str]) {
    run(mig().arg(defs).args(["-sheader", server_header]).args(options).current_dir(dir));
}

/// Builds trap.defs, its client and its server into one program. Each side has its own stubs, which need not know traps.
fn build(dir: &Path, compiler: &str, new_client: bool, new_server: bool, options: &[&str]) -> PathBuf {
    let with = |new: bool| if new { &["--trap"][..] } else { &[] };
    generate(dir, &tests().join("trap.defs"), "trapsServer.h", with(new_client));
    std::fs::rename(dir.join("trapsUser.c"), dir.join("user.c")).unwrap();
    generate(dir, &tests().join("trap.defs"), "trapsServer.h", with(new_server));
    let program = dir.join("trap");
    let mut command = Command::new(compiler);
    command.args(["-std=gnu99", "-g", "-Wall", "-o"]).arg(&program).args(options);
    command.args((!new_server).then_some("-DOLD_SERVER"));
    for place in [include(), tests(), dir.to_owned()] {
        command.arg("-I").arg(place);
    }
    command.args(["user.c", "trapsServer.c"]);
    command.args(["fake_mach.c", "trap_main.c", "trap_client.c", "trap_server.c"].map(|f| tests().join(f)));
    run(command.current_dir(dir));
    program
}

/// What became of a run.
#[derive(Debug, PartialEq)]
struct Outcome {
    trapped: u32,
    sent: u32,
    lent: u32,
    /// The client's, and the server's.
    transcripts: [String; 2],
}

fn outcome(dir: &Path, program: &Path, placement: &str) -> Outcome {
    let files = ["client.txt", "server.txt"].map(|f| dir.join(f));
    let counts = run(Command::new(program).arg(placement).args(&files));
    let counts: Vec<u32> = counts.split_whitespace().map(|n| n.parse().unwrap()).collect();
    let transcripts = files.map(|f| std::fs::read_to_string(f).unwrap());
    Outcome { trapped: counts[0], sent: counts[1], lent: counts[2], transcripts }
}

/// One program's calls by message, by trap, and by traps that are refused now and then.
fn both_sides_see_the_same(compiler: &str, optimised: &str) {
    let dir = tempfile::tempdir().unwrap();
    // Clang's sanitizers are a package of their own.
    let checks: &[&str] = if compiler == "gcc" { &SANITIZERS } else { &[] };
    let program = build(dir.path(), compiler, true, true, &[&[optimised], checks].concat());
    let message = outcome(dir.path(), &program, "message");
    let trap = outcome(dir.path(), &program, "trap");
    let midway = outcome(dir.path(), &program, "midway");
    assert!(message.transcripts.iter().all(|transcript| transcript.lines().count() > 500));
    assert_same(&message.transcripts, &trap.transcripts, compiler);
    assert_same(&message.transcripts, &midway.transcripts, compiler);
    // Messages remain for `tell' and `right'; the array that is `const' was not copied.
    assert_eq!((message.trapped, message.lent), (0, 0));
    assert_eq!((trap.trapped, trap.sent, trap.lent), (message.sent - 2, 2, 5));
    assert!(midway.trapped > 20 && midway.sent > 20, "{} {}", midway.trapped, midway.sent);
}

#[test]
fn both_sides_see_the_same_by_trap_as_by_message() {
    both_sides_see_the_same("gcc", "-O1");
}

#[test]
#[ignore = "long: four programs"]
fn both_sides_see_the_same_as_each_compiler_has_them() {
    for compiler in COMPILERS {
        ["-O0", "-O2"].iter().for_each(|optimised| both_sides_see_the_same(compiler, optimised));
    }
}

#[test]
#[ignore = "long: four programs with sanitizers"]
fn old_and_new_stubs_meet_by_message() {
    let dir = tempfile::tempdir().unwrap();
    let program = build(dir.path(), "cc", true, true, &SANITIZERS);
    let message = outcome(dir.path(), &program, "message");
    for (new_client, new_server) in [(true, false), (false, true), (false, false)] {
        let dir = tempfile::tempdir().unwrap();
        let program = build(dir.path(), "cc", new_client, new_server, &SANITIZERS);
        let old = outcome(dir.path(), &program, "trap");
        assert_eq!(old.trapped, 0);
        assert_eq!(old.sent, message.sent);
        assert_same(&message.transcripts, &old.transcripts, &format!("{new_client} {new_server}"));
    }
}

#[test]
fn a_changed_routine_is_not_called_by_trap() {
    let dir = tempfile::tempdir().unwrap();
    let signatures = |argument: &str| {
        let text = format!(
            "subsystem s 100;\n#include <mach/std_types.defs>\nroutine a(p : mach_port_t; x : {argument});\nroutine b(p : mach_port_t);\n"
        );
        std::fs::write(dir.path().join("s.defs"), text).unwrap();
        generate(dir.path(), Path::new("s.defs"), "sServer.h", &["--trap"]);
        let server = std::fs::read_to_string(dir.path().join("sServer.c")).unwrap();
        let entries: Vec<_> = server.lines().filter(|l| l.contains("{ _T")).map(str::to_owned).collect();
        assert_eq!(entries.len(), 2);
        let user = std::fs::read_to_string(dir.path().join("sUser.c")).unwrap();
        for entry in &entries {
            let (_, signature) = entry.trim_end_matches(" },").rsplit_once(", ").unwrap();
            assert!(user.contains(signature), "the stub does not have {signature}");
        }
        entries
    };
    let (int, short) = (signatures("int"), signatures("short"));
    assert_ne!(int[0], short[0]);
    assert_eq!(int[1], short[1]);
}

#[test]
fn there_is_no_warning() {
    no_warning(&["100"], &["mach_port"]);
}

#[test]
#[ignore = "long: 28 files by two compilers"]
fn there_is_no_warning_whatever_the_limit() {
    no_warning(&["0", "100", "1000000"], &["mach_port", "notify", "exc", "bootstrap"]);
}

/// Compiles the stubs of the interfaces of these tests, with these limits of what lies on the stack, and of libmach's.
fn no_warning(limits: &[&str], names: &[&str]) {
    for (defs, types) in
        [(tests().join("trap.defs"), tests()), (root().join("examples/mig/sampler.defs"), root().join("examples/mig"))]
    {
        for limit in limits {
            let dir = tempfile::tempdir().unwrap();
            generate(dir.path(), &defs, "server.h", &["--trap", "-maxonstack", limit]);
            compile_strictly(dir.path(), &c_files(dir.path()), &["-I".as_ref(), types.as_os_str()]);
        }
    }
    for name in names {
        let dir = tempfile::tempdir().unwrap();
        let defs = include().join(format!("mach/{name}.defs"));
        generate(dir.path(), &defs, "s.h", &["--trap", "-DSERVERPREFIX=s_"]);
        compile_strictly(dir.path(), &c_files(dir.path()), &[]);
    }
}
