//! The results, for people and for programs.

mod axis;
pub mod chart;
pub mod format;
pub mod json;
mod marks;
pub mod table;

#[cfg(test)]
pub mod sample;
