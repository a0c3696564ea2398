//! The crates depend on each other one way, as docs/architecture.md draws it.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

/// Which crates of the workspace each crate may use, and which its tests, examples and build script may use beside.
const ALLOWED: [(&str, &[&str], &[&str]); 22] = [
    ("slipway-abi", &[], &[]),
    ("slipway-fabric", &[], &[]),
    ("slipway-ports", &["slipway-abi", "slipway-fabric"], &[SUPPORT]),
    // Not on libmach: a task's file would have one.
    ("slipway-mach", &["slipway-abi", "slipway-fabric"], &["slipway-libmach", SUPPORT]),
    ("slipway-libmach", &["slipway-abi", "slipway-mach", "slipway-ports"], &["slipway-mig", SUPPORT]),
    // It calls libmach as any program does.
    ("slipway-libmach-darwin", &[], &[]),
    ("slipway-ipc-channel", &["slipway-fabric", "slipway-libmach", "slipway-mach"], &[SUPPORT]),
    ("slipway-example-channel", &["slipway-ipc-channel"], &[]),
    ("slipway-domain", &[], &["slipway-libmach", "slipway-mach", SUPPORT]),
    ("slipway-bootstrap", &["slipway-libmach", "slipway-mach"], &[SUPPORT]),
    (
        "slipway-mig",
        &[],
        &["slipway-domain", "slipway-fabric", "slipway-libmach", "slipway-mach", "slipway-mig-interfaces", SUPPORT],
    ),
    ("slipway-mig-interfaces", &["slipway-mach"], &["slipway-mig"]),
    ("slipway-transport", &["slipway-abi", "slipway-fabric"], &[SUPPORT]),
    ("slipway-preload", &["slipway-fabric", "slipway-transport"], &[SUPPORT]),
    ("slipway-layer", &[], &[SUPPORT]),
    ("slipway-emulator", &[], &[]),
    ("slipway-unix", &["slipway-emulator", "slipway-fabric", "slipway-layer"], &[SUPPORT]),
    ("slipway-unix-server", &["slipway-layer", "slipway-mach"], &["slipway-libmach", "slipway-mig"]),
    ("slipway-unix-task", &["slipway-domain", "slipway-layer", "slipway-mach", "slipway-unix-server"], &[]),
    (
        "slipway",
        &[
            "slipway-bootstrap",
            "slipway-domain",
            "slipway-layer",
            "slipway-libmach",
            "slipway-mach",
            "slipway-mig",
            "slipway-ports",
            "slipway-transport",
            "slipway-unix",
        ],
        &[SUPPORT],
    ),
    // No more: every crate's tests are compiled after it.
    (SUPPORT, &["slipway-abi"], &[]),
    (
        "slipway-bench",
        &[
            "slipway-fabric",
            "slipway-ipc-channel",
            "slipway-layer",
            "slipway-libmach",
            "slipway-mach",
            "slipway-mig",
            "slipway-transport",
            "slipway-unix-server",
        ],
        &[SUPPORT],
    ),
];

/// What tests have in common, which nothing that ships may use.
const SUPPORT: &str = "slipway-test-support";

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
    let allowed = BTreeMap::from(ALLOWED.map(|(name, ships, beside)| (name, (ships, beside))));
    let names: Vec<_> = packages.iter().map(|package| package["name"].as_str().expect("a name")).collect();
    assert_eq!(BTreeSet::from_iter(names.iter().copied()), allowed.keys().copied().collect(), "a crate is missing in this test");
    for (package, name) in packages.iter().zip(names) {
        let (ships, beside) = allowed[name];
        for dependency in package["dependencies"].as_array().expect("a list of dependencies") {
            let used = dependency["name"].as_str().expect("a name");
            let may = ships.contains(&used) || !dependency["kind"].is_null() && beside.contains(&used);
            assert!(dependency["path"].is_null() || may, "{name} must not depend on {used} ({})", dependency["kind"]);
        }
    }
}
