//! Generated files, compared whole.

use std::path::Path;

use crate::support::{golden, mig, root, run, rustfmt};

const KINDS: [(&str, &str); 6] = [
    ("-user", "User.c"),
    ("-server", "Server.c"),
    ("-header", ".h"),
    ("-sheader", "Server.h"),
    ("-defaults", "Defaults.c"),
    ("-list", ".list"),
];

/// The kinds of files that traps change.
const WITH_TRAPS: [(&str, &str); 3] = [KINDS[0], KINDS[1], KINDS[3]];

fn check(defs: &Path, name: &str, kinds: &[(&str, &str)], options: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = mig();
    // What isn't asked for by name goes to the current directory.
    command.arg(defs).args(options).current_dir(dir.path());
    for (option, suffix) in kinds {
        command.arg(option).arg(dir.path().join(format!("{name}{suffix}")));
    }
    run(&mut command);
    for (_, suffix) in kinds {
        let file = format!("{name}{suffix}");
        let text = std::fs::read_to_string(dir.path().join(&file)).unwrap();
        golden(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file), &text);
    }
}

/// The Rust module, which is also as rustfmt would have it.
fn check_rust(defs: &Path, name: &str, options: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(format!("{name}.rs"));
    run(mig().args(["--lang", "rust", "-rust"]).arg(&file).args(options).arg(defs));
    let text = std::fs::read_to_string(&file).unwrap();
    golden(&Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.rs")), &text);
    run(rustfmt().arg(&file));
}

#[test]
fn the_sampler_is_as_it_was() {
    check(&root().join("examples/mig/sampler.defs"), "sampler", &KINDS, &[]);
    check_rust(&root().join("examples/mig/sampler.defs"), "sampler", &["--trap"]);
}

#[test]
fn notifications_are_as_they_were() {
    check(&root().join("include/mach/notify.defs"), "notify", &KINDS, &[]);
    check_rust(&root().join("include/mach/notify.defs"), "notify", &[]);
}

/// The name server's modules lie where they are used. A status is a `boolean_t` in messages, and has more than two values.
#[test]
fn the_name_servers_modules_are_as_they_are_used() {
    let dir = tempfile::tempdir().unwrap();
    let used = root().join("crates/mach/src/bootstrap");
    for (defs, name) in [(root().join("include/mach/bootstrap.defs"), "interface.rs"), (used.join("listing.defs"), "listing.rs")]
    {
        let file = dir.path().join(name);
        run(mig().args(["--lang", "rust", "-rust"]).arg(&file).arg("-I").arg(root().join("include")).arg(defs));
        golden(&used.join(name), &std::fs::read_to_string(&file).unwrap());
        run(rustfmt().arg(&file));
    }
}

#[test]
fn traps_are_as_they_were() {
    let defs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/trap.defs");
    check(&defs, "traps", &WITH_TRAPS, &["--trap"]);
    check_rust(&defs, "traps", &["--trap"]);
    check_rust(&defs, "traps_by_message", &[]);
}

#[test]
fn the_other_grammar_is_as_it_was() {
    check_rust(&root().join("examples/mig/tidy.defs"), "tidy", &["--trap"]);
}
