//! Compiles what Rust can't define: hooks on C functions with variable arguments, and the way to the unwinder.
fn main() {
    println!("cargo::rerun-if-changed=src/variadic.c");
    println!("cargo::rerun-if-changed=src/unwind.c");
    println!("cargo::rerun-if-changed=src/start.c");
    // What each program that starts pays for: a look for each symbol that the loader has to find, and the compiler's own start.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    println!("cargo::rustc-cdylib-link-arg=-nostartfiles");
    let mut build = cc::Build::new();
    build
        .files(["src/variadic.c", "src/unwind.c", "src/start.c"])
        .warnings(true)
        .flag_if_supported("-std=c11")
        .flag("-fexceptions");
    // Whole, because what calls the unwinder is linked later, as part of the standard library.
    build.link_lib_modifier("+whole-archive").compile("slipway_c");
}
