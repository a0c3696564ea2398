//! The interface compiler: MIG's language in, C and Rust stubs out.
//!
//! The stages are separate units and depend on each other in one direction: [`cli`] runs the C preprocessor
//! and writes files; [`source`] knows where each line came from; [`syntax`] makes a tree; [`check`] makes an [`model::Interface`]
//! of it; [`layout`] places the data in messages; [`emit`] writes the text. [`diagnostics`] is used by all.

pub mod check;
pub mod cli;
pub mod diagnostics;
pub mod emit;
pub mod layout;
pub mod model;
pub mod source;
pub mod spelling;
pub mod syntax;
