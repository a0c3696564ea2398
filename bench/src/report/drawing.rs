//! What the charts share.

use anyhow::Context;
use std::path::Path;
use svg::Document;
use svg::node::element::{Group, Rectangle, Text};

/// The colour of what is to be read first.
pub const INK: &str = "#222222";
/// The colour of what explains it.
pub const PALE: &str = "#777777";

/// Text that starts at `x` on the base line `y`.
pub fn text(x: f64, y: f64, size: f64, colour: &str, content: &str) -> Text {
    Text::new(content).set("x", x).set("y", y).set("font-size", size).set("fill", colour)
}

/// A white page of that size with `body` on it.
pub fn page(width: f64, height: f64, body: Group) -> Document {
    Document::new()
        .set("viewBox", (0, 0, width, height))
        .set("width", width)
        .set("height", height)
        .set("font-family", "DejaVu Sans, Helvetica, Arial, sans-serif")
        .add(Rectangle::new().set("width", width).set("height", height).set("fill", "#ffffff"))
        .add(body)
}

/// Writes `chart` to `file`.
///
/// # Errors
/// When the file can't be written.
pub fn save(file: &Path, chart: &Document) -> anyhow::Result<()> {
    svg::save(file, chart).with_context(|| format!("can't write {}", file.display()))
}
