//! Compiles the hooks on C functions with variable arguments, which Rust can't define.
fn main() {
    println!("cargo::rerun-if-changed=src/variadic.c");
    cc::Build::new().file("src/variadic.c").warnings(true).flag_if_supported("-std=c11").compile("slipway_variadic");
}
