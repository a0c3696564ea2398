//! The command line: exit codes, outputs, dependencies, and what happens when something fails.

use std::path::Path;
use std::process::Command;

use crate::support::{include, mig, output, run};

const SMALL: &str = "subsystem small 100;\n#include <mach/std_types.defs>\nroutine ping(server : mach_port_t);\n";

fn with_small() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("small.defs"), SMALL).unwrap();
    dir
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(dir).unwrap().flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn files_have_their_usual_names() {
    let dir = with_small();
    run(mig().arg("small.defs").current_dir(dir.path()));
    assert_eq!(names(dir.path()), ["small.defs", "small.h", "smallServer.c", "smallUser.c"]);
}

#[test]
fn a_routine_may_have_its_own_file() {
    let dir = with_small();
    run(mig().args(["-i", "rpc_", "-server", "/dev/null", "-header", "/dev/null", "small.defs"]).current_dir(dir.path()));
    assert_eq!(names(dir.path()), ["rpc_ping.c", "small.defs"]);
}

#[test]
fn prefixes_are_used() {
    let dir = with_small();
    let line = ["-prefix", "p_", "-subrprefix", "__", "-s", "--trap", "-sheader", "s.h", "small.defs"];
    run(mig().args(line).current_dir(dir.path()));
    let text = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let (user, server, header) = (text("smallUser.c"), text("smallServer.c"), text("s.h"));
    for word in ["kern_return_t p_ping(", "= __mach_msg(", "__mig_get_reply_port()", "__mach_msg_destroy("] {
        assert!(user.contains(word), "{word} is missing in:\n{user}");
    }
    for word in [
        " p_ping(",
        " p_small_server(",
        " p_small_server_routine(",
        " p_small_server_routines[]",
        " p_small_traps",
        "_p_small_symtab[]",
    ] {
        assert!(server.contains(word), "{word} is missing in:\n{server}");
    }
    for word in ["extern kern_return_t p_ping(", "extern boolean_t p_small_server("] {
        assert!(header.contains(word), "{word} is missing in:\n{header}");
    }
}

#[test]
fn nothing_but_what_is_named_is_written() {
    let dir = with_small();
    run(mig().args(["-n", "-sheader", "s.h", "small.defs"]).current_dir(dir.path()));
    run(mig().args(["-n", "--lang", "rust", "small.defs"]).current_dir(dir.path()));
    assert_eq!(names(dir.path()), ["s.h", "small.defs"]);
}

/// As the builds of GNU Mach and the Hurd call it: `cpp | $(MIGCOM)`, with `MIGCOM="mig -n -cc cat - /dev/null"`.
#[test]
fn preprocessed_text_comes_from_standard_input() {
    let dir = with_small();
    let text = std::fs::File::open(dir.path().join("small.defs")).unwrap();
    let preprocessed = Command::new("cc").args(["-E", "-x", "c", "-I"]).arg(include()).arg("-").stdin(text).output().unwrap();
    std::fs::write(dir.path().join("text"), preprocessed.stdout).unwrap();
    let text = || std::fs::File::open(dir.path().join("text")).unwrap();
    let line = ["-n", "-cc", "cat", "-", "/dev/null", "-MD", "-MF", "rule", "-server", "s.c", "-sheader", "s.h"];
    run(mig().args(line).stdin(text()).current_dir(dir.path()));
    assert_eq!(names(dir.path()), ["rule", "s.c", "s.h", "small.defs", "text"]);
    assert_eq!(std::fs::read_to_string(dir.path().join("rule")).unwrap(), "s.c s.h: \n");
    run(mig().args(["-n", "-MD", "-user", "u.c", "-"]).stdin(text()).current_dir(dir.path()));
    let rule = std::fs::read_to_string(dir.path().join("stdin.d")).unwrap();
    assert!(rule.starts_with("u.c:"), "{rule}");
}

#[test]
fn the_preprocessor_is_the_one_that_is_named() {
    let dir = with_small();
    for (variable, value, good) in [
        ("CPP", "gcc -E -x c -undef -ansi", true),
        ("CPP", "cpp", true),
        ("MIGCC", "gcc", true),
        ("MIGCOM", "mig -n -cc cat - /dev/null", true),
        ("CPP", "no-such-preprocessor", false),
        ("MIGCC", "no-such-compiler", false),
    ] {
        let result = output(mig().env(variable, value).args(["-check", "small.defs"]).current_dir(dir.path()));
        assert_eq!(result.status.success(), good, "{variable}={value}: {}", String::from_utf8_lossy(&result.stderr));
    }
}

#[test]
fn what_has_no_effect_is_noted_and_an_unknown_option_says_how_to_pass_it_on() {
    let dir = with_small();
    let said = |line: &str| {
        let result = output(mig().args(line.split(' ')).arg("small.defs").current_dir(dir.path()));
        (result.status.code(), String::from_utf8_lossy(&result.stderr).into_owned())
    };
    let (code, text) = said("-check -untyped -max_descrs 7");
    assert!(code == Some(0) && text.contains("mig: note: -untyped has no effect: messages are typed"), "{text}");
    assert_eq!(said("-check -q -untyped -T"), (Some(0), String::new()));
    let (code, text) = said("-check -zfrob");
    assert!(code == Some(2) && text.contains("-Wp,-zfrob"), "{text}");
    assert_eq!(said("-check -Wp,-DX -x c -w -P -C -g -O2 -MT t -MP -ansi -traditional -pipe -q"), (Some(0), String::new()));
}

#[test]
fn an_output_may_be_a_symbolic_link() {
    let dir = with_small();
    std::fs::create_dir(dir.path().join("far")).unwrap();
    for (link, target) in [("one.h", "two.h"), ("two.h", "far/real.h")] {
        std::os::unix::fs::symlink(target, dir.path().join(link)).unwrap();
    }
    for _ in ["makes the file", "writes it anew"] {
        run(mig().args(["-n", "-header", "one.h", "small.defs"]).current_dir(dir.path()));
        assert!(dir.path().join("one.h").is_symlink() && dir.path().join("two.h").is_symlink());
        assert!(std::fs::read_to_string(dir.path().join("far/real.h")).unwrap().contains("ping"));
    }
}

#[test]
fn dependencies_name_what_was_written_and_read() {
    let dir = with_small();
    run(mig().args(["-MD", "-user", "u.c", "-server", "/dev/null", "-header", "h.h", "small.defs"]).current_dir(dir.path()));
    let rule = std::fs::read_to_string(dir.path().join("small.d")).unwrap();
    assert!(rule.starts_with("u.c h.h:"), "{rule}");
    assert!(rule.contains("small.defs") && rule.contains("mach/std_types.defs"), "{rule}");
    // To standard output, and of what has no name.
    let shown = run(mig().args(["-n", "-MD", "-MF", "-", "-user", "u.c", "small.defs"]).current_dir(dir.path()));
    assert!(shown.starts_with("u.c:") && !dir.path().join("-").exists(), "{shown}");
    run(mig().args(["-n", "-MD", "-MF", "rule", "-user", "-", "small.defs"]).current_dir(dir.path()));
    let rule = std::fs::read_to_string(dir.path().join("rule")).unwrap();
    assert!(rule.starts_with("small:"), "{rule}");
}

#[test]
fn exit_codes_tell_what_was_wrong() {
    let dir = with_small();
    std::fs::write(dir.path().join("bad.defs"), "subsystem bad 1;\nroutine x(a : nothing_t);\n").unwrap();
    std::fs::write(dir.path().join("cpp.defs"), "#include <no/such/file.defs>\n").unwrap();
    std::fs::write(dir.path().join("itself.defs"), "#include \"itself.defs\"\n").unwrap();
    std::fs::write(dir.path().join("types.defs"), "#include <mach/std_types.defs>\n").unwrap();
    std::fs::write(dir.path().join("empty.defs"), "").unwrap();
    for (line, code, said) in [
        ("bad.defs", 1, "bad.defs:2:15"),
        ("cpp.defs", 1, "no/such/file.defs"),
        ("itself.defs", 1, "itself.defs"),
        ("types.defs", 1, "there is no subsystem"),
        ("empty.defs", 1, "there is no subsystem"),
        ("-zfrob small.defs", 2, "unknown option -zfrob"),
        ("none.defs", 3, "can't read none.defs"),
        (".", 3, "it is a directory"),
        ("-user no/such/u.c small.defs", 3, "can't write no/such/u.c"),
        ("-cc no-such-compiler small.defs", 3, "no-such-compiler"),
    ] {
        let before = names(dir.path());
        let output = output(mig().args(line.split(' ')).current_dir(dir.path()));
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line}: {text}");
        assert!(text.contains(said), "{line}: {text}");
        assert_eq!(names(dir.path()), before, "{line} left files behind");
    }
    run(mig().args(["-check", "types.defs"]).current_dir(dir.path()));
}

#[test]
fn a_full_disk_is_reported() {
    let dir = with_small();
    let output = output(mig().args(["-user", "/dev/full", "small.defs"]).current_dir(dir.path()));
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("can't write /dev/full"));
}

#[test]
fn an_old_file_stays_when_a_run_fails() {
    let dir = with_small();
    std::fs::write(dir.path().join("smallUser.c"), "old").unwrap();
    std::fs::write(dir.path().join("small.defs"), format!("{SMALL}type broken = nothing;\n")).unwrap();
    assert_eq!(output(mig().arg("small.defs").current_dir(dir.path())).status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(dir.path().join("smallUser.c")).unwrap(), "old");
}

#[test]
fn the_preprocessor_alone_can_be_run() {
    let dir = with_small();
    let text = run(mig().args(["-E", "-DX=1", "small.defs"]).current_dir(dir.path()));
    assert!(text.contains("routine ping(server : mach_port_t);"));
}
