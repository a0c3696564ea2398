//! From text to a syntax tree. Nothing here knows what a name means.

pub mod ast;
mod lexer;
mod parser;

pub use parser::{Grammar, parse};
