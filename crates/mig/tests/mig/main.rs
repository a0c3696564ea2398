//! Tests of the compiler as its users run it, and of the code it makes.
//!
//! Text that the compiler writes is compared byte for byte with files that are kept: of small interfaces that show one feature each
//! (`tests/golden`, see [`golden`]), and of what is wrong with others (`tests/diagnostics`). After an intended change
//!
//!     UPDATE_GOLDEN=1 cargo test -p slipway-mig --test mig golden diagnostics rust
//!
//! writes them anew, and `git diff` shows what has become of them. What larger interfaces come to is compiled without a warning and
//! run (`generated`, `trap`, the test program `matrix`), and is not kept.

mod apple;
mod command;
mod darwin;
mod diagnostics;
mod fuzz;
mod generated;
mod gnumach;
mod golden;
mod names;
mod project;
mod property;
mod rust;
mod rust_property;
#[path = "../matrix/same.rs"]
mod same;
mod sanitizers;
mod support;
mod targets;
mod trap;
