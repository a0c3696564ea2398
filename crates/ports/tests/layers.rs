//! The sources are layers: each file knows its own layer and those below, and no files need each other in a cycle.

use slipway_test_support::{Files, Spread, cycles};
use std::fmt::Write;

const SPREAD: Spread = Spread {
    types: &["Inner", "Routes", "Process"],
    values: &[("inner", "Inner"), ("guard", "Inner"), ("lock", "Inner"), ("quietly", "Inner"), ("routes", "Routes")],
    derefs: Some(("Inner", "Routes")),
};

/// The layers, from the lowest up: their names, and the files and folders that are in them.
const LAYERS: [(&str, &[&str]); 16] = [
    (
        "settings, dialects, semaphores, signals, threads' ends and cancellation",
        &["settings.rs", "dialect.rs", "semaphore.rs", "signals.rs", "at_end.rs", "cancellation.rs"],
    ),
    ("state", &["state/"]),
    ("the kernel's objects", &["objects.rs", "closer.rs", "lent.rs"]),
    ("what is held for others", &["account.rs", "mapped.rs"]),
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
    (
        "tasks",
        &["task.rs", "descriptors.rs", "special.rs", "exceptions.rs", "traps.rs", "attributes.rs", "lending.rs", "semaphores.rs"],
    ),
];

fn layer(file: &str) -> Option<usize> {
    LAYERS.iter().position(|(_, parts)| parts.iter().any(|part| file == *part || (part.ends_with('/') && file.starts_with(part))))
}

fn needs() -> Files {
    slipway_test_support::needs(env!("CARGO_MANIFEST_DIR"), SPREAD)
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

#[test]
fn no_files_need_each_other_in_a_cycle() {
    let found = cycles(&needs());
    assert!(found.is_empty(), "\n{found}");
}
