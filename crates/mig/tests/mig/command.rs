//! The command line: exit codes, outputs, dependencies, and what happens when something fails.

use std::path::Path;

use crate::support::{mig, output, run};

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
    let line =
        ["-prefix", "p_", "-subrprefix", "__", "-list", "-", "-user", "u.c", "-server", "/dev/null", "-header", "/dev/null"];
    let list = run(mig().args(line).arg("small.defs").current_dir(dir.path()));
    assert_eq!(list, "p_ping\n");
    let user = std::fs::read_to_string(dir.path().join("u.c")).unwrap();
    for word in ["kern_return_t p_ping(", "= __mach_msg(", "__mig_get_reply_port()", "__mach_msg_destroy("] {
        assert!(user.contains(word), "{word} is missing in:\n{user}");
    }
}

#[test]
fn dependencies_name_what_was_written_and_read() {
    let dir = with_small();
    run(mig().args(["-MD", "-user", "u.c", "-server", "/dev/null", "-header", "h.h", "small.defs"]).current_dir(dir.path()));
    let rule = std::fs::read_to_string(dir.path().join("small.d")).unwrap();
    assert!(rule.starts_with("u.c h.h:"), "{rule}");
    assert!(rule.contains("small.defs") && rule.contains("mach/std_types.defs"), "{rule}");
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
