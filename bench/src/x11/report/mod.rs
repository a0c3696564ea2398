//! The results, for people and for programs.

pub mod chart;
pub mod json;
mod marks;
pub mod table;

#[cfg(test)]
pub mod sample;
