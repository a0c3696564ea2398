//! Gives libmach.so the name by which programs that were linked with it ask for it, and ties its calls to its own functions.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmach.so.1");
    // A process may have other functions of the same names in front, those of Darwin's dialect: the library means its own.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
}
