//! Generated text, compared byte for byte: each file `tests/golden/FEATURE.defs` shows one feature, and `FEATURE.txt` beside it is
//! what is made of it. The first line of the .defs says what of it is kept: `user` and `server` (the routines in C), `header` and
//! `sheader`, `rust`; with `whole` the files with what comes before and behind the routines; and options, if it takes any.

use std::path::Path;

use crate::support::{golden, mig, root, run, rustfmt};

/// The outputs that may be kept: the word in the .defs, the option and the file.
const KINDS: [(&str, &str); 6] = [
    ("user", "-user"),
    ("server", "-server"),
    ("header", "-header"),
    ("sheader", "-sheader"),
    ("defaults", "-defaults"),
    ("rust", "-rust"),
];

/// The routines of a C file: the types and helpers in front of them and the table behind them are much the same in all files.
fn routines<'a>(text: &'a str, defs: &str) -> &'a str {
    let from = text.find(&format!("/* {defs}:")).expect("a routine has a comment with its line");
    let to = text.find("/* The stubs, by the distance").unwrap_or(text.len());
    &text[from..to]
}

/// What is made of a file, as its first line asks for it.
fn made(defs: &Path) -> String {
    let name = defs.file_name().and_then(|name| name.to_str()).expect("UTF-8");
    let text = std::fs::read_to_string(defs).unwrap();
    let (words, _) = text.trim_start_matches("/* ").split_once(':').expect("a comment on the first line");
    let words: Vec<&str> = words.split(' ').collect();
    let options = words.iter().position(|word| word.starts_with('-')).map_or(&[][..], |at| &words[at..]);
    let dir = tempfile::tempdir().unwrap();
    let mut made = String::new();
    for (kind, option) in KINDS.into_iter().filter(|(kind, _)| words.contains(kind)) {
        let mut command = mig();
        if kind == "rust" {
            command.args(["--lang", "rust"]);
        }
        // What isn't asked for by name goes to the current directory.
        run(command.args(options).args([option, "made"]).arg(defs).current_dir(dir.path()));
        let text = std::fs::read_to_string(dir.path().join("made")).unwrap();
        if kind == "rust" {
            run(rustfmt().arg(dir.path().join("made")));
        }
        let whole = words.contains(&"whole") || !["user", "server"].contains(&kind);
        made += &format!("==== {option}\n{}\n", if whole { &text } else { routines(&text, name) }.trim_end());
    }
    made
}

#[test]
fn every_feature_is_as_it_was() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<_> = std::fs::read_dir(&dir).unwrap().flatten().map(|e| e.path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "defs"));
    files.sort();
    assert!(files.len() >= 40, "only {} files were found", files.len());
    for file in files {
        golden(&file.with_extension("txt"), &made(&file));
    }
}

#[test]
fn routines_are_listed() {
    let list = |file: &str| {
        run(mig()
            .args(["-list", "-", "-user", "/dev/null", "-server", "/dev/null", "-header", "/dev/null"])
            .arg(root().join(file)))
    };
    assert_eq!(list("crates/mig/tests/golden/settings.defs"), "s 100 second 1 101 201\ns 100 fifth 4 104 0\n");
}

/// The modules of the name server and of libmach lie where they are used. A service's status is a `boolean_t` in messages, and has more than two
/// values.
#[test]
fn modules_are_as_they_are_used() {
    let dir = tempfile::tempdir().unwrap();
    for (defs, option, made) in [
        ("include/mach/bootstrap.defs", "-rust", "crates/mach/src/bootstrap/interface.rs"),
        ("crates/mach/src/bootstrap/listing.defs", "-rust", "crates/mach/src/bootstrap/listing.rs"),
        ("crates/libmach/src/tasks/names.defs", "-rust", "crates/libmach/src/tasks/names.rs"),
        ("include/mach/mach.defs", "-user", "crates/libmach/src/tasks/memory.rs"),
        ("include/mach/mach.defs", "-server", "crates/libmach/src/tasks/memory_server.rs"),
        ("crates/libmach/src/tasks/exceptions.defs", "-rust", "crates/libmach/src/tasks/exceptions.rs"),
        ("include/mach/exc.defs", "-rust", "crates/libmach/src/exceptions/exc.rs"),
    ] {
        let file = dir.path().join("made.rs");
        run(mig().args(["--lang", "rust", option]).arg(&file).arg(root().join(defs)));
        golden(&root().join(made), &std::fs::read_to_string(&file).unwrap());
        run(rustfmt().arg(&file));
    }
}
