//! Gives libmach.so the name by which programs that were linked with it ask for it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmach.so.1");
}
