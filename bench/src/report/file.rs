//! Results as files.

use anyhow::Context;
use serde::Serialize;
use std::fs;
use std::path::Path;

/// Writes `value` to `file` as JSON that people can read too.
///
/// # Errors
/// When the file can't be written.
pub fn write_json(file: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value).context("JSON")?;
    fs::write(file, text + "\n").with_context(|| format!("can't write {}", file.display()))
}
