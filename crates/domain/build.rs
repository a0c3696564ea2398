//! Has the host's own `pthread_create` and `exit` found by the tasks that it loads.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for symbol in ["pthread_create", "exit"] {
        println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={symbol}");
    }
}
