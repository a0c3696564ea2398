//! The name server.
fn main() {}
