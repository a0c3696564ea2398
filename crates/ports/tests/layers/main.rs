//! The sources are layers: each file knows its own layer and those below, and no files need each other in a cycle.

mod source;

use source::Needs;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    path::Path,
};

/// The layers, from the lowest up: their names, and the files and folders that are in them.
const LAYERS: [(&str, &[&str]); 16] = [
    ("settings, signals", &["settings.rs", "signals.rs"]),
    ("state", &["state/"]),
    ("the kernel's objects", &["objects.rs", "closer.rs"]),
    ("what is held for others", &["account.rs"]),
    ("what travels", &["wire/"]),
    ("lines", &["line/"]),
    ("routes", &["routes/"]),
    ("waiting threads", &["waiting/"]),
    ("what arrives", &["dispatch/"]),
    ("what there is", &["inspect/"]),
    ("the lock", &["lock.rs"]),
    ("waiting", &["wait/", "watcher.rs"]),
    ("messages", &["msg/"]),
    ("calls in place of messages", &["trap/"]),
    ("the process", &["process.rs"]),
    ("tasks", &["task.rs", "special.rs", "traps.rs"]),
];

fn layer(file: &str) -> Option<usize> {
    LAYERS.iter().position(|(_, parts)| parts.iter().any(|part| file == *part || (part.ends_with('/') && file.starts_with(part))))
}

fn needs() -> BTreeMap<String, Needs> {
    source::needs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

#[test]
fn every_file_knows_only_layers_below_its_own() {
    let mut wrong = String::new();
    for (file, needs) in needs() {
        let Some(own) = layer(&file) else {
            let _ = writeln!(wrong, "{file} is in no layer");
            continue;
        };
        for (needed, why) in needs {
            if layer(&needed).is_some_and(|above| above > own) {
                let _ = writeln!(wrong, "{file} needs {needed} of a higher layer: {why}");
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The files that a file needs, directly or by others.
fn reach<'a>(all: &'a BTreeMap<String, Needs>, from: &'a str) -> BTreeSet<&'a str> {
    let (mut found, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        next.extend(all[file].keys().map(String::as_str).filter(|needed| found.insert(*needed)));
    }
    found
}

#[test]
fn no_files_need_each_other_in_a_cycle() {
    let all = needs();
    let reached: BTreeMap<&str, BTreeSet<&str>> = all.keys().map(|file| (file.as_str(), reach(&all, file))).collect();
    let cycle =
        |file: &str| -> BTreeSet<&str> { reached[file].iter().copied().filter(|other| reached[other].contains(file)).collect() };
    let cycles: BTreeSet<BTreeSet<&str>> = all.keys().map(|file| cycle(file)).filter(|cycle| !cycle.is_empty()).collect();
    let mut wrong = String::new();
    for cycle in &cycles {
        let _ = writeln!(wrong, "{} files need each other:", cycle.len());
        for file in cycle {
            let within = all[*file].iter().filter(|(needed, _)| cycle.contains(needed.as_str()));
            wrong.extend(within.map(|(needed, why)| format!("    {file} needs {needed}: {why}\n")));
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
