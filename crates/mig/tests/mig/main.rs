//! Tests of the compiler as its users run it, and of the code it makes.

mod apple;
#[path = "../../../slipway/tests/harness/built.rs"]
mod built;
mod command;
mod diagnostics;
mod fuzz;
mod generated;
mod gnumach;
mod golden;
mod project;
mod property;
mod rust;
mod rust_property;
#[path = "../matrix/same.rs"]
mod same;
mod sanitizers;
mod support;
mod trap;
