//! The two programs, run as a user runs them.

use std::{fs, path::Path, process::Command};

#[test]
fn words_are_counted_by_two_workers() {
    assert!(Path::new(env!("CARGO_BIN_EXE_worker")).exists());
    let dir = tempfile::tempdir().expect("a directory");
    let files = [("one", "a b\nc"), ("two", "  "), ("three", "d")].map(|(name, text)| {
        let path = dir.path().join(name);
        fs::write(&path, text).expect("a file");
        path
    });
    // Larger than any message that a ring holds.
    fs::write(&files[2], "word ".repeat(100_000)).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_words")).args(&files).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for (words, file) in [(3, "one"), (0, "two"), (100_000, "three")] {
        let file = dir.path().join(file);
        assert!(text.contains(&format!("{words:8} {}", file.display())), "{text}");
    }
    assert!(text.ends_with("100003 in all\n"), "{text}");
}
