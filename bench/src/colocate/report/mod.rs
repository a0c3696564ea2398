//! The results, for people and for programs.

pub mod chart;
pub mod json;
mod stages;
pub mod table;

#[cfg(test)]
pub mod sample;
