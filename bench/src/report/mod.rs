//! What the reports of all benches share: tables, numbers, axes, files, progress.

pub mod axis;
pub mod drawing;
pub mod file;
pub mod format;
pub mod progress;
pub mod table;
