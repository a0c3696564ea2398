//! The crates depend on each other one way, as docs/architecture.md draws it.

use std::{collections::BTreeMap, process::Command};

/// Which crates of the workspace each crate may use.
const ALLOWED: [(&str, &[&str]); 12] = [
    ("slipway-abi", &[]),
    ("slipway-fabric", &[]),
    ("slipway-ports", &["slipway-abi", "slipway-fabric"]),
    // Not on libmach: a task's file would have one.
    ("slipway-mach", &["slipway-abi", "slipway-fabric"]),
    ("slipway-libmach", &["slipway-abi", "slipway-mach", "slipway-ports"]),
    ("slipway-domain", &[]),
    ("slipway-bootstrap", &["slipway-libmach", "slipway-mach"]),
    ("slipway-mig", &[]),
    ("slipway-transport", &["slipway-fabric"]),
    ("slipway-preload", &["slipway-fabric", "slipway-transport"]),
    (
        "slipway",
        &[
            "slipway-bootstrap",
            "slipway-domain",
            "slipway-libmach",
            "slipway-mach",
            "slipway-mig",
            "slipway-ports",
            "slipway-transport",
        ],
    ),
    ("slipway-bench", &["slipway-fabric", "slipway-libmach", "slipway-mach", "slipway-mig", "slipway-transport"]),
];

#[test]
fn dependencies_run_one_way() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    let mut found = BTreeMap::new();
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        // Tests may use what they like; what ships may not.
        let uses: Vec<_> = package["dependencies"]
            .as_array()
            .expect("a list of dependencies")
            .iter()
            .filter(|dependency| dependency["kind"] != "dev" && !dependency["path"].is_null())
            .filter_map(|dependency| dependency["name"].as_str())
            .collect();
        found.insert(name, uses);
    }
    let allowed = BTreeMap::from(ALLOWED);
    assert_eq!(found.keys().collect::<Vec<_>>(), allowed.keys().collect::<Vec<_>>(), "a crate is missing in this test");
    for (name, uses) in found {
        for used in uses {
            assert!(allowed[name].contains(&used), "{name} must not depend on {used}");
        }
    }
}
