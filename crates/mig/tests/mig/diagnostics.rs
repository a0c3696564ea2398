//! Every message of the compiler, whole: each file in `tests/diagnostics` has beside it what is said of it.

use std::path::Path;

use crate::support::{golden, mig, output};

#[test]
fn every_diagnostic_is_as_it_was() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics");
    let mut files: Vec<_> = std::fs::read_dir(&dir).unwrap().flatten().map(|e| e.path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "defs"));
    files.sort();
    assert!(files.len() >= 40, "only {} files were found", files.len());
    for file in files {
        let empty = tempfile::tempdir().unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        std::fs::copy(&file, empty.path().join(name)).unwrap();
        let mut command = mig();
        let output = output(command.arg(name).current_dir(empty.path()));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let warned = name.starts_with("warning");
        assert_eq!(output.status.code(), Some(if warned { 0 } else { 1 }), "{name}:\n{text}");
        assert!(text.contains(&format!("{name}:")), "{name} is not named with a line:\n{text}");
        let left = std::fs::read_dir(empty.path()).unwrap().count();
        assert_eq!(left, if warned { 4 } else { 1 }, "{name}: files were left behind, or not written");
        assert!(!text.contains("std_types.defs:"), "{name} must not depend on another file's lines:\n{text}");
        golden(&file.with_extension("txt"), &text);
    }
}
