//! Generated files, compared whole.

use std::path::Path;

use crate::support::{golden, mig, root, run};

const KINDS: [(&str, &str); 6] = [
    ("-user", "User.c"),
    ("-server", "Server.c"),
    ("-header", ".h"),
    ("-sheader", "Server.h"),
    ("-defaults", "Defaults.c"),
    ("-list", ".list"),
];

fn check(defs: &Path, name: &str) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = mig();
    command.arg(defs);
    for (option, suffix) in KINDS {
        command.arg(option).arg(dir.path().join(format!("{name}{suffix}")));
    }
    run(&mut command);
    for (_, suffix) in KINDS {
        let file = format!("{name}{suffix}");
        let text = std::fs::read_to_string(dir.path().join(&file)).unwrap();
        golden(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file), &text);
    }
}

#[test]
fn the_sampler_is_as_it_was() {
    check(&root().join("examples/mig/sampler.defs"), "sampler");
}

#[test]
fn notifications_are_as_they_were() {
    check(&root().join("include/mach/notify.defs"), "notify");
}
