//! Text of the generated files.

pub mod c;
pub mod rust;
pub mod trap;
